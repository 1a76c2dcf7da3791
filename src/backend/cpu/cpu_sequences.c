/* Operations along sequences: slices and heads are shared out over threads; positions of one
 * sequence are walked in order, on the grid. */
#include "backend/cpu/cpu_backend.h"

#include <math.h>

typedef struct sequence_work {
    const clef_cpu_backend *cpu;
    clef_slices slices;
    clef_matrix x, query, key, value, g, beta, out;
    clef_heads query_heads, out_heads;
    clef_delta_shape shape;
    const float *weight;
    size_t taps;
    size_t key_heads, key_offset, value_offset;
    size_t state_offset;
    size_t parts; /* tasks a slice */
} sequence_work;

/* ---- pages ---- */

void clef_cpu_store_rows(clef_backend *backend, clef_slices slices, clef_matrix x, size_t offset) {
    (void)backend;
    for (size_t s = 0; s < slices.count; s++) {
        const clef_slice *slice = &slices.items[s];
        for (size_t i = 0; i < slice->count; i++) {
            size_t position = slice->position + i;
            float *page = slice->pages[position / CLEF_GRID];
            memcpy(page + offset + position % CLEF_GRID * x.columns,
                   x.data + (slice->row + i) * x.stride, x.columns * sizeof(float));
        }
    }
}

void clef_cpu_load_rows(clef_backend *backend, float *const *pages, size_t first, size_t offset,
                        clef_matrix out) {
    (void)backend;
    for (size_t row = 0; row < out.rows; row++) {
        size_t position = first + row;
        memcpy(out.data + row * out.stride,
               pages[position / CLEF_GRID] + offset + position % CLEF_GRID * out.columns,
               out.columns * sizeof(float));
    }
}

/* ---- attention ---- */

/* Heads of `heads` that share key head `key_head` of `key_heads`, rows [row, row + rows). */
static clef_heads group_of(clef_heads heads, size_t row, size_t rows, size_t key_head,
                           size_t key_heads) {
    size_t group = heads.heads / key_heads;
    heads.data += row * heads.row_stride + key_head * group * heads.head_stride;
    heads.rows = rows;
    heads.heads = group;
    return heads;
}

/* One tile of at most CLEF_GRID rows of one slice for one key head, over all its key blocks. */
static void attend_tile(const sequence_work *work, const clef_slice *slice, size_t first,
                        size_t key_head, float *scratch) {
    size_t left = slice->count - first;
    size_t rows = left < CLEF_GRID ? left : CLEF_GRID;
    size_t position = slice->position + first;
    clef_heads query =
        group_of(work->query_heads, slice->row + first, rows, key_head, work->key_heads);
    clef_heads total =
        group_of(work->out_heads, slice->row + first, rows, key_head, work->key_heads);
    clef_attention_state state = {
        .maximum = scratch, .sum = scratch + CLEF_GRID * query.heads, .total = total};
    float *kernel_scratch = state.sum + CLEF_GRID * query.heads;
    clef_attention_block block = {
        .query = query.data,
        .query_row_stride = query.row_stride,
        .query_head_stride = query.head_stride,
        .rows = rows,
        .heads = query.heads,
        .key_stride = work->key_heads * query.size,
        .keys = CLEF_GRID,
        .size = query.size,
        .visible_step = 1,
        .scale = 1.0f / sqrtf((float)query.size),
        .maximum = state.maximum,
        .sum = state.sum,
        .state_stride = query.heads,
        .total = total.data,
        .total_row_stride = total.row_stride,
        .total_head_stride = total.head_stride,
    };
    clef_attention_begin(state);
    for (size_t page = 0; page * CLEF_GRID < position + rows; page++) {
        const float *data = slice->pages[page] + key_head * query.size;
        block.key = data + work->key_offset;
        block.value = data + work->value_offset;
        block.visible = (ptrdiff_t)position + 1 - (ptrdiff_t)(page * CLEF_GRID);
        work->cpu->kernels.attention_block(&block, kernel_scratch);
    }
    clef_attention_end(state, total);
}

/* Tasks: for every slice, its tiles times the key heads. Late tiles see more keys, so they go
 * first. */
static void attend_task(void *context, size_t task, unsigned worker) {
    const sequence_work *work = context;
    size_t s = work->slices.count;
    while (s-- > 0) {
        const clef_slice *slice = &work->slices.items[s];
        size_t tiles = (slice->count + CLEF_GRID - 1) / CLEF_GRID;
        if (task < tiles * work->key_heads) {
            size_t tile = tiles - 1 - task / work->key_heads;
            attend_tile(work, slice, tile * CLEF_GRID, task % work->key_heads,
                        clef_cpu_scratch(work->cpu, worker));
            return;
        }
        task -= tiles * work->key_heads;
    }
}

void clef_cpu_attention(clef_backend *backend, clef_slices slices, clef_heads query,
                        size_t key_heads, size_t key_offset, size_t value_offset, clef_heads out) {
    sequence_work work = {.cpu = (const clef_cpu_backend *)backend,
                          .slices = slices,
                          .query_heads = query,
                          .out_heads = out,
                          .key_heads = key_heads,
                          .key_offset = key_offset,
                          .value_offset = value_offset};
    size_t tasks = 0;
    size_t keys = 0;
    for (size_t s = 0; s < slices.count; s++) {
        tasks += (slices.items[s].count + CLEF_GRID - 1) / CLEF_GRID * key_heads;
        keys += slices.items[s].position + slices.items[s].count;
    }
    size_t cost = slices.count == 0 ? 0 : CLEF_GRID * query.size * keys / slices.count / 2;
    clef_cpu_for(backend, tasks, cost, attend_task, &work);
}

/* ---- short convolution ---- */

#define CHANNELS_PER_TASK 256

static void convolve_task(void *context, size_t task, unsigned worker) {
    const sequence_work *work = context;
    (void)worker;
    const clef_slice *slice = &work->slices.items[task / work->parts];
    size_t begin = task % work->parts * CHANNELS_PER_TASK;
    size_t left = work->x.columns - begin;
    clef_short_convolution part = {
        .x = clef_matrix_rows(work->x, slice->row, slice->count),
        .weight = work->weight,
        .taps = work->taps,
        .tail = slice->fixed + work->state_offset,
        .out = clef_matrix_rows(work->out, slice->row, slice->count),
    };
    work->cpu->kernels.short_convolution(
        &part, begin, begin + (left < CHANNELS_PER_TASK ? left : CHANNELS_PER_TASK));
}

void clef_cpu_short_convolution(clef_backend *backend, clef_slices slices, clef_matrix x,
                                const float *weight, size_t taps, size_t tail_offset,
                                clef_matrix out) {
    sequence_work work = {.cpu = (const clef_cpu_backend *)backend,
                          .slices = slices,
                          .x = x,
                          .out = out,
                          .weight = weight,
                          .taps = taps,
                          .state_offset = tail_offset,
                          .parts = (x.columns + CHANNELS_PER_TASK - 1) / CHANNELS_PER_TASK};
    size_t rows = slices.count == 0 ? 0 : x.rows / slices.count;
    clef_cpu_for(backend, slices.count * work.parts, CHANNELS_PER_TASK * rows * (taps + 4),
                 convolve_task, &work);
}

/* ---- delta rule ---- */

/* One value head of one slice: its chunks in order. */
static void delta_task(void *context, size_t task, unsigned worker) {
    const sequence_work *work = context;
    const clef_slice *slice = &work->slices.items[task / work->shape.value_heads];
    size_t head = task % work->shape.value_heads;
    size_t key_head = head / (work->shape.value_heads / work->shape.key_heads);
    size_t key_size = work->shape.key_size;
    size_t value_size = work->shape.value_size;
    float *scratch = clef_cpu_scratch(work->cpu, worker);
    for (size_t first = 0; first < slice->count; first += CLEF_GRID) {
        size_t row = slice->row + first;
        size_t left = slice->count - first;
        clef_delta_head part = {
            .query = work->query.data + row * work->query.stride + key_head * key_size,
            .key = work->key.data + row * work->key.stride + key_head * key_size,
            .key_stride = work->key.stride,
            .value = work->value.data + row * work->value.stride + head * value_size,
            .value_stride = work->value.stride,
            .g = work->g.data + row * work->g.stride + head,
            .beta = work->beta.data + row * work->beta.stride + head,
            .gate_stride = work->g.stride,
            .state = slice->fixed + work->state_offset + head * key_size * value_size,
            .out = work->out.data + row * work->out.stride + head * value_size,
            .out_stride = work->out.stride,
            .rows = left < CLEF_GRID ? left : CLEF_GRID,
            .key_size = key_size,
            .value_size = value_size,
        };
        if (slice->position % CLEF_GRID == 0) {
            work->cpu->kernels.delta_chunk(&part, scratch);
        } else {
            work->cpu->kernels.delta_step(&part, scratch);
        }
    }
}

void clef_cpu_delta_rule(clef_backend *backend, clef_slices slices, clef_delta_shape shape,
                         clef_matrix query, clef_matrix key, clef_matrix value, clef_matrix g,
                         clef_matrix beta, size_t state_offset, clef_matrix out) {
    sequence_work work = {.cpu = (const clef_cpu_backend *)backend,
                          .slices = slices,
                          .shape = shape,
                          .query = query,
                          .key = key,
                          .value = value,
                          .g = g,
                          .beta = beta,
                          .state_offset = state_offset,
                          .out = out};
    size_t rows = slices.count == 0 ? 0 : query.rows / slices.count;
    size_t cost = rows * CLEF_GRID * (shape.key_size + shape.value_size) / 2;
    clef_cpu_for(backend, slices.count * shape.value_heads, cost, delta_task, &work);
}
