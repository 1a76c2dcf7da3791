/* One picture through the tower on a profiling backend. */
#include "engine/measure_vision.h"

#include "backend/profile.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/system_memory.h"
#include "engine/handles.h"
#include "engine/measure_work.h"
#include "engine/session.h"
#include "model/vision_tower.h"

#include <math.h>

#define PATCH_LIMIT 65536 /* of the largest picture that the published processor makes */

struct clef_vision_measure {
    clef_network network; /* a shallow copy: the model's, with fewer blocks */
    clef_backend *backend, *profiling;
    clef_profile profile;
    clef_vision_workspace workspace;
    clef_vision_picture picture;
    size_t row_limit;
    float *patches; /* owned; [patches, P] */
    clef_matrix features;
    float *feature_floats; /* owned */
};

/* ---- creation ---- */

/* The sides of `count` merged cells that are nearest to each other. */
static clef_patch_grid choose_grid(uint32_t count, uint32_t merge) {
    uint32_t rows = (uint32_t)sqrt((double)count);
    while (count % rows != 0) {
        rows--;
    }
    return (clef_patch_grid){1, rows * merge, count / rows * merge};
}

static clef_status choose_sizes(clef_vision_measure *measure, const clef_model *model,
                                const clef_measure_options *options, clef_error *error) {
    clef_vision_config *config = &measure->network.config.vision;
    if (!measure->network.config.has_vision) {
        return clef_fail(error, CLEF_USAGE, "%s has no vision tower", model->directory);
    }
    uint32_t cell = config->spatial_merge_size * config->spatial_merge_size;
    if (options->patch_count % cell != 0 || options->patch_count > PATCH_LIMIT) {
        return clef_fail(error, CLEF_USAGE,
                         "%u patches; a picture has a multiple of %u, at most %d",
                         options->patch_count, cell, PATCH_LIMIT);
    }
    if (options->layer_count > config->depth) {
        return clef_fail(error, CLEF_USAGE, "%u blocks of a tower with %u", options->layer_count,
                         config->depth);
    }
    if (options->rows_per_step > CLEF_SESSION_ROW_LIMIT) {
        return clef_fail(error, CLEF_USAGE, "%u rows in a step, over the limit of %d",
                         options->rows_per_step, CLEF_SESSION_ROW_LIMIT);
    }
    if (options->layer_count > 0) {
        config->depth = options->layer_count;
    }
    measure->row_limit =
        options->rows_per_step == 0 ? CLEF_VISION_ROWS : clef_session_rows(options->rows_per_step);
    measure->picture.grid = choose_grid(options->patch_count / cell, config->spatial_merge_size);
    return CLEF_OK;
}

/* Numbers of [-1, 1), as a processor makes them. */
static void fill_patches(float *patches, size_t count) {
    uint32_t number = 1;
    for (size_t i = 0; i < count; i++) {
        number = number * 1664525 + 1013904223;
        patches[i] = (float)(number >> 8) * 0x1p-23f - 1;
    }
}

static clef_status take_memory(clef_vision_measure *measure, clef_error *error) {
    const clef_network *network = &measure->network;
    clef_patch_grid grid = measure->picture.grid;
    size_t values = clef_patch_grid_patches(grid) * network->vision.patch.weight.columns;
    size_t rows = clef_patch_grid_features(grid, network->config.vision.spatial_merge_size);
    size_t columns = network->config.hidden_size;
    uint64_t bytes =
        clef_vision_workspace_bytes(network, &measure->picture, 1, measure->row_limit) +
        (values + rows * columns) * sizeof(float);
    clef_status status = clef_system_memory_require(bytes, "a picture of that many patches", error);
    if (status != CLEF_OK) {
        return status;
    }
    measure->patches = clef_allocate(values, sizeof *measure->patches);
    measure->feature_floats = clef_allocate(rows * columns, sizeof *measure->feature_floats);
    if (measure->patches == NULL || measure->feature_floats == NULL) {
        return clef_fail_memory(error, values * sizeof *measure->patches, "a picture's patches");
    }
    fill_patches(measure->patches, values);
    measure->picture.patches = measure->patches;
    measure->features = (clef_matrix){measure->feature_floats, rows, columns, columns};
    return clef_vision_workspace_create(network, &measure->picture, 1, measure->row_limit,
                                        &measure->workspace, error);
}

static clef_status take_backends(clef_vision_measure *measure, const clef_runtime *runtime,
                                 clef_error *error) {
    clef_status status =
        clef_cpu_backend_create(runtime->pool, runtime->level, &measure->backend, error);
    if (status == CLEF_OK) {
        status = measure->backend->operations->reserve(measure->backend, measure->row_limit,
                                                       clef_network_widest_input(&measure->network),
                                                       error);
    }
    return status == CLEF_OK ? clef_profile_backend_create(measure->backend, &measure->profile,
                                                           &measure->profiling, error)
                             : status;
}

clef_status clef_vision_measure_create(clef_model *model, const clef_measure_options *options,
                                       clef_vision_measure **out, clef_error *error) {
    *out = NULL;
    clef_vision_measure *measure = clef_allocate(1, sizeof *measure);
    if (measure == NULL) {
        return clef_fail_memory(error, sizeof *measure, "a measurement");
    }
    measure->network = model->network;
    clef_status status = choose_sizes(measure, model, options, error);
    if (status == CLEF_OK) {
        status = take_memory(measure, error);
    }
    if (status == CLEF_OK) {
        status = take_backends(measure, model->runtime, error);
    }
    if (status != CLEF_OK) {
        clef_vision_measure_destroy(measure);
        return status;
    }
    *out = measure;
    return CLEF_OK;
}

void clef_vision_measure_destroy(clef_vision_measure *measure) {
    if (measure == NULL) {
        return;
    }
    clef_backend_destroy(measure->profiling);
    clef_backend_destroy(measure->backend);
    clef_vision_workspace_release(&measure->workspace);
    clef_release(measure->patches);
    clef_release(measure->feature_floats);
    clef_release(measure);
}

clef_peak clef_vision_measure_peak(const clef_vision_measure *measure) {
    return measure->network.vision.patch.weight.arithmetic == CLEF_ARITHMETIC_BF16 ? CLEF_PEAK_BF16
                                                                                   : CLEF_PEAK_F32;
}

/* ---- a run ---- */

static clef_status check_features(const clef_vision_measure *measure, clef_error *error) {
    size_t count = measure->features.rows * measure->features.columns;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(measure->feature_floats[i])) {
            return clef_fail(error, CLEF_INTERNAL, "feature %zu is %g", i,
                             (double)measure->feature_floats[i]);
        }
    }
    return CLEF_OK;
}

clef_status clef_vision_measure_run(clef_vision_measure *measure, clef_measured *measured,
                                    clef_error *error) {
    size_t patches = clef_patch_grid_patches(measure->picture.grid);
    clef_vision_pass pass = {&measure->network, measure->profiling, &measure->workspace, NULL};
    *measured = clef_measured_vision_work(&measure->network, patches);
    measured->step_count = (patches + measure->row_limit - 1) / measure->row_limit;
    measured->weight_bytes *= (double)measured->step_count;
    measure->profile = (clef_profile){0};
    uint64_t start = clef_clock_ns();
    clef_vision_tower_run(&pass, &measure->picture, 1, measure->features);
    measured->total_ns = clef_clock_ns() - start;
    clef_measured_split(measured, &measure->profile);
    return check_features(measure, error);
}
