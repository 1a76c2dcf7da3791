/* What the suites of quantising share: a place for outputs, and what lies there afterwards. */
#ifndef CLEF_TEST_QUANTIZE_SUPPORT_H
#define CLEF_TEST_QUANTIZE_SUPPORT_H

#include "../unit/weights/weight_fixture.h"

#include "engine/handles.h"

#define TRAINED_MODEL CLEF_MODELS "/clef-tiny"
#define RANDOM_MODEL  CLEF_FIXTURES "/tiny-random/release"

typedef struct output_place {
    char root[256];
    char output[300]; /* not there yet */
} output_place;

static inline void make_place(output_place *place) {
    make_directory(place->root);
    snprintf(place->output, sizeof place->output, "%s/out", place->root);
}

/* Names in a directory, sorted and joined by blanks; "(none)" when there is no directory. */
static inline const char *names_in(const char *directory, char out[1024]) {
    struct dirent **entries;
    int count = scandir(directory, &entries, NULL, alphasort);
    snprintf(out, 1024, "%s", count < 0 ? "(none)" : "");
    for (int i = 0; i < count; i++) {
        size_t length = strlen(out);
        if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0) {
            snprintf(out + length, 1024 - length, "%s%s", length > 0 ? " " : "",
                     entries[i]->d_name);
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
        char found_names[1024];                                                                    \
        assert_string_equal(names_in(directory, found_names), (expected));                         \
    } while (0)

static inline void remove_output(const output_place *place) {
    char names[1024];
    if (strcmp(names_in(place->output, names), "(none)") != 0) {
        remove_directory(place->output);
    }
}

static inline void remove_place(const output_place *place) {
    remove_output(place);
    remove_directory(place->root);
}

static inline clef_runtime *open_runtime(uint32_t threads) {
    clef_error error = {0};
    clef_runtime *runtime;
    assert_ok(
        clef_runtime_create(&(clef_runtime_options){.thread_count = threads}, &runtime, &error),
        &error);
    return runtime;
}

static inline void quantize(const char *model, const char *output,
                            const clef_quantize_options *options) {
    clef_error error = {0};
    clef_runtime *runtime = open_runtime(1);
    assert_ok(clef_model_quantize(runtime, model, output, options, &error), &error);
    clef_runtime_close(runtime);
}

#endif
