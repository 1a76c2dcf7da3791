/* The formula: FNV-1a of the name starts a splitmix64 sequence whose upper bits become a fraction
 * in
 * (-1, 1), scaled, shifted and rounded to bfloat16. */
#include "support_formula.h"

#include "base/machine.h"
#include "base/memory.h"

#include <stdio.h>

#define BLOCK ((size_t)1 << 16)

double number_of(const clef_json *value) {
    assert_int_equal(value->type, CLEF_JSON_NUMBER);
    return clef_json_double(value->text);
}

double number_member(const clef_json *object, const char *key) {
    return number_of(member(object, key));
}

uint32_t size_member(const clef_json *object, const char *key) {
    uint64_t value;
    assert_true(clef_json_unsigned(member(object, key), &value));
    return (uint32_t)value;
}

const clef_json *load_case(const char *name, clef_arena *arena) {
    char path[256];
    snprintf(path, sizeof path, "layers/%s.json", name);
    clef_text text = load_file(fixture(path));
    clef_text kept = clef_arena_copy(arena, text);
    release_text(text);
    assert_non_null(kept.bytes);
    return parse_json(kept, arena);
}

tensor_formula formula_of(const clef_json *entry) {
    clef_text name = member(entry, "name")->text;
    tensor_formula formula = {.rows = 1,
                              .columns = 1,
                              .scale = (float)number_member(entry, "scale"),
                              .offset = (float)number_member(entry, "offset")};
    assert_true(name.length < sizeof formula.name);
    memcpy(formula.name, name.bytes, name.length);
    const clef_json *shape = member(entry, "shape");
    for (const clef_json *size = shape->first; size != NULL; size = size->next) {
        if (size == shape->first && size->next != NULL) {
            formula.rows = (size_t)number_of(size);
        } else {
            formula.columns *= (size_t)number_of(size);
        }
    }
    return formula;
}

/* ---- values ---- */

static uint64_t hash_name(const char *name) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    }
    return hash;
}

static uint16_t value_at(uint64_t hash, uint64_t index, float scale, float offset) {
    uint64_t s = hash + (index + 1) * 0x9e3779b97f4a7c15u;
    s = (s ^ (s >> 30)) * 0xbf58476d1ce4e5b9u;
    s = (s ^ (s >> 27)) * 0x94d049bb133111ebu;
    s ^= s >> 31;
    int32_t odd = 2 * (int32_t)(s >> 40) + 1 - (1 << 24);
    float scaled = (float)odd * 0x1p-24f * scale;
    float value = scaled + offset;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

typedef struct filling {
    uint64_t hash, first;
    float scale, offset;
    size_t count;
    uint16_t *out;
    double *sums; /* of the blocks */
} filling;

static void fill_block(void *context, size_t task, unsigned worker) {
    const filling *work = context;
    (void)worker;
    size_t begin = task * BLOCK;
    size_t end = work->count - begin < BLOCK ? work->count : begin + BLOCK;
    double sum = 0;
    for (size_t i = begin; i < end; i++) {
        work->out[i] = value_at(work->hash, work->first + i, work->scale, work->offset);
        sum += clef_float_of_bf16(work->out[i]);
    }
    work->sums[task] = sum;
}

double fill_formula(const tensor_formula *formula, uint64_t first, size_t count, uint16_t *out) {
    size_t blocks = (count + BLOCK - 1) / BLOCK;
    filling work = {.hash = hash_name(formula->name),
                    .first = first,
                    .scale = formula->scale,
                    .offset = formula->offset,
                    .count = count,
                    .out = out,
                    .sums = clef_allocate(blocks, sizeof(double))};
    assert_non_null(work.sums);
    clef_thread_pool_run(threads_of(clef_machine_cpus()), CLEF_THREAD_LIMIT, blocks, fill_block,
                         &work);
    double sum = 0;
    for (size_t i = 0; i < blocks; i++) {
        sum += work.sums[i];
    }
    clef_release(work.sums);
    return sum;
}

/* ---- whole tensors ---- */

/* Equality throughout: the values are bfloat16, whose sums of this size are exact in double
 * whatever the order. */
static void check_values(const clef_json *entry, const tensor_formula *formula,
                         const uint16_t *bits, double sum) {
    size_t count = formula->rows * formula->columns;
    const clef_json *first = member(entry, "first");
    size_t index = 0;
    for (const clef_json *value = first->first; value != NULL; value = value->next, index++) {
        if ((float)number_of(value) != clef_float_of_bf16(bits[index])) {
            fail_msg("value %zu of %s is not the recorded one", index, formula->name);
        }
    }
    assert_int_equal(index, count < 4 ? count : 4);
    const clef_json *last = clef_json_member(entry, "last");
    if (last != NULL && (float)number_of(last) != clef_float_of_bf16(bits[count - 1])) {
        fail_msg("the last value of %s is not the recorded one", formula->name);
    }
    const clef_json *total = clef_json_member(entry, "sum");
    if (total != NULL && number_of(total) != sum) {
        fail_msg("the sum of %s is %.17g, recorded %.17g", formula->name, sum, number_of(total));
    }
}

clef_weight formula_weight(const clef_json *entry, clef_arena *arena) {
    tensor_formula formula = formula_of(entry);
    uint16_t *bits = clef_arena_allocate(arena, formula.rows * formula.columns, sizeof *bits);
    assert_non_null(bits);
    double sum = fill_formula(&formula, 0, formula.rows * formula.columns, bits);
    check_values(entry, &formula, bits, sum);
    return (clef_weight){
        .data = bits, .dtype = CLEF_DTYPE_BF16, .rows = formula.rows, .columns = formula.columns};
}

float *formula_floats(const clef_json *entry, clef_arena *arena) {
    clef_weight weight = formula_weight(entry, arena);
    size_t count = weight.rows * weight.columns;
    float *floats = clef_arena_allocate(arena, count, sizeof *floats);
    assert_non_null(floats);
    clef_widen(weight.dtype, weight.data, count, floats);
    return floats;
}
