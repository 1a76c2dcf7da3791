/* Kept states against a plain model of them: a list of prefixes. Contents of pages tell whose they
 * are. */
#include "support.h"

#include "base/clock.h"
#include "state/prefix_cache.h"

#include <stdlib.h>

enum { FIXED = 40, PAGE = 130, TOKENS = 8 * CLEF_GRID, PLENTY = 1 << 24 };

static const clef_state_layout layout = {
    .fixed_floats = FIXED, .page_floats = PAGE, .memory_offset = 64, .memory_width = 1};

typedef struct bench {
    clef_page_pool pool;
    clef_prefix_cache cache;
} bench;

static void open_bench(bench *b, uint64_t bytes, size_t entries) {
    clef_error error = {0};
    clef_page_pool_init(&b->pool, PAGE);
    assert_ok(clef_prefix_cache_create(&layout, &b->pool, bytes, entries, 7, &b->cache, &error),
              &error);
}

static void close_bench(bench *b) {
    clef_prefix_cache_release(&b->cache);
    assert_int_equal(b->pool.used_count, 0);
    clef_page_pool_release(&b->pool);
}

static uint64_t next_number(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* What page `page` of a token list holds: a number that follows all tokens before its end. */
static float mark_of(const clef_prefix_key *key, size_t page) {
    uint32_t sum = 1;
    for (size_t i = 0; i < (page + 1) * CLEF_GRID; i++) {
        sum = sum * 31 + key->tokens[i];
    }
    bool is_salted = (page + 1) * CLEF_GRID > key->salt_begin;
    return (float)(sum % 100003) + (is_salted ? 0.25f * key->salt.bytes[0] : 0);
}

static clef_prefix_entry *put(bench *b, const clef_prefix_key *key, size_t position,
                              bool is_spare) {
    float *pages[TOKENS / CLEF_GRID];
    float *fixed = clef_prefix_cache_take_fixed(&b->cache);
    assert_non_null(fixed);
    for (size_t i = 0; i < position / CLEF_GRID; i++) {
        pages[i] = clef_page_take(&b->pool);
        assert_non_null(pages[i]);
        for (size_t n = 0; n < PAGE; n++) {
            pages[i][n] = mark_of(key, i);
        }
    }
    for (size_t n = 0; n < FIXED && position > 0; n++) {
        fixed[n] = mark_of(key, position / CLEF_GRID - 1);
    }
    clef_prefix_entry *entry = clef_prefix_cache_put(
        &b->cache, key, (clef_prefix_point){position, is_spare}, fixed, pages);
    for (size_t i = 0; i < position / CLEF_GRID; i++) {
        clef_page_drop(&b->pool, pages[i]);
    }
    return entry;
}

/* Restores and checks every page; returns the position. */
static size_t resume(bench *b, const clef_prefix_key *key, size_t limit) {
    clef_error error = {0};
    clef_sequence *sequence;
    assert_ok(clef_sequence_create(&layout, &b->pool, &sequence, &error), &error);
    assert_ok(clef_prefix_cache_resume(&b->cache, key, limit, sequence, &error), &error);
    size_t position = sequence->position;
    for (size_t i = 0; i < position / CLEF_GRID; i++) {
        assert_true(sequence->pages[i][0] == mark_of(key, i));
        assert_true(sequence->pages[i][PAGE - 1] == mark_of(key, i));
    }
    assert_true(position == 0 ||
                sequence->fixed[FIXED - 1] == mark_of(key, position / CLEF_GRID - 1));
    clef_sequence_destroy(sequence);
    return position;
}

static void draw(uint32_t *tokens, uint64_t seed, size_t first) {
    for (size_t i = first; i < TOKENS; i++) {
        tokens[i] = (uint32_t)next_number(&seed) % 3;
    }
}

static clef_prefix_key key_over(const uint32_t *tokens) {
    return (clef_prefix_key){tokens, TOKENS, {{0}}, SIZE_MAX};
}

static void longest_prefix_wins(void **state) {
    (void)state;
    bench b;
    uint32_t tokens[TOKENS], other[TOKENS];
    open_bench(&b, PLENTY, 0);
    draw(tokens, 1, 0);
    clef_prefix_key key = key_over(tokens);
    assert_int_equal(resume(&b, &key, TOKENS), 0);
    assert_null(put(&b, &key, 0, false));
    assert_non_null(put(&b, &key, 128, false));
    assert_non_null(put(&b, &key, 384, false));
    for (size_t limit = 0; limit <= TOKENS; limit += 13) {
        size_t wanted = limit >= 384 ? 384 : limit >= 128 ? 128 : 0;
        assert_int_equal(resume(&b, &key, limit), wanted);
        assert_int_equal(clef_prefix_cache_reach(&b.cache, &key, limit, NULL), wanted);
    }
    /* One token differs, anywhere. */
    for (size_t at = 0; at < TOKENS; at += 7) {
        size_t known;
        memcpy(other, tokens, sizeof other);
        other[at] ^= 1;
        clef_prefix_key changed = key_over(other);
        assert_int_equal(resume(&b, &changed, TOKENS), at >= 384 ? 384 : at >= 128 ? 128 : 0);
        (void)clef_prefix_cache_reach(&b.cache, &changed, TOKENS, &known);
        assert_int_equal(known, at >= 384 ? 384 : at / CLEF_GRID * CLEF_GRID);
    }
    /* A key that ends before. */
    key.token_count = 127;
    assert_int_equal(resume(&b, &key, TOKENS), 0);
    close_bench(&b);
}

static void salts_separate_from_where_they_begin(void **state) {
    (void)state;
    bench b;
    uint32_t tokens[TOKENS];
    open_bench(&b, PLENTY, 0);
    draw(tokens, 1, 0);
    clef_prefix_key plain = key_over(tokens);
    clef_prefix_key one = plain, two = plain;
    one.salt.bytes[0] = 1;
    two.salt.bytes[0] = 2;
    one.salt_begin = two.salt_begin = 100; /* in the second page */
    put(&b, &one, 64, false);
    put(&b, &one, 256, false);
    assert_int_equal(resume(&b, &one, TOKENS), 256);
    assert_int_equal(resume(&b, &two, TOKENS), 64);
    assert_int_equal(resume(&b, &plain, TOKENS), 64);
    put(&b, &plain, 192, false);
    assert_int_equal(resume(&b, &plain, TOKENS), 192);
    assert_int_equal(resume(&b, &one, TOKENS), 256);
    one.salt_begin = 0;
    assert_int_equal(resume(&b, &one, TOKENS), 0);
    close_bench(&b);
}

/* Bytes and pages are those of the tree, each page once. */
static void shared_pages_count_once(void **state) {
    (void)state;
    bench b;
    uint32_t left[TOKENS], right[TOKENS];
    open_bench(&b, PLENTY, 0);
    draw(left, 1, 0);
    memcpy(right, left, sizeof right);
    draw(right, 2, 256);
    right[256] = left[256] ^ 1;
    clef_prefix_key a = key_over(left), c = key_over(right);
    put(&b, &a, 512, false);
    uint64_t one = clef_prefix_cache_bytes(&b.cache);
    put(&b, &a, 512, false);
    assert_int_equal(clef_prefix_cache_bytes(&b.cache), one);
    put(&b, &a, 256, false);
    uint64_t fixed = clef_prefix_cache_bytes(&b.cache) - one;
    assert_in_range(fixed, FIXED * sizeof(float), FIXED * sizeof(float) + 128);
    put(&b, &c, 512, false);
    assert_int_equal(b.pool.used_count, 8 + 4);
    assert_int_equal(b.cache.tree.node_count, 8 + 4);
    /* Without the one in the middle nothing changes but its fixed part; then branches go. */
    while (clef_prefix_cache_evict(&b.cache)) {
        uint64_t bytes =
            b.cache.count * fixed +
            b.cache.tree.node_count * (PAGE * sizeof(float) + clef_prefix_node_bytes());
        assert_int_equal(clef_prefix_cache_bytes(&b.cache), bytes);
        assert_int_equal(b.pool.used_count, b.cache.tree.node_count);
    }
    assert_int_equal(clef_prefix_cache_bytes(&b.cache), 0);
    assert_int_equal(b.cache.evictions, 3);
    close_bench(&b);
}

/* Random puts, lookups and drops, under budgets; every hit has the right contents. */
static void random_work_within_budgets(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (size_t round = 0; round < 12; round++) {
        bench b;
        uint64_t bytes = round % 3 == 0 ? PLENTY : 2000 * (1 + round);
        size_t entries = round % 4 == 1 ? 3 : 0;
        open_bench(&b, bytes, entries);
        for (size_t i = 0; i < 400; i++) {
            uint32_t tokens[TOKENS];
            draw(tokens, 1 + next_number(&seed) % 3, 0);
            draw(tokens, 10 + next_number(&seed) % 3, 64 * (1 + next_number(&seed) % 6));
            clef_prefix_key key = key_over(tokens);
            if (next_number(&seed) % 3 == 0) {
                key.salt.bytes[0] = (unsigned char)(next_number(&seed) % 3);
                key.salt_begin = 64 * (next_number(&seed) % 4);
            }
            size_t position = 64 * (1 + next_number(&seed) % 8);
            size_t reached = resume(&b, &key, TOKENS);
            const clef_prefix_entry *entry = put(&b, &key, position, next_number(&seed) % 2);
            assert_true(entry == NULL || entry->node->depth * CLEF_GRID == position);
            assert_true(bytes != PLENTY ||
                        resume(&b, &key, TOKENS) >= (reached > position ? reached : position) ||
                        entries != 0);
            assert_true(clef_prefix_cache_bytes(&b.cache) <= bytes);
            assert_true(entries == 0 || b.cache.count <= entries);
            assert_int_equal(b.pool.used_count, b.cache.tree.node_count);
            if (next_number(&seed) % 8 == 0) {
                (void)clef_prefix_cache_evict(&b.cache);
            }
        }
        close_bench(&b);
    }
}

/* What is pinned stays, and what is worth more than a newcomer stays too. */
static void pinned_and_precious_stay(void **state) {
    (void)state;
    bench b;
    uint32_t tokens[3][TOKENS];
    open_bench(&b, PLENTY, 1);
    for (size_t i = 0; i < 3; i++) {
        draw(tokens[i], 1 + i, 0);
        tokens[i][0] = (uint32_t)i;
    }
    clef_prefix_key keys[3] = {key_over(tokens[0]), key_over(tokens[1]), key_over(tokens[2])};
    clef_prefix_entry *entry = put(&b, &keys[0], 256, false);
    assert_non_null(entry);
    entry->is_pinned = true;
    assert_null(put(&b, &keys[1], 256, false));
    assert_false(clef_prefix_cache_evict(&b.cache));
    entry->is_pinned = false;
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(resume(&b, &keys[0], TOKENS), 256);
    }
    assert_null(put(&b, &keys[1], 256, true)); /* a spare one */
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(resume(&b, &keys[2], TOKENS), 0);
    }
    assert_non_null(put(&b, &keys[1], 256, false)); /* nobody asks for the other any more */
    assert_int_equal(resume(&b, &keys[0], TOKENS), 0);
    close_bench(&b);
}

/* The longest states there are are found in well under a millisecond. */
static void long_prefixes_are_found_quickly(void **state) {
    (void)state;
    enum { LONG = 16384 };
    bench b;
    open_bench(&b, PLENTY, 0);
    uint32_t *tokens = calloc(LONG, sizeof *tokens);
    float **pages = calloc(LONG / CLEF_GRID, sizeof *pages);
    assert_true(tokens != NULL && pages != NULL);
    for (size_t i = 0; i < LONG; i++) {
        tokens[i] = (uint32_t)(i * 2654435761u);
    }
    for (size_t i = 0; i < LONG / CLEF_GRID; i++) {
        pages[i] = clef_page_take(&b.pool);
        assert_non_null(pages[i]);
        memset(pages[i], 0, PAGE * sizeof(float));
    }
    clef_prefix_key key = {tokens, LONG, {{0}}, SIZE_MAX};
    for (size_t position = 1024; position <= LONG; position += 1024) {
        assert_non_null(clef_prefix_cache_put(&b.cache, &key, (clef_prefix_point){position, false},
                                              clef_prefix_cache_take_fixed(&b.cache), pages));
    }
    uint64_t best = UINT64_MAX;
    for (size_t i = 0; i < 20; i++) {
        uint64_t begin = clef_clock_ns();
        assert_int_equal(clef_prefix_cache_reach(&b.cache, &key, LONG, NULL), LONG);
        uint64_t spent = clef_clock_ns() - begin;
        best = spent < best ? spent : best;
    }
    print_message("%d tokens: %.1f us\n", LONG, (double)best / 1e3);
    assert_true(best < 5000000);
    for (size_t i = 0; i < LONG / CLEF_GRID; i++) {
        clef_page_drop(&b.pool, pages[i]);
    }
    free(tokens);
    free(pages);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_prefix_wins),
        cmocka_unit_test(salts_separate_from_where_they_begin),
        cmocka_unit_test(shared_pages_count_once),
        cmocka_unit_test(random_work_within_budgets),
        cmocka_unit_test(pinned_and_precious_stay),
        cmocka_unit_test(long_prefixes_are_found_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
