/* Sorting the members of an object by key: shared by the tree (finding repeated keys) and the
 * writer (sorted objects). Private to layer base. */
#ifndef CLEF_BASE_JSON_MEMBERS_H
#define CLEF_BASE_JSON_MEMBERS_H

#include "base/json.h"

/* Sorts by the bytes of the keys; members of equal keys keep their order. `space` is scratch memory
 * for as many pointers. At most count · log2(count) comparisons, whatever the keys are. */
void clef_json_members_sort(const clef_json **members, const clef_json **space, size_t count);

#endif
