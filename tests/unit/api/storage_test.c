/* The public interface over a real folder: what jobs write by the typed stores is seen by its keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spate/storage.h"
#include "storage/checkpoints.h"
#include "storage/job_records.h"
#include "storage/log_store.h"
#include "storage/metric_store.h"
#include "storage/offset_store.h"
#include "storage/savepoints.h"

static char folder[64], uri_option[100];
static struct error err;

#define REQUIRE(call)                                                                                                                      \
    do {                                                                                                                                   \
        if ((call) != STATUS_OK) {                                                                                                         \
            fail_msg("%s:%d: %s", __FILE__, __LINE__, err.text);                                                                           \
        }                                                                                                                                  \
    } while (0)

static void write_checkpoints(struct storage *storage, const char *id, struct arena *arena)
{
    struct checkpoint_writer *writer;
    struct checkpoint_file file;
    struct checkpoint_manifest manifest = {.seq = 4, .base = -1, .watermark_ms = INT64_MIN, .inputs = "{\"o/0\":7}", .table_count = 1};
    enum object_result result;
    REQUIRE(checkpoint_begin(storage, id, "s1.0", "inc", &writer, &err));
    REQUIRE(checkpoint_add_bytes(writer, "state", 5, 2, arena, &file, &err));
    struct checkpoint_table table = {.name = "t", .kind = "full", .files = &file, .file_count = 1};
    manifest.tables = &table;
    REQUIRE(checkpoint_commit(writer, &manifest, &result, &err));
    checkpoint_end(writer);
    REQUIRE(checkpoint_read_manifest(storage, id, "s1.0", 4, arena, &result, &manifest, &err));
    REQUIRE(savepoint_create(storage, id, "nightly", &manifest, 1, &result, &err));
}

static void write_job(void)
{
    struct object_option option = {"storage.uri", folder};
    struct storage_settings settings = {.options = &option, .option_count = 1};
    struct storage *storage;
    struct arena *arena = arena_create(NULL, "test");
    struct job_record record = {.name = "orders"};
    struct log_writer *logs;
    struct metric_writer *metrics;
    enum object_result result;
    int64_t now_us = clock_system.wall_us(&clock_system);
    REQUIRE(storage_open(&settings, &storage, &err));
    REQUIRE(job_record_create(storage, &record, arena, &result, &err));
    write_checkpoints(storage, record.id, arena);
    REQUIRE(offsets_append(storage, record.id, "s1.0", "k1", "{\"o/0\":7}", 3, &result, &err));
    REQUIRE(log_writer_open(storage, record.id, "w1", "inc", &logs, &err));
    struct log_line line = {INT64_C(1700000000000000), LOG_WARN, "checkpoint.slow", "s1.0", "{\"ms\":9}", NULL};
    REQUIRE(log_append(logs, &line, 1, &err));
    log_writer_close(logs);
    REQUIRE(metric_writer_open(storage, record.id, "w1", "inc", &metrics, &err));
    struct metric_point points[] = {{now_us - 5000000, "rows", "task=s1.0", 41}, {now_us - 4000000, "rows", "task=s1.0", 42}};
    REQUIRE(metrics_append(metrics, points, 2, &err));
    metric_writer_close(metrics);
    storage_close(storage);
    arena_destroy(arena);
}

static void add_entry(void *context, const char *key, const char *about)
{
    sprintf((char *)context + strlen(context), "%s\t%s\n", key, about);
}

static void add_bytes(void *context, const void *bytes, size_t length)
{
    strncat(context, bytes, length);
}

static spate_storage *open_public(const char *principal)
{
    const char *options[] = {uri_option, NULL};
    spate_storage *storage;
    assert_int_equal(spate_storage_open(options, principal, &storage), SPATE_OK);
    return storage;
}

static void require_read(spate_storage *storage, const char *key, const char *expected)
{
    char text[4000] = "";
    if (spate_storage_read(storage, "orders", key, add_bytes, text) != SPATE_OK) {
        fail_msg("%s: %s", key, spate_storage_error(storage)->text);
    }
    if (strstr(text, expected) == NULL) {
        fail_msg("%s: '%s' is not in: %s", key, expected, text);
    }
}

static void every_kind_is_listed_and_read_by_its_keys(void **state)
{
    (void)state;
    char text[8000] = "";
    spate_storage *storage = open_public(NULL);
    assert_int_equal(spate_storage_list(storage, "orders", "", add_entry, text), SPATE_OK);
    static const char *const keys[] = {"checkpoints/s1.0/4\t", "savepoints/nightly\t", "offsets/s1.0\t", "logs/2023-11-14/22\t1 lines",
                                       "metrics/rows\t{task=s1.0} 42"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strstr(text, keys[i]) == NULL) {
            fail_msg("'%s' is not in: %s", keys[i], text);
        }
    }
    text[0] = '\0';
    assert_int_equal(spate_storage_list(storage, "orders", "logs/2023-11-14", add_entry, text), SPATE_OK);
    assert_string_equal(text, "logs/2023-11-14/22\t1 lines\n");
    require_read(storage, "checkpoints/s1.0/4", "inputs {\"o/0\":7}\ntable t full jobs/orders-");
    require_read(storage, "savepoints/nightly", "table t full files/");
    require_read(storage, "offsets/s1.0", "{\"o/0\":7}\n");
    require_read(storage, "logs/2023-11-14/22", "2023-11-14T22:13:20Z warn  w1 s1.0 checkpoint.slow {\"ms\":9}\n");
    require_read(storage, "logs", "checkpoint.slow");
    require_read(storage, "metrics/rows", "rows{task=s1.0} 42\n");
    spate_storage_close(storage);
}

static void what_is_not_there_or_not_allowed_says_so(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "checkpoints/s1.0/5", "checkpoints/s1.0", "savepoints/x", "offsets/x", "logs/yesterday", "config/job", "x"};
    static const char *const fixed[] = {"checkpoints/s1.0/4", "offsets/s1.0", "logs/2023-11-14", "metrics/rows", "config/job"};
    char text[100] = "";
    bool changed;
    spate_storage *storage = open_public(NULL);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        assert_int_equal(spate_storage_read(storage, "orders", keys[i], add_bytes, text), SPATE_ERROR_SQL);
        assert_int_equal(spate_storage_error(storage)->code, 7013);
    }
    assert_string_equal(text, "");
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        assert_int_equal(spate_storage_remove(storage, "orders", fixed[i]), SPATE_ERROR_SQL);
        assert_int_equal(spate_storage_error(storage)->code, 7014);
    }
    assert_int_equal(spate_storage_grant(storage, "user:eve", "auditor", "*", false, &changed), SPATE_OK);
    assert_true(changed);
    spate_storage_close(storage);
    storage = open_public("user:eve");
    text[0] = '\0';
    assert_int_equal(spate_storage_list(storage, NULL, "", add_entry, text), SPATE_OK); /* auditors see the audit, and no jobs */
    assert_memory_equal(text, "audit/", 6);
    spate_storage_close(storage);
}

/* A savepoint in a folder of its own opens wherever the folder is moved, without the storage it came from. */
static void savepoint_opens_where_its_folder_was_moved(void **state)
{
    (void)state;
    char away[100], from[110], to[110];
    struct object_option option = {"storage.uri", folder}, other = {"storage.uri", away};
    struct storage_settings settings = {.options = &option, .option_count = 1}, elsewhere = {.options = &other, .option_count = 1};
    struct storage *storage;
    struct arena *arena = arena_create(NULL, "test");
    struct checkpoint_manifest manifest;
    struct savepoint savepoint;
    enum object_result result;
    char id[JOB_ID_MAX + 1];
    snprintf(away, sizeof away, "%s.away", folder);
    snprintf(from, sizeof from, "%s/mine", away);
    snprintf(to, sizeof to, "%s/moved", away);
    REQUIRE(storage_open(&settings, &storage, &err));
    REQUIRE(job_record_find(storage, "orders", &result, id, &err));
    REQUIRE(checkpoint_read_manifest(storage, id, "s1.0", 4, arena, &result, &manifest, &err));
    REQUIRE(savepoint_create(storage, id, from, &manifest, 1, &result, &err));
    assert_int_equal(result, OBJECT_OK);
    storage_close(storage);
    assert_int_equal(rename(from, to), 0);
    REQUIRE(storage_open(&elsewhere, &storage, &err));
    REQUIRE(savepoint_open(storage, NULL, from, arena, &result, &savepoint, &err));
    assert_int_equal(result, OBJECT_ABSENT);
    REQUIRE(savepoint_open(storage, NULL, to, arena, &result, &savepoint, &err));
    assert_int_equal(result, OBJECT_OK);
    assert_string_equal(savepoint.job, id);
    REQUIRE(savepoint_verify(&savepoint, &err));
    savepoint_close(&savepoint);
    storage_close(storage);
    arena_destroy(arena);
}

static void savepoint_goes_and_a_wrong_option_names_the_right_one(void **state)
{
    (void)state;
    const char *options[] = {"storage.ury=x", NULL};
    spate_storage *storage = open_public(NULL);
    assert_int_equal(spate_storage_remove(storage, "orders", "savepoints/nightly"), SPATE_OK);
    assert_int_equal(spate_storage_remove(storage, "orders", "savepoints/nightly"), SPATE_ERROR_SQL);
    spate_storage_close(storage);
    assert_int_equal(spate_storage_open(options, NULL, &storage), SPATE_ERROR_SQL);
    assert_non_null(strstr(spate_storage_error(storage)->text, "storage.uri"));
    spate_storage_close(storage);
    spate_storage_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_listed_and_read_by_its_keys),
        cmocka_unit_test(what_is_not_there_or_not_allowed_says_so),
        cmocka_unit_test(savepoint_opens_where_its_folder_was_moved),
        cmocka_unit_test(savepoint_goes_and_a_wrong_option_names_the_right_one),
    };
    char command[200];
    strcpy(folder, "/tmp/spate-api-storage-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(uri_option, sizeof uri_option, "storage.uri=%s", folder);
    write_job();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s' '%s.away'", folder, folder);
    return system(command) != 0 ? 1 : failed;
}
