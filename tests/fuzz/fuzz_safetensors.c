/* libFuzzer entry: a whole safetensors file, and the same bytes as a shard index. */
#include "weights/safetensors.h"
#include "weights/shard_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t nothing = 0;
    const uint8_t *bytes = size == 0 ? &nothing : data;
    clef_error error = {0};
    clef_safetensors *file;
    if (clef_safetensors_parse("fuzz", bytes, size, &file, &error) == CLEF_OK) {
        unsigned sum = 0;
        for (size_t i = 0; i < clef_safetensors_count(file); i++) {
            const clef_stored_tensor *tensor = clef_safetensors_at(file, i);
            if (clef_safetensors_find(file, tensor->name) != tensor) {
                __builtin_trap();
            }
            for (size_t j = 0; j < tensor->bytes; j++) {
                sum += ((const uint8_t *)tensor->data)[j];
            }
        }
        if (sum > 255 * size) {
            __builtin_trap();
        }
        clef_safetensors_close(file);
    }
    clef_shard_index index;
    clef_text text = {(const char *)bytes, size};
    if (clef_shard_index_parse("fuzz", text, &index, &error) == CLEF_OK) {
        for (size_t i = 0; i < index.count; i++) {
            if (clef_shard_index_find(&index, index.entries[i].name) != &index.entries[i]) {
                __builtin_trap();
            }
        }
        clef_shard_index_release(&index);
    }
    return 0;
}
