/* Ids to text, one id at a time. The bytes of a character that is not yet complete are held back;
 * a byte that cannot follow them ends them, and they become one U+FFFD: a maximal invalid sequence
 * in the words of the Unicode standard. Knows no model and no template. */
#include "tokenizer/tokenizer.h"

#define REPLACEMENT "\xEF\xBF\xBD"

/* Bytes of the character that a lead byte begins; 0 when it begins none. */
static unsigned find_character_size(unsigned lead) {
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xC2 || lead > 0xF4) {
        return 0;
    }
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* Half of an encoded surrogate (ED A0…BF) is held: two invalid sequences, for nothing may follow ED
 * that way. The reference gives them out only when the next byte has come, and so do we. */
static bool holds_surrogate(const clef_token_decoder *decoder) {
    return decoder->held_count == 2 && decoder->held[0] == 0xED && decoder->held[1] >= 0xA0;
}

/* True when `byte` may follow what is held: table 3-7 of the Unicode standard. */
static bool can_follow(const clef_token_decoder *decoder, unsigned byte) {
    unsigned low = 0x80;
    unsigned high = 0xBF;
    if (decoder->held_count == 1) {
        unsigned lead = decoder->held[0];
        low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : low;
        high = lead == 0xF4 ? 0x8F : high;
    }
    return byte >= low && byte <= high && !holds_surrogate(decoder);
}

static void push_byte(clef_token_decoder *decoder, unsigned char byte, clef_buffer *out) {
    if (decoder->held_count > 0 && !can_follow(decoder, byte)) {
        clef_token_decoder_finish(decoder, out);
    }
    decoder->held[decoder->held_count++] = byte;
    unsigned size = find_character_size(decoder->held[0]);
    if (size == 0) {
        clef_token_decoder_finish(decoder, out);
    } else if (size == decoder->held_count) {
        clef_buffer_append(out, decoder->held, size);
        decoder->held_count = 0;
    }
}

void clef_token_decoder_push(clef_token_decoder *decoder, const clef_tokenizer *tokenizer,
                             uint32_t id, clef_buffer *out) {
    if (decoder->skip_special && clef_tokenizer_is_special(tokenizer, id)) {
        return;
    }
    clef_text bytes = clef_tokenizer_bytes(tokenizer, id);
    if (decoder->held_count == 0 &&
        clef_utf8_valid_prefix(bytes.bytes, bytes.length) == bytes.length) {
        clef_buffer_append_text(out, bytes);
        return;
    }
    for (size_t i = 0; i < bytes.length; i++) {
        push_byte(decoder, (unsigned char)bytes.bytes[i], out);
    }
}

void clef_token_decoder_finish(clef_token_decoder *decoder, clef_buffer *out) {
    if (decoder->held_count > 0) {
        clef_buffer_append_string(out,
                                  holds_surrogate(decoder) ? REPLACEMENT REPLACEMENT : REPLACEMENT);
        decoder->held_count = 0;
    }
}
