/* Small safetensors files made by the tests: their bytes, and directories of them on disk. Shared
 * by the suites of the weights and of the model that check them. */
#ifndef CLEF_TEST_WEIGHT_FIXTURE_H
#define CLEF_TEST_WEIGHT_FIXTURE_H

#include "support.h"

#include "base/memory.h"
#include "weights/weight_store.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of a file: the given header length, header and `data_bytes` of data 0, 1, 2, … */
static inline clef_text build_file_of(uint64_t header_length, const char *header, size_t length,
                                      size_t data_bytes) {
    clef_buffer out = {0};
    for (int i = 0; i < 8; i++) {
        clef_buffer_append_byte(&out, (char)(header_length >> (8 * i) & 0xFF));
    }
    clef_buffer_append(&out, header, length);
    for (size_t i = 0; i < data_bytes; i++) {
        clef_buffer_append_byte(&out, (char)i);
    }
    assert_false(out.has_failed);
    size_t all;
    char *bytes = clef_buffer_take(&out, &all);
    return (clef_text){bytes, all};
}

static inline clef_text build_file(const char *header, size_t data_bytes) {
    return build_file_of(strlen(header), header, strlen(header), data_bytes);
}

/* A new directory under the system's place for temporary files. */
static inline const char *make_directory(char path[256]) {
    const char *base = getenv("TMPDIR");
    snprintf(path, 256, "%s/clef-weights-XXXXXX", base == NULL ? "/tmp" : base);
    assert_non_null(mkdtemp(path));
    return path;
}

static inline const char *path_in(const char *directory, const char *name, char path[1024]) {
    snprintf(path, 1024, "%s/%s", directory, name);
    return path;
}

static inline void write_file(const char *directory, const char *name, clef_text bytes) {
    char path[1024];
    FILE *file = fopen(path_in(directory, name, path), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.bytes, 1, bytes.length, file), bytes.length);
    assert_int_equal(fclose(file), 0);
}

static inline void write_string(const char *directory, const char *name, const char *string) {
    write_file(directory, name, clef_text_of(string));
}

/* Writes a safetensors file of that header and as much data. */
static inline void write_weights(const char *directory, const char *name, const char *header,
                                 size_t data_bytes) {
    clef_text bytes = build_file(header, data_bytes);
    write_file(directory, name, bytes);
    release_text(bytes);
}

/* Removes a directory and what lies in it, one level deep. */
static inline void remove_directory(const char *directory) {
    DIR *opened = opendir(directory);
    assert_non_null(opened);
    const struct dirent *entry;
    while ((entry = readdir(opened)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            char path[1024];
            path_in(directory, entry->d_name, path);
            struct stat found;
            assert_int_equal(lstat(path, &found), 0);
            assert_int_equal(S_ISDIR(found.st_mode) ? rmdir(path) : unlink(path), 0);
        }
    }
    closedir(opened);
    assert_int_equal(rmdir(directory), 0);
}

/* The message holds all the given parts (ends in NULL); else the test fails and shows it. */
static inline void assert_message(const clef_error *error, const char *const *parts) {
    for (; *parts != NULL; parts++) {
        if (strstr(error->message, *parts) == NULL) {
            fail_msg("no \"%s\" in: %s", *parts, error->message);
        }
    }
}

#define ASSERT_MESSAGE(error, ...) assert_message(error, (const char *const[]){__VA_ARGS__, NULL})

#endif
