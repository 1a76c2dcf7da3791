/* Writing with every byte checked: a full disk may show at the write, or only when the system is
 * asked to put the bytes on the disk. */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* The system's own texts follow the locale and a buffer of the process, so these are ours. */
static const char *reason_text(int reason) {
    switch (reason) {
    case ENOSPC:
        return "the disk is full";
    case EDQUOT:
        return "the disk quota is used up";
    case EFBIG:
        return "the file would be larger than the system allows";
    case EROFS:
        return "the file system is read-only";
    case EACCES:
    case EPERM:
        return "permission is denied";
    case EEXIST:
        return "something of that name is there already";
    case EMFILE:
    case ENFILE:
        return "too many files are open already";
    case EIO:
        return "the disk reports an error";
    default:
        return NULL;
    }
}

clef_status clef_new_file_fail(const char *directory, const char *name, int reason,
                               clef_error *error) {
    const char *slash = name[0] == '\0' ? "" : "/";
    const char *text = reason_text(reason);
    char number[32];
    if (text == NULL) {
        snprintf(number, sizeof number, "system error %d", reason);
        text = number;
    }
    clef_fail(error, CLEF_INTERNAL, "cannot write %s%s%s: %s", directory, slash, name, text);
    clef_error_set_place(error, "%s%s%s", directory, slash, name);
    return CLEF_INTERNAL;
}

clef_status clef_new_file_create(int folder, const char *directory, const char *name,
                                 clef_new_file *file, clef_error *error) {
    *file = (clef_new_file){-1, directory, name};
    do {
        file->descriptor = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file->descriptor < 0 && errno == EINTR);
    return file->descriptor < 0 ? clef_new_file_fail(directory, name, errno, error) : CLEF_OK;
}

clef_status clef_new_file_write(clef_new_file *file, uint64_t offset, const void *bytes,
                                size_t length, clef_error *error) {
    const char *rest = bytes;
    while (length > 0) {
        ssize_t written = pwrite(file->descriptor, rest, length, (off_t)offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            int reason = written < 0 ? errno : ENOSPC;
            return clef_new_file_fail(file->directory, file->name, reason, error);
        }
        rest += written;
        offset += (uint64_t)written;
        length -= (size_t)written;
    }
    return CLEF_OK;
}

clef_status clef_new_file_finish(clef_new_file *file, clef_error *error) {
    int reason = fsync(file->descriptor) == 0 ? 0 : errno;
    /* Some file systems cannot be asked; they take the bytes all the same. */
    reason = reason == EINVAL || reason == EROFS ? 0 : reason;
    if (close(file->descriptor) != 0 && errno != EINTR && reason == 0) {
        reason = errno;
    }
    file->descriptor = -1;
    return reason == 0 ? CLEF_OK : clef_new_file_fail(file->directory, file->name, reason, error);
}

void clef_new_file_abandon(clef_new_file *file) {
    if (file->descriptor >= 0) {
        close(file->descriptor);
        file->descriptor = -1;
    }
}
