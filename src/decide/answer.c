/* Probabilities, and the answers they make. All numbers of a reply come from unrounded
 * probabilities and are rounded last, each for itself; JSON is written in one pass, in the order
 * of the reply. */
#include "decide/answer.h"

#include "decide/render.h"

#include <math.h>

/* ---- numbers ------------------------------------------------------------------------------- */

static clef_status refuse_logit(const clef_question *question, size_t option, clef_error *error) {
    char name[CLEF_NAME_BYTES], option_name[CLEF_NAME_BYTES];
    clef_render_name(question->id, name);
    clef_render_name(question->options[option].id, option_name);
    return clef_fail(error, CLEF_INTERNAL, "question %s, option %s: the logit is not finite", name,
                     option_name);
}

/* The order of the additions is that of the options, so that the same logits always give the same
 * bits. */
static void soften(const float *logits, size_t count, float *probabilities) {
    float largest = logits[0];
    for (size_t i = 1; i < count; i++) {
        largest = logits[i] > largest ? logits[i] : largest;
    }
    float sum = 0.0f;
    for (size_t i = 0; i < count; i++) {
        probabilities[i] = expf(logits[i] - largest);
        sum += probabilities[i];
    }
    for (size_t i = 0; i < count; i++) {
        probabilities[i] /= sum;
    }
}

clef_status clef_answer_probabilities(const clef_request *request, const float *logits,
                                      float *probabilities, clef_error *error) {
    for (size_t i = 0; i < request->question_count; i++) {
        const clef_question *question = &request->questions[i];
        for (size_t j = 0; j < question->option_count; j++) {
            if (!isfinite(logits[j])) {
                return refuse_logit(question, j, error);
            }
        }
        soften(logits, question->option_count, probabilities);
        logits += question->option_count;
        probabilities += question->option_count;
    }
    return CLEF_OK;
}

clef_decision clef_answer_decide(const clef_question *question, const float *probabilities) {
    clef_decision decision = {0};
    for (size_t i = 0; i < question->option_count; i++) {
        float best = probabilities[decision.best];
        bool is_earlier =
            question->options[i].request_index < question->options[decision.best].request_index;
        if (probabilities[i] > best || (probabilities[i] == best && is_earlier)) {
            decision.best = i;
        }
        if (question->type == CLEF_QUESTION_SCORE) {
            decision.score += (double)i * (double)probabilities[i];
        }
    }
    decision.confidence = (double)probabilities[decision.best];
    return decision;
}

double clef_answer_round(double value) {
    double size = fabs(value);
    if (!(size < 0x1p38)) {
        return value;
    }
    /* The product is rounded, and may have reached the next integer or a half by that. The sign of
     * the fused difference to the half is exact, so it alone decides. */
    double units = floor(size * 10000.0);
    double beyond = fma(size, 10000.0, -(units + 0.5));
    if (beyond > 0.0 || (beyond == 0.0 && fmod(units, 2.0) != 0.0)) {
        units += 1.0;
    }
    return copysign(units / 10000.0, value);
}

/* How far the answer stands above chance, between 0 and 1. */
static double distance_from_chance(const clef_question *question, const clef_decision *decision,
                                   const float *probabilities) {
    double count = (double)question->option_count;
    if (question->option_count == 1) {
        return 1.0;
    }
    if (question->type == CLEF_QUESTION_CHOICE) {
        double chance = 1.0 / count;
        double distance = (decision->confidence - chance) / (1.0 - chance);
        return distance > 0.0 ? distance : 0.0; /* equal probabilities may sum to a little less */
    }
    double spread = 0.0, widest = 0.0;
    for (size_t i = 0; i < question->option_count; i++) {
        spread += (double)probabilities[i] * fabs((double)i - (double)decision->best);
        widest += fabs((double)i - (count - 1.0) / 2.0);
    }
    double distance = 1.0 - spread / (widest / count);
    return distance > 0.0 ? distance : 0.0;
}

/* ---- the response body --------------------------------------------------------------------- */

typedef struct body_writer {
    clef_buffer *out;
    clef_arena *scratch;
    const clef_body_style *style;
} body_writer;

static void write_number(const body_writer *writer, double value) {
    clef_json_write_double(writer->out,
                           writer->style->unrounded ? value : clef_answer_round(value));
}

static void write_confidence(const body_writer *writer, const clef_question *question,
                             const clef_decision *decision, const float *probabilities) {
    clef_buffer_append_string(writer->out, ",\"confidence\":");
    write_number(writer, writer->style->typesafe_confidence
                             ? distance_from_chance(question, decision, probabilities)
                             : decision->confidence);
}

/* Options by their place in the request: order[place] is an index in prompt order. NULL when memory
 * is short. */
static const size_t *order_of_request(const body_writer *writer, const clef_question *question) {
    size_t *order = clef_arena_allocate(writer->scratch, question->option_count, sizeof *order);
    for (size_t i = 0; order != NULL && i < question->option_count; i++) {
        order[question->options[i].request_index] = i;
    }
    return order;
}

static void write_probabilities(const body_writer *writer, const clef_question *question,
                                const float *probabilities) {
    clef_buffer *out = writer->out;
    const size_t *order = order_of_request(writer, question);
    if (order == NULL) {
        out->has_failed = true;
        return;
    }
    clef_buffer_append_string(out, ",\"probabilities\":{");
    for (size_t place = 0; place < question->option_count; place++) {
        if (place > 0) {
            clef_buffer_append_byte(out, ',');
        }
        clef_json_write_string(out, question->options[order[place]].id);
        clef_buffer_append_byte(out, ':');
        write_number(writer, (double)probabilities[order[place]]);
    }
    clef_buffer_append_byte(out, '}');
}

static void write_legend(const body_writer *writer, const clef_question *question) {
    clef_buffer *out = writer->out;
    clef_buffer_append_string(out, ",\"legend\":{");
    for (size_t i = 0; i < question->option_count; i++) {
        if (i > 0) {
            clef_buffer_append_byte(out, ',');
        }
        clef_json_write_string(out, question->options[i].id);
        clef_buffer_append_byte(out, ':');
        clef_render_echo(out, question->options[i].description);
    }
    clef_buffer_append_byte(out, '}');
}

static void write_answer(const body_writer *writer, const clef_question *question,
                         const float *probabilities) {
    clef_buffer *out = writer->out;
    clef_decision decision = clef_answer_decide(question, probabilities);
    clef_buffer_append_format(out, "{\"type\":\"%s\"", clef_question_type_name(question->type));
    switch (question->type) {
    case CLEF_QUESTION_NOUL:
        clef_buffer_append_string(out, ",\"noul\":");
        write_number(writer, (double)probabilities[0]);
        break;
    case CLEF_QUESTION_CHOICE:
        clef_buffer_append_string(out, ",\"choice\":");
        clef_json_write_string(out, question->options[decision.best].id);
        write_confidence(writer, question, &decision, probabilities);
        write_probabilities(writer, question, probabilities);
        break;
    case CLEF_QUESTION_SCORE:
        clef_buffer_append_string(out, ",\"score\":");
        write_number(writer, decision.score);
        write_confidence(writer, question, &decision, probabilities);
        write_legend(writer, question);
        write_probabilities(writer, question, probabilities);
        break;
    }
    clef_buffer_append_byte(out, '}');
}

static void write_usage(const body_writer *writer, size_t input_tokens) {
    clef_buffer *out = writer->out;
    const clef_body_style *style = writer->style;
    clef_buffer_append_format(out, ",\"usage\":{\"input_tokens\":%zu,\"output_tokens\":0",
                              input_tokens);
    if (style->truncation != NULL) {
        clef_buffer_append_format(out, ",\"state_tokens\":%zu,\"state_tokens_used\":%zu",
                                  style->truncation->state_tokens,
                                  style->truncation->state_tokens_used);
    }
    clef_buffer_append_byte(out, '}');
    if (style->has_latency) {
        clef_buffer_append_string(out, ",\"latency_ms\":");
        clef_json_write_double(out, floor(style->latency_ms * 10.0 + 0.5) / 10.0);
    }
    if (style->truncation != NULL) {
        clef_buffer_append_format(out, ",\"truncated\":%s",
                                  style->truncation->is_truncated ? "true" : "false");
    }
}

void clef_answer_write_body(const clef_request *request, const float *probabilities,
                            size_t input_tokens, const clef_body_style *style, clef_arena *scratch,
                            clef_buffer *out) {
    static const clef_body_style reference = {0};
    body_writer writer = {out, scratch, style == NULL ? &reference : style};
    clef_buffer_append_string(out, "{\"model\":");
    clef_json_write_string(out, request->model);
    clef_buffer_append_string(out, ",\"answers\":{");
    for (size_t i = 0; i < request->question_count; i++) {
        const clef_question *question = &request->questions[i];
        if (i > 0) {
            clef_buffer_append_byte(out, ',');
        }
        clef_json_write_string(out, question->id);
        clef_buffer_append_byte(out, ':');
        write_answer(&writer, question, probabilities);
        probabilities += question->option_count;
    }
    clef_buffer_append_byte(out, '}');
    write_usage(&writer, input_tokens);
    clef_buffer_append_byte(out, '}');
}

/* ---- raw answers and encodings ------------------------------------------------------------- */

static void write_span(clef_buffer *out, clef_span span) {
    clef_buffer_append_format(out, "\"span\":[%u,%u]", (unsigned)span.begin, (unsigned)span.end);
}

/* `logits` and `probabilities` are NULL when no model was run. */
static void write_raw_question(clef_buffer *out, const clef_question *question, clef_span span,
                               const clef_span *option_spans, const float *logits,
                               const float *probabilities) {
    clef_buffer_append_string(out, "{\"id\":");
    clef_json_write_string(out, question->id);
    clef_buffer_append_format(out, ",\"type\":\"%s\",", clef_question_type_name(question->type));
    write_span(out, span);
    clef_buffer_append_string(out, ",\"options\":[");
    for (size_t i = 0; i < question->option_count; i++) {
        clef_buffer_append_string(out, i > 0 ? ",{\"id\":" : "{\"id\":");
        clef_json_write_string(out, question->options[i].id);
        clef_buffer_append_byte(out, ',');
        write_span(out, option_spans[i]);
        if (logits != NULL) {
            clef_buffer_append_string(out, ",\"logit\":");
            clef_json_write_float9(out, logits[i]);
            clef_buffer_append_string(out, ",\"probability\":");
            clef_json_write_float9(out, probabilities[i]);
        }
        clef_buffer_append_byte(out, '}');
    }
    clef_buffer_append_string(out, "]}");
}

/* All but the closing brace. */
static void write_record(clef_buffer *out, const clef_request *request, const clef_prompt *prompt,
                         const float *logits, const float *probabilities) {
    clef_buffer_append_string(out, "{\"model\":");
    clef_json_write_string(out, request->model);
    clef_buffer_append_string(out, ",\"input_ids\":[");
    for (size_t i = 0; i < prompt->tokens.count; i++) {
        clef_buffer_append_format(out, i > 0 ? ",%u" : "%u", (unsigned)prompt->tokens.ids[i]);
    }
    clef_buffer_append_string(out, "],\"questions\":[");
    size_t first = 0;
    for (size_t i = 0; i < request->question_count; i++) {
        const clef_question *question = &request->questions[i];
        if (i > 0) {
            clef_buffer_append_byte(out, ',');
        }
        write_raw_question(out, question, prompt->question_spans[i], prompt->option_spans + first,
                           logits == NULL ? NULL : logits + first,
                           probabilities == NULL ? NULL : probabilities + first);
        first += question->option_count;
    }
    clef_buffer_append_byte(out, ']');
}

void clef_answer_write_raw(const clef_request *request, const clef_prompt *prompt,
                           const float *logits, const float *probabilities, clef_buffer *out) {
    write_record(out, request, prompt, logits, probabilities);
    clef_buffer_append_byte(out, '}');
}

void clef_answer_write_encoding(const clef_request *request, const clef_prompt *prompt,
                                clef_buffer *out) {
    write_record(out, request, prompt, NULL, NULL);
    clef_buffer_append_format(out, ",\"state_tokens\":%zu", prompt->state_tokens);
    if (prompt->is_cut_allowed) {
        clef_buffer_append_format(out, ",\"state_tokens_used\":%zu,\"truncated\":%s",
                                  prompt->state_tokens_used,
                                  prompt->is_truncated ? "true" : "false");
    }
    clef_buffer_append_byte(out, '}');
}
