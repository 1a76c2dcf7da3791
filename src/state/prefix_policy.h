/* What the prefix cache does, as pure functions over lengths, hits and ages: where a record's state
 * is worth keeping, and what a kept state is worth. Knows no token, no state and no memory. */
#ifndef CLEF_STATE_PREFIX_POLICY_H
#define CLEF_STATE_PREFIX_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Points that one record has at most: the named ones and those at growing distances. */
#define CLEF_PREFIX_POINT_LIMIT 24

/* Positions of a record, in tokens, each at least the one before it but for the last two. */
typedef struct clef_prefix_lengths {
    size_t fixed_end; /* of the fixed text before the state */
    size_t media_end; /* of the media, which stand before the state; fixed_end without any */
    size_t state_end;
    size_t head_begin; /* where the head begins to pool: nothing behind it can be restored */
    size_t resumed;    /* restored already */
    size_t known; /* tokens in common with states kept before: where this record branches off */
} clef_prefix_lengths;

typedef struct clef_prefix_point {
    size_t position; /* a multiple of the grid */
    bool is_spare;   /* kept in case a later record turns off earlier; others are better */
} clef_prefix_point;

/* Points behind `resumed` whose state is worth keeping, in order, each once; returns how many.
 *
 * The ends of what comes before the questions are what repeats. The last grid point of the state
 * lets other questions resume; the last one before the head pools lets the same questions resume
 * closer. A state whose end lies just behind a grid point gets the one before it too: when a
 * conversation goes on, its last few tokens (closing quotes and brackets) are written anew. Further
 * points lie 1,024, 3,072, 7,168 … tokens before the end. */
size_t clef_prefix_policy_points(const clef_prefix_lengths *lengths,
                                 clef_prefix_point points[CLEF_PREFIX_POINT_LIMIT]);

/* Adds one point to `count` others, where it belongs, if there is room and it is new. Returns the
 * new count. */
size_t clef_prefix_policy_add(clef_prefix_point points[CLEF_PREFIX_POINT_LIMIT], size_t count,
                              size_t position, bool is_spare);

/* A kept state. */
typedef struct clef_prefix_worth {
    size_t saved_tokens; /* what a record like it would compute without it */
    uint64_t bytes;      /* what dropping it would free */
    uint64_t hits;
    uint64_t age; /* records since it was kept or used last */
    bool is_spare;
} clef_prefix_worth;

/* Tokens saved by a byte and a record, as far as one can know: the state of the lowest value is
 * dropped first, and a new one that is worth less than every kept one is not kept. */
double clef_prefix_policy_value(const clef_prefix_worth *worth);

#endif
