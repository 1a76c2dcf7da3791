/* One pass for each question, answers put together in the order of the request. */
#include "server/separate.h"

#include "server/passes.h"

typedef struct separate_call {
    clef_passes passes;
    const clef_json **questions; /* [count]; empty when the request is none, which encoding tells */
    size_t question_count;
} separate_call;

static clef_status read_request(clef_passes *passes, const clef_json *body, clef_error *error) {
    separate_call *own = (separate_call *)passes;
    const clef_json *questions = clef_json_member(body, "questions");
    passes->count = 1;
    if (questions == NULL || questions->type != CLEF_JSON_OBJECT || questions->count == 0) {
        return CLEF_OK;
    }
    own->questions = clef_arena_allocate(&passes->arena, questions->count, sizeof *own->questions);
    if (own->questions == NULL) {
        return clef_fail_memory(error, questions->count * sizeof *own->questions, "the questions");
    }
    for (const clef_json *value = questions->first; value != NULL; value = value->next) {
        own->questions[own->question_count] = value;
        own->question_count += 1;
    }
    passes->count = own->question_count;
    return CLEF_OK;
}

static void choose_question(const clef_passes *passes, size_t index, clef_record_options *options) {
    const separate_call *own = (const separate_call *)passes;
    if (own->question_count > 0) {
        options->question = own->questions[index]->key.bytes;
        options->question_bytes = own->questions[index]->key.length;
        options->question_alone = true;
    }
}

static clef_status take_answer(clef_passes *passes, size_t index, const clef_json *body,
                               clef_error *error) {
    const clef_json *answer = clef_json_member(body, "answers")->first;
    clef_arena scratch = {0};
    (void)error;
    if (index == 0) {
        clef_buffer_append_string(&passes->results, "{\"model\":");
        clef_json_write_string(&passes->results, clef_json_member(body, "model")->text);
        clef_buffer_append_string(&passes->results, ",\"answers\":{");
    } else {
        clef_buffer_append_byte(&passes->results, ',');
    }
    clef_json_write_string(&passes->results, answer->key);
    clef_buffer_append_byte(&passes->results, ':');
    clef_json_write(&passes->results, answer, false, &scratch);
    clef_arena_release(&scratch);
    return CLEF_OK;
}

static void finish(const clef_passes *passes, clef_buffer *out) {
    clef_buffer_append_text(out, clef_buffer_text(&passes->results));
    clef_buffer_append_format(out, "},\"usage\":{\"input_tokens\":%u,\"output_tokens\":0",
                              passes->input_tokens);
    clef_passes_write_state_tokens(passes, out);
    clef_buffer_append_byte(out, '}');
    clef_passes_write_latency(out, passes->latency_ms);
    clef_passes_write_truncated(passes, out);
    clef_buffer_append_byte(out, '}');
}

void clef_separate_answer(clef_call *call) {
    static const clef_pass_kind kind = {
        .read = read_request,
        .choose = choose_question,
        .take = take_answer,
        .finish = finish,
        .has_unlike_passes = true,
    };
    clef_passes_answer(call, &kind, sizeof(separate_call));
}
