/* libFuzzer entry: any text as a picture of a request: bare base64, data: URL, address. */
#include "base/memory.h"
#include "media/media_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char nothing[1] = "";
    clef_text text = {size == 0 ? nothing : (const char *)data, size};
    clef_error error = {0};
    uint8_t *bytes;
    size_t length;
    clef_status status =
        clef_media_text_decode(text, CLEF_MEDIA_IMAGE, 64, &bytes, &length, &error);
    if ((status == CLEF_OK) != (bytes != NULL) || length > 64 || length > size) {
        __builtin_trap();
    }
    clef_media_form form = clef_media_form_of(text);
    if (status == CLEF_OK && form != CLEF_MEDIA_BASE64 && form != CLEF_MEDIA_DATA_URL) {
        __builtin_trap();
    }
    unsigned sum = 0;
    for (size_t i = 0; i < length; i++) {
        sum += bytes[i];
    }
    if (sum > 255 * 64) {
        __builtin_trap();
    }
    clef_release(bytes);
    return 0;
}
