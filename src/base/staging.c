/* The folder is held by descriptors, so that it can neither be exchanged nor need a path built in
 * memory while cleaning up. Names of new files are noted before the files are created. */
#include "base/staging.h"

#include "base/file.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES 65536

struct clef_staging {
    char *directory; /* owned */
    char *path;      /* owned; of the hidden folder */
    int folder;      /* descriptor of the directory */
    int hidden;      /* of the hidden folder; -1 until it is made */
    bool made_directory;
    bool is_published;
    char **names; /* owned; [count], of files created so far */
    size_t count, capacity;
    size_t moved; /* of the first so many names */
};

bool clef_path_is_same(const char *a, const char *b) {
    struct stat left, right;
    return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
           left.st_ino == right.st_ino;
}

static char *copy_string(const char *string) {
    size_t length = strlen(string);
    char *copy = clef_allocate(length + 1, 1);
    if (copy != NULL) {
        memcpy(copy, string, length);
    }
    return copy;
}

/* ---- opening ---- */

static clef_status fail_directory(const char *directory, int reason, clef_error *error) {
    clef_status status;
    switch (reason) {
    case ENOTDIR:
    case EEXIST:
        status = clef_fail(error, CLEF_USAGE, "the output %s is no directory", directory);
        break;
    case ENOENT:
        status = clef_fail(error, CLEF_USAGE,
                           "the output %s cannot be made: the directory above it does not exist",
                           directory);
        break;
    case EACCES:
    case EPERM:
        status = clef_fail(error, CLEF_USAGE,
                           "the output %s cannot be written: permission is denied", directory);
        break;
    default:
        return clef_new_file_fail(directory, "", reason, error);
    }
    clef_error_set_place(error, "%s", directory);
    return status;
}

/* Calls visit for every name in a folder until it returns true. */
static bool visit_names(int folder, bool (*visit)(int folder, const char *name, void *context),
                        void *context) {
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *opened = copy < 0 ? NULL : fdopendir(copy);
    if (opened == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return false;
    }
    bool has_stopped = false;
    const struct dirent *entry;
    while (!has_stopped && (entry = readdir(opened)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            has_stopped = visit(folder, name, context);
        }
    }
    closedir(opened);
    return has_stopped;
}

static bool note_name(int folder, const char *name, void *context) {
    (void)folder;
    snprintf(context, 256, "%s", name);
    return true;
}

static bool remove_name(int folder, const char *name, void *context) {
    (void)context;
    unlinkat(folder, name, 0);
    return false;
}

static clef_status open_directory(clef_staging *staging, bool may_replace, clef_error *error) {
    const char *directory = staging->directory;
    staging->made_directory = mkdir(directory, 0777) == 0;
    if (!staging->made_directory && errno != EEXIST) {
        return fail_directory(directory, errno, error);
    }
    staging->folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (staging->folder < 0) {
        return fail_directory(directory, errno, error);
    }
    char name[256];
    if (!may_replace && visit_names(staging->folder, note_name, name)) {
        clef_fail(error, CLEF_USAGE, "the output %s is not empty: it holds %s", directory, name);
        clef_error_set_place(error, "%s", directory);
        return CLEF_USAGE;
    }
    return CLEF_OK;
}

static clef_status open_hidden(clef_staging *staging, clef_error *error) {
    int made = mkdirat(staging->folder, CLEF_STAGING_NAME, 0777);
    if (made != 0 && errno != EEXIST) {
        return fail_directory(staging->directory, errno, error);
    }
    staging->hidden =
        openat(staging->folder, CLEF_STAGING_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (staging->hidden < 0) {
        return clef_new_file_fail(staging->directory, CLEF_STAGING_NAME, errno, error);
    }
    if (made != 0) {
        /* Left by a process that was killed; the caller has said that it may be replaced. */
        visit_names(staging->hidden, remove_name, NULL);
    }
    return CLEF_OK;
}

clef_status clef_staging_open(const char *directory, bool may_replace, clef_staging **out,
                              clef_error *error) {
    *out = NULL;
    clef_staging *staging = clef_allocate(1, sizeof *staging);
    if (staging == NULL) {
        return clef_fail_memory(error, sizeof *staging, "the output directory");
    }
    staging->folder = staging->hidden = -1;
    staging->directory = copy_string(directory);
    staging->path = clef_path_join(directory, CLEF_STAGING_NAME);
    clef_status status = CLEF_OK;
    if (staging->directory == NULL || staging->path == NULL) {
        status = clef_fail_memory(error, strlen(directory), "a path");
    }
    if (status == CLEF_OK) {
        status = open_directory(staging, may_replace, error);
    }
    if (status == CLEF_OK) {
        status = open_hidden(staging, error);
    }
    if (status != CLEF_OK) {
        clef_staging_close(staging);
        return status;
    }
    *out = staging;
    return CLEF_OK;
}

const char *clef_staging_path(const clef_staging *staging) {
    return staging->path;
}

/* ---- files ---- */

/* Notes the name of a file that is about to be created. */
static clef_status add_name(clef_staging *staging, const char *name, clef_error *error) {
    if (staging->count == staging->capacity) {
        size_t capacity = staging->capacity == 0 ? 16 : 2 * staging->capacity;
        char **grown = clef_reallocate(staging->names, capacity, sizeof *grown);
        if (grown == NULL) {
            return clef_fail_memory(error, capacity * sizeof *grown, "the list of new files");
        }
        staging->names = grown;
        staging->capacity = capacity;
    }
    char *copy = copy_string(name);
    if (copy == NULL) {
        return clef_fail_memory(error, strlen(name), "the name of a file");
    }
    staging->names[staging->count++] = copy;
    return CLEF_OK;
}

clef_status clef_staging_create(clef_staging *staging, const char *name, clef_new_file *file,
                                clef_error *error) {
    *file = (clef_new_file){.descriptor = -1};
    clef_status status = add_name(staging, name, error);
    if (status != CLEF_OK) {
        return status;
    }
    /* The list's own copy of the name lives as long as the file may. */
    return clef_new_file_create(staging->hidden, staging->directory,
                                staging->names[staging->count - 1], file, error);
}

static clef_status fail_source(const char *source, const char *name, int reason,
                               clef_error *error) {
    clef_fail(error, CLEF_BAD_FILE, "%s/%s cannot be read: %s %d", source, name,
              reason == EACCES ? "permission is denied, system error" : "system error", reason);
    clef_error_set_place(error, "%s/%s", source, name);
    return CLEF_BAD_FILE;
}

static clef_status copy_bytes(int from, clef_new_file *file, const char *source,
                              clef_error *error) {
    char bytes[COPY_BYTES];
    uint64_t offset = 0;
    for (;;) {
        ssize_t got = read(from, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail_source(source, file->name, errno, error);
        }
        if (got == 0) {
            return CLEF_OK;
        }
        clef_status status = clef_new_file_write(file, offset, bytes, (size_t)got, error);
        if (status != CLEF_OK) {
            return status;
        }
        offset += (uint64_t)got;
    }
}

static clef_status copy_file(clef_staging *staging, const char *source, int from, const char *name,
                             clef_error *error) {
    clef_new_file file;
    clef_status status = clef_staging_create(staging, name, &file, error);
    if (status == CLEF_OK) {
        status = copy_bytes(from, &file, source, error);
    }
    if (status == CLEF_OK) {
        status = clef_new_file_finish(&file, error);
    }
    clef_new_file_abandon(&file);
    return status;
}

typedef struct folder_copy {
    clef_staging *staging;
    const char *source;
    clef_name_test *is_wanted;
    clef_status status;
    clef_error *error;
} folder_copy;

/* Copies one file when it is wanted; true stops at the first failure. */
static bool copy_name(int folder, const char *name, void *context) {
    folder_copy *copy = context;
    struct stat found;
    if (!copy->is_wanted(name)) {
        return false;
    }
    if (fstatat(folder, name, &found, 0) != 0) {
        copy->status = fail_source(copy->source, name, errno, copy->error);
        return true;
    }
    if (!S_ISREG(found.st_mode)) {
        return false;
    }
    int from = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (from < 0) {
        copy->status = fail_source(copy->source, name, errno, copy->error);
        return true;
    }
    copy->status = copy_file(copy->staging, copy->source, from, name, copy->error);
    close(from);
    return copy->status != CLEF_OK;
}

clef_status clef_staging_copy(clef_staging *staging, const char *source, clef_name_test *is_wanted,
                              clef_error *error) {
    int folder = open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return fail_source(source, "", errno, error);
    }
    folder_copy copy = {staging, source, is_wanted, CLEF_OK, error};
    visit_names(folder, copy_name, &copy);
    close(folder);
    return copy.status;
}

/* ---- moving ---- */

typedef struct removal {
    clef_name_test *is_stale;
} removal;

static bool remove_stale(int folder, const char *name, void *context) {
    const removal *what = context;
    if (what->is_stale(name)) {
        unlinkat(folder, name, 0);
    }
    return false;
}

/* Puts the name at the end of the list. */
static void move_to_end(clef_staging *staging, const char *name) {
    for (size_t i = 0; i + 1 < staging->count; i++) {
        if (strcmp(staging->names[i], name) == 0) {
            char *found = staging->names[i];
            staging->names[i] = staging->names[staging->count - 1];
            staging->names[staging->count - 1] = found;
            return;
        }
    }
}

clef_status clef_staging_publish(clef_staging *staging, const char *last, clef_name_test *is_stale,
                                 clef_error *error) {
    removal stale = {is_stale};
    move_to_end(staging, last);
    /* From here on, until the last move, the directory is no whole set of files for anybody. */
    if (unlinkat(staging->folder, last, 0) != 0 && errno != ENOENT) {
        return clef_new_file_fail(staging->directory, last, errno, error);
    }
    visit_names(staging->folder, remove_stale, &stale);
    while (staging->moved < staging->count) {
        const char *name = staging->names[staging->moved];
        if (renameat(staging->hidden, name, staging->folder, name) != 0) {
            return clef_new_file_fail(staging->directory, name, errno, error);
        }
        staging->moved++;
    }
    unlinkat(staging->folder, CLEF_STAGING_NAME, AT_REMOVEDIR);
    /* The moves themselves; a file system that cannot be asked has done them all the same. */
    (void)fsync(staging->folder);
    staging->is_published = true;
    return CLEF_OK;
}

/* Takes back the files that were moved or not. */
static void remove_files(clef_staging *staging) {
    for (size_t i = 0; i < staging->count; i++) {
        unlinkat(i < staging->moved ? staging->folder : staging->hidden, staging->names[i], 0);
    }
    unlinkat(staging->folder, CLEF_STAGING_NAME, AT_REMOVEDIR);
}

void clef_staging_close(clef_staging *staging) {
    if (staging == NULL) {
        return;
    }
    if (staging->hidden >= 0) {
        if (!staging->is_published) {
            remove_files(staging);
        }
        close(staging->hidden);
    }
    if (staging->folder >= 0) {
        close(staging->folder);
    }
    if (staging->made_directory && !staging->is_published) {
        rmdir(staging->directory);
    }
    for (size_t i = 0; i < staging->count; i++) {
        clef_release(staging->names[i]);
    }
    clef_release(staging->names);
    clef_release(staging->path);
    clef_release(staging->directory);
    clef_release(staging);
}
