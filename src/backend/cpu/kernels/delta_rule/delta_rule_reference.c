/* The delta rule in plain C. Inner loops run along a row of V, W or S, so that every output has one
 * chain of additions and the compiler may take several outputs at once. */
#include "backend/cpu/kernel_table.h"

#include <math.h>

#define CHUNK 64

static float dot(const float *a, const float *b, size_t size) {
    double sum = 0;
    for (size_t i = 0; i < size; i++) {
        sum += (double)a[i] * b[i];
    }
    return (float)sum;
}

/* y += factor · x. */
static void add_scaled(float *restrict y, float factor, const float *restrict x, size_t size) {
    for (size_t i = 0; i < size; i++) {
        y[i] += factor * x[i];
    }
}

/* Parts of the scratch of one chunk. */
typedef struct chunk {
    float *a;    /* [CHUNK, CHUNK] strictly lower: β_i (k_i·k_j) D_ij */
    float *p;    /* [CHUNK, CHUNK] lower: (q_i·k_j) D_ij */
    float *u;    /* [rows, value_size] U, then V' */
    float *w;    /* [rows, key_size] */
    double *sum; /* [rows] G: in double, since differences of it are exponents */
} chunk;

static void build_matrices(const clef_delta_head *head, const chunk *c) {
    double sum = 0;
    for (size_t i = 0; i < head->rows; i++) {
        sum += head->g[i * head->gate_stride];
        c->sum[i] = sum;
    }
    for (size_t i = 0; i < head->rows; i++) {
        const float *query = head->query + i * head->key_stride;
        const float *key = head->key + i * head->key_stride;
        float beta = head->beta[i * head->gate_stride];
        for (size_t j = 0; j <= i; j++) {
            const float *other = head->key + j * head->key_stride;
            float decay = (float)exp(c->sum[i] - c->sum[j]);
            c->p[i * CHUNK + j] = dot(query, other, head->key_size) * decay;
            c->a[i * CHUNK + j] = beta * dot(key, other, head->key_size) * decay;
        }
    }
}

/* (I + A) U = diag(β) V and (I + A) W = diag(β e^G) K, row by row. */
static void solve(const clef_delta_head *head, const chunk *c) {
    for (size_t i = 0; i < head->rows; i++) {
        float beta = head->beta[i * head->gate_stride];
        float decayed = beta * (float)exp(c->sum[i]);
        float *u = c->u + i * head->value_size;
        float *w = c->w + i * head->key_size;
        for (size_t n = 0; n < head->value_size; n++) {
            u[n] = beta * head->value[i * head->value_stride + n];
        }
        for (size_t n = 0; n < head->key_size; n++) {
            w[n] = decayed * head->key[i * head->key_stride + n];
        }
        for (size_t j = 0; j < i; j++) {
            add_scaled(u, -c->a[i * CHUNK + j], c->u + j * head->value_size, head->value_size);
            add_scaled(w, -c->a[i * CHUNK + j], c->w + j * head->key_size, head->key_size);
        }
    }
}

/* V' = U - W S, and out = diag(e^G) Q S + P V'. */
static void read_out(const clef_delta_head *head, const chunk *c) {
    for (size_t i = 0; i < head->rows; i++) {
        float *fresh = c->u + i * head->value_size;
        float *out = head->out + i * head->out_stride;
        const float *query = head->query + i * head->key_stride;
        float decay = (float)exp(c->sum[i]);
        memset(out, 0, head->value_size * sizeof *out);
        for (size_t k = 0; k < head->key_size; k++) {
            const float *state = head->state + k * head->value_size;
            add_scaled(fresh, -c->w[i * head->key_size + k], state, head->value_size);
            add_scaled(out, decay * query[k], state, head->value_size);
        }
        for (size_t j = 0; j <= i; j++) {
            add_scaled(out, c->p[i * CHUNK + j], c->u + j * head->value_size, head->value_size);
        }
    }
}

static void update_state(const clef_delta_head *head, const chunk *c) {
    double last = c->sum[head->rows - 1];
    float decay = (float)exp(last);
    for (size_t k = 0; k < head->key_size; k++) {
        float *state = head->state + k * head->value_size;
        for (size_t n = 0; n < head->value_size; n++) {
            state[n] *= decay;
        }
    }
    for (size_t i = 0; i < head->rows; i++) {
        const float *key = head->key + i * head->key_stride;
        float left = (float)exp(last - c->sum[i]);
        for (size_t k = 0; k < head->key_size; k++) {
            add_scaled(head->state + k * head->value_size, left * key[k],
                       c->u + i * head->value_size, head->value_size);
        }
    }
}

void clef_delta_chunk_reference(const clef_delta_head *head, float *scratch) {
    chunk c = {.sum = (double *)(void *)scratch};
    c.a = scratch + (size_t)CHUNK * 2;
    c.p = c.a + (size_t)CHUNK * CHUNK;
    c.u = c.p + (size_t)CHUNK * CHUNK;
    c.w = c.u + CHUNK * head->value_size;
    build_matrices(head, &c);
    solve(head, &c);
    read_out(head, &c);
    update_state(head, &c);
}

void clef_delta_step_reference(const clef_delta_head *head, float *scratch) {
    float *delta = scratch;
    for (size_t i = 0; i < head->rows; i++) {
        const float *query = head->query + i * head->key_stride;
        const float *key = head->key + i * head->key_stride;
        float beta = head->beta[i * head->gate_stride];
        float decay = (float)exp((double)head->g[i * head->gate_stride]);
        float *out = head->out + i * head->out_stride;
        memset(delta, 0, head->value_size * sizeof *delta);
        for (size_t k = 0; k < head->key_size; k++) {
            float *state = head->state + k * head->value_size;
            for (size_t n = 0; n < head->value_size; n++) {
                state[n] *= decay;
            }
            add_scaled(delta, key[k], state, head->value_size);
        }
        for (size_t n = 0; n < head->value_size; n++) {
            delta[n] = beta * (head->value[i * head->value_stride + n] - delta[n]);
        }
        memset(out, 0, head->value_size * sizeof *out);
        for (size_t k = 0; k < head->key_size; k++) {
            float *state = head->state + k * head->value_size;
            add_scaled(state, key[k], delta, head->value_size);
            add_scaled(out, query[k], state, head->value_size);
        }
    }
}
