/* Writing the new weights: a matrix at a time, in blocks of rows that all threads make together. */
#include "engine/quantize_job.h"

#include "base/memory.h"
#include "weights/bad_file.h"
#include "weights/repack.h"
#include "weights/safetensors_writer.h"
#include "weights/weight_files.h"

/* Where the rows of a block go, and what weighs their rounding. */
typedef struct block {
    size_t first; /* row */
    unsigned char *values;
    float *scales;
    const clef_input_sums *sums; /* NULL: nothing does */
} block;

/* clef_quantize_run */
static size_t repack_rows(const clef_quantize_job *job, const clef_quantize_item *item,
                          const void *context, size_t first, size_t count, const float *source,
                          float *scratch) {
    (void)job;
    const block *into = context;
    size_t index = first - into->first;
    size_t row_bytes = clef_weight_row_bytes(item->format);
    size_t groups = clef_weight_groups(item->format);
    unsigned char *values = into->values + index * row_bytes;
    float *scales = into->scales + index * groups;
    const float *importance = into->sums == NULL ? NULL : into->sums->importance;
    for (size_t i = 0; i < count; i++) {
        if (!clef_repack_row(item->format, source + i * item->format.columns, importance,
                             values + i * row_bytes, scales + i * groups)) {
            return i;
        }
    }
    if (into->sums != NULL) {
        clef_repack_measured(item->format, into->sums, source, count, values, scales, scratch);
    }
    return count;
}

static clef_safetensors_writer *writer_of(const clef_quantize_job *job,
                                          clef_safetensors_writer *writers, size_t part) {
    return &writers[job->plan->part_files[part]];
}

/* Writes bytes of a part at an offset. */
static clef_status put(clef_quantize_job *job, clef_safetensors_writer *writers, size_t part,
                       uint64_t offset, const void *bytes, size_t length) {
    size_t first = job->plan->files[job->plan->part_files[part]].first;
    return clef_safetensors_writer_put(writer_of(job, writers, part), part - first, offset, bytes,
                                       length, job->error);
}

static clef_status fail_value(clef_quantize_job *job, const clef_quantize_item *item, size_t row) {
    return clef_bad_file_fail(job->error, item->source->file,
                              "tensor %.*s has a value that is not finite in row %zu",
                              (int)item->source->name.length, item->source->name.bytes, row);
}

/* clef_inputs_progress */
static clef_status advance(void *context, uint64_t bytes) {
    return clef_quantize_job_advance(context, bytes);
}

/* *sums stays NULL for an item whose inputs are not measured. */
static clef_status measure(clef_quantize_job *job, const clef_quantize_item *item,
                           const clef_input_sums **sums) {
    *sums = NULL;
    if (!clef_quantize_is_measured(job, item)) {
        return CLEF_OK;
    }
    clef_status status =
        clef_quantize_inputs_measure(job->inputs, item->layer, advance, job, job->error);
    if (status == CLEF_OK) {
        *sums = clef_quantize_inputs_find(job->inputs, item->input);
    }
    return status;
}

static clef_status write_quantised(clef_quantize_job *job, clef_safetensors_writer *writers,
                                   const clef_quantize_item *item) {
    size_t rows = item->format.rows;
    size_t row_bytes = clef_weight_row_bytes(item->format);
    size_t scale_bytes = clef_weight_groups(item->format) * sizeof(float);
    size_t block_rows = clef_quantize_block_rows(item);
    const clef_input_sums *sums;
    clef_status status = measure(job, item, &sums);
    for (size_t first = 0; first < rows && status == CLEF_OK; first += block_rows) {
        size_t count = rows - first < block_rows ? rows - first : block_rows;
        block into = {first, job->block, job->scales, sums};
        size_t bad = clef_quantize_job_rows(job, item, first, count, repack_rows, &into);
        if (bad != SIZE_MAX) {
            return fail_value(job, item, bad);
        }
        status = put(job, writers, item->values, (uint64_t)first * row_bytes, into.values,
                     count * row_bytes);
        if (status == CLEF_OK) {
            status = put(job, writers, item->scales, (uint64_t)first * scale_bytes, into.scales,
                         count * scale_bytes);
        }
        if (status == CLEF_OK) {
            status = clef_quantize_job_advance(job, item->source->bytes / rows * count);
        }
    }
    return status;
}

static clef_status write_kept(clef_quantize_job *job, clef_safetensors_writer *writers,
                              const clef_quantize_item *item) {
    const char *data = item->source->data;
    size_t left = item->source->bytes;
    clef_status status = CLEF_OK;
    for (size_t offset = 0; left > 0 && status == CLEF_OK;) {
        size_t count = left < CLEF_QUANTIZE_BLOCK ? left : CLEF_QUANTIZE_BLOCK;
        status = put(job, writers, item->values, offset, data + offset, count);
        offset += count;
        left -= count;
        if (status == CLEF_OK) {
            status = clef_quantize_job_advance(job, count);
        }
    }
    return status;
}

static clef_status begin_files(clef_quantize_job *job, clef_safetensors_writer *writers,
                               const clef_header_note *notes, size_t note_count) {
    clef_status status = CLEF_OK;
    for (size_t i = 0; i < job->plan->file_count && status == CLEF_OK; i++) {
        const clef_quantize_file *file = &job->plan->files[i];
        clef_new_file created;
        status = clef_staging_create(job->staging, file->name, &created, job->error);
        if (status == CLEF_OK) {
            status =
                clef_safetensors_writer_begin(&writers[i], created, job->plan->parts + file->first,
                                              file->count, notes, note_count, job->error);
        }
    }
    return status;
}

static clef_status write_index(clef_quantize_job *job) {
    const clef_quantize_plan *plan = job->plan;
    clef_buffer text = {0};
    clef_new_file file = {.descriptor = -1};
    clef_shard_index_write(&text, plan->parts, plan->part_files, plan->part_count,
                           plan->file_names);
    clef_status status = clef_buffer_check(&text, CLEF_INDEX_FILE, job->error);
    if (status == CLEF_OK) {
        status = clef_staging_create(job->staging, CLEF_INDEX_FILE, &file, job->error);
    }
    if (status == CLEF_OK) {
        status = clef_new_file_write(&file, 0, text.bytes, text.length, job->error);
    }
    if (status == CLEF_OK) {
        status = clef_new_file_finish(&file, job->error);
    }
    clef_new_file_abandon(&file);
    clef_buffer_release(&text);
    return status;
}

clef_status clef_quantize_write(clef_quantize_job *job, const clef_header_note *notes,
                                size_t note_count) {
    const clef_quantize_plan *plan = job->plan;
    clef_safetensors_writer *writers = clef_allocate(plan->file_count, sizeof *writers);
    if (writers == NULL) {
        return clef_fail_memory(job->error, plan->file_count * sizeof *writers,
                                "the list of new weight files");
    }
    for (size_t i = 0; i < plan->file_count; i++) {
        writers[i].file.descriptor = -1;
    }
    clef_status status = begin_files(job, writers, notes, note_count);
    for (size_t i = 0; i < plan->item_count && status == CLEF_OK; i++) {
        const clef_quantize_item *item = &plan->items[i];
        status = item->format.group == 0 ? write_kept(job, writers, item)
                                         : write_quantised(job, writers, item);
    }
    for (size_t i = 0; i < plan->file_count && status == CLEF_OK; i++) {
        status = clef_safetensors_writer_finish(&writers[i], job->error);
    }
    if (status == CLEF_OK && plan->file_count > 1) {
        status = write_index(job);
    }
    for (size_t i = 0; i < plan->file_count; i++) {
        clef_safetensors_writer_abandon(&writers[i]);
    }
    clef_release(writers);
    return status;
}
