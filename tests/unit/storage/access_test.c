#include "fixture.h"

#include "storage/access.h"
#include "storage/checkpoints.h"
#include "storage/config_store.h"
#include "storage/job_records.h"
#include "storage/offset_store.h"
#include "storage/savepoints.h"

static void grant(struct fixture *f, const char *principal, const char *role, const char *jobs)
{
    enum object_result result;
    REQUIRE(access_grant_add(f->storage, &(struct access_grant){principal, role, jobs}, "system:test", &result, &f->err), f);
    assert_int_equal(result, OBJECT_OK);
}

static struct storage *as(struct fixture *f, const char *principal)
{
    struct storage *view;
    REQUIRE(storage_as(f->storage, principal, NULL, 0, &view, &f->err), f);
    return view;
}

/* C64: the table of roles, cell by cell. A letter per right: r a w d A. */
static void roles_have_exactly_their_rights(void **state)
{
    (void)state;
    static const struct {
        const char *role;
        const char
            *rights[ACCESS_KIND_COUNT]; /* artifacts config logs metrics offsets checkpoints savepoints jobs audit control secrets access */
    } table[] = {
        {"viewer", {"r", "r", "r", "r", "r", "r", "r", "r", "r", "r", "", "r"}},
        {"operator", {"r", "r", "r", "r", "r", "r", "ra", "r", "r", "ra", "", "r"}},
        {"developer", {"rawd", "raw", "r", "r", "r", "r", "ra", "ra", "r", "ra", "", "r"}},
        {"admin", {"rawdA", "rawdA", "rawdA", "rawdA", "rawdA", "rawdA", "rawdA", "rawdA", "rawdA", "rawdA", "rawdA", "rawdA"}},
        {"processor", {"r", "r", "a", "a", "ra", "ra", "ra", "rw", "", "ra", "r", ""}},
        {"auditor", {"", "", "r", "", "", "", "", "", "r", "", "", ""}},
    };
    struct fixture f;
    uint64_t denied = 0;
    fixture_open(&f, NULL, 0);
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        assert_string_equal(access_role_name((uint32_t)i), table[i].role);
        char principal[40];
        snprintf(principal, sizeof principal, "user:%s", table[i].role);
        grant(&f, principal, table[i].role, "orders*");
        struct storage *view = as(&f, principal);
        for (uint32_t kind = 0; kind < ACCESS_KIND_COUNT; kind++) {
            for (uint32_t right = 0; right < ACCESS_RIGHT_COUNT; right++) {
                bool expected = strchr(table[i].rights[kind], "rawdA"[right]) != NULL;
                enum status status = storage_check(view, (enum access_kind)kind, (enum access_right)right, "orders2-abcd", &f.err);
                if ((status == STATUS_OK) != expected) {
                    fail_msg("%s %s:%s", table[i].role, access_kind_name((enum access_kind)kind),
                             access_right_name((enum access_right)right));
                }
                denied += !expected;
                assert_false(storage_may(view, (enum access_kind)kind, (enum access_right)right, "payments-abcd"));
                assert_false(storage_may(view, (enum access_kind)kind, (enum access_right)right, NULL));
            }
        }
        storage_close(view);
    }
    assert_null(access_role_name(ARRAY_LENGTH(table)));
    uint64_t lines = 0;
    while (memory_store_find(f.memory, "v1/audit/", (uint32_t)lines) != NULL) {
        lines++;
    }
    /* each denial, admin's deletions and admin rights, each grant */
    assert_int_equal(lines, denied + (uint64_t)ACCESS_KIND_COUNT * 2 + 1 + ARRAY_LENGTH(table));
    fixture_close(&f);
}

static enum status collect_line(void *context, const struct audit_line *line, bool *stop, struct error *err)
{
    (void)err;
    (void)stop;
    sprintf((char *)context + strlen(context), "%s %s %s %s;", line->actor, line->action, line->job == NULL ? "-" : line->job,
            line->outcome);
    return STATUS_OK;
}

static void denial_names_the_right_and_is_written_down(void **state)
{
    (void)state;
    struct fixture f;
    enum object_result result;
    char text[500] = "";
    struct savepoint savepoint;
    fixture_open(&f, NULL, 0);
    grant(&f, "user:ann", "operator", "orders*");
    struct storage *view = as(&f, "user:ann");
    f.clock.now_us += 1;
    REQUIRE_ERROR(savepoint_delete(view, "orders-7k2d", "nightly", &result, &f.err), ERROR_STORE_DENIED,
                  "user:ann has not the right savepoints:delete on job 'orders'", &f);
    assert_int_equal(f.err.status, STATUS_DENIED);
    REQUIRE(savepoint_open(view, "orders-7k2d", "nightly", f.arena, &result, &savepoint, &f.err), &f);
    REQUIRE_ERROR(savepoint_open(view, "pay-7k2d", "nightly", f.arena, &result, &savepoint, &f.err), ERROR_STORE_DENIED,
                  "savepoints:read on job 'pay'", &f);
    REQUIRE_ERROR(audit_read(view, 0, INT64_MAX, collect_line, text, &f.err), ERROR_STORE_DENIED, "audit:read", &f);
    storage_close(view);
    REQUIRE(audit_read(f.storage, f.clock.now_us, INT64_MAX, collect_line, text, &f.err), &f);
    assert_non_null(strstr(text, "user:ann savepoints:delete orders-7k2d denied;"));
    assert_non_null(strstr(text, "user:ann savepoints:read pay-7k2d denied;"));
    assert_non_null(strstr(text, "user:ann audit:read - denied;"));
    assert_null(strstr(text, "system:test"));
    fixture_close(&f);
}

/* Each function of the stores asks: without a right none of them gives or takes anything. */
static void every_store_asks(void **state)
{
    (void)state;
    struct fixture f;
    enum object_result result;
    fixture_open(&f, NULL, 0);
    struct storage *view = as(&f, "user:nobody");
    struct checkpoint_writer *writer;
    struct checkpoint_manifest manifest = {0};
    struct job_record record = {.id = "j-0000", .name = "j"};
    struct config_version config;
    struct offset_record offset;
    struct savepoint savepoint;
    struct checkpoint_file file = {.key = "jobs/j-0000/state/all/a-0", .sha256 = ""};
    struct checkpoint_choice choice = {0};
    const char *const *names, *skipped;
    uint32_t count;
    int64_t version;
    char id[JOB_ID_MAX + 1];
    struct arena *a = f.arena;
    struct error *e = &f.err;
    struct access_grant own = {"user:nobody", "admin", "*"};
    const enum status statuses[] = {
        checkpoint_begin(view, "j-0000", "all", "i", &writer, e),
        checkpoint_list(view, "j-0000", "all", NULL, NULL, e),
        checkpoint_tasks(view, "j-0000", a, &names, &count, e),
        checkpoint_read_manifest(view, "j-0000", "all", 1, a, &result, &manifest, e),
        checkpoint_open_file(view, &file, NULL, e),
        checkpoint_find_valid(view, "j-0000", "all", &choice, a, &result, &manifest, &skipped, e),
        checkpoint_remove(view, "j-0000", "all", 1, &result, e),
        savepoint_create(view, "j-0000", "s", &manifest, 0, &result, e),
        savepoint_open(view, "j-0000", "s", a, &result, &savepoint, e),
        savepoint_delete(view, "j-0000", "s", &result, e),
        savepoint_list(view, "j-0000", a, &names, &count, e),
        job_record_create(view, &record, a, &result, e),
        job_record_find(view, "j", &result, id, e),
        job_record_read(view, "j-0000", a, &result, &record, e),
        job_record_write(view, &record, a, &result, e),
        job_record_remove(view, "j-0000", true, &result, e),
        config_read(view, "j-0000", "job", 1, a, &result, &config, e),
        config_write(view, "j-0000", "job", "{}", NULL, -1, &result, &version, e),
        config_history(view, "j-0000", "job", NULL, NULL, e),
        access_grant_add(view, &own, "user:nobody", &result, e),
        access_grant_list(view, NULL, NULL, e),
        audit_read(view, 0, 1, NULL, NULL, e),
        offsets_append(view, "j-0000", "t", "k", "v", 1, &result, e),
        offsets_last(view, "j-0000", "t", a, &result, &offset, e),
        offsets_read(view, "j-0000", "t", "k", a, &result, &offset, e),
        offsets_tasks(view, "j-0000", a, &names, &count, e),
    };
    for (size_t i = 0; i < ARRAY_LENGTH(statuses); i++) {
        if (statuses[i] != STATUS_DENIED) {
            fail_msg("call %d is not denied", (int)i);
        }
    }
    storage_close(view);
    fixture_close(&f);
}

static enum status note_job(void *context, const struct job_record *record, bool *stop, struct error *err)
{
    (void)err;
    (void)stop;
    sprintf((char *)context + strlen(context), "%s ", record->name);
    return STATUS_OK;
}

static void lists_show_what_may_be_seen(void **state)
{
    (void)state;
    struct fixture f;
    enum object_result result;
    char text[100] = "";
    fixture_open(&f, NULL, 0);
    static const char *const names[] = {"orders", "orders-eu", "pay"};
    for (size_t i = 0; i < 3; i++) {
        struct job_record record = {.name = names[i]};
        REQUIRE(job_record_create(f.storage, &record, f.arena, &result, &f.err), &f);
    }
    grant(&f, "group:eu", "viewer", "*-eu");
    static const char *const groups[] = {"group:eu"};
    struct storage *view;
    REQUIRE(storage_as(f.storage, "user:ben", groups, 1, &view, &f.err), &f);
    REQUIRE(job_record_list(view, NULL, note_job, text, &f.err), &f);
    assert_string_equal(text, "orders-eu ");
    storage_close(view);
    fixture_close(&f);
}

static void policy_has_roles_and_groups_of_its_own(void **state)
{
    (void)state;
    struct fixture f;
    enum object_result result;
    int64_t version;
    fixture_open(&f, NULL, 0);
    const char *policy = "{\"roles\":{\"releaser\":[\"artifacts:write\",\"jobs:*\",\"nonsense:read\"]},"
                         "\"groups\":{\"group:ops\":[\"user:ann\"]},"
                         "\"grants\":[{\"principal\":\"group:ops\",\"role\":\"releaser\",\"jobs\":\"*\"}]}";
    REQUIRE(config_write(f.storage, NULL, "access", policy, NULL, 0, &result, &version, &f.err), &f);
    struct storage *view = as(&f, "user:ann"), *other = as(&f, "user:ben");
    assert_true(storage_may(view, ACCESS_ARTIFACTS, ACCESS_WRITE, "x-0000"));
    assert_true(storage_may(view, ACCESS_JOBS, ACCESS_DELETE, "x-0000"));
    assert_true(storage_may(view, ACCESS_JOBS, ACCESS_READ, NULL));
    assert_false(storage_may(view, ACCESS_ARTIFACTS, ACCESS_READ, "x-0000"));
    assert_false(storage_may(other, ACCESS_JOBS, ACCESS_READ, "x-0000"));
    storage_close(view);
    storage_close(other);
    fixture_close(&f);
}

static void grants_are_added_and_removed_once(void **state)
{
    (void)state;
    struct fixture f;
    enum object_result result;
    fixture_open(&f, NULL, 0);
    struct access_grant ann = {"user:ann", "viewer", "*"}, wrong = {"ann", "viewer", "*"}, role = {"user:ann", "owner", "*"};
    grant(&f, "user:ann", "viewer", "*");
    REQUIRE(access_grant_add(f.storage, &ann, "x", &result, &f.err), &f);
    assert_int_equal(result, OBJECT_CONFLICT);
    REQUIRE_ERROR(access_grant_add(f.storage, &wrong, "x", &result, &f.err), ERROR_INVALID_OPTION, "'ann' is no principal", &f);
    REQUIRE_ERROR(access_grant_add(f.storage, &role, "x", &result, &f.err), ERROR_INVALID_OPTION, "there is no role 'owner'", &f);
    REQUIRE(access_grant_remove(f.storage, &ann, "x", &result, &f.err), &f);
    assert_int_equal(result, OBJECT_OK);
    REQUIRE(access_grant_remove(f.storage, &ann, "x", &result, &f.err), &f);
    assert_int_equal(result, OBJECT_CONFLICT);
    struct storage *view = as(&f, "user:ann");
    assert_false(storage_may(view, ACCESS_JOBS, ACCESS_READ, "x-0000"));
    storage_close(view);
    fixture_close(&f);
}

static void what_cannot_be_audited_is_not_deleted_and_stays_denied(void **state)
{
    (void)state;
    static const struct object_option options[] = {{"storage.audit.uri", "mem://audit"}};
    struct fixture f;
    enum object_result result;
    fixture_open(&f, options, 1);
    grant(&f, "user:root", "admin", "*");
    struct storage *view = as(&f, "user:root"), *nobody = as(&f, "user:nobody");
    memory_store_fail(f.other, 1, MEMORY_FAULT_UNAVAILABLE, true);
    REQUIRE_ERROR(checkpoint_remove(view, "j-0000", "all", 1, &result, &f.err), ERROR_STORE_UNAVAILABLE, "fault", &f);
    REQUIRE_ERROR(checkpoint_remove(nobody, "j-0000", "all", 1, &result, &f.err), ERROR_STORE_DENIED, "could not be written to the audit",
                  &f);
    storage_close(view);
    storage_close(nobody);
    fixture_close(&f);
}

static void policy_that_cannot_be_read_gives_no_view(void **state)
{
    (void)state;
    struct fixture f;
    struct storage *view;
    fixture_open(&f, NULL, 0);
    grant(&f, "user:ann", "viewer", "*");
    REQUIRE_ERROR(storage_as(f.storage, "ann", NULL, 0, &view, &f.err), ERROR_INVALID_OPTION, "is no principal", &f);
    for (uint64_t call = 1; call <= 2; call++) {
        memory_store_fail(f.memory, call, MEMORY_FAULT_UNAVAILABLE, false);
        REQUIRE_ERROR(storage_as(f.storage, "user:ann", NULL, 0, &view, &f.err), ERROR_STORE_UNAVAILABLE, "fault", &f);
    }
    memory_store_fail(f.memory, 0, MEMORY_FAULT_NONE, false);
    memory_store_damage(f.memory, "v1/config/access/1.json", 0);
    REQUIRE_ERROR(storage_as(f.storage, "user:ann", NULL, 0, &view, &f.err), ERROR_STORE_CORRUPT, "v1/config/access/1.json", &f);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_have_exactly_their_rights),
        cmocka_unit_test(denial_names_the_right_and_is_written_down),
        cmocka_unit_test(every_store_asks),
        cmocka_unit_test(lists_show_what_may_be_seen),
        cmocka_unit_test(policy_has_roles_and_groups_of_its_own),
        cmocka_unit_test(grants_are_added_and_removed_once),
        cmocka_unit_test(what_cannot_be_audited_is_not_deleted_and_stays_denied),
        cmocka_unit_test(policy_that_cannot_be_read_gives_no_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
