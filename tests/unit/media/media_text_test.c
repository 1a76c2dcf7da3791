/* C10: the spellings of a picture in a request, and what is refused with which words. */
#include "support.h"

#include "base/memory.h"
#include "media/media_text.h"

#include <stdlib.h>

static void decodes(const char *text, const char *expected) {
    clef_error error = {0};
    uint8_t *bytes;
    size_t length;
    assert_ok(
        clef_media_text_decode(clef_text_of(text), CLEF_MEDIA_IMAGE, 0, &bytes, &length, &error),
        &error);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(bytes, expected, length);
    clef_release(bytes);
}

static void refuses(const char *text, const char *message) {
    clef_error error = {0};
    uint8_t *bytes;
    size_t length;
    assert_int_equal(
        clef_media_text_decode(clef_text_of(text), CLEF_MEDIA_IMAGE, 0, &bytes, &length, &error),
        CLEF_BAD_REQUEST);
    assert_null(bytes);
    assert_string_equal(error.kind, "media_error");
    assert_string_equal(error.message, message);
}

static void c10_accepted_spellings(void **state) {
    (void)state;
    decodes("iVBORw0K", "\x89PNG\r\n");
    decodes(" \n iVBO\nRw0K\n", "\x89PNG\r\n");
    decodes("data:image/png;base64,iVBORw0K", "\x89PNG\r\n");
    decodes("DATA:image/png;BASE64,iVBORw0K", "\x89PNG\r\n");
    decodes("data:image/jpg;base64,iVBORw0K", "\x89PNG\r\n");
    decodes("data:text/plain;base64,iVBORw0K", "\x89PNG\r\n");
    decodes("data:image/png;charset=utf-8;name=a.png;base64,iVBORw0K", "\x89PNG\r\n");
    decodes("data:;base64,iVBORw0K", "\x89PNG\r\n");
    decodes("\tdata:;base64, iVBO Rw0K ", "\x89PNG\r\n");
    decodes("data:;base64,", "");
    decodes("QUI", "AB");
    decodes("QUI=", "AB");
    decodes("_-8", "\xFF\xEF");
    decodes("/+8=", "\xFF\xEF");
}

static void c10_refused_spellings(void **state) {
    (void)state;
    const char *form = "expected a base64 string, a data: URL or an http(s) URL";
    refuses("", form);
    refuses(" \n", form);
    refuses("ftp://example.com/a.png", form);
    refuses("file:///etc/passwd", form);
    refuses("x-y.z+1:abc", form);
    refuses("http:/example.com", form);
    refuses("data:text/plain,hello", "data: URL must be base64 encoded");
    refuses("data:image/png;base64", "data: URL must be base64 encoded");
    refuses("data:base64,iVBORw0K", "data: URL must be base64 encoded");
    refuses("data:", "data: URL must be base64 encoded");
    refuses("data:a;base64;x=y,iVBORw0K", "data: URL must be base64 encoded");
    refuses("https://example.com/a.png", "remote image URLs are disabled on this server");
    refuses("HTTP://example.com/a.png", "remote image URLs are disabled on this server");
    refuses("a picture.png", "invalid base64 image data: byte 9 is '.', which is not of the base64 "
                             "alphabet");
    refuses("data:;base64,a_b/",
            "invalid base64 image data: byte 3 is '/', so the standard and the URL-safe alphabet "
            "stand in the same text");
    refuses("iVBORw0KG", "invalid base64 image data: it is cut off: its last group has one "
                         "character of four");
}

static void the_byte_limit(void **state) {
    (void)state;
    size_t limit = CLEF_MEDIA_BYTE_LIMIT;
    size_t characters = (limit + 3) / 3 * 4;
    char *text = malloc(characters);
    memset(text, 'A', characters);
    clef_error error = {0};
    uint8_t *bytes;
    size_t length;
    clef_text whole = {text, limit / 3 * 4};
    assert_ok(clef_media_text_decode(whole, CLEF_MEDIA_IMAGE, 0, &bytes, &length, &error), &error);
    assert_true(length <= limit && length > limit - 3);
    clef_release(bytes);
    whole.length = characters;
    assert_int_equal(clef_media_text_decode(whole, CLEF_MEDIA_IMAGE, 0, &bytes, &length, &error),
                     CLEF_TOO_LARGE);
    assert_null(bytes);
    assert_string_equal(error.kind, "media_error");
    assert_string_equal(error.message, "image over the 20 MiB limit (20971521 bytes)");
    assert_int_equal(
        clef_media_text_decode((clef_text){text, 8}, CLEF_MEDIA_IMAGE, 5, &bytes, &length, &error),
        CLEF_TOO_LARGE);
    assert_string_equal(error.message, "image over the 5-byte limit (6 bytes)");
    free(text);
}

static void forms_are_told_apart(void **state) {
    (void)state;
    assert_int_equal(clef_media_form_of(CLEF_TEXT("iVBO")), CLEF_MEDIA_BASE64);
    assert_int_equal(clef_media_form_of(CLEF_TEXT("  Data:x")), CLEF_MEDIA_DATA_URL);
    assert_int_equal(clef_media_form_of(CLEF_TEXT("hTTps://x")), CLEF_MEDIA_REMOTE);
    assert_int_equal(clef_media_form_of(CLEF_TEXT("https:x")), CLEF_MEDIA_OTHER);
    assert_int_equal(clef_media_form_of(CLEF_TEXT(":x")), CLEF_MEDIA_BASE64);
    assert_int_equal(clef_media_form_of(CLEF_TEXT("9a:x")), CLEF_MEDIA_BASE64);
    clef_error error = {0};
    assert_int_equal(clef_media_refuse_form(CLEF_MEDIA_IMAGE, &error), CLEF_BAD_REQUEST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c10_accepted_spellings),
        cmocka_unit_test(c10_refused_spellings),
        cmocka_unit_test(the_byte_limit),
        cmocka_unit_test(forms_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
