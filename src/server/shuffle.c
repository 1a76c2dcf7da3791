/* MT19937 (Matsumoto and Nishimura, 1998) with its seeding by an array of words; the words are the
 * absolute value of the seed in base 2^32, least first. */
#include "server/shuffle.h"

#define DIGIT_LIMIT 4300
#define KEY_WORDS   448 /* 4,300 digits take 447 */
#define HALF_WORDS  397

/* Decimal digits to words, least first; the number of words, at least one. 0 when it is no integer.
 */
static size_t read_key(clef_text integer, uint32_t key[KEY_WORDS]) {
    size_t begin = integer.length > 0 && integer.bytes[0] == '-' ? 1 : 0;
    size_t count = 1;
    if (integer.length == begin || integer.length - begin > DIGIT_LIMIT) {
        return 0;
    }
    key[0] = 0;
    for (size_t i = begin; i < integer.length; i += 1) {
        if (integer.bytes[i] < '0' || integer.bytes[i] > '9') {
            return 0;
        }
        uint64_t carry = (uint64_t)(integer.bytes[i] - '0');
        for (size_t j = 0; j < count; j += 1) {
            carry += (uint64_t)key[j] * 10;
            key[j] = (uint32_t)carry;
            carry >>= 32;
        }
        if (carry > 0) {
            key[count] = (uint32_t)carry;
            count += 1;
        }
    }
    return count;
}

static uint32_t mix(const uint32_t *words, size_t index, uint32_t factor) {
    return words[index] ^ ((words[index - 1] ^ (words[index - 1] >> 30)) * factor);
}

/* The index after this one; the first word takes over the last when the end is reached. */
static size_t advance(uint32_t *words, size_t index) {
    if (index + 1 < CLEF_TWISTER_WORDS) {
        return index + 1;
    }
    words[0] = words[CLEF_TWISTER_WORDS - 1];
    return 1;
}

bool clef_shuffler_seed(clef_shuffler *shuffler, clef_text integer) {
    uint32_t key[KEY_WORDS];
    uint32_t *words = shuffler->words;
    size_t key_count = read_key(integer, key);
    if (key_count == 0) {
        return false;
    }
    words[0] = 19650218;
    for (size_t i = 1; i < CLEF_TWISTER_WORDS; i += 1) {
        words[i] = (words[i - 1] ^ (words[i - 1] >> 30)) * 1812433253 + (uint32_t)i;
    }
    size_t index = 1;
    size_t rounds = key_count > CLEF_TWISTER_WORDS ? key_count : CLEF_TWISTER_WORDS;
    for (size_t i = 0; i < rounds; i += 1) {
        size_t at = i % key_count;
        words[index] = mix(words, index, 1664525) + key[at] + (uint32_t)at;
        index = advance(words, index);
    }
    for (size_t i = 1; i < CLEF_TWISTER_WORDS; i += 1) {
        words[index] = mix(words, index, 1566083941) - (uint32_t)index;
        index = advance(words, index);
    }
    words[0] = UINT32_C(1) << 31;
    shuffler->used = CLEF_TWISTER_WORDS;
    return true;
}

static void twist(clef_shuffler *shuffler) {
    uint32_t *words = shuffler->words;
    for (size_t i = 0; i < CLEF_TWISTER_WORDS; i += 1) {
        uint32_t next = words[(i + 1) % CLEF_TWISTER_WORDS];
        uint32_t joined = (words[i] & UINT32_C(0x80000000)) | (next & UINT32_C(0x7fffffff));
        words[i] = words[(i + HALF_WORDS) % CLEF_TWISTER_WORDS] ^ (joined >> 1) ^
                   ((joined & 1) != 0 ? UINT32_C(0x9908b0df) : 0);
    }
    shuffler->used = 0;
}

static uint32_t draw_word(clef_shuffler *shuffler) {
    if (shuffler->used == CLEF_TWISTER_WORDS) {
        twist(shuffler);
    }
    uint32_t word = shuffler->words[shuffler->used];
    shuffler->used += 1;
    word ^= word >> 11;
    word ^= (word << 7) & UINT32_C(0x9d2c5680);
    word ^= (word << 15) & UINT32_C(0xefc60000);
    return word ^ (word >> 18);
}

/* A number below the limit (1 to 2^32-1), each with the same chance. */
static uint32_t draw_below(clef_shuffler *shuffler, uint32_t limit) {
    unsigned bits = 0;
    while (bits < 32 && limit >> bits != 0) {
        bits += 1;
    }
    uint32_t drawn;
    do {
        drawn = draw_word(shuffler) >> (32 - bits);
    } while (drawn >= limit);
    return drawn;
}

void clef_shuffler_shuffle(clef_shuffler *shuffler, uint32_t *items, size_t count) {
    for (size_t i = count; i > 1; i -= 1) {
        uint32_t other = draw_below(shuffler, (uint32_t)i);
        uint32_t item = items[i - 1];
        items[i - 1] = items[other];
        items[other] = item;
    }
}
