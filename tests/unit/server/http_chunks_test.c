/* Chunked bodies: however they are cut, the same bytes or the same refusal come out. */
#include "server/http_chunks.h"

#include "server/limits.h"
#include "support.h"

static const struct {
    const char *bytes;
    const char *body; /* NULL: refused */
    size_t rest;      /* bytes behind the end */
} cases[] = {
    {"0\r\n\r\n", "", 0},
    {"3\r\nabc\r\n0\r\n\r\nnext", "abc", 4},
    {"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde", 0},
    {"0003;a=b;c=\"d\"\r\nabc\r\n0 ;x\r\n\r\n", "abc", 0},
    {"a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\n\r\n", "01234567890123456789", 0},
    {"2\r\n\r\n\r\n0\r\nT: v\r\nU:\r\n\r\n", "\r\n", 0},
    {"0000000000000001\r\na\r\n0\r\n\r\n", "a", 0},
    {"00000000000000001\r\na\r\n0\r\n\r\n", NULL, 0},
    {"", NULL, 0},
    {"\r\n", NULL, 0},
    {"g\r\n", NULL, 0},
    {"-1\r\n", NULL, 0},
    {"0x1\r\n", NULL, 0},
    {" 1\r\n", NULL, 0},
    {"1 \r\na", NULL, 0},
    {"1 2\r\n", NULL, 0},
    {"1\na\r\n", NULL, 0},
    {"1\r\r\na", NULL, 0},
    {"1\r\nab\r\n", NULL, 0},
    {"1\r\na\n0\r\n\r\n", NULL, 0},
    {"1;\x01\r\n", NULL, 0},
    {"0\r\nx\r\n\r\n", NULL, 0},
    {"0\r\n a: b\r\n\r\n", NULL, 0},
    {"0\r\na: b\n\r\n", NULL, 0},
    {"0\r\n\r\r", NULL, 0},
};

/* Feeds the bytes in pieces of `step`; returns the last result. */
static clef_chunk_result feed(clef_text bytes, size_t step, uint64_t limit, clef_buffer *body,
                              size_t *total) {
    clef_http_chunks chunks = {0};
    clef_chunk_result result = CLEF_CHUNKS_MORE;
    *total = 0;
    while (*total < bytes.length && result == CLEF_CHUNKS_MORE) {
        size_t here = bytes.length - *total < step ? bytes.length - *total : step;
        size_t used = 0;
        result = clef_http_chunks_feed(&chunks, (clef_text){bytes.bytes + *total, here}, limit,
                                       body, &used);
        assert_true(used <= here && (used == here || result != CLEF_CHUNKS_MORE));
        *total += used;
    }
    return result;
}

static void cuts_change_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i += 1) {
        clef_text bytes = clef_text_of(cases[i].bytes);
        for (size_t step = 1; step <= bytes.length; step += 1) {
            clef_buffer body = {0};
            size_t total;
            clef_chunk_result result = feed(bytes, step, 1000, &body, &total);
            if (cases[i].body == NULL) {
                assert_int_equal(result, CLEF_CHUNKS_MALFORMED);
            } else {
                assert_int_equal(result, CLEF_CHUNKS_END);
                assert_int_equal(bytes.length - total, cases[i].rest);
                assert_true(clef_text_equals(clef_buffer_text(&body), clef_text_of(cases[i].body)));
            }
            clef_buffer_release(&body);
        }
    }
}

static void the_limit_is_exact_and_comes_before_the_data(void **state) {
    (void)state;
    size_t total;
    clef_text six = CLEF_TEXT("3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n");
    assert_int_equal(feed(six, 1, 6, NULL, &total), CLEF_CHUNKS_END);
    assert_int_equal(feed(six, 1, 5, NULL, &total), CLEF_CHUNKS_TOO_LARGE);
    assert_int_equal(total, 11);
    assert_int_equal(feed(CLEF_TEXT("FFFFFFFFFFFFFFFF\r\n"), 18, 1000, NULL, &total),
                     CLEF_CHUNKS_TOO_LARGE);
    assert_int_equal(feed(CLEF_TEXT("1\r\na\r\nFFFFFFFFFFFFFFFF\r\n"), 99, 1000, NULL, &total),
                     CLEF_CHUNKS_TOO_LARGE);
}

static void extensions_and_trailers_are_bounded(void **state) {
    (void)state;
    size_t total;
    clef_buffer bytes = {0};
    clef_buffer_append_string(&bytes, "1;");
    for (int i = 0; i < CLEF_CHUNK_LINE_LIMIT; i += 1) {
        clef_buffer_append_byte(&bytes, 'x');
    }
    assert_int_equal(feed(clef_buffer_text(&bytes), 4096, 10, NULL, &total), CLEF_CHUNKS_MALFORMED);
    clef_buffer_clear(&bytes);
    clef_buffer_append_string(&bytes, "0\r\n");
    for (int i = 0; i < CLEF_TRAILER_BYTES_LIMIT; i += 1) {
        clef_buffer_append_string(&bytes, "a: b\r\n");
    }
    assert_int_equal(feed(clef_buffer_text(&bytes), 4096, 10, NULL, &total), CLEF_CHUNKS_MALFORMED);
    clef_buffer_release(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_change_nothing),
        cmocka_unit_test(the_limit_is_exact_and_comes_before_the_data),
        cmocka_unit_test(extensions_and_trailers_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
