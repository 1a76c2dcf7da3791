/* The growable list of ids of tokenizer.h. */
#include "tokenizer/tokenizer.h"

#include "base/memory.h"

#define FIRST_CAPACITY 64

clef_status clef_token_list_reserve(clef_token_list *list, size_t more, clef_error *error) {
    if (more <= list->capacity - list->count) {
        return CLEF_OK;
    }
    size_t needed;
    if (!clef_add_size(list->count, more, &needed)) {
        return clef_fail_memory(error, SIZE_MAX, "the token list");
    }
    size_t capacity = list->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : list->capacity;
    capacity = capacity <= SIZE_MAX / 2 ? capacity * 2 : needed;
    capacity = capacity < needed ? needed : capacity;
    uint32_t *ids = clef_reallocate(list->ids, capacity, sizeof *ids);
    if (ids == NULL) {
        return clef_fail_memory(error, capacity, "the token list");
    }
    list->ids = ids;
    list->capacity = capacity;
    return CLEF_OK;
}

void clef_token_list_release(clef_token_list *list) {
    clef_release(list->ids);
    *list = (clef_token_list){0};
}
