/* What products of every arithmetic share: the walk over panels of weights, and where the sums of a
 * tile go. Included behind a level's vector_<level>.h.
 *
 * A panel is 2·LANES weight rows × one or more blocks of k, unpacked into scratch once for all rows
 * of the step; a tile is some rows × 2·LANES outputs of one block. Whole steps walk panels inside
 * the same columns of k, so that their inputs stay in cache; few rows walk all of k inside the same
 * weight rows, so that weights are read as they lie. Every output meets the same additions in both.
 */
#ifndef CLEF_KERNELS_MATMUL_PANELS_H
#define CLEF_KERNELS_MATMUL_PANELS_H

#include "base/size.h"

#include <stdbool.h>

#define WIDE (2 * LANES)

/* ---- outputs ---- */

typedef struct tile_outputs {
    float *y; /* first row, at the panel's first output */
    size_t y_stride;
    bool is_whole;      /* all outputs exist */
    vec_mask low, high; /* those that exist */
    bool is_first;      /* block: y is set, not added to */
    const float *bias;  /* added behind the last block, or NULL */
} tile_outputs;

/* Block sums into y: set or added, then the bias. `mask` NULL: all outputs exist; masked stores
 * take some processors many times as long. */
static inline __attribute__((always_inline)) void
finish_output(const tile_outputs *o, const vec_mask *mask, float *y, const float *bias, vec sum) {
    if (!o->is_first) {
        sum = vec_add(mask == NULL ? vec_load(y) : vec_load_mask(*mask, y), sum);
    }
    if (bias != NULL) {
        sum = vec_add(sum, mask == NULL ? vec_load(bias) : vec_load_mask(*mask, bias));
    }
    if (mask == NULL) {
        vec_store(y, sum);
    } else {
        vec_store_mask(*mask, y, sum);
    }
}

/* The sums of `rows` rows of the tile, from its row `row` on. Not inlined: what outputs need must
 * not cost the loop over k its registers. */
static __attribute__((noinline)) void finish_rows(const tile_outputs *o, size_t row, size_t rows,
                                                  vec sums[][2]) {
    const float *bias = o->bias;
    float *y = o->y + row * o->y_stride;
    const float *high_bias = bias == NULL ? NULL : bias + LANES;
    for (size_t r = 0; r < rows; r++, y += o->y_stride) {
        if (o->is_whole) {
            finish_output(o, NULL, y, bias, sums[r][0]);
            finish_output(o, NULL, y + LANES, high_bias, sums[r][1]);
        } else {
            finish_output(o, &o->low, y, bias, sums[r][0]);
            finish_output(o, &o->high, y + LANES, high_bias, sums[r][1]);
        }
    }
}

/* Calls multiply(t, rows) with rows as a constant, for the last rows: fewer than TILE_ROWS. */
#if TILE_ROWS == 12
#define TILE_OF_MANY_ROWS(multiply, t)                                                             \
    case 6:                                                                                        \
        multiply(t, 6);                                                                            \
        break;                                                                                     \
    case 7:                                                                                        \
        multiply(t, 7);                                                                            \
        break;                                                                                     \
    case 8:                                                                                        \
        multiply(t, 8);                                                                            \
        break;                                                                                     \
    case 9:                                                                                        \
        multiply(t, 9);                                                                            \
        break;                                                                                     \
    case 10:                                                                                       \
        multiply(t, 10);                                                                           \
        break;                                                                                     \
    case 11:                                                                                       \
        multiply(t, 11);                                                                           \
        break;
#else
#define TILE_OF_MANY_ROWS(multiply, t)
#endif
#define TILE_OF_ROWS(rows, multiply, t)                                                            \
    switch (rows) {                                                                                \
    case 1:                                                                                        \
        multiply(t, 1);                                                                            \
        break;                                                                                     \
    case 2:                                                                                        \
        multiply(t, 2);                                                                            \
        break;                                                                                     \
    case 3:                                                                                        \
        multiply(t, 3);                                                                            \
        break;                                                                                     \
    case 4:                                                                                        \
        multiply(t, 4);                                                                            \
        break;                                                                                     \
    case 5:                                                                                        \
        multiply(t, 5);                                                                            \
        break;                                                                                     \
        TILE_OF_MANY_ROWS(multiply, t)                                                             \
    default:                                                                                       \
        break;                                                                                     \
    }

/* ---- the walk ---- */

/* Rows of one stored matrix that will be read next, fetched bit by bit while others are used. */
typedef struct fetch {
    const char *data; /* first of the rows, at its first byte wanted */
    size_t row_bytes; /* from row to row */
    size_t bytes;     /* wanted of each row */
    size_t rows, done;
} fetch;

/* One panel, and the rows of the step that it is for. */
typedef struct panel_step {
    const clef_matmul *product;
    size_t row, rows;          /* inputs */
    size_t first, end;         /* outputs first … first + WIDE - 1, those that exist before end */
    size_t k, k_count;         /* blocks of k */
    size_t input_k;            /* where packed inputs begin */
    const char *weights[WIDE]; /* stored rows; the last one again behind the end */
    fetch next_weights, next_scales;
} panel_step;

/* Tells that the panel's weights are used by another tile; a share of the next ones is fetched. */
static inline void fetch_share(fetch *f, size_t share) {
    for (size_t end = clef_size_smaller(f->rows, f->done + share); f->done < end; f->done++) {
        const char *row = f->data + f->done * f->row_bytes;
        for (size_t byte = 0; byte < f->bytes; byte += 64) {
            _mm_prefetch(row + byte, _MM_HINT_T1);
        }
    }
}

/* What the tile at `row` will add to, and what the panel behind this one will read. */
static inline void fetch_tile(panel_step *step, size_t row) {
    const clef_matrix *y = &step->product->y;
    size_t tiles = (step->rows + TILE_ROWS - 1) / TILE_ROWS;
    size_t share = (WIDE + tiles - 1) / tiles;
    for (size_t end = clef_size_smaller(row + TILE_ROWS, step->rows); row < end; row++) {
        const float *out = y->data + (step->row + row) * y->stride + step->first;
        _mm_prefetch((const char *)out, _MM_HINT_T0);
        _mm_prefetch((const char *)(out + LANES), _MM_HINT_T0);
    }
    fetch_share(&step->next_weights, share);
    fetch_share(&step->next_scales, share);
}

/* Columns of k that are done for all outputs before the next: all for few rows, else a panel's. */
static inline size_t span_of(const clef_matmul *product, size_t depth) {
    size_t columns = product->weight.columns;
    bool is_small = product->x.rows * (columns + CLEF_MATMUL_PADDING) <= CLEF_MATMUL_INPUTS;
    return is_small ? columns : depth;
}

/* Rows that share a visit to all weights: as even parts as there must be. */
static inline size_t rows_of(const clef_matmul *product) {
    size_t parts = (product->x.rows + CLEF_MATMUL_ROWS - 1) / CLEF_MATMUL_ROWS;
    size_t rows = (product->x.rows + parts - 1) / parts;
    return (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
}

static inline void place_panel(panel_step *step, size_t first, size_t k, size_t k_count) {
    clef_weight weight = step->product->weight;
    size_t row_bytes = clef_weight_row_bytes(weight);
    step->first = first;
    step->k = k;
    step->k_count = k_count;
    for (size_t n = 0; n < WIDE; n++) {
        size_t row = clef_size_smaller(first + n, weight.rows - 1);
        step->weights[n] = (const char *)weight.data + row * row_bytes;
    }
}

/* Where the sums of the block at k go. */
static inline tile_outputs outputs_of(const panel_step *step, size_t k) {
    const clef_matmul *product = step->product;
    size_t width = step->end - step->first;
    bool is_last = k + CLEF_MATMUL_BLOCK >= product->weight.columns;
    bool has_bias = is_last && product->bias != NULL;
    return (tile_outputs){.y = product->y.data + step->row * product->y.stride + step->first,
                          .y_stride = product->y.stride,
                          .is_whole = width >= WIDE,
                          .low = vec_first(width),
                          .high = vec_first(width > LANES ? width - LANES : 0),
                          .is_first = k == 0,
                          .bias = has_bias ? product->bias + step->first : NULL};
}

/* The panel behind: outputs from `first`, k_count columns from k. */
static inline void plan_fetch(panel_step *step, size_t first, size_t k, size_t k_count) {
    clef_weight weight = step->product->weight;
    size_t row_bytes = clef_weight_row_bytes(weight);
    size_t groups = clef_weight_groups(weight);
    size_t rows = first < step->end ? clef_size_smaller(WIDE, step->end - first) : 0;
    step->next_weights = (fetch){.data = (const char *)weight.data + first * row_bytes +
                                         row_bytes * k / weight.columns,
                                 .row_bytes = row_bytes,
                                 .bytes = row_bytes * k_count / weight.columns,
                                 .rows = rows};
    step->next_scales = (fetch){0};
    if (groups > 0) {
        step->next_scales =
            (fetch){.data = (const char *)(weight.scales + first * groups + k / weight.group),
                    .row_bytes = groups * sizeof(float),
                    .bytes = k_count / weight.group * sizeof(float),
                    .rows = rows};
    }
}

/* Packs the inputs of columns [k, k + count) of rows [row, row + rows) into scratch. */
typedef void pack_inputs(const panel_step *step, size_t k, size_t count, void *scratch);
/* Unpacks one panel and multiplies all rows of the step by it. */
typedef void multiply_panel(panel_step *step, void *scratch);

/* How a level walks: constants. */
typedef struct panel_walk {
    size_t depth;      /* columns of k of a panel: a multiple of the block */
    pack_inputs *pack; /* or NULL */
    multiply_panel *multiply;
} panel_walk;

static inline __attribute__((always_inline)) void walk_panels(const panel_walk *walk,
                                                              const clef_matmul *product,
                                                              size_t begin, size_t end,
                                                              void *scratch) {
    size_t columns = product->weight.columns;
    size_t span = span_of(product, walk->depth);
    size_t rows = rows_of(product);
    panel_step step = {.product = product, .end = end};
    if (begin >= end) {
        return;
    }
    for (step.row = 0; step.row < product->x.rows; step.row += rows) {
        step.rows = clef_size_smaller(rows, product->x.rows - step.row);
        for (size_t from = 0; from < columns; from += span) {
            size_t to = clef_size_smaller(columns, from + span);
            step.input_k = from;
            if (walk->pack != NULL) {
                walk->pack(&step, from, to - from, scratch);
            }
            for (size_t first = begin; first < end; first += WIDE) {
                for (size_t k = from; k < to; k += walk->depth) {
                    bool is_end = k + walk->depth >= to;
                    place_panel(&step, first, k, clef_size_smaller(walk->depth, to - k));
                    plan_fetch(&step, is_end ? first + WIDE : first,
                               is_end ? from : k + walk->depth, walk->depth);
                    walk->multiply(&step, scratch);
                }
            }
        }
    }
}

#endif
