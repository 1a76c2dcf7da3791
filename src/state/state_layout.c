/* Lays the parts one behind the other, each aligned to 16 floats (a cache line). */
#include "state/state_layout.h"

#include "base/memory.h"

static size_t place(size_t *end, size_t floats) {
    size_t offset = *end;
    *end += (floats + 15) / 16 * 16;
    return offset;
}

clef_status clef_state_layout_create(const clef_state_sizes *sizes, clef_state_layout *layout,
                                     clef_error *error) {
    *layout =
        (clef_state_layout){.layer_count = sizes->layer_count, .memory_width = sizes->memory_width};
    layout->layers = clef_allocate(sizes->layer_count, sizeof *layout->layers);
    if (layout->layers == NULL) {
        return clef_fail_memory(error, sizes->layer_count * sizeof *layout->layers,
                                "the layout of a sequence's state");
    }
    size_t matrices = sizes->delta.value_heads * sizes->delta.key_size * sizes->delta.value_size;
    for (size_t i = 0; i < sizes->layer_count; i++) {
        clef_layer_state *layer = &layout->layers[i];
        layer->is_full_attention = sizes->is_full_attention[i];
        if (layer->is_full_attention) {
            layer->key_offset = place(&layout->page_floats, CLEF_GRID * sizes->key_value_columns);
            layer->value_offset = place(&layout->page_floats, CLEF_GRID * sizes->key_value_columns);
        } else {
            layer->matrix_offset = place(&layout->fixed_floats, matrices);
            layer->tail_offset =
                place(&layout->fixed_floats, sizes->convolution_rows * sizes->convolution_channels);
        }
    }
    layout->memory_offset = place(&layout->page_floats, CLEF_GRID * sizes->memory_width);
    return CLEF_OK;
}

void clef_state_layout_release(clef_state_layout *layout) {
    clef_release(layout->layers);
    *layout = (clef_state_layout){0};
}

uint64_t clef_state_layout_bytes(const clef_state_layout *layout, size_t tokens) {
    uint64_t pages = (tokens + CLEF_GRID - 1) / CLEF_GRID;
    return (layout->fixed_floats + pages * layout->page_floats) * sizeof(float);
}
