/* Files keep the order of the layers, so that a step reads them from front to back. Inside a layer
 * parts of large elements come first: every part then begins on a multiple of its element, as the
 * sizes of all matrices of 8 and 4 bits in use are multiples of 64. */
#include "engine/quantize_plan.h"

#include "weights/bad_file.h"
#include "weights/safetensors_writer.h"
#include "weights/weight_files.h"

#include <stdio.h>
#include <stdlib.h>

/* A part on its way to its place. */
typedef struct loose_part {
    clef_header_tensor tensor;
    size_t item;
    bool is_scales;
    uint32_t place; /* of its layer */
    size_t order;   /* where nothing else decides */
} loose_part;

typedef struct planner {
    clef_quantize_plan *plan;
    const clef_model *model;
    const clef_recipe *recipe;
    clef_tensor_demands demands;
    const clef_tensor_demand **by_name; /* [demands.count] */
    loose_part *parts;                  /* [room for all] */
    clef_error *error;
} planner;

static void *allocate(planner *work, size_t count, size_t size, clef_status *status) {
    void *block = clef_arena_allocate(&work->plan->arena, count, size);
    if (block == NULL) {
        *status = clef_fail_memory(work->error, count * size, "the plan of the new weights");
    }
    return block;
}

/* ---- items ---- */

static int compare_demands(const void *left, const void *right) {
    const clef_tensor_demand *const *a = left;
    const clef_tensor_demand *const *b = right;
    return clef_text_compare((*a)->name, (*b)->name);
}

/* NULL for a tensor that the model does not use (layers of multi-token prediction). */
static const clef_tensor_demand *find_demand(const planner *work, clef_text name) {
    clef_tensor_demand wanted = {.name = name};
    const clef_tensor_demand *key = &wanted;
    const clef_tensor_demand **found =
        bsearch(&key, work->by_name, work->demands.count, sizeof key, compare_demands);
    return found == NULL ? NULL : *found;
}

static uint32_t place_of(const planner *work, const clef_tensor_demand *demand) {
    uint32_t layers = work->model->network.config.layer_count;
    if (demand == NULL) {
        return layers + 2;
    }
    switch (demand->part) {
    case CLEF_TENSOR_PART_TEXT:
        return 0;
    case CLEF_TENSOR_PART_LAYER:
        return (uint32_t)demand->layer + 1;
    default:
        return layers + 1;
    }
}

static loose_part *add_part(planner *work, size_t item, uint32_t place) {
    loose_part *part = &work->parts[work->plan->part_count];
    part->item = item;
    part->place = place;
    part->order = work->plan->part_count++;
    return part;
}

static void add_kept(planner *work, size_t item, uint32_t place) {
    const clef_stored_tensor *source = work->plan->items[item].source;
    clef_header_tensor *tensor = &add_part(work, item, place)->tensor;
    tensor->name = source->name;
    tensor->dtype = source->dtype;
    tensor->rank = source->rank;
    memcpy(tensor->shape, source->shape, sizeof tensor->shape);
}

static clef_status add_quantised(planner *work, size_t item, uint32_t place) {
    const clef_quantize_item *from = &work->plan->items[item];
    clef_status status = CLEF_OK;
    clef_text name = from->source->name;
    size_t suffix = sizeof CLEF_SCALE_SUFFIX;
    char *scale_name = allocate(work, name.length + suffix, 1, &status);
    if (status != CLEF_OK) {
        return status;
    }
    memcpy(scale_name, name.bytes, name.length);
    memcpy(scale_name + name.length, CLEF_SCALE_SUFFIX, suffix);
    loose_part *values = add_part(work, item, place);
    values->tensor = (clef_header_tensor){
        .name = name,
        .dtype = from->format.dtype,
        .rank = 2,
        .shape = {from->format.rows, clef_weight_row_bytes(from->format)},
    };
    loose_part *scales = add_part(work, item, place);
    scales->is_scales = true;
    scales->tensor = (clef_header_tensor){
        .name = {scale_name, name.length + suffix - 1},
        .dtype = CLEF_DTYPE_F32,
        .rank = 2,
        .shape = {from->format.rows, clef_weight_groups(from->format)},
    };
    return CLEF_OK;
}

static clef_status add_item(planner *work, const clef_stored_tensor *source) {
    clef_quantize_plan *plan = work->plan;
    const clef_tensor_demand *demand = find_demand(work, source->name);
    if (demand != NULL && (source->dtype == CLEF_DTYPE_I8 || source->dtype == CLEF_DTYPE_U8)) {
        return clef_bad_file_fail(work->error, source->file,
                                  "the model is quantised already: %.*s is %s; quantise the model "
                                  "it was made from",
                                  (int)demand->name.length, demand->name.bytes,
                                  clef_dtype_name(source->dtype));
    }
    size_t item = plan->item_count++;
    plan->items[item].source = source;
    plan->source_bytes += source->bytes;
    uint32_t place = place_of(work, demand);
    if (demand != NULL) {
        plan->items[item].format = clef_recipe_choose(work->recipe, demand);
    }
    if (plan->items[item].format.group == 0) {
        add_kept(work, item, place);
        return CLEF_OK;
    }
    plan->items[item].input = clef_layer_input_of(demand);
    plan->items[item].layer = demand->layer < 0 ? 0 : (uint32_t)demand->layer;
    size_t columns = plan->items[item].format.columns;
    plan->widest = columns > plan->widest ? columns : plan->widest;
    return add_quantised(work, item, place);
}

static clef_status add_items(planner *work) {
    const clef_weight_store *store = work->model->backbone_store;
    clef_status status = CLEF_OK;
    size_t count = clef_weight_store_count(store);
    work->by_name = allocate(work, work->demands.count, sizeof *work->by_name, &status);
    work->plan->items = allocate(work, count, sizeof *work->plan->items, &status);
    work->parts = allocate(work, 2 * count, sizeof *work->parts, &status);
    if (status != CLEF_OK) {
        return status;
    }
    for (size_t i = 0; i < work->demands.count; i++) {
        work->by_name[i] = &work->demands.items[i];
    }
    qsort(work->by_name, work->demands.count, sizeof *work->by_name, compare_demands);
    for (size_t i = 0; i < count && status == CLEF_OK; i++) {
        status = add_item(work, clef_weight_store_at(store, i));
    }
    if (status == CLEF_OK && work->plan->widest == 0) {
        status = clef_fail(work->error, CLEF_USAGE, "the recipe quantises no matrix at all");
    }
    return status;
}

/* ---- places ---- */

static int compare_parts(const void *left, const void *right) {
    const loose_part *a = left;
    const loose_part *b = right;
    if (a->place != b->place) {
        return a->place < b->place ? -1 : 1;
    }
    size_t a_bytes = clef_dtype_bytes(a->tensor.dtype);
    size_t b_bytes = clef_dtype_bytes(b->tensor.dtype);
    if (a_bytes != b_bytes) {
        return a_bytes > b_bytes ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Starts a new file at every part that would make the one before it too large. */
static size_t split_files(clef_quantize_plan *plan, uint64_t file_bytes) {
    uint64_t used = 0;
    size_t file = 0;
    for (size_t i = 0; i < plan->part_count; i++) {
        uint64_t bytes = plan->parts[i].end - plan->parts[i].begin;
        if (used > 0 && (bytes > file_bytes || used > file_bytes - bytes)) {
            file++;
            used = 0;
        }
        plan->part_files[i] = file;
        used += bytes;
    }
    return file + 1;
}

static clef_status make_files(planner *work, size_t count) {
    clef_quantize_plan *plan = work->plan;
    clef_status status = CLEF_OK;
    plan->files = allocate(work, count, sizeof *plan->files, &status);
    plan->file_names = allocate(work, count, sizeof *plan->file_names, &status);
    for (size_t i = 0; i < count && status == CLEF_OK; i++) {
        char name[64] = CLEF_WEIGHTS_FILE;
        if (count > 1) {
            snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", i + 1, count);
        }
        clef_text copy = clef_arena_copy(&plan->arena, clef_text_of(name));
        if (copy.bytes == NULL) {
            status = clef_fail_memory(work->error, sizeof name, "the name of a file");
        }
        plan->files[i].name = plan->file_names[i] = copy.bytes;
    }
    if (status != CLEF_OK) {
        return status;
    }
    plan->file_count = count;
    for (size_t i = plan->part_count; i-- > 0;) {
        plan->files[plan->part_files[i]].first = i;
        plan->files[plan->part_files[i]].count++;
    }
    for (size_t i = 0; i < count; i++) {
        clef_safetensors_layout(plan->parts + plan->files[i].first, plan->files[i].count);
    }
    return CLEF_OK;
}

static clef_status place_parts(planner *work, uint64_t file_bytes) {
    clef_quantize_plan *plan = work->plan;
    clef_status status = CLEF_OK;
    plan->parts = allocate(work, plan->part_count, sizeof *plan->parts, &status);
    plan->part_files = allocate(work, plan->part_count, sizeof *plan->part_files, &status);
    if (status != CLEF_OK) {
        return status;
    }
    qsort(work->parts, plan->part_count, sizeof *work->parts, compare_parts);
    for (size_t i = 0; i < plan->part_count; i++) {
        const loose_part *part = &work->parts[i];
        plan->parts[i] = part->tensor;
        if (part->is_scales) {
            plan->items[part->item].scales = i;
        } else {
            plan->items[part->item].values = i;
        }
    }
    clef_safetensors_layout(plan->parts, plan->part_count);
    return make_files(work, split_files(plan, file_bytes));
}

/* Items follow their parts, so that files are written from front to back. */
static int compare_items(const void *left, const void *right) {
    const clef_quantize_item *a = left;
    const clef_quantize_item *b = right;
    return a->values < b->values ? -1 : a->values > b->values;
}

clef_status clef_quantize_plan_make(const clef_model *model, const clef_recipe *recipe,
                                    uint64_t file_bytes, clef_quantize_plan *plan,
                                    clef_error *error) {
    *plan = (clef_quantize_plan){0};
    planner work = {.plan = plan, .model = model, .recipe = recipe, .error = error};
    clef_status status =
        clef_tensor_demands_list(&model->network.config, NULL, &plan->arena, &work.demands, error);
    if (status == CLEF_OK) {
        status = clef_recipe_check(recipe, &work.demands, error);
    }
    if (status == CLEF_OK) {
        status = add_items(&work);
    }
    if (status == CLEF_OK) {
        status = place_parts(&work, file_bytes);
    }
    if (status != CLEF_OK) {
        clef_quantize_plan_release(plan);
        return status;
    }
    qsort(plan->items, plan->item_count, sizeof *plan->items, compare_items);
    return CLEF_OK;
}

void clef_quantize_plan_release(clef_quantize_plan *plan) {
    clef_arena_release(&plan->arena);
    *plan = (clef_quantize_plan){0};
}
