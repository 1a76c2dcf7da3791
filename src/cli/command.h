/* A command of the program as data: what help says about it, which options it takes, and the
 * function that does it. The table of all commands stands in main.c. */
#ifndef CLEF_CLI_COMMAND_H
#define CLEF_CLI_COMMAND_H

#include "cli/environment.h"
#include "cli/options.h"

#define CLEF_COMMAND_GROUP_LIMIT 12

struct clef_command;

/* One run of the program, handed to the command. */
typedef struct clef_invocation {
    const struct clef_command *const *commands; /* all of them, ended by NULL */
    const struct clef_command *command;
    const clef_environment *environment;
    const clef_settings *settings;
} clef_invocation;

typedef struct clef_command {
    const char *name;
    const char *summary;  /* one line */
    const char *synopsis; /* lines, without the program's name */
    const char *details;  /* paragraphs separated by an empty line; one that begins with a blank
                             is shown as it is */
    const char *examples; /* lines, as typed */
    const clef_option_group *groups[CLEF_COMMAND_GROUP_LIMIT]; /* ended by NULL */
    size_t operand_limit;
    bool takes_files; /* operands are file names */
    clef_status (*run)(const clef_invocation *invocation, clef_error *error);
} clef_command;

extern const clef_command clef_command_ask;
extern const clef_command clef_command_encode;
extern const clef_command clef_command_info;
extern const clef_command clef_command_bench;
extern const clef_command clef_command_quantize;
extern const clef_command clef_command_serve;
extern const clef_command clef_command_help;
extern const clef_command clef_command_version;

/* The command of that name; CLEF_USAGE with the nearest one when there is none. */
clef_status clef_command_find(const clef_command *const *commands, const char *name,
                              const clef_command **command, clef_error *error);

#endif
