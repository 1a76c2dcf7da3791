/* A list behind a lock. The engine is signalled only while it sleeps. */
#include "server/job_queue.h"

#include <time.h>

clef_status clef_job_queue_create(clef_job_queue *queue, size_t limit, clef_error *error) {
    pthread_condattr_t attributes;
    *queue = (clef_job_queue){.limit = limit};
    if (pthread_mutex_init(&queue->lock, NULL) != 0) {
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "cannot make a lock");
    }
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int failure = pthread_cond_init(&queue->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (failure != 0) {
        pthread_mutex_destroy(&queue->lock);
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "cannot make a lock");
    }
    return CLEF_OK;
}

void clef_job_queue_release(clef_job_queue *queue) {
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
}

/* With the lock held. */
static void wake(clef_job_queue *queue) {
    if (queue->is_waiting) {
        queue->is_waiting = false;
        pthread_cond_signal(&queue->changed);
    }
}

clef_status clef_job_queue_push(clef_job_queue *queue, clef_job *job, clef_error *error) {
    clef_status status = CLEF_OK;
    job->next = NULL;
    pthread_mutex_lock(&queue->lock);
    if (queue->is_stopping) {
        status = clef_fail(error, CLEF_BUSY, "the server is stopping");
    } else if (queue->count >= queue->limit) {
        status = clef_fail(error, CLEF_BUSY, "%zu requests are waiting already; try again later",
                           queue->limit);
    } else {
        *(queue->last == NULL ? &queue->first : &queue->last->next) = job;
        queue->last = job;
        queue->count += 1;
        /* The wish to drop it may have come first. */
        queue->has_cancelled = queue->has_cancelled || job->is_cancelled;
        wake(queue);
    }
    pthread_mutex_unlock(&queue->lock);
    return status;
}

void clef_job_queue_cancel(clef_job_queue *queue, clef_job *job) {
    pthread_mutex_lock(&queue->lock);
    job->is_cancelled = true;
    queue->has_cancelled = true;
    wake(queue);
    pthread_mutex_unlock(&queue->lock);
}

void clef_job_queue_stop(clef_job_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    queue->is_stopping = true;
    wake(queue);
    pthread_mutex_unlock(&queue->lock);
}

bool clef_job_queue_is_cancelled(clef_job_queue *queue, const clef_job *job) {
    pthread_mutex_lock(&queue->lock);
    bool is_cancelled = job->is_cancelled;
    pthread_mutex_unlock(&queue->lock);
    return is_cancelled;
}

static struct timespec moment_in(uint32_t milliseconds) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t nanoseconds = (uint64_t)until.tv_nsec + milliseconds * UINT64_C(1000000);
    until.tv_sec += (time_t)(nanoseconds / UINT64_C(1000000000));
    until.tv_nsec = (long)(nanoseconds % UINT64_C(1000000000));
    return until;
}

clef_job_batch clef_job_queue_take(clef_job_queue *queue, bool wait, uint32_t milliseconds) {
    struct timespec until = moment_in(milliseconds);
    int failure = 0;
    pthread_mutex_lock(&queue->lock);
    while (wait && failure == 0 && queue->first == NULL && !queue->has_cancelled &&
           !queue->is_stopping) {
        queue->is_waiting = true;
        failure = pthread_cond_timedwait(&queue->changed, &queue->lock, &until);
    }
    queue->is_waiting = false;
    clef_job_batch batch = {queue->first, queue->has_cancelled, queue->is_stopping};
    queue->first = queue->last = NULL;
    queue->count = 0;
    queue->has_cancelled = false;
    pthread_mutex_unlock(&queue->lock);
    return batch;
}
