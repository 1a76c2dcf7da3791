/* Heads: found in one piece or byte by byte, parsed by RFC 9112, refused where two readers could
 * differ. */
#include "server/http_head.h"

#include "support.h"

#include <stdio.h>

static const char GOOD[] = "POST /a/b?c=d HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n";

/* Status of the refusal, 0 when accepted, -1 when there is no end yet. */
static int judge(const char *bytes, size_t length, clef_http_head *head) {
    clef_http_refusal refusal;
    size_t scanned = 0;
    size_t found = clef_http_head_find(bytes, length, &scanned, &refusal);
    if (refusal.status != 0) {
        return refusal.status;
    }
    if (found == 0) {
        return -1;
    }
    return clef_http_head_parse((clef_text){bytes, found}, head, &refusal) ? 0 : refusal.status;
}

static int judge_fields(const char *fields, clef_http_head *head) {
    clef_buffer bytes = {0};
    clef_buffer_append_format(&bytes, "GET / HTTP/1.1\r\nHost: x\r\n%s\r\n", fields);
    int status = judge(bytes.bytes, bytes.length, head);
    clef_buffer_release(&bytes);
    return status;
}

static void assert_text(clef_text text, const char *expected) {
    assert_int_equal(text.length, strlen(expected));
    assert_memory_equal(text.bytes, expected, text.length);
}

static void parts_are_slices(void **state) {
    (void)state;
    clef_http_head head = {0};
    assert_int_equal(judge(GOOD, sizeof GOOD - 1, &head), 0);
    assert_text(head.method, "POST");
    assert_text(head.path, "/a/b");
    assert_text(head.query, "c=d");
    assert_int_equal(head.field_count, 2);
    assert_text(clef_http_head_field(&head, "hOST"), "x");
    assert_null(clef_http_head_field(&head, "ho").bytes);
    assert_true(head.has_content_length && head.content_length == 12);
    assert_true(head.keeps_alive && !head.is_chunked && !head.expects_continue);
}

static void a_head_that_drips_is_found_at_the_same_place(void **state) {
    (void)state;
    clef_http_refusal refusal;
    size_t scanned = 0;
    for (size_t length = 1; length < sizeof GOOD - 1; length += 1) {
        assert_int_equal(clef_http_head_find(GOOD, length, &scanned, &refusal), 0);
        assert_int_equal(refusal.status, 0);
    }
    assert_int_equal(clef_http_head_find(GOOD, sizeof GOOD - 1, &scanned, &refusal),
                     sizeof GOOD - 1);
    scanned = 0;
    assert_int_equal(clef_http_head_find("GET / HTTP/1.1\r\n\r\nrest", 22, &scanned, &refusal), 18);
}

static void line_ends_are_refused_where_they_stand(void **state) {
    (void)state;
    static const char *const bad[] = {"\n", "a\n", "a\rb", "a\r\r", "a\r\nb\n", "a\r\n\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i += 1) {
        clef_http_head head = {0};
        assert_int_equal(judge(bad[i], strlen(bad[i]), &head), 400);
    }
    clef_http_head head = {0};
    assert_int_equal(judge("a\0", 2, &head), 400);
    assert_int_equal(judge("a\r", 2, &head), -1);
}

static void the_size_is_bounded(void **state) {
    (void)state;
    clef_http_head head = {0};
    static char bytes[CLEF_HEAD_BYTES_LIMIT + 2];
    memset(bytes, 'a', sizeof bytes);
    assert_int_equal(judge(bytes, CLEF_HEAD_BYTES_LIMIT, &head), -1);
    assert_int_equal(judge(bytes, CLEF_HEAD_BYTES_LIMIT + 1, &head), 431);
    clef_buffer fields = {0};
    for (int i = 0; i < CLEF_HEAD_FIELD_LIMIT - 1; i += 1) {
        clef_buffer_append_format(&fields, "a%d:\r\n", i);
    }
    assert_int_equal(judge_fields(fields.bytes, &head), 0);
    assert_int_equal(head.field_count, CLEF_HEAD_FIELD_LIMIT);
    clef_buffer_append_string(&fields, "one: more\r\n");
    assert_int_equal(judge_fields(fields.bytes, &head), 431);
    clef_buffer_release(&fields);
}

static void lengths_are_digits_once(void **state) {
    (void)state;
    static const struct {
        const char *value;
        uint64_t length;
        int status;
    } cases[] = {
        {"0", 0, 0},
        {"007", 7, 0},
        {" 5\t", 5, 0},
        {"18446744073709551615", UINT64_MAX, 0},
        {"18446744073709551616", UINT64_MAX, 0},
        {"999999999999999999999999999999", UINT64_MAX, 0},
        {"", 0, 400},
        {"-1", 0, 400},
        {"+1", 0, 400},
        {"1 1", 0, 400},
        {"1,1", 0, 400},
        {"1.0", 0, 400},
        {"0x1", 0, 400},
        {"1e3", 0, 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i += 1) {
        char fields[96];
        clef_http_head head = {0};
        snprintf(fields, sizeof fields, "content-LENGTH:%s\r\n", cases[i].value);
        assert_int_equal(judge_fields(fields, &head), cases[i].status);
        if (cases[i].status == 0) {
            assert_true(head.content_length == cases[i].length);
        }
    }
}

static void connection_and_expectation(void **state) {
    (void)state;
    clef_http_head head = {0};
    assert_int_equal(judge_fields("Connection: a, cLOSE ,b\r\n", &head), 0);
    assert_false(head.keeps_alive);
    assert_int_equal(judge_fields("Connection: keep-alive\r\nConnection: close\r\n", &head), 0);
    assert_false(head.keeps_alive);
    assert_int_equal(judge_fields("Connection: closed\r\n", &head), 0);
    assert_true(head.keeps_alive);
    assert_int_equal(judge_fields("Expect: 100-CONTINUE\r\n", &head), 0);
    assert_true(head.expects_continue && !head.has_other_expectation);
    assert_int_equal(judge_fields("Expect: 100-continue\r\nExpect: more\r\n", &head), 0);
    assert_true(head.has_other_expectation);
    static const char old[] = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nExpect: x\r\n\r\n";
    assert_int_equal(judge(old, sizeof old - 1, &head), 0);
    assert_true(head.keeps_alive && head.is_version_1_0 && !head.has_other_expectation);
}

/* Parsing one head leaves nothing of the one before. */
static void a_head_is_used_again(void **state) {
    (void)state;
    clef_http_head head = {0};
    assert_int_equal(judge_fields("Transfer-Encoding: chunked\r\nExpect: x\r\n", &head), 0);
    assert_true(head.is_chunked && head.has_other_expectation);
    assert_int_equal(judge_fields("", &head), 0);
    assert_false(head.is_chunked || head.has_other_expectation || head.has_content_length);
    assert_int_equal(head.field_count, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_slices),
        cmocka_unit_test(a_head_that_drips_is_found_at_the_same_place),
        cmocka_unit_test(line_ends_are_refused_where_they_stand),
        cmocka_unit_test(the_size_is_bounded),
        cmocka_unit_test(lengths_are_digits_once),
        cmocka_unit_test(connection_and_expectation),
        cmocka_unit_test(a_head_is_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
