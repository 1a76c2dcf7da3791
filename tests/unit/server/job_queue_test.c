/* The queue: order, bounds, wishes to drop a job that come at any time. */
#include "server/job_queue.h"

#include "support.h"

static void order_and_bounds(void **state) {
    (void)state;
    clef_job_queue queue;
    clef_job jobs[4] = {0};
    clef_error error = {0};
    assert_ok(clef_job_queue_create(&queue, 3, &error), &error);
    for (int i = 0; i < 3; i += 1) {
        assert_ok(clef_job_queue_push(&queue, &jobs[i], &error), &error);
    }
    assert_int_equal(clef_job_queue_push(&queue, &jobs[3], &error), CLEF_BUSY);
    clef_job_batch batch = clef_job_queue_take(&queue, true, 1000);
    assert_ptr_equal(batch.first, &jobs[0]);
    assert_ptr_equal(batch.first->next, &jobs[1]);
    assert_null(jobs[2].next);
    assert_false(batch.has_cancelled || batch.is_stopping);
    assert_ok(clef_job_queue_push(&queue, &jobs[3], &error), &error);
    clef_job_queue_stop(&queue);
    assert_int_equal(clef_job_queue_push(&queue, &jobs[0], &error), CLEF_BUSY);
    batch = clef_job_queue_take(&queue, true, 60000);
    assert_ptr_equal(batch.first, &jobs[3]);
    assert_true(batch.is_stopping);
    clef_job_queue_release(&queue);
}

static void a_wish_to_drop_is_not_lost(void **state) {
    (void)state;
    clef_job_queue queue;
    clef_job job = {0};
    clef_error error = {0};
    assert_ok(clef_job_queue_create(&queue, 3, &error), &error);
    clef_job_queue_cancel(&queue, &job); /* its client left while it was encoded */
    assert_true(clef_job_queue_take(&queue, true, 60000).has_cancelled);
    assert_ok(clef_job_queue_push(&queue, &job, &error), &error);
    assert_true(clef_job_queue_take(&queue, true, 60000).has_cancelled);
    assert_true(clef_job_queue_is_cancelled(&queue, &job));
    assert_false(clef_job_queue_take(&queue, true, 1).has_cancelled);
    clef_job_queue_release(&queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_bounds),
        cmocka_unit_test(a_wish_to_drop_is_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
