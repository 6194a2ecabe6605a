#include "fixture.h"

#include "storage/checkpoint_extra.h"
#include "storage/savepoints.h"

enum { BODY_BYTES = 5000 };
static char body[BODY_BYTES];

static void make_body(void)
{
    for (uint32_t i = 0; i < BODY_BYTES; i++) {
        body[i] = (char)(i * 7 + i / 256);
    }
}

struct collected {
    char bytes[BODY_BYTES + 1];
    size_t length;
};

static enum status collect(void *context, const void *bytes, size_t length, struct error *err)
{
    (void)err;
    struct collected *self = context;
    assert_true(self->length + length <= BODY_BYTES);
    memcpy(self->bytes + self->length, bytes, length);
    self->length += length;
    return STATUS_OK;
}

static struct checkpoint_manifest manifest_of(uint64_t seq, const struct checkpoint_table *tables, uint32_t count)
{
    return (struct checkpoint_manifest){.seq = seq,
                                        .epoch = 3,
                                        .plan = 2,
                                        .key_groups = {0, 31},
                                        .base = -1,
                                        .tables = tables,
                                        .table_count = count,
                                        .ctl_rank = 9,
                                        .watermark_ms = INT64_MIN,
                                        .inputs = "{\"orders/3\":81220}",
                                        .build = "0.4.1",
                                        .extra = "{\"x\":[1,null]}"};
}

/* One checkpoint with a table of two files. */
static enum object_result commit(struct fixture *f, const char *incarnation, uint64_t seq)
{
    struct checkpoint_writer *writer;
    struct checkpoint_file *files = arena_alloc(f->arena, 2 * sizeof *files);
    struct checkpoint_table *table = arena_alloc(f->arena, sizeof *table);
    enum object_result result;
    REQUIRE(checkpoint_begin(f->storage, "orders-7k2d", "all", incarnation, &writer, &f->err), f);
    REQUIRE(checkpoint_add_bytes(writer, body, BODY_BYTES, 11, f->arena, &files[0], &f->err), f);
    REQUIRE(checkpoint_add_bytes(writer, "", 0, 0, f->arena, &files[1], &f->err), f);
    *table = (struct checkpoint_table){.name = "counts", .kind = "full", .schema = "{\"k\":\"INT\"}", .files = files, .file_count = 2};
    struct checkpoint_manifest manifest = manifest_of(seq, table, 1);
    REQUIRE(checkpoint_commit(writer, &manifest, &result, &f->err), f);
    checkpoint_end(writer);
    return result;
}

static void read_back(struct fixture *f, uint64_t seq, struct checkpoint_manifest *manifest)
{
    enum object_result result;
    REQUIRE(checkpoint_read_manifest(f->storage, "orders-7k2d", "all", seq, f->arena, &result, manifest, &f->err), f);
    assert_int_equal(result, OBJECT_OK);
}

static void checkpoint_comes_back_as_it_was_committed(void **state)
{
    (void)state;
    struct fixture f;
    struct checkpoint_manifest manifest;
    static struct collected collected;
    fixture_open(&f, NULL, 0);
    assert_int_equal(commit(&f, "5f3a", 7), OBJECT_OK);
    assert_true(memory_store_has(f.memory, "v1/jobs/orders-7k2d/checkpoints/all/00000000000000000007.manifest.json"));
    assert_true(memory_store_has(f.memory, "v1/jobs/orders-7k2d/state/all/5f3a-0"));
    read_back(&f, 7, &manifest);
    assert_string_equal(manifest.incarnation, "5f3a");
    assert_int_equal(manifest.epoch, 3);
    assert_int_equal(manifest.plan, 2);
    assert_int_equal(manifest.key_groups[1], 31);
    assert_int_equal(manifest.base, -1);
    assert_int_equal(manifest.ctl_rank, 9);
    assert_true(manifest.watermark_ms == INT64_MIN);
    assert_string_equal(manifest.inputs, "{\"orders/3\":81220}");
    assert_string_equal(manifest.extra, "{\"x\":[1,null]}");
    assert_null(manifest.timers);
    assert_string_equal(manifest.tables[0].schema, "{\"k\":\"INT\"}");
    assert_int_equal(manifest.tables[0].file_count, 2);
    assert_int_equal(manifest.tables[0].files[0].rows, 11);
    struct object_sink sink = {collect, &collected};
    REQUIRE(checkpoint_open_file(f.storage, &manifest.tables[0].files[0], &sink, &f.err), &f);
    assert_int_equal(collected.length, BODY_BYTES);
    assert_memory_equal(collected.bytes, body, BODY_BYTES);
    REQUIRE(checkpoint_verify(f.storage, &manifest, &f.err), &f);
    fixture_close(&f);
}

static void commit_of_a_seq_that_another_process_wrote_is_a_conflict(void **state)
{
    (void)state;
    struct fixture f;
    struct checkpoint_manifest manifest;
    fixture_open(&f, NULL, 0);
    assert_int_equal(commit(&f, "aaaa", 7), OBJECT_OK);
    f.clock.now_us += 1;
    assert_int_equal(commit(&f, "bbbb", 7), OBJECT_CONFLICT);
    assert_int_equal(commit(&f, "aaaa", 7), OBJECT_CONFLICT);
    read_back(&f, 7, &manifest);
    assert_string_equal(manifest.incarnation, "aaaa");
    fixture_close(&f);
}

/* Each call of a checkpoint in turn has an outcome that is not known; in the end the checkpoint stands and is whole. */
static void lost_replies_are_read_back(void **state)
{
    (void)state;
    for (uint32_t fault = MEMORY_FAULT_UNKNOWN_DONE; fault <= MEMORY_FAULT_UNKNOWN_LATE; fault++) {
        for (uint64_t call = 1; call <= 3; call++) {
            struct fixture f;
            struct checkpoint_manifest manifest;
            fixture_open(&f, NULL, 0);
            memory_store_fail(f.memory, call, (enum memory_fault)fault, false);
            assert_int_equal(commit(&f, "5f3a", 1), OBJECT_OK);
            assert_true(memory_store_calls(f.memory) > 3);
            read_back(&f, 1, &manifest);
            REQUIRE(checkpoint_verify(f.storage, &manifest, &f.err), &f);
            fixture_close(&f);
        }
    }
}

static void names_of_files_used_before_are_passed_over(void **state)
{
    (void)state;
    struct fixture f;
    struct checkpoint_manifest first, second;
    fixture_open(&f, NULL, 0);
    assert_int_equal(commit(&f, "5f3a", 1), OBJECT_OK);
    struct storage_settings settings = {(struct object_option[]){{"storage.uri", "mem://root"}}, 1, &f.environment, fixture_open_store, &f};
    storage_close(f.storage);
    REQUIRE(storage_open(&settings, &f.storage, &f.err), &f);
    body[0] ^= 1; /* other bytes: the same name would change the first checkpoint */
    assert_int_equal(commit(&f, "5f3a", 2), OBJECT_OK);
    body[0] ^= 1;
    read_back(&f, 1, &first);
    read_back(&f, 2, &second);
    REQUIRE(checkpoint_verify(f.storage, &first, &f.err), &f);
    REQUIRE(checkpoint_verify(f.storage, &second, &f.err), &f);
    assert_string_not_equal(first.tables[0].files[0].key, second.tables[0].files[0].key);
    fixture_close(&f);
}

static void damaged_files_are_named_with_what_differs(void **state)
{
    (void)state;
    struct fixture f;
    struct checkpoint_manifest manifest;
    fixture_open(&f, NULL, 0);
    commit(&f, "5f3a", 1);
    read_back(&f, 1, &manifest);
    memory_store_damage(f.memory, "v1/jobs/orders-7k2d/state/all/5f3a-0", 4999);
    REQUIRE_ERROR(checkpoint_verify(f.storage, &manifest, &f.err), ERROR_STORE_CORRUPT,
                  "'jobs/orders-7k2d/state/all/5f3a-0' is corrupt: its CRC-32C", &f);
    assert_non_null(strstr(f.err.text, "in table 'counts' of checkpoint 1 of orders-7k2d/all"));
    memory_store_truncate(f.memory, "v1/jobs/orders-7k2d/state/all/5f3a-0", 4000);
    REQUIRE_ERROR(checkpoint_verify(f.storage, &manifest, &f.err), ERROR_STORE_CORRUPT, "it has 4000 bytes instead of 5000", &f);
    memory_store_take(f.memory, "v1/jobs/orders-7k2d/state/all/5f3a-0");
    REQUIRE_ERROR(checkpoint_verify(f.storage, &manifest, &f.err), ERROR_STORE_MISSING, "5f3a-0' is not there", &f);
    fixture_close(&f);
}

static enum status note_seq(void *context, uint64_t seq, bool *stop, struct error *err)
{
    (void)err;
    char *text = context;
    sprintf(text + strlen(text), "%d ", (int)seq);
    *stop = seq == 9;
    return STATUS_OK;
}

static void checkpoints_are_listed_newest_first(void **state)
{
    (void)state;
    struct fixture f;
    char text[100] = "";
    const char *const *names;
    uint32_t count;
    enum object_result result;
    fixture_open(&f, NULL, 0);
    REQUIRE(checkpoint_list(f.storage, "orders-7k2d", "all", note_seq, text, &f.err), &f);
    assert_string_equal(text, "");
    for (uint64_t seq = 8; seq <= 11; seq++) {
        commit(&f, "5f3a", seq);
    }
    REQUIRE(checkpoint_list(f.storage, "orders-7k2d", "all", note_seq, text, &f.err), &f);
    assert_string_equal(text, "11 10 9 ");
    REQUIRE(checkpoint_tasks(f.storage, "orders-7k2d", f.arena, &names, &count, &f.err), &f);
    assert_int_equal(count, 1);
    assert_string_equal(names[0], "all");
    REQUIRE(checkpoint_remove(f.storage, "orders-7k2d", "all", 11, &result, &f.err), &f);
    assert_int_equal(result, OBJECT_OK);
    REQUIRE(checkpoint_remove(f.storage, "orders-7k2d", "all", 11, &result, &f.err), &f);
    assert_int_equal(result, OBJECT_ABSENT);
    fixture_close(&f);
}

static void fall_back_happens_only_when_told_and_only_past_what_is_bad(void **state)
{
    (void)state;
    struct fixture f;
    struct checkpoint_manifest manifest;
    const char *skipped;
    enum object_result result;
    struct checkpoint_choice strict = {.verify = true}, lenient = {.verify = true, .may_fall_back = true};
    fixture_open(&f, NULL, 0);
    REQUIRE(checkpoint_find_valid(f.storage, "orders-7k2d", "all", &lenient, f.arena, &result, &manifest, &skipped, &f.err), &f);
    assert_int_equal(result, OBJECT_ABSENT);
    for (uint64_t seq = 1; seq <= 3; seq++) {
        commit(&f, "5f3a", seq);
    }
    REQUIRE(checkpoint_find_valid(f.storage, "orders-7k2d", "all", &strict, f.arena, &result, &manifest, &skipped, &f.err), &f);
    assert_int_equal(manifest.seq, 3);
    assert_null(skipped);
    memory_store_damage(f.memory, "v1/jobs/orders-7k2d/checkpoints/all/00000000000000000003.manifest.json", 0);
    memory_store_damage(f.memory, "v1/jobs/orders-7k2d/state/all/5f3a-2", 1);
    REQUIRE_ERROR(checkpoint_find_valid(f.storage, "orders-7k2d", "all", &strict, f.arena, &result, &manifest, &skipped, &f.err),
                  ERROR_STORE_CORRUPT, "00003.manifest.json' is not a JSON document", &f);
    REQUIRE(checkpoint_find_valid(f.storage, "orders-7k2d", "all", &lenient, f.arena, &result, &manifest, &skipped, &f.err), &f);
    assert_int_equal(manifest.seq, 1);
    assert_non_null(strstr(skipped, "checkpoint 3: "));
    assert_non_null(strstr(skipped, "checkpoint 2: 'jobs/orders-7k2d/state/all/5f3a-2' is corrupt"));
    /* no answer is no verdict */
    memory_store_fail(f.memory, 2, MEMORY_FAULT_UNAVAILABLE, false);
    REQUIRE_ERROR(checkpoint_find_valid(f.storage, "orders-7k2d", "all", &lenient, f.arena, &result, &manifest, &skipped, &f.err),
                  ERROR_STORE_UNAVAILABLE, "fault", &f);
    memory_store_fail(f.memory, 0, MEMORY_FAULT_NONE, false);
    memory_store_damage(f.memory, "v1/jobs/orders-7k2d/state/all/5f3a-0", 1);
    REQUIRE_ERROR(checkpoint_find_valid(f.storage, "orders-7k2d", "all", &lenient, f.arena, &result, &manifest, &skipped, &f.err),
                  ERROR_STORE_CORRUPT, "no older checkpoint of orders-7k2d/all is good either", &f);
    fixture_close(&f);
}

static void manifest_of_a_newer_build_or_another_checkpoint_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct checkpoint_manifest manifest;
    enum object_result result;
    struct object_info info;
    const char *newer = "{\"v\":2}", *copied;
    fixture_open(&f, NULL, 0);
    struct object_store *objects = memory_store_objects(f.memory);
    REQUIRE(object_put_bytes(objects, "v1/jobs/j/checkpoints/all/00000000000000000001.manifest.json", newer, strlen(newer), PUT_ANY, NULL,
                             &result, &info, &f.err),
            &f);
    REQUIRE_ERROR(checkpoint_read_manifest(f.storage, "j", "all", 1, f.arena, &result, &manifest, &f.err), ERROR_STORE_UNABLE,
                  "written by a newer Spate", &f);
    commit(&f, "5f3a", 1);
    char *bytes;
    size_t length;
    copied = "v1/jobs/orders-7k2d/checkpoints/all/0000000000000000000";
    char from[100], to[100];
    sprintf(from, "%s1.manifest.json", copied);
    sprintf(to, "%s2.manifest.json", copied);
    REQUIRE(object_get_bytes(objects, from, 100000, &result, &bytes, &length, &info, &f.err), &f);
    REQUIRE(object_put_bytes(objects, to, bytes, length, PUT_ANY, NULL, &result, &info, &f.err), &f);
    free(bytes);
    REQUIRE_ERROR(checkpoint_read_manifest(f.storage, "orders-7k2d", "all", 2, f.arena, &result, &manifest, &f.err), ERROR_STORE_CORRUPT,
                  "another checkpoint's", &f);
    fixture_close(&f);
}

/* I19: whatever call fails, an error is what comes out, never "there is none" and never a wrong answer. */
static void errors_are_never_taken_for_absence(void **state)
{
    (void)state;
    for (uint64_t call = 1; call <= 5; call++) {
        struct fixture f;
        struct checkpoint_manifest manifest;
        const char *skipped;
        enum object_result result;
        struct checkpoint_choice choice = {.verify = true, .may_fall_back = true};
        fixture_open(&f, NULL, 0);
        commit(&f, "5f3a", 1);
        memory_store_fail(f.memory, call, MEMORY_FAULT_UNAVAILABLE, true);
        enum status status = checkpoint_find_valid(f.storage, "orders-7k2d", "all", &choice, f.arena, &result, &manifest, &skipped, &f.err);
        assert_int_equal(status, call <= 4 ? STATUS_UNAVAILABLE : STATUS_OK);
        fixture_close(&f);
    }
}

/* ---- savepoints ---- */

static void savepoint_is_complete_without_the_checkpoint(void **state)
{
    (void)state;
    static const char *const places[] = {"nightly", "mem://elsewhere/a"};
    for (uint32_t i = 0; i < 2; i++) {
        struct fixture f;
        struct checkpoint_manifest manifest;
        struct savepoint savepoint;
        enum object_result result;
        const char *const *names;
        uint32_t count;
        static struct collected collected;
        fixture_open(&f, NULL, 0);
        struct memory_store *holder = i == 0 ? f.memory : f.other;
        commit(&f, "5f3a", 4);
        read_back(&f, 4, &manifest);
        REQUIRE(savepoint_create(f.storage, "orders-7k2d", places[i], &manifest, 1, &result, &f.err), &f);
        assert_int_equal(result, OBJECT_OK);
        REQUIRE(savepoint_create(f.storage, "orders-7k2d", places[i], &manifest, 1, &result, &f.err), &f);
        assert_int_equal(result, OBJECT_CONFLICT);
        while (memory_store_find(f.memory, "/state/", 0) != NULL) {
            memory_store_take(f.memory, memory_store_find(f.memory, "/state/", 0));
        }
        memory_store_take(f.memory, memory_store_find(f.memory, "/checkpoints/", 0));
        REQUIRE(savepoint_open(f.storage, "orders-7k2d", places[i], f.arena, &result, &savepoint, &f.err), &f);
        assert_int_equal(result, OBJECT_OK);
        assert_int_equal(savepoint.count, 1);
        assert_int_equal(savepoint.manifests[0].seq, 4);
        assert_string_equal(savepoint.manifests[0].extra, "{\"x\":[1,null]}");
        REQUIRE(savepoint_verify(&savepoint, &f.err), &f);
        struct object_sink sink = {collect, &collected};
        collected.length = 0;
        REQUIRE(savepoint_open_file(&savepoint, &savepoint.manifests[0].tables[0].files[0], &sink, &f.err), &f);
        assert_memory_equal(collected.bytes, body, BODY_BYTES);
        memory_store_damage(holder, memory_store_find(holder, "files/", 0), 3);
        REQUIRE_ERROR(savepoint_verify(&savepoint, &f.err), ERROR_STORE_CORRUPT, "is corrupt", &f);
        savepoint_close(&savepoint);
        REQUIRE(savepoint_list(f.storage, "orders-7k2d", f.arena, &names, &count, &f.err), &f);
        assert_int_equal(count, i == 0 ? 1 : 0);
        REQUIRE(savepoint_delete(f.storage, "orders-7k2d", places[i], &result, &f.err), &f);
        assert_int_equal(result, OBJECT_OK);
        assert_int_equal(memory_store_count(holder), 0);
        REQUIRE(savepoint_open(f.storage, "orders-7k2d", places[i], f.arena, &result, &savepoint, &f.err), &f);
        assert_int_equal(result, OBJECT_ABSENT);
        fixture_close(&f);
    }
}

static void savepoint_of_a_bad_checkpoint_is_refused_and_cut_short_it_is_none(void **state)
{
    (void)state;
    struct fixture f;
    struct checkpoint_manifest manifest;
    struct savepoint savepoint;
    enum object_result result;
    fixture_open(&f, NULL, 0);
    commit(&f, "5f3a", 4);
    read_back(&f, 4, &manifest);
    for (uint64_t call = 1; call <= 4; call++) {
        memory_store_fail(f.memory, call, MEMORY_FAULT_UNAVAILABLE, true);
        assert_int_equal(savepoint_create(f.storage, "orders-7k2d", "cut", &manifest, 1, &result, &f.err), STATUS_UNAVAILABLE);
        memory_store_fail(f.memory, 0, MEMORY_FAULT_NONE, false);
        REQUIRE(savepoint_open(f.storage, "orders-7k2d", "cut", f.arena, &result, &savepoint, &f.err), &f);
        assert_int_equal(result, OBJECT_ABSENT);
    }
    REQUIRE(savepoint_create(f.storage, "orders-7k2d", "cut", &manifest, 1, &result, &f.err), &f);
    assert_int_equal(result, OBJECT_OK);
    memory_store_damage(f.memory, "v1/jobs/orders-7k2d/state/all/5f3a-0", 1);
    REQUIRE_ERROR(savepoint_create(f.storage, "orders-7k2d", "bad", &manifest, 1, &result, &f.err), ERROR_STORE_CORRUPT, "", &f);
    REQUIRE_ERROR(savepoint_open(f.storage, NULL, "bad", f.arena, &result, &savepoint, &f.err), ERROR_INVALID_OPTION, "no job is given",
                  &f);
    fixture_close(&f);
}

static enum status read_extra(struct fixture *f, const char *text, struct checkpoint_extra *extra)
{
    const struct checkpoint_manifest manifest = {.seq = 12, .extra = text};
    return checkpoint_extra_read(&manifest, f->arena, extra, &f->err);
}

static void what_a_job_notes_comes_back(void **state)
{
    (void)state;
    struct fixture f;
    struct checkpoint_extra got;
    const struct checkpoint_extra noted = {
        .ended = true, .policy = "a\"ended\":false", .lineage = UINT32_MAX, .workers = 3, .ticks = 81220, .databases = UINT64_MAX - 1};
    const char *text;
    fixture_open(&f, NULL, 0);
    REQUIRE(checkpoint_extra_write(&noted, f.arena, &text, &f.err), &f);
    REQUIRE(read_extra(&f, text, &got), &f);
    assert_true(got.ended);
    assert_string_equal(got.policy, noted.policy);
    assert_int_equal(got.lineage, UINT32_MAX);
    assert_int_equal(got.workers, 3);
    assert_int_equal(got.ticks, 81220);
    assert_true(got.databases == UINT64_MAX - 1);
    /* However it is spaced, and what older checkpoints do not have. */
    REQUIRE(read_extra(&f, "{ \"workers\" : 2 , \"ended\" : true }", &got), &f);
    assert_true(got.ended && got.workers == 2 && got.policy == NULL && got.databases == 0);
    REQUIRE(read_extra(&f, NULL, &got), &f);
    assert_false(got.ended);
    fixture_close(&f);
}

static void what_a_job_cannot_have_noted_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *named;
    } cases[] = {{"{\"ended\":1}", "\"ended\""},   {"{\"lineage\":4294967296}", "\"lineage\""}, {"{\"ticks\":-1}", "\"ticks\""},
                 {"{\"policy\":3}", "\"policy\""}, {"{\"databases\":\"12\"}", "\"databases\""}, {"[1]", "checkpoint 12"}};
    struct fixture f;
    struct checkpoint_extra got;
    fixture_open(&f, NULL, 0);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_int_equal(read_extra(&f, cases[i].text, &got), STATUS_CORRUPT);
        assert_non_null(strstr(f.err.text, cases[i].named));
    }
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoint_comes_back_as_it_was_committed),
        cmocka_unit_test(commit_of_a_seq_that_another_process_wrote_is_a_conflict),
        cmocka_unit_test(lost_replies_are_read_back),
        cmocka_unit_test(names_of_files_used_before_are_passed_over),
        cmocka_unit_test(damaged_files_are_named_with_what_differs),
        cmocka_unit_test(checkpoints_are_listed_newest_first),
        cmocka_unit_test(fall_back_happens_only_when_told_and_only_past_what_is_bad),
        cmocka_unit_test(manifest_of_a_newer_build_or_another_checkpoint_is_refused),
        cmocka_unit_test(errors_are_never_taken_for_absence),
        cmocka_unit_test(what_a_job_notes_comes_back),
        cmocka_unit_test(what_a_job_cannot_have_noted_is_named),
        cmocka_unit_test(savepoint_is_complete_without_the_checkpoint),
        cmocka_unit_test(savepoint_of_a_bad_checkpoint_is_refused_and_cut_short_it_is_none),
    };
    make_body();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
