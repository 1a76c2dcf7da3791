/* libFuzzer entry: any bytes through the PNG adapter, as they are and with right checksums, without
 * which the fuzzer would see little of what lies behind them. */
#include "decoding.h"

#include "base/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t checksum(const uint8_t *bytes, size_t length) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0xEDB88320u & (0u - (crc & 1)));
        }
    }
    return ~crc;
}

static void mend_checksums(uint8_t *bytes, size_t length) {
    size_t at = 8;
    while (length >= 12 && at <= length - 12) {
        uint8_t *chunk = bytes + at;
        size_t data =
            (size_t)chunk[0] << 24 | (size_t)chunk[1] << 16 | (size_t)chunk[2] << 8 | chunk[3];
        if (data > length - at - 12) {
            return;
        }
        uint32_t crc = checksum(chunk + 4, data + 4);
        for (size_t i = 0; i < 4; i++) {
            chunk[8 + data + i] = (uint8_t)(crc >> (24 - 8 * i));
        }
        at += data + 12;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    decode_any(clef_png_decode, data, size);
    uint8_t *mended = clef_allocate(size, 1);
    if (mended != NULL && size > 0) {
        memcpy(mended, data, size);
        mend_checksums(mended, size);
        decode_any(clef_png_decode, mended, size);
    }
    clef_release(mended);
    return 0;
}
