/* The list of files belongs to the caller's thread; the writing thread sees one job at a time: a
 * pinned entry, whose pages and fixed part nobody changes, and a header. */
#include "state/prefix_store.h"

#include "base/background.h"
#include "base/clock.h"
#include "base/folder.h"
#include "base/memory.h"
#include "state/stored_files.h"

#include <stdio.h>
#include <string.h>

#define FILE_END  ".kept"
#define PART_NAME "writing.part"

/* One file on its way to the disk. */
typedef struct writing {
    clef_prefix_entry *entry; /* pinned; NULL: none */
    clef_prefix_header header;
    clef_stored_file file;
    uint32_t *tokens; /* owned; [position - from] */
    float **pages;    /* owned; [(position - from) / CLEF_GRID], held by the entry */
    bool is_written;
} writing;

struct clef_prefix_store {
    clef_folder folder;
    clef_background *background;
    clef_digest identity;
    const clef_state_layout *layout;
    uint64_t byte_limit;
    clef_stored_files files;
    bool is_short; /* of memory, while the directory is listed */
    writing now;
};

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
static void make_name(const clef_digest *identity, const clef_digest *key,
                      char name[CLEF_STORED_NAME_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;
    for (size_t i = 0; i < 4 + 20; i++) {
        unsigned char byte = i < 4 ? identity->bytes[i] : key->bytes[i - 4];
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

/* Removes files until `needed` bytes more fit; `kept` names a file that stays. */
static bool make_room(clef_prefix_store *store, uint64_t needed, const clef_stored_file *kept) {
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
        make_name(&store->identity, &header.key, right_name);
        file.is_foreign = !clef_digest_equal(&header.identity, &store->identity);
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
    clef_folder_remove(&store->folder, PART_NAME);
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
    (void)make_room(store, 0, NULL);
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

uint64_t clef_prefix_store_bytes(const clef_prefix_store *store) {
    return store->files.bytes;
}

size_t clef_prefix_store_count(const clef_prefix_store *store) {
    return store->files.count;
}

/* ---- writing ---- */

static bool put(clef_new_file *file, uint64_t *offset, const void *bytes, size_t length) {
    bool is_written = clef_new_file_write(file, *offset, bytes, length, NULL) == CLEF_OK;
    *offset += length;
    return is_written;
}

static void digest_parts(writing *now, const clef_prefix_store *store) {
    clef_prefix_header *header = &now->header;
    size_t tokens = (size_t)(header->position - header->from);
    clef_digest_state state;
    clef_digest_begin(&state);
    clef_digest_add(&state, now->tokens, tokens * sizeof *now->tokens);
    for (size_t i = 0; i < tokens / CLEF_GRID; i++) {
        clef_digest_add(&state, now->pages[i], store->layout->page_floats * sizeof(float));
    }
    header->pages_digest = clef_digest_end(&state);
    header->fixed_digest =
        clef_digest_of(now->entry->fixed, store->layout->fixed_floats * sizeof(float));
}

static bool write_parts(const writing *now, const clef_prefix_store *store, clef_new_file *file) {
    size_t tokens = (size_t)(now->header.position - now->header.from);
    unsigned char header[CLEF_PREFIX_HEADER_BYTES];
    uint64_t offset = 0;
    clef_prefix_header_write(&now->header, header);
    bool is_written = put(file, &offset, header, sizeof header) &&
                      put(file, &offset, now->tokens, tokens * sizeof *now->tokens);
    for (size_t i = 0; is_written && i < tokens / CLEF_GRID; i++) {
        is_written = put(file, &offset, now->pages[i], store->layout->page_floats * sizeof(float));
    }
    return is_written &&
           put(file, &offset, now->entry->fixed, store->layout->fixed_floats * sizeof(float));
}

/* On the writing thread. The final name comes last. */
static void write_file(void *context) {
    clef_prefix_store *store = context;
    writing *now = &store->now;
    clef_new_file file;
    now->is_written = false;
    digest_parts(now, store);
    if (clef_new_file_create(store->folder.descriptor, store->folder.path, PART_NAME, &file,
                             NULL) != CLEF_OK) {
        return;
    }
    bool is_whole = write_parts(now, store, &file);
    is_whole = clef_new_file_finish(&file, NULL) == CLEF_OK && is_whole;
    now->is_written =
        is_whole && clef_folder_rename(&store->folder, PART_NAME, now->file.name, NULL) == CLEF_OK;
    if (!now->is_written) {
        clef_folder_remove(&store->folder, PART_NAME);
    }
}

/* Keys behind each page of a node's path: keys[i] behind page i. */
static void list_keys(const clef_prefix_node *node, clef_digest *keys, float **pages,
                      uint32_t *tokens, const clef_prefix_node **path) {
    size_t depth = node->depth;
    for (; node != NULL; node = node->parent) {
        path[node->depth - 1] = node;
    }
    clef_digest key = {{0}};
    for (size_t i = 0; i < depth; i++) {
        key = clef_prefix_key_next(&key, &path[i]->salt, path[i]->tokens);
        keys[i] = key;
        pages[i] = path[i]->page;
        memcpy(tokens + i * CLEF_GRID, path[i]->tokens, CLEF_GRID * sizeof *tokens);
    }
}

/* The longest whole file that the keys pass before the last of them; count for none. */
static size_t find_parent(const clef_prefix_store *store, const clef_digest *keys, size_t depth) {
    for (size_t i = depth - 1; i-- > 0;) {
        size_t index = clef_stored_files_find(&store->files, &keys[i], (i + 1) * CLEF_GRID);
        if (index < store->files.count) {
            return index;
        }
    }
    return store->files.count;
}

/* Fills store->now from an entry. False when it needs no file or cannot have one. */
static bool prepare(clef_prefix_store *store, clef_prefix_entry *entry, const clef_digest *keys,
                    float **pages, uint32_t *tokens) {
    size_t depth = entry->node->depth;
    writing *now = &store->now;
    if (clef_stored_files_find(&store->files, &keys[depth - 1], depth * CLEF_GRID) <
        store->files.count) {
        return false;
    }
    size_t index = find_parent(store, keys, depth);
    clef_stored_file parent = {0};
    if (index < store->files.count) {
        parent = store->files.items[index];
    }
    now->header = (clef_prefix_header){.identity = store->identity,
                                       .key = keys[depth - 1],
                                       .parent = parent.key,
                                       .from = parent.position,
                                       .position = depth * CLEF_GRID,
                                       .page_floats = store->layout->page_floats,
                                       .fixed_floats = store->layout->fixed_floats};
    now->file = (clef_stored_file){.key = keys[depth - 1],
                                   .parent = parent.key,
                                   .from = parent.position,
                                   .position = depth * CLEF_GRID,
                                   .bytes = clef_prefix_file_bytes(&now->header),
                                   .used_ns = clef_clock_epoch_ns()};
    make_name(&store->identity, &now->file.key, now->file.name);
    size_t known = parent.position / CLEF_GRID;
    memmove(pages, pages + known, (depth - known) * sizeof *pages);
    memmove(tokens, tokens + parent.position, (depth - known) * CLEF_GRID * sizeof *tokens);
    return now->file.bytes <= store->byte_limit &&
           make_room(store, now->file.bytes, parent.position == 0 ? NULL : &parent);
}

/* Begins to write an entry's file; false when it needs none or cannot have one. */
static bool begin(clef_prefix_store *store, clef_prefix_entry *entry) {
    size_t depth = entry->node->depth;
    writing *now = &store->now;
    clef_digest *keys = clef_allocate(depth, sizeof *keys);
    const clef_prefix_node **path = clef_allocate(depth, sizeof(clef_prefix_node *));
    now->tokens = clef_allocate(depth * CLEF_GRID, sizeof *now->tokens);
    now->pages = clef_allocate(depth, sizeof(float *));
    bool is_ready = keys != NULL && path != NULL && now->tokens != NULL && now->pages != NULL;
    if (is_ready) {
        list_keys(entry->node, keys, now->pages, now->tokens, path);
        is_ready = prepare(store, entry, keys, now->pages, now->tokens);
    }
    clef_release(keys);
    clef_release(path);
    if (!is_ready) {
        clef_release(now->tokens);
        clef_release(now->pages);
        *now = (writing){0};
        return false;
    }
    now->entry = entry;
    entry->is_pinned = true;
    clef_background_start(store->background, write_file, store);
    return true;
}

/* Takes note of what was written. */
static void collect(clef_prefix_store *store) {
    writing *now = &store->now;
    if (now->entry != NULL) {
        now->entry->is_pinned = false;
        now->entry->is_saved = true;
        if (now->is_written && !clef_stored_files_add(&store->files, &now->file)) {
            clef_folder_remove(&store->folder, now->file.name);
        }
        clef_release(now->tokens);
        clef_release(now->pages);
        *now = (writing){0};
    }
}

bool clef_prefix_store_save(clef_prefix_store *store, clef_prefix_cache *cache) {
    if (clef_background_is_busy(store->background)) {
        return true;
    }
    collect(store);
    clef_prefix_entry *entry;
    while ((entry = clef_prefix_cache_unsaved(cache)) != NULL) {
        if (begin(store, entry)) {
            return true;
        }
        entry->is_saved = true; /* or as good as it gets */
    }
    return false;
}

void clef_prefix_store_finish(clef_prefix_store *store, clef_prefix_cache *cache) {
    while (clef_prefix_store_save(store, cache)) {
        clef_background_wait(store->background);
    }
}

void clef_prefix_store_close(clef_prefix_store *store) {
    if (store == NULL) {
        return;
    }
    if (store->background != NULL) {
        clef_background_wait(store->background);
        collect(store);
    }
    clef_background_close(store->background);
    clef_stored_files_release(&store->files);
    clef_folder_close(&store->folder);
    clef_release(store);
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
            is_sound = clef_digest_equal(&header.identity, &store->identity) &&
                       clef_digest_equal(&header.key, &file->key) && header.from == file->from &&
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
