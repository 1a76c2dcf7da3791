/* One question of a request in another light: asked without the others, or with its options in
 * another order than the sorted one. A request is checked as a whole before anything is left out.
 */
#ifndef CLEF_DECIDE_SELECTION_H
#define CLEF_DECIDE_SELECTION_H

#include "decide/record.h"

typedef struct clef_selection {
    clef_text question;           /* its id */
    bool is_alone;                /* the other questions are left out */
    const uint32_t *option_order; /* [option_count], or NULL: as sorted. Places among the options as
                                     sent, in prompt order; of choice questions only */
    size_t option_count;
} clef_selection;

/* Changes the request; arrays come from `arena`. CLEF_USAGE when there is no such question, when
 * its options have no order to choose, or when the order is none of all its options;
 * CLEF_OUT_OF_MEMORY. */
clef_status clef_request_select(clef_request *request, const clef_selection *selection,
                                clef_arena *arena, clef_error *error);

#endif
