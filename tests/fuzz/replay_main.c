/* Stands in for libFuzzer: gives every file of the named folders to the fuzz target once.
 *
 * Each input lies in a block of exactly its size, so that a sanitizer sees a read behind its end.
 * Fails when there is no input at all: an empty corpus tests nothing. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
/* Defined only by targets that prepare something. */
__attribute__((weak)) int LLVMFuzzerInitialize(int *argument_count, char ***arguments);

/* The whole file in a block of its size; NULL when it cannot be read. Freed by the caller. */
static uint8_t *read_input(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    uint8_t *bytes = NULL;
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (size >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        bytes = malloc(size > 0 ? (size_t)size : 1);
    }
    *length = bytes != NULL ? fread(bytes, 1, (size_t)size, file) : 0;
    if (bytes != NULL && *length != (size_t)size) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    return bytes;
}

/* Replays the files of one folder; their number, or -1 after saying what cannot be read. */
static int replay_folder(const char *folder) {
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        fprintf(stderr, "%s: cannot open the corpus\n", folder);
        return -1;
    }
    int count = 0;
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        char path[4096];
        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        /* Named before it runs, so that a crash tells which input it was. */
        fprintf(stderr, "%s\n", path);
        size_t length;
        uint8_t *bytes = read_input(path, &length);
        if (bytes == NULL) {
            fprintf(stderr, "%s: cannot read the input\n", path);
            closedir(directory);
            return -1;
        }
        LLVMFuzzerTestOneInput(bytes, length);
        free(bytes);
        count++;
    }
    closedir(directory);
    return count;
}

int main(int argument_count, char **arguments) {
    int total = 0;
    if (LLVMFuzzerInitialize != NULL) {
        LLVMFuzzerInitialize(&argument_count, &arguments);
    }
    for (int index = 1; index < argument_count; index++) {
        int count = replay_folder(arguments[index]);
        if (count < 0) {
            return 1;
        }
        total += count;
    }
    printf("%d inputs replayed\n", total);
    return total > 0 ? 0 : 1;
}
