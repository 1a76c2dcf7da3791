/* Token types of a prompt, and what follows from them. */
#include "engine/record_media.h"

#include "engine/handles.h"

static clef_status refuse(const clef_media *media, clef_error *error, const char *message) {
    clef_fail(error, CLEF_BAD_REQUEST, "%s", message);
    clef_error_set_kind(error, "media_error", 0);
    clef_error_set_place(error, "%s", media->image_count > 0 ? "images" : "videos");
    return CLEF_BAD_REQUEST;
}

clef_status clef_record_media_check(const clef_model *model, const clef_media *media,
                                    clef_error *error) {
    if (clef_media_count(media) == 0 || model->is_tokenizer_only) {
        return CLEF_OK;
    }
    const clef_config *config = &model->network.config;
    const clef_vision_config *vision = &config->vision;
    if (!config->has_vision) {
        return refuse(media, error,
                      "this model has no vision tower, so it reads neither images nor videos");
    }
    if (vision->patch_size != CLEF_PATCH_SIDE || vision->spatial_merge_size != CLEF_PATCH_MERGE ||
        vision->temporal_patch_size != CLEF_PATCH_FRAMES ||
        model->network.vision.patch.weight.columns != CLEF_PATCH_VALUES) {
        return refuse(media, error,
                      "the vision tower of this model takes patches of another shape than "
                      "3 colours, 2 frames, 16 rows and 16 columns");
    }
    return CLEF_OK;
}

static void find_types(const clef_config *config, const clef_prompt *prompt, unsigned char *types) {
    for (size_t i = prompt->prefix_tokens; i < prompt->media_end; i++) {
        uint32_t id = prompt->tokens.ids[i];
        types[i] = id == config->image_token_id   ? CLEF_TOKEN_IMAGE
                   : id == config->video_token_id ? CLEF_TOKEN_VIDEO
                                                  : CLEF_TOKEN_TEXT;
    }
}

clef_status clef_record_media_place(const clef_model *model, const clef_prompt *prompt,
                                    clef_arena *arena, clef_record_media *of, clef_error *error) {
    const clef_media *media = &of->media;
    size_t media_count = clef_media_count(media);
    size_t count = prompt->tokens.count;
    if (media_count == 0 || model->is_tokenizer_only) {
        return CLEF_OK;
    }
    size_t run_limit = 0;
    for (size_t i = 0; i < media_count; i++) {
        run_limit += media->items[i].grid.frames;
    }
    unsigned char *types = clef_arena_allocate(arena, count, 1);
    clef_patch_grid *grids = clef_arena_allocate(arena, media_count, sizeof *grids);
    int32_t *positions = clef_arena_allocate(arena, 3 * count, sizeof *positions);
    of->runs = clef_arena_allocate(arena, run_limit, sizeof *of->runs);
    if (types == NULL || grids == NULL || positions == NULL || of->runs == NULL) {
        return clef_fail_memory(error, 3 * count * sizeof *positions, "the positions of a record");
    }
    find_types(&model->network.config, prompt, types);
    for (size_t i = 0; i < media_count; i++) {
        grids[i] = media->items[i].grid;
    }
    const clef_media_grids all = {.images = grids,
                                  .videos = grids + media->image_count,
                                  .image_count = media->image_count,
                                  .video_count = media->video_count,
                                  .merge = CLEF_PATCH_MERGE};
    of->run_count = clef_feature_runs_find(types, count, of->runs, run_limit);
    of->table = (clef_position_table){.positions = positions, .count = count};
    return clef_media_positions_make(types, count, &all, positions, &of->table.shift, error);
}

void clef_record_media_release(clef_record_media *of) {
    clef_media_release(&of->media);
}
