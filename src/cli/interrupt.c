/* The program's one variable that outlives a call: a signal handler can reach nothing else. */
#include "cli/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t was_interrupted;

static void note_signal(int number) {
    (void)number;
    was_interrupted = 1;
}

/* A signal that whoever started us told us to ignore stays ignored. */
static void watch_signal(int number, const struct sigaction *action) {
    struct sigaction before;
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
        sigaction(number, action, NULL);
    }
}

void clef_interrupt_watch(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note_signal;
    sigemptyset(&action.sa_mask);
    action.sa_flags = (int)SA_RESETHAND;
    watch_signal(SIGINT, &action);
    watch_signal(SIGTERM, &action);
}

/* Only calls that are allowed in a handler. */
static void explain_lost_file(int number) {
    static const char message[] =
        "clef: a file of the model was cut short or became unreadable while it was in use\n";
    (void)number;
    ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
    (void)written;
    _exit(clef_status_exit(CLEF_BAD_FILE));
}

void clef_interrupt_explain_lost_files(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = explain_lost_file;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

bool clef_interrupt_seen(void) {
    return was_interrupted != 0;
}

clef_status clef_interrupt_fail(clef_error *error) {
    return clef_fail(error, CLEF_CANCELLED, "interrupted");
}
