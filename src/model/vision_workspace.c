/* Sizes of the vision tower's matrices: what lives for whole frames, and what for a block of rows.
 */
#include "model/vision_tower.h"

#include "base/memory.h"
#include "base/size.h"

typedef struct tower_sizes {
    bool is_rounded;
    size_t row_limit, patch_limit, cell;
    size_t hidden, half, wide; /* columns */
} tower_sizes;

/* Patches of the frames of this picture that are computed together: one large frame, or as many
 * small ones as fit into a block. */
static size_t group_patches(clef_patch_grid grid, size_t row_limit) {
    size_t frame = clef_patch_grid_frame(grid);
    size_t fitting = frame == 0 || frame > row_limit ? 1 : row_limit / frame;
    return frame * (fitting < grid.frames ? fitting : grid.frames);
}

static tower_sizes find_sizes(const clef_network *network, const clef_vision_picture *pictures,
                              size_t count, size_t row_limit) {
    const clef_vision_config *c = &network->config.vision;
    tower_sizes sizes = {.is_rounded = clef_vision_is_rounded(network),
                         .cell = (size_t)c->spatial_merge_size * c->spatial_merge_size,
                         .hidden = c->hidden_size,
                         .half = c->hidden_size / c->head_count / 2};
    sizes.row_limit = row_limit / sizes.cell * sizes.cell;
    for (size_t i = 0; i < count; i++) {
        sizes.patch_limit =
            clef_size_larger(sizes.patch_limit, group_patches(pictures[i].grid, sizes.row_limit));
    }
    /* Keys with values; the MLP; patches. The merger's rows are fewer, and no wider for each
     * patch. */
    sizes.wide = clef_size_larger(clef_padded_stride(2 * sizes.hidden),
                                  clef_padded_stride(c->intermediate_size));
    sizes.wide = clef_size_larger(sizes.wide, network->vision.patch.weight.columns);
    return sizes;
}

static size_t count_floats(const tower_sizes *s) {
    size_t frame = clef_padded_stride(s->hidden) + 2 * clef_padded_stride(s->half) +
                   (s->is_rounded ? s->hidden : 2 * s->hidden); /* keys and values */
    size_t block = 3 * clef_padded_stride(s->hidden) + s->wide;
    return s->patch_limit * frame + s->row_limit * block;
}

uint64_t clef_vision_workspace_bytes(const clef_network *network,
                                     const clef_vision_picture *pictures, size_t count,
                                     size_t row_limit) {
    tower_sizes sizes = find_sizes(network, pictures, count, row_limit);
    size_t taps = sizes.row_limit * 4 * (sizeof(uint32_t) + sizeof(float));
    return count_floats(&sizes) * sizeof(float) + taps +
           sizes.row_limit / sizes.cell * sizeof(clef_frame_part);
}

static float *take(float **next, size_t count) {
    float *taken = *next;
    *next += count;
    return taken;
}

static clef_matrix place(float **next, size_t rows, size_t columns) {
    size_t stride = clef_padded_stride(columns);
    return (clef_matrix){take(next, rows * stride), rows, columns, stride};
}

static void place_keys(float **next, const clef_network *network, const tower_sizes *sizes,
                       clef_vision_workspace *workspace) {
    size_t count = sizes->patch_limit * sizes->hidden;
    size_t heads = network->config.vision.head_count;
    if (sizes->is_rounded) {
        workspace->rounded = (clef_rounded_frames){.keys = (void *)take(next, count / 2),
                                                   .values = (void *)take(next, count / 2),
                                                   .rows = sizes->patch_limit,
                                                   .heads = heads,
                                                   .size = sizes->hidden / heads};
    } else {
        workspace->keys = take(next, count);
        workspace->values = take(next, count);
    }
}

clef_status clef_vision_workspace_create(const clef_network *network,
                                         const clef_vision_picture *pictures, size_t count,
                                         size_t row_limit, clef_vision_workspace *workspace,
                                         clef_error *error) {
    tower_sizes sizes = find_sizes(network, pictures, count, row_limit);
    *workspace =
        (clef_vision_workspace){.row_limit = sizes.row_limit, .patch_limit = sizes.patch_limit};
    workspace->floats = clef_allocate_aligned(count_floats(&sizes), sizeof(float));
    workspace->ids = clef_allocate(sizes.row_limit * 4, sizeof *workspace->ids);
    workspace->factors = clef_allocate(sizes.row_limit * 4, sizeof *workspace->factors);
    workspace->parts = clef_allocate(sizes.row_limit / sizes.cell, sizeof *workspace->parts);
    if (workspace->floats == NULL || workspace->ids == NULL || workspace->factors == NULL ||
        workspace->parts == NULL) {
        clef_vision_workspace_release(workspace);
        return clef_fail_memory(error, count_floats(&sizes) * sizeof(float),
                                "the activations of the vision tower");
    }
    float *next = workspace->floats;
    workspace->hidden = place(&next, sizes.patch_limit, sizes.hidden);
    workspace->cosine = place(&next, sizes.patch_limit, sizes.half);
    workspace->sine = place(&next, sizes.patch_limit, sizes.half);
    place_keys(&next, network, &sizes, workspace);
    workspace->normed = place(&next, sizes.row_limit, sizes.hidden);
    workspace->query = place(&next, sizes.row_limit, sizes.hidden);
    workspace->mixed = place(&next, sizes.row_limit, sizes.hidden);
    workspace->wide = take(&next, sizes.row_limit * sizes.wide);
    return CLEF_OK;
}

void clef_vision_workspace_release(clef_vision_workspace *workspace) {
    clef_release(workspace->floats);
    clef_release(workspace->ids);
    clef_release(workspace->factors);
    clef_release(workspace->parts);
    *workspace = (clef_vision_workspace){0};
}
