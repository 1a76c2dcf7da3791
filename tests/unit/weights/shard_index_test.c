/* The shard index for itself: its entries, its files, and every way of being refused. */
#include "weight_fixture.h"

#include "weights/shard_index.h"

static void expect_refusal(const char *text, const char *const *parts) {
    clef_shard_index index;
    clef_error error = {0};
    clef_status status = clef_shard_index_parse("dir/model.safetensors.index.json",
                                                clef_text_of(text), &index, &error);
    if (status == CLEF_OK) {
        fail_msg("the index is accepted: %s", text);
    }
    assert_int_equal(status, CLEF_BAD_FILE);
    assert_string_equal(error.place, "dir/model.safetensors.index.json");
    assert_int_equal(index.count, 0);
    assert_message(&error, parts);
}

#define EXPECT_REFUSAL(text, ...) expect_refusal(text, (const char *const[]){__VA_ARGS__, NULL})

static void finds_entries_and_files(void **state) {
    (void)state;
    const char *text = "{\"metadata\":{\"total_size\":12,\"more\":[1,{}]},\"weight_map\":{"
                       "\"z\":\"model-2.safetensors\",\"a\":\"model-2.safetensors\","
                       "\"\\u0062\":\"model-1.safetensors\"},\"later\":null}";
    clef_shard_index index;
    clef_error error = {0};
    assert_ok(clef_shard_index_parse("x", clef_text_of(text), &index, &error), &error);
    assert_int_equal(index.count, 3);
    assert_int_equal(index.shard_count, 2);
    assert_string_equal(index.shards[0], "model-1.safetensors");
    assert_string_equal(index.shards[1], "model-2.safetensors");
    assert_int_equal(clef_shard_index_find(&index, CLEF_TEXT("b"))->shard, 0);
    assert_int_equal(clef_shard_index_find(&index, CLEF_TEXT("z"))->shard, 1);
    assert_null(clef_shard_index_find(&index, CLEF_TEXT("c")));
    size_t count;
    const clef_shard_entry *first = clef_shard_index_first(&index, 1, &count);
    assert_true(clef_text_equals(first->name, CLEF_TEXT("a")));
    assert_int_equal(count, 2);
    clef_shard_index_release(&index);
}

static void refuses_names_that_lead_elsewhere(void **state) {
    (void)state;
    const char *const names[] = {"../x.safetensors",
                                 "/etc/x.safetensors",
                                 "a/b.safetensors",
                                 "..\\\\x.safetensors",
                                 "C:\\\\x.safetensors",
                                 "..safetensors",
                                 "a..b.safetensors",
                                 "x\\u0000.safetensors",
                                 ".safetensors",
                                 "x.bin",
                                 "",
                                 "x.safetensors "};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"weight_map\":{\"t\":\"%s\"}}", names[i]);
        EXPECT_REFUSAL(text, "weight_map", "tensor \"t\"");
    }
    char text[512];
    char name[400];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    snprintf(text, sizeof text, "{\"weight_map\":{\"t\":\"%s.safetensors\"}}", name);
    EXPECT_REFUSAL(text, "longer than 255 bytes");
}

static void refuses_what_is_no_index(void **state) {
    (void)state;
    EXPECT_REFUSAL("", "not valid JSON");
    EXPECT_REFUSAL("[]", "not a JSON object");
    EXPECT_REFUSAL("{}", "no weight_map");
    EXPECT_REFUSAL("{\"weight_map\":{}}", "lists no tensor");
    EXPECT_REFUSAL("{\"weight_map\":[]}", "not an object");
    EXPECT_REFUSAL("{\"weight_map\":{\"a\":1}}", "\"a\"", "not a string");
    EXPECT_REFUSAL("{\"weight_map\":{\"a\":\"m.safetensors\"},\"weight_map\":{}}", "twice");
    EXPECT_REFUSAL("{\"weight_map\":{\"a\":\"m.safetensors\",\"a\":\"n.safetensors\"}}", "\"a\"",
                   "twice");
    EXPECT_REFUSAL("{\"weight_map\":{\"a\":\"m.safetensors\"}} x", "not valid JSON");
    EXPECT_REFUSAL("{\"weight_map\":{\"a\":\"m.safetensors\"", "not valid JSON");
    EXPECT_REFUSAL("{\"metadata\":{\"a\":[1,}},\"weight_map\":{}}", "not valid JSON");
    EXPECT_REFUSAL("version https://git-lfs.github.com/spec/v1", "not valid JSON");
}

static void reads_the_index_of_a_release(void **state) {
    (void)state;
    clef_shard_index index;
    clef_error error = {0};
    assert_ok(clef_shard_index_load(fixture("tiny-random/release/model.safetensors.index.json"),
                                    &index, &error),
              &error);
    assert_int_equal(index.shard_count, 2);
    assert_string_equal(index.shards[0], "model-00001-of-00002.safetensors");
    clef_shard_index_release(&index);
    assert_int_equal(clef_shard_index_load(fixture("no-such-file"), &index, &error), CLEF_BAD_FILE);
    assert_int_equal(index.count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_entries_and_files),
        cmocka_unit_test(refuses_names_that_lead_elsewhere),
        cmocka_unit_test(refuses_what_is_no_index),
        cmocka_unit_test(reads_the_index_of_a_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
