#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "job/state_copies.h"

/* A storage with the files of a task, and a folder for copies of them. */
static struct arena *arena;
static struct error err;
static struct storage *storage;
static struct checkpoint_writer *writer;
static char root[] = "/tmp/spate-copies-XXXXXX", folder[100];

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(root));
    snprintf(folder, sizeof folder, "%s/copies", root);
    char place[100];
    snprintf(place, sizeof place, "%s/store", root);
    const struct object_option options[] = {{"storage.uri", place}};
    const struct storage_settings settings = {.options = options, .option_count = 1};
    arena = arena_create(NULL, "test");
    assert_int_equal(storage_open(&settings, &storage, &err), STATUS_OK);
    assert_int_equal(checkpoint_begin(storage, "orders-abcd", "s0.3", "life", &writer, &err), STATUS_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[200];
    checkpoint_end(writer);
    storage_close(storage);
    arena_destroy(arena);
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static struct checkpoint_file put(const char *content)
{
    struct checkpoint_file file;
    assert_int_equal(checkpoint_add_bytes(writer, content, strlen(content), 1, arena, &file, &err), STATUS_OK);
    return file;
}

static enum status collect(void *context, const void *bytes, size_t length, struct error *ignored)
{
    (void)ignored;
    text_append(context, bytes, length);
    return STATUS_OK;
}

/* What the copy holds; "-": there is no whole one. */
static const char *copied(const struct checkpoint_file *file)
{
    struct text_builder text = {0};
    const struct object_sink sink = {.write = collect, .context = &text};
    enum status status = STATUS_OK;
    bool given = state_copies_give(folder, file, &sink, &status, &err);
    const char *kept = given ? arena_text(arena, text.bytes, text.length) : "-";
    assert_int_equal(status, STATUS_OK);
    text_builder_close(&text);
    return kept;
}

static void spoil(const struct checkpoint_file *file, const char *content)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, strrchr(file->key, '/') + 1);
    FILE *opened = fopen(path, "w");
    assert_non_null(opened);
    fputs(content, opened);
    fclose(opened);
}

static void copies_follow_the_checkpoint(void **state)
{
    (void)state;
    struct checkpoint_file files[] = {put("first"), put("the second"), put("third")};
    struct checkpoint_table table = {.files = files, .file_count = 2};
    const struct checkpoint_manifest manifest = {.tables = &table, .table_count = 1};
    assert_int_equal(state_copies_missing(folder, &manifest), 15);
    assert_string_equal(copied(&files[0]), "-");
    assert_int_equal(state_copies_update(folder, storage, &manifest, &err), STATUS_OK);
    assert_int_equal(state_copies_missing(folder, &manifest), 0);
    assert_string_equal(copied(&files[0]), "first");
    assert_string_equal(copied(&files[1]), "the second");
    table = (struct checkpoint_table){.files = files + 1, .file_count = 2}; /* the next checkpoint no longer names the first */
    assert_int_equal(state_copies_missing(folder, &manifest), 5);
    assert_int_equal(state_copies_update(folder, storage, &manifest, &err), STATUS_OK);
    assert_string_equal(copied(&files[0]), "-");
    assert_string_equal(copied(&files[2]), "third");
    state_copies_remove(folder);
    assert_int_not_equal(access(folder, F_OK), 0);
}

/* A copy that is not what the manifest says is none, and is fetched again where its size shows it. */
static void a_wrong_copy_is_none(void **state)
{
    (void)state;
    struct checkpoint_file file = put("0123456789");
    struct checkpoint_table table = {.files = &file, .file_count = 1};
    const struct checkpoint_manifest manifest = {.tables = &table, .table_count = 1};
    assert_int_equal(state_copies_update(folder, storage, &manifest, &err), STATUS_OK);
    spoil(&file, "0123456788");
    assert_string_equal(copied(&file), "-");
    spoil(&file, "01234");
    assert_string_equal(copied(&file), "-");
    assert_int_equal(state_copies_missing(folder, &manifest), 10);
    assert_int_equal(state_copies_update(folder, storage, &manifest, &err), STATUS_OK);
    assert_string_equal(copied(&file), "0123456789");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_follow_the_checkpoint),
        cmocka_unit_test(a_wrong_copy_is_none),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
