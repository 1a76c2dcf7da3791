/* A pair's value is rank << 32 | merged id, so that the smallest value is the merge to make. Short
 * pieces, nearly all of them, scan an array for it; long ones keep a heap over a linked list. */
#include "tokenizer/byte_pairs.h"

#include "base/memory.h"

#define NO_MERGE UINT64_MAX

/* At this length the heap begins to win over the scan. */
#define LONGEST_SCAN 48

typedef struct clef_pair_slot {
    uint64_t pair;  /* left << 32 | right */
    uint64_t value; /* NO_MERGE: the slot is free */
} clef_pair_slot;

/* ---- table ---- */

static size_t find_home(const clef_byte_pairs *pairs, uint64_t pair) {
    return (size_t)((pair * UINT64_C(0x9E3779B97F4A7C15)) >> pairs->shift);
}

static clef_pair_slot *find_slot(const clef_byte_pairs *pairs, uint32_t left, uint32_t right) {
    uint64_t pair = (uint64_t)left << 32 | right;
    size_t mask = UINT64_MAX >> pairs->shift;
    size_t at = find_home(pairs, pair);
    while (pairs->slots[at].value != NO_MERGE && pairs->slots[at].pair != pair) {
        at = (at + 1) & mask;
    }
    return &pairs->slots[at];
}

static inline uint64_t find_merge(const clef_byte_pairs *pairs, uint32_t left, uint32_t right) {
    return find_slot(pairs, left, right)->value;
}

clef_status clef_byte_pairs_build(clef_byte_pairs *pairs, const clef_merge *merges, size_t count,
                                  clef_error *error) {
    size_t slot_count = 16;
    pairs->shift = 60;
    while (slot_count < count * 2) {
        slot_count *= 2;
        pairs->shift--;
    }
    pairs->slots = clef_allocate_aligned(slot_count, sizeof *pairs->slots);
    if (pairs->slots == NULL) {
        return clef_fail_memory(error, slot_count * sizeof *pairs->slots, "the merge table");
    }
    memset(pairs->slots, 0xFF, slot_count * sizeof *pairs->slots);
    for (size_t rank = 0; rank < count; rank++) {
        const clef_merge *merge = &merges[rank];
        clef_pair_slot *slot = find_slot(pairs, merge->left, merge->right);
        if (slot->value != NO_MERGE) {
            return clef_fail(error, CLEF_BAD_FILE, "merges %u and %zu have the same pair",
                             (uint32_t)(slot->value >> 32), rank);
        }
        slot->pair = (uint64_t)merge->left << 32 | merge->right;
        slot->value = (uint64_t)rank << 32 | merge->merged;
    }
    return CLEF_OK;
}

void clef_byte_pairs_release(clef_byte_pairs *pairs) {
    clef_release(pairs->slots);
    *pairs = (clef_byte_pairs){0};
}

size_t clef_byte_pairs_memory(const clef_byte_pairs *pairs) {
    return pairs->slots == NULL ? 0 : (UINT64_MAX >> pairs->shift) * sizeof *pairs->slots;
}

/* ---- short pieces ---- */

/* Merges in place; returns the number of ids left. values[i] is the merge of ids i and i + 1. */
static size_t merge_by_scan(const clef_byte_pairs *pairs, uint32_t *ids, size_t count) {
    uint64_t values[LONGEST_SCAN];
    for (size_t i = 0; i + 1 < count; i++) {
        values[i] = find_merge(pairs, ids[i], ids[i + 1]);
    }
    while (count > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < count; i++) {
            best = values[i] < values[best] ? i : best;
        }
        if (values[best] == NO_MERGE) {
            break;
        }
        ids[best] = (uint32_t)values[best];
        count--;
        for (size_t i = best + 1; i < count; i++) {
            ids[i] = ids[i + 1];
            values[i - 1] = values[i];
        }
        if (best + 1 < count) {
            values[best] = find_merge(pairs, ids[best], ids[best + 1]);
        }
        if (best > 0) {
            values[best - 1] = find_merge(pairs, ids[best - 1], ids[best]);
        }
    }
    return count;
}

/* ---- long pieces ---- */

/* One id of the list; value is its merge with the next. A node that was merged into the one before
 * it has NO_MERGE, like the last. */
typedef struct merge_node {
    uint64_t value;
    uint32_t id;
    uint32_t previous;
    uint32_t next;
} merge_node;

#define NO_NODE UINT32_MAX

/* A place in the heap: rank << 32 | node. Nodes are numbered from the left, so the smallest is the
 * leftmost of the first rank. An item is stale when the node's merge has another rank by now. */
typedef struct merge_heap {
    uint64_t *items;
    size_t count;
} merge_heap;

static void sink_item(merge_heap *heap, size_t at) {
    uint64_t moving = heap->items[at];
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count && heap->items[child + 1] < heap->items[child]) {
            child++;
        }
        if (heap->items[child] >= moving) {
            break;
        }
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = moving;
}

static void push_item(merge_heap *heap, uint64_t item) {
    size_t at = heap->count++;
    while (at > 0 && heap->items[(at - 1) / 2] > item) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = item;
}

static uint64_t pop_item(merge_heap *heap) {
    uint64_t top = heap->items[0];
    heap->items[0] = heap->items[--heap->count];
    if (heap->count > 0) {
        sink_item(heap, 0);
    }
    return top;
}

/* Looks up the merge of a node with its next one, and puts it into the heap when there is one. */
static void refresh_node(const clef_byte_pairs *pairs, merge_node *nodes, uint32_t place,
                         merge_heap *heap) {
    merge_node *node = &nodes[place];
    node->value =
        node->next == NO_NODE ? NO_MERGE : find_merge(pairs, node->id, nodes[node->next].id);
    if (node->value != NO_MERGE) {
        push_item(heap, (node->value >> 32) << 32 | place);
    }
}

static void merge_by_heap(const clef_byte_pairs *pairs, merge_node *nodes, merge_heap *heap) {
    while (heap->count > 0) {
        uint64_t item = pop_item(heap);
        uint32_t place = (uint32_t)item;
        merge_node *node = &nodes[place];
        if (node->value == NO_MERGE || node->value >> 32 != item >> 32) {
            continue;
        }
        node->id = (uint32_t)node->value;
        merge_node *gone = &nodes[node->next];
        gone->value = NO_MERGE;
        node->next = gone->next;
        if (node->next != NO_NODE) {
            nodes[node->next].previous = place;
        }
        refresh_node(pairs, nodes, place, heap);
        if (node->previous != NO_NODE) {
            refresh_node(pairs, nodes, node->previous, heap);
        }
    }
}

static clef_status reserve_scratch(clef_merge_scratch *scratch, size_t bytes, clef_error *error) {
    if (bytes <= scratch->bytes) {
        return CLEF_OK;
    }
    clef_release(scratch->block);
    *scratch = (clef_merge_scratch){0};
    scratch->block = clef_allocate_aligned(bytes, 1);
    if (scratch->block == NULL) {
        return clef_fail_memory(error, bytes, "merging a long piece");
    }
    scratch->bytes = bytes;
    return CLEF_OK;
}

static clef_status encode_long(const clef_byte_pairs *pairs, clef_merge_scratch *scratch,
                               clef_text piece, clef_token_list *list, clef_error *error) {
    /* Every node enters the heap once at first; each merge takes one item out and puts at most two
     * in, and there are fewer merges than nodes: twice as many items as nodes are enough. */
    size_t count = piece.length;
    size_t bytes;
    if (count >= NO_NODE ||
        !clef_multiply_size(count, sizeof(merge_node) + 2 * sizeof(uint64_t), &bytes)) {
        return clef_fail_memory(error, count, "merging a long piece");
    }
    clef_status status = reserve_scratch(scratch, bytes, error);
    if (status != CLEF_OK) {
        return status;
    }
    merge_node *nodes = scratch->block;
    merge_heap heap = {.items = (uint64_t *)(nodes + count), .count = 0};
    for (size_t i = 0; i < count; i++) {
        nodes[i].id = pairs->byte_ids[(unsigned char)piece.bytes[i]];
        nodes[i].previous = i == 0 ? NO_NODE : (uint32_t)(i - 1);
        nodes[i].next = i + 1 == count ? NO_NODE : (uint32_t)(i + 1);
    }
    for (size_t i = 0; i < count; i++) {
        refresh_node(pairs, nodes, (uint32_t)i, &heap);
    }
    merge_by_heap(pairs, nodes, &heap);
    for (uint32_t place = 0; place != NO_NODE; place = nodes[place].next) {
        status = clef_token_list_reserve(list, 1, error);
        if (status != CLEF_OK) {
            return status;
        }
        list->ids[list->count++] = nodes[place].id;
    }
    return CLEF_OK;
}

/* ---- pieces ---- */

clef_status clef_byte_pairs_encode(const clef_byte_pairs *pairs, clef_merge_scratch *scratch,
                                   clef_text piece, clef_token_list *list, clef_error *error) {
    if (piece.length > LONGEST_SCAN) {
        return encode_long(pairs, scratch, piece, list, error);
    }
    clef_status status = clef_token_list_reserve(list, LONGEST_SCAN, error);
    if (status != CLEF_OK) {
        return status;
    }
    uint32_t *ids = list->ids + list->count;
    for (size_t i = 0; i < piece.length; i++) {
        ids[i] = pairs->byte_ids[(unsigned char)piece.bytes[i]];
    }
    list->count += merge_by_scan(pairs, ids, piece.length);
    return CLEF_OK;
}

void clef_merge_scratch_release(clef_merge_scratch *scratch) {
    clef_release(scratch->block);
    *scratch = (clef_merge_scratch){0};
}
