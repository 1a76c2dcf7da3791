/* Text format 0.0.4. A list of labels is as long as the program's own words; whatever does not fit
 * is counted in its last place. */
#include "server/metrics.h"

#include "base/json.h"

#include <inttypes.h>

static const double BOUNDS[CLEF_METRICS_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                    0.25,  0.5,    1.0,   2.5,  5.0,   15.0, 60.0};

static void observe(clef_histogram *histogram, double seconds) {
    size_t bucket = 0;
    while (bucket < CLEF_METRICS_BUCKETS && seconds > BOUNDS[bucket]) {
        bucket += 1;
    }
    histogram->buckets[bucket] += 1;
    histogram->count += 1;
    histogram->sum += seconds;
}

static void count_label(clef_counter *counters, const char *label) {
    size_t i = 0;
    while (i + 1 < CLEF_METRICS_REASON_LIMIT && counters[i].label != NULL &&
           strcmp(counters[i].label, label) != 0) {
        i += 1;
    }
    counters[i].label = counters[i].label == NULL ? label : counters[i].label;
    counters[i].count += 1;
}

static clef_route_metrics *find_route(clef_metrics *metrics, const char *route) {
    size_t i = 0;
    while (i + 1 < CLEF_METRICS_ROUTE_LIMIT && metrics->routes[i].route != NULL &&
           strcmp(metrics->routes[i].route, route) != 0) {
        i += 1;
    }
    metrics->routes[i].route = route;
    return &metrics->routes[i];
}

static void count_status(clef_route_metrics *route, int status) {
    size_t i = 0;
    while (i + 1 < CLEF_METRICS_STATUS_LIMIT && route->statuses[i].count > 0 &&
           route->statuses[i].status != status) {
        i += 1;
    }
    route->statuses[i].status = status;
    route->statuses[i].count += 1;
}

uint64_t clef_metrics_requests(const clef_metrics *metrics) {
    uint64_t count = 0;
    for (size_t i = 0; i < CLEF_METRICS_ROUTE_LIMIT; i += 1) {
        count += metrics->routes[i].request_seconds.count;
    }
    return count;
}

void clef_metrics_add(clef_metrics *metrics, const clef_request_numbers *numbers) {
    clef_route_metrics *route = find_route(metrics, numbers->route);
    count_status(route, numbers->status);
    observe(&route->request_seconds, numbers->seconds);
    if (numbers->model_seconds >= 0.0) {
        observe(&route->model_seconds, numbers->model_seconds);
    }
    if (numbers->queue_seconds >= 0.0) {
        observe(&metrics->queue_wait_seconds, numbers->queue_seconds);
    }
    metrics->input_tokens += numbers->input_tokens;
    metrics->cached_tokens += numbers->cached_tokens;
    metrics->generated_tokens += numbers->generated_tokens;
    if (numbers->refusal != NULL) {
        count_label(metrics->refused, numbers->refusal);
    }
    if (numbers->cancelled_phase != NULL) {
        count_label(metrics->cancelled, numbers->cancelled_phase);
    }
}

/* ---- text ---- */

static void write_type(clef_buffer *out, const char *name, const char *type, const char *help) {
    clef_buffer_append_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_value(clef_buffer *out, const char *name, const char *type, const char *help,
                        uint64_t value) {
    write_type(out, name, type, help);
    clef_buffer_append_format(out, "%s %" PRIu64 "\n", name, value);
}

/* `labels` is empty or ends in a comma. */
static void write_histogram(clef_buffer *out, const char *name, const char *labels,
                            const clef_histogram *histogram) {
    uint64_t total = 0;
    for (size_t i = 0; i < CLEF_METRICS_BUCKETS; i += 1) {
        total += histogram->buckets[i];
        clef_buffer_append_format(out, "%s_bucket{%sle=\"", name, labels);
        clef_json_write_double(out, BOUNDS[i]);
        clef_buffer_append_format(out, "\"} %" PRIu64 "\n", total);
    }
    clef_buffer_append_format(out, "%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, labels,
                              histogram->count);
    int length = labels[0] == '\0' ? 0 : (int)strlen(labels) - 1;
    const char *open = length > 0 ? "{" : "";
    const char *close = length > 0 ? "}" : "";
    clef_buffer_append_format(out, "%s_sum%s%.*s%s ", name, open, length, labels, close);
    clef_json_write_double(out, histogram->sum);
    clef_buffer_append_format(out, "\n%s_count%s%.*s%s %" PRIu64 "\n", name, open, length, labels,
                              close, histogram->count);
}

static void write_route_histograms(const clef_metrics *metrics, bool is_model, const char *name,
                                   const char *help, clef_buffer *out) {
    write_type(out, name, "histogram", help);
    for (size_t i = 0; i < CLEF_METRICS_ROUTE_LIMIT && metrics->routes[i].route != NULL; i += 1) {
        const clef_route_metrics *route = &metrics->routes[i];
        const clef_histogram *histogram =
            is_model ? &route->model_seconds : &route->request_seconds;
        char labels[128];
        clef_buffer text = {0};
        clef_buffer_append_format(&text, "route=\"%s\",", route->route);
        if (histogram->count > 0 && !text.has_failed && text.length < sizeof labels) {
            memcpy(labels, text.bytes, text.length + 1);
            write_histogram(out, name, labels, histogram);
        }
        clef_buffer_release(&text);
    }
}

static void write_requests(const clef_metrics *metrics, clef_buffer *out) {
    write_type(out, "clef_requests_total", "counter",
               "Requests by route and status; status 0: the client left before a reply.");
    for (size_t i = 0; i < CLEF_METRICS_ROUTE_LIMIT && metrics->routes[i].route != NULL; i += 1) {
        const clef_route_metrics *route = &metrics->routes[i];
        for (size_t j = 0; j < CLEF_METRICS_STATUS_LIMIT && route->statuses[j].count > 0; j += 1) {
            clef_buffer_append_format(
                out, "clef_requests_total{route=\"%s\",status=\"%d\"} %" PRIu64 "\n", route->route,
                route->statuses[j].status, route->statuses[j].count);
        }
    }
}

static void write_labels(const clef_counter *counters, const char *name, const char *label,
                         const char *help, clef_buffer *out) {
    write_type(out, name, "counter", help);
    for (size_t i = 0; i < CLEF_METRICS_REASON_LIMIT && counters[i].label != NULL; i += 1) {
        clef_buffer_append_format(out, "%s{%s=\"%s\"} %" PRIu64 "\n", name, label,
                                  counters[i].label, counters[i].count);
    }
}

static void write_caches(const clef_metrics_moment *moment, clef_buffer *out) {
    write_value(out, "clef_prefix_cache_entries", "gauge", "Stored prefixes.",
                moment->cache_entries);
    write_value(out, "clef_prefix_cache_bytes", "gauge", "Memory of stored prefixes.",
                moment->cache_bytes);
    write_value(out, "clef_prefix_cache_hits_total", "counter", "Requests that used a prefix.",
                moment->cache_hits);
    write_value(out, "clef_prefix_cache_misses_total", "counter", "Requests that found none.",
                moment->cache_misses);
    write_value(out, "clef_prefix_cache_evictions_total", "counter", "Prefixes dropped.",
                moment->cache_evictions);
    write_value(out, "clef_feature_cache_entries", "gauge",
                "Pictures and videos whose features "
                "are stored.",
                moment->feature_entries);
    write_value(out, "clef_feature_cache_bytes", "gauge", "Memory of stored features.",
                moment->feature_bytes);
    write_value(out, "clef_feature_cache_hits_total", "counter",
                "Pictures and videos that skipped the vision tower.", moment->feature_hits);
    write_value(out, "clef_feature_cache_misses_total", "counter",
                "Pictures and videos that went through it.", moment->feature_misses);
    write_value(out, "clef_feature_cache_evictions_total", "counter", "Features dropped.",
                moment->feature_evictions);
}

static void write_engine(const clef_metrics_moment *moment, clef_buffer *out) {
    write_value(out, "clef_queue_depth", "gauge", "Requests that wait for the engine.",
                moment->queue_depth);
    write_value(out, "clef_in_flight", "gauge", "Requests that the engine computes.",
                moment->in_flight);
    write_value(out, "clef_computed_tokens_total", "counter",
                "Tokens computed; equal requests at the same time count once.",
                moment->computed_tokens);
    write_value(out, "clef_steps_total", "counter", "Steps of the engine.", moment->step_count);
    write_value(out, "clef_connections", "gauge", "Open connections.", moment->connection_count);
    write_caches(moment, out);
    write_type(out, "clef_memory_bytes", "gauge", "Memory by what it is for.");
    clef_buffer_append_format(out,
                              "clef_memory_bytes{kind=\"state\"} %" PRIu64 "\n"
                              "clef_memory_bytes{kind=\"scratch\"} %" PRIu64 "\n"
                              "clef_memory_bytes{kind=\"weights\"} %" PRIu64 "\n"
                              "clef_memory_bytes{kind=\"pictures\"} %" PRIu64 "\n",
                              moment->state_bytes, moment->scratch_bytes, moment->mapped_bytes,
                              moment->media_bytes);
    write_type(out, "clef_build_info", "gauge", "What runs here.");
    clef_buffer_append_format(out,
                              "clef_build_info{version=\"%s\",model=\"%s\",revision=\"%s\","
                              "backend=\"%s\",level=\"%s\"} 1\n",
                              moment->version, moment->model, moment->revision, moment->backend,
                              moment->level);
}

void clef_metrics_write(const clef_metrics *metrics, const clef_metrics_moment *moment,
                        clef_buffer *out) {
    write_requests(metrics, out);
    write_route_histograms(metrics, false, "clef_request_seconds",
                           "Time from the first byte of a request to its reply.", out);
    write_route_histograms(metrics, true, "clef_model_seconds", "Time in the engine.", out);
    write_type(out, "clef_queue_wait_seconds", "histogram", "Time until the engine began.");
    write_histogram(out, "clef_queue_wait_seconds", "", &metrics->queue_wait_seconds);
    write_value(out, "clef_input_tokens_total", "counter", "Tokens of answered requests.",
                metrics->input_tokens);
    write_value(out, "clef_cached_tokens_total", "counter", "Of these: taken from the cache.",
                metrics->cached_tokens);
    write_value(out, "clef_generated_tokens_total", "counter", "Tokens generated.",
                metrics->generated_tokens);
    write_labels(metrics->refused, "clef_refused_total", "reason", "Refused requests.", out);
    write_labels(metrics->cancelled, "clef_cancelled_total", "phase", "Requests whose client left.",
                 out);
    write_engine(moment, out);
}
