/* The vision tower, read beside its formulas: patch embedding with interpolated positions, blocks
 * of attention inside a frame and MLP on a residual stream, and the merger of neighbouring patches.
 */
#include "model/vision_tower.h"

#include "base/size.h"

#include <math.h>

#define NORM_EPSILON 1e-6f
#define TAPS         4 /* corners of a cell of the position table */

/* Frames of one picture that are computed together: a large one, or several that fit into one block
 * of rows. */
typedef struct frame_group {
    clef_patch_grid grid;
    size_t frame_patches;
    size_t rows; /* patches of all frames */
    const clef_vision_picture *picture;
    size_t first; /* of the rows, in the picture */
} frame_group;

/* Row and column in its frame of patch `index` of a group: cells in raster order, and the patches
 * of a cell in raster order. */
static void locate(const clef_vision_config *config, const frame_group *group, size_t index,
                   uint32_t *row, uint32_t *column) {
    size_t merge = config->spatial_merge_size;
    size_t in_frame = index % group->frame_patches;
    size_t cell = in_frame / (merge * merge);
    size_t in_cell = in_frame % (merge * merge);
    size_t cells_across = group->grid.columns / merge;
    *row = (uint32_t)(cell / cells_across * merge + in_cell / merge);
    *column = (uint32_t)(cell % cells_across * merge + in_cell % merge);
}

/* ---- step 1 to 3: embedding, positions ---- */

/* Where index `i` of `count` patches lies on an axis of the table, whose corners are the axis'
 * ends: between entries low and high, by the share that is returned. Steps are counted from the
 * nearer end and rounded as the reference rounds them: on a table of 48 entries an ulp is 4e-6 of a
 * share. */
static float stretch(uint32_t side, uint32_t i, uint32_t count, uint32_t *low, uint32_t *high) {
    float last = (float)(side - 1);
    float step = last / (float)(count - 1);
    float at = 0;
    if (count > 1) {
        at = i < count / 2 ? step * (float)i : fmaf(-step, (float)(count - 1 - i), last);
    }
    *low = (uint32_t)at;
    *high = *low + 1 < side ? *low + 1 : side - 1;
    return at - (float)*low;
}

/* The four entries of the position table around each of `rows` patches, and their shares. */
static void find_taps(const clef_vision_pass *pass, const frame_group *group, size_t first,
                      size_t rows) {
    const clef_vision_config *config = &pass->network->config.vision;
    uint32_t side = config->position_side;
    for (size_t r = 0; r < rows; r++) {
        uint32_t row, column, top, bottom, left, right;
        locate(config, group, first + r, &row, &column);
        float down = stretch(side, row, group->grid.rows, &top, &bottom);
        float across = stretch(side, column, group->grid.columns, &left, &right);
        const uint32_t ids[TAPS] = {top * side + left, top * side + right, bottom * side + left,
                                    bottom * side + right};
        const float factors[TAPS] = {(1 - down) * (1 - across), (1 - down) * across,
                                     down * (1 - across), down * across};
        memcpy(pass->workspace->ids + r * TAPS, ids, sizeof ids);
        memcpy(pass->workspace->factors + r * TAPS, factors, sizeof factors);
    }
}

/* Angles of a head's pairs: the first half turns with the patch's row, the second with its column.
 */
static void find_angles(const clef_vision_pass *pass, const frame_group *group) {
    const clef_matrix cosine = pass->workspace->cosine;
    const clef_matrix sine = pass->workspace->sine;
    const float *frequencies = pass->network->vision.rotary_frequencies;
    size_t quarter = cosine.columns / 2;
    for (size_t r = 0; r < group->rows; r++) {
        uint32_t place[2];
        locate(&pass->network->config.vision, group, r, &place[0], &place[1]);
        for (size_t i = 0; i < 2 * quarter; i++) {
            float angle = (float)place[i / quarter] * frequencies[i % quarter];
            cosine.data[r * cosine.stride + i] = (float)cos((double)angle);
            sine.data[r * sine.stride + i] = (float)sin((double)angle);
        }
    }
}

/* Patches of rows [first, first + rows) of the group. */
static clef_matrix take_patches(const clef_vision_pass *pass, const frame_group *group,
                                size_t first, size_t rows) {
    size_t values = pass->network->vision.patch.weight.columns;
    const clef_vision_picture *picture = group->picture;
    if (picture->patches == NULL) {
        float *made = pass->workspace->wide;
        picture->write(picture->context, group->first + first, rows, made);
        return (clef_matrix){made, rows, values, values};
    }
    /* A matrix is never written through this view. */
    float *patches = (float *)(uintptr_t)picture->patches + (group->first + first) * values;
    return (clef_matrix){patches, rows, values, values};
}

static void embed_patches(const clef_vision_pass *pass, const frame_group *group) {
    const clef_operations *op = pass->backend->operations;
    const clef_vision_weights *weights = &pass->network->vision;
    for (size_t first = 0; first < group->rows; first += pass->workspace->row_limit) {
        size_t rows = clef_size_smaller(group->rows - first, pass->workspace->row_limit);
        clef_matrix hidden = clef_matrix_rows(pass->workspace->hidden, first, rows);
        clef_matrix patches = take_patches(pass, group, first, rows);
        clef_linear(pass->backend, patches, weights->patch.weight, weights->patch.bias, hidden);
        clef_trace_matrix(pass->trace, "", -1, "patch_embed", hidden);
        find_taps(pass, group, first, rows);
        op->add_blend(pass->backend, weights->positions, pass->workspace->ids,
                      pass->workspace->factors, hidden);
        clef_trace_matrix(pass->trace, "", -1, "with_positions", hidden);
    }
    find_angles(pass, group);
}

/* ---- step 4: blocks ---- */

static clef_affine affine_rows(clef_affine affine, size_t first, size_t rows) {
    return (clef_affine){clef_weight_rows(affine.weight, first, rows), affine.bias + first};
}

/* Keys or values of rows [first, first + rows), head by head. */
static clef_heads frame_heads(const clef_vision_pass *pass, float *data, size_t first,
                              size_t rows) {
    const clef_vision_config *config = &pass->network->config.vision;
    size_t size = config->hidden_size / config->head_count;
    return (clef_heads){.data = data + first * size,
                        .rows = rows,
                        .row_stride = size,
                        .heads = config->head_count,
                        .head_stride = pass->workspace->patch_limit * size,
                        .size = size};
}

/* Columns of `wide` as a matrix. */
static clef_matrix widen_rows(const clef_vision_pass *pass, size_t rows, size_t columns) {
    return (clef_matrix){pass->workspace->wide, rows, columns, clef_padded_stride(columns)};
}

/* normed = LN(x) of rows [first, first + rows). */
static clef_matrix norm_rows(const clef_vision_pass *pass, clef_layer_norm_weights norm,
                             size_t first, size_t rows) {
    clef_matrix hidden = clef_matrix_rows(pass->workspace->hidden, first, rows);
    clef_matrix normed = clef_matrix_rows(pass->workspace->normed, 0, rows);
    pass->backend->operations->layer_norm(pass->backend, hidden, norm.weight, norm.bias,
                                          NORM_EPSILON, normed);
    return normed;
}

/* Keys and values of rows [first, first + rows), which stand normed in `normed`; the keys turned.
 */
static void fill_keys(const clef_vision_pass *pass, const clef_vision_block_weights *weights,
                      size_t first, size_t rows) {
    const clef_operations *op = pass->backend->operations;
    clef_vision_workspace *workspace = pass->workspace;
    size_t columns = workspace->hidden.columns;
    size_t heads = pass->network->config.vision.head_count;
    clef_affine both = affine_rows(weights->qkv, columns, 2 * columns);
    clef_matrix wide = widen_rows(pass, rows, 2 * columns);
    clef_linear(pass->backend, clef_matrix_rows(workspace->normed, 0, rows), both.weight, both.bias,
                wide);
    clef_heads key = clef_matrix_heads(clef_matrix_columns(wide, 0, columns), heads);
    clef_heads value = clef_matrix_heads(clef_matrix_columns(wide, columns, columns), heads);
    clef_matrix cosine = clef_matrix_rows(workspace->cosine, first, rows);
    clef_matrix sine = clef_matrix_rows(workspace->sine, first, rows);
    if (clef_vision_is_rounded(pass->network)) {
        op->rotate(pass->backend, key, cosine, sine, key);
        op->round_frames(pass->backend, key, value, first, workspace->rounded);
    } else {
        op->rotate(pass->backend, key, cosine, sine,
                   frame_heads(pass, workspace->keys, first, rows));
        op->copy(pass->backend, value, frame_heads(pass, workspace->values, first, rows));
    }
}

/* Frames of rows [first, first + rows): a part of one large frame, or all frames of the group. */
static size_t list_parts(const clef_vision_pass *pass, const frame_group *group, size_t rows) {
    clef_frame_part *parts = pass->workspace->parts;
    size_t count = 0;
    for (size_t row = 0; row < rows; row += group->frame_patches, count++) {
        parts[count] =
            (clef_frame_part){.row = row,
                              .count = clef_size_smaller(rows - row, group->frame_patches),
                              .key = row,
                              .key_count = group->frame_patches};
    }
    return count;
}

/* out = Attn(query) over the keys of the group. */
static void attend_keys(const clef_vision_pass *pass, const frame_group *group, clef_heads query,
                        clef_heads out) {
    const clef_operations *op = pass->backend->operations;
    const clef_vision_workspace *workspace = pass->workspace;
    size_t count = list_parts(pass, group, query.rows);
    if (clef_vision_is_rounded(pass->network)) {
        op->attend_rounded_frames(pass->backend, workspace->parts, count, query, workspace->rounded,
                                  out);
    } else {
        op->attend_frames(pass->backend, workspace->parts, count, query,
                          frame_heads(pass, workspace->keys, 0, group->rows),
                          frame_heads(pass, workspace->values, 0, group->rows), out);
    }
}

/* x += proj(Attn(LN(x))) for rows [first, first + rows); LN(x) stands in `normed` and gives way. */
static void attend_rows(const clef_vision_pass *pass, const frame_group *group, size_t block,
                        size_t first, size_t rows) {
    const clef_operations *op = pass->backend->operations;
    const clef_vision_block_weights *weights = &pass->network->vision.blocks[block];
    clef_vision_workspace *workspace = pass->workspace;
    size_t columns = workspace->hidden.columns;
    size_t heads = pass->network->config.vision.head_count;
    clef_matrix hidden = clef_matrix_rows(workspace->hidden, first, rows);
    clef_matrix normed = clef_matrix_rows(workspace->normed, 0, rows);
    clef_matrix query = clef_matrix_rows(workspace->query, 0, rows);
    clef_matrix mixed = clef_matrix_rows(workspace->mixed, 0, rows);
    clef_affine only_query = affine_rows(weights->qkv, 0, columns);

    clef_linear(pass->backend, normed, only_query.weight, only_query.bias, query);
    clef_heads query_heads = clef_matrix_heads(query, heads);
    op->rotate(pass->backend, query_heads, clef_matrix_rows(workspace->cosine, first, rows),
               clef_matrix_rows(workspace->sine, first, rows), query_heads);
    attend_keys(pass, group, query_heads, clef_matrix_heads(mixed, heads));
    clef_linear(pass->backend, mixed, weights->out.weight, weights->out.bias, normed);
    clef_trace_matrix(pass->trace, "blocks", (int)block, "attn", normed);
    op->add(pass->backend, hidden, normed);
}

/* x += fc2(gelu_tanh(fc1(LN(x)))) for rows [first, first + rows). */
static void expand_rows(const clef_vision_pass *pass, size_t block, size_t first, size_t rows) {
    const clef_operations *op = pass->backend->operations;
    const clef_vision_block_weights *weights = &pass->network->vision.blocks[block];
    clef_matrix hidden = clef_matrix_rows(pass->workspace->hidden, first, rows);
    clef_matrix normed = norm_rows(pass, weights->norm2, first, rows);
    clef_matrix wide = widen_rows(pass, rows, weights->expand.weight.rows);

    clef_linear(pass->backend, normed, weights->expand.weight, weights->expand.bias, wide);
    op->gelu_tanh(pass->backend, wide);
    clef_linear(pass->backend, wide, weights->contract.weight, weights->contract.bias, normed);
    op->add(pass->backend, hidden, normed);
    clef_trace_matrix(pass->trace, "blocks", (int)block, "", hidden);
}

/* Keys of a whole frame come first; then each block of rows goes all the way. Keys are filled from
 * the last block of rows to the first, whose LN(x) then still stands there for its queries: frames
 * that fit into one block compute it once. Of the other blocks it is computed again, which takes
 * some 0.2 % of the time; to keep it would take a third to a half more memory for each patch. */
static void run_block(const clef_vision_pass *pass, const frame_group *group, size_t block) {
    const clef_vision_block_weights *weights = &pass->network->vision.blocks[block];
    size_t limit = pass->workspace->row_limit;
    for (size_t end = group->rows; end > 0;) {
        size_t first = (end - 1) / limit * limit;
        norm_rows(pass, weights->norm1, first, end - first);
        fill_keys(pass, weights, first, end - first);
        end = first;
    }
    for (size_t first = 0; first < group->rows; first += limit) {
        size_t rows = clef_size_smaller(group->rows - first, limit);
        if (first > 0) {
            norm_rows(pass, weights->norm1, first, rows);
        }
        attend_rows(pass, group, block, first, rows);
        expand_rows(pass, block, first, rows);
    }
}

/* ---- step 5: merger ---- */

/* Each patch normed, those of a cell side by side, then fc2(gelu(fc1(…))) into rows of out. */
static void merge_patches(const clef_vision_pass *pass, const frame_group *group, clef_matrix out) {
    const clef_operations *op = pass->backend->operations;
    const clef_vision_weights *weights = &pass->network->vision;
    size_t columns = pass->workspace->hidden.columns;
    size_t merged = weights->merger_expand.weight.columns;
    size_t cell = merged / columns;
    for (size_t first = 0; first < group->rows; first += pass->workspace->row_limit) {
        size_t rows = clef_size_smaller(group->rows - first, pass->workspace->row_limit);
        clef_matrix hidden = clef_matrix_rows(pass->workspace->hidden, first, rows);
        /* Without gaps, so that consecutive rows are one longer row. */
        clef_matrix normed = {pass->workspace->query.data, rows, columns, columns};
        clef_matrix cells = {normed.data, rows / cell, merged, merged};
        clef_matrix wide = widen_rows(pass, rows / cell, merged);
        clef_matrix features = clef_matrix_rows(out, first / cell, rows / cell);
        op->layer_norm(pass->backend, hidden, weights->merger_norm.weight,
                       weights->merger_norm.bias, NORM_EPSILON, normed);
        clef_trace_matrix(pass->trace, "", -1, "merger.norm", normed);
        clef_linear(pass->backend, cells, weights->merger_expand.weight,
                    weights->merger_expand.bias, wide);
        op->gelu(pass->backend, wide);
        clef_linear(pass->backend, wide, weights->merger_contract.weight,
                    weights->merger_contract.bias, features);
        clef_trace_matrix(pass->trace, "", -1, "merger", features);
    }
}

/* ---- pictures ---- */

static void run_picture(const clef_vision_pass *pass, const clef_vision_picture *picture,
                        clef_matrix out) {
    const clef_vision_weights *weights = &pass->network->vision;
    size_t cell = weights->merger_expand.weight.columns / pass->workspace->hidden.columns;
    size_t frame = clef_patch_grid_frame(picture->grid);
    size_t patches = clef_patch_grid_patches(picture->grid);
    size_t row_limit = pass->workspace->row_limit;
    size_t group_rows = frame < row_limit ? row_limit / frame * frame : frame;
    for (size_t first = 0; first < patches; first += group_rows) {
        frame_group group = {.grid = picture->grid,
                             .frame_patches = frame,
                             .rows = clef_size_smaller(patches - first, group_rows),
                             .picture = picture,
                             .first = first};
        embed_patches(pass, &group);
        for (size_t block = 0; block < pass->network->config.vision.depth; block++) {
            run_block(pass, &group, block);
        }
        merge_patches(pass, &group, clef_matrix_rows(out, first / cell, group.rows / cell));
    }
}

void clef_vision_tower_run(const clef_vision_pass *pass, const clef_vision_picture *pictures,
                           size_t count, clef_matrix out) {
    size_t merge = pass->network->config.vision.spatial_merge_size;
    size_t row = 0;
    for (size_t i = 0; i < count; i++) {
        size_t features = clef_patch_grid_features(pictures[i].grid, merge);
        run_picture(pass, &pictures[i], clef_matrix_rows(out, row, features));
        row += features;
    }
}
