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

typedef enum clef_group_choice {
    CLEF_GROUP_DEFAULT,
    CLEF_GROUP_32,
    CLEF_GROUP_64,
} clef_group_choice;

typedef enum clef_question_form {
    CLEF_FORM_NOUL,
    CLEF_FORM_CHOICE,
    CLEF_FORM_SCORE,
} clef_question_form;

/* How the bench prints. */
typedef enum clef_report_choice {
    CLEF_REPORT_TABLE,
    CLEF_REPORT_CSV,
    CLEF_REPORT_JSON,
} clef_report_choice;

/* What the bench computes with; the first three as clef_precision, the others recipes. */
typedef enum clef_bench_precision {
    CLEF_BENCH_AUTO,
    CLEF_BENCH_F32,
    CLEF_BENCH_BF16,
    CLEF_BENCH_INT8,
    CLEF_BENCH_INT4,
    CLEF_BENCH_MIXED,
} clef_bench_precision;

/* What the bench asks a server for. */
typedef enum clef_bench_measure {
    CLEF_BENCH_MEASURE_ALL,
    CLEF_BENCH_MEASURE_LATENCY,
    CLEF_BENCH_MEASURE_THROUGHPUT,
} clef_bench_measure;

/* One question of the short form, as written; text borrowed from the command line. */
typedef struct clef_question_argument {
    clef_question_form form;
    const char *text;
} clef_question_argument;

/* Values of an option that may be repeated, borrowed from the command line. */
#define CLEF_ARGUMENT_LIST_LIMIT 16
typedef struct clef_argument_list {
    const char *items[CLEF_ARGUMENT_LIST_LIMIT];
    size_t count;
} clef_argument_list;

/* "on" and "off" of an option whose default differs by command. */
typedef enum clef_switch_choice {
    CLEF_SWITCH_DEFAULT,
    CLEF_SWITCH_ON,
    CLEF_SWITCH_OFF,
} clef_switch_choice;

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
    clef_argument_list images, videos; /* files, and folders of frames */
    unsigned exif;                     /* a clef_exif_mode */
    bool has_remote_images;
    clef_argument_list remote_hosts;
    const char *remote_ports; /* numbers, separated by commas */
    const char *remote_certificates;

    unsigned output; /* a clef_output_choice */
    unsigned unrounded;
    unsigned confidence; /* a clef_confidence */
    bool with_timings;
    bool is_batch;
    uint32_t cache_mebibytes;
    const char *prefix_cache_bytes, *prefix_cache_entries; /* numbers; NULL: not said */
    const char *prefix_cache_directory;
    const char *feature_cache_bytes; /* a number; NULL: not said */
    bool has_no_cache;
    bool has_json_errors;
    bool wants_help;

    const char *output_directory;
    const char *recipe;      /* a name or a file */
    const char *calibration; /* a file of requests */
    unsigned group;          /* a clef_group_choice */
    bool may_replace;

    const char *shape;   /* a name or a model directory */
    const char *tokens;  /* a list of numbers */
    const char *patches; /* likewise */
    uint32_t layer_count;
    uint32_t sequence_count;
    uint32_t rows_per_step;
    uint32_t repeat_count;
    unsigned bench_precision; /* a clef_bench_precision */
    unsigned report;          /* a clef_report_choice */
    bool wants_machine;

    const char *server; /* a URL */
    const char *request_model;
    const char *bench_api_key;
    const char *scenarios;  /* names separated by commas */
    const char *clients;    /* a list of numbers */
    unsigned bench_measure; /* a clef_bench_measure */
    uint32_t pass_request_count;
    uint32_t timeout_seconds;

    const char *host;
    const char *port; /* a number: 0 is a value of its own */
    clef_argument_list api_keys;
    const char *api_key_file;
    bool has_open_metrics;
    bool has_cache_per_key;
    const char *model_names; /* separated by commas */
    bool has_strict_model;
    const char *revision; /* a commit */
    unsigned warm_up;     /* a clef_switch_choice */
    bool has_fake_engine;
    const char *log; /* a file or - */
    bool logs_requests;
    uint32_t body_byte_limit;
    uint32_t connection_limit;
    uint32_t queue_limit;
    uint32_t queue_seconds;
    uint32_t drain_seconds;
    uint32_t head_seconds;
    uint32_t body_seconds;
    uint32_t idle_seconds;

    unsigned shell; /* a clef_shell_choice */
    bool wants_manual;

    const char *operands[CLEF_OPERAND_LIMIT];
    size_t operand_count;
} clef_settings;

void clef_settings_release(clef_settings *settings);

#endif
