/* Recorded vectors: tensors of the fixture files, and how far computed matrices lie from them.
 * Every function fails the running test where a caller could only do the same. */
#ifndef CLEF_PARITY_SUPPORT_VECTORS_H
#define CLEF_PARITY_SUPPORT_VECTORS_H

#include "support.h"

#include "tensor/matrix.h"
#include "weights/safetensors.h"

/* A file under tests/fixtures. Closed with clef_safetensors_close. */
clef_safetensors *open_vectors(const char *name);

/* A tensor that must be there. */
const clef_stored_tensor *vector_named(const clef_safetensors *file, const char *name);

/* Elements of a tensor that must have this type. */
const float *floats_of(const clef_stored_tensor *tensor);
const double *doubles_of(const clef_stored_tensor *tensor);
const int64_t *integers_of(const clef_stored_tensor *tensor);
size_t element_count(const clef_stored_tensor *tensor);

/* Token ids as the model takes them. Freed with clef_release. */
uint32_t *tokens_of(const clef_stored_tensor *tensor);

/* How far numbers lie from recorded ones; infinite where one is not a number. */
typedef struct distance {
    double difference; /* largest absolute difference */
    double largest;    /* largest absolute value recorded */
} distance;

/* difference / largest. */
double relative(distance of);

/* The larger of both in each member. */
distance farther(distance a, distance b);

distance compare_floats(const float *computed, const float *recorded, size_t count);

/* Row i of a recorded [n, columns …] against row rows[i] of the matrix (rows NULL: row i). The
 * shapes must agree. */
distance compare_rows(clef_matrix computed, const int64_t *rows,
                      const clef_stored_tensor *recorded);

/* Fails, with a sentence about `what`, when value is above bound. */
void assert_within(const char *what, double value, double bound);

#endif
