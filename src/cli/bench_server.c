/* One scenario after the other; each row is printed when it is done. */
#include "cli/bench_server.h"

#include "cli/bench_clients.h"
#include "cli/bench_server_report.h"
#include "cli/output.h"
#include "cli/suggestion.h"

#include "base/digest.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    WARM_UP_COUNT = 2,
    LATENCY_COUNT = 20,
    STATE_COUNT = 64, /* of a throughput */
    LEVEL_LIMIT = 16,
    CLIENT_LIMIT = 1024,
    TIMEOUT_SECONDS = 600,
    FIRST_TICKET = 10000, /* five digits, so that all requests of a case have as many tokens */
    TICKET_COUNT = 80000,
};

static const char default_model[] = "jev-latest";
static const char default_clients[] = "1,8,32,64";

typedef struct bench {
    const clef_settings *settings;
    clef_http_server server;
    const char *decision_path;
    const char *models_path;
    clef_bench_target target;
    clef_buffer served, precision, level; /* what target borrows */
    clef_bench_scenario scenarios[CLEF_BENCH_SCENARIO_COUNT];
    size_t scenario_count;
    uint32_t levels[LEVEL_LIMIT]; /* clients at once */
    size_t level_count;
    uint64_t next_ticket;
    clef_bench_result *results;
    double *times;
    uint32_t failed_count; /* of all passes */
    clef_error first_failure;
} bench;

/* ---- the command line ---- */

static clef_status check_settings(const clef_settings *settings, clef_error *error) {
    const struct {
        const char *name;
        bool is_said;
    } options[] = {
        {"--shape", settings->shape != NULL},
        {"--machine", settings->wants_machine},
        {"--tokens", settings->tokens != NULL},
        {"--patches", settings->patches != NULL},
        {"--layers", settings->layer_count != 0},
        {"--sequences", settings->sequence_count != 0},
        {"--rows", settings->rows_per_step != 0},
        {"--precision", settings->bench_precision != CLEF_BENCH_AUTO},
        {"--threads", settings->thread_count != 0},
        {"--cpu-level", settings->cpu_level != NULL},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i += 1) {
        if (options[i].is_said) {
            return clef_fail(error, CLEF_USAGE,
                             "--server measures what runs elsewhere; leave out %s",
                             options[i].name);
        }
    }
    return CLEF_OK;
}

static clef_status fail_scenario(clef_text name, clef_error *error) {
    clef_suggestion best = clef_suggestion_begin(name);
    clef_text names = clef_text_of(clef_bench_scenario_names());
    while (names.length > 0) {
        size_t length = strcspn(names.bytes, ",");
        clef_suggestion_offer(&best, (clef_text){names.bytes, length});
        length += strspn(names.bytes + length, ", ");
        names.bytes += length;
        names.length -= length;
    }
    return clef_fail(error, CLEF_USAGE, "--scenarios takes names of %s, not \"%.*s\"%s%.*s%s",
                     clef_bench_scenario_names(), (int)(name.length < 80 ? name.length : 80),
                     name.bytes, best.length > 0 ? "; did you mean " : "", (int)best.length,
                     best.length > 0 ? best.word : "", best.length > 0 ? "?" : "");
}

static clef_status open_scenarios(bench *run, clef_error *error) {
    const char *text = run->settings->scenarios;
    bool is_chosen[CLEF_BENCH_SCENARIO_COUNT] = {false};
    const char *model = run->settings->request_model;
    while (text != NULL) {
        size_t length = strcspn(text, ",");
        size_t index = clef_bench_scenario_find((clef_text){text, length});
        if (index == CLEF_BENCH_SCENARIO_COUNT) {
            return fail_scenario((clef_text){text, length}, error);
        }
        is_chosen[index] = true;
        text = text[length] == ',' ? text + length + 1 : NULL;
    }
    clef_status status = CLEF_OK;
    for (size_t i = 0; i < CLEF_BENCH_SCENARIO_COUNT && status == CLEF_OK; i += 1) {
        if (run->settings->scenarios == NULL || is_chosen[i]) {
            clef_bench_scenario *scenario = &run->scenarios[run->scenario_count++];
            status =
                clef_bench_scenario_open(i, model == NULL ? default_model : model, scenario, error);
        }
    }
    return status;
}

/* What goes into a header field must stay inside it. */
static clef_status check_key(const char *key, clef_error *error) {
    for (const char *byte = key; byte != NULL && *byte != '\0'; byte += 1) {
        if (*byte <= ' ' || *byte > '~') {
            return clef_fail(error, CLEF_USAGE, "a key is made of visible ASCII characters");
        }
    }
    return CLEF_OK;
}

static clef_status read_settings(bench *run, const clef_environment *environment,
                                 clef_error *error) {
    const clef_settings *settings = run->settings;
    const char *clients = settings->clients;
    clef_status status = check_settings(settings, error);
    if (status == CLEF_OK) {
        status = clef_http_url_parse("--server", settings->server, &run->server.url, error);
    }
    if (status == CLEF_OK) {
        status = clef_number_list_parse("--clients", clients == NULL ? default_clients : clients,
                                        CLIENT_LIMIT, run->levels, LEVEL_LIMIT, &run->level_count,
                                        error);
    }
    if (status == CLEF_OK) {
        status = open_scenarios(run, error);
    }
    run->server.api_key =
        settings->bench_api_key != NULL ? settings->bench_api_key : environment->api_key;
    run->server.timeout_seconds =
        settings->timeout_seconds != 0 ? settings->timeout_seconds : TIMEOUT_SECONDS;
    return status == CLEF_OK ? check_key(run->server.api_key, error) : status;
}

/* ---- the server ---- */

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text);
    size_t tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static void keep_text(const clef_json *card, const char *name, clef_buffer *out) {
    const clef_json *value = clef_json_member(card, name);
    if (value != NULL && value->type == CLEF_JSON_STRING && out->length == 0) {
        clef_buffer_append_text(out, value->text);
    }
}

/* The first model card says with what a server computes, if it has one at all. */
static clef_status read_card(bench *run, const clef_http_client *client, clef_error *error) {
    clef_arena arena = {.cap_bytes = (size_t)64 << 20};
    clef_json *body = NULL;
    clef_buffer_append_text(&run->served,
                            clef_http_reply_field(clef_buffer_text(&client->head), "x-clef-model"));
    if (client->status == 200 &&
        clef_json_parse(clef_buffer_text(&client->body), &arena, &body, NULL) == CLEF_OK) {
        const clef_json *models = clef_json_member(body, "models");
        const clef_json *card =
            models != NULL && models->type == CLEF_JSON_ARRAY ? models->first : NULL;
        keep_text(card, "name", &run->served);
        keep_text(card, "precision", &run->precision);
        keep_text(card, "cpu_level", &run->level);
    }
    clef_arena_release(&arena);
    clef_status status = clef_buffer_check(&run->served, "the name of the model", error);
    run->target.served = clef_buffer_text(&run->served);
    run->target.precision = clef_buffer_text(&run->precision);
    run->target.level = clef_buffer_text(&run->level);
    return status;
}

/* Whether it is there at all, and what it is. Servers need not list models; a key they must like.
 */
static clef_status meet_server(bench *run, clef_error *error) {
    clef_http_client client = {.server = &run->server, .stream = -1};
    bool has_version = ends_with(run->server.url.path, "/v1");
    run->decision_path = has_version ? "/systemone" : "/v1/systemone";
    run->models_path = has_version ? "/models" : "/v1/models";
    clef_status status = clef_http_server_find(&run->server, error);
    if (status == CLEF_OK) {
        status = clef_http_client_ask(&client, run->models_path, (clef_text){NULL, 0}, error);
    }
    if (status == CLEF_OK && (client.status == 401 || client.status == 403)) {
        status = clef_bench_explain_refusal(&client, error);
    }
    if (status == CLEF_OK) {
        status = read_card(run, &client, error);
    }
    clef_http_client_close(&client);
    return status;
}

/* ---- measuring ---- */

static int compare_times(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Sorted times; the smallest that a share of `percent` does not pass. */
static double rank_of(const double *times, size_t count, size_t percent) {
    return count == 0 ? NAN : times[(count * percent + 99) / 100 - 1];
}

static void sum_up(bench *run, const clef_bench_result *results, size_t count,
                   clef_bench_row *row) {
    double *times = run->times;
    double *groups[] = {&row->wall_p50_ms, &row->model_p50_ms};
    for (size_t group = 0; group < 3; group += 1) {
        size_t known = 0;
        for (size_t i = 0; i < count; i += 1) {
            double value = group == 0   ? results[i].wall_ms
                           : group == 1 ? results[i].model_ms
                                        : (double)results[i].input_tokens;
            if (results[i].is_answered && isfinite(value)) {
                times[known++] = value;
            }
        }
        qsort(times, known, sizeof *times, compare_times);
        if (group == 2) {
            row->input_tokens = known == 0 ? 0 : (uint64_t)rank_of(times, known, 50);
            continue;
        }
        groups[group][0] = rank_of(times, known, 50);
        groups[group][1] = rank_of(times, known, 95);
        groups[group][2] = rank_of(times, known, 99);
    }
}

static clef_status measure_latency(bench *run, const clef_bench_scenario *scenario, bool is_fresh,
                                   clef_bench_row *row, clef_error *error) {
    uint32_t count = run->target.repeat_count;
    clef_bench_outcome outcome;
    const clef_bench_pass pass = {
        .server = &run->server,
        .path = run->decision_path,
        .scenario = scenario,
        .client_count = 1,
        .request_count = WARM_UP_COUNT + count,
        .state_count = WARM_UP_COUNT + count,
        .first_ticket = is_fresh ? run->next_ticket : 0,
    };
    run->next_ticket += is_fresh ? pass.request_count : 0;
    clef_status status = clef_bench_pass_run(&pass, run->results, &outcome, error);
    if (status == CLEF_OK && outcome.failed_count > 0) {
        *error = outcome.first_failure;
        return outcome.first_failure.status;
    }
    *row = (clef_bench_row){.scenario = scenario->name,
                            .question_count = scenario->question_count,
                            .state = is_fresh ? "new" : "repeated",
                            .state_count = is_fresh ? count : 1,
                            .client_count = 1,
                            .request_count = count};
    sum_up(run, run->results + WARM_UP_COUNT, count, row);
    for (uint32_t i = 0; i < count; i += 1) {
        row->seconds += run->results[WARM_UP_COUNT + i].wall_ms * 1e-3;
    }
    return status;
}

static uint32_t pass_size(const bench *run, const clef_bench_scenario *scenario) {
    uint32_t said = run->settings->pass_request_count;
    return said != 0 ? said : scenario->throughput_count;
}

/* Two passes over the same states; the second is the one that counts. */
static clef_status measure_throughput(bench *run, const clef_bench_scenario *scenario,
                                      uint32_t client_count, uint64_t first_ticket,
                                      clef_bench_row *row, clef_error *error) {
    uint32_t count = pass_size(run, scenario);
    clef_bench_outcome outcome;
    const clef_bench_pass pass = {
        .server = &run->server,
        .path = run->decision_path,
        .scenario = scenario,
        .client_count = client_count,
        .request_count = count,
        .state_count = STATE_COUNT,
        .first_ticket = first_ticket,
    };
    clef_status status = clef_bench_pass_run(&pass, run->results, &outcome, error);
    if (status == CLEF_OK) {
        status = clef_bench_pass_run(&pass, run->results, &outcome, error);
    }
    if (status != CLEF_OK) {
        return status;
    }
    *row = (clef_bench_row){.is_throughput = true,
                            .scenario = scenario->name,
                            .question_count = scenario->question_count,
                            .state = "distinct",
                            .state_count = count < STATE_COUNT ? count : STATE_COUNT,
                            .client_count = client_count,
                            .request_count = count,
                            .failed_count = outcome.failed_count,
                            .seconds = outcome.seconds};
    if (run->failed_count == 0 && outcome.failed_count > 0) {
        run->first_failure = outcome.first_failure;
    }
    run->failed_count += outcome.failed_count;
    sum_up(run, run->results, count, row);
    return CLEF_OK;
}

static clef_status print(clef_buffer *text, clef_error *error) {
    clef_status status = clef_output_write_buffer(text, error);
    clef_buffer_clear(text);
    return status;
}

static clef_status measure_latencies(bench *run, clef_buffer *text, clef_error *error) {
    clef_report_choice form = (clef_report_choice)run->settings->report;
    clef_status status = CLEF_OK;
    clef_bench_server_report_part(text, form, false);
    for (size_t i = 0; i < run->scenario_count && status == CLEF_OK; i += 1) {
        clef_bench_row fresh;
        clef_bench_row repeated;
        status = measure_latency(run, &run->scenarios[i], true, &fresh, error);
        if (status == CLEF_OK) {
            status = measure_latency(run, &run->scenarios[i], false, &repeated, error);
        }
        if (status == CLEF_OK) {
            clef_bench_server_report_latency(text, form, &run->target, &fresh, &repeated);
            status = print(text, error);
        }
    }
    return status;
}

static clef_status measure_throughputs(bench *run, clef_buffer *text, clef_error *error) {
    clef_report_choice form = (clef_report_choice)run->settings->report;
    clef_status status = CLEF_OK;
    clef_bench_server_report_part(text, form, true);
    for (size_t i = 0; i < run->scenario_count; i += 1) {
        const clef_bench_scenario *scenario = &run->scenarios[i];
        size_t level_count = scenario->throughput_count == 0 ? 0 : run->level_count;
        uint64_t first_ticket = run->next_ticket;
        run->next_ticket += STATE_COUNT;
        for (size_t level = 0; level < level_count && status == CLEF_OK; level += 1) {
            clef_bench_row row;
            status =
                measure_throughput(run, scenario, run->levels[level], first_ticket, &row, error);
            if (status == CLEF_OK) {
                clef_bench_server_report_throughput(text, form, &run->target, &row);
                status = print(text, error);
            }
        }
    }
    return status;
}

/* Rows are printed whatever failed in them; that something did is said at the end. */
static clef_status measure(bench *run, clef_error *error) {
    clef_buffer text = {0};
    clef_status status = CLEF_OK;
    clef_bench_server_report_begin(&text, (clef_report_choice)run->settings->report, &run->target);
    if (run->settings->bench_measure != CLEF_BENCH_MEASURE_THROUGHPUT) {
        status = measure_latencies(run, &text, error);
    }
    if (status == CLEF_OK && run->settings->bench_measure != CLEF_BENCH_MEASURE_LATENCY) {
        status = measure_throughputs(run, &text, error);
    }
    clef_buffer_release(&text);
    if (status == CLEF_OK && run->failed_count > 0) {
        return clef_fail(error, CLEF_NETWORK, "%u requests failed, the first because %.2000s",
                         run->failed_count, run->first_failure.message);
    }
    return status;
}

static clef_status prepare(bench *run, clef_error *error) {
    const clef_settings *settings = run->settings;
    uint32_t random = 0;
    time_t now = time(NULL);
    struct tm parts = {0};
    size_t most;
    run->target.authority = run->server.url.authority;
    run->target.repeat_count = settings->repeat_count != 0 ? settings->repeat_count : LATENCY_COUNT;
    gmtime_r(&now, &parts);
    strftime(run->target.day, sizeof run->target.day, "%Y-%m-%d", &parts);
    /* Numbers that an earlier run has hardly used: what it asked may still be in a server's cache.
     */
    clef_random_fill(&random, sizeof random);
    run->next_ticket = FIRST_TICKET + random % TICKET_COUNT;
    most = WARM_UP_COUNT + run->target.repeat_count;
    for (size_t i = 0; i < run->scenario_count; i += 1) {
        size_t size = pass_size(run, &run->scenarios[i]);
        most = size > most ? size : most;
    }
    run->results = clef_allocate(most, sizeof *run->results);
    run->times = clef_allocate(most, sizeof *run->times);
    return run->results == NULL || run->times == NULL
               ? clef_fail_memory(error, most * sizeof *run->results, "the results")
               : CLEF_OK;
}

clef_status clef_bench_server_run(const clef_invocation *invocation, clef_error *error) {
    bench *run = clef_allocate(1, sizeof *run); /* an error alone has kilobytes */
    if (run == NULL) {
        return clef_fail_memory(error, sizeof *run, "the bench");
    }
    run->settings = invocation->settings;
    clef_status status = read_settings(run, invocation->environment, error);
    if (status == CLEF_OK) {
        status = prepare(run, error);
    }
    if (status == CLEF_OK) {
        status = meet_server(run, error);
    }
    if (status == CLEF_OK) {
        status = measure(run, error);
    }
    for (size_t i = 0; i < run->scenario_count; i += 1) {
        clef_bench_scenario_close(&run->scenarios[i]);
    }
    clef_http_server_release(&run->server);
    clef_buffer_release(&run->served);
    clef_buffer_release(&run->precision);
    clef_buffer_release(&run->level);
    clef_release(run->results);
    clef_release(run->times);
    clef_release(run);
    return status;
}
