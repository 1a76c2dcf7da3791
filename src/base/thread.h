/* Threads of the library: signals belong to the threads of the program, so these take none. */
#ifndef CLEF_BASE_THREAD_H
#define CLEF_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* False when the system gives no thread. */
bool clef_thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);

#endif
