/* Adapter: Linux's /proc. A file that is not there, or holds something else, counts as a limit that
 * nobody sets. */
#include "base/system_memory.h"

#include "base/memory_groups.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#define UNKNOWN_SHARE ((uint64_t)1 << 30)

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* MemAvailable counts pages of files as free, whoever uses them. */
static uint64_t read_machine(void) {
    uint64_t kilobytes = clef_system_file_number("/proc/meminfo", "MemAvailable:", UINT64_MAX);
    return kilobytes == UINT64_MAX ? UINT64_MAX : kilobytes * 1024;
}

uint64_t clef_system_memory_available(void) {
    return least(read_machine(),
                 clef_memory_groups_left(CLEF_MEMORY_GROUPS_ROOT, CLEF_MEMORY_GROUPS_LIST, false));
}

uint64_t clef_system_memory_for_files(void) {
    return least(read_machine(),
                 clef_memory_groups_left(CLEF_MEMORY_GROUPS_ROOT, CLEF_MEMORY_GROUPS_LIST, true));
}

uint64_t clef_system_memory_share(unsigned part) {
    uint64_t available = clef_system_memory_available();
    return available == UINT64_MAX ? UNKNOWN_SHARE : available / part;
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
    uint64_t kilobytes = clef_system_file_number("/proc/self/status", "VmHWM:", 0);
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

uint64_t clef_system_bytes_read(void) {
    struct rusage usage;
    /* Counted in blocks of 512 bytes when a page is asked for, whoever waits for it. */
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_inblock * 512 : 0;
}
