/* Matrix product on fp32 vectors: the body of matmul_<level>.c, behind that level's
 * vector_<level>.h.
 *
 * A panel is widened and transposed into scratch, [k][2·LANES]. A tile holds TILE_ROWS × 2 vectors
 * of sums, reads two vectors of the panel a k and broadcasts one input a row: enough independent
 * chains to hide the latency of the fused multiply-add. Inputs rounded to bfloat16 are widened
 * once and take the same way. */

#include "backend/cpu/kernels/matmul/matmul_panels.h"
#include "backend/cpu/kernels/matmul/matmul_stream.h"

typedef struct fp32_scratch {
    float panel[CLEF_MATMUL_BLOCK * WIDE];
    float inputs[CLEF_MATMUL_INPUTS];
} fp32_scratch;

_Static_assert(sizeof(fp32_scratch) <= CLEF_MATMUL_SCRATCH, "panel and inputs fit the scratch");

/* Pairs of bfloat16 are transposed as they lie, and only then taken apart. */
static void unpack_pairs(const char *const *rows, size_t k_begin, size_t k_count, float *panel) {
    for (size_t k = 0; k < k_count; k += 2 * LANES) {
        vec square[LANES];
        for (size_t i = 0; i < LANES; i++) {
            square[i] = vec_load_pairs(rows[i], k_begin + k, k_count - k);
        }
        vec_transpose(square);
        for (size_t i = 0; i < LANES && k + 2 * i < k_count; i++) {
            float *to = panel + (k + 2 * i) * WIDE;
            vec_store(to, vec_first_of_pairs(square[i]));
            vec_store(to + WIDE, vec_second_of_pairs(square[i]));
        }
    }
}

static void unpack_widened(const char *const *rows, clef_dtype dtype, size_t k_begin,
                           size_t k_count, float *panel) {
    for (size_t k = 0; k < k_count; k += LANES) {
        vec square[LANES];
        for (size_t i = 0; i < LANES; i++) {
            square[i] = vec_load_weights(dtype, rows[i], k_begin + k, k_count - k);
        }
        vec_transpose(square);
        for (size_t i = 0; i < LANES && i < k_count - k; i++) {
            vec_store(panel + (k + i) * WIDE, square[i]);
        }
    }
}

static void unpack_panel(const panel_step *step, float *panel) {
    clef_dtype dtype = step->product->weight.dtype;
    for (size_t n = 0; n < WIDE; n += LANES) {
        if (dtype == CLEF_DTYPE_BF16) {
            unpack_pairs(step->weights + n, step->k, step->k_count, panel + n);
        } else {
            unpack_widened(step->weights + n, dtype, step->k, step->k_count, panel + n);
        }
    }
}

typedef struct tile {
    const float *x; /* first row, at the block's first k */
    size_t x_stride;
    const float *panel;
    size_t k_count;
    tile_outputs out;
    size_t row; /* of the outputs */
} tile;

/* `rows` is a constant where this is inlined, so the sums stay in registers. */
static inline __attribute__((always_inline)) void multiply_tile(const tile *t, const size_t rows) {
    vec low[TILE_ROWS], high[TILE_ROWS];
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        low[r] = vec_zero();
        high[r] = vec_zero();
    }
    const float *panel = t->panel;
    const float *x = t->x;
    size_t stride = t->x_stride;
    for (size_t k = 0; k < t->k_count; k++) {
        vec w_low = vec_load(panel);
        vec w_high = vec_load(panel + LANES);
        panel += WIDE;
#pragma GCC unroll 12
        for (size_t r = 0; r < rows; r++) {
            vec input = vec_set(x[r * stride + k]);
            low[r] = vec_fma(input, w_low, low[r]);
            high[r] = vec_fma(input, w_high, high[r]);
        }
    }
    vec sums[TILE_ROWS][2];
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        sums[r][0] = low[r];
        sums[r][1] = high[r];
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

static inline void multiply_rows(panel_step *step, const float *x, size_t x_stride,
                                 const float *panel) {
    tile t = {.x_stride = x_stride,
              .panel = panel,
              .k_count = step->k_count,
              .out = outputs_of(step, step->k)};
    for (; t.row < step->rows; t.row += TILE_ROWS) {
        fetch_tile(step, t.row);
        t.x = x + t.row * x_stride;
        if (step->rows - t.row >= TILE_ROWS) {
            multiply_whole(&t);
        } else {
            multiply_tail(&t, step->rows - t.row);
        }
    }
}

/* ---- few rows ---- */

/* Inputs of few rows: row r from x + r·stride on. */
typedef struct fp32_inputs {
    const float *x;
    size_t stride;
    bool is_rounded; /* to bfloat16, and weights are to be, too */
} fp32_inputs;

/* sum[r] += x[r, k] · weights, of every row. */
static inline __attribute__((always_inline)) void
stream_column(const float *const *x, size_t k, vec weights, vec *sum, const size_t rows) {
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++) {
        sum[r] = vec_fma(vec_set(x[r][k]), weights, sum[r]);
    }
}

/* Columns k … of a square of pairs, those before `to`. */
static inline __attribute__((always_inline)) void stream_pairs(const weight_rows *w,
                                                               const float *const *x, size_t k,
                                                               size_t to, vec *sum,
                                                               const size_t rows) {
    vec square[LANES];
    square_rows from = next_square(w, 2 * k);
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++) {
        square[i] = vec_load_pairs(square_row(&from, i), 0, to - k);
    }
    vec_transpose(square);
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++) {
        if (k + 2 * i < to) {
            stream_column(x, k + 2 * i, vec_first_of_pairs(square[i]), sum, rows);
        }
        if (k + 2 * i + 1 < to) {
            stream_column(x, k + 2 * i + 1, vec_second_of_pairs(square[i]), sum, rows);
        }
    }
}

/* The same of weights in other types. */
static inline __attribute__((always_inline)) void
stream_widened(const weight_rows *w, clef_dtype dtype, bool is_rounded, const float *const *x,
               size_t k, size_t to, vec *sum, const size_t rows) {
    vec square[LANES];
    square_rows from = next_square(w, k * (dtype == CLEF_DTYPE_F32 ? 4 : 2));
    for (size_t i = 0; i < LANES; i++) {
        square[i] = vec_load_weights(dtype, square_row(&from, i), 0, to - k);
    }
    vec_transpose(square);
    for (size_t i = 0; i < LANES && k + i < to; i++) {
        vec weights = square[i];
        if (is_rounded) {
            uint16_t narrow[LANES];
            vec_store_bf16(narrow, weights);
            weights = vec_load_weights(CLEF_DTYPE_BF16, (const char *)narrow, 0, LANES);
        }
        stream_column(x, k + i, weights, sum, rows);
    }
}

/* Outputs of LANES weight rows. */
static inline __attribute__((always_inline)) void stream_outputs(const clef_matmul *product,
                                                                 const weight_rows *w,
                                                                 const fp32_inputs *inputs,
                                                                 const size_t rows) {
    clef_dtype dtype = product->weight.dtype;
    const float *x[STREAM_ROWS];
    vec y[STREAM_ROWS];
    for (size_t r = 0; r < STREAM_ROWS; r++) {
        x[r] = inputs->x + clef_size_smaller(r, product->x.rows - 1) * inputs->stride;
        y[r] = vec_zero();
    }
    for (size_t from = 0; from < w->columns; from += CLEF_MATMUL_BLOCK) {
        size_t to = clef_size_smaller(w->columns, from + CLEF_MATMUL_BLOCK);
        size_t whole = from + (to - from) / (2 * LANES) * (2 * LANES);
        vec sum[STREAM_ROWS];
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            sum[r] = vec_zero();
        }
        if (dtype == CLEF_DTYPE_BF16) {
            for (size_t k = from; k < whole; k += 2 * LANES) {
                stream_pairs(w, x, k, k + 2 * LANES, sum, rows);
            }
            if (whole < to) {
                stream_pairs(w, x, whole, to, sum, rows);
            }
        } else {
            for (size_t k = from; k < to; k += LANES) {
                stream_widened(w, dtype, inputs->is_rounded, x, k, to, sum, rows);
            }
        }
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            y[r] = from == 0 ? sum[r] : vec_add(y[r], sum[r]);
        }
    }
    store_outputs(product, w, y);
}

/* Returns the first output that is left. */
static size_t stream(const clef_matmul *product, const fp32_inputs *inputs, size_t begin,
                     size_t end) {
    for (; begin + LANES <= end; begin += LANES) {
        weight_rows w = weight_rows_of(product, begin, end);
        STREAM_OF_ROWS(product->x.rows, stream_outputs, product, &w, inputs)
    }
    return begin;
}

/* ---- fp32 inputs ---- */

static void multiply_fp32_panel(panel_step *step, void *scratch) {
    fp32_scratch *space = scratch;
    clef_matrix x = step->product->x;
    unpack_panel(step, space->panel);
    multiply_rows(step, x.data + step->row * x.stride + step->k, x.stride, space->panel);
}

static void multiply(const clef_matmul *product, size_t begin, size_t end, void *scratch) {
    if (is_streamed(product)) {
        fp32_inputs inputs = {.x = product->x.data, .stride = product->x.stride};
        begin = stream(product, &inputs, begin, end);
    }
    walk_panels(&(panel_walk){.depth = CLEF_MATMUL_BLOCK, .multiply = multiply_fp32_panel}, product,
                begin, end, scratch);
}

/* ---- inputs rounded to bfloat16 ---- */

static void round_row(clef_matrix x, size_t row, const clef_rounded_rows *rounded) {
    uint16_t *values = (uint16_t *)rounded->values + row * rounded->stride;
    const float *from = x.data + row * x.stride;
    for (size_t k = 0; k < rounded->stride; k += LANES) {
        vec_mask mask = vec_first(x.columns > k ? x.columns - k : 0);
        vec_store_bf16(values + k, vec_load_mask(mask, from + k));
    }
}

static void widen_inputs(const panel_step *step, size_t k, size_t count, void *scratch) {
    fp32_scratch *space = scratch;
    const clef_rounded_rows *rounded = &step->product->rounded;
    for (size_t row = 0; row < step->rows; row++) {
        const uint16_t *from =
            (const uint16_t *)rounded->values + (step->row + row) * rounded->stride + k;
        float *to = space->inputs + row * (count + CLEF_MATMUL_PADDING);
        for (size_t i = 0; i < count; i++) {
            to[i] = clef_float_of_bf16(from[i]);
        }
    }
}

static void multiply_rounded_panel(panel_step *step, void *scratch) {
    fp32_scratch *space = scratch;
    size_t span = span_of(step->product, CLEF_MATMUL_BLOCK);
    size_t count = clef_size_smaller(span, step->product->weight.columns - step->input_k);
    unpack_panel(step, space->panel);
    if (step->product->weight.dtype != CLEF_DTYPE_BF16) {
        for (size_t i = 0; i < step->k_count * WIDE; i++) {
            space->panel[i] = clef_float_of_bf16(clef_bf16_of_float(space->panel[i]));
        }
    }
    multiply_rows(step, space->inputs + (step->k - step->input_k), count + CLEF_MATMUL_PADDING,
                  space->panel);
}

static void multiply_rounded(const clef_matmul *product, size_t begin, size_t end, void *scratch) {
    if (is_streamed(product)) {
        panel_step step = {.product = product, .rows = product->x.rows};
        size_t columns = product->weight.columns;
        widen_inputs(&step, 0, columns, scratch);
        fp32_inputs inputs = {.x = ((fp32_scratch *)scratch)->inputs,
                              .stride = columns + CLEF_MATMUL_PADDING,
                              .is_rounded = true};
        begin = stream(product, &inputs, begin, end);
    }
    walk_panels(&(panel_walk){.depth = CLEF_MATMUL_BLOCK,
                              .pack = widen_inputs,
                              .multiply = multiply_rounded_panel},
                product, begin, end, scratch);
}
