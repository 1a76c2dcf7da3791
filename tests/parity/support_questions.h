/* The questions of a recorded request as the head takes them: spans of tokens, kinds, options. */
#ifndef CLEF_PARITY_SUPPORT_QUESTIONS_H
#define CLEF_PARITY_SUPPORT_QUESTIONS_H

#include "support.h"

#include "model/joint_head.h"

#define QUESTION_LIMIT 8
#define OPTION_LIMIT   32

typedef struct recorded_questions {
    unsigned char types[QUESTION_LIMIT];
    size_t option_counts[QUESTION_LIMIT];
    clef_range question_spans[QUESTION_LIMIT];
    clef_range option_spans[OPTION_LIMIT];
    size_t question_count, option_total;
} recorded_questions;

/* From the line's member "questions". */
void read_questions(const clef_json *line, recorded_questions *questions);

/* A task over tokens; borrows both. */
clef_head_task task_of(const recorded_questions *questions, const uint32_t *tokens, size_t count);

#endif
