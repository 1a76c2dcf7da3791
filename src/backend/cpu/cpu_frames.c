/* Attention inside the frames of pictures over threads: tiles of queries times heads. */
#include "backend/cpu/cpu_backend.h"

#include <math.h>

typedef struct frame_work {
    const clef_cpu_backend *cpu;
    const clef_frame_part *parts;
    clef_heads query, key, value, out;
    float scale;
} frame_work;

static size_t count_tiles(const clef_frame_part *part) {
    return (part->count + CLEF_FRAME_QUERIES - 1) / CLEF_FRAME_QUERIES;
}

/* One tile of queries of one part for one head. */
static void attend_tile(const frame_work *work, const clef_frame_part *part, size_t tile,
                        size_t head, float *scratch) {
    size_t first = tile * CLEF_FRAME_QUERIES;
    size_t left = part->count - first;
    size_t row = part->row + first;
    size_t key = part->key * work->key.row_stride + head * work->key.head_stride;
    clef_frame_attention frame = {
        .query = work->query.data + row * work->query.row_stride + head * work->query.head_stride,
        .query_stride = work->query.row_stride,
        .rows = left < CLEF_FRAME_QUERIES ? left : CLEF_FRAME_QUERIES,
        .key = work->key.data + key,
        .value = work->value.data + key,
        .key_stride = work->key.row_stride,
        .keys = part->key_count,
        .size = work->query.size,
        .scale = work->scale,
        .out = work->out.data + row * work->out.row_stride + head * work->out.head_stride,
        .out_stride = work->out.row_stride,
    };
    work->cpu->kernels.frame_attention(&frame, scratch);
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
    attend_tile(work, part, task % tiles, task / tiles, clef_cpu_scratch(work->cpu, worker));
}

void clef_cpu_attend_frames(clef_backend *backend, const clef_frame_part *parts, size_t count,
                            clef_heads query, clef_heads key, clef_heads value, clef_heads out) {
    frame_work work = {.cpu = (const clef_cpu_backend *)backend,
                       .parts = parts,
                       .query = query,
                       .key = key,
                       .value = value,
                       .out = out,
                       .scale = 1.0f / sqrtf((float)query.size)};
    size_t tasks = 0;
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++) {
        tasks += count_tiles(&parts[i]) * query.heads;
        pairs += parts[i].count * parts[i].key_count;
    }
    /* A vector instruction does several multiply-adds: count four as one operation. */
    size_t cost = tasks == 0 ? 0 : pairs * query.heads / tasks * query.size / 4;
    clef_cpu_for(backend, tasks, cost, attend_task, &work);
}
