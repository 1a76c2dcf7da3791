/* Works on the request's own arrays: answers, spans and prompt follow from them. */
#include "decide/selection.h"

#include "decide/render.h"

static clef_question *find_question(const clef_request *request, clef_text id) {
    for (size_t i = 0; i < request->question_count; i++) {
        if (clef_text_equals(request->questions[i].id, id)) {
            return &request->questions[i];
        }
    }
    return NULL;
}

static clef_status refuse_order(const clef_question *question, size_t count, clef_error *error) {
    char name[CLEF_NAME_BYTES];
    clef_render_name(question->id, name);
    return clef_fail(error, CLEF_USAGE,
                     "%s: %zu places are no order of the %zu options of a %s question", name, count,
                     question->option_count, clef_question_type_name(question->type));
}

static clef_status order_options(clef_question *question, const clef_selection *selection,
                                 clef_arena *arena, clef_error *error) {
    size_t count = question->option_count;
    if (question->type != CLEF_QUESTION_CHOICE || selection->option_count != count) {
        return refuse_order(question, selection->option_count, error);
    }
    clef_option *sent = clef_arena_allocate(arena, count, sizeof *sent);
    if (sent == NULL) {
        return clef_fail_memory(error, count * sizeof *sent, "the order of options");
    }
    for (size_t i = 0; i < count; i++) {
        sent[question->options[i].request_index] = question->options[i];
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t place = selection->option_order[i];
        /* An option that was taken has lost its id. */
        if (place >= count || sent[place].id.bytes == NULL) {
            return refuse_order(question, count, error);
        }
        question->options[i] = sent[place];
        sent[place].id.bytes = NULL;
    }
    return CLEF_OK;
}

clef_status clef_request_select(clef_request *request, const clef_selection *selection,
                                clef_arena *arena, clef_error *error) {
    clef_question *question = find_question(request, selection->question);
    if (question == NULL) {
        char name[CLEF_NAME_BYTES];
        clef_render_name(selection->question, name);
        return clef_fail(error, CLEF_USAGE, "%s: there is no such question", name);
    }
    clef_status status = CLEF_OK;
    if (selection->option_order != NULL) {
        status = order_options(question, selection, arena, error);
    }
    if (status == CLEF_OK && selection->is_alone) {
        request->questions = question;
        request->question_count = 1;
        request->option_count = question->option_count;
    }
    return status;
}
