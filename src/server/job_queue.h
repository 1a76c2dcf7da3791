/* The way from the threads that encode to the one that computes: a bounded queue of jobs, and the
 * wish to drop one. Knows neither HTTP nor the engine. */
#ifndef CLEF_SERVER_JOB_QUEUE_H
#define CLEF_SERVER_JOB_QUEUE_H

#include "base/error.h"

#include <clef/clef.h>
#include <pthread.h>

struct clef_job;

/* Called once for every job that was taken, on the engine's thread; `answer` is borrowed. The job
 * is the callee's again. */
typedef void clef_job_callback(struct clef_job *job, clef_status status, const clef_answer *answer,
                               const clef_error *error);

typedef struct clef_job {
    struct clef_job *next;
    clef_record *record; /* borrowed from whoever owns the job */
    clef_job_callback *answered;
    uint64_t queued_ns;  /* 0: never */
    uint64_t started_ns; /* 0: never */
    bool is_cancelled;   /* guarded by the queue */
} clef_job;

typedef struct clef_job_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    clef_job *first, *last;
    size_t count, limit;
    bool has_cancelled; /* some job was cancelled since the last take */
    bool is_stopping;
    bool is_waiting; /* the engine sleeps */
} clef_job_queue;

clef_status clef_job_queue_create(clef_job_queue *queue, size_t limit, clef_error *error);
void clef_job_queue_release(clef_job_queue *queue);

/* Appends a job. CLEF_BUSY when the queue is full or stopping. */
clef_status clef_job_queue_push(clef_job_queue *queue, clef_job *job, clef_error *error);
/* Asks to drop a job that was pushed and is not answered; it is answered with CLEF_CANCELLED. */
void clef_job_queue_cancel(clef_job_queue *queue, clef_job *job);
void clef_job_queue_stop(clef_job_queue *queue);

typedef struct clef_job_batch {
    clef_job *first; /* oldest first */
    bool has_cancelled;
    bool is_stopping;
} clef_job_batch;

/* Takes all jobs. `wait`: sleeps first until there is something to do, at most the milliseconds. */
clef_job_batch clef_job_queue_take(clef_job_queue *queue, bool wait, uint32_t milliseconds);
bool clef_job_queue_is_cancelled(clef_job_queue *queue, const clef_job *job);

#endif
