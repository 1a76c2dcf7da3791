/* The order of places is the whole content of this file. */
#include "cli/model_lookup.h"

#include "base/file.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef CLEF_INSTALLED_MODEL
#error "CLEF_INSTALLED_MODEL must name the directory of the installed default model"
#endif

/* The directory above the one of the running program, without a slash at its end; empty when the
 * system keeps it secret. */
static void find_program_prefix(char directory[PATH_MAX]) {
    ssize_t length = readlink("/proc/self/exe", directory, PATH_MAX - 1);
    directory[length > 0 ? length : 0] = '\0';
    for (int i = 0; i < 2; i += 1) {
        char *slash = strrchr(directory, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
    }
}

/* Appends directory and rest when that is a path that exists; else remembers it in `tried`. */
static bool try_place(const char *directory, const char *rest, clef_buffer *path,
                      clef_buffer *tried) {
    clef_buffer_clear(path);
    clef_buffer_append_format(path, "%s%s", directory, rest);
    if (path->has_failed || clef_path_exists(path->bytes)) {
        return true;
    }
    clef_buffer_append_format(tried, "%s%s", tried->length > 0 ? ", " : "", path->bytes);
    return false;
}

static bool find_default(clef_buffer *path, clef_buffer *tried) {
    char prefix[PATH_MAX];
    find_program_prefix(prefix);
    /* The model beside this program first: an installation may have been moved or copied. */
    return try_place(prefix, "/share/clef/models/clef-tiny", path, tried) ||
           try_place(CLEF_INSTALLED_MODEL, "", path, tried) ||
           try_place(prefix, "/models/clef-tiny", path, tried);
}

clef_status clef_model_lookup(const clef_settings *settings, const clef_environment *environment,
                              clef_buffer *path, clef_error *error) {
    const char *said = settings->model != NULL ? settings->model : environment->model;
    clef_buffer tried = {0};
    clef_status status = CLEF_OK;
    if (said != NULL && !clef_path_exists(said)) {
        status =
            clef_fail(error, CLEF_BAD_FILE, "%s names a model directory that does not exist: %s",
                      settings->model != NULL ? "--model" : "CLEF_MODEL", said);
    } else if (said != NULL) {
        clef_buffer_append_string(path, said);
    } else if (!find_default(path, &tried)) {
        status =
            clef_fail(error, CLEF_BAD_FILE,
                      "no model: give --model DIR or set CLEF_MODEL; no default model is in %s",
                      tried.length > 0 ? tried.bytes : "any known place");
    }
    if (status == CLEF_OK) {
        status = clef_buffer_check(path, "the path of the model", error);
    }
    clef_buffer_release(&tried);
    return status;
}

void clef_model_lookup_name(const char *path, clef_buffer *name) {
    /* "." and ".." name nothing; the system knows what they stand for. */
    char real[PATH_MAX];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        length -= 1;
    }
    const char *start = memrchr(path, '/', length);
    start = start != NULL && length > 1 ? start + 1 : path;
    clef_text last = {start, length - (size_t)(start - path)};
    if (clef_text_equals(last, CLEF_TEXT(".")) || clef_text_equals(last, CLEF_TEXT(".."))) {
        if (realpath(path, real) != NULL) {
            const char *slash = strrchr(real, '/');
            last = clef_text_of(slash != NULL && slash[1] != '\0' ? slash + 1 : real);
        }
    }
    clef_buffer_append_text(name, last);
}
