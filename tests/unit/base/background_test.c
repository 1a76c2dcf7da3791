/* One thing at a time on a thread beside: it runs, it is waited for, and what it wrote is seen. */
#include "support.h"

#include "base/background.h"

#include <unistd.h>

static void count_slowly(void *context) {
    usleep(2000);
    *(int *)context += 1;
}

static void tasks_run_one_by_one(void **state) {
    (void)state;
    clef_error error = {0};
    clef_background *background = NULL;
    int count = 0;
    assert_ok(clef_background_create(&background, &error), &error);
    assert_false(clef_background_is_busy(background));
    clef_background_wait(background);
    for (int i = 1; i <= 20; i++) {
        clef_background_start(background, count_slowly, &count);
        if (i % 2 == 0) {
            clef_background_wait(background);
        } else {
            while (clef_background_is_busy(background)) {
                usleep(100);
            }
        }
        assert_int_equal(count, i);
        assert_false(clef_background_is_busy(background));
    }
    /* Closing waits. */
    clef_background_start(background, count_slowly, &count);
    clef_background_close(background);
    assert_int_equal(count, 21);
    clef_background_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_run_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
