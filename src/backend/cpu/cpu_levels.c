/* Asks CPU and operating system, through the compiler's run-time check, which does both. */
#include "backend/cpu/cpu_levels.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const names[CLEF_LEVEL_COUNT] = {
#define CLEF_LEVEL_NAME(name) #name,
    CLEF_LEVEL_LIST(CLEF_LEVEL_NAME)
#undef CLEF_LEVEL_NAME
};

const char *clef_level_name(clef_level level) {
    return names[level];
}

#if defined(__x86_64__)
/* F16C. Clang's check does not know the name; the system saves its registers with those of AVX. */
static bool has_half_conversions(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

static bool has_features(clef_level level) {
    switch (level) {
    case CLEF_LEVEL_avx2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               has_half_conversions();
    case CLEF_LEVEL_avx512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    case CLEF_LEVEL_avx512vnni:
        return __builtin_cpu_supports("avx512vnni");
    case CLEF_LEVEL_avx512bf16:
        return __builtin_cpu_supports("avx512bf16");
    case CLEF_LEVEL_reference:
    case CLEF_LEVEL_COUNT:
        break;
    }
    return true;
}
#else
static bool has_features(clef_level level) {
    return level == CLEF_LEVEL_reference;
}
#endif

bool clef_level_is_supported(clef_level level) {
    for (int lower = 0; lower <= (int)level; lower++) {
        if (!has_features((clef_level)lower)) {
            return false;
        }
    }
    return true;
}

/* Intel's cores start a bfloat16 dot product every second cycle, so that two fp32 multiply-adds a
 * cycle do twice its work (docs/performance-log.md); AMD's do it at twice the rate of fp32. */
static bool is_slow(clef_level level) {
#if defined(__x86_64__)
    return level == CLEF_LEVEL_avx512bf16 && __builtin_cpu_is("intel");
#else
    (void)level;
    return false;
#endif
}

clef_level clef_level_best(void) {
    int level = CLEF_LEVEL_COUNT - 1;
    while (level > 0 &&
           (!clef_level_is_supported((clef_level)level) || is_slow((clef_level)level))) {
        level--;
    }
    return (clef_level)level;
}

bool clef_level_parse(const char *name, clef_level *level) {
    for (int i = 0; i < CLEF_LEVEL_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            *level = (clef_level)i;
            return true;
        }
    }
    return false;
}
