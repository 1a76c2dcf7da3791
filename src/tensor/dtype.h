/* Number types of stored tensors, and exact widening to fp32. */
#ifndef CLEF_TENSOR_DTYPE_H
#define CLEF_TENSOR_DTYPE_H

#include "base/text.h"

/* X(name, safetensors spelling, bytes an element) */
#define CLEF_DTYPE_LIST(X)                                                                         \
    X(F32, "F32", 4)                                                                               \
    X(BF16, "BF16", 2)                                                                             \
    X(F16, "F16", 2)                                                                               \
    X(F64, "F64", 8)                                                                               \
    X(I64, "I64", 8)                                                                               \
    X(I32, "I32", 4)                                                                               \
    X(I16, "I16", 2)                                                                               \
    X(I8, "I8", 1)                                                                                 \
    X(U8, "U8", 1)                                                                                 \
    X(BOOL, "BOOL", 1)

typedef enum clef_dtype {
#define CLEF_DTYPE_ENUM(name, spelling, bytes) CLEF_DTYPE_##name,
    CLEF_DTYPE_LIST(CLEF_DTYPE_ENUM)
#undef CLEF_DTYPE_ENUM
        CLEF_DTYPE_COUNT
} clef_dtype;

size_t clef_dtype_bytes(clef_dtype dtype);
const char *clef_dtype_name(clef_dtype dtype);
/* false when the spelling is not one of the list. */
bool clef_dtype_parse(clef_text spelling, clef_dtype *dtype);

/* Exact widening. */
static inline float clef_float_of_bf16(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}
float clef_float_of_f16(uint16_t bits);

/* Nearest bfloat16, ties to even; NaN stays NaN. */
uint16_t clef_bf16_of_float(float value);

/* Widens `count` elements of F32, BF16 or F16 to fp32; other types are a programming error. */
void clef_widen(clef_dtype dtype, const void *from, size_t count, float *to);

#endif
