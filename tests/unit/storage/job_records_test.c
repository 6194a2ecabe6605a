#include "fixture.h"

#include <pthread.h>

#include "storage/job_records.h"

static enum object_result create(struct fixture *f, const char *name, struct job_record *record)
{
    enum object_result result;
    *record = (struct job_record){.name = name, .seat_high = 16, .plans = "{\"3\":{\"sha256\":\"ab\"}}", .submitted_by = "user:ann"};
    REQUIRE(job_record_create(f->storage, record, f->arena, &result, &f->err), f);
    return result;
}

static void job_gets_an_id_that_its_name_leads_to(void **state)
{
    (void)state;
    struct fixture f;
    struct job_record record, again;
    enum object_result result;
    char id[JOB_ID_MAX + 1];
    fixture_open(&f, NULL, 0);
    assert_int_equal(create(&f, "orders", &record), OBJECT_OK);
    assert_int_equal(strlen(record.id), strlen("orders-7k2d"));
    assert_memory_equal(record.id, "orders-", 7);
    REQUIRE(job_record_find(f.storage, "orders", &result, id, &f.err), &f);
    assert_int_equal(result, OBJECT_OK);
    assert_string_equal(id, record.id);
    REQUIRE(job_record_read(f.storage, id, f.arena, &result, &again, &f.err), &f);
    assert_string_equal(again.name, "orders");
    assert_int_equal(again.desired, DESIRED_RUNNING);
    assert_int_equal(again.seat_high, 16);
    assert_string_equal(again.plans, "{\"3\":{\"sha256\":\"ab\"}}");
    assert_string_equal(again.submitted_by, "user:ann");
    assert_null(again.history);
    assert_int_equal(create(&f, "orders", &again), OBJECT_CONFLICT);
    assert_string_equal(again.id, id);
    REQUIRE(job_record_find(f.storage, "Orders", &result, id, &f.err), &f);
    assert_int_equal(result, OBJECT_ABSENT);
    fixture_close(&f);
}

static void record_is_replaced_only_as_it_was_read(void **state)
{
    (void)state;
    struct fixture f;
    struct job_record mine, other;
    enum object_result result;
    fixture_open(&f, NULL, 0);
    create(&f, "orders", &mine);
    REQUIRE(job_record_read(f.storage, mine.id, f.arena, &result, &other, &f.err), &f);
    mine.term_floor = 8;
    mine.desired = DESIRED_PAUSED;
    REQUIRE(job_record_write(f.storage, &mine, f.arena, &result, &f.err), &f);
    assert_int_equal(result, OBJECT_OK);
    other.term_floor = 9;
    REQUIRE(job_record_write(f.storage, &other, f.arena, &result, &f.err), &f);
    assert_int_equal(result, OBJECT_CONFLICT);
    mine.plan = 4;
    REQUIRE(job_record_write(f.storage, &mine, f.arena, &result, &f.err), &f);
    assert_int_equal(result, OBJECT_OK);
    REQUIRE(job_record_read(f.storage, mine.id, f.arena, &result, &other, &f.err), &f);
    assert_int_equal(other.term_floor, 8);
    assert_int_equal(other.plan, 4);
    assert_int_equal(other.desired, DESIRED_PAUSED);
    fixture_close(&f);
}

static void members_of_other_builds_are_kept(void **state)
{
    (void)state;
    struct fixture f;
    struct job_record record;
    enum object_result result;
    struct object_info info;
    fixture_open(&f, NULL, 0);
    create(&f, "orders", &record);
    char key[400], text[] = "{\"v\":1,\"id\":\"orders-xxxx\",\"name\":\"orders\",\"desired\":\"stopped\",\"of\":{\"tomorrow\":[1]}}";
    memcpy(strstr(text, "orders-xxxx"), record.id, 11);
    snprintf(key, sizeof key, "v1/jobs/%s/job.json", record.id);
    REQUIRE(object_put_bytes(memory_store_objects(f.memory), key, text, strlen(text), PUT_ANY, NULL, &result, &info, &f.err), &f);
    REQUIRE(job_record_read(f.storage, record.id, f.arena, &result, &record, &f.err), &f);
    record.history = "[{\"at\":1}]";
    REQUIRE(job_record_write(f.storage, &record, f.arena, &result, &f.err), &f);
    REQUIRE(job_record_read(f.storage, record.id, f.arena, &result, &record, &f.err), &f);
    assert_non_null(strstr(record.document, "\"of\":{\"tomorrow\":[1]}"));
    assert_string_equal(record.history, "[{\"at\":1}]");
    record.history = "[1";
    REQUIRE_ERROR(job_record_write(f.storage, &record, f.arena, &result, &f.err), ERROR_INVALID_OPTION, "\"history\" is not JSON", &f);
    fixture_close(&f);
}

/* Each call of a change has an outcome that is not known: the change is made once, and this writer knows. */
static void lost_replies_of_changes_are_read_back(void **state)
{
    (void)state;
    for (uint32_t fault = MEMORY_FAULT_UNKNOWN_DONE; fault <= MEMORY_FAULT_UNKNOWN_LATE; fault++) {
        struct fixture f;
        struct job_record record, read;
        enum object_result result;
        fixture_open(&f, NULL, 0);
        for (uint64_t call = 2; call <= 3; call++) { /* the record's put, the name's put */
            memory_store_fail(f.memory, call, (enum memory_fault)fault, false);
            assert_int_equal(create(&f, call == 2 ? "two" : "three", &record), OBJECT_OK);
        }
        memory_store_fail(f.memory, 1, (enum memory_fault)fault, false);
        record.plan = 77;
        REQUIRE(job_record_write(f.storage, &record, f.arena, &result, &f.err), &f);
        assert_int_equal(result, OBJECT_OK);
        REQUIRE(job_record_read(f.storage, record.id, f.arena, &result, &read, &f.err), &f);
        assert_int_equal(read.plan, 77);
        assert_string_equal(read.etag, record.etag);
        fixture_close(&f);
    }
}

static enum status note_name(void *context, const struct job_record *record, bool *stop, struct error *err)
{
    (void)err;
    (void)stop;
    strcat(context, record->name);
    strcat(context, " ");
    return STATUS_OK;
}

/* C38: names that differ only in letters' case, '-' and '_', in what is encoded, in '.' at the start. */
static void names_never_meet(void **state)
{
    (void)state;
    static const char *const names[] = {"a-b", "a_b", "A-b", "a/b", "a%2Fb", "..", ".", "a b", "caf\xc3\xa9", "a", "a-"};
    struct fixture f;
    struct job_record record;
    enum object_result result;
    char ids[11][JOB_ID_MAX + 1], text[400] = "", id[JOB_ID_MAX + 1], long_name[JOB_NAME_MAX + 2];
    fixture_open(&f, NULL, 0);
    for (uint32_t i = 0; i < 11; i++) {
        assert_int_equal(create(&f, names[i], &record), OBJECT_OK);
        strcpy(ids[i], record.id);
    }
    for (uint32_t i = 0; i < 11; i++) {
        REQUIRE(job_record_find(f.storage, names[i], &result, id, &f.err), &f);
        assert_string_equal(id, ids[i]);
    }
    REQUIRE(job_record_list(f.storage, NULL, note_name, text, &f.err), &f);
    assert_string_equal(text, ". .. A-b a a b a%2Fb a/b a- a-b a_b caf\xc3\xa9 ");
    text[0] = '\0';
    REQUIRE(job_record_list(f.storage, "a?b", note_name, text, &f.err), &f);
    assert_string_equal(text, "a b a/b a-b a_b ");
    memset(long_name, 'x', sizeof long_name);
    long_name[JOB_NAME_MAX + 1] = '\0';
    record.name = long_name;
    REQUIRE_ERROR(job_record_create(f.storage, &record, f.arena, &result, &f.err), ERROR_INVALID_OPTION, "cannot be a job's name", &f);
    long_name[JOB_NAME_MAX] = '\0';
    assert_int_equal(create(&f, long_name, &record), OBJECT_OK);
    record.name = "\xff";
    REQUIRE_ERROR(job_record_create(f.storage, &record, f.arena, &result, &f.err), ERROR_INVALID_OPTION, "cannot be a job's name", &f);
    fixture_close(&f);
}

static void removed_job_leaves_nothing_and_its_name_is_free(void **state)
{
    (void)state;
    struct fixture f;
    struct job_record record, other;
    enum object_result result;
    struct object_info info;
    char key[400], id[JOB_ID_MAX + 1];
    fixture_open(&f, NULL, 0);
    create(&f, "orders", &record);
    create(&f, "orders2", &other);
    snprintf(key, sizeof key, "v1/jobs/%s/savepoints/a/savepoint.json", record.id);
    REQUIRE(object_put_bytes(memory_store_objects(f.memory), key, "{}", 2, PUT_ANY, NULL, &result, &info, &f.err), &f);
    for (uint32_t i = 0; i < 2500; i++) {
        snprintf(key, sizeof key, "v1/jobs/%s/state/all/a-%u", record.id, i);
        REQUIRE(object_put_bytes(memory_store_objects(f.memory), key, "x", 1, PUT_ANY, NULL, &result, &info, &f.err), &f);
    }
    REQUIRE(job_record_remove(f.storage, record.id, false, &result, &f.err), &f);
    assert_int_equal(result, OBJECT_CONFLICT);
    REQUIRE(job_record_find(f.storage, "orders", &result, id, &f.err), &f);
    assert_int_equal(result, OBJECT_OK);
    REQUIRE(job_record_remove(f.storage, record.id, true, &result, &f.err), &f);
    assert_int_equal(result, OBJECT_OK);
    assert_int_equal(memory_store_count(f.memory), 2);
    REQUIRE(job_record_find(f.storage, "orders", &result, id, &f.err), &f);
    assert_int_equal(result, OBJECT_ABSENT);
    assert_int_equal(create(&f, "orders", &record), OBJECT_OK);
    fixture_close(&f);
}

struct racer {
    struct fixture *fixture;
    struct job_record record;
    enum object_result result;
    enum status status;
    pthread_t thread;
};

static void *race(void *argument)
{
    struct racer *self = argument;
    struct error err;
    struct arena *arena = arena_create(NULL, "racer");
    self->record = (struct job_record){.name = "same"};
    self->status = job_record_create(self->fixture->storage, &self->record, arena, &self->result, &err);
    arena_destroy(arena);
    return NULL;
}

/* C59: of those who create one name at once, one does, and the others learn its id. */
static void one_of_many_creates_a_name(void **state)
{
    (void)state;
    enum { RACERS = 8 };
    for (uint32_t round = 0; round < 20; round++) {
        struct fixture f;
        static struct racer racers[RACERS];
        char id[JOB_ID_MAX + 1];
        enum object_result result;
        uint32_t made = 0;
        fixture_open(&f, NULL, 0);
        for (uint32_t i = 0; i < RACERS; i++) {
            racers[i].fixture = &f;
            assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
        }
        for (uint32_t i = 0; i < RACERS; i++) {
            pthread_join(racers[i].thread, NULL);
        }
        REQUIRE(job_record_find(f.storage, "same", &result, id, &f.err), &f);
        for (uint32_t i = 0; i < RACERS; i++) {
            assert_int_equal(racers[i].status, STATUS_OK);
            made += racers[i].result == OBJECT_OK;
            assert_string_equal(racers[i].record.id, id);
        }
        assert_int_equal(made, 1);
        assert_int_equal(memory_store_count(f.memory), 2); /* the losers took their records back */
        fixture_close(&f);
    }
}

static void kinds_live_where_the_options_say(void **state)
{
    (void)state;
    static const struct object_option options[] = {{"storage.checkpoints.uri", "mem://other"}, {"azure.endpoint", "x"}};
    struct fixture f;
    fixture_open(&f, options, 2);
    assert_string_equal(storage_uri(f.storage, STORE_CHECKPOINTS), "mem://other");
    assert_string_equal(storage_uri(f.storage, STORE_SAVEPOINTS), "mem://other");
    assert_string_equal(storage_uri(f.storage, STORE_JOBS), "mem://root");
    assert_string_equal(storage_uri(f.storage, STORE_LOGS), "mem://root");
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_gets_an_id_that_its_name_leads_to),
        cmocka_unit_test(record_is_replaced_only_as_it_was_read),
        cmocka_unit_test(members_of_other_builds_are_kept),
        cmocka_unit_test(lost_replies_of_changes_are_read_back),
        cmocka_unit_test(names_never_meet),
        cmocka_unit_test(removed_job_leaves_nothing_and_its_name_is_free),
        cmocka_unit_test(one_of_many_creates_a_name),
        cmocka_unit_test(kinds_live_where_the_options_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
