/* Line by line. */
#include "cli/http_reply.h"

#include <strings.h>

size_t clef_http_reply_head_find(clef_text bytes) {
    size_t line = 0;
    for (size_t i = 0; i < bytes.length; i += 1) {
        if (bytes.bytes[i] != '\n') {
            continue;
        }
        size_t length = i - line;
        if (length == 0 || (length == 1 && bytes.bytes[line] == '\r')) {
            return i + 1;
        }
        line = i + 1;
    }
    return 0;
}

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static clef_text trim(clef_text text) {
    while (text.length > 0 && is_blank(text.bytes[text.length - 1])) {
        text.length -= 1;
    }
    while (text.length > 0 && is_blank(text.bytes[0])) {
        text.bytes += 1;
        text.length -= 1;
    }
    return text;
}

/* Takes a line off the front of `rest`, without its end. */
static clef_text take_line(clef_text *rest) {
    const char *end = memchr(rest->bytes, '\n', rest->length);
    size_t length = end == NULL ? rest->length : (size_t)(end - rest->bytes);
    clef_text line = {rest->bytes, length};
    size_t used = end == NULL ? length : length + 1;
    rest->bytes += used;
    rest->length -= used;
    return line;
}

/* "name: value"; false when the line is none. */
static bool split_field(clef_text line, clef_text *name, clef_text *value) {
    const char *colon = memchr(line.bytes, ':', line.length);
    if (colon == NULL) {
        return false;
    }
    *name = (clef_text){line.bytes, (size_t)(colon - line.bytes)};
    *value = trim((clef_text){colon + 1, line.length - name->length - 1});
    return true;
}

static bool equals_any_case(clef_text text, const char *word) {
    return text.length == strlen(word) && strncasecmp(text.bytes, word, text.length) == 0;
}

clef_text clef_http_reply_field(clef_text head, const char *name) {
    clef_text found_name;
    clef_text value;
    (void)take_line(&head);
    while (head.length > 0) {
        if (split_field(take_line(&head), &found_name, &value) &&
            equals_any_case(found_name, name)) {
            return value;
        }
    }
    return (clef_text){NULL, 0};
}

/* The list of tokens separated by commas has that one. */
static bool has_token(clef_text list, const char *token) {
    while (list.length > 0) {
        const char *comma = memchr(list.bytes, ',', list.length);
        size_t length = comma == NULL ? list.length : (size_t)(comma - list.bytes);
        if (equals_any_case(trim((clef_text){list.bytes, length}), token)) {
            return true;
        }
        size_t used = comma == NULL ? length : length + 1;
        list.bytes += used;
        list.length -= used;
    }
    return false;
}

static bool read_length(clef_text digits, uint64_t *value) {
    *value = 0;
    for (size_t i = 0; i < digits.length; i += 1) {
        if (digits.bytes[i] < '0' || digits.bytes[i] > '9' || *value > UINT64_MAX / 16) {
            return false;
        }
        *value = *value * 10 + (uint64_t)(digits.bytes[i] - '0');
    }
    return digits.length > 0;
}

/* "HTTP/1.1 200 OK"; the reason may be missing. */
static bool read_status_line(clef_text line, clef_http_reply_head *head) {
    int status = 0;
    if (line.length < 12 || memcmp(line.bytes, "HTTP/1.", 7) != 0 || line.bytes[8] != ' ') {
        return false;
    }
    for (size_t i = 9; i < 12; i += 1) {
        if (line.bytes[i] < '0' || line.bytes[i] > '9') {
            return false;
        }
        status = status * 10 + (line.bytes[i] - '0');
    }
    head->status = status;
    head->keeps_alive = line.bytes[7] != '0';
    return status >= 100 && status <= 599 && (line.length == 12 || is_blank(line.bytes[12]));
}

const char *clef_http_reply_head_parse(clef_text bytes, clef_http_reply_head *head) {
    clef_text rest = bytes;
    *head = (clef_http_reply_head){0};
    if (!read_status_line(take_line(&rest), head)) {
        return "its first line is no status line of HTTP/1.1";
    }
    clef_text length = clef_http_reply_field(bytes, "content-length");
    clef_text encoding = clef_http_reply_field(bytes, "transfer-encoding");
    clef_text connection = clef_http_reply_field(bytes, "connection");
    head->has_length = length.bytes != NULL;
    if (head->has_length && !read_length(length, &head->content_length)) {
        return "its content-length is no number";
    }
    head->is_chunked = has_token(encoding, "chunked");
    if (encoding.bytes != NULL && !head->is_chunked) {
        return "its transfer-encoding is not chunked";
    }
    if (has_token(connection, "close")) {
        head->keeps_alive = false;
    } else if (has_token(connection, "keep-alive")) {
        head->keeps_alive = true;
    }
    return NULL;
}
