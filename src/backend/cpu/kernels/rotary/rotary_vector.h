/* Rotary position on vectors: the body of rotary_<level>.c, behind that level's vector_<level>.h.
 * Products are rounded before they are added, as in plain C, so all levels give the same bits. */

static void rotate(float *x, const float *cosine, const float *sine, size_t half) {
    for (size_t i = 0; i < half; i += LANES) {
        vec_mask mask = vec_first(half - i);
        vec a = vec_load_mask(mask, x + i);
        vec b = vec_load_mask(mask, x + half + i);
        vec c = vec_load_mask(mask, cosine + i);
        vec s = vec_load_mask(mask, sine + i);
        vec_store_mask(mask, x + i, vec_sub(vec_mul(a, c), vec_mul(b, s)));
        vec_store_mask(mask, x + half + i, vec_add(vec_mul(b, c), vec_mul(a, s)));
    }
}
