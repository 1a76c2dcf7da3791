/* What the matrices of the layers read: records run through the source model, a layer at a time,
 * while the products of inputs are summed up. Holds the hidden rows of all records and the sums of
 * one layer; computes in fp32. */
#ifndef CLEF_ENGINE_QUANTIZE_INPUTS_H
#define CLEF_ENGINE_QUANTIZE_INPUTS_H

#include "engine/handles.h"
#include "model/tensor_names.h"
#include "weights/repack_measured.h"

/* The inputs of a layer that its matrices share. */
typedef enum clef_layer_input {
    CLEF_LAYER_INPUT_NONE, /* of a matrix that is not measured */
    CLEF_LAYER_INPUT_MIXER,
    CLEF_LAYER_INPUT_MIXER_OUT,
    CLEF_LAYER_INPUT_FEED_FORWARD,
    CLEF_LAYER_INPUT_FEED_FORWARD_OUT,
    CLEF_LAYER_INPUT_COUNT
} clef_layer_input;

/* Which of them a matrix reads. Embeddings and output matrix are not measured: the one is looked
 * up, the other is not read by decisions. */
clef_layer_input clef_layer_input_of(const clef_tensor_demand *demand);

typedef struct clef_quantize_inputs clef_quantize_inputs;

/* Called when more of a layer is done, with the bytes of hidden rows; anything but CLEF_OK stops.
 */
typedef clef_status clef_inputs_progress(void *context, uint64_t bytes);

/* Takes the memory and embeds the records. Model and records, which may have been encoded for
 * another handle of the same model, must stay. CLEF_USAGE for records that do not fit the model;
 * CLEF_OUT_OF_MEMORY. */
clef_status clef_quantize_inputs_create(clef_model *model, clef_record *const *records,
                                        size_t record_count, clef_quantize_inputs **out,
                                        clef_error *error);
/* NULL is fine. */
void clef_quantize_inputs_destroy(clef_quantize_inputs *inputs);

/* Tokens of all records, and bytes that one layer counts for in progress. */
uint64_t clef_quantize_inputs_tokens(const clef_quantize_inputs *inputs);
uint64_t clef_quantize_inputs_bytes(const clef_quantize_inputs *inputs);

/* Runs the layers up to `layer` that have not run yet, and measures the last. Layers are asked for
 * in ascending order; asking for the same one again costs nothing. CLEF_INTERNAL when its inputs
 * are not finite; what `progress` returns. */
clef_status clef_quantize_inputs_measure(clef_quantize_inputs *inputs, uint32_t layer,
                                         clef_inputs_progress *progress, void *context,
                                         clef_error *error);

/* Sums of the layer measured last, until the next is; NULL when nothing but zeros was read. */
const clef_input_sums *clef_quantize_inputs_find(const clef_quantize_inputs *inputs,
                                                 clef_layer_input input);

#endif
