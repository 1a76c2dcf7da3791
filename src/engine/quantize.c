/* Quantising a model: read the recipe, plan, measure inputs where records are given, write aside,
 * read back, move into place. */
#include "engine/quantize_job.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "weights/weight_files.h"

#include <inttypes.h>

#define DEFAULT_RECIPE     "int8"
#define DEFAULT_FILE_BYTES UINT64_C(5000000000)

/* A model without this file is none: it is moved last. */
#define LAST_FILE "config.json"

/* Elements of a matrix that are worth handing to a thread. */
#define ELEMENTS_PER_TASK 16384

/* ---- what the steps share ---- */

clef_status clef_quantize_job_advance(clef_quantize_job *job, uint64_t bytes) {
    const clef_quantize_options *options = job->options;
    job->done_bytes += bytes;
    if (options->progress != NULL &&
        options->progress(options->context, job->done_bytes, job->total_bytes)) {
        return clef_fail(job->error, CLEF_CANCELLED, "stopped; nothing was written to %s",
                         job->output);
    }
    return CLEF_OK;
}

size_t clef_quantize_block_rows(const clef_quantize_item *item) {
    size_t rows = CLEF_QUANTIZE_BLOCK / clef_weight_row_bytes(item->format);
    rows = rows < item->format.rows ? rows : item->format.rows;
    return rows == 0 ? 1 : rows;
}

typedef struct row_work {
    const clef_quantize_job *job;
    const clef_quantize_item *item;
    clef_quantize_run *run;
    const void *context;
    size_t first, end, rows_per_task;
    atomic_size_t bad_row; /* the first that is not good; SIZE_MAX: none */
} row_work;

static void note_bad_row(row_work *work, size_t row) {
    size_t known = atomic_load(&work->bad_row);
    while (row < known && !atomic_compare_exchange_weak(&work->bad_row, &known, row)) {
    }
}

/* A few rows, widened and handed on. */
static void run_rows(row_work *work, size_t first, size_t count, float *rows) {
    const clef_quantize_item *item = work->item;
    size_t columns = item->format.columns;
    size_t row_bytes = columns * clef_dtype_bytes(item->source->dtype);
    const char *stored = (const char *)item->source->data + first * row_bytes;
    clef_widen(item->source->dtype, stored, count * columns, rows);
    size_t good = work->run(work->job, item, work->context, first, count, rows,
                            rows + CLEF_QUANTIZE_RUN * work->job->plan->widest);
    if (good < count) {
        note_bad_row(work, first + good);
    }
}

static void run_task(void *context, size_t task, unsigned worker) {
    row_work *work = context;
    float *rows = work->job->rows + worker * work->job->row_floats;
    size_t row = work->first + task * work->rows_per_task;
    size_t end = row + work->rows_per_task < work->end ? row + work->rows_per_task : work->end;
    while (row < end) {
        size_t count = end - row < CLEF_QUANTIZE_RUN ? end - row : CLEF_QUANTIZE_RUN;
        run_rows(work, row, count, rows);
        row += count;
    }
}

size_t clef_quantize_job_rows(const clef_quantize_job *job, const clef_quantize_item *item,
                              size_t first, size_t count, clef_quantize_run *run,
                              const void *context) {
    size_t runs_per_task = ELEMENTS_PER_TASK / (item->format.columns * CLEF_QUANTIZE_RUN) + 1;
    size_t rows_per_task = runs_per_task * CLEF_QUANTIZE_RUN;
    row_work work = {.job = job,
                     .item = item,
                     .run = run,
                     .context = context,
                     .first = first,
                     .end = first + count,
                     .rows_per_task = rows_per_task};
    atomic_init(&work.bad_row, SIZE_MAX);
    size_t task_count = (count + rows_per_task - 1) / rows_per_task;
    clef_thread_pool_run(job->pool, CLEF_THREAD_LIMIT, task_count, run_task, &work);
    return atomic_load(&work.bad_row);
}

/* ---- the run ---- */

static bool is_weights(const char *name) {
    size_t length = strlen(name);
    const char *suffix = ".safetensors";
    size_t suffix_length = strlen(suffix);
    return strcmp(name, CLEF_INDEX_FILE) == 0 ||
           (length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0);
}

/* The new weights take the place of all old ones but the head's. */
static bool is_copied(const char *name) {
    return !is_weights(name) || strcmp(name, CLEF_HEAD_FILE) == 0;
}

/* Files that would be taken for parts of the new model. */
static bool is_stale(const char *name) {
    return is_weights(name) || strncmp(name, "joint_head", strlen("joint_head")) == 0;
}

static clef_status make_scratch(clef_quantize_job *job) {
    size_t block_bytes = CLEF_QUANTIZE_BLOCK;
    size_t scale_count = 0;
    for (size_t i = 0; i < job->plan->item_count; i++) {
        const clef_quantize_item *item = &job->plan->items[i];
        if (item->format.group == 0) {
            continue;
        }
        size_t rows = clef_quantize_block_rows(item);
        size_t bytes = rows * clef_weight_row_bytes(item->format);
        size_t scales = rows * clef_weight_groups(item->format);
        block_bytes = bytes > block_bytes ? bytes : block_bytes;
        scale_count = scales > scale_count ? scales : scale_count;
    }
    size_t widest = job->plan->widest;
    size_t measured = clef_repack_measured_scratch(widest);
    job->row_floats = CLEF_QUANTIZE_RUN * widest + (measured > widest ? measured : widest);
    job->rows = clef_allocate_aligned(clef_thread_pool_size(job->pool) * job->row_floats,
                                      sizeof *job->rows);
    job->block = clef_allocate_aligned(block_bytes, 1);
    job->scales = clef_allocate_aligned(scale_count, sizeof *job->scales);
    if (job->rows == NULL || job->block == NULL || job->scales == NULL) {
        return clef_fail_memory(job->error, block_bytes, "the rows of a matrix");
    }
    return CLEF_OK;
}

/* {"source":…,"requests":n,"tokens":n}; nothing when nothing is measured. */
static void describe_calibration(const clef_quantize_job *job, clef_buffer *out) {
    const char *source = job->options->calibration_source;
    if (job->inputs != NULL) {
        clef_buffer_append_string(out, "{\"source\":");
        clef_json_write_string(out, clef_text_of(source == NULL ? "" : source));
        clef_buffer_append_format(out, ",\"requests\":%zu,\"tokens\":%" PRIu64 "}",
                                  job->options->calibration_record_count,
                                  clef_quantize_inputs_tokens(job->inputs));
    }
}

static clef_status write_weights(clef_quantize_job *job, const clef_recipe *recipe) {
    clef_buffer text = {0};
    clef_buffer calibration = {0};
    clef_recipe_write(recipe, &text);
    describe_calibration(job, &calibration);
    clef_status status = clef_buffer_check(&text, "the recipe", job->error);
    if (status == CLEF_OK) {
        status = clef_buffer_check(&calibration, "the source of the calibration", job->error);
    }
    if (status == CLEF_OK) {
        const clef_header_note notes[] = {
            {CLEF_TEXT("format"), CLEF_TEXT("pt")},
            {CLEF_TEXT("clef_version"), clef_text_of(clef_version())},
            {CLEF_TEXT("clef_recipe"), clef_buffer_text(&text)},
            {CLEF_TEXT("clef_calibration"), clef_buffer_text(&calibration)},
        };
        size_t count = sizeof notes / sizeof *notes;
        status = clef_quantize_write(job, notes, job->inputs == NULL ? count - 1 : count);
    }
    clef_buffer_release(&text);
    clef_buffer_release(&calibration);
    return status;
}

/* Writes, reads back and publishes what the plan says. */
static clef_status run_job(clef_quantize_job *job, clef_model *model, const clef_recipe *recipe) {
    clef_status status =
        clef_staging_open(job->output, job->options->may_replace, &job->staging, job->error);
    if (status == CLEF_OK) {
        status = make_scratch(job);
    }
    if (status == CLEF_OK) {
        status = clef_staging_copy(job->staging, model->directory, is_copied, job->error);
    }
    if (status == CLEF_OK) {
        status = write_weights(job, recipe);
    }
    if (status == CLEF_OK) {
        status = clef_quantize_verify(job, model->runtime);
    }
    if (status == CLEF_OK) {
        status = clef_staging_publish(job->staging, LAST_FILE, is_stale, job->error);
    }
    clef_release(job->rows);
    clef_release(job->block);
    clef_release(job->scales);
    clef_staging_close(job->staging);
    return status;
}

/* Gets ready to measure, and counts what that adds to the work: each layer up to the last one with
 * a matrix that is measured. */
static clef_status begin_measuring(clef_quantize_job *job, clef_model *model) {
    const clef_quantize_options *options = job->options;
    if (options->calibration_record_count == 0) {
        return CLEF_OK;
    }
    uint64_t layers = 0;
    for (size_t i = 0; i < job->plan->item_count; i++) {
        const clef_quantize_item *item = &job->plan->items[i];
        if (item->input != CLEF_LAYER_INPUT_NONE && item->layer >= layers) {
            layers = item->layer + 1;
        }
    }
    clef_status status =
        clef_quantize_inputs_create(model, options->calibration_records,
                                    options->calibration_record_count, &job->inputs, job->error);
    if (status == CLEF_OK) {
        job->total_bytes += layers * clef_quantize_inputs_bytes(job->inputs);
    }
    return status;
}

static clef_status quantize_model(clef_model *model, const char *output,
                                  const clef_quantize_options *options, clef_error *error) {
    clef_recipe recipe;
    clef_quantize_plan plan = {0};
    const char *name = options->recipe == NULL ? DEFAULT_RECIPE : options->recipe;
    uint64_t file_bytes = options->file_bytes == 0 ? DEFAULT_FILE_BYTES : options->file_bytes;
    clef_status status =
        clef_recipe_parse(name, options->group, model->network.config.layer_count, &recipe, error);
    if (status == CLEF_OK) {
        status = clef_quantize_plan_make(model, &recipe, file_bytes, &plan, error);
    }
    if (status == CLEF_OK) {
        clef_quantize_job job = {.options = options,
                                 .plan = &plan,
                                 .output = output,
                                 .pool = model->runtime->pool,
                                 .total_bytes = 2 * plan.source_bytes,
                                 .error = error};
        status = begin_measuring(&job, model);
        if (status == CLEF_OK) {
            status = run_job(&job, model, &recipe);
        }
        clef_quantize_inputs_destroy(job.inputs);
    }
    clef_quantize_plan_release(&plan);
    clef_recipe_release(&recipe);
    return status;
}

clef_status clef_model_quantize(clef_runtime *runtime, const char *directory, const char *output,
                                const clef_quantize_options *options, clef_error *error) {
    const clef_quantize_options chosen = options == NULL ? (clef_quantize_options){0} : *options;
    if (clef_path_is_same(directory, output)) {
        clef_fail(error, CLEF_USAGE, "the output %s is the directory of the model itself", output);
        clef_error_set_place(error, "%s", output);
        return CLEF_USAGE;
    }
    clef_model *model;
    clef_status status = clef_model_open(runtime, directory, NULL, &model, error);
    if (status == CLEF_OK) {
        status = quantize_model(model, output, &chosen, error);
        clef_model_close(model);
    }
    return status;
}
