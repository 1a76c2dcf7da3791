/* Preloaded into the server under test: while it is armed, every CLEF_FAIL_EVERY-th allocation of
 * the process fails. SIGRTMIN arms and disarms. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_int is_armed;
static atomic_ulong counter;
static unsigned long every = 1000;

static void toggle(int number) {
    (void)number;
    atomic_fetch_xor(&is_armed, 1);
}

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("CLEF_FAIL_EVERY");
    struct sigaction action = {.sa_handler = toggle, .sa_flags = SA_RESTART};
    every = text == NULL ? every : strtoul(text, NULL, 10);
    sigaction(SIGRTMIN, &action, NULL);
}

static int fails(void) {
    if (atomic_load(&is_armed) == 0 || atomic_fetch_add(&counter, 1) % every != every - 1) {
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) {
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    return fails() ? NULL : __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : __libc_memalign(alignment, size);
}
