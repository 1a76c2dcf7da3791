/* The engine's thread: owns the session, runs jobs in packed steps, computes equal records once,
 * drops what nobody waits for. Knows no HTTP. */
#ifndef CLEF_SERVER_WORKER_H
#define CLEF_SERVER_WORKER_H

#include "server/job_queue.h"

typedef struct clef_worker clef_worker;

typedef struct clef_worker_options {
    clef_session_options session;
    clef_record_options record; /* of the warm-up request */
    bool warms_up;              /* answers a request of its own before it is ready */
    uint32_t request_limit;     /* jobs that may wait */
    uint32_t queue_seconds;     /* longest wait of a job before it starts */
    /* Called once on the worker's thread when it is ready (CLEF_OK) or cannot be. */
    void (*started)(void *context, clef_status status, const clef_error *error);
    void *context;
} clef_worker_options;

typedef enum clef_worker_phase {
    CLEF_WORKER_STARTING,
    CLEF_WORKER_WARMING,
    CLEF_WORKER_READY,
    CLEF_WORKER_FAILED,
} clef_worker_phase;

/* Numbers of the moment. */
typedef struct clef_worker_report {
    clef_worker_phase phase;
    size_t waiting_count; /* jobs not started */
    size_t running_count;
    clef_session_statistics session;
} clef_worker_report;

/* Starts the thread; the session is made there. CLEF_OUT_OF_MEMORY. */
clef_status clef_worker_create(clef_model *model, const clef_worker_options *options,
                               clef_worker **worker, clef_error *error);
/* Ends the thread; what is left is cancelled. Other threads may still ask and submit, in vain,
 * until the worker is closed. NULL is fine. */
void clef_worker_end(clef_worker *worker);
/* Ends the thread, and releases everything. NULL is fine. */
void clef_worker_close(clef_worker *worker);

/* Any thread. The job must live until its callback. CLEF_BUSY. */
clef_status clef_worker_submit(clef_worker *worker, clef_job *job, clef_error *error);
void clef_worker_cancel(clef_worker *worker, clef_job *job);
/* From now on nothing is taken, and what is left is cancelled. */
void clef_worker_stop(clef_worker *worker);
void clef_worker_describe(clef_worker *worker, clef_worker_report *report);

#endif
