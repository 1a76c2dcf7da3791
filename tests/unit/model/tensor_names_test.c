/* The list of tensors against published counts, parameters and shapes, and the check of weights
 * against it. */
#include "model_demands.h"

#include <inttypes.h>

static size_t count_part(const model *loaded, clef_tensor_part first, clef_tensor_part last) {
    size_t count = 0;
    for (size_t i = 0; i < loaded->demands.count; i++) {
        clef_tensor_part part = loaded->demands.items[i].part;
        count += part >= first && part <= last;
    }
    return count;
}

/* ---- the list ---- */

static void counts_tensors_and_parameters_of_published_models(void **state) {
    (void)state;
    const struct {
        const char *name;
        size_t text, vision, head;
        uint64_t backbone_parameters, head_parameters;
    } models[] = {
        {"configs/clef", 851, 333, 122, UINT64_C(27356728560), UINT64_C(128056324)},
        {"configs/clef-flash", 427, 333, 122, UINT64_C(9409813744), UINT64_C(121762820)},
        {"configs/base-4b", 426, 297, 0, UINT64_C(4539265536), 0},
        {"configs/base-2b", 320, 297, 0, UINT64_C(2213241664), 0},
        {"configs/base-0.8b", 320, 153, 0, UINT64_C(852985920), 0},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        model loaded;
        load_model(fixture(models[i].name), &loaded);
        assert_int_equal(count_part(&loaded, CLEF_TENSOR_PART_TEXT, CLEF_TENSOR_PART_LAYER),
                         models[i].text);
        assert_int_equal(
            count_part(&loaded, CLEF_TENSOR_PART_VISION, CLEF_TENSOR_PART_VISION_BLOCK),
            models[i].vision);
        assert_int_equal(count_part(&loaded, CLEF_TENSOR_PART_HEAD, CLEF_TENSOR_PART_HEAD_DECODER),
                         models[i].head);
        assert_true(clef_tensor_demands_parameters(&loaded.demands, false) ==
                    models[i].backbone_parameters);
        assert_true(clef_tensor_demands_parameters(&loaded.demands, true) ==
                    models[i].head_parameters);
        release_model(&loaded);
    }
}

/* Shapes of the published table, both columns. */
static void demands_the_published_shapes(void **state) {
    (void)state;
    const struct {
        const char *name;
        const char *clef, *flash;
    } rows[] = {
        {"model.language_model.embed_tokens.weight", "[248320, 5120]", "[248320, 4096]"},
        {"model.language_model.norm.weight", "[5120]", "[4096]"},
        {"lm_head.weight", "[248320, 5120]", "[248320, 4096]"},
        {"model.language_model.layers.31.input_layernorm.weight", "[5120]", "[4096]"},
        {"model.language_model.layers.0.post_attention_layernorm.weight", "[5120]", "[4096]"},
        {"model.language_model.layers.0.mlp.gate_proj.weight", "[17408, 5120]", "[12288, 4096]"},
        {"model.language_model.layers.0.mlp.up_proj.weight", "[17408, 5120]", "[12288, 4096]"},
        {"model.language_model.layers.0.mlp.down_proj.weight", "[5120, 17408]", "[4096, 12288]"},
        {"model.language_model.layers.0.linear_attn.in_proj_qkv.weight", "[10240, 5120]",
         "[8192, 4096]"},
        {"model.language_model.layers.1.linear_attn.in_proj_z.weight", "[6144, 5120]",
         "[4096, 4096]"},
        {"model.language_model.layers.2.linear_attn.in_proj_b.weight", "[48, 5120]", "[32, 4096]"},
        {"model.language_model.layers.4.linear_attn.in_proj_a.weight", "[48, 5120]", "[32, 4096]"},
        {"model.language_model.layers.0.linear_attn.conv1d.weight", "[10240, 1, 4]",
         "[8192, 1, 4]"},
        {"model.language_model.layers.0.linear_attn.A_log", "[48]", "[32]"},
        {"model.language_model.layers.0.linear_attn.dt_bias", "[48]", "[32]"},
        {"model.language_model.layers.0.linear_attn.norm.weight", "[128]", "[128]"},
        {"model.language_model.layers.0.linear_attn.out_proj.weight", "[5120, 6144]",
         "[4096, 4096]"},
        {"model.language_model.layers.3.self_attn.q_proj.weight", "[12288, 5120]", "[8192, 4096]"},
        {"model.language_model.layers.7.self_attn.k_proj.weight", "[1024, 5120]", "[1024, 4096]"},
        {"model.language_model.layers.31.self_attn.v_proj.weight", "[1024, 5120]", "[1024, 4096]"},
        {"model.language_model.layers.3.self_attn.o_proj.weight", "[5120, 6144]", "[4096, 4096]"},
        {"model.language_model.layers.3.self_attn.q_norm.weight", "[256]", "[256]"},
        {"model.language_model.layers.3.self_attn.k_norm.weight", "[256]", "[256]"},
        {"model.visual.patch_embed.proj.weight", "[1152, 3, 2, 16, 16]", "[1152, 3, 2, 16, 16]"},
        {"model.visual.pos_embed.weight", "[2304, 1152]", "[2304, 1152]"},
        {"model.visual.blocks.26.attn.qkv.weight", "[3456, 1152]", "[3456, 1152]"},
        {"model.visual.blocks.0.mlp.linear_fc1.weight", "[4304, 1152]", "[4304, 1152]"},
        {"model.visual.merger.linear_fc1.weight", "[4608, 4608]", "[4608, 4608]"},
        {"model.visual.merger.linear_fc2.weight", "[5120, 4608]", "[4096, 4608]"},
        {"hidden_norm.bias", "[5120]", "[4096]"},
        {"memory_projection.weight", "[1024, 5120]", "[1024, 4096]"},
        {"type_embedding.weight", "[3, 1024]", "[3, 1024]"},
        {"evidence_layers.1.attention.in_proj_weight", "[3072, 1024]", "[3072, 1024]"},
        {"evidence_layers.0.feedforward.3.weight", "[1024, 4096]", "[1024, 4096]"},
        {"layers.3.multihead_attn.in_proj_bias", "[3072]", "[3072]"},
        {"layers.0.linear2.weight", "[1024, 4096]", "[1024, 4096]"},
        {"residual_scorer.0.weight", "[1024, 4096]", "[1024, 4096]"},
        {"residual_scorer.3.bias", "[1]", "[1]"},
        {"residual_gate", "[]", "[]"},
    };
    model clef;
    model flash;
    load_model(fixture("configs/clef"), &clef);
    load_model(fixture("configs/clef-flash"), &flash);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const clef_tensor_demand *a = find_demand(&clef, rows[i].name);
        const clef_tensor_demand *b = find_demand(&flash, rows[i].name);
        if (a == NULL || b == NULL) {
            fail_msg("%s is not demanded", rows[i].name);
        }
        char text[CLEF_SHAPE_TEXT_BYTES];
        assert_string_equal(clef_shape_text(a->rank, a->shape, text, sizeof text), rows[i].clef);
        assert_string_equal(clef_shape_text(b->rank, b->shape, text, sizeof text), rows[i].flash);
    }
    assert_null(find_demand(&clef, "model.language_model.layers.3.linear_attn.A_log"));
    assert_null(find_demand(&clef, "model.language_model.layers.0.self_attn.q_proj.weight"));
    assert_null(find_demand(&flash, "model.language_model.layers.32.input_layernorm.weight"));
    release_model(&clef);
    release_model(&flash);
}

static void composes_names_as_it_lists_them(void **state) {
    (void)state;
    model loaded;
    load_model(fixture("tiny-random/release"), &loaded);
    for (size_t i = 0; i < loaded.demands.count; i++) {
        const clef_tensor_demand *demand = &loaded.demands.items[i];
        char name[128];
        clef_text text =
            clef_tensor_name(demand->part, demand->layer, demand->local.bytes, name, sizeof name);
        assert_true(clef_text_equals(text, demand->name));
        assert_string_equal(demand->name.bytes, name);
    }
    char small[8];
    clef_text cut = clef_tensor_name(CLEF_TENSOR_PART_HEAD, -1, "residual_gate", small, 8);
    assert_int_equal(cut.length, 7);
    release_model(&loaded);
}

/* ---- real files ---- */

static void real_models_fit(void **state) {
    (void)state;
    const char *const directories[] = {CLEF_MODELS "/clef-tiny",
                                       CLEF_FIXTURES "/tiny-random/release"};
    for (int i = 0; i < 2; i++) {
        model loaded;
        clef_weight_store *backbone;
        clef_weight_store *head;
        clef_error error = {0};
        char path[1024];
        load_model(directories[i], &loaded);
        assert_true(loaded.has_head);
        assert_ok(clef_weight_store_open(directories[i], &backbone, NULL, &error), &error);
        path_in(directories[i], "joint_head.safetensors", path);
        assert_ok(clef_weight_store_open_file(path, &head, NULL, &error), &error);
        assert_ok(
            clef_tensor_demands_check(&loaded.demands, directories[i], backbone, head, &error),
            &error);
        assert_int_equal(loaded.demands.count,
                         clef_weight_store_count(backbone) + clef_weight_store_count(head));
        clef_weight_store_close(backbone);
        clef_weight_store_close(head);
        release_model(&loaded);
    }
}

/* ---- made files ---- */

/* How a made weight file differs from what the model demands. */
typedef struct recipe {
    const char *dtype;   /* of all tensors; NULL: BF16 */
    const char *dropped; /* name of a tensor left out */
    const char *changed; /* name of a tensor with another dtype or shape */
    const char *changed_dtype;
    const char *changed_shape;
    uint64_t changed_bytes;
    const char *extra; /* name of a tensor [2] of U8 that is added */
} recipe;

static void write_entry(clef_buffer *header, const char *name, const char *dtype, const char *shape,
                        uint64_t bytes, uint64_t *end) {
    clef_buffer_append_format(
        header,
        "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
        header->length == 0 ? "{" : ",", name, dtype, shape, *end, *end + bytes);
    *end += bytes;
}

static uint64_t measure(const clef_tensor_demand *demand, const char *dtype) {
    uint64_t bytes = strcmp(dtype, "F32") == 0 ? 4 : 2;
    for (unsigned i = 0; i < demand->rank; i++) {
        bytes *= demand->shape[i];
    }
    return bytes;
}

/* Writes a file with the tensors of the backbone or of the head, all zero. */
static void write_made(const model *loaded, bool of_head, const recipe *how, const char *directory,
                       const char *name) {
    clef_buffer header = {0};
    uint64_t end = 0;
    const char *dtype = how->dtype == NULL ? "BF16" : how->dtype;
    for (size_t i = 0; i < loaded->demands.count; i++) {
        const clef_tensor_demand *demand = &loaded->demands.items[i];
        if ((demand->part >= CLEF_TENSOR_PART_HEAD) != of_head ||
            (how->dropped != NULL && strcmp(how->dropped, demand->name.bytes) == 0)) {
            continue;
        }
        char shape[CLEF_SHAPE_TEXT_BYTES];
        clef_shape_text(demand->rank, demand->shape, shape, sizeof shape);
        if (how->changed != NULL && strcmp(how->changed, demand->name.bytes) == 0) {
            write_entry(&header, demand->name.bytes, how->changed_dtype,
                        how->changed_shape == NULL ? shape : how->changed_shape, how->changed_bytes,
                        &end);
        } else {
            write_entry(&header, demand->name.bytes, dtype, shape, measure(demand, dtype), &end);
        }
    }
    if (how->extra != NULL) {
        write_entry(&header, how->extra, "U8", "[2]", 2, &end);
    }
    clef_buffer_append_string(&header, "}");
    assert_false(header.has_failed);
    clef_text bytes = build_file(header.bytes, 0);
    write_file(directory, name, bytes);
    char path[1024];
    assert_int_equal(truncate(path_in(directory, name, path), (off_t)(bytes.length + end)), 0);
    release_text(bytes);
    clef_buffer_release(&header);
}

/* Makes a directory from the recipes (NULL: as demanded) and checks it. */
static clef_status check_made(const model *loaded, const recipe *backbone_recipe,
                              const recipe *head_recipe, clef_error *error) {
    static const recipe plain = {0};
    char directory[256];
    char path[1024];
    make_directory(directory);
    write_made(loaded, false, backbone_recipe == NULL ? &plain : backbone_recipe, directory,
               "model.safetensors");
    write_made(loaded, true, head_recipe == NULL ? &plain : head_recipe, directory,
               "joint_head.safetensors");
    clef_weight_store *backbone = NULL;
    clef_weight_store *head = NULL;
    assert_ok(clef_weight_store_open(directory, &backbone, NULL, error), error);
    path_in(directory, "joint_head.safetensors", path);
    assert_ok(clef_weight_store_open_file(path, &head, NULL, error), error);
    clef_status status =
        clef_tensor_demands_check(&loaded->demands, directory, backbone, head, error);
    if (status != CLEF_OK) {
        assert_int_equal(status, CLEF_BAD_FILE);
        assert_string_equal(error->place, directory);
    }
    clef_weight_store_close(backbone);
    clef_weight_store_close(head);
    remove_directory(directory);
    return status;
}

static model awkward;
static model tied; /* the same shape with tied embeddings */

static int load_awkward(void **state) {
    (void)state;
    load_model(fixture("tiny-random/release"), &awkward);
    load_model(fixture("tiny-random/release"), &tied);
    tied.config.has_tied_embeddings = true;
    clef_error error = {0};
    assert_ok(
        clef_tensor_demands_list(&tied.config, &tied.head, &tied.arena, &tied.demands, &error),
        &error);
    assert_int_equal(tied.demands.count + 1, awkward.demands.count);
    return 0;
}

static int release_awkward(void **state) {
    (void)state;
    release_model(&awkward);
    release_model(&tied);
    return 0;
}

#define EXPECT_MISFIT(loaded, backbone, head, ...)                                                 \
    do {                                                                                           \
        clef_error misfit = {0};                                                                   \
        assert_int_equal(check_made(loaded, backbone, head, &misfit), CLEF_BAD_FILE);              \
        ASSERT_MESSAGE(&misfit, __VA_ARGS__);                                                      \
    } while (0)

/* G11: each weight type alone, and single tensors that differ. */
static void g11_weight_types(void **state) {
    (void)state;
    const char *const dtypes[] = {"BF16", "F16", "F32"};
    for (int i = 0; i < 3; i++) {
        clef_error error = {0};
        recipe how = {.dtype = dtypes[i]};
        assert_ok(check_made(&awkward, &how, &how, &error), &error);
        recipe decay = {.changed = "model.language_model.layers.0.linear_attn.A_log",
                        .changed_dtype = dtypes[i],
                        .changed_bytes = i == 2 ? 24 : 12};
        assert_ok(check_made(&awkward, &decay, NULL, &error), &error);
    }
    const char *name = "model.language_model.layers.4.input_layernorm.weight";
    clef_error error = {0};
    recipe norm = {.changed = name, .changed_dtype = "F32", .changed_bytes = 4 * 96};
    assert_ok(check_made(&awkward, &norm, NULL, &error), &error);
    recipe whole = {.changed = name, .changed_dtype = "I8", .changed_bytes = 96};
    EXPECT_MISFIT(&awkward, &whole, NULL, "of a wrong type: 1", "wrong types:", name,
                  "is I8, expected BF16, F16 or F32");
    recipe wide = {.changed = name, .changed_dtype = "F64", .changed_bytes = 8 * 96};
    EXPECT_MISFIT(&awkward, &wide, NULL, name, "is F64");
}

/* G05: the head's three scalars may be vectors of one; nothing else may. */
static void g05_scalars_stored_as_vectors(void **state) {
    (void)state;
    const char *const scalars[] = {"prior_logit_scale", "joint_logit_scale", "residual_gate"};
    for (int i = 0; i < 3; i++) {
        clef_error error = {0};
        recipe vector = {.changed = scalars[i],
                         .changed_dtype = "F32",
                         .changed_shape = "[1]",
                         .changed_bytes = 4};
        assert_ok(check_made(&awkward, NULL, &vector, &error), &error);
        vector.changed_shape = "[1,1]";
        EXPECT_MISFIT(&awkward, NULL, &vector, scalars[i], "is [1, 1], expected []");
        vector.changed_shape = "[0]";
        vector.changed_bytes = 0;
        EXPECT_MISFIT(&awkward, NULL, &vector, scalars[i], "is [0], expected []");
    }
    recipe bias = {.changed = "residual_scorer.3.bias",
                   .changed_dtype = "BF16",
                   .changed_shape = "[]",
                   .changed_bytes = 2};
    EXPECT_MISFIT(&awkward, NULL, &bias, "residual_scorer.3.bias", "is [], expected [1]");
}

/* G10: prefixes, tied embeddings and extras. */
static void g10_untied_without_output_matrix(void **state) {
    (void)state;
    recipe how = {.dropped = "lm_head.weight"};
    EXPECT_MISFIT(&awkward, &how, NULL, "missing: 1", "lm_head.weight  [1088, 96]",
                  "tie_word_embeddings is false");
}

static void g10_tied_with_and_without_output_matrix(void **state) {
    (void)state;
    clef_error error = {0};
    assert_ok(check_made(&tied, NULL, NULL, &error), &error);
    recipe how = {.extra = "lm_head.weight"};
    EXPECT_MISFIT(&tied, &how, NULL, "unknown: 1", "\"lm_head.weight\"",
                  "tie_word_embeddings is true");
}

static void g10_unknown_extras(void **state) {
    (void)state;
    recipe how = {.extra = "model.language_model.layers.6.input_layernorm.weight"};
    EXPECT_MISFIT(&awkward, &how, NULL, "unknown: 1", "layers.6.input_layernorm.weight", "[2]",
                  "model.safetensors");
    how.extra = "hidden_norm.weight"; /* the head's name in the backbone */
    EXPECT_MISFIT(&awkward, &how, NULL, "\"hidden_norm.weight\"", "model.safetensors");
    how.extra = "model.language_model.norm.weigh\\u0000t";
    EXPECT_MISFIT(&awkward, &how, NULL, "weigh\\u{0}t");
    how.extra = "lm_head.bias";
    EXPECT_MISFIT(&awkward, NULL, &how, "\"lm_head.bias\"", "joint_head.safetensors");
}

static void g10_mtp_tensors_are_ignored_in_the_backbone_alone(void **state) {
    (void)state;
    clef_error error = {0};
    recipe how = {.extra = "mtp.fc.weight"};
    assert_ok(check_made(&awkward, &how, NULL, &error), &error);
    EXPECT_MISFIT(&awkward, NULL, &how, "\"mtp.fc.weight\"", "joint_head.safetensors");
    how.extra = "mtpfc.weight";
    EXPECT_MISFIT(&awkward, &how, NULL, "\"mtpfc.weight\"");
}

static void wrong_shapes_show_both(void **state) {
    (void)state;
    /* Transposed, with a dimension more, and with one less. */
    recipe how = {.changed = "model.language_model.layers.1.mlp.up_proj.weight",
                  .changed_dtype = "BF16",
                  .changed_shape = "[96,200]",
                  .changed_bytes = 2 * 96 * 200};
    EXPECT_MISFIT(&awkward, &how, NULL, "of a wrong shape: 1",
                  "model.language_model.layers.1.mlp.up_proj.weight  is [96, 200], expected [200, "
                  "96]");
    how.changed_shape = "[200,96,1]";
    EXPECT_MISFIT(&awkward, &how, NULL, "is [200, 96, 1], expected [200, 96]");
    how.changed_shape = "[19200]";
    EXPECT_MISFIT(&awkward, &how, NULL, "is [19200], expected [200, 96]");
}

static void g01_every_tensor_is_missed(void **state) {
    (void)state;
    for (size_t i = 0; i < awkward.demands.count; i += 11) {
        const clef_tensor_demand *demand = &awkward.demands.items[i];
        recipe how = {.dropped = demand->name.bytes};
        bool of_head = demand->part >= CLEF_TENSOR_PART_HEAD;
        EXPECT_MISFIT(&awkward, of_head ? NULL : &how, of_head ? &how : NULL, "missing: 1, of 203",
                      demand->name.bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_tensors_and_parameters_of_published_models),
        cmocka_unit_test(demands_the_published_shapes),
        cmocka_unit_test(composes_names_as_it_lists_them),
        cmocka_unit_test(real_models_fit),
        cmocka_unit_test(g11_weight_types),
        cmocka_unit_test(g05_scalars_stored_as_vectors),
        cmocka_unit_test(g10_untied_without_output_matrix),
        cmocka_unit_test(g10_tied_with_and_without_output_matrix),
        cmocka_unit_test(g10_unknown_extras),
        cmocka_unit_test(g10_mtp_tensors_are_ignored_in_the_backbone_alone),
        cmocka_unit_test(wrong_shapes_show_both),
        cmocka_unit_test(g01_every_tensor_is_missed),
    };
    return cmocka_run_group_tests(tests, load_awkward, release_awkward);
}
