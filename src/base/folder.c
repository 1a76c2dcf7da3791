/* The lock is the system's on the directory itself: it leaves no file behind and ends with the
 * process, however that ends. */
#include "base/folder.h"

#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static clef_status refuse(const char *path, const char *reason, clef_error *error) {
    clef_fail(error, CLEF_USAGE, "the directory %s %s", path, reason);
    clef_error_set_place(error, "%s", path);
    return CLEF_USAGE;
}

static clef_status lock(const clef_folder *folder, clef_error *error) {
    if (faccessat(folder->descriptor, ".", W_OK, 0) != 0) {
        return refuse(folder->path, "cannot be written: permission is denied", error);
    }
    if (flock(folder->descriptor, LOCK_EX | LOCK_NB) == 0) {
        return CLEF_OK;
    }
    if (errno != EWOULDBLOCK) {
        return refuse(folder->path, "cannot be locked: the file system does not do that", error);
    }
    clef_fail(error, CLEF_BUSY, "the directory %s is in use by another session", folder->path);
    clef_error_set_place(error, "%s", folder->path);
    return CLEF_BUSY;
}

clef_status clef_folder_open(const char *path, clef_folder *folder, clef_error *error) {
    size_t length = strlen(path);
    *folder = (clef_folder){0};
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
        return refuse(path,
                      errno == ENOENT    ? "does not exist"
                      : errno == ENOTDIR ? "is no directory"
                                         : "cannot be opened",
                      error);
    }
    folder->descriptor = descriptor;
    folder->path = clef_allocate(length + 1, 1);
    if (folder->path == NULL) {
        close(descriptor);
        return clef_fail_memory(error, length + 1, "a path");
    }
    memcpy(folder->path, path, length);
    clef_status status = lock(folder, error);
    if (status != CLEF_OK) {
        clef_folder_close(folder);
    }
    return status;
}

void clef_folder_close(clef_folder *folder) {
    if (folder->path != NULL) {
        close(folder->descriptor);
        clef_release(folder->path);
        *folder = (clef_folder){0};
    }
}

void clef_folder_visit(const clef_folder *folder, clef_folder_visitor *visit, void *context) {
    int copy = openat(folder->descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *opened = copy < 0 ? NULL : fdopendir(copy);
    if (opened == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(opened)) != NULL) {
        struct stat facts;
        if (fstatat(folder->descriptor, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(facts.st_mode)) {
            visit(context, entry->d_name, (uint64_t)facts.st_size,
                  (uint64_t)facts.st_mtim.tv_sec * 1000000000u + (uint64_t)facts.st_mtim.tv_nsec);
        }
    }
    closedir(opened);
}

int clef_folder_open_file(const clef_folder *folder, const char *name, uint64_t *bytes) {
    struct stat facts;
    int file = openat(folder->descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0 && (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode))) {
        close(file);
        return -1;
    }
    *bytes = file < 0 ? 0 : (uint64_t)facts.st_size;
    return file;
}

bool clef_folder_read(int file, uint64_t offset, void *bytes, size_t length) {
    char *rest = bytes;
    while (length > 0) {
        ssize_t got = pread(file, rest, length, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        rest += got;
        offset += (uint64_t)got;
        length -= (size_t)got;
    }
    return true;
}

void clef_folder_close_file(int file) {
    if (file >= 0) {
        close(file);
    }
}

clef_status clef_folder_rename(const clef_folder *folder, const char *from, const char *to,
                               clef_error *error) {
    if (renameat(folder->descriptor, from, folder->descriptor, to) != 0) {
        return clef_new_file_fail(folder->path, to, errno, error);
    }
    /* Some file systems cannot be asked; the name is there all the same. */
    (void)fsync(folder->descriptor);
    return CLEF_OK;
}

void clef_folder_remove(const clef_folder *folder, const char *name) {
    (void)unlinkat(folder->descriptor, name, 0);
}

void clef_folder_touch(const clef_folder *folder, const char *name) {
    (void)utimensat(folder->descriptor, name, NULL, AT_SYMLINK_NOFOLLOW);
}
