/* One request, from whichever form the command line has. */
#include "cli/request_source.h"

#include "cli/input.h"
#include "cli/request_builder.h"

clef_status clef_request_source_check(const clef_settings *settings, clef_error *error) {
    const char *file = settings->operand_count > 0 ? settings->operands[0] : NULL;
    bool has_media = settings->images.count > 0 || settings->videos.count > 0;
    bool is_short = settings->state != NULL || settings->question_count > 0 || has_media;
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
    if (is_short && settings->state == NULL) {
        return clef_fail(error, CLEF_USAGE, "%s on the command line need --state TEXT, @FILE or -",
                         settings->question_count > 0 ? "questions" : "pictures");
    }
    if (is_short && settings->question_count == 0) {
        return clef_fail(error, CLEF_USAGE,
                         "--state needs a question: --noul, --choice or --score");
    }
    return CLEF_OK;
}

clef_status clef_request_source_read(const clef_settings *settings, const clef_workplace *workplace,
                                     clef_buffer *body, clef_error *error) {
    if (settings->state != NULL) {
        return clef_request_build(settings, clef_buffer_text(&workplace->name), body, error);
    }
    clef_input input;
    const char *file = settings->operand_count > 0 ? settings->operands[0] : NULL;
    clef_status status = clef_input_open(file, "the request", &input, error);
    if (status == CLEF_OK) {
        status = clef_input_read_all(&input, body, error);
        clef_input_close(&input);
    }
    return status;
}
