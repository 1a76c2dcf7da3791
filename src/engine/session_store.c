/* Which files of a cache directory a session may trust: those written for the same weights,
 * computed in the same way. States of another model would give answers that look right. */
#include "engine/session_parts.h"

#include <stdio.h>

/* Changes whenever the numbers in a state can change: kernels, layout, order of additions. */
#define STATE_VERSION 2
/* Of each tensor: its beginning and its middle, for two models that are trained apart have the same
 * names, shapes and sizes. */
#define SAMPLE_BYTES 512

static void add_text(clef_digest_state *state, const char *text) {
    clef_digest_add(state, text, strlen(text) + 1);
}

static void add_number(clef_digest_state *state, uint64_t number) {
    clef_digest_add(state, &number, sizeof number);
}

static void add_tensor(clef_digest_state *state, const clef_stored_tensor *tensor) {
    const unsigned char *data = tensor->data;
    size_t sample = tensor->bytes < SAMPLE_BYTES ? tensor->bytes : SAMPLE_BYTES;
    add_number(state, tensor->name.length);
    clef_digest_add(state, tensor->name.bytes, tensor->name.length);
    add_number(state, tensor->dtype);
    add_number(state, tensor->rank);
    for (size_t i = 0; i < tensor->rank; i++) {
        add_number(state, tensor->shape[i]);
    }
    add_number(state, tensor->bytes);
    clef_digest_add(state, data, sample);
    clef_digest_add(state, data + (tensor->bytes - sample) / 2, sample);
}

static void add_store(clef_digest_state *state, const clef_weight_store *store) {
    add_number(state, clef_weight_store_bytes(store));
    add_number(state, clef_weight_store_count(store));
    for (size_t i = 0; i < clef_weight_store_count(store); i++) {
        add_tensor(state, clef_weight_store_at(store, i));
    }
}

/* The numbers of the configuration that reach a state without showing in a shape. */
static void add_config(clef_digest_state *state, const clef_network *network) {
    const clef_config *config = &network->config;
    clef_digest_add(state, network->rotary_frequencies,
                    config->rotary_size / 2 * sizeof *network->rotary_frequencies);
    clef_digest_add(state, &config->rms_epsilon, sizeof config->rms_epsilon);
    clef_digest_add(state, config->mrope_section, sizeof config->mrope_section);
    add_number(state, config->layer_count);
    add_number(state, config->attention_head_count);
    add_number(state, config->key_value_head_count);
    add_number(state, config->delta_key_head_count);
    add_number(state, config->delta_value_head_count);
    for (uint32_t i = 0; i < config->layer_count; i++) {
        add_number(state, network->layers[i].is_full_attention);
    }
}

static clef_digest identify(const clef_session *session) {
    const clef_model *model = session->model;
    clef_digest_state state;
    clef_digest_begin(&state, CLEF_DIGEST_KEY);
    add_number(&state, STATE_VERSION);
    add_text(&state, clef_version());
#ifdef __VERSION__
    add_text(&state, __VERSION__); /* compilers order additions of their own in plain C */
#endif
    add_text(&state, session->backend->level);
    add_number(&state, model->precision == CLEF_PRECISION_BF16);
    add_config(&state, &model->network);
    add_store(&state, model->backbone_store);
    add_store(&state, model->head_store);
    return clef_digest_finish(&state);
}

clef_status clef_session_open_store(clef_session *session, const clef_session_options *options,
                                    clef_error *error) {
    if (options->prefix_cache_directory == NULL) {
        return CLEF_OK;
    }
    clef_digest identity = identify(session);
    uint64_t limit = options->prefix_cache_directory_bytes;
    if (limit == 0 && __builtin_mul_overflow(options->prefix_cache_bytes, (uint64_t)4, &limit)) {
        limit = UINT64_MAX / 2;
    }
    return clef_prefix_store_open(options->prefix_cache_directory, &identity,
                                  &session->model->network.layout, limit, &session->store, error);
}
