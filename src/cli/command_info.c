/* `clef info`: what the model is, what it will take of memory, and what this machine offers. */
#include "cli/command.h"
#include "cli/display_text.h"
#include "cli/option_list.h"
#include "cli/output.h"
#include "cli/workplace.h"

#include "base/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* The default of clef_record_options.token_limit. */
enum { DEFAULT_TOKENS = 16384 };

typedef struct machine_facts {
    long cpu_count;
    uint32_t thread_count;
    const char *level;
    const char *levels; /* separated by blanks */
} machine_facts;

typedef struct info_facts {
    clef_model_facts model;
    clef_memory_estimate memory;
    machine_facts machine;
    uint32_t tokens; /* the memory is for a record of so many */
    clef_text name;
} info_facts;

/* CLEF_USAGE for more tokens than the model has positions: no request could have as many. */
static clef_status collect_facts(const clef_settings *settings, const clef_workplace *workplace,
                                 info_facts *facts, clef_error *error) {
    clef_model_describe(workplace->model, &facts->model);
    if (facts->model.context_length != 0 && settings->token_limit > facts->model.context_length) {
        return clef_fail(error, CLEF_USAGE,
                         "--max-tokens: a limit of %u tokens is over the model's context of %u",
                         settings->token_limit, facts->model.context_length);
    }
    /* Without --max-tokens the limit of requests counts, unless the model ends before it. */
    facts->tokens = settings->token_limit;
    if (facts->tokens == 0) {
        uint32_t context = facts->model.context_length;
        facts->tokens = context != 0 && context < DEFAULT_TOKENS ? context : DEFAULT_TOKENS;
    }
    clef_model_estimate(workplace->model, 0, facts->tokens, &facts->memory);
    facts->name = clef_buffer_text(&workplace->name);
    facts->machine.cpu_count = sysconf(_SC_NPROCESSORS_ONLN);
    facts->machine.thread_count = clef_runtime_threads(workplace->runtime);
    facts->machine.level = clef_runtime_level(workplace->runtime);
    facts->machine.levels = clef_runtime_levels(workplace->runtime);
    return CLEF_OK;
}

static void append_row(clef_buffer *out, const char *name, const char *format, ...)
    CLEF_PRINTF(3, 4);

/* One fact a line: its name in a column, then its value made safe for a terminal. */
static void append_row(clef_buffer *out, const char *name, const char *format, ...) {
    char value[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    clef_buffer_append_format(out, "%-12s ", name);
    clef_display_append(out, clef_text_of(value), SIZE_MAX, true);
    clef_buffer_append_byte(out, '\n');
}

/* "1.4 GB", in the powers of ten that disks and model cards use. */
static const char *format_amount(uint64_t amount, const char *unit, char out[32]) {
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    double value = (double)amount;
    size_t prefix = 0;
    while (value >= 999.95 && prefix + 1 < sizeof prefixes / sizeof prefixes[0]) {
        value /= 1000.0;
        prefix += 1;
    }
    snprintf(out, 32, prefix == 0 ? "%.0f %s%s" : "%.1f %s%s", value, prefixes[prefix], unit);
    return out;
}

static void append_model_rows(clef_buffer *out, const info_facts *facts) {
    const clef_model_facts *model = &facts->model;
    char backbone[32];
    char head[32];
    append_row(out, "model", "%.*s", (int)facts->name.length, facts->name.bytes);
    append_row(out, "directory", "%s", model->directory);
    append_row(out, "parameters", "%s backbone, %s head",
               format_amount(model->backbone_parameter_count, "", backbone),
               format_amount(model->head_parameter_count, "", head));
    append_row(out, "layers", "%u (%u with full attention), hidden size %u, feed-forward %u",
               model->layer_count, model->full_attention_layer_count, model->hidden_size,
               model->intermediate_size);
    append_row(out, "attention", "%u heads of %u, %u for keys and values",
               model->attention_head_count, model->head_size, model->key_value_head_count);
    append_row(out, "delta rule", "%u key heads of %u, %u value heads of %u",
               model->delta_key_head_count, model->delta_key_size, model->delta_value_head_count,
               model->delta_value_size);
    append_row(out, "vocabulary", "%u rows%s, %u tokens", model->vocabulary_size,
               model->has_tied_embeddings ? " (tied)" : "", model->token_count);
    append_row(out, "context", "%u tokens", model->context_length);
    if (model->has_head) {
        append_row(out, "head", "width %u, %u evidence and %u decoder layers", model->head_width,
                   model->head_evidence_layer_count, model->head_decoder_layer_count);
    } else {
        append_row(out, "head", "none: this is a base model and cannot answer questions");
    }
    append_row(out, "vision", "%s", model->has_vision ? "yes" : "no");
    append_row(out, "precision", "%s", model->precision);
}

static void append_text(clef_buffer *out, const info_facts *facts) {
    char mapped[32];
    char model[32];
    char scratch[32];
    char sequence[32];
    append_model_rows(out, facts);
    append_row(out, "memory",
               "%s weights (mapped) + %s model + %s scratch + %s for a request of %u tokens",
               format_amount(facts->memory.mapped_bytes, "B", mapped),
               format_amount(facts->memory.model_bytes, "B", model),
               format_amount(facts->memory.scratch_bytes, "B", scratch),
               format_amount(facts->memory.sequence_bytes, "B", sequence), facts->tokens);
    append_row(out, "machine", "%ld CPUs, %u threads", facts->machine.cpu_count,
               facts->machine.thread_count);
    append_row(out, "CPU level", "%s (of %s)", facts->machine.level, facts->machine.levels);
}

static void append_count(clef_buffer *out, const char *name, uint64_t value) {
    clef_buffer_append_format(out, ",\"%s\":%" PRIu64, name, value);
}

/* The names of clef_model_facts, so that one documentation serves both. */
static void append_json_model(clef_buffer *out, const info_facts *facts) {
    const clef_model_facts *model = &facts->model;
    clef_buffer_append_string(out, "{\"name\":");
    clef_json_write_string(out, facts->name);
    clef_buffer_append_string(out, ",\"directory\":");
    clef_json_write_string(out, clef_text_of(model->directory));
    append_count(out, "backbone_parameter_count", model->backbone_parameter_count);
    append_count(out, "head_parameter_count", model->head_parameter_count);
    append_count(out, "layer_count", model->layer_count);
    append_count(out, "full_attention_layer_count", model->full_attention_layer_count);
    append_count(out, "hidden_size", model->hidden_size);
    append_count(out, "intermediate_size", model->intermediate_size);
    append_count(out, "attention_head_count", model->attention_head_count);
    append_count(out, "key_value_head_count", model->key_value_head_count);
    append_count(out, "head_size", model->head_size);
    append_count(out, "delta_key_head_count", model->delta_key_head_count);
    append_count(out, "delta_value_head_count", model->delta_value_head_count);
    append_count(out, "delta_key_size", model->delta_key_size);
    append_count(out, "delta_value_size", model->delta_value_size);
    append_count(out, "vocabulary_size", model->vocabulary_size);
    append_count(out, "token_count", model->token_count);
    append_count(out, "context_length", model->context_length);
    append_count(out, "head_width", model->head_width);
    append_count(out, "head_evidence_layer_count", model->head_evidence_layer_count);
    append_count(out, "head_decoder_layer_count", model->head_decoder_layer_count);
    clef_buffer_append_format(out, ",\"has_head\":%s,\"has_vision\":%s,\"has_tied_embeddings\":%s}",
                              model->has_head ? "true" : "false",
                              model->has_vision ? "true" : "false",
                              model->has_tied_embeddings ? "true" : "false");
}

static void append_json_machine(clef_buffer *out, const machine_facts *machine) {
    clef_buffer_append_format(out, "{\"cpu_count\":%ld,\"thread_count\":%u,\"cpu_level\":",
                              machine->cpu_count, machine->thread_count);
    clef_json_write_string(out, clef_text_of(machine->level));
    clef_buffer_append_string(out, ",\"cpu_levels\":[");
    const char *level = machine->levels;
    for (bool is_first = true; level[0] != '\0'; is_first = false) {
        size_t length = strcspn(level, " ");
        clef_buffer_append_string(out, is_first ? "" : ",");
        clef_json_write_string(out, (clef_text){level, length});
        level += length + strspn(level + length, " ");
    }
    clef_buffer_append_string(out, "]}");
}

static void append_json(clef_buffer *out, const info_facts *facts) {
    clef_buffer_append_string(out, "{\"version\":");
    clef_json_write_string(out, clef_text_of(clef_version()));
    clef_buffer_append_string(out, ",\"model\":");
    append_json_model(out, facts);
    clef_buffer_append_string(out, ",\"precision\":");
    clef_json_write_string(out, clef_text_of(facts->model.precision));
    clef_buffer_append_format(out, ",\"memory\":{\"tokens\":%u", facts->tokens);
    append_count(out, "mapped_bytes", facts->memory.mapped_bytes);
    append_count(out, "model_bytes", facts->memory.model_bytes);
    append_count(out, "scratch_bytes", facts->memory.scratch_bytes);
    append_count(out, "sequence_bytes", facts->memory.sequence_bytes);
    clef_buffer_append_string(out, "},\"machine\":");
    append_json_machine(out, &facts->machine);
    clef_buffer_append_string(out, "}\n");
}

static clef_status run_info(const clef_invocation *invocation, clef_error *error) {
    clef_workplace workplace = {0};
    clef_buffer text = {0};
    clef_status status = clef_workplace_find(invocation, &workplace, error);
    if (status == CLEF_OK) {
        status = clef_workplace_open(invocation, false, &workplace, error);
    }
    info_facts facts;
    if (status == CLEF_OK) {
        status = collect_facts(invocation->settings, &workplace, &facts, error);
    }
    if (status == CLEF_OK) {
        if (invocation->settings->output == CLEF_OUTPUT_JSON) {
            append_json(&text, &facts);
        } else {
            append_text(&text, &facts);
        }
        status = clef_output_write_buffer(&text, error);
    }
    clef_buffer_release(&text);
    clef_workplace_close(&workplace);
    return status;
}

const clef_command clef_command_info = {
    .name = "info",
    .summary = "Show facts about the model, its memory and this machine.",
    .synopsis = "info [OPTIONS]\n",
    .details = "The memory is for one request of as many tokens as --max-tokens allows, four "
               "questions and sixteen options, on as many threads as --threads. Mapped weights are "
               "shared between processes and given back when memory is short.",
    .examples = "clef info\n"
                "clef info --output json --max-tokens 4096\n",
    .groups = {&clef_options_model, &clef_options_token_limit, &clef_options_facts,
               &clef_options_common, NULL},
    .run = run_info,
};
