/* The tower's turn: before the first slice of a record with media, its pictures and videos become
 * feature rows, one medium behind the other, so that scratch of only one is held. What
 * was seen before is not computed again. */
#include "engine/session_parts.h"

#include "base/memory.h"
#include "base/system_memory.h"
#include "model/vision_tower.h"

void clef_session_forget_media(clef_session_job *of) {
    clef_release(of->features.rows.data);
    of->features = (clef_features){0};
}

static size_t tower_rows(const clef_session *session) {
    return session->row_limit < CLEF_VISION_ROWS ? session->row_limit : CLEF_VISION_ROWS;
}

static void write_patches(const void *context, size_t first, size_t count, float *out) {
    const clef_medium *medium = context;
    clef_patches_write(medium->frames, medium->frame_count, CLEF_PIXEL_TORCH, first, count, out);
}

/* Rows of `out`, as many as the medium has features. */
static clef_status see_medium(clef_session *session, const clef_medium *medium, clef_matrix out,
                              clef_error *error) {
    const clef_network *network = &session->model->network;
    size_t row_limit = tower_rows(session);
    clef_vision_workspace workspace = {0};
    const clef_vision_picture picture = {
        .grid = medium->grid, .write = write_patches, .context = medium};
    clef_status status = clef_system_memory_require(
        clef_vision_workspace_bytes(network, &picture, 1, row_limit), "the vision tower", error);
    if (status == CLEF_OK) {
        status = clef_vision_workspace_create(network, &picture, 1, row_limit, &workspace, error);
    }
    if (status == CLEF_OK) {
        clef_vision_pass pass = {network, session->backend, &workspace, NULL};
        clef_vision_tower_run(&pass, &picture, 1, out);
        clef_vision_workspace_release(&workspace);
    }
    return status;
}

/* What a medium is kept under: its frames, and the scope of its record, so that nobody learns from
 * a fast answer which pictures others have shown. */
static clef_digest key_of(const clef_record *record, const clef_medium *medium) {
    clef_digest_state state;
    clef_digest_begin(&state, CLEF_DIGEST_KEY);
    clef_digest_add(&state, record->cache_scope.bytes, sizeof record->cache_scope.bytes);
    clef_digest_add(&state, medium->digest.bytes, sizeof medium->digest.bytes);
    return clef_digest_finish(&state);
}

/* Rows of `out` as they were kept, or from the tower, and then kept. */
static clef_status see_or_recall(clef_session *session, const clef_record *record,
                                 const clef_medium *medium, clef_matrix out, clef_error *error) {
    size_t floats = out.rows * out.columns;
    clef_digest key = key_of(record, medium);
    if (clef_feature_cache_take(&session->seen, &key, out.data, floats)) {
        return CLEF_OK;
    }
    clef_status status = see_medium(session, medium, out, error);
    if (status == CLEF_OK) {
        clef_feature_cache_put(&session->seen, &key, out.data, floats);
    }
    return status;
}

clef_status clef_session_see_media(clef_session *session, clef_session_job *of, clef_error *error) {
    const clef_record *record = of->record;
    const clef_media *media = &record->media.media;
    size_t columns = session->model->network.config.hidden_size;
    size_t count = clef_media_token_count(media);
    if (count == 0 || of->sequence->position >= record->prompt.media_end) {
        return CLEF_OK;
    }
    clef_status status = clef_system_memory_require((uint64_t)count * columns * sizeof(float),
                                                    "the features of pictures and videos", error);
    if (status != CLEF_OK) {
        return status;
    }
    float *rows = clef_allocate_aligned(count, columns * sizeof *rows);
    if (rows == NULL) {
        return clef_fail_memory(error, count * columns * sizeof *rows, "features");
    }
    of->features = (clef_features){.runs = record->media.runs,
                                   .run_count = record->media.run_count,
                                   .rows = {rows, count, columns, columns}};
    size_t first = 0;
    for (size_t i = 0; i < clef_media_count(media) && status == CLEF_OK; i++) {
        size_t tokens = clef_patch_token_count(media->items[i].grid);
        clef_matrix out = {rows + first * columns, tokens, columns, columns};
        status = see_or_recall(session, record, &media->items[i], out, error);
        first += tokens;
    }
    if (status != CLEF_OK) {
        clef_session_forget_media(of);
    }
    return status;
}
