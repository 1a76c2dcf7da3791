/* Times text to ids, for comparisons with other libraries (bench/compare):
 *
 *     encode_timing TOKENIZER.json TEXT RUNS IDS
 *
 * Encodes the texts in the file TEXT, which NUL bytes separate, once to warm up and RUNS times
 * more, on one thread; prints the seconds of processor time of each run, one a line, and writes the
 * ids of all texts to the file IDS, 32 bits each. */
#include "base/file.h"
#include "tokenizer/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FILE_LIMIT ((size_t)1 << 30)

static clef_status encode(const clef_tokenizer *tokenizer, const clef_file *file,
                          clef_token_list *ids, clef_error *error) {
    const char *text = file->bytes;
    const char *end = text + file->length;
    clef_status status = CLEF_OK;
    ids->count = 0;
    while (status == CLEF_OK && text < end) {
        size_t rest = (size_t)(end - text);
        const char *separator = memchr(text, '\0', rest);
        size_t length = separator == NULL ? rest : (size_t)(separator - text);
        status = clef_tokenizer_encode(tokenizer, (clef_text){text, length}, CLEF_CONTROL_PLAIN, 0,
                                       ids, error);
        text += length + (separator != NULL);
    }
    return status;
}

/* Not the clock on the wall: others may use the processor in between. */
static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static clef_status time_runs(const clef_tokenizer *tokenizer, const clef_file *file, long runs,
                             clef_token_list *ids, clef_error *error) {
    clef_status status = encode(tokenizer, file, ids, error);
    for (long run = 0; status == CLEF_OK && run < runs; run += 1) {
        double start = processor_seconds();
        status = encode(tokenizer, file, ids, error);
        printf("%.9f\n", processor_seconds() - start);
    }
    return status;
}

static bool write_ids(const char *path, const clef_token_list *ids) {
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return false;
    }
    size_t written = fwrite(ids->ids, sizeof *ids->ids, ids->count, file);
    return fclose(file) == 0 && written == ids->count;
}

int main(int count, char **arguments) {
    if (count != 5) {
        fprintf(stderr, "usage: %s TOKENIZER.json TEXT RUNS IDS\n", arguments[0]);
        return 2;
    }
    long runs = strtol(arguments[3], NULL, 10);
    clef_tokenizer *tokenizer = NULL;
    clef_file file = {0};
    clef_token_list ids = {0};
    clef_error error = {0};
    clef_status status = clef_tokenizer_load(arguments[1], &tokenizer, &error);
    if (status == CLEF_OK) {
        status = clef_file_read(arguments[2], FILE_LIMIT, &file, &error);
    }
    if (status == CLEF_OK) {
        status = time_runs(tokenizer, &file, runs, &ids, &error);
    }
    bool is_written = status == CLEF_OK && write_ids(arguments[4], &ids);
    if (status != CLEF_OK) {
        fprintf(stderr, "%s: %s\n", error.place, error.message);
    } else if (!is_written) {
        fprintf(stderr, "%s cannot be written\n", arguments[4]);
    }
    clef_token_list_release(&ids);
    clef_file_close(&file);
    clef_tokenizer_close(tokenizer);
    return is_written ? 0 : 1;
}
