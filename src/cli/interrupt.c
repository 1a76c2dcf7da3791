/* The program's one variable that outlives a call: a signal handler can reach nothing else. */
#include "cli/interrupt.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t was_interrupted;

static void note_signal(int number) {
    (void)number;
    was_interrupted = 1;
}

void clef_interrupt_watch(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note_signal;
    sigemptyset(&action.sa_mask);
    action.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool clef_interrupt_seen(void) {
    return was_interrupted != 0;
}

clef_status clef_interrupt_fail(clef_error *error) {
    return clef_fail(error, CLEF_CANCELLED, "interrupted");
}
