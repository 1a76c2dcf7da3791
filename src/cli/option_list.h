/* The rows that commands share, by group. A new option is one row here and one field of settings.
 */
#ifndef CLEF_CLI_OPTION_LIST_H
#define CLEF_CLI_OPTION_LIST_H

#include "cli/options.h"

extern const clef_option_group clef_options_model;       /* model, machine */
extern const clef_option_group clef_options_short_form;  /* a request without JSON */
extern const clef_option_group clef_options_token_limit; /* --max-tokens alone */
extern const clef_option_group clef_options_limits;      /* the other limits and the text mode */
extern const clef_option_group clef_options_media;       /* how pictures and videos are read */
extern const clef_option_group clef_options_batch;
extern const clef_option_group clef_options_cache;  /* states kept between lines of a batch */
extern const clef_option_group clef_options_answer; /* how an answer is printed */
extern const clef_option_group clef_options_facts;  /* how facts are printed */
extern const clef_option_group clef_options_quantize;
extern const clef_option_group clef_options_machine;      /* threads and CPU level alone */
extern const clef_option_group clef_options_bench;        /* what the bench measures */
extern const clef_option_group clef_options_bench_server; /* what it asks a server for */
extern const clef_option_group clef_options_report;       /* how it prints */
extern const clef_option_group clef_options_reply;        /* the same, where only JSON is */
extern const clef_option_group clef_options_serve;        /* address, names, log */
extern const clef_option_group clef_options_serve_limits;
extern const clef_option_group clef_options_serve_cache; /* states for later requests */
extern const clef_option_group clef_options_common;      /* every command */
extern const clef_option_group clef_options_help;        /* the help command's own */

#endif
