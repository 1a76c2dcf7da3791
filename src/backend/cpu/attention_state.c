/* Beginning and end of a running softmax; kernels of attention do what lies between. */
#include "backend/cpu/cpu_backend.h"

#include <math.h>

void clef_attention_begin(clef_attention_state state) {
    for (size_t row = 0; row < state.total.rows; row++) {
        for (size_t head = 0; head < state.total.heads; head++) {
            state.maximum[row * state.total.heads + head] = -INFINITY;
            state.sum[row * state.total.heads + head] = 0;
            memset(state.total.data + row * state.total.row_stride + head * state.total.head_stride,
                   0, state.total.size * sizeof(float));
        }
    }
}

void clef_attention_end(clef_attention_state state, clef_heads out) {
    for (size_t row = 0; row < out.rows; row++) {
        for (size_t head = 0; head < out.heads; head++) {
            const float *total =
                state.total.data + row * state.total.row_stride + head * state.total.head_stride;
            float *to = out.data + row * out.row_stride + head * out.head_stride;
            float factor = 1.0f / state.sum[row * out.heads + head];
            for (size_t n = 0; n < out.size; n++) {
                to[n] = total[n] * factor;
            }
        }
    }
}
