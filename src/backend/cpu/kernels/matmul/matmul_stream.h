/* Few rows: weights are read once, as they lie in memory, and used while they are in registers.
 * Included behind a level's vector_<level>.h and matmul_panels.h.
 *
 * A square is LANES weight rows × 4·LANES bytes of k, transposed in registers; every output meets
 * the additions that panels make, in their order. A last block of fewer than LANES rows is left to
 * panels. */
#ifndef CLEF_KERNELS_MATMUL_STREAM_H
#define CLEF_KERNELS_MATMUL_STREAM_H

/* Most rows: with more, sums and square do not fit the registers, and panels are faster. */
#if LANES == 16
#define STREAM_ROWS 8
#else
#define STREAM_ROWS 4
#endif

/* Weight rows first … first + LANES - 1 of a product, all before `end`. */
typedef struct weight_rows {
    const char *data; /* of the first one */
    size_t row_bytes;
    size_t columns;
    size_t first, end;
} weight_rows;

static inline weight_rows weight_rows_of(const clef_matmul *product, size_t first, size_t end) {
    clef_weight weight = product->weight;
    size_t row_bytes = clef_weight_row_bytes(weight);
    return (weight_rows){.data = (const char *)weight.data + first * row_bytes,
                         .row_bytes = row_bytes,
                         .columns = weight.columns,
                         .first = first,
                         .end = end};
}

/* Every fourth row, from byte `at` on: those between are within reach of an address. A compiler
 * left alone keeps LANES distances, more than there are registers. */
typedef struct square_rows {
    const char *fourth[LANES / 4];
    size_t row_bytes;
} square_rows;

static inline __attribute__((always_inline)) square_rows square_rows_of(const char *data,
                                                                        size_t row_bytes) {
    square_rows rows = {.row_bytes = row_bytes};
#pragma GCC unroll 4
    for (size_t i = 0; i < LANES / 4; i++) {
        rows.fourth[i] = data;
        data += 4 * row_bytes;
        __asm__("" : "+r"(data));
    }
    return rows;
}

static inline __attribute__((always_inline)) const char *square_row(const square_rows *rows,
                                                                    size_t i) {
    return rows->fourth[i / 4] + i % 4 * rows->row_bytes;
}

/* The rows of the square at byte `at`. What the next LANES rows will need is asked for in the order
 * of memory, a square's bytes for each square: a processor follows one stream by itself, and does
 * not hold back other reads for it; LANES streams are too many. */
static inline __attribute__((always_inline)) square_rows next_square(const weight_rows *w,
                                                                     size_t at) {
    if (w->first + 2 * LANES <= w->end) {
        const char *next = w->data + LANES * (w->row_bytes + at);
#pragma GCC unroll 16
        for (size_t byte = 0; byte < LANES * 4 * LANES; byte += 64) {
            _mm_prefetch(next + byte, _MM_HINT_T1);
        }
    }
    return square_rows_of(w->data + at, w->row_bytes);
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
    for (size_t row = 0; row < product->x.rows; row++) {
        vec sum = y[row];
        if (product->bias != NULL) {
            sum = vec_add(sum, vec_load(product->bias + w->first));
        }
        vec_store(product->y.data + row * product->y.stride + w->first, sum);
    }
}

#endif
