/* Open addressing with linear probing, at most half full, so that every search ends. */
#include "weights/tensor_table.h"

#include "base/memory.h"

clef_status clef_tensor_table_create(clef_tensor_table *table, size_t capacity, clef_error *error) {
    /* Twice the capacity keeps runs short; the bound keeps the doubling from overflowing. */
    size_t slot_count = 16;
    while (slot_count / 2 < capacity && slot_count <= SIZE_MAX / 4) {
        slot_count *= 2;
    }
    table->slot_count = 0;
    table->slots = clef_allocate(slot_count, sizeof *table->slots);
    if (table->slots == NULL) {
        return clef_fail_memory(error, slot_count * sizeof *table->slots, "the table of tensors");
    }
    table->slot_count = slot_count;
    return CLEF_OK;
}

/* Index of the slot that holds the name, or of the free one where it belongs. */
static size_t find_slot(const clef_tensor_table *table, clef_text name) {
    size_t mask = table->slot_count - 1;
    size_t slot = (size_t)clef_hash(name.bytes, name.length) & mask;
    while (table->slots[slot] != NULL && !clef_text_equals(table->slots[slot]->name, name)) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

const clef_stored_tensor *clef_tensor_table_insert(clef_tensor_table *table,
                                                   const clef_stored_tensor *tensor) {
    size_t slot = find_slot(table, tensor->name);
    if (table->slots[slot] != NULL) {
        return table->slots[slot];
    }
    table->slots[slot] = tensor;
    return NULL;
}

const clef_stored_tensor *clef_tensor_table_find(const clef_tensor_table *table, clef_text name) {
    return table->slot_count == 0 ? NULL : table->slots[find_slot(table, name)];
}

void clef_tensor_table_release(clef_tensor_table *table) {
    clef_release(table->slots);
    *table = (clef_tensor_table){0};
}
