/* Names in sorted order, each with its size and its bytes, through one digest. */
#include "cli/model_identity.h"

#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#define WHOLE_BYTES  ((size_t)16 << 20)
#define HEAD_BYTES   ((size_t)1 << 20)
#define SAMPLE_BYTES ((size_t)4096)
#define SAMPLE_COUNT 64

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name);
    size_t tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

/* What decides an answer; not cards, licences or templates for chats. */
static int is_chosen(const struct dirent *entry) {
    static const char *const names[] = {"config.json", "tokenizer.json", "joint_head_config.json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i += 1) {
        if (strcmp(entry->d_name, names[i]) == 0) {
            return 1;
        }
    }
    return ends_with(entry->d_name, ".safetensors") ||
           ends_with(entry->d_name, ".safetensors.index.json");
}

static int compare_names(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_contents(clef_digest_state *state, const clef_file *file) {
    const char *bytes = file->bytes;
    if (file->length <= WHOLE_BYTES) {
        clef_digest_add(state, bytes, file->length);
        return;
    }
    clef_digest_add(state, bytes, HEAD_BYTES);
    size_t step = (file->length - SAMPLE_BYTES) / SAMPLE_COUNT;
    for (size_t i = 1; i <= SAMPLE_COUNT; i += 1) {
        clef_digest_add(state, bytes + i * step, SAMPLE_BYTES);
    }
}

static clef_status add_file(clef_digest_state *state, const char *directory, const char *name,
                            clef_error *error) {
    clef_file file = {0};
    char *path = clef_path_join(directory, name);
    if (path == NULL) {
        return clef_fail_memory(error, strlen(name), "the path of a file");
    }
    clef_status status = clef_file_map(path, &file, error);
    clef_release(path);
    if (status == CLEF_OK) {
        clef_digest_add_number(state, strlen(name));
        clef_digest_add(state, name, strlen(name));
        clef_digest_add_number(state, file.length);
        add_contents(state, &file);
    }
    clef_file_close(&file);
    return status;
}

clef_status clef_model_identity(const char *directory, char identity[CLEF_MODEL_IDENTITY_BYTES],
                                clef_error *error) {
    clef_digest_state state;
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, is_chosen, compare_names);
    if (count < 0) {
        return clef_fail(error, CLEF_BAD_FILE, "cannot list %s: %s", directory, strerror(errno));
    }
    clef_status status = CLEF_OK;
    clef_digest_begin(&state, CLEF_DIGEST_KEY);
    for (int i = 0; i < count; i += 1) {
        if (status == CLEF_OK) {
            status = add_file(&state, directory, entries[i]->d_name, error);
        }
        clef_release(entries[i]);
    }
    clef_release(entries);
    clef_digest digest = clef_digest_finish(&state);
    for (size_t i = 0; i < (CLEF_MODEL_IDENTITY_BYTES - 1) / 2; i += 1) {
        snprintf(identity + 2 * i, 3, "%02x", digest.bytes[i]);
    }
    return status;
}
