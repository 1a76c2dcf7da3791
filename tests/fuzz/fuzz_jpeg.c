/* libFuzzer entry: any bytes through the JPEG adapter. */
#include "decoding.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return decode_any(clef_jpeg_decode, data, size);
}
