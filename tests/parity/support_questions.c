/* Reading of recorded questions. */
#include "support_questions.h"

static clef_range range_of(const clef_json *pair) {
    return (clef_range){(size_t)clef_json_double(pair->first->text),
                        (size_t)clef_json_double(pair->first->next->text)};
}

static unsigned char type_of(clef_text name) {
    const char *const names[] = {"noul", "choice", "score"};
    for (unsigned char type = 0; type < 3; type++) {
        if (clef_text_equals(name, clef_text_of(names[type]))) {
            return type;
        }
    }
    fail_msg("unknown type of question");
    return 0;
}

void read_questions(const clef_json *line, recorded_questions *questions) {
    *questions = (recorded_questions){0};
    const clef_json *question = member(line, "questions")->first;
    for (; question != NULL; question = question->next) {
        const clef_json *options = member(question, "option_spans");
        size_t index = questions->question_count++;
        assert_in_range(questions->question_count, 1, QUESTION_LIMIT);
        assert_in_range(questions->option_total + options->count, 1, OPTION_LIMIT);
        questions->types[index] = type_of(member(question, "type")->text);
        questions->question_spans[index] = range_of(member(question, "question_span"));
        questions->option_counts[index] = options->count;
        for (const clef_json *span = options->first; span != NULL; span = span->next) {
            questions->option_spans[questions->option_total++] = range_of(span);
        }
    }
    assert_true(questions->question_count > 0);
}

clef_head_task task_of(const recorded_questions *questions, const uint32_t *tokens, size_t count) {
    return (clef_head_task){.tokens = tokens,
                            .token_count = count,
                            .question_count = questions->question_count,
                            .option_total = questions->option_total,
                            .types = questions->types,
                            .option_counts = questions->option_counts,
                            .question_spans = questions->question_spans,
                            .option_spans = questions->option_spans};
}
