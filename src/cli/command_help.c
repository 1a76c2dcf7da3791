/* `clef help` and `clef version`: everything that is printed from the tables alone. */
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/option_list.h"
#include "cli/output.h"
#include "cli/terminal.h"

#include <clef/clef.h>
#include <unistd.h>

static clef_status append_help(const clef_invocation *invocation, clef_buffer *out,
                               clef_error *error) {
    const clef_settings *settings = invocation->settings;
    clef_terminal terminal;
    clef_terminal_inspect(STDOUT_FILENO, invocation->environment, &terminal);
    int kinds = (settings->wants_manual ? 1 : 0) + (settings->shell != CLEF_SHELL_NONE ? 1 : 0) +
                (settings->operand_count > 0 ? 1 : 0);
    if (kinds > 1) {
        return clef_fail(
            error, CLEF_USAGE,
            "a command, --completion and --man exclude each other: one text at a time");
    }
    if (settings->wants_manual) {
        clef_manual_append(out, invocation->commands);
    } else if (settings->shell != CLEF_SHELL_NONE) {
        clef_completion_append(out, invocation->commands, (clef_shell_choice)settings->shell);
    } else if (settings->operand_count == 0) {
        clef_help_append_overview(out, invocation->commands, terminal.columns);
    } else {
        const clef_command *command = NULL;
        clef_status status =
            clef_command_find(invocation->commands, settings->operands[0], &command, error);
        if (status != CLEF_OK) {
            return status;
        }
        clef_help_append_command(out, command, terminal.columns);
    }
    return CLEF_OK;
}

static clef_status run_help(const clef_invocation *invocation, clef_error *error) {
    clef_buffer text = {0};
    clef_status status = append_help(invocation, &text, error);
    if (status == CLEF_OK) {
        status = clef_output_write_buffer(&text, error);
    }
    clef_buffer_release(&text);
    return status;
}

static clef_status run_version(const clef_invocation *invocation, clef_error *error) {
    (void)invocation;
    clef_buffer text = {0};
    clef_buffer_append_format(&text, "clef %s\n", clef_version());
    clef_status status = clef_output_write_buffer(&text, error);
    clef_buffer_release(&text);
    return status;
}

const clef_command clef_command_help = {
    .name = "help",
    .summary = "Explain a command; print shell completions and the manual page.",
    .synopsis = "help [COMMAND]\n"
                "help --completion bash|zsh|fish\n"
                "help --man\n",
    .details = "",
    .examples = "clef help ask\n"
                "clef help --completion bash > clef.bash\n",
    .groups = {&clef_options_help, &clef_options_common, NULL},
    .operand_limit = 1,
    .run = run_help,
};

const clef_command clef_command_version = {
    .name = "version",
    .summary = "Print the version.",
    .synopsis = "version\n",
    .details = "",
    .examples = "",
    .groups = {&clef_options_common, NULL},
    .run = run_version,
};
