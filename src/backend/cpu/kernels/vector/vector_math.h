/* Exponential, sigmoid and error function on vectors, one implementation for all levels: included
 * behind a level's vector_<level>.h. */
#ifndef CLEF_KERNELS_VECTOR_MATH_H
#define CLEF_KERNELS_VECTOR_MATH_H

/* e^x within 2 ulp; 0 below -87.3, where the result would be subnormal; about 2^127.8 above 88.6.
 * Range reduction x = n·ln 2 + r with ln 2 in two parts, then the Taylor polynomial of degree 7 on
 * |r| ≤ 0.347 (its first missing term is below 2^-25 of the result). */
static inline vec vec_exp(vec x) {
    vec_mask is_zero = vec_less(x, vec_set(-87.3f));
    x = vec_max(vec_min(x, vec_set(88.6f)), vec_set(-87.3f));
    vec n = vec_round(vec_mul(x, vec_set(1.44269504088896340736f)));
    vec r = vec_fnma(n, vec_set(0.693359375f), x);
    r = vec_fnma(n, vec_set(-2.12194440054690582767e-4f), r);
    vec p = vec_set(1.0f / 5040);
    p = vec_fma(p, r, vec_set(1.0f / 720));
    p = vec_fma(p, r, vec_set(1.0f / 120));
    p = vec_fma(p, r, vec_set(1.0f / 24));
    p = vec_fma(p, r, vec_set(1.0f / 6));
    p = vec_fma(p, r, vec_set(0.5f));
    p = vec_fma(p, r, vec_set(1.0f));
    p = vec_fma(p, r, vec_set(1.0f));
    return vec_select(is_zero, vec_zero(), vec_scale(p, n));
}

/* 1 / (1 + e^-x) within 3 ulp. */
static inline vec vec_sigmoid(vec x) {
    vec one = vec_set(1.0f);
    return vec_div(one, vec_add(one, vec_exp(vec_sub(vec_zero(), x))));
}

/* erf(x / √2) within 3e-7. Up to 5.6, where it is 1 - 2e-8, x·P(x²)/Q(x²), fitted for the smallest
 * largest error (2e-8); all coefficients are positive, so nothing cancels. Beyond, exactly ±1. */
static inline vec vec_erf_root_half(vec x) {
    vec edge = vec_set(5.6f);
    vec inside = vec_max(vec_min(x, edge), vec_sub(vec_zero(), edge));
    vec u = vec_mul(inside, inside);
    vec p = vec_set(4.42905232e-08f);
    p = vec_fma(p, u, vec_set(1.27130547e-05f));
    p = vec_fma(p, u, vec_set(0.000347701878f));
    p = vec_fma(p, u, vec_set(0.00941452132f));
    p = vec_fma(p, u, vec_set(0.0687522686f));
    p = vec_fma(p, u, vec_set(0.797884443f));
    vec q = vec_set(1.18021011e-06f);
    q = vec_fma(q, u, vec_set(7.51019569e-05f));
    q = vec_fma(q, u, vec_set(0.00191297942f));
    q = vec_fma(q, u, vec_set(0.0289401022f));
    q = vec_fma(q, u, vec_set(0.252833903f));
    q = vec_fma(q, u, vec_set(1.0f));
    vec result = vec_div(vec_mul(inside, p), q);
    result = vec_select(vec_less(edge, x), vec_set(1.0f), result);
    return vec_select(vec_less(x, vec_sub(vec_zero(), edge)), vec_set(-1.0f), result);
}

#endif
