/* The runtime: the threads, and which kernels. Every session makes its backend from it. */
#include "engine/handles.h"

#include "base/machine.h"
#include "base/memory.h"

#include <stdio.h>

#define TEXT_OF(x)       #x
#define TEXT_OF_VALUE(x) TEXT_OF(x)

const char *clef_version(void) {
    return TEXT_OF_VALUE(CLEF_VERSION_MAJOR) "." TEXT_OF_VALUE(
        CLEF_VERSION_MINOR) "." TEXT_OF_VALUE(CLEF_VERSION_PATCH);
}

clef_status clef_runtime_create(const clef_runtime_options *options, clef_runtime **out,
                                clef_error *error) {
    *out = NULL;
    clef_runtime_options chosen = options == NULL ? (clef_runtime_options){0} : *options;
    if (chosen.thread_count > CLEF_THREAD_LIMIT) {
        return clef_fail(error, CLEF_USAGE, "%u threads, over the limit of %d", chosen.thread_count,
                         CLEF_THREAD_LIMIT);
    }
    unsigned threads = chosen.thread_count;
    if (threads == 0) {
        threads = clef_machine_cpus();
        threads = threads > CLEF_THREAD_LIMIT ? CLEF_THREAD_LIMIT : threads;
    }
    clef_runtime *runtime = clef_allocate(1, sizeof *runtime);
    if (runtime == NULL) {
        return clef_fail_memory(error, sizeof *runtime, "the runtime");
    }
    /* A backend checks the level's name and says which levels there are. */
    clef_backend *backend;
    clef_status status = clef_cpu_backend_create(NULL, chosen.cpu_level, &backend, error);
    if (status != CLEF_OK) {
        clef_release(runtime);
        return status;
    }
    atomic_init(&runtime->references, 1);
    snprintf(runtime->level, sizeof runtime->level, "%s", backend->level);
    snprintf(runtime->levels, sizeof runtime->levels, "%s", backend->levels);
    clef_backend_destroy(backend);
    status = clef_thread_pool_create(threads, &runtime->pool, error);
    if (status != CLEF_OK) {
        clef_release(runtime);
        return status;
    }
    *out = runtime;
    return CLEF_OK;
}

clef_runtime *clef_runtime_share(clef_runtime *runtime) {
    atomic_fetch_add(&runtime->references, 1);
    return runtime;
}

void clef_runtime_close(clef_runtime *runtime) {
    if (runtime != NULL && atomic_fetch_sub(&runtime->references, 1) == 1) {
        clef_thread_pool_close(runtime->pool);
        clef_release(runtime);
    }
}

uint32_t clef_runtime_threads(const clef_runtime *runtime) {
    return clef_thread_pool_size(runtime->pool);
}

const char *clef_runtime_level(const clef_runtime *runtime) {
    return runtime->level;
}

const char *clef_runtime_levels(const clef_runtime *runtime) {
    return runtime->levels;
}
