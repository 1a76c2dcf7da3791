/* Two lists in one body: "models" as the hosted decision service has it, "data" as OpenAI clients
 * read it. All names are one model, so their cards differ in the name alone. */
#include "server/models.h"

#include "base/clock.h"
#include "base/error_json.h"
#include "server/openapi.h"
#include "server/reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/* What client libraries of the hosted service ask for when they are not told otherwise. */
#define HOSTED_NAME  "jev-latest"
#define OWNER        "Cloudflare"
#define DESCRIPTION  "Typed decisions: noul, choice and score questions, in one forward pass"
#define NANOSECONDS  UINT64_C(1000000000)
#define ISO_DAY_SIZE 16

typedef struct card_writer {
    const clef_call *call;
    clef_worker_report report;
    clef_model_facts facts;
    char day[ISO_DAY_SIZE]; /* "2026-10-01" */
    clef_buffer *out;
} card_writer;

static void write_field(clef_buffer *out, const char *name, const char *value) {
    clef_buffer_append_format(out, ",\"%s\":", name);
    clef_json_write_any_string(out, clef_text_of(value == NULL ? "" : value));
}

/* A text, or null where there is none. */
static void write_known(clef_buffer *out, const char *name, const char *value) {
    if (value != NULL && value[0] != '\0') {
        write_field(out, name, value);
    } else {
        clef_buffer_append_format(out, ",\"%s\":null", name);
    }
}

static uint32_t either(uint32_t said, uint32_t otherwise) {
    return said != 0 ? said : otherwise;
}

static void write_limits(const card_writer *writer) {
    const clef_record_options *record = &writer->call->server->options.record;
    uint32_t context = writer->facts.context_length; /* 0 when no model is behind the answers */
    uint32_t tokens = either(record->token_limit, CLEF_TOKEN_LIMIT_DEFAULT);
    tokens = context != 0 && tokens > context ? context : tokens;
    clef_buffer_append_format(
        writer->out,
        ",\"max_tokens\":%u,\"max_state_tokens\":%u,\"max_schema_tokens\":%u,\"max_questions\":%u"
        ",\"max_options\":%u,\"max_levels\":%u,\"truncate_states\":%s,\"control_tokens\":\"%s\"",
        tokens, either(record->state_token_limit, tokens),
        either(record->schema_token_limit, tokens),
        either(record->question_limit, CLEF_QUESTION_LIMIT_DEFAULT),
        either(record->option_limit, CLEF_OPTION_LIMIT_DEFAULT),
        either(record->level_limit, CLEF_LEVEL_LIMIT_DEFAULT), record->truncate ? "true" : "false",
        record->control_tokens == CLEF_CONTROL_TOKENS_PARSE ? "parse" : "plain");
    if (context != 0) {
        clef_buffer_append_format(writer->out, ",\"context_length\":%u", context);
    }
}

static void write_cache(const card_writer *writer) {
    const clef_session_statistics *session = &writer->report.session;
    clef_buffer_append_format(writer->out,
                              ",\"prefix_cache\":{\"entries\":%" PRIu64 ",\"bytes\":%" PRIu64
                              ",\"capacity_bytes\":%" PRIu64 ",\"hits\":%" PRIu64
                              ",\"misses\":%" PRIu64 "}",
                              session->prefix_cache_entries, session->prefix_cache_bytes,
                              writer->call->server->options.session.prefix_cache_bytes,
                              session->prefix_cache_hits, session->prefix_cache_misses);
}

static void write_card(const card_writer *writer, const char *name) {
    const clef_server *server = writer->call->server;
    clef_buffer *out = writer->out;
    clef_buffer_append_string(out, "{\"name\":");
    clef_json_write_any_string(out, clef_text_of(name));
    write_field(out, "description", DESCRIPTION);
    write_field(out, "release_date", writer->day);
    clef_buffer_append_string(out, ",\"weights\":{\"name\":");
    clef_json_write_any_string(out, clef_text_of(server->options.model_label));
    write_known(out, "repo", server->options.model_repository);
    write_known(out, "revision", server->options.model_commit);
    write_field(out, "digest", server->options.model_revision);
    clef_buffer_append_byte(out, '}');
    write_field(out, "backend", "cpu");
    write_field(out, "device", "cpu");
    write_field(out, "cpu_level", server->cpu_level);
    write_field(out, "precision", writer->facts.precision);
    write_limits(writer);
    write_cache(writer);
    clef_buffer_append_format(out,
                              ",\"remote_images\":%s,\"exif\":\"%s\",\"requests\":%" PRIu64
                              ",\"queued\":%zu"
                              ",\"uptime_s\":%" PRIu64 "}",
                              server->options.record.remote_images != NULL ? "true" : "false",
                              server->options.record.exif == CLEF_EXIF_IGNORE ? "ignore" : "apply",
                              clef_metrics_requests(&server->metrics), writer->report.waiting_count,
                              (clef_clock_ns() - server->started_ns) / NANOSECONDS);
}

static void write_entry(const card_writer *writer, const char *name) {
    clef_buffer_append_string(writer->out, "{\"id\":");
    clef_json_write_any_string(writer->out, clef_text_of(name));
    clef_buffer_append_format(
        writer->out, ",\"object\":\"model\",\"created\":%" PRId64 ",\"owned_by\":\"" OWNER "\"}",
        writer->call->server->options.model_seconds);
}

/* Calls `write` for each name that is listed, and for the hosted one unless it is among them. */
static void write_names(const card_writer *writer,
                        void (*write)(const card_writer *writer, const char *name)) {
    const clef_server_options *options = &writer->call->server->options;
    bool has_hosted = false;
    for (size_t i = 0; i < options->model_name_count; i += 1) {
        clef_buffer_append_string(writer->out, i > 0 ? "," : "");
        write(writer, options->model_names[i]);
        has_hosted = has_hosted || strcmp(options->model_names[i], HOSTED_NAME) == 0;
    }
    if (!has_hosted) {
        clef_buffer_append_string(writer->out, options->model_name_count > 0 ? "," : "");
        write(writer, HOSTED_NAME);
    }
}

void clef_models_answer(clef_call *call) {
    clef_server *server = call->server;
    clef_buffer body = {0};
    card_writer writer = {.call = call, .out = &body};
    time_t moment = (time_t)server->options.model_seconds;
    struct tm parts = {0};
    clef_worker_describe(server->worker, &writer.report);
    clef_model_describe(server->model, &writer.facts);
    gmtime_r(&moment, &parts);
    strftime(writer.day, sizeof writer.day, "%Y-%m-%d", &parts);
    clef_buffer_append_string(&body, "{\"models\":[");
    write_names(&writer, write_card);
    clef_buffer_append_string(&body, "],\"object\":\"list\",\"data\":[");
    write_names(&writer, write_entry);
    clef_buffer_append_string(&body, "]}");
    clef_call_reply(call, 200, "application/json", "", &body);
}

void clef_models_answer_openapi(clef_call *call) {
    clef_buffer body = {0};
    clef_buffer_append(&body, clef_openapi_bytes, clef_openapi_length);
    clef_call_reply(call, 200, "application/json", "", &body);
}

/* ---- names that are not served ---- */

static bool is_served(const clef_server_options *options, clef_text name) {
    for (size_t i = 0; i < options->model_name_count; i += 1) {
        if (clef_text_equals(name, clef_text_of(options->model_names[i]))) {
            return true;
        }
    }
    return clef_text_equals(name, clef_text_of(options->model_label)) ||
           clef_text_equals(name, CLEF_TEXT(HOSTED_NAME));
}

bool clef_models_refuse(clef_call *call) {
    const clef_server_options *options = &call->server->options;
    size_t length = 0;
    const char *name = clef_record_model(call->record, &length);
    if (!options->has_strict_model || is_served(options, (clef_text){name, length})) {
        return false;
    }
    clef_buffer served = {0};
    for (size_t i = 0; i < options->model_name_count; i += 1) {
        clef_buffer_append_format(&served, i > 0 ? ", %s" : "%s", options->model_names[i]);
    }
    clef_call_refuse(call, 404, "unknown_model", "unknown model \"%.*s\"; served: %s",
                     (int)(length < 200 ? length : 200), name,
                     served.bytes == NULL ? "" : served.bytes);
    clef_buffer_release(&served);
    return true;
}
