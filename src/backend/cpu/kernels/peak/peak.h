/* The most one thread can do: nothing but multiply-adds of one kind on values that stay in
 * registers, or nothing but reading. What other kernels reach is held against these.
 *
 * peak_fma       fp32 multiply-adds
 * peak_bf16_dot  products of bfloat16, summed in fp32
 * peak_int8_dot  products of bytes, summed in 32-bit integers
 *     do blocks × CLEF_PEAK_BLOCK multiply-adds of pair[0]·pair[1] and write the sum of them all.
 *     pair[0] is not negative; blocks × |pair[0]·pair[1]| is at most CLEF_PEAK_BLOCK_LIMIT, so
 *     that every sum is exact and all levels agree to the bit.
 * peak_read      reads `count` words and writes their sum modulo 2³². */
#ifndef CLEF_KERNELS_PEAK_H
#define CLEF_KERNELS_PEAK_H

#include <stddef.h>
#include <stdint.h>

/* A multiple of what one round of any level does. */
#define CLEF_PEAK_BLOCK 6144
/* The widest share of a block that one fp32 sum takes is 192: 65,536 of them stay below 2²⁴. */
#define CLEF_PEAK_BLOCK_LIMIT 65536

typedef void clef_peak_kernel(size_t blocks, const int8_t pair[2], double *sum);
typedef void clef_peak_read_kernel(const uint32_t *words, size_t count, double *sum);

#endif
