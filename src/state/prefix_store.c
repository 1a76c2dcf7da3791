/* The directory, the list of its files, and reading them back. All of it belongs to the caller's
 * thread. */
#include "state/prefix_store_parts.h"

#include "base/clock.h"
#include "base/memory.h"

#include <string.h>

#define FILE_END ".kept"

/* ---- files ---- */

typedef struct open_file {
    int file;
    clef_prefix_source source;
} open_file;

static bool read_source(void *context, uint64_t offset, void *bytes, size_t length) {
    const open_file *opened = context;
    return clef_folder_read(opened->file, offset, bytes, length);
}

/* Opens a file and reads its header; false when either cannot be. */
static bool open_stored(const clef_prefix_store *store, const char *name, open_file *opened,
                        clef_prefix_header *header) {
    opened->source = (clef_prefix_source){.read = read_source, .context = opened};
    opened->file = clef_folder_open_file(&store->folder, name, &opened->source.bytes);
    if (opened->file >= 0 && clef_prefix_header_read(&opened->source, header)) {
        return true;
    }
    clef_folder_close_file(opened->file);
    return false;
}

static bool fits_layout(const clef_prefix_store *store, const clef_prefix_header *header) {
    return header->page_floats == store->layout->page_floats &&
           header->fixed_floats == store->layout->fixed_floats;
}

/* Model and key, both cut: the whole of either stands in the header. */
void clef_prefix_store_name(const clef_prefix_store *store, const clef_digest *key,
                            char name[CLEF_STORED_NAME_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;
    for (size_t i = 0; i < 4 + 20; i++) {
        unsigned char byte = i < 4 ? store->identity.bytes[i] : key->bytes[i - 4];
        name[at++] = digits[byte >> 4];
        name[at++] = digits[byte & 15];
    }
    memcpy(name + at, FILE_END, sizeof FILE_END);
}

static void remove_file(clef_prefix_store *store, size_t index) {
    clef_folder_remove(&store->folder, store->files.items[index].name);
    clef_stored_files_remove(&store->files, index);
}

/* Removes what stands on files that are gone. */
static void remove_orphans(clef_prefix_store *store) {
    for (size_t i = 0; i < store->files.count;) {
        if (store->files.items[i].is_foreign || clef_stored_files_is_whole(&store->files, i)) {
            i++;
        } else {
            remove_file(store, i);
            i = 0;
        }
    }
}

bool clef_prefix_store_make_room(clef_prefix_store *store, uint64_t needed,
                                 const clef_stored_file *kept) {
    while (store->files.bytes + needed > store->byte_limit) {
        size_t kept_index = kept == NULL
                                ? store->files.count
                                : clef_stored_files_find(&store->files, &kept->key, kept->position);
        size_t oldest = clef_stored_files_oldest(&store->files, kept_index);
        if (oldest == store->files.count) {
            return false;
        }
        remove_file(store, oldest);
    }
    return true;
}

/* ---- opening ---- */

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name);
    return length >= strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

/* clef_folder_visitor: lists sound files; what is broken is listed with no length and removed
 * later, for nothing may be removed now. */
static void list_file(void *context, const char *name, uint64_t bytes, uint64_t changed_ns) {
    clef_prefix_store *store = context;
    clef_stored_file file = {.bytes = bytes, .used_ns = changed_ns};
    clef_prefix_header header;
    open_file opened;
    if (!ends_with(name, FILE_END) || strlen(name) >= sizeof file.name) {
        return;
    }
    memcpy(file.name, name, strlen(name));
    if (open_stored(store, name, &opened, &header)) {
        clef_folder_close_file(opened.file);
        char right_name[CLEF_STORED_NAME_BYTES];
        clef_prefix_store_name(store, &header.key, right_name);
        file.is_foreign = !clef_digest_equals(&header.identity, &store->identity);
        if (file.is_foreign || (fits_layout(store, &header) && strcmp(name, right_name) == 0)) {
            file.key = header.key;
            file.parent = header.parent;
            file.from = (size_t)header.from;
            file.position = (size_t)header.position;
        } else {
            file.bytes = 0;
        }
    } else {
        file.bytes = 0;
    }
    store->is_short |= !clef_stored_files_add(&store->files, &file);
}

static clef_status list_directory(clef_prefix_store *store, clef_error *error) {
    clef_folder_remove(&store->folder, CLEF_STORE_PART_NAME);
    clef_folder_visit(&store->folder, list_file, store);
    if (store->is_short) {
        return clef_fail_memory(error, store->files.count * sizeof *store->files.items,
                                "the list of kept states");
    }
    for (size_t i = 0; i < store->files.count;) {
        if (store->files.items[i].bytes == 0) {
            remove_file(store, i);
        } else {
            i++;
        }
    }
    remove_orphans(store);
    (void)clef_prefix_store_make_room(store, 0, NULL);
    return CLEF_OK;
}

clef_status clef_prefix_store_open(const char *directory, const clef_digest *identity,
                                   const clef_state_layout *layout, uint64_t byte_limit,
                                   clef_prefix_store **out, clef_error *error) {
    *out = NULL;
    clef_prefix_store *store = clef_allocate(1, sizeof *store);
    if (store == NULL) {
        return clef_fail_memory(error, sizeof *store, "a store of kept states");
    }
    store->identity = *identity;
    store->layout = layout;
    store->byte_limit = byte_limit;
    clef_status status = clef_folder_open(directory, &store->folder, error);
    if (status == CLEF_OK) {
        status = list_directory(store, error);
    }
    if (status == CLEF_OK) {
        status = clef_background_create(&store->background, error);
    }
    if (status != CLEF_OK) {
        clef_prefix_store_close(store);
        return status;
    }
    *out = store;
    return CLEF_OK;
}

void clef_prefix_store_close(clef_prefix_store *store) {
    if (store == NULL) {
        return;
    }
    if (store->background != NULL) {
        clef_background_wait(store->background);
        clef_prefix_store_collect(store);
    }
    clef_background_close(store->background);
    clef_stored_files_release(&store->files);
    clef_folder_close(&store->folder);
    clef_release(store);
}

uint64_t clef_prefix_store_bytes(const clef_prefix_store *store) {
    return store->files.bytes;
}

/* ---- reading ---- */

/* Reads the files of a chain, the last one first: pages of all, the fixed part of that one. A file
 * that is not what it should be is removed, with those that stand on it. */
static bool read_chain(clef_prefix_store *store, size_t index, const uint32_t *tokens,
                       float *const *pages, float *fixed) {
    bool is_last = true;
    while (index < store->files.count) {
        clef_stored_file *file = &store->files.items[index];
        clef_prefix_header header;
        open_file opened;
        bool is_sound = open_stored(store, file->name, &opened, &header);
        if (is_sound) {
            is_sound = clef_digest_equals(&header.identity, &store->identity) &&
                       clef_digest_equals(&header.key, &file->key) && header.from == file->from &&
                       header.position == file->position && fits_layout(store, &header) &&
                       clef_prefix_file_read_pages(&opened.source, &header, tokens + file->from,
                                                   pages + file->from / CLEF_GRID) &&
                       (!is_last || clef_prefix_file_read_fixed(&opened.source, &header, fixed));
            clef_folder_close_file(opened.file);
        }
        if (!is_sound) {
            remove_file(store, index);
            remove_orphans(store);
            return false;
        }
        file->used_ns = clef_clock_epoch_ns();
        clef_folder_touch(&store->folder, file->name);
        if (file->from == 0) {
            return true;
        }
        index = clef_stored_files_find(&store->files, &file->parent, file->from);
        is_last = false;
    }
    remove_orphans(store);
    return false;
}

static size_t find_longest(const clef_prefix_store *store, const clef_prefix_key *key, size_t limit,
                           size_t reach) {
    size_t found = store->files.count;
    clef_digest behind = {{0}};
    for (size_t end = CLEF_GRID; end <= limit; end += CLEF_GRID) {
        clef_digest salt = end > key->salt_begin ? key->salt : (clef_digest){{0}};
        behind = clef_prefix_key_next(&behind, &salt, key->tokens + end - CLEF_GRID);
        if (end > reach) {
            size_t index = clef_stored_files_find(&store->files, &behind, end);
            found = index < store->files.count ? index : found;
        }
    }
    return found;
}

/* Pages for `depth` places; fewer when memory is short. */
static size_t take_pages(clef_page_pool *pool, float **pages, size_t depth) {
    size_t taken = 0;
    while (taken < depth && (pages[taken] = clef_page_take(pool)) != NULL) {
        taken++;
    }
    return taken;
}

void clef_prefix_store_load(clef_prefix_store *store, clef_prefix_cache *cache,
                            const clef_prefix_key *key, size_t limit, size_t reach) {
    size_t index = store->files.count == 0 ? 0 : find_longest(store, key, limit, reach);
    if (index == store->files.count) {
        return;
    }
    size_t position = store->files.items[index].position;
    size_t depth = position / CLEF_GRID;
    float **pages = clef_allocate(depth, sizeof *pages);
    float *fixed = clef_prefix_cache_take_fixed(cache);
    size_t taken = 0;
    if (pages != NULL && fixed != NULL && clef_prefix_cache_fits(cache, position)) {
        taken = take_pages(cache->tree.pool, pages, depth);
        if (taken == depth && read_chain(store, index, key->tokens, pages, fixed)) {
            clef_prefix_entry *entry = clef_prefix_cache_put(
                cache, key, (clef_prefix_point){position, false}, fixed, pages);
            fixed = NULL;
            if (entry != NULL) {
                entry->is_saved = true;
            }
        }
    }
    while (taken > 0) {
        clef_page_drop(cache->tree.pool, pages[--taken]);
    }
    clef_release(pages);
    clef_release(fixed);
}
