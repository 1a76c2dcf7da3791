/* `clef bench`: how fast a model of some shape runs on this machine, beside what the machine can do
 * at all. Runs of the model and of the peaks take turns, because neither is the same every time. */
#include "cli/bench_report.h"
#include "cli/bench_server.h"
#include "cli/command.h"
#include "cli/model_lookup.h"
#include "cli/option_list.h"
#include "cli/output.h"
#include "cli/suggestion.h"
#include "cli/workplace.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/system_memory.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    CASE_LIMIT = 64,
    DEFAULT_REPEAT = 5,
    DEFAULT_TOKENS = 512,
    SIZE_LIMIT = 1 << 24, /* far above every context and picture */
    MACHINE_SAMPLES = 5,
};

typedef struct bench {
    const clef_settings *settings;
    clef_workplace workplace;
    clef_meter *meter;
    clef_bench_subject subject;
    uint32_t sizes[CASE_LIMIT]; /* tokens or patches */
    size_t case_count;
} bench;

/* ---- the command line ---- */

static clef_status read_cases(bench *run, clef_error *error) {
    const clef_settings *settings = run->settings;
    if (settings->patches != NULL) {
        return clef_number_list_parse("--patches", settings->patches, SIZE_LIMIT, run->sizes,
                                      CASE_LIMIT, &run->case_count, error);
    }
    if (settings->tokens != NULL) {
        return clef_number_list_parse("--tokens", settings->tokens, SIZE_LIMIT, run->sizes,
                                      CASE_LIMIT, &run->case_count, error);
    }
    run->sizes[run->case_count++] = DEFAULT_TOKENS;
    return CLEF_OK;
}

/* What is meant for a server alone. */
static clef_status check_no_server_settings(const clef_settings *settings, clef_error *error) {
    const struct {
        const char *name;
        bool is_said;
    } options[] = {
        {"--model", settings->request_model != NULL},
        {"--api-key", settings->bench_api_key != NULL},
        {"--scenarios", settings->scenarios != NULL},
        {"--measure", settings->bench_measure != CLEF_BENCH_MEASURE_ALL},
        {"--clients", settings->clients != NULL},
        {"--requests", settings->pass_request_count != 0},
        {"--timeout", settings->timeout_seconds != 0},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i += 1) {
        if (options[i].is_said) {
            return clef_fail(error, CLEF_USAGE, "%s is about a server; give --server URL too",
                             options[i].name);
        }
    }
    return CLEF_OK;
}

static clef_status check_settings(const clef_settings *settings, clef_error *error) {
    if (settings->wants_machine && settings->shape != NULL) {
        return clef_fail(error, CLEF_USAGE,
                         "--machine measures the machine alone; leave out --shape %s",
                         settings->shape);
    }
    if (!settings->wants_machine && settings->shape == NULL) {
        return clef_fail(error, CLEF_USAGE,
                         "nothing to measure: give --shape with one of %s or a model directory, "
                         "--machine, or --server with the URL of a server",
                         clef_shape_names());
    }
    if (settings->patches != NULL && settings->tokens != NULL) {
        return clef_fail(error, CLEF_USAGE, "--patches and --tokens are measured one by one");
    }
    if (settings->patches != NULL && settings->sequence_count != 0) {
        return clef_fail(error, CLEF_USAGE,
                         "--patches measures one picture; leave out --sequences");
    }
    return check_no_server_settings(settings, error);
}

/* The text is the name of a shape; else `best` has the nearest name. */
static bool is_shape(const char *text, clef_suggestion *best) {
    const char *name = clef_shape_names();
    *best = clef_suggestion_begin(clef_text_of(text));
    while (name[0] != '\0') {
        size_t length = strcspn(name, " ");
        if (clef_text_equals((clef_text){name, length}, clef_text_of(text))) {
            return true;
        }
        clef_suggestion_offer(best, (clef_text){name, length});
        name += length + strspn(name + length, " ");
    }
    return false;
}

/* ---- the model ---- */

static clef_precision choose_precision(unsigned chosen) {
    switch (chosen) {
    case CLEF_BENCH_F32:
        return CLEF_PRECISION_F32;
    case CLEF_BENCH_BF16:
        return CLEF_PRECISION_BF16;
    default:
        return CLEF_PRECISION_AUTO;
    }
}

static const char *choose_recipe(unsigned chosen) {
    switch (chosen) {
    case CLEF_BENCH_INT8:
        return "int8";
    case CLEF_BENCH_INT4:
        return "int4";
    case CLEF_BENCH_MIXED:
        return "mixed";
    default:
        return NULL;
    }
}

static clef_status make_shape(bench *run, clef_error *error) {
    const clef_settings *settings = run->settings;
    bool is_vision = settings->patches != NULL;
    /* The tower needs no layer of the text model, but a model has one at least. */
    const clef_shape_options options = {.layer_count = is_vision ? 1 : settings->layer_count,
                                        .recipe = choose_recipe(settings->bench_precision),
                                        .precision = choose_precision(settings->bench_precision),
                                        .with_vision = is_vision};
    clef_buffer_append_string(&run->workplace.name, settings->shape);
    return clef_model_make(run->workplace.runtime, settings->shape, &options, &run->workplace.model,
                           error);
}

/* A model's files decide how its weights are stored. */
static clef_status open_directory(bench *run, clef_error *error) {
    const clef_settings *settings = run->settings;
    const char *recipe = choose_recipe(settings->bench_precision);
    const clef_model_options options = {.precision = choose_precision(settings->bench_precision)};
    clef_model_lookup_name(settings->shape, &run->workplace.name);
    clef_status status = clef_model_open(run->workplace.runtime, settings->shape, &options,
                                         &run->workplace.model, error);
    if (status == CLEF_BAD_FILE) {
        clef_workplace_name_directory(settings->shape, error);
    }
    if (status != CLEF_OK || recipe == NULL) {
        return status;
    }
    clef_model_facts facts;
    clef_model_describe(run->workplace.model, &facts);
    return strcmp(facts.precision, recipe) == 0
               ? CLEF_OK
               : clef_fail(error, CLEF_USAGE,
                           "--precision %s is for shapes and models stored like that; %s is %s",
                           recipe, settings->shape, facts.precision);
}

static clef_status open_model(bench *run, clef_error *error) {
    const char *shape = run->settings->shape;
    clef_suggestion best;
    clef_status status;
    if (is_shape(shape, &best)) {
        status = make_shape(run, error);
    } else if (clef_path_exists(shape)) {
        status = open_directory(run, error);
    } else if (best.length > 0) {
        return clef_fail(error, CLEF_USAGE,
                         "--shape takes one of %s or a model directory, not \"%s\"; did you mean "
                         "%.*s?",
                         clef_shape_names(), shape, (int)best.length, best.word);
    } else {
        return clef_fail(error, CLEF_USAGE,
                         "--shape takes one of %s or a model directory, not \"%s\"",
                         clef_shape_names(), shape);
    }
    return status == CLEF_OK
               ? clef_buffer_check(&run->workplace.name, "the name of the shape", error)
               : status;
}

static void describe_subject(bench *run) {
    const clef_settings *settings = run->settings;
    clef_model_facts facts;
    clef_model_describe(run->workplace.model, &facts);
    run->subject = (clef_bench_subject){
        .shape = clef_buffer_text(&run->workplace.name),
        .precision = facts.precision,
        .level = clef_runtime_level(run->workplace.runtime),
        .measures_patches = settings->patches != NULL,
        .layer_count = settings->layer_count,
        .thread_count = clef_runtime_threads(run->workplace.runtime),
        .sequence_count = settings->sequence_count != 0 ? settings->sequence_count : 1,
        .repeat_count = settings->repeat_count != 0 ? settings->repeat_count : DEFAULT_REPEAT,
    };
    if (settings->layer_count == 0) {
        run->subject.layer_count =
            run->subject.measures_patches ? facts.vision_block_count : facts.layer_count;
    }
}

/* ---- measuring ---- */

typedef struct timed_run {
    clef_measured measured;
    double read_speed; /* mean of those just before and just behind it */
} timed_run;

static int compare_times(const void *left, const void *right) {
    const timed_run *a = left;
    const timed_run *b = right;
    return (a->measured.total_ns > b->measured.total_ns) -
           (a->measured.total_ns < b->measured.total_ns);
}

/* Runs of the model and of the peaks in turn; `runs` has room for all. The speed of memory, which
 * others use too, is that of the moment; the other peaks belong to this machine's cores alone, and
 * the best counts. */
static clef_status run_case(const bench *run, clef_measure *measure, timed_run *runs,
                            clef_bench_case *found, clef_error *error) {
    size_t count = run->subject.repeat_count;
    clef_peak peak = clef_measure_peak(measure);
    clef_status status = clef_measure_run(measure, &runs[0].measured, error); /* warms up */
    double before = clef_meter_sample(run->meter, CLEF_PEAK_READ);
    for (size_t i = 0; status == CLEF_OK && i < count; i += 1) {
        (void)clef_meter_sample(run->meter, peak);
        status = clef_measure_run(measure, &runs[i].measured, error);
        double after = clef_meter_sample(run->meter, CLEF_PEAK_READ);
        runs[i].read_speed = (before + after) / 2;
        before = after;
    }
    qsort(runs, count, sizeof *runs, compare_times);
    found->measured = runs[(count - 1) / 2].measured;
    found->read_speed = runs[(count - 1) / 2].read_speed;
    found->peak = clef_meter_peak(run->meter, peak);
    return status;
}

/* The most memory of this case, without what only serves to measure reading. */
static uint64_t find_peak_memory(const bench *run) {
    uint64_t peak = clef_system_memory_peak();
    uint64_t meter = clef_meter_bytes(run->meter);
    return peak > meter ? peak - meter : 0;
}

static clef_status measure_case(const bench *run, uint32_t size, clef_bench_case *found,
                                clef_error *error) {
    clef_measure_options options = {.sequence_count = run->subject.sequence_count,
                                    .rows_per_step = run->settings->rows_per_step,
                                    .layer_count = run->subject.layer_count};
    *(run->subject.measures_patches ? &options.patch_count : &options.token_count) = size;
    clef_measure *measure;
    *found = (clef_bench_case){.size = size};
    timed_run *runs = clef_allocate(run->subject.repeat_count, sizeof *runs);
    if (runs == NULL) {
        return clef_fail_memory(error, run->subject.repeat_count * sizeof *runs, "the runs");
    }
    clef_system_memory_restart_peak();
    clef_status status = clef_measure_create(run->workplace.model, &options, &measure, error);
    if (status == CLEF_OK) {
        status = run_case(run, measure, runs, found, error);
        found->peak_memory_bytes = find_peak_memory(run);
        clef_measure_close(measure);
    }
    clef_release(runs);
    return status;
}

/* Each case is printed when it is done: a long bench is watched, or interrupted. */
static clef_status measure_cases(bench *run, clef_error *error) {
    clef_report_choice form = (clef_report_choice)run->settings->report;
    clef_buffer text = {0};
    clef_status status = CLEF_OK;
    clef_bench_report_begin(&text, form, &run->subject);
    for (size_t i = 0; status == CLEF_OK && i < run->case_count; i += 1) {
        clef_bench_case found;
        status = measure_case(run, run->sizes[i], &found, error);
        if (status == CLEF_OK) {
            clef_bench_report_case(&text, form, &run->subject, &found);
            status = clef_output_write_buffer(&text, error);
            clef_buffer_clear(&text);
        }
    }
    clef_buffer_release(&text);
    return status;
}

static clef_status measure_machine(bench *run, clef_error *error) {
    double peaks[CLEF_PEAK_COUNT];
    clef_buffer text = {0};
    for (int sample = 0; sample < MACHINE_SAMPLES; sample += 1) {
        for (int peak = 0; peak < CLEF_PEAK_COUNT; peak += 1) {
            (void)clef_meter_sample(run->meter, (clef_peak)peak);
        }
    }
    for (int peak = 0; peak < CLEF_PEAK_COUNT; peak += 1) {
        peaks[peak] = clef_meter_peak(run->meter, (clef_peak)peak);
    }
    clef_bench_report_machine(&text, (clef_report_choice)run->settings->report,
                              clef_runtime_level(run->workplace.runtime),
                              clef_runtime_threads(run->workplace.runtime), peaks);
    clef_status status = clef_output_write_buffer(&text, error);
    clef_buffer_release(&text);
    return status;
}

static clef_status run_bench(const clef_invocation *invocation, clef_error *error) {
    bench run = {.settings = invocation->settings};
    if (run.settings->server != NULL) {
        return clef_bench_server_run(invocation, error);
    }
    clef_status status = check_settings(run.settings, error);
    if (status == CLEF_OK) {
        status = read_cases(&run, error);
    }
    if (status == CLEF_OK) {
        status = clef_workplace_start(invocation, &run.workplace, error);
    }
    if (status == CLEF_OK && !run.settings->wants_machine) {
        status = open_model(&run, error);
    }
    if (status == CLEF_OK) {
        status = clef_meter_create(run.workplace.runtime, &run.meter, error);
    }
    if (status == CLEF_OK && run.settings->wants_machine) {
        status = measure_machine(&run, error);
    } else if (status == CLEF_OK) {
        describe_subject(&run);
        status = measure_cases(&run, error);
    }
    clef_meter_close(run.meter);
    clef_workplace_close(&run.workplace);
    return status;
}

const clef_command clef_command_bench = {
    .name = "bench",
    .summary = "Measure the speed of a model's shape beside the peaks of this machine, or of a "
               "server.",
    .synopsis = "bench --shape NAME|DIR [OPTIONS]\n"
                "bench --machine [OPTIONS]\n"
                "bench --server URL [OPTIONS]\n",
    .details =
        "A case runs random tokens through the layers, and through the joint head where there is "
        "one, in steps as a session packs them. The vocabulary of a shape is cut to 4,096 rows. "
        "Peaks are measured between the runs, on the same threads and with the instructions of "
        "the same level; of operations the best of all their short runs counts.\n\n"
        "gflops counts two operations for each weight of the layers' matrices and token, and "
        "nothing else: not the delta rule, attention, norms or head. share_of_peak is gflops over "
        "the whole time, divided by the peak of the type in which the products are computed: "
        "fp32 multiply-adds, bfloat16 dot products, or int8 dot products (int8, int4, mixed). A "
        "type without instructions of its own at the level is held against fp32.\n\n"
        "With --patches a case is one picture of random patches through the vision tower: its "
        "matrices count once for each patch, those of the merger once for each merged cell, which "
        "is a token of the text model.\n\n"
        "bytes_per_second counts what has to pass between memory and processor: weight_bytes, the "
        "stored matrices of the layers once for each step, and state_bytes, the states of delta "
        "layers, read and written once for each step and sequence. share_of_memory divides it by "
        "the speed of reading memory just before and behind the median run: the measure for few "
        "tokens a step. It may pass 1 where the weights fit into a cache.\n\n"
        "parts are seconds and add up to the whole: matrix_products of the layers with the "
        "rounding of their inputs; delta_rule and attention, everything else of their layers' "
        "mixers; head; rest: embedding, norms, activations, additions. peak_memory_bytes is the "
        "most memory of the process during the case, pages of mapped files included as far as they "
        "are in memory, without the bytes that only serve to measure reading.\n\n"
        "With --server nothing is computed here. Five fixed requests (bench/scenarios in the "
        "source; the number behind a name counts its questions) are sent to any server that "
        "answers POST /v1/systemone. Latency: --repeat requests behind two that warm up, one at a "
        "time; new states begin with a ticket number that this run alone uses, repeated ones are "
        "all the same. Throughput: the same requests, about 64 states, are sent twice by a number "
        "of clients at once, and the second pass is timed. model_ms is the server's own "
        "latency_ms, without queue and network; wall_ms is what a client waits. Percentiles are by "
        "nearest rank.",
    .examples = "clef bench --shape clef-flash --layers 4 --tokens 512 --precision bf16\n"
                "clef bench --shape qwen3.5-0.8b --tokens 1,8,512,1024 --output json\n"
                "clef bench --shape clef-flash --patches 1024,4096 --precision bf16\n"
                "clef bench --machine\n"
                "clef bench --server http://127.0.0.1:8008 --scenarios short-6 --clients 1,64\n",
    .groups = {&clef_options_bench, &clef_options_machine, &clef_options_bench_server,
               &clef_options_report, &clef_options_common, NULL},
    .run = run_bench,
};
