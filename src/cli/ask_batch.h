/* JSON lines in, one line of JSON out for each, in order. A bounded window of records is in flight,
 * so that memory stays bounded for input without end. */
#ifndef CLEF_CLI_ASK_BATCH_H
#define CLEF_CLI_ASK_BATCH_H

#include "cli/workplace.h"

/* Answers all lines of the file or standard input that the settings name; with encode_only it
 * writes encodings and needs no session. Writes results to standard output as they come. Returns
 * the status of the first line that failed; CLEF_CANCELLED when interrupted. */
clef_status clef_ask_batch_run(const clef_invocation *invocation, clef_workplace *workplace,
                               bool encode_only, const clef_answer_style *style, clef_error *error);

#endif
