/* The library needs no initialisation for hashing: without it the portable code runs. */
#include "base/digest.h"

#include <sodium/crypto_generichash.h>
#include <sodium/utils.h>

_Static_assert(sizeof(crypto_generichash_state) <= sizeof(clef_digest_state), "the state fits");
_Static_assert(CLEF_DIGEST_BYTES == crypto_generichash_BYTES, "the usual length");

static crypto_generichash_state *inner(clef_digest_state *state) {
    return (crypto_generichash_state *)(void *)state->opaque;
}

void clef_digest_begin(clef_digest_state *state) {
    /* Cannot fail with these lengths. */
    (void)crypto_generichash_init(inner(state), NULL, 0, CLEF_DIGEST_BYTES);
}

void clef_digest_add(clef_digest_state *state, const void *bytes, size_t length) {
    (void)crypto_generichash_update(inner(state), bytes, length);
}

clef_digest clef_digest_end(clef_digest_state *state) {
    clef_digest digest;
    (void)crypto_generichash_final(inner(state), digest.bytes, CLEF_DIGEST_BYTES);
    return digest;
}

clef_digest clef_digest_of(const void *bytes, size_t length) {
    clef_digest_state state;
    clef_digest_begin(&state);
    clef_digest_add(&state, bytes, length);
    return clef_digest_end(&state);
}

bool clef_digest_equal(const clef_digest *a, const clef_digest *b) {
    return sodium_memcmp(a->bytes, b->bytes, CLEF_DIGEST_BYTES) == 0;
}
