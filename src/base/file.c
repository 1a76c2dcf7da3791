/* Files in memory. A file is judged by its open descriptor, not by its path, so that it cannot be
 * exchanged between the check and the reading, and it is opened without blocking, so that a pipe
 * with nobody at its other end is refused rather than waited for. */
#include "base/file.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The last part of a path: messages name the file, error->place holds the whole path. */
static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL || slash[1] == '\0' ? path : slash + 1;
}

static clef_status fail_missing(const char *path, clef_error *error) {
    struct stat link;
    const char *name = file_name(path);
    if (lstat(path, &link) == 0 && S_ISLNK(link.st_mode)) {
        char target[1024];
        ssize_t length = readlink(path, target, sizeof target);
        return clef_fail(error, CLEF_BAD_FILE,
                         "%s is a dangling link: its target %.*s does not exist", name,
                         length < 0 ? 0 : (int)length, target);
    }
    return clef_fail(error, CLEF_BAD_FILE, "%s is missing: there is no such file", name);
}

static clef_status fail_open(const char *path, int reason, clef_error *error) {
    const char *name = file_name(path);
    clef_status status;
    switch (reason) {
    case ENOENT:
        status = fail_missing(path, error);
        break;
    case ENOTDIR:
        status = clef_fail(error, CLEF_BAD_FILE,
                           "%s is missing: a part of its path is not a directory", name);
        break;
    case ELOOP:
        status = clef_fail(error, CLEF_BAD_FILE, "%s is a link that leads back to itself (a loop)",
                           name);
        break;
    case EACCES:
    case EPERM:
        status = clef_fail(error, CLEF_BAD_FILE, "%s is unreadable: permission is denied", name);
        break;
    case ENXIO:
        status = clef_fail(error, CLEF_BAD_FILE, "%s is not a regular file", name);
        break;
    case EMFILE:
    case ENFILE:
        status = clef_fail(error, CLEF_BAD_FILE,
                           "%s is unreadable: too many files are open already", name);
        break;
    case ENOMEM:
        status = clef_fail(error, CLEF_OUT_OF_MEMORY, "out of memory: opening %s", name);
        break;
    default:
        status = clef_fail(error, CLEF_BAD_FILE, "%s is unreadable: system error %d", name, reason);
        break;
    }
    clef_error_set_place(error, "%s", path);
    return status;
}

static clef_status fail_file(const char *path, const char *what, clef_error *error) {
    clef_fail(error, CLEF_BAD_FILE, "%s %s", file_name(path), what);
    clef_error_set_place(error, "%s", path);
    return CLEF_BAD_FILE;
}

/* Opens a regular file and tells its size; on failure no descriptor is left open. */
static clef_status open_regular(const char *path, int *descriptor, size_t *length,
                                clef_error *error) {
    int opened;
    do {
        opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    } while (opened < 0 && errno == EINTR);
    if (opened < 0) {
        return fail_open(path, errno, error);
    }
    struct stat found;
    clef_status status = CLEF_OK;
    if (fstat(opened, &found) != 0) {
        status = fail_open(path, errno, error);
    } else if (S_ISDIR(found.st_mode)) {
        status = fail_file(path, "is a directory, expected a file", error);
    } else if (!S_ISREG(found.st_mode)) {
        status = fail_file(path, "is not a regular file", error);
    } else if (found.st_size < 0 || (uint64_t)found.st_size > SIZE_MAX - 1) {
        status = fail_file(path, "is larger than the memory of this machine can address", error);
    }
    if (status != CLEF_OK) {
        close(opened);
        return status;
    }
    *descriptor = opened;
    *length = (size_t)found.st_size;
    return CLEF_OK;
}

clef_status clef_file_map(const char *path, clef_file *file, clef_error *error) {
    *file = (clef_file){0};
    int descriptor;
    size_t length;
    clef_status status = open_regular(path, &descriptor, &length, error);
    if (status != CLEF_OK) {
        return status;
    }
    if (length == 0) {
        status = fail_file(path, "is empty", error);
    } else {
        void *bytes = mmap(NULL, length, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (bytes == MAP_FAILED) {
            status = fail_open(path, errno, error);
        } else {
            *file = (clef_file){bytes, length, true, descriptor};
        }
    }
    if (status != CLEF_OK) {
        close(descriptor);
    }
    return status;
}

/* Reads exactly `length` bytes. */
static clef_status read_whole(int descriptor, const char *path, char *bytes, size_t length,
                              clef_error *error) {
    size_t have = 0;
    while (have < length) {
        ssize_t got = read(descriptor, bytes + have, length - have);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail_open(path, errno, error);
        }
        if (got == 0) {
            return fail_file(path, "became shorter while it was read", error);
        }
        have += (size_t)got;
    }
    return CLEF_OK;
}

clef_status clef_file_read(const char *path, size_t limit, clef_file *file, clef_error *error) {
    *file = (clef_file){0};
    int descriptor;
    size_t length;
    clef_status status = open_regular(path, &descriptor, &length, error);
    if (status != CLEF_OK) {
        return status;
    }
    char *bytes = NULL;
    if (length > limit) {
        status = clef_fail(error, CLEF_BAD_FILE, "%s has %zu bytes; the limit is %zu",
                           file_name(path), length, limit);
        clef_error_set_place(error, "%s", path);
        goto fail;
    }
    bytes = clef_allocate(length + 1, 1);
    if (bytes == NULL) {
        status = clef_fail_memory(error, length + 1, file_name(path));
        clef_error_set_place(error, "%s", path);
        goto fail;
    }
    status = read_whole(descriptor, path, bytes, length, error);
    if (status != CLEF_OK) {
        goto fail;
    }
    close(descriptor);
    *file = (clef_file){.bytes = bytes, .length = length, .is_mapped = false};
    return CLEF_OK;

fail:
    clef_release(bytes);
    close(descriptor);
    return status;
}

/* Linux reads no more for one call than the read-ahead of the disk, which is 128 KiB by default,
 * and drops the rest of the wish silently. */
#define PREFETCH_BYTES ((size_t)128 << 10)

void clef_file_prefetch(const void *bytes, size_t length) {
    long page = sysconf(_SC_PAGESIZE);
    if (length == 0 || page <= 0) {
        return;
    }
    /* madvise wants the beginning of a page. */
    uintptr_t end = (uintptr_t)bytes + length;
    for (uintptr_t at = (uintptr_t)bytes / (size_t)page * (size_t)page; at < end;
         at += PREFETCH_BYTES) {
        size_t left = end - at;
        (void)madvise((void *)at, left < PREFETCH_BYTES ? left : PREFETCH_BYTES, MADV_WILLNEED);
    }
}

void clef_file_let_go(const clef_file *file, const void *bytes, size_t length) {
    long page = sysconf(_SC_PAGESIZE);
    if (!file->is_mapped || page <= 0) {
        return;
    }
    uintptr_t begin = ((uintptr_t)bytes + (size_t)page - 1) / (size_t)page * (size_t)page;
    uintptr_t end = ((uintptr_t)bytes + length) / (size_t)page * (size_t)page;
    if (begin < end) {
        /* First out of this process, because the system keeps what is mapped; then out of memory.
         * A quarter of the time of MADV_PAGEOUT, which also wants the file to be ours. */
        (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
        (void)posix_fadvise(file->descriptor, (off_t)(begin - (uintptr_t)file->bytes),
                            (off_t)(end - begin), POSIX_FADV_DONTNEED);
    }
}

void clef_file_close(clef_file *file) {
    void *bytes = (void *)(uintptr_t)file->bytes;
    if (file->is_mapped) {
        munmap(bytes, file->length);
        close(file->descriptor);
    } else {
        clef_release(bytes);
    }
    *file = (clef_file){0};
}

char *clef_path_join(const char *directory, const char *name) {
    size_t directory_bytes = strlen(directory);
    size_t name_bytes = strlen(name);
    bool needs_slash = directory_bytes > 0 && directory[directory_bytes - 1] != '/';
    size_t bytes;
    if (!clef_add_size(directory_bytes, name_bytes, &bytes) || !clef_add_size(bytes, 2, &bytes)) {
        return NULL;
    }
    char *path = clef_allocate(bytes, 1);
    if (path == NULL) {
        return NULL;
    }
    memcpy(path, directory, directory_bytes);
    path[directory_bytes] = '/';
    memcpy(path + directory_bytes + needs_slash, name, name_bytes);
    path[directory_bytes + needs_slash + name_bytes] = '\0';
    return path;
}

bool clef_path_exists(const char *path) {
    struct stat found;
    return stat(path, &found) == 0;
}

bool clef_path_is_taken(const char *path) {
    struct stat found;
    return lstat(path, &found) == 0;
}
