/* The check of stores against demands declared in tensor_names.h: collects what does not fit, then
 * writes all of it as one error. */
#include "model/tensor_report.h"

#include "base/memory.h"
#include "weights/bad_file.h"
#include "weights/weight_files.h"

#include <stdio.h>
#include <stdlib.h>

/* For the lines of the message. With the titles of its sections and the name of the directory it
 * stays below 7,500 bytes, and so whole in clef_error.message. */
#define MESSAGE_BYTE_LIMIT 7000

typedef struct tensor_check {
    const clef_tensor_demands *demands;
    const clef_tensor_demand **by_name; /* owned; the demands sorted by name */
    clef_tensor_finding *findings;      /* owned */
    size_t count;
    size_t fault_counts[CLEF_TENSOR_FAULT_UNKNOWN + 1];
} tensor_check;

static void add_finding(tensor_check *check, clef_tensor_fault fault,
                        const clef_tensor_demand *demand, const clef_stored_tensor *stored) {
    check->findings[check->count++] = (clef_tensor_finding){fault, demand, stored};
    check->fault_counts[fault]++;
}

static bool fits_shape(const clef_tensor_demand *demand, const clef_stored_tensor *stored) {
    if (demand->rank == 0 && demand->part == CLEF_TENSOR_PART_HEAD && stored->rank == 1 &&
        stored->shape[0] == 1) {
        return true; /* a scalar of the head stored as a vector of one */
    }
    if (demand->rank != stored->rank) {
        return false;
    }
    for (unsigned i = 0; i < demand->rank; i++) {
        if (demand->shape[i] != stored->shape[i]) {
            return false;
        }
    }
    return true;
}

/* Matrices of the text model may be quantised: 8 bits in the demanded shape, or 4 bits with half
 * the columns, and beside them scales for one of the known groups. */
static bool is_quantised(const clef_tensor_demand *demand, const clef_stored_tensor *stored) {
    bool is_matrix = demand->rank == 2 && (demand->part == CLEF_TENSOR_PART_TEXT ||
                                           demand->part == CLEF_TENSOR_PART_LAYER);
    return is_matrix && (stored->dtype == CLEF_DTYPE_I8 || stored->dtype == CLEF_DTYPE_U8);
}

static bool fits_values(const clef_tensor_demand *demand, const clef_stored_tensor *stored) {
    uint64_t columns = demand->shape[1];
    bool has_packed_columns = stored->dtype == CLEF_DTYPE_I8
                                  ? stored->shape[1] == columns
                                  : columns % 32 == 0 && stored->shape[1] == columns / 2;
    return stored->rank == 2 && stored->shape[0] == demand->shape[0] && has_packed_columns;
}

static const clef_stored_tensor *find_scales(const clef_tensor_demand *demand,
                                             const clef_weight_store *store) {
    char name[300];
    snprintf(name, sizeof name, "%.*s" CLEF_SCALE_SUFFIX, (int)demand->name.length,
             demand->name.bytes);
    return clef_weight_store_find(store, clef_text_of(name));
}

static bool fits_scales(const clef_tensor_demand *demand, const clef_stored_tensor *scales) {
    return scales != NULL && scales->dtype == CLEF_DTYPE_F32 && scales->rank == 2 &&
           scales->shape[0] == demand->shape[0] &&
           clef_quantised_group((size_t)demand->shape[1], (size_t)scales->shape[1]) != 0;
}

static void check_quantised(tensor_check *check, const clef_tensor_demand *demand,
                            const clef_stored_tensor *stored, const clef_weight_store *store) {
    const clef_stored_tensor *scales = find_scales(demand, store);
    if (!fits_values(demand, stored)) {
        add_finding(check, CLEF_TENSOR_FAULT_SHAPE, demand, stored);
    } else if (!fits_scales(demand, scales)) {
        add_finding(check, CLEF_TENSOR_FAULT_SCALES, demand, scales);
    }
}

/* Compares one demand with what the store has under its name. */
static void check_demand(tensor_check *check, const clef_tensor_demand *demand,
                         const clef_weight_store *store) {
    const clef_stored_tensor *stored =
        store == NULL ? NULL : clef_weight_store_find(store, demand->name);
    if (stored == NULL) {
        add_finding(check, CLEF_TENSOR_FAULT_MISSING, demand, NULL);
    } else if (is_quantised(demand, stored)) {
        check_quantised(check, demand, stored, store);
    } else if (!fits_shape(demand, stored)) {
        add_finding(check, CLEF_TENSOR_FAULT_SHAPE, demand, stored);
    } else if (stored->dtype != CLEF_DTYPE_BF16 && stored->dtype != CLEF_DTYPE_F16 &&
               stored->dtype != CLEF_DTYPE_F32) {
        add_finding(check, CLEF_TENSOR_FAULT_TYPE, demand, stored);
    }
}

static int compare_demands(const void *left, const void *right) {
    const clef_tensor_demand *const *a = left;
    const clef_tensor_demand *const *b = right;
    return clef_text_compare((*a)->name, (*b)->name);
}

/* Base models carry the layers of multi-token prediction, which nothing here uses. */
static bool is_ignored(clef_text name) {
    return name.length >= 4 && memcmp(name.bytes, "mtp.", 4) == 0;
}

static const clef_tensor_demand *find_demand(const tensor_check *check, clef_text name) {
    clef_tensor_demand wanted = {.name = name};
    const clef_tensor_demand *key = &wanted;
    const clef_tensor_demand **found =
        bsearch(&key, check->by_name, check->demands->count, sizeof key, compare_demands);
    return found == NULL ? NULL : *found;
}

/* The scales of a quantised matrix. */
static bool is_scale(const tensor_check *check, const clef_weight_store *store, clef_text name) {
    size_t suffix = sizeof CLEF_SCALE_SUFFIX - 1;
    if (name.length <= suffix ||
        memcmp(name.bytes + name.length - suffix, CLEF_SCALE_SUFFIX, suffix) != 0) {
        return false;
    }
    clef_text base = {name.bytes, name.length - suffix};
    const clef_tensor_demand *demand = find_demand(check, base);
    const clef_stored_tensor *stored = clef_weight_store_find(store, base);
    return demand != NULL && stored != NULL && is_quantised(demand, stored);
}

/* Looks for stored tensors that no demand of that store asks for. */
static void check_unknown(tensor_check *check, const clef_weight_store *store, bool of_head) {
    size_t count = store == NULL ? 0 : clef_weight_store_count(store);
    for (size_t i = 0; i < count; i++) {
        const clef_stored_tensor *stored = clef_weight_store_at(store, i);
        const clef_tensor_demand *found = find_demand(check, stored->name);
        bool is_known = (found != NULL && clef_tensor_demand_is_of_head(found) == of_head) ||
                        (!of_head && is_scale(check, store, stored->name));
        if (!is_known && (of_head || !is_ignored(stored->name))) {
            add_finding(check, CLEF_TENSOR_FAULT_UNKNOWN, NULL, stored);
        }
    }
}

/* Room for the worst case, every demand missing and every stored tensor unknown, so that no finding
 * can fail. */
static clef_status make_room(tensor_check *check, const clef_weight_store *backbone,
                             const clef_weight_store *head, clef_error *error) {
    size_t demand_count = check->demands->count;
    size_t room = demand_count + (backbone == NULL ? 0 : clef_weight_store_count(backbone)) +
                  (head == NULL ? 0 : clef_weight_store_count(head));
    check->by_name = clef_allocate(demand_count, sizeof *check->by_name);
    check->findings = clef_allocate(room, sizeof *check->findings);
    if (check->by_name == NULL || check->findings == NULL) {
        return clef_fail_memory(error, room * sizeof *check->findings, "the check of tensors");
    }
    for (size_t i = 0; i < demand_count; i++) {
        check->by_name[i] = &check->demands->items[i];
    }
    qsort(check->by_name, demand_count, sizeof *check->by_name, compare_demands);
    return CLEF_OK;
}

/* ---- the message ---- */

/* Appends "what: count, " when there are any. */
static void write_count(clef_buffer *out, const tensor_check *check, clef_tensor_fault fault,
                        const char *what) {
    if (check->fault_counts[fault] > 0) {
        clef_buffer_append_format(out, "%s: %zu, ", what, check->fault_counts[fault]);
    }
}

/* Says which files are absent that should hold demanded tensors, and explains the output matrix. */
static void write_files(clef_buffer *out, const tensor_check *check,
                        const clef_weight_store *backbone, const clef_weight_store *head) {
    size_t head_count = 0;
    for (size_t i = 0; i < check->demands->count; i++) {
        head_count += clef_tensor_demand_is_of_head(&check->demands->items[i]);
    }
    if (backbone == NULL) {
        clef_buffer_append_format(out,
                                  "\nmissing file: " CLEF_WEIGHTS_FILE ", or " CLEF_INDEX_FILE
                                  " and the files it lists (%zu tensors)",
                                  check->demands->count - head_count);
    }
    if (head == NULL && head_count > 0) {
        clef_buffer_append_format(out, "\nmissing file: " CLEF_HEAD_FILE " (%zu tensors)",
                                  head_count);
    }
    for (size_t i = 0; i < check->count && backbone != NULL; i++) {
        const clef_tensor_finding *finding = &check->findings[i];
        bool is_missing = finding->fault == CLEF_TENSOR_FAULT_MISSING;
        clef_text name = is_missing                ? finding->demand->name
                         : finding->stored == NULL ? CLEF_TEXT("")
                                                   : finding->stored->name;
        if (!clef_text_equals(name, CLEF_TEXT("lm_head.weight"))) {
            continue;
        }
        if (is_missing) {
            clef_buffer_append_string(out, "\nlm_head.weight is needed because "
                                           "tie_word_embeddings is false in config.json");
        } else if (finding->fault == CLEF_TENSOR_FAULT_UNKNOWN) {
            clef_buffer_append_string(out, "\nlm_head.weight must not be there because "
                                           "tie_word_embeddings is true in config.json");
        }
    }
}

/* Turns the findings into the error: counts, files, then lines. */
static clef_status write_error(const tensor_check *check, const char *directory,
                               const clef_weight_store *backbone, const clef_weight_store *head,
                               clef_error *error) {
    clef_buffer text = {0};
    clef_buffer_append_string(&text, "the weights do not fit the configuration: ");
    write_count(&text, check, CLEF_TENSOR_FAULT_MISSING, "missing");
    write_count(&text, check, CLEF_TENSOR_FAULT_SHAPE, "of a wrong shape");
    write_count(&text, check, CLEF_TENSOR_FAULT_TYPE, "of a wrong type");
    write_count(&text, check, CLEF_TENSOR_FAULT_SCALES, "without scales that fit");
    write_count(&text, check, CLEF_TENSOR_FAULT_UNKNOWN, "unknown");
    clef_buffer_append_format(&text, "of %zu tensors", check->demands->count);
    write_files(&text, check, backbone, head);
    clef_tensor_report_write(&text, check->findings, check->count, MESSAGE_BYTE_LIMIT);
    clef_status status = clef_buffer_check(&text, "an error message", error);
    if (status == CLEF_OK) {
        status = clef_bad_file_fail(error, directory, "%s", text.bytes);
    }
    clef_buffer_release(&text);
    return status;
}

clef_status clef_tensor_demands_check(const clef_tensor_demands *demands, const char *directory,
                                      const clef_weight_store *backbone,
                                      const clef_weight_store *head, clef_error *error) {
    tensor_check check = {.demands = demands};
    clef_status status = make_room(&check, backbone, head, error);
    if (status == CLEF_OK) {
        for (size_t i = 0; i < demands->count; i++) {
            const clef_tensor_demand *demand = &demands->items[i];
            check_demand(&check, demand, clef_tensor_demand_is_of_head(demand) ? head : backbone);
        }
        check_unknown(&check, backbone, false);
        check_unknown(&check, head, true);
        if (check.count > 0) {
            status = write_error(&check, directory, backbone, head, error);
        }
    }
    clef_release(check.by_name);
    clef_release(check.findings);
    return status;
}
