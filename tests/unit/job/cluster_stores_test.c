#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cluster/memory_session.h"
#include "cluster/commit_record.h"
#include "functions/digest.h"
#include "job/cluster_stores.h"
#include "storage/body_store.h"
#include "storage/job_records.h"
#include "storage/retention.h"

static struct memory_session *session;
static struct storage *storage;
static struct arena *arena;
static struct error err;
static struct cluster_stores *stores;
static const struct runner_stores *calls;
static char root[64], job[JOB_ID_MAX + 1], prefix[JOB_ID_MAX + 16];
static const struct life w1 = {"w1", 0x11}, w2 = {"w2", 0x22};

static int64_t ahead_us;

static int64_t wall_us(const struct clock *clock)
{
    (void)clock;
    return clock_system.wall_us(&clock_system) + ahead_us;
}

static int64_t monotonic_us(const struct clock *clock)
{
    (void)clock;
    return clock_system.monotonic_us(&clock_system);
}

static const struct clock clock_of_test = {.wall_us = wall_us, .monotonic_us = monotonic_us};

static int open_all(void **state)
{
    (void)state;
    struct job_record record = {.name = "orders", .desired = DESIRED_RUNNING};
    enum object_result result;
    const struct object_option option = {"storage.uri", root};
    const struct object_environment environment = {.clock = &clock_of_test};
    const struct storage_settings where = {.options = &option, .option_count = 1, .environment = &environment};
    snprintf(root, sizeof root, "/tmp/spate-stores-XXXXXX");
    assert_non_null(mkdtemp(root));
    session = memory_session_create();
    arena = arena_create(NULL, "test");
    assert_int_equal(storage_open(&where, &storage, &err), STATUS_OK);
    assert_int_equal(job_record_create(storage, &record, arena, &result, &err), STATUS_OK);
    memcpy(job, record.id, sizeof job);
    snprintf(prefix, sizeof prefix, "jobs/%s", job);
    return cluster_stores_open(storage, memory_session_of(session), job, &stores, &calls, &err) != STATUS_OK;
}

static int close_all(void **state)
{
    (void)state;
    char command[100];
    cluster_stores_close(stores);
    storage_close(storage);
    memory_session_destroy(session);
    arena_destroy(arena);
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static struct model *model_of_three_tasks(struct budget *budget)
{
    struct model *model = model_create(budget, &err);
    model->tasks = arena_alloc(model->arena, 3 * sizeof *model->tasks);
    model->task_count = 3;
    model->tasks[0] = (struct model_task){.task = task_make(0, 0), .epoch = 9, .owner = MODEL_NONE, .evicted = true, .from = w1};
    model->tasks[1] = (struct model_task){.task = task_make(0, 1), .epoch = 7, .owner = MODEL_NONE, .from = w2};
    model->tasks[2] = (struct model_task){.task = task_make(0, 2), .epoch = 8, .owner = MODEL_NONE, .evicted = true, .from = w1};
    return model;
}

static bool has_record(uint64_t task, struct commit_record *record)
{
    bool found;
    assert_int_equal(commit_record_read(memory_session_of(session), prefix, task, arena, &found, record, &err), STATUS_OK);
    return found;
}

static void fence_of_a_life_raises_the_epochs_of_the_tasks_that_it_may_hold(void **state)
{
    (void)state;
    struct budget budget;
    struct commit_record record;
    struct commit_store owner;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct model *model = model_of_three_tasks(&budget);
    assert_int_equal(commit_store_open(&owner, memory_session_of(session), prefix, task_make(0, 0), 4, w1, &err), STATUS_OK);
    assert_int_equal(commit_record_take(&owner, 0, &record, &err), STATUS_OK);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(calls->open_seat(calls->context, 1, w2, &err), STATUS_OK);
        assert_int_equal(calls->fence_seat(calls->context, 0, w1, model, &err), STATUS_OK);
    }
    assert_true(has_record(task_make(0, 0), &record));
    assert_int_equal(record.epoch, 9);
    assert_false(has_record(task_make(0, 1), &record)); /* another's */
    assert_true(has_record(task_make(0, 2), &record));
    assert_int_equal(record.epoch, 8);
    record = (struct commit_record){.seq = 1};
    assert_int_equal(commit_record_put(&owner, &record, &err), STATUS_FENCED);
    commit_store_close(&owner);
    model_unref(model);
}

static void fence_that_fails_at_any_call_is_completed_when_it_is_repeated(void **state)
{
    (void)state;
    static const enum session_fault faults[] = {SESSION_FAULT_UNAVAILABLE, SESSION_FAULT_UNKNOWN_DONE, SESSION_FAULT_UNKNOWN_LOST};
    struct budget budget;
    struct commit_record record;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct model *model = model_of_three_tasks(&budget);
    for (uint64_t call = 1; call <= 5; call++) {
        for (uint32_t f = 0; f < 3; f++) {
            model->tasks[0].epoch += 10;
            model->tasks[2].epoch += 10;
            memory_session_fail(session, call, faults[f]);
            while (calls->fence_seat(calls->context, 0, w1, model, &err) != STATUS_OK) {
                assert_int_equal(err.status, STATUS_UNAVAILABLE);
            }
            memory_session_fail(session, 0, SESSION_FAULT_NONE);
            assert_true(has_record(task_make(0, 0), &record));
            assert_int_equal(record.epoch, model->tasks[0].epoch);
            assert_true(has_record(task_make(0, 2), &record));
            assert_int_equal(record.epoch, model->tasks[2].epoch);
        }
    }
    model_unref(model);
}

static void record_of_the_job_is_raised_and_never_lowered(void **state)
{
    (void)state;
    uint64_t floor = 7;
    uint32_t high = 3;
    assert_int_equal(calls->raise_record(calls->context, &floor, &high, &err), STATUS_OK);
    assert_int_equal(floor, 7);
    assert_int_equal(high, 3);
    floor = 5;
    high = 16;
    assert_int_equal(calls->raise_record(calls->context, &floor, &high, &err), STATUS_OK);
    assert_int_equal(floor, 7);
    assert_int_equal(high, 16);
    struct job_record record;
    enum object_result result;
    assert_int_equal(job_record_read(storage, job, arena, &result, &record, &err), STATUS_OK);
    assert_int_equal(record.term_floor, 7);
    assert_int_equal(record.seat_high, 16);
    assert_int_equal(job_record_remove(storage, job, false, &result, &err), STATUS_OK);
    assert_int_not_equal(calls->raise_record(calls->context, &floor, &high, &err), STATUS_OK);
    assert_non_null(strstr(err.text, "is not there"));
}

static const char *hash(struct text body, char sha256[MODEL_SHA256_BYTES])
{
    uint8_t digest[DIGEST_BYTES_MAX];
    digest_text(digest, digest_compute(DIGEST_SHA256, body.bytes, body.length, digest), sha256);
    return sha256;
}

static void body_is_read_by_its_hash_and_a_damaged_one_is_named(void **state)
{
    (void)state;
    char sha256[MODEL_SHA256_BYTES];
    const struct text body = TEXT("{\"tasks\":{}}");
    struct text read;
    hash(body, sha256);
    assert_int_equal(calls->get_body(calls->context, sha256, arena, &read, &err), STATUS_CORRUPT);
    assert_non_null(strstr(err.text, sha256));
    assert_int_equal(calls->put_body(calls->context, sha256, body, &err), STATUS_OK);
    assert_int_equal(calls->put_body(calls->context, sha256, body, &err), STATUS_OK);
    assert_int_equal(calls->get_body(calls->context, sha256, arena, &read, &err), STATUS_OK);
    assert_true(text_equal(read, body));
    assert_int_equal(calls->put_body(calls->context, sha256, TEXT("other"), &err), STATUS_OK);
    assert_int_equal(calls->get_body(calls->context, sha256, arena, &read, &err), STATUS_CORRUPT);
}

static void bodies_are_swept_but_for_the_newest(void **state)
{
    (void)state;
    static const struct sweep_request request;
    struct sweep_report report;
    char sha256[MODEL_SHA256_BYTES], first[MODEL_SHA256_BYTES], number[16];
    struct text read;
    hash(TEXT("0"), first);
    for (int i = 0; i < BODIES_KEPT + 5; i++) {
        const struct text body = {number, (size_t)snprintf(number, sizeof number, "%d", i)};
        assert_int_equal(calls->put_body(calls->context, hash(body, sha256), body, &err), STATUS_OK);
        usleep(2000); /* each is newer than the one before, to the clock of the file system */
    }
    assert_int_equal(calls->put_body(calls->context, first, TEXT("0"), &err), STATUS_OK); /* a model that comes back is the newest */
    assert_int_equal(storage_sweep(storage, &request, &report, &err), STATUS_OK);
    assert_int_equal(report.expired, 0); /* one of these may be in a register that is being written */
    ahead_us = INT64_C(25) * 3600 * 1000000;
    assert_int_equal(storage_sweep(storage, &request, &report, &err), STATUS_OK);
    assert_int_equal(report.expired, 5);
    assert_int_equal(calls->get_body(calls->context, first, arena, &read, &err), STATUS_OK);
    assert_int_equal(calls->get_body(calls->context, hash(TEXT("1"), sha256), arena, &read, &err), STATUS_CORRUPT);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(fence_of_a_life_raises_the_epochs_of_the_tasks_that_it_may_hold),
        CASE(fence_that_fails_at_any_call_is_completed_when_it_is_repeated),
        CASE(record_of_the_job_is_raised_and_never_lowered),
        CASE(body_is_read_by_its_hash_and_a_damaged_one_is_named),
        CASE(bodies_are_swept_but_for_the_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
