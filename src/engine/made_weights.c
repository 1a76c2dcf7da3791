/* Plan first, so that the size is known before memory is taken; then rows, each from a seed of its
 * own, so that threads cannot change a number.
 *
 * Matrices are uniform with the variance 1 / columns, which keeps activations near their size from
 * layer to layer; vectors are spread a little around the value that does nothing. */
#include "engine/made_weights.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>

/* Numbers of a tensor: uniform in [middle - spread, middle + spread]. */
typedef struct number_range {
    float middle, spread;
} number_range;

static bool ends_with(clef_text text, const char *end) {
    size_t length = strlen(end);
    return text.length >= length && memcmp(text.bytes + text.length - length, end, length) == 0;
}

static number_range choose_range(const clef_stored_tensor *tensor) {
    static const struct {
        const char *end;
        number_range range;
    } vectors[] = {
        {"linear_attn.A_log", {1.0f, 1.0f}},
        {"linear_attn.dt_bias", {0.0f, 1.0f}},
        {"linear_attn.conv1d.weight", {0.0f, 0.5f}},
        {"linear_attn.norm.weight", {1.0f, 0.1f}},
        {"bias", {0.0f, 0.02f}},
        {"layernorm.weight", {0.0f, 0.1f}}, /* the backbone's are used as 1 + weight */
        {"language_model.norm.weight", {0.0f, 0.1f}},
        {"q_norm.weight", {0.0f, 0.1f}},
        {"k_norm.weight", {0.0f, 0.1f}},
    };
    if (tensor->rank == 2) {
        return (number_range){0, sqrtf(3.0f / (float)tensor->shape[1])};
    }
    if (tensor->rank == 5) { /* the embedding of patches: a matrix whose columns have a shape */
        float columns = (float)(tensor->bytes / clef_dtype_bytes(tensor->dtype) / tensor->shape[0]);
        return (number_range){0, sqrtf(3.0f / columns)};
    }
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        if (ends_with(tensor->name, vectors[i].end)) {
            return vectors[i].range;
        }
    }
    return (number_range){1.0f, 0.1f};
}

/* ---- plan ---- */

static clef_stored_tensor *add_tensor(clef_made_weights *made, clef_text name, clef_dtype dtype,
                                      unsigned rank) {
    clef_stored_tensor *tensor = &made->tensors[made->count++];
    *tensor = (clef_stored_tensor){.name = name, .dtype = dtype, .rank = rank, .file = ""};
    return tensor;
}

static void add_bytes(clef_made_weights *made, clef_stored_tensor *tensor) {
    tensor->bytes = clef_dtype_bytes(tensor->dtype);
    for (unsigned i = 0; i < tensor->rank; i++) {
        tensor->bytes *= (size_t)tensor->shape[i];
    }
    made->bytes += (tensor->bytes + 63) / 64 * 64;
}

static bool add_scales(clef_made_weights *made, const clef_tensor_demand *demand,
                       clef_weight format) {
    char text[192];
    int length = snprintf(text, sizeof text, "%.*s" CLEF_SCALE_SUFFIX, (int)demand->name.length,
                          demand->name.bytes);
    clef_text name = clef_arena_copy(&made->arena, (clef_text){text, (size_t)length});
    clef_stored_tensor *scales = add_tensor(made, name, CLEF_DTYPE_F32, 2);
    scales->shape[0] = format.rows;
    scales->shape[1] = clef_weight_groups(format);
    add_bytes(made, scales);
    return name.bytes != NULL;
}

static bool add_demand(clef_made_weights *made, const clef_tensor_demand *demand,
                       const clef_recipe *recipe) {
    clef_weight format = recipe == NULL ? (clef_weight){0} : clef_recipe_choose(recipe, demand);
    bool is_quantised = format.group != 0;
    clef_stored_tensor *tensor =
        add_tensor(made, demand->name, is_quantised ? format.dtype : CLEF_DTYPE_BF16, demand->rank);
    for (unsigned i = 0; i < demand->rank; i++) {
        tensor->shape[i] = demand->shape[i];
    }
    if (tensor->dtype == CLEF_DTYPE_U8) {
        tensor->shape[1] /= 2; /* two values a byte */
    }
    add_bytes(made, tensor);
    return !is_quantised || add_scales(made, demand, format);
}

clef_status clef_made_weights_plan(const clef_config *config, const clef_head_config *head,
                                   const clef_recipe *recipe, clef_made_weights *made,
                                   clef_error *error) {
    *made = (clef_made_weights){0};
    clef_status status =
        clef_tensor_demands_list(config, head, &made->arena, &made->demands, error);
    if (status != CLEF_OK) {
        goto fail;
    }
    /* Each demand is at most a matrix and its scales. */
    size_t room = 2 * made->demands.count;
    made->tensors = clef_arena_allocate(&made->arena, room, sizeof *made->tensors);
    bool is_whole = made->tensors != NULL;
    for (size_t i = 0; is_whole && i < made->demands.count; i++) {
        const clef_tensor_demand *demand = &made->demands.items[i];
        is_whole = add_demand(made, demand, recipe);
        if (demand->part < CLEF_TENSOR_PART_HEAD) {
            made->backbone_count = made->count;
            made->backbone_bytes = made->bytes;
        }
    }
    if (!is_whole) {
        status = clef_fail_memory(error, room * sizeof *made->tensors, "the list of tensors");
        goto fail;
    }
    return CLEF_OK;
fail:
    clef_made_weights_release(made);
    return status;
}

/* ---- numbers ---- */

/* A step of splitmix64: short, and well spread from any seed. */
static uint64_t next_number(uint64_t *seed) {
    uint64_t z = *seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static void fill_bf16(uint64_t seed, number_range range, uint16_t *out, size_t count) {
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++) {
        bits = i % 4 == 0 ? next_number(&seed) : bits >> 16;
        float unit = (float)(int16_t)(uint16_t)bits / 32768.0f;
        out[i] = clef_bf16_of_float(range.middle + range.spread * unit);
    }
}

/* Any byte of a 4-bit matrix is two good values; of an 8-bit one all but -128 are. */
static void fill_bytes(uint64_t seed, bool is_int8, unsigned char *out, size_t count) {
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++) {
        bits = i % 8 == 0 ? next_number(&seed) : bits >> 8;
        unsigned char byte = (unsigned char)bits;
        out[i] = is_int8 && byte == 0x80 ? 0x81 : byte;
    }
}

/* Around the scale that gives the matrix its variance. */
static void fill_scales(uint64_t seed, float scale, float *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        out[i] = scale * (0.9f + 0.2f * (float)(next_number(&seed) >> 40) / 16777216.0f);
    }
}

typedef struct fill_work {
    const clef_stored_tensor *tensor;
    unsigned char *data;
    size_t rows, columns; /* as stored */
    number_range range;
    uint64_t seed;
} fill_work;

static void fill_row(void *context, size_t row, unsigned worker) {
    const fill_work *work = context;
    size_t row_bytes = work->tensor->bytes / work->rows;
    unsigned char *out = work->data + row * row_bytes;
    uint64_t seed = (work->seed << 32) + row;
    (void)worker;
    switch (work->tensor->dtype) {
    case CLEF_DTYPE_I8:
    case CLEF_DTYPE_U8:
        fill_bytes(seed, work->tensor->dtype == CLEF_DTYPE_I8, out, row_bytes);
        break;
    case CLEF_DTYPE_F32:
        fill_scales(seed, work->range.spread, (float *)(void *)out, work->columns);
        break;
    default:
        fill_bf16(seed, work->range, (uint16_t *)(void *)out, work->columns);
        break;
    }
}

/* A tensor as rows: a matrix as it is, everything else as one. */
static void fill_tensor(clef_made_weights *made, size_t index, unsigned char *data,
                        clef_thread_pool *pool) {
    clef_stored_tensor *tensor = &made->tensors[index];
    bool is_matrix = tensor->rank == 2;
    size_t rows = is_matrix ? (size_t)tensor->shape[0] : 1;
    size_t row_bytes = tensor->bytes / rows;
    fill_work work = {.tensor = tensor,
                      .data = data,
                      .rows = rows,
                      .columns = row_bytes / clef_dtype_bytes(tensor->dtype),
                      .range = choose_range(tensor),
                      .seed = index + 1};
    if (tensor->dtype == CLEF_DTYPE_F32) {
        /* Scales follow their matrix; its values reach 127 or 8. */
        const clef_stored_tensor *matrix = tensor - 1;
        bool is_int8 = matrix->dtype == CLEF_DTYPE_I8;
        size_t columns = (size_t)matrix->shape[1] * (is_int8 ? 1 : 2);
        work.range.spread = sqrtf(3.0f / (float)columns) / (is_int8 ? 127.0f : 8.0f);
    }
    clef_thread_pool_run(pool, CLEF_THREAD_LIMIT, rows, fill_row, &work);
    tensor->data = data;
}

clef_status clef_made_weights_fill(clef_made_weights *made, clef_thread_pool *pool,
                                   clef_error *error) {
    made->data = clef_allocate_aligned(made->bytes, 1);
    if (made->data == NULL) {
        return clef_fail_memory(error, made->bytes, "the weights of a shape");
    }
    unsigned char *next = made->data;
    for (size_t i = 0; i < made->count; i++) {
        fill_tensor(made, i, next, pool);
        next += (made->tensors[i].bytes + 63) / 64 * 64;
    }
    return CLEF_OK;
}

void clef_made_weights_release(clef_made_weights *made) {
    clef_release(made->data);
    clef_arena_release(&made->arena);
    *made = (clef_made_weights){0};
}
