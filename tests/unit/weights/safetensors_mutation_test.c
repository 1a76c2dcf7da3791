/* Thousands of damaged copies of one valid file: each is refused with a message or loads with every
 * tensor inside the file. Run under the address sanitizer this finds reads beyond either end. */
#include "weight_fixture.h"

#include "weights/safetensors.h"

static const char base_header[] =
    "{\"__metadata__\":{\"format\":\"pt\",\"note\":\"a\\u00e9\"},"
    "\"embed.weight\":{\"dtype\":\"BF16\",\"shape\":[4,6],\"data_offsets\":[0,48]},"
    "\"norm.weight\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[48,72]},"
    "\"scale\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[72,74]},"
    "\"none\":{\"dtype\":\"I64\",\"shape\":[3,0],\"data_offsets\":[74,74]},"
    "\"flags\":{\"dtype\":\"BOOL\",\"shape\":[1,2,5],\"data_offsets\":[74,84]}}   ";

#define DATA_BYTES 84

typedef struct outcome {
    size_t loaded, refused;
} outcome;

/* Touches every byte of every tensor; the sanitizer tells when one lies outside. */
static void read_all(const clef_safetensors *file, const char *bytes, size_t length) {
    unsigned sum = 0;
    uint64_t total = 0;
    for (size_t i = 0; i < clef_safetensors_count(file); i++) {
        const clef_stored_tensor *tensor = clef_safetensors_at(file, i);
        for (size_t j = 0; j < tensor->bytes; j++) {
            sum += ((const unsigned char *)tensor->data)[j];
        }
        assert_int_equal((uintptr_t)tensor->data % clef_dtype_bytes(tensor->dtype), 0);
        assert_ptr_equal(clef_safetensors_find(file, tensor->name), tensor);
        total += tensor->bytes;
    }
    /* What loads has no byte that belongs to nobody: length, header, data. */
    uint64_t header = 0;
    for (int i = 7; i >= 0; i--) {
        header = header << 8 | (unsigned char)bytes[i];
    }
    assert_int_equal(total + header + 8, length);
    assert_true(sum <= 255 * total);
}

static clef_status try_bytes(const char *bytes, size_t length, outcome *result) {
    /* A block of exactly this length, so that a read beyond it is seen. */
    char *copy = malloc(length == 0 ? 1 : length);
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    clef_safetensors *file = NULL;
    clef_error error = {0};
    clef_status status = clef_safetensors_parse("dir/mutant", copy, length, &file, &error);
    if (status == CLEF_OK) {
        result->loaded++;
        read_all(file, copy, length);
        clef_safetensors_close(file);
    } else {
        result->refused++;
        assert_int_equal(status, CLEF_BAD_FILE);
        assert_null(file);
        assert_string_equal(error.place, "dir/mutant");
        assert_int_equal(strncmp(error.message, "mutant: ", 8), 0);
        assert_in_range(strlen(error.message), 20, 2000);
    }
    free(copy);
    return status;
}

static void the_base_file_loads(void **state) {
    (void)state;
    outcome result = {0};
    clef_text base = build_file(base_header, DATA_BYTES);
    assert_int_equal(try_bytes(base.bytes, base.length, &result), CLEF_OK);
    release_text(base);
}

static void every_truncation_is_refused(void **state) {
    (void)state;
    clef_text base = build_file(base_header, DATA_BYTES);
    outcome result = {0};
    for (size_t length = 0; length < base.length; length++) {
        try_bytes(base.bytes, length, &result);
    }
    assert_int_equal(result.loaded, 0);
    assert_int_equal(result.refused, base.length);
    release_text(base);
}

static void every_flipped_bit_of_length_and_header(void **state) {
    (void)state;
    clef_text base = build_file(base_header, DATA_BYTES);
    char *bytes = (char *)(uintptr_t)base.bytes;
    outcome result = {0};
    for (size_t i = 0; i < base.length - DATA_BYTES; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] = (char)(bytes[i] ^ (1 << bit));
            try_bytes(bytes, base.length, &result);
            bytes[i] = (char)(bytes[i] ^ (1 << bit));
        }
    }
    /* Letters of names may change, digits of sizes may not. */
    assert_true(result.loaded > 100);
    assert_true(result.refused > 2000);
    release_text(base);
}

static void bytes_deleted_doubled_and_replaced(void **state) {
    (void)state;
    clef_text base = build_file(base_header, DATA_BYTES);
    outcome result = {0};
    char *mutant = malloc(base.length + 1);
    assert_non_null(mutant);
    const char replacements[] = "\0\"{}[],:-9e.\xFF\\";
    for (size_t i = 0; i < base.length - DATA_BYTES; i++) {
        memcpy(mutant, base.bytes, i);
        memcpy(mutant + i, base.bytes + i + 1, base.length - i - 1);
        try_bytes(mutant, base.length - 1, &result);
        memcpy(mutant, base.bytes, i + 1);
        memcpy(mutant + i + 1, base.bytes + i, base.length - i);
        try_bytes(mutant, base.length + 1, &result);
        for (size_t j = 0; j < sizeof replacements - 1; j++) {
            memcpy(mutant, base.bytes, base.length);
            mutant[i] = replacements[j];
            try_bytes(mutant, base.length, &result);
        }
    }
    assert_true(result.refused > 5000);
    free(mutant);
    release_text(base);
}

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

/* Every number of the header in turn becomes each hostile one. */
static void every_number_replaced(void **state) {
    (void)state;
    const char *const numbers[] = {"-1",
                                   "-0",
                                   "0",
                                   "1",
                                   "0.5",
                                   "1e30",
                                   "1e-30",
                                   "1E400",
                                   "47",
                                   "85",
                                   "4294967296",
                                   "9223372036854775807",
                                   "9223372036854775808",
                                   "18446744073709551615",
                                   "18446744073709551616",
                                   "00",
                                   "null",
                                   "true",
                                   "\"4\"",
                                   "[]",
                                   "{}",
                                   "NaN",
                                   ""};
    outcome result = {0};
    size_t tried = 0;
    size_t header_length = sizeof base_header - 1;
    const char *metadata_end = strchr(base_header, '}');
    for (size_t i = (size_t)(metadata_end - base_header); i < header_length; i++) {
        bool is_number = is_digit(base_header[i]) && strchr("[,", base_header[i - 1]) != NULL;
        if (!is_number) {
            continue;
        }
        size_t end = i;
        while (is_digit(base_header[end])) {
            end++;
        }
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) {
            char header[1024];
            snprintf(header, sizeof header, "%.*s%s%s", (int)i, base_header, numbers[j],
                     base_header + end);
            clef_text mutant = build_file(header, DATA_BYTES);
            bool is_same = strcmp(header, base_header) == 0;
            clef_status status = try_bytes(mutant.bytes, mutant.length, &result);
            assert_true(!is_same || status == CLEF_OK);
            release_text(mutant);
            tried++;
        }
    }
    assert_true(tried > 300);
    /* The first dimension of the empty tensor and equal numbers load; next to nothing else does. */
    assert_true(result.loaded < 30);
}

static uint64_t next_random(uint64_t *random) {
    *random += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mixed = *random;
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ mixed >> 31;
}

static void several_random_changes_at_once(void **state) {
    (void)state;
    clef_text base = build_file(base_header, DATA_BYTES);
    char *mutant = malloc(base.length);
    assert_non_null(mutant);
    uint64_t random = 7;
    outcome result = {0};
    for (int round = 0; round < 4000; round++) {
        memcpy(mutant, base.bytes, base.length);
        unsigned changes = 1 + (unsigned)(next_random(&random) % 6);
        for (unsigned i = 0; i < changes; i++) {
            size_t at = (size_t)(next_random(&random) % (base.length - DATA_BYTES));
            size_t from = (size_t)(next_random(&random) % base.length);
            /* Half of the changes copy a byte from elsewhere: they keep to the alphabet of JSON. */
            mutant[at] =
                next_random(&random) % 2 == 0 ? base.bytes[from] : (char)next_random(&random);
        }
        try_bytes(mutant, base.length, &result);
    }
    assert_true(result.refused > 1000);
    free(mutant);
    release_text(base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_base_file_loads),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_flipped_bit_of_length_and_header),
        cmocka_unit_test(bytes_deleted_doubled_and_replaced),
        cmocka_unit_test(every_number_replaced),
        cmocka_unit_test(several_random_changes_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
