/* Reading of recorded tensors and plain measures of distance. */
#include "support_vectors.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>

clef_safetensors *open_vectors(const char *name) {
    clef_safetensors *file = NULL;
    clef_error error = {0};
    assert_ok(clef_safetensors_open(fixture(name), &file, &error), &error);
    return file;
}

const clef_stored_tensor *vector_named(const clef_safetensors *file, const char *name) {
    const clef_stored_tensor *tensor = clef_safetensors_find(file, clef_text_of(name));
    if (tensor == NULL) {
        fail_msg("no recorded tensor %s", name);
    }
    return tensor;
}

static const void *data_of(const clef_stored_tensor *tensor, clef_dtype dtype) {
    if (tensor->dtype != dtype) {
        fail_msg("%.*s is %s, not %s", (int)tensor->name.length, tensor->name.bytes,
                 clef_dtype_name(tensor->dtype), clef_dtype_name(dtype));
    }
    return tensor->data;
}

const float *floats_of(const clef_stored_tensor *tensor) {
    return data_of(tensor, CLEF_DTYPE_F32);
}

const double *doubles_of(const clef_stored_tensor *tensor) {
    return data_of(tensor, CLEF_DTYPE_F64);
}

const int64_t *integers_of(const clef_stored_tensor *tensor) {
    return data_of(tensor, CLEF_DTYPE_I64);
}

size_t element_count(const clef_stored_tensor *tensor) {
    return tensor->bytes / clef_dtype_bytes(tensor->dtype);
}

uint32_t *tokens_of(const clef_stored_tensor *tensor) {
    const int64_t *ids = integers_of(tensor);
    size_t count = element_count(tensor);
    uint32_t *tokens = clef_allocate(count, sizeof *tokens);
    assert_non_null(tokens);
    for (size_t i = 0; i < count; i++) {
        tokens[i] = (uint32_t)ids[i];
    }
    return tokens;
}

double relative(distance of) {
    return of.difference == 0 ? 0 : of.difference / of.largest;
}

distance farther(distance a, distance b) {
    return (distance){fmax(a.difference, b.difference), fmax(a.largest, b.largest)};
}

distance compare_floats(const float *computed, const float *recorded, size_t count) {
    distance of = {0, 0};
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)computed[i] - recorded[i]);
        of.difference = isnan(difference) ? INFINITY : fmax(of.difference, difference);
        of.largest = fmax(of.largest, fabs((double)recorded[i]));
    }
    return of;
}

distance compare_rows(clef_matrix computed, const int64_t *rows,
                      const clef_stored_tensor *recorded) {
    const float *expected = floats_of(recorded);
    size_t count = (size_t)recorded->shape[0];
    if (element_count(recorded) != count * computed.columns ||
        (rows == NULL && count != computed.rows)) {
        fail_msg("%.*s: recorded %zu numbers in %zu rows, computed [%zu, %zu]",
                 (int)recorded->name.length, recorded->name.bytes, element_count(recorded), count,
                 computed.rows, computed.columns);
    }
    distance of = {0, 0};
    for (size_t i = 0; i < count; i++) {
        size_t row = rows == NULL ? i : (size_t)rows[i];
        of = farther(of, compare_floats(computed.data + row * computed.stride,
                                        expected + i * computed.columns, computed.columns));
    }
    return of;
}

void assert_within(const char *what, double value, double bound) {
    if (!(value <= bound)) {
        fail_msg("%s: off by %.3g, at most %.3g allowed", what, value, bound);
    }
}
