/* Control groups of both versions, laid out as files in a folder: the least that any group above
 * the process leaves. */
#include "base/memory_groups.h"

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char root[64];

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void write_text(const char *folder, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", path_of(folder), name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static uint64_t left(const char *list, bool for_files) {
    char path[256];
    write_text(".", "list", list);
    snprintf(path, sizeof path, "%s", path_of("list"));
    return clef_memory_groups_left(root, path, for_files);
}

static int create_root(void **state) {
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/clef-groups-XXXXXX",
             parent == NULL || strlen(parent) > 40 ? "/tmp" : parent);
    return mkdtemp(root) == NULL;
}

static int remove_root(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static void make_folder(const char *name) {
    assert_int_equal(mkdir(path_of(name), 0700), 0);
}

static void nobody_limits(void **state) {
    (void)state;
    assert_true(left("0::/\n", false) == UINT64_MAX);
    assert_true(left("", true) == UINT64_MAX);
    assert_true(clef_memory_groups_left(root, "/no/such/file", false) == UINT64_MAX);
    /* A group that says "max" has no limit. */
    make_folder("free");
    write_text("free", "memory.max", "max\n");
    write_text("free", "memory.current", "5000\n");
    assert_true(left("0::/free\n", false) == UINT64_MAX);
}

/* Version 2: private memory counts against the limit, pages of files as far as they are in use. */
static void version_two(void **state) {
    (void)state;
    make_folder("slice");
    make_folder("slice/unit");
    write_text("slice/unit", "memory.max", "100000\n");
    write_text("slice/unit", "memory.current", "70000\n");
    write_text("slice/unit", "memory.stat", "anon 10000\nactive_file 35000\ninactive_file 25000\n");
    assert_int_equal(left("0::/slice/unit\n", false), 100000 - 45000);
    assert_int_equal(left("0::/slice/unit\n", true), 100000 - 10000);
    /* The group above is tighter. */
    write_text("slice", "memory.max", "60000\n");
    write_text("slice", "memory.current", "30000\n");
    assert_int_equal(left("0::/slice/unit\n", false), 30000);
    /* A full group leaves nothing, and not less. */
    write_text("slice", "memory.current", "90000\n");
    assert_int_equal(left("0::/slice/unit\n", true), 0);
    write_text("slice", "memory.max", "max\n");
}

/* Version 1: a tree for memory, beside others that do not matter here. */
static void version_one(void **state) {
    static const char list[] = "7:cpu,cpuacct:/other\n4:hugetlb,memory:/job\n0::/job\n";
    (void)state;
    make_folder("memory");
    make_folder("memory/job");
    write_text("memory/job", "memory.limit_in_bytes", "200000\n");
    write_text("memory/job", "memory.usage_in_bytes", "150000\n");
    write_text("memory/job", "memory.stat", "total_inactive_file 50000\ntotal_active_file 60000\n");
    assert_int_equal(left(list, false), 100000);
    assert_int_equal(left(list, true), 160000);
    /* "memory" must be a whole name. */
    assert_true(left("4:memory_other:/job\n", false) == UINT64_MAX);
}

/* A container sees its own group as the root, whatever the list calls it. */
static void a_container_sees_the_root(void **state) {
    (void)state;
    write_text("memory", "memory.limit_in_bytes", "40000\n");
    write_text("memory", "memory.usage_in_bytes", "10000\n");
    assert_int_equal(left("4:memory:/docker/0123456789\n", false), 30000);
    assert_int_equal(left("0::/../outside\n", false), 30000);
    assert_int_equal(clef_memory_groups_left(root, "/no/such/file", true), 30000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_limits),
        cmocka_unit_test(version_two),
        cmocka_unit_test(version_one),
        cmocka_unit_test(a_container_sees_the_root),
    };
    return cmocka_run_group_tests(tests, create_root, remove_root);
}
