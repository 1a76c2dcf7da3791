/* Requests with pictures and videos from token ids on: patches through the tower, features and
 * positions into the decoder, logits of the head near the float64 ones; the same bits in steps of
 * 64 rows on all CPUs. Requests whose pictures only a decoder could give are left out and counted.
 */
#include "support_patches.h"
#include "support_questions.h"
#include "support_stage.h"
#include "support_vectors.h"

#include "base/memory.h"
#include "model/media_positions.h"

#include <math.h>
#include <stdio.h>

#define LOGIT_BOUND       1.5e-4
#define PROBABILITY_BOUND 2e-5

enum { PICTURE_LIMIT = 4, FRAME_LIMIT = 6, RUN_LIMIT = 16 };

#define SQUARE "rgb-16x16.png.resized" /* in arrays.safetensors */

/* What a request shows: frames as they were sampled. */
static const struct shown_media {
    const char *name;
    size_t image_count; /* the first media are pictures */
    const char *frames[PICTURE_LIMIT][FRAME_LIMIT];
} shown[] = {
    {"one-image", 1, {{SQUARE}}},
    {"one-video", 0, {{"frames/00.png", "frames/07.png", "frames/14.png", "frames/21.png"}}},
    {"long-video", 0, {{"frames/00.png", "frames/10.png", "frames/19.png", "frames/29.png"}}},
    {"not-sampled",
     0,
     {{"frames-odd/00.png", "frames-odd/01.png", "frames-odd/02.png", "frames-odd/03.png",
       "frames-odd/04.png"}}},
    {"same-image-twice",
     2,
     {{SQUARE},
      {SQUARE},
      {"frames/00.png", "frames/29.png"},
      {"frames-odd/03.png", "frames-odd/04.png"}}},
};
#define SHOWN_COUNT (sizeof shown / sizeof shown[0])

typedef struct media_request {
    const clef_network *network;
    uint32_t *tokens;
    unsigned char *types; /* of the tokens */
    size_t count;
    recorded_questions questions;
    double logits[OPTION_LIMIT]; /* float64 */
    cut_picture media[PICTURE_LIMIT];
    clef_vision_picture pictures[PICTURE_LIMIT];
    size_t media_count, image_count;
} media_request;

typedef struct parity {
    clef_model *model;
    const char *level;
    size_t compared, left_out;
    double worst_logit, worst_probability;
} parity;

/* ---- the request ---- */

static void cut_media(media_request *request, const struct shown_media *media) {
    clef_safetensors *arrays = open_vectors("tiny-random/media/arrays.safetensors");
    clef_safetensors *frames = open_vectors("tiny-random/media/frames.safetensors");
    request->image_count = media->image_count;
    while (request->media_count < PICTURE_LIMIT && media->frames[request->media_count][0] != NULL) {
        size_t index = request->media_count++;
        const char *const *names = media->frames[index];
        size_t count = 1;
        while (count < FRAME_LIMIT && names[count] != NULL) {
            count++;
        }
        request->media[index] =
            cut_frames(index < media->image_count ? arrays : frames, names, count);
        request->pictures[index] = picture_of(&request->media[index]);
    }
    clef_safetensors_close(arrays);
    clef_safetensors_close(frames);
}

static void read_tokens(media_request *request, const clef_json *line) {
    const clef_config *config = &request->network->config;
    const clef_json *id = member(line, "token_ids")->first;
    request->count = member(line, "token_ids")->count;
    request->tokens = clef_allocate(request->count, sizeof *request->tokens);
    request->types = clef_allocate(request->count, 1);
    assert_non_null(request->tokens);
    assert_non_null(request->types);
    for (size_t i = 0; i < request->count; i++, id = id->next) {
        uint32_t token = (uint32_t)clef_json_double(id->text);
        request->tokens[i] = token;
        request->types[i] = token == config->image_token_id   ? CLEF_TOKEN_IMAGE
                            : token == config->video_token_id ? CLEF_TOKEN_VIDEO
                                                              : CLEF_TOKEN_TEXT;
    }
}

static void read_logits(media_request *request, const clef_json *line) {
    double *out = request->logits;
    const clef_json *question = member(line, "questions")->first;
    for (; question != NULL; question = question->next) {
        const clef_json *logit = member(question, "logits_float64")->first;
        for (; logit != NULL; logit = logit->next) {
            *out++ = clef_json_double(logit->text);
        }
    }
}

/* ---- our side ---- */

/* Everything that media add to a sequence. */
typedef struct placed_media {
    clef_feature_run runs[RUN_LIMIT];
    clef_features features;
    clef_position_table table;
    float *rows;        /* owned */
    int32_t *positions; /* owned */
} placed_media;

static void run_tower(const media_request *request, test_stage *stage, size_t row_limit,
                      placed_media *placed) {
    clef_error error = {0};
    clef_vision_workspace workspace;
    size_t rows = 0;
    for (size_t i = 0; i < request->media_count; i++) {
        rows += clef_patch_grid_features(request->pictures[i].grid, 2);
    }
    size_t columns = request->network->config.hidden_size;
    placed->rows = clef_allocate(rows * columns, sizeof *placed->rows);
    assert_non_null(placed->rows);
    placed->features.rows = (clef_matrix){placed->rows, rows, columns, columns};
    assert_ok(clef_vision_workspace_create(request->network, request->pictures,
                                           request->media_count, row_limit, &workspace, &error),
              &error);
    clef_vision_pass pass = {request->network, stage->backend, &workspace, NULL};
    clef_vision_tower_run(&pass, request->pictures, request->media_count, placed->features.rows);
    clef_vision_workspace_release(&workspace);
}

static void place_tokens(const media_request *request, placed_media *placed) {
    clef_error error = {0};
    clef_patch_grid grids[PICTURE_LIMIT];
    for (size_t i = 0; i < request->media_count; i++) {
        grids[i] = request->pictures[i].grid;
    }
    const clef_media_grids all = {grids, grids + request->image_count, request->image_count,
                                  request->media_count - request->image_count, 2};
    placed->positions = clef_allocate(3 * request->count, sizeof *placed->positions);
    assert_non_null(placed->positions);
    placed->table = (clef_position_table){placed->positions, request->count, 0};
    assert_ok(clef_media_positions_make(request->types, request->count, &all, placed->positions,
                                        &placed->table.shift, &error),
              &error);
    placed->features.runs = placed->runs;
    placed->features.run_count =
        clef_feature_runs_find(request->types, request->count, placed->runs, RUN_LIMIT);
    assert_in_range(placed->features.run_count, 1, RUN_LIMIT);
}

static void compute(const media_request *request, const char *level, unsigned threads,
                    size_t step_rows, float *logits) {
    clef_error error = {0};
    test_stage stage;
    clef_head_reading reading;
    placed_media placed = {0};
    clef_head_task task = task_of(&request->questions, request->tokens, request->count);
    const clef_features *features = &placed.features;
    open_stage(&stage, request->network, step_rows, threads, level);
    run_tower(request, &stage, step_rows, &placed);
    place_tokens(request, &placed);
    assert_ok(clef_head_reading_create(request->network, &task, &reading, &error), &error);
    for (size_t first = 0; first < request->count; first += step_rows) {
        size_t left = request->count - first;
        size_t rows = left < step_rows ? left : step_rows;
        clef_pass pass = begin_step(&stage, request->tokens + first, rows, 0, NULL);
        clef_head_reading *readings = &reading;
        clef_positions_fill(&placed.table, &stage.slice, rows, stage.positions);
        pass.step.features = &features;
        clef_decoder_run(&pass);
        clef_head_observe(&pass, &readings, stage.parts);
        end_step(&stage);
    }
    assert_ok(clef_head_decide(request->network, stage.backend, &reading, stage.sequence->pages,
                               NULL, logits, &error),
              &error);
    clef_head_reading_release(&reading);
    close_stage(&stage);
    clef_release(placed.rows);
    clef_release(placed.positions);
}

/* ---- comparing ---- */

static double sum_exponentials(const double *logits, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += exp(logits[i]);
    }
    return sum;
}

static void compare_logits(parity *with, const char *name, const media_request *request,
                           const float *found) {
    size_t first = 0;
    for (size_t q = 0; q < request->questions.question_count; q++) {
        double ours[OPTION_LIMIT];
        const double *exact = request->logits + first;
        size_t count = request->questions.option_counts[q];
        for (size_t i = 0; i < count; i++) {
            ours[i] = found[first + i];
        }
        for (size_t i = 0; i < count; i++) {
            double logit = fabs(ours[i] - exact[i]);
            double probability = fabs(exp(ours[i]) / sum_exponentials(ours, count) -
                                      exp(exact[i]) / sum_exponentials(exact, count));
            with->worst_logit = fmax(with->worst_logit, logit);
            with->worst_probability = fmax(with->worst_probability, probability);
            assert_within(name, logit, LOGIT_BOUND);
            assert_within(name, probability, PROBABILITY_BOUND);
        }
        first += count;
    }
}

static void compare_request(parity *with, const struct shown_media *media, const clef_json *line) {
    media_request request = {.network = &with->model->network};
    float whole[OPTION_LIMIT], sliced[OPTION_LIMIT];
    cut_media(&request, media);
    read_tokens(&request, line);
    read_questions(line, &request.questions);
    read_logits(&request, line);
    compute(&request, with->level, 1, (request.count + 63) / 64 * 64, whole);
    compute(&request, with->level, 0, CLEF_GRID, sliced);
    assert_memory_equal(sliced, whole, request.questions.option_total * sizeof *whole);
    compare_logits(with, media->name, &request, whole);
    for (size_t i = 0; i < request.media_count; i++) {
        clef_release(request.media[i].patches);
    }
    clef_release(request.tokens);
    clef_release(request.types);
    with->compared++;
}

static void compare_line(void *context, size_t number, clef_text text) {
    parity *with = context;
    clef_arena arena = {0};
    const clef_json *line = parse_json(text, &arena);
    (void)number;
    for (size_t i = 0; i <= SHOWN_COUNT; i++) {
        if (i == SHOWN_COUNT) {
            with->left_out++;
        } else if (clef_text_equals(member(line, "name")->text, clef_text_of(shown[i].name))) {
            compare_request(with, &shown[i], line);
            break;
        }
    }
    clef_arena_release(&arena);
}

static void compare_level(void *context, const char *level) {
    parity with = {.model = context, .level = level};
    char lines[1024];
    snprintf(lines, sizeof lines, "%s", fixture("tiny-random/media/requests.jsonl"));
    for_each_line(lines, compare_line, &with);
    assert_int_equal(with.compared, SHOWN_COUNT);
    assert_int_equal(with.left_out, 3);
    print_message("%-12s %zu requests (%zu that need a decoder left out): worst logit %.2g, "
                  "probability %.2g\n",
                  level, with.compared, with.left_out, with.worst_logit, with.worst_probability);
}

static void requests_equal_the_recorded_ones(void **state) {
    (void)state;
    clef_model *model = open_tiny_model();
    for_each_level(compare_level, model);
    clef_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_equal_the_recorded_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
