/* An answer: probabilities beside the record they belong to. */
#include "engine/handles.h"

#include "base/memory.h"
#include "decide/render.h"

/* A copy that ends in NUL; false when memory is short. */
static bool copy_text(clef_answer *answer, clef_text text, clef_text *copy) {
    *copy = clef_arena_copy(&answer->arena, text);
    return copy->bytes != NULL;
}

/* What people should read beside an option: its description, else its id. */
static bool copy_option(clef_answer *answer, const clef_option *option, clef_buffer *buffer,
                        size_t index) {
    clef_text label = option->id;
    if (option->description != NULL && !option->has_default) {
        label = clef_render_value(option->description, buffer, &answer->arena);
    }
    return !buffer->has_failed && copy_text(answer, option->id, &answer->option_ids[index]) &&
           copy_text(answer, label, &answer->labels[index]);
}

static bool copy_texts(clef_answer *answer, clef_buffer *buffer) {
    const clef_request *request = answer->record->request;
    size_t options = request->option_count;
    answer->question_ids =
        clef_arena_allocate(&answer->arena, request->question_count, sizeof(clef_text));
    answer->option_ids = clef_arena_allocate(&answer->arena, options, sizeof(clef_text));
    answer->labels = clef_arena_allocate(&answer->arena, options, sizeof(clef_text));
    if (answer->question_ids == NULL || answer->option_ids == NULL || answer->labels == NULL) {
        return false;
    }
    for (size_t i = 0, first = 0; i < request->question_count; i++) {
        const clef_question *question = &request->questions[i];
        if (!copy_text(answer, question->id, &answer->question_ids[i])) {
            return false;
        }
        for (size_t j = 0; j < question->option_count; j++) {
            if (!copy_option(answer, &question->options[j], buffer, first + j)) {
                return false;
            }
        }
        first += question->option_count;
    }
    return true;
}

static clef_status make_texts(clef_answer *answer, clef_error *error) {
    clef_buffer buffer = {0};
    bool is_made = copy_texts(answer, &buffer);
    clef_buffer_release(&buffer);
    return is_made ? CLEF_OK
                   : clef_fail_memory(error, answer->arena.used_bytes, "the texts of an answer");
}

clef_status clef_answer_create(clef_record *record, const float *logits, double latency_ms,
                               size_t cached_tokens, clef_answer **out, clef_error *error) {
    *out = NULL;
    size_t count = record->request->option_count;
    clef_answer *answer = clef_allocate(1, sizeof *answer);
    if (answer == NULL) {
        return clef_fail_memory(error, sizeof *answer, "an answer");
    }
    answer->record = clef_record_share(record);
    answer->latency_ms = latency_ms;
    answer->cached_tokens = (uint32_t)cached_tokens;
    answer->logits = clef_arena_allocate(&answer->arena, count, sizeof(float));
    answer->probabilities = clef_arena_allocate(&answer->arena, count, sizeof(float));
    clef_status status = CLEF_OK;
    if (answer->logits == NULL || answer->probabilities == NULL) {
        status = clef_fail_memory(error, count * sizeof(float), "an answer");
    }
    if (status == CLEF_OK) {
        memcpy(answer->logits, logits, count * sizeof(float));
        status = clef_answer_probabilities(record->request, logits, answer->probabilities, error);
    }
    if (status == CLEF_OK) {
        status = make_texts(answer, error);
    }
    if (status != CLEF_OK) {
        clef_answer_close(answer);
        return status;
    }
    *out = answer;
    return CLEF_OK;
}

clef_status clef_answer_repeat(const clef_answer *answer, clef_record *record,
                               clef_answer **repeated, clef_error *error) {
    *repeated = NULL;
    if (!clef_record_equals(answer->record, record)) {
        return clef_fail(error, CLEF_USAGE, "the answer is that of another computation");
    }
    return clef_answer_create(record, answer->logits, answer->latency_ms, answer->cached_tokens,
                              repeated, error);
}

void clef_answer_close(clef_answer *answer) {
    if (answer == NULL) {
        return;
    }
    clef_record_close(answer->record);
    clef_arena_release(&answer->arena);
    clef_release(answer);
}

clef_status clef_answer_json(const clef_answer *answer, const clef_answer_style *style, char **json,
                             size_t *bytes, clef_error *error) {
    clef_answer_style chosen = style == NULL ? (clef_answer_style){0} : *style;
    const clef_record *record = answer->record;
    clef_buffer buffer = {0};
    clef_arena scratch = {0};
    if (chosen.format == CLEF_ANSWER_RAW) {
        clef_answer_write_raw(record->request, &record->prompt, answer->logits,
                              answer->probabilities, &buffer);
    } else {
        clef_body_style body = {
            .unrounded = chosen.unrounded,
            .typesafe_confidence = chosen.confidence == CLEF_CONFIDENCE_TYPESAFE,
            .has_latency = chosen.with_latency,
            .latency_ms = answer->latency_ms,
            .truncation = record->prompt.is_cut_allowed ? &record->prompt : NULL,
        };
        clef_answer_write_body(record->request, answer->probabilities, record->prompt.tokens.count,
                               &body, &scratch, &buffer);
    }
    clef_arena_release(&scratch);
    clef_status status = clef_buffer_check(&buffer, "an answer", error);
    *json = clef_buffer_take(&buffer, bytes);
    return status;
}

uint32_t clef_answer_question_count(const clef_answer *answer) {
    return (uint32_t)answer->record->request->question_count;
}

/* The question and the place of its first option; NULL when there is none. */
static const clef_question *question_at(const clef_answer *answer, uint32_t index,
                                        size_t *first_option) {
    const clef_request *request = answer->record->request;
    if (index >= request->question_count) {
        return NULL;
    }
    *first_option = 0;
    for (uint32_t i = 0; i < index; i++) {
        *first_option += request->questions[i].option_count;
    }
    return &request->questions[index];
}

bool clef_answer_question_at(const clef_answer *answer, uint32_t index,
                             clef_answer_question *result) {
    size_t first;
    const clef_question *question = question_at(answer, index, &first);
    if (question == NULL) {
        return false;
    }
    clef_decision decision = clef_answer_decide(question, answer->probabilities + first);
    *result = (clef_answer_question){
        .id = answer->question_ids[index].bytes,
        .id_bytes = answer->question_ids[index].length,
        .type = clef_question_type_name(question->type),
        .option_count = (uint32_t)question->option_count,
        .best = (uint32_t)question->options[decision.best].request_index,
        .confidence = decision.confidence,
        .score = decision.score,
    };
    return true;
}

bool clef_answer_option_at(const clef_answer *answer, uint32_t index, uint32_t option,
                           clef_answer_option *result) {
    size_t first;
    const clef_question *question = question_at(answer, index, &first);
    for (size_t j = 0; question != NULL && j < question->option_count; j++) {
        if (question->options[j].request_index == option) {
            *result = (clef_answer_option){
                .id = answer->option_ids[first + j].bytes,
                .id_bytes = answer->option_ids[first + j].length,
                .label = answer->labels[first + j].bytes,
                .label_bytes = answer->labels[first + j].length,
                .logit = answer->logits[first + j],
                .probability = answer->probabilities[first + j],
            };
            return true;
        }
    }
    return false;
}

void clef_answer_describe(const clef_answer *answer, clef_answer_usage *usage) {
    const clef_prompt *prompt = &answer->record->prompt;
    *usage = (clef_answer_usage){.input_tokens = (uint32_t)prompt->tokens.count,
                                 .cached_tokens = answer->cached_tokens,
                                 .state_tokens = (uint32_t)prompt->state_tokens,
                                 .state_tokens_used = (uint32_t)prompt->state_tokens_used,
                                 .is_truncated = prompt->is_truncated,
                                 .latency_ms = answer->latency_ms};
}
