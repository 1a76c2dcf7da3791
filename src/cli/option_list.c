/* All option rows. Texts here are the help, the completion and the manual page. */
#include "cli/option_list.h"

#include <stddef.h>

#define FIELD(name) .field = offsetof(clef_settings, name)
#define GROUP(title, rows)                                                                         \
    { title, rows, sizeof(rows) / sizeof(rows)[0] }
#define COUNT_MOST UINT32_MAX

/* Commands that compute take it with other rows around. */
#define THREADS_ROW                                                                                \
    {                                                                                              \
        .name = "threads", .value = "N", .kind = CLEF_OPTION_NUMBER, FIELD(thread_count),          \
        .minimum = 1, .maximum = 1024,                                                             \
        .help = "Threads to compute with. Without it: $CLEF_THREADS, then one for each CPU this "  \
                "process may use."                                                                 \
    }

static const clef_option_row model_rows[] = {
    {.name = "model",
     .value = "DIR",
     .kind = CLEF_OPTION_TEXT,
     FIELD(model),
     .minimum = 1,
     .completion = CLEF_COMPLETE_DIRECTORY,
     .help = "Directory of the model. Without it: $CLEF_MODEL, then the small model that comes "
             "with clef."},
    {.name = "precision",
     .words = "auto|f32|bf16",
     .kind = CLEF_OPTION_CHOICE,
     FIELD(precision),
     .help = "How products of unquantised matrices are computed: f32 exactly, bf16 with rounded "
             "inputs. auto, the default, is f32 in this version."},
    THREADS_ROW,
    {.name = "cpu-level",
     .value = "NAME",
     .kind = CLEF_OPTION_TEXT,
     FIELD(cpu_level),
     .minimum = 1,
     .help = "Highest level of CPU instructions to use; \"clef info\" lists them. Without it: "
             "$CLEF_CPU_LEVEL, then the best there is."},
};
const clef_option_group clef_options_model = GROUP("Model and machine", model_rows);
/* The last two of the same rows. */
const clef_option_group clef_options_machine = {
    "Machine", model_rows + sizeof model_rows / sizeof model_rows[0] - 2, 2};

static const clef_option_row short_form_rows[] = {
    {.name = "state",
     .value = "TEXT|@FILE|-",
     .kind = CLEF_OPTION_TEXT,
     FIELD(state),
     .is_single = true,
     .completion = CLEF_COMPLETE_AT_FILE,
     .help = "What the questions are about: the text itself, @ and the name of a file that holds "
             "it, or - for standard input. @@ begins a text with @."},
    {.name = "noul",
     .value = "[ID=]QUESTION",
     .kind = CLEF_OPTION_QUESTION,
     .minimum = CLEF_FORM_NOUL,
     .help = "A question that is answered by yes or no."},
    {.name = "choice",
     .value = "[ID=][QUESTION;]OPTION,...",
     .kind = CLEF_OPTION_QUESTION,
     .minimum = CLEF_FORM_CHOICE,
     .help = "A question that is answered by one of the options. An OPTION is its id, or "
             "ID:DESCRIPTION."},
    {.name = "score",
     .value = "[ID=][QUESTION;]LEVEL,...",
     .kind = CLEF_OPTION_QUESTION,
     .minimum = CLEF_FORM_SCORE,
     .help = "A question that is answered by a place on a scale, levels from the lowest to the "
             "highest."},
    {.name = "image",
     .value = "FILE",
     .kind = CLEF_OPTION_LIST,
     FIELD(images),
     .completion = CLEF_COMPLETE_FILE,
     .help = "A picture that belongs to the state: PNG, JPEG or WebP. May be repeated."},
    {.name = "video",
     .value = "FILE|DIR",
     .kind = CLEF_OPTION_LIST,
     FIELD(videos),
     .completion = CLEF_COMPLETE_FILE,
     .help = "A video that belongs to the state: a file, where clef was built with FFmpeg, or a "
             "folder of pictures of one size, its frames in the order of their names, 24 a second. "
             "May be repeated."},
};
const clef_option_group clef_options_short_form = GROUP("A request without JSON", short_form_rows);

static const clef_option_row token_limit_rows[] = {
    {.name = "max-tokens",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(token_limit),
     .minimum = 1,
     .maximum = COUNT_MOST,
     .help = "Tokens of a whole request; 16384 by default, at most the context length of the "
             "model."},
};
const clef_option_group clef_options_token_limit = GROUP("Limits", token_limit_rows);

static const clef_option_row limit_rows[] = {
    {.name = "max-state-tokens",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(state_token_limit),
     .minimum = 1,
     .maximum = COUNT_MOST,
     .help = "Tokens of the state and the fixed text before it; as many as --max-tokens by "
             "default."},
    {.name = "max-schema-tokens",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(schema_token_limit),
     .minimum = 1,
     .maximum = COUNT_MOST,
     .help = "Tokens of the questions and the fixed text behind them; as many as --max-tokens by "
             "default."},
    {.name = "max-questions",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(question_limit),
     .minimum = 1,
     .maximum = COUNT_MOST,
     .help = "Questions of a request; 64 by default."},
    {.name = "max-options",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(option_limit),
     .minimum = 1,
     .maximum = COUNT_MOST,
     .help = "Options of one choice; 255 by default."},
    {.name = "max-levels",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(level_limit),
     .minimum = 1,
     .maximum = COUNT_MOST,
     .help = "Levels of one score; 255 by default."},
    {.name = "truncate",
     .kind = CLEF_OPTION_FLAG,
     FIELD(truncate),
     .help = "Read only the beginning of a state that is too long, instead of refusing it. Every "
             "answer then says whether that happened."},
    {.name = "control-tokens",
     .words = "plain|parse",
     .kind = CLEF_OPTION_CHOICE,
     FIELD(control_tokens),
     .help = "What control tokens written in a request are: plain text, the default, or control "
             "tokens, as in the reference implementation."},
};
const clef_option_group clef_options_limits = GROUP("Limits", limit_rows);

static const clef_option_row media_rows[] = {
    {.name = "exif",
     .words = "apply|ignore",
     .kind = CLEF_OPTION_CHOICE,
     FIELD(exif),
     .help = "Whether pictures are turned upright, as the camera noted in them: apply, the "
             "default, or ignore, as in the reference implementation."},
    {.name = "remote-images",
     .kind = CLEF_OPTION_FLAG,
     FIELD(has_remote_images),
     .help =
         "Fetch pictures whose http:// or https:// addresses stand in a request, from the public "
         "internet alone; without it they are refused. Needs a build with libcurl. The server "
         "also reads $CLEF_ALLOW_REMOTE_IMAGES."},
    {.name = "remote-allow",
     .value = "HOST",
     .kind = CLEF_OPTION_LIST,
     FIELD(remote_hosts),
     .minimum = 1,
     .help = "With --remote-images: a name or address, as it stands in requests, that may lie in a "
             "private network or on this machine. May be repeated."},
    {.name = "remote-ports",
     .value = "PORT,...",
     .kind = CLEF_OPTION_TEXT,
     FIELD(remote_ports),
     .minimum = 1,
     .help = "With --remote-images: ports that may be connected to; 80,443 by default."},
    {.name = "remote-ca",
     .value = "FILE",
     .kind = CLEF_OPTION_TEXT,
     FIELD(remote_certificates),
     .minimum = 1,
     .completion = CLEF_COMPLETE_FILE,
     .help = "With --remote-images: PEM file with the certificates of the authorities that https "
             "hosts are trusted by, in place of the system's."},
};
const clef_option_group clef_options_media = GROUP("Pictures and videos", media_rows);

static const clef_option_row batch_rows[] = {
    {.name = "batch",
     .kind = CLEF_OPTION_FLAG,
     FIELD(is_batch),
     .help = "Read one JSON request a line and write one line for each, in order; blank lines are "
             "skipped. A line that cannot be answered gives {\"error\": ..., \"line\": n} in its "
             "place; the exit "
             "status is that of the first such line."},
};
const clef_option_group clef_options_batch = GROUP("Many requests", batch_rows);

static const clef_option_row cache_rows[] = {
    {.name = "cache-mib",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(cache_mebibytes),
     .minimum = 1,
     .maximum = 1 << 24,
     .help = "Memory in MiB for the states of lines already answered, so that lines that begin "
             "with the same state take less time; an eighth of the free memory by default. A "
             "quarter as much beside it is for pictures already seen. Answers are the same with "
             "any amount."},
    {.name = "no-cache",
     .kind = CLEF_OPTION_FLAG,
     FIELD(has_no_cache),
     .help = "Keep no states and no pictures: compute every line from its beginning."},
};
const clef_option_group clef_options_cache = GROUP("Kept states, with --batch", cache_rows);

static const clef_option_row answer_rows[] = {
    {.name = "output",
     .words = "auto|table|json|raw",
     .kind = CLEF_OPTION_CHOICE,
     FIELD(output),
     .help = "auto, the default, is a table on a terminal and JSON elsewhere. raw is JSON with "
             "tokens, spans, logits and probabilities."},
    {.name = "timings",
     .kind = CLEF_OPTION_FLAG,
     FIELD(with_timings),
     .help = "Say how long the answer took: latency_ms in JSON, a line on standard error beside "
             "a table."},
    {.name = "round",
     .words = "4|none",
     .kind = CLEF_OPTION_CHOICE,
     FIELD(unrounded),
     .help = "Decimal places of the probabilities in JSON; 4 by default."},
    {.name = "confidence",
     .words = "probability|typesafe",
     .kind = CLEF_OPTION_CHOICE,
     FIELD(confidence),
     .help = "What confidence means: the largest probability, the default, or how far it stands "
             "above chance."},
};
const clef_option_group clef_options_answer = GROUP("Answers", answer_rows);
/* The last two of the same rows. */
const clef_option_group clef_options_reply = {
    "Answers", answer_rows + sizeof answer_rows / sizeof answer_rows[0] - 2, 2};

static const clef_option_row facts_rows[] = {
    {.name = "output",
     .words = "text|json",
     .kind = CLEF_OPTION_CHOICE,
     FIELD(output),
     .minimum = CLEF_OUTPUT_TABLE,
     .help = "text, the default, is for people."},
};
const clef_option_group clef_options_facts = GROUP("Output", facts_rows);

static const clef_option_row quantize_rows[] = {
    {.name = "output",
     .letter = 'o',
     .value = "DIR",
     .kind = CLEF_OPTION_TEXT,
     FIELD(output_directory),
     .minimum = 1,
     .completion = CLEF_COMPLETE_DIRECTORY,
     .help = "Directory to write to. It is made, or must be empty; the directory above it must "
             "exist."},
    {.name = "recipe",
     .value = "int8|int4|mixed|FILE",
     .kind = CLEF_OPTION_TEXT,
     FIELD(recipe),
     .minimum = 1,
     .help = "Which matrices get how many bits; int8 by default. mixed gives the first half of the "
             "layers 8 bits and the second half 4. A FILE says it layer by layer, see above."},
    {.name = "calibrate",
     .value = "FILE",
     .kind = CLEF_OPTION_TEXT,
     FIELD(calibration),
     .minimum = 1,
     .completion = CLEF_COMPLETE_FILE,
     .help =
         "Round the weights by what they do to these requests: one JSON request a line, as "
         "\"clef ask --batch\" reads them; - is standard input. A hundred like those the model is "
         "for will do."},
    {.name = "group",
     .words = "32|64",
     .kind = CLEF_OPTION_CHOICE,
     FIELD(group),
     .minimum = CLEF_GROUP_32,
     .help = "Columns that share a scale. Without it what the FILE says, else 64 for 8 bits and 32 "
             "for 4."},
    {.name = "force",
     .kind = CLEF_OPTION_FLAG,
     FIELD(may_replace),
     .help = "Write into a directory that is not empty. Files of the same names and old weight "
             "files in it are replaced once the new ones are complete; others stay."},
    THREADS_ROW,
};
const clef_option_group clef_options_quantize = GROUP("Quantising", quantize_rows);

static const clef_option_row common_rows[] = {
    {.name = "json",
     .kind = CLEF_OPTION_FLAG,
     FIELD(has_json_errors),
     .help = "Write an error as one line of JSON with type, loc and msg."},
    {.name = "help", .kind = CLEF_OPTION_FLAG, FIELD(wants_help), .help = "Show this help."},
};
const clef_option_group clef_options_common = GROUP("Other", common_rows);

static const clef_option_row help_rows[] = {
    {.name = "completion",
     .words = "bash|zsh|fish",
     .kind = CLEF_OPTION_CHOICE,
     FIELD(shell),
     .minimum = CLEF_SHELL_BASH,
     .help = "Print the completion script of that shell."},
    {.name = "man",
     .kind = CLEF_OPTION_FLAG,
     FIELD(wants_manual),
     .help = "Print the manual page."},
};
const clef_option_group clef_options_help = GROUP("Generated files", help_rows);
