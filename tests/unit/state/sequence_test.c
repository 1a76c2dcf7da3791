/* Sequences and checkpoints: positions, pages, shared references; contents are opaque here. */
#include "support.h"

#include "state/sequence.h"

#include <stdio.h>

enum { FIXED = 40, PAGE = 130 };

static const clef_state_layout layout = {.fixed_floats = FIXED, .page_floats = PAGE};

static clef_sequence *new_sequence(clef_page_pool *pool) {
    clef_error error = {0};
    clef_sequence *sequence = NULL;
    assert_ok(clef_sequence_create(&layout, pool, &sequence, &error), &error);
    assert_int_equal(sequence->position, 0);
    assert_int_equal(sequence->page_count, 0);
    for (size_t i = 0; i < FIXED; i++) {
        assert_true(sequence->fixed[i] == 0);
    }
    return sequence;
}

static void reserve(clef_sequence *sequence, size_t tokens) {
    clef_error error = {0};
    assert_ok(clef_sequence_reserve(sequence, tokens, &error), &error);
}

/* As if tokens up to `position` had been computed: contents tell who wrote them. */
static void move_to(clef_sequence *sequence, size_t position, float mark) {
    reserve(sequence, position);
    for (size_t page = sequence->position / CLEF_GRID; page * CLEF_GRID < position; page++) {
        sequence->pages[page][0] = mark + (float)page;
        sequence->pages[page][PAGE - 1] = mark + (float)page;
    }
    for (size_t i = 0; i < FIXED; i++) {
        sequence->fixed[i] = mark + (float)position;
    }
    sequence->position = position;
}

static void close_pool(clef_page_pool *pool) {
    assert_int_equal(pool->used_count, 0);
    clef_page_pool_release(pool);
    assert_int_equal(pool->page_count, 0);
}

/* ---- sequences ---- */

static void pages_follow_the_tokens(void **state) {
    (void)state;
    clef_page_pool pool;
    clef_page_pool_init(&pool, PAGE);
    clef_sequence *sequence = new_sequence(&pool);
    for (size_t tokens = 0; tokens < 700; tokens++) {
        reserve(sequence, tokens);
        assert_int_equal(sequence->page_count, (tokens + 63) / 64);
        assert_int_equal(pool.used_count, sequence->page_count);
    }
    /* Fewer tokens than before take nothing away. */
    reserve(sequence, 3);
    assert_int_equal(sequence->page_count, 11);
    for (size_t i = 0; i < 11; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_ptr_not_equal(sequence->pages[i], sequence->pages[j]);
        }
    }
    clef_sequence_destroy(sequence);
    clef_sequence_destroy(NULL);
    close_pool(&pool);
}

static void slices_show_the_sequence(void **state) {
    (void)state;
    clef_page_pool pool;
    clef_page_pool_init(&pool, PAGE);
    clef_sequence *sequence = new_sequence(&pool);
    move_to(sequence, 128, 1);
    reserve(sequence, 200);
    clef_slice slice = clef_sequence_slice(sequence, 17, 72);
    assert_int_equal(slice.row, 17);
    assert_int_equal(slice.count, 72);
    assert_int_equal(slice.position, 128);
    assert_ptr_equal(slice.fixed, sequence->fixed);
    assert_ptr_equal(slice.pages, sequence->pages);
    /* Making a slice moves nothing on. */
    assert_int_equal(sequence->position, 128);
    clef_sequence_destroy(sequence);
    close_pool(&pool);
}

static void reset_sequences_are_empty(void **state) {
    (void)state;
    clef_page_pool pool;
    clef_page_pool_init(&pool, PAGE);
    clef_sequence *sequence = new_sequence(&pool);
    move_to(sequence, 300, 5);
    size_t made = pool.page_count;
    clef_sequence_reset(sequence);
    assert_int_equal(sequence->position, 0);
    assert_int_equal(sequence->page_count, 0);
    assert_int_equal(pool.used_count, 0);
    for (size_t i = 0; i < FIXED; i++) {
        assert_true(sequence->fixed[i] == 0);
    }
    move_to(sequence, 300, 6);
    assert_int_equal(pool.page_count, made);
    clef_sequence_destroy(sequence);
    close_pool(&pool);
}

/* ---- checkpoints ---- */

static void checkpoints_stand_on_the_grid(void **state) {
    (void)state;
    clef_page_pool pool;
    clef_page_pool_init(&pool, PAGE);
    clef_sequence *sequence = new_sequence(&pool);
    for (size_t position = 0; position <= 260; position++) {
        clef_error error = {0};
        clef_checkpoint *checkpoint = NULL;
        move_to(sequence, position, 2);
        clef_status status = clef_checkpoint_take(sequence, &checkpoint, &error);
        if (position % CLEF_GRID == 0) {
            assert_ok(status, &error);
            assert_int_equal(checkpoint->position, position);
        } else {
            char number[24];
            assert_int_equal(status, CLEF_USAGE);
            assert_null(checkpoint);
            snprintf(number, sizeof number, "%zu", position);
            assert_non_null(strstr(error.message, number));
            assert_int_equal(clef_checkpoint_take(sequence, &checkpoint, NULL), CLEF_USAGE);
        }
        clef_checkpoint_destroy(checkpoint);
    }
    clef_sequence_destroy(sequence);
    close_pool(&pool);
}

static void checkpoints_share_full_pages_and_copy_the_rest(void **state) {
    (void)state;
    clef_page_pool pool;
    clef_page_pool_init(&pool, PAGE);
    clef_error error = {0};
    clef_checkpoint *checkpoint = NULL;
    clef_sequence *sequence = new_sequence(&pool);
    move_to(sequence, 192, 3);
    /* A page reserved ahead is not part of it. */
    reserve(sequence, 256);
    assert_ok(clef_checkpoint_take(sequence, &checkpoint, &error), &error);
    assert_int_equal(pool.used_count, 4);
    for (size_t i = 0; i < 3; i++) {
        assert_ptr_equal(checkpoint->pages[i], sequence->pages[i]);
    }
    assert_ptr_not_equal(checkpoint->fixed, sequence->fixed);
    assert_memory_equal(checkpoint->fixed, sequence->fixed, FIXED * sizeof(float));
    /* Going on leaves the checkpoint as it is. */
    move_to(sequence, 256, 4);
    assert_true(checkpoint->fixed[0] == 3 + 192);
    clef_sequence_destroy(sequence);
    assert_int_equal(pool.used_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(checkpoint->pages[i][PAGE - 1] == 3 + (float)i);
    }
    clef_checkpoint_destroy(checkpoint);
    clef_checkpoint_destroy(NULL);
    close_pool(&pool);
}

static void restored_sequences_go_their_own_way(void **state) {
    (void)state;
    clef_page_pool pool;
    clef_page_pool_init(&pool, PAGE);
    clef_error error = {0};
    clef_checkpoint *checkpoint = NULL;
    clef_sequence *first = new_sequence(&pool);
    clef_sequence *second = new_sequence(&pool);
    move_to(first, 128, 10);
    assert_ok(clef_checkpoint_take(first, &checkpoint, &error), &error);
    /* What stood in the other sequence before is dropped. */
    move_to(second, 500, 20);
    assert_int_equal(pool.used_count, 2 + 8);
    assert_ok(clef_sequence_restore(second, checkpoint, &error), &error);
    assert_int_equal(pool.used_count, 2);
    assert_int_equal(second->position, 128);
    assert_int_equal(second->page_count, 2);
    assert_true(second->fixed[FIXED - 1] == 10 + 128);
    move_to(first, 200, 30);
    move_to(second, 200, 40);
    assert_ptr_equal(first->pages[1], second->pages[1]);
    assert_ptr_not_equal(first->pages[2], second->pages[2]);
    assert_true(first->pages[2][0] == 32 && second->pages[2][0] == 42);
    assert_true(first->fixed[0] == 230 && second->fixed[0] == 240);
    assert_int_equal(pool.used_count, 2 + 2 + 2);

    /* Again, into a sequence that shares these very pages. */
    assert_ok(clef_sequence_restore(second, checkpoint, &error), &error);
    assert_true(second->pages[0][0] == 10 && second->pages[1][0] == 11);
    clef_checkpoint_destroy(checkpoint);
    clef_sequence_destroy(first);
    assert_int_equal(pool.used_count, 2);
    assert_true(second->pages[0][0] == 10 && second->pages[1][0] == 11);
    clef_sequence_destroy(second);
    close_pool(&pool);
}

static void an_empty_checkpoint_restores_an_empty_sequence(void **state) {
    (void)state;
    clef_page_pool pool;
    clef_page_pool_init(&pool, PAGE);
    clef_error error = {0};
    clef_checkpoint *checkpoint = NULL;
    clef_sequence *sequence = new_sequence(&pool);
    assert_ok(clef_checkpoint_take(sequence, &checkpoint, &error), &error);
    move_to(sequence, 100, 1);
    assert_ok(clef_sequence_restore(sequence, checkpoint, &error), &error);
    assert_int_equal(sequence->position, 0);
    assert_int_equal(pool.used_count, 0);
    assert_true(sequence->fixed[0] == 0);
    clef_checkpoint_destroy(checkpoint);
    clef_sequence_destroy(sequence);
    close_pool(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_follow_the_tokens),
        cmocka_unit_test(slices_show_the_sequence),
        cmocka_unit_test(reset_sequences_are_empty),
        cmocka_unit_test(checkpoints_stand_on_the_grid),
        cmocka_unit_test(checkpoints_share_full_pages_and_copy_the_rest),
        cmocka_unit_test(restored_sequences_go_their_own_way),
        cmocka_unit_test(an_empty_checkpoint_restores_an_empty_sequence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
