/* Adapter: Linux's /proc and the two versions of control groups. A file that is not there, or holds
 * something else, counts as a limit that nobody sets. */
#include "base/system_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* The number behind `key` at the start of a line; the first number of the file when key is "". */
static uint64_t read_number(const char *path, const char *key, uint64_t otherwise) {
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

/* What a control group leaves: its limit less what is used, where file pages that can be dropped at
 * once do not count as used. */
static uint64_t read_group(const char *limit_path, const char *used_path, const char *stat_path,
                           const char *inactive_key) {
    uint64_t limit = read_number(limit_path, "", UINT64_MAX);
    uint64_t used = read_number(used_path, "", 0);
    uint64_t inactive = read_number(stat_path, inactive_key, 0);
    if (limit == UINT64_MAX) {
        return UINT64_MAX;
    }
    used = used > inactive ? used - inactive : 0;
    return limit > used ? limit - used : 0;
}

uint64_t clef_system_memory_available(void) {
    uint64_t kilobytes = read_number("/proc/meminfo", "MemAvailable:", UINT64_MAX);
    uint64_t available = kilobytes == UINT64_MAX ? UINT64_MAX : kilobytes * 1024;
    uint64_t groups[] = {
        read_group("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
                   "/sys/fs/cgroup/memory.stat", "inactive_file "),
        read_group("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                   "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                   "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file "),
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        available = groups[i] < available ? groups[i] : available;
    }
    return available;
}

clef_status clef_system_memory_require(uint64_t bytes, const char *what, clef_error *error) {
    uint64_t available = clef_system_memory_available();
    if (bytes <= available) {
        return CLEF_OK;
    }
    return clef_fail(error, CLEF_OUT_OF_MEMORY,
                     "%s take %" PRIu64 " bytes of memory; %" PRIu64 " bytes are available", what,
                     bytes, available);
}

uint64_t clef_system_memory_peak(void) {
    struct rusage usage;
    uint64_t kilobytes = read_number("/proc/self/status", "VmHWM:", 0);
    if (kilobytes == 0 && getrusage(RUSAGE_SELF, &usage) == 0) {
        kilobytes = (uint64_t)usage.ru_maxrss;
    }
    return kilobytes * 1024;
}

void clef_system_memory_restart_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "we");
    if (file != NULL) {
        (void)fwrite("5", 1, 1, file);
        fclose(file);
    }
}
