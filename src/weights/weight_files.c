/* Listing of a directory's weight files. The list is sorted, so that messages and the order of
 * files do not hang on the file system. */
#include "weights/weight_files.h"

#include "base/memory.h"
#include "weights/bad_file.h"
#include "weights/tensor_text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#define SUFFIX ".safetensors"

/* A message names this many files, then says "...". */
#define SHOWN_LIMIT 20

static bool is_weight_file(const char *name) {
    size_t length = strlen(name);
    size_t suffix = sizeof SUFFIX - 1;
    return strcmp(name, CLEF_INDEX_FILE) == 0 ||
           (length > suffix && strcmp(name + length - suffix, SUFFIX) == 0);
}

static int compare_names(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Appends a copy of a name. */
static clef_status add_name(clef_weight_files *files, const char *name, clef_error *error) {
    if (files->count == files->capacity) {
        size_t capacity = files->capacity == 0 ? 16 : files->capacity * 2;
        char **grown = clef_reallocate(files->names, capacity, sizeof *grown);
        if (grown == NULL) {
            return clef_fail_memory(error, capacity * sizeof *grown, "the list of weight files");
        }
        files->names = grown;
        files->capacity = capacity;
    }
    size_t length = strlen(name);
    char *copy = clef_allocate(length + 1, 1);
    if (copy == NULL) {
        return clef_fail_memory(error, length + 1, "the name of a weight file");
    }
    memcpy(copy, name, length);
    files->names[files->count++] = copy;
    return CLEF_OK;
}

static clef_status fail_directory(const char *directory, int reason, clef_error *error) {
    switch (reason) {
    case ENOENT:
        return clef_bad_file_fail(error, directory, "there is no such directory");
    case ENOTDIR:
        return clef_bad_file_fail(error, directory, "it is not a directory");
    case EACCES:
        return clef_bad_file_fail(error, directory,
                                  "the directory is unreadable: permission is "
                                  "denied");
    case ELOOP:
        return clef_bad_file_fail(error, directory, "it is a link that leads back to itself");
    default:
        return clef_bad_file_fail(error, directory, "the directory is unreadable: system error %d",
                                  reason);
    }
}

clef_status clef_weight_files_list(const char *directory, clef_weight_files *files,
                                   clef_error *error) {
    *files = (clef_weight_files){0};
    DIR *opened = opendir(directory);
    if (opened == NULL) {
        return fail_directory(directory, errno, error);
    }
    clef_status status = CLEF_OK;
    while (status == CLEF_OK) {
        errno = 0; /* the only way to tell an error from the end */
        const struct dirent *entry = readdir(opened);
        if (entry == NULL) {
            status = errno == 0 ? CLEF_OK : fail_directory(directory, errno, error);
            break;
        }
        if (is_weight_file(entry->d_name)) {
            status = add_name(files, entry->d_name, error);
        }
    }
    closedir(opened);
    if (status != CLEF_OK) {
        clef_weight_files_release(files);
    } else if (files->count > 1) {
        qsort(files->names, files->count, sizeof *files->names, compare_names);
    }
    return status;
}

bool clef_weight_files_has(const clef_weight_files *files, const char *name) {
    return files->count > 0 &&
           bsearch(&name, files->names, files->count, sizeof *files->names, compare_names) != NULL;
}

void clef_weight_files_release(clef_weight_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        clef_release(files->names[i]);
    }
    clef_release(files->names);
    *files = (clef_weight_files){0};
}

void clef_weight_files_write(clef_buffer *out, size_t count, const char *name) {
    if (count < SHOWN_LIMIT) {
        char text[CLEF_NAME_TEXT_BYTES];
        /* Names in a directory may be any bytes; only valid UTF-8 can be printed as a name. */
        size_t length = strlen(name);
        clef_text whole = {name, clef_utf8_valid_prefix(name, length)};
        clef_buffer_append_format(out, "%s%s", count == 0 ? "" : ", ",
                                  clef_name_text(whole, text, sizeof text));
    } else if (count == SHOWN_LIMIT) {
        clef_buffer_append_string(out, ", ...");
    }
}
