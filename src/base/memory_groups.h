/* What control groups, of either version, leave of memory to a process. Paths are parameters, so
 * that a test can lay out groups of its own. */
#ifndef CLEF_BASE_MEMORY_GROUPS_H
#define CLEF_BASE_MEMORY_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#define CLEF_MEMORY_GROUPS_ROOT "/sys/fs/cgroup"
#define CLEF_MEMORY_GROUPS_LIST "/proc/self/cgroup"

/* The least that any group above the process leaves: those that the file `list` names below the
 * folder `root`, and the root itself, which is what a container sees of its own. For private memory
 * file pages that can be dropped at once are free; `for_files`: all of them are, because what pages
 * of files may take is asked. UINT64_MAX when there is no limit. */
uint64_t clef_memory_groups_left(const char *root, const char *list, bool for_files);

/* The number behind `key` at the start of a line of a file; the first of the file when key is "";
 * `otherwise` when there is none. */
uint64_t clef_system_file_number(const char *path, const char *key, uint64_t otherwise);

#endif
