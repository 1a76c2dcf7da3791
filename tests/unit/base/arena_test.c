/* The arena: alignment, zeroed and distinct memory, the cap, reuse after release. */
#include "support.h"

#include "base/arena.h"

static void blocks_are_aligned_zeroed_and_apart(void **state) {
    (void)state;
    clef_arena arena = {0};
    unsigned char *blocks[300];
    for (size_t i = 0; i < 300; i++) {
        size_t length = 1 + i * i % 977;
        blocks[i] = clef_arena_allocate(&arena, length, 1);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t j = 0; j < length; j++) {
            assert_int_equal(blocks[i][j], 0);
        }
        memset(blocks[i], (int)(i % 255) + 1, length);
    }
    for (size_t i = 0; i < 300; i++) {
        size_t length = 1 + i * i % 977;
        for (size_t j = 0; j < length; j++) {
            assert_int_equal(blocks[i][j], i % 255 + 1);
        }
    }
    clef_arena_release(&arena);
    assert_int_equal(arena.used_bytes, 0);
    assert_null(arena.blocks);
}

static void large_blocks_are_possible(void **state) {
    (void)state;
    clef_arena arena = {0};
    char *small = clef_arena_allocate(&arena, 1, 1);
    char *large = clef_arena_allocate(&arena, 5000000, 1);
    char *more = clef_arena_allocate(&arena, 10, 100);
    assert_non_null(small);
    assert_non_null(large);
    assert_non_null(more);
    memset(large, 1, 5000000);
    memset(more, 2, 1000);
    assert_int_equal(large[4999999], 1);
    clef_arena_release(&arena);
}

static void cap_holds_to_the_byte(void **state) {
    (void)state;
    clef_arena arena = {.cap_bytes = 64};
    assert_non_null(clef_arena_allocate(&arena, 1, 33)); /* takes 48 with its padding */
    assert_null(clef_arena_allocate(&arena, 1, 17));
    assert_non_null(clef_arena_allocate(&arena, 1, 16));
    assert_int_equal(arena.used_bytes, 64);
    assert_null(clef_arena_allocate(&arena, 1, 1));
    clef_arena_release(&arena);
    assert_int_equal(arena.cap_bytes, 64);
    assert_null(clef_arena_allocate(&arena, 1, 65));
    assert_non_null(clef_arena_allocate(&arena, 1, 64));
    clef_arena_release(&arena);
}

static void overflowing_sizes_are_refused(void **state) {
    (void)state;
    clef_arena arena = {0};
    assert_null(clef_arena_allocate(&arena, SIZE_MAX, 2));
    assert_null(clef_arena_allocate(&arena, SIZE_MAX, 1));
    assert_null(clef_arena_allocate(&arena, SIZE_MAX - 20, 1));
    assert_null(clef_arena_copy(&arena, (clef_text){"", SIZE_MAX}).bytes);
    assert_non_null(clef_arena_allocate(&arena, 1, 1));
    clef_arena_release(&arena);
}

static void copies_end_in_nul(void **state) {
    (void)state;
    clef_arena arena = {0};
    char source[] = "a\0b";
    clef_text copy = clef_arena_copy(&arena, (clef_text){source, 3});
    memset(source, 'x', 3);
    assert_int_equal(copy.length, 3);
    assert_memory_equal(copy.bytes, "a\0b", 4);
    copy = clef_arena_copy(&arena, (clef_text){NULL, 0});
    assert_int_equal(copy.length, 0);
    assert_string_equal(copy.bytes, "");
    clef_arena_release(&arena);
    arena.cap_bytes = 16;
    assert_null(clef_arena_copy(&arena, CLEF_TEXT("sixteen bytes..!")).bytes);
    assert_non_null(clef_arena_copy(&arena, CLEF_TEXT("fifteen bytes..")).bytes);
    clef_arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_zeroed_and_apart),
        cmocka_unit_test(large_blocks_are_possible),
        cmocka_unit_test(cap_holds_to_the_byte),
        cmocka_unit_test(overflowing_sizes_are_refused),
        cmocka_unit_test(copies_end_in_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
