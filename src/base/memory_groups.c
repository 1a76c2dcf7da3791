/* Adapter: the files of control groups. Version 2 has one tree, version 1 one for memory alone; a
 * machine may have both. A limit counts for all groups below it, so every ancestor is asked. */
#include "base/memory_groups.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 1024 };

/* How a version calls its files and what is in them. */
typedef struct group_files {
    const char *tree; /* below the root */
    const char *limit, *used, *inactive_key, *active_key;
} group_files;

static const group_files version_1 = {"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                      "total_inactive_file ", "total_active_file "};
static const group_files version_2 = {"", "memory.max", "memory.current", "inactive_file ",
                                      "active_file "};

uint64_t clef_system_file_number(const char *path, const char *key, uint64_t otherwise) {
    char line[128];
    uint64_t number = otherwise;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return otherwise;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            uint64_t found;
            number = sscanf(line + strlen(key), " %" SCNu64, &found) == 1 ? found : otherwise;
            break;
        }
    }
    fclose(file);
    return number;
}

static uint64_t read_file(const char *folder, const char *name, const char *key,
                          uint64_t otherwise) {
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return clef_system_file_number(path, key, otherwise);
}

static uint64_t read_group(const char *folder, const group_files *files, bool for_files) {
    uint64_t limit = read_file(folder, files->limit, "", UINT64_MAX);
    if (limit == UINT64_MAX) {
        return UINT64_MAX;
    }
    uint64_t used = read_file(folder, files->used, "", 0);
    uint64_t free = read_file(folder, "memory.stat", files->inactive_key, 0);
    free += for_files ? read_file(folder, "memory.stat", files->active_key, 0) : 0;
    used = used > free ? used - free : 0;
    return limit > used ? limit - used : 0;
}

/* The group at `path` (starts with a slash) and all above it. */
static uint64_t read_groups(const char *root, const group_files *files, const char *path,
                            bool for_files) {
    char folder[PATH_BYTES];
    uint64_t left = UINT64_MAX;
    /* A group outside of what is mounted here shows as "/..": then only the root can be asked. */
    bool is_below = strstr(path, "/..") == NULL && strcmp(path, "/") != 0;
    int top = snprintf(folder, sizeof folder, "%s%s", root, files->tree);
    int length = snprintf(folder, sizeof folder, "%s%s%s", root, files->tree, is_below ? path : "");
    if (top < 0 || length < 0 || (size_t)length >= sizeof folder) {
        return UINT64_MAX;
    }
    for (;;) {
        uint64_t of_group = read_group(folder, files, for_files);
        left = of_group < left ? of_group : left;
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= (size_t)top || slash == NULL) {
            return left;
        }
        *slash = '\0';
    }
}

/* "memory" stands in a list of controllers separated by commas. */
static bool has_memory(const char *controllers) {
    for (const char *at = controllers; *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        if (strcspn(at, ",") == strlen("memory") && strncmp(at, "memory", strlen("memory")) == 0) {
            return true;
        }
    }
    return false;
}

uint64_t clef_memory_groups_left(const char *root, const char *list, bool for_files) {
    /* The roots, also when the list cannot be read. */
    uint64_t left = read_groups(root, &version_2, "/", for_files);
    uint64_t other = read_groups(root, &version_1, "/", for_files);
    left = other < left ? other : left;
    char line[PATH_BYTES];
    FILE *file = fopen(list, "re");
    if (file == NULL) {
        return left;
    }
    /* "4:memory:/a/b" or, version 2, "0::/a/b". */
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (path == NULL) {
            continue;
        }
        controllers++;
        *path++ = '\0';
        other = UINT64_MAX;
        if (*controllers == '\0') {
            other = read_groups(root, &version_2, path, for_files);
        } else if (has_memory(controllers)) {
            other = read_groups(root, &version_1, path, for_files);
        }
        left = other < left ? other : left;
    }
    fclose(file);
    return left;
}
