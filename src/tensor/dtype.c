/* The list of number types and their conversions. */
#include "tensor/dtype.h"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[CLEF_DTYPE_COUNT] = {
#define CLEF_DTYPE_ENTRY(name, spelling, bytes) [CLEF_DTYPE_##name] = {spelling, bytes},
    CLEF_DTYPE_LIST(CLEF_DTYPE_ENTRY)
#undef CLEF_DTYPE_ENTRY
};

size_t clef_dtype_bytes(clef_dtype dtype) {
    return dtypes[dtype].bytes;
}

const char *clef_dtype_name(clef_dtype dtype) {
    return dtypes[dtype].name;
}

bool clef_dtype_parse(clef_text spelling, clef_dtype *dtype) {
    for (int i = 0; i < CLEF_DTYPE_COUNT; i++) {
        if (clef_text_equals(spelling, clef_text_of(dtypes[i].name))) {
            *dtype = (clef_dtype)i;
            return true;
        }
    }
    return false;
}

float clef_float_of_f16(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = bits >> 10 & 0x1F;
    uint32_t fraction = bits & 0x3FF;
    uint32_t wide;
    if (exponent == 0x1F) {
        wide = sign | 0x7F800000 | fraction << 13;
    } else if (exponent != 0) {
        wide = sign | (exponent + 112) << 23 | fraction << 13;
    } else {
        /* Zero or subnormal: fraction · 2^-24 is exact in fp32. */
        float value = (float)fraction * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

uint16_t clef_bf16_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) {
        return (uint16_t)(bits >> 16 | 0x40);
    }
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

void clef_widen(clef_dtype dtype, const void *from, size_t count, float *to) {
    if (dtype == CLEF_DTYPE_F32) {
        memcpy(to, from, count * sizeof *to);
        return;
    }
    const uint16_t *half = from;
    if (dtype == CLEF_DTYPE_BF16) {
        for (size_t i = 0; i < count; i++) {
            to[i] = clef_float_of_bf16(half[i]);
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            to[i] = clef_float_of_f16(half[i]);
        }
    }
}
