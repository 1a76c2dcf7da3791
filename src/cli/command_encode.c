/* `clef encode`: token ids and spans of a request; no weights are read. */
#include "cli/ask_batch.h"
#include "cli/command.h"
#include "cli/option_list.h"
#include "cli/output.h"
#include "cli/request_builder.h"
#include "cli/request_source.h"
#include "cli/workplace.h"

static clef_status print_encoding(const clef_record *record, clef_error *error) {
    char *json = NULL;
    size_t bytes = 0;
    clef_status status = clef_record_json(record, &json, &bytes, error);
    if (status != CLEF_OK) {
        return status;
    }
    /* Returned texts end in NUL; the newline takes its place. */
    json[bytes] = '\n';
    status = clef_output_write((clef_text){json, bytes + 1}, error);
    clef_text_free(json);
    return status;
}

static clef_status encode_one(const clef_invocation *invocation, clef_workplace *workplace,
                              clef_error *error) {
    clef_buffer body = {0};
    clef_record *record = NULL;
    clef_status status = clef_request_source_read(invocation->settings, workplace, &body, error);
    if (status == CLEF_OK) {
        status = clef_workplace_open(invocation, true, workplace, error);
    }
    if (status == CLEF_OK) {
        status = clef_record_encode(workplace->model, body.bytes, body.length,
                                    &workplace->record_options, &record, error);
    }
    if (status == CLEF_OK) {
        status = print_encoding(record, error);
    }
    clef_record_close(record);
    clef_buffer_release(&body);
    return status;
}

static clef_status run_encode(const clef_invocation *invocation, clef_error *error) {
    clef_workplace workplace = {0};
    clef_status status = clef_request_source_check(invocation->settings, error);
    if (status == CLEF_OK) {
        status = clef_workplace_find(invocation, &workplace, error);
    }
    if (status == CLEF_OK) {
        status = invocation->settings->is_batch
                     ? clef_ask_batch_run(invocation, &workplace, true, NULL, error)
                     : encode_one(invocation, &workplace, error);
    }
    clef_workplace_close(&workplace);
    return status;
}

const clef_command clef_command_encode = {
    .name = "encode",
    .summary = "Show the tokens of a request without computing an answer.",
    .synopsis = "encode [OPTIONS] [FILE]\n"
                "encode [OPTIONS] --batch [FILE]\n"
                "encode [OPTIONS] --state TEXT|@FILE|- --noul|--choice|--score QUESTION ...\n",
    .details = "Writes one line of JSON: input_ids, the token spans of the questions and their "
               "options, and the number of state tokens. Of the model directory only "
               "tokenizer.json is needed.\n"
               "\n" CLEF_REQUEST_BUILDER_GRAMMAR,
    .examples = "clef encode request.json\n"
                "clef encode --batch requests.jsonl\n",
    .groups = {&clef_options_short_form, &clef_options_batch, &clef_options_model,
               &clef_options_token_limit, &clef_options_limits, &clef_options_media,
               &clef_options_common, NULL},
    .operand_limit = 1,
    .takes_files = true,
    .run = run_encode,
};
