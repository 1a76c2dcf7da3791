/* Positions of records with media equal the recorded ones; slices cut them anywhere; placeholders
 * and grids that do not fit each other are refused. */
#include "support.h"

#include "base/memory.h"
#include "model/media_positions.h"

#include <stdio.h>

enum { TOKEN_LIMIT = 1024, GRID_LIMIT = 8 };

typedef struct recorded_positions {
    unsigned char types[TOKEN_LIMIT];
    size_t count;
    clef_patch_grid images[GRID_LIMIT], videos[GRID_LIMIT];
    clef_media_grids grids;
    int32_t positions[3 * TOKEN_LIMIT]; /* [3, count] */
    int32_t shift;
} recorded_positions;

static int32_t integer(const clef_json *value) {
    return (int32_t)clef_json_double(value->text);
}

static size_t read_grids(const clef_json *list, clef_patch_grid *grids) {
    size_t count = 0;
    assert_in_range(list->count, 0, GRID_LIMIT);
    for (const clef_json *grid = list->first; grid != NULL; grid = grid->next) {
        grids[count++] =
            (clef_patch_grid){(uint32_t)integer(grid->first), (uint32_t)integer(grid->first->next),
                              (uint32_t)integer(grid->first->next->next)};
    }
    return count;
}

static void read_record(const clef_json *line, recorded_positions *record) {
    static const char *const axes[] = {"positions_t", "positions_h", "positions_w"};
    *record = (recorded_positions){0};
    const clef_json *types = member(line, "token_types");
    assert_in_range(types->count, 1, TOKEN_LIMIT);
    for (const clef_json *type = types->first; type != NULL; type = type->next) {
        record->types[record->count++] = (unsigned char)integer(type);
    }
    record->grids = (clef_media_grids){.images = record->images, .videos = record->videos};
    record->grids.image_count = read_grids(member(line, "image_grid_thw"), record->images);
    record->grids.video_count = read_grids(member(line, "video_grid_thw"), record->videos);
    record->grids.merge = 2;
    int32_t *out = record->positions;
    for (size_t axis = 0; axis < 3; axis++) {
        const clef_json *position = member(line, axes[axis])->first;
        for (; position != NULL; position = position->next) {
            *out++ = integer(position);
        }
    }
    assert_int_equal(out - record->positions, 3 * record->count);
    record->shift = integer(member(line, "rope_delta"));
}

/* Slices of the record from a table of all its tokens, and from one that ends where the text
 * behind the media begins. */
static void check_slices(const recorded_positions *record, const int32_t *positions) {
    size_t text = record->count;
    while (text > 0 && record->types[text - 1] == CLEF_TOKEN_TEXT) {
        text--;
    }
    int32_t *shorter = clef_allocate(3 * text, sizeof *shorter);
    assert_non_null(shorter);
    for (size_t axis = 0; axis < 3; axis++) {
        memcpy(shorter + axis * text, positions + axis * record->count, text * sizeof *shorter);
    }
    const clef_position_table tables[] = {{positions, record->count, record->shift},
                                          {shorter, text, record->shift}};
    for (size_t first = 0; first < record->count; first += 37) {
        size_t count = record->count - first < 37 ? record->count - first : 37;
        for (size_t t = 0; t < 2; t++) {
            int32_t found[3 * 40];
            clef_slice slice = {.row = 3, .count = count, .position = first};
            clef_positions_fill(&tables[t], &slice, 40, found);
            for (size_t axis = 0; axis < 3; axis++) {
                assert_memory_equal(found + axis * 40 + 3,
                                    record->positions + axis * record->count + first,
                                    count * sizeof *found);
            }
        }
    }
    /* The token behind the last. */
    int32_t next[3];
    clef_positions_fill(&tables[0], &(clef_slice){.count = 1, .position = record->count}, 1, next);
    for (size_t axis = 0; axis < 3; axis++) {
        assert_int_equal(next[axis], (int32_t)record->count + record->shift);
    }
    clef_release(shorter);
}

static void check_line(void *context, size_t number, clef_text text) {
    size_t *lines = context;
    clef_arena arena = {0};
    clef_error error = {0};
    recorded_positions *record = clef_allocate(1, sizeof *record);
    assert_non_null(record);
    read_record(parse_json(text, &arena), record);
    int32_t positions[3 * TOKEN_LIMIT];
    int32_t shift = 0;
    (void)number;
    assert_ok(clef_media_positions_make(record->types, record->count, &record->grids, positions,
                                        &shift, &error),
              &error);
    assert_memory_equal(positions, record->positions, 3 * record->count * sizeof *positions);
    assert_int_equal(shift, record->shift);
    check_slices(record, positions);
    clef_release(record);
    clef_arena_release(&arena);
    (*lines)++;
}

static void positions_equal_the_recorded_ones(void **state) {
    size_t lines = 0;
    (void)state;
    for_each_line(fixture("tiny-random/media/positions.jsonl"), check_line, &lines);
    assert_int_equal(lines, 14);
}

static void text_counts_its_tokens(void **state) {
    int32_t positions[3 * 5];
    (void)state;
    clef_positions_fill(NULL, &(clef_slice){.row = 1, .count = 4, .position = 64}, 5, positions);
    for (size_t axis = 0; axis < 3; axis++) {
        for (int32_t i = 0; i < 4; i++) {
            assert_int_equal(positions[axis * 5 + 1 + (size_t)i], 64 + i);
        }
    }
}

static void refuse(const unsigned char *types, size_t count, const clef_media_grids *grids,
                   const char *words) {
    int32_t positions[3 * 16];
    int32_t shift;
    clef_error error = {0};
    assert_int_equal(clef_media_positions_make(types, count, grids, positions, &shift, &error),
                     CLEF_INTERNAL);
    if (strstr(error.message, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.message, words);
    }
}

static void misfits_are_refused(void **state) {
    (void)state;
    const clef_patch_grid image = {1, 4, 6}, video = {2, 2, 4};
    const clef_media_grids one = {&image, NULL, 1, 0, 2};
    const clef_media_grids two_frames = {NULL, &video, 0, 1, 2};
    refuse((const unsigned char[]){0, 1, 1, 1, 1, 1, 0}, 7, &one, "5 placeholders at token 1");
    refuse((const unsigned char[]){0, 1, 1, 1, 1, 1, 1, 1}, 8, &one, "a frame of 6 features");
    refuse((const unsigned char[]){0, 2, 2, 2, 2, 2, 2}, 7, &one, "belong to no picture");
    refuse((const unsigned char[]){1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1}, 13, &one,
           "belong to no picture");
    refuse((const unsigned char[]){0, 0}, 2, &one, "0 of 1 pictures");
    refuse((const unsigned char[]){0, 2, 2, 0}, 4, &two_frames, "0 of 1 videos");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_equal_the_recorded_ones),
        cmocka_unit_test(text_counts_its_tokens),
        cmocka_unit_test(misfits_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
