/* Memory that runs out: every allocation of every call fails once. The call reports it, says so in
 * words, keeps nothing, and works when it is tried again. And the forward pass asks for none. */
#include "counted_memory.h"
#include "engine_support.h"

#include "base/memory.h"
#include "state/sequence.h"

/* One call under test: makes its own product and, when it was made, releases it. */
typedef clef_status attempt(void *context, clef_error *error);

/* Fails allocations 1, 2, … of the call until it needs no more. */
static void fail_each(attempt *call, void *context, const char *what) {
    size_t live = memory_live_blocks();
    for (size_t number = 1;; number++) {
        clef_error error = {0};
        memory_count(number);
        clef_status status = call(context, &error);
        bool has_failed = memory_has_failed() != 0;
        memory_count(0);
        if (memory_live_blocks() != live) {
            fail_msg("%s: allocation %zu failed and %td blocks were left", what, number,
                     (ptrdiff_t)memory_live_blocks() - (ptrdiff_t)live);
        }
        if (!has_failed) {
            assert_ok(status, &error);
            assert_true(number > 1);
            print_message("%s: %zu allocations\n", what, number - 1);
            return;
        }
        if (status != CLEF_OUT_OF_MEMORY) {
            fail_msg("%s: allocation %zu failed, and the status is %s: %s", what, number,
                     clef_status_name(status), error.message);
        }
        assert_int_equal(error.status, CLEF_OUT_OF_MEMORY);
        assert_true(error.message[0] != '\0');
    }
}

/* ---- the calls ---- */

static clef_status try_runtime(void *context, clef_error *error) {
    (void)context;
    clef_runtime *runtime = NULL;
    clef_status status = clef_runtime_create(NULL, &runtime, error);
    assert_true((status == CLEF_OK) == (runtime != NULL));
    clef_runtime_close(runtime);
    return status;
}

typedef struct opening {
    clef_runtime *runtime;
    const char *directory;
    clef_model_options options;
} opening;

static clef_status try_model(void *context, clef_error *error) {
    opening *o = context;
    clef_model *model = NULL;
    clef_status status = clef_model_open(o->runtime, o->directory, &o->options, &model, error);
    assert_true((status == CLEF_OK) == (model != NULL));
    clef_model_close(model);
    return status;
}

typedef struct encoding {
    clef_model *model;
    clef_text body;
} encoding;

static clef_status try_record(void *context, clef_error *error) {
    encoding *e = context;
    clef_record *record = NULL;
    char *json = NULL;
    size_t bytes;
    clef_status status =
        clef_record_encode(e->model, e->body.bytes, e->body.length, NULL, &record, error);
    assert_true((status == CLEF_OK) == (record != NULL));
    if (status == CLEF_OK) {
        status = clef_record_json(record, &json, &bytes, error);
        assert_true((status == CLEF_OK) == (json != NULL));
    }
    clef_text_free(json);
    clef_record_close(record);
    return status;
}

static clef_status try_session(void *context, clef_error *error) {
    clef_session *session = NULL;
    clef_status status = clef_session_create(context, NULL, &session, error);
    assert_true((status == CLEF_OK) == (session != NULL));
    clef_session_close(session);
    return status;
}

typedef struct deciding {
    clef_record *record;
    const float *logits;
} deciding;

/* A session that was short of memory answers the next time, with the same bits. */
static clef_status try_decision(void *context, clef_error *error) {
    deciding *d = context;
    clef_session_options options = {.rows_per_step = 64};
    clef_session *session = NULL;
    clef_answer *answer = NULL;
    clef_error other = {0};
    clef_status status = clef_session_create(d->record->model, &options, &session, error);
    if (status != CLEF_OK) {
        return status;
    }
    status = clef_session_decide(session, d->record, &answer, error);
    assert_true((status == CLEF_OK) == (answer != NULL));
    bool is_short = status != CLEF_OK;
    if (is_short) {
        assert_ok(clef_session_decide(session, d->record, &answer, &other), &other);
    }
    assert_equal_logits(answer, d->logits, "after a failure");
    clef_answer_close(answer);
    clef_session_close(session);
    return status;
}

static clef_status try_json(void *context, clef_error *error) {
    static const clef_answer_style styles[] = {
        {0}, {.format = CLEF_ANSWER_RAW}, {.unrounded = true, .with_latency = true}};
    clef_status status = CLEF_OK;
    for (size_t i = 0; status == CLEF_OK && i < 3; i++) {
        char *json = NULL;
        size_t bytes;
        status = clef_answer_json(context, &styles[i], &json, &bytes, error);
        assert_true((status == CLEF_OK) == (json != NULL));
        clef_text_free(json);
    }
    return status;
}

/* ---- tests ---- */

static clef_text body;

static void runtime_survives_every_failure(void **state) {
    (void)state;
    fail_each(try_runtime, NULL, "runtime");
}

static void model_survives_every_failure(void **state) {
    (void)state;
    opening o = {.runtime = open_runtime(1, NULL), .directory = random_model()};
    o.options.precision = CLEF_PRECISION_F32;
    fail_each(try_model, &o, "model");
    o.options.tokenizer_only = true;
    fail_each(try_model, &o, "tokenizer");
    clef_runtime_close(o.runtime);
}

static void record_survives_every_failure(void **state) {
    (void)state;
    encoding e = {open_model_with(random_model(), 1, NULL), body};
    fail_each(try_record, &e, "record");
    clef_model_close(e.model);
}

static void session_survives_every_failure(void **state) {
    (void)state;
    static const clef_precision precisions[] = {CLEF_PRECISION_F32, CLEF_PRECISION_BF16};
    for (size_t i = 0; i < 2; i++) {
        clef_model *model = open_model_precise(random_model(), precisions[i], 1, NULL);
        fail_each(try_session, model, "session");
        clef_model_close(model);
    }
}

static void decision_survives_every_failure(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_record *record = encode_body(model, body);
    clef_session *session = open_session(model, 64);
    clef_answer *answer = decide(session, record);
    float *logits = copy_logits(answer);
    deciding d = {record, logits};
    fail_each(try_decision, &d, "session and decision");
    fail_each(try_json, answer, "reply");
    clef_release(logits);
    clef_answer_close(answer);
    clef_session_close(session);
    clef_record_close(record);
    clef_model_close(model);
}

/* The bodies of requests whose media differ in kind. */
typedef struct media_bodies {
    clef_arena arena;
    clef_text bodies[2];
    size_t count;
} media_bodies;

static void take_media_body(void *context, size_t number, clef_text text) {
    media_bodies *of = context;
    const clef_json *line = parse_json(text, &of->arena);
    clef_text name = member(line, "name")->text;
    (void)number;
    if (clef_text_equals(name, CLEF_TEXT("one-image")) ||
        clef_text_equals(name, CLEF_TEXT("one-video"))) {
        of->bodies[of->count++] = clef_arena_copy(&of->arena, member(line, "request")->text);
    }
}

typedef struct media_encoding {
    clef_record *expected;
    clef_text body;
} media_encoding;

/* The picture libraries do without some of their allocations. The record is then the same as ever,
 * and the failure is told here, so that the next one is tried. */
static clef_status try_media_record(void *context, clef_error *error) {
    media_encoding *e = context;
    clef_record *record = NULL;
    clef_status status =
        clef_record_encode(e->expected->model, e->body.bytes, e->body.length, NULL, &record, error);
    assert_true((status == CLEF_OK) == (record != NULL));
    if (status == CLEF_OK) {
        assert_true(clef_record_equals(record, e->expected));
        clef_record_close(record);
        if (memory_has_failed()) {
            status = clef_fail_memory(error, 1, "something that could be done without");
        }
    }
    return status;
}

static void media_survive_every_failure(void **state) {
    (void)state;
    media_bodies of = {0};
    for_each_line(fixture("tiny-random/media/requests.jsonl"), take_media_body, &of);
    assert_int_equal(of.count, 2);
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *session = open_session(model, 64);
    for (size_t i = 0; i < 2; i++) {
        clef_record *record = encode_body(model, of.bodies[i]);
        media_encoding e = {record, of.bodies[i]};
        fail_each(try_media_record, &e, "record with media");
        clef_answer *answer = decide(session, record);
        float *logits = copy_logits(answer);
        deciding d = {record, logits};
        fail_each(try_decision, &d, "decision with media");
        clef_release(logits);
        clef_answer_close(answer);
        clef_record_close(record);
    }
    clef_session_close(session);
    clef_model_close(model);
    clef_arena_release(&of.arena);
}

/* A record that finds no memory fails alone: those packed with it get their answers. */
static void keep_outcome(void *context, clef_status status, clef_answer *answer,
                         const clef_error *error) {
    clef_status *place = context;
    assert_true((status == CLEF_OK) == (answer != NULL));
    assert_true(status == CLEF_OK || error->message[0] != '\0');
    *place = status;
    clef_answer_close(answer);
}

static void neighbours_of_a_failure_are_answered(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_record *record = encode_body(model, body);
    size_t failures = 0;
    size_t live = memory_live_blocks();
    for (size_t number = 1;; number++) {
        clef_error error = {0};
        clef_status outcomes[3] = {CLEF_BUSY, CLEF_BUSY, CLEF_BUSY};
        clef_session *session = open_session(model, 128);
        for (size_t i = 0; i < 3; i++) {
            assert_ok(clef_session_submit(session, record, keep_outcome, &outcomes[i], &error),
                      &error);
        }
        memory_count(number);
        finish(session);
        bool has_failed = memory_has_failed() != 0;
        memory_count(0);
        size_t answered = 0;
        for (size_t i = 0; i < 3; i++) {
            answered += outcomes[i] == CLEF_OK;
            assert_true(outcomes[i] == CLEF_OK || outcomes[i] == CLEF_OUT_OF_MEMORY);
        }
        assert_int_equal(answered, has_failed ? 2 : 3);
        clef_session_close(session);
        assert_int_equal(memory_live_blocks(), live);
        if (!has_failed) {
            break;
        }
        failures++;
    }
    assert_true(failures >= 6);
    clef_record_close(record);
    clef_model_close(model);
}

/* ---- the forward pass ---- */

static void forward_pass_allocates_nothing(void **state) {
    (void)state;
    clef_error error = {0};
    clef_model *model = open_model_with(random_model(), 2, NULL);
    clef_record *record = encode_made(model, 3, 60);
    const clef_head_task *task = &record->task;
    const clef_network *network = &model->network;
    size_t rows = task->token_count;
    clef_thread_pool *threads = NULL; /* of its own: at the end no block may be left */
    clef_backend *backend = NULL;
    clef_workspace workspace;
    clef_page_pool pool;
    clef_sequence *sequence = NULL;
    clef_head_reading reading;
    clef_page_pool_init(&pool, network->layout.page_floats);
    assert_ok(clef_thread_pool_create(2, &threads, &error), &error);
    assert_ok(clef_cpu_backend_create(threads, NULL, &backend, &error), &error);
    assert_ok(clef_workspace_create(network, rows, &workspace, &error), &error);
    assert_ok(clef_sequence_create(&network->layout, &pool, &sequence, &error), &error);
    assert_ok(clef_sequence_reserve(sequence, rows, &error), &error);
    assert_ok(clef_head_reading_create(network, task, &reading, &error), &error);
    int32_t *positions = clef_allocate(3 * rows, sizeof *positions);
    clef_span_part *parts = clef_allocate(rows + 1, sizeof *parts);
    assert_non_null(positions);
    assert_non_null(parts);
    for (size_t i = 0; i < 3 * rows; i++) {
        positions[i] = (int32_t)(i % rows);
    }
    clef_slice slice = clef_sequence_slice(sequence, 0, rows);
    clef_head_reading *readings = &reading;
    clef_pass pass = {
        .network = network,
        .backend = backend,
        .workspace = &workspace,
        .step = {
            .rows = rows, .tokens = task->tokens, .positions = positions, .slices = {&slice, 1}}};
    memory_count(0);
    clef_decoder_run(&pass);
    clef_head_observe(&pass, &readings, parts);
    assert_int_equal(memory_made(), 0);
    clef_release(parts);
    clef_release(positions);
    clef_head_reading_release(&reading);
    clef_sequence_destroy(sequence);
    clef_page_pool_release(&pool);
    clef_workspace_release(&workspace);
    clef_backend_destroy(backend);
    clef_thread_pool_close(threads);
    clef_record_close(record);
    clef_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runtime_survives_every_failure),
        cmocka_unit_test(model_survives_every_failure),
        cmocka_unit_test(record_survives_every_failure),
        cmocka_unit_test(session_survives_every_failure),
        cmocka_unit_test(decision_survives_every_failure),
        cmocka_unit_test(media_survive_every_failure),
        cmocka_unit_test(neighbours_of_a_failure_are_answered),
        cmocka_unit_test(forward_pass_allocates_nothing),
    };
    body = make_body(8, 10);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    release_text(body);
    if (memory_live_blocks() != 0) {
        print_error("%zu blocks were left at the end\n", memory_live_blocks());
        return 1;
    }
    return failed;
}
