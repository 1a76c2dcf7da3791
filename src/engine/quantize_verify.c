/* Reading back: the files are opened as any model is, and every value is compared with its source
 * through the same reading that computes with it. */
#include "engine/quantize_job.h"

#include "weights/repack.h"

#include <inttypes.h>

static const clef_stored_tensor *find_part(const clef_quantize_job *job, const clef_model *written,
                                           size_t part) {
    return clef_weight_store_find(written->backbone_store, job->plan->parts[part].name);
}

static clef_status fail_tensor(const clef_quantize_job *job, const clef_quantize_item *item,
                               const char *where, size_t position) {
    const char *file = job->plan->files[job->plan->part_files[item->values]].name;
    clef_fail(job->error, CLEF_VERIFY_FAILED,
              "%s: what was written of %.*s does not agree with its source (%s %zu)", file,
              (int)item->source->name.length, item->source->name.bytes, where, position);
    clef_error_set_place(job->error, "%s/%s", job->output, file);
    return CLEF_VERIFY_FAILED;
}

/* clef_quantize_run */
static size_t check_rows(const clef_quantize_job *job, const clef_quantize_item *item,
                         const void *context, size_t first, size_t count, const float *source,
                         float *scratch) {
    const clef_weight *written = context;
    clef_repack_rounding rounding =
        clef_quantize_is_measured(job, item) ? CLEF_REPACK_EITHER : CLEF_REPACK_NEAREST;
    size_t good = 0, column;
    while (good < count && clef_repack_check(*written, rounding, first + good,
                                             source + good * written->columns, scratch, &column)) {
        good++;
    }
    return good;
}

static clef_status check_quantised(clef_quantize_job *job, const clef_quantize_item *item,
                                   const clef_stored_tensor *values,
                                   const clef_stored_tensor *scales) {
    clef_weight written = item->format;
    written.data = values->data;
    written.scales = scales->data;
    size_t block_rows = clef_quantize_block_rows(item);
    clef_status status = CLEF_OK;
    for (size_t first = 0; first < written.rows && status == CLEF_OK; first += block_rows) {
        size_t count = written.rows - first < block_rows ? written.rows - first : block_rows;
        size_t bad = clef_quantize_job_rows(job, item, first, count, check_rows, &written);
        if (bad != SIZE_MAX) {
            return fail_tensor(job, item, "row", bad);
        }
        status = clef_quantize_job_advance(job, item->source->bytes / written.rows * count);
    }
    return status;
}

static clef_status check_kept(clef_quantize_job *job, const clef_quantize_item *item,
                              const clef_stored_tensor *values) {
    if (values->bytes != item->source->bytes ||
        memcmp(values->data, item->source->data, values->bytes) != 0) {
        return fail_tensor(job, item, "bytes", values->bytes);
    }
    return clef_quantize_job_advance(job, values->bytes);
}

static clef_status check_item(clef_quantize_job *job, const clef_model *written,
                              const clef_quantize_item *item) {
    const clef_stored_tensor *values = find_part(job, written, item->values);
    const clef_stored_tensor *scales =
        item->format.group == 0 ? NULL : find_part(job, written, item->scales);
    if (values == NULL || (item->format.group != 0 && scales == NULL)) {
        return fail_tensor(job, item, "parts found", 0);
    }
    return scales == NULL ? check_kept(job, item, values)
                          : check_quantised(job, item, values, scales);
}

clef_status clef_quantize_verify(clef_quantize_job *job, clef_runtime *runtime) {
    clef_model *written;
    clef_error fault = {0};
    clef_status status =
        clef_model_open(runtime, clef_staging_path(job->staging), NULL, &written, &fault);
    if (status == CLEF_OUT_OF_MEMORY) {
        return clef_fail(job->error, status, "%s", fault.message);
    }
    if (status != CLEF_OK) {
        clef_fail(job->error, CLEF_VERIFY_FAILED, "what was written does not open again: %s",
                  fault.message);
        clef_error_set_place(job->error, "%s", job->output);
        return CLEF_VERIFY_FAILED;
    }
    for (size_t i = 0; i < job->plan->item_count && status == CLEF_OK; i++) {
        status = check_item(job, written, &job->plan->items[i]);
    }
    clef_model_close(written);
    return status;
}
