/* The loop: one thread, one epoll. Other threads reach it through the inbox of finished replies; it
 * is woken only when it sleeps. A connection that ends is freed at the end of a turn, because
 * events of the same turn may still name it. */
#include "server/http_connection.h"

#include "base/clock.h"
#include "base/memory.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_PER_TURN 256
#define NS_PER_MS       UINT64_C(1000000)
/* How long to wait when the system has no descriptors left. */
#define ACCEPT_RETRY_MS 200

/* ---- connections ---- */

void clef_http_connection_watch(clef_http_connection *connection, uint32_t events) {
    if (connection->watched == events || connection->descriptor < 0) {
        return;
    }
    struct epoll_event event = {.events = events, .data.ptr = connection};
    connection->watched = events;
    epoll_ctl(connection->http->poll, EPOLL_CTL_MOD, connection->descriptor, &event);
}

void clef_http_exchange_begin(clef_http_connection *connection) {
    clef_http *http = connection->http;
    clef_http_exchange *exchange = &connection->exchange;
    if (exchange->begin_ns == 0) {
        exchange->begin_ns = http->now_ns;
    }
    exchange->status = 0;
    exchange->reply_bytes = 0;
    exchange->is_delivered = false;
    exchange->call = NULL;
    connection->head.method = connection->head.path = connection->head.query = (clef_text){"", 0};
    connection->head.field_count = 0;
    connection->head.is_version_1_0 = false;
    connection->has_exchange = true;
    pthread_mutex_lock(&http->lock);
    connection->handover = (clef_http_handover){0};
    http->exchange_count += 1;
    pthread_mutex_unlock(&http->lock);
}

void clef_http_exchange_finish(clef_http_connection *connection) {
    clef_http *http = connection->http;
    http->application.finish(http->application.context, &connection->exchange);
    clef_buffer_release(&connection->exchange.body);
    clef_buffer_release(&connection->head_bytes);
    http->body_bytes -= connection->counted_bytes;
    connection->counted_bytes = 0;
    connection->exchange.begin_ns = 0;
    connection->has_exchange = false;
    connection->has_served = true;
    pthread_mutex_lock(&http->lock);
    http->exchange_count -= 1;
    if (http->exchange_count == 0) {
        pthread_cond_broadcast(&http->became_idle);
    }
    pthread_mutex_unlock(&http->lock);
}

static void set_connection_count(clef_http *http, size_t count) {
    pthread_mutex_lock(&http->lock);
    http->connection_count = count;
    pthread_mutex_unlock(&http->lock);
}

static void add_listeners(clef_http *http) {
    if (http->is_accepting || http->has_stopped) {
        return;
    }
    for (size_t i = 0; i < http->listeners.count; i += 1) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &http->listeners.descriptors[i]};
        epoll_ctl(http->poll, EPOLL_CTL_ADD, http->listeners.descriptors[i], &event);
    }
    http->is_accepting = true;
}

static void remove_listeners(clef_http *http) {
    for (size_t i = 0; http->is_accepting && i < http->listeners.count; i += 1) {
        epoll_ctl(http->poll, EPOLL_CTL_DEL, http->listeners.descriptors[i], NULL);
    }
    http->is_accepting = false;
}

void clef_http_connection_bury(clef_http_connection *connection) {
    clef_http *http = connection->http;
    if (connection->previous != NULL) {
        connection->previous->next = connection->next;
    } else {
        http->connections = connection->next;
    }
    if (connection->next != NULL) {
        connection->next->previous = connection->previous;
    }
    connection->next = http->dead;
    http->dead = connection;
    set_connection_count(http, http->connection_count - 1);
    add_listeners(http);
}

/* ---- accepting ---- */

static void add_connection(clef_http *http, int descriptor) {
    int on = 1;
    clef_http_connection *connection = clef_http_connection_create(http, descriptor);
    if (connection == NULL) {
        close(descriptor);
        return;
    }
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* A client whose machine is gone never closes; the system finds out. */
    setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    connection->watched = (uint32_t)EPOLLIN | (uint32_t)EPOLLRDHUP;
    struct epoll_event event = {.events = connection->watched, .data.ptr = connection};
    if (epoll_ctl(http->poll, EPOLL_CTL_ADD, descriptor, &event) != 0) {
        close(descriptor);
        clef_http_connection_destroy(connection);
        return;
    }
    connection->next = http->connections;
    if (http->connections != NULL) {
        http->connections->previous = connection;
    }
    http->connections = connection;
    set_connection_count(http, http->connection_count + 1);
}

static void accept_connections(clef_http *http, int listener) {
    for (;;) {
        if (http->connection_count >= http->limits.connection_count) {
            remove_listeners(http);
            return;
        }
        int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor >= 0) {
            add_connection(http, descriptor);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            remove_listeners(http);
            uint64_t retry = http->now_ns + ACCEPT_RETRY_MS * NS_PER_MS;
            http->next_deadline_ns =
                retry < http->next_deadline_ns ? retry : http->next_deadline_ns;
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

/* ---- replies from other threads ---- */

static void wake(clef_http *http) {
    const uint64_t one = 1;
    ssize_t written = write(http->wakener, &one, sizeof one);
    (void)written;
}

/* Puts a connection into the inbox; called with the lock held. */
static void queue_handover(clef_http_connection *connection) {
    clef_http *http = connection->http;
    if (!connection->handover.is_queued) {
        connection->handover.is_queued = true;
        connection->handover.next = http->inbox;
        http->inbox = connection;
    }
    if (http->is_asleep) {
        http->is_asleep = false;
        wake(http);
    }
}

static clef_http_connection *connection_of(clef_http_exchange *exchange) {
    return (clef_http_connection *)(void *)exchange;
}

void clef_http_reply(clef_http_exchange *exchange, int status, clef_buffer *headers,
                     clef_buffer *body) {
    clef_http_connection *connection = connection_of(exchange);
    pthread_mutex_lock(&connection->http->lock);
    clef_http_handover *handover = &connection->handover;
    handover->has_reply = true;
    handover->status = status;
    handover->headers = *headers;
    handover->body = *body;
    *headers = *body = (clef_buffer){0};
    queue_handover(connection);
    pthread_mutex_unlock(&connection->http->lock);
}

void clef_http_stream_begin(clef_http_exchange *exchange, int status, clef_buffer *headers) {
    clef_http_connection *connection = connection_of(exchange);
    pthread_mutex_lock(&connection->http->lock);
    clef_http_handover *handover = &connection->handover;
    handover->has_reply = true;
    handover->is_stream = true;
    handover->status = status;
    handover->headers = *headers;
    *headers = (clef_buffer){0};
    queue_handover(connection);
    pthread_mutex_unlock(&connection->http->lock);
}

bool clef_http_stream_send(clef_http_exchange *exchange, clef_text bytes) {
    clef_http_connection *connection = connection_of(exchange);
    clef_http *http = connection->http;
    pthread_mutex_lock(&http->lock);
    clef_http_handover *handover = &connection->handover;
    if (!handover->is_broken) {
        clef_buffer_append_text(&handover->body, bytes);
        handover->is_broken = handover->body.has_failed ||
                              handover->body.length + handover->backlog > CLEF_STREAM_BACKLOG_LIMIT;
        queue_handover(connection);
    }
    bool is_read = !handover->is_broken;
    pthread_mutex_unlock(&http->lock);
    return is_read;
}

void clef_http_stream_end(clef_http_exchange *exchange) {
    clef_http_connection *connection = connection_of(exchange);
    pthread_mutex_lock(&connection->http->lock);
    connection->handover.has_ended = true;
    queue_handover(connection);
    pthread_mutex_unlock(&connection->http->lock);
}

/* Taken one by one: a stream may come into the inbox again while its last piece is sent. */
static clef_http_connection *take_queued(clef_http *http) {
    pthread_mutex_lock(&http->lock);
    clef_http_connection *first = http->inbox;
    if (first != NULL) {
        http->inbox = first->handover.next;
        first->handover.is_queued = false;
    }
    pthread_mutex_unlock(&http->lock);
    return first;
}

/* Replies may bring further requests of their connections, whose replies come here again. */
static void empty_inbox(clef_http *http) {
    for (clef_http_connection *of = take_queued(http); of != NULL; of = take_queued(http)) {
        clef_http_connection_take_reply(of);
    }
}

/* ---- turns ---- */

static void handle_connection(clef_http_connection *connection, uint32_t events) {
    if (connection->state == CLEF_HTTP_CLOSED) {
        return;
    }
    if ((events & ((uint32_t)EPOLLERR | (uint32_t)EPOLLHUP)) != 0) {
        clef_http_connection_close(connection);
        return;
    }
    if (connection->state == CLEF_HTTP_HANDLING && (events & (uint32_t)EPOLLRDHUP) != 0) {
        clef_http_connection_note_half_close(connection);
    }
    if ((events & ((uint32_t)EPOLLIN | (uint32_t)EPOLLRDHUP)) != 0) {
        clef_http_connection_read(connection);
    }
    if ((events & (uint32_t)EPOLLOUT) != 0 && connection->state != CLEF_HTTP_CLOSED) {
        clef_http_connection_write(connection);
    }
}

static void handle_event(clef_http *http, const struct epoll_event *event) {
    int *first = http->listeners.descriptors;
    if (event->data.ptr == &http->wakener) {
        uint64_t count;
        ssize_t got = read(http->wakener, &count, sizeof count);
        (void)got;
        return;
    }
    for (size_t i = 0; i < http->listeners.count; i += 1) {
        if (event->data.ptr == &first[i]) {
            accept_connections(http, first[i]);
            return;
        }
    }
    handle_connection(event->data.ptr, event->events);
}

static void expire_connections(clef_http *http) {
    clef_http_connection *next;
    http->next_deadline_ns = UINT64_MAX;
    if (http->connection_count < http->limits.connection_count) {
        add_listeners(http);
    }
    for (clef_http_connection *of = http->connections; of != NULL; of = next) {
        next = of->next;
        if (of->deadline_ns == 0) {
            continue;
        }
        if (of->deadline_ns <= http->now_ns) {
            clef_http_connection_expire(of);
        } else if (of->deadline_ns < http->next_deadline_ns) {
            http->next_deadline_ns = of->deadline_ns;
        }
    }
}

/* Idle connections end when the server stops; those with a request end after their reply. */
static void begin_stop(clef_http *http) {
    clef_http_connection *next;
    http->has_stopped = true;
    remove_listeners(http);
    clef_http_listeners_close(&http->listeners);
    for (clef_http_connection *of = http->connections; of != NULL; of = next) {
        next = of->next;
        if (of->state == CLEF_HTTP_HEAD && of->input.length == 0) {
            clef_http_connection_close(of);
        }
    }
}

static void free_dead(clef_http *http) {
    while (http->dead != NULL) {
        clef_http_connection *next = http->dead->next;
        clef_http_connection_destroy(http->dead);
        http->dead = next;
    }
}

/* Milliseconds until the next deadline, rounded up; -1 when there is none. */
static int turn_timeout(const clef_http *http) {
    if (http->next_deadline_ns == UINT64_MAX) {
        return -1;
    }
    uint64_t now = clef_clock_ns();
    uint64_t left = http->next_deadline_ns > now ? http->next_deadline_ns - now : 0;
    uint64_t milliseconds = (left + NS_PER_MS - 1) / NS_PER_MS;
    return milliseconds > 60000 ? 60000 : (int)milliseconds;
}

/* Whether the loop may sleep, and *ends when it is over. */
static bool may_sleep(clef_http *http, bool *stops, bool *ends) {
    pthread_mutex_lock(&http->lock);
    http->is_asleep = http->inbox == NULL && !http->is_ending;
    bool is_asleep = http->is_asleep;
    *stops = http->is_stopping && !http->has_stopped;
    *ends = http->is_ending && http->inbox == NULL;
    pthread_mutex_unlock(&http->lock);
    return is_asleep;
}

/* Nobody is left who could answer: exchanges end with their connections. */
static void end_connections(clef_http *http) {
    while (http->connections != NULL) {
        clef_http_connection *first = http->connections;
        clef_http_connection_close(first);
        if (first == http->connections) {
            clef_http_exchange_finish(first);
            clef_http_connection_bury(first);
        }
    }
    free_dead(http);
}

static void *run_loop(void *context) {
    clef_http *http = context;
    struct epoll_event events[EVENTS_PER_TURN];
    bool stops = false;
    bool ends = false;
    while (!ends) {
        bool sleeps = may_sleep(http, &stops, &ends);
        int count = epoll_wait(http->poll, events, EVENTS_PER_TURN,
                               sleeps && !stops ? turn_timeout(http) : 0);
        pthread_mutex_lock(&http->lock);
        http->is_asleep = false;
        pthread_mutex_unlock(&http->lock);
        http->now_ns = clef_clock_ns();
        for (int i = 0; i < count; i += 1) {
            handle_event(http, &events[i]);
        }
        if (stops) {
            begin_stop(http); /* behind the events, some of which may be those of a listener */
        }
        empty_inbox(http);
        if (http->now_ns >= http->next_deadline_ns) {
            expire_connections(http);
            empty_inbox(http);
        }
        free_dead(http);
    }
    end_connections(http);
    return NULL;
}

/* ---- life ---- */

static clef_status open_poll(clef_http *http, clef_error *error) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &http->wakener};
    http->poll = epoll_create1(EPOLL_CLOEXEC);
    http->wakener = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (http->poll < 0 || http->wakener < 0 ||
        epoll_ctl(http->poll, EPOLL_CTL_ADD, http->wakener, &event) != 0) {
        return clef_fail(error, CLEF_INTERNAL, "cannot watch sockets: %s", strerror(errno));
    }
    return CLEF_OK;
}

static clef_status make_lock(clef_http *http, clef_error *error) {
    pthread_condattr_t attributes;
    if (pthread_mutex_init(&http->lock, NULL) != 0) {
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "cannot make a lock");
    }
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int failure = pthread_cond_init(&http->became_idle, &attributes);
    pthread_condattr_destroy(&attributes);
    if (failure != 0) {
        pthread_mutex_destroy(&http->lock);
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "cannot make a lock");
    }
    http->has_lock = true;
    return CLEF_OK;
}

clef_status clef_http_create(const char *host, uint16_t port, const clef_server_limits *limits,
                             const clef_http_application *application, clef_http **out,
                             clef_error *error) {
    *out = NULL;
    clef_http *http = clef_allocate(1, sizeof *http);
    if (http == NULL) {
        return clef_fail_memory(error, sizeof *http, "a server");
    }
    http->limits = *limits;
    http->application = *application;
    http->poll = http->wakener = -1;
    http->next_deadline_ns = UINT64_MAX;
    http->now_ns = clef_clock_ns();
    http->date_second = -1;
    http->read_bytes = clef_allocate(CLEF_HTTP_READ_BYTES, 1);
    clef_status status = http->read_bytes == NULL
                             ? clef_fail_memory(error, CLEF_HTTP_READ_BYTES, "a server")
                             : make_lock(http, error);
    if (status == CLEF_OK) {
        status = clef_http_listeners_bind(host, port, &http->listeners, error);
    }
    if (status == CLEF_OK) {
        status = open_poll(http, error);
    }
    if (status != CLEF_OK) {
        clef_http_close(http);
        return status;
    }
    *out = http;
    return CLEF_OK;
}

const char *clef_http_addresses(const clef_http *http) {
    return http->listeners.addresses.bytes;
}

clef_status clef_http_start(clef_http *http, clef_error *error) {
    clef_status status = clef_http_listeners_open(&http->listeners, error);
    if (status != CLEF_OK) {
        return status;
    }
    add_listeners(http);
    if (pthread_create(&http->thread, NULL, run_loop, http) != 0) {
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "cannot start the thread of the connections");
    }
    http->has_thread = true;
    return CLEF_OK;
}

void clef_http_stop(clef_http *http) {
    pthread_mutex_lock(&http->lock);
    http->is_stopping = true;
    wake(http);
    pthread_mutex_unlock(&http->lock);
}

bool clef_http_wait_idle(clef_http *http, uint32_t milliseconds) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t nanoseconds = (uint64_t)until.tv_nsec + milliseconds * NS_PER_MS;
    until.tv_sec += (time_t)(nanoseconds / UINT64_C(1000000000));
    until.tv_nsec = (long)(nanoseconds % UINT64_C(1000000000));
    pthread_mutex_lock(&http->lock);
    int failure = 0;
    while (http->exchange_count > 0 && failure == 0) {
        failure = pthread_cond_timedwait(&http->became_idle, &http->lock, &until);
    }
    bool is_idle = http->exchange_count == 0;
    pthread_mutex_unlock(&http->lock);
    return is_idle;
}

size_t clef_http_connection_count(clef_http *http) {
    pthread_mutex_lock(&http->lock);
    size_t count = http->connection_count;
    pthread_mutex_unlock(&http->lock);
    return count;
}

void clef_http_close(clef_http *http) {
    if (http == NULL) {
        return;
    }
    if (http->has_thread) {
        pthread_mutex_lock(&http->lock);
        http->is_stopping = http->is_ending = true;
        wake(http);
        pthread_mutex_unlock(&http->lock);
        pthread_join(http->thread, NULL);
    }
    clef_http_listeners_close(&http->listeners);
    if (http->poll >= 0) {
        close(http->poll);
    }
    if (http->wakener >= 0) {
        close(http->wakener);
    }
    if (http->has_lock) {
        pthread_cond_destroy(&http->became_idle);
        pthread_mutex_destroy(&http->lock);
    }
    clef_buffer_release(&http->scratch);
    clef_release(http->read_bytes);
    clef_release(http);
}
