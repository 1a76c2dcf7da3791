/* Separators stand before values, so that nobody needs to know which one is the last. */
#include "cli/value_writer.h"

#include "base/json.h"

#include <math.h>

/* Six significant digits: no clock is more exact. */
static double round_value(double value) {
    if (value == 0) {
        return value;
    }
    double digits = floor(log10(fabs(value))) - 5;
    /* Powers of ten with positive exponents are exact, others are not. */
    return digits > 0 ? round(value / pow(10, digits)) * pow(10, digits)
                      : round(value * pow(10, -digits)) / pow(10, -digits);
}

/* What stands before a value, or the whole of it where only names are written: then false. */
static bool begin_value(clef_value_writer *writer, const char *name) {
    if (writer->has_begun) {
        clef_buffer_append_byte(writer->out, ',');
    }
    writer->has_begun = true;
    if (writer->form == CLEF_VALUES_JSON) {
        clef_buffer_append_format(writer->out, "\"%s\":", name);
    } else if (writer->form == CLEF_VALUES_NAMES) {
        clef_buffer_append_string(writer->out, name);
    }
    return writer->form != CLEF_VALUES_NAMES;
}

void clef_value_write_number(clef_value_writer *writer, const char *name, double value) {
    if (!begin_value(writer, name)) {
        return;
    }
    if (isfinite(value)) {
        clef_json_write_double(writer->out, round_value(value));
    } else if (writer->form == CLEF_VALUES_JSON) {
        clef_buffer_append_string(writer->out, "null");
    }
}

void clef_value_write_count(clef_value_writer *writer, const char *name, uint64_t value) {
    if (begin_value(writer, name)) {
        clef_buffer_append_format(writer->out, "%llu", (unsigned long long)value);
    }
}

/* In CSV as in JSON a text stands in quotes; those inside it are doubled there. */
void clef_value_write_text(clef_value_writer *writer, const char *name, clef_text value) {
    if (!begin_value(writer, name)) {
        return;
    }
    if (writer->form == CLEF_VALUES_JSON) {
        clef_json_write_string(writer->out, value);
        return;
    }
    clef_buffer_append_byte(writer->out, '"');
    for (size_t i = 0; i < value.length; i += 1) {
        if (value.bytes[i] == '"') {
            clef_buffer_append_byte(writer->out, '"');
        }
        clef_buffer_append_byte(writer->out, value.bytes[i]);
    }
    clef_buffer_append_byte(writer->out, '"');
}

void clef_value_begin_group(clef_value_writer *writer, const char *name) {
    if (writer->form == CLEF_VALUES_JSON) {
        (void)begin_value(writer, name);
        clef_buffer_append_byte(writer->out, '{');
        writer->has_begun = false;
    }
}

void clef_value_end_group(clef_value_writer *writer) {
    if (writer->form == CLEF_VALUES_JSON) {
        clef_buffer_append_byte(writer->out, '}');
        writer->has_begun = true;
    }
}
