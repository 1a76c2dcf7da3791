/* The first run has the options sorted, as every request; each other one a fresh shuffle of that.
 * All shuffles come from one generator, seeded by the body. */
#include "server/permute.h"

#include "server/passes.h"
#include "server/shuffle.h"

#include <math.h>
#include <stdlib.h>

#define DEFAULT_RUNS 6
#define RUN_LIMIT    64
/* Spreads have nine decimals; probabilities at most that many that mean anything. */
#define SPREAD_SCALE 1e9

typedef struct sorted_option {
    clef_text id;
    uint32_t place; /* among the options as sent */
} sorted_option;

typedef struct permute_call {
    clef_passes passes;
    const clef_json *question; /* NULL: the request has no such choice question */
    bool is_joint;             /* the other questions stay in the request */
    size_t option_count;
    clef_text *ids;   /* [option_count] as sent */
    uint32_t *orders; /* [count][option_count] places as sent, in prompt order */
    double *least;    /* [option_count] as sent: smallest probability of all runs */
    double *most;     /* [option_count] as sent */
    clef_text choice; /* of the first run */
    bool has_other;   /* another run chose another option */
} permute_call;

/* ---- reading ---- */

/* Writes a value as it was read: numbers keep their spelling, which clef_json_write would change
 * before the prompt's own writer sees it. Nesting is bounded by the parser. */
static void copy_value(clef_buffer *out, const clef_json *value) {
    static const char *const words[] = {"null", "false", "true"};
    bool is_object = value->type == CLEF_JSON_OBJECT;
    switch (value->type) {
    case CLEF_JSON_NULL:
    case CLEF_JSON_FALSE:
    case CLEF_JSON_TRUE:
        clef_buffer_append_string(out, words[value->type]);
        return;
    case CLEF_JSON_NUMBER:
        clef_buffer_append_text(out, value->text);
        return;
    case CLEF_JSON_STRING:
        clef_json_write_string(out, value->text);
        return;
    case CLEF_JSON_ARRAY:
    case CLEF_JSON_OBJECT:
        break;
    }
    clef_buffer_append_byte(out, is_object ? '{' : '[');
    for (const clef_json *child = value->first; child != NULL; child = child->next) {
        if (is_object) {
            clef_json_write_string(out, child->key);
            clef_buffer_append_byte(out, ':');
        }
        copy_value(out, child);
        clef_buffer_append_string(out, child->next != NULL ? "," : "");
    }
    clef_buffer_append_byte(out, is_object ? '}' : ']');
}

/* The choice question that the body names, or NULL. */
static const clef_json *find_question(const clef_json *body, const clef_json *request) {
    const clef_json *name = clef_json_member(body, "question");
    const clef_json *questions = clef_json_member(request, "questions");
    if (name == NULL || name->type != CLEF_JSON_STRING || questions == NULL) {
        return NULL;
    }
    const clef_json *question = clef_json_member_text(questions, name->text);
    const clef_json *type = clef_json_member(question, "type");
    const clef_json *criteria = clef_json_member(question, "criteria");
    bool is_choice = type != NULL && type->type == CLEF_JSON_STRING &&
                     clef_text_equals(type->text, CLEF_TEXT("choice"));
    bool has_options =
        criteria != NULL && criteria->type == CLEF_JSON_OBJECT && criteria->count > 0;
    return is_choice && has_options ? question : NULL;
}

static bool is_given(const clef_json *value) {
    return value != NULL && value->type != CLEF_JSON_NULL;
}

static clef_status read_switches(permute_call *own, const clef_json *body, clef_shuffler *shuffler,
                                 clef_error *error) {
    const clef_json *runs = clef_json_member(body, "n_perm");
    const clef_json *seed = clef_json_member(body, "seed");
    const clef_json *joint = clef_json_member(body, "joint");
    uint64_t count = DEFAULT_RUNS;
    if (is_given(runs) && (runs->type != CLEF_JSON_NUMBER || !clef_json_unsigned(runs, &count) ||
                           count < 1 || count > RUN_LIMIT)) {
        return clef_passes_refuse(error, "n_perm", "n_perm must be an integer from 1 to 64");
    }
    bool is_number = is_given(seed) && seed->type == CLEF_JSON_NUMBER;
    if (!clef_shuffler_seed(shuffler, is_number ? seed->text : CLEF_TEXT("0")) ||
        (is_given(seed) && !is_number)) {
        return clef_passes_refuse(error, "seed", "seed must be an integer");
    }
    if (is_given(joint) && joint->type != CLEF_JSON_TRUE && joint->type != CLEF_JSON_FALSE) {
        return clef_passes_refuse(error, "joint", "joint must be true or false");
    }
    own->is_joint = is_given(joint) && joint->type == CLEF_JSON_TRUE;
    own->passes.count = (size_t)count;
    return CLEF_OK;
}

static int compare_options(const void *a, const void *b) {
    const sorted_option *first = a, *second = b;
    return clef_text_compare(first->id, second->id);
}

/* The order of every request: sorted by id. */
static void sort_options(permute_call *own, sorted_option *sorted) {
    for (uint32_t i = 0; i < own->option_count; i += 1) {
        sorted[i] = (sorted_option){own->ids[i], i};
    }
    qsort(sorted, own->option_count, sizeof *sorted, compare_options);
}

static clef_status make_orders(permute_call *own, clef_shuffler *shuffler, clef_error *error) {
    const clef_json *criteria = clef_json_member(own->question, "criteria");
    clef_arena *arena = &own->passes.arena;
    size_t count = criteria->count, total = own->passes.count * count;
    sorted_option *sorted = clef_arena_allocate(arena, count, sizeof *sorted);
    own->ids = clef_arena_allocate(arena, count, sizeof *own->ids);
    own->orders = clef_arena_allocate(arena, total, sizeof *own->orders);
    own->least = clef_arena_allocate(arena, count, sizeof *own->least);
    own->most = clef_arena_allocate(arena, count, sizeof *own->most);
    if (sorted == NULL || own->ids == NULL || own->orders == NULL || own->least == NULL ||
        own->most == NULL) {
        return clef_fail_memory(error, total * sizeof *own->orders, "the orders of options");
    }
    for (const clef_json *value = criteria->first; value != NULL; value = value->next) {
        own->ids[own->option_count] = value->key;
        own->option_count += 1;
    }
    sort_options(own, sorted);
    for (size_t i = 0; i < total; i += 1) {
        own->orders[i] = sorted[i % count].place;
    }
    for (size_t run = 1; run < own->passes.count; run += 1) {
        clef_shuffler_shuffle(shuffler, own->orders + run * count, count);
    }
    return CLEF_OK;
}

static clef_status read_request(clef_passes *passes, const clef_json *body, clef_error *error) {
    permute_call *own = (permute_call *)passes;
    const clef_json *request = clef_json_member(body, "request");
    clef_shuffler shuffler;
    if (request == NULL || request->type != CLEF_JSON_OBJECT) {
        return clef_passes_refuse(error, "request", "request must be a decision request");
    }
    passes->place = "request";
    copy_value(&passes->copy, request);
    clef_status status = clef_buffer_check(&passes->copy, "the request", error);
    passes->request = clef_buffer_text(&passes->copy);
    own->question = find_question(body, request);
    passes->count = 1;
    if (status != CLEF_OK || own->question == NULL) {
        return status;
    }
    status = read_switches(own, body, &shuffler, error);
    return status == CLEF_OK ? make_orders(own, &shuffler, error) : status;
}

/* Without a question the request is encoded whole: its own faults come first. */
static clef_status check_question(const clef_passes *passes, clef_error *error) {
    const permute_call *own = (const permute_call *)passes;
    return own->question != NULL
               ? CLEF_OK
               : clef_passes_refuse(error, "question",
                                    "question must be an existing choice question");
}

static void choose_order(const clef_passes *passes, size_t index, clef_record_options *options) {
    const permute_call *own = (const permute_call *)passes;
    if (own->question == NULL) {
        return;
    }
    options->question = own->question->key.bytes;
    options->question_bytes = own->question->key.length;
    options->question_alone = !own->is_joint;
    if (index > 0) {
        options->option_order = own->orders + index * own->option_count;
        options->option_order_count = (uint32_t)own->option_count;
    }
}

/* ---- answering ---- */

static void write_order(const permute_call *own, size_t run, clef_buffer *out) {
    const uint32_t *order = own->orders + run * own->option_count;
    clef_buffer_append_string(out, run > 0 ? ",{\"order\":[" : "{\"order\":[");
    for (size_t i = 0; i < own->option_count; i += 1) {
        clef_buffer_append_string(out, i > 0 ? "," : "");
        clef_json_write_string(out, own->ids[order[i]]);
    }
    clef_buffer_append_byte(out, ']');
}

/* Probabilities stand in the order of the request, in every run. */
static void widen_ranges(permute_call *own, size_t run, const clef_json *probabilities) {
    size_t i = 0;
    for (const clef_json *value = probabilities->first; value != NULL && i < own->option_count;
         value = value->next) {
        double probability = clef_json_double(value->text);
        own->least[i] = run == 0 || probability < own->least[i] ? probability : own->least[i];
        own->most[i] = run == 0 || probability > own->most[i] ? probability : own->most[i];
        i += 1;
    }
}

static clef_status take_answer(clef_passes *passes, size_t run, const clef_json *body,
                               clef_error *error) {
    permute_call *own = (permute_call *)passes;
    const clef_json *answer =
        clef_json_member_text(clef_json_member(body, "answers"), own->question->key);
    const clef_json *probabilities = clef_json_member(answer, "probabilities");
    const clef_json *choice = clef_json_member(answer, "choice");
    clef_buffer *out = &passes->results;
    clef_arena scratch = {0};
    if (probabilities == NULL || choice == NULL) {
        return clef_fail(error, CLEF_INTERNAL, "an answer without probabilities");
    }
    if (run == 0) {
        own->choice = clef_arena_copy(&passes->arena, choice->text);
        if (own->choice.bytes == NULL) {
            return clef_fail_memory(error, choice->text.length, "the id of an option");
        }
    }
    own->has_other = own->has_other || !clef_text_equals(choice->text, own->choice);
    widen_ranges(own, run, probabilities);
    write_order(own, run, out);
    clef_buffer_append_string(out, ",\"probabilities\":");
    clef_json_write(out, probabilities, false, &scratch);
    clef_buffer_append_string(out, ",\"choice\":");
    clef_json_write_string(out, choice->text);
    clef_buffer_append_string(out, ",\"latency_ms\":");
    clef_json_write(out, clef_json_member(body, "latency_ms"), false, &scratch);
    clef_buffer_append_byte(out, '}');
    clef_arena_release(&scratch);
    return CLEF_OK;
}

static void finish(const clef_passes *passes, clef_buffer *out) {
    const permute_call *own = (const permute_call *)passes;
    clef_buffer_append_string(out, "{\"runs\":[");
    clef_buffer_append_text(out, clef_buffer_text(&passes->results));
    clef_buffer_append_format(out, "],\"argmax_stable\":%s,\"spread\":{",
                              own->has_other ? "false" : "true");
    for (size_t i = 0; i < own->option_count; i += 1) {
        clef_buffer_append_string(out, i > 0 ? "," : "");
        clef_json_write_string(out, own->ids[i]);
        clef_buffer_append_byte(out, ':');
        /* A difference of decimals, without the noise of their binary forms. */
        clef_json_write_double(out, floor((own->most[i] - own->least[i]) * SPREAD_SCALE + 0.5) /
                                        SPREAD_SCALE);
    }
    clef_buffer_append_byte(out, '}');
    clef_passes_write_state_tokens(passes, out);
    clef_passes_write_truncated(passes, out);
    clef_buffer_append_byte(out, '}');
}

void clef_permute_answer(clef_call *call) {
    static const clef_pass_kind kind = {
        .read = read_request,
        .check = check_question,
        .choose = choose_order,
        .take = take_answer,
        .finish = finish,
    };
    clef_passes_answer(call, &kind, sizeof(permute_call));
}
