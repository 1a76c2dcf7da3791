/* The compiled-in files, opened as any request is. */
#include "cli/bench_scenarios.h"

#include "cli/bench_texts.h"

#include <inttypes.h>

typedef struct scenario_row {
    const char *name;
    const unsigned char *bytes;
    const size_t *length;
    uint32_t throughput_count;
} scenario_row;

static const scenario_row rows[CLEF_BENCH_SCENARIO_COUNT] = {
    {"triage", clef_bench_triage_bytes, &clef_bench_triage_length, 0},
    {"short-2", clef_bench_short_2_bytes, &clef_bench_short_2_length, 0},
    {"short-6", clef_bench_short_6_bytes, &clef_bench_short_6_length, 256},
    {"medium-5", clef_bench_medium_5_bytes, &clef_bench_medium_5_length, 0},
    {"long-5", clef_bench_long_5_bytes, &clef_bench_long_5_length, 64},
};

const char *clef_bench_scenario_names(void) {
    return "triage, short-2, short-6, medium-5, long-5";
}

size_t clef_bench_scenario_find(clef_text name) {
    size_t index = 0;
    while (index < CLEF_BENCH_SCENARIO_COUNT &&
           !clef_text_equals(name, clef_text_of(rows[index].name))) {
        index += 1;
    }
    return index;
}

clef_status clef_bench_scenario_open(size_t index, const char *model, clef_bench_scenario *scenario,
                                     clef_error *error) {
    const scenario_row *row = &rows[index];
    clef_arena arena = {0};
    clef_json *request = NULL;
    *scenario = (clef_bench_scenario){
        .name = row->name, .throughput_count = row->throughput_count, .model = clef_text_of(model)};
    clef_status status = clef_json_parse((clef_text){(const char *)row->bytes, *row->length},
                                         &arena, &request, error);
    if (status == CLEF_OK) {
        const clef_json *questions = clef_json_member(request, "questions");
        clef_json_write_string(&scenario->state_json, clef_json_member(request, "state")->text);
        clef_json_write(&scenario->questions_json, questions, false, &arena);
        scenario->question_count = questions->count;
        status = clef_buffer_check(&scenario->state_json, "the state of a scenario", error);
    }
    if (status == CLEF_OK) {
        status = clef_buffer_check(&scenario->questions_json, "questions of a scenario", error);
    }
    clef_arena_release(&arena);
    return status;
}

void clef_bench_scenario_close(clef_bench_scenario *scenario) {
    clef_buffer_release(&scenario->state_json);
    clef_buffer_release(&scenario->questions_json);
}

void clef_bench_scenario_write(const clef_bench_scenario *scenario, uint64_t ticket,
                               clef_buffer *out) {
    clef_buffer_append_string(out, "{\"model\":");
    clef_json_write_string(out, scenario->model);
    if (ticket != 0) {
        clef_buffer_append_format(out, ",\"state\":\"Ticket %" PRIu64 ". ", ticket);
    } else {
        clef_buffer_append_string(out, ",\"state\":\"");
    }
    clef_text state = clef_buffer_text(&scenario->state_json); /* with its quotes */
    clef_buffer_append(out, state.bytes + 1, state.length - 1);
    clef_buffer_append_string(out, ",\"questions\":");
    clef_buffer_append_text(out, clef_buffer_text(&scenario->questions_json));
    clef_buffer_append_byte(out, '}');
}
