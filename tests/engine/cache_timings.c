/* What kept states cost and save, on made weights of a shape: processor time of one thread.
 *
 *     cache_timings SHAPE|DIRECTORY LAYERS PRECISION [PART]
 *
 * PRECISION is "f32", "bf16" or a recipe. With a directory LAYERS is that of its model.
 *
 * Time of a whole model is what LAYERS layers take, times their number, and the head's time once.
 * A program for people, not a test. */
#include "cache_support.h"

#include <clef/measure.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A record of `state` random tokens and five questions behind them, `schema` tokens in all. */
static clef_record *make_record(clef_model *model, uint64_t seed, size_t state, uint64_t question,
                                size_t schema) {
    static const char body[] =
        "{\"model\":\"clef\",\"state\":\"s\",\"questions\":{\"a\":{\"type\":\"noul\"},\"b\":{"
        "\"type\":\"noul\"},\"c\":{\"type\":\"choice\",\"criteria\":{\"1\":null,\"2\":null,\"3\":"
        "null,\"4\":null}},\"d\":{\"type\":\"choice\",\"criteria\":{\"1\":null,\"2\":null,\"3\":"
        "null,\"4\":null}},\"e\":{\"type\":\"score\",\"criteria\":[\"1\",\"2\",\"3\",\"4\",\"5\"]}"
        "}}";
    clef_error error = {0};
    clef_record *record = clef_allocate(1, sizeof *record);
    assert_non_null(record);
    atomic_init(&record->references, 1);
    record->model = clef_model_share(model);
    record->cache_salt_begin = SIZE_MAX;
    assert_ok(clef_request_parse(CLEF_TEXT(body), NULL, &record->arena, &record->request, &error),
              &error);
    size_t tokens = state + schema;
    assert_ok(clef_token_list_reserve(&record->prompt.tokens, tokens, &error), &error);
    uint32_t vocabulary = model->network.config.vocabulary_size;
    for (size_t i = 0; i < tokens; i++) {
        uint64_t number = i < state ? seed * 1000003 + i : question * 7000003 + i - state;
        record->prompt.tokens.ids[i] = (uint32_t)(next_number(&number) % vocabulary);
    }
    record->prompt.tokens.count = tokens;
    record->prompt.prefix_tokens = 27;
    record->prompt.state_tokens = record->prompt.state_tokens_used = state;
    size_t questions = record->request->question_count;
    size_t options = record->request->option_count;
    unsigned char *types = clef_arena_allocate(&record->arena, questions, 1);
    size_t *counts = clef_arena_allocate(&record->arena, questions, sizeof *counts);
    clef_range *spans = clef_arena_allocate(&record->arena, questions + options, sizeof *spans);
    assert_true(types != NULL && counts != NULL && spans != NULL);
    /* Texts of the format stand before the first span, as many as there are in a prompt. */
    size_t step = (schema - 24) / (questions + options);
    for (size_t i = 0; i < questions + options; i++) {
        spans[i].begin = state + 24 + i * step;
        spans[i].end = spans[i].begin + step / 2;
    }
    for (size_t i = 0; i < questions; i++) {
        types[i] = (unsigned char)record->request->questions[i].type;
        counts[i] = record->request->questions[i].option_count;
    }
    record->task = (clef_head_task){.tokens = record->prompt.tokens.ids,
                                    .token_count = tokens,
                                    .question_count = questions,
                                    .option_total = options,
                                    .types = types,
                                    .option_counts = counts,
                                    .question_spans = spans,
                                    .option_spans = spans + questions};
    return record;
}

static double decide_seconds(clef_session *session, clef_record *record, uint32_t *cached) {
    double start = cpu_seconds();
    clef_answer *answer = decide(session, record);
    double seconds = cpu_seconds() - start;
    *cached = cached_of(answer);
    clef_answer_close(answer);
    return seconds;
}

/* The head's decision alone, on states of zeros. */
static double head_seconds(clef_model *model, const clef_record *record) {
    clef_error error = {0};
    clef_backend *backend;
    clef_page_pool pool;
    clef_sequence *sequence;
    clef_head_reading reading;
    float logits[64];
    clef_page_pool_init(&pool, model->network.layout.page_floats);
    assert_ok(clef_cpu_backend_create(NULL, model->runtime->level, &backend, &error), &error);
    assert_ok(clef_sequence_create(&model->network.layout, &pool, &sequence, &error), &error);
    assert_ok(clef_sequence_reserve(sequence, record->task.token_count, &error), &error);
    for (size_t i = 0; i < sequence->page_count; i++) {
        memset(sequence->pages[i], 0, pool.page_floats * sizeof(float));
    }
    assert_ok(clef_head_reading_create(&model->network, &record->task, &reading, &error), &error);
    double best = 1e9;
    for (size_t i = 0; i < 3; i++) {
        double start = cpu_seconds();
        assert_ok(clef_head_decide(&model->network, backend, &reading, sequence->pages, NULL,
                                   logits, &error),
                  &error);
        double seconds = cpu_seconds() - start;
        best = seconds < best ? seconds : best;
    }
    clef_head_reading_release(&reading);
    clef_sequence_destroy(sequence);
    clef_page_pool_release(&pool);
    clef_backend_destroy(backend);
    return best;
}

/* Cold, the same again, and other questions about the same state. */
static void time_repeats(clef_model *model, double scale) {
    clef_session *session = open_keeping(model, 512, (uint64_t)4 << 30, 0);
    uint32_t cached[4];
    clef_record *first = make_record(model, 1, 2227, 1, 562);
    clef_record *other = make_record(model, 1, 2227, 2, 562);
    clef_record *warm_up = make_record(model, 9, 512, 1, 562);
    decide_seconds(session, warm_up, &cached[0]);
    double head = head_seconds(model, first);
    double cold = decide_seconds(session, first, &cached[0]) - head;
    double again = decide_seconds(session, first, &cached[1]) - head;
    double another = decide_seconds(session, other, &cached[2]) - head;
    print_message("tokens 2789, head decides in %.3f s\n", head);
    print_message("cold %.3f s (%u cached), again %.3f s (%u), other questions %.3f s (%u)\n", cold,
                  cached[0], again, cached[1], another, cached[2]);
    print_message("whole model: cold %.2f s, again/cold %.4f, other/cold %.4f, head %.2f %% of "
                  "again\n",
                  cold * scale + head, (again * scale + head) / (cold * scale + head),
                  (another * scale + head) / (cold * scale + head),
                  100 * head / (again * scale + head));
    clef_session_statistics numbers = numbers_of(session);
    print_message("%llu entries, %.1f MB\n", (unsigned long long)numbers.prefix_cache_entries,
                  (double)numbers.prefix_cache_bytes / 1e6);
    clef_record_close(first);
    clef_record_close(other);
    clef_record_close(warm_up);
    clef_session_close(session);
}

/* Twelve turns of 200 tokens, each with its question of 100 tokens. */
static void time_conversation(clef_model *model) {
    clef_session *session = open_keeping(model, 512, (uint64_t)4 << 30, 0);
    size_t fresh = 0;
    for (size_t turn = 0; turn < 12; turn++) {
        clef_record *record = make_record(model, 3, 1000 + 200 * turn, turn, 100);
        uint32_t cached;
        decide_seconds(session, record, &cached);
        fresh += turn == 0 ? 1100 : 300;
        clef_record_close(record);
    }
    clef_session_statistics numbers = numbers_of(session);
    print_message("conversation: %zu new tokens, %llu computed (%.3f), %llu entries, %.1f MB\n",
                  fresh, (unsigned long long)numbers.computed_tokens,
                  (double)numbers.computed_tokens / (double)fresh,
                  (unsigned long long)numbers.prefix_cache_entries,
                  (double)numbers.prefix_cache_bytes / 1e6);
    clef_session_close(session);
}

/* States in rotation through a budget of two of them, against no cache; both in turn. */
static void time_rotation(clef_model *model, size_t states) {
    uint64_t bytes = 2 * bytes_of_entry(model, 1000);
    clef_session *without = open_session(model, 512);
    clef_session *with = open_keeping(model, 512, bytes, 0);
    double seconds[2] = {0};
    uint32_t cached;
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < states; i++) {
            clef_record *record = make_record(model, 100 + i, 900, 1, 100);
            seconds[0] += decide_seconds(without, record, &cached);
            seconds[1] += decide_seconds(with, record, &cached);
            clef_record_close(record);
        }
    }
    clef_session_statistics numbers = numbers_of(with);
    print_message("rotation of %zu: %.3f s without, %.3f s with (%+.2f %%), %llu evictions, %llu "
                  "hits\n",
                  states, seconds[0], seconds[1], 100 * (seconds[1] / seconds[0] - 1),
                  (unsigned long long)numbers.prefix_cache_evictions,
                  (unsigned long long)numbers.prefix_cache_hits);
    clef_session_close(without);
    clef_session_close(with);
}

/* Taking and keeping one state. */
static void time_keeping(const clef_model *model) {
    clef_error error = {0};
    clef_page_pool pool;
    clef_prefix_cache cache;
    const clef_state_layout *layout = &model->network.layout;
    clef_page_pool_init(&pool, layout->page_floats);
    assert_ok(clef_prefix_cache_create(layout, &pool, (uint64_t)4 << 30, 0, 1, &cache, &error),
              &error);
    uint32_t tokens[CLEF_GRID] = {0};
    clef_prefix_key key = {tokens, CLEF_GRID, {{0}}, SIZE_MAX};
    float *page = clef_page_take(&pool);
    float *source = clef_prefix_cache_take_fixed(&cache);
    assert_true(page != NULL && source != NULL);
    memset(page, 0, layout->page_floats * sizeof *page);
    double start = cpu_seconds();
    float *fixed = clef_prefix_cache_take_fixed(&cache);
    assert_non_null(fixed);
    memcpy(fixed, source, layout->fixed_floats * sizeof *fixed);
    clef_prefix_cache_put(&cache, &key, (clef_prefix_point){CLEF_GRID, false}, fixed, &page);
    print_message("keeping a state: %.4f s; fixed part %.1f MB, a page %.2f MB\n",
                  cpu_seconds() - start, (double)layout->fixed_floats * 4e-6,
                  (double)layout->page_floats * 4e-6);
    clef_page_drop(&pool, page);
    clef_release(source);
    clef_prefix_cache_release(&cache);
    clef_page_pool_release(&pool);
}

int main(int count, char **arguments) {
    if (count < 4) {
        print_message("usage: %s SHAPE LAYERS f32|bf16|RECIPE [repeats|conversation|rotation]\n",
                      arguments[0]);
        return 2;
    }
    const char *numbers = arguments[3];
    bool is_plain = strcmp(numbers, "f32") == 0 || strcmp(numbers, "bf16") == 0;
    clef_error error = {0};
    clef_model *model = NULL;
    clef_runtime *runtime = open_runtime(1, NULL);
    clef_shape_options options = {.layer_count = (uint32_t)strtoul(arguments[2], NULL, 10),
                                  .recipe = is_plain ? NULL : numbers,
                                  .precision = strcmp(numbers, "bf16") == 0 ? CLEF_PRECISION_BF16
                                                                            : CLEF_PRECISION_F32};
    if (strchr(arguments[1], '/') != NULL) {
        model = open_model(runtime, arguments[1]);
    } else {
        assert_ok(clef_model_make(runtime, arguments[1], &options, &model, &error), &error);
    }
    double layers = strncmp(arguments[1], "clef", 5) == 0          ? 64
                    : strncmp(arguments[1], "clef-flash", 11) == 0 ? 32
                                                                   : 24;
    const char *what = count > 4 ? arguments[4] : "";
    time_keeping(model);
    if (what[0] == '\0' || strcmp(what, "repeats") == 0) {
        time_repeats(model, layers / options.layer_count);
    }
    if (what[0] == '\0' || strcmp(what, "conversation") == 0) {
        time_conversation(model);
    }
    if (what[0] == '\0' || strcmp(what, "rotation") == 0) {
        time_rotation(model, 50);
    }
    clef_model_close(model);
    clef_runtime_close(runtime);
    return 0;
}
