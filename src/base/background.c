/* A mutex, a condition for either side, and a loop. */
#include "base/background.h"

#include "base/memory.h"
#include "base/thread.h"

struct clef_background {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void (*task)(void *context); /* NULL: nothing to do */
    void *context;
    bool is_closing;
};

static void *run(void *argument) {
    clef_background *background = argument;
    pthread_mutex_lock(&background->mutex);
    for (;;) {
        while (background->task == NULL && !background->is_closing) {
            pthread_cond_wait(&background->changed, &background->mutex);
        }
        if (background->task == NULL) {
            break;
        }
        pthread_mutex_unlock(&background->mutex);
        background->task(background->context);
        pthread_mutex_lock(&background->mutex);
        background->task = NULL;
        pthread_cond_broadcast(&background->changed);
    }
    pthread_mutex_unlock(&background->mutex);
    return NULL;
}

clef_status clef_background_create(clef_background **out, clef_error *error) {
    clef_background *background = clef_allocate(1, sizeof *background);
    *out = NULL;
    if (background == NULL) {
        return clef_fail_memory(error, sizeof *background, "a thread");
    }
    pthread_mutex_init(&background->mutex, NULL);
    pthread_cond_init(&background->changed, NULL);
    if (!clef_thread_start(&background->thread, run, background)) {
        pthread_cond_destroy(&background->changed);
        pthread_mutex_destroy(&background->mutex);
        clef_release(background);
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "the system gives no thread for writing files");
    }
    *out = background;
    return CLEF_OK;
}

void clef_background_start(clef_background *background, void (*task)(void *context),
                           void *context) {
    pthread_mutex_lock(&background->mutex);
    background->task = task;
    background->context = context;
    pthread_cond_broadcast(&background->changed);
    pthread_mutex_unlock(&background->mutex);
}

bool clef_background_is_busy(clef_background *background) {
    pthread_mutex_lock(&background->mutex);
    bool is_busy = background->task != NULL;
    pthread_mutex_unlock(&background->mutex);
    return is_busy;
}

void clef_background_wait(clef_background *background) {
    pthread_mutex_lock(&background->mutex);
    while (background->task != NULL) {
        pthread_cond_wait(&background->changed, &background->mutex);
    }
    pthread_mutex_unlock(&background->mutex);
}

void clef_background_close(clef_background *background) {
    if (background == NULL) {
        return;
    }
    pthread_mutex_lock(&background->mutex);
    background->is_closing = true;
    pthread_cond_broadcast(&background->changed);
    pthread_mutex_unlock(&background->mutex);
    pthread_join(background->thread, NULL);
    pthread_cond_destroy(&background->changed);
    pthread_mutex_destroy(&background->mutex);
    clef_release(background);
}
