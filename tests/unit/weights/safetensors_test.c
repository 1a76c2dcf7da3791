/* One safetensors file: what loads, and each way in which a file is refused with its message. */
#include "weight_fixture.h"

#include "weights/safetensors.h"

/* A file of two tensors that most cases vary. */
#define TWO_TENSORS                                                                                \
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"                          \
    "\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[24,32]}}"

static void expect_refusal_of(clef_text bytes, const char *const *parts) {
    clef_safetensors *file = NULL;
    clef_error error = {0};
    clef_status status =
        clef_safetensors_parse("dir/test.safetensors", bytes.bytes, bytes.length, &file, &error);
    if (status == CLEF_OK) {
        clef_safetensors_close(file);
        fail_msg("the file loads; expected %s", parts[0]);
    }
    assert_int_equal(status, CLEF_BAD_FILE);
    assert_int_equal(error.status, CLEF_BAD_FILE);
    assert_null(file);
    assert_string_equal(error.place, "dir/test.safetensors");
    assert_int_equal(strncmp(error.message, "test.safetensors: ", 18), 0);
    assert_message(&error, parts);
    release_text(bytes);
}

#define EXPECT_REFUSAL(bytes, ...)                                                                 \
    expect_refusal_of(bytes, (const char *const[]){__VA_ARGS__, NULL})

/* A file with one tensor "a" of that dtype, shape and range (JSON texts) and data. */
static clef_text build_one(const char *dtype, const char *shape, const char *range, size_t data) {
    char header[512];
    snprintf(header, sizeof header, "{\"a\":{\"dtype\":%s,\"shape\":%s,\"data_offsets\":%s}}",
             dtype, shape, range);
    return build_file(header, data);
}

static clef_safetensors *load(clef_text bytes) {
    clef_safetensors *file = NULL;
    clef_error error = {0};
    assert_ok(clef_safetensors_parse("test", bytes.bytes, bytes.length, &file, &error), &error);
    return file;
}

static void loads_tensors_with_their_data(void **state) {
    (void)state;
    clef_text bytes = build_file(TWO_TENSORS, 32);
    clef_safetensors *file = load(bytes);
    assert_int_equal(clef_safetensors_count(file), 2);
    assert_int_equal(clef_safetensors_bytes(file), bytes.length);
    const clef_stored_tensor *a = clef_safetensors_find(file, CLEF_TEXT("a"));
    assert_ptr_equal(a, clef_safetensors_at(file, 0));
    assert_int_equal(a->dtype, CLEF_DTYPE_F32);
    assert_int_equal(a->rank, 2);
    assert_int_equal(a->shape[0], 2);
    assert_int_equal(a->shape[1], 3);
    assert_int_equal(a->bytes, 24);
    assert_string_equal(a->file, "test");
    assert_int_equal(((const unsigned char *)a->data)[23], 23);
    const clef_stored_tensor *b = clef_safetensors_find(file, CLEF_TEXT("b"));
    assert_int_equal(b->dtype, CLEF_DTYPE_BF16);
    assert_int_equal(((const unsigned char *)b->data)[0], 24);
    assert_null(clef_safetensors_find(file, CLEF_TEXT("c")));
    clef_safetensors_close(file);
    release_text(bytes);
}

static void lists_tensors_by_their_data(void **state) {
    (void)state;
    clef_text bytes =
        build_file("{\"late\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]},"
                   "\"early\":{\"data_offsets\":[0,1],\"shape\":[1],\"dtype\":\"I8\"}}",
                   3);
    clef_safetensors *file = load(bytes);
    assert_true(clef_text_equals(clef_safetensors_at(file, 0)->name, CLEF_TEXT("early")));
    assert_true(clef_text_equals(clef_safetensors_at(file, 1)->name, CLEF_TEXT("late")));
    clef_safetensors_close(file);
    release_text(bytes);
}

static void hands_out_metadata(void **state) {
    (void)state;
    clef_text bytes = build_file("{\"__metadata__\":{\"format\":\"pt\",\"k\\u0041\":\"\"}}", 0);
    clef_safetensors *file = load(bytes);
    assert_true(
        clef_text_equals(clef_safetensors_metadata(file, CLEF_TEXT("format")), CLEF_TEXT("pt")));
    assert_non_null(clef_safetensors_metadata(file, CLEF_TEXT("kA")).bytes);
    assert_null(clef_safetensors_metadata(file, CLEF_TEXT("none")).bytes);
    clef_safetensors_close(file);
    release_text(bytes);
    EXPECT_REFUSAL(build_file("{\"__metadata__\":{\"n\":1}}", 0), "__metadata__", "\"n\"",
                   "string");
    EXPECT_REFUSAL(build_file("{\"__metadata__\":[]}", 0), "__metadata__", "object");
    EXPECT_REFUSAL(build_file("{\"__metadata__\":{},\"__metadata__\":{}}", 0), "repeats");
}

static void reads_every_type_of_the_list(void **state) {
    (void)state;
    for (int i = 0; i < CLEF_DTYPE_COUNT; i++) {
        clef_dtype dtype = (clef_dtype)i;
        char name[16];
        char range[32];
        snprintf(name, sizeof name, "\"%s\"", clef_dtype_name(dtype));
        snprintf(range, sizeof range, "[0,%zu]", clef_dtype_bytes(dtype));
        clef_text bytes = build_one(name, "[1]", range, clef_dtype_bytes(dtype));
        clef_safetensors *file = load(bytes);
        assert_int_equal(clef_safetensors_at(file, 0)->dtype, dtype);
        clef_safetensors_close(file);
        release_text(bytes);
    }
}

/* The first tensor ends at an odd byte, so those behind it lie at odd addresses. */
static void copies_tensors_at_odd_places(void **state) {
    (void)state;
    clef_text bytes = build_file("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                                 "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[1,5]},"
                                 "\"c\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[5,9]}}",
                                 9);
    clef_safetensors *file = load(bytes);
    for (size_t i = 0; i < 3; i++) {
        const clef_stored_tensor *tensor = clef_safetensors_at(file, i);
        assert_int_equal((uintptr_t)tensor->data % clef_dtype_bytes(tensor->dtype), 0);
    }
    const unsigned char *b = clef_safetensors_find(file, CLEF_TEXT("b"))->data;
    const unsigned char *c = clef_safetensors_find(file, CLEF_TEXT("c"))->data;
    assert_int_equal(b[0], 1);
    assert_int_equal(b[3], 4);
    assert_int_equal(c[0], 5);
    assert_int_equal(c[3], 8);
    clef_safetensors_close(file);
    release_text(bytes);
}

/* ---- G03: ranges ---- */

static void g03_end_before_begin(void **state) {
    (void)state;
    EXPECT_REFUSAL(build_one("\"U8\"", "[4]", "[4,0]", 4), "tensor \"a\"", "[4, 0]", "end before");
}

static void g03_range_one_byte_short_or_long(void **state) {
    (void)state;
    EXPECT_REFUSAL(build_one("\"F32\"", "[2,3]", "[0,23]", 23), "tensor \"a\"", "23 bytes",
                   "[2, 3] of F32", "24");
    EXPECT_REFUSAL(build_one("\"F32\"", "[2,3]", "[0,25]", 25), "tensor \"a\"", "25 bytes", "24");
}

static void g03_range_beyond_the_file(void **state) {
    (void)state;
    EXPECT_REFUSAL(build_one("\"U8\"", "[4]", "[0,4]", 3), "cut off", "tensor \"a\"");
    EXPECT_REFUSAL(build_one("\"U8\"", "[4]", "[1000,1004]", 4), "hole", "\"a\"", "1000");
    EXPECT_REFUSAL(build_one("\"U8\"", "[1]", "[9223372036854775806,9223372036854775807]", 1),
                   "hole", "\"a\"", "9223372036854775806");
}

static void g03_gap(void **state) {
    (void)state;
    EXPECT_REFUSAL(build_file("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                              "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[5,9]}}",
                              9),
                   "hole", "\"b\"", "5", "4");
    EXPECT_REFUSAL(build_one("\"U8\"", "[4]", "[1,5]", 5), "hole", "\"a\"", "the data begins");
}

static void g03_overlap(void **state) {
    (void)state;
    EXPECT_REFUSAL(build_file("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                              "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[3,7]}}",
                              7),
                   "\"b\"", "[3, 7]", "overlaps", "\"a\"", "[0, 4]");
    EXPECT_REFUSAL(build_file("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                              "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
                              4),
                   "\"b\"", "overlaps", "\"a\"");
    /* A tensor of no bytes inside another one is out of order too. */
    EXPECT_REFUSAL(build_file("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                              "\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]}}",
                              4),
                   "\"b\"", "overlaps");
}

static void g03_data_behind_the_last_tensor(void **state) {
    (void)state;
    EXPECT_REFUSAL(build_file(TWO_TENSORS, 40), "data follows", "\"b\"");
}

/* ---- G05: scalars and tensors without elements ---- */

static void g05_empty_tensors_and_scalars_load(void **state) {
    (void)state;
    clef_text bytes =
        build_file("{\"none\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},"
                   "\"rows\":{\"dtype\":\"F32\",\"shape\":[3,0],\"data_offsets\":[0,0]},"
                   "\"one\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                   "\"end\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,4]}}",
                   4);
    clef_safetensors *file = load(bytes);
    assert_int_equal(clef_safetensors_find(file, CLEF_TEXT("none"))->bytes, 0);
    assert_int_equal(clef_safetensors_find(file, CLEF_TEXT("rows"))->shape[0], 3);
    assert_int_equal(clef_safetensors_find(file, CLEF_TEXT("one"))->rank, 0);
    assert_int_equal(clef_safetensors_find(file, CLEF_TEXT("one"))->bytes, 4);
    clef_safetensors_close(file);
    release_text(bytes);
}

static void g05_one_element_without_bytes(void **state) {
    (void)state;
    EXPECT_REFUSAL(build_one("\"F32\"", "[1]", "[0,0]", 0), "tensor \"a\"", "[1] of F32", "4");
    EXPECT_REFUSAL(build_one("\"F32\"", "[]", "[0,0]", 0), "tensor \"a\"", "[] of F32", "4");
}

/* ---- G06: odd headers ---- */

static void g06_duplicate_name(void **state) {
    (void)state;
    EXPECT_REFUSAL(
        build_file("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                   "\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
                   2),
        "tensor \"a\"", "twice");
}

static void g06_header_of_no_one_or_two_bytes(void **state) {
    (void)state;
    EXPECT_REFUSAL(build_file_of(0, "", 0, 0), "length 0");
    EXPECT_REFUSAL(build_file_of(0, "", 0, 16), "length 0");
    EXPECT_REFUSAL(build_file_of(1, "{", 1, 0), "not valid JSON");
    EXPECT_REFUSAL(build_file_of(2, "[]", 2, 0), "not a JSON object");
    clef_text bytes = build_file("{}", 0);
    clef_safetensors *file = load(bytes);
    assert_int_equal(clef_safetensors_count(file), 0);
    assert_null(clef_safetensors_find(file, CLEF_TEXT("a")));
    clef_safetensors_close(file);
    release_text(bytes);
    EXPECT_REFUSAL(build_file("{}", 4), "data follows", "header without tensors");
}

static void g06_only_metadata_and_padding(void **state) {
    (void)state;
    clef_text bytes = build_file("{\"__metadata__\":{}}      ", 0);
    clef_safetensors *file = load(bytes);
    assert_int_equal(clef_safetensors_count(file), 0);
    clef_safetensors_close(file);
    release_text(bytes);
    bytes = build_file(TWO_TENSORS "       ", 32);
    file = load(bytes);
    assert_int_equal(clef_safetensors_count(file), 2);
    clef_safetensors_close(file);
    release_text(bytes);
    EXPECT_REFUSAL(build_file(" {}", 0), "not a JSON object");
    EXPECT_REFUSAL(build_file("{} {}", 0), "not valid JSON");
    EXPECT_REFUSAL(build_file_of(3, "{}\0", 3, 0), "not valid JSON");
}

static clef_text copy_bytes(const char *bytes, size_t length) {
    char *copy = clef_allocate(length, 1);
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    return (clef_text){copy, length};
}

#define COPY(literal) copy_bytes(literal, sizeof(literal) - 1)

static void g06_files_that_are_something_else(void **state) {
    (void)state;
    EXPECT_REFUSAL(COPY("PK\x03\x04\x00\x00\x08\x08\x00\x00rest of an archive"), "zip");
    EXPECT_REFUSAL(COPY("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9 rest"), "pickle");
    EXPECT_REFUSAL(COPY("\x80\x04\x95"), "pickle");
    EXPECT_REFUSAL(
        COPY("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"),
        "Git LFS pointer", "git lfs pull");
    EXPECT_REFUSAL(COPY("<!DOCTYPE html><html></html>"), "HTML");
    EXPECT_REFUSAL(COPY("\n  <HTML lang=\"en\">"), "HTML");
    EXPECT_REFUSAL(COPY("GGUF\x03\x00\x00\x00\x00\x00\x00\x00"), "GGUF");
    EXPECT_REFUSAL(COPY("{\"error\":\"Repository not found\"}"), "not a safetensors file");
    EXPECT_REFUSAL(COPY("short"), "5 bytes", "too few");
    EXPECT_REFUSAL(COPY("\x07\0\0\0\0\0\0"), "7 bytes", "too few");
}

static void g06_names_with_odd_characters(void **state) {
    (void)state;
    clef_text bytes =
        build_file("{\"n\\u0000l\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                   "\"\xF0\x9F\x98\x80\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]},"
                   "\"\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]}}",
                   3);
    clef_safetensors *file = load(bytes);
    assert_non_null(clef_safetensors_find(file, CLEF_TEXT("n\0l")));
    assert_null(clef_safetensors_find(file, CLEF_TEXT("n")));
    assert_non_null(clef_safetensors_find(file, CLEF_TEXT("\xF0\x9F\x98\x80")));
    assert_non_null(clef_safetensors_find(file, CLEF_TEXT("")));
    clef_safetensors_close(file);
    release_text(bytes);
    /* In messages they are printable and short. */
    EXPECT_REFUSAL(build_file("{\"n\\u0000\\u001b[2J\xF0\x9F\x98\x80\":1}", 0),
                   "\"n\\u{0}\\u{1b}[2J\\u{1f600}\"");
}

static void g06_name_of_ten_thousand_characters(void **state) {
    (void)state;
    clef_buffer header = {0};
    clef_buffer_append_string(&header, "{\"");
    for (int i = 0; i < 10000; i++) {
        clef_buffer_append_byte(&header, (char)('a' + i % 26));
    }
    size_t name_end = header.length;
    clef_buffer_append_string(&header,
                              "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}");
    clef_text bytes = build_file(header.bytes, 1);
    clef_safetensors *file = load(bytes);
    clef_text name = {header.bytes + 2, name_end - 2};
    assert_non_null(clef_safetensors_find(file, name));
    clef_safetensors_close(file);
    release_text(bytes);

    bytes = build_file(header.bytes, 2);
    clef_error error = {0};
    assert_int_equal(clef_safetensors_parse("x", bytes.bytes, bytes.length, &file, &error),
                     CLEF_BAD_FILE);
    assert_true(strlen(error.message) < 400);
    ASSERT_MESSAGE(&error, "(10000 bytes)", "abcdefgh");
    release_text(bytes);
    clef_buffer_release(&header);
}

static void g06_header_length_of_the_file_or_more(void **state) {
    (void)state;
    size_t length = strlen(TWO_TENSORS);
    EXPECT_REFUSAL(build_file_of(length + 40, TWO_TENSORS, length, 32), "cut off", "header");
    EXPECT_REFUSAL(build_file_of(length + 33, TWO_TENSORS, length, 32), "cut off", "header");
    EXPECT_REFUSAL(build_file_of(length + 32, TWO_TENSORS, length, 32), "not valid JSON");
    EXPECT_REFUSAL(build_file_of(length - 1, TWO_TENSORS, length, 32), "not valid JSON");
    EXPECT_REFUSAL(build_file_of(100000001, TWO_TENSORS, length, 32), "100000001", "100000000");
    EXPECT_REFUSAL(build_file_of(UINT64_MAX, TWO_TENSORS, length, 32), "18446744073709551615");
    EXPECT_REFUSAL(build_file_of(UINT64_MAX - 7, TWO_TENSORS, length, 32), "100000000");
}

static void g06_members_of_a_tensor(void **state) {
    (void)state;
    EXPECT_REFUSAL(build_file("{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1), "\"a\"",
                   "no dtype");
    EXPECT_REFUSAL(build_file("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1), "no shape");
    EXPECT_REFUSAL(build_file("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1), "no data_offsets");
    EXPECT_REFUSAL(build_file("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],"
                              "\"data_offsets\":[0,1]}}",
                              1),
                   "repeated key", "\"dtype\"");
    EXPECT_REFUSAL(build_file("{\"a\":{\"strides\":[1]}}", 1), "unknown key", "\"strides\"");
    EXPECT_REFUSAL(build_file("{\"a\":[]}", 0), "\"a\"", "not an object");
    EXPECT_REFUSAL(build_file("{\"a\":null}", 0), "\"a\"", "not an object");
}

/* ---- G07: files cut short or grown ---- */

static void g07_minus_and_plus_one_byte(void **state) {
    (void)state;
    char expected[32];
    char actual[32];
    size_t whole = 8 + strlen(TWO_TENSORS) + 32;
    snprintf(expected, sizeof expected, "expected %zu", whole);
    snprintf(actual, sizeof actual, "has %zu bytes", whole - 1);
    EXPECT_REFUSAL(build_file(TWO_TENSORS, 31), "cut off", "\"b\"", expected, actual);
    snprintf(actual, sizeof actual, "has %zu bytes", whole + 1);
    EXPECT_REFUSAL(build_file(TWO_TENSORS, 33), "data follows", "\"b\"", expected, actual);
}

static void g07_cut_in_the_header(void **state) {
    (void)state;
    size_t length = strlen(TWO_TENSORS);
    EXPECT_REFUSAL(build_file_of(length, TWO_TENSORS, length - 10, 0), "cut off",
                   "its header should end at byte");
}

static void g07_cut_at_a_page_edge(void **state) {
    (void)state;
    char range[32];
    snprintf(range, sizeof range, "[0,%d]", 3 * 4096);
    clef_text whole = build_one("\"U8\"", "[12288]", range, 3 * 4096);
    char directory[256];
    char path[1024];
    make_directory(directory);
    for (size_t length = 4096; length < whole.length; length += 4096) {
        write_file(directory, "cut.safetensors", (clef_text){whole.bytes, length});
        clef_safetensors *file = NULL;
        clef_error error = {0};
        path_in(directory, "cut.safetensors", path);
        assert_int_equal(clef_safetensors_open(path, &file, &error), CLEF_BAD_FILE);
        ASSERT_MESSAGE(&error, "cut off", "\"a\"", "expected");
        assert_string_equal(error.place, path);
    }
    write_file(directory, "cut.safetensors", whole);
    clef_safetensors *file = NULL;
    clef_error error = {0};
    assert_ok(clef_safetensors_open(path, &file, &error), &error);
    assert_int_equal(((const unsigned char *)clef_safetensors_at(file, 0)->data)[12287], 0xFF);
    clef_safetensors_close(file);
    remove_directory(directory);
    release_text(whole);
}

/* ---- G11: types and numbers of the header ---- */

static void g11_unsupported_types_by_name(void **state) {
    (void)state;
    const char *const types[] = {"F8_E4M3", "F8_E5M2", "F4", "U4", "bfloat16", "bf16", "", "F32 "};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char spelled[32];
        snprintf(spelled, sizeof spelled, "\"%s\"", types[i]);
        EXPECT_REFUSAL(build_one(spelled, "[1]", "[0,1]", 1), "tensor \"a\"", spelled,
                       "BF16, F16 or F32");
    }
    EXPECT_REFUSAL(build_one("5", "[1]", "[0,1]", 1), "dtype is not a string");
}

static void hostile_numbers_are_named(void **state) {
    (void)state;
    const char *const numbers[] = {"-1",
                                   "-0",
                                   "1.0",
                                   "1e0",
                                   "0.5",
                                   "1e30",
                                   "9223372036854775808",
                                   "18446744073709551616",
                                   "99999999999999999999999999999999999999"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char list[128];
        snprintf(list, sizeof list, "[%s]", numbers[i]);
        EXPECT_REFUSAL(build_one("\"U8\"", list, "[0,1]", 1), "tensor \"a\"", "shape[0] is",
                       numbers[i], "whole number");
        snprintf(list, sizeof list, "[0,%s]", numbers[i]);
        EXPECT_REFUSAL(build_one("\"U8\"", "[1]", list, 1), "tensor \"a\"", "data_offsets[1] is",
                       numbers[i]);
        snprintf(list, sizeof list, "[%s,1]", numbers[i]);
        EXPECT_REFUSAL(build_one("\"U8\"", "[1]", list, 1), "data_offsets[0] is", numbers[i]);
    }
    EXPECT_REFUSAL(build_one("\"U8\"", "[\"1\"]", "[0,1]", 1), "shape[0] is not a number");
    EXPECT_REFUSAL(build_one("\"U8\"", "[[1]]", "[0,1]", 1), "shape[0] is not a number");
    EXPECT_REFUSAL(build_one("\"U8\"", "1", "[0,1]", 1), "shape is not an array");
    EXPECT_REFUSAL(build_one("\"U8\"", "[1]", "[0]", 1), "data_offsets has 1 value");
    EXPECT_REFUSAL(build_one("\"U8\"", "[1]", "[]", 1), "data_offsets has 0 values");
    EXPECT_REFUSAL(build_one("\"U8\"", "[1]", "[0,1,2]", 1), "more than 2");
    EXPECT_REFUSAL(build_one("\"U8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]", 1), "more than 8");
}

static void overflowing_shapes_are_named(void **state) {
    (void)state;
    EXPECT_REFUSAL(build_one("\"U8\"", "[4294967296,4294967296]", "[0,0]", 0), "\"a\"", "overflows",
                   "[4294967296, 4294967296]");
    EXPECT_REFUSAL(build_one("\"F32\"", "[4611686018427387904]", "[0,0]", 0), "overflows");
    EXPECT_REFUSAL(build_one("\"F32\"", "[2305843009213693952]", "[0,0]", 0), "overflows");
    EXPECT_REFUSAL(build_one("\"U8\"", "[4294967296,4294967296,0]", "[0,0]", 0), "overflows");
    EXPECT_REFUSAL(build_one("\"F64\"", "[9223372036854775807,9223372036854775807]", "[0,8]", 8),
                   "overflows");
}

static void deep_and_broken_json(void **state) {
    (void)state;
    char deep[2048];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    EXPECT_REFUSAL(build_file_of(sizeof deep, deep, sizeof deep, 0), "\"a\"", "not an object");
    memcpy(deep, "{\"a\":{\"shape\":", 14);
    EXPECT_REFUSAL(build_file_of(sizeof deep, deep, sizeof deep, 0), "shape[0] is not a number");
    EXPECT_REFUSAL(build_file("{\"a\" {}}", 0), "not valid JSON");
    EXPECT_REFUSAL(build_file("{\"\xFF\":{}}", 0), "not valid JSON", "UTF-8");
    EXPECT_REFUSAL(build_file("{\"a\":{\"dtype\":\"U8\",\"shape\":[NaN]}}", 0), "not valid JSON");
}

static void errors_may_be_ignored(void **state) {
    (void)state;
    clef_text bytes = build_file("{\"a\":1}", 0);
    clef_safetensors *file;
    assert_int_equal(clef_safetensors_parse("x", bytes.bytes, bytes.length, &file, NULL),
                     CLEF_BAD_FILE);
    assert_null(file);
    clef_safetensors_close(NULL);
    release_text(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_tensors_with_their_data),
        cmocka_unit_test(lists_tensors_by_their_data),
        cmocka_unit_test(hands_out_metadata),
        cmocka_unit_test(reads_every_type_of_the_list),
        cmocka_unit_test(copies_tensors_at_odd_places),
        cmocka_unit_test(g03_end_before_begin),
        cmocka_unit_test(g03_range_one_byte_short_or_long),
        cmocka_unit_test(g03_range_beyond_the_file),
        cmocka_unit_test(g03_gap),
        cmocka_unit_test(g03_overlap),
        cmocka_unit_test(g03_data_behind_the_last_tensor),
        cmocka_unit_test(g05_empty_tensors_and_scalars_load),
        cmocka_unit_test(g05_one_element_without_bytes),
        cmocka_unit_test(g06_duplicate_name),
        cmocka_unit_test(g06_header_of_no_one_or_two_bytes),
        cmocka_unit_test(g06_only_metadata_and_padding),
        cmocka_unit_test(g06_files_that_are_something_else),
        cmocka_unit_test(g06_names_with_odd_characters),
        cmocka_unit_test(g06_name_of_ten_thousand_characters),
        cmocka_unit_test(g06_header_length_of_the_file_or_more),
        cmocka_unit_test(g06_members_of_a_tensor),
        cmocka_unit_test(g07_minus_and_plus_one_byte),
        cmocka_unit_test(g07_cut_in_the_header),
        cmocka_unit_test(g07_cut_at_a_page_edge),
        cmocka_unit_test(g11_unsupported_types_by_name),
        cmocka_unit_test(hostile_numbers_are_named),
        cmocka_unit_test(overflowing_shapes_are_named),
        cmocka_unit_test(deep_and_broken_json),
        cmocka_unit_test(errors_may_be_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
