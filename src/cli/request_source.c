/* One request, from whichever form the command line has. */
#include "cli/request_source.h"

#include "cli/input.h"
#include "cli/request_builder.h"
#include "cli/request_files.h"

static bool has_media(const clef_settings *settings) {
    return settings->images.count > 0 || settings->videos.count > 0;
}

static bool is_short_form(const clef_settings *settings) {
    return settings->state != NULL || settings->question_count > 0 || has_media(settings);
}

clef_status clef_request_source_check(const clef_settings *settings, clef_error *error) {
    const char *file = settings->operand_count > 0 ? settings->operands[0] : NULL;
    bool is_short = is_short_form(settings);
    if (settings->is_batch && is_short) {
        return clef_fail(error, CLEF_USAGE,
                         "--batch reads JSON requests, one a line; it does not go with --state, "
                         "--noul, --choice, --score, --image or --video");
    }
    if (is_short && file != NULL) {
        return clef_fail(error, CLEF_USAGE,
                         "the file \"%s\" and %s both give a request; use one of them", file,
                         settings->state != NULL        ? "--state"
                         : settings->question_count > 0 ? "a question on the command line"
                                                        : "a picture on the command line");
    }
    if (is_short && settings->state == NULL && !has_media(settings)) {
        return clef_fail(error, CLEF_USAGE,
                         "questions on the command line need --state TEXT, @FILE or -, or a "
                         "picture: --image FILE");
    }
    if (is_short && settings->question_count == 0) {
        return clef_fail(error, CLEF_USAGE, "%s needs a question: --noul, --choice or --score",
                         settings->state != NULL ? "--state" : "a picture");
    }
    return CLEF_OK;
}

clef_status clef_request_source_read(const clef_settings *settings, const clef_workplace *workplace,
                                     clef_buffer *body, clef_error *error) {
    if (is_short_form(settings)) {
        return clef_request_build(settings, clef_buffer_text(&workplace->name), body, error);
    }
    clef_input input;
    const char *file = settings->operand_count > 0 ? settings->operands[0] : NULL;
    clef_status status = clef_input_open(file, "the request", &input, error);
    if (status != CLEF_OK) {
        return status;
    }
    clef_buffer embedded = {0};
    clef_text text;
    status = clef_input_read_all(&input, body, error);
    clef_input_close(&input);
    if (status == CLEF_OK) {
        status = clef_request_files_embed(clef_buffer_text(body), &embedded, &text, error);
    }
    if (status == CLEF_OK && embedded.bytes != NULL) {
        clef_buffer_release(body);
        *body = embedded;
        return CLEF_OK;
    }
    clef_buffer_release(&embedded);
    return status;
}
