/* `clef serve`: the server's process. Opens the model, starts the server, and waits for signals. */
#include "cli/command.h"
#include "cli/option_list.h"
#include "cli/report.h"
#include "cli/serve_settings.h"
#include "cli/serve_signals.h"
#include "cli/workplace.h"

#include <sys/resource.h>

/* Descriptors beside those of connections. */
#define OTHER_DESCRIPTORS 64

/* Many systems give a process fewer descriptors than it may ask for. */
static void allow_connections(uint32_t count) {
    struct rlimit limit;
    rlim_t needed = (rlim_t)count + OTHER_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed) {
        limit.rlim_cur = limit.rlim_max < needed ? limit.rlim_max : needed;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Serves until a signal says stop, or the engine cannot start. */
static clef_status wait_for_end(clef_server *server, clef_serve_signals *signals,
                                const clef_server_options *options, clef_error *error) {
    for (;;) {
        switch (clef_serve_signals_wait(signals)) {
        case CLEF_SERVE_STARTED:
            if (clef_serve_signals_result(signals, error) != CLEF_OK) {
                return error->status;
            }
            clef_report_note("ready: %s", options->model_label);
            break;
        case CLEF_SERVE_REOPEN:
            clef_server_reopen_log(server);
            break;
        case CLEF_SERVE_STOP:
            clef_report_note("stopping; a second signal ends at once");
            clef_serve_signals_end_at_next();
            clef_server_stop(server);
            return CLEF_OK;
        }
    }
}

/* The port is taken before the model is opened: both faults end the process at once. */
static clef_status serve(const clef_invocation *invocation, clef_workplace *workplace,
                         clef_server_options *options, clef_error *error) {
    clef_server *server = NULL;
    clef_serve_signals signals;
    clef_serve_signals_begin(&signals);
    options->started = clef_serve_signals_note_started;
    options->context = &signals;
    clef_status status = clef_server_create(options, &server, error);
    if (status == CLEF_OK) {
        status = clef_workplace_open(invocation, invocation->settings->has_fake_engine, workplace,
                                     error);
    }
    if (status == CLEF_OK) {
        allow_connections(options->limits.connection_count);
        status = clef_server_start(server, workplace->model, clef_runtime_level(workplace->runtime),
                                   error);
    }
    if (status == CLEF_OK) {
        clef_report_note("listening on %s", clef_server_addresses(server));
        status = wait_for_end(server, &signals, options, error);
    }
    clef_server_close(server);
    clef_serve_signals_end(&signals);
    return status;
}

/* Weights of another commit than the one that was asked for are not served. A directory that does
 * not say which one it holds is, with a word. */
static clef_status check_revision(const char *wanted, const clef_model_release *release,
                                  const char *directory, clef_error *error) {
    if (wanted == NULL || strcmp(wanted, release->revision) == 0) {
        return CLEF_OK;
    }
    if (release->revision[0] == '\0') {
        clef_report_note("warning: %s has no manifest that says whether it is revision %s",
                         directory, wanted);
        return CLEF_OK;
    }
    return clef_fail(error, CLEF_BAD_FILE, "%s holds revision %s, not %s", directory,
                     release->revision, wanted);
}

/* What cards of the model and every reply say about it. */
static clef_status identify(clef_serve_texts *texts, const clef_workplace *workplace,
                            clef_server_options *options, clef_error *error) {
    const char *directory = workplace->directory.bytes;
    clef_model_release_read(directory, &texts->release);
    options->model_seconds = texts->release.seconds;
    options->model_repository = texts->release.repository;
    options->model_commit = texts->release.revision;
    clef_status status =
        check_revision(texts->settings.revision, &texts->release, directory, error);
    if (status != CLEF_OK) {
        return status;
    }
    if (texts->settings.has_fake_engine) {
        options->model_revision = "made-answers";
        return CLEF_OK;
    }
    return clef_model_identity(directory, texts->revision, error);
}

static clef_status run_serve(const clef_invocation *invocation, clef_error *error) {
    clef_workplace workplace = {0};
    clef_serve_texts texts = {0};
    clef_server_options options = {0};
    clef_status status = clef_serve_settings_complete(invocation, &texts, error);
    const clef_invocation completed = {invocation->commands, invocation->command,
                                       &texts.environment, &texts.settings};
    if (status == CLEF_OK) {
        status = clef_serve_settings_read(&texts, &options, error);
    }
    if (status == CLEF_OK) {
        status = clef_workplace_find(&completed, &workplace, error);
    }
    if (status == CLEF_OK) {
        options.record = workplace.record_options;
        options.session.made_answers = texts.settings.has_fake_engine;
        options.model_label = workplace.name.bytes;
        options.model_revision = texts.revision;
        status = identify(&texts, &workplace, &options, error);
    }
    if (status == CLEF_OK) {
        status = serve(&completed, &workplace, &options, error);
    }
    clef_workplace_close(&workplace);
    clef_serve_texts_release(&texts);
    return status;
}

const clef_command clef_command_serve = {
    .name = "serve",
    .summary = "Answer requests over HTTP.",
    .synopsis = "serve [OPTIONS]\n",
    .details = "Decisions are answered by POST /v1/systemone. GET /health says whether the server "
               "is ready, GET /metrics how it is doing. There is no encryption: leave that to a "
               "server in front of this one when other machines are to reach it.\n"
               "\n"
               "SIGTERM and SIGINT stop it once running requests are answered, a second one at "
               "once; SIGHUP opens the log anew.",
    .examples = "clef serve --port 8008\n"
                "curl -s http://127.0.0.1:8008/v1/systemone -d @request.json\n"
                "clef serve --host 0.0.0.0 --api-key-file key.txt --log access.jsonl\n",
    .groups = {&clef_options_serve, &clef_options_reply, &clef_options_model,
               &clef_options_token_limit, &clef_options_limits, &clef_options_media,
               &clef_options_serve_cache, &clef_options_serve_limits, &clef_options_common, NULL},
    .run = run_serve,
};
