/* The table of kernels in use, made from kernels.def: filled with the reference, then overwritten
 * by each level that is allowed, lowest first. */
#ifndef CLEF_BACKEND_CPU_KERNEL_TABLE_H
#define CLEF_BACKEND_CPU_KERNEL_TABLE_H

#include "backend/cpu/cpu_levels.h"
#include "backend/cpu/kernels/activation/activation.h"
#include "backend/cpu/kernels/attention/attention.h"
#include "backend/cpu/kernels/delta_rule/delta_rule.h"
#include "backend/cpu/kernels/frame_attention/frame_attention.h"
#include "backend/cpu/kernels/frame_attention/frame_attention_bf16.h"
#include "backend/cpu/kernels/matmul/matmul.h"
#include "backend/cpu/kernels/norm/norm.h"
#include "backend/cpu/kernels/peak/peak.h"
#include "backend/cpu/kernels/rotary/rotary.h"
#include "backend/cpu/kernels/schema_head/schema_head.h"
#include "backend/cpu/kernels/short_convolution/short_convolution.h"

typedef struct clef_kernel_table {
#define CLEF_OPERATION(operation, type) type *operation;
#include "backend/cpu/kernels.def"
} clef_kernel_table;

/* Declarations of all kernels; the contract type of an operation declares its functions. */
#define CLEF_OPERATION(operation, type) typedef type clef_kernel_type_##operation;
#include "backend/cpu/kernels.def"
#define CLEF_KERNEL(operation, level, function, agreement) clef_kernel_type_##operation function;
#include "backend/cpu/kernels.def"

/* Kernels of `level` and the levels below it. */
clef_kernel_table clef_kernel_table_of(clef_level level);

#endif
