/* Reading of vision_config: sizes by table, then how they must fit together. */
#include "model/vision_config.h"

#include "backend/backend.h"

#include <stdio.h>

#define SIDE_LIMIT  1024u /* of a patch, and in frames */
#define MERGE_LIMIT 8u    /* of a merged cell, which must fit into one block of CLEF_GRID rows */

static const clef_size_field size_fields[] = {
    {"depth", offsetof(clef_vision_config, depth), CLEF_CONFIG_LAYER_LIMIT},
    {"hidden_size", offsetof(clef_vision_config, hidden_size), CLEF_CONFIG_SIZE_LIMIT},
    {"num_heads", offsetof(clef_vision_config, head_count), CLEF_CONFIG_SIZE_LIMIT},
    {"intermediate_size", offsetof(clef_vision_config, intermediate_size), CLEF_CONFIG_SIZE_LIMIT},
    {"patch_size", offsetof(clef_vision_config, patch_size), SIDE_LIMIT},
    {"temporal_patch_size", offsetof(clef_vision_config, temporal_patch_size), SIDE_LIMIT},
    {"spatial_merge_size", offsetof(clef_vision_config, spatial_merge_size), MERGE_LIMIT},
    {"num_position_embeddings", offsetof(clef_vision_config, position_count),
     CLEF_CONFIG_SIZE_LIMIT},
    {"in_channels", offsetof(clef_vision_config, in_channels), CLEF_CONFIG_SIZE_LIMIT},
    {"out_hidden_size", offsetof(clef_vision_config, out_hidden_size), CLEF_CONFIG_SIZE_LIMIT},
};

/* The position table is a square grid; its side is found exactly. */
static uint32_t find_square_root(uint32_t value) {
    uint32_t side = 0;
    while ((uint64_t)(side + 1) * (side + 1) <= value) {
        side++;
    }
    return side;
}

/* How the sizes must fit each other and the text model. */
static clef_status check_sizes(const clef_config_fields *fields, uint32_t hidden_size,
                               clef_vision_config *vision) {
    char expected[128];
    if (vision->hidden_size % vision->head_count != 0 ||
        vision->hidden_size / vision->head_count % 4 != 0) {
        /* Rotation turns pairs of half-heads for rows and for columns: four equal parts. */
        snprintf(expected, sizeof expected,
                 "heads that divide hidden_size %u into sizes that are multiples of 4",
                 vision->hidden_size);
        return clef_config_fields_refuse(fields, "num_heads", expected);
    }
    if (vision->hidden_size / vision->head_count > CLEF_HEAD_SIZE_LIMIT) {
        snprintf(expected, sizeof expected, "heads of at most %d of hidden_size %u",
                 CLEF_HEAD_SIZE_LIMIT, vision->hidden_size);
        return clef_config_fields_refuse(fields, "num_heads", expected);
    }
    vision->position_side = find_square_root(vision->position_count);
    if (vision->position_side * vision->position_side != vision->position_count) {
        return clef_config_fields_refuse(fields, "num_position_embeddings", "a square number");
    }
    /* Patches are cut from pictures of three colours. */
    if (vision->in_channels != 3) {
        return clef_config_fields_refuse(fields, "in_channels", "3 (red, green, blue)");
    }
    /* Features overwrite rows of the text model's input. */
    if (vision->out_hidden_size != hidden_size) {
        snprintf(expected, sizeof expected, "text_config.hidden_size, which is %u", hidden_size);
        return clef_config_fields_refuse(fields, "out_hidden_size", expected);
    }
    /* The widest rows of the tower: a merged cell, and the values of one patch. */
    uint64_t merged =
        (uint64_t)vision->spatial_merge_size * vision->spatial_merge_size * vision->hidden_size;
    uint64_t patch = (uint64_t)vision->patch_size * vision->patch_size *
                     vision->temporal_patch_size * vision->in_channels;
    if (merged > CLEF_CONFIG_PRODUCT_LIMIT) {
        snprintf(expected, sizeof expected, "spatial_merge_size^2 * hidden_size of at most %u",
                 CLEF_CONFIG_PRODUCT_LIMIT);
        return clef_config_fields_refuse(fields, "spatial_merge_size", expected);
    }
    if (patch > CLEF_CONFIG_PRODUCT_LIMIT) {
        snprintf(expected, sizeof expected,
                 "in_channels * temporal_patch_size * patch_size^2 of at most %u",
                 CLEF_CONFIG_PRODUCT_LIMIT);
        return clef_config_fields_refuse(fields, "patch_size", expected);
    }
    return CLEF_OK;
}

clef_status clef_vision_config_read(const clef_config_fields *fields, uint32_t hidden_size,
                                    clef_vision_config *vision) {
    static const char *const activations[] = {"gelu_pytorch_tanh", NULL};
    clef_status status = clef_config_fields_sizes(fields, size_fields,
                                                  sizeof size_fields / sizeof *size_fields, vision);
    if (status == CLEF_OK) {
        status = clef_config_fields_expect_word(fields, "hidden_act", activations);
    }
    if (status == CLEF_OK) {
        status = clef_config_fields_expect_empty(fields, "deepstack_visual_indexes");
    }
    return status == CLEF_OK ? check_sizes(fields, hidden_size, vision) : status;
}
