/* CSV and JSON have the same values in the same order, one row for each latency and throughput. */
#include "cli/bench_server_report.h"

#include "cli/display_text.h"
#include "cli/value_writer.h"

#include <math.h>
#include <stdio.h>

static double rate_of(const clef_bench_row *row) {
    double answered = row->request_count - row->failed_count;
    return row->seconds > 0 ? answered / row->seconds : NAN;
}

static void write_row(clef_value_writer *writer, const clef_bench_target *target,
                      const clef_bench_row *row) {
    double tokens = row->input_tokens > 0 ? (double)row->input_tokens : NAN;
    clef_value_write_text(writer, "server", clef_text_of(target->authority));
    clef_value_write_text(writer, "served", target->served);
    clef_value_write_text(writer, "precision", target->precision);
    clef_value_write_text(writer, "level", target->level);
    clef_value_write_text(writer, "date", clef_text_of(target->day));
    clef_value_write_text(writer, "measure",
                          clef_text_of(row->is_throughput ? "throughput" : "latency"));
    clef_value_write_text(writer, "scenario", clef_text_of(row->scenario));
    clef_value_write_count(writer, "questions", row->question_count);
    clef_value_write_text(writer, "state", clef_text_of(row->state));
    clef_value_write_count(writer, "states", row->state_count);
    clef_value_write_count(writer, "clients", row->client_count);
    clef_value_write_count(writer, "requests", row->request_count);
    clef_value_write_count(writer, "failed", row->failed_count);
    if (row->input_tokens > 0) {
        clef_value_write_count(writer, "input_tokens", row->input_tokens);
    } else {
        clef_value_write_number(writer, "input_tokens", NAN);
    }
    clef_value_write_number(writer, "seconds", row->seconds);
    clef_value_write_number(writer, "requests_per_second", rate_of(row));
    clef_value_write_number(writer, "tokens_per_second", rate_of(row) * tokens);
    clef_value_write_number(writer, "wall_p50_ms", row->wall_p50_ms);
    clef_value_write_number(writer, "wall_p95_ms", row->wall_p95_ms);
    clef_value_write_number(writer, "wall_p99_ms", row->wall_p99_ms);
    clef_value_write_number(writer, "model_p50_ms", row->model_p50_ms);
    clef_value_write_number(writer, "model_p95_ms", row->model_p95_ms);
    clef_value_write_number(writer, "model_p99_ms", row->model_p99_ms);
}

static void append_row(clef_buffer *out, clef_report_choice form, const clef_bench_target *target,
                       const clef_bench_row *row) {
    bool is_json = form == CLEF_REPORT_JSON;
    clef_value_writer writer = {.out = out, .form = is_json ? CLEF_VALUES_JSON : CLEF_VALUES_CSV};
    clef_buffer_append_string(out, is_json ? "{" : "");
    write_row(&writer, target, row);
    clef_buffer_append_string(out, is_json ? "}\n" : "\n");
}

/* ---- table ---- */

static void append_part(clef_buffer *out, const char *before, clef_text text) {
    if (text.length > 0) {
        clef_buffer_append_string(out, before);
        clef_display_append(out, text, SIZE_MAX, true);
    }
}

static void append_table_heading(clef_buffer *out, const clef_bench_target *target) {
    append_part(out, "http://", clef_text_of(target->authority));
    append_part(out, ", ", target->served);
    append_part(out, ", ", target->precision);
    append_part(out, ", ", target->level);
    append_part(out, ", ", clef_text_of(target->day));
    clef_buffer_append_byte(out, '\n');
}

static void append_time(clef_buffer *out, double milliseconds) {
    if (isfinite(milliseconds)) {
        clef_buffer_append_format(out, "%10.2f", milliseconds);
    } else {
        clef_buffer_append_format(out, "%10s", "-");
    }
}

/* The server's own time, or the client's where it says none. */
static void append_latency(clef_buffer *out, const clef_bench_row *row) {
    bool is_known = isfinite(row->model_p50_ms);
    append_time(out, is_known ? row->model_p50_ms : row->wall_p50_ms);
    append_time(out, is_known ? row->model_p95_ms : row->wall_p95_ms);
}

static void append_table_latency(clef_buffer *out, const clef_bench_row *fresh,
                                 const clef_bench_row *repeated) {
    clef_buffer_append_format(out, "%-10s%10zu%8llu", repeated->scenario, repeated->question_count,
                              (unsigned long long)repeated->input_tokens);
    append_latency(out, fresh);
    append_latency(out, repeated);
    clef_buffer_append_string(out, isfinite(fresh->model_p50_ms) ? "\n" : "  wall time\n");
}

static void append_table_throughput(clef_buffer *out, const clef_bench_row *row) {
    clef_buffer_append_format(out, "%-10s%10u%10u%8u%10.2f%10.0f", row->scenario, row->client_count,
                              row->request_count, row->failed_count, rate_of(row),
                              rate_of(row) * (double)row->input_tokens);
    append_time(out, row->wall_p50_ms);
    append_time(out, row->wall_p99_ms);
    append_time(out, row->model_p50_ms);
    clef_buffer_append_byte(out, '\n');
}

/* ---- all forms ---- */

void clef_bench_server_report_begin(clef_buffer *out, clef_report_choice form,
                                    const clef_bench_target *target) {
    if (form == CLEF_REPORT_TABLE) {
        append_table_heading(out, target);
    } else if (form == CLEF_REPORT_CSV) {
        static const clef_bench_row nothing = {.scenario = "", .state = ""};
        clef_value_writer writer = {.out = out, .form = CLEF_VALUES_NAMES};
        write_row(&writer, target, &nothing);
        clef_buffer_append_byte(out, '\n');
    }
}

void clef_bench_server_report_part(clef_buffer *out, clef_report_choice form, bool is_throughput) {
    if (form == CLEF_REPORT_TABLE) {
        clef_buffer_append_string(
            out, is_throughput
                     ? "\n                              failed  requests    tokens    wall ms"
                       "             model ms\n"
                       "scenario     clients  requests           /second   /second    median"
                       "       p99    median\n"
                     : "\n                              new state           repeated state\n"
                       "scenario   questions  tokens median ms       p95 median ms       p95\n");
    }
}

void clef_bench_server_report_latency(clef_buffer *out, clef_report_choice form,
                                      const clef_bench_target *target, const clef_bench_row *fresh,
                                      const clef_bench_row *repeated) {
    if (form == CLEF_REPORT_TABLE) {
        append_table_latency(out, fresh, repeated);
    } else {
        append_row(out, form, target, fresh);
        append_row(out, form, target, repeated);
    }
}

void clef_bench_server_report_throughput(clef_buffer *out, clef_report_choice form,
                                         const clef_bench_target *target,
                                         const clef_bench_row *row) {
    if (form == CLEF_REPORT_TABLE) {
        append_table_throughput(out, row);
    } else {
        append_row(out, form, target, row);
    }
}
