/* Few rows: weights are read once, as they lie in memory, and used while they are in registers.
 * Included behind a level's vector_<level>.h and matmul_panels.h.
 *
 * A square is LANES weight rows × 4·LANES bytes of k, transposed in registers; every output meets
 * the additions that panels make, in their order. What will be read next is asked for ahead:
 * LANES rows in turn are more streams than a processor follows by itself. */
#ifndef CLEF_KERNELS_MATMUL_STREAM_H
#define CLEF_KERNELS_MATMUL_STREAM_H

/* Most rows: with more, sums and square do not fit the registers, and panels are faster. */
#if LANES == 16
#define STREAM_ROWS 8
#else
#define STREAM_ROWS 4
#endif
#define STREAM_AHEAD 1024 /* bytes of a row */

/* Weight rows first … first + LANES - 1 of a product, those behind `end` the last one again. */
typedef struct weight_rows {
    const char *rows[LANES];
    size_t row_bytes;
    size_t columns;
    size_t first, end;
} weight_rows;

static inline weight_rows weight_rows_of(const clef_matmul *product, size_t first, size_t end) {
    clef_weight weight = product->weight;
    weight_rows w = {.row_bytes = clef_weight_row_bytes(weight),
                     .columns = weight.columns,
                     .first = first,
                     .end = end};
    for (size_t i = 0; i < LANES; i++) {
        size_t row = smaller(first + i, weight.rows - 1);
        w.rows[i] = (const char *)weight.data + row * w.row_bytes;
    }
    return w;
}

/* Asks for what is STREAM_AHEAD behind byte `at` of each row, or in the rows that come next. */
static inline __attribute__((always_inline)) void fetch_square(const weight_rows *w, size_t at) {
    size_t ahead = at + STREAM_AHEAD;
    if (ahead >= w->row_bytes) {
        if (w->first + 2 * LANES > w->end) {
            return;
        }
        ahead += (LANES - 1) * w->row_bytes;
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++) {
        _mm_prefetch(w->rows[i] + ahead, _MM_HINT_T1);
    }
}

/* Rows are computed one, two, four or eight at once; those behind the last one are the last one
 * again, and are not stored. */
static inline size_t stream_rows_of(size_t count) {
    return count > 4 ? 8 : count > 2 ? 4 : count;
}

/* Few rows, whose inputs fit the scratch in any form a level wants them. */
static inline bool is_streamed(const clef_matmul *product) {
    size_t rows = product->x.rows;
    return rows <= STREAM_ROWS &&
           stream_rows_of(rows) * (product->weight.columns + CLEF_MATMUL_PADDING) <=
               CLEF_MATMUL_INPUTS;
}

/* Calls stream(…, rows) with stream_rows_of(count) as a constant. */
#if STREAM_ROWS == 8
#define STREAM_OF_MANY_ROWS(stream, ...)                                                           \
    case 8:                                                                                        \
        stream(__VA_ARGS__, 8);                                                                    \
        break;
#else
#define STREAM_OF_MANY_ROWS(stream, ...)
#endif
#define STREAM_OF_ROWS(count, stream, ...)                                                         \
    switch (stream_rows_of(count)) {                                                               \
    case 1:                                                                                        \
        stream(__VA_ARGS__, 1);                                                                    \
        break;                                                                                     \
    case 2:                                                                                        \
        stream(__VA_ARGS__, 2);                                                                    \
        break;                                                                                     \
    case 4:                                                                                        \
        stream(__VA_ARGS__, 4);                                                                    \
        break;                                                                                     \
        STREAM_OF_MANY_ROWS(stream, __VA_ARGS__)                                                   \
    default:                                                                                       \
        break;                                                                                     \
    }

/* Sums of all blocks, with the bias, to where they belong. */
static inline void store_outputs(const clef_matmul *product, const weight_rows *w, const vec *y) {
    vec_mask mask = vec_first(w->end - w->first);
    for (size_t row = 0; row < product->x.rows; row++) {
        vec sum = y[row];
        if (product->bias != NULL) {
            sum = vec_add(sum, vec_load_mask(mask, product->bias + w->first));
        }
        vec_store_mask(mask, product->y.data + row * product->y.stride + w->first, sum);
    }
}

#endif
