/* Layers are used in turn, over and over: when they do not all fit, dropping the page that was not
 * used for longest, as systems do, drops exactly what is needed next, and every step reads the
 * whole file. Keeping the first layers and giving the others back reads only those.
 *
 * The last part, behind the layers, is the joint head: small, and never given back. */
#include "engine/weight_pages.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/system_memory.h"
#include "base/thread_pool.h"

/* Less than this read from disks in a step is not the weights. */
#define NOTICED_BYTES ((uint64_t)16 << 20)

/* What one task asks for. */
#define PIECE_BYTES ((size_t)4 << 20)

/* Matrices closer together are one range: vectors lie between them. */
#define LARGEST_GAP ((size_t)256 << 10)

/* Matrices of a layer: four or five of the mixer, each with scales, and three of the MLP. */
enum { LAYER_RANGES = 16, HEAD_RANGES = 16, HEAD_LAYER_RANGES = 6 };

typedef struct page_range {
    const clef_file *file;
    const char *begin;
    size_t length;
} page_range;

static size_t count_pieces(const page_range *range) {
    return (range->length + PIECE_BYTES - 1) / PIECE_BYTES;
}

typedef struct weight_part {
    page_range *ranges; /* [range_count], in the arena */
    size_t range_count;
    size_t piece_count;
} weight_part;

struct clef_weight_pages {
    clef_layer_watch watch;
    clef_arena arena;
    clef_thread_pool *pool;
    weight_part *parts;    /* [layer_count + 1] */
    uint64_t *layer_bytes; /* [layer_count] */
    size_t layer_count;
    uint64_t head_bytes;
    /* Of the step: */
    bool has_begun, is_fetching;
    size_t kept_count;   /* layers that stay */
    uint64_t bytes_read; /* by the process when the step began */
};

/* ---- advice ---- */

/* Asks for piece number `task` of a part. */
static void fetch_piece(void *context, size_t task, unsigned worker) {
    const weight_part *part = context;
    const page_range *range = part->ranges;
    (void)worker;
    for (size_t pieces; task >= (pieces = count_pieces(range)); range++) {
        task -= pieces;
    }
    size_t at = task * PIECE_BYTES;
    size_t left = range->length - at;
    clef_file_prefetch(range->begin + at, left < PIECE_BYTES ? left : PIECE_BYTES);
}

static void fetch(const clef_weight_pages *pages, size_t part) {
    clef_thread_pool_run(pages->pool, CLEF_THREAD_LIMIT, pages->parts[part].piece_count,
                         fetch_piece, &pages->parts[part]);
}

/* Whole ranges at once: pages that hang together across two pieces would stay. */
static void let_go(const clef_weight_pages *pages, size_t part) {
    for (size_t i = 0; i < pages->parts[part].range_count; i++) {
        const page_range *range = &pages->parts[part].ranges[i];
        clef_file_let_go(range->file, range->begin, range->length);
    }
}

static void begin_layer(void *context, size_t layer) {
    const clef_weight_pages *pages = context;
    if (pages->is_fetching && layer == 0) {
        fetch(pages, 0);
    }
    if (pages->is_fetching && layer < pages->layer_count) {
        fetch(pages, layer + 1);
    }
    if (layer > pages->kept_count) {
        let_go(pages, layer - 1);
    }
}

size_t clef_weight_pages_keep(const uint64_t *layer_bytes, size_t layer_count, uint64_t other_bytes,
                              uint64_t room, bool *can_fetch) {
    uint64_t total = other_bytes;
    uint64_t largest = 0;
    for (size_t i = 0; i < layer_count; i++) {
        total += layer_bytes[i];
        largest = layer_bytes[i] > largest ? layer_bytes[i] : largest;
    }
    uint64_t used = other_bytes + 2 * largest;
    *can_fetch = room >= used;
    if (room >= total) {
        return layer_count;
    }
    size_t kept = 0;
    while (kept < layer_count && used + layer_bytes[kept] <= room) {
        used += layer_bytes[kept++];
    }
    return kept;
}

const clef_layer_watch *clef_weight_pages_plan(clef_weight_pages *pages, uint64_t room) {
    pages->kept_count = clef_weight_pages_keep(pages->layer_bytes, pages->layer_count,
                                               pages->head_bytes, room, &pages->is_fetching);
    return &pages->watch;
}

const clef_layer_watch *clef_weight_pages_begin(clef_weight_pages *pages) {
    if (pages == NULL) {
        return NULL;
    }
    uint64_t before = pages->bytes_read;
    pages->bytes_read = clef_system_bytes_read();
    /* The first step does not know what is in memory; asking for what is there costs little. */
    bool is_first = !pages->has_begun;
    pages->has_begun = true;
    if (!is_first && pages->bytes_read - before < NOTICED_BYTES) {
        return NULL;
    }
    /* Other pages of files, of this program and others, need room as well. */
    uint64_t room = clef_system_memory_for_files();
    return clef_weight_pages_plan(pages, room - room / 8);
}

/* ---- ranges ---- */

typedef struct range_list {
    const clef_model *model;
    page_range *items; /* with room for all */
    size_t count;
} range_list;

/* Adds bytes that lie in a mapped file. */
static void add_bytes(range_list *list, const void *bytes, size_t length) {
    const clef_model *model = list->model;
    const clef_file *file = clef_weight_store_find_file(model->backbone_store, bytes);
    if (file == NULL && model->head_store != NULL) {
        file = clef_weight_store_find_file(model->head_store, bytes);
    }
    if (file != NULL && length > 0) {
        list->items[list->count++] = (page_range){file, bytes, length};
    }
}

static void add_weight(range_list *list, clef_weight weight) {
    add_bytes(list, weight.data, weight.rows * clef_weight_row_bytes(weight));
    if (weight.scales != NULL) {
        add_bytes(list, weight.scales,
                  weight.rows * clef_weight_groups(weight) * sizeof *weight.scales);
    }
}

static void add_layer(range_list *list, const clef_layer_weights *layer) {
    const clef_weight weights[] = {
        layer->attention.query,
        layer->attention.key,
        layer->attention.value,
        layer->attention.out,
        layer->delta.qkv,
        layer->delta.z,
        layer->delta.b,
        layer->delta.a,
        layer->delta.out,
        layer->gate,
        layer->up,
        layer->down,
    };
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        add_weight(list, weights[i]);
    }
}

static void add_head(range_list *list, const clef_network *network) {
    const clef_head_weights *head = &network->head;
    const clef_weight weights[] = {
        head->memory,         head->question,       head->option_question,      head->global,
        head->option_context, head->option_lexical, head->scorer_expand.weight,
    };
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        add_weight(list, weights[i]);
    }
    for (uint32_t i = 0; i < network->head_config.evidence_layer_count; i++) {
        const clef_evidence_layer_weights *layer = &head->evidence[i];
        add_weight(list, layer->attention.in.weight);
        add_weight(list, layer->attention.out.weight);
        add_weight(list, layer->expand.weight);
        add_weight(list, layer->contract.weight);
    }
    for (uint32_t i = 0; i < network->head_config.decoder_layer_count; i++) {
        const clef_decoder_layer_weights *layer = &head->decoder[i];
        add_weight(list, layer->self_attention.in.weight);
        add_weight(list, layer->self_attention.out.weight);
        add_weight(list, layer->memory_attention.in.weight);
        add_weight(list, layer->memory_attention.out.weight);
        add_weight(list, layer->expand.weight);
        add_weight(list, layer->contract.weight);
    }
}

/* Ascending by address; there are a few dozen at most. */
static void sort_ranges(page_range *ranges, size_t count) {
    for (size_t i = 1; i < count; i++) {
        page_range moved = ranges[i];
        size_t at = i;
        for (; at > 0 && ranges[at - 1].begin > moved.begin; at--) {
            ranges[at] = ranges[at - 1];
        }
        ranges[at] = moved;
    }
}

/* Joins neighbours and counts. Returns the bytes of the part. */
static uint64_t finish_part(weight_part *part, range_list list) {
    uint64_t bytes = 0;
    sort_ranges(list.items, list.count);
    part->ranges = list.items;
    for (size_t i = 0; i < list.count; i++) {
        page_range *last = part->range_count == 0 ? NULL : &part->ranges[part->range_count - 1];
        const char *end = list.items[i].begin + list.items[i].length;
        if (last != NULL && list.items[i].file == last->file &&
            list.items[i].begin <= last->begin + last->length + LARGEST_GAP) {
            last->length = (size_t)(end - last->begin);
        } else {
            part->ranges[part->range_count++] = list.items[i];
        }
    }
    for (size_t i = 0; i < part->range_count; i++) {
        part->piece_count += count_pieces(&part->ranges[i]);
        bytes += part->ranges[i].length;
    }
    return bytes;
}

static bool list_parts(clef_weight_pages *pages, const clef_model *model) {
    const clef_network *network = &model->network;
    const clef_head_config *head = &network->head_config;
    size_t head_room = HEAD_RANGES + HEAD_LAYER_RANGES * ((size_t)head->evidence_layer_count +
                                                          head->decoder_layer_count);
    for (size_t i = 0; i <= pages->layer_count; i++) {
        bool is_head = i == pages->layer_count;
        range_list list = {.model = model};
        list.items = clef_arena_allocate(&pages->arena, is_head ? head_room : LAYER_RANGES,
                                         sizeof *list.items);
        if (list.items == NULL) {
            return false;
        }
        if (!is_head) {
            add_layer(&list, &network->layers[i]);
            pages->layer_bytes[i] = finish_part(&pages->parts[i], list);
        } else if (network->has_head) {
            add_head(&list, network);
            pages->head_bytes = finish_part(&pages->parts[i], list);
        }
    }
    return true;
}

clef_status clef_weight_pages_create(const clef_model *model, size_t layer_count,
                                     clef_weight_pages **out, clef_error *error) {
    *out = NULL;
    if (model->made.data != NULL) {
        return CLEF_OK;
    }
    clef_weight_pages *pages = clef_allocate(1, sizeof *pages);
    if (pages == NULL) {
        return clef_fail_memory(error, sizeof *pages, "the pages of weights");
    }
    pages->watch = (clef_layer_watch){begin_layer, pages};
    pages->pool = model->runtime->pool;
    pages->layer_count = layer_count;
    pages->parts = clef_arena_allocate(&pages->arena, pages->layer_count + 1, sizeof *pages->parts);
    pages->layer_bytes =
        clef_arena_allocate(&pages->arena, pages->layer_count, sizeof *pages->layer_bytes);
    if (pages->parts == NULL || pages->layer_bytes == NULL || !list_parts(pages, model)) {
        clef_weight_pages_close(pages);
        return clef_fail_memory(error, sizeof(page_range) * LAYER_RANGES, "the pages of weights");
    }
    *out = pages;
    return CLEF_OK;
}

void clef_weight_pages_close(clef_weight_pages *pages) {
    if (pages != NULL) {
        clef_arena_release(&pages->arena);
        clef_release(pages);
    }
}
