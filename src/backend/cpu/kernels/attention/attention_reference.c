/* Attention over one block of keys in plain C. */
#include "backend/cpu/kernel_table.h"

#include <math.h>

#define LANES 16

/* Σ a·b in sixteen chains that are then added pair by pair: a fixed order, and vectors for the
 * compiler. */
static float dot(const float *restrict a, const float *restrict b, size_t size) {
    float lanes[LANES] = {0};
    size_t whole = size / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            lanes[lane] += a[i + lane] * b[i + lane];
        }
    }
    for (size_t i = whole; i < size; i++) {
        lanes[i - whole] += a[i] * b[i];
    }
    for (size_t half = LANES / 2; half > 0; half /= 2) {
        for (size_t lane = 0; lane < half; lane++) {
            lanes[lane] += lanes[lane + half];
        }
    }
    return lanes[0];
}

static void attend(const clef_attention_block *block, const float *query, size_t visible,
                   float *maximum, float *sum, float *total) {
    float scores[64];
    float highest = *maximum;
    for (size_t j = 0; j < visible; j++) {
        scores[j] = dot(query, block->key + j * block->key_stride, block->size) * block->scale;
        highest = scores[j] > highest ? scores[j] : highest;
    }
    float correction = expf(*maximum - highest);
    *sum *= correction;
    for (size_t n = 0; n < block->size; n++) {
        total[n] *= correction;
    }
    for (size_t j = 0; j < visible; j++) {
        const float *value = block->value + j * block->key_stride;
        float weight = expf(scores[j] - highest);
        *sum += weight;
        for (size_t n = 0; n < block->size; n++) {
            total[n] += weight * value[n];
        }
    }
    *maximum = highest;
}

void clef_attention_block_reference(const clef_attention_block *block, float *scratch) {
    (void)scratch;
    for (size_t row = 0; row < block->rows; row++) {
        ptrdiff_t visible = block->visible + (ptrdiff_t)row * block->visible_step;
        if (visible <= 0) {
            continue;
        }
        size_t keys = (size_t)visible < block->keys ? (size_t)visible : block->keys;
        for (size_t head = 0; head < block->heads; head++) {
            size_t state = row * block->state_stride + head;
            attend(block,
                   block->query + row * block->query_row_stride + head * block->query_head_stride,
                   keys, block->maximum + state, block->sum + state,
                   block->total + row * block->total_row_stride + head * block->total_head_stride);
        }
    }
}
