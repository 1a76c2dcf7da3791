/* Parts of a sequence's state: disjoint, aligned, and together what the layout says. */
#include "support.h"

#include "state/state_layout.h"

#include <stdlib.h>

enum { LAYERS = 7 };

typedef struct part {
    size_t offset;
    size_t floats;
} part;

static int compare_parts(const void *a, const void *b) {
    const part *x = a;
    const part *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Sorted, none reaches into the next, all inside `total`, each on a cache line. */
static void check_parts(part *parts, size_t count, size_t total) {
    qsort(parts, count, sizeof *parts, compare_parts);
    for (size_t i = 0; i < count; i++) {
        size_t end = parts[i].offset + parts[i].floats;
        assert_int_equal(parts[i].offset % 16, 0);
        assert_true(end <= (i + 1 < count ? parts[i + 1].offset : total));
    }
    /* Alignment is all that is added. */
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        used += parts[i].floats;
    }
    assert_true(total <= used + 16 * count);
}

static clef_state_sizes sizes_of(const bool *is_full_attention, size_t layers, size_t odd) {
    return (clef_state_sizes){.layer_count = layers,
                              .is_full_attention = is_full_attention,
                              .delta = {2, 6, 16 + odd, 24 + odd},
                              .convolution_rows = 3,
                              .convolution_channels = 208 + odd,
                              .key_value_columns = 64 + odd,
                              .memory_width = 48 + odd};
}

static void check_layout(const bool *is_full_attention, size_t layers, size_t odd) {
    clef_error error = {0};
    clef_state_layout layout;
    clef_state_sizes sizes = sizes_of(is_full_attention, layers, odd);
    assert_ok(clef_state_layout_create(&sizes, &layout, &error), &error);
    part fixed[2 * LAYERS];
    part page[2 * LAYERS + 1];
    size_t fixed_count = 0;
    size_t page_count = 0;
    size_t matrices = sizes.delta.value_heads * sizes.delta.key_size * sizes.delta.value_size;
    size_t rows = CLEF_GRID * sizes.key_value_columns;
    for (size_t i = 0; i < layers; i++) {
        const clef_layer_state *layer = &layout.layers[i];
        assert_int_equal(layer->is_full_attention, is_full_attention[i]);
        if (is_full_attention[i]) {
            page[page_count++] = (part){layer->key_offset, rows};
            page[page_count++] = (part){layer->value_offset, rows};
        } else {
            fixed[fixed_count++] = (part){layer->matrix_offset, matrices};
            fixed[fixed_count++] =
                (part){layer->tail_offset, sizes.convolution_rows * sizes.convolution_channels};
        }
    }
    page[page_count++] = (part){layout.memory_offset, CLEF_GRID * sizes.memory_width};
    check_parts(fixed, fixed_count, layout.fixed_floats);
    check_parts(page, page_count, layout.page_floats);
    assert_int_equal(layout.memory_width, sizes.memory_width);
    clef_state_layout_release(&layout);
}

static void parts_are_disjoint(void **state) {
    (void)state;
    for (size_t kinds = 0; kinds < 1u << LAYERS; kinds++) {
        bool is_full_attention[LAYERS];
        for (size_t i = 0; i < LAYERS; i++) {
            is_full_attention[i] = kinds >> i & 1;
        }
        for (size_t layers = 1; layers <= LAYERS; layers++) {
            check_layout(is_full_attention, layers, kinds % 5);
        }
    }
}

static void bytes_grow_by_pages(void **state) {
    (void)state;
    clef_error error = {0};
    clef_state_layout layout;
    static const bool kinds[] = {false, true, false};
    clef_state_sizes sizes = sizes_of(kinds, 3, 0);
    assert_ok(clef_state_layout_create(&sizes, &layout, &error), &error);
    for (size_t tokens = 0; tokens < 400; tokens++) {
        size_t pages = tokens / CLEF_GRID + (tokens % CLEF_GRID != 0);
        assert_int_equal(clef_state_layout_bytes(&layout, tokens),
                         4 * (layout.fixed_floats + pages * layout.page_floats));
    }
    /* A long sequence of a large model does not wrap around. */
    layout.page_floats = (size_t)1 << 24;
    assert_true(clef_state_layout_bytes(&layout, (size_t)1 << 24) ==
                4 * layout.fixed_floats + ((uint64_t)1 << 44));
    clef_state_layout_release(&layout);
}

static void released_layouts_are_empty(void **state) {
    (void)state;
    clef_state_layout layout = {0};
    clef_state_layout_release(&layout);
    assert_null(layout.layers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_disjoint),
        cmocka_unit_test(bytes_grow_by_pages),
        cmocka_unit_test(released_layouts_are_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
