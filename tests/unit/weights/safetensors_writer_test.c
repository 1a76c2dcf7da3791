/* Files of the writer read back by the reader, whatever the order in which they were written. */
#include "weight_fixture.h"

#include "weights/safetensors_writer.h"
#include "weights/shard_index.h"
#include "weights/weight_files.h"

#include <fcntl.h>

static const clef_header_tensor rows[] = {
    {.name = {"b.scale", 7}, .dtype = CLEF_DTYPE_F32, .rank = 2, .shape = {3, 2}},
    {.name = {"odd \"name\"\n\xC3\xA9", 13}, .dtype = CLEF_DTYPE_BF16, .rank = 1, .shape = {5}},
    {.name = {"b", 1}, .dtype = CLEF_DTYPE_I8, .rank = 2, .shape = {3, 64}},
    {.name = {"scalar", 6}, .dtype = CLEF_DTYPE_U8, .rank = 0},
    {.name = {"empty", 5}, .dtype = CLEF_DTYPE_F32, .rank = 2, .shape = {0, 7}},
};
#define ROWS (sizeof rows / sizeof *rows)

typedef struct writing {
    char directory[256];
    int folder;
    clef_header_tensor tensors[ROWS];
    clef_safetensors_writer writer;
} writing;

static void begin(writing *w) {
    clef_error error = {0};
    clef_new_file file;
    const clef_header_note notes[] = {{CLEF_TEXT("format"), CLEF_TEXT("pt")},
                                      {CLEF_TEXT("recipe"), CLEF_TEXT("{\"default\":\"int8\"}")}};
    make_directory(w->directory);
    w->folder = open(w->directory, O_RDONLY | O_DIRECTORY);
    memcpy(w->tensors, rows, sizeof rows);
    assert_int_equal(clef_safetensors_layout(w->tensors, ROWS), 24 + 10 + 192 + 1);
    assert_ok(clef_new_file_create(w->folder, w->directory, "model.safetensors", &file, &error),
              &error);
    assert_ok(clef_safetensors_writer_begin(&w->writer, file, w->tensors, ROWS, notes, 2, &error),
              &error);
    assert_int_equal(w->writer.data_offset % CLEF_DATA_ALIGNMENT, 0);
}

static void end(writing *w) {
    clef_safetensors_writer_abandon(&w->writer);
    close(w->folder);
    remove_directory(w->directory);
}

static void put(writing *w, size_t tensor, size_t offset, size_t length) {
    clef_error error = {0};
    uint8_t bytes[256];
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (uint8_t)(tensor * 50 + offset + i);
    }
    assert_ok(clef_safetensors_writer_put(&w->writer, tensor, offset, bytes, length, &error),
              &error);
}

static void written_in_pieces_from_the_back(void **state) {
    (void)state;
    writing w;
    clef_error error = {0};
    begin(&w);
    put(&w, 3, 0, 1);
    put(&w, 2, 100, 92);
    put(&w, 2, 0, 100);
    put(&w, 1, 0, 10);
    put(&w, 0, 8, 16);
    put(&w, 0, 0, 8);
    assert_ok(clef_safetensors_writer_finish(&w.writer, &error), &error);
    char path[1024];
    clef_safetensors *file;
    assert_ok(clef_safetensors_open(path_in(w.directory, "model.safetensors", path), &file, &error),
              &error);
    assert_int_equal(clef_safetensors_count(file), ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        const clef_stored_tensor *found = clef_safetensors_find(file, rows[i].name);
        assert_non_null(found);
        assert_int_equal(found->dtype, rows[i].dtype);
        assert_int_equal(found->rank, rows[i].rank);
        assert_memory_equal(found->shape, rows[i].shape, sizeof found->shape);
        for (size_t j = 0; j < found->bytes; j++) {
            assert_int_equal(((const uint8_t *)found->data)[j], (uint8_t)(i * 50 + j));
        }
    }
    assert_true(clef_text_equals(clef_safetensors_metadata(file, CLEF_TEXT("recipe")),
                                 CLEF_TEXT("{\"default\":\"int8\"}")));
    clef_safetensors_close(file);
    end(&w);
}

static void refuses_what_is_no_whole_file(void **state) {
    (void)state;
    writing w;
    clef_error error = {0};
    begin(&w);
    put(&w, 2, 0, 192);
    assert_int_equal(clef_safetensors_writer_put(&w.writer, 1, 8, "abc", 3, &error), CLEF_INTERNAL);
    assert_int_equal(clef_safetensors_writer_put(&w.writer, 1, 11, "", 0, &error), CLEF_INTERNAL);
    assert_int_equal(clef_safetensors_writer_finish(&w.writer, &error), CLEF_INTERNAL);
    ASSERT_MESSAGE(&error, "35 bytes", "model.safetensors", "not written");
    end(&w);
}

static void a_file_that_is_there_is_not_overwritten(void **state) {
    (void)state;
    writing w;
    clef_error error = {0};
    clef_new_file file;
    begin(&w);
    assert_int_equal(
        clef_new_file_create(w.folder, w.directory, "model.safetensors", &file, &error),
        CLEF_INTERNAL);
    ASSERT_MESSAGE(&error, "cannot write", "model.safetensors", "is there already");
    assert_non_null(strstr(error.place, "/model.safetensors"));
    end(&w);
}

static void the_index_reads_back(void **state) {
    (void)state;
    clef_buffer text = {0};
    clef_shard_index index = {0};
    clef_error error = {0};
    const size_t shards[ROWS] = {0, 0, 1, 1, 1};
    const char *const files[] = {"model-00001-of-00002.safetensors",
                                 "model-00002-of-00002.safetensors"};
    clef_header_tensor tensors[ROWS];
    memcpy(tensors, rows, sizeof rows);
    clef_safetensors_layout(tensors, ROWS);
    clef_shard_index_write(&text, tensors, shards, ROWS, files);
    assert_ok(clef_shard_index_parse("index", clef_buffer_text(&text), &index, &error), &error);
    assert_int_equal(index.count, ROWS);
    assert_int_equal(index.shard_count, 2);
    for (size_t i = 0; i < ROWS; i++) {
        const clef_shard_entry *entry = clef_shard_index_find(&index, rows[i].name);
        assert_non_null(entry);
        assert_string_equal(entry->file.bytes, files[shards[i]]);
    }
    assert_non_null(strstr(text.bytes, "\"total_size\": 227"));
    clef_shard_index_release(&index);
    clef_buffer_release(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_in_pieces_from_the_back),
        cmocka_unit_test(refuses_what_is_no_whole_file),
        cmocka_unit_test(a_file_that_is_there_is_not_overwritten),
        cmocka_unit_test(the_index_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
