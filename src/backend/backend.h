/* What a machine offers to the model: whole-matrix operations on fp32 activations and stored
 * weights. The model is written against this page alone and knows no instruction set; a backend
 * knows no layer. Operations cannot fail on valid views; what can run out (memory) is taken
 * beforehand.
 *
 * Every operation computes each row by itself, with sums in one fixed order, whatever else stands
 * in the step: that is why answers are equal to the bit alone or packed, in one piece or in slices.
 */
#ifndef CLEF_BACKEND_BACKEND_H
#define CLEF_BACKEND_BACKEND_H

#include "base/thread_pool.h"
#include "tensor/matrix.h"

/* The grid: chunks of the delta rule, key blocks of attention, pages of state, steps of slices. */
#define CLEF_GRID 64

/* Largest head of attention or delta rule, and most query heads on one key head: a backend takes
 * scratch for these when it is created. */
#define CLEF_HEAD_SIZE_LIMIT  512
#define CLEF_HEAD_GROUP_LIMIT 256

/* Consecutive positions of one sequence within a step. */
typedef struct clef_slice {
    size_t row;          /* first row in the step's matrices */
    size_t count;        /* rows */
    size_t position;     /* of the first row in its sequence; a multiple of CLEF_GRID in prompts */
    float *fixed;        /* fixed-size state: delta-rule matrices and convolution tails */
    float *const *pages; /* page p holds what grows, of positions p·CLEF_GRID and following */
} clef_slice;

typedef struct clef_slices {
    const clef_slice *items;
    size_t count;
} clef_slices;

/* The gated delta rule of one layer. */
typedef struct clef_delta_shape {
    size_t key_heads;   /* NK */
    size_t value_heads; /* NV, a multiple of NK; value head j reads key head j div (NV/NK) */
    size_t key_size;    /* DK */
    size_t value_size;  /* DV */
} clef_delta_shape;

/* A running softmax over key blocks. */
typedef struct clef_attention_state {
    float *maximum;   /* [rows, heads] */
    float *sum;       /* [rows, heads] */
    clef_heads total; /* [rows, heads, size]: Σ weight·value */
} clef_attention_state;

/* Half-open range of rows of a step whose mean a head wants, summed into `total`. */
typedef struct clef_span_part {
    size_t row;
    size_t count;
    double *total; /* [columns] */
} clef_span_part;

/* Queries of a step and the keys of the frame they belong to. */
typedef struct clef_frame_part {
    size_t row, count;     /* rows of queries */
    size_t key, key_count; /* rows of keys and values */
} clef_frame_part;

/* out = x · weightᵀ (+ bias[rows of weight], when not NULL), in the weight's arithmetic. */
typedef struct clef_linear_part {
    clef_weight weight;
    const float *bias;
    clef_matrix out;
} clef_linear_part;

#define CLEF_LINEAR_PARTS 4 /* that are computed in one go; more are no error */

/* Keys and values of frames, rounded to bfloat16: keys [heads, rows, size], values [heads, rows /
 * 2, size, 2] with those of two neighbouring rows side by side. rows and size are even. Memory of a
 * backend, aligned to 4 bytes. */
typedef struct clef_rounded_frames {
    uint16_t *keys, *values;
    size_t rows, heads, size;
} clef_rounded_frames;

typedef struct clef_backend clef_backend;

typedef struct clef_operations {
    /* out[r] = table[ids[r]], widened. */
    void (*embed)(clef_backend *, clef_weight table, const uint32_t *ids, clef_matrix out);

    /* Takes memory for products with rounded inputs of at most `rows` × `columns`; called once,
     * before the first of them. CLEF_OUT_OF_MEMORY. */
    clef_status (*reserve)(clef_backend *, size_t rows, size_t columns, clef_error *error);

    /* Each part's product with the same x; in one go, so that threads wait for each other once. */
    void (*linear)(clef_backend *, clef_matrix x, const clef_linear_part *parts, size_t count);

    /* x += y. */
    void (*add)(clef_backend *, clef_matrix x, clef_matrix y);

    /* out = x · rsqrt(mean(x²) + epsilon) · (1 + weight[columns]). out may be x. */
    void (*rms_norm)(clef_backend *, clef_matrix x, const float *weight, float epsilon,
                     clef_matrix out);

    /* out = (x - mean) / sqrt(variance + epsilon) · weight + bias, biased variance. out may be x.
     */
    void (*layer_norm)(clef_backend *, clef_matrix x, const float *weight, const float *bias,
                       float epsilon, clef_matrix out);

    /* gate = silu(gate) ⊙ up. */
    void (*swiglu)(clef_backend *, clef_matrix gate, clef_matrix up);

    /* x = ½x(1 + erf(x/√2)). */
    void (*gelu)(clef_backend *, clef_matrix x);

    /* x = ½x(1 + tanh(√(2/π)(x + 0.044715x³))). */
    void (*gelu_tanh)(clef_backend *, clef_matrix x);

    /* out = x. No overlap. */
    void (*copy)(clef_backend *, clef_heads x, clef_heads out);

    /* ---- full attention ---- */

    /* Per head: RMS norm with 1 + weight[size], then rotation of the first 2·half dimensions by
     * cosine and sine [rows, half]. out may be x. */
    void (*norm_rotate)(clef_backend *, clef_heads x, const float *weight, float epsilon,
                        clef_matrix cosine, clef_matrix sine, clef_heads out);

    /* Writes row r of x to its position's place in the page: page + offset + (position mod
     * CLEF_GRID)·columns. */
    void (*store_rows)(clef_backend *, clef_slices slices, clef_matrix x, size_t offset);

    /* The way back: rows of positions first, first + 1, … of one sequence into out. */
    void (*load_rows)(clef_backend *, float *const *pages, size_t first, size_t offset,
                      clef_matrix out);

    /* Causal attention of every slice over its sequence's keys and values, [CLEF_GRID,
     * key_heads·size] each at the offsets of a page; query head h reads key head h div
     * (heads/key_heads); key blocks in order of position, softmax with running maximum. */
    void (*attention)(clef_backend *, clef_slices slices, clef_heads query, size_t key_heads,
                      size_t key_offset, size_t value_offset, clef_heads out);

    /* x ⊙= sigmoid(gate). */
    void (*sigmoid_gate)(clef_backend *, clef_heads x, clef_heads gate);

    /* ---- gated delta net ---- */

    /* Causal depthwise convolution with `taps` taps, then SiLU. weight[columns, taps]. The last
     * taps - 1 rows before a slice come from, and go back to, fixed + tail_offset [taps - 1,
     * columns]. */
    void (*short_convolution)(clef_backend *, clef_slices slices, clef_matrix x,
                              const float *weight, size_t taps, size_t tail_offset,
                              clef_matrix out);

    /* Per head: x = x · rsqrt(Σx² + epsilon) · scale, in place. */
    void (*l2_norm)(clef_backend *, clef_heads x, float epsilon, float scale);

    /* beta = sigmoid(b) in place of b; g = -exp(a_log)·softplus(a + dt_bias) in place of a. */
    void (*delta_gates)(clef_backend *, clef_matrix a, clef_matrix b, const float *a_log,
                        const float *dt_bias);

    /* The gated delta rule over every slice, in chunks of CLEF_GRID on the grid of its sequence; a
     * slice of one row off the grid takes the recurrence. State [NV, DK, DV] at fixed +
     * state_offset. query, key [rows, NK·DK], value [rows, NV·DV], g, beta [rows, NV]. */
    void (*delta_rule)(clef_backend *, clef_slices slices, clef_delta_shape shape,
                       clef_matrix query, clef_matrix key, clef_matrix value, clef_matrix g,
                       clef_matrix beta, size_t state_offset, clef_matrix out);

    /* Per head: x = weight[size] ⊙ x · rsqrt(mean(x²) + epsilon) ⊙ silu(gate). */
    void (*gated_norm)(clef_backend *, clef_heads x, const float *weight, float epsilon,
                       clef_heads gate);

    /* ---- vision tower ---- */

    /* x[r] += Σ_t factors[r, t] · table[ids[r, t]], t = 0 … 3. */
    void (*add_blend)(clef_backend *, clef_weight table, const uint32_t *ids, const float *factors,
                      clef_matrix x);

    /* Per head: the first 2·half dimensions are turned by cosine and sine [rows, half], the others
     * copied. out may be x. */
    void (*rotate)(clef_backend *, clef_heads x, clef_matrix cosine, clef_matrix sine,
                   clef_heads out);

    /* Attention without mask of every part's queries over its keys and values, head by head; scores
     * are divided by √size. key and value have equal strides. */
    void (*attend_frames)(clef_backend *, const clef_frame_part *parts, size_t count,
                          clef_heads query, clef_heads key, clef_heads value, clef_heads out);

    /* Rounds keys and values of rows first, first + 1, … of frames, `first` even, for the
     * operation below. */
    void (*round_frames)(clef_backend *, clef_heads key, clef_heads value, size_t first,
                         clef_rounded_frames frames);

    /* attend_frames in bfloat16: queries and softmax weights are rounded as keys and values are,
     * sums stay fp32. Every part's keys begin at an even row. */
    void (*attend_rounded_frames)(clef_backend *, const clef_frame_part *parts, size_t count,
                                  clef_heads query, clef_rounded_frames frames, clef_heads out);

    /* ---- joint head ---- */

    /* Adds rows to running sums in double, in order of rows. Parts do not share a total. */
    void (*sum_spans)(clef_backend *, clef_matrix x, const clef_span_part *parts, size_t count);

    /* out[columns] = mean of the rows ids[0 … count - 1] of a table. */
    void (*mean_rows)(clef_backend *, clef_weight table, const uint32_t *ids, size_t count,
                      float *out);

    /* Starts, extends by one block of at most CLEF_GRID keys, and ends an attention without mask:
     * out = total / sum. scale multiplies the scores. */
    void (*attend_begin)(clef_backend *, clef_attention_state state);
    void (*attend_block)(clef_backend *, clef_heads query, clef_heads key, clef_heads value,
                         float scale, clef_attention_state state);
    void (*attend_end)(clef_backend *, clef_attention_state state, clef_heads out);

    /* out = Σ_j softmax_j(options[j]·base / √columns) · options[j]; options [n, columns]. */
    void (*summarise)(clef_backend *, clef_matrix options, const float *base, float *out);

    /* (a·b) / (max(‖a‖, floor)·max(‖b‖, floor)). */
    float (*cosine)(clef_backend *, const float *a, const float *b, size_t columns, float floor);

    /* out[j] = [field, option_j, field ⊙ option_j, |field - option_j|]; options [n, columns], out
     * [n, 4·columns]. */
    void (*pair_features)(clef_backend *, const float *field, clef_matrix options, clef_matrix out);

    /* ---- life ---- */
    void (*destroy)(clef_backend *);
} clef_operations;

struct clef_backend {
    const clef_operations *operations;
    const char *level;  /* name of the kernels in use; static */
    const char *levels; /* names of all that could be, separated by spaces; static or owned */
    unsigned thread_count;
};

/* The CPU backend. pool NULL: the calling thread alone; otherwise it outlives the backend. level
 * NULL or "": the best the machine has. CLEF_USAGE names the levels there are; CLEF_OUT_OF_MEMORY.
 */
clef_status clef_cpu_backend_create(clef_thread_pool *pool, const char *level, clef_backend **out,
                                    clef_error *error);

/* One product. */
static inline void clef_linear(clef_backend *backend, clef_matrix x, clef_weight weight,
                               const float *bias, clef_matrix out) {
    backend->operations->linear(backend, x, &(clef_linear_part){weight, bias, out}, 1);
}

static inline void clef_backend_destroy(clef_backend *backend) {
    if (backend != NULL) {
        backend->operations->destroy(backend);
    }
}

#endif
