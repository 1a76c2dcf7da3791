/* Exponential and sigmoid on vectors, one implementation for all levels: included behind a level's
 * vector_<level>.h. */
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

#endif
