/* One pass from left to right; nothing is decoded. */
#include "cli/http_url.h"

#include "cli/options.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BAD_PORT "the port is a number between 1 and 65535"

static clef_status refuse(const char *what, const char *text, const char *why, clef_error *error) {
    return clef_fail(error, CLEF_USAGE, "%s takes http://HOST[:PORT][/PATH], not \"%.200s\": %s",
                     what, text, why);
}

/* Copies a part that must fit and must not be empty. */
static bool copy_part(char *out, size_t size, const char *part, size_t length) {
    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(out, part, length);
    out[length] = '\0';
    return true;
}

/* What a request line and a Host field can hold as it is. */
static bool is_plain(const char *text) {
    for (const char *byte = text; *byte != '\0'; byte += 1) {
        if (*byte <= ' ' || *byte > '~' || *byte == '"' || *byte == '\\') {
            return false;
        }
    }
    return true;
}

/* "HOST", "HOST:PORT", "[ADDRESS]" or "[ADDRESS]:PORT" in `length` bytes. */
static const char *read_authority(const char *text, size_t length, clef_http_url *url) {
    const char *end = text + length;
    const char *host_end = memchr(text, text[0] == '[' ? ']' : ':', length);
    const char *port;
    bool is_bracketed = text[0] == '[';
    if (is_bracketed && host_end == NULL) {
        return "the bracket of the address is not closed";
    }
    host_end = host_end == NULL ? end : host_end;
    if (!copy_part(url->host, sizeof url->host, text + is_bracketed,
                   (size_t)(host_end - text) - is_bracketed)) {
        return "the host is missing or too long";
    }
    port = host_end + is_bracketed;
    if (port == end) {
        memcpy(url->port, "80", 3);
    } else if (*port != ':' ||
               !copy_part(url->port, sizeof url->port, port + 1, (size_t)(end - port) - 1)) {
        return BAD_PORT;
    }
    snprintf(url->authority, sizeof url->authority, is_bracketed ? "[%s]:%s" : "%s:%s", url->host,
             url->port);
    return NULL;
}

clef_status clef_http_url_parse(const char *what, const char *text, clef_http_url *url,
                                clef_error *error) {
    static const char scheme[] = "http://";
    uint32_t port;
    if (strncasecmp(text, "https://", 8) == 0) {
        return refuse(what, text,
                      "there is no encryption here; name the server itself, not the "
                      "https address in front of it",
                      error);
    }
    if (strncasecmp(text, scheme, sizeof scheme - 1) != 0) {
        return refuse(what, text, "http:// is missing", error);
    }
    const char *authority = text + sizeof scheme - 1;
    size_t length = strcspn(authority, "/?#");
    const char *path = authority + length;
    size_t path_length = strlen(path);
    if (!is_plain(text) || strpbrk(authority, "?#") != NULL) {
        return refuse(what, text, "blanks, quotes, ? and # have no meaning in it", error);
    }
    if (memchr(authority, '@', length) != NULL) {
        return refuse(what, text, "a user name has no meaning here; --api-key names a key", error);
    }
    const char *why = read_authority(authority, length, url);
    if (why != NULL) {
        return refuse(what, text, why, error);
    }
    while (path_length > 0 && path[path_length - 1] == '/') {
        path_length -= 1;
    }
    if (path_length >= sizeof url->path) {
        return refuse(what, text, "the path is too long", error);
    }
    memcpy(url->path, path, path_length);
    url->path[path_length] = '\0';
    return clef_number_parse(what, url->port, 1, 65535, &port, NULL) == CLEF_OK
               ? CLEF_OK
               : refuse(what, text, BAD_PORT, error);
}
