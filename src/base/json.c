/* Reader events into a tree, and the look-ups. Open containers stand on an explicit stack that the
 * depth limit bounds. Repeated keys are merged when their object closes, by sorting, so that a
 * million members cost no more than any other million values. */
#include "base/json.h"

#include "base/json_members.h"
#include "base/memory.h"

/* Up to this many members every pair of keys is compared, without scratch memory. */
#define FEW_MEMBERS 16

typedef struct tree_builder {
    clef_arena *arena;
    clef_json *root;
    clef_text key; /* of the member whose value comes next; empty in arrays */
    size_t depth;  /* open containers */
    struct {
        clef_json *container;
        clef_json *last; /* newest child, or NULL */
    } open[CLEF_JSON_DEPTH_LIMIT];
} tree_builder;

/* ---- repeated keys ---- */

/* The first member takes the later one's value; the later one is marked for removal by having no
 * key at all (an empty key still points somewhere). */
static void merge_member(clef_json *first, clef_json *later) {
    first->text = later->text;
    first->first = later->first;
    first->count = later->count;
    first->type = later->type;
    later->key = (clef_text){NULL, 0};
}

/* Unlinks the marked members. The first member of an object is never marked. */
static void remove_merged(clef_json *object) {
    size_t count = 1;
    clef_json *kept = object->first;
    for (clef_json *member = kept->next; member != NULL; member = member->next) {
        if (member->key.bytes != NULL) {
            kept->next = member;
            kept = member;
            count++;
        }
    }
    kept->next = NULL;
    object->count = count;
}

static void merge_few(clef_json *object) {
    bool has_merged = false;
    for (clef_json *first = object->first; first != NULL; first = first->next) {
        for (clef_json *later = first->next; first->key.bytes != NULL && later != NULL;
             later = later->next) {
            if (later->key.bytes != NULL && clef_text_equals(first->key, later->key)) {
                merge_member(first, later);
                has_merged = true;
            }
        }
    }
    if (has_merged) {
        remove_merged(object);
    }
}

static bool has_ascending_keys(const clef_json *object) {
    for (const clef_json *member = object->first; member->next != NULL; member = member->next) {
        if (clef_text_compare(member->key, member->next->key) >= 0) {
            return false;
        }
    }
    return true;
}

static clef_status merge_many(clef_json *object, clef_error *error) {
    size_t count = object->count;
    const clef_json **members = clef_allocate(count, 2 * sizeof(clef_json *));
    if (members == NULL) {
        return clef_fail_memory(error, 2 * count * sizeof(clef_json *),
                                "the keys of a JSON object");
    }
    size_t filled = 0;
    for (const clef_json *member = object->first; member != NULL; member = member->next) {
        members[filled++] = member;
    }
    clef_json_members_sort(members, members + count, count);
    bool has_merged = false;
    /* The sort is stable: the first of an equal group is the first in the text, and merging the
     * others into it in turn ends with the last value. */
    for (size_t first = 0, i = 1; i < count; i++) {
        if (clef_text_equals(members[first]->key, members[i]->key)) {
            merge_member((clef_json *)(uintptr_t)members[first],
                         (clef_json *)(uintptr_t)members[i]);
            has_merged = true;
        } else {
            first = i;
        }
    }
    clef_release(members);
    if (has_merged) {
        remove_merged(object);
    }
    return CLEF_OK;
}

static clef_status merge_repeated_keys(clef_json *object, clef_error *error) {
    if (object->count <= FEW_MEMBERS) {
        merge_few(object);
        return CLEF_OK;
    }
    return has_ascending_keys(object) ? CLEF_OK : merge_many(object, error);
}

/* ---- building ---- */

static clef_json *add_value(tree_builder *builder, clef_json_type type, clef_text text) {
    clef_json *value = clef_arena_allocate(builder->arena, 1, sizeof *value);
    if (value == NULL) {
        return NULL;
    }
    *value = (clef_json){.key = builder->key, .text = text, .type = type};
    builder->key = (clef_text){NULL, 0};
    if (builder->depth == 0) {
        builder->root = value;
        return value;
    }
    size_t top = builder->depth - 1;
    clef_json *last = builder->open[top].last;
    if (last == NULL) {
        builder->open[top].container->first = value;
    } else {
        last->next = value;
    }
    builder->open[top].last = value;
    builder->open[top].container->count++;
    return value;
}

static clef_json_type type_of(clef_json_event event) {
    switch (event) {
    case CLEF_JSON_EVENT_FALSE:
        return CLEF_JSON_FALSE;
    case CLEF_JSON_EVENT_TRUE:
        return CLEF_JSON_TRUE;
    case CLEF_JSON_EVENT_NUMBER:
        return CLEF_JSON_NUMBER;
    case CLEF_JSON_EVENT_STRING:
        return CLEF_JSON_STRING;
    case CLEF_JSON_EVENT_ARRAY_BEGIN:
        return CLEF_JSON_ARRAY;
    case CLEF_JSON_EVENT_OBJECT_BEGIN:
        return CLEF_JSON_OBJECT;
    default:
        return CLEF_JSON_NULL;
    }
}

static clef_status take_event(tree_builder *builder, clef_json_event event, clef_text text,
                              clef_error *error) {
    if (event == CLEF_JSON_EVENT_KEY) {
        builder->key = text;
        return CLEF_OK;
    }
    if (event == CLEF_JSON_EVENT_ARRAY_END) {
        builder->depth--;
        return CLEF_OK;
    }
    if (event == CLEF_JSON_EVENT_OBJECT_END) {
        builder->depth--;
        return merge_repeated_keys(builder->open[builder->depth].container, error);
    }
    bool has_text = event == CLEF_JSON_EVENT_NUMBER || event == CLEF_JSON_EVENT_STRING;
    clef_json *value = add_value(builder, type_of(event), has_text ? text : (clef_text){NULL, 0});
    if (value == NULL) {
        return clef_fail_memory(error, sizeof *value, "a value of the JSON tree");
    }
    if (value->type == CLEF_JSON_ARRAY || value->type == CLEF_JSON_OBJECT) {
        /* The reader has refused what would not fit. */
        builder->open[builder->depth].container = value;
        builder->open[builder->depth].last = NULL;
        builder->depth++;
    }
    return CLEF_OK;
}

clef_status clef_json_parse(clef_text input, clef_arena *arena, clef_json **value,
                            clef_error *error) {
    *value = NULL;
    clef_json_reader reader;
    clef_json_reader_init(&reader, input, arena);
    tree_builder builder;
    builder.arena = arena;
    builder.root = NULL;
    builder.key = (clef_text){NULL, 0};
    builder.depth = 0;
    for (;;) {
        clef_json_event event;
        clef_status status = clef_json_read(&reader, &event, error);
        if (status == CLEF_OK && event == CLEF_JSON_EVENT_END) {
            *value = builder.root;
            return CLEF_OK;
        }
        if (status == CLEF_OK) {
            status = take_event(&builder, event, reader.text, error);
        }
        if (status != CLEF_OK) {
            return status;
        }
    }
}

/* ---- look-ups ---- */

const clef_json *clef_json_member_text(const clef_json *object, clef_text key) {
    if (object == NULL || object->type != CLEF_JSON_OBJECT) {
        return NULL;
    }
    for (const clef_json *member = object->first; member != NULL; member = member->next) {
        if (clef_text_equals(member->key, key)) {
            return member;
        }
    }
    return NULL;
}

const clef_json *clef_json_member(const clef_json *object, const char *key) {
    return clef_json_member_text(object, clef_text_of(key));
}
