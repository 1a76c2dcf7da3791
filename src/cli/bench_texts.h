/* The bytes of bench/scenarios/<name>.json; cmake/embed.cmake makes their C files when building. */
#ifndef CLEF_CLI_BENCH_TEXTS_H
#define CLEF_CLI_BENCH_TEXTS_H

#include <stddef.h>

extern const unsigned char clef_bench_triage_bytes[];
extern const size_t clef_bench_triage_length;
extern const unsigned char clef_bench_short_2_bytes[];
extern const size_t clef_bench_short_2_length;
extern const unsigned char clef_bench_short_6_bytes[];
extern const size_t clef_bench_short_6_length;
extern const unsigned char clef_bench_medium_5_bytes[];
extern const size_t clef_bench_medium_5_length;
extern const unsigned char clef_bench_long_5_bytes[];
extern const size_t clef_bench_long_5_length;

#endif
