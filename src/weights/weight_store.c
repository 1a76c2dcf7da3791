/* Opening of all files of a directory and joining of their tensors to one table. The index, where
 * there is one, must agree with the files in both directions. */
#include "weights/weight_store.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "weights/bad_file.h"
#include "weights/shard_index.h"
#include "weights/tensor_table.h"
#include "weights/weight_files.h"

#include <stdio.h>

struct clef_weight_store {
    clef_safetensors **files; /* owned; [file_count] */
    size_t file_count;
    const clef_stored_tensor **tensors; /* owned list of views; [count] */
    size_t count;
    clef_tensor_table table;
    uint64_t bytes;
    char *warning; /* owned, or NULL */
};

/* ---- files ---- */

/* Name of the tensor's file within its directory. */
static const char *find_file_name(const clef_stored_tensor *tensor) {
    const char *slash = strrchr(tensor->file, '/');
    return slash == NULL ? tensor->file : slash + 1;
}

/* Opens the file as the next of the store, which has room for it. */
static clef_status open_file(clef_weight_store *store, const char *path, clef_error *error) {
    clef_safetensors *file;
    clef_status status = clef_safetensors_open(path, &file, error);
    if (status == CLEF_OK) {
        store->files[store->file_count++] = file;
        store->bytes += clef_safetensors_bytes(file);
    }
    return status;
}

/* Makes room for that many files. */
static clef_status make_room(clef_weight_store *store, size_t file_count, clef_error *error) {
    store->files = clef_allocate(file_count, sizeof *store->files);
    return store->files == NULL ? clef_fail_memory(error, file_count * sizeof *store->files,
                                                   "the list of weight files")
                                : CLEF_OK;
}

/* Adds to the error about a shard that could not be opened which tensors it should hold. */
static void name_first_tensor(const clef_shard_index *index, size_t shard, clef_error *error) {
    if (error == NULL || error->status != CLEF_BAD_FILE) {
        return;
    }
    size_t count;
    const clef_shard_entry *first = clef_shard_index_first(index, shard, &count);
    char name[CLEF_NAME_TEXT_BYTES];
    size_t length = strlen(error->message);
    snprintf(error->message + length, sizeof error->message - length,
             "; " CLEF_INDEX_FILE " places tensor %s%s there",
             clef_name_text(first->name, name, sizeof name), count > 1 ? " and others" : "");
}

/* Refuses an index whose files are not all there, before any of them is opened. */
static clef_status check_files(const char *directory, const clef_shard_index *index,
                               const clef_weight_files *files, clef_error *error) {
    clef_buffer names = {0};
    size_t missing = 0;
    size_t first_missing = 0;
    for (size_t i = 0; i < index->shard_count; i++) {
        if (!clef_weight_files_has(files, index->shards[i])) {
            first_missing = missing == 0 ? i : first_missing;
            clef_weight_files_write(&names, missing++, index->shards[i]);
        }
    }
    if (missing == 0) {
        return CLEF_OK;
    }
    clef_status status = clef_buffer_check(&names, "an error message", error);
    if (status == CLEF_OK) {
        char name[CLEF_NAME_TEXT_BYTES];
        const clef_shard_entry *first = clef_shard_index_first(index, first_missing, NULL);
        status = clef_fail(error, CLEF_BAD_FILE,
                           "%zu of the %zu files of " CLEF_INDEX_FILE
                           " are missing: %s. The first missing tensor is %s in %s",
                           missing, index->shard_count, names.bytes,
                           clef_name_text(first->name, name, sizeof name), first->file.bytes);
        clef_error_set_place(error, "%s/%s", directory, first->file.bytes);
    }
    clef_buffer_release(&names);
    return status;
}

/* ---- tensors ---- */

/* Puts the tensors of all files into one table; no name may have two homes. */
static clef_status join_tensors(clef_weight_store *store, clef_error *error) {
    size_t count = 0;
    for (size_t i = 0; i < store->file_count; i++) {
        count += clef_safetensors_count(store->files[i]);
    }
    clef_status status = clef_tensor_table_create(&store->table, count, error);
    if (status != CLEF_OK) {
        return status;
    }
    store->tensors = clef_allocate(count, sizeof *store->tensors);
    if (store->tensors == NULL) {
        return clef_fail_memory(error, count * sizeof *store->tensors, "the list of tensors");
    }
    for (size_t i = 0; i < store->file_count; i++) {
        for (size_t j = 0; j < clef_safetensors_count(store->files[i]); j++) {
            const clef_stored_tensor *tensor = clef_safetensors_at(store->files[i], j);
            const clef_stored_tensor *other = clef_tensor_table_insert(&store->table, tensor);
            if (other != NULL) {
                char name[CLEF_NAME_TEXT_BYTES];
                return clef_bad_file_fail(
                    error, tensor->file, "tensor %s is here and also in %s; it must have one home",
                    clef_name_text(tensor->name, name, sizeof name), find_file_name(other));
            }
            store->tensors[store->count++] = tensor;
        }
    }
    return CLEF_OK;
}

/* Every tensor of the files must be listed, and every listed one must lie where the index says. */
static clef_status check_index(const clef_weight_store *store, const char *index_path,
                               const clef_shard_index *index, clef_error *error) {
    char name[CLEF_NAME_TEXT_BYTES];
    for (size_t i = 0; i < index->count; i++) {
        const clef_shard_entry *entry = &index->entries[i];
        const clef_stored_tensor *found = clef_weight_store_find(store, entry->name);
        if (found == NULL) {
            return clef_bad_file_fail(
                error, index_path, "it places tensor %s in %s, but no file holds it",
                clef_name_text(entry->name, name, sizeof name), entry->file.bytes);
        }
        if (strcmp(find_file_name(found), entry->file.bytes) != 0) {
            return clef_bad_file_fail(error, index_path,
                                      "it places tensor %s in %s, but it is in %s",
                                      clef_name_text(entry->name, name, sizeof name),
                                      entry->file.bytes, find_file_name(found));
        }
    }
    for (size_t i = 0; i < store->count; i++) {
        const clef_stored_tensor *tensor = store->tensors[i];
        if (clef_shard_index_find(index, tensor->name) == NULL) {
            return clef_bad_file_fail(error, tensor->file,
                                      "tensor %s is in this file, but not in " CLEF_INDEX_FILE,
                                      clef_name_text(tensor->name, name, sizeof name));
        }
    }
    return CLEF_OK;
}

/* ---- directories ---- */

/* The index names the file. Linear: an index lists a few dozen files at most. */
static bool is_listed(const clef_shard_index *index, const char *name) {
    for (size_t i = 0; i < index->shard_count; i++) {
        if (strcmp(index->shards[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Writes the warning about weight files that take no part. `index` is NULL without one. */
static clef_status warn_ignored(clef_weight_store *store, const clef_weight_files *files,
                                const clef_shard_index *index, clef_error *error) {
    clef_buffer text = {0};
    clef_buffer_append_string(
        &text, index == NULL ? "weight files beside " CLEF_WEIGHTS_FILE " are ignored: "
                             : "weight files that " CLEF_INDEX_FILE " does not list are ignored: ");
    size_t ignored = 0;
    for (size_t i = 0; i < files->count; i++) {
        const char *name = files->names[i];
        bool is_used = index == NULL ? strcmp(name, CLEF_WEIGHTS_FILE) == 0
                                     : is_listed(index, name) || strcmp(name, CLEF_INDEX_FILE) == 0;
        if (!is_used && strcmp(name, CLEF_HEAD_FILE) != 0) {
            clef_weight_files_write(&text, ignored++, name);
        }
    }
    clef_status status = clef_buffer_check(&text, "a warning about weight files", error);
    if (status == CLEF_OK && ignored > 0) {
        size_t length;
        store->warning = clef_buffer_take(&text, &length);
    }
    clef_buffer_release(&text);
    return status;
}

/* Opens the files that the index of the directory lists. */
static clef_status open_shards(clef_weight_store *store, const char *directory,
                               const clef_weight_files *files, clef_error *error) {
    clef_shard_index index = {0};
    clef_status status;
    char *path = NULL;
    char *index_path = clef_path_join(directory, CLEF_INDEX_FILE);
    if (index_path == NULL) {
        return clef_fail_memory(error, strlen(directory), "a path");
    }
    status = clef_shard_index_load(index_path, &index, error);
    if (status == CLEF_OK) {
        status = check_files(directory, &index, files, error);
    }
    if (status == CLEF_OK) {
        status = make_room(store, index.shard_count, error);
    }
    for (size_t i = 0; i < index.shard_count && status == CLEF_OK; i++) {
        clef_release(path);
        path = clef_path_join(directory, index.shards[i]);
        if (path == NULL) {
            status = clef_fail_memory(error, strlen(directory), "a path");
            break;
        }
        status = open_file(store, path, error);
        if (status != CLEF_OK) {
            /* A person who sees a broken shard wants to know what is in it. */
            name_first_tensor(&index, i, error);
        }
    }
    if (status == CLEF_OK) {
        status = join_tensors(store, error);
    }
    if (status == CLEF_OK) {
        status = check_index(store, index_path, &index, error);
    }
    if (status == CLEF_OK) {
        status = warn_ignored(store, files, &index, error);
    }
    clef_release(path);
    clef_release(index_path);
    clef_shard_index_release(&index);
    return status;
}

/* Opens model.safetensors of the directory. */
static clef_status open_single(clef_weight_store *store, const char *directory,
                               const clef_weight_files *files, clef_error *error) {
    char *path = clef_path_join(directory, CLEF_WEIGHTS_FILE);
    if (path == NULL) {
        return clef_fail_memory(error, strlen(directory), "a path");
    }
    clef_status status = make_room(store, 1, error);
    if (status == CLEF_OK) {
        status = open_file(store, path, error);
    }
    clef_release(path);
    if (status == CLEF_OK) {
        status = join_tensors(store, error);
    }
    return status == CLEF_OK ? warn_ignored(store, files, NULL, error) : status;
}

/* Neither an index nor the single file: says what there is instead. */
static clef_status fail_without_files(const char *directory, const clef_weight_files *files,
                                      bool *is_absent, clef_error *error) {
    clef_buffer names = {0};
    size_t count = 0;
    for (size_t i = 0; i < files->count; i++) {
        /* Shards are called model-00001-of-00012; other files are no sign of a lost index. */
        if (strncmp(files->names[i], "model-", 6) == 0) {
            clef_weight_files_write(&names, count++, files->names[i]);
        }
    }
    clef_status status = clef_buffer_check(&names, "an error message", error);
    if (status == CLEF_OK && count > 0) {
        status = clef_bad_file_fail(error, directory,
                                    "%zu weight file%s without " CLEF_INDEX_FILE
                                    ", which must say which tensor is in which file: %s",
                                    count, count == 1 ? "" : "s", names.bytes);
    } else if (status == CLEF_OK) {
        *is_absent = true;
        status = clef_bad_file_fail(error, directory,
                                    "there are no weights: neither " CLEF_WEIGHTS_FILE
                                    " nor " CLEF_INDEX_FILE);
    }
    clef_buffer_release(&names);
    return status;
}

static clef_status create_store(clef_weight_store **out, clef_error *error) {
    *out = clef_allocate(1, sizeof **out);
    return *out == NULL ? clef_fail_memory(error, sizeof **out, "the weights") : CLEF_OK;
}

clef_status clef_weight_store_open(const char *directory, clef_weight_store **out, bool *is_absent,
                                   clef_error *error) {
    bool nothing_there = false;
    clef_weight_files files = {0};
    clef_weight_store *store;
    *out = NULL;
    clef_status status = create_store(&store, error);
    if (status == CLEF_OK) {
        status = clef_weight_files_list(directory, &files, error);
    }
    if (status == CLEF_OK && clef_weight_files_has(&files, CLEF_INDEX_FILE)) {
        status = open_shards(store, directory, &files, error);
    } else if (status == CLEF_OK && clef_weight_files_has(&files, CLEF_WEIGHTS_FILE)) {
        status = open_single(store, directory, &files, error);
    } else if (status == CLEF_OK) {
        status = fail_without_files(directory, &files, &nothing_there, error);
    }
    clef_weight_files_release(&files);
    if (is_absent != NULL) {
        *is_absent = nothing_there;
    }
    if (status != CLEF_OK) {
        clef_weight_store_close(store);
        return status;
    }
    *out = store;
    return CLEF_OK;
}

clef_status clef_weight_store_open_file(const char *path, clef_weight_store **out, bool *is_absent,
                                        clef_error *error) {
    *out = NULL;
    if (is_absent != NULL) {
        /* A dangling link is there, and gets its own message. */
        *is_absent = !clef_path_is_taken(path);
    }
    clef_weight_store *store;
    clef_status status = create_store(&store, error);
    if (status == CLEF_OK) {
        status = make_room(store, 1, error);
    }
    if (status == CLEF_OK) {
        status = open_file(store, path, error);
    }
    if (status == CLEF_OK) {
        status = join_tensors(store, error);
    }
    if (status != CLEF_OK) {
        clef_weight_store_close(store);
        return status;
    }
    *out = store;
    return CLEF_OK;
}

clef_status clef_weight_store_over(const clef_stored_tensor *tensors, size_t count, uint64_t bytes,
                                   clef_weight_store **out, clef_error *error) {
    *out = NULL;
    clef_weight_store *store;
    clef_status status = create_store(&store, error);
    if (status == CLEF_OK) {
        status = clef_tensor_table_create(&store->table, count, error);
    }
    if (status == CLEF_OK) {
        store->tensors = clef_allocate(count, sizeof *store->tensors);
        status = store->tensors == NULL ? clef_fail_memory(error, count * sizeof *store->tensors,
                                                           "the list of tensors")
                                        : CLEF_OK;
    }
    if (status != CLEF_OK) {
        clef_weight_store_close(store);
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        store->tensors[store->count++] = &tensors[i];
        clef_tensor_table_insert(&store->table, &tensors[i]);
    }
    store->bytes = bytes;
    *out = store;
    return CLEF_OK;
}

void clef_weight_store_close(clef_weight_store *store) {
    if (store == NULL) {
        return;
    }
    for (size_t i = 0; i < store->file_count; i++) {
        clef_safetensors_close(store->files[i]);
    }
    clef_release(store->files);
    clef_release(store->tensors);
    clef_tensor_table_release(&store->table);
    clef_release(store->warning);
    clef_release(store);
}

size_t clef_weight_store_count(const clef_weight_store *store) {
    return store->count;
}

const clef_stored_tensor *clef_weight_store_at(const clef_weight_store *store, size_t index) {
    return store->tensors[index];
}

const clef_stored_tensor *clef_weight_store_find(const clef_weight_store *store, clef_text name) {
    return clef_tensor_table_find(&store->table, name);
}

const clef_file *clef_weight_store_find_file(const clef_weight_store *store, const void *bytes) {
    const clef_file *found = NULL;
    for (size_t i = 0; found == NULL && i < store->file_count; i++) {
        found = clef_safetensors_find_file(store->files[i], bytes);
    }
    return found;
}

void clef_weight_store_prefetch(const clef_weight_store *store, size_t largest) {
    for (size_t i = 0; i < store->count; i++) {
        const clef_stored_tensor *tensor = store->tensors[i];
        if (tensor->bytes <= largest && clef_weight_store_find_file(store, tensor->data) != NULL) {
            clef_file_prefetch(tensor->data, tensor->bytes);
        }
    }
}

uint64_t clef_weight_store_bytes(const clef_weight_store *store) {
    return store->bytes;
}

const char *clef_weight_store_warning(const clef_weight_store *store) {
    return store->warning;
}
