/* What a thread may not wait for comes back as CLEF_BUSY, and the next thread begins anew. */
#include "server/encoding.h"

/* Asked by the library while it reads pictures. */
static bool is_abandoned(void *context) {
    clef_call *call = context;
    pthread_mutex_lock(&call->server->lock);
    bool answer = call->is_abandoned || call->server->has_ended;
    pthread_mutex_unlock(&call->server->lock);
    return answer;
}

static clef_media_mode choose_media(const clef_call *call) {
    switch (call->encoding_place) {
    case CLEF_ENCODING_ON_LOOP:
        return CLEF_MEDIA_NONE;
    case CLEF_ENCODING_ON_ENCODERS:
        return call->server->fetchers != NULL ? CLEF_MEDIA_ENCLOSED : CLEF_MEDIA_ALL;
    case CLEF_ENCODING_ON_FETCHERS:
        break;
    }
    return CLEF_MEDIA_ALL;
}

static void run_task(clef_call *call) {
    const clef_server *server = call->server;
    clef_encoders_run(call->encoding_place == CLEF_ENCODING_ON_FETCHERS ? server->fetchers
                                                                        : server->encoders,
                      &call->task);
}

clef_status clef_encoding_run(clef_call *call, clef_text body, const clef_record_options *options,
                              bool *is_moved, clef_error *error) {
    clef_record_options chosen = *options;
    chosen.media = choose_media(call);
    chosen.media_bytes = call->server->options.limits.media_bytes;
    chosen.is_abandoned = is_abandoned;
    chosen.context = call;
    *is_moved = false;
    clef_status status = clef_record_encode(call->server->model, body.bytes, body.length, &chosen,
                                            &call->record, error);
    if (status == CLEF_BUSY && chosen.media != CLEF_MEDIA_ALL) {
        *is_moved = true;
        *error = (clef_error){0};
        call->encoding_place++;
        run_task(call);
        return CLEF_OK;
    }
    pthread_mutex_lock(&call->server->lock);
    bool has_ended = call->server->has_ended;
    pthread_mutex_unlock(&call->server->lock);
    if (status == CLEF_CANCELLED && has_ended) {
        return clef_fail(error, CLEF_BUSY, "the server is stopping");
    }
    return status;
}

void clef_encoding_run_patiently(clef_call *call) {
    call->encoding_place =
        call->server->fetchers != NULL ? CLEF_ENCODING_ON_FETCHERS : CLEF_ENCODING_ON_ENCODERS;
    run_task(call);
}
