/* The table of shapes. What all of them share is written once, in find. */
#include "model/named_shape.h"

#include "base/memory.h"

#include <string.h>

#define FULL_ATTENTION_INTERVAL 4

typedef struct named_shape {
    const char *name;
    uint32_t hidden_size, layer_count, intermediate_size;
    uint32_t attention_head_count, key_value_head_count, delta_value_head_count;
    bool has_tied_embeddings, has_head;
    uint32_t vision_depth, vision_hidden_size, vision_head_count, vision_intermediate_size;
} named_shape;

static const named_shape shapes[] = {
    {"qwen3.5-0.8b", 1024, 24, 3584, 8, 2, 16, true, false, 12, 768, 12, 3072},
    {"clef-flash", 4096, 32, 12288, 16, 4, 32, false, true, 27, 1152, 16, 4304},
    {"clef", 5120, 64, 17408, 24, 4, 48, false, true, 27, 1152, 16, 4304},
};

#define SHAPE_COUNT (sizeof shapes / sizeof *shapes)

const char *clef_named_shape_list(void) {
    return "qwen3.5-0.8b clef-flash clef";
}

static const named_shape *find_shape(const char *name) {
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        if (strcmp(shapes[i].name, name) == 0) {
            return &shapes[i];
        }
    }
    return NULL;
}

static clef_config make_config(const named_shape *shape) {
    return (clef_config){
        .hidden_size = shape->hidden_size,
        .intermediate_size = shape->intermediate_size,
        .vocabulary_size = CLEF_NAMED_SHAPE_VOCABULARY,
        .attention_head_count = shape->attention_head_count,
        .key_value_head_count = shape->key_value_head_count,
        .head_size = 256,
        .rotary_size = 64,
        .mrope_section = {11, 11, 10},
        .rope_theta = 1e7,
        .rms_epsilon = 1e-6f,
        .delta_key_head_count = 16,
        .delta_value_head_count = shape->delta_value_head_count,
        .delta_key_size = 128,
        .delta_value_size = 128,
        .delta_channel_count = 2 * 16 * 128 + shape->delta_value_head_count * 128,
        .convolution_taps = 4,
        .has_tied_embeddings = shape->has_tied_embeddings,
        .context_length = 262144,
        .bos_token_id = CLEF_TOKEN_NONE,
        .image_token_id = CLEF_TOKEN_NONE,
        .video_token_id = CLEF_TOKEN_NONE,
        .vision_start_token_id = CLEF_TOKEN_NONE,
        .vision_end_token_id = CLEF_TOKEN_NONE,
    };
}

static clef_vision_config make_vision(const named_shape *shape) {
    return (clef_vision_config){
        .depth = shape->vision_depth,
        .hidden_size = shape->vision_hidden_size,
        .head_count = shape->vision_head_count,
        .intermediate_size = shape->vision_intermediate_size,
        .patch_size = 16,
        .temporal_patch_size = 2,
        .spatial_merge_size = 2,
        .position_count = 2304,
        .position_side = 48,
        .in_channels = 3,
        .out_hidden_size = shape->hidden_size,
    };
}

clef_status clef_named_shape_find(const char *name, uint32_t layer_count, bool with_vision,
                                  clef_config *config, clef_head_config *head, bool *has_head,
                                  clef_error *error) {
    const named_shape *shape = find_shape(name);
    *config = (clef_config){0};
    if (shape == NULL) {
        return clef_fail(error, CLEF_USAGE, "unknown shape \"%.80s\"; there are: %s", name,
                         clef_named_shape_list());
    }
    if (layer_count > shape->layer_count) {
        return clef_fail(error, CLEF_USAGE, "%u layers of %s; it has %u", layer_count, shape->name,
                         shape->layer_count);
    }
    *config = make_config(shape);
    config->layer_count = layer_count == 0 ? shape->layer_count : layer_count;
    config->is_full_attention = clef_allocate(config->layer_count, sizeof(bool));
    if (config->is_full_attention == NULL) {
        *config = (clef_config){0};
        return clef_fail_memory(error, layer_count * sizeof(bool), "the layers of a shape");
    }
    for (uint32_t i = 0; i < config->layer_count; i++) {
        config->is_full_attention[i] = (i + 1) % FULL_ATTENTION_INTERVAL == 0;
        config->full_attention_layer_count += config->is_full_attention[i];
    }
    config->has_vision = with_vision;
    if (with_vision) {
        config->vision = make_vision(shape);
    }
    *has_head = shape->has_head;
    *head = (clef_head_config){.hidden_size = shape->hidden_size,
                               .width = 1024,
                               .evidence_layer_count = 2,
                               .decoder_layer_count = 4,
                               .head_count = 16,
                               .feedforward_size = 4096};
    return CLEF_OK;
}
