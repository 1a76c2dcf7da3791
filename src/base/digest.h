/* Digests of bytes: BLAKE2b of libsodium, 32 bytes. The only file pair that names libsodium for
 * hashing; what is hashed and why is the caller's. */
#ifndef CLEF_BASE_DIGEST_H
#define CLEF_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#define CLEF_DIGEST_BYTES 32

/* Zero-initialised is a valid digest that no bytes have. */
typedef struct clef_digest {
    unsigned char bytes[CLEF_DIGEST_BYTES];
} clef_digest;

/* A digest on its way. Holds no memory of its own. */
typedef struct clef_digest_state {
    _Alignas(64) unsigned char opaque[384];
} clef_digest_state;

void clef_digest_begin(clef_digest_state *state);
void clef_digest_add(clef_digest_state *state, const void *bytes, size_t length);
clef_digest clef_digest_end(clef_digest_state *state);

/* All three in one. */
clef_digest clef_digest_of(const void *bytes, size_t length);

/* In a time that does not depend on the bytes. */
bool clef_digest_equal(const clef_digest *a, const clef_digest *b);

#endif
