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

#define INNER           (((profile_backend *)backend)->inner)
#define CALL(operation) INNER->operations->operation

static void add_time(clef_backend *backend, clef_profile_operation operation, uint64_t start) {
    profile_backend *profiling = (profile_backend *)backend;
    profiling->profile->nanoseconds[operation] += clef_clock_ns() - start;
}

/* An operation with these parameters that hands on these arguments. */
#define FORWARD(operation, parameters, arguments)                                                  \
    static void operation parameters {                                                             \
        uint64_t start = clef_clock_ns();                                                          \
        CALL(operation) arguments;                                                                 \
        add_time(backend, CLEF_PROFILE_##operation, start);                                        \
    }

/* clang-format off */
FORWARD(embed, (clef_backend *backend, clef_weight table, const uint32_t *ids, clef_matrix out),
        (INNER, table, ids, out))
FORWARD(linear,
        (clef_backend *backend, clef_matrix x, clef_weight weight, const float *bias,
         clef_matrix out),
        (INNER, x, weight, bias, out))
FORWARD(add, (clef_backend *backend, clef_matrix x, clef_matrix y), (INNER, x, y))
FORWARD(rms_norm,
        (clef_backend *backend, clef_matrix x, const float *weight, float epsilon,
         clef_matrix out),
        (INNER, x, weight, epsilon, out))
FORWARD(layer_norm,
        (clef_backend *backend, clef_matrix x, const float *weight, const float *bias,
         float epsilon, clef_matrix out),
        (INNER, x, weight, bias, epsilon, out))
FORWARD(swiglu, (clef_backend *backend, clef_matrix gate, clef_matrix up), (INNER, gate, up))
FORWARD(gelu, (clef_backend *backend, clef_matrix x), (INNER, x))
FORWARD(norm_rotate,
        (clef_backend *backend, clef_heads x, const float *weight, float epsilon,
         clef_matrix cosine_table, clef_matrix sine_table, clef_heads out),
        (INNER, x, weight, epsilon, cosine_table, sine_table, out))
FORWARD(store_rows,
        (clef_backend *backend, clef_slices slices, clef_matrix x, size_t offset),
        (INNER, slices, x, offset))
FORWARD(load_rows,
        (clef_backend *backend, float *const *pages, size_t first, size_t offset, clef_matrix out),
        (INNER, pages, first, offset, out))
FORWARD(attention,
        (clef_backend *backend, clef_slices slices, clef_heads query, size_t key_heads,
         size_t key_offset, size_t value_offset, clef_heads out),
        (INNER, slices, query, key_heads, key_offset, value_offset, out))
FORWARD(sigmoid_gate, (clef_backend *backend, clef_heads x, clef_heads gate), (INNER, x, gate))
FORWARD(short_convolution,
        (clef_backend *backend, clef_slices slices, clef_matrix x, const float *weight,
         size_t taps, size_t tail_offset, clef_matrix out),
        (INNER, slices, x, weight, taps, tail_offset, out))
FORWARD(l2_norm, (clef_backend *backend, clef_heads x, float epsilon, float scale),
        (INNER, x, epsilon, scale))
FORWARD(delta_gates,
        (clef_backend *backend, clef_matrix a, clef_matrix b, const float *a_log,
         const float *dt_bias),
        (INNER, a, b, a_log, dt_bias))
FORWARD(delta_rule,
        (clef_backend *backend, clef_slices slices, clef_delta_shape shape, clef_matrix query,
         clef_matrix key, clef_matrix value, clef_matrix g, clef_matrix beta, size_t state_offset,
         clef_matrix out),
        (INNER, slices, shape, query, key, value, g, beta, state_offset, out))
FORWARD(gated_norm,
        (clef_backend *backend, clef_heads x, const float *weight, float epsilon, clef_heads gate),
        (INNER, x, weight, epsilon, gate))
FORWARD(sum_spans,
        (clef_backend *backend, clef_matrix x, const clef_span_part *parts, size_t count),
        (INNER, x, parts, count))
FORWARD(mean_rows,
        (clef_backend *backend, clef_weight table, const uint32_t *ids, size_t count, float *out),
        (INNER, table, ids, count, out))
FORWARD(attend_begin, (clef_backend *backend, clef_attention_state state), (INNER, state))
FORWARD(attend_block,
        (clef_backend *backend, clef_heads query, clef_heads key, clef_heads value, float scale,
         clef_attention_state state),
        (INNER, query, key, value, scale, state))
FORWARD(attend_end, (clef_backend *backend, clef_attention_state state, clef_heads out),
        (INNER, state, out))
FORWARD(summarise, (clef_backend *backend, clef_matrix options, const float *base, float *out),
        (INNER, options, base, out))
FORWARD(pair_features,
        (clef_backend *backend, const float *field, clef_matrix options, clef_matrix out),
        (INNER, field, options, out))
/* clang-format on */

static float cosine(clef_backend *backend, const float *a, const float *b, size_t columns,
                    float floor) {
    uint64_t start = clef_clock_ns();
    float result = CALL(cosine)(INNER, a, b, columns, floor);
    add_time(backend, CLEF_PROFILE_cosine, start);
    return result;
}

static clef_status reserve(clef_backend *backend, size_t rows, size_t columns, clef_error *error) {
    return CALL(reserve)(INNER, rows, columns, error);
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
