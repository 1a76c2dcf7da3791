/* Starting a thread with every signal blocked. */
#include "base/thread.h"

#include <signal.h>

bool clef_thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure == 0;
}
