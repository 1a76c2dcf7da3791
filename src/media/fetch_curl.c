/* Adapter of libcurl, the only file that names it. Loaded when the first picture is fetched, like
 * FFmpeg (docs/decisions/0005-video-libraries-on-demand.md): linked, every start of the program
 * would pay for it.
 *
 * libcurl resolves names and speaks TLS; what it may connect to is decided here, in the call that
 * opens each socket, so that no name can mean one address when it is checked and another one when
 * it is used. Redirects are followed by hand, each judged like the first address. */
#include "media/fetch.h"

#include "base/clock.h"
#include "media/media_error.h"
#include "media/network_address.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#define URL_BYTES_LIMIT 8192
#define CURL_FUNCTIONS(X)                                                                          \
    X(curl_easy_init)                                                                              \
    X(curl_easy_setopt)                                                                            \
    X(curl_easy_perform)                                                                           \
    X(curl_easy_getinfo)                                                                           \
    X(curl_easy_cleanup)                                                                           \
    X(curl_url)                                                                                    \
    X(curl_url_set)                                                                                \
    X(curl_url_get)                                                                                \
    X(curl_url_cleanup)                                                                            \
    X(curl_free)

typedef struct curl_library {
#define MEMBER(function) __typeof__(&(function)) call_##function;
    CURL_FUNCTIONS(MEMBER)
#undef MEMBER
} curl_library;

/* One address on its way. */
typedef struct fetch {
    curl_library library;
    const clef_fetch_rules *rules;
    const clef_stop *stop;
    size_t byte_limit;
    clef_buffer *bytes;
    CURL *easy; /* owned, as all below */
    CURLU *url;
    uint64_t end_ns;
    bool is_secure;       /* https, now or before */
    bool may_be_anywhere; /* its host is on the list */
    bool was_refused;     /* an address was not public */
} fetch;

/* ---- the library ---------------------------------------------------------------------------- */

static clef_status load_library(curl_library *library, clef_error *error) {
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *handle = NULL;
    for (size_t i = 0; handle == NULL && i < sizeof names / sizeof *names; i++) {
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    }
    bool is_whole = handle != NULL;
    /* The C standard has no way from an object pointer to a function; POSIX promises that the bits
     * are the same. */
#define LOAD(function)                                                                             \
    if (is_whole) {                                                                                \
        void *symbol = dlsym(handle, #function);                                                   \
        memcpy(&library->call_##function, &symbol, sizeof symbol);                                 \
        is_whole = symbol != NULL;                                                                 \
    }
    CURL_FUNCTIONS(LOAD)
#undef LOAD
    if (handle != NULL) {
        dlclose(handle);
    }
    return is_whole ? CLEF_OK
                    : clef_fail_media(error, CLEF_BAD_REQUEST,
                                      "images cannot be fetched here (%s was not found)", names[0]);
}

/* ---- what libcurl asks ---------------------------------------------------------------------- */

static size_t take_bytes(char *data, size_t size, size_t count, void *context) {
    fetch *of = context;
    size_t length = size * count;
    if (length > of->byte_limit - of->bytes->length) {
        return 0; /* too many: less than was given ends it */
    }
    clef_buffer_append(of->bytes, data, length);
    return of->bytes->has_failed ? 0 : length;
}

static int look_up(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total,
                   curl_off_t up_now) {
    (void)total, (void)now, (void)up_total, (void)up_now;
    const fetch *of = context;
    return clef_stop_is_wanted(of->stop);
}

static bool is_allowed(const fetch *of, const struct curl_sockaddr *address) {
    if (address->family == AF_INET) {
        struct sockaddr_in ipv4;
        memcpy(&ipv4, &address->addr, sizeof ipv4);
        return of->may_be_anywhere ||
               clef_network_address_is_public((const uint8_t *)&ipv4.sin_addr, 4);
    }
    if (address->family == AF_INET6 && address->addrlen >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 ipv6;
        memcpy(&ipv6, (const void *)&address->addr, sizeof ipv6);
        return of->may_be_anywhere ||
               clef_network_address_is_public((const uint8_t *)&ipv6.sin6_addr, 16);
    }
    return false;
}

static curl_socket_t open_socket(void *context, curlsocktype purpose,
                                 struct curl_sockaddr *address) {
    fetch *of = context;
    if (purpose != CURLSOCKTYPE_IPCXN || !is_allowed(of, address)) {
        of->was_refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* ---- rules ---------------------------------------------------------------------------------- */

/* A part of the address, or NULL; freed with curl_free. */
static char *take_part(const fetch *of, CURLUPart part, unsigned flags) {
    char *text = NULL;
    return of->library.call_curl_url_get(of->url, part, &text, flags) == CURLUE_OK ? text : NULL;
}

static bool is_port_allowed(const clef_fetch_rules *rules, const char *text) {
    static const uint16_t usual[] = {80, 443};
    const uint16_t *ports = rules->port_count > 0 ? rules->ports : usual;
    size_t count = rules->port_count > 0 ? rules->port_count : 2;
    for (size_t i = 0; i < count; i++) {
        char port[8];
        snprintf(port, sizeof port, "%u", ports[i]);
        if (strcmp(port, text) == 0) {
            return true;
        }
    }
    return false;
}

/* Equal but for the case, and for the brackets around an IPv6 address. */
static bool is_same_host(clef_text host, const char *listed) {
    if (host.length > 1 && host.bytes[0] == '[' && listed[0] != '[') {
        host = (clef_text){host.bytes + 1, host.length - 2};
    }
    if (host.length != strlen(listed)) {
        return false;
    }
    for (size_t i = 0; i < host.length; i++) {
        char a = host.bytes[i], b = listed[i];
        a = a >= 'A' && a <= 'Z' ? (char)(a + ('a' - 'A')) : a;
        b = b >= 'A' && b <= 'Z' ? (char)(b + ('a' - 'A')) : b;
        if (a != b) {
            return false;
        }
    }
    return true;
}

static bool is_host_listed(const clef_fetch_rules *rules, const char *host) {
    for (size_t i = 0; i < rules->host_count; i++) {
        if (is_same_host(clef_text_of(host), rules->hosts[i])) {
            return true;
        }
    }
    return false;
}

/* Scheme, port and host of the address, in the words of the parser that the connection is made by.
 */
static bool check_url(fetch *of) {
    char *scheme = take_part(of, CURLUPART_SCHEME, 0);
    char *port = take_part(of, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    char *host = take_part(of, CURLUPART_HOST, 0);
    bool is_secure = scheme != NULL && strcmp(scheme, "https") == 0;
    bool is_plain = scheme != NULL && strcmp(scheme, "http") == 0;
    bool is_good = host != NULL && port != NULL && is_port_allowed(of->rules, port) &&
                   (is_secure || (is_plain && !of->is_secure));
    of->is_secure = of->is_secure || is_secure;
    of->may_be_anywhere = host != NULL && is_host_listed(of->rules, host);
    of->library.call_curl_free(scheme);
    of->library.call_curl_free(port);
    of->library.call_curl_free(host);
    return is_good;
}

/* ---- fetching ------------------------------------------------------------------------------- */

/* Everything that is the same for all hops. An option that libcurl does not know ends it. */
static bool set_options(fetch *of) {
    CURL *easy = of->easy;
    bool is_set = true;
#define SET(option, value)                                                                         \
    is_set = is_set && of->library.call_curl_easy_setopt(easy, option, value) == CURLE_OK
#if LIBCURL_VERSION_NUM >= 0x075500
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
    SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    SET(CURLOPT_CURLU, of->url);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_HTTP_CONTENT_DECODING, 0L);
    SET(CURLOPT_USERAGENT, "clef");
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_OPENSOCKETDATA, of);
    SET(CURLOPT_WRITEFUNCTION, take_bytes);
    SET(CURLOPT_WRITEDATA, of);
    SET(CURLOPT_XFERINFOFUNCTION, look_up);
    SET(CURLOPT_XFERINFODATA, of);
    SET(CURLOPT_NOPROGRESS, 0L);
    if (of->rules->certificates != NULL) {
        /* The directory would go on counting beside the file. */
        SET(CURLOPT_CAINFO, of->rules->certificates);
        SET(CURLOPT_CAPATH, (char *)NULL);
    }
#undef SET
    return is_set;
}

/* One request. *code: the status of the reply. */
static bool ask_host(fetch *of, long *code) {
    uint64_t now = clef_clock_ns();
    long left_ms = now < of->end_ns ? (long)((of->end_ns - now) / 1000000) : 0;
    clef_buffer_clear(of->bytes);
    return check_url(of) && left_ms > 0 && !clef_stop_is_wanted(of->stop) &&
           of->library.call_curl_easy_setopt(of->easy, CURLOPT_TIMEOUT_MS, left_ms) == CURLE_OK &&
           of->library.call_curl_easy_perform(of->easy) == CURLE_OK && !of->was_refused &&
           of->library.call_curl_easy_getinfo(of->easy, CURLINFO_RESPONSE_CODE, code) == CURLE_OK;
}

static bool set_url(fetch *of, const char *text) {
    return of->library.call_curl_url_set(of->url, CURLUPART_URL, text, CURLU_DISALLOW_USER) ==
           CURLUE_OK;
}

/* To the address that the reply names; false when it names none. */
static bool follow(fetch *of, long code) {
    char *target = NULL; /* of the handle */
    bool is_redirect = code == 301 || code == 302 || code == 303 || code == 307 || code == 308;
    return is_redirect &&
           of->library.call_curl_easy_getinfo(of->easy, CURLINFO_REDIRECT_URL, &target) ==
               CURLE_OK &&
           target != NULL && set_url(of, target);
}

static bool fetch_all(fetch *of, const char *url) {
    of->easy = of->library.call_curl_easy_init();
    of->url = of->library.call_curl_url();
    if (of->easy == NULL || of->url == NULL || !set_url(of, url) || !set_options(of)) {
        return false;
    }
    for (int redirects = 0;; redirects++) {
        long code = 0;
        if (!ask_host(of, &code)) {
            return false;
        }
        if (code == 200) {
            return true;
        }
        if (redirects == CLEF_FETCH_REDIRECT_LIMIT || !follow(of, code)) {
            return false;
        }
    }
}

bool clef_fetch_is_built(void) {
    return true;
}

static clef_text trim(clef_text text) {
    while (text.length > 0 && (uint8_t)text.bytes[0] <= ' ') {
        text = (clef_text){text.bytes + 1, text.length - 1};
    }
    while (text.length > 0 && (uint8_t)text.bytes[text.length - 1] <= ' ') {
        text.length--;
    }
    return text;
}

clef_status clef_fetch(clef_text url, const clef_fetch_rules *rules, size_t byte_limit,
                       const clef_stop *stop, clef_buffer *bytes, clef_error *error) {
    char text[URL_BYTES_LIMIT];
    fetch of = {.rules = rules, .stop = stop, .byte_limit = byte_limit, .bytes = bytes};
    clef_status status = load_library(&of.library, error);
    url = trim(url);
    if (status != CLEF_OK) {
        return status;
    }
    if (url.length >= sizeof text || memchr(url.bytes, '\0', url.length) != NULL) {
        return clef_fetch_fail(error);
    }
    memcpy(text, url.bytes, url.length);
    text[url.length] = '\0';
    of.end_ns = clef_clock_ns() + CLEF_FETCH_SECONDS * UINT64_C(1000000000);
    bool is_there = fetch_all(&of, text);
    of.library.call_curl_easy_cleanup(of.easy);
    of.library.call_curl_url_cleanup(of.url);
    if (is_there) {
        return CLEF_OK;
    }
    bool is_short = bytes->has_failed;
    clef_buffer_release(bytes);
    return clef_stop_is_wanted(stop) ? clef_stop_fail(error)
           : is_short                ? clef_fail_memory(error, byte_limit, "a picture")
                                     : clef_fetch_fail(error);
}
