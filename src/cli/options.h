/* Options as data. A row says how an option is spelled, what it takes, where its value goes and how
 * it is explained; parsing, help, completion and the manual page are all made from the same rows.
 */
#ifndef CLEF_CLI_OPTIONS_H
#define CLEF_CLI_OPTIONS_H

#include "cli/settings.h"

typedef enum clef_option_kind {
    CLEF_OPTION_FLAG,     /* bool */
    CLEF_OPTION_TEXT,     /* const char *, of `minimum` bytes or more */
    CLEF_OPTION_NUMBER,   /* uint32_t within minimum and maximum */
    CLEF_OPTION_CHOICE,   /* unsigned: minimum + index of the word in `words` */
    CLEF_OPTION_LIST,     /* clef_argument_list, to which the value, of `minimum` bytes or more, is
                             appended */
    CLEF_OPTION_QUESTION, /* appended to the questions, with `minimum` as their kind */
} clef_option_kind;

/* What a shell may offer for the value. */
typedef enum clef_option_completion {
    CLEF_COMPLETE_NOTHING,
    CLEF_COMPLETE_DIRECTORY,
    CLEF_COMPLETE_FILE,
    CLEF_COMPLETE_AT_FILE, /* text, or @ and a file name */
} clef_option_completion;

typedef struct clef_option_row {
    const char *name;  /* without dashes */
    char letter;       /* its short form behind one dash; 0: none */
    const char *value; /* how help calls the value; NULL for flags and choices */
    const char *words; /* choices: the words, separated by "|" */
    const char *help;  /* sentences, one paragraph */
    size_t field;      /* offset in clef_settings */
    uint32_t minimum;
    uint32_t maximum;
    clef_option_kind kind;
    bool is_single; /* texts: a second one is refused, as the first would be lost without a word */
    clef_option_completion completion;
} clef_option_row;

/* Rows under one heading; groups are shared between commands. */
typedef struct clef_option_group {
    const char *title;
    const clef_option_row *rows;
    size_t count;
} clef_option_group;

/* What an option takes, as help writes it: "DIR", "f32|auto", or NULL. */
const char *clef_option_value_name(const clef_option_row *row);

/* Reads the arguments behind the command's name. `groups` ends with NULL. CLEF_USAGE for anything
 * that is not understood; at most `operand_limit` arguments that are no options. */
clef_status clef_options_parse(const clef_option_group *const *groups, size_t operand_limit,
                               int argument_count, char *const *arguments, clef_settings *settings,
                               clef_error *error);

/* Reads a whole number in [minimum, maximum]; `what` names it in the message ("--threads"). */
clef_status clef_number_parse(const char *what, const char *text, uint32_t minimum,
                              uint32_t maximum, uint32_t *value, clef_error *error);

/* Reads "1,8,512", the value of the option `name`: at most `limit` numbers from 1 to maximum are
 * appended to values[*count]. */
clef_status clef_number_list_parse(const char *name, const char *text, uint32_t maximum,
                                   uint32_t *values, size_t limit, size_t *count,
                                   clef_error *error);

#endif
