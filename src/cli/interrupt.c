/* The program's one variable that outlives a call: a signal handler can reach nothing else. */
#include "cli/interrupt.h"

#include <signal.h>
#include <string.h>

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

bool clef_interrupt_seen(void) {
    return was_interrupted != 0;
}

clef_status clef_interrupt_fail(clef_error *error) {
    return clef_fail(error, CLEF_CANCELLED, "interrupted");
}
