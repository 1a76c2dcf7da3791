/* Attention inside the frames of pictures over threads: tiles of queries times heads. */
#include "backend/cpu/cpu_backend.h"

#include <math.h>

typedef struct frame_work {
    const clef_cpu_backend *cpu;
    const clef_frame_part *parts;
    clef_heads query, key, value, out;
    clef_rounded_frames rounded; /* in place of key and value */
    float scale;
    /* One tile of queries of one part for one head. */
    void (*attend)(const struct frame_work *work, const clef_frame_part *part, size_t tile,
                   size_t head, float *scratch);
} frame_work;

static size_t count_tiles(const clef_frame_part *part) {
    return (part->count + CLEF_FRAME_QUERIES - 1) / CLEF_FRAME_QUERIES;
}

static size_t tile_rows(const clef_frame_part *part, size_t tile) {
    size_t left = part->count - tile * CLEF_FRAME_QUERIES;
    return left < CLEF_FRAME_QUERIES ? left : CLEF_FRAME_QUERIES;
}

static float *head_of(clef_heads heads, size_t row, size_t head) {
    return heads.data + row * heads.row_stride + head * heads.head_stride;
}

static void attend_tile(const frame_work *work, const clef_frame_part *part, size_t tile,
                        size_t head, float *scratch) {
    size_t row = part->row + tile * CLEF_FRAME_QUERIES;
    clef_frame_attention frame = {
        .query = head_of(work->query, row, head),
        .query_stride = work->query.row_stride,
        .rows = tile_rows(part, tile),
        .key = head_of(work->key, part->key, head),
        .value = head_of(work->value, part->key, head),
        .key_stride = work->key.row_stride,
        .keys = part->key_count,
        .size = work->query.size,
        .scale = work->scale,
        .out = head_of(work->out, row, head),
        .out_stride = work->out.row_stride,
    };
    work->cpu->kernels.frame_attention(&frame, scratch);
}

static void attend_rounded_tile(const frame_work *work, const clef_frame_part *part, size_t tile,
                                size_t head, float *scratch) {
    size_t row = part->row + tile * CLEF_FRAME_QUERIES;
    /* An even row begins a pair, so that its values begin where its key would. */
    size_t key = (head * work->rounded.rows + part->key) * work->rounded.size;
    clef_frame_attention_bf16 frame = {
        .query = head_of(work->query, row, head),
        .query_stride = work->query.row_stride,
        .rows = tile_rows(part, tile),
        .key = work->rounded.keys + key,
        .value = work->rounded.values + key,
        .keys = part->key_count,
        .size = work->query.size,
        .scale = work->scale,
        .out = head_of(work->out, row, head),
        .out_stride = work->out.row_stride,
    };
    work->cpu->kernels.frame_attention_bf16(&frame, scratch);
}

/* Tasks: for every part, its heads times its tiles. Tiles of one head follow each other, since they
 * read the same keys. */
static void attend_task(void *context, size_t task, unsigned worker) {
    const frame_work *work = context;
    const clef_frame_part *part = work->parts;
    size_t heads = work->query.heads;
    while (task >= count_tiles(part) * heads) {
        task -= count_tiles(part) * heads;
        part++;
    }
    size_t tiles = count_tiles(part);
    work->attend(work, part, task % tiles, task / tiles, clef_cpu_scratch(work->cpu, worker));
}

static void attend_parts(clef_backend *backend, frame_work *work, size_t count) {
    size_t heads = work->query.heads;
    size_t tasks = 0;
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++) {
        tasks += count_tiles(&work->parts[i]) * heads;
        pairs += work->parts[i].count * work->parts[i].key_count;
    }
    work->cpu = (const clef_cpu_backend *)backend;
    work->scale = 1.0f / sqrtf((float)work->query.size);
    /* A vector instruction does several multiply-adds: count four as one operation. */
    size_t cost = tasks == 0 ? 0 : pairs * heads / tasks * work->query.size / 4;
    clef_cpu_for(backend, tasks, cost, attend_task, work);
}

void clef_cpu_attend_frames(clef_backend *backend, const clef_frame_part *parts, size_t count,
                            clef_heads query, clef_heads key, clef_heads value, clef_heads out) {
    frame_work work = {.parts = parts,
                       .query = query,
                       .key = key,
                       .value = value,
                       .out = out,
                       .attend = attend_tile};
    attend_parts(backend, &work, count);
}

void clef_cpu_attend_rounded_frames(clef_backend *backend, const clef_frame_part *parts,
                                    size_t count, clef_heads query, clef_rounded_frames frames,
                                    clef_heads out) {
    frame_work work = {.parts = parts,
                       .query = query,
                       .rounded = frames,
                       .out = out,
                       .attend = attend_rounded_tile};
    attend_parts(backend, &work, count);
}

/* ---- rounding ---- */

#define PAIRS_PER_TASK 4

typedef struct round_work {
    clef_round_frame_pair_kernel *round;
    clef_heads key, value;
    size_t first;
    clef_rounded_frames frames;
} round_work;

static void round_pair(const round_work *work, size_t row) {
    const clef_rounded_frames *frames = &work->frames;
    bool has_second = row + 1 < work->key.rows;
    for (size_t head = 0; head < frames->heads; head++) {
        size_t at = (head * frames->rows + work->first + row) * frames->size;
        work->round(&(clef_frame_pair){
            .key = {head_of(work->key, row, head),
                    has_second ? head_of(work->key, row + 1, head) : NULL},
            .value = {head_of(work->value, row, head),
                      has_second ? head_of(work->value, row + 1, head) : NULL},
            .size = frames->size,
            .rounded_key = frames->keys + at,
            .rounded_value = frames->values + at,
        });
    }
}

static void round_task(void *context, size_t task, unsigned worker) {
    const round_work *work = context;
    (void)worker;
    size_t end = (task + 1) * 2 * PAIRS_PER_TASK;
    for (size_t row = task * 2 * PAIRS_PER_TASK; row < end && row < work->key.rows; row += 2) {
        round_pair(work, row);
    }
}

void clef_cpu_round_frames(clef_backend *backend, clef_heads key, clef_heads value, size_t first,
                           clef_rounded_frames frames) {
    round_work work = {.round = ((const clef_cpu_backend *)backend)->kernels.round_frame_pair,
                       .key = key,
                       .value = value,
                       .first = first,
                       .frames = frames};
    size_t rows = (size_t)2 * PAIRS_PER_TASK;
    clef_cpu_for(backend, (key.rows + rows - 1) / rows, rows * 2 * key.heads * key.size, round_task,
                 &work);
}
