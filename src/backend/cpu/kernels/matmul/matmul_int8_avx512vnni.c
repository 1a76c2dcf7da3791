/* Matrix product of int8 inputs with int8 or 4-bit weights by the byte dot-product instruction:
 * tiles of 6 rows × 32 outputs; a panel holds quads of weights along k, [k/4][32][4].
 *
 * The instruction takes unsigned times signed bytes, so inputs are stored as value + 128 and every
 * integer sum starts at -128 · Σ weights of its group, which the panel computes once. Integer sums
 * of a group and fp32 sums over groups share the registers: a tile of half the usual rows costs
 * less than sums that wait in memory. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx512.h"

#undef TILE_ROWS
#define TILE_ROWS 6
#include "backend/cpu/kernels/matmul/matmul_panels.h"
#include "backend/cpu/kernels/matmul/matmul_stream.h"

#define DEPTH       (4 * CLEF_MATMUL_BLOCK) /* of a panel: inputs are a quarter as wide as fp32 */
#define GROUP_LIMIT (DEPTH / 32)

typedef struct panel {
    int32_t start[GROUP_LIMIT][WIDE]; /* -128 · Σ weights */
    float scales[GROUP_LIMIT][WIDE];
    float quads[DEPTH / 4 * WIDE]; /* bits: four int8 each */
} panel;

_Static_assert(sizeof(panel) <= CLEF_MATMUL_SCRATCH, "a panel fits the scratch");

static inline __mmask64 first_bytes(size_t count) {
    return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

static inline vec load_bytes(const char *from, size_t count) {
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi8(first_bytes(count), from));
}

/* Quads of LANES int8 rows, from column k on. */
static void unpack_int8(const char *const *rows, size_t k_begin, size_t k_count, float *quads) {
    for (size_t k = 0; k < k_count; k += 64) {
        vec square[LANES];
        for (size_t i = 0; i < LANES; i++) {
            square[i] = load_bytes(rows[i] + k_begin + k, k_count - k);
        }
        vec_transpose(square);
        for (size_t i = 0; i < LANES; i++) {
            vec_store(quads + (k / 4 + i) * WIDE, square[i]);
        }
    }
}

/* Quads of LANES 4-bit rows. Four bytes hold the columns c … c + 3 and c + 16 … c + 19 of their
 * block of 32, so quads are transposed two in one and then taken apart. */
static void unpack_int4(const char *const *rows, size_t k_begin, size_t k_count, float *quads) {
    const __m512i four_bits = _mm512_set1_epi8(15);
    const __m512i eight = _mm512_set1_epi8(8);
    for (size_t k = 0; k < k_count; k += 128) {
        vec square[LANES];
        for (size_t i = 0; i < LANES; i++) {
            square[i] = load_bytes(rows[i] + (k_begin + k) / 2, (k_count - k + 31) / 32 * 16);
        }
        vec_transpose(square);
        for (size_t i = 0; i < LANES && k + i / 4 * 32 < k_count; i++) {
            __m512i both = _mm512_castps_si512(square[i]);
            __m512i low = _mm512_and_si512(both, four_bits);
            __m512i high = _mm512_and_si512(_mm512_srli_epi32(both, 4), four_bits);
            float *to = quads + (k / 4 + i / 4 * 8 + i % 4) * WIDE;
            vec_store(to, _mm512_castsi512_ps(_mm512_sub_epi8(low, eight)));
            vec_store(to + 4 * WIDE, _mm512_castsi512_ps(_mm512_sub_epi8(high, eight)));
        }
    }
}

/* Scales of the panel's groups, a vector of rows for each group. */
static void unpack_scales(const panel_step *step, size_t group_count, panel *out) {
    clef_weight weight = step->product->weight;
    size_t groups = clef_weight_groups(weight);
    for (size_t n = 0; n < WIDE; n += LANES) {
        for (size_t g = 0; g < group_count; g += LANES) {
            vec square[LANES];
            for (size_t i = 0; i < LANES; i++) {
                size_t row = smaller(step->first + n + i, weight.rows - 1);
                const float *from = weight.scales + row * groups + step->k / weight.group + g;
                square[i] = vec_load_mask(vec_first(group_count - g), from);
            }
            vec_transpose(square);
            for (size_t i = 0; i < LANES && g + i < group_count; i++) {
                vec_store(&out->scales[g + i][n], square[i]);
            }
        }
    }
}

/* sum += the four products of each quad. Not the intrinsic: gcc 12 copies the sum for each use. */
static inline __m512i add_products(__m512i sum, __m512i inputs, __m512i weights) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(inputs), "v"(weights));
    return sum;
}

static void unpack_panel(const panel_step *step, size_t group_count, panel *out) {
    clef_weight weight = step->product->weight;
    size_t quads = weight.group / 4;
    for (size_t n = 0; n < WIDE; n += LANES) {
        if (weight.dtype == CLEF_DTYPE_I8) {
            unpack_int8(step->weights + n, step->k, step->k_count, out->quads + n);
        } else {
            unpack_int4(step->weights + n, step->k, step->k_count, out->quads + n);
        }
    }
    unpack_scales(step, group_count, out);
    const __m512i zero_input = _mm512_set1_epi8((char)128);
    for (size_t g = 0; g < group_count; g++) {
        __m512i low = _mm512_setzero_si512();
        __m512i high = _mm512_setzero_si512();
        const float *from = out->quads + g * quads * WIDE;
        for (size_t q = 0; q < quads; q++) {
            low = add_products(low, zero_input, _mm512_castps_si512(vec_load(from + q * WIDE)));
            high = add_products(high, zero_input,
                                _mm512_castps_si512(vec_load(from + q * WIDE + LANES)));
        }
        _mm512_storeu_si512(&out->start[g][0], _mm512_sub_epi32(_mm512_setzero_si512(), low));
        _mm512_storeu_si512(&out->start[g][LANES], _mm512_sub_epi32(_mm512_setzero_si512(), high));
    }
}

typedef struct tile {
    const panel *weights;
    size_t group;          /* first group of the block in the panel */
    const uint32_t *x;     /* quads of the first row, at the block's first k */
    size_t x_stride;       /* quads */
    const float *x_scales; /* of the first row, at the block's first group */
    size_t scale_stride;
    size_t groups; /* of the block */
    size_t group_quads;
    tile_outputs out;
    size_t row; /* of the outputs */
} tile;

/* `rows` is a constant where this is inlined, so the integer sums stay in registers. */
static inline __attribute__((always_inline)) void multiply_tile(const tile *t, const size_t rows) {
    vec low_total[TILE_ROWS], high_total[TILE_ROWS], sums[TILE_ROWS][2];
#pragma GCC unroll 6
    for (size_t r = 0; r < rows; r++) {
        low_total[r] = vec_zero();
        high_total[r] = vec_zero();
    }
    const uint32_t *x = t->x;
    size_t stride = t->x_stride;
    const float *quads = t->weights->quads + t->group * t->group_quads * WIDE;
    for (size_t g = 0; g < t->groups; g++) {
        const int32_t *start = t->weights->start[t->group + g];
        const float *scales = t->weights->scales[t->group + g];
        __m512i low[TILE_ROWS], high[TILE_ROWS];
#pragma GCC unroll 6
        for (size_t r = 0; r < rows; r++) {
            low[r] = _mm512_loadu_si512(start);
            high[r] = _mm512_loadu_si512(start + LANES);
        }
        for (size_t q = 0; q < t->group_quads; q++) {
            __m512i w_low = _mm512_castps_si512(vec_load(quads));
            __m512i w_high = _mm512_castps_si512(vec_load(quads + LANES));
            quads += WIDE;
#pragma GCC unroll 6
            for (size_t r = 0; r < rows; r++) {
                __m512i input = _mm512_set1_epi32((int)x[r * stride]);
                low[r] = add_products(low[r], input, w_low);
                high[r] = add_products(high[r], input, w_high);
            }
            x++;
        }
        vec low_scale = vec_load(scales);
        vec high_scale = vec_load(scales + LANES);
#pragma GCC unroll 6
        for (size_t r = 0; r < rows; r++) {
            vec scale = vec_set(t->x_scales[r * t->scale_stride + g]);
            low_total[r] =
                vec_fma(_mm512_cvtepi32_ps(low[r]), vec_mul(low_scale, scale), low_total[r]);
            high_total[r] =
                vec_fma(_mm512_cvtepi32_ps(high[r]), vec_mul(high_scale, scale), high_total[r]);
        }
    }
#pragma GCC unroll 6
    for (size_t r = 0; r < rows; r++) {
        sums[r][0] = low_total[r];
        sums[r][1] = high_total[r];
    }
    finish_rows(&t->out, t->row, rows, sums);
}

/* A function of its own: with others around it the sums lose their registers. */
static __attribute__((noinline)) void multiply_whole(const tile *t) {
    multiply_tile(t, TILE_ROWS);
}

/* The last rows: the same additions in a smaller tile. */
static void multiply_tail(const tile *t, size_t rows) {
    TILE_OF_ROWS(rows, multiply_tile, t)
}

/* The blocks of one tile follow each other, so that its outputs stay in the first-level cache. */
static void multiply_blocks(const panel_step *step, tile *t) {
    const clef_rounded_rows *rounded = &step->product->rounded;
    size_t row = step->row + t->row;
    size_t group = rounded->group;
    for (size_t k = 0; k < step->k_count; k += CLEF_MATMUL_BLOCK) {
        t->group = k / group;
        t->groups = (smaller(CLEF_MATMUL_BLOCK, step->k_count - k) + group - 1) / group;
        t->x = (const uint32_t *)rounded->values + row * t->x_stride + (step->k + k) / 4;
        t->out = outputs_of(step, step->k + k);
        t->x_scales = rounded->scales + row * t->scale_stride + (step->k + k) / group;
        if (step->rows - t->row >= TILE_ROWS) {
            multiply_whole(t);
        } else {
            multiply_tail(t, step->rows - t->row);
        }
    }
}

static void multiply_step(panel_step *step, void *scratch) {
    const clef_rounded_rows *rounded = &step->product->rounded;
    size_t group = rounded->group;
    tile t = {.weights = scratch,
              .x_stride = rounded->stride / 4,
              .scale_stride = rounded->groups,
              .group_quads = group / 4};
    unpack_panel(step, (step->k_count + group - 1) / group, scratch);
    for (; t.row < step->rows; t.row += TILE_ROWS) {
        fetch_tile(step, t.row);
        multiply_blocks(step, &t);
    }
}

/* ---- few rows ---- */

/* Here the unsigned side are the weights, as value + 128 or as the 4 bits that are stored, because
 * the signed side may be one quad of inputs read for all lanes. What that adds to a group's sum is
 * its inputs' sum times 128 or 8; integer sums are exact, so both ways give the same bits. */
#define QUADS 16 /* of a step of 64 columns: one group or two */

/* sum += the four products of each quad of weights with one quad of inputs. */
static inline __m512i add_products_of(__m512i sum, __m512i weights, const uint32_t *quad) {
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(weights), "m"(*quad));
    return sum;
}

/* The outputs of LANES weight rows on their way. `rows` is STREAM_OF_ROWS's. */
typedef struct stream {
    const clef_matmul *product;
    const weight_rows *w;
    size_t groups;
    const uint32_t *x;          /* signed quads, [k/4][rows] */
    const int32_t *starts;      /* of each group's sum, [groups][rows] */
    const float *x_scales;      /* [groups][rows] */
    float scales[LANES][LANES]; /* of the next groups, each for all weight rows */
    vec total[STREAM_ROWS];     /* sums over the groups of a block */
} stream;

/* Signed inputs, and what each group's sum begins with. */
static void prepare_stream(stream *s, size_t rows, void *scratch) {
    const clef_matmul *product = s->product;
    const clef_rounded_rows *rounded = &product->rounded;
    size_t quads = rounded->stride / 4, group_quads = product->weight.group / 4;
    int offset = product->weight.dtype == CLEF_DTYPE_I8 ? 128 : 8;
    uint32_t *x = scratch;
    int32_t *starts = (int32_t *)scratch + quads * rows;
    float *x_scales = (float *)scratch + (quads + s->groups) * rows;
    for (size_t r = 0; r < rows; r++) {
        size_t row = smaller(r, product->x.rows - 1);
        const uint8_t *bytes = (const uint8_t *)rounded->values + row * rounded->stride;
        const uint32_t *from = (const uint32_t *)(const void *)bytes;
        for (size_t q = 0; q < quads; q++) {
            x[q * rows + r] = from[q] ^ 0x80808080;
        }
        for (size_t g = 0; g < s->groups; g++) {
            int sum = 0;
            for (size_t i = 0; i < 4 * group_quads; i++) {
                sum += bytes[g * 4 * group_quads + i] - 128;
            }
            starts[g * rows + r] = -offset * sum;
            x_scales[g * rows + r] = rounded->scales[row * rounded->groups + g];
        }
    }
    s->x = x;
    s->starts = starts;
    s->x_scales = x_scales;
}

/* Scales of groups g … g + LANES - 1; the next ones are asked for. */
static inline void load_scales(stream *s, size_t g) {
    clef_weight weight = s->product->weight;
    bool is_end = g + LANES >= s->groups;
    size_t next = is_end ? LANES * s->groups - g : LANES;
    bool has_next = !is_end || s->w->first + 2 * LANES <= s->w->end;
    vec square[LANES];
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++) {
        size_t row = smaller(s->w->first + i, weight.rows - 1);
        const float *from = weight.scales + row * s->groups + g;
        square[i] = vec_load_mask(vec_first(s->groups - g), from);
        if (has_next) {
            _mm_prefetch((const char *)(from + next), _MM_HINT_T0);
        }
    }
    vec_transpose(square);
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++) {
        vec_store(s->scales[i], square[i]);
    }
}

/* One group from column k on, its quads in registers. */
static inline __attribute__((always_inline)) void
stream_group(stream *s, const vec *quads, const size_t count, size_t k, const size_t rows) {
    size_t g = k / (4 * count);
    if (g % LANES == 0) {
        load_scales(s, g);
    }
    vec scale = vec_load(s->scales[g % LANES]);
    const uint32_t *x = s->x + k / 4 * rows;
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
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++) {
        vec both = vec_mul(scale, vec_set(s->x_scales[g * rows + r]));
        s->total[r] = vec_fma(_mm512_cvtepi32_ps(sum[r]), both, s->total[r]);
    }
}

/* Columns k … k + 63: one group, or two of which the second may not exist. */
static inline __attribute__((always_inline)) void
stream_groups(stream *s, const vec *quads, const size_t count, size_t k, const size_t rows) {
    stream_group(s, quads, count, k, rows);
    if (count == QUADS / 2 && k + 32 < s->w->columns) {
        stream_group(s, quads + QUADS / 2, count, k + 32, rows);
    }
}

static inline __attribute__((always_inline)) void load_square(const stream *s, vec *square,
                                                              size_t byte) {
    size_t count = s->w->row_bytes - byte;
    fetch_square(s->w, byte);
    if (count >= 64) {
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++) {
            square[i] = vec_load((const float *)(const void *)(s->w->rows[i] + byte));
        }
    } else {
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++) {
            square[i] = load_bytes(s->w->rows[i] + byte, count);
        }
    }
    vec_transpose(square);
}

static inline __attribute__((always_inline)) void stream_int8(stream *s, const size_t count,
                                                              size_t k, const size_t rows) {
    vec square[LANES];
    load_square(s, square, k);
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++) {
        __m512i bytes = _mm512_castps_si512(square[i]);
        square[i] = _mm512_castsi512_ps(_mm512_xor_si512(bytes, _mm512_set1_epi8((char)128)));
    }
    stream_groups(s, square, count, k, rows);
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

/* 128 columns of 4 bits; unpack_int4 says how they lie. */
static inline __attribute__((always_inline)) void stream_int4(stream *s, const size_t count,
                                                              size_t k, const size_t rows) {
    vec square[LANES], quads[QUADS];
    load_square(s, square, k / 2);
    take_apart(square, quads);
    take_apart(square + 4, quads + 8);
    stream_groups(s, quads, count, k, rows);
    if (k + 64 < s->w->columns) {
        take_apart(square + 8, quads);
        take_apart(square + 12, quads + 8);
        stream_groups(s, quads, count, k + 64, rows);
    }
}

/* Outputs of LANES weight rows; `count` quads a group. */
static inline __attribute__((always_inline)) void
stream_outputs(stream *s, const bool is_int8, const size_t count, const size_t rows) {
    vec y[STREAM_ROWS] = {0};
    for (size_t from = 0; from < s->w->columns; from += CLEF_MATMUL_BLOCK) {
        size_t to = smaller(s->w->columns, from + CLEF_MATMUL_BLOCK);
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            s->total[r] = vec_zero();
        }
        for (size_t k = from; k < to; k += is_int8 ? 64 : 128) {
            if (is_int8) {
                stream_int8(s, count, k, rows);
            } else {
                stream_int4(s, count, k, rows);
            }
        }
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            y[r] = from == 0 ? s->total[r] : vec_add(y[r], s->total[r]);
        }
    }
    store_outputs(s->product, s->w, y);
}

static void stream_rows(const clef_matmul *product, size_t begin, size_t end, void *scratch) {
    clef_weight weight = product->weight;
    size_t count = weight.group / 4;
    stream s = {.product = product, .groups = clef_weight_groups(weight)};
    prepare_stream(&s, stream_rows_of(product->x.rows), scratch);
    for (size_t first = begin; first < end; first += LANES) {
        weight_rows w = weight_rows_of(product, first, end);
        s.w = &w;
        if (weight.dtype == CLEF_DTYPE_I8 && count == QUADS) {
            STREAM_OF_ROWS(product->x.rows, stream_outputs, &s, true, QUADS)
        } else if (weight.dtype == CLEF_DTYPE_I8) {
            STREAM_OF_ROWS(product->x.rows, stream_outputs, &s, true, QUADS / 2)
        } else if (count == QUADS) {
            STREAM_OF_ROWS(product->x.rows, stream_outputs, &s, false, QUADS)
        } else {
            STREAM_OF_ROWS(product->x.rows, stream_outputs, &s, false, QUADS / 2)
        }
    }
}

void clef_matmul_int8_avx512vnni(const clef_matmul *product, size_t begin, size_t end,
                                 void *scratch) {
    if (is_streamed(product)) {
        stream_rows(product, begin, end, scratch);
        return;
    }
    walk_panels(&(panel_walk){.depth = DEPTH, .multiply = multiply_step}, product, begin, end,
                scratch);
}

void clef_round_row_int8_avx512vnni(clef_matrix x, size_t row, const clef_rounded_rows *rounded) {
    uint8_t *values = (uint8_t *)rounded->values + row * rounded->stride;
    const float *from = x.data + row * x.stride;
    __m512i sign = _mm512_set1_epi32(0x7FFFFFFF);
    memset(values, 128, rounded->stride);
    for (size_t g = 0; g < rounded->groups; g++) {
        size_t begin = g * rounded->group;
        size_t count = smaller(x.columns - begin, rounded->group);
        vec highest = vec_zero();
        for (size_t k = 0; k < count; k += LANES) {
            vec value = vec_load_mask(vec_first(count - k), from + begin + k);
            __m512i size = _mm512_and_si512(_mm512_castps_si512(value), sign);
            highest = vec_max(highest, _mm512_castsi512_ps(size));
        }
        float largest = vec_highest(highest);
        rounded->scales[row * rounded->groups + g] = largest / 127.0f;
        vec factor = vec_set(largest > 0 ? 127.0f / largest : 0);
        for (size_t k = 0; k < count; k += LANES) {
            vec_mask mask = vec_first(count - k);
            vec value = vec_mul(vec_load_mask(mask, from + begin + k), factor);
            __m512i whole = _mm512_add_epi32(_mm512_cvtps_epi32(value), _mm512_set1_epi32(128));
            _mm_mask_storeu_epi8(values + begin + k, mask, _mm512_cvtepi32_epi8(whole));
        }
    }
}
