/* A request, checked: state and typed questions, before it becomes tokens. Knows JSON, no tokens.
 */
#ifndef CLEF_DECIDE_RECORD_H
#define CLEF_DECIDE_RECORD_H

#include "base/json.h"

/* Order of the values is that of the head's type embedding. */
typedef enum clef_question_type {
    CLEF_QUESTION_NOUL,
    CLEF_QUESTION_CHOICE,
    CLEF_QUESTION_SCORE,
} clef_question_type;

typedef struct clef_option {
    clef_text id;                 /* as sent: option id, "true"/"false", or the level number */
    const clef_json *description; /* NULL: left out of the prompt */
    size_t request_index;         /* its place among the question's options as sent */
    bool has_default;             /* the description is not the client's but the format's */
} clef_option;

typedef struct clef_question {
    clef_text id;
    clef_question_type type;
    const clef_json *instructions; /* NULL: the id stands for them */
    clef_option *options;          /* [option_count] in prompt order */
    size_t option_count;
} clef_question;

typedef struct clef_request {
    clef_text model;
    const clef_json *state;
    clef_question *questions; /* [question_count] in request order */
    size_t question_count;
    size_t option_count; /* of all questions */
    /* Media as sent: */
    const clef_json *images, *videos; /* lists that are not empty, or NULL */
    const clef_json *media_arguments; /* media_kwargs, an object, or NULL; NULL without media */
} clef_request;

/* Zero means the default beside each field. */
typedef struct clef_request_limits {
    size_t questions; /* 64 */
    size_t options;   /* 255, of one choice */
    size_t levels;    /* 255, of one score */
} clef_request_limits;

/* Parses and checks a request body in the order of the wire contract (the first failure answers).
 * The request and all it points to live in `arena`; `body` must outlive them. `limits` may be NULL.
 * CLEF_BAD_TEXT, CLEF_BAD_REQUEST, CLEF_OVER_LIMIT, CLEF_OUT_OF_MEMORY, with kind and place set. */
clef_status clef_request_parse(clef_text body, const clef_request_limits *limits, clef_arena *arena,
                               clef_request **out, clef_error *error);

/* "noul", "choice" or "score". */
const char *clef_question_type_name(clef_question_type type);

#endif
