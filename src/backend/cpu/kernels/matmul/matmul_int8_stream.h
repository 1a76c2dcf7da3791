/* Few rows of int8 inputs × int8 or 4-bit weights by the byte dot-product instruction: the streams
 * of matmul_int8_avx512vnni.c.
 *
 * Here the unsigned side are the weights, as value + 128 or as the 4 bits that are stored, because
 * the signed side may be an operand in memory. What that adds to a group's sum is its inputs' sum
 * times 128 or 8. Integer sums are exact, so how a group is added up is free, and there are two
 * ways: upright, lanes are weight rows and a square of weights is transposed once for all inputs;
 * flat, lanes are columns and the sums are brought together across lanes, once for each input. Flat
 * is faster for one or two rows. Sums over groups are made in the order of panels. */
#ifndef CLEF_KERNELS_MATMUL_INT8_STREAM_H
#define CLEF_KERNELS_MATMUL_INT8_STREAM_H

#define QUADS     16 /* of 64 columns: one group or two */
#define FLAT_ROWS 2  /* most rows that are computed flat */

/* The outputs of LANES weight rows on their way. `rows` is STREAM_OF_ROWS's. */
typedef struct stream {
    const clef_matmul *product;
    size_t groups;
    const uint32_t *x;          /* signed quads: upright [k/4][rows], flat [rows][stride/4] */
    size_t stride;              /* flat: bytes of a row of x */
    const int32_t *starts;      /* of each group's sum, [groups][rows] */
    const float *x_scales;      /* [groups][rows] */
    float scales[LANES][LANES]; /* of the next groups, each for all weight rows */
} stream;

/* ---- bytes ---- */

static inline __mmask64 first_bytes(size_t count) {
    return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

static inline vec load_bytes(const char *from, size_t count) {
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi8(first_bytes(count), from));
}

/* sum += the four products of each quad. Not the intrinsic: gcc 12 copies the sum for each use. */
static inline __m512i add_products(__m512i sum, __m512i inputs, __m512i weights) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(inputs), "v"(weights));
    return sum;
}

/* ---- inputs ---- */

/* Σ of a group's unsigned bytes; `count` of them, 32 or 64. */
static inline int sum_bytes(const uint8_t *bytes, size_t count) {
    __m512i value = _mm512_maskz_loadu_epi8(first_bytes(count), bytes);
    return (int)_mm512_reduce_add_epi64(_mm512_sad_epu8(value, _mm512_setzero_si512()));
}

/* What each group's sum begins with, and its scale. */
static void prepare_groups(stream *s, size_t rows, int32_t *starts, float *x_scales) {
    const clef_rounded_rows *rounded = &s->product->rounded;
    size_t group = s->product->weight.group;
    int offset = s->product->weight.dtype == CLEF_DTYPE_I8 ? 128 : 8;
    for (size_t r = 0; r < rows; r++) {
        size_t row = clef_size_smaller(r, s->product->x.rows - 1);
        const uint8_t *bytes = (const uint8_t *)rounded->values + row * rounded->stride;
        for (size_t g = 0; g < s->groups; g++) {
            int sum = sum_bytes(bytes + g * group, group) - 128 * (int)group;
            starts[g * rows + r] = -offset * sum;
            x_scales[g * rows + r] = rounded->scales[row * rounded->groups + g];
        }
    }
    s->starts = starts;
    s->x_scales = x_scales;
}

/* 64 bytes of inputs as columns of 4-bit weights lie: of blocks of 32 columns the first 16 of four
 * blocks, then the last 16. */
static inline void store_halves(__m512i first, __m512i second, char *to) {
    _mm512_store_si512(to, _mm512_shuffle_i64x2(first, second, 0x88));
    _mm512_store_si512(to + 64, _mm512_shuffle_i64x2(first, second, 0xDD));
}

/* Signed inputs, in the form that is asked for. */
static void prepare_stream(stream *s, size_t rows, void *scratch) {
    const clef_rounded_rows *rounded = &s->product->rounded;
    const __m512i sign = _mm512_set1_epi8((char)128);
    bool is_int8 = s->product->weight.dtype == CLEF_DTYPE_I8;
    s->x = scratch;
    s->stride = (rounded->stride + 127) / 128 * 128;
    for (size_t r = 0; r < rows; r++) {
        size_t row = clef_size_smaller(r, s->product->x.rows - 1);
        const char *from = (const char *)rounded->values + row * rounded->stride;
        for (size_t k = 0; k < s->stride; k += 128) {
            __m512i both[2];
            for (size_t i = 0; i < 2; i++) {
                size_t at = k + 64 * i;
                __m512i bytes = at < rounded->stride ? _mm512_loadu_si512(from + at) : sign;
                both[i] = _mm512_xor_si512(bytes, sign);
            }
            if (rows > FLAT_ROWS) {
                uint32_t quads[2 * QUADS];
                memcpy(quads, both, sizeof quads);
                for (size_t q = 0; q < 2 * QUADS; q++) {
                    ((uint32_t *)scratch)[(k / 4 + q) * rows + r] = quads[q];
                }
            } else if (is_int8) {
                memcpy((char *)scratch + r * s->stride + k, both, sizeof both);
            } else {
                store_halves(both[0], both[1], (char *)scratch + r * s->stride + k);
            }
        }
    }
    int32_t *starts = (int32_t *)scratch + s->stride / 4 * rows;
    prepare_groups(s, rows, starts, (float *)starts + s->groups * rows);
}

/* ---- groups ---- */

/* Scales of groups g … g + LANES - 1; those that the next rows need are asked for. */
static __attribute__((noinline)) void load_scales(stream *s, const weight_rows *w, size_t g) {
    const float *scales = s->product->weight.scales + w->first * s->groups + g;
    size_t count = clef_size_smaller(LANES, s->groups - g);
    bool has_next = w->first + 2 * LANES <= w->end;
    vec square[LANES];
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++) {
        const float *from = scales + i * s->groups;
        square[i] = vec_load_mask(vec_first(count), from);
        if (has_next) {
            _mm_prefetch((const char *)(from + LANES * s->groups), _MM_HINT_T1);
        }
    }
    vec_transpose(square);
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++) {
        vec_store(s->scales[i], square[i]);
    }
}

/* total[r] += the group's integer sums, scaled. */
static inline __attribute__((always_inline)) void add_group(stream *s, const weight_rows *w,
                                                            size_t g, const __m512i *sum,
                                                            vec *total, const size_t rows) {
    if (g % LANES == 0) {
        load_scales(s, w, g);
    }
    vec scale = vec_load(s->scales[g % LANES]);
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++) {
        vec both = vec_mul(scale, vec_set(s->x_scales[g * rows + r]));
        total[r] = vec_fma(_mm512_cvtepi32_ps(sum[r]), both, total[r]);
    }
}

/* 64 bytes of each weight row. */
static inline __attribute__((always_inline)) void load_square(const weight_rows *w, vec *square,
                                                              size_t byte) {
    square_rows from = next_square(w, byte);
    size_t count = w->row_bytes - byte;
    if (count >= 64) {
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++) {
            square[i] = vec_load((const float *)(const void *)square_row(&from, i));
        }
    } else {
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++) {
            square[i] = load_bytes(square_row(&from, i), count);
        }
    }
}

/* ---- upright ---- */

/* sum += the four products of each quad of weights with one quad of inputs. */
static inline __m512i add_products_of(__m512i sum, __m512i weights, const uint32_t *quad) {
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(weights), "m"(*quad));
    return sum;
}

/* Group g, its `count` quads in registers. */
static inline __attribute__((always_inline)) void stream_group(stream *s, const weight_rows *w,
                                                               const vec *quads, const size_t count,
                                                               size_t g, vec *total,
                                                               const size_t rows) {
    const uint32_t *x = s->x + g * count * rows;
    __m512i sum[STREAM_ROWS];
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++) {
        sum[r] = _mm512_set1_epi32(s->starts[g * rows + r]);
    }
#pragma GCC unroll 16
    for (size_t q = 0; q < count; q++) {
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            sum[r] = add_products_of(sum[r], _mm512_castps_si512(quads[q]), x + q * rows + r);
        }
    }
    add_group(s, w, g, sum, total, rows);
}

/* Columns k … k + 63: one group, or two of which the second may not exist. */
static inline __attribute__((always_inline)) void stream_groups(stream *s, const weight_rows *w,
                                                                const vec *quads,
                                                                const size_t count, size_t k,
                                                                vec *total, const size_t rows) {
    size_t g = k / (4 * count);
    stream_group(s, w, quads, count, g, total, rows);
    if (count == QUADS / 2 && g + 1 < s->groups) {
        stream_group(s, w, quads + QUADS / 2, count, g + 1, total, rows);
    }
}

/* Four quads and the four that lie 16 columns behind them, taken apart. */
static inline __attribute__((always_inline)) void take_apart(const vec *both, vec *quads) {
    const __m512i four_bits = _mm512_set1_epi8(15);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        __m512i bits = _mm512_castps_si512(both[i]);
        __m512i high = _mm512_srli_epi32(bits, 4);
        quads[i] = _mm512_castsi512_ps(_mm512_and_si512(bits, four_bits));
        quads[i + 4] = _mm512_castsi512_ps(_mm512_and_si512(high, four_bits));
    }
}

/* Columns k … k + 63 of int8, or k … k + 127 of 4 bits; unpack_int4 says how those lie. */
static inline __attribute__((always_inline)) void stream_upright(stream *s, const weight_rows *w,
                                                                 const bool is_int8,
                                                                 const size_t count, size_t k,
                                                                 vec *total, const size_t rows) {
    vec square[LANES], quads[QUADS];
    load_square(w, square, is_int8 ? k : k / 2);
    vec_transpose(square);
    if (is_int8) {
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++) {
            __m512i bytes = _mm512_castps_si512(square[i]);
            quads[i] = _mm512_castsi512_ps(_mm512_xor_si512(bytes, _mm512_set1_epi8((char)128)));
        }
        stream_groups(s, w, quads, count, k, total, rows);
        return;
    }
    take_apart(square, quads);
    take_apart(square + 4, quads + 8);
    stream_groups(s, w, quads, count, k, total, rows);
    if (k + 64 < w->columns) {
        take_apart(square + 8, quads);
        take_apart(square + 12, quads + 8);
        stream_groups(s, w, quads, count, k + 64, total, rows);
    }
}

/* ---- flat ---- */

/* Sums of the lanes of each of LANES vectors, a vector of `count` groups: groups[g] gets that of
 * lanes g · 16/count and on of vector i in lane i. Destroys sums. */
static inline __attribute__((always_inline)) void add_lanes(__m512i *sums, const size_t count,
                                                            __m512i *groups) {
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++) {
        __m512i a = sums[2 * i], b = sums[2 * i + 1];
        sums[i] = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) { /* then a quarter of a vector holds four rows */
        __m512i a = sums[2 * i], b = sums[2 * i + 1];
        sums[i] = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
    }
    __m512i even[2], odd[2]; /* quarters of two vectors */
#pragma GCC unroll 2
    for (size_t i = 0; i < 2; i++) {
        even[i] = _mm512_shuffle_i32x4(sums[2 * i], sums[2 * i + 1], 0x88);
        odd[i] = _mm512_shuffle_i32x4(sums[2 * i], sums[2 * i + 1], 0xDD);
        if (count < 4) {
            even[i] = _mm512_add_epi32(even[i], odd[i]);
        }
    }
    __m512i first = _mm512_shuffle_i32x4(even[0], even[1], 0x88);
    __m512i second = _mm512_shuffle_i32x4(even[0], even[1], 0xDD);
    if (count == 1) {
        groups[0] = _mm512_add_epi32(first, second);
        return;
    }
    groups[0] = first;
    groups[count / 2] = second;
    if (count == 4) {
        groups[1] = _mm512_shuffle_i32x4(odd[0], odd[1], 0x88);
        groups[3] = _mm512_shuffle_i32x4(odd[0], odd[1], 0xDD);
    }
}

/* The columns of 64 bytes of each weight row: `count` groups, of which the last may not exist. */
static inline __attribute__((always_inline)) void stream_flat(stream *s, const weight_rows *w,
                                                              const bool is_int8,
                                                              const size_t count, size_t k,
                                                              vec *total, const size_t rows) {
    const __m512i sign = _mm512_set1_epi8((char)128), four_bits = _mm512_set1_epi8(15);
    size_t first = k / (is_int8 ? 64 : 128) * count;
    __m512i groups[4], sums[4][FLAT_ROWS];
    vec square[LANES];
    load_square(w, square, is_int8 ? k : k / 2);
#pragma GCC unroll 2
    for (size_t r = 0; r < rows; r++) {
        const char *x = (const char *)s->x + r * s->stride + k;
        __m512i lanes[LANES];
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++) {
            __m512i bits = _mm512_castps_si512(square[i]);
            __m512i low =
                is_int8 ? _mm512_xor_si512(bits, sign) : _mm512_and_si512(bits, four_bits);
            lanes[i] = add_products(_mm512_setzero_si512(), low, _mm512_load_si512(x));
            if (!is_int8) {
                __m512i high = _mm512_and_si512(_mm512_srli_epi32(bits, 4), four_bits);
                lanes[i] = add_products(lanes[i], high, _mm512_load_si512(x + 64));
            }
        }
        add_lanes(lanes, count, groups);
#pragma GCC unroll 4
        for (size_t g = 0; g < count; g++) {
            sums[g][r] = groups[g];
        }
    }
#pragma GCC unroll 4
    for (size_t g = 0; g < count; g++) {
        if (first + g >= s->groups) {
            break;
        }
#pragma GCC unroll 2
        for (size_t r = 0; r < rows; r++) {
            __m512i start = _mm512_set1_epi32(s->starts[(first + g) * rows + r]);
            sums[g][r] = _mm512_add_epi32(sums[g][r], start);
        }
        add_group(s, w, first + g, sums[g], total, rows);
    }
}

/* ---- outputs ---- */

/* Outputs of LANES weight rows; `group` columns share a scale. */
static inline __attribute__((always_inline)) void stream_outputs(stream *s, const weight_rows *w,
                                                                 const bool is_int8,
                                                                 const size_t group,
                                                                 const size_t rows) {
    const size_t step = is_int8 ? 64 : 128;
    vec y[STREAM_ROWS] = {0}, total[STREAM_ROWS];
    for (size_t from = 0; from < w->columns; from += CLEF_MATMUL_BLOCK) {
        size_t to = clef_size_smaller(w->columns, from + CLEF_MATMUL_BLOCK);
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            total[r] = vec_zero();
        }
        for (size_t k = from; k < to; k += step) {
            if (rows > FLAT_ROWS) {
                stream_upright(s, w, is_int8, group / 4, k, total, rows);
            } else {
                stream_flat(s, w, is_int8, step / group, k, total, rows);
            }
        }
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            y[r] = from == 0 ? total[r] : vec_add(y[r], total[r]);
        }
    }
    store_outputs(s->product, w, y);
}

/* Returns the first output that is left. */
static size_t stream_rows(const clef_matmul *product, size_t begin, size_t end, void *scratch) {
    clef_weight weight = product->weight;
    stream s = {.product = product, .groups = clef_weight_groups(weight)};
    prepare_stream(&s, stream_rows_of(product->x.rows), scratch);
    for (; begin + LANES <= end; begin += LANES) {
        weight_rows w = weight_rows_of(product, begin, end);
        if (weight.dtype == CLEF_DTYPE_I8 && weight.group == 64) {
            STREAM_OF_ROWS(product->x.rows, stream_outputs, &s, &w, true, 64)
        } else if (weight.dtype == CLEF_DTYPE_I8) {
            STREAM_OF_ROWS(product->x.rows, stream_outputs, &s, &w, true, 32)
        } else if (weight.group == 64) {
            STREAM_OF_ROWS(product->x.rows, stream_outputs, &s, &w, false, 64)
        } else {
            STREAM_OF_ROWS(product->x.rows, stream_outputs, &s, &w, false, 32)
        }
    }
    return begin;
}

#endif
