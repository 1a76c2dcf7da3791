/* One question alone, and its options in an order of the caller's. */
#include "decide/selection.h"

#include "requests.h"

#define BODY                                                                                       \
    "{\"model\":\"clef\",\"state\":\"s\",\"questions\":{"                                          \
    "\"first\":{\"type\":\"noul\"},"                                                               \
    "\"team\":{\"type\":\"choice\",\"criteria\":{\"c\":\"C\",\"\":\"none\",\"a\":null}},"          \
    "\"level\":{\"type\":\"score\",\"criteria\":[\"low\",\"high\"]}}}"

static clef_status select_into(clef_request *request, const clef_selection *selection,
                               clef_arena *arena) {
    clef_error error = {0};
    return clef_request_select(request, selection, arena, &error);
}

static void others_are_left_out(void **state) {
    (void)state;
    clef_arena arena = {0};
    clef_request *request = accept(&arena, CLEF_TEXT(BODY));
    const clef_selection selection = {.question = CLEF_TEXT("team"), .is_alone = true};
    assert_int_equal(select_into(request, &selection, &arena), CLEF_OK);
    assert_int_equal(request->question_count, 1);
    assert_int_equal(request->option_count, 3);
    assert_true(equals(request->questions[0].id, "team"));

    /* The same as a request that never had the others. */
    clef_request *alone =
        accept(&arena, CLEF_TEXT("{\"model\":\"clef\",\"state\":\"s\",\"questions\":{\"team\":"
                                 "{\"type\":\"choice\",\"criteria\":{\"c\":\"C\",\"\":\"none\","
                                 "\"a\":null}}}}"));
    piece_list *found = list_pieces(request);
    piece_list *expected = list_pieces(alone);
    assert_int_equal(found->count, expected->count);
    for (size_t i = 0; i < found->count; i++) {
        assert_true(clef_text_equals(found->pieces[i], expected->pieces[i]));
    }
    release_pieces(found);
    release_pieces(expected);
    clef_arena_release(&arena);
}

static void options_take_the_order(void **state) {
    (void)state;
    clef_arena arena = {0};
    clef_request *request = accept(&arena, CLEF_TEXT(BODY));
    const uint32_t order[] = {2, 0, 1};
    const clef_selection selection = {
        .question = CLEF_TEXT("team"), .option_order = order, .option_count = 3};
    assert_int_equal(select_into(request, &selection, &arena), CLEF_OK);
    assert_int_equal(request->question_count, 3);
    assert_int_equal(request->option_count, 7);
    static const char *const expected[] = {"a", "c", ""};
    for (size_t i = 0; i < 3; i++) {
        const clef_option *option = &request->questions[1].options[i];
        assert_true(equals(option->id, expected[i]));
        assert_int_equal(option->request_index, order[i]);
    }
    assert_null(request->questions[1].options[0].description);
    assert_true(equals(request->questions[1].options[1].description->text, "C"));
    clef_arena_release(&arena);
}

static void what_is_no_order_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *question;
        uint32_t order[4];
        size_t count;
    } cases[] = {
        {"nowhere", {0, 1, 2}, 3}, {"", {0, 1, 2}, 3},     {"team", {0, 1}, 2},
        {"team", {0, 1, 2, 3}, 4}, {"team", {0, 1, 1}, 3}, {"team", {0, 1, 3}, 3},
        {"team", {2, 2, 2}, 3},    {"first", {1, 0}, 2},   {"level", {1, 0}, 2},
        {"team", {UINT32_MAX}, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        clef_arena arena = {0};
        clef_request *request = accept(&arena, CLEF_TEXT(BODY));
        const clef_selection selection = {.question = clef_text_of(cases[i].question),
                                          .option_order = cases[i].order,
                                          .option_count = cases[i].count};
        assert_int_equal(select_into(request, &selection, &arena), CLEF_USAGE);
        clef_arena_release(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_are_left_out),
        cmocka_unit_test(options_take_the_order),
        cmocka_unit_test(what_is_no_order_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
