#include "fixture.h"

#include "storage/config_store.h"
#include "storage/offset_store.h"

static int64_t write_config(struct fixture *f, const char *job, const char *scope, const char *text, int64_t expect,
                            enum object_result expected)
{
    enum object_result result;
    int64_t version = -7;
    REQUIRE(config_write(f->storage, job, scope, text, "user:ann", expect, &result, &version, &f->err), f);
    assert_int_equal(result, expected);
    return version;
}

static void config_versions_are_numbered_and_never_change(void **state)
{
    (void)state;
    struct fixture f;
    struct config_version config;
    enum object_result result;
    fixture_open(&f, NULL, 0);
    REQUIRE(config_read(f.storage, "j-0000", "job", CONFIG_LATEST, f.arena, &result, &config, &f.err), &f);
    assert_int_equal(result, OBJECT_ABSENT);
    for (int i = 1; i <= 12; i++) { /* past 9: numbers, not texts, are compared */
        char text[20];
        snprintf(text, sizeof text, "{\"n\":%d}", i);
        assert_int_equal(write_config(&f, "j-0000", "job", text, i - 1, OBJECT_OK), i);
    }
    assert_true(memory_store_has(f.memory, "v1/jobs/j-0000/config/job/12.json"));
    assert_int_equal(write_config(&f, "j-0000", "job", "{}", 3, OBJECT_CONFLICT), 12);
    assert_int_equal(write_config(&f, "j-0000", "job", "{}", CONFIG_EXPECT_NONE, OBJECT_CONFLICT), 12);
    assert_int_equal(write_config(&f, "j-0000", "processor/w1#9f", "{}", CONFIG_EXPECT_ANY, OBJECT_OK), 1);
    REQUIRE(config_read(f.storage, "j-0000", "job", CONFIG_LATEST, f.arena, &result, &config, &f.err), &f);
    assert_int_equal(config.version, 12);
    assert_string_equal(config.text, "{\"n\":12}");
    assert_string_equal(config.by, "user:ann");
    REQUIRE(config_read(f.storage, "j-0000", "job", 2, f.arena, &result, &config, &f.err), &f);
    assert_string_equal(config.text, "{\"n\":2}");
    REQUIRE(config_read(f.storage, "j-0000", "job", 13, f.arena, &result, &config, &f.err), &f);
    assert_int_equal(result, OBJECT_ABSENT);
    fixture_close(&f);
}

static void scopes_and_texts_that_are_wrong_are_refused(void **state)
{
    (void)state;
    static const char *const scopes[] = {"", "a/b/c", "processor/"};
    struct fixture f;
    enum object_result result;
    int64_t version;
    fixture_open(&f, NULL, 0);
    for (size_t i = 0; i < 3; i++) {
        REQUIRE_ERROR(config_write(f.storage, "j", scopes[i], "{}", NULL, -1, &result, &version, &f.err), ERROR_INVALID_OPTION,
                      "no scope of configuration", &f);
    }
    REQUIRE_ERROR(config_write(f.storage, "j", "job", "[1]", NULL, -1, &result, &version, &f.err), ERROR_INVALID_OPTION, "a JSON object",
                  &f);
    REQUIRE_ERROR(config_write(f.storage, "j", "job", "{\"a\":", NULL, -1, &result, &version, &f.err), ERROR_INVALID_OPTION, "line 1", &f);
    assert_int_equal(memory_store_count(f.memory), 0);
    fixture_close(&f);
}

static void lost_replies_of_configuration_make_one_version(void **state)
{
    (void)state;
    for (uint32_t fault = MEMORY_FAULT_UNKNOWN_DONE; fault <= MEMORY_FAULT_UNKNOWN_LATE; fault++) {
        struct fixture f;
        fixture_open(&f, NULL, 0);
        memory_store_fail(f.memory, 2, (enum memory_fault)fault, false);
        assert_int_equal(write_config(&f, "j", "job", "{}", CONFIG_EXPECT_ANY, OBJECT_OK), 1);
        assert_int_equal(memory_store_count(f.memory), 1);
        fixture_close(&f);
    }
}

static enum status note_version(void *context, const struct config_version *config, bool *stop, struct error *err)
{
    (void)err;
    (void)stop;
    sprintf((char *)context + strlen(context), "%d ", (int)config->version);
    return STATUS_OK;
}

static void history_is_newest_first(void **state)
{
    (void)state;
    struct fixture f;
    char text[100] = "";
    fixture_open(&f, NULL, 0);
    for (int i = 0; i < 11; i++) {
        write_config(&f, "j", "job", "{}", CONFIG_EXPECT_ANY, OBJECT_OK);
    }
    REQUIRE(config_history(f.storage, "j", "job", note_version, text, &f.err), &f);
    assert_string_equal(text, "11 10 9 8 7 6 5 4 3 2 1 ");
    fixture_close(&f);
}

static void secrets_are_stored_as_references_only(void **state)
{
    (void)state;
    struct fixture f;
    enum object_result result;
    int64_t version;
    const char *resolved;
    fixture_open(&f, NULL, 0);
    REQUIRE_ERROR(
        config_write(f.storage, "j", "job", "{\"sink\":{\"kafka.sasl.password\":\"hunter2\"}}", NULL, -1, &result, &version, &f.err),
        ERROR_INVALID_OPTION, "'kafka.sasl.password' is a secret", &f);
    assert_null(strstr(f.err.text, "hunter2"));
    REQUIRE_ERROR(config_write(f.storage, "j", "job", "{\"azure.connection-string\":[\"x\"]}", NULL, -1, &result, &version, &f.err),
                  ERROR_INVALID_OPTION, "is a secret", &f);
    write_config(&f, "j", "job", "{\"password\":\"${env:SPATE_TEST_SECRET}\",\"disaster.plan\":\"x\",\"token.file\":\"${file:/x}\"}", -1,
                 OBJECT_OK);
    setenv("SPATE_TEST_SECRET", "s3cret", 1);
    REQUIRE(secret_resolve("user=a;pw=${env:SPATE_TEST_SECRET};$${x}", f.arena, &resolved, &f.err), &f);
    assert_string_equal(resolved, "user=a;pw=s3cret;${x}");
    unsetenv("SPATE_TEST_SECRET");
    REQUIRE_ERROR(secret_resolve("${env:SPATE_TEST_SECRET}", f.arena, &resolved, &f.err), ERROR_INVALID_OPTION, "no such variable", &f);
    REQUIRE_ERROR(secret_resolve("${vault:x}", f.arena, &resolved, &f.err), ERROR_INVALID_OPTION, "no reference", &f);
    REQUIRE_ERROR(secret_resolve("a${env:x", f.arena, &resolved, &f.err), ERROR_INVALID_OPTION, "has no end", &f);
    char path[] = "/tmp/spate-secret-XXXXXX", reference[100];
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "from file\n", 10), 10);
    close(fd);
    snprintf(reference, sizeof reference, "${file:%s}", path);
    REQUIRE(secret_resolve(reference, f.arena, &resolved, &f.err), &f);
    assert_string_equal(resolved, "from file");
    unlink(path);
    REQUIRE_ERROR(secret_resolve(reference, f.arena, &resolved, &f.err), ERROR_FILE_UNREADABLE, path, &f);
    fixture_close(&f);
}

/* ---- offsets ---- */

static enum object_result append(struct fixture *f, const char *key, uint64_t epoch)
{
    enum object_result result;
    REQUIRE(offsets_append(f->storage, "j-0000", "s1.17", key, "{\"orders/3\":5}", epoch, &result, &f->err), f);
    return result;
}

static void offsets_are_read_by_key_and_newest(void **state)
{
    (void)state;
    struct fixture f;
    struct offset_record record;
    enum object_result result;
    fixture_open(&f, NULL, 0);
    REQUIRE(offsets_last(f.storage, "j-0000", "s1.17", f.arena, &result, &record, &f.err), &f);
    assert_int_equal(result, OBJECT_ABSENT);
    assert_int_equal(append(&f, "001", 1), OBJECT_OK);
    assert_int_equal(append(&f, "002", 1), OBJECT_OK);
    assert_int_equal(append(&f, "003", 4), OBJECT_OK);
    REQUIRE(offsets_last(f.storage, "j-0000", "s1.17", f.arena, &result, &record, &f.err), &f);
    assert_string_equal(record.key, "003");
    assert_int_equal(record.seq, 3);
    assert_int_equal(record.epoch, 4);
    assert_string_equal(record.value, "{\"orders/3\":5}");
    REQUIRE(offsets_read(f.storage, "j-0000", "s1.17", "001", f.arena, &result, &record, &f.err), &f);
    assert_int_equal(result, OBJECT_OK);
    assert_int_equal(record.seq, 1);
    REQUIRE(offsets_read(f.storage, "j-0000", "s1.17", "004", f.arena, &result, &record, &f.err), &f);
    assert_int_equal(result, OBJECT_ABSENT);
    memory_store_fail(f.memory, 2, MEMORY_FAULT_UNAVAILABLE, false);
    REQUIRE_ERROR(offsets_read(f.storage, "j-0000", "s1.17", "001", f.arena, &result, &record, &f.err), ERROR_STORE_UNAVAILABLE, "fault",
                  &f);
    fixture_close(&f);
}

static void a_writer_of_an_older_epoch_is_fenced(void **state)
{
    (void)state;
    struct fixture f;
    struct offset_record record;
    enum object_result result;
    fixture_open(&f, NULL, 0);
    append(&f, "001", 5);
    assert_int_equal(append(&f, "002", 4), OBJECT_CONFLICT);
    assert_int_equal(append(&f, "002", 5), OBJECT_OK);
    /* every call's reply is lost in turn: each append counts once */
    for (uint64_t call = 2; call <= 3; call++) {
        memory_store_fail(f.memory, call, MEMORY_FAULT_UNKNOWN_DONE, false);
        assert_int_equal(append(&f, call == 2 ? "003" : "004", 5), OBJECT_OK);
    }
    memory_store_fail(f.memory, 0, MEMORY_FAULT_NONE, false);
    REQUIRE(offsets_last(f.storage, "j-0000", "s1.17", f.arena, &result, &record, &f.err), &f);
    assert_int_equal(record.seq, 4);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(config_versions_are_numbered_and_never_change),  cmocka_unit_test(scopes_and_texts_that_are_wrong_are_refused),
        cmocka_unit_test(lost_replies_of_configuration_make_one_version), cmocka_unit_test(history_is_newest_first),
        cmocka_unit_test(secrets_are_stored_as_references_only),          cmocka_unit_test(offsets_are_read_by_key_and_newest),
        cmocka_unit_test(a_writer_of_an_older_epoch_is_fenced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
