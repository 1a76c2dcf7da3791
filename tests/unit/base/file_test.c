/* Files: mapping, reading, and one distinct message for each thing that can be wrong. */
#include "support.h"

#include "base/file.h"
#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char directory[64];

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t length) {
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static int create_directory(void **state) {
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/clef-file-XXXXXX",
             parent == NULL || strlen(parent) > 40 ? "/tmp" : parent);
    return mkdtemp(directory) == NULL;
}

static int remove_directory(void **state) {
    (void)state;
    static const char *const names[] = {"plain", "link", "dangling", "loop-a", "loop-b",
                                        "empty", "pipe", "socket",   "closed", "inner/x"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unlink(path_of(names[i]));
    }
    rmdir(path_of("inner"));
    return rmdir(directory);
}

static void expect_refusal(const char *name, const char *part) {
    for (int reading = 0; reading < 2; reading++) {
        clef_file file = {.bytes = "not touched", .length = 1};
        clef_error error = {0};
        char path[256];
        snprintf(path, sizeof path, "%s", path_of(name));
        clef_status status = reading ? clef_file_read(path, SIZE_MAX, &file, &error)
                                     : clef_file_map(path, &file, &error);
        assert_int_equal(status, CLEF_BAD_FILE);
        if (strstr(error.message, part) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", error.message, part);
        }
        assert_string_equal(error.place, path);
        assert_null(file.bytes);
        assert_int_equal(file.length, 0);
        clef_file_close(&file);
    }
}

static void files_are_mapped_and_read(void **state) {
    (void)state;
    static const char bytes[] = "some\0bytes";
    write_file("plain", bytes, sizeof bytes);
    assert_int_equal(symlink("plain", path_of("link")), 0);
    static const char *const names[] = {"plain", "link"};
    for (size_t i = 0; i < 2; i++) {
        clef_file file;
        clef_error error = {0};
        assert_ok(clef_file_map(path_of(names[i]), &file, &error), &error);
        assert_true(file.is_mapped);
        assert_int_equal(file.length, sizeof bytes);
        assert_memory_equal(file.bytes, bytes, sizeof bytes);
        clef_file_prefetch(file.bytes, file.length);
        clef_file_prefetch((const char *)file.bytes + 3, 2);
        clef_file_prefetch(file.bytes, 0);
        clef_file_close(&file);
        assert_null(file.bytes);
        assert_ok(clef_file_read(path_of(names[i]), sizeof bytes, &file, &error), &error);
        assert_false(file.is_mapped);
        assert_int_equal(file.length, sizeof bytes);
        assert_memory_equal(file.bytes, bytes, sizeof bytes);
        clef_file_close(&file);
        clef_file_close(&file);
    }
}

/* Advice changes no byte, wherever it begins and ends. */
static void advice_changes_nothing(void **state) {
    (void)state;
    size_t length = 3 * 1024 * 1024 + 5;
    unsigned char *bytes = malloc(length);
    assert_non_null(bytes);
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    }
    write_file("plain", bytes, length);
    clef_file file;
    clef_error error = {0};
    assert_ok(clef_file_map(path_of("plain"), &file, &error), &error);
    const unsigned char *mapped = file.bytes;
    const struct {
        size_t begin, length;
    } ranges[] = {{0, length}, {1, 4094}, {4095, 2}, {5000, 700001}, {length - 5, 5}, {77, 0}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        clef_file_let_go(&file, mapped + ranges[i].begin, ranges[i].length);
        clef_file_prefetch(mapped + ranges[i].begin, ranges[i].length);
        assert_memory_equal(mapped, bytes, length);
        clef_file_let_go(&file, mapped + ranges[i].begin, ranges[i].length);
        assert_memory_equal(mapped, bytes, length);
    }
    clef_file_close(&file);
    assert_ok(clef_file_read(path_of("plain"), length, &file, &error), &error);
    clef_file_let_go(&file, file.bytes, length);
    assert_memory_equal(file.bytes, bytes, length);
    clef_file_close(&file);
    free(bytes);
}

static void longer_files_than_the_limit_are_refused(void **state) {
    (void)state;
    write_file("plain", "0123456789", 10);
    clef_file file;
    clef_error error = {0};
    assert_int_equal(clef_file_read(path_of("plain"), 9, &file, &error), CLEF_BAD_FILE);
    assert_non_null(strstr(error.message, "plain has 10 bytes; the limit is 9"));
    assert_string_equal(error.place, path_of("plain"));
    assert_null(file.bytes);
}

static void large_files_are_read_whole(void **state) {
    (void)state;
    size_t length = 5 * 1024 * 1024 + 3;
    unsigned char *bytes = malloc(length);
    assert_non_null(bytes);
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (unsigned char)(i * 31 >> 3);
    }
    write_file("plain", bytes, length);
    clef_file file;
    clef_error error = {0};
    assert_ok(clef_file_read(path_of("plain"), length, &file, &error), &error);
    assert_int_equal(file.length, length);
    assert_memory_equal(file.bytes, bytes, length);
    clef_file_close(&file);
    free(bytes);
}

static void missing_files_and_links_are_told_apart(void **state) {
    (void)state;
    assert_int_equal(symlink("nowhere", path_of("dangling")), 0);
    assert_int_equal(symlink("loop-b", path_of("loop-a")), 0);
    assert_int_equal(symlink("loop-a", path_of("loop-b")), 0);
    write_file("plain", "x", 1);
    expect_refusal("absent", "absent is missing: there is no such file");
    expect_refusal("absent/inner", "inner is missing");
    expect_refusal("plain/inner", "a part of its path is not a directory");
    expect_refusal("dangling", "dangling is a dangling link: its target nowhere does not exist");
    expect_refusal("loop-a", "leads back to itself");
}

static void only_regular_files_are_opened(void **state) {
    (void)state;
    assert_int_equal(mkdir(path_of("inner"), 0700), 0);
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    int handle = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(handle >= 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.90s/socket", directory);
    assert_int_equal(bind(handle, (const struct sockaddr *)&address, sizeof address), 0);
    /* Nobody writes to the pipe: opening it the plain way would wait for ever. */
    alarm(20);
    expect_refusal("inner", "inner is a directory");
    expect_refusal("pipe", "pipe is not a regular file");
    expect_refusal("socket", "socket is not a regular file");
    alarm(0);
    clef_file file;
    assert_int_equal(clef_file_map("/dev/null", &file, NULL), CLEF_BAD_FILE);
    close(handle);
}

static void empty_files_are_no_mapping(void **state) {
    (void)state;
    write_file("empty", "", 0);
    clef_file file;
    clef_error error = {0};
    assert_int_equal(clef_file_map(path_of("empty"), &file, &error), CLEF_BAD_FILE);
    assert_string_equal(error.message, "empty is empty");
    assert_ok(clef_file_read(path_of("empty"), 0, &file, &error), &error);
    assert_int_equal(file.length, 0);
    assert_non_null(file.bytes);
    clef_file_close(&file);
}

static void unreadable_files_say_so(void **state) {
    (void)state;
    write_file("closed", "x", 1);
    assert_int_equal(chmod(path_of("closed"), 0), 0);
    /* Permissions do not bind the superuser, who becomes somebody else for a moment. */
    bool is_superuser = geteuid() == 0;
    if (is_superuser && seteuid(65534) != 0) {
        skip();
    }
    expect_refusal("closed", "closed is unreadable: permission is denied");
    assert_true(!is_superuser || seteuid(0) == 0);
}

static void no_descriptor_stays_open(void **state) {
    (void)state;
    write_file("plain", "0123456789", 10);
    write_file("empty", "", 0);
    int before = dup(0);
    close(before);
    clef_file file;
    clef_file_map(path_of("plain"), &file, NULL);
    clef_file_close(&file);
    clef_file_read(path_of("plain"), 100, &file, NULL);
    clef_file_close(&file);
    clef_file_read(path_of("plain"), 1, &file, NULL);
    clef_file_map(path_of("empty"), &file, NULL);
    clef_file_map(directory, &file, NULL);
    int after = dup(0);
    close(after);
    assert_int_equal(after, before);
}

static void paths_are_joined(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"a", "b", "a/b"},       {"a/", "b", "a/b"}, {"/", "b", "/b"},
        {"/x/y", "z", "/x/y/z"}, {"", "b", "b"},     {".", "b", "./b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = clef_path_join(cases[i][0], cases[i][1]);
        assert_string_equal(path, cases[i][2]);
        clef_release(path);
    }
}

static void existence_follows_links(void **state) {
    (void)state;
    write_file("plain", "x", 1);
    assert_true(clef_path_exists(path_of("plain")));
    assert_true(clef_path_exists(path_of("link")));
    assert_true(clef_path_exists(directory));
    assert_false(clef_path_exists(path_of("absent")));
    assert_false(clef_path_exists(path_of("dangling")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_mapped_and_read),
        cmocka_unit_test(advice_changes_nothing),
        cmocka_unit_test(longer_files_than_the_limit_are_refused),
        cmocka_unit_test(large_files_are_read_whole),
        cmocka_unit_test(missing_files_and_links_are_told_apart),
        cmocka_unit_test(only_regular_files_are_opened),
        cmocka_unit_test(empty_files_are_no_mapping),
        cmocka_unit_test(unreadable_files_say_so),
        cmocka_unit_test(no_descriptor_stays_open),
        cmocka_unit_test(paths_are_joined),
        cmocka_unit_test(existence_follows_links),
    };
    return cmocka_run_group_tests(tests, create_directory, remove_directory);
}
