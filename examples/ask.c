/* Asks a model three questions about a message and prints what it decides, with <clef/clef.h>
 * alone.
 *
 *     cc ask.c -o ask $(pkg-config --cflags --libs clef)
 *     ./ask $(pkg-config --variable=modeldir clef)/clef-tiny
 *
 * (After installing under a new prefix: sudo ldconfig, or set LD_LIBRARY_PATH.) */
#include <clef/clef.h>
#include <stdio.h>
#include <string.h>

static const char request[] =
    "{\"model\":\"clef-tiny\","
    "\"state\":\"Our checkout started returning errors and orders are blocked.\","
    "\"questions\":{"
    "\"department\":{\"type\":\"choice\",\"instructions\":\"Which team should handle the "
    "message?\","
    "\"criteria\":{\"billing\":\"Payments or invoices\",\"technical\":\"Bugs or outages\"}},"
    "\"urgency\":{\"type\":\"score\",\"instructions\":\"How urgent is the message?\","
    "\"criteria\":[\"Can wait\",\"This week\",\"Today\"]},"
    "\"outage\":{\"type\":\"noul\",\"instructions\":\"Is a service down?\"}}}";

int main(int argument_count, char **arguments) {
    const char *directory = argument_count > 1 ? arguments[1] : "models/clef-tiny";
    static clef_error error;
    clef_runtime *runtime = NULL;
    clef_model *model = NULL;
    clef_record *record = NULL;
    clef_session *session = NULL;
    clef_answer *answer = NULL;
    /* Each call needs the one before it; CLEF_OK is 0, so the first failure ends the chain. */
    if (clef_runtime_create(NULL, &runtime, &error) ||
        clef_model_open(runtime, directory, NULL, &model, &error) ||
        clef_record_encode(model, request, strlen(request), NULL, &record, &error) ||
        clef_session_create(model, NULL, &session, &error) ||
        clef_session_decide(session, record, &answer, &error)) {
        fprintf(stderr, "%s: %s\n", error.place, error.message);
    }
    clef_answer_question question;
    clef_answer_option best;
    for (uint32_t i = 0; answer != NULL && clef_answer_question_at(answer, i, &question); i++) {
        clef_answer_option_at(answer, i, question.best, &best);
        printf("%-12s %-18s %.2f\n", question.id, best.label, (double)best.probability);
    }
    clef_answer_close(answer);
    clef_session_close(session);
    clef_record_close(record);
    clef_model_close(model);
    clef_runtime_close(runtime);
    return clef_status_exit(error.status);
}
