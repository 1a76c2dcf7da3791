/* Time by operation: a backend that hands every operation on to another one and adds up the
 * nanoseconds of each. Nobody pays for it who does not create one. */
#ifndef CLEF_BACKEND_PROFILE_H
#define CLEF_BACKEND_PROFILE_H

#include "backend/backend.h"

/* X(operation): every operation of a step. */
#define CLEF_PROFILE_LIST(X)                                                                       \
    X(embed)                                                                                       \
    X(linear)                                                                                      \
    X(add)                                                                                         \
    X(rms_norm)                                                                                    \
    X(layer_norm)                                                                                  \
    X(swiglu)                                                                                      \
    X(gelu)                                                                                        \
    X(gelu_tanh)                                                                                   \
    X(copy)                                                                                        \
    X(norm_rotate)                                                                                 \
    X(store_rows)                                                                                  \
    X(load_rows)                                                                                   \
    X(attention)                                                                                   \
    X(sigmoid_gate)                                                                                \
    X(short_convolution)                                                                           \
    X(l2_norm)                                                                                     \
    X(delta_gates)                                                                                 \
    X(delta_rule)                                                                                  \
    X(gated_norm)                                                                                  \
    X(add_blend)                                                                                   \
    X(rotate)                                                                                      \
    X(attend_frames)                                                                               \
    X(round_frames)                                                                                \
    X(attend_rounded_frames)                                                                       \
    X(sum_spans)                                                                                   \
    X(mean_rows)                                                                                   \
    X(attend_begin)                                                                                \
    X(attend_block)                                                                                \
    X(attend_end)                                                                                  \
    X(summarise)                                                                                   \
    X(cosine)                                                                                      \
    X(pair_features)

typedef enum clef_profile_operation {
#define CLEF_PROFILE_ENUM(operation) CLEF_PROFILE_##operation,
    CLEF_PROFILE_LIST(CLEF_PROFILE_ENUM)
#undef CLEF_PROFILE_ENUM
        CLEF_PROFILE_COUNT
} clef_profile_operation;

typedef struct clef_profile {
    uint64_t nanoseconds[CLEF_PROFILE_COUNT];
} clef_profile;

/* A backend over `inner`, which must outlive it and stays its owner's; times are added to
 * `profile`, borrowed likewise. CLEF_OUT_OF_MEMORY. */
clef_status clef_profile_backend_create(clef_backend *inner, clef_profile *profile,
                                        clef_backend **out, clef_error *error);

#endif
