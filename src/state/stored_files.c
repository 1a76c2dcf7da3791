/* Some hundred files at most, so every question is a walk over all of them. */
#include "state/stored_files.h"

#include "base/memory.h"

#include <string.h>

void clef_stored_files_release(clef_stored_files *files) {
    clef_release(files->items);
    *files = (clef_stored_files){0};
}

bool clef_stored_files_add(clef_stored_files *files, const clef_stored_file *file) {
    for (size_t i = 0; i < files->count; i++) {
        if (strcmp(files->items[i].name, file->name) == 0) {
            clef_stored_files_remove(files, i);
            break;
        }
    }
    if (files->count == files->capacity) {
        size_t capacity = files->capacity == 0 ? 16 : 2 * files->capacity;
        clef_stored_file *grown = clef_reallocate(files->items, capacity, sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        files->items = grown;
        files->capacity = capacity;
    }
    files->items[files->count++] = *file;
    files->bytes += file->bytes;
    return true;
}

void clef_stored_files_remove(clef_stored_files *files, size_t index) {
    files->bytes -= files->items[index].bytes;
    files->items[index] = files->items[--files->count];
}

size_t clef_stored_files_find(const clef_stored_files *files, const clef_digest *key,
                              size_t position) {
    for (size_t i = 0; i < files->count; i++) {
        const clef_stored_file *file = &files->items[i];
        if (!file->is_foreign && file->position == position &&
            clef_digest_equals(&file->key, key)) {
            return i;
        }
    }
    return files->count;
}

bool clef_stored_files_is_whole(const clef_stored_files *files, size_t index) {
    while (index < files->count && files->items[index].from > 0) {
        const clef_stored_file *file = &files->items[index];
        index = clef_stored_files_find(files, &file->parent, file->from);
    }
    return index < files->count;
}

/* Whether file `index` is `other` or what it stands on. */
static bool carries(const clef_stored_files *files, size_t index, size_t other) {
    while (other < files->count) {
        if (other == index) {
            return true;
        }
        const clef_stored_file *file = &files->items[other];
        other = file->from == 0 ? files->count
                                : clef_stored_files_find(files, &file->parent, file->from);
    }
    return false;
}

static bool has_child(const clef_stored_files *files, size_t index) {
    const clef_stored_file *parent = &files->items[index];
    for (size_t i = 0; i < files->count; i++) {
        const clef_stored_file *file = &files->items[i];
        if (!file->is_foreign && file->from == parent->position &&
            clef_digest_equals(&file->parent, &parent->key)) {
            return true;
        }
    }
    return false;
}

size_t clef_stored_files_oldest(const clef_stored_files *files, size_t kept) {
    size_t oldest = files->count;
    for (size_t i = 0; i < files->count; i++) {
        const clef_stored_file *file = &files->items[i];
        const clef_stored_file *best = oldest == files->count ? NULL : &files->items[oldest];
        bool is_better = best == NULL || file->is_foreign > best->is_foreign ||
                         (file->is_foreign == best->is_foreign && file->used_ns < best->used_ns);
        if (is_better && (file->is_foreign || (!has_child(files, i) && !carries(files, i, kept)))) {
            oldest = i;
        }
    }
    return oldest;
}
