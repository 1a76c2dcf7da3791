/* Writing: the calling thread prepares and takes note, the store's own thread writes. That one sees
 * one job at a time: a pinned entry, whose pages and fixed part nobody changes, and a header. */
#include "state/prefix_store_parts.h"

#include "base/clock.h"
#include "base/memory.h"

static bool put(clef_new_file *file, uint64_t *offset, const void *bytes, size_t length) {
    bool is_written = clef_new_file_write(file, *offset, bytes, length, NULL) == CLEF_OK;
    *offset += length;
    return is_written;
}

static void digest_parts(clef_store_writing *now, const clef_prefix_store *store) {
    clef_prefix_header *header = &now->header;
    size_t tokens = (size_t)(header->position - header->from);
    clef_digest_state state;
    clef_digest_begin(&state, CLEF_DIGEST_KEY);
    clef_digest_add(&state, now->tokens, tokens * sizeof *now->tokens);
    for (size_t i = 0; i < tokens / CLEF_GRID; i++) {
        clef_digest_add(&state, now->pages[i], store->layout->page_floats * sizeof(float));
    }
    header->pages_digest = clef_digest_finish(&state);
    header->fixed_digest =
        clef_digest_of(now->entry->fixed, store->layout->fixed_floats * sizeof(float));
}

static bool write_parts(const clef_store_writing *now, const clef_prefix_store *store,
                        clef_new_file *file) {
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
    clef_store_writing *now = &store->now;
    clef_new_file file;
    now->is_written = false;
    digest_parts(now, store);
    if (clef_new_file_create(store->folder.descriptor, store->folder.path, CLEF_STORE_PART_NAME,
                             &file, NULL) != CLEF_OK) {
        return;
    }
    bool is_whole = write_parts(now, store, &file);
    is_whole = clef_new_file_finish(&file, NULL) == CLEF_OK && is_whole;
    now->is_written = is_whole && clef_folder_rename(&store->folder, CLEF_STORE_PART_NAME,
                                                     now->file.name, NULL) == CLEF_OK;
    if (!now->is_written) {
        clef_folder_remove(&store->folder, CLEF_STORE_PART_NAME);
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
    clef_store_writing *now = &store->now;
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
    clef_prefix_store_name(store, &now->file.key, now->file.name);
    size_t known = parent.position / CLEF_GRID;
    memmove(pages, pages + known, (depth - known) * sizeof *pages);
    memmove(tokens, tokens + parent.position, (depth - known) * CLEF_GRID * sizeof *tokens);
    return now->file.bytes <= store->byte_limit &&
           clef_prefix_store_make_room(store, now->file.bytes,
                                       parent.position == 0 ? NULL : &parent);
}

/* Begins to write an entry's file; false when it needs none or cannot have one. */
static bool begin(clef_prefix_store *store, clef_prefix_entry *entry) {
    size_t depth = entry->node->depth;
    clef_store_writing *now = &store->now;
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
        *now = (clef_store_writing){0};
        return false;
    }
    now->entry = entry;
    entry->is_pinned = true;
    clef_background_start(store->background, write_file, store);
    return true;
}

void clef_prefix_store_collect(clef_prefix_store *store) {
    clef_store_writing *now = &store->now;
    if (now->entry != NULL) {
        now->entry->is_pinned = false;
        now->entry->is_saved = true;
        if (now->is_written && !clef_stored_files_add(&store->files, &now->file)) {
            clef_folder_remove(&store->folder, now->file.name);
        }
        clef_release(now->tokens);
        clef_release(now->pages);
        *now = (clef_store_writing){0};
    }
}

bool clef_prefix_store_save(clef_prefix_store *store, clef_prefix_cache *cache) {
    if (clef_background_is_busy(store->background)) {
        return true;
    }
    clef_prefix_store_collect(store);
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
