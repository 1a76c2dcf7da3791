/* Signals are blocked in every thread and fetched by sigwait, which also works for the first
 * process of a container, where signals without a handler are dropped. */
#include "cli/serve_signals.h"

#include <string.h>
#include <unistd.h>

#define STARTED_SIGNAL SIGUSR2

void clef_serve_signals_begin(clef_serve_signals *signals) {
    struct sigaction before;
    signals->waiter = pthread_self();
    pthread_mutex_init(&signals->lock, NULL);
    sigemptyset(&signals->watched);
    sigaddset(&signals->watched, SIGTERM);
    sigaddset(&signals->watched, SIGHUP);
    sigaddset(&signals->watched, STARTED_SIGNAL);
    /* A shell that starts a job in the background tells it to ignore this one. */
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
        sigaddset(&signals->watched, SIGINT);
    }
    pthread_sigmask(SIG_BLOCK, &signals->watched, NULL);
}

void clef_serve_signals_end(clef_serve_signals *signals) {
    pthread_mutex_destroy(&signals->lock);
}

clef_serve_event clef_serve_signals_wait(clef_serve_signals *signals) {
    int number = 0;
    while (sigwait(&signals->watched, &number) != 0) {
    }
    switch (number) {
    case STARTED_SIGNAL:
        return CLEF_SERVE_STARTED;
    case SIGHUP:
        return CLEF_SERVE_REOPEN;
    default:
        return CLEF_SERVE_STOP;
    }
}

void clef_serve_signals_note_started(void *context, clef_status status, const clef_error *error) {
    clef_serve_signals *signals = context;
    pthread_mutex_lock(&signals->lock);
    signals->status = status;
    signals->error = *error;
    pthread_mutex_unlock(&signals->lock);
    pthread_kill(signals->waiter, STARTED_SIGNAL);
}

clef_status clef_serve_signals_result(clef_serve_signals *signals, clef_error *error) {
    pthread_mutex_lock(&signals->lock);
    clef_status status = signals->status;
    if (status != CLEF_OK) {
        *error = signals->error;
    }
    pthread_mutex_unlock(&signals->lock);
    return status;
}

static void end_now(int number) {
    _exit(128 + number);
}

void clef_serve_signals_end_at_next(void) {
    struct sigaction action;
    sigset_t ending;
    memset(&action, 0, sizeof action);
    action.sa_handler = end_now;
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    struct sigaction before;
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
        sigaction(SIGINT, &action, NULL);
        sigaddset(&ending, SIGINT);
    }
    pthread_sigmask(SIG_UNBLOCK, &ending, NULL);
}
