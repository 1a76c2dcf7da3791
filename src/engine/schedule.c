/* The scheduling policy, apart from records and memory. */
#include "engine/schedule.h"

#include "backend/backend.h"

#include <stdbool.h>

static size_t grid_floor(size_t rows) {
    return rows / CLEF_GRID * CLEF_GRID;
}

/* Rows that records behind `index` could use, at most `limit`. */
static size_t demand_behind(const size_t *remaining, size_t count, size_t index, size_t limit) {
    size_t demand = 0;
    for (size_t i = index + 1; i < count && demand < limit; i++) {
        demand += remaining[i];
    }
    return demand < limit ? demand : limit;
}

/* Rows that a record too long for a step leaves to those behind it: a quarter of the step, or all
 * that the next one needs to end in it. */
static size_t left_behind(const size_t *remaining, size_t count, size_t index, size_t row_budget,
                          size_t left) {
    size_t quarter = row_budget / 4;
    size_t kept = demand_behind(remaining, count, index, quarter);
    size_t most = row_budget - quarter;
    bool is_long = remaining[index] > most;
    size_t next = index + 1 < count ? remaining[index + 1] : 0;
    return is_long && next > kept && next <= most && next <= left ? next : kept;
}

size_t clef_schedule_share(const size_t *remaining, size_t count, size_t row_budget,
                           size_t slice_limit, size_t *counts) {
    size_t left = row_budget;
    size_t slices = 0;
    size_t index = 0;
    bool has_cut = false;
    for (; index < count && left > 0 && slices < slice_limit; index++) {
        size_t rows = remaining[index];
        if (rows > left || (!has_cut && rows > row_budget - row_budget / 4)) {
            size_t kept = has_cut ? 0 : left_behind(remaining, count, index, row_budget, left);
            size_t room = left > kept ? left - kept : 0;
            rows = rows <= room ? rows : grid_floor(room);
            has_cut = true;
        }
        /* The oldest always moves on, however little room there is. */
        if (index == 0 && rows == 0) {
            rows = CLEF_GRID < remaining[0] ? CLEF_GRID : remaining[0];
        }
        counts[index] = rows;
        left -= rows;
        slices += rows > 0;
    }
    return index;
}
