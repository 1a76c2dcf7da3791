/* A folder of files: its lock, what is listed, read, replaced and removed. */
#include "support.h"

#include "base/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct place {
    char path[64];
    clef_folder folder;
} place;

static void open_place(place *p) {
    clef_error error = {0};
    snprintf(p->path, sizeof p->path, "/tmp/clef-folder-XXXXXX");
    assert_non_null(mkdtemp(p->path));
    assert_ok(clef_folder_open(p->path, &p->folder, &error), &error);
}

static void close_place(place *p) {
    clef_folder_close(&p->folder);
    clef_folder_close(&p->folder);
    assert_int_equal(rmdir(p->path), 0);
}

static void write_file(const place *p, const char *name, const char *text) {
    clef_error error = {0};
    clef_new_file file;
    assert_ok(clef_new_file_create(p->folder.descriptor, p->path, "part", &file, &error), &error);
    assert_ok(clef_new_file_write(&file, 0, text, strlen(text), &error), &error);
    assert_ok(clef_new_file_finish(&file, &error), &error);
    assert_ok(clef_folder_rename(&p->folder, "part", name, &error), &error);
}

static void folders_are_locked(void **state) {
    (void)state;
    clef_error error = {0};
    clef_folder other;
    place p;
    open_place(&p);
    assert_int_equal(clef_folder_open(p.path, &other, &error), CLEF_BUSY);
    assert_string_equal(error.place, p.path);
    clef_folder_close(&other);
    clef_folder_close(&p.folder);
    assert_ok(clef_folder_open(p.path, &other, &error), &error);
    clef_folder_close(&other);
    assert_int_equal(rmdir(p.path), 0);
    assert_int_equal(clef_folder_open(p.path, &other, &error), CLEF_USAGE);
    assert_non_null(strstr(error.message, "does not exist"));
    assert_int_equal(clef_folder_open("/proc/self/status", &other, &error), CLEF_USAGE);
    assert_non_null(strstr(error.message, "no directory"));
}

typedef struct seen {
    size_t count;
    uint64_t bytes, changed_ns;
} seen;

static void note(void *context, const char *name, uint64_t bytes, uint64_t changed_ns) {
    seen *all = context;
    assert_true(name[0] == 'a' || name[0] == 'b');
    all->count++;
    all->bytes += bytes;
    all->changed_ns = changed_ns > all->changed_ns ? changed_ns : all->changed_ns;
}

static void files_are_listed_and_replaced(void **state) {
    (void)state;
    place p;
    char path[128];
    open_place(&p);
    write_file(&p, "a", "one");
    write_file(&p, "b", "three");
    write_file(&p, "a", "seventeen");
    snprintf(path, sizeof path, "%s/folder", p.path);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/link", p.path);
    assert_int_equal(symlink("a", path), 0);
    seen all = {0};
    clef_folder_visit(&p.folder, note, &all);
    assert_int_equal(all.count, 2);
    assert_int_equal(all.bytes, 14);
    clef_folder_touch(&p.folder, "b");
    seen later = {0};
    clef_folder_visit(&p.folder, note, &later);
    assert_true(later.changed_ns >= all.changed_ns);
    clef_folder_remove(&p.folder, "a");
    clef_folder_remove(&p.folder, "a");
    clef_folder_remove(&p.folder, "b");
    clef_folder_remove(&p.folder, "link");
    snprintf(path, sizeof path, "%s/folder", p.path);
    assert_int_equal(rmdir(path), 0);
    close_place(&p);
}

static void only_true_files_are_read(void **state) {
    (void)state;
    place p;
    char path[128];
    char bytes[8] = {0};
    uint64_t length;
    clef_error error = {0};
    open_place(&p);
    write_file(&p, "a", "seventeen");
    int file = clef_folder_open_file(&p.folder, "a", &length);
    assert_true(file >= 0);
    assert_int_equal(length, 9);
    assert_true(clef_folder_read(file, 5, bytes, 4));
    assert_string_equal(bytes, "teen");
    assert_true(clef_folder_read(file, 9, bytes, 0));
    assert_false(clef_folder_read(file, 5, bytes, 5));
    clef_folder_close_file(file);
    clef_folder_close_file(-1);
    snprintf(path, sizeof path, "%s/link", p.path);
    assert_int_equal(symlink("a", path), 0);
    assert_int_equal(clef_folder_open_file(&p.folder, "link", &length), -1);
    assert_int_equal(clef_folder_open_file(&p.folder, ".", &length), -1);
    assert_int_equal(clef_folder_open_file(&p.folder, "missing", &length), -1);
    snprintf(path, sizeof path, "%s/pipe", p.path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(clef_folder_open_file(&p.folder, "pipe", &length), -1);
    assert_int_equal(clef_folder_rename(&p.folder, "missing", "b", &error), CLEF_INTERNAL);
    clef_folder_remove(&p.folder, "pipe");
    clef_folder_remove(&p.folder, "link");
    clef_folder_remove(&p.folder, "a");
    close_place(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_are_locked),
        cmocka_unit_test(files_are_listed_and_replaced),
        cmocka_unit_test(only_true_files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
