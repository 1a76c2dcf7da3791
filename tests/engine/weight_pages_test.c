/* Weights that leave memory and come back: what is kept stays, what is not goes, and no bit of an
 * answer changes. */
#include "engine_support.h"

#include "base/memory.h"
#include "engine/weight_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Whole pages of a matrix that are in memory, as a share. */
static double share_in_memory(clef_weight weight) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)weight.data + page - 1) / page * page;
    uintptr_t end =
        ((uintptr_t)weight.data + weight.rows * clef_weight_row_bytes(weight)) / page * page;
    size_t count = (end - begin) / page;
    unsigned char *states = clef_allocate(count, 1);
    size_t there = 0;
    assert_non_null(states);
    assert_int_equal(mincore((void *)begin, end - begin, states), 0);
    for (size_t i = 0; i < count; i++) {
        there += states[i] & 1;
    }
    clef_release(states);
    return (double)there / (double)count;
}

/* Pages that are not yet on the disk cannot leave memory, and those of a written file hang together
 * in larger pieces than the layers of a small model. */
static void clear_memory(const char *path) {
    int descriptor = open(path, O_RDONLY);
    assert_true(descriptor >= 0);
    assert_int_equal(fsync(descriptor), 0);
    assert_int_equal(posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED), 0);
    close(descriptor);
}

static void run_layers(const clef_layer_watch *watch, size_t layers) {
    for (size_t i = 0; i <= layers; i++) {
        watch->begin(watch->context, i);
    }
}

static void layers_stay_and_go(void **state) {
    (void)state;
    char *directory = copy_model(trained_model());
    clear_memory(path_in(directory, "model.safetensors"));
    clear_memory(path_in(directory, "joint_head.safetensors"));
    clef_model *model = open_model_with(directory, 2, NULL);
    clef_session *session = open_session(model, 0);
    clef_record *record = encode_made(model, 5, 60);
    clef_answer *answer = decide(session, record);
    float *logits = copy_logits(answer);
    clef_answer_close(answer);

    const clef_network *network = &model->network;
    size_t layers = network->config.layer_count;
    clef_weight_pages *pages;
    clef_error error = {0};
    assert_ok(clef_weight_pages_create(model, layers, &pages, &error), &error);
    assert_non_null(pages);
    /* The first step always looks; nothing was read since, so the second need not. */
    assert_non_null(clef_weight_pages_begin(pages));
    assert_null(clef_weight_pages_begin(pages));

    /* With all the room there is, everything stays. */
    run_layers(clef_weight_pages_plan(pages, UINT64_MAX), layers);
    for (size_t i = 0; i < layers; i++) {
        assert_true(share_in_memory(network->layers[i].down) > 0.99);
    }
    /* Without any, everything goes. */
    run_layers(clef_weight_pages_plan(pages, 0), layers);
    bool can_leave = share_in_memory(network->layers[0].down) < 0.5;
    for (size_t i = 0; can_leave && i < layers; i++) {
        assert_true(share_in_memory(network->layers[i].down) < 0.01);
        assert_true(share_in_memory(network->layers[i].gate) < 0.01);
    }
    answer = decide(session, record);
    assert_equal_logits(answer, logits, "after all weights left memory");
    clef_answer_close(answer);

    clef_weight_pages_close(pages);
    clef_release(logits);
    clef_record_close(record);
    clef_session_close(session);
    clef_model_close(model);
    drop_copy(directory);
    if (!can_leave) {
        print_message("SKIP: pages of this file system stay in memory\n");
        skip();
    }
}

/* Weights in memory, not in files, have no pages to care for. */
static void only_mapped_weights_count(void **state) {
    (void)state;
    clef_model *model = open_model_with(trained_model(), 1, NULL);
    clef_weight_pages *pages;
    clef_error error = {0};
    model->made.data = clef_allocate(1, 1);
    assert_ok(clef_weight_pages_create(model, 1, &pages, &error), &error);
    assert_null(pages);
    assert_null(clef_weight_pages_begin(pages));
    clef_weight_pages_close(pages);
    clef_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_stay_and_go),
        cmocka_unit_test(only_mapped_weights_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
