/* Runs of tokens to positions, and positions of a slice from a table. */
#include "model/media_positions.h"

/* Where the walk over the runs is. */
typedef struct run_walk {
    const clef_media_grids *grids;
    size_t image, video; /* next of each list */
    uint32_t frame;      /* next of that video */
    int32_t current;     /* position of the next run */
    int32_t *axes[3];    /* of the next token */
} run_walk;

static void put(run_walk *walk, size_t index, int32_t time, int32_t height, int32_t width) {
    walk->axes[0][index] = time;
    walk->axes[1][index] = height;
    walk->axes[2][index] = width;
}

static void place_text(run_walk *walk, size_t first, size_t count) {
    for (size_t i = 0; i < count; i++, walk->current++) {
        put(walk, first + i, walk->current, walk->current, walk->current);
    }
}

/* The frame that the next run of this type shows; false when there is none left. */
static bool next_frame(run_walk *walk, unsigned char type, clef_patch_grid *frame) {
    const clef_media_grids *grids = walk->grids;
    if (type == CLEF_TOKEN_IMAGE) {
        if (walk->image == grids->image_count) {
            return false;
        }
        *frame = grids->images[walk->image++];
        return true;
    }
    if (walk->video == grids->video_count) {
        return false;
    }
    *frame = grids->videos[walk->video];
    if (++walk->frame == frame->frames) {
        walk->video++;
        walk->frame = 0;
    }
    frame->frames = 1;
    return true;
}

static clef_status place_frame(run_walk *walk, unsigned char type, size_t first, size_t count,
                               clef_error *error) {
    clef_patch_grid frame;
    size_t merge = walk->grids->merge;
    if (!next_frame(walk, type, &frame)) {
        return clef_fail(error, CLEF_INTERNAL, "%zu placeholders at token %zu belong to no picture",
                         count, first);
    }
    if (clef_patch_grid_features(frame, merge) != count) {
        return clef_fail(error, CLEF_INTERNAL,
                         "%zu placeholders at token %zu for a frame of %zu features", count, first,
                         clef_patch_grid_features(frame, merge));
    }
    size_t rows = frame.rows / merge;
    size_t columns = frame.columns / merge;
    for (size_t i = 0; i < count; i++) {
        put(walk, first + i, walk->current, walk->current + (int32_t)(i / columns),
            walk->current + (int32_t)(i % columns));
    }
    walk->current += (int32_t)(rows > columns ? rows : columns);
    return CLEF_OK;
}

clef_status clef_media_positions_make(const unsigned char *types, size_t count,
                                      const clef_media_grids *grids, int32_t *positions,
                                      int32_t *shift, clef_error *error) {
    run_walk walk = {.grids = grids, .axes = {positions, positions + count, positions + 2 * count}};
    for (size_t first = 0; first < count;) {
        size_t end = first + 1;
        while (end < count && types[end] == types[first]) {
            end++;
        }
        if (types[first] == CLEF_TOKEN_TEXT) {
            place_text(&walk, first, end - first);
        } else {
            clef_status status = place_frame(&walk, types[first], first, end - first, error);
            if (status != CLEF_OK) {
                return status;
            }
        }
        first = end;
    }
    if (walk.image != grids->image_count || walk.video != grids->video_count) {
        return clef_fail(error, CLEF_INTERNAL,
                         "placeholders for %zu of %zu pictures and %zu of %zu videos", walk.image,
                         grids->image_count, walk.video, grids->video_count);
    }
    *shift = walk.current - (int32_t)count;
    return CLEF_OK;
}

size_t clef_feature_runs_find(const unsigned char *types, size_t count, clef_feature_run *runs,
                              size_t limit) {
    size_t found = 0;
    for (size_t first = 0; first < count;) {
        size_t end = first + 1;
        while (end < count && types[end] == types[first]) {
            end++;
        }
        if (types[first] != CLEF_TOKEN_TEXT) {
            if (found < limit) {
                runs[found] = (clef_feature_run){first, end - first};
            }
            found++;
        }
        first = end;
    }
    return found;
}

void clef_positions_fill(const clef_position_table *table, const clef_slice *slice, size_t rows,
                         int32_t *positions) {
    size_t known = table == NULL ? 0 : table->count;
    int32_t shift = table == NULL ? 0 : table->shift;
    for (size_t axis = 0; axis < 3; axis++) {
        int32_t *out = positions + axis * rows + slice->row;
        for (size_t i = 0; i < slice->count; i++) {
            size_t index = slice->position + i;
            out[i] =
                index < known ? table->positions[axis * known + index] : (int32_t)index + shift;
        }
    }
}
