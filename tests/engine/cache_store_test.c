/* Kept states on disk: a restart starts warm with the same bits; broken, foreign and half-written
 * files are noticed and never used; a process may be killed at any moment. */
#include "cache_support.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLENTY = 1 << 28, NAMES = 64 };

typedef struct place {
    char path[128];
} place;

static place make_place(void) {
    place p = {"/tmp/clef-cache-XXXXXX"};
    assert_non_null(mkdtemp(p.path));
    return p;
}

/* Names in it; returns how many. */
static size_t list(const place *p, char names[NAMES][256]) {
    size_t count = 0;
    DIR *opened = opendir(p->path);
    assert_non_null(opened);
    const struct dirent *entry;
    while ((entry = readdir(opened)) != NULL) {
        if (entry->d_name[0] != '.' && count < NAMES) {
            snprintf(names[count++], 256, "%s", entry->d_name);
        }
    }
    closedir(opened);
    return count;
}

static void path_of(const place *p, const char *name, char path[512]) {
    snprintf(path, 512, "%s/%s", p->path, name);
}

static uint64_t bytes_in(const place *p) {
    char names[NAMES][256];
    char path[512];
    uint64_t bytes = 0;
    struct stat facts;
    for (size_t i = list(p, names); i-- > 0;) {
        path_of(p, names[i], path);
        assert_int_equal(stat(path, &facts), 0);
        bytes += (uint64_t)facts.st_size;
    }
    return bytes;
}

static void drop_place(const place *p) {
    char names[NAMES][256];
    char path[512];
    for (size_t i = list(p, names); i-- > 0;) {
        path_of(p, names[i], path);
        (void)(unlink(path) == 0 || rmdir(path) == 0);
    }
    assert_int_equal(rmdir(p->path), 0);
}

static clef_status try_session(clef_model *model, const place *p, uint64_t disk_bytes,
                               clef_session **session, clef_error *error) {
    clef_session_options options = {.rows_per_step = 128,
                                    .prefix_cache_bytes = PLENTY,
                                    .prefix_cache_directory = p->path,
                                    .prefix_cache_directory_bytes = disk_bytes};
    return clef_session_create(model, &options, session, error);
}

static clef_session *open_stored(clef_model *model, const place *p, uint64_t disk_bytes) {
    clef_error error = {0};
    clef_session *session = NULL;
    assert_ok(try_session(model, p, disk_bytes, &session, &error), &error);
    return session;
}

/* Decides one record in a session of its own on the directory; returns the cached tokens. */
static uint32_t decide_stored(clef_model *model, const place *p, clef_record *record,
                              const float *logits) {
    clef_session *session = open_stored(model, p, 0);
    clef_answer *answer = decide(session, record);
    uint32_t cached = cached_of(answer);
    assert_equal_logits(answer, logits, "with a cache directory");
    clef_answer_close(answer);
    clef_session_close(session);
    return cached;
}

static float *decide_cold(clef_model *model, clef_record *record) {
    clef_session *session = open_session(model, 0);
    clef_answer *answer = decide(session, record);
    float *logits = copy_logits(answer);
    clef_answer_close(answer);
    clef_session_close(session);
    return logits;
}

static size_t head_end(const clef_record *record) {
    return record->task.question_spans[0].begin / CLEF_GRID * CLEF_GRID;
}

/* ---- restarts ---- */

static void restarts_start_warm(void **state) {
    (void)state;
    place p = make_place();
    for (size_t round = 0; round < 2; round++) {
        clef_model *model = open_model_with(random_model(), 1, NULL);
        for (size_t words = 40; words < 400; words += 100) {
            clef_record *record = encode_pair(model, 4, words, words % 7, NULL);
            float *logits = decide_cold(model, record);
            uint32_t cached = decide_stored(model, &p, record, logits);
            if (round > 0) {
                assert_int_equal(cached, head_end(record));
            } else {
                assert_true(cached > 0 || words == 40);
            }
            clef_release(logits);
            clef_record_close(record);
        }
        clef_model_close(model);
    }
    drop_place(&p);
}

/* A growing state writes each page once. */
static void conversations_write_each_page_once(void **state) {
    (void)state;
    enum { TURNS = 6 };
    place p = make_place();
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *session = open_stored(model, &p, 0);
    size_t tokens = 0;
    for (size_t turn = 0; turn < TURNS; turn++) {
        clef_record *record = encode_pair(model, 9, 100 + turn * 70, 1, NULL);
        clef_answer_close(decide(session, record));
        tokens = head_end(record);
        clef_record_close(record);
    }
    clef_session_close(session);
    char names[NAMES][256];
    size_t files = list(&p, names);
    const clef_state_layout *layout = &model->network.layout;
    uint64_t pages = tokens / CLEF_GRID * (layout->page_floats + CLEF_GRID) * sizeof(float);
    uint64_t fixed = layout->fixed_floats * sizeof(float) + 4096;
    assert_true(files >= TURNS);
    /* Ends of the state and of what stands before the questions are never more than a page apart.
     */
    assert_true(bytes_in(&p) <=
                pages + files * (fixed + layout->page_floats * sizeof(float) + 256));
    session = open_stored(model, &p, 0);
    assert_int_equal(numbers_of(session).prefix_cache_directory_bytes, bytes_in(&p));
    clef_session_close(session);
    clef_model_close(model);
    drop_place(&p);
}

static void the_directory_keeps_its_budget(void **state) {
    (void)state;
    place p = make_place();
    clef_model *model = open_model_with(random_model(), 1, NULL);
    uint64_t limit = 3 * bytes_of_entry(model, 400);
    clef_session *session = open_stored(model, &p, limit);
    for (uint64_t seed = 0; seed < 12; seed++) {
        clef_record *record = encode_pair(model, seed, 150, 1, NULL);
        clef_answer_close(decide(session, record));
        clef_record_close(record);
        assert_true(numbers_of(session).prefix_cache_directory_bytes <= limit);
    }
    clef_session_close(session);
    assert_true(bytes_in(&p) <= limit && bytes_in(&p) > limit / 4);
    session = open_stored(model, &p, limit / 2);
    assert_true(bytes_in(&p) <= limit / 2);
    clef_session_close(session);
    clef_model_close(model);
    drop_place(&p);
}

/* ---- files that are not what they say ---- */

static void damage(const char *path, size_t kind, uint64_t *seed) {
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    FILE *file;
    switch (kind) {
    case 0: /* a bit anywhere */
    case 1: /* or in the header */
        file = fopen(path, "r+b");
        assert_non_null(file);
        long at = (long)(next_number(seed) % (kind == 0 ? (uint64_t)facts.st_size : 320));
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        int byte = fgetc(file);
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        fputc(byte ^ (1 << next_number(seed) % 8), file);
        assert_int_equal(fclose(file), 0);
        break;
    case 2:
        assert_int_equal(truncate(path, (off_t)(next_number(seed) % (uint64_t)facts.st_size)), 0);
        break;
    case 3:
        assert_int_equal(truncate(path, facts.st_size + 1), 0);
        break;
    case 4:
        assert_int_equal(truncate(path, 0), 0);
        break;
    case 5:
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink("/etc/passwd", path), 0);
        break;
    case 6:
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkdir(path, 0700), 0);
        break;
    default:
        assert_int_equal(unlink(path), 0);
        break;
    }
}

/* Damages one file at a time, in all ways; then the files are written anew. */
static void damage_is_noticed(void **state) {
    (void)state;
    uint64_t seed = 1;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_record *record = encode_pair(model, 4, 200, 1, NULL);
    clef_record *shorter = encode_pair(model, 4, 100, 1, NULL);
    float *logits = decide_cold(model, record);
    float *short_logits = decide_cold(model, shorter);
    for (size_t round = 0; round < (IS_WATCHED ? 8 : 48); round++) {
        char names[NAMES][256];
        char path[512];
        place p = make_place();
        (void)decide_stored(model, &p, shorter, short_logits);
        (void)decide_stored(model, &p, record, logits);
        size_t count = list(&p, names);
        assert_true(count > 1);
        path_of(&p, names[next_number(&seed) % count], path);
        damage(path, round % 8, &seed);
        uint32_t cached = decide_stored(model, &p, record, logits);
        assert_true(cached <= head_end(record));
        (void)decide_stored(model, &p, shorter, short_logits);
        /* What was broken was written again, or something else holds as much. */
        assert_true(round % 8 == 5 || round % 8 == 6 ||
                    decide_stored(model, &p, record, logits) == head_end(record));
        drop_place(&p);
    }
    clef_release(logits);
    clef_release(short_logits);
    clef_record_close(record);
    clef_record_close(shorter);
    clef_model_close(model);
}

/* States of another model, level or precision are not used, and make room when it is needed. */
static void foreign_states_are_not_used(void **state) {
    (void)state;
    place p = make_place();
    uint64_t own_bytes = 0;
    clef_model *models[3] = {
        open_model_with(random_model(), 1, "reference"),
        open_model_precise(random_model(), CLEF_PRECISION_BF16, 1, "reference"),
        open_model_with(random_model(), 1, NULL)};
    size_t count = strcmp(best_level(), "reference") == 0 ? 2 : 3;
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++) {
            clef_record *record = encode_pair(models[i], 4, 120, 1, NULL);
            float *logits = decide_cold(models[i], record);
            uint32_t cached = decide_stored(models[i], &p, record, logits);
            assert_int_equal(cached, round == 0 ? 0 : head_end(record));
            own_bytes = i == 0 && round == 0 ? bytes_in(&p) : own_bytes;
            clef_release(logits);
            clef_record_close(record);
        }
    }
    /* With room for one of them, the foreign ones go first. */
    clef_session *session = open_stored(models[0], &p, own_bytes);
    assert_int_equal(numbers_of(session).prefix_cache_directory_bytes, own_bytes);
    clef_session_close(session);
    clef_record *record = encode_pair(models[0], 4, 120, 1, NULL);
    float *logits = decide_cold(models[0], record);
    assert_int_equal(decide_stored(models[0], &p, record, logits), head_end(record));
    clef_release(logits);
    clef_record_close(record);
    for (size_t i = 0; i < 3; i++) {
        clef_model_close(models[i]);
    }
    drop_place(&p);
}

/* ---- directories ---- */

static void directories_are_checked(void **state) {
    (void)state;
    place p = make_place();
    clef_error error = {0};
    clef_session *other = NULL;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *session = open_stored(model, &p, 0);
    assert_int_equal(try_session(model, &p, 0, &other, &error), CLEF_BUSY);
    assert_string_equal(error.place, p.path);
    assert_null(other);
    clef_session_close(session);
    session = open_stored(model, &p, 0);
    clef_session_close(session);
    place missing = {"/tmp/clef-cache-is-not-there"};
    assert_int_equal(try_session(model, &missing, 0, &other, &error), CLEF_USAGE);
    assert_string_equal(error.place, missing.path);
    char names[NAMES][256];
    assert_int_equal(list(&p, names), 0);
    clef_session_options options = {.prefix_cache_directory = p.path};
    assert_int_equal(clef_session_create(model, &options, &other, &error), CLEF_USAGE);
    clef_model_close(model);
    drop_place(&p);
}

/* ---- kill -9 ---- */

static void run_until_killed(const place *p) {
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *session = open_stored(model, p, 0);
    for (uint64_t seed = 0;; seed++) {
        clef_record *record = encode_pair(model, seed % 5, 60 + seed % 90, 1, NULL);
        clef_answer_close(decide(session, record));
        clef_record_close(record);
    }
}

static void kills_leave_a_sound_directory(void **state) {
    (void)state;
    place p = make_place();
    uint64_t seed = 2;
    for (size_t round = 0; round < 12; round++) {
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            run_until_killed(&p);
            _exit(1);
        }
        usleep((useconds_t)(100000 + next_number(&seed) % 200000));
        assert_int_equal(kill(child, SIGKILL), 0);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
    }
    clef_model *model = open_model_with(random_model(), 1, NULL);
    size_t found = 0;
    for (uint64_t i = 0; i < 5; i++) {
        clef_record *record = encode_pair(model, i, 60 + i, 1, NULL);
        float *logits = decide_cold(model, record);
        found += decide_stored(model, &p, record, logits);
        clef_release(logits);
        clef_record_close(record);
    }
    assert_true(found > 0);
    char names[NAMES][256];
    for (size_t i = list(&p, names); i-- > 0;) {
        assert_non_null(strstr(names[i], ".kept"));
    }
    clef_model_close(model);
    drop_place(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kills_leave_a_sound_directory), /* before this process has threads */
        cmocka_unit_test(restarts_start_warm),
        cmocka_unit_test(conversations_write_each_page_once),
        cmocka_unit_test(the_directory_keeps_its_budget),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(foreign_states_are_not_used),
        cmocka_unit_test(directories_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
