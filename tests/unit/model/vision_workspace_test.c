/* What the tower takes: bounded by the largest frame, not by the number of frames or pictures;
 * every allocation fails once and leaves nothing behind. */
#include "../weights/failing_memory.h"

#include "support.h"

#include "model/vision_tower.h"

/* The published tower. */
static clef_network network_of_release(void) {
    return (clef_network){.config = {.hidden_size = 4096,
                                     .has_vision = true,
                                     .vision = {.depth = 27,
                                                .hidden_size = 1152,
                                                .head_count = 16,
                                                .intermediate_size = 4304,
                                                .spatial_merge_size = 2}}};
}

static uint64_t bytes_of(uint32_t frames, uint32_t rows, uint32_t columns) {
    clef_network network = network_of_release();
    clef_vision_picture picture = {.grid = {frames, rows, columns}};
    return clef_vision_workspace_bytes(&network, &picture, 1, CLEF_VISION_ROWS);
}

static void memory_follows_the_largest_frame(void **state) {
    (void)state;
    /* Residual stream, keys, values and angles of a patch: 3·1152 + 2·36 floats and padding. */
    uint64_t patch = (bytes_of(1, 256, 128) - bytes_of(1, 128, 128)) / 16384;
    assert_in_range(patch, (3 * 1152 + 72) * 4, (3 * 1152 + 72) * 4 + 400);
    assert_in_range(bytes_of(1, 128, 128), 16384 * patch, 16384 * patch + 20000000);
    /* Frames of a video go one behind the other. */
    assert_int_equal(bytes_of(300, 64, 64), bytes_of(1, 64, 64));
    assert_int_equal(bytes_of(300, 4, 6), bytes_of(21, 4, 6)); /* 21 fit into 512 rows */
    assert_true(bytes_of(20, 4, 6) < bytes_of(21, 4, 6));
}

/* In bfloat16, keys and values take half. */
static void rounded_keys_take_half(void **state) {
    (void)state;
    clef_network network = network_of_release();
    clef_vision_picture picture = {.grid = {1, 64, 64}};
    uint64_t bytes = clef_vision_workspace_bytes(&network, &picture, 1, CLEF_VISION_ROWS);
    network.vision.patch.weight.arithmetic = CLEF_ARITHMETIC_BF16;
    assert_int_equal(clef_vision_workspace_bytes(&network, &picture, 1, CLEF_VISION_ROWS),
                     bytes - (uint64_t)4096 * 1152 * sizeof(float));
    clef_vision_workspace workspace;
    clef_error error = {0};
    assert_ok(clef_vision_workspace_create(&network, &picture, 1, 64, &workspace, &error), &error);
    assert_null(workspace.keys);
    assert_int_equal(workspace.rounded.rows, 4096);
    assert_int_equal(workspace.rounded.size, 72);
    clef_vision_workspace_release(&workspace);
    /* Cells of 9 patches: a frame may begin inside a pair of rows. */
    network.config.vision.spatial_merge_size = 3;
    assert_false(clef_vision_is_rounded(&network));
}

static void several_pictures_share_it(void **state) {
    (void)state;
    clef_network network = network_of_release();
    clef_vision_picture pictures[] = {
        {.grid = {1, 16, 16}}, {.grid = {1, 64, 64}}, {.grid = {8, 4, 6}}};
    assert_int_equal(clef_vision_workspace_bytes(&network, pictures, 3, CLEF_VISION_ROWS),
                     bytes_of(1, 64, 64));
}

static void each_allocation_fails(void **state) {
    clef_network network = network_of_release();
    clef_vision_picture picture = {.grid = {1, 16, 16}};
    (void)state;
    for (size_t allowed = 0;; allowed++) {
        clef_error error = {0};
        clef_vision_workspace workspace;
        size_t live = live_blocks;
        allocations_before_failure = allowed;
        clef_status status =
            clef_vision_workspace_create(&network, &picture, 1, 64, &workspace, &error);
        allocations_before_failure = SIZE_MAX;
        if (status == CLEF_OK) {
            assert_int_equal(allowed, 4);
            clef_vision_workspace_release(&workspace);
            assert_int_equal(live_blocks, live);
            return;
        }
        assert_int_equal(status, CLEF_OUT_OF_MEMORY);
        assert_int_equal(live_blocks, live);
    }
}

static int allow_all(void **state) {
    (void)state;
    allocations_before_failure = SIZE_MAX;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_follows_the_largest_frame),
        cmocka_unit_test(rounded_keys_take_half),
        cmocka_unit_test(several_pictures_share_it),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, allow_all, NULL);
}
