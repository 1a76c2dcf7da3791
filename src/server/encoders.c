/* One list, one lock, a few threads. */
#include "server/encoders.h"

#include "base/memory.h"

#include <pthread.h>

struct clef_encoders {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    clef_encoder_task *first, *last;
    bool is_ending;
    size_t thread_count;
    pthread_t threads[];
};

static void *run_tasks(void *context) {
    clef_encoders *encoders = context;
    pthread_mutex_lock(&encoders->lock);
    for (;;) {
        clef_encoder_task *task = encoders->first;
        if (task == NULL && encoders->is_ending) {
            break;
        }
        if (task == NULL) {
            pthread_cond_wait(&encoders->changed, &encoders->lock);
            continue;
        }
        encoders->first = task->next;
        if (encoders->first == NULL) {
            encoders->last = NULL;
        }
        pthread_mutex_unlock(&encoders->lock);
        task->run(task);
        pthread_mutex_lock(&encoders->lock);
    }
    pthread_mutex_unlock(&encoders->lock);
    return NULL;
}

clef_status clef_encoders_create(size_t thread_count, clef_encoders **out, clef_error *error) {
    *out = NULL;
    size_t bytes = sizeof(clef_encoders) + thread_count * sizeof(pthread_t);
    clef_encoders *encoders = clef_allocate(1, bytes);
    if (encoders == NULL) {
        return clef_fail_memory(error, bytes, "the encoding threads");
    }
    if (pthread_mutex_init(&encoders->lock, NULL) != 0) {
        clef_release(encoders);
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "cannot make a lock");
    }
    if (pthread_cond_init(&encoders->changed, NULL) != 0) {
        pthread_mutex_destroy(&encoders->lock);
        clef_release(encoders);
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "cannot make a lock");
    }
    while (encoders->thread_count < thread_count) {
        if (pthread_create(&encoders->threads[encoders->thread_count], NULL, run_tasks, encoders) !=
            0) {
            clef_encoders_close(encoders);
            return clef_fail(error, CLEF_OUT_OF_MEMORY, "cannot start an encoding thread");
        }
        encoders->thread_count += 1;
    }
    *out = encoders;
    return CLEF_OK;
}

void clef_encoders_run(clef_encoders *encoders, clef_encoder_task *task) {
    task->next = NULL;
    pthread_mutex_lock(&encoders->lock);
    if (encoders->is_ending) {
        pthread_mutex_unlock(&encoders->lock);
        task->run(task);
        return;
    }
    *(encoders->last == NULL ? &encoders->first : &encoders->last->next) = task;
    encoders->last = task;
    pthread_cond_signal(&encoders->changed);
    pthread_mutex_unlock(&encoders->lock);
}

void clef_encoders_stop(clef_encoders *encoders) {
    if (encoders == NULL) {
        return;
    }
    pthread_mutex_lock(&encoders->lock);
    encoders->is_ending = true;
    pthread_cond_broadcast(&encoders->changed);
    pthread_mutex_unlock(&encoders->lock);
    for (size_t i = 0; i < encoders->thread_count; i += 1) {
        pthread_join(encoders->threads[i], NULL);
    }
    encoders->thread_count = 0;
}

void clef_encoders_close(clef_encoders *encoders) {
    if (encoders == NULL) {
        return;
    }
    clef_encoders_stop(encoders);
    pthread_cond_destroy(&encoders->changed);
    pthread_mutex_destroy(&encoders->lock);
    clef_release(encoders);
}
