/* Sequences whose lengths lie around the borders of the convolution window and the chunk: the
 * backbone against the reference, and the chunked delta rule against the token-by-token recurrence.
 */
#include "support_stage.h"
#include "support_vectors.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>

/* Relative to the largest value. Six layers and the final norm, against the reference: roundings of
 * one layer pass through all that follow. */
#define RECORDED_BOUND 7e-5
/* Chunk and recurrence add the same terms in another order. In the first layer that is all there is
 * between them; behind it, it has passed through layers too. */
#define FIRST_STATE_BOUND 1e-6
#define RECURRENT_BOUND   2e-5

typedef struct worst {
    double recorded, recurrent, first_state, state;
} worst;

typedef struct comparison {
    const clef_network *network;
    const clef_safetensors *file;
    worst worst;
    size_t lengths;
} comparison;

/* The delta matrices of all layers after the last token, token by token against in chunks. */
static void compare_states(comparison *with, const clef_sequence *chunked,
                           const clef_sequence *stepped) {
    const clef_network *network = with->network;
    const clef_config *config = &network->config;
    size_t floats =
        (size_t)config->delta_value_head_count * config->delta_key_size * config->delta_value_size;
    for (size_t layer = 0; layer < config->layer_count; layer++) {
        const clef_layer_state *at = &network->layout.layers[layer];
        if (!at->is_full_attention) {
            distance of = compare_floats(stepped->fixed + at->matrix_offset,
                                         chunked->fixed + at->matrix_offset, floats);
            double *farthest = layer == 0 ? &with->worst.first_state : &with->worst.state;
            *farthest = fmax(*farthest, relative(of));
        }
    }
}

static void compare_length(comparison *with, const char *level, const clef_stored_tensor *ids) {
    size_t count = element_count(ids);
    size_t hidden_size = with->network->config.hidden_size;
    uint32_t *tokens = tokens_of(ids);
    float *chunked = clef_allocate(count * hidden_size, sizeof *chunked);
    float *stepped = clef_allocate(count * hidden_size, sizeof *stepped);
    assert_non_null(chunked);
    assert_non_null(stepped);
    test_stage whole, single;
    open_stage(&whole, with->network, count, 1, level);
    open_stage(&single, with->network, 1, 1, level);
    run_tokens(&whole, tokens, count, count, NULL, NULL, chunked);
    run_tokens(&single, tokens, count, 1, NULL, NULL, stepped);

    char name[64];
    snprintf(name, sizeof name, "last_hidden_state.%zu", count);
    distance recorded = compare_rows((clef_matrix){chunked, count, hidden_size, hidden_size}, NULL,
                                     vector_named(with->file, name));
    distance recurrent = compare_floats(stepped, chunked, count * hidden_size);
    with->worst.recorded = fmax(with->worst.recorded, relative(recorded));
    with->worst.recurrent = fmax(with->worst.recurrent, relative(recurrent));
    compare_states(with, whole.sequence, single.sequence);
    with->lengths++;

    close_stage(&whole);
    close_stage(&single);
    clef_release(tokens);
    clef_release(chunked);
    clef_release(stepped);
}

static void compare_lengths(void *context, const char *level) {
    comparison *with = context;
    with->worst = (worst){0};
    with->lengths = 0;
    for (size_t i = 0; i < clef_safetensors_count(with->file); i++) {
        const clef_stored_tensor *tensor = clef_safetensors_at(with->file, i);
        if (tensor->name.length > 4 && memcmp(tensor->name.bytes, "ids.", 4) == 0) {
            compare_length(with, level, tensor);
        }
    }
    print_message(
        "%-12s last hidden rows %.2g; token by token: rows %.2g, state of the first layer "
        "%.2g, of others %.2g\n",
        level, with->worst.recorded, with->worst.recurrent, with->worst.first_state,
        with->worst.state);
    assert_int_equal(with->lengths, 11);
    assert_within("last hidden rows", with->worst.recorded, RECORDED_BOUND);
    assert_within("rows token by token", with->worst.recurrent, RECURRENT_BOUND);
    assert_within("first state token by token", with->worst.first_state, FIRST_STATE_BOUND);
    assert_within("states token by token", with->worst.state, RECURRENT_BOUND);
}

static void test_lengths(void **state) {
    (void)state;
    clef_model *model = open_tiny_model();
    clef_safetensors *file = open_vectors("tiny-random/text/lengths.safetensors");
    comparison with = {.network = &model->network, .file = file};
    for_each_level(compare_lengths, &with);
    clef_safetensors_close(file);
    clef_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
