/* A bottom-up merge sort: stable, and with no bad case that a request could be crafted for. */
#include "base/json_members.h"

#include "base/size.h"

/* Runs of this length are sorted by insertion first; most objects are shorter. */
#define RUN_LENGTH 16

static bool is_after(const clef_json *a, const clef_json *b) {
    return clef_text_compare(a->key, b->key) > 0;
}

static void sort_run(const clef_json **members, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const clef_json *moving = members[i];
        size_t at = i;
        for (; at > 0 && is_after(members[at - 1], moving); at--) {
            members[at] = members[at - 1];
        }
        members[at] = moving;
    }
}

/* Merges the sorted runs [0, middle) and [middle, count) of `from` into `to`. */
static void merge_runs(const clef_json **from, size_t middle, size_t count, const clef_json **to) {
    size_t left = 0;
    size_t right = middle;
    for (size_t i = 0; i < count; i++) {
        bool takes_right = left == middle || (right < count && is_after(from[left], from[right]));
        to[i] = takes_right ? from[right++] : from[left++];
    }
}

void clef_json_members_sort(const clef_json **members, const clef_json **space, size_t count) {
    for (size_t begin = 0; begin < count; begin += RUN_LENGTH) {
        sort_run(members + begin, clef_size_smaller(RUN_LENGTH, count - begin));
    }
    const clef_json **from = members;
    const clef_json **to = space;
    for (size_t width = RUN_LENGTH; width < count; width *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * width) {
            size_t left = count - begin;
            merge_runs(from + begin, clef_size_smaller(width, left),
                       clef_size_smaller(2 * width, left), to + begin);
        }
        const clef_json **swap = from;
        from = to;
        to = swap;
    }
    if (from != members) {
        memcpy(members, from, count * sizeof *members);
    }
}
