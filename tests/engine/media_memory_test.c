/* Memory of decoded pictures: counted while their records are open, shared between threads within a
 * limit, given back whatever happens; and the options that decide who reads pictures at all. */
#include "engine_support.h"

#include "base/base64.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>

/* 16 × 16 pixels become 256 × 256 of three bytes. */
#define PICTURE       "tiny-random/media/images/rgb-16x16.png"
#define PICTURE_BYTES ((uint64_t)256 * 256 * 3)
/* While it is read, the decoded one is there too. */
#define READING_BYTES (PICTURE_BYTES + 16 * 16 * 3)

/* A request about one picture; `question` makes it another one. Owned by the caller. */
static clef_text make_request(const char *picture, const char *question) {
    clef_buffer body = {0};
    clef_text file = load_file(fixture(picture));
    clef_buffer_append_string(&body, "{\"model\":\"clef\",\"state\":\"s\",\"images\":[\"");
    clef_base64_append(&body, file.bytes, file.length);
    clef_buffer_append_format(&body,
                              "\"],\"questions\":{\"%s\":{\"type\":\"noul\"},"
                              "\"b\":{\"type\":\"noul\"}}}",
                              question);
    release_text(file);
    return clef_buffer_text(&body);
}

static uint64_t media_bytes(const clef_model *model) {
    clef_model_facts facts;
    clef_model_describe(model, &facts);
    return facts.media_bytes;
}

static clef_record *encode_with(clef_model *model, clef_text body,
                                const clef_record_options *options) {
    clef_error error = {0};
    clef_record *record = NULL;
    assert_ok(clef_record_encode(model, body.bytes, body.length, options, &record, &error), &error);
    return record;
}

static void fail_with(clef_model *model, clef_text body, const clef_record_options *options,
                      clef_status status) {
    clef_error error = {0};
    clef_record *record = NULL;
    assert_int_equal(clef_record_encode(model, body.bytes, body.length, options, &record, &error),
                     status);
    assert_null(record);
    assert_true(error.message[0] != '\0');
}

static void open_records_are_counted(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_text body = make_request(PICTURE, "a");
    clef_text cut = make_request("tiny-random/media/images/README.md", "a");
    assert_int_equal(media_bytes(model), 0);
    clef_record *first = encode_with(model, body, NULL), *second = encode_with(model, body, NULL);
    assert_int_equal(media_bytes(model), 2 * PICTURE_BYTES);
    fail_with(model, cut, NULL, CLEF_BAD_REQUEST);
    assert_int_equal(media_bytes(model), 2 * PICTURE_BYTES);
    clef_record_close(first);
    assert_int_equal(media_bytes(model), PICTURE_BYTES);
    clef_record_close(second);
    assert_int_equal(media_bytes(model), 0);
    release_text(body);
    release_text(cut);
    clef_model_close(model);
}

/* ---- threads ---- */

typedef struct waiting_encoder {
    pthread_t thread;
    clef_model *model;
    clef_text body;
    atomic_bool is_abandoned, is_done;
    clef_record *record;
    clef_status status;
} waiting_encoder;

static bool ask_abandoned(void *context) {
    return atomic_load(&((waiting_encoder *)context)->is_abandoned);
}

static void *encode_waiting(void *context) {
    waiting_encoder *of = context;
    clef_error error = {0};
    const clef_record_options options = {
        .media_bytes = READING_BYTES, .is_abandoned = ask_abandoned, .context = of};
    of->status = clef_record_encode(of->model, of->body.bytes, of->body.length, &options,
                                    &of->record, &error);
    atomic_store(&of->is_done, true);
    return NULL;
}

static void sleep_milliseconds(long milliseconds) {
    const struct timespec time = {0, milliseconds * 1000000};
    nanosleep(&time, NULL);
}

/* Room for one picture: the second record waits until the first is closed, or nobody wants it. */
static void who_finds_no_room_waits(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_text body = make_request(PICTURE, "a");
    for (int leaves = 0; leaves < 2; leaves++) {
        clef_record *first = encode_with(model, body, NULL);
        waiting_encoder second = {.model = model, .body = body};
        assert_int_equal(pthread_create(&second.thread, NULL, encode_waiting, &second), 0);
        sleep_milliseconds(60);
        assert_false(atomic_load(&second.is_done));
        if (leaves) {
            atomic_store(&second.is_abandoned, true);
        } else {
            clef_record_close(first);
        }
        pthread_join(second.thread, NULL);
        assert_int_equal(second.status, leaves ? CLEF_CANCELLED : CLEF_OK);
        assert_int_equal(media_bytes(model), PICTURE_BYTES);
        clef_record_close(leaves ? first : second.record);
        assert_int_equal(media_bytes(model), 0);
    }
    release_text(body);
    clef_model_close(model);
}

/* ---- who reads ---- */

static void pictures_can_be_left_to_others(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_text body = make_request(PICTURE, "a");
    fail_with(model, body, &(clef_record_options){.media = CLEF_MEDIA_NONE}, CLEF_BUSY);
    clef_text text = make_body(1, 5);
    clef_record_close(encode_with(model, text, &(clef_record_options){.media = CLEF_MEDIA_NONE}));
    clef_record_close(
        encode_with(model, body, &(clef_record_options){.media = CLEF_MEDIA_ENCLOSED}));
    assert_int_equal(media_bytes(model), 0);
    release_text(text);
    release_text(body);
    clef_model_close(model);
}

/* Another light on the same body: not a byte more, the same answer, in any order of closing. */
static void records_share_pictures(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL),
               *other = open_model_with(random_model(), 1, NULL);
    clef_session *session = open_session(model, 64);
    clef_text body = make_request(PICTURE, "a");
    const clef_record_options alone = {
        .question = "b", .question_bytes = 1, .question_alone = true};
    clef_record *first = encode_with(model, body, NULL), *own = encode_with(model, body, &alone);
    clef_record_options sharing = alone;
    sharing.media_record = first;
    clef_record *shared = encode_with(model, body, &sharing);
    assert_int_equal(media_bytes(model), 2 * PICTURE_BYTES);
    assert_true(clef_record_equals(shared, own));
    clef_record_close(first);
    clef_answer *expected = decide(session, own), *answer = decide(session, shared);
    assert_equal_logits(answer, expected->logits, "with the picture of another record");
    sharing.media_record = shared;
    fail_with(other, body, &sharing, CLEF_USAGE);
    clef_answer_close(expected);
    clef_answer_close(answer);
    clef_record_close(own);
    clef_record_close(shared);
    assert_int_equal(media_bytes(model), 0);
    release_text(body);
    clef_session_close(session);
    clef_model_close(model);
    clef_model_close(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_records_are_counted),
        cmocka_unit_test(who_finds_no_room_waits),
        cmocka_unit_test(pictures_can_be_left_to_others),
        cmocka_unit_test(records_share_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
