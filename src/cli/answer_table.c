/* First all texts are measured, then the columns are shared out, then the lines are written. Ids
 * and labels come from a request and may hold anything; only display_text.h writes them. */
#include "cli/answer_table.h"

#include "base/json.h"
#include "cli/display_text.h"

enum {
    STACKED_BELOW = 50,    /* columns; narrower tables give each fact of a question its own line */
    OPTION_INDENT = 4,     /* two blanks, the mark of the best option, a blank */
    PROBABILITY_CELLS = 6, /* 0.1234 */
    TYPE_CELLS = 6,        /* choice */
    BAR_LEAST = 4,
    BAR_MOST = 40,
    BAR_WANTED = 20, /* cells kept free for bars before names may grow */
    LABEL_LEAST = 12,
    GAP = 2,
};

typedef struct answer_table {
    clef_buffer *out;
    const clef_answer *answer;
    const clef_terminal *terminal;
    clef_buffer scratch; /* the text being measured or written */
    bool is_stacked;
    size_t id_cells, answer_cells;             /* columns of a question's line */
    size_t name_cells, bar_cells, label_cells; /* columns of an option's line; 0: left out */
    const clef_json *answers; /* the reply, when confidence must be looked up there; or NULL */
} answer_table;

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t most(size_t a, size_t b) {
    return a > b ? a : b;
}

static bool is_type(const clef_answer_question *question, const char *type) {
    return strcmp(question->type, type) == 0;
}

/* An id is shown as it is; the empty one must not look like nothing. */
static clef_text show_id(const char *id, size_t bytes) {
    return bytes > 0 ? (clef_text){id, bytes} : CLEF_TEXT("\"\"");
}

/* "billing", "true", "1.82 (Today)". */
static clef_text format_answer(answer_table *table, uint32_t index,
                               const clef_answer_question *question) {
    clef_answer_option best;
    clef_buffer_clear(&table->scratch);
    if (clef_answer_option_at(table->answer, index, question->best, &best)) {
        if (is_type(question, "score")) {
            clef_buffer_append_format(&table->scratch, "%.2f (", question->score);
            clef_buffer_append(&table->scratch, best.label, best.label_bytes);
            clef_buffer_append_byte(&table->scratch, ')');
        } else {
            clef_buffer_append_text(&table->scratch, show_id(best.id, best.id_bytes));
        }
    }
    return clef_buffer_text(&table->scratch);
}

/* The id of an option; for a level also what it stands for. */
static clef_text format_name(answer_table *table, const clef_answer_question *question,
                             const clef_answer_option *option) {
    clef_buffer_clear(&table->scratch);
    clef_buffer_append_text(&table->scratch, show_id(option->id, option->id_bytes));
    if (is_type(question, "score")) {
        clef_buffer_append_byte(&table->scratch, ' ');
        clef_buffer_append(&table->scratch, option->label, option->label_bytes);
    }
    return clef_buffer_text(&table->scratch);
}

/* The description of a choice's option when it says more than the id. */
static clef_text find_label(const clef_answer_question *question,
                            const clef_answer_option *option) {
    clef_text label = {option->label, option->label_bytes};
    clef_text id = {option->id, option->id_bytes};
    return is_type(question, "choice") && !clef_text_equals(label, id) ? label : CLEF_TEXT("");
}

/* Widest id, answer, name and label into the table's columns, still without limits. */
static void measure_texts(answer_table *table) {
    bool is_utf8 = table->terminal->is_utf8;
    clef_answer_question question;
    for (uint32_t i = 0; clef_answer_question_at(table->answer, i, &question); i += 1) {
        clef_text id = show_id(question.id, question.id_bytes);
        table->id_cells = most(table->id_cells, clef_display_width(id, is_utf8));
        clef_text answer = format_answer(table, i, &question);
        table->answer_cells = most(table->answer_cells, clef_display_width(answer, is_utf8));
        clef_answer_option option;
        for (uint32_t j = 0; clef_answer_option_at(table->answer, i, j, &option); j += 1) {
            clef_text name = format_name(table, &question, &option);
            table->name_cells = most(table->name_cells, clef_display_width(name, is_utf8));
            clef_text label = find_label(&question, &option);
            table->label_cells = most(table->label_cells, clef_display_width(label, is_utf8));
        }
    }
}

/* Shares out what the texts want. Names come first, because an option without its name is worth
 * nothing, then a bar of readable length, then descriptions; what is left makes the bar longer. */
static void share_columns(answer_table *table) {
    size_t columns = table->terminal->columns;
    table->is_stacked = columns < STACKED_BELOW;
    if (!table->is_stacked) {
        size_t room = columns - TYPE_CELLS - PROBABILITY_CELLS - 3 * GAP;
        table->id_cells = least(table->id_cells, room / 2);
        table->answer_cells = least(table->answer_cells, room - table->id_cells);
    }
    size_t room = columns - OPTION_INDENT - 1 - PROBABILITY_CELLS;
    size_t kept = table->is_stacked ? 0 : 1 + BAR_WANTED;
    table->name_cells = least(table->name_cells, room - kept);
    room -= table->name_cells;
    table->bar_cells = room > BAR_LEAST ? least(room - 1, BAR_MOST) : 0;
    if (table->label_cells > 0 && table->bar_cells > BAR_WANTED) {
        /* Descriptions may take from a long bar. */
        size_t wanted = least(table->label_cells + GAP + 1, room - BAR_WANTED);
        table->bar_cells = least(table->bar_cells, room - wanted);
    }
    room -= table->bar_cells > 0 ? table->bar_cells + 1 : 0;
    table->label_cells = room >= GAP + LABEL_LEAST ? least(table->label_cells, room - GAP) : 0;
}

static void append_colour(const answer_table *table, const char *code) {
    if (table->terminal->has_colour) {
        clef_buffer_append_string(table->out, code);
    }
}

#define BOLD  "\x1b[1m"
#define GREEN "\x1b[32m"
#define CYAN  "\x1b[36m"
#define DIM   "\x1b[2m"
#define PLAIN "\x1b[0m"

/* Length of a bar in eighths of a cell; whole cells where there are no characters for less. */
static size_t count_eighths(const answer_table *table, double probability) {
    double share = probability < 0.0 ? 0.0 : probability > 1.0 ? 1.0 : probability;
    if (!table->terminal->is_utf8) {
        return 8 * (size_t)(share * (double)table->bar_cells + 0.5);
    }
    return (size_t)(share * (double)(8 * table->bar_cells) + 0.5);
}

/* Returns the cells used. */
static size_t append_bar(answer_table *table, size_t eighths) {
    clef_buffer *out = table->out;
    bool is_utf8 = table->terminal->is_utf8;
    size_t used = eighths / 8;
    append_colour(table, CYAN);
    for (size_t i = 0; i < used; i += 1) {
        clef_buffer_append_string(out, is_utf8 ? "\xe2\x96\x88" : "#");
    }
    if (eighths % 8 > 0) {
        /* U+258F is one eighth, U+2589 seven. */
        const char part[3] = {'\xe2', '\x96', (char)(0x90 - (int)(eighths % 8))};
        clef_buffer_append(out, part, sizeof part);
        used += 1;
    }
    append_colour(table, PLAIN);
    return used;
}

/* The bar and the label behind the probability; nothing, not even blanks, when both are empty. */
static void append_bar_and_label(answer_table *table, double probability, clef_text label) {
    size_t eighths = count_eighths(table, probability);
    bool has_label = table->label_cells > 0 && label.length > 0;
    if (table->bar_cells == 0 || (eighths == 0 && !has_label)) {
        return;
    }
    clef_buffer_append_byte(table->out, ' ');
    size_t used = append_bar(table, eighths);
    if (has_label) {
        clef_display_append_blanks(table->out, table->bar_cells - used + GAP);
        append_colour(table, DIM);
        clef_display_append(table->out, label, table->label_cells, table->terminal->is_utf8);
        append_colour(table, PLAIN);
    }
}

static void append_option(answer_table *table, const clef_answer_question *question,
                          const clef_answer_option *option, bool is_best) {
    clef_buffer *out = table->out;
    append_colour(table, is_best ? BOLD GREEN : "");
    clef_buffer_append_string(out, is_best ? "  > " : "    ");
    clef_display_append_column(out, format_name(table, question, option), table->name_cells,
                               table->terminal->is_utf8);
    clef_buffer_append_format(out, " %.4f", (double)option->probability);
    append_colour(table, is_best ? PLAIN : "");
    append_bar_and_label(table, (double)option->probability, find_label(question, option));
    clef_buffer_append_byte(out, '\n');
}

/* The confidence that was asked for: from the reply if it was fetched, else the probability. */
static double find_confidence(const answer_table *table, const clef_answer_question *question) {
    clef_text id = {question->id, question->id_bytes};
    const clef_json *answer = clef_json_member_text(table->answers, id);
    const clef_json *confidence = clef_json_member(answer, "confidence");
    return confidence != NULL ? clef_json_double(confidence->text) : question->confidence;
}

static void append_question(answer_table *table, uint32_t index,
                            const clef_answer_question *question) {
    clef_buffer *out = table->out;
    bool is_utf8 = table->terminal->is_utf8;
    size_t columns = table->terminal->columns;
    clef_text id = show_id(question->id, question->id_bytes);
    double confidence = find_confidence(table, question);
    append_colour(table, BOLD);
    /* Narrow: what is too long for its line is cut there, and no column is shared. */
    if (table->is_stacked) {
        clef_display_append(out, id, columns, is_utf8);
        append_colour(table, PLAIN);
        clef_buffer_append_format(out, "\n  %s ", question->type);
        clef_display_append(out, format_answer(table, index, question),
                            columns - 3 - strlen(question->type), is_utf8);
        clef_buffer_append_format(out, "\n  confidence %.4f\n", confidence);
        return;
    }
    clef_display_append_column(out, id, table->id_cells, is_utf8);
    append_colour(table, PLAIN);
    clef_buffer_append_format(out, "  %-*s  ", TYPE_CELLS, question->type);
    append_colour(table, BOLD GREEN);
    clef_display_append_column(out, format_answer(table, index, question), table->answer_cells,
                               is_utf8);
    append_colour(table, PLAIN);
    clef_buffer_append_format(out, "  %.4f\n", confidence);
}

static void append_questions(answer_table *table) {
    clef_answer_question question;
    for (uint32_t i = 0; clef_answer_question_at(table->answer, i, &question); i += 1) {
        clef_buffer_append_string(table->out, i > 0 ? "\n" : "");
        append_question(table, i, &question);
        clef_answer_option option;
        for (uint32_t j = 0; clef_answer_option_at(table->answer, i, j, &option); j += 1) {
            append_option(table, &question, &option, j == question.best);
        }
    }
    clef_answer_usage usage;
    clef_answer_describe(table->answer, &usage);
    if (usage.is_truncated) {
        clef_buffer_append_format(table->out, "\nstate tokens read:%s%u of %u\n",
                                  table->is_stacked ? "\n  " : " ", usage.state_tokens_used,
                                  usage.state_tokens);
    }
}

/* The reply's "answers", where the library has put confidence as it was asked for. */
static clef_status read_answers(answer_table *table, clef_confidence confidence, clef_arena *arena,
                                char **json, clef_error *error) {
    const clef_answer_style style = {.confidence = confidence};
    size_t bytes = 0;
    clef_json *body = NULL;
    clef_status status = clef_answer_json(table->answer, &style, json, &bytes, error);
    if (status == CLEF_OK) {
        status = clef_json_parse((clef_text){*json, bytes}, arena, &body, error);
    }
    if (status == CLEF_OK) {
        table->answers = clef_json_member(body, "answers");
    }
    return status;
}

clef_status clef_answer_table_append(clef_buffer *out, const clef_answer *answer,
                                     const clef_terminal *terminal, clef_confidence confidence,
                                     clef_error *error) {
    answer_table table = {.out = out, .answer = answer, .terminal = terminal};
    clef_arena arena = {0};
    char *json = NULL;
    clef_status status = CLEF_OK;
    if (confidence != CLEF_CONFIDENCE_PROBABILITY) {
        status = read_answers(&table, confidence, &arena, &json, error);
        if (status != CLEF_OK) {
            goto fail;
        }
    }
    measure_texts(&table);
    share_columns(&table);
    append_questions(&table);
    status = clef_buffer_check(&table.scratch, "a line of the table", error);
    if (status == CLEF_OK) {
        status = clef_buffer_check(out, "the table", error);
    }
fail:
    clef_buffer_release(&table.scratch);
    clef_text_free(json);
    clef_arena_release(&arena);
    return status;
}
