/* Signals of the server as events that one thread waits for. */
#ifndef CLEF_CLI_SERVE_SIGNALS_H
#define CLEF_CLI_SERVE_SIGNALS_H

#include "base/error.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

typedef struct clef_serve_signals {
    sigset_t watched;
    pthread_t waiter;
    pthread_mutex_t lock;
    clef_status status; /* of the start; guarded by the lock */
    clef_error error;
} clef_serve_signals;

typedef enum clef_serve_event {
    CLEF_SERVE_STARTED, /* the start succeeded or failed */
    CLEF_SERVE_REOPEN,  /* SIGHUP */
    CLEF_SERVE_STOP,    /* SIGTERM, SIGINT */
} clef_serve_event;

/* Holds the signals back from now on, in this thread and those it starts. */
void clef_serve_signals_begin(clef_serve_signals *signals);
void clef_serve_signals_end(clef_serve_signals *signals);

/* Waits for the next event. */
clef_serve_event clef_serve_signals_wait(clef_serve_signals *signals);

/* From any thread: the server is ready or cannot be. Fits clef_server_options.started. */
void clef_serve_signals_note_started(void *context, clef_status status, const clef_error *error);
clef_status clef_serve_signals_result(clef_serve_signals *signals, clef_error *error);

/* From now on SIGTERM and SIGINT end the process at once. */
void clef_serve_signals_end_at_next(void);

#endif
