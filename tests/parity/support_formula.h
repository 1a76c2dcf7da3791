/* Tensors made by a formula from their names (fixtures/layers/README.md), so that weights of true
 * size need no files: bfloat16 values, checked against the numbers recorded beside each
 * description. */
#ifndef CLEF_PARITY_SUPPORT_FORMULA_H
#define CLEF_PARITY_SUPPORT_FORMULA_H

#include "support.h"

#include "model/network.h"

/* What a case file says of a tensor. */
typedef struct tensor_formula {
    char name[128];
    size_t rows, columns; /* a vector is one row, a scalar one number */
    float scale, offset;
} tensor_formula;

tensor_formula formula_of(const clef_json *entry);

/* Values from index `first` of a formula as bfloat16, on all CPUs. Returns their sum. */
double fill_formula(const tensor_formula *formula, uint64_t first, size_t count, uint16_t *out);

/* A whole tensor in the arena, as stored or widened to fp32. Where the entry gives the first four
 * values, the last one or the sum, they must be equal. */
clef_weight formula_weight(const clef_json *entry, clef_arena *arena);
float *formula_floats(const clef_json *entry, clef_arena *arena);

/* Members of a case file. */
const clef_json *load_case(const char *name, clef_arena *arena);
uint32_t size_member(const clef_json *object, const char *key);
double number_member(const clef_json *object, const char *key);
double number_of(const clef_json *value);

#endif
