/* The tokenizer as one object: opening and closing it, looking entries up, and encoding, which is
 * a pass over parts (between added tokens), each normalised, split into pieces and merged. */
#include "tokenizer/tokenizer.h"

#include "base/file.h"
#include "base/memory.h"
#include "tokenizer/normalize.h"
#include "tokenizer/piece_cache.h"
#include "tokenizer/tokenizer_file.h"
#include "tokenizer/tokenizer_parts.h"

/* ---- life ---- */

clef_status clef_tokenizer_load(const char *path, clef_tokenizer **out, clef_error *error) {
    *out = NULL;
    clef_file file = {0};
    clef_status status = clef_file_map(path, &file, error);
    if (status != CLEF_OK) {
        return status;
    }
    status = clef_tokenizer_parse(path, (clef_text){file.bytes, file.length}, out, error);
    clef_file_close(&file);
    return status;
}

clef_status clef_tokenizer_parse(const char *name, clef_text json, clef_tokenizer **out,
                                 clef_error *error) {
    *out = NULL;
    clef_tokenizer *tokenizer = clef_allocate(1, sizeof *tokenizer);
    if (tokenizer == NULL) {
        return clef_fail_memory(error, sizeof *tokenizer, "a tokenizer");
    }
    clef_status status = clef_tokenizer_file_read(json, tokenizer, error);
    if (status != CLEF_OK) {
        const char *slash = strrchr(name, '/');
        clef_tokenizer_close(tokenizer);
        clef_error_prefix(error, slash == NULL ? name : slash + 1);
        clef_error_set_place(error, "%s", name);
        return status;
    }
    *out = tokenizer;
    return CLEF_OK;
}

void clef_tokenizer_close(clef_tokenizer *tokenizer) {
    if (tokenizer != NULL) {
        clef_vocabulary_release(&tokenizer->vocabulary);
        clef_added_tokens_release(&tokenizer->added);
        clef_byte_pairs_release(&tokenizer->pairs);
        clef_release(tokenizer);
    }
}

size_t clef_tokenizer_memory(const clef_tokenizer *tokenizer) {
    const clef_vocabulary *vocabulary = &tokenizer->vocabulary;
    return vocabulary->pool.capacity + vocabulary->capacity * sizeof *vocabulary->entries +
           clef_byte_pairs_memory(&tokenizer->pairs) +
           tokenizer->added.count * sizeof *tokenizer->added.ids;
}

/* ---- entries ---- */

uint32_t clef_tokenizer_count(const clef_tokenizer *tokenizer) {
    return tokenizer->vocabulary.count;
}

size_t clef_tokenizer_longest(const clef_tokenizer *tokenizer) {
    return tokenizer->vocabulary.longest;
}

bool clef_tokenizer_find_added(const clef_tokenizer *tokenizer, clef_text text, uint32_t *id) {
    return clef_added_tokens_find_whole(&tokenizer->added, &tokenizer->vocabulary, text, id);
}

clef_text clef_tokenizer_bytes(const clef_tokenizer *tokenizer, uint32_t id) {
    return clef_vocabulary_bytes(&tokenizer->vocabulary, id);
}

bool clef_tokenizer_is_special(const clef_tokenizer *tokenizer, uint32_t id) {
    return clef_vocabulary_kind(&tokenizer->vocabulary, id) == CLEF_ENTRY_SPECIAL;
}

/* ---- encoding ---- */

/* One call at work. */
typedef struct encoding {
    const clef_tokenizer *tokenizer;
    clef_token_list *list;
    size_t id_limit; /* SIZE_MAX: none */
    clef_normalizer normalizer;
    clef_piece_cache cache;
    clef_merge_scratch scratch;
} encoding;

static bool is_over_limit(const encoding *work) {
    return work->list->count > work->id_limit;
}

/* Cuts a piece to what certainly passes the limit, so that a huge one costs no more than that. */
static clef_text cut_to_limit(const encoding *work, clef_text piece) {
    size_t room = work->id_limit - work->list->count;
    size_t enough;
    if (room < SIZE_MAX &&
        clef_multiply_size(room + 1, work->tokenizer->vocabulary.longest, &enough) &&
        piece.length > enough) {
        piece.length = enough;
    }
    return piece;
}

static clef_status encode_piece(encoding *work, clef_text piece, clef_error *error) {
    clef_token_list *list = work->list;
    clef_piece_slot *slot = clef_piece_cache_find(&work->cache, piece);
    if (slot != NULL && clef_piece_slot_holds(slot, &work->cache, piece)) {
        clef_status status = clef_token_list_reserve(list, slot->id_count, error);
        if (status == CLEF_OK) {
            memcpy(list->ids + list->count, list->ids + slot->first_id,
                   slot->id_count * sizeof *list->ids);
            list->count += slot->id_count;
        }
        return status;
    }
    size_t first = list->count;
    clef_text cut = cut_to_limit(work, piece);
    clef_status status =
        clef_byte_pairs_encode(&work->tokenizer->pairs, &work->scratch, cut, list, error);
    bool has_numbers = piece.length <= UINT32_MAX && list->count <= UINT32_MAX;
    if (status == CLEF_OK && slot != NULL && has_numbers) {
        *slot = (clef_piece_slot){.bytes = piece.bytes,
                                  .length = (uint32_t)piece.length,
                                  .part = work->cache.filling,
                                  .first_id = (uint32_t)first,
                                  .id_count = (uint32_t)(list->count - first)};
    }
    return status;
}

/* Text between added tokens. */
static clef_status encode_part(encoding *work, clef_text part, clef_error *error) {
    if (part.length == 0) {
        return CLEF_OK;
    }
    clef_text text;
    clef_status status = clef_normalize(&work->normalizer, part, &text, error);
    clef_piece_cache_begin_part(&work->cache, text.bytes == part.bytes);
    for (size_t begin = 0; status == CLEF_OK && begin < text.length && !is_over_limit(work);) {
        size_t end = clef_pretokenize_find_end(work->tokenizer->pattern, text, begin);
        status = encode_piece(work, (clef_text){text.bytes + begin, end - begin}, error);
        begin = end;
    }
    return status;
}

static clef_status encode_parts(encoding *work, clef_text text, clef_error *error) {
    const clef_tokenizer *tokenizer = work->tokenizer;
    size_t done = 0;
    size_t begin;
    uint32_t id;
    clef_status status = CLEF_OK;
    while (!is_over_limit(work) && clef_added_tokens_find(&tokenizer->added, &tokenizer->vocabulary,
                                                          text, done, &begin, &id)) {
        status = encode_part(work, (clef_text){text.bytes + done, begin - done}, error);
        if (status == CLEF_OK) {
            status = clef_token_list_reserve(work->list, 1, error);
        }
        if (status != CLEF_OK || is_over_limit(work)) {
            return status;
        }
        work->list->ids[work->list->count++] = id;
        done = begin + clef_vocabulary_bytes(&tokenizer->vocabulary, id).length;
    }
    if (is_over_limit(work)) {
        return CLEF_OK;
    }
    return encode_part(work, (clef_text){text.bytes + done, text.length - done}, error);
}

clef_status clef_tokenizer_encode(const clef_tokenizer *tokenizer, clef_text text,
                                  clef_control_tokens mode, size_t id_limit, clef_token_list *list,
                                  clef_error *error) {
    if (text.length == 0) {
        return CLEF_OK;
    }
    size_t count_before = list->count;
    encoding work = {
        .tokenizer = tokenizer, .list = list, .id_limit = id_limit == 0 ? SIZE_MAX : id_limit};
    clef_piece_cache_open(&work.cache, text.length);
    clef_status status = mode == CLEF_CONTROL_PARSE ? encode_parts(&work, text, error)
                                                    : encode_part(&work, text, error);
    if (status != CLEF_OK) {
        list->count = count_before;
    }
    clef_piece_cache_close(&work.cache);
    clef_normalizer_release(&work.normalizer);
    clef_merge_scratch_release(&work.scratch);
    return status;
}

void clef_tokenizer_split(const clef_tokenizer *tokenizer, clef_text nfc_text,
                          void (*piece)(void *context, clef_text part), void *context) {
    for (size_t begin = 0; begin < nfc_text.length;) {
        size_t end = clef_pretokenize_find_end(tokenizer->pattern, nfc_text, begin);
        piece(context, (clef_text){nfc_text.bytes + begin, end - begin});
        begin = end;
    }
}
