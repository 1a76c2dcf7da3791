/* Keys of the server, kept as digests. Knows no request; see clef_api_keys_allow. */
#ifndef CLEF_SERVER_API_KEYS_H
#define CLEF_SERVER_API_KEYS_H

#include "base/digest.h"
#include "base/error.h"
#include "server/http_head.h"

/* Zero-initialised asks for no key. */
typedef struct clef_api_keys {
    clef_digest digests[CLEF_API_KEY_LIMIT];
    size_t count;
} clef_api_keys;

/* Adds a key. CLEF_USAGE for an empty one, one with blanks or control characters (no header could
 * carry it), or one too many. */
clef_status clef_api_keys_add(clef_api_keys *keys, const char *key, clef_error *error);

#define CLEF_API_KEY_SCOPE_BYTES 33

/* Whether a request shows one of the keys, as "Authorization: Bearer KEY" or "X-API-Key: KEY". The
 * time taken tells nothing about the keys. Everything is allowed when there are none. `scope`
 * receives a name of that key which is the same after every start and does not give it away; "" for
 * none. */
bool clef_api_keys_allow(const clef_api_keys *keys, const clef_http_head *head,
                         char scope[CLEF_API_KEY_SCOPE_BYTES]);

#endif
