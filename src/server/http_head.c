/* Three passes: lines end in CR LF and hold no NUL; the request line; the fields one by one, with
 * those that decide about framing looked at on the way. */
#include "server/http_head.h"

static bool refuse(clef_http_refusal *refusal, int status, const char *reason) {
    *refusal = (clef_http_refusal){status, reason};
    return false;
}

size_t clef_http_head_find(const char *bytes, size_t length, size_t *scanned,
                           clef_http_refusal *refusal) {
    *refusal = (clef_http_refusal){0};
    for (size_t i = *scanned; i < length; i += 1) {
        bool is_after_return = i > 0 && bytes[i - 1] == '\r';
        if (i >= CLEF_HEAD_BYTES_LIMIT) {
            refuse(refusal, 431, "the request line and headers are over 64 KiB");
            return 0;
        }
        if (is_after_return != (bytes[i] == '\n')) {
            refuse(refusal, 400,
                   "malformed request: lines must end in CR LF, with neither anywhere else");
            return 0;
        }
        if (bytes[i] == '\0') {
            refuse(refusal, 400, "malformed request: a NUL byte in the headers");
            return 0;
        }
        if (bytes[i] == '\n' && i >= 3 && bytes[i - 2] == '\n') {
            return i + 1;
        }
    }
    *scanned = length;
    return 0;
}

/* token characters of RFC 9110 */
static bool is_token(char byte) {
    unsigned char c = (unsigned char)byte;
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t';
}

static char lower(char byte) {
    return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

bool clef_http_token_equals(clef_text text, const char *token) {
    size_t i = 0;
    for (; i < text.length && token[i] != '\0'; i += 1) {
        if (lower(text.bytes[i]) != lower(token[i])) {
            return false;
        }
    }
    return i == text.length && token[i] == '\0';
}

clef_text clef_http_head_field(const clef_http_head *head, const char *name) {
    for (size_t i = 0; i < head->field_count; i += 1) {
        if (clef_http_token_equals(head->fields[i].name, name)) {
            return head->fields[i].value;
        }
    }
    return (clef_text){NULL, 0};
}

/* The line at *rest without its end; moves *rest behind it. */
static clef_text take_line(clef_text *rest) {
    const char *end = memchr(rest->bytes, '\n', rest->length);
    size_t length = (size_t)(end - rest->bytes) - 1;
    clef_text line = {rest->bytes, length};
    *rest = (clef_text){end + 1, rest->length - length - 2};
    return line;
}

/* Up to the next blank; moves *rest behind that one blank. */
static clef_text take_word(clef_text *rest) {
    size_t length = 0;
    while (length < rest->length && rest->bytes[length] != ' ') {
        length += 1;
    }
    clef_text word = {rest->bytes, length};
    size_t used = length < rest->length ? length + 1 : length;
    *rest = (clef_text){rest->bytes + used, rest->length - used};
    return word;
}

static bool parse_version(clef_text text, clef_http_head *head, clef_http_refusal *refusal) {
    bool is_version = text.length == 8 && memcmp(text.bytes, "HTTP/", 5) == 0 &&
                      text.bytes[5] >= '0' && text.bytes[5] <= '9' && text.bytes[6] == '.' &&
                      text.bytes[7] >= '0' && text.bytes[7] <= '9';
    if (!is_version) {
        return refuse(refusal, 400, "malformed request line");
    }
    if (text.bytes[5] != '1') {
        return refuse(refusal, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
    }
    head->is_version_1_0 = text.bytes[7] == '0';
    head->keeps_alive = !head->is_version_1_0;
    return true;
}

/* Splits the target into path and query. A proxy's form names scheme and host first. */
static bool parse_target(clef_text target, clef_http_head *head, clef_http_refusal *refusal) {
    for (size_t i = 0; i < target.length; i += 1) {
        unsigned char byte = (unsigned char)target.bytes[i];
        if (byte <= ' ' || byte >= 0x7f || byte == '#') {
            return refuse(refusal, 400, "malformed request target");
        }
    }
    if (target.length > 7 && clef_http_token_equals((clef_text){target.bytes, 7}, "http://")) {
        const char *slash = memchr(target.bytes + 7, '/', target.length - 7);
        if (slash == NULL) {
            target = CLEF_TEXT("/");
        } else {
            target.length -= (size_t)(slash - target.bytes);
            target.bytes = slash;
        }
    }
    bool is_asterisk = clef_text_equals(target, CLEF_TEXT("*")) &&
                       clef_text_equals(head->method, CLEF_TEXT("OPTIONS"));
    if (target.length == 0 || (target.bytes[0] != '/' && !is_asterisk)) {
        return refuse(refusal, 400, "malformed request target");
    }
    const char *mark = memchr(target.bytes, '?', target.length);
    size_t length = mark == NULL ? target.length : (size_t)(mark - target.bytes);
    head->path = (clef_text){target.bytes, length};
    head->query = mark == NULL ? (clef_text){target.bytes + length, 0}
                               : (clef_text){mark + 1, target.length - length - 1};
    return true;
}

static bool parse_request_line(clef_text line, clef_http_head *head, clef_http_refusal *refusal) {
    head->method = take_word(&line);
    clef_text target = take_word(&line);
    if (head->method.length == 0) {
        return refuse(refusal, 400, "malformed request line");
    }
    for (size_t i = 0; i < head->method.length; i += 1) {
        if (!is_token(head->method.bytes[i])) {
            return refuse(refusal, 400, "malformed request line");
        }
    }
    return parse_version(line, head, refusal) && parse_target(target, head, refusal);
}

static bool parse_field(clef_text line, clef_http_field *field, clef_http_refusal *refusal) {
    size_t colon = 0;
    while (colon < line.length && is_token(line.bytes[colon])) {
        colon += 1;
    }
    if (colon == 0 || colon == line.length || line.bytes[colon] != ':') {
        return refuse(refusal, 400,
                      is_blank(line.bytes[0])
                          ? "malformed request: a header line begins with a blank"
                          : "malformed request: a header line is not a name, a colon and a value");
    }
    size_t begin = colon + 1;
    size_t end = line.length;
    while (begin < end && is_blank(line.bytes[begin])) {
        begin += 1;
    }
    while (end > begin && is_blank(line.bytes[end - 1])) {
        end -= 1;
    }
    for (size_t i = begin; i < end; i += 1) {
        unsigned char byte = (unsigned char)line.bytes[i];
        if ((byte < ' ' && byte != '\t') || byte == 0x7f) {
            return refuse(refusal, 400, "malformed request: a control character in a header");
        }
    }
    *field = (clef_http_field){{line.bytes, colon}, {line.bytes + begin, end - begin}};
    return true;
}

static bool read_content_length(clef_text value, clef_http_head *head, clef_http_refusal *refusal) {
    if (head->has_content_length) {
        return refuse(refusal, 400, "malformed request: more than one content-length");
    }
    uint64_t length = 0;
    for (size_t i = 0; i < value.length; i += 1) {
        if (value.bytes[i] < '0' || value.bytes[i] > '9') {
            return refuse(refusal, 400, "malformed request: content-length is not a number");
        }
        uint64_t digit = (uint64_t)(value.bytes[i] - '0');
        length = length > (UINT64_MAX - digit) / 10 ? UINT64_MAX : length * 10 + digit;
    }
    if (value.length == 0) {
        return refuse(refusal, 400, "malformed request: content-length is not a number");
    }
    head->has_content_length = true;
    head->content_length = length;
    return true;
}

static void read_connection(clef_text value, clef_http_head *head) {
    while (value.length > 0) {
        size_t length = 0;
        while (length < value.length && value.bytes[length] != ',') {
            length += 1;
        }
        clef_text word = {value.bytes, length};
        size_t used = length < value.length ? length + 1 : length;
        value = (clef_text){value.bytes + used, value.length - used};
        while (word.length > 0 && is_blank(word.bytes[0])) {
            word = (clef_text){word.bytes + 1, word.length - 1};
        }
        while (word.length > 0 && is_blank(word.bytes[word.length - 1])) {
            word.length -= 1;
        }
        if (clef_http_token_equals(word, "close")) {
            head->keeps_alive = false;
            return;
        }
        if (head->is_version_1_0 && clef_http_token_equals(word, "keep-alive")) {
            head->keeps_alive = true;
        }
    }
}

/* Looks at a field that decides about framing or the connection. */
static bool read_field(const clef_http_field *field, clef_http_head *head, size_t *host_count,
                       clef_http_refusal *refusal) {
    if (clef_http_token_equals(field->name, "content-length")) {
        return read_content_length(field->value, head, refusal);
    }
    if (clef_http_token_equals(field->name, "transfer-encoding")) {
        if (head->is_chunked || head->is_version_1_0 ||
            !clef_http_token_equals(field->value, "chunked")) {
            return refuse(refusal, 400,
                          "malformed request: the one transfer-encoding understood is chunked");
        }
        head->is_chunked = true;
    } else if (clef_http_token_equals(field->name, "host")) {
        *host_count += 1;
        if (memchr(field->value.bytes, ' ', field->value.length) != NULL) {
            return refuse(refusal, 400, "malformed request: host");
        }
    } else if (clef_http_token_equals(field->name, "expect") && !head->is_version_1_0) {
        bool is_continue = clef_http_token_equals(field->value, "100-continue");
        head->expects_continue = head->expects_continue || is_continue;
        head->has_other_expectation = head->has_other_expectation || !is_continue;
    }
    return true;
}

bool clef_http_head_parse(clef_text bytes, clef_http_head *head, clef_http_refusal *refusal) {
    size_t host_count = 0;
    *refusal = (clef_http_refusal){0};
    head->field_count = 0;
    head->content_length = 0;
    head->has_content_length = head->is_chunked = false;
    head->expects_continue = head->has_other_expectation = false;
    if (!parse_request_line(take_line(&bytes), head, refusal)) {
        return false;
    }
    for (;;) {
        clef_text line = take_line(&bytes);
        if (line.length == 0) {
            break;
        }
        if (head->field_count == CLEF_HEAD_FIELD_LIMIT) {
            return refuse(refusal, 431, "more than 100 header fields");
        }
        clef_http_field *field = &head->fields[head->field_count];
        if (!parse_field(line, field, refusal) || !read_field(field, head, &host_count, refusal)) {
            return false;
        }
        head->field_count += 1;
    }
    for (size_t i = 0; i < head->field_count; i += 1) {
        if (clef_http_token_equals(head->fields[i].name, "connection")) {
            read_connection(head->fields[i].value, head);
            if (!head->keeps_alive) {
                break;
            }
        }
    }
    if (host_count > 1 || (host_count == 0 && !head->is_version_1_0)) {
        return refuse(refusal, 400, "malformed request: there must be one host header");
    }
    if (head->is_chunked && head->has_content_length) {
        return refuse(refusal, 400, "malformed request: content-length beside transfer-encoding");
    }
    return true;
}
