/* A file is a manifest when it lists files and says when it was created. */
#include "cli/model_release.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "cli/model_lookup.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#define MANIFEST_BYTES ((size_t)64 << 20)

/* The first of the names that is a string. */
static clef_text text_of(const clef_json *object, const char *const *names) {
    for (; *names != NULL; names += 1) {
        const clef_json *value = clef_json_member(object, *names);
        if (value != NULL && value->type == CLEF_JSON_STRING) {
            return value->text;
        }
    }
    return (clef_text){NULL, 0};
}

/* What does not fit is left out: half a name is none. */
static void copy(char *out, size_t size, clef_text text) {
    size_t length = text.length < size ? text.length : 0;
    if (length > 0) {
        memcpy(out, text.bytes, length);
    }
    out[length] = '\0';
}

/* "2026-11-15", with or without a time behind it, as UTC; 0 for anything else. */
static int64_t read_date(clef_text text) {
    char date[32];
    struct tm parts = {0};
    int used = 0;
    copy(date, sizeof date, (clef_text){text.bytes, text.length < 19 ? text.length : 19});
    if (sscanf(date, "%4d-%2d-%2d%n", &parts.tm_year, &parts.tm_mon, &parts.tm_mday, &used) != 3 ||
        used != 10) {
        return 0;
    }
    (void)sscanf(date + used, "%*1[T ]%2d:%2d:%2d", &parts.tm_hour, &parts.tm_min, &parts.tm_sec);
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    int64_t seconds = (int64_t)timegm(&parts);
    return seconds > 0 ? seconds : 0;
}

static bool take_manifest(const clef_json *manifest, clef_model_release *release) {
    static const char *const dates[] = {"created", "created_at", NULL};
    static const char *const repositories[] = {"repo", "id", "name", NULL};
    static const char *const revisions[] = {"revision", "commit", NULL};
    const clef_json *files = clef_json_member(manifest, "files");
    int64_t seconds = read_date(text_of(manifest, dates));
    if (files == NULL || files->type != CLEF_JSON_ARRAY || seconds == 0) {
        return false;
    }
    clef_text revision = text_of(manifest, revisions);
    if (revision.bytes == NULL) {
        revision = text_of(clef_json_member(manifest, "upstream"), revisions);
    }
    release->seconds = seconds;
    copy(release->repository, sizeof release->repository, text_of(manifest, repositories));
    copy(release->revision, sizeof release->revision, revision);
    return true;
}

static bool read_manifest(const char *directory, const char *name, clef_model_release *release) {
    clef_file file = {0};
    clef_arena arena = {0};
    clef_json *manifest = NULL;
    bool is_one = false;
    char *path = clef_path_join(directory, name);
    if (path != NULL && clef_path_exists(path) &&
        clef_file_read(path, MANIFEST_BYTES, &file, NULL) == CLEF_OK &&
        clef_json_parse((clef_text){file.bytes, file.length}, &arena, &manifest, NULL) == CLEF_OK) {
        is_one = take_manifest(manifest, release);
    }
    clef_arena_release(&arena);
    clef_file_close(&file);
    clef_release(path);
    return is_one;
}

static int64_t date_of_files(const char *directory) {
    static const char *const names[] = {"config.json", "tokenizer.json"};
    int64_t seconds = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && seconds == 0; i += 1) {
        struct stat facts;
        char *path = clef_path_join(directory, names[i]);
        if (path != NULL && stat(path, &facts) == 0) {
            seconds = (int64_t)facts.st_mtime;
        }
        clef_release(path);
    }
    return seconds;
}

void clef_model_release_read(const char *directory, clef_model_release *release) {
    clef_buffer own = {0};
    *release = (clef_model_release){0};
    clef_model_lookup_name(directory, &own);
    clef_buffer_append_string(&own, ".json");
    const char *const names[] = {"manifest.json", own.has_failed ? "clef.json" : own.bytes,
                                 "clef.json", "clef-flash.json"};
    bool is_found = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !is_found; i += 1) {
        is_found = read_manifest(directory, names[i], release);
    }
    if (!is_found) {
        release->seconds = date_of_files(directory);
    }
    clef_buffer_release(&own);
}
