/* Jobs wait in the worker's own list until the session has room for them; so a deadline of the
 * queue is a deadline until the first step. A computation is what the session knows: a record, and
 * all jobs whose records encode to the same tokens. */
#include "server/worker.h"

#include "base/clock.h"
#include "base/memory.h"

/* Records that share steps; a step has no room for more. */
#define RUNNING_LIMIT 32

typedef struct computation {
    struct computation *next;
    clef_worker *worker;
    clef_job *jobs; /* the first started it; all get an answer of their own */
} computation;

struct clef_worker {
    clef_job_queue queue;
    clef_worker_options options;
    clef_model *model;
    pthread_t thread;
    bool has_ended; /* the thread; whoever closes the worker */
    /* the thread's own */
    clef_session *session;
    clef_job *waiting, *last_waiting;
    computation *running;
    size_t waiting_count, running_count;
    /* guarded by the queue's lock */
    clef_worker_report report;
};

static void set_phase(clef_worker *worker, clef_worker_phase phase) {
    pthread_mutex_lock(&worker->queue.lock);
    worker->report.phase = phase;
    pthread_mutex_unlock(&worker->queue.lock);
}

static void publish(clef_worker *worker) {
    clef_session_statistics statistics;
    clef_session_describe(worker->session, &statistics);
    pthread_mutex_lock(&worker->queue.lock);
    worker->report.waiting_count = worker->waiting_count;
    worker->report.running_count = worker->running_count;
    worker->report.session = statistics;
    pthread_mutex_unlock(&worker->queue.lock);
}

void clef_worker_describe(clef_worker *worker, clef_worker_report *report) {
    pthread_mutex_lock(&worker->queue.lock);
    *report = worker->report;
    report->waiting_count += worker->queue.count;
    pthread_mutex_unlock(&worker->queue.lock);
}

clef_status clef_worker_submit(clef_worker *worker, clef_job *job, clef_error *error) {
    job->queued_ns = clef_clock_ns();
    job->started_ns = 0;
    return clef_job_queue_push(&worker->queue, job, error);
}

void clef_worker_cancel(clef_worker *worker, clef_job *job) {
    clef_job_queue_cancel(&worker->queue, job);
}

/* ---- answers ---- */

static void fail_job(clef_job *job, clef_status status, const char *message) {
    clef_error error = {0};
    clef_fail(&error, status, "%s", message);
    job->answered(job, status, NULL, &error);
}

static void remove_computation(clef_worker *worker, computation *done) {
    computation **link = &worker->running;
    while (*link != done) {
        link = &(*link)->next;
    }
    *link = done->next;
    worker->running_count -= 1;
}

/* The answer of the first job's record, said again for the record of another. */
static void answer_twin(clef_job *job, const clef_answer *answer) {
    clef_error error = {0};
    clef_answer *own = NULL;
    clef_status status = clef_answer_repeat(answer, job->record, &own, &error);
    job->answered(job, status, own, &error);
    clef_answer_close(own);
}

/* Called by the session. A computation without jobs is one that was cancelled. */
static void take_answer(void *context, clef_status status, clef_answer *answer,
                        const clef_error *error) {
    computation *done = context;
    remove_computation(done->worker, done);
    bool is_first = true;
    for (clef_job *job = done->jobs; job != NULL; is_first = false) {
        clef_job *next = job->next;
        if (status == CLEF_OK && !is_first) {
            answer_twin(job, answer);
        } else {
            job->answered(job, status, answer, error);
        }
        job = next;
    }
    clef_answer_close(answer);
    clef_release(done);
}

/* ---- starting ---- */

static computation *find_equal(const clef_worker *worker, const clef_record *record) {
    for (computation *of = worker->running; of != NULL; of = of->next) {
        if (of->jobs != NULL && clef_record_equals(of->jobs->record, record)) {
            return of;
        }
    }
    return NULL;
}

static void start_job(clef_worker *worker, clef_job *job) {
    job->started_ns = clef_clock_ns();
    job->next = NULL;
    computation *equal = find_equal(worker, job->record);
    if (equal != NULL) {
        clef_job *last = equal->jobs;
        while (last->next != NULL) {
            last = last->next;
        }
        last->next = job;
        return;
    }
    clef_error error = {0};
    computation *fresh = clef_allocate(1, sizeof *fresh);
    if (fresh == NULL) {
        fail_job(job, CLEF_OUT_OF_MEMORY, "out of memory");
        return;
    }
    *fresh = (computation){worker->running, worker, job};
    clef_status status =
        clef_session_submit(worker->session, job->record, take_answer, fresh, &error);
    if (status != CLEF_OK) {
        clef_release(fresh);
        job->answered(job, status, NULL, &error);
        return;
    }
    worker->running = fresh;
    worker->running_count += 1;
}

/* Takes the oldest waiting job off the list. */
static clef_job *take_waiting(clef_worker *worker) {
    clef_job *job = worker->waiting;
    worker->waiting = job->next;
    if (worker->waiting == NULL) {
        worker->last_waiting = NULL;
    }
    worker->waiting_count -= 1;
    return job;
}

static void add_waiting(clef_worker *worker, clef_job *first) {
    while (first != NULL) {
        clef_job *next = first->next;
        first->next = NULL;
        *(worker->last_waiting == NULL ? &worker->waiting : &worker->last_waiting->next) = first;
        worker->last_waiting = first;
        worker->waiting_count += 1;
        first = next;
    }
}

/* ---- dropping ---- */

/* Fails the waiting jobs that `is_over` chooses; the others keep their order. */
static void drop_waiting(clef_worker *worker, bool (*is_over)(clef_worker *, const clef_job *),
                         clef_status status, const char *message) {
    clef_job *job = worker->waiting;
    worker->waiting = worker->last_waiting = NULL;
    worker->waiting_count = 0;
    while (job != NULL) {
        clef_job *next = job->next;
        job->next = NULL;
        if (is_over(worker, job)) {
            fail_job(job, status, message);
        } else {
            add_waiting(worker, job);
        }
        job = next;
    }
}

static bool is_cancelled(clef_worker *worker, const clef_job *job) {
    return clef_job_queue_is_cancelled(&worker->queue, job);
}

static bool is_late(clef_worker *worker, const clef_job *job) {
    uint64_t limit_ns = worker->options.queue_seconds * UINT64_C(1000000000);
    return clef_clock_ns() - job->queued_ns > limit_ns;
}

static bool is_any(clef_worker *worker, const clef_job *job) {
    (void)worker;
    (void)job;
    return true;
}

/* Drops cancelled jobs of a computation, and the computation when none is left. The jobs behind the
 * one that started it go on: their records are the same to the session. */
static void drop_cancelled_of(clef_worker *worker, computation *of) {
    clef_job **link = &of->jobs;
    while (*link != NULL) {
        clef_job *job = *link;
        if (is_cancelled(worker, job)) {
            *link = job->next;
            fail_job(job, CLEF_CANCELLED, "the client left");
        } else {
            link = &job->next;
        }
    }
    if (of->jobs == NULL) {
        clef_session_cancel(worker->session, of);
    }
}

static void drop_cancelled(clef_worker *worker) {
    drop_waiting(worker, is_cancelled, CLEF_CANCELLED, "the client left");
    computation *next;
    for (computation *of = worker->running; of != NULL; of = next) {
        next = of->next;
        drop_cancelled_of(worker, of);
    }
}

static void drop_all(clef_worker *worker) {
    drop_waiting(worker, is_any, CLEF_BUSY, "the server is stopping");
    while (worker->running != NULL) {
        computation *of = worker->running;
        clef_job *job = of->jobs;
        of->jobs = NULL;
        clef_session_cancel(worker->session, of);
        while (job != NULL) {
            clef_job *next = job->next;
            fail_job(job, CLEF_BUSY, "the server is stopping");
            job = next;
        }
    }
}

/* ---- the thread ---- */

static bool must_stop(clef_worker *worker) {
    pthread_mutex_lock(&worker->queue.lock);
    bool stops = worker->queue.is_stopping;
    pthread_mutex_unlock(&worker->queue.lock);
    return stops;
}

typedef struct warm_answer {
    bool is_there;
    clef_status status;
    clef_error *error;
} warm_answer;

static void take_warm_answer(void *context, clef_status status, clef_answer *answer,
                             const clef_error *error) {
    warm_answer *warm = context;
    warm->is_there = true;
    warm->status = status;
    if (status != CLEF_OK) {
        *warm->error = *error;
    }
    clef_answer_close(answer);
}

/* Computes one whole request: pages of the weights are read, threads are there, memory is touched.
 */
static clef_status compute_warm_record(clef_worker *worker, clef_record *record,
                                       clef_error *error) {
    warm_answer warm = {.error = error};
    clef_status status =
        clef_session_submit(worker->session, record, take_warm_answer, &warm, error);
    while (status == CLEF_OK && !warm.is_there && !must_stop(worker)) {
        status = clef_session_step(worker->session, NULL, error);
    }
    if (status == CLEF_OK && !warm.is_there) {
        clef_session_cancel(worker->session, &warm);
        return CLEF_OK;
    }
    return status == CLEF_OK ? warm.status : status;
}

/* A request of our own; its state passes over the fixed text that stands before every state, which
 * is kept on the way. Limits so tight that the request does not fit leave that text alone. Encoding
 * also tells whether the limits of records can be honoured. */
static clef_status warm_up(clef_worker *worker, clef_error *error) {
    static const char body[] =
        "{\"model\":\"clef\",\"state\":\"The service answers.\",\"questions\":"
        "{\"ready\":{\"type\":\"noul\",\"instructions\":\"Is it up?\"},"
        "\"level\":{\"type\":\"score\",\"criteria\":[\"no\",\"yes\"]}}}";
    clef_record *record = NULL;
    clef_status status = clef_record_encode(worker->model, body, sizeof body - 1,
                                            &worker->options.record, &record, error);
    bool is_refused = status == CLEF_OVER_LIMIT;
    if (worker->options.warms_up && (status == CLEF_OK || is_refused)) {
        set_phase(worker, CLEF_WORKER_WARMING);
        status = is_refused ? clef_session_warm(worker->session, error)
                            : compute_warm_record(worker, record, error);
    } else if (is_refused) {
        status = CLEF_OK;
    }
    clef_record_close(record);
    return status;
}

static clef_status begin(clef_worker *worker, clef_error *error) {
    clef_status status =
        clef_session_create(worker->model, &worker->options.session, &worker->session, error);
    return status == CLEF_OK ? warm_up(worker, error) : status;
}

/* One turn: what came in, what is over, one step. false when the worker ends. */
static bool run_turn(clef_worker *worker) {
    bool is_idle = worker->running == NULL && worker->waiting == NULL;
    clef_job_batch batch = clef_job_queue_take(&worker->queue, is_idle, 60000);
    add_waiting(worker, batch.first);
    if (batch.has_cancelled) {
        drop_cancelled(worker);
    }
    if (batch.is_stopping) {
        drop_all(worker);
        return false;
    }
    if (worker->waiting != NULL && is_late(worker, worker->waiting)) {
        drop_waiting(worker, is_late, CLEF_BUSY,
                     "the request waited too long for its turn; try again later");
    }
    while (worker->waiting != NULL && worker->running_count < RUNNING_LIMIT) {
        start_job(worker, take_waiting(worker));
    }
    publish(worker); /* a step may be long */
    if (worker->running != NULL) {
        clef_session_step(worker->session, NULL, NULL);
    }
    publish(worker);
    return true;
}

static void *run_worker(void *context) {
    clef_worker *worker = context;
    clef_error error = {0};
    clef_status status = begin(worker, &error);
    if (status == CLEF_OK) {
        publish(worker);
    }
    set_phase(worker, status == CLEF_OK ? CLEF_WORKER_READY : CLEF_WORKER_FAILED);
    worker->options.started(worker->options.context, status, &error);
    while (status == CLEF_OK && run_turn(worker)) {
    }
    /* What was pushed before the queue stopped, or while no session came to be. */
    clef_job_queue_stop(&worker->queue);
    clef_job_batch batch = clef_job_queue_take(&worker->queue, false, 0);
    add_waiting(worker, batch.first);
    drop_waiting(worker, is_any, CLEF_BUSY, "the server is stopping");
    return NULL;
}

clef_status clef_worker_create(clef_model *model, const clef_worker_options *options,
                               clef_worker **out, clef_error *error) {
    *out = NULL;
    clef_worker *worker = clef_allocate(1, sizeof *worker);
    if (worker == NULL) {
        return clef_fail_memory(error, sizeof *worker, "the engine's thread");
    }
    worker->options = *options;
    worker->model = model;
    clef_status status = clef_job_queue_create(&worker->queue, options->request_limit, error);
    if (status != CLEF_OK) {
        clef_release(worker);
        return status;
    }
    if (pthread_create(&worker->thread, NULL, run_worker, worker) != 0) {
        clef_job_queue_release(&worker->queue);
        clef_release(worker);
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "cannot start the engine's thread");
    }
    *out = worker;
    return CLEF_OK;
}

void clef_worker_stop(clef_worker *worker) {
    clef_job_queue_stop(&worker->queue);
}

void clef_worker_end(clef_worker *worker) {
    if (worker == NULL || worker->has_ended) {
        return;
    }
    clef_worker_stop(worker);
    pthread_join(worker->thread, NULL);
    worker->has_ended = true;
}

void clef_worker_close(clef_worker *worker) {
    if (worker == NULL) {
        return;
    }
    clef_worker_end(worker);
    clef_session_close(worker->session);
    clef_job_queue_release(&worker->queue);
    clef_release(worker);
}
