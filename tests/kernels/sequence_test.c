/* Kernels chained along a sequence, in double beside them: the delta rule in chunks and in steps
 * for every length around the grid, and attention over blocks of keys against one plain softmax.
 * For every level this machine has. */
#include "kernel_case.h"

#include "base/memory.h"
#include "support.h"

#include <math.h>

enum { LONGEST = 257, GRID = 64 };

/* Lengths 1 … 130 and 255 … 257. */
static size_t next_length(size_t length) {
    return length == 130 ? 255 : length + 1;
}

/* ---- delta rule ---- */

typedef struct recurrence {
    clef_delta_head head; /* of a whole sequence; state and out are the kernel's */
    float *scratch;
    double *state; /* [key_size, value_size] after `done` rows */
    double *out;   /* [LONGEST, value_size] */
    size_t done;
} recurrence;

static void normalise(float *rows, size_t count, size_t size) {
    for (size_t i = 0; i < count; i++) {
        double squares = 0;
        for (size_t n = 0; n < size; n++) {
            squares += (double)rows[i * size + n] * rows[i * size + n];
        }
        for (size_t n = 0; n < size; n++) {
            rows[i * size + n] = (float)(rows[i * size + n] / sqrt(squares));
        }
    }
}

static void draw_recurrence(kernel_input *input, size_t key_size, size_t value_size,
                            recurrence *r) {
    float *query = kernel_floats(input, KERNEL_READ, LONGEST * key_size, 1);
    float *key = kernel_floats(input, KERNEL_READ, LONGEST * key_size, 1);
    float *g = kernel_floats(input, KERNEL_READ, LONGEST, 1);
    float *beta = kernel_floats(input, KERNEL_READ, LONGEST, 1);
    normalise(query, LONGEST, key_size);
    normalise(key, LONGEST, key_size);
    for (size_t i = 0; i < LONGEST; i++) {
        g[i] = -0.2f * fabsf(g[i]);
        beta[i] = fabsf(beta[i]);
    }
    *r = (recurrence){
        .head = {.query = query,
                 .key = key,
                 .key_stride = key_size,
                 .value = kernel_floats(input, KERNEL_READ, LONGEST * value_size, 1),
                 .value_stride = value_size,
                 .g = g,
                 .beta = beta,
                 .gate_stride = 1,
                 .state = kernel_floats(input, KERNEL_CHANGE, key_size * value_size, 0),
                 .out = kernel_floats(input, KERNEL_WRITE, LONGEST * value_size, 0),
                 .out_stride = value_size,
                 .key_size = key_size,
                 .value_size = value_size},
        .scratch = kernel_bytes(input, KERNEL_SCRATCH,
                                clef_delta_scratch_floats(key_size, value_size) * sizeof(float)),
        .state = kernel_doubles(input, KERNEL_CHANGE, key_size * value_size, 0),
        .out = kernel_doubles(input, KERNEL_CHANGE, LONGEST * value_size, 0),
    };
}

/* S ← e^g S; δ = β(v - Sᵀk); S ← S + k δᵀ; out = Sᵀq. */
static void advance(recurrence *r) {
    const clef_delta_head *h = &r->head;
    size_t i = r->done++;
    for (size_t n = 0; n < h->value_size; n++) {
        double read = 0;
        double out = 0;
        for (size_t k = 0; k < h->key_size; k++) {
            double *s = &r->state[k * h->value_size + n];
            *s *= exp(h->g[i]);
            read += *s * h->key[i * h->key_size + k];
        }
        double delta = h->beta[i] * (h->value[i * h->value_size + n] - read);
        for (size_t k = 0; k < h->key_size; k++) {
            double *s = &r->state[k * h->value_size + n];
            *s += h->key[i * h->key_size + k] * delta;
            out += *s * h->query[i * h->key_size + k];
        }
        r->out[i * h->value_size + n] = out;
    }
}

static void assert_close(const float *found, const double *wanted, size_t count, double bound,
                         const char *what, size_t length) {
    for (size_t i = 0; i < count; i++) {
        if (!(fabs(found[i] - wanted[i]) <= bound)) {
            fail_msg("%s of length %zu: element %zu is %.9g, wanted %.9g", what, length, i,
                     (double)found[i], wanted[i]);
        }
    }
}

/* Runs `length` rows from an empty state in pieces of at most `piece` rows. */
static void run_pieces(clef_delta_chunk_kernel *kernel, const recurrence *r, size_t length,
                       size_t piece) {
    const clef_delta_head *h = &r->head;
    memset(h->state, 0, h->key_size * h->value_size * sizeof(float));
    for (size_t first = 0; first < length; first += piece) {
        clef_delta_head part = *h;
        part.query += first * h->key_stride;
        part.key += first * h->key_stride;
        part.value += first * h->value_stride;
        part.g += first;
        part.beta += first;
        part.out += first * h->out_stride;
        part.rows = length - first < piece ? length - first : piece;
        kernel(&part, r->scratch);
    }
}

static void check_lengths(const clef_kernel_table *kernels, size_t key_size, size_t value_size) {
    kernel_input input;
    recurrence r;
    kernel_input_begin(&input, key_size);
    draw_recurrence(&input, key_size, value_size, &r);
    /* Numbers stay near one; a few hundred roundings of relative size 2⁻²⁴ add up. */
    const double bound = 4e-6;
    for (size_t length = 1; length <= LONGEST; length = next_length(length)) {
        while (r.done < length) {
            advance(&r);
        }
        run_pieces(kernels->delta_chunk, &r, length, GRID);
        assert_close(r.head.out, r.out, length * value_size, bound, "chunks", length);
        assert_close(r.head.state, r.state, key_size * value_size, bound, "state", length);
        run_pieces(kernels->delta_step, &r, length, length % 3 + 1);
        assert_close(r.head.out, r.out, length * value_size, bound, "steps", length);
        assert_close(r.head.state, r.state, key_size * value_size, bound, "state", length);
    }
    kernel_input_end(&input);
}

static void delta_rule_in_chunks_and_steps_equals_the_recurrence(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{16, 24}, {32, 32}, {128, 128}};
    for (int level = 0; level < CLEF_LEVEL_COUNT; level++) {
        clef_kernel_table kernels = clef_kernel_table_of((clef_level)level);
        for (size_t i = 0; clef_level_is_supported((clef_level)level) && i < 3; i++) {
            check_lengths(&kernels, sizes[i][0], sizes[i][1]);
        }
    }
}

/* ---- attention ---- */

enum { SIZE = 32 };

/* One query over all keys at once: softmax(q·Kᵀ·scale)·V. */
static void attend_plainly(const float *query, const float *keys, const float *values, size_t count,
                           double scale, double *out) {
    double weights[LONGEST];
    double highest = -INFINITY;
    double sum = 0;
    for (size_t j = 0; j < count; j++) {
        weights[j] = 0;
        for (size_t n = 0; n < SIZE; n++) {
            weights[j] += scale * query[n] * keys[j * SIZE + n];
        }
        highest = fmax(highest, weights[j]);
    }
    for (size_t j = 0; j < count; j++) {
        weights[j] = exp(weights[j] - highest);
        sum += weights[j];
    }
    for (size_t n = 0; n < SIZE; n++) {
        out[n] = 0;
        for (size_t j = 0; j < count; j++) {
            out[n] += weights[j] / sum * values[j * SIZE + n];
        }
    }
}

/* The last query of a sequence over its keys, block by block; scores of size `range`. */
static void check_attention(const clef_kernel_table *kernels, uint64_t seed, double range) {
    kernel_input input;
    kernel_input_begin(&input, seed);
    const float *keys = kernel_floats(&input, KERNEL_READ, LONGEST * SIZE, range);
    const float *values = kernel_floats(&input, KERNEL_READ, LONGEST * SIZE, 1);
    const float *query = kernel_floats(&input, KERNEL_READ, SIZE, range);
    float *scratch =
        kernel_bytes(&input, KERNEL_SCRATCH, clef_attention_scratch_floats(SIZE) * sizeof(float));
    for (size_t length = 1; length <= LONGEST; length = next_length(length)) {
        float maximum = -INFINITY;
        float sum = 0;
        float total[SIZE] = {0};
        for (size_t first = 0; first < length; first += GRID) {
            clef_attention_block block = {.query = query,
                                          .rows = 1,
                                          .heads = 1,
                                          .key = keys + first * SIZE,
                                          .value = values + first * SIZE,
                                          .key_stride = SIZE,
                                          .keys = length - first < GRID ? length - first : GRID,
                                          .size = SIZE,
                                          .visible = (ptrdiff_t)(length - first),
                                          .scale = 0.18f,
                                          .maximum = &maximum,
                                          .sum = &sum,
                                          .total = total};
            kernels->attention_block(&block, scratch);
        }
        double wanted[SIZE];
        attend_plainly(query, keys, values, length, 0.18f, wanted);
        for (size_t n = 0; n < SIZE; n++) {
            total[n] /= sum;
        }
        /* An error of a score, 2⁻²⁴ of its size, is one of the weights. */
        assert_close(total, wanted, SIZE, 2e-6 * (1 + range * range), "attention", length);
    }
    kernel_input_end(&input);
}

static void attention_in_blocks_equals_one_softmax(void **state) {
    (void)state;
    for (int level = 0; level < CLEF_LEVEL_COUNT; level++) {
        if (clef_level_is_supported((clef_level)level)) {
            clef_kernel_table kernels = clef_kernel_table_of((clef_level)level);
            /* Several, so that the highest score stands in any block. */
            for (uint64_t seed = 1; seed <= 8; seed++) {
                check_attention(&kernels, seed, seed % 2 == 0 ? 1 : 12);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delta_rule_in_chunks_and_steps_equals_the_recurrence),
        cmocka_unit_test(attention_in_blocks_equals_one_softmax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
