/* A key that was shown is digested and compared with every digest, equal or not. */
#include "server/api_keys.h"

#include <stdio.h>

static clef_digest digest_of(clef_text key) {
    clef_digest_state state;
    clef_digest_begin(&state, CLEF_DIGEST_KEY);
    clef_digest_add(&state, key.bytes, key.length);
    return clef_digest_finish(&state);
}

clef_status clef_api_keys_add(clef_api_keys *keys, const char *key, clef_error *error) {
    if (key[0] == '\0') {
        return clef_fail(error, CLEF_USAGE, "an API key must not be empty");
    }
    for (const char *byte = key; *byte != '\0'; byte += 1) {
        if (*byte <= ' ' || *byte > '~') {
            return clef_fail(error, CLEF_USAGE,
                             "an API key is made of visible ASCII characters; byte %zu is not one",
                             (size_t)(byte - key) + 1);
        }
    }
    if (keys->count == CLEF_API_KEY_LIMIT) {
        return clef_fail(error, CLEF_USAGE, "more than %d API keys", CLEF_API_KEY_LIMIT);
    }
    keys->digests[keys->count++] = digest_of(clef_text_of(key));
    return CLEF_OK;
}

static void name_scope(const clef_digest *digest, char scope[CLEF_API_KEY_SCOPE_BYTES]) {
    for (size_t i = 0; i < (CLEF_API_KEY_SCOPE_BYTES - 1) / 2; i += 1) {
        snprintf(scope + 2 * i, 3, "%02x", digest->bytes[i]);
    }
}

static bool is_known(const clef_api_keys *keys, clef_text shown,
                     char scope[CLEF_API_KEY_SCOPE_BYTES]) {
    clef_digest digest = digest_of(shown);
    bool is_equal = false;
    for (size_t i = 0; i < keys->count; i += 1) {
        is_equal |= clef_digest_equals(&digest, &keys->digests[i]);
    }
    if (is_equal) {
        name_scope(&digest, scope);
    }
    return is_equal;
}

/* The key of "Bearer KEY", or an empty text. */
static clef_text bearer_of(clef_text value) {
    static const size_t scheme = sizeof "Bearer" - 1;
    if (value.length <= scheme ||
        !clef_http_token_equals((clef_text){value.bytes, scheme}, "Bearer") ||
        (value.bytes[scheme] != ' ' && value.bytes[scheme] != '\t')) {
        return (clef_text){"", 0};
    }
    value = (clef_text){value.bytes + scheme, value.length - scheme};
    while (value.length > 0 && (value.bytes[0] == ' ' || value.bytes[0] == '\t')) {
        value = (clef_text){value.bytes + 1, value.length - 1};
    }
    return value;
}

bool clef_api_keys_allow(const clef_api_keys *keys, const clef_http_head *head,
                         char scope[CLEF_API_KEY_SCOPE_BYTES]) {
    scope[0] = '\0';
    if (keys->count == 0) {
        return true;
    }
    clef_text bearer = bearer_of(clef_http_head_field(head, "authorization"));
    clef_text plain = clef_http_head_field(head, "x-api-key");
    bool allows = bearer.length > 0 && is_known(keys, bearer, scope);
    allows |= plain.length > 0 && is_known(keys, plain, scope);
    return allows;
}
