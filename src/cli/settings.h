/* What a command line says, once it is read: one plain struct for all commands, zero meaning
 * "not said". Option rows (options.h) point into it. */
#ifndef CLEF_CLI_SETTINGS_H
#define CLEF_CLI_SETTINGS_H

#include "base/buffer.h"

/* The words of a choice stand in this order in their row; zero is the default. */
typedef enum clef_output_choice {
    CLEF_OUTPUT_AUTO,
    CLEF_OUTPUT_TABLE,
    CLEF_OUTPUT_JSON,
    CLEF_OUTPUT_RAW,
} clef_output_choice;

typedef enum clef_shell_choice {
    CLEF_SHELL_NONE,
    CLEF_SHELL_BASH,
    CLEF_SHELL_ZSH,
    CLEF_SHELL_FISH,
} clef_shell_choice;

typedef enum clef_question_form {
    CLEF_FORM_NOUL,
    CLEF_FORM_CHOICE,
    CLEF_FORM_SCORE,
} clef_question_form;

/* One question of the short form, as written; text borrowed from the command line. */
typedef struct clef_question_argument {
    clef_question_form form;
    const char *text;
} clef_question_argument;

#define CLEF_OPERAND_LIMIT 4

/* Zero-initialised is a command line that says nothing. Texts are borrowed from the command line.
 */
typedef struct clef_settings {
    const char *model;
    unsigned precision; /* a clef_precision */
    uint32_t thread_count;
    const char *cpu_level;

    bool truncate;
    unsigned control_tokens; /* a clef_control_token_mode */
    uint32_t token_limit;
    uint32_t state_token_limit;
    uint32_t schema_token_limit;
    uint32_t question_limit;
    uint32_t option_limit;
    uint32_t level_limit;

    const char *state;
    clef_question_argument *questions; /* owned, in the order of the command line */
    size_t question_count;

    unsigned output; /* a clef_output_choice */
    unsigned unrounded;
    unsigned confidence; /* a clef_confidence */
    bool with_timings;
    bool is_batch;
    bool has_json_errors;
    bool wants_help;

    unsigned shell; /* a clef_shell_choice */
    bool wants_manual;

    const char *operands[CLEF_OPERAND_LIMIT];
    size_t operand_count;
} clef_settings;

void clef_settings_release(clef_settings *settings);

#endif
