/* Named points first, then those at growing distances. */
#include "state/prefix_policy.h"

#include "backend/backend.h"

/* Tokens at the end of a state that are written anew when it grows. */
#define REWRITTEN_TOKENS 8
/* The first of the growing distances; each gap is twice the one before. */
#define FIRST_DISTANCE 1024
/* What a spare state is worth beside one that is known to repeat, and how far hits count. */
#define SPARE_SHARE 0.25
#define HIT_LIMIT   15

static size_t grid_floor(size_t position) {
    return position / CLEF_GRID * CLEF_GRID;
}

size_t clef_prefix_policy_add(clef_prefix_point points[CLEF_PREFIX_POINT_LIMIT], size_t count,
                              size_t position, bool is_spare) {
    size_t at = 0;
    while (at < count && points[at].position < position) {
        at++;
    }
    if (at < count && points[at].position == position) {
        points[at].is_spare &= is_spare;
        return count;
    }
    if (count == CLEF_PREFIX_POINT_LIMIT) {
        return count;
    }
    for (size_t i = count; i > at; i--) {
        points[i] = points[i - 1];
    }
    points[at] = (clef_prefix_point){position, is_spare};
    return count + 1;
}

size_t clef_prefix_policy_points(const clef_prefix_lengths *lengths,
                                 clef_prefix_point points[CLEF_PREFIX_POINT_LIMIT]) {
    size_t limit = grid_floor(lengths->head_begin);
    size_t end = grid_floor(lengths->state_end);
    end = end < limit ? end : limit;
    size_t known = grid_floor(lengths->known);
    const size_t named[] = {grid_floor(lengths->fixed_end), grid_floor(lengths->media_end), end,
                            limit, known < limit ? known : limit};
    size_t count = 0;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (named[i] > lengths->resumed && named[i] <= limit) {
            count = clef_prefix_policy_add(points, count, named[i], false);
        }
    }
    if (lengths->state_end % CLEF_GRID < REWRITTEN_TOKENS && end > lengths->resumed + CLEF_GRID) {
        count = clef_prefix_policy_add(points, count, end - CLEF_GRID, true);
    }
    size_t gap = FIRST_DISTANCE;
    for (size_t distance = gap; distance + lengths->resumed < end; distance += gap) {
        count = clef_prefix_policy_add(points, count, end - distance, true);
        gap *= 2;
    }
    return count;
}

double clef_prefix_policy_value(const clef_prefix_worth *worth) {
    uint64_t hits = worth->hits < HIT_LIMIT ? worth->hits : HIT_LIMIT;
    double value = (double)worth->saved_tokens * (double)(1 + hits) / ((double)worth->bytes + 1) /
                   (double)(1 + worth->age);
    return worth->is_spare && worth->hits == 0 ? value * SPARE_SHARE : value;
}
