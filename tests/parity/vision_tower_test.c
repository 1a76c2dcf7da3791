/* The vision tower of the tiny model against the recorded one, stage by stage and level by level;
 * equal bits for any block of rows, any number of threads and any company; no norm computed again
 * without need; bfloat16 near fp32. */
#include "support_capture.h"
#include "support_patches.h"
#include "support_stage.h"
#include "support_vectors.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>

/* How far two fp32 engines may be apart in any stage, absolute; values reach 8. The recorded tower
 * itself is up to 9e-6 from float64. */
#define STAGE_BOUND 2e-5

#define MEDIA_COUNT 3
static const char *const media_names[MEDIA_COUNT] = {"rgb-16x16.png", "palette-80x1000.png",
                                                     "video:eight"};

typedef struct tower_case {
    clef_model *model;
    clef_runtime *runtime;
    clef_model *rounded; /* the same in bfloat16 */
    clef_safetensors *recorded;
    cut_picture media[MEDIA_COUNT];
} tower_case;

static void open_media(cut_picture media[MEDIA_COUNT]) {
    clef_safetensors *arrays = open_vectors("tiny-random/media/arrays.safetensors");
    clef_safetensors *frames = open_vectors("tiny-random/media/frames.safetensors");
    const char *square[] = {"rgb-16x16.png.resized"};
    const char *strip[] = {"palette-80x1000.png.resized"};
    const char *eight[] = {"frames/00.png", "frames/02.png", "frames/05.png", "frames/07.png"};
    media[0] = cut_frames(arrays, square, 1);
    media[1] = cut_frames(arrays, strip, 1);
    media[2] = cut_frames(frames, eight, 4);
    /* The cut is the reference's to the bit. */
    const clef_stored_tensor *values = vector_named(arrays, "rgb-16x16.png.pixel_values");
    assert_int_equal(element_count(values), clef_patch_grid_patches(media[0].grid) * PATCH_VALUES);
    assert_memory_equal(media[0].patches, floats_of(values), values->bytes);
    clef_safetensors_close(arrays);
    clef_safetensors_close(frames);
}

static int open_case(void **state) {
    static tower_case with;
    with = (tower_case){.model = open_tiny_model(),
                        .recorded = open_vectors("tiny-random/media/vision.safetensors")};
    clef_error error = {0};
    clef_model_options options = {.precision = CLEF_PRECISION_BF16};
    assert_ok(clef_runtime_create(NULL, &with.runtime, &error), &error);
    assert_ok(clef_model_open(with.runtime, fixture("tiny-random/release"), &options, &with.rounded,
                              &error),
              &error);
    open_media(with.media);
    *state = &with;
    return 0;
}

static int close_case(void **state) {
    tower_case *with = *state;
    for (size_t i = 0; i < MEDIA_COUNT; i++) {
        clef_release(with->media[i].patches);
    }
    clef_safetensors_close(with->recorded);
    clef_model_close(with->model);
    clef_model_close(with->rounded);
    clef_runtime_close(with->runtime);
    return 0;
}

/* Features [Σ, H] of pictures on a backend. Freed with clef_release. */
static float *run_backend(clef_backend *backend, const clef_network *network,
                          const clef_vision_picture *pictures, size_t count, size_t row_limit,
                          const clef_trace *trace) {
    clef_error error = {0};
    clef_vision_workspace workspace;
    size_t features = 0;
    for (size_t i = 0; i < count; i++) {
        features += clef_patch_grid_features(pictures[i].grid, 2);
    }
    size_t columns = network->config.hidden_size;
    float *out = clef_allocate(features * columns, sizeof *out);
    assert_non_null(out);
    assert_ok(backend->operations->reserve(backend, row_limit, clef_network_widest_input(network),
                                           &error),
              &error);
    assert_ok(clef_vision_workspace_create(network, pictures, count, row_limit, &workspace, &error),
              &error);
    clef_vision_pass pass = {network, backend, &workspace, trace};
    clef_vision_tower_run(&pass, pictures, count, (clef_matrix){out, features, columns, columns});
    clef_vision_workspace_release(&workspace);
    return out;
}

/* The same on a backend of its own. */
static float *run_tower(const clef_network *network, const clef_vision_picture *pictures,
                        size_t count, const char *level, unsigned threads, size_t row_limit,
                        const clef_trace *trace) {
    clef_error error = {0};
    clef_backend *backend = NULL;
    assert_ok(clef_cpu_backend_create(threads_of(threads), level, &backend, &error), &error);
    float *out = run_backend(backend, network, pictures, count, row_limit, trace);
    clef_backend_destroy(backend);
    return out;
}

/* ---- stages ---- */

static double compare_stage(const clef_stored_tensor *recorded, const char *stage,
                            const trace_capture *capture) {
    const clef_matrix *matrix = captured(capture, stage);
    if (matrix == NULL) {
        fail_msg("%s: our tower shows no matrix of that name", stage);
    }
    double difference = compare_rows(*matrix, NULL, recorded).difference;
    assert_within(stage, difference, STAGE_BOUND);
    return difference;
}

/* Every recorded tensor of one picture. */
static size_t compare_picture(const tower_case *with, size_t index, const char *level,
                              double *worst) {
    trace_capture capture = {0};
    clef_trace trace = capture_trace(&capture);
    clef_vision_picture picture = picture_of(&with->media[index]);
    size_t prefix = strlen(media_names[index]);
    size_t compared = 0;
    clef_release(run_tower(&with->model->network, &picture, 1, level, 1, 64, &trace));
    for (size_t i = 0; i < clef_safetensors_count(with->recorded); i++) {
        const clef_stored_tensor *recorded = clef_safetensors_at(with->recorded, i);
        char name[96];
        snprintf(name, sizeof name, "%.*s", (int)recorded->name.length, recorded->name.bytes);
        if (strncmp(name, media_names[index], prefix) != 0) {
            continue;
        }
        if (strcmp(name + prefix, ".grid_thw") == 0) {
            const int64_t *grid = integers_of(recorded);
            assert_int_equal(grid[0], picture.grid.frames);
            assert_int_equal(grid[1], picture.grid.rows);
            assert_int_equal(grid[2], picture.grid.columns);
        } else {
            *worst = fmax(*worst, compare_stage(recorded, name + prefix + 1, &capture));
            compared++;
        }
    }
    release_capture(&capture);
    return compared;
}

static void compare_level(void *context, const char *level) {
    double worst = 0;
    size_t compared = 0;
    for (size_t i = 0; i < MEDIA_COUNT; i++) {
        compared += compare_picture(context, i, level, &worst);
    }
    assert_int_equal(compared, MEDIA_COUNT * 8);
    print_message("%-12s worst %.2g\n", level, worst);
}

static void stages_are_the_recorded_ones(void **state) {
    for_each_level(compare_level, *state);
}

/* ---- equal bits ---- */

static void check_network(const tower_case *with, const clef_network *network, const char *level) {
    clef_vision_picture pictures[MEDIA_COUNT];
    float *alone[MEDIA_COUNT];
    size_t bytes[MEDIA_COUNT];
    for (size_t i = 0; i < MEDIA_COUNT; i++) {
        pictures[i] = picture_of(&with->media[i]);
        alone[i] = run_tower(network, &pictures[i], 1, level, 1, 512, NULL);
        bytes[i] = clef_patch_grid_features(pictures[i].grid, 2) * network->config.hidden_size *
                   sizeof(float);
    }
    /* 64 rows are less than a frame of the pictures, 128 several frames of the video. */
    const size_t row_limits[] = {64, 128, 512};
    for (size_t i = 0; i < sizeof row_limits / sizeof *row_limits; i++) {
        float *all = run_tower(network, pictures, MEDIA_COUNT, level, (unsigned)(3 - i),
                               row_limits[i], NULL);
        const char *next = (const char *)all;
        for (size_t m = 0; m < MEDIA_COUNT; next += bytes[m], m++) {
            assert_memory_equal(next, alone[m], bytes[m]);
        }
        clef_release(all);
    }
    /* A frame of a video is what it would be as a picture. */
    clef_vision_picture frame = pictures[2];
    frame.grid.frames = 1;
    frame.patches += clef_patch_grid_frame(frame.grid) * PATCH_VALUES;
    float *second = run_tower(network, &frame, 1, level, 2, 512, NULL);
    assert_memory_equal(second, (const char *)alone[2] + bytes[2] / 2, bytes[2] / 2);
    clef_release(second);
    for (size_t i = 0; i < MEDIA_COUNT; i++) {
        clef_release(alone[i]);
    }
}

static void check_bits(void *context, const char *level) {
    const tower_case *with = context;
    check_network(with, &with->model->network, level);
    check_network(with, &with->rounded->network, level);
}

static void bits_depend_on_the_picture_alone(void **state) {
    for_each_level(check_bits, *state);
}

/* ---- norms ---- */

static const clef_operations *counted_operations;
static size_t counted_rows;

static void count_norm(clef_backend *backend, clef_matrix x, const float *weight, const float *bias,
                       float epsilon, clef_matrix out) {
    counted_rows += x.rows;
    counted_operations->layer_norm(backend, x, weight, bias, epsilon, out);
}

/* Rows that went through LayerNorm. */
static size_t count_norms(const clef_network *network, const clef_vision_picture *picture,
                          size_t row_limit) {
    clef_error error = {0};
    clef_backend *backend = NULL;
    assert_ok(clef_cpu_backend_create(NULL, NULL, &backend, &error), &error);
    counted_operations = backend->operations;
    clef_operations counting = *counted_operations;
    counting.layer_norm = count_norm;
    backend->operations = &counting;
    counted_rows = 0;
    clef_release(run_backend(backend, network, picture, 1, row_limit, NULL));
    backend->operations = counted_operations;
    clef_backend_destroy(backend);
    return counted_rows;
}

/* Two of each block and that of the merger; of a frame of several blocks of rows, attention's again
 * for all but the first of them. */
static void norms_are_computed_once(void **state) {
    const tower_case *with = *state;
    const clef_network *network = &with->model->network;
    clef_vision_picture picture = picture_of(&with->media[1]);
    size_t patches = clef_patch_grid_patches(picture.grid);
    size_t depth = network->config.vision.depth;
    assert_in_range(patches, 65, 512);
    assert_int_equal(count_norms(network, &picture, 512), patches * (2 * depth + 1));
    assert_int_equal(count_norms(network, &picture, 64),
                     patches * (2 * depth + 1) + (patches - 64) * depth);
}

/* ---- bfloat16 ---- */

/* Largest distance of a row from the exact one, relative to its length. */
static double worst_row(const float *found, const float *exact, size_t rows, size_t columns) {
    double worst = 0;
    for (size_t r = 0; r < rows; r++) {
        double difference = 0;
        double whole = 0;
        for (size_t c = 0; c < columns; c++) {
            double d = (double)found[r * columns + c] - exact[r * columns + c];
            difference += d * d;
            whole += (double)exact[r * columns + c] * exact[r * columns + c];
        }
        worst = fmax(worst, sqrt(difference / whole));
    }
    return worst;
}

/* Rounded inputs: not exact, but every row within a few of the 2^-9 that one rounding makes. */
static void check_rounded(void *context, const char *level) {
    const tower_case *with = context;
    const clef_network *network = &with->model->network;
    clef_vision_picture picture = picture_of(&with->media[1]);
    size_t rows = clef_patch_grid_features(picture.grid, 2);
    float *exact = run_tower(network, &picture, 1, NULL, 1, 512, NULL);
    float *found = run_tower(&with->rounded->network, &picture, 1, level, 1, 512, NULL);
    double worst = worst_row(found, exact, rows, network->config.hidden_size);
    print_message("%-12s bf16: worst row %.2g\n", level, worst);
    assert_true(worst > 1e-5); /* it was rounded indeed */
    assert_within("rows in bfloat16", worst, 2e-2);
    clef_release(exact);
    clef_release(found);
}

static void bfloat16_is_near(void **state) {
    for_each_level(check_rounded, *state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_are_the_recorded_ones),
        cmocka_unit_test(bits_depend_on_the_picture_alone),
        cmocka_unit_test(norms_are_computed_once),
        cmocka_unit_test(bfloat16_is_near),
    };
    return cmocka_run_group_tests(tests, open_case, close_case);
}
