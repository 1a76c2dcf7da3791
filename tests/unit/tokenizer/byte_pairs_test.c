/* The merge loops against the rule itself, written down without any cleverness, on random pieces of
 * few letters, whose merges overlap and tie all the time. */
#include "support.h"

#include "base/memory.h"
#include "tokenizer/byte_pairs.h"

#define LETTERS     3
#define MERGES      60
#define FIRST_MERGE 256

typedef struct merge_world {
    clef_merge merges[MERGES];
    size_t count;
    clef_byte_pairs pairs;
} merge_world;

static uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Random merges of random parts, each pair once. Some parts are made later than the merge that uses
 * them, as in the published file, and several merges may make the same entry. */
static void make_world(merge_world *world, uint64_t *random) {
    *world = (merge_world){0};
    for (uint32_t byte = 0; byte < 256; byte++) {
        world->pairs.byte_ids[byte] = byte;
    }
    while (world->count < MERGES) {
        uint32_t parts[2];
        for (size_t i = 0; i < 2; i++) {
            uint64_t choice = next_random(random) % (LETTERS + world->count + 2);
            parts[i] = choice < LETTERS ? (uint32_t)('a' + choice)
                                        : (uint32_t)(FIRST_MERGE + choice - LETTERS);
        }
        bool is_new = true;
        for (size_t i = 0; i < world->count; i++) {
            is_new = is_new &&
                     !(world->merges[i].left == parts[0] && world->merges[i].right == parts[1]);
        }
        if (is_new) {
            world->merges[world->count] = (clef_merge){
                parts[0], parts[1], FIRST_MERGE + (uint32_t)(next_random(random) % MERGES)};
            world->count++;
        }
    }
    clef_error error = {0};
    assert_ok(clef_byte_pairs_build(&world->pairs, world->merges, world->count, &error), &error);
}

/* Until none is listed: the listed pair that stands first in the list, the leftmost of equals. */
static size_t merge_naively(const merge_world *world, uint32_t *ids, size_t count) {
    for (;;) {
        size_t best_rank = world->count;
        size_t best_place = 0;
        for (size_t i = 0; i + 1 < count; i++) {
            for (size_t rank = 0; rank < best_rank; rank++) {
                if (world->merges[rank].left == ids[i] && world->merges[rank].right == ids[i + 1]) {
                    best_rank = rank;
                    best_place = i;
                }
            }
        }
        if (best_rank == world->count) {
            return count;
        }
        ids[best_place] = world->merges[best_rank].merged;
        memmove(ids + best_place + 1, ids + best_place + 2, (count - best_place - 2) * sizeof *ids);
        count--;
    }
}

static void test_random_pieces(void **state) {
    (void)state;
    uint64_t random = 7;
    clef_merge_scratch scratch = {0};
    for (size_t round = 0; round < 60; round++) {
        merge_world world;
        make_world(&world, &random);
        for (size_t i = 0; i < 120; i++) {
            char piece[160];
            uint32_t wanted[160];
            size_t length = 1 + (size_t)(next_random(&random) % sizeof piece);
            for (size_t n = 0; n < length; n++) {
                piece[n] = (char)('a' + next_random(&random) % (i % 4 == 0 ? 1 : LETTERS));
                wanted[n] = (unsigned char)piece[n];
            }
            size_t count = merge_naively(&world, wanted, length);
            clef_token_list list = {0};
            clef_error error = {0};
            assert_ok(clef_byte_pairs_encode(&world.pairs, &scratch, (clef_text){piece, length},
                                             &list, &error),
                      &error);
            assert_int_equal(list.count, count);
            assert_memory_equal(list.ids, wanted, count * sizeof *wanted);
            clef_token_list_release(&list);
        }
        clef_byte_pairs_release(&world.pairs);
    }
    clef_merge_scratch_release(&scratch);
}

/* A megabyte of one letter, every pair of equals a merge: n log n, or the time limit passes. */
static void test_long_piece(void **state) {
    (void)state;
    clef_byte_pairs pairs = {0};
    clef_merge merges[] = {{'Z', 'Z', 256}, {256, 256, 257}, {257, 257, 258}, {258, 'Z', 259}};
    pairs.byte_ids['Z'] = 'Z';
    clef_error error = {0};
    assert_ok(clef_byte_pairs_build(&pairs, merges, 4, &error), &error);
    size_t length = ((size_t)1 << 20) + 1;
    char *piece = clef_allocate(length, 1);
    assert_non_null(piece);
    memset(piece, 'Z', length);
    clef_merge_scratch scratch = {0};
    clef_token_list list = {0};
    assert_ok(clef_byte_pairs_encode(&pairs, &scratch, (clef_text){piece, length}, &list, &error),
              &error);
    assert_int_equal(list.count, length / 8);
    assert_int_equal(list.ids[0], 258);
    assert_int_equal(list.ids[list.count - 1], 259);
    clef_token_list_release(&list);
    clef_merge_scratch_release(&scratch);
    clef_release(piece);
    clef_byte_pairs_release(&pairs);
}

static void test_repeated_pair(void **state) {
    (void)state;
    clef_byte_pairs pairs = {0};
    clef_merge merges[] = {{1, 2, 3}, {2, 1, 4}, {1, 2, 5}};
    clef_error error = {0};
    assert_int_equal(clef_byte_pairs_build(&pairs, merges, 3, &error), CLEF_BAD_FILE);
    assert_non_null(strstr(error.message, "merges 0 and 2"));
    clef_byte_pairs_release(&pairs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_pieces),
        cmocka_unit_test(test_long_piece),
        cmocka_unit_test(test_repeated_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
