/* Adapter of libsodium's hashes. */
#include "base/digest.h"

#include <sodium.h>

typedef union library_state {
    crypto_generichash_state key;
    crypto_hash_sha256_state sha256;
} library_state;

_Static_assert(sizeof(library_state) <= sizeof((clef_digest_state){0}.bytes),
               "the state of the library fits");
_Static_assert(CLEF_DIGEST_BYTES == crypto_generichash_BYTES &&
                   CLEF_DIGEST_BYTES == crypto_hash_sha256_BYTES,
               "both digests have the same length");

static library_state *find_state(clef_digest_state *state) {
    return (library_state *)(void *)state->bytes;
}

void clef_digest_begin(clef_digest_state *state, clef_digest_kind kind) {
    /* Chooses the code for this CPU; made to be called again and from any thread. Digests are right
     * also when it fails. */
    bool is_chosen = sodium_init() >= 0;
    (void)is_chosen;
    state->kind = kind;
    if (kind == CLEF_DIGEST_SHA256) {
        crypto_hash_sha256_init(&find_state(state)->sha256);
    } else {
        crypto_generichash_init(&find_state(state)->key, NULL, 0, CLEF_DIGEST_BYTES);
    }
}

void clef_digest_add(clef_digest_state *state, const void *bytes, size_t length) {
    if (length == 0) {
        return;
    }
    if (state->kind == CLEF_DIGEST_SHA256) {
        crypto_hash_sha256_update(&find_state(state)->sha256, bytes, length);
    } else {
        crypto_generichash_update(&find_state(state)->key, bytes, length);
    }
}

void clef_digest_add_number(clef_digest_state *state, uint64_t number) {
    unsigned char bytes[8];
    for (size_t i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(number >> 8 * i);
    }
    clef_digest_add(state, bytes, sizeof bytes);
}

clef_digest clef_digest_finish(clef_digest_state *state) {
    clef_digest digest;
    if (state->kind == CLEF_DIGEST_SHA256) {
        crypto_hash_sha256_final(&find_state(state)->sha256, digest.bytes);
    } else {
        crypto_generichash_final(&find_state(state)->key, digest.bytes, CLEF_DIGEST_BYTES);
    }
    return digest;
}

clef_digest clef_digest_of(const void *bytes, size_t length) {
    clef_digest_state state;
    clef_digest_begin(&state, CLEF_DIGEST_KEY);
    clef_digest_add(&state, bytes, length);
    return clef_digest_finish(&state);
}

bool clef_digest_equals(const clef_digest *a, const clef_digest *b) {
    return sodium_memcmp(a->bytes, b->bytes, CLEF_DIGEST_BYTES) == 0;
}

void clef_random_fill(void *bytes, size_t length) {
    randombytes_buf(bytes, length);
}
