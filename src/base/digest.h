/* Cryptographic digests, the only file pair that names the library for them. */
#ifndef CLEF_BASE_DIGEST_H
#define CLEF_BASE_DIGEST_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLEF_DIGEST_BYTES 32

typedef enum clef_digest_kind {
    CLEF_DIGEST_KEY,    /* for keys in memory, the fastest there is (BLAKE2b, 256 bits) */
    CLEF_DIGEST_SHA256, /* where others name the digest */
} clef_digest_kind;

typedef struct clef_digest {
    uint8_t bytes[CLEF_DIGEST_BYTES];
} clef_digest;

/* A digest under way; owns nothing, may be dropped at any time. */
typedef struct clef_digest_state {
    alignas(64) unsigned char bytes[448];
    clef_digest_kind kind;
} clef_digest_state;

/* Any threads, each with its own state. */
void clef_digest_begin(clef_digest_state *state, clef_digest_kind kind);
void clef_digest_add(clef_digest_state *state, const void *bytes, size_t length);
/* Adds a number as eight bytes, lowest first: lengths and sizes between parts. */
void clef_digest_add_number(clef_digest_state *state, uint64_t number);
clef_digest clef_digest_finish(clef_digest_state *state);

/* Of one piece of memory, as a key. */
clef_digest clef_digest_of(const void *bytes, size_t length);

/* Takes the same time wherever the first difference is. */
bool clef_digest_equals(const clef_digest *a, const clef_digest *b);

/* Random bytes of the system. */
void clef_random_fill(void *bytes, size_t length);

#endif
