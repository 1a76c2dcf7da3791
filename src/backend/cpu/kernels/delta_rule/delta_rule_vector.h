/* The delta rule on vectors: the body of delta_rule_<level>.c, behind that level's
 * vector_<level>.h.
 *
 * A chunk is a handful of small matrix products. U and W are solved together as one right-hand side
 * [U | W], by blocks of 16 rows: a product with the rows above, then substitution inside the block.
 */
#include "backend/cpu/kernels/vector/vector_math.h"
#include "backend/cpu/kernels/vector/vector_product.h"
#include "base/size.h"

#include <math.h>

#define CHUNK 64
#define STRIP 16 /* rows that share the length of a triangle's side */

typedef struct chunk {
    const clef_delta_head *head;
    double *sum;       /* [CHUNK] G, running in double: differences of it are exponents */
    float *key_column; /* [key_size, CHUNK] Kᵀ, zeros behind the rows */
    float *a, *p;      /* [CHUNK, CHUNK] */
    float *x;          /* [rows, value_size + key_size] right-hand side, then U | W, then V' | W */
    size_t x_row;
    float from_start[CHUNK]; /* e^{G_i} */
    float to_end[CHUNK];     /* e^{G_last - G_i} */
} chunk;

static void sum_decays(chunk *c) {
    const clef_delta_head *head = c->head;
    double sum = 0;
    for (size_t i = 0; i < CHUNK; i++) {
        sum += i < head->rows ? (double)head->g[i * head->gate_stride] : 0;
        c->sum[i] = sum;
    }
    for (size_t i = 0; i < head->rows; i++) {
        c->from_start[i] = (float)exp(c->sum[i]);
        c->to_end[i] = (float)exp(sum - c->sum[i]);
    }
}

/* out = rows·Kᵀ below the diagonal, and on it. */
static void multiply_keys(const chunk *c, const float *rows, float *out) {
    const clef_delta_head *head = c->head;
    for (size_t m = 0; m < head->rows; m += STRIP) {
        vec_multiply(&(vec_product){.a = rows + m * head->key_stride,
                                    .a_row = head->key_stride,
                                    .a_column = 1,
                                    .b = c->key_column,
                                    .b_row = CHUNK,
                                    .c = out + m * CHUNK,
                                    .c_row = CHUNK,
                                    .rows = clef_size_smaller(STRIP, head->rows - m),
                                    .depth = head->key_size,
                                    .columns = clef_size_smaller(m + STRIP, head->rows)});
    }
}

/* A_ij = β_i (k_i·k_j) D_ij for j < i, P_ij = (q_i·k_j) D_ij for j ≤ i; zeros above. */
static void build_matrices(const chunk *c) {
    const clef_delta_head *head = c->head;
    vec_transpose_matrix(head->key, head->key_stride, head->rows, head->key_size, c->key_column,
                         CHUNK);
    multiply_keys(c, head->query, c->p);
    multiply_keys(c, head->key, c->a);
    for (size_t i = 0; i < head->rows; i++) {
        vec beta = vec_set(head->beta[i * head->gate_stride]);
        size_t end = clef_size_smaller((i / STRIP + 1) * STRIP, CHUNK);
        for (size_t j = 0; j < end; j += LANES) {
            vec decay = vec_exp(vec_difference(c->sum[i], c->sum + j));
            vec_mask with_diagonal = vec_first(i + 1 > j ? i + 1 - j : 0);
            vec_mask below = vec_first(i > j ? i - j : 0);
            float *p = c->p + i * CHUNK + j;
            float *a = c->a + i * CHUNK + j;
            vec_store(p, vec_select(with_diagonal, vec_mul(vec_load(p), decay), vec_zero()));
            vec_store(a, vec_select(below, vec_mul(beta, vec_mul(vec_load(a), decay)), vec_zero()));
        }
    }
}

/* out[0 … size) = factor · in. out may be in. */
static void scale_row(const float *in, float factor, size_t size, float *out) {
    vec f = vec_set(factor);
    for (size_t n = 0; n < size; n += LANES) {
        vec_mask mask = vec_first(size - n);
        vec_store_mask(mask, out + n, vec_mul(f, vec_load_mask(mask, in + n)));
    }
}

/* x[row … row + rows) -= A[row …, from … from + depth) · x[from …]. */
static void subtract_rows(const chunk *c, size_t row, size_t rows, size_t from, size_t depth) {
    vec_multiply(&(vec_product){.a = c->a + row * CHUNK + from,
                                .a_row = CHUNK,
                                .a_column = 1,
                                .b = c->x + from * c->x_row,
                                .b_row = c->x_row,
                                .c = c->x + row * c->x_row,
                                .c_row = c->x_row,
                                .rows = rows,
                                .depth = depth,
                                .columns = c->x_row,
                                .adds = true,
                                .subtracts = true});
}

/* (I + A) [U | W] = [diag(β) V | diag(β e^G) K]. */
static void solve(const chunk *c) {
    const clef_delta_head *head = c->head;
    for (size_t i = 0; i < head->rows; i++) {
        float beta = head->beta[i * head->gate_stride];
        float *x = c->x + i * c->x_row;
        scale_row(head->value + i * head->value_stride, beta, head->value_size, x);
        scale_row(head->key + i * head->key_stride, beta * c->from_start[i], head->key_size,
                  x + head->value_size);
    }
    for (size_t m = 0; m < head->rows; m += STRIP) {
        size_t rows = clef_size_smaller(STRIP, head->rows - m);
        if (m > 0) {
            subtract_rows(c, m, rows, 0, m);
        }
        for (size_t i = 1; i < rows; i++) {
            subtract_rows(c, m + i, 1, m, i);
        }
    }
}

/* V' = U - W S, and out = diag(e^G) Q S + P V'. */
static void read_out(const chunk *c) {
    const clef_delta_head *head = c->head;
    vec_product through_state = {.a = c->x + head->value_size,
                                 .a_row = c->x_row,
                                 .a_column = 1,
                                 .b = head->state,
                                 .b_row = head->value_size,
                                 .c = c->x,
                                 .c_row = c->x_row,
                                 .rows = head->rows,
                                 .depth = head->key_size,
                                 .columns = head->value_size,
                                 .adds = true,
                                 .subtracts = true};
    vec_multiply(&through_state);
    through_state.a = head->query;
    through_state.a_row = head->key_stride;
    through_state.c = head->out;
    through_state.c_row = head->out_stride;
    through_state.adds = false;
    through_state.subtracts = false;
    vec_multiply(&through_state);
    for (size_t i = 0; i < head->rows; i++) {
        float *out = head->out + i * head->out_stride;
        scale_row(out, c->from_start[i], head->value_size, out);
    }
    for (size_t m = 0; m < head->rows; m += STRIP) {
        vec_multiply(&(vec_product){.a = c->p + m * CHUNK,
                                    .a_row = CHUNK,
                                    .a_column = 1,
                                    .b = c->x,
                                    .b_row = c->x_row,
                                    .c = head->out + m * head->out_stride,
                                    .c_row = head->out_stride,
                                    .rows = clef_size_smaller(STRIP, head->rows - m),
                                    .depth = clef_size_smaller(m + STRIP, head->rows),
                                    .columns = head->value_size,
                                    .adds = true});
    }
}

/* S ← e^{G_last} S + Σ_i e^{G_last - G_i} k_i V'_iᵀ. */
static void update_state(const chunk *c) {
    const clef_delta_head *head = c->head;
    for (size_t k = 0; k < head->key_size; k++) {
        float *column = c->key_column + k * CHUNK;
        for (size_t i = 0; i < head->rows; i += LANES) {
            vec_mask mask = vec_first(head->rows - i);
            vec_store_mask(
                mask, column + i,
                vec_mul(vec_load_mask(mask, column + i), vec_load_mask(mask, c->to_end + i)));
        }
    }
    vec_multiply(&(vec_product){.a = c->key_column,
                                .a_row = CHUNK,
                                .a_column = 1,
                                .b = c->x,
                                .b_row = c->x_row,
                                .c = head->state,
                                .c_row = head->value_size,
                                .rows = head->key_size,
                                .depth = head->rows,
                                .columns = head->value_size,
                                .adds = true,
                                .factor = &c->from_start[head->rows - 1]});
}

static void run_chunk(const clef_delta_head *head, float *scratch) {
    chunk c = {.head = head, .sum = (double *)(void *)scratch};
    c.a = scratch + (size_t)2 * CHUNK;
    c.p = c.a + (size_t)CHUNK * CHUNK;
    c.key_column = c.p + (size_t)CHUNK * CHUNK;
    c.x = c.key_column + CHUNK * head->key_size;
    c.x_row = head->value_size + head->key_size;
    sum_decays(&c);
    build_matrices(&c);
    solve(&c);
    read_out(&c);
    update_state(&c);
}

/* One position of the recurrence; delta [value_size]. */
static void run_position(const clef_delta_head *head, size_t i, float *delta) {
    size_t size = head->value_size;
    const float *query = head->query + i * head->key_stride;
    const float *key = head->key + i * head->key_stride;
    const float *value = head->value + i * head->value_stride;
    float *out = head->out + i * head->out_stride;
    vec beta = vec_set(head->beta[i * head->gate_stride]);
    vec decay = vec_set((float)exp((double)head->g[i * head->gate_stride]));
    for (size_t n = 0; n < size; n += LANES) {
        vec_mask mask = vec_first(size - n);
        vec read = vec_zero();
        for (size_t k = 0; k < head->key_size; k++) {
            float *state = head->state + k * size + n;
            vec decayed = vec_mul(decay, vec_load_mask(mask, state));
            vec_store_mask(mask, state, decayed);
            read = vec_fma(vec_set(key[k]), decayed, read);
        }
        vec fresh = vec_mul(beta, vec_sub(vec_load_mask(mask, value + n), read));
        vec_store_mask(mask, delta + n, fresh);
        vec result = vec_zero();
        for (size_t k = 0; k < head->key_size; k++) {
            float *state = head->state + k * size + n;
            vec updated = vec_fma(vec_set(key[k]), fresh, vec_load_mask(mask, state));
            vec_store_mask(mask, state, updated);
            result = vec_fma(vec_set(query[k]), updated, result);
        }
        vec_store_mask(mask, out + n, result);
    }
}

static void run_steps(const clef_delta_head *head, float *scratch) {
    for (size_t i = 0; i < head->rows; i++) {
        run_position(head, i, scratch);
    }
}
