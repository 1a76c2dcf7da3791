/* Counters and histograms, and their Prometheus text. All calls come from the loop's thread;
 * numbers of the engine are handed in when the text is written. */
#ifndef CLEF_SERVER_METRICS_H
#define CLEF_SERVER_METRICS_H

#include "base/buffer.h"

#define CLEF_METRICS_ROUTE_LIMIT  24
#define CLEF_METRICS_STATUS_LIMIT 16
#define CLEF_METRICS_BUCKETS      14
#define CLEF_METRICS_REASON_LIMIT 16

typedef struct clef_histogram {
    uint64_t buckets[CLEF_METRICS_BUCKETS + 1]; /* not summed up; the last is beyond all bounds */
    uint64_t count;
    double sum; /* seconds */
} clef_histogram;

typedef struct clef_counter {
    const char *label; /* static; NULL ends the list */
    uint64_t count;
} clef_counter;

typedef struct clef_route_metrics {
    const char *route; /* static; NULL: not used yet */
    struct {
        int status;
        uint64_t count;
    } statuses[CLEF_METRICS_STATUS_LIMIT];
    clef_histogram request_seconds;
    clef_histogram model_seconds;
} clef_route_metrics;

/* Zero-initialised counts from zero. */
typedef struct clef_metrics {
    clef_route_metrics routes[CLEF_METRICS_ROUTE_LIMIT];
    clef_histogram queue_wait_seconds;
    uint64_t input_tokens, cached_tokens, generated_tokens;
    clef_counter refused[CLEF_METRICS_REASON_LIMIT];   /* by reason */
    clef_counter cancelled[CLEF_METRICS_REASON_LIMIT]; /* by phase */
} clef_metrics;

/* What one request adds. */
typedef struct clef_request_numbers {
    const char *route; /* static */
    int status;        /* 0: the client left before a reply */
    double seconds;
    double model_seconds; /* negative: the engine was not asked */
    double queue_seconds; /* negative: it did not wait */
    uint32_t input_tokens, cached_tokens, generated_tokens;
    const char *refusal;         /* static reason or NULL */
    const char *cancelled_phase; /* static or NULL */
} clef_request_numbers;

void clef_metrics_add(clef_metrics *metrics, const clef_request_numbers *numbers);

/* How many requests were added. */
uint64_t clef_metrics_requests(const clef_metrics *metrics);

/* Values that are read when the text is written. */
typedef struct clef_metrics_moment {
    uint64_t queue_depth, in_flight, connection_count;
    uint64_t computed_tokens, step_count;
    uint64_t state_bytes, scratch_bytes, mapped_bytes, media_bytes, body_bytes;
    uint64_t cache_entries, cache_bytes, cache_hits, cache_misses, cache_evictions;
    uint64_t feature_entries, feature_bytes, feature_hits, feature_misses, feature_evictions;
    const char *version, *model, *revision, *backend, *level;
} clef_metrics_moment;

void clef_metrics_write(const clef_metrics *metrics, const clef_metrics_moment *moment,
                        clef_buffer *out);

#endif
