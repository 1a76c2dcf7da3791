/* From settings to handles of the library. */
#include "cli/workplace.h"

#include "base/file.h"
#include "cli/model_lookup.h"
#include "cli/report.h"

#include <stdio.h>

#define CERTIFICATE_BYTES (16u << 20) /* many times what a system trusts */

/* "80,8080" as numbers. */
static clef_status read_ports(const char *text, clef_workplace *workplace, clef_error *error) {
    clef_remote_images *remote = &workplace->remote_images;
    while (*text != '\0') {
        char digits[8];
        uint32_t port = 0;
        size_t length = strcspn(text, ",");
        snprintf(digits, sizeof digits, "%.*s", (int)(length < 7 ? length : 7), text);
        clef_status status = clef_number_parse("--remote-ports", digits, 1, 65535, &port, error);
        if (status != CLEF_OK) {
            return status;
        }
        if (remote->port_count == CLEF_ARGUMENT_LIST_LIMIT) {
            return clef_fail(error, CLEF_USAGE, "--remote-ports has more than %d ports",
                             CLEF_ARGUMENT_LIST_LIMIT);
        }
        workplace->remote_ports[remote->port_count++] = (uint16_t)port;
        text += length + (text[length] == ',');
    }
    remote->ports = workplace->remote_ports;
    return CLEF_OK;
}

/* Read here only to be refused here: a file that is named wrong would otherwise show as pictures
 * that cannot be fetched, one by one and without a reason. */
static clef_status check_certificates(const char *path, clef_error *error) {
    static const char begin[] = "-----BEGIN ";
    clef_file file = {0};
    clef_status status = clef_file_read(path, CERTIFICATE_BYTES, &file, error);
    bool is_text = status == CLEF_OK &&
                   memmem(file.bytes, file.length, begin, sizeof begin - 1) != NULL &&
                   memmem(file.bytes, file.length, "CERTIFICATE-----", 16) != NULL;
    clef_file_close(&file);
    if (status == CLEF_OUT_OF_MEMORY || is_text) {
        return status;
    }
    char reason[sizeof error->message];
    snprintf(reason, sizeof reason, "%s",
             status == CLEF_OK ? "it holds no certificate in PEM form" : error->message);
    return clef_fail(error, CLEF_USAGE, "--remote-ca %.512s: %.900s", path, reason);
}

/* Whether and from where pictures are fetched. */
static clef_status read_remote(const clef_settings *settings, clef_workplace *workplace,
                               clef_error *error) {
    clef_remote_images *remote = &workplace->remote_images;
    bool has_rules = settings->remote_hosts.count > 0 || settings->remote_ports != NULL ||
                     settings->remote_certificates != NULL;
    if (!settings->has_remote_images) {
        return has_rules
                   ? clef_fail(
                         error, CLEF_USAGE,
                         "--remote-allow, --remote-ports and --remote-ca need --remote-images")
                   : CLEF_OK;
    }
    memcpy(workplace->remote_hosts, settings->remote_hosts.items, sizeof workplace->remote_hosts);
    remote->hosts = workplace->remote_hosts;
    remote->host_count = settings->remote_hosts.count;
    remote->certificates = settings->remote_certificates;
    workplace->record_options.remote_images = remote;
    clef_status status =
        remote->certificates == NULL ? CLEF_OK : check_certificates(remote->certificates, error);
    return status != CLEF_OK || settings->remote_ports == NULL
               ? status
               : read_ports(settings->remote_ports, workplace, error);
}

clef_status clef_workplace_find(const clef_invocation *invocation, clef_workplace *workplace,
                                clef_error *error) {
    const clef_settings *settings = invocation->settings;
    workplace->record_options = (clef_record_options){
        .token_limit = settings->token_limit,
        .state_token_limit = settings->state_token_limit,
        .schema_token_limit = settings->schema_token_limit,
        .question_limit = settings->question_limit,
        .option_limit = settings->option_limit,
        .level_limit = settings->level_limit,
        .truncate = settings->truncate,
        .control_tokens = (clef_control_token_mode)settings->control_tokens,
        .exif = (clef_exif_mode)settings->exif,
    };
    clef_status status = read_remote(settings, workplace, error);
    if (status != CLEF_OK) {
        return status;
    }
    status = clef_model_lookup(settings, invocation->environment, &workplace->directory, error);
    if (status != CLEF_OK) {
        return status;
    }
    clef_model_lookup_name(workplace->directory.bytes, &workplace->name);
    return clef_buffer_check(&workplace->name, "the name of the model", error);
}

/* The command line beats the environment; what neither says is left to the library. Reading text
 * alone needs no other threads. */
static clef_status start(const clef_invocation *invocation, bool computes,
                         clef_workplace *workplace, clef_error *error) {
    const clef_settings *settings = invocation->settings;
    const clef_environment *environment = invocation->environment;
    clef_runtime_options options = {settings->thread_count, settings->cpu_level};
    if (options.thread_count == 0 && environment->threads != NULL) {
        clef_status status = clef_number_parse("CLEF_THREADS", environment->threads, 1, 1024,
                                               &options.thread_count, error);
        if (status != CLEF_OK) {
            return status;
        }
    }
    if (options.cpu_level == NULL) {
        options.cpu_level = environment->cpu_level;
    }
    if (!computes) {
        options.thread_count = 1;
    }
    return clef_runtime_create(&options, &workplace->runtime, error);
}

clef_status clef_workplace_start(const clef_invocation *invocation, clef_workplace *workplace,
                                 clef_error *error) {
    return start(invocation, true, workplace, error);
}

void clef_workplace_name_directory(const char *directory, clef_error *error) {
    char message[CLEF_ERROR_MESSAGE_BYTES];
    if (strstr(error->message, directory) != NULL) {
        return;
    }
    memcpy(message, error->message, sizeof message);
    snprintf(error->message, sizeof error->message, "model %.1024s: %.*s", directory,
             CLEF_ERROR_MESSAGE_BYTES - 1100, message);
}

clef_status clef_workplace_open(const clef_invocation *invocation, bool tokenizer_only,
                                clef_workplace *workplace, clef_error *error) {
    clef_status status = start(invocation, !tokenizer_only, workplace, error);
    if (status != CLEF_OK) {
        return status;
    }
    const clef_model_options options = {
        .precision = (clef_precision)invocation->settings->precision,
        .tokenizer_only = tokenizer_only,
    };
    status = clef_model_open(workplace->runtime, workplace->directory.bytes, &options,
                             &workplace->model, error);
    if (status == CLEF_BAD_FILE) {
        clef_workplace_name_directory(workplace->directory.bytes, error);
    }
    if (status != CLEF_OK) {
        return status;
    }
    clef_model_facts facts;
    clef_model_describe(workplace->model, &facts);
    if (facts.warning != NULL) {
        clef_report_note("warning: %s", facts.warning);
    }
    return CLEF_OK;
}

void clef_workplace_close(clef_workplace *workplace) {
    clef_model_close(workplace->model);
    clef_runtime_close(workplace->runtime);
    clef_buffer_release(&workplace->directory);
    clef_buffer_release(&workplace->name);
    *workplace = (clef_workplace){0};
}
