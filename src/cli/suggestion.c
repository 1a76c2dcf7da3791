/* Edits between words: a letter more, less, or another one, or two neighbours swapped. Words of a
 * command line are short, so a bounded square of numbers is enough. */
#include "cli/suggestion.h"

enum { WORD_BYTES_LIMIT = 32 };

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* edits[i][j]: from the first i letters of a to the first j of b. */
static unsigned count_edits(clef_text a, clef_text b) {
    unsigned edits[WORD_BYTES_LIMIT + 1][WORD_BYTES_LIMIT + 1];
    for (size_t i = 0; i <= a.length; i += 1) {
        for (size_t j = 0; j <= b.length; j += 1) {
            if (i == 0 || j == 0) {
                edits[i][j] = (unsigned)(i + j);
                continue;
            }
            unsigned differs = a.bytes[i - 1] != b.bytes[j - 1];
            unsigned best = least(edits[i - 1][j] + 1, edits[i][j - 1] + 1);
            best = least(best, edits[i - 1][j - 1] + differs);
            if (i > 1 && j > 1 && a.bytes[i - 1] == b.bytes[j - 2] &&
                a.bytes[i - 2] == b.bytes[j - 1]) {
                best = least(best, edits[i - 2][j - 2] + 1);
            }
            edits[i][j] = best;
        }
    }
    return edits[a.length][b.length];
}

clef_suggestion clef_suggestion_begin(clef_text wanted) {
    /* A third of the letters may be wrong; more than that is a guess. */
    unsigned limit = (unsigned)(wanted.length / 3);
    return (clef_suggestion){.wanted = wanted, .distance = (limit < 2 ? 2 : limit) + 1};
}

void clef_suggestion_offer(clef_suggestion *suggestion, clef_text word) {
    clef_text wanted = suggestion->wanted;
    if (wanted.length == 0 || wanted.length > WORD_BYTES_LIMIT || word.length > WORD_BYTES_LIMIT) {
        return;
    }
    unsigned distance = count_edits(wanted, word);
    /* The beginning of a word is as good as one letter wrong. */
    if (wanted.length < word.length && memcmp(wanted.bytes, word.bytes, wanted.length) == 0) {
        distance = 1;
    }
    if (distance < suggestion->distance && distance < word.length) {
        suggestion->word = word.bytes;
        suggestion->length = word.length;
        suggestion->distance = distance;
    }
}
