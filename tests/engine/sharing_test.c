/* One model in many threads: each with records and a session of its own gets the bits that one
 * thread alone gets. */
#include "engine_support.h"

#include "base/memory.h"

#include <pthread.h>

enum { THREADS = 4, RECORDS = 6 };

/* Assertions of a test belong to its own thread, so workers keep statuses and logits for it. */
typedef struct worker {
    pthread_t thread;
    clef_model *model;
    clef_text *bodies;
    clef_answer *answers[RECORDS];
    clef_status status;
    clef_error error;
    size_t first; /* each begins with another record */
} worker;

static clef_status run(worker *w) {
    clef_session_options options = {.rows_per_step = 128};
    clef_session *session = NULL;
    clef_status status = clef_session_create(w->model, &options, &session, &w->error);
    for (size_t i = 0; status == CLEF_OK && i < RECORDS; i++) {
        size_t which = (w->first + i) % RECORDS;
        clef_record *record = NULL;
        status = clef_record_encode(w->model, w->bodies[which].bytes, w->bodies[which].length, NULL,
                                    &record, &w->error);
        if (status == CLEF_OK) {
            status = clef_session_decide(session, record, &w->answers[which], &w->error);
        }
        clef_record_close(record);
    }
    clef_session_close(session);
    return status;
}

static void *run_worker(void *context) {
    worker *w = context;
    w->status = run(w);
    return NULL;
}

static void threads_share_a_model(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_text bodies[RECORDS];
    worker workers[THREADS] = {0};
    for (size_t i = 0; i < RECORDS; i++) {
        bodies[i] = make_body(i, 20 * i);
    }
    for (size_t i = 0; i < THREADS; i++) {
        workers[i].model = model;
        workers[i].bodies = bodies;
        workers[i].first = i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_ok(workers[i].status, &workers[i].error);
    }
    clef_session *session = open_session(model, 0);
    for (size_t i = 0; i < RECORDS; i++) {
        clef_record *record = encode_body(model, bodies[i]);
        clef_answer *answer = decide(session, record);
        for (size_t w = 0; w < THREADS; w++) {
            assert_equal_logits(workers[w].answers[i], answer->logits, "in a thread");
            clef_answer_close(workers[w].answers[i]);
        }
        clef_answer_close(answer);
        clef_record_close(record);
        clef_release((void *)(uintptr_t)bodies[i].bytes);
    }
    clef_session_close(session);
    clef_model_close(model);
}

/* One record in the sessions of all threads at once. */
static void *decide_shared(void *context) {
    worker *w = context;
    clef_session *session = NULL;
    w->status = clef_session_create(w->model, NULL, &session, &w->error);
    if (w->status == CLEF_OK) {
        w->status = clef_session_decide(session, w->answers[0]->record, &w->answers[1], &w->error);
    }
    clef_session_close(session);
    return NULL;
}

static void threads_share_a_record(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_record *record = encode_made(model, 9, 50);
    clef_session *session = open_session(model, 0);
    clef_answer *answer = decide(session, record);
    worker workers[THREADS] = {0};
    for (size_t i = 0; i < THREADS; i++) {
        workers[i].model = model;
        workers[i].answers[0] = answer;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, decide_shared, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_ok(workers[i].status, &workers[i].error);
        assert_equal_logits(workers[i].answers[1], answer->logits, "of a shared record");
        clef_answer_close(workers[i].answers[1]);
    }
    clef_answer_close(answer);
    clef_session_close(session);
    clef_record_close(record);
    clef_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_a_model),
        cmocka_unit_test(threads_share_a_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
