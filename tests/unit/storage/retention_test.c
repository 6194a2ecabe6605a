#include "fixture.h"

#include "storage/access.h"
#include "storage/artifacts.h"
#include "storage/checkpoints.h"
#include "storage/config_store.h"
#include "storage/job_records.h"
#include "storage/log_store.h"
#include "storage/offset_store.h"
#include "storage/retention.h"
#include "storage/savepoints.h"

#define HOUR_US (INT64_C(3600) * 1000000)
static const struct sweep_request just_do_it;

static struct sweep_report sweep(struct fixture *f)
{
    struct sweep_report report;
    REQUIRE(storage_sweep(f->storage, &just_do_it, &report, &f->err), f);
    return report;
}

static void make_job(struct fixture *f, const char *name, struct job_record *record)
{
    enum object_result result;
    *record = (struct job_record){.name = name};
    REQUIRE(job_record_create(f->storage, record, f->arena, &result, &f->err), f);
    assert_int_equal(result, OBJECT_OK);
}

/* A file of its own and, if given, one of an earlier checkpoint. */
static struct checkpoint_file commit(struct fixture *f, const char *job, uint64_t seq, const struct checkpoint_file *shared)
{
    struct checkpoint_writer *writer;
    struct checkpoint_file files[2];
    enum object_result result;
    char body[20];
    snprintf(body, sizeof body, "state %d", (int)seq);
    REQUIRE(checkpoint_begin(f->storage, job, "all", "5f3a", &writer, &f->err), f);
    REQUIRE(checkpoint_add_bytes(writer, body, strlen(body), 1, f->arena, &files[0], &f->err), f);
    if (shared != NULL) {
        files[1] = *shared;
    }
    struct checkpoint_table table = {.name = "t", .kind = "delta", .files = files, .file_count = shared == NULL ? 1 : 2};
    struct checkpoint_manifest manifest = {.seq = seq, .base = -1, .tables = &table, .table_count = 1, .build = "x"};
    REQUIRE(checkpoint_commit(writer, &manifest, &result, &f->err), f);
    assert_int_equal(result, OBJECT_OK);
    checkpoint_end(writer);
    return files[0];
}

static uint32_t count_of(struct fixture *f, const char *part)
{
    uint32_t count = 0;
    while (memory_store_find(f->memory, part, count) != NULL) {
        count++;
    }
    return count;
}

static void verify(struct fixture *f, const char *job, uint64_t seq)
{
    struct checkpoint_manifest manifest;
    enum object_result result;
    REQUIRE(checkpoint_read_manifest(f->storage, job, "all", seq, f->arena, &result, &manifest, &f->err), f);
    assert_int_equal(result, OBJECT_OK);
    REQUIRE(checkpoint_verify(f->storage, &manifest, &f->err), f);
}

/* Of a task with a commit record, which named `counted` when it was stored. */
static void store_under_a_record(struct fixture *f, const char *job, uint64_t seq, uint64_t counted)
{
    struct checkpoint_writer *writer;
    enum object_result result;
    char extra[40];
    snprintf(extra, sizeof extra, "{\"counted\":%d}", (int)counted);
    struct checkpoint_manifest manifest = {.seq = seq, .epoch = 7, .base = -1, .build = "x", .extra = counted == 0 ? NULL : extra};
    REQUIRE(checkpoint_begin(f->storage, job, "s0.1", "5f3a", &writer, &f->err), f);
    REQUIRE(checkpoint_commit(writer, &manifest, &result, &f->err), f);
    checkpoint_end(writer);
}

static bool has_checkpoint(struct fixture *f, const char *job, uint64_t seq)
{
    struct checkpoint_manifest manifest;
    enum object_result result;
    REQUIRE(checkpoint_read_manifest(f->storage, job, "s0.1", seq, f->arena, &result, &manifest, &f->err), f);
    return result == OBJECT_OK;
}

/* Its owner could not reach the record: newer ones are there that have not counted, however many. */
static void checkpoint_that_counts_is_not_pushed_out_by_newer_ones_that_do_not(void **state)
{
    (void)state;
    struct fixture f;
    struct job_record job;
    fixture_open(&f, NULL, 0);
    make_job(&f, "orders", &job);
    for (uint64_t seq = 1; seq <= 4; seq++) {
        store_under_a_record(&f, job.id, seq, seq - 1);
    }
    for (uint64_t seq = 5; seq <= 12; seq++) {
        store_under_a_record(&f, job.id, seq, 3); /* 4 may count as well: nobody heard of it */
    }
    sweep(&f);
    assert_false(has_checkpoint(&f, job.id, 1));
    for (uint64_t seq = 3; seq <= 12; seq++) {
        assert_true(has_checkpoint(&f, job.id, seq));
    }
    store_under_a_record(&f, job.id, 13, 12);
    store_under_a_record(&f, job.id, 14, 13);
    store_under_a_record(&f, job.id, 20, 3); /* it went back: the newer ones were damaged */
    store_under_a_record(&f, job.id, 21, 3);
    store_under_a_record(&f, job.id, 22, 3);
    sweep(&f);
    assert_true(has_checkpoint(&f, job.id, 3));
    assert_false(has_checkpoint(&f, job.id, 4));
    assert_false(has_checkpoint(&f, job.id, 11));
    assert_true(has_checkpoint(&f, job.id, 22));
    fixture_close(&f);
}

/* C63, first part. */
static void what_is_named_is_kept_and_the_rest_goes_after_the_grace(void **state)
{
    (void)state;
    struct fixture f;
    struct job_record job;
    fixture_open(&f, NULL, 0);
    make_job(&f, "orders", &job);
    struct checkpoint_file first = commit(&f, job.id, 1, NULL);
    for (uint64_t seq = 2; seq <= 100; seq++) {
        commit(&f, job.id, seq, seq > 95 ? &first : NULL);
    }
    struct sweep_report report = sweep(&f);
    assert_int_equal(report.expired, 97);
    assert_int_equal(report.planned, 0); /* all files are young */
    assert_int_equal(count_of(&f, "/checkpoints/"), 3);
    assert_int_equal(count_of(&f, "/state/"), 100);
    f.clock.now_us += 25 * HOUR_US;
    report = sweep(&f);
    assert_int_equal(report.planned, 96);
    assert_int_equal(count_of(&f, "/state/"), 100);
    assert_true(report.plan_due_us == f.clock.now_us + 24 * HOUR_US);
    f.clock.now_us += 23 * HOUR_US;
    report = sweep(&f);
    assert_int_equal(report.deleted, 0);
    assert_int_equal(report.planned, 96);
    f.clock.now_us += HOUR_US;
    report = sweep(&f);
    assert_int_equal(report.deleted, 96);
    assert_true(report.deleted_bytes > 96 * 7);
    assert_int_equal(count_of(&f, "/state/"), 4);
    assert_null(memory_store_find(f.memory, "gc/plan", 0));
    for (uint64_t seq = 98; seq <= 100; seq++) {
        verify(&f, job.id, seq);
    }
    fixture_close(&f);
}

static void file_that_is_named_after_the_plan_was_made_is_kept(void **state)
{
    (void)state;
    struct fixture f;
    struct job_record job;
    struct checkpoint_writer *writer;
    struct checkpoint_file orphan;
    fixture_open(&f, NULL, 0);
    make_job(&f, "orders", &job);
    REQUIRE(checkpoint_begin(f.storage, job.id, "all", "77b0", &writer, &f.err), &f);
    REQUIRE(checkpoint_add_bytes(writer, "x", 1, 1, f.arena, &orphan, &f.err), &f);
    checkpoint_end(writer);
    assert_int_equal(sweep(&f).planned, 0); /* it may be of a checkpoint that is not committed yet */
    f.clock.now_us += 25 * HOUR_US;
    assert_int_equal(sweep(&f).planned, 1);
    commit(&f, job.id, 1, &orphan);
    f.clock.now_us += 25 * HOUR_US;
    assert_int_equal(sweep(&f).deleted, 0);
    verify(&f, job.id, 1);
    fixture_close(&f);
}

static void unreadable_document_stops_the_sweep_before_anything_goes(void **state)
{
    (void)state;
    struct fixture f;
    struct job_record job;
    struct sweep_report report;
    fixture_open(&f, NULL, 0);
    make_job(&f, "orders", &job);
    for (uint64_t seq = 1; seq <= 9; seq++) {
        commit(&f, job.id, seq, NULL);
    }
    memory_store_damage(f.memory, memory_store_find(f.memory, "/checkpoints/", 4), 0);
    uint64_t count = memory_store_count(f.memory);
    f.clock.now_us += 100 * DAY_US;
    REQUIRE_ERROR(storage_sweep(f.storage, &just_do_it, &report, &f.err), ERROR_STORE_CORRUPT, "00000000000000000005.manifest.json", &f);
    assert_non_null(strstr(f.err.text, "nothing was deleted"));
    assert_int_equal(memory_store_count(f.memory), count);
    fixture_close(&f);
}

/* I17, I19: whatever call fails, and whether it was done or not: nothing that is named is ever deleted. */
static void failures_never_make_named_files_go(void **state)
{
    (void)state;
    for (uint32_t fault = MEMORY_FAULT_UNAVAILABLE; fault <= MEMORY_FAULT_UNKNOWN_LATE; fault++) {
        for (uint64_t call = 1;; call++) {
            struct fixture f;
            struct job_record job;
            struct sweep_report report;
            fixture_open(&f, NULL, 0);
            make_job(&f, "orders", &job);
            for (uint64_t seq = 1; seq <= 5; seq++) {
                commit(&f, job.id, seq, NULL);
            }
            sweep(&f);
            f.clock.now_us += 25 * HOUR_US;
            assert_int_equal(sweep(&f).planned, 2);
            f.clock.now_us += 25 * HOUR_US;
            memory_store_fail(f.memory, call, (enum memory_fault)fault, fault == MEMORY_FAULT_UNAVAILABLE);
            (void)storage_sweep(f.storage, &just_do_it, &report, &f.err);
            bool reached = memory_store_calls(f.memory) >= call;
            memory_store_fail(f.memory, 0, MEMORY_FAULT_NONE, false);
            for (uint64_t seq = 3; seq <= 5; seq++) {
                verify(&f, job.id, seq);
            }
            for (uint32_t again = 0; again < 3; again++) { /* and in the end it is done */
                f.clock.now_us += 25 * HOUR_US;
                sweep(&f);
            }
            assert_int_equal(count_of(&f, "/state/"), 3);
            fixture_close(&f);
            if (!reached) {
                break;
            }
        }
    }
}

static void note_action(void *context, enum sweep_action action, enum store_kind kind, const char *key, uint64_t bytes)
{
    (void)key;
    (void)kind;
    (void)bytes;
    ((uint32_t *)context)[action]++;
}

static void dry_run_tells_and_changes_nothing(void **state)
{
    (void)state;
    struct fixture f;
    struct job_record job;
    struct sweep_report report;
    uint32_t actions[3] = {0};
    struct sweep_request dry = {true, note_action, actions};
    fixture_open(&f, NULL, 0);
    make_job(&f, "orders", &job);
    for (uint64_t seq = 1; seq <= 5; seq++) {
        commit(&f, job.id, seq, NULL);
    }
    uint64_t count = memory_store_count(f.memory);
    REQUIRE(storage_sweep(f.storage, &dry, &report, &f.err), &f);
    assert_int_equal(report.expired, 2);
    assert_int_equal(actions[SWEEP_EXPIRES], 2);
    assert_int_equal(memory_store_count(f.memory), count);
    sweep(&f);
    f.clock.now_us += 25 * HOUR_US;
    REQUIRE(storage_sweep(f.storage, &dry, &report, &f.err), &f);
    assert_int_equal(actions[SWEEP_PLANS], 2);
    assert_null(memory_store_find(f.memory, "gc/plan", 0));
    sweep(&f);
    f.clock.now_us += 25 * HOUR_US;
    REQUIRE(storage_sweep(f.storage, &dry, &report, &f.err), &f);
    assert_int_equal(actions[SWEEP_DELETES], 2);
    assert_int_equal(report.deleted, 2);
    assert_int_equal(count_of(&f, "/state/"), 5);
    assert_non_null(memory_store_find(f.memory, "gc/plan", 0));
    fixture_close(&f);
}

static void checkpoint_of_the_record_and_young_ones_stay(void **state)
{
    (void)state;
    static const struct object_option options[] = {{"storage.checkpoints.keep", "2"}, {"storage.checkpoints.retain", "1 h"}};
    struct fixture f;
    struct job_record job;
    enum object_result result;
    fixture_open(&f, options, 2);
    make_job(&f, "orders", &job);
    commit(&f, job.id, 1, NULL);
    commit(&f, job.id, 2, NULL);
    f.clock.now_us += 2 * HOUR_US;
    for (uint64_t seq = 3; seq <= 6; seq++) {
        commit(&f, job.id, seq, NULL);
    }
    job.last_complete = "{\"tasks\":{\"all\":{\"seq\":1}}}";
    REQUIRE(job_record_write(f.storage, &job, f.arena, &result, &f.err), &f);
    assert_int_equal(sweep(&f).expired, 1); /* 2: 1 is named, 3 and 4 are young */
    assert_non_null(memory_store_find(f.memory, "/00000000000000000001.manifest.json", 0));
    assert_null(memory_store_find(f.memory, "/00000000000000000002.manifest.json", 0));
    f.clock.now_us += 2 * HOUR_US;
    assert_int_equal(sweep(&f).expired, 2);
    assert_int_equal(count_of(&f, ".manifest.json"), 3);
    fixture_close(&f);
}

static void savepoints_keep_their_files_and_go_when_told(void **state)
{
    (void)state;
    struct fixture f;
    struct job_record job;
    struct checkpoint_manifest manifest;
    struct savepoint savepoint;
    enum object_result result;
    fixture_open(&f, NULL, 0);
    make_job(&f, "orders", &job);
    commit(&f, job.id, 1, NULL);
    REQUIRE(checkpoint_read_manifest(f.storage, job.id, "all", 1, f.arena, &result, &manifest, &f.err), &f);
    REQUIRE(savepoint_create(f.storage, job.id, "good", &manifest, 1, &result, &f.err), &f);
    memory_store_fail(f.memory, 4, MEMORY_FAULT_UNAVAILABLE, true); /* cut short: its file is there, its document is not */
    assert_int_not_equal(savepoint_create(f.storage, job.id, "cut", &manifest, 1, &result, &f.err), STATUS_OK);
    memory_store_fail(f.memory, 0, MEMORY_FAULT_NONE, false);
    assert_int_equal(count_of(&f, "/files/"), 2);
    for (uint32_t i = 0; i < 3; i++) {
        f.clock.now_us += 200 * DAY_US;
        sweep(&f);
    }
    assert_int_equal(count_of(&f, "/files/"), 1);
    assert_null(memory_store_find(f.memory, "/savepoints/cut/", 0));
    REQUIRE(savepoint_open(f.storage, job.id, "good", f.arena, &result, &savepoint, &f.err), &f);
    REQUIRE(savepoint_verify(&savepoint, &f.err), &f);
    savepoint_close(&savepoint);
    fixture_close(&f);
}

static void put_artifact(struct fixture *f, const char *job, const char *name, const char *text)
{
    struct artifact artifact;
    char path[] = "/tmp/spate-retention-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    REQUIRE(artifact_put(f->storage, job, path, name, NULL, f->arena, &artifact, &f->err), f);
    unlink(path);
}

static void blobs_go_when_nothing_leads_to_them(void **state)
{
    (void)state;
    struct fixture f;
    struct job_record one, two;
    enum object_result result;
    fixture_open(&f, NULL, 0);
    make_job(&f, "one", &one);
    make_job(&f, "two", &two);
    put_artifact(&f, one.id, "a", "shared");
    put_artifact(&f, two.id, "b", "shared");
    put_artifact(&f, one.id, "c", "alone");
    put_artifact(&f, one.id, "d", "again");
    REQUIRE(artifact_release(f.storage, one.id, "a", &result, &f.err), &f);
    REQUIRE(artifact_release(f.storage, one.id, "c", &result, &f.err), &f);
    REQUIRE(artifact_release(f.storage, one.id, "d", &result, &f.err), &f);
    f.clock.now_us += 25 * HOUR_US;
    assert_int_equal(sweep(&f).planned, 2);
    f.clock.now_us += HOUR_US;
    put_artifact(&f, two.id, "d", "again"); /* its upload makes the blob another object: the plan's is gone */
    REQUIRE(artifact_release(f.storage, two.id, "d", &result, &f.err), &f);
    f.clock.now_us += 25 * HOUR_US;
    assert_int_equal(sweep(&f).deleted, 1);
    assert_int_equal(count_of(&f, "v1/blobs/"), 2);
    fixture_close(&f);
}

static void versions_records_logs_and_audit_have_limits(void **state)
{
    (void)state;
    static const struct object_option options[] = {
        {"storage.config.keep", "2"}, {"storage.offsets.keep", "2"}, {"storage.audit.retain", "10 d"}};
    struct fixture f;
    struct job_record job;
    struct config_version config;
    struct offset_record record;
    struct log_writer *writer;
    enum object_result result;
    int64_t version;
    fixture_open(&f, options, 3);
    make_job(&f, "orders", &job);
    for (uint32_t i = 0; i < 12; i++) {
        char key[10];
        snprintf(key, sizeof key, "%03u", i);
        REQUIRE(config_write(f.storage, job.id, "job", "{}", NULL, -1, &result, &version, &f.err), &f);
        REQUIRE(offsets_append(f.storage, job.id, "t", key, "v", 1, &result, &f.err), &f);
    }
    job.config = 3;
    REQUIRE(job_record_write(f.storage, &job, f.arena, &result, &f.err), &f);
    struct audit_line audit = {.actor = "user:a", .action = "x:y", .outcome = "denied"};
    REQUIRE(audit_append(f.storage, &audit, &f.err), &f);
    REQUIRE(log_writer_open(f.storage, job.id, "w", "i", &writer, &f.err), &f);
    struct log_line line = {f.clock.now_us, LOG_INFO, "e", NULL, NULL, NULL};
    REQUIRE(log_append(writer, &line, 1, &f.err), &f);
    line.at_us += 6 * DAY_US;
    REQUIRE(log_append(writer, &line, 1, &f.err), &f);
    log_writer_close(writer);
    f.clock.now_us += 7 * DAY_US + HOUR_US;
    sweep(&f);
    assert_int_equal(count_of(&f, "/logs/"), 1);
    assert_int_equal(count_of(&f, "/config/"), 3);
    assert_int_equal(count_of(&f, "v1/audit/"), 1);
    REQUIRE(config_read(f.storage, job.id, "job", 3, f.arena, &result, &config, &f.err), &f);
    assert_int_equal(result, OBJECT_OK);
    REQUIRE(config_write(f.storage, job.id, "job", "{}", NULL, 12, &result, &version, &f.err), &f);
    assert_int_equal(version, 13);
    REQUIRE(offsets_last(f.storage, job.id, "t", f.arena, &result, &record, &f.err), &f);
    assert_string_equal(record.key, "011");
    REQUIRE(offsets_read(f.storage, job.id, "t", "009", f.arena, &result, &record, &f.err), &f);
    assert_int_equal(result, OBJECT_OK);
    REQUIRE(offsets_read(f.storage, job.id, "t", "008", f.arena, &result, &record, &f.err), &f);
    assert_int_equal(result, OBJECT_ABSENT);
    f.clock.now_us += 4 * DAY_US;
    sweep(&f);
    assert_int_equal(count_of(&f, "v1/audit/"), 0);
    fixture_close(&f);
}

static void logs_beyond_their_size_go_oldest_first(void **state)
{
    (void)state;
    static const struct object_option options[] = {{"storage.logs.max-bytes", "400"}};
    struct fixture f;
    struct job_record job;
    struct log_writer *writer;
    fixture_open(&f, options, 1);
    make_job(&f, "orders", &job);
    REQUIRE(log_writer_open(f.storage, job.id, "w", "i", &writer, &f.err), &f);
    for (uint32_t i = 0; i < 10; i++) {
        struct log_line line = {f.clock.now_us + i * HOUR_US, LOG_INFO, "some.event", NULL, NULL, NULL};
        REQUIRE(log_append(writer, &line, 1, &f.err), &f);
    }
    log_writer_close(writer);
    sweep(&f);
    uint32_t left = count_of(&f, "/logs/");
    assert_true(left >= 2 && left <= 5);
    assert_non_null(memory_store_find(f.memory, "/logs/2024-10-04/09/", 0));
    assert_null(memory_store_find(f.memory, "/logs/2024-10-04/00/", 0));
    fixture_close(&f);
}

static void stopped_jobs_go_after_their_time_and_nameless_ones_too(void **state)
{
    (void)state;
    struct fixture f;
    struct job_record stopped, running, nameless;
    enum object_result result;
    char key[300], id[JOB_ID_MAX + 1];
    fixture_open(&f, NULL, 0);
    make_job(&f, "stopped", &stopped);
    make_job(&f, "running", &running);
    make_job(&f, "nameless", &nameless);
    stopped.desired = DESIRED_STOPPED;
    REQUIRE(job_record_write(f.storage, &stopped, f.arena, &result, &f.err), &f);
    memory_store_take(f.memory, "v1/names/nameless");
    commit(&f, nameless.id, 1, NULL);
    assert_int_equal(sweep(&f).expired, 0);
    f.clock.now_us += 2 * DAY_US;
    assert_int_equal(sweep(&f).expired, 1);
    assert_null(memory_store_find(f.memory, "nameless", 0));
    f.clock.now_us += 87 * DAY_US;
    assert_int_equal(sweep(&f).expired, 0);
    f.clock.now_us += 2 * DAY_US;
    assert_int_equal(sweep(&f).expired, 1);
    REQUIRE(job_record_find(f.storage, "stopped", &result, id, &f.err), &f);
    assert_int_equal(result, OBJECT_ABSENT);
    snprintf(key, sizeof key, "v1/jobs/%s/job.json", running.id);
    assert_true(memory_store_has(f.memory, key));
    fixture_close(&f);
}

static void sweeper_runs_once_per_interval(void **state)
{
    (void)state;
    struct fixture f;
    struct storage_sweeper sweeper = {0};
    fixture_open(&f, NULL, 0);
    memory_store_fail(f.memory, 0, MEMORY_FAULT_NONE, false);
    REQUIRE(storage_sweep_due(&sweeper, f.storage, &f.err), &f);
    uint64_t calls = memory_store_calls(f.memory);
    assert_true(calls > 0);
    f.clock.now_us += HOUR_US - 1;
    REQUIRE(storage_sweep_due(&sweeper, f.storage, &f.err), &f);
    assert_int_equal(memory_store_calls(f.memory), calls);
    f.clock.now_us += 1;
    REQUIRE(storage_sweep_due(&sweeper, f.storage, &f.err), &f);
    assert_true(memory_store_calls(f.memory) > calls);
    fixture_close(&f);
}

static void only_administrators_sweep(void **state)
{
    (void)state;
    struct fixture f;
    struct storage *view;
    struct sweep_report report;
    fixture_open(&f, NULL, 0);
    REQUIRE(storage_as(f.storage, "user:ann", NULL, 0, &view, &f.err), &f);
    REQUIRE_ERROR(storage_sweep(view, &just_do_it, &report, &f.err), ERROR_STORE_DENIED, "jobs:admin", &f);
    storage_close(view);
    fixture_close(&f);
}

static void note_problem(void *context, const char *key, const char *problem)
{
    (void)problem;
    strcat(context, strrchr(key, '/'));
    strcat(context, " ");
}

static void fsck_names_every_damage_and_goes_on(void **state)
{
    (void)state;
    struct fixture f;
    struct job_record job, other;
    struct fsck_report report;
    char text[500] = "";
    fixture_open(&f, NULL, 0);
    make_job(&f, "orders", &job);
    make_job(&f, "other", &other);
    struct checkpoint_file first = commit(&f, job.id, 1, NULL);
    commit(&f, job.id, 2, &first);
    commit(&f, job.id, 3, NULL);
    put_artifact(&f, job.id, "a", "text");
    REQUIRE(storage_fsck(f.storage, NULL, note_problem, text, &report, &f.err), &f);
    assert_string_equal(text, "");
    assert_int_equal(report.documents, 6);
    assert_int_equal(report.files, 4);
    memory_store_damage(f.memory, memory_store_find(f.memory, "/state/", 0), 1);
    memory_store_take(f.memory, memory_store_find(f.memory, "/state/", 2));
    memory_store_damage(f.memory, memory_store_find(f.memory, "/checkpoints/", 1), 0);
    memory_store_damage(f.memory, memory_store_find(f.memory, "v1/blobs/", 0), 1);
    REQUIRE(storage_fsck(f.storage, job.id, note_problem, text, &report, &f.err), &f);
    assert_int_equal(report.problems, 4);
    assert_non_null(strstr(text, "/5f3a-0 "));
    assert_non_null(strstr(text, "/5f3a-2 "));
    assert_non_null(strstr(text, "/00000000000000000002.manifest.json "));
    REQUIRE(storage_fsck(f.storage, other.id, note_problem, text, &report, &f.err), &f);
    assert_int_equal(report.problems, 0);
    memory_store_fail(f.memory, 3, MEMORY_FAULT_UNAVAILABLE, true);
    REQUIRE_ERROR(storage_fsck(f.storage, NULL, note_problem, text, &report, &f.err), ERROR_STORE_UNAVAILABLE, "fault", &f);
    fixture_close(&f);
}

static void options_that_are_unknown_or_unsafe_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct object_option option;
        const char *part;
    } cases[] = {{{"storage.checkpoint.keep", "3"}, "storage.checkpoints.keep"},
                 {{"storage.gc.grace", "1 h"}, "at least 2 h"},
                 {{"storage.checkpoints.keep", "0"}, "storage.checkpoints.keep"}};
    struct fixture f;
    fixture_open(&f, NULL, 0);
    for (size_t i = 0; i < 3; i++) {
        struct storage *storage;
        struct object_option options[] = {{"storage.uri", "mem://root"}, cases[i].option};
        struct storage_settings settings = {options, 2, &f.environment, fixture_open_store, &f};
        assert_int_equal(storage_open(&settings, &storage, &f.err), STATUS_INVALID_OPTION);
        if (strstr(f.err.text, cases[i].part) == NULL) {
            fail_msg("%s", f.err.text);
        }
    }
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoint_that_counts_is_not_pushed_out_by_newer_ones_that_do_not),
        cmocka_unit_test(what_is_named_is_kept_and_the_rest_goes_after_the_grace),
        cmocka_unit_test(file_that_is_named_after_the_plan_was_made_is_kept),
        cmocka_unit_test(unreadable_document_stops_the_sweep_before_anything_goes),
        cmocka_unit_test(failures_never_make_named_files_go),
        cmocka_unit_test(dry_run_tells_and_changes_nothing),
        cmocka_unit_test(checkpoint_of_the_record_and_young_ones_stay),
        cmocka_unit_test(savepoints_keep_their_files_and_go_when_told),
        cmocka_unit_test(blobs_go_when_nothing_leads_to_them),
        cmocka_unit_test(versions_records_logs_and_audit_have_limits),
        cmocka_unit_test(logs_beyond_their_size_go_oldest_first),
        cmocka_unit_test(stopped_jobs_go_after_their_time_and_nameless_ones_too),
        cmocka_unit_test(sweeper_runs_once_per_interval),
        cmocka_unit_test(only_administrators_sweep),
        cmocka_unit_test(fsck_names_every_damage_and_goes_on),
        cmocka_unit_test(options_that_are_unknown_or_unsafe_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
