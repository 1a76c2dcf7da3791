/* One forwarding function an operation, all of one form. A clock is read twice an operation, which
 * is nothing beside a whole matrix. */
#include "backend/profile.h"

#include "base/clock.h"
#include "base/memory.h"

typedef struct profile_backend {
    clef_backend base; /* first: a clef_backend* is a profile_backend* */
    clef_backend *inner;
    clef_profile *profile;
} profile_backend;

#define INNER (((profile_backend *)backend)->inner)

static void add_time(clef_backend *backend, clef_profile_operation operation, uint64_t start) {
    profile_backend *profiling = (profile_backend *)backend;
    profiling->profile->nanoseconds[operation] += clef_clock_ns() - start;
}

#define FORWARD(operation, ...)                                                                    \
    do {                                                                                           \
        uint64_t start = clef_clock_ns();                                                          \
        INNER->operations->operation(INNER, __VA_ARGS__);                                          \
        add_time(backend, CLEF_PROFILE_##operation, start);                                        \
    } while (0)

static void embed(clef_backend *backend, clef_weight table, const uint32_t *ids, clef_matrix out) {
    FORWARD(embed, table, ids, out);
}

static void linear(clef_backend *backend, clef_matrix x, const clef_linear_part *parts,
                   size_t count) {
    FORWARD(linear, x, parts, count);
}

static void add(clef_backend *backend, clef_matrix x, clef_matrix y) {
    FORWARD(add, x, y);
}

static void rms_norm(clef_backend *backend, clef_matrix x, const float *weight, float epsilon,
                     clef_matrix out) {
    FORWARD(rms_norm, x, weight, epsilon, out);
}

static void layer_norm(clef_backend *backend, clef_matrix x, const float *weight, const float *bias,
                       float epsilon, clef_matrix out) {
    FORWARD(layer_norm, x, weight, bias, epsilon, out);
}

static void swiglu(clef_backend *backend, clef_matrix gate, clef_matrix up) {
    FORWARD(swiglu, gate, up);
}

static void gelu(clef_backend *backend, clef_matrix x) {
    FORWARD(gelu, x);
}

static void gelu_tanh(clef_backend *backend, clef_matrix x) {
    FORWARD(gelu_tanh, x);
}

static void copy(clef_backend *backend, clef_heads x, clef_heads out) {
    FORWARD(copy, x, out);
}

static void norm_rotate(clef_backend *backend, clef_heads x, const float *weight, float epsilon,
                        clef_matrix cosine_table, clef_matrix sine_table, clef_heads out) {
    FORWARD(norm_rotate, x, weight, epsilon, cosine_table, sine_table, out);
}

static void store_rows(clef_backend *backend, clef_slices slices, clef_matrix x, size_t offset) {
    FORWARD(store_rows, slices, x, offset);
}

static void load_rows(clef_backend *backend, float *const *pages, size_t first, size_t offset,
                      clef_matrix out) {
    FORWARD(load_rows, pages, first, offset, out);
}

static void attention(clef_backend *backend, clef_slices slices, clef_heads query, size_t key_heads,
                      size_t key_offset, size_t value_offset, clef_heads out) {
    FORWARD(attention, slices, query, key_heads, key_offset, value_offset, out);
}

static void sigmoid_gate(clef_backend *backend, clef_heads x, clef_heads gate) {
    FORWARD(sigmoid_gate, x, gate);
}

static void short_convolution(clef_backend *backend, clef_slices slices, clef_matrix x,
                              const float *weight, size_t taps, size_t tail_offset,
                              clef_matrix out) {
    FORWARD(short_convolution, slices, x, weight, taps, tail_offset, out);
}

static void l2_norm(clef_backend *backend, clef_heads x, float epsilon, float scale) {
    FORWARD(l2_norm, x, epsilon, scale);
}

static void delta_gates(clef_backend *backend, clef_matrix a, clef_matrix b, const float *a_log,
                        const float *dt_bias) {
    FORWARD(delta_gates, a, b, a_log, dt_bias);
}

static void delta_rule(clef_backend *backend, clef_slices slices, clef_delta_shape shape,
                       clef_matrix query, clef_matrix key, clef_matrix value, clef_matrix g,
                       clef_matrix beta, size_t state_offset, clef_matrix out) {
    FORWARD(delta_rule, slices, shape, query, key, value, g, beta, state_offset, out);
}

static void gated_norm(clef_backend *backend, clef_heads x, const float *weight, float epsilon,
                       clef_heads gate) {
    FORWARD(gated_norm, x, weight, epsilon, gate);
}

static void add_blend(clef_backend *backend, clef_weight table, const uint32_t *ids,
                      const float *factors, clef_matrix x) {
    FORWARD(add_blend, table, ids, factors, x);
}

static void rotate(clef_backend *backend, clef_heads x, clef_matrix cosine_table,
                   clef_matrix sine_table, clef_heads out) {
    FORWARD(rotate, x, cosine_table, sine_table, out);
}

static void attend_frames(clef_backend *backend, const clef_frame_part *parts, size_t count,
                          clef_heads query, clef_heads key, clef_heads value, clef_heads out) {
    FORWARD(attend_frames, parts, count, query, key, value, out);
}

static void round_frames(clef_backend *backend, clef_heads key, clef_heads value, size_t first,
                         clef_rounded_frames frames) {
    FORWARD(round_frames, key, value, first, frames);
}

static void attend_rounded_frames(clef_backend *backend, const clef_frame_part *parts, size_t count,
                                  clef_heads query, clef_rounded_frames frames, clef_heads out) {
    FORWARD(attend_rounded_frames, parts, count, query, frames, out);
}

static void sum_spans(clef_backend *backend, clef_matrix x, const clef_span_part *parts,
                      size_t count) {
    FORWARD(sum_spans, x, parts, count);
}

static void mean_rows(clef_backend *backend, clef_weight table, const uint32_t *ids, size_t count,
                      float *out) {
    FORWARD(mean_rows, table, ids, count, out);
}

static void attend_begin(clef_backend *backend, clef_attention_state state) {
    FORWARD(attend_begin, state);
}

static void attend_block(clef_backend *backend, clef_heads query, clef_heads key, clef_heads value,
                         float scale, clef_attention_state state) {
    FORWARD(attend_block, query, key, value, scale, state);
}

static void attend_end(clef_backend *backend, clef_attention_state state, clef_heads out) {
    FORWARD(attend_end, state, out);
}

static void summarise(clef_backend *backend, clef_matrix options, const float *base, float *out) {
    FORWARD(summarise, options, base, out);
}

static void pair_features(clef_backend *backend, const float *field, clef_matrix options,
                          clef_matrix out) {
    FORWARD(pair_features, field, options, out);
}

static float cosine(clef_backend *backend, const float *a, const float *b, size_t columns,
                    float floor) {
    uint64_t start = clef_clock_ns();
    float result = INNER->operations->cosine(INNER, a, b, columns, floor);
    add_time(backend, CLEF_PROFILE_cosine, start);
    return result;
}

static clef_status reserve(clef_backend *backend, size_t rows, size_t columns, clef_error *error) {
    return INNER->operations->reserve(INNER, rows, columns, error);
}

static void destroy(clef_backend *backend) {
    clef_release(backend);
}

static const clef_operations operations = {
#define FIELD(operation) .operation = operation,
    CLEF_PROFILE_LIST(FIELD)
#undef FIELD
        .reserve = reserve,
    .destroy = destroy,
};

/* An operation that the backend gains must be forwarded too. */
_Static_assert(sizeof(clef_operations) == (CLEF_PROFILE_COUNT + 2) * sizeof(void (*)(void)),
               "every operation but reserve and destroy stands in CLEF_PROFILE_LIST");

clef_status clef_profile_backend_create(clef_backend *inner, clef_profile *profile,
                                        clef_backend **out, clef_error *error) {
    *out = NULL;
    profile_backend *profiling = clef_allocate(1, sizeof *profiling);
    if (profiling == NULL) {
        return clef_fail_memory(error, sizeof *profiling, "a profile");
    }
    profiling->base = *inner;
    profiling->base.operations = &operations;
    profiling->inner = inner;
    profiling->profile = profile;
    *out = &profiling->base;
    return CLEF_OK;
}
