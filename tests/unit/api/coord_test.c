#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/driver.h"
#include "cluster/history.h"
#include "cluster/member.h"
#include "cluster/model.h"
#include "cluster/value.h"
#include "spate/operations.h"

/* What there is to see of a group: registers in this process, written as a leader and two members would. */
static struct budget budget;
static struct arena *arena;
static struct cluster_session *registers;
static spate_session *session;
static struct error err;
static char storage[64];
static uint64_t beats;

static int open_all(void **state)
{
    (void)state;
    char setting[100];
    const char *const settings[] = {"coordinator.uri=local:coord-test", setting, NULL};
    snprintf(storage, sizeof storage, "/tmp/spate-coord-XXXXXX");
    assert_non_null(mkdtemp(storage));
    snprintf(setting, sizeof setting, "storage.uri=%s", storage);
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "test");
    return arena == NULL || cluster_open("local:coord-test", NULL, 0, NULL, &registers, &err) != STATUS_OK ||
           spate_session_open(settings, &session) != SPATE_OK;
}

static int close_all(void **state)
{
    (void)state;
    char command[100];
    spate_session_close(session);
    cluster_close(registers, true);
    arena_destroy(arena);
    snprintf(command, sizeof command, "rm -rf %s", storage);
    return system(command);
}

static void put_bytes(const char *name, struct text value)
{
    struct cluster_value old;
    enum cluster_result result;
    struct cluster_version version;
    assert_int_equal(registers->driver->get(registers, name, arena, &result, &old, &err), STATUS_OK);
    assert_int_equal(registers->driver->put(registers, name, value, result == CLUSTER_OK ? &old.version : NULL, &result, &version, &err),
                     STATUS_OK);
    assert_int_equal(result, CLUSTER_OK);
}

static void put_json(const char *name, struct text json)
{
    struct text value;
    assert_int_equal(value_seal(json, arena, &value, &err), STATUS_OK);
    put_bytes(name, value);
}

/* w1 leads and owns s0.0 and s0.1; w2, which was evicted, held s0.2; s0.3 waits for w1, which has not seen the version. */
static void put_model(void)
{
    struct model *model = model_create(&budget, &err);
    struct model_member members[] = {{{"w1", 0x5f3a}, 0}, {{"w3", 0x77b0}, 2}};
    struct model_seat dirty[] = {{1, {"w2", 0x9f1c}}};
    struct life evicted[] = {{"w2", 0x9f1c}};
    struct model_task tasks[] = {{.task = task_make(0, 0), .epoch = 3, .owner = 0, .open = true},
                                 {.task = task_make(0, 1), .epoch = 3, .owner = 0, .open = true},
                                 {.task = task_make(0, 2), .epoch = 8, .owner = 1, .evicted = true, .from = {"w2", 0x9f1c}},
                                 {.task = task_make(0, 3), .epoch = 8, .owner = 1, .from = {"w1", 0x5f3a}}};
    struct text json, body;
    char sha256[MODEL_SHA256_BYTES];
    model->job = "orders-ab12";
    model->rev = 30;
    model->term = 2;
    model->version = 8;
    model->leader = members[0].life;
    model->round.why = "w2 evicted: silent";
    model->members = members;
    model->member_count = 2;
    model->dirty = dirty;
    model->dirty_count = model->evicted_count = 1;
    model->evicted = evicted;
    model->tasks = tasks;
    model->task_count = 4;
    assert_int_equal(model_write(model, arena, &json, &body, sha256, &err), STATUS_OK);
    put_json("jobs/orders-ab12/model", json);
    model_unref(model);
}

static void put_member(const char *id, uint64_t incarnation, uint64_t seen_version)
{
    struct member *member = member_create(&budget, &err);
    char name[100];
    struct text json;
    member->life = (struct life){id, incarnation};
    member->beat = ++beats;
    member->seen_version = seen_version;
    member->host = (struct member_host){.host = "h7", .pid = 4711, .weight = 1};
    assert_int_equal(member_write(member, arena, &json, &err), STATUS_OK);
    snprintf(name, sizeof name, "jobs/orders-ab12/members/%s", id);
    put_json(name, json);
    member_unref(member);
}

struct shown {
    char text[20000];
    size_t length;
};

static int show_row(void *context, int kind, uint32_t column_count, const char *const *values, const size_t *lengths)
{
    struct shown *shown = context;
    (void)kind, (void)lengths;
    for (uint32_t i = 0; i < column_count; i++) {
        shown->length +=
            (size_t)snprintf(shown->text + shown->length, sizeof shown->text - shown->length, "%s|", values[i] == NULL ? "-" : values[i]);
    }
    shown->length += (size_t)snprintf(shown->text + shown->length, sizeof shown->text - shown->length, "\n");
    return 0;
}

/* All rows of a result: cells end with '|', rows with a line. */
static const char *rows_of(spate_result *result)
{
    static struct shown shown;
    int64_t rows = 1;
    shown.length = 0;
    shown.text[0] = '\0';
    while (rows > 0) {
        assert_int_equal(spate_result_next_text(result, show_row, &shown, &rows), SPATE_OK);
    }
    spate_result_close(result);
    return shown.text;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        print_error("no '%s' in: %s\n", part == NULL ? "" : part, text == NULL ? "" : text);
        fail();
    }
}

static void a_group_is_shown_with_what_waits_and_why(void **state)
{
    (void)state;
    spate_result *result;
    put_model();
    put_member("w1", 0x5f3a, 7);
    put_member("w2", 0x9f1c, 7);
    put_member("w9", 0x1, 0);
    assert_int_equal(spate_coord_status(session, "orders-ab12", &result), SPATE_OK);
    const char *text = rows_of(result);
    assert_has(text, "-|orders-ab12|running|2|8|30|w1#5f3a|incremental, not opened yet: w2 evicted: silent|2 of 4 open|");
    assert_has(text, "|2 listed, 2 of them silent; 2 others|1 (w2#9f1c)|w2#9f1c|0|\n");
    assert_int_equal(spate_coord_members(session, "orders-ab12", &result), SPATE_OK);
    text = rows_of(result);
    assert_has(text, "w1#5f3a|active|0|2|0|7|silent for ");
    assert_has(text, "w2#9f1c|evicted|-|0|0|7|");
    assert_has(text, "w3#77b0|no register|2|2, 0 of them open|-|-|-|");
    assert_has(text, "w9#1|spare|-|0|0|0|");
    assert_int_equal(spate_coord_tasks(session, "orders-ab12", true, &result), SPATE_OK);
    text = rows_of(result);
    assert_string_equal(text, "s0.2|w3#77b0|8|closed|w2#9f1c was evicted and is not fenced yet|\n"
                              "s0.3|w3#77b0|8|closed|w1#5f3a has not seen version 8 yet: it is at 7|\n");
    assert_int_equal(spate_coord_tasks(session, "orders-ab12", false, &result), SPATE_OK);
    assert_has(rows_of(result), "s0.0-1|w1#5f3a|3|open|-|\n");
}

static void what_is_damaged_is_named_and_kept(void **state)
{
    (void)state;
    spate_result *result;
    const char *json;
    put_model();
    assert_int_equal(spate_coord_model(session, "orders-ab12", &json), SPATE_OK);
    assert_has(json, "\"version\": 8");
    put_bytes("jobs/orders-ab12/model", text_from("\0\0\0\0"));
    put_bytes("jobs/orders-ab12/members/w2", text_from("{}"));
    assert_int_not_equal(spate_coord_model(session, "orders-ab12", &json), SPATE_OK);
    assert_has(spate_session_error(session)->text, "jobs/orders-ab12/model");
    assert_int_equal(spate_coord_status(session, "orders-ab12", &result), SPATE_OK);
    assert_has(rows_of(result), "-|orders-ab12|damaged: ");
    assert_int_equal(spate_coord_members(session, "orders-ab12", &result), SPATE_OK);
    assert_has(rows_of(result), "w2|damaged|");
}

static void a_job_that_the_coordinator_does_not_know_is_an_error(void **state)
{
    (void)state;
    spate_result *result;
    assert_int_not_equal(spate_coord_status(session, "nobody", &result), SPATE_OK);
    assert_has(spate_session_error(session)->text, "nobody");
}

static void rounds_are_listed_in_order(void **state)
{
    (void)state;
    struct history_book book = {.count = 2};
    spate_result *result;
    put_model();
    for (uint32_t i = 0; i < 2; i++) {
        book.rounds[i] = (struct history_round){.version = 7 + i,
                                                .term = 2,
                                                .leader = "w1#5f3a",
                                                .kind = "incremental",
                                                .why = "w2 evicted: silent",
                                                .outcome = "opened",
                                                .took_us = 812000};
    }
    assert_int_equal(history_write(&book, registers, "jobs/orders-ab12", arena, &err), STATUS_OK);
    assert_int_equal(spate_coord_history(session, "orders-ab12", &result), SPATE_OK);
    assert_string_equal(rows_of(result), "1970-01-01T00:00:00Z|2|7|incremental|opened|0.812 s|w2 evicted: silent|-|w1#5f3a|\n"
                                         "1970-01-01T00:00:00Z|2|8|incremental|opened|0.812 s|w2 evicted: silent|-|w1#5f3a|\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_group_is_shown_with_what_waits_and_why, open_all, close_all),
        cmocka_unit_test_setup_teardown(what_is_damaged_is_named_and_kept, open_all, close_all),
        cmocka_unit_test_setup_teardown(a_job_that_the_coordinator_does_not_know_is_an_error, open_all, close_all),
        cmocka_unit_test_setup_teardown(rounds_are_listed_in_order, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
