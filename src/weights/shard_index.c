/* Reading of the shard index. Two passes over its events: the first counts, the second fills, so
 * that the entries need one block. */
#include "weights/shard_index.h"

#include "base/file.h"
#include "base/json_reader.h"
#include "weights/bad_file.h"
#include "weights/tensor_text.h"

#include <stdlib.h>

#define INDEX_BYTE_LIMIT ((size_t)64 << 20)
#define SUFFIX           ".safetensors"

typedef struct index_parser {
    const char *path;
    clef_shard_index *index;
    clef_json_reader reader;
    clef_error *error;
    size_t seen; /* members of weight_map read so far */
    bool has_map;
} index_parser;

static clef_status read_event(index_parser *parser, clef_json_event *event) {
    clef_status status = clef_json_read(&parser->reader, event, parser->error);
    return status == CLEF_OK ? CLEF_OK
                             : clef_bad_file_from_json(parser->error, status, parser->path, "it");
}

static bool contains(clef_text text, const char *part) {
    size_t length = strlen(part);
    for (size_t i = 0; i + length <= text.length; i++) {
        if (memcmp(text.bytes + i, part, length) == 0) {
            return true;
        }
    }
    return false;
}

/* A file of the index is a plain name beside it; anything that could lead elsewhere is refused. */
static clef_status check_file_name(index_parser *parser, clef_text tensor, clef_text file) {
    size_t suffix = sizeof SUFFIX - 1;
    const char *reason = NULL;
    if (contains(file, "/") || contains(file, "\\") || contains(file, "..")) {
        reason = "must be a name in the same directory, without '/', '\\' or '..'";
    } else if (memchr(file.bytes, '\0', file.length) != NULL) {
        reason = "holds U+0000";
    } else if (file.length > 255) {
        reason = "is longer than 255 bytes";
    } else if (file.length <= suffix ||
               memcmp(file.bytes + file.length - suffix, SUFFIX, suffix) != 0) {
        reason = "does not end in .safetensors";
    }
    if (reason == NULL) {
        return CLEF_OK;
    }
    char name[CLEF_NAME_TEXT_BYTES];
    char found[CLEF_NAME_TEXT_BYTES];
    return clef_bad_file_fail(parser->error, parser->path,
                              "weight_map: the file %s of tensor %s %s",
                              clef_name_text(file, found, sizeof found),
                              clef_name_text(tensor, name, sizeof name), reason);
}

/* Reads one member of weight_map, whose key was the last event. */
static clef_status read_entry(index_parser *parser, clef_text name) {
    clef_json_event event;
    clef_status status = read_event(parser, &event);
    if (status == CLEF_OK && event != CLEF_JSON_EVENT_STRING) {
        char text[CLEF_NAME_TEXT_BYTES];
        status = clef_bad_file_fail(parser->error, parser->path,
                                    "weight_map: the file of tensor %s is not a string",
                                    clef_name_text(name, text, sizeof text));
    }
    if (status != CLEF_OK) {
        return status;
    }
    clef_shard_index *index = parser->index;
    /* In the counting pass there is no room yet, and nothing but the number matters. */
    if (index->entries != NULL) {
        status = check_file_name(parser, name, parser->reader.text);
        if (status != CLEF_OK) {
            return status;
        }
        clef_shard_entry *entry = &index->entries[parser->seen];
        entry->name = clef_arena_copy(&index->arena, name);
        entry->file = clef_arena_copy(&index->arena, parser->reader.text);
        if (entry->name.bytes == NULL || entry->file.bytes == NULL) {
            return clef_fail_memory(parser->error, name.length, "the shard index");
        }
    }
    parser->seen++;
    return CLEF_OK;
}

/* Reads the value of weight_map. */
static clef_status read_map(index_parser *parser) {
    /* The second map of a repeated key would silently win over the first. */
    if (parser->has_map) {
        return clef_bad_file_fail(parser->error, parser->path, "weight_map appears twice");
    }
    parser->has_map = true;
    clef_json_event event;
    clef_status status = read_event(parser, &event);
    if (status == CLEF_OK && event != CLEF_JSON_EVENT_OBJECT_BEGIN) {
        status = clef_bad_file_fail(parser->error, parser->path,
                                    "weight_map is not an object from tensor names to file names");
    }
    while (status == CLEF_OK) {
        status = read_event(parser, &event);
        if (status != CLEF_OK || event == CLEF_JSON_EVENT_OBJECT_END) {
            break;
        }
        status = read_entry(parser, parser->reader.text);
    }
    return status;
}

/* One pass over the whole text; fills the entries when there is room for them. */
static clef_status read_index(index_parser *parser, clef_text text) {
    clef_json_reader_init(&parser->reader, text, &parser->index->arena);
    parser->seen = 0;
    parser->has_map = false;
    clef_json_event event;
    clef_status status = read_event(parser, &event);
    if (status == CLEF_OK && event != CLEF_JSON_EVENT_OBJECT_BEGIN) {
        status = clef_bad_file_fail(parser->error, parser->path, "it is not a JSON object");
    }
    while (status == CLEF_OK) {
        status = read_event(parser, &event);
        if (status != CLEF_OK || event == CLEF_JSON_EVENT_OBJECT_END) {
            break;
        }
        if (clef_text_equals(parser->reader.text, CLEF_TEXT("weight_map"))) {
            status = read_map(parser);
            continue;
        }
        /* Metadata and members of later versions are none of ours. */
        status = clef_json_skip(&parser->reader, parser->error);
        if (status != CLEF_OK) {
            return clef_bad_file_from_json(parser->error, status, parser->path, "it");
        }
    }
    return status == CLEF_OK ? read_event(parser, &event) : status;
}

static int compare_entries(const void *left, const void *right) {
    return clef_text_compare(((const clef_shard_entry *)left)->name,
                             ((const clef_shard_entry *)right)->name);
}

static int compare_shards(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Sorts the entries, refuses repeated names, and numbers the files. */
static clef_status arrange_entries(const char *path, clef_shard_index *index, clef_error *error) {
    qsort(index->entries, index->count, sizeof *index->entries, compare_entries);
    for (size_t i = 1; i < index->count; i++) {
        if (clef_text_equals(index->entries[i - 1].name, index->entries[i].name)) {
            char name[CLEF_NAME_TEXT_BYTES];
            return clef_bad_file_fail(error, path, "weight_map lists tensor %s twice",
                                      clef_name_text(index->entries[i].name, name, sizeof name));
        }
    }
    index->shards = clef_arena_allocate(&index->arena, index->count, sizeof *index->shards);
    if (index->shards == NULL) {
        return clef_fail_memory(error, index->count * sizeof *index->shards, "the shard index");
    }
    for (size_t i = 0; i < index->count; i++) {
        index->shards[i] = index->entries[i].file.bytes;
    }
    qsort(index->shards, index->count, sizeof *index->shards, compare_shards);
    /* Equal names are neighbours now; one of each stays. */
    size_t kept = 0;
    for (size_t i = 0; i < index->count; i++) {
        if (kept == 0 || strcmp(index->shards[kept - 1], index->shards[i]) != 0) {
            index->shards[kept++] = index->shards[i];
        }
    }
    index->shard_count = kept;
    for (size_t i = 0; i < index->count; i++) {
        const char **shard = bsearch(&index->entries[i].file.bytes, index->shards, kept,
                                     sizeof *index->shards, compare_shards);
        index->entries[i].shard = (size_t)(shard - index->shards);
    }
    return CLEF_OK;
}

clef_status clef_shard_index_parse(const char *name, clef_text text, clef_shard_index *index,
                                   clef_error *error) {
    *index = (clef_shard_index){0};
    index_parser parser = {.path = name, .index = index, .error = error};
    clef_status status = read_index(&parser, text);
    if (status == CLEF_OK && parser.seen == 0) {
        status = clef_bad_file_fail(
            error, name, parser.has_map ? "weight_map lists no tensor" : "it has no weight_map");
    }
    if (status == CLEF_OK) {
        index->count = parser.seen;
        index->entries = clef_arena_allocate(&index->arena, index->count, sizeof *index->entries);
        if (index->entries == NULL) {
            status =
                clef_fail_memory(error, index->count * sizeof *index->entries, "the shard index");
        }
    }
    if (status == CLEF_OK) {
        status = read_index(&parser, text);
    }
    if (status == CLEF_OK) {
        status = arrange_entries(name, index, error);
    }
    if (status != CLEF_OK) {
        clef_shard_index_release(index);
    }
    return status;
}

clef_status clef_shard_index_load(const char *path, clef_shard_index *index, clef_error *error) {
    *index = (clef_shard_index){0};
    clef_file file;
    clef_status status = clef_file_read(path, INDEX_BYTE_LIMIT, &file, error);
    if (status == CLEF_OK) {
        status = clef_shard_index_parse(path, (clef_text){file.bytes, file.length}, index, error);
        clef_file_close(&file);
    }
    return status;
}

const clef_shard_entry *clef_shard_index_find(const clef_shard_index *index, clef_text name) {
    clef_shard_entry wanted = {.name = name}; /* a key for the comparison, which reads the name */
    return index->count == 0 ? NULL
                             : bsearch(&wanted, index->entries, index->count,
                                       sizeof *index->entries, compare_entries);
}

const clef_shard_entry *clef_shard_index_first(const clef_shard_index *index, size_t shard,
                                               size_t *count) {
    const clef_shard_entry *first = NULL;
    size_t found = 0;
    for (size_t i = 0; i < index->count; i++) {
        if (index->entries[i].shard == shard) {
            first = first == NULL ? &index->entries[i] : first;
            found++;
        }
    }
    if (count != NULL) {
        *count = found;
    }
    return first;
}

void clef_shard_index_release(clef_shard_index *index) {
    clef_arena_release(&index->arena);
    *index = (clef_shard_index){0};
}
