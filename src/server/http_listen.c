/* getaddrinfo, bind, listen. A name may stand for an IPv4 and an IPv6 address; where this machine
 * lacks one of the families the other is enough. */
#include "server/http_listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024

static clef_status fail_bind(const char *host, uint16_t port, int reason, clef_error *error) {
    if (reason == EADDRINUSE) {
        return clef_fail(error, CLEF_BUSY,
                         "cannot listen on %s port %u: the port is in use; choose another with "
                         "--port, or 0 for any free one",
                         host, port);
    }
    if (reason == EACCES) {
        return clef_fail(error, CLEF_USAGE,
                         "cannot listen on %s port %u: this user may not use that port", host,
                         port);
    }
    return clef_fail(error, CLEF_USAGE, "cannot listen on %s port %u: %s", host, port,
                     strerror(reason));
}

/* Takes brackets off "[::1]". */
static bool copy_host(const char *host, char *out, size_t size) {
    size_t length = strlen(host);
    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
        host += 1;
        length -= 2;
    }
    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(out, host, length);
    out[length] = '\0';
    return true;
}

/* The port that a socket got. */
static uint16_t bound_port(int descriptor) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) {
        return 0;
    }
    if (address.ss_family == AF_INET6) {
        struct sockaddr_in6 six;
        memcpy(&six, &address, sizeof six);
        return ntohs(six.sin6_port);
    }
    struct sockaddr_in four;
    memcpy(&four, &address, sizeof four);
    return ntohs(four.sin_port);
}

static void append_address(clef_buffer *out, const struct addrinfo *of, uint16_t port) {
    char text[NI_MAXHOST];
    if (getnameinfo(of->ai_addr, of->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) != 0) {
        return;
    }
    clef_buffer_append_string(out, out->length > 0 ? ", " : "");
    clef_buffer_append_format(out, of->ai_family == AF_INET6 ? "http://[%s]:%u" : "http://%s:%u",
                              text, port);
}

/* A bound socket, or -1 with errno. */
static int bind_address(const struct addrinfo *of, uint16_t port) {
    struct sockaddr_storage address;
    int on = 1;
    memcpy(&address, of->ai_addr, of->ai_addrlen);
    /* The port stands at the same place in both families. */
    uint16_t network_port = htons(port);
    memcpy((char *)&address + offsetof(struct sockaddr_in, sin_port), &network_port,
           sizeof network_port);
    int descriptor = socket(of->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) {
        return -1;
    }
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(descriptor, (struct sockaddr *)&address, of->ai_addrlen) != 0) {
        int reason = errno;
        close(descriptor);
        errno = reason;
        return -1;
    }
    return descriptor;
}

static clef_status bind_all(const char *host, uint16_t port, const struct addrinfo *found,
                            clef_http_listeners *listeners, clef_error *error) {
    int reason = EADDRNOTAVAIL;
    for (const struct addrinfo *of = found; of != NULL; of = of->ai_next) {
        if (listeners->count == CLEF_LISTENER_LIMIT) {
            break;
        }
        int descriptor = bind_address(of, port);
        if (descriptor >= 0) {
            /* All addresses of a name share the port that the first one got. */
            port = bound_port(descriptor);
            listeners->descriptors[listeners->count++] = descriptor;
            append_address(&listeners->addresses, of, port);
        } else {
            reason = errno;
            if (reason != EAFNOSUPPORT && reason != EADDRNOTAVAIL) {
                return fail_bind(host, port, reason, error);
            }
        }
    }
    if (listeners->count == 0) {
        return fail_bind(host, port, reason, error);
    }
    return clef_buffer_check(&listeners->addresses, "the addresses of the server", error);
}

clef_status clef_http_listeners_bind(const char *host, uint16_t port,
                                     clef_http_listeners *listeners, clef_error *error) {
    const struct addrinfo wanted = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char name[NI_MAXHOST];
    if (!copy_host(host, name, sizeof name)) {
        return clef_fail(error, CLEF_USAGE, "--host takes a name or an address, not \"%s\"", host);
    }
    int failure = getaddrinfo(name, NULL, &wanted, &found);
    if (failure != 0) {
        return clef_fail(error, CLEF_USAGE, "cannot find the address of host \"%s\": %s", host,
                         gai_strerror(failure));
    }
    clef_status status = bind_all(host, port, found, listeners, error);
    freeaddrinfo(found);
    if (status != CLEF_OK) {
        clef_http_listeners_close(listeners);
    }
    return status;
}

clef_status clef_http_listeners_open(clef_http_listeners *listeners, clef_error *error) {
    for (size_t i = 0; i < listeners->count; i += 1) {
        if (listen(listeners->descriptors[i], BACKLOG) != 0) {
            return fail_bind("this host", bound_port(listeners->descriptors[i]), errno, error);
        }
    }
    return CLEF_OK;
}

void clef_http_listeners_close(clef_http_listeners *listeners) {
    for (size_t i = 0; i < listeners->count; i += 1) {
        close(listeners->descriptors[i]);
    }
    listeners->count = 0;
    clef_buffer_release(&listeners->addresses);
}
