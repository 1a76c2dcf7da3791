/* Findings into lines. Findings of one table row, fault and found shape are one line; a weight and
 * its bias that are missing in the same layers share theirs. */
#include "model/tensor_report.h"

#include <inttypes.h>

/* A list of layers longer than this is cut. */
#define LAYERS_BYTE_LIMIT 240
/* Lines of a section that comes before the missing tensors. */
#define SECTION_LINE_LIMIT 12
/* Lines gathered in all: more than the rows of all tables. Findings beyond are only counted. */
#define KEPT_LINE_LIMIT 256
/* Kept free for the last line, which tells how many tensors are not shown. */
#define REST_BYTES 64

typedef struct report_line {
    const clef_tensor_finding *first;
    size_t members; /* findings that the line tells */
} report_line;

typedef struct report_writer {
    clef_buffer *out;
    const clef_tensor_finding *findings;
    size_t count;
    report_line lines[KEPT_LINE_LIMIT]; /* in the order of their first findings */
    size_t line_count;
    size_t limit;
} report_writer;

static bool ends_with(clef_text text, const char *end) {
    size_t length = strlen(end);
    return text.length > length && memcmp(text.bytes + text.length - length, end, length) == 0;
}

static bool has_equal_shape(const clef_stored_tensor *a, const clef_stored_tensor *b) {
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

/* Two findings that a line may tell together. Local names are literals of one table, so equal
 * addresses and parts mean the same row. */
static bool is_same_line(const clef_tensor_finding *a, const clef_tensor_finding *b) {
    if (a->fault != b->fault || a->demand == NULL || b->demand == NULL ||
        a->demand->local.bytes != b->demand->local.bytes || a->demand->part != b->demand->part) {
        return false;
    }
    switch (a->fault) {
    case CLEF_TENSOR_FAULT_SHAPE:
        return has_equal_shape(a->stored, b->stored);
    case CLEF_TENSOR_FAULT_TYPE:
        return a->stored->dtype == b->stored->dtype;
    case CLEF_TENSOR_FAULT_SCALES:
        return a->stored == b->stored ||
               (a->stored != NULL && b->stored != NULL && a->stored->dtype == b->stored->dtype &&
                has_equal_shape(a->stored, b->stored));
    default:
        return true;
    }
}

/* Sorts the findings into lines. */
static void gather_lines(report_writer *writer) {
    for (size_t i = 0; i < writer->count; i++) {
        const clef_tensor_finding *finding = &writer->findings[i];
        size_t line = 0;
        while (line < writer->line_count && !is_same_line(writer->lines[line].first, finding)) {
            line++;
        }
        if (line == KEPT_LINE_LIMIT) {
            continue;
        }
        if (line == writer->line_count) {
            writer->lines[writer->line_count++] = (report_line){finding, 0};
        }
        writer->lines[line].members++;
    }
}

/* Appends the layers low … high; a list that has grown too long ends in "...". */
static void write_run(clef_buffer *out, int32_t low, int32_t high) {
    const char *comma = out->length > 0 ? "," : "";
    if (out->length > LAYERS_BYTE_LIMIT) {
        clef_buffer_append_string(out, ends_with(clef_buffer_text(out), "...") ? "" : ",...");
    } else if (low == high) {
        clef_buffer_append_format(out, "%s%" PRId32, comma, low);
    } else {
        clef_buffer_append_format(out, "%s%" PRId32 "-%" PRId32, comma, low, high);
    }
}

/* Writes the layers of a line, "3" or "0-2,4-6", into an empty buffer; nothing for tensors that
 * belong to no layer. */
static void write_layers(const report_line *line, clef_buffer *out) {
    int32_t low = -1;
    int32_t high = -1;
    size_t left = line->members;
    for (const clef_tensor_finding *finding = line->first; left > 0; finding++) {
        if (!is_same_line(line->first, finding)) {
            continue;
        }
        left--;
        int32_t layer = finding->demand->layer;
        if (low >= 0 && layer == high + 1) {
            high = layer;
            continue;
        }
        if (low >= 0) {
            write_run(out, low, high);
        }
        low = high = layer;
    }
    if (low >= 0) {
        write_run(out, low, high);
    }
}

static void write_shape(clef_buffer *out, unsigned rank, const uint64_t *shape) {
    char text[CLEF_SHAPE_TEXT_BYTES];
    clef_buffer_append_string(out, clef_shape_text(rank, shape, text, sizeof text));
}

/* Appends the whole name with `layers` in the place of the number. `local` may end early: `end`
 * bytes of it are written. */
static void write_name(clef_buffer *out, const clef_tensor_demand *demand, clef_text layers,
                       size_t end) {
    size_t front = demand->name.length - demand->local.length;
    if (demand->layer < 0) {
        clef_buffer_append(out, demand->name.bytes, front + end);
        return;
    }
    size_t number = front - 1; /* of "….layers.12." only "….layers." is kept */
    while (number > 0 && demand->name.bytes[number - 1] != '.') {
        number--;
    }
    bool is_list = memchr(layers.bytes, ',', layers.length) != NULL ||
                   memchr(layers.bytes, '-', layers.length) != NULL;
    clef_buffer_append(out, demand->name.bytes, number);
    clef_buffer_append_string(out, is_list ? "{" : "");
    clef_buffer_append_text(out, layers);
    clef_buffer_append_string(out, is_list ? "}." : ".");
    clef_buffer_append(out, demand->local.bytes, end);
}

/* The line about the bias that belongs to the missing weights of `line` and is missing in the same
 * layers, or NULL. The tables list a bias right behind its weight, so it is the next line. */
static const report_line *find_bias(const report_writer *writer, const report_line *line,
                                    clef_text layers) {
    const report_line *next = line + 1;
    if (next == writer->lines + writer->line_count || next->members != line->members ||
        next->first->fault != CLEF_TENSOR_FAULT_MISSING) {
        return NULL;
    }
    const clef_tensor_demand *weight = line->first->demand;
    const clef_tensor_demand *bias = next->first->demand;
    size_t stem = bias->local.length - strlen("bias");
    if (bias->part != weight->part || !ends_with(weight->local, ".weight") ||
        !ends_with(bias->local, ".bias") || stem != weight->local.length - strlen("weight") ||
        memcmp(bias->local.bytes, weight->local.bytes, stem) != 0) {
        return NULL;
    }
    clef_buffer others = {0};
    write_layers(next, &others);
    bool is_same = !others.has_failed && clef_text_equals(layers, clef_buffer_text(&others));
    clef_buffer_release(&others);
    return is_same ? next : NULL;
}

/* Appends the text of a line about missing tensors; returns how many it tells. */
static size_t write_missing(const report_writer *writer, const report_line *line, clef_text layers,
                            clef_buffer *out) {
    const clef_tensor_demand *demand = line->first->demand;
    const report_line *bias = find_bias(writer, line, layers);
    if (bias == NULL) {
        write_name(out, demand, layers, demand->local.length);
        clef_buffer_append_string(out, "  ");
        write_shape(out, demand->rank, demand->shape);
        return line->members;
    }
    const clef_tensor_demand *other = bias->first->demand;
    write_name(out, demand, layers, demand->local.length - strlen("weight"));
    clef_buffer_append_string(out, "{weight,bias}  ");
    write_shape(out, demand->rank, demand->shape);
    if (demand->rank != other->rank || demand->shape[0] != other->shape[0]) {
        clef_buffer_append_string(out, ", ");
        write_shape(out, other->rank, other->shape);
    }
    return line->members + bias->members;
}

static bool is_quantised(const clef_stored_tensor *stored) {
    return stored->dtype == CLEF_DTYPE_I8 || stored->dtype == CLEF_DTYPE_U8;
}

/* Appends the text of a line about the scales of quantised matrices: what is there, and what each
 * known group would ask for. */
static void write_scales(const clef_tensor_finding *finding, clef_text layers, clef_buffer *out) {
    const clef_tensor_demand *demand = finding->demand;
    uint64_t rows = demand->shape[0], columns = demand->shape[1];
    write_name(out, demand, layers, demand->local.length);
    if (finding->stored == NULL) {
        clef_buffer_append_string(out, CLEF_SCALE_SUFFIX "  is missing");
    } else {
        clef_buffer_append_format(out, CLEF_SCALE_SUFFIX "  is %s ",
                                  clef_dtype_name(finding->stored->dtype));
        write_shape(out, finding->stored->rank, finding->stored->shape);
    }
    clef_buffer_append_format(out,
                              ", expected F32 [%" PRIu64 ", %" PRIu64 "] (groups of 32 columns), "
                              "[%" PRIu64 ", %" PRIu64 "] (of 64) or [%" PRIu64 ", 1]",
                              rows, (columns + 31) / 32, rows, (columns + 63) / 64, rows);
}

/* Appends the text of a line about stored values of quantised matrices. */
static void write_values(const clef_tensor_finding *finding, clef_text layers, clef_buffer *out) {
    const clef_tensor_demand *demand = finding->demand;
    bool has_halves = finding->stored->dtype == CLEF_DTYPE_U8;
    uint64_t shape[2] = {demand->shape[0], demand->shape[1]};
    write_name(out, demand, layers, demand->local.length);
    clef_buffer_append_format(out, "  is %s ", clef_dtype_name(finding->stored->dtype));
    write_shape(out, finding->stored->rank, finding->stored->shape);
    if (has_halves && shape[1] % 32 == 0) {
        shape[1] /= 2;
        clef_buffer_append_string(out, ", expected U8 ");
    } else {
        clef_buffer_append_string(out, ", expected I8 ");
    }
    write_shape(out, 2, shape);
    clef_buffer_append_string(out, has_halves && demand->shape[1] % 32 != 0
                                       ? ": 4 bits need columns that are a multiple of 32"
                                       : "");
}

/* Appends the text of a line about stored tensors that do not fit their demand. */
static void write_misfit(const clef_tensor_finding *finding, clef_text layers, clef_buffer *out) {
    if (finding->fault == CLEF_TENSOR_FAULT_SCALES) {
        write_scales(finding, layers, out);
        return;
    }
    if (finding->fault == CLEF_TENSOR_FAULT_SHAPE && is_quantised(finding->stored)) {
        write_values(finding, layers, out);
        return;
    }
    write_name(out, finding->demand, layers, finding->demand->local.length);
    if (finding->fault == CLEF_TENSOR_FAULT_SHAPE) {
        clef_buffer_append_string(out, "  is ");
        write_shape(out, finding->stored->rank, finding->stored->shape);
        clef_buffer_append_string(out, ", expected ");
        write_shape(out, finding->demand->rank, finding->demand->shape);
    } else {
        clef_buffer_append_format(out, "  is %s, expected BF16, F16 or F32",
                                  clef_dtype_name(finding->stored->dtype));
    }
}

/* Appends the text of the line about a stored tensor that nothing demands. */
static void write_unknown(const clef_stored_tensor *stored, clef_buffer *out) {
    const char *slash = strrchr(stored->file, '/');
    char name[CLEF_NAME_TEXT_BYTES];
    clef_buffer_append_format(out, "%s  ", clef_name_text(stored->name, name, sizeof name));
    write_shape(out, stored->rank, stored->shape);
    clef_buffer_append_format(out, " in %.200s", slash == NULL ? stored->file : slash + 1);
}

/* Appends a line if it fits. Returns how many tensors it tells, 0 when there is no more room. */
static size_t write_line(const report_writer *writer, const report_line *line) {
    clef_buffer layers = {0};
    clef_buffer text = {0};
    size_t told = line->members;
    clef_tensor_fault fault = line->first->fault;
    if (fault != CLEF_TENSOR_FAULT_UNKNOWN) {
        write_layers(line, &layers);
    }
    if (layers.has_failed) {
        text.has_failed = true;
    } else if (fault == CLEF_TENSOR_FAULT_UNKNOWN) {
        write_unknown(line->first->stored, &text);
    } else if (fault == CLEF_TENSOR_FAULT_MISSING) {
        told = write_missing(writer, line, clef_buffer_text(&layers), &text);
    } else {
        write_misfit(line->first, clef_buffer_text(&layers), &text);
    }
    if (told > 1) {
        clef_buffer_append_format(&text, "  (%zu tensors)", told);
    }
    if (text.has_failed) {
        writer->out->has_failed = true;
    } else if (writer->out->length + text.length + REST_BYTES > writer->limit) {
        told = 0;
    } else {
        clef_buffer_append_string(writer->out, "\n  ");
        clef_buffer_append_text(writer->out, clef_buffer_text(&text));
    }
    clef_buffer_release(&layers);
    clef_buffer_release(&text);
    return told;
}

/* Appends the section of one fault under its title. */
static void write_section(const report_writer *writer, clef_tensor_fault fault, const char *title,
                          size_t line_limit) {
    size_t rest = 0;
    for (size_t i = 0; i < writer->count; i++) {
        rest += writer->findings[i].fault == fault;
    }
    if (rest == 0) {
        return;
    }
    clef_buffer_append_format(writer->out, "\n%s", title);
    size_t written = 0;
    for (size_t i = 0; i < writer->line_count && written < line_limit; i++) {
        const report_line *line = &writer->lines[i];
        if (line->first->fault != fault) {
            continue;
        }
        size_t told = write_line(writer, line);
        if (told == 0) {
            break;
        }
        written++;
        rest -= told;
        i += told > line->members; /* the bias is told too */
    }
    if (rest > 0) {
        clef_buffer_append_format(writer->out, "\n  ... and %zu more", rest);
    }
}

void clef_tensor_report_write(clef_buffer *out, const clef_tensor_finding *findings, size_t count,
                              size_t limit) {
    report_writer writer = {.out = out, .findings = findings, .count = count, .limit = limit};
    gather_lines(&writer);
    write_section(&writer, CLEF_TENSOR_FAULT_SHAPE, "wrong shapes:", SECTION_LINE_LIMIT);
    write_section(&writer, CLEF_TENSOR_FAULT_TYPE, "wrong types:", SECTION_LINE_LIMIT);
    write_section(&writer, CLEF_TENSOR_FAULT_SCALES,
                  "scales of quantised matrices that do not fit:", SECTION_LINE_LIMIT);
    write_section(&writer, CLEF_TENSOR_FAULT_UNKNOWN,
                  "tensors that this model does not have:", SECTION_LINE_LIMIT);
    write_section(&writer, CLEF_TENSOR_FAULT_MISSING, "missing tensors:", KEPT_LINE_LIMIT);
}
