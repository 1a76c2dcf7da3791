/* Directories of weight files: single file, shards with an index, links, and every disagreement
 * between an index and its files. */
#include "weight_fixture.h"

/* A tensor of four bytes. */
#define FOUR(name, begin, end)                                                                     \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[" #begin "," #end "]}"

#define INDEX "model.safetensors.index.json"
#define ONE   "model-00001-of-00002.safetensors"
#define TWO   "model-00002-of-00002.safetensors"

static char directory[256];

static int make_shards(void **state) {
    (void)state;
    make_directory(directory);
    write_weights(directory, ONE, "{" FOUR("a", 0, 4) "," FOUR("b", 4, 8) "}", 8);
    write_weights(directory, TWO, "{" FOUR("c", 0, 4) "}", 4);
    write_string(directory, INDEX,
                 "{\"metadata\":{\"total_size\":12},\"weight_map\":{\"a\":\"" ONE "\",\"b\":\"" ONE
                 "\",\"c\":\"" TWO "\"}}");
    return 0;
}

static int make_empty(void **state) {
    (void)state;
    make_directory(directory);
    return 0;
}

static int remove_all(void **state) {
    (void)state;
    remove_directory(directory);
    return 0;
}

static const char *in_directory(const char *name) {
    static char path[1024];
    return path_in(directory, name, path);
}

static clef_weight_store *open_directory(void) {
    clef_weight_store *store = NULL;
    clef_error error = {0};
    bool is_absent = true;
    assert_ok(clef_weight_store_open(directory, &store, &is_absent, &error), &error);
    assert_false(is_absent);
    return store;
}

/* Opening fails about `place` (a name in the directory, or NULL for itself). */
static void expect_refusal(const char *place, const char *const *parts) {
    clef_weight_store *store = NULL;
    clef_error error = {0};
    bool is_absent = true;
    clef_status status = clef_weight_store_open(directory, &store, &is_absent, &error);
    if (status == CLEF_OK) {
        clef_weight_store_close(store);
        fail_msg("the directory opens; expected %s", parts[0]);
    }
    assert_int_equal(status, CLEF_BAD_FILE);
    assert_null(store);
    assert_false(is_absent);
    assert_string_equal(error.place, place == NULL ? directory : in_directory(place));
    assert_message(&error, parts);
}

#define EXPECT_REFUSAL(place, ...) expect_refusal(place, (const char *const[]){__VA_ARGS__, NULL})

/* ---- what opens ---- */

static void opens_shards(void **state) {
    (void)state;
    clef_weight_store *store = open_directory();
    assert_int_equal(clef_weight_store_count(store), 3);
    const clef_stored_tensor *c = clef_weight_store_find(store, CLEF_TEXT("c"));
    assert_string_equal(strrchr(c->file, '/') + 1, TWO);
    assert_int_equal(((const unsigned char *)c->data)[3], 3);
    assert_null(clef_weight_store_find(store, CLEF_TEXT("d")));
    assert_null(clef_weight_store_warning(store));
    uint64_t bytes = 0;
    const char *const names[] = {ONE, TWO};
    for (int i = 0; i < 2; i++) {
        struct stat found;
        assert_int_equal(stat(in_directory(names[i]), &found), 0);
        bytes += (uint64_t)found.st_size;
    }
    assert_int_equal(clef_weight_store_bytes(store), bytes);
    /* Tensors lie in mapped files, but for copies of those at odd places; asking changes nothing.
     */
    for (size_t i = 0; i < clef_weight_store_count(store); i++) {
        const clef_stored_tensor *tensor = clef_weight_store_at(store, i);
        const clef_file *file = clef_weight_store_find_file(store, tensor->data);
        const char *data = tensor->data;
        const char *begin = file == NULL ? data : file->bytes;
        size_t length = file == NULL ? tensor->bytes : file->length;
        assert_true(data >= begin && data + tensor->bytes <= begin + length);
    }
    assert_null(clef_weight_store_find_file(store, &bytes));
    clef_weight_store_prefetch(store, SIZE_MAX);
    assert_int_equal(((const unsigned char *)c->data)[3], 3);
    clef_weight_store_close(store);
}

static void opens_a_single_file(void **state) {
    (void)state;
    write_weights(directory, "model.safetensors", "{" FOUR("a", 0, 4) "}", 4);
    write_weights(directory, "joint_head.safetensors", "{" FOUR("h", 0, 4) "}", 4);
    clef_weight_store *store = open_directory();
    assert_int_equal(clef_weight_store_count(store), 1);
    assert_null(clef_weight_store_warning(store));
    clef_weight_store_close(store);
}

static void opens_the_models_of_this_repository(void **state) {
    (void)state;
    clef_weight_store *store = NULL;
    clef_error error = {0};
    assert_ok(clef_weight_store_open(CLEF_MODELS "/clef-tiny", &store, NULL, &error), &error);
    assert_non_null(clef_weight_store_find(store, CLEF_TEXT("lm_head.weight")));
    clef_weight_store_close(store);
    assert_ok(clef_weight_store_open(fixture("tiny-random/release"), &store, NULL, &error), &error);
    assert_int_equal(clef_weight_store_bytes(store) > 2300632, true);
    clef_weight_store_close(store);
}

static void opens_one_file_by_name(void **state) {
    (void)state;
    clef_weight_store *store = NULL;
    clef_error error = {0};
    bool is_absent = true;
    assert_ok(clef_weight_store_open_file(in_directory(ONE), &store, &is_absent, &error), &error);
    assert_false(is_absent);
    assert_int_equal(clef_weight_store_count(store), 2);
    clef_weight_store_close(store);
    assert_int_equal(clef_weight_store_open_file(in_directory("joint_head.safetensors"), &store,
                                                 &is_absent, &error),
                     CLEF_BAD_FILE);
    assert_true(is_absent);
    assert_null(store);
    ASSERT_MESSAGE(&error, "joint_head.safetensors", "missing");
    clef_weight_store_close(NULL);
}

static void nothing_there_is_absent(void **state) {
    (void)state;
    write_string(directory, "config.json", "{}");
    write_weights(directory, "joint_head.safetensors", "{}", 0);
    clef_weight_store *store = NULL;
    clef_error error = {0};
    bool is_absent = false;
    assert_int_equal(clef_weight_store_open(directory, &store, &is_absent, &error), CLEF_BAD_FILE);
    assert_true(is_absent);
    ASSERT_MESSAGE(&error, "model.safetensors", "model.safetensors.index.json");
    assert_string_equal(error.place, directory);
}

static void a_directory_that_is_none(void **state) {
    (void)state;
    write_string(directory, "file", "");
    const char *const names[] = {"file", "nowhere"};
    const char *const reasons[] = {"not a directory", "no such directory"};
    for (int i = 0; i < 2; i++) {
        clef_weight_store *store = NULL;
        clef_error error = {0};
        bool is_absent = true;
        assert_int_equal(clef_weight_store_open(in_directory(names[i]), &store, &is_absent, &error),
                         CLEF_BAD_FILE);
        assert_false(is_absent);
        ASSERT_MESSAGE(&error, names[i], reasons[i]);
    }
}

/* ---- G01: a shard that is not there ---- */

static void g01_shard_deleted(void **state) {
    (void)state;
    assert_int_equal(unlink(in_directory(TWO)), 0);
    EXPECT_REFUSAL(TWO, "1 of the 2 files", TWO, "first missing tensor is \"c\"");
    assert_int_equal(unlink(in_directory(ONE)), 0);
    EXPECT_REFUSAL(ONE, "2 of the 2 files", ONE, TWO, "first missing tensor is \"a\"");
}

static void g01_shard_is_a_directory(void **state) {
    (void)state;
    assert_int_equal(unlink(in_directory(TWO)), 0);
    assert_int_equal(mkdir(in_directory(TWO), 0700), 0);
    EXPECT_REFUSAL(TWO, TWO, "directory", "tensor \"c\"");
}

static void g01_shard_is_empty(void **state) {
    (void)state;
    write_string(directory, ONE, "");
    EXPECT_REFUSAL(ONE, ONE, "empty", "tensor \"a\" and others");
}

static void g01_shard_is_unreadable(void **state) {
    (void)state;
    assert_int_equal(chmod(in_directory(TWO), 0), 0);
    if (access(in_directory(TWO), R_OK) == 0) {
        return; /* the superuser reads everything */
    }
    EXPECT_REFUSAL(TWO, TWO, "unreadable", "tensor \"c\"");
}

/* ---- G02: index and shards disagree ---- */

static void g02_tensor_in_index_only(void **state) {
    (void)state;
    write_string(directory, INDEX,
                 "{\"weight_map\":{\"a\":\"" ONE "\",\"b\":\"" ONE "\",\"c\":\"" TWO
                 "\",\"d\":\"" TWO "\"}}");
    EXPECT_REFUSAL(INDEX, "tensor \"d\"", TWO, "no file holds it");
}

static void g02_tensor_in_shard_only(void **state) {
    (void)state;
    write_string(directory, INDEX, "{\"weight_map\":{\"a\":\"" ONE "\",\"c\":\"" TWO "\"}}");
    EXPECT_REFUSAL(ONE, "tensor \"b\"", "not in " INDEX);
}

static void g02_tensor_in_another_shard(void **state) {
    (void)state;
    write_string(directory, INDEX,
                 "{\"weight_map\":{\"a\":\"" ONE "\",\"b\":\"" TWO "\",\"c\":\"" TWO "\"}}");
    EXPECT_REFUSAL(INDEX, "tensor \"b\"", "in " TWO, "is in " ONE);
}

static void g02_tensor_in_two_shards(void **state) {
    (void)state;
    write_weights(directory, TWO, "{" FOUR("c", 0, 4) "," FOUR("a", 4, 8) "}", 8);
    EXPECT_REFUSAL(TWO, "tensor \"a\"", ONE, "one home");
}

static void g02_stray_files_are_a_warning(void **state) {
    (void)state;
    write_string(directory, "adapter.safetensors", "not even one");
    write_string(directory, "model.safetensors", "");
    write_weights(directory, "joint_head.safetensors", "{}", 0);
    clef_weight_store *store = open_directory();
    const char *warning = clef_weight_store_warning(store);
    assert_non_null(warning);
    assert_non_null(strstr(warning, "\"adapter.safetensors\", \"model.safetensors\""));
    assert_null(strstr(warning, "joint_head"));
    assert_null(strstr(warning, "00001"));
    assert_null(strchr(warning, '\n'));
    clef_weight_store_close(store);
}

static void g02_stray_files_beside_a_single_one(void **state) {
    (void)state;
    write_weights(directory, "model.safetensors", "{" FOUR("a", 0, 4) "}", 4);
    for (int i = 0; i < 40; i++) {
        char name[64];
        snprintf(name, sizeof name, "other-%02d.safetensors", i);
        write_string(directory, name, "x");
    }
    clef_weight_store *store = open_directory();
    const char *warning = clef_weight_store_warning(store);
    assert_non_null(strstr(warning, "other-00.safetensors"));
    assert_null(strstr(warning, "other-39"));
    assert_non_null(strstr(warning, "..."));
    clef_weight_store_close(store);
}

static void g02_entry_that_leaves_the_directory(void **state) {
    (void)state;
    write_string(directory, INDEX, "{\"weight_map\":{\"a\":\"../x.safetensors\"}}");
    EXPECT_REFUSAL(INDEX, "\"../x.safetensors\"", "tensor \"a\"", "same directory");
}

static void g02_several_shards_without_index(void **state) {
    (void)state;
    assert_int_equal(unlink(in_directory(INDEX)), 0);
    EXPECT_REFUSAL(NULL, "2 weight files without " INDEX, ONE, TWO);
}

static void g02_damaged_shard(void **state) {
    (void)state;
    write_string(directory, TWO, "version https://git-lfs.github.com/spec/v1\noid sha256:1\n");
    EXPECT_REFUSAL(TWO, TWO, "Git LFS pointer", "tensor \"c\"");
    write_weights(directory, TWO, "{" FOUR("c", 0, 4) "}", 3);
    EXPECT_REFUSAL(TWO, "cut off", "\"c\"");
}

/* ---- G09: links ---- */

static void g09_links_to_blobs(void **state) {
    (void)state;
    char outside[256];
    char blob[1024];
    make_directory(outside);
    /* The layout of a hub's cache: names are links to blobs elsewhere, one through another link. */
    assert_int_equal(rename(in_directory(ONE), path_in(outside, "4d7a blöb", blob)), 0);
    assert_int_equal(symlink(blob, in_directory(ONE)), 0);
    char inner[1024];
    path_in(directory, "inner.bin", inner);
    assert_int_equal(rename(in_directory(TWO), path_in(outside, "81be", blob)), 0);
    assert_int_equal(symlink(blob, inner), 0);
    assert_int_equal(symlink("inner.bin", in_directory(TWO)), 0);
    clef_weight_store *store = open_directory();
    assert_int_equal(clef_weight_store_count(store), 3);
    assert_string_equal(strrchr(clef_weight_store_find(store, CLEF_TEXT("c"))->file, '/') + 1, TWO);
    clef_weight_store_close(store);
    remove_directory(outside);
    EXPECT_REFUSAL(ONE, ONE, "dangling");
}

static void g09_dangling_link(void **state) {
    (void)state;
    assert_int_equal(unlink(in_directory(TWO)), 0);
    assert_int_equal(symlink("gone.blob", in_directory(TWO)), 0);
    EXPECT_REFUSAL(TWO, TWO, "dangling", "gone.blob", "tensor \"c\"");
    assert_int_equal(unlink(in_directory(INDEX)), 0);
    assert_int_equal(symlink("gone.json", in_directory(INDEX)), 0);
    EXPECT_REFUSAL(INDEX, "dangling", "gone.json");
}

static void g09_dangling_single_file_is_not_absent(void **state) {
    (void)state;
    assert_int_equal(symlink("gone.blob", in_directory("model.safetensors")), 0);
    EXPECT_REFUSAL("model.safetensors", "dangling", "gone.blob");
    clef_weight_store *store;
    bool is_absent = true;
    clef_error error = {0};
    assert_int_equal(
        clef_weight_store_open_file(in_directory("model.safetensors"), &store, &is_absent, &error),
        CLEF_BAD_FILE);
    assert_false(is_absent);
}

static void g09_loop_of_links(void **state) {
    (void)state;
    assert_int_equal(unlink(in_directory(TWO)), 0);
    char first[1024];
    path_in(directory, "loop", first);
    assert_int_equal(symlink("loop", in_directory(TWO)), 0);
    assert_int_equal(symlink(TWO, first), 0);
    EXPECT_REFUSAL(TWO, TWO, "loop", "tensor \"c\"");
}

static void g09_spaces_and_other_letters(void **state) {
    (void)state;
    const char *name = "weights für 模型 1.safetensors";
    assert_int_equal(unlink(in_directory(TWO)), 0);
    write_weights(directory, name, "{" FOUR("c", 0, 4) "}", 4);
    char index[512];
    snprintf(index, sizeof index,
             "{\"weight_map\":{\"a\":\"" ONE "\",\"b\":\"" ONE "\",\"c\":\"%s\"}}", name);
    write_string(directory, INDEX, index);
    clef_weight_store *store = open_directory();
    assert_int_equal(clef_weight_store_count(store), 3);
    clef_weight_store_close(store);
}

/* ---- I01: files that change ---- */

/* A new file under the name of a mapped one leaves the opened weights as they were. */
static void i01_replaced_by_rename(void **state) {
    (void)state;
    clef_weight_store *store = open_directory();
    const clef_stored_tensor *a = clef_weight_store_find(store, CLEF_TEXT("a"));
    assert_int_equal(((const unsigned char *)a->data)[1], 1);
    write_string(directory, "new", "shorter");
    char from[1024];
    path_in(directory, "new", from);
    assert_int_equal(rename(from, in_directory(ONE)), 0);
    for (size_t i = 0; i < a->bytes; i++) {
        assert_int_equal(((const unsigned char *)a->data)[i], i);
    }
    clef_weight_store_close(store);
    EXPECT_REFUSAL(ONE, "tensor \"a\"");
}

#define WITH_SHARDS(test) cmocka_unit_test_setup_teardown(test, make_shards, remove_all)
#define WITH_NONE(test)   cmocka_unit_test_setup_teardown(test, make_empty, remove_all)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_SHARDS(opens_shards),
        WITH_NONE(opens_a_single_file),
        cmocka_unit_test(opens_the_models_of_this_repository),
        WITH_SHARDS(opens_one_file_by_name),
        WITH_NONE(nothing_there_is_absent),
        WITH_NONE(a_directory_that_is_none),
        WITH_SHARDS(g01_shard_deleted),
        WITH_SHARDS(g01_shard_is_a_directory),
        WITH_SHARDS(g01_shard_is_empty),
        WITH_SHARDS(g01_shard_is_unreadable),
        WITH_SHARDS(g02_tensor_in_index_only),
        WITH_SHARDS(g02_tensor_in_shard_only),
        WITH_SHARDS(g02_tensor_in_another_shard),
        WITH_SHARDS(g02_tensor_in_two_shards),
        WITH_SHARDS(g02_stray_files_are_a_warning),
        WITH_NONE(g02_stray_files_beside_a_single_one),
        WITH_SHARDS(g02_entry_that_leaves_the_directory),
        WITH_SHARDS(g02_several_shards_without_index),
        WITH_SHARDS(g02_damaged_shard),
        WITH_SHARDS(g09_links_to_blobs),
        WITH_SHARDS(g09_dangling_link),
        WITH_NONE(g09_dangling_single_file_is_not_absent),
        WITH_SHARDS(g09_loop_of_links),
        WITH_SHARDS(g09_spaces_and_other_letters),
        WITH_SHARDS(i01_replaced_by_rename),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
