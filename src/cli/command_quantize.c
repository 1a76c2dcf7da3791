/* `clef quantize`: a model with weights of 8 or 4 bits, made from one with whole weights. */
#include "cli/calibration_file.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/option_list.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/workplace.h"

#include <unistd.h>

#define BYTES_PER_UNIT 1000000

/* Between two pieces of work: shows how far it is, and asks for an interrupt. */
static bool show_progress(void *context, uint64_t done_bytes, uint64_t total_bytes) {
    clef_progress_show(context, done_bytes / BYTES_PER_UNIT,
                       (double)done_bytes / (double)total_bytes);
    return clef_interrupt_seen();
}

static bool is_recipe_name(const char *recipe) {
    return strcmp(recipe, "int8") == 0 || strcmp(recipe, "int4") == 0 ||
           strcmp(recipe, "mixed") == 0;
}

/* Reads what --recipe names, unless it is one of the names the library knows. */
static clef_status read_recipe(const char *recipe, clef_buffer *text, clef_error *error) {
    if (recipe == NULL || is_recipe_name(recipe)) {
        clef_buffer_append_string(text, recipe == NULL ? "int8" : recipe);
        return clef_buffer_check(text, "the recipe", error);
    }
    clef_input input;
    clef_status status = clef_input_open(recipe, "the recipe", &input, error);
    if (status != CLEF_OK) {
        return clef_fail(error, status,
                         "the recipe \"%.256s\" is neither int8, int4 or mixed nor a file that can "
                         "be read",
                         recipe);
    }
    status = clef_input_read_all(&input, text, error);
    clef_input_close(&input);
    if (status == CLEF_OK && text->length == 0) {
        return clef_fail(error, CLEF_USAGE,
                         "the recipe \"%.256s\" is empty: neither int8, int4 or mixed nor JSON",
                         recipe);
    }
    if (status == CLEF_OK) {
        clef_buffer_append_byte(text, '\0');
        status = clef_buffer_check(text, "the recipe", error);
    }
    return status;
}

/* Bytes of the weights in a directory; 0 when nobody can tell. */
static uint64_t measure_weights(clef_runtime *runtime, const char *directory) {
    clef_model *model;
    clef_model_facts facts = {0};
    if (clef_model_open(runtime, directory, NULL, &model, NULL) == CLEF_OK) {
        clef_model_describe(model, &facts);
        clef_model_close(model);
    }
    return facts.mapped_bytes;
}

static clef_status print_result(clef_runtime *runtime, const char *source, const char *output,
                                clef_error *error) {
    clef_buffer line = {0};
    clef_buffer_append_format(&line, "%s: %.1f MB of weights, made from %.1f MB\n", output,
                              (double)measure_weights(runtime, output) / BYTES_PER_UNIT,
                              (double)measure_weights(runtime, source) / BYTES_PER_UNIT);
    clef_status status = clef_output_write_buffer(&line, error);
    clef_buffer_release(&line);
    return status;
}

static clef_status write_model(const clef_invocation *invocation, clef_runtime *runtime,
                               const char *recipe, const clef_calibration_file *calibration,
                               clef_error *error) {
    const clef_settings *settings = invocation->settings;
    clef_terminal terminal;
    clef_progress progress;
    clef_terminal_inspect(STDERR_FILENO, invocation->environment, &terminal);
    clef_progress_begin(&progress, &terminal);
    progress.unit = " MB";
    const clef_quantize_options options = {
        .recipe = recipe,
        .group = settings->group * 32, /* see clef_group_choice */
        .may_replace = settings->may_replace,
        .calibration_records = calibration->records,
        .calibration_record_count = calibration->count,
        .calibration_source = calibration->source.bytes,
        .progress = show_progress,
        .context = &progress,
    };
    clef_status status = clef_model_quantize(runtime, settings->operands[0],
                                             settings->output_directory, &options, error);
    clef_progress_clear(&progress);
    return status;
}

/* Encodes what --calibrate names, when it names something. */
static clef_status read_calibration(const clef_settings *settings, clef_runtime *runtime,
                                    clef_calibration_file *calibration, clef_error *error) {
    clef_model *model;
    if (settings->calibration == NULL) {
        return CLEF_OK;
    }
    clef_status status = clef_model_open(runtime, settings->operands[0], NULL, &model, error);
    if (status == CLEF_OK) {
        status = clef_calibration_file_read(settings->calibration, model, calibration, error);
        clef_model_close(model);
    }
    return status;
}

static clef_status quantize(const clef_invocation *invocation, clef_runtime *runtime,
                            const char *recipe, clef_error *error) {
    clef_calibration_file calibration = {0};
    clef_interrupt_watch();
    clef_status status = read_calibration(invocation->settings, runtime, &calibration, error);
    if (status == CLEF_OK) {
        status = write_model(invocation, runtime, recipe, &calibration, error);
    }
    clef_calibration_file_release(&calibration);
    if (status == CLEF_BAD_FILE) {
        clef_workplace_name_directory(invocation->settings->operands[0], error);
    }
    return status;
}

static clef_status run_quantize(const clef_invocation *invocation, clef_error *error) {
    const clef_settings *settings = invocation->settings;
    clef_workplace workplace = {0};
    clef_buffer recipe = {0};
    if (settings->operand_count == 0) {
        return clef_fail(error, CLEF_USAGE, "which model? clef quantize MODEL --output DIR");
    }
    if (settings->output_directory == NULL) {
        return clef_fail(error, CLEF_USAGE, "where to? clef quantize MODEL --output DIR");
    }
    clef_status status = read_recipe(settings->recipe, &recipe, error);
    if (status == CLEF_OK) {
        status = clef_workplace_start(invocation, &workplace, error);
    }
    if (status == CLEF_OK) {
        status = quantize(invocation, workplace.runtime, recipe.bytes, error);
    }
    if (status == CLEF_OK) {
        status = print_result(workplace.runtime, settings->operands[0], settings->output_directory,
                              error);
    }
    clef_buffer_release(&recipe);
    clef_workplace_close(&workplace);
    return status;
}

const clef_command clef_command_quantize = {
    .name = "quantize",
    .summary = "Make a smaller model: weights of 8 or 4 bits.",
    .synopsis = "quantize MODEL --output DIR [OPTIONS]\n",
    .details =
        "MODEL is a directory with whole weights. The matrices of its text layers are stored with "
        "8 or 4 bits a weight and a scale for each group of columns; embeddings and output matrix "
        "with 8 bits and a scale a row. Everything else, and the other files of MODEL, stay as "
        "they "
        "are. What was written is read back and compared before it appears in DIR; whoever "
        "interrupts it finds DIR as it was.\n"
        "\n"
        "With --calibrate the requests are run through MODEL first, and each weight is rounded to "
        "that one of its two neighbours whose error the others cancel. It costs the time of the "
        "requests, and memory for their hidden rows; 4-bit weights gain most. A request that the "
        "model would refuse ends it, naming the line; states that are too long are cut.\n"
        "\n"
        "A recipe FILE is JSON. The first rule that fits a matrix decides, default where none "
        "does:\n"
        "\n"
        "  {\"rules\": [\n"
        "   {\"layers\": \"0-3\", \"tensors\": \"*\", \"type\": \"int8\"},\n"
        "   {\"tensors\": \"mlp.*\", \"type\": \"int4\", \"group\": 32},\n"
        "   {\"tensors\": \"lm_head\", \"type\": \"keep\"}],\n"
        "   \"default\": \"int8\", \"group\": 64}\n"
        "\n"
        "layers is a number or a range, tensors the name behind the layer's number with * for any "
        "text, type int8, int4 or keep, group 32 or 64. All but type may be left out. Matrices "
        "whose columns are no multiple of 32 get 8 bits where 4 are asked for.",
    .examples = "clef quantize models/clef-tiny --output tiny-int8\n"
                "clef quantize clef-flash -o clef-flash-mixed --recipe mixed\n"
                "clef quantize clef-flash -o small --recipe int4 --calibrate requests.jsonl\n",
    .groups = {&clef_options_quantize, &clef_options_common, NULL},
    .operand_limit = 1,
    .takes_files = true,
    .run = run_quantize,
};
