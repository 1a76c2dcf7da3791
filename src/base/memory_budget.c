/* One lock; who waits looks every tenth of a second whether it is still wanted. */
#include "base/memory_budget.h"

#include "base/memory.h"

#include <pthread.h>
#include <time.h>

#define TICK_NANOSECONDS 100000000L
#define SECOND           1000000000L

struct clef_memory_budget {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t used;    /* by all grants */
    uint64_t waiting; /* of these: by owners that wait for more */
};

clef_status clef_memory_budget_create(clef_memory_budget **out, clef_error *error) {
    *out = NULL;
    clef_memory_budget *budget = clef_allocate(1, sizeof *budget);
    if (budget == NULL) {
        return clef_fail_memory(error, sizeof *budget, "a budget");
    }
    if (pthread_mutex_init(&budget->lock, NULL) != 0) {
        clef_release(budget);
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "cannot make a lock");
    }
    if (pthread_cond_init(&budget->changed, NULL) != 0) {
        pthread_mutex_destroy(&budget->lock);
        clef_release(budget);
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "cannot make a lock");
    }
    *out = budget;
    return CLEF_OK;
}

void clef_memory_budget_close(clef_memory_budget *budget) {
    if (budget != NULL) {
        pthread_cond_destroy(&budget->changed);
        pthread_mutex_destroy(&budget->lock);
        clef_release(budget);
    }
}

uint64_t clef_memory_budget_used(clef_memory_budget *budget) {
    pthread_mutex_lock(&budget->lock);
    uint64_t used = budget->used;
    pthread_mutex_unlock(&budget->lock);
    return used;
}

/* Whether a grant may have so many more bytes: they fit, or all that is held is held by owners that
 * wait, this one among them. */
static bool may_grow(const clef_memory_budget *budget, const clef_memory_grant *grant,
                     uint64_t bytes) {
    bool fits = bytes <= grant->limit && budget->used <= grant->limit - bytes;
    return fits || budget->used == budget->waiting;
}

static void wait_a_tick(clef_memory_budget *budget) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += TICK_NANOSECONDS;
    if (until.tv_nsec >= SECOND) {
        until.tv_nsec -= SECOND;
        until.tv_sec++;
    }
    (void)pthread_cond_timedwait(&budget->changed, &budget->lock, &until);
}

clef_status clef_memory_grant_grow(clef_memory_grant *grant, uint64_t bytes, clef_error *error) {
    clef_memory_budget *budget = grant->budget;
    clef_status status = CLEF_OK;
    if (budget == NULL) {
        return CLEF_OK;
    }
    pthread_mutex_lock(&budget->lock);
    if (grant->limit != 0) {
        budget->waiting += grant->bytes;
        /* The others may all be waiting now. */
        pthread_cond_broadcast(&budget->changed);
        while (status == CLEF_OK && !may_grow(budget, grant, bytes)) {
            wait_a_tick(budget);
            /* Asked without the lock: whoever answers may hold one of its own. */
            pthread_mutex_unlock(&budget->lock);
            bool is_over = clef_stop_is_wanted(&grant->stop);
            pthread_mutex_lock(&budget->lock);
            status = is_over ? clef_stop_fail(error) : CLEF_OK;
        }
        budget->waiting -= grant->bytes;
    }
    if (status == CLEF_OK) {
        grant->bytes += bytes;
        budget->used += bytes;
    }
    pthread_mutex_unlock(&budget->lock);
    return status;
}

void clef_memory_grant_shrink(clef_memory_grant *grant, uint64_t bytes) {
    clef_memory_budget *budget = grant->budget;
    if (budget == NULL || bytes == 0) {
        return;
    }
    pthread_mutex_lock(&budget->lock);
    grant->bytes -= bytes;
    budget->used -= bytes;
    pthread_cond_broadcast(&budget->changed);
    pthread_mutex_unlock(&budget->lock);
}
