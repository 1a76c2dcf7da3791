/* Every default of the server that is not in limits.h, and what each variable stands for. */
#include "cli/serve_settings.h"

#include "base/file.h"
#include "base/system_memory.h"
#include "cli/report.h"

#include <stdio.h>

#define DEFAULT_PORT   8008
#define DEFAULT_NAMES  "clef"
#define KEY_FILE_BYTES 65536
#define CACHE_SHARE    4 /* of the free memory */
#define FEATURE_SHARE  16

/* "1" and "0" as other servers write them. */
static clef_status read_switch(const char *name, const char *value, bool *is_on,
                               clef_error *error) {
    static const char *const on[] = {"1", "true", "yes", "on"};
    static const char *const off[] = {"0", "false", "no", "off"};
    for (size_t i = 0; i < sizeof on / sizeof on[0]; i += 1) {
        if (strcmp(value, on[i]) == 0 || strcmp(value, off[i]) == 0) {
            *is_on = strcmp(value, on[i]) == 0;
            return CLEF_OK;
        }
    }
    return clef_fail(error, CLEF_USAGE, "%s is 1 or 0, not \"%s\"", name, value);
}

static clef_status read_number(const char *name, const char *value, uint32_t *field,
                               clef_error *error) {
    if (*field != 0 || value == NULL) {
        return CLEF_OK;
    }
    return clef_number_parse(name, value, 1, UINT32_MAX, field, error);
}

/* Two limits of the other server's variables are all that a request may have there. */
static clef_status complete_limits(clef_settings *settings, const clef_environment *environment,
                                   clef_error *error) {
    bool are_both_from_environment =
        settings->state_token_limit == 0 && settings->schema_token_limit == 0 &&
        environment->state_tokens != NULL && environment->schema_tokens != NULL;
    clef_status status = read_number("CLEF_MAX_STATE", environment->state_tokens,
                                     &settings->state_token_limit, error);
    if (status == CLEF_OK) {
        status = read_number("CLEF_MAX_TAIL", environment->schema_tokens,
                             &settings->schema_token_limit, error);
    }
    if (status == CLEF_OK && are_both_from_environment && settings->token_limit == 0) {
        uint64_t sum = (uint64_t)settings->state_token_limit + settings->schema_token_limit;
        settings->token_limit = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
    }
    return status;
}

static clef_status complete_switches(clef_settings *settings, const clef_environment *environment,
                                     clef_error *error) {
    clef_status status = CLEF_OK;
    bool is_on = false;
    if (!settings->truncate && environment->truncate != NULL) {
        status =
            read_switch("CLEF_TRUNCATE_STATES", environment->truncate, &settings->truncate, error);
    }
    if (status == CLEF_OK && !settings->has_fake_engine && environment->fake_engine != NULL) {
        status = read_switch("CLEF_FAKE_ENGINE", environment->fake_engine,
                             &settings->has_fake_engine, error);
    }
    if (status == CLEF_OK && !settings->has_remote_images && environment->remote_images != NULL) {
        status = read_switch("CLEF_ALLOW_REMOTE_IMAGES", environment->remote_images,
                             &settings->has_remote_images, error);
    }
    if (status == CLEF_OK && settings->warm_up == CLEF_SWITCH_DEFAULT &&
        environment->warm_up != NULL) {
        status = read_switch("CLEF_WARMUP", environment->warm_up, &is_on, error);
        settings->warm_up = is_on ? CLEF_SWITCH_ON : CLEF_SWITCH_OFF;
    }
    return status;
}

static const char *either(const char *first, const char *second) {
    return first != NULL ? first : second;
}

clef_status clef_serve_settings_complete(const clef_invocation *invocation, clef_serve_texts *texts,
                                         clef_error *error) {
    texts->settings = *invocation->settings;
    texts->environment = *invocation->environment;
    clef_settings *settings = &texts->settings;
    clef_environment *environment = &texts->environment;
    environment->model = either(environment->model, environment->hf_model);
    settings->host = either(settings->host, environment->host);
    settings->port = either(settings->port, environment->port);
    settings->log = either(settings->log, environment->log);
    settings->revision = either(settings->revision, environment->revision);
    settings->model_names = either(settings->model_names, environment->model_names);
    if (environment->ignored != NULL) {
        clef_report_note("warning: %s is set and means nothing here; it is ignored",
                         environment->ignored);
    }
    if (environment->has_empty_api_key) {
        return clef_fail(error, CLEF_USAGE,
                         "CLEF_API_KEY is set and empty; unset it to serve without a key");
    }
    clef_status status = complete_limits(settings, environment, error);
    return status == CLEF_OK ? complete_switches(settings, environment, error) : status;
}

/* Splits a text at a separator; the pieces end in NUL and live in the buffer. */
static clef_status split(clef_buffer *text, char separator, const char **items, size_t limit,
                         size_t *count, const char *what, clef_error *error) {
    size_t begin = 0;
    for (size_t i = 0; i <= text->length; i += 1) {
        if (i < text->length && text->bytes[i] != separator) {
            continue;
        }
        text->bytes[i] = '\0';
        if (i > begin && *count == limit) {
            return clef_fail(error, CLEF_USAGE, "more than %zu %s", limit, what);
        }
        if (i > begin) {
            items[(*count)++] = text->bytes + begin;
        }
        begin = i + 1;
    }
    return CLEF_OK;
}

static clef_status read_names(clef_serve_texts *texts, clef_server_options *options,
                              clef_error *error) {
    const char *names = either(texts->settings.model_names, DEFAULT_NAMES);
    for (const char *byte = names; *byte != '\0'; byte += 1) {
        if (*byte < ' ' || *byte > '~') {
            return clef_fail(error, CLEF_USAGE, "names of models are made of ASCII characters");
        }
    }
    clef_buffer_append_string(&texts->names, names);
    clef_status status = clef_buffer_check(&texts->names, "the names of the model", error);
    if (status == CLEF_OK) {
        status = split(&texts->names, ',', options->model_names, CLEF_MODEL_NAME_LIMIT,
                       &options->model_name_count, "names of the model", error);
    }
    if (status == CLEF_OK && options->model_name_count == 0) {
        return clef_fail(error, CLEF_USAGE, "--model-names takes at least one name");
    }
    return status;
}

/* An empty file is a mistake, not the wish to serve without a key. */
static clef_status read_key_file(clef_serve_texts *texts, clef_server_options *options,
                                 clef_error *error) {
    clef_file file = {0};
    clef_status status = clef_file_read(texts->settings.api_key_file, KEY_FILE_BYTES, &file, error);
    if (status != CLEF_OK) {
        char prefix[512];
        snprintf(prefix, sizeof prefix, "--api-key-file %s", texts->settings.api_key_file);
        clef_error_prefix(error, prefix);
        /* What the command line names is its own fault, not that of a model. */
        status = status == CLEF_OUT_OF_MEMORY ? status : CLEF_USAGE;
        error->status = status;
        return status;
    }
    size_t before = options->api_key_count;
    const char *bytes = file.bytes;
    for (size_t i = 0; i < file.length; i += 1) {
        if (bytes[i] != '\r' || i + 1 == file.length || bytes[i + 1] != '\n') {
            clef_buffer_append_byte(&texts->keys, bytes[i]);
        }
    }
    clef_file_close(&file);
    status = clef_buffer_check(&texts->keys, "the keys", error);
    if (status == CLEF_OK) {
        status = split(&texts->keys, '\n', options->api_keys, CLEF_API_KEY_LIMIT,
                       &options->api_key_count, "API keys", error);
    }
    if (status == CLEF_OK && options->api_key_count == before) {
        return clef_fail(error, CLEF_USAGE, "--api-key-file: %s holds no key",
                         texts->settings.api_key_file);
    }
    return status;
}

static clef_status read_keys(clef_serve_texts *texts, clef_server_options *options,
                             clef_error *error) {
    const clef_argument_list *given = &texts->settings.api_keys;
    for (size_t i = 0; i < given->count; i += 1) {
        options->api_keys[options->api_key_count++] = given->items[i];
    }
    if (texts->environment.api_key != NULL) {
        options->api_keys[options->api_key_count++] = texts->environment.api_key;
    }
    return texts->settings.api_key_file != NULL ? read_key_file(texts, options, error) : CLEF_OK;
}

static void choose(uint32_t said, uint32_t *limit) {
    *limit = said != 0 ? said : *limit;
}

static void read_limits(const clef_settings *settings, clef_server_limits *limits) {
    *limits = clef_server_limits_default();
    if (settings->body_byte_limit != 0) {
        limits->body_bytes = settings->body_byte_limit;
        limits->all_body_bytes = limits->body_bytes * 4 > limits->all_body_bytes
                                     ? limits->body_bytes * 4
                                     : limits->all_body_bytes;
    }
    choose(settings->connection_limit, &limits->connection_count);
    choose(settings->queue_limit, &limits->request_count);
    choose(settings->queue_seconds, &limits->queue_seconds);
    choose(settings->drain_seconds, &limits->drain_seconds);
    choose(settings->head_seconds, &limits->head_seconds);
    choose(settings->body_seconds, &limits->body_seconds);
    choose(settings->idle_seconds, &limits->idle_seconds);
}

/* A number of bytes; more than any machine has, and far from overflow when it is added to others.
 */
static clef_status read_bytes(const char *name, const char *text, uint64_t *value,
                              clef_error *error) {
    const uint64_t limit = UINT64_C(1) << 50;
    uint64_t number = 0;
    bool is_valid = text[0] != '\0';
    for (const char *digit = text; is_valid && *digit != '\0'; digit += 1) {
        is_valid = *digit >= '0' && *digit <= '9';
        number = number * 10 + (uint64_t)(*digit - '0');
        is_valid = is_valid && number <= limit;
    }
    if (!is_valid) {
        return clef_fail(
            error, CLEF_USAGE,
            "%s takes a whole number of bytes from 0 to 1,125,899,906,842,624 (1 PiB), "
            "not \"%s\"",
            name, text);
    }
    *value = number;
    return CLEF_OK;
}

/* States are kept unless somebody says no: entries of zero, as other servers write it, or bytes. */
static clef_status read_cache(const clef_serve_texts *texts, clef_session_options *session,
                              clef_error *error) {
    const clef_settings *settings = &texts->settings;
    const char *entries =
        either(settings->prefix_cache_entries, texts->environment.prefix_cache_entries);
    session->prefix_cache_bytes = clef_system_memory_share(CACHE_SHARE);
    session->prefix_cache_directory = settings->prefix_cache_directory;
    session->feature_cache_bytes = clef_system_memory_share(FEATURE_SHARE);
    clef_status status = CLEF_OK;
    if (settings->feature_cache_bytes != NULL) {
        status = read_bytes("--feature-cache-bytes", settings->feature_cache_bytes,
                            &session->feature_cache_bytes, error);
    }
    if (status == CLEF_OK && settings->prefix_cache_bytes != NULL) {
        status = read_bytes("--prefix-cache-bytes", settings->prefix_cache_bytes,
                            &session->prefix_cache_bytes, error);
    }
    if (status == CLEF_OK && entries != NULL) {
        const char *name =
            settings->prefix_cache_entries != NULL ? "--prefix-cache-entries" : "CLEF_PREFIX_CACHE";
        status =
            clef_number_parse(name, entries, 0, 1000000, &session->prefix_cache_entries, error);
        if (status == CLEF_OK && session->prefix_cache_entries == 0) {
            session->prefix_cache_bytes = 0;
        }
    }
    return status;
}

clef_status clef_serve_settings_read(clef_serve_texts *texts, clef_server_options *options,
                                     clef_error *error) {
    const clef_settings *settings = &texts->settings;
    uint32_t port = DEFAULT_PORT;
    clef_status status = CLEF_OK;
    if (settings->port != NULL) {
        status = clef_number_parse("--port", settings->port, 0, 65535, &port, error);
    }
    if (status == CLEF_OK) {
        status = read_names(texts, options, error);
    }
    if (status == CLEF_OK) {
        status = read_keys(texts, options, error);
    }
    if (status == CLEF_OK && settings->has_cache_per_key && options->api_key_count == 0) {
        return clef_fail(error, CLEF_USAGE,
                         "--cache-per-key tells nobody apart without an API key; give --api-key, "
                         "--api-key-file or $CLEF_API_KEY");
    }
    if (status == CLEF_OK && !settings->has_fake_engine) {
        status = read_cache(texts, &options->session, error);
    }
    read_limits(settings, &options->limits);
    options->host = settings->host;
    options->port = (uint16_t)port;
    options->confidence = (clef_confidence)settings->confidence;
    options->unrounded = settings->unrounded != 0;
    options->warms_up = settings->warm_up != CLEF_SWITCH_OFF;
    options->has_strict_model = settings->has_strict_model;
    options->has_open_metrics = settings->has_open_metrics;
    options->has_cache_per_key = settings->has_cache_per_key;
    options->log_path = settings->log;
    options->logs_requests = settings->logs_requests;
    return status;
}

void clef_serve_texts_release(clef_serve_texts *texts) {
    clef_buffer_release(&texts->names);
    clef_buffer_release(&texts->keys);
}
