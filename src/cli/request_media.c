/* The members are written as they are read, file by file; only the request as a whole grows. */
#include "cli/request_media.h"

#include "base/base64.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/input.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Names of a folder's files. */
typedef struct name_list {
    char **names; /* owned, and each of them */
    size_t count, capacity;
} name_list;

static clef_status append_file(const char *path, const char *what, clef_buffer *body,
                               clef_error *error) {
    clef_buffer bytes = {0};
    clef_input input;
    clef_status status = clef_input_open(path, what, &input, error);
    if (status != CLEF_OK) {
        return status;
    }
    status = clef_input_read_all(&input, &bytes, error);
    if (status == CLEF_OK && bytes.length == 0) {
        status = clef_fail(error, CLEF_BAD_REQUEST, "%s \"%s\" is empty", what, path);
    }
    if (status == CLEF_OK) {
        clef_buffer_append_byte(body, '"');
        clef_base64_append(body, bytes.bytes, bytes.length);
        clef_buffer_append_byte(body, '"');
        status = clef_buffer_check(body, "the request", error);
    }
    clef_input_close(&input);
    clef_buffer_release(&bytes);
    return status;
}

clef_status clef_request_media_append_file(const char *path, clef_buffer *body, clef_error *error) {
    return append_file(path, "the picture", body, error);
}

/* ---- folders of frames ---------------------------------------------------------------------- */

static void release_names(name_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        clef_release(list->names[i]);
    }
    clef_release(list->names);
}

/* The path of a file in the folder, at the end of the list. */
static bool add_name(const char *folder, const char *name, name_list *list) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
        char **grown = list->names == NULL ? clef_allocate(capacity, sizeof *grown)
                                           : clef_reallocate(list->names, capacity, sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        list->names = grown;
        list->capacity = capacity;
    }
    char *path = clef_path_join(folder, name);
    if (path == NULL) {
        return false;
    }
    list->names[list->count++] = path;
    return true;
}

static int compare_names(const void *a, const void *b) {
    char *const *first = a, *const *second = b;
    return strcmp(*first, *second);
}

static clef_status list_folder(const char *path, name_list *list, clef_error *error) {
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return clef_fail(error, CLEF_USAGE, "cannot open the video \"%s\": %s", path,
                         strerror(errno));
    }
    clef_status status = CLEF_OK;
    for (const struct dirent *entry = readdir(folder); entry != NULL && status == CLEF_OK;
         entry = readdir(folder)) {
        if (entry->d_name[0] != '.' && !add_name(path, entry->d_name, list)) {
            status = clef_fail_memory(error, sizeof *list->names, "the names of frames");
        }
    }
    closedir(folder);
    if (list->count > 0) {
        qsort(list->names, list->count, sizeof *list->names, compare_names);
    }
    return status;
}

static clef_status append_folder(const char *path, clef_buffer *body, clef_error *error) {
    name_list list = {0};
    clef_status status = list_folder(path, &list, error);
    clef_buffer_append_byte(body, '[');
    for (size_t i = 0; i < list.count && status == CLEF_OK; i++) {
        clef_buffer_append_string(body, i > 0 ? "," : "");
        status = append_file(list.names[i], "the frame", body, error);
    }
    clef_buffer_append_byte(body, ']');
    release_names(&list);
    return status;
}

/* ---- members -------------------------------------------------------------------------------- */

static clef_status append_video(const char *path, clef_buffer *body, clef_error *error) {
    struct stat facts;
    bool is_folder = stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
    return is_folder ? append_folder(path, body, error)
                     : append_file(path, "the video", body, error);
}

static clef_status append_list(const char *member, const clef_argument_list *list,
                               clef_status (*append)(const char *path, clef_buffer *body,
                                                     clef_error *error),
                               clef_buffer *body, clef_error *error) {
    clef_status status = CLEF_OK;
    if (list->count == 0) {
        return CLEF_OK;
    }
    clef_buffer_append_format(body, ",\"%s\":[", member);
    for (size_t i = 0; i < list->count && status == CLEF_OK; i++) {
        clef_buffer_append_string(body, i > 0 ? "," : "");
        status = append(list->items[i], body, error);
    }
    clef_buffer_append_byte(body, ']');
    return status;
}

clef_status clef_request_media_append(const clef_settings *settings, clef_buffer *body,
                                      clef_error *error) {
    clef_status status =
        append_list("images", &settings->images, clef_request_media_append_file, body, error);
    return status == CLEF_OK ? append_list("videos", &settings->videos, append_video, body, error)
                             : status;
}
