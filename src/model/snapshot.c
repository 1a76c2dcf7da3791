/* Snapshots stand in order of slices and rows, so number n of a slice is n behind its first. */
#include "model/snapshot.h"

/* First snapshot of a slice, and how many it has, from where the one before it ended. */
static size_t count_of_slice(const clef_step *step, size_t first, size_t slice) {
    size_t count = 0;
    while (first + count < step->snapshot_count && step->snapshots[first + count].slice == slice) {
        count++;
    }
    return count;
}

clef_slices clef_step_round(const clef_step *step, size_t round) {
    if (step->snapshot_count == 0) {
        return (clef_slices){step->slices.items, round == 0 ? step->slices.count : 0};
    }
    size_t parts = 0;
    size_t first = 0;
    for (size_t s = 0; s < step->slices.count; s++) {
        const clef_slice *slice = &step->slices.items[s];
        size_t count = count_of_slice(step, first, s);
        if (round <= count) {
            size_t begin = round == 0 ? 0 : step->snapshots[first + round - 1].rows;
            size_t end = round == count ? slice->count : step->snapshots[first + round].rows;
            if (begin < end) {
                clef_slice part = *slice;
                part.row += begin;
                part.position += begin;
                part.count = end - begin;
                step->parts[parts++] = part;
            }
        }
        first += count;
    }
    return (clef_slices){step->parts, parts};
}

void clef_step_copy(const clef_step *step, size_t round, size_t offset, size_t count) {
    size_t first = 0;
    for (size_t s = 0; s < step->slices.count; s++) {
        size_t snapshots = count_of_slice(step, first, s);
        if (round < snapshots) {
            memcpy(step->snapshots[first + round].fixed + offset,
                   step->slices.items[s].fixed + offset, count * sizeof(float));
        }
        first += snapshots;
    }
}
