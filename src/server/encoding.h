/* Where a body becomes a record: short texts on the loop's thread, long ones and pictures on the
 * encoders', and pictures that have to be fetched on threads that may wait. */
#ifndef CLEF_SERVER_ENCODING_H
#define CLEF_SERVER_ENCODING_H

#include "server/call.h"

/* Encodes into call->record. *is_moved: the call's task was handed to slower threads instead, where
 * it begins anew; the call belongs to them at once. */
clef_status clef_encoding_run(clef_call *call, clef_text body, const clef_record_options *options,
                              bool *is_moved, clef_error *error);

/* Runs the call's task on threads that may take as long as any request needs; there nothing is
 * moved. */
void clef_encoding_run_patiently(clef_call *call);

#endif
