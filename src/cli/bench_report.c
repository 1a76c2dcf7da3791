/* One list of values a case; CSV and JSON write the same ones in the same order. */
#include "cli/bench_report.h"

#include "cli/display_text.h"
#include "cli/value_writer.h"

#include <stdio.h>

static double seconds_of(uint64_t nanoseconds) {
    return (double)nanoseconds * 1e-9;
}

/* Work a second over what the machine can do; 0 where that is unknown. */
static double share_of(double work, double seconds, double peak) {
    return peak > 0 && seconds > 0 ? work / seconds / peak : 0;
}

static void write_parts(clef_value_writer *writer, const clef_measured *measured) {
    clef_value_begin_group(writer, "parts");
    for (int part = 0; part < CLEF_PART_COUNT; part += 1) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", clef_part_name((clef_part)part),
                 writer->form == CLEF_VALUES_JSON ? "" : "_seconds");
        clef_value_write_number(writer, name, seconds_of(measured->part_ns[part]));
    }
    clef_value_end_group(writer);
}

/* All that a run had to compute, by formula. */
static double operations_of(const clef_measured *measured) {
    return measured->matrix_operations + measured->delta_operations +
           measured->attention_operations;
}

/* All that had to pass between memory and processor, by formula. */
static double bytes_of(const clef_measured *measured) {
    return measured->weight_bytes + measured->state_bytes;
}

static void write_case(clef_value_writer *writer, const clef_bench_subject *subject,
                       const clef_bench_case *found) {
    const clef_measured *measured = &found->measured;
    double seconds = seconds_of(measured->total_ns);
    double rate = seconds > 0 ? 1 / seconds : 0;
    clef_value_write_text(writer, "shape", subject->shape);
    clef_value_write_count(writer, "layers", subject->layer_count);
    clef_value_write_text(writer, "precision", clef_text_of(subject->precision));
    clef_value_write_text(writer, "level", clef_text_of(subject->level));
    clef_value_write_count(writer, "threads", subject->thread_count);
    clef_value_write_count(writer, "sequences", subject->sequence_count);
    clef_value_write_count(writer, "tokens",
                           subject->measures_patches ? measured->token_count : found->size);
    if (subject->measures_patches) {
        clef_value_write_count(writer, "patches", found->size);
    }
    clef_value_write_count(writer, "repeat", subject->repeat_count);
    clef_value_write_count(writer, "steps", measured->step_count);
    clef_value_write_number(writer, "seconds", seconds);
    clef_value_write_number(writer, "tokens_per_second", (double)measured->token_count * rate);
    clef_value_write_number(writer, "gflops", operations_of(measured) * rate * 1e-9);
    clef_value_write_number(writer, "peak_gflops", found->peak * 1e-9);
    clef_value_write_number(writer, "share_of_peak",
                            share_of(operations_of(measured), seconds, found->peak));
    clef_value_write_count(writer, "weight_bytes", (uint64_t)measured->weight_bytes);
    clef_value_write_count(writer, "state_bytes", (uint64_t)measured->state_bytes);
    clef_value_write_count(writer, "bytes_per_second", (uint64_t)(bytes_of(measured) * rate));
    clef_value_write_count(writer, "read_bytes_per_second", (uint64_t)found->read_speed);
    clef_value_write_number(writer, "share_of_memory",
                            share_of(bytes_of(measured), seconds, found->read_speed));
    write_parts(writer, measured);
    clef_value_write_count(writer, "matrix_operations", (uint64_t)measured->matrix_operations);
    clef_value_write_count(writer, "delta_operations", (uint64_t)measured->delta_operations);
    clef_value_write_count(writer, "attention_operations",
                           (uint64_t)measured->attention_operations);
    clef_value_write_count(writer, "peak_memory_bytes", found->peak_memory_bytes);
}

/* ---- table ---- */

static void append_table_heading(clef_buffer *out, const clef_bench_subject *subject) {
    clef_display_append(out, subject->shape, SIZE_MAX, true);
    clef_buffer_append_format(
        out, ", %u %s, %s, %u sequence%s, %s, %u thread%s, median of %u\n", subject->layer_count,
        subject->measures_patches ? "blocks" : "layers", subject->precision,
        subject->sequence_count, subject->sequence_count == 1 ? "" : "s", subject->level,
        subject->thread_count, subject->thread_count == 1 ? "" : "s", subject->repeat_count);
    clef_buffer_append_format(
        out,
        "                               %% of   memory    %% of  %% of time:\n"
        "%8s  tokens/s  GFLOP/s    peak     GB/s  memory  products  delta attn.  head  rest"
        "     memory\n",
        subject->measures_patches ? "patches" : "tokens");
}

static double percent_of(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

static void append_table_case(clef_buffer *out, const clef_bench_case *found) {
    const clef_measured *measured = &found->measured;
    double seconds = seconds_of(measured->total_ns);
    double rate = seconds > 0 ? 1 / seconds : 0;
    double operations = operations_of(measured) * rate;
    double bytes = bytes_of(measured) * rate;
    double percents[CLEF_PART_COUNT];
    for (int part = 0; part < CLEF_PART_COUNT; part += 1) {
        percents[part] = percent_of((double)measured->part_ns[part], (double)measured->total_ns);
    }
    clef_buffer_append_format(
        out, "%8u%10.1f%9.1f%8.1f%9.2f%8.1f%10.1f%7.1f%6.1f%6.1f%6.1f%8.2f GB\n", found->size,
        (double)measured->token_count * rate, operations * 1e-9,
        percent_of(operations, found->peak), bytes * 1e-9, percent_of(bytes, found->read_speed),
        percents[CLEF_PART_MATRIX_PRODUCTS], percents[CLEF_PART_DELTA_RULE],
        percents[CLEF_PART_ATTENTION], percents[CLEF_PART_HEAD], percents[CLEF_PART_REST],
        (double)found->peak_memory_bytes * 1e-9);
}

/* ---- all forms ---- */

void clef_bench_report_begin(clef_buffer *out, clef_report_choice form,
                             const clef_bench_subject *subject) {
    if (form == CLEF_REPORT_TABLE) {
        append_table_heading(out, subject);
    } else if (form == CLEF_REPORT_CSV) {
        static const clef_bench_case nothing;
        clef_value_writer writer = {.out = out, .form = CLEF_VALUES_NAMES};
        write_case(&writer, subject, &nothing);
        clef_buffer_append_byte(out, '\n');
    }
}

void clef_bench_report_case(clef_buffer *out, clef_report_choice form,
                            const clef_bench_subject *subject, const clef_bench_case *found) {
    clef_value_writer writer = {
        .out = out, .form = form == CLEF_REPORT_JSON ? CLEF_VALUES_JSON : CLEF_VALUES_CSV};
    if (form == CLEF_REPORT_TABLE) {
        append_table_case(out, found);
        return;
    }
    clef_buffer_append_string(out, form == CLEF_REPORT_JSON ? "{" : "");
    write_case(&writer, subject, found);
    clef_buffer_append_string(out, form == CLEF_REPORT_JSON ? "}\n" : "\n");
}

static void write_machine(clef_value_writer *writer, const char *level, uint32_t thread_count,
                          const double *peaks) {
    clef_value_write_text(writer, "level", clef_text_of(level));
    clef_value_write_count(writer, "threads", thread_count);
    clef_value_write_number(writer, "f32_gflops", peaks[CLEF_PEAK_F32] * 1e-9);
    clef_value_write_number(writer, "bf16_gflops", peaks[CLEF_PEAK_BF16] * 1e-9);
    clef_value_write_number(writer, "int8_gflops", peaks[CLEF_PEAK_INT8] * 1e-9);
    clef_value_write_count(writer, "peak_bytes_per_second", (uint64_t)peaks[CLEF_PEAK_READ]);
}

void clef_bench_report_machine(clef_buffer *out, clef_report_choice form, const char *level,
                               uint32_t thread_count, const double *peaks) {
    clef_value_writer writer = {.out = out, .form = CLEF_VALUES_NAMES};
    switch (form) {
    case CLEF_REPORT_TABLE:
        clef_buffer_append_format(out,
                                  "level           %s, %u threads\n"
                                  "f32             %.1f GFLOP/s\n"
                                  "bf16            %.1f GFLOP/s\n"
                                  "int8            %.1f GOP/s\n"
                                  "reading memory  %.1f GB/s\n",
                                  level, thread_count, peaks[CLEF_PEAK_F32] * 1e-9,
                                  peaks[CLEF_PEAK_BF16] * 1e-9, peaks[CLEF_PEAK_INT8] * 1e-9,
                                  peaks[CLEF_PEAK_READ] * 1e-9);
        return;
    case CLEF_REPORT_CSV:
        write_machine(&writer, level, thread_count, peaks);
        clef_buffer_append_byte(out, '\n');
        writer = (clef_value_writer){.out = out, .form = CLEF_VALUES_CSV};
        write_machine(&writer, level, thread_count, peaks);
        clef_buffer_append_byte(out, '\n');
        return;
    case CLEF_REPORT_JSON:
        writer.form = CLEF_VALUES_JSON;
        clef_buffer_append_byte(out, '{');
        write_machine(&writer, level, thread_count, peaks);
        clef_buffer_append_string(out, "}\n");
        return;
    }
}
