/* Reading stored weights element by element, whatever their type. */
#include "tensor/matrix.h"

/* Column of a quantised row as an integer. */
static int quantised_at(clef_weight weight, const unsigned char *row, size_t column) {
    if (weight.dtype == CLEF_DTYPE_I8) {
        return (signed char)row[column];
    }
    unsigned byte = row[column / 32 * 16 + column % 16];
    return (int)(column % 32 < 16 ? byte & 15 : byte >> 4) - 8;
}

void clef_weight_widen(clef_weight weight, size_t row, size_t begin, size_t count, float *out) {
    const unsigned char *data =
        (const unsigned char *)weight.data + row * clef_weight_row_bytes(weight);
    if (weight.scales == NULL) {
        clef_widen(weight.dtype, data + begin * clef_dtype_bytes(weight.dtype), count, out);
        return;
    }
    const float *scales = weight.scales + row * clef_weight_groups(weight);
    for (size_t i = 0; i < count; i++) {
        size_t column = begin + i;
        out[i] = (float)quantised_at(weight, data, column) * scales[column / weight.group];
    }
}
