/* Short ways through the public interface, and requests made from a seed. */
#include "engine_support.h"

#include "backend/cpu/kernel_table.h"
#include "base/memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *random_model(void) {
    return CLEF_FIXTURES "/tiny-random/release";
}

const char *trained_model(void) {
    return CLEF_MODELS "/clef-tiny";
}

clef_runtime *open_runtime(uint32_t threads, const char *level) {
    clef_error error = {0};
    clef_runtime *runtime = NULL;
    clef_runtime_options options = {.thread_count = threads, .cpu_level = level};
    assert_ok(clef_runtime_create(&options, &runtime, &error), &error);
    return runtime;
}

clef_model *open_model(clef_runtime *runtime, const char *directory) {
    clef_error error = {0};
    clef_model *model = NULL;
    clef_model_options options = {.precision = CLEF_PRECISION_F32};
    assert_ok(clef_model_open(runtime, directory, &options, &model, &error), &error);
    return model;
}

clef_model *open_model_precise(const char *directory, clef_precision precision, uint32_t threads,
                               const char *level) {
    clef_error error = {0};
    clef_model *model = NULL;
    clef_model_options options = {.precision = precision};
    clef_runtime *runtime = open_runtime(threads, level);
    assert_ok(clef_model_open(runtime, directory, &options, &model, &error), &error);
    clef_runtime_close(runtime);
    return model;
}

clef_model *open_model_with(const char *directory, uint32_t threads, const char *level) {
    return open_model_precise(directory, CLEF_PRECISION_F32, threads, level);
}

clef_session *open_session(clef_model *model, uint32_t rows_per_step) {
    clef_error error = {0};
    clef_session *session = NULL;
    clef_session_options options = {.rows_per_step = rows_per_step};
    assert_ok(clef_session_create(model, &options, &session, &error), &error);
    return session;
}

clef_record *encode_body(clef_model *model, clef_text body) {
    clef_error error = {0};
    clef_record *record = NULL;
    assert_ok(clef_record_encode(model, body.bytes, body.length, NULL, &record, &error), &error);
    return record;
}

clef_answer *decide(clef_session *session, clef_record *record) {
    clef_error error = {0};
    clef_answer *answer = NULL;
    assert_ok(clef_session_decide(session, record, &answer, &error), &error);
    assert_non_null(answer);
    return answer;
}

/* ---- requests ---- */

uint64_t next_number(uint64_t *seed) {
    *seed += 0x9E3779B97F4A7C15u;
    uint64_t z = *seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

void shuffle(size_t *order, size_t count, uint64_t *seed) {
    for (size_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)(next_number(seed) % i);
        size_t kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

static void append_words(clef_buffer *body, uint64_t *seed, size_t words) {
    static const char *const all[] = {"the",    "order",  "arrived", "late",   "screen", "broken",
                                      "please", "refund", "today",   "urgent", "thanks", "price",
                                      "works",  "fine",   "42",      "dollars"};
    for (size_t i = 0; i < words; i++) {
        clef_buffer_append_string(body, i == 0 ? "" : " ");
        clef_buffer_append_string(body, all[next_number(seed) % (sizeof all / sizeof all[0])]);
    }
}

static void append_question(clef_buffer *body, uint64_t *seed, size_t number) {
    static const char *const types[] = {"noul", "choice", "score"};
    size_t type = next_number(seed) % 3;
    clef_buffer_append_format(body, "%s\"q%zu\":{\"type\":\"%s\",\"instructions\":\"",
                              number == 0 ? "" : ",", number, types[type]);
    append_words(body, seed, 3);
    clef_buffer_append_string(body, "\"");
    size_t options = 2 + next_number(seed) % 3;
    if (type != 0) {
        clef_buffer_append_string(body, type == 1 ? ",\"criteria\":{" : ",\"criteria\":[");
    }
    for (size_t i = 0; type != 0 && i < options; i++) {
        clef_buffer_append_string(body, i == 0 ? "" : ",");
        if (type == 1) {
            clef_buffer_append_format(body, "\"o%zu\":", i);
        }
        clef_buffer_append_string(body, "\"");
        append_words(body, seed, 1 + i);
        clef_buffer_append_string(body, "\"");
    }
    clef_buffer_append_string(body, type == 0 ? "}" : type == 1 ? "}}" : "]}");
}

clef_text make_body(uint64_t seed, size_t words) {
    clef_buffer body = {0};
    clef_buffer_append_string(&body, "{\"model\":\"clef\",\"state\":\"");
    append_words(&body, &seed, words);
    clef_buffer_append_string(&body, "\",\"questions\":{");
    size_t questions = 1 + next_number(&seed) % 3;
    for (size_t i = 0; i < questions; i++) {
        append_question(&body, &seed, i);
    }
    clef_buffer_append_string(&body, "}}");
    size_t length;
    char *bytes = clef_buffer_take(&body, &length);
    assert_non_null(bytes);
    return (clef_text){bytes, length};
}

clef_record *encode_made(clef_model *model, uint64_t seed, size_t words) {
    clef_text body = make_body(seed, words);
    clef_record *record = encode_body(model, body);
    release_text(body);
    return record;
}

/* ---- copies of a model ---- */

const char *path_in(const char *directory, const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void copy_file(const char *from, const char *to) {
    clef_text text = load_file(from);
    FILE *file = fopen(to, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text.bytes, 1, text.length, file), text.length);
    assert_int_equal(fclose(file), 0);
    release_text(text);
}

/* Calls each(from, to, name) for the files of folder `from`. */
static void for_each_file(const char *from, const char *to,
                          void (*each)(const char *from, const char *to, const char *name)) {
    DIR *folder = opendir(from);
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] != '.') {
            each(from, to, entry->d_name);
        }
    }
    closedir(folder);
}

static void copy_into(const char *from, const char *to, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", to, name);
    copy_file(path_in(from, name), path);
}

static void remove_from(const char *from, const char *to, const char *name) {
    (void)to;
    unlink(path_in(from, name));
}

static char *make_folder(void) {
    char *folder = clef_allocate(64, 1);
    assert_non_null(folder);
    snprintf(folder, 64, "/tmp/clef-model-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return folder;
}

char *copy_model(const char *directory) {
    char *copy = make_folder();
    for_each_file(directory, copy, copy_into);
    return copy;
}

char *quantise_model(const char *directory, const char *recipe) {
    clef_error error = {0};
    char *folder = make_folder();
    clef_runtime *runtime = open_runtime(1, NULL);
    clef_quantize_options options = {.recipe = recipe};
    assert_int_equal(rmdir(folder), 0);
    assert_ok(clef_model_quantize(runtime, directory, folder, &options, &error), &error);
    clef_runtime_close(runtime);
    return folder;
}

void drop_copy(char *directory) {
    for_each_file(directory, NULL, remove_from);
    rmdir(directory);
    clef_release(directory);
}

/* ---- levels ---- */

/* The kernels that fp32 arithmetic uses. */
static clef_kernel_table plain_kernels(clef_level level) {
    clef_kernel_table kernels = clef_kernel_table_of(level);
    clef_kernel_table plain = clef_kernel_table_of(CLEF_LEVEL_reference);
#define CLEF_OPERATION(operation, type)                                                            \
    if (strstr(#operation, "bf16") == NULL && strstr(#operation, "int8") == NULL &&                \
        strstr(#operation, "peak") == NULL) {                                                      \
        plain.operation = kernels.operation;                                                       \
    }
#include "backend/cpu/kernels.def"
    return plain;
}

void for_each_level(void (*test)(const char *level)) {
    clef_kernel_table before = {0};
    for (int level = 0; level < CLEF_LEVEL_COUNT; level++) {
        clef_kernel_table kernels = plain_kernels((clef_level)level);
        bool is_wanted = !IS_WATCHED || level == (int)clef_level_best();
        if (is_wanted && clef_level_is_supported((clef_level)level) &&
            memcmp(&kernels, &before, sizeof before) != 0) {
            test(clef_level_name((clef_level)level));
            before = kernels;
        }
    }
}

const char *best_level(void) {
    return clef_level_name(clef_level_best());
}

/* ---- answers ---- */

static size_t logits_bytes(const clef_answer *answer) {
    return answer->record->request->option_count * sizeof(float);
}

float *copy_logits(const clef_answer *answer) {
    float *copy = clef_allocate(logits_bytes(answer), 1);
    assert_non_null(copy);
    memcpy(copy, answer->logits, logits_bytes(answer));
    return copy;
}

void assert_equal_logits(const clef_answer *answer, const float *logits, const char *what) {
    if (memcmp(answer->logits, logits, logits_bytes(answer)) == 0) {
        return;
    }
    for (size_t i = 0; i < logits_bytes(answer) / sizeof(float); i++) {
        if (memcmp(&answer->logits[i], &logits[i], sizeof(float)) != 0) {
            fail_msg("%s: logit %zu is %.9g instead of %.9g", what, i, (double)answer->logits[i],
                     (double)logits[i]);
        }
    }
}

static void keep_answer(void *context, clef_status status, clef_answer *answer,
                        const clef_error *error) {
    clef_answer **place = context;
    assert_ok(status, error);
    assert_null(*place);
    *place = answer;
}

void submit(clef_session *session, clef_record *record, clef_answer **answer) {
    clef_error error = {0};
    *answer = NULL;
    assert_ok(clef_session_submit(session, record, keep_answer, answer, &error), &error);
}

void finish(clef_session *session) {
    clef_error error = {0};
    size_t pending = 1;
    while (pending > 0) {
        assert_ok(clef_session_step(session, &pending, &error), &error);
    }
}

void decide_together(clef_session *session, clef_record **records, const size_t *order,
                     size_t count, clef_answer **answers) {
    for (size_t i = 0; i < count; i++) {
        submit(session, records[order[i]], &answers[order[i]]);
    }
    finish(session);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(answers[i]);
    }
}
