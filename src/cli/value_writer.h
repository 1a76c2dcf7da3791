/* A row of named values as JSON members, as the names of a CSV line, or as its values: whoever has
 * a row says it once. Commas come by themselves; what stands around the row is the caller's. */
#ifndef CLEF_CLI_VALUE_WRITER_H
#define CLEF_CLI_VALUE_WRITER_H

#include "base/buffer.h"

typedef struct clef_value_writer {
    clef_buffer *out;
    enum { CLEF_VALUES_JSON, CLEF_VALUES_NAMES, CLEF_VALUES_CSV } form;
    bool has_begun;
} clef_value_writer;

/* Six significant digits; what is not finite is null in JSON and nothing in CSV. */
void clef_value_write_number(clef_value_writer *writer, const char *name, double value);
void clef_value_write_count(clef_value_writer *writer, const char *name, uint64_t value);
void clef_value_write_text(clef_value_writer *writer, const char *name, clef_text value);

/* In JSON, what follows is an object of that name; elsewhere it stands in the row as it is. */
void clef_value_begin_group(clef_value_writer *writer, const char *name);
void clef_value_end_group(clef_value_writer *writer);

#endif
