/* The program: the table of commands, and what every run has in common. A command is one line of
 * the table; it reports through clef_error, and only main prints errors and chooses the exit
 * status. */
#include "cli/command.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/suggestion.h"
#include "cli/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static const clef_command *const commands[] = {
    &clef_command_ask,  &clef_command_serve,    &clef_command_encode,
    &clef_command_info, &clef_command_quantize, &clef_command_bench,
    &clef_command_help, &clef_command_version,  NULL,
};

clef_status clef_command_find(const clef_command *const *table, const char *name,
                              const clef_command **command, clef_error *error) {
    clef_suggestion best = clef_suggestion_begin(clef_text_of(name));
    for (size_t i = 0; table[i] != NULL; i += 1) {
        if (strcmp(table[i]->name, name) == 0) {
            *command = table[i];
            return CLEF_OK;
        }
        clef_suggestion_offer(&best, clef_text_of(table[i]->name));
    }
    if (best.length > 0) {
        return clef_fail(error, CLEF_USAGE, "unknown command \"%s\"; did you mean \"%.*s\"?", name,
                         (int)best.length, best.word);
    }
    return clef_fail(error, CLEF_USAGE, "unknown command \"%s\"", name);
}

/* A stream that was closed by whoever started us must not be taken by the next file that is opened.
 * It is opened the wrong way round, so that using it fails. */
static void keep_streams_open(void) {
    for (int stream = 0; stream <= STDERR_FILENO; stream += 1) {
        if (fcntl(stream, F_GETFD) < 0) {
            (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

/* Errors in options are reported before all options are read, but in the form that is asked for. */
static bool wants_json_errors(int argument_count, char *const *arguments) {
    for (int i = 1; i < argument_count && strcmp(arguments[i], "--") != 0; i += 1) {
        if (strcmp(arguments[i], "--json") == 0) {
            return true;
        }
    }
    return false;
}

static clef_status print_environment(const clef_environment *environment, clef_error *error) {
    clef_terminal terminal;
    clef_buffer text = {0};
    clef_terminal_inspect(STDOUT_FILENO, environment, &terminal);
    clef_help_append_environment(&text, terminal.columns);
    clef_status status = clef_output_write_buffer(&text, error);
    clef_buffer_release(&text);
    return status;
}

static clef_status print_command_help(const clef_invocation *invocation, clef_error *error) {
    clef_terminal terminal;
    clef_buffer text = {0};
    clef_terminal_inspect(STDOUT_FILENO, invocation->environment, &terminal);
    clef_help_append_command(&text, invocation->command, terminal.columns);
    clef_status status = clef_output_write_buffer(&text, error);
    clef_buffer_release(&text);
    return status;
}

/* Runs a command with the arguments behind its name. */
static clef_status run_command(const clef_command *command, const clef_environment *environment,
                               int argument_count, char *const *arguments, clef_error *error) {
    clef_settings settings = {0};
    const clef_invocation invocation = {commands, command, environment, &settings};
    clef_status status = clef_options_parse(command->groups, command->operand_limit, argument_count,
                                            arguments, &settings, error);
    if (status == CLEF_OK) {
        status = settings.wants_help ? print_command_help(&invocation, error)
                                     : command->run(&invocation, error);
    }
    clef_settings_release(&settings);
    return status;
}

/* Finds out which command is meant; *command stays NULL when none is. */
static clef_status run_program(int argument_count, char *const *arguments,
                               const clef_command **command, clef_error *error) {
    clef_environment environment;
    clef_environment_read(&environment);
    const char *name = argument_count > 1 ? arguments[1] : NULL;
    if (name == NULL) {
        return clef_fail(error, CLEF_USAGE, "there is no command");
    }
    if (strcmp(name, "--help-environment") == 0) {
        return print_environment(&environment, error);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        name = clef_command_help.name;
    } else if (strcmp(name, "--version") == 0) {
        name = clef_command_version.name;
    } else if (name[0] == '-') {
        return clef_fail(error, CLEF_USAGE,
                         "unknown option %s; the command comes first, its options behind it", name);
    }
    clef_status status = clef_command_find(commands, name, command, error);
    if (status == CLEF_OK) {
        status = run_command(*command, &environment, argument_count - 2, arguments + 2, error);
    }
    return status;
}

int main(int argument_count, char **arguments) {
    clef_error error = {0};
    clef_error close_error = {0};
    const clef_command *command = NULL;
    char hint[96];
    /* A reader that goes away shows as a failed write, which is handled. */
    signal(SIGPIPE, SIG_IGN);
    clef_interrupt_explain_lost_files();
    keep_streams_open();
    bool as_json = wants_json_errors(argument_count, arguments);
    clef_status status = run_program(argument_count, arguments, &command, &error);
    /* Some file systems tell of a full disk only when a file is closed. */
    if (status == CLEF_OK && clef_output_close(&close_error) != CLEF_OK) {
        status = close_error.status;
        error = close_error;
    }
    if (status != CLEF_OK) {
        snprintf(hint, sizeof hint, "Run \"clef %s%s--help\" for help.",
                 command != NULL ? command->name : "", command != NULL ? " " : "");
        clef_report_error(&error, status == CLEF_USAGE ? hint : NULL, as_json);
    }
    return clef_status_exit(status);
}
