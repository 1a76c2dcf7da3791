/* Growth by doubling under a cap; failures stick. */
#include "base/buffer.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>

#define FIRST_CAPACITY 256

bool clef_buffer_reserve(clef_buffer *buffer, size_t length) {
    size_t needed;
    if (buffer->has_failed || !clef_add_size(buffer->length, length, &needed) ||
        !clef_add_size(needed, 1, &needed) ||
        (buffer->cap_bytes != 0 && needed - 1 > buffer->cap_bytes)) {
        buffer->has_failed = true;
        return false;
    }
    if (needed <= buffer->capacity) {
        return true;
    }
    size_t capacity = buffer->capacity == 0 ? FIRST_CAPACITY : buffer->capacity;
    while (capacity < needed) {
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    }
    if (buffer->cap_bytes != 0 && capacity - 1 > buffer->cap_bytes) {
        capacity = buffer->cap_bytes + 1;
    }
    char *bytes = clef_reallocate(buffer->bytes, capacity, 1);
    if (bytes == NULL) {
        buffer->has_failed = true;
        return false;
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

void clef_buffer_append(clef_buffer *buffer, const void *bytes, size_t length) {
    if (length == 0 || !clef_buffer_reserve(buffer, length)) {
        return;
    }
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    buffer->bytes[buffer->length] = '\0';
}

void clef_buffer_append_text(clef_buffer *buffer, clef_text text) {
    clef_buffer_append(buffer, text.bytes, text.length);
}

void clef_buffer_append_string(clef_buffer *buffer, const char *string) {
    clef_buffer_append(buffer, string, strlen(string));
}

void clef_buffer_append_byte(clef_buffer *buffer, char byte) {
    clef_buffer_append(buffer, &byte, 1);
}

void clef_buffer_append_format(clef_buffer *buffer, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        buffer->has_failed = true;
    } else if (clef_buffer_reserve(buffer, (size_t)length)) {
        vsnprintf(buffer->bytes + buffer->length, (size_t)length + 1, format, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
}

clef_status clef_buffer_check(const clef_buffer *buffer, const char *what, clef_error *error) {
    return buffer->has_failed ? clef_fail_memory(error, buffer->length, what) : CLEF_OK;
}

clef_text clef_buffer_text(const clef_buffer *buffer) {
    return (clef_text){buffer->bytes, buffer->length};
}

char *clef_buffer_take(clef_buffer *buffer, size_t *length) {
    char *bytes = buffer->has_failed ? NULL : buffer->bytes;
    if (buffer->has_failed) {
        clef_release(buffer->bytes);
    }
    *length = bytes == NULL ? 0 : buffer->length;
    *buffer = (clef_buffer){.cap_bytes = buffer->cap_bytes};
    return bytes;
}

void clef_buffer_clear(clef_buffer *buffer) {
    buffer->length = 0;
    buffer->has_failed = false;
}

void clef_buffer_release(clef_buffer *buffer) {
    clef_release(buffer->bytes);
    *buffer = (clef_buffer){0};
}
