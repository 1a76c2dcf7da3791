/* Clusters of CPU features that select kernels. Each x86 level implies those before it. */
#ifndef CLEF_BACKEND_CPU_LEVELS_H
#define CLEF_BACKEND_CPU_LEVELS_H

#include <stdbool.h>

/* Kernels above the reference are built for this machine type. */
#if defined(__x86_64__)
#define CLEF_HAS_X86_LEVELS 1
#else
#define CLEF_HAS_X86_LEVELS 0
#endif

/* X(name), lowest first. */
#define CLEF_LEVEL_LIST(X) X(reference) X(avx2) X(avx512) X(avx512vnni) X(avx512bf16)

typedef enum clef_level {
#define CLEF_LEVEL_ENUM(name) CLEF_LEVEL_##name,
    CLEF_LEVEL_LIST(CLEF_LEVEL_ENUM)
#undef CLEF_LEVEL_ENUM
        CLEF_LEVEL_COUNT
} clef_level;

const char *clef_level_name(clef_level level);

/* The CPU has the features of this level and the operating system saves their registers. */
bool clef_level_is_supported(clef_level level);

/* The highest supported level that is not slower than the one below it. */
clef_level clef_level_best(void);

/* false when there is no level of that name. */
bool clef_level_parse(const char *name, clef_level *level);

#endif
