/* Folders that appear whole or not at all: made, replaced, refused, given up at every stage. */
#include "support.h"

#include "base/memory.h"
#include "base/staging.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct place {
    char root[256];
    char output[300];
    char source[300];
} place;

static void write_string(const char *directory, const char *name, const char *string) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(string, 1, strlen(string), file), strlen(string));
    assert_int_equal(fclose(file), 0);
}

static void make_place(place *p) {
    const char *base = getenv("TMPDIR");
    snprintf(p->root, sizeof p->root, "%s/clef-staging-XXXXXX", base == NULL ? "/tmp" : base);
    assert_non_null(mkdtemp(p->root));
    snprintf(p->output, sizeof p->output, "%s/out", p->root);
    snprintf(p->source, sizeof p->source, "%s/source", p->root);
    assert_int_equal(mkdir(p->source, 0777), 0);
}

static void remove_place(const place *p) {
    char command[400];
    snprintf(command, sizeof command, "rm -r '%s'", p->root);
    assert_int_equal(system(command), 0);
}

/* Names in a directory, sorted and joined by blanks; "(none)" when there is no directory. */
static const char *names_in(const char *directory, char out[512]) {
    struct dirent **entries;
    int count = scandir(directory, &entries, NULL, alphasort);
    snprintf(out, 512, "%s", count < 0 ? "(none)" : "");
    for (int i = 0; i < count; i++) {
        size_t length = strlen(out);
        if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0) {
            snprintf(out + length, 512 - length, "%s%s", length > 0 ? " " : "", entries[i]->d_name);
        }
        free(entries[i]);
    }
    if (count >= 0) {
        free(entries);
    }
    return out;
}

#define ASSERT_NAMES(directory, expected)                                                          \
    do {                                                                                           \
        char names[512];                                                                           \
        assert_string_equal(names_in(directory, names), (expected));                               \
    } while (0)

static bool is_any(const char *name) {
    (void)name;
    return true;
}

static bool is_old(const char *name) {
    return strncmp(name, "old", 3) == 0;
}

static bool is_not_b(const char *name) {
    return strcmp(name, "b") != 0;
}

static void create(clef_staging *staging, const char *name, const char *text) {
    clef_error error = {0};
    clef_new_file file;
    assert_ok(clef_staging_create(staging, name, &file, &error), &error);
    assert_ok(clef_new_file_write(&file, 0, text, strlen(text), &error), &error);
    assert_ok(clef_new_file_finish(&file, &error), &error);
}

static clef_staging *open_staging(const place *p, bool may_replace) {
    clef_error error = {0};
    clef_staging *staging;
    assert_ok(clef_staging_open(p->output, may_replace, &staging, &error), &error);
    return staging;
}

static void appears_when_published(void **state) {
    (void)state;
    place p;
    clef_error error = {0};
    make_place(&p);
    clef_staging *staging = open_staging(&p, false);
    create(staging, "last", "1");
    create(staging, "a", "22");
    ASSERT_NAMES(p.output, CLEF_STAGING_NAME);
    ASSERT_NAMES(clef_staging_path(staging), "a last");
    assert_ok(clef_staging_publish(staging, "last", is_old, &error), &error);
    ASSERT_NAMES(p.output, "a last");
    clef_staging_close(staging);
    ASSERT_NAMES(p.output, "a last");
    remove_place(&p);
}

static void given_up_leaves_nothing(void **state) {
    (void)state;
    place p;
    make_place(&p);
    clef_staging *staging = open_staging(&p, false);
    create(staging, "a", "1");
    clef_error error = {0};
    clef_new_file half;
    assert_ok(clef_staging_create(staging, "half", &half, &error), &error);
    clef_new_file_abandon(&half);
    clef_staging_close(staging);
    ASSERT_NAMES(p.output, "(none)");
    /* A directory that was there stays, with what it held. */
    assert_int_equal(mkdir(p.output, 0777), 0);
    write_string(p.output, "mine", "x");
    staging = open_staging(&p, true);
    create(staging, "mine", "new");
    clef_staging_close(staging);
    ASSERT_NAMES(p.output, "mine");
    remove_place(&p);
}

static void replaces_only_what_it_may(void **state) {
    (void)state;
    place p;
    clef_error error = {0};
    char path[400];
    make_place(&p);
    assert_int_equal(mkdir(p.output, 0777), 0);
    write_string(p.output, "old-1", "x");
    write_string(p.output, "mine", "x");
    write_string(p.output, "last", "before");
    snprintf(path, sizeof path, "%s/" CLEF_STAGING_NAME, p.output);
    assert_int_equal(mkdir(path, 0777), 0);
    write_string(path, "left-over", "of a process that was killed");
    clef_staging *staging;
    assert_int_equal(clef_staging_open(p.output, false, &staging, &error), CLEF_USAGE);
    assert_non_null(strstr(error.message, "is not empty: it holds"));
    assert_string_equal(error.place, p.output);
    assert_null(staging);
    staging = open_staging(&p, true);
    create(staging, "last", "after");
    create(staging, "new", "");
    assert_ok(clef_staging_publish(staging, "last", is_old, &error), &error);
    clef_staging_close(staging);
    ASSERT_NAMES(p.output, "last mine new");
    snprintf(path, sizeof path, "%s/last", p.output);
    clef_text text = load_file(path);
    assert_true(clef_text_equals(text, CLEF_TEXT("after")));
    release_text(text);
    remove_place(&p);
}

/* A folder stands where a file should go: what was moved before is taken back. */
static void a_move_that_fails_takes_back(void **state) {
    (void)state;
    place p;
    clef_error error = {0};
    char path[400];
    make_place(&p);
    assert_int_equal(mkdir(p.output, 0777), 0);
    snprintf(path, sizeof path, "%s/b", p.output);
    assert_int_equal(mkdir(path, 0777), 0);
    clef_staging *staging = open_staging(&p, true);
    create(staging, "a", "1");
    create(staging, "b", "2");
    create(staging, "last", "3");
    assert_int_equal(clef_staging_publish(staging, "last", is_old, &error), CLEF_INTERNAL);
    assert_non_null(strstr(error.message, "/out/b: "));
    clef_staging_close(staging);
    ASSERT_NAMES(p.output, "b");
    remove_place(&p);
}

static void copies_files_and_what_links_lead_to(void **state) {
    (void)state;
    place p;
    clef_error error = {0};
    char path[400];
    make_place(&p);
    char *large = clef_allocate(200001, 1);
    memset(large, 'x', 200000);
    write_string(p.source, "a", large);
    write_string(p.source, "b", "not wanted");
    write_string(p.source, "empty", "");
    snprintf(path, sizeof path, "%s/folder", p.source);
    assert_int_equal(mkdir(path, 0777), 0);
    snprintf(path, sizeof path, "%s/link", p.source);
    assert_int_equal(symlink("a", path), 0);
    clef_staging *staging = open_staging(&p, false);
    assert_ok(clef_staging_copy(staging, p.source, is_not_b, &error), &error);
    assert_ok(clef_staging_publish(staging, "a", is_old, &error), &error);
    clef_staging_close(staging);
    ASSERT_NAMES(p.output, "a empty link");
    snprintf(path, sizeof path, "%s/link", p.output);
    clef_text text = load_file(path);
    assert_true(clef_text_equals(text, clef_text_of(large)));
    struct stat found;
    assert_int_equal(lstat(path, &found), 0);
    assert_true(S_ISREG(found.st_mode));
    release_text(text);
    clef_release(large);
    remove_place(&p);
}

static void a_source_that_cannot_be_read_is_named(void **state) {
    (void)state;
    place p;
    clef_error error = {0};
    char path[400];
    make_place(&p);
    snprintf(path, sizeof path, "%s/dangling", p.source);
    assert_int_equal(symlink("nowhere", path), 0);
    clef_staging *staging = open_staging(&p, false);
    assert_int_equal(clef_staging_copy(staging, p.source, is_any, &error), CLEF_BAD_FILE);
    assert_non_null(strstr(error.message, "/source/dangling cannot be read"));
    assert_int_equal(clef_staging_copy(staging, "/nowhere", is_any, &error), CLEF_BAD_FILE);
    clef_staging_close(staging);
    ASSERT_NAMES(p.output, "(none)");
    remove_place(&p);
}

static void outputs_that_cannot_be(void **state) {
    (void)state;
    place p;
    clef_error error = {0};
    clef_staging *staging;
    char path[400];
    make_place(&p);
    snprintf(path, sizeof path, "%s/none/out", p.root);
    assert_int_equal(clef_staging_open(path, false, &staging, &error), CLEF_USAGE);
    assert_non_null(strstr(error.message, "the directory above it does not exist"));
    write_string(p.root, "out", "a file");
    assert_int_equal(clef_staging_open(p.output, true, &staging, &error), CLEF_USAGE);
    assert_non_null(strstr(error.message, "is no directory"));
    assert_true(clef_path_is_same(p.source, p.source));
    assert_false(clef_path_is_same(p.source, p.root));
    assert_false(clef_path_is_same(p.source, path));
    snprintf(path, sizeof path, "%s/source/../source/.", p.root);
    assert_true(clef_path_is_same(p.source, path));
    remove_place(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appears_when_published),
        cmocka_unit_test(given_up_leaves_nothing),
        cmocka_unit_test(replaces_only_what_it_may),
        cmocka_unit_test(a_move_that_fails_takes_back),
        cmocka_unit_test(copies_files_and_what_links_lead_to),
        cmocka_unit_test(a_source_that_cannot_be_read_is_named),
        cmocka_unit_test(outputs_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
