/* A record cut into slices anywhere on the grid, or resumed from a checkpoint, gives the bits of
 * one piece. Driven through the model's own interface, below the session, so that the test chooses
 * every cut. */
#include "engine_support.h"

#include "base/memory.h"
#include "state/sequence.h"

#include <stdio.h>

enum { ROW_LIMIT = 4096 };

/* A place to compute on, and one record. */
typedef struct bench {
    clef_model *model;
    clef_record *record;
    const clef_head_task *task;
    clef_backend *backend;
    clef_workspace workspace;
    clef_page_pool pool;
    int32_t *positions;
    clef_span_part *parts;
    uint32_t *tokens; /* of a step with two slices */
    float *whole;     /* logits in one piece */
    float *logits;    /* those of the last decision */
} bench;

/* One record on its way. */
typedef struct progress {
    clef_sequence *sequence;
    clef_head_reading reading;
} progress;

static progress begin(bench *b) {
    clef_error error = {0};
    progress p;
    assert_ok(clef_sequence_create(&b->model->network.layout, &b->pool, &p.sequence, &error),
              &error);
    assert_ok(clef_head_reading_create(&b->model->network, b->task, &p.reading, &error), &error);
    return p;
}

static void end(progress *p) {
    clef_sequence_destroy(p->sequence);
    clef_head_reading_release(&p->reading);
}

/* One step of one or two slices, the next `rows` tokens each; lists say which tokens. */
static void step(bench *b, progress **of, const uint32_t *const *tokens, const size_t *rows,
                 size_t count) {
    clef_error error = {0};
    clef_slice slices[2];
    clef_head_reading *readings[2];
    size_t total = 0;
    for (size_t s = 0; s < count; s++) {
        clef_sequence *sequence = of[s]->sequence;
        assert_ok(clef_sequence_reserve(sequence, sequence->position + rows[s], &error), &error);
        slices[s] = clef_sequence_slice(sequence, total, rows[s]);
        readings[s] = &of[s]->reading;
        memcpy(b->tokens + total, tokens[s], rows[s] * sizeof *b->tokens);
        total += rows[s];
    }
    for (size_t s = 0; s < count; s++) {
        for (size_t i = 0; i < rows[s]; i++) {
            for (size_t axis = 0; axis < 3; axis++) {
                b->positions[axis * total + slices[s].row + i] = (int32_t)(slices[s].position + i);
            }
        }
    }
    clef_pass pass = {.network = &b->model->network,
                      .backend = b->backend,
                      .workspace = &b->workspace,
                      .step = {.rows = total,
                               .tokens = b->tokens,
                               .positions = b->positions,
                               .slices = {slices, count}}};
    clef_decoder_run(&pass);
    clef_head_observe(&pass, readings, b->parts);
    for (size_t s = 0; s < count; s++) {
        of[s]->sequence->position += rows[s];
    }
}

/* The record's next tokens, up to position `end`. */
static void advance(bench *b, progress *p, size_t position) {
    const uint32_t *tokens = b->task->tokens + p->sequence->position;
    size_t rows = position - p->sequence->position;
    step(b, &p, &tokens, &rows, 1);
}

static const float *decide_logits(bench *b, progress *p) {
    clef_error error = {0};
    assert_int_equal(p->sequence->position, b->task->token_count);
    assert_ok(clef_head_decide(&b->model->network, b->backend, &p->reading, p->sequence->pages,
                               NULL, b->logits, &error),
              &error);
    return b->logits;
}

static void assert_whole(bench *b, progress *p, const char *what) {
    const float *logits = decide_logits(b, p);
    for (size_t i = 0; i < b->task->option_total; i++) {
        if (memcmp(&logits[i], &b->whole[i], sizeof *logits) != 0) {
            fail_msg("%s, %s: logit %zu is %.9g instead of %.9g", b->backend->level, what, i,
                     (double)logits[i], (double)b->whole[i]);
        }
    }
}

static bench open_bench(const char *directory, const char *level, size_t words) {
    clef_error error = {0};
    bench b = {.model = open_model_with(directory, 1, level)};
    b.record = encode_made(b.model, 21, words);
    b.task = &b.record->task;
    assert_ok(clef_cpu_backend_create(NULL, level, &b.backend, &error), &error);
    assert_ok(clef_workspace_create(&b.model->network, ROW_LIMIT, &b.workspace, &error), &error);
    clef_page_pool_init(&b.pool, b.model->network.layout.page_floats);
    b.positions = clef_allocate((size_t)3 * ROW_LIMIT, sizeof *b.positions);
    b.parts = clef_allocate(ROW_LIMIT + 2, sizeof *b.parts);
    b.tokens = clef_allocate(ROW_LIMIT, sizeof *b.tokens);
    b.whole = clef_allocate(b.task->option_total, sizeof *b.whole);
    b.logits = clef_allocate(b.task->option_total, sizeof *b.logits);
    assert_true(b.positions != NULL && b.parts != NULL && b.tokens != NULL && b.whole != NULL &&
                b.logits != NULL);
    progress p = begin(&b);
    advance(&b, &p, b.task->token_count);
    memcpy(b.whole, decide_logits(&b, &p), b.task->option_total * sizeof *b.whole);
    end(&p);
    return b;
}

static void close_bench(bench *b) {
    assert_int_equal(b->pool.used_count, 0);
    clef_page_pool_release(&b->pool);
    clef_release(b->positions);
    clef_release(b->parts);
    clef_release(b->tokens);
    clef_release(b->whole);
    clef_release(b->logits);
    clef_workspace_release(&b->workspace);
    clef_backend_destroy(b->backend);
    clef_record_close(b->record);
    clef_model_close(b->model);
}

/* ---- cuts ---- */

/* Cuts at the grid points whose bits are set. */
static void check_cuts(bench *b, uint64_t cuts) {
    char what[64];
    progress p = begin(b);
    for (size_t point = 1; point * CLEF_GRID < b->task->token_count; point++) {
        if (cuts >> ((point - 1) % 64) & 1) {
            advance(b, &p, point * CLEF_GRID);
        }
    }
    advance(b, &p, b->task->token_count);
    snprintf(what, sizeof what, "cuts %llx", (unsigned long long)cuts);
    assert_whole(b, &p, what);
    end(&p);
}

/* Every set of cuts of a record with four grid points inside. */
static void check_all_cuts(const char *level) {
    bench b = open_bench(random_model(), level, 20);
    assert_in_range(b.task->token_count, 257, 320);
    for (uint64_t cuts = 0; cuts < 16; cuts++) {
        check_cuts(&b, cuts);
    }
    close_bench(&b);
}

static void every_set_of_cuts_gives_the_same_bits(void **state) {
    (void)state;
    for_each_level(check_all_cuts);
}

static void check_random_cuts(const char *directory, const char *level, size_t words) {
    bench b = open_bench(directory, level, words);
    assert_in_range(b.task->token_count, 800, ROW_LIMIT);
    uint64_t seed = 5;
    check_cuts(&b, UINT64_MAX); /* page by page */
    check_cuts(&b, next_number(&seed));
    check_cuts(&b, next_number(&seed) & next_number(&seed) & next_number(&seed));
    close_bench(&b);
}

static void check_random_cuts_at(const char *level) {
    check_random_cuts(random_model(), level, 330);
}

static void random_cuts_of_a_long_record_give_the_same_bits(void **state) {
    (void)state;
    for_each_level(check_random_cuts_at);
    check_random_cuts(trained_model(), best_level(), 1200);
}

/* ---- checkpoints ---- */

/* A second progress that goes on from a checkpoint of the first, with its sums. */
static progress resume(bench *b, const progress *from, const clef_checkpoint *checkpoint) {
    clef_error error = {0};
    progress p = begin(b);
    assert_ok(clef_sequence_restore(p.sequence, checkpoint, &error), &error);
    size_t spans = b->task->question_count + b->task->option_total + 1;
    memcpy(p.reading.totals, from->reading.totals, spans * p.reading.hidden_size * sizeof(double));
    return p;
}

/* Tokens that the record does not have. */
static void draw_tokens(const bench *b, uint64_t seed, uint32_t *tokens, size_t count) {
    for (size_t i = 0; i < count; i++) {
        tokens[i] = (uint32_t)(next_number(&seed) % b->model->network.config.vocabulary_size);
    }
}

/* Stops at `position`, lets another sequence go on from there with other tokens, and then goes on
 * both in a copy and in the original. */
static void check_resume(bench *b, size_t position) {
    clef_error error = {0};
    clef_checkpoint *checkpoint = NULL;
    char what[64];
    snprintf(what, sizeof what, "resumed at %zu", position);
    progress first = begin(b);
    if (position > 0) {
        advance(b, &first, position);
    }
    assert_ok(clef_checkpoint_take(first.sequence, &checkpoint, &error), &error);
    progress other = resume(b, &first, checkpoint);
    progress warm = resume(b, &first, checkpoint);

    uint32_t tokens[100];
    const uint32_t *list = tokens;
    progress *of = &other;
    draw_tokens(b, position, tokens, 100);
    step(b, &of, &list, (const size_t[]){100}, 1);

    advance(b, &warm, b->task->token_count);
    assert_whole(b, &warm, what);
    /* The sequence that the checkpoint was taken from goes on too, after all that. */
    if (position < b->task->token_count) {
        advance(b, &first, b->task->token_count);
    }
    assert_whole(b, &first, "gone on behind a checkpoint");
    end(&first);
    end(&warm);
    end(&other);
    clef_checkpoint_destroy(checkpoint);
}

static void check_resumes(const char *level) {
    bench b = open_bench(random_model(), level, 20);
    for (size_t position = 0; position < b.task->token_count; position += CLEF_GRID) {
        check_resume(&b, position);
    }
    close_bench(&b);
}

static void resumed_records_give_the_same_bits(void **state) {
    (void)state;
    for_each_level(check_resumes);
}

/* Last hidden rows of a sequence that has run `tokens` from the start in one piece. */
static void run_whole(bench *b, const uint32_t *tokens, size_t count, float *last) {
    progress p = begin(b);
    progress *of = &p;
    step(b, &of, &tokens, &count, 1);
    clef_matrix normed = b->workspace.normed;
    memcpy(last, normed.data + (count - 1) * normed.stride, normed.columns * sizeof *last);
    end(&p);
}

/* Two sequences share the pages of one checkpoint and go on in the same step, with different
 * tokens: neither sees the other. */
static void check_branches(const char *level) {
    clef_error error = {0};
    bench b = open_bench(random_model(), level, 20);
    const size_t shared = (size_t)2 * CLEF_GRID;
    const size_t own = b.task->token_count - shared;
    const size_t width = b.model->network.config.hidden_size;
    uint32_t tokens[512];
    memcpy(tokens, b.task->tokens, shared * sizeof *tokens);
    draw_tokens(&b, 9, tokens + shared, own);
    float *wanted = clef_allocate(width, sizeof *wanted);
    assert_non_null(wanted);
    run_whole(&b, tokens, shared + own, wanted);

    clef_checkpoint *checkpoint = NULL;
    progress base = begin(&b);
    advance(&b, &base, shared);
    assert_ok(clef_checkpoint_take(base.sequence, &checkpoint, &error), &error);
    progress left = resume(&b, &base, checkpoint);
    progress right = resume(&b, &base, checkpoint);
    assert_ptr_equal(left.sequence->pages[1], right.sequence->pages[1]);
    end(&base);
    progress *both[2] = {&left, &right};
    const uint32_t *lists[2] = {b.task->tokens + shared, tokens + shared};
    step(&b, both, lists, (const size_t[]){own, own}, 2);
    clef_matrix normed = b.workspace.normed;
    assert_memory_equal(normed.data + (2 * own - 1) * normed.stride, wanted,
                        width * sizeof *wanted);
    assert_whole(&b, &left, "one of two branches");
    end(&left);
    end(&right);
    clef_checkpoint_destroy(checkpoint);
    clef_release(wanted);
    close_bench(&b);
}

static void branches_of_a_checkpoint_do_not_meet(void **state) {
    (void)state;
    for_each_level(check_branches);
}

/* A sequence that was used before starts as fresh as a new one. */
static void check_reset(const char *level) {
    bench b = open_bench(random_model(), level, 20);
    progress p = begin(&b);
    uint32_t tokens[200];
    const uint32_t *list = tokens;
    progress *of = &p;
    draw_tokens(&b, 4, tokens, 200);
    step(&b, &of, &list, (const size_t[]){200}, 1);
    clef_sequence_reset(p.sequence);
    progress fresh = begin(&b);
    clef_head_reading kept = p.reading;
    p.reading = fresh.reading;
    fresh.reading = kept;
    advance(&b, &p, b.task->token_count);
    assert_whole(&b, &p, "a used sequence");
    end(&p);
    end(&fresh);
    close_bench(&b);
}

static void used_sequences_start_fresh(void **state) {
    (void)state;
    for_each_level(check_reset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_of_cuts_gives_the_same_bits),
        cmocka_unit_test(random_cuts_of_a_long_record_give_the_same_bits),
        cmocka_unit_test(resumed_records_give_the_same_bits),
        cmocka_unit_test(branches_of_a_checkpoint_do_not_meet),
        cmocka_unit_test(used_sequences_start_fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
