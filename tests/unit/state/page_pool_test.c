/* Pages: counts, references, reuse. */
#include "support.h"

#include "state/page_pool.h"

enum { FLOATS = 100, PAGES = 9 };

static void pages_are_counted_and_reused(void **state) {
    (void)state;
    clef_page_pool pool;
    float *pages[PAGES];
    float *again[PAGES];
    clef_page_pool_init(&pool, FLOATS);
    assert_int_equal(pool.page_count, 0);
    for (size_t i = 0; i < PAGES; i++) {
        pages[i] = clef_page_take(&pool);
        assert_non_null(pages[i]);
        assert_int_equal((uintptr_t)pages[i] % 64, 0);
        assert_int_equal(pool.page_count, i + 1);
        assert_int_equal(pool.used_count, i + 1);
        for (size_t n = 0; n < FLOATS; n++) {
            pages[i][n] = (float)i;
        }
    }
    /* Nobody wrote into another page. */
    for (size_t i = 0; i < PAGES; i++) {
        assert_true(pages[i][0] == (float)i && pages[i][FLOATS - 1] == (float)i);
    }
    for (size_t i = 0; i < PAGES; i++) {
        clef_page_drop(&pool, pages[i]);
        assert_int_equal(pool.used_count, PAGES - 1 - i);
        assert_int_equal(pool.page_count, PAGES);
    }
    /* They are taken again before new ones are made. */
    for (size_t i = 0; i < PAGES; i++) {
        float *page = clef_page_take(&pool);
        size_t at = 0;
        while (at < PAGES && pages[at] != page) {
            at++;
        }
        assert_true(at < PAGES);
        pages[at] = NULL;
        assert_int_equal(pool.page_count, PAGES);
        again[i] = page;
    }
    for (size_t i = 0; i < PAGES; i++) {
        clef_page_drop(&pool, again[i]);
    }
    clef_page_pool_release(&pool);
    assert_int_equal(pool.page_count, 0);
}

static void the_last_reference_frees(void **state) {
    (void)state;
    clef_page_pool pool;
    clef_page_pool_init(&pool, FLOATS);
    float *page = clef_page_take(&pool);
    for (size_t i = 0; i < 5; i++) {
        assert_ptr_equal(clef_page_share(page), page);
        assert_int_equal(pool.used_count, 1);
    }
    page[0] = 4;
    for (size_t i = 0; i < 5; i++) {
        clef_page_drop(&pool, page);
        assert_int_equal(pool.used_count, 1);
        assert_true(page[0] == 4);
    }
    clef_page_drop(&pool, page);
    assert_int_equal(pool.used_count, 0);
    /* A page that was shared comes back with one reference. */
    float *again = clef_page_take(&pool);
    assert_ptr_equal(again, page);
    clef_page_drop(&pool, again);
    assert_int_equal(pool.used_count, 0);
    clef_page_pool_release(&pool);
}

static void trimming_keeps_what_is_used(void **state) {
    (void)state;
    clef_page_pool pool;
    clef_page_pool_init(&pool, FLOATS);
    float *kept = clef_page_take(&pool);
    float *dropped[4];
    for (size_t i = 0; i < 4; i++) {
        dropped[i] = clef_page_take(&pool);
    }
    for (size_t i = 0; i < 4; i++) {
        clef_page_drop(&pool, dropped[i]);
    }
    assert_int_equal(pool.page_count, 5);
    kept[FLOATS - 1] = 7;
    clef_page_pool_trim(&pool, 7);
    assert_int_equal(pool.page_count, 5);
    clef_page_pool_trim(&pool, 3);
    assert_int_equal(pool.page_count, 4);
    clef_page_pool_trim(&pool, 0);
    assert_int_equal(pool.page_count, 1);
    assert_int_equal(pool.used_count, 1);
    assert_true(kept[FLOATS - 1] == 7);
    clef_page_drop(&pool, kept);
    clef_page_pool_release(&pool);
    assert_int_equal(pool.page_count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_counted_and_reused),
        cmocka_unit_test(the_last_reference_frees),
        cmocka_unit_test(trimming_keeps_what_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
