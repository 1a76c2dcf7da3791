/* Sequences and checkpoints: lists of page references beside a block of fixed size. */
#include "state/sequence.h"

#include "base/memory.h"

clef_status clef_sequence_create(const clef_state_layout *layout, clef_page_pool *pool,
                                 clef_sequence **out, clef_error *error) {
    *out = NULL;
    clef_sequence *sequence = clef_allocate(1, sizeof *sequence);
    float *fixed = clef_allocate_aligned(layout->fixed_floats, sizeof(float));
    if (sequence == NULL || fixed == NULL) {
        clef_release(sequence);
        clef_release(fixed);
        return clef_fail_memory(error, layout->fixed_floats * sizeof(float),
                                "the state of a sequence");
    }
    *sequence = (clef_sequence){.layout = layout, .pool = pool, .fixed = fixed};
    clef_sequence_reset(sequence);
    *out = sequence;
    return CLEF_OK;
}

static void drop_pages(clef_sequence *sequence) {
    for (size_t i = 0; i < sequence->page_count; i++) {
        clef_page_drop(sequence->pool, sequence->pages[i]);
    }
    sequence->page_count = 0;
}

void clef_sequence_destroy(clef_sequence *sequence) {
    if (sequence == NULL) {
        return;
    }
    drop_pages(sequence);
    clef_release(sequence->pages);
    clef_release(sequence->fixed);
    clef_release(sequence);
}

void clef_sequence_reset(clef_sequence *sequence) {
    drop_pages(sequence);
    sequence->position = 0;
    /* S₀ = 0, and the convolution sees zeros before the start. */
    memset(sequence->fixed, 0, sequence->layout->fixed_floats * sizeof(float));
}

static clef_status reserve_array(clef_sequence *sequence, size_t pages, clef_error *error) {
    if (pages <= sequence->page_capacity) {
        return CLEF_OK;
    }
    float **grown = clef_reallocate(sequence->pages, pages, sizeof *grown);
    if (grown == NULL) {
        return clef_fail_memory(error, pages * sizeof *grown, "the pages of a sequence");
    }
    sequence->pages = grown;
    sequence->page_capacity = pages;
    return CLEF_OK;
}

clef_status clef_sequence_reserve(clef_sequence *sequence, size_t tokens, clef_error *error) {
    size_t pages = (tokens + CLEF_GRID - 1) / CLEF_GRID;
    clef_status status = reserve_array(sequence, pages, error);
    if (status != CLEF_OK) {
        return status;
    }
    size_t before = sequence->page_count;
    while (sequence->page_count < pages) {
        float *page = clef_page_take(sequence->pool);
        if (page == NULL) {
            while (sequence->page_count > before) {
                clef_page_drop(sequence->pool, sequence->pages[--sequence->page_count]);
            }
            return clef_fail_memory(error, sequence->layout->page_floats * sizeof(float),
                                    "a page of state");
        }
        sequence->pages[sequence->page_count++] = page;
    }
    return CLEF_OK;
}

clef_slice clef_sequence_slice(const clef_sequence *sequence, size_t row, size_t count) {
    return (clef_slice){.row = row,
                        .count = count,
                        .position = sequence->position,
                        .fixed = sequence->fixed,
                        .pages = sequence->pages};
}

clef_status clef_checkpoint_take(const clef_sequence *sequence, clef_checkpoint **out,
                                 clef_error *error) {
    *out = NULL;
    if (sequence->position % CLEF_GRID != 0) {
        return clef_fail(error, CLEF_USAGE,
                         "a checkpoint at token %zu is off the grid of %d tokens",
                         sequence->position, CLEF_GRID);
    }
    size_t pages = sequence->position / CLEF_GRID;
    size_t fixed_bytes = sequence->layout->fixed_floats * sizeof(float);
    clef_checkpoint *checkpoint = clef_allocate(1, sizeof *checkpoint);
    float *fixed = clef_allocate_aligned(fixed_bytes, 1);
    float **references = clef_allocate(pages, sizeof *references);
    if (checkpoint == NULL || fixed == NULL || references == NULL) {
        clef_release(checkpoint);
        clef_release(fixed);
        clef_release(references);
        return clef_fail_memory(error, fixed_bytes, "a checkpoint");
    }
    memcpy(fixed, sequence->fixed, fixed_bytes);
    for (size_t i = 0; i < pages; i++) {
        references[i] = clef_page_share(sequence->pages[i]);
    }
    *checkpoint = (clef_checkpoint){.pool = sequence->pool,
                                    .fixed = fixed,
                                    .pages = references,
                                    .position = sequence->position};
    *out = checkpoint;
    return CLEF_OK;
}

void clef_checkpoint_destroy(clef_checkpoint *checkpoint) {
    if (checkpoint == NULL) {
        return;
    }
    for (size_t i = 0; i < checkpoint->position / CLEF_GRID; i++) {
        clef_page_drop(checkpoint->pool, checkpoint->pages[i]);
    }
    clef_release(checkpoint->pages);
    clef_release(checkpoint->fixed);
    clef_release(checkpoint);
}

clef_status clef_sequence_restore(clef_sequence *sequence, const clef_checkpoint *checkpoint,
                                  clef_error *error) {
    clef_sequence_reset(sequence);
    size_t pages = checkpoint->position / CLEF_GRID;
    clef_status status = reserve_array(sequence, pages, error);
    if (status != CLEF_OK) {
        return status;
    }
    for (size_t i = 0; i < pages; i++) {
        sequence->pages[i] = clef_page_share(checkpoint->pages[i]);
    }
    sequence->page_count = pages;
    memcpy(sequence->fixed, checkpoint->fixed, sequence->layout->fixed_floats * sizeof(float));
    sequence->position = checkpoint->position;
    return CLEF_OK;
}
