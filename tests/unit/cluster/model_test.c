#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/arena.h"
#include "cluster/member.h"
#include "cluster/model.h"
#include "cluster/value.h"
#include "cluster/driver.h"

static const char example[] =
    "{\"v\":1,\"job\":\"orders-7k2d\",\"rev\":311,\"term\":7,\"leader\":\"w1#5f3a\",\"nonce\":\"c0ffee17\",\"version\":42,\"state\":"
    "\"running\","
    "\"plan\":3,\"ctl_rank\":33,\"round\":{\"kind\":\"incremental\",\"opened\":false,\"since_rev\":309,\"why\":\"w5 evicted: silent 15.0 "
    "s\"},"
    "\"members\":{\"w1\":{\"inc\":\"5f3a\",\"seat\":0},\"w9\":{\"inc\":\"77b0\",\"seat\":2},\"w2\":{\"inc\":\"9f1c\",\"seat\":1}},"
    "\"dirty_seats\":{\"3\":\"w5#1d20\"},\"evicted\":[\"w5#1d20\"],"
    "\"tasks\":{\"s1.3-31\":{\"owner\":\"w2\",\"epoch\":40,\"open\":true},"
    "\"s1.1\":{\"owner\":\"w9\",\"epoch\":42,\"open\":false,\"from\":\"w2#9f1c\"},"
    "\"s1.0\":{\"owner\":null,\"epoch\":42,\"open\":false},"
    "\"s1.2\":{\"owner\":\"w9\",\"epoch\":42,\"open\":false,\"from\":\"w5#1d20\",\"evicted\":true}},"
    "\"standby\":{\"s1.1\":[\"w1\"]},\"warming\":{\"s1.7\":\"w9\"},\"body\":null,\"later\":{\"a\":1}}";

static struct model *read_text(const char *text)
{
    struct model *model = NULL;
    if (model_read("model", text_from(text), &budget, &model, &err) != STATUS_OK) {
        return NULL;
    }
    return model;
}

static void check_example(const struct model *model)
{
    assert_int_equal(model->rev, 311);
    assert_int_equal(model->task_count, 32);
    assert_int_equal(model->member_count, 3);
    assert_string_equal(model->members[2].life.id, "w9");
    assert_int_equal(model->members[1].life.incarnation, 0x9f1c);
    assert_int_equal(model->tasks[31].task, task_make(1, 31));
    assert_string_equal(model_owner(model, &model->tasks[31]).id, "w2");
    assert_true(model->tasks[31].open && model->tasks[2].evicted && !model->tasks[1].evicted);
    assert_int_equal(model->tasks[0].owner, MODEL_NONE);
    assert_string_equal(model->tasks[2].from.id, "w5");
    assert_int_equal(model->dirty[0].seat, 3);
    assert_true(model_evicts(model, (struct life){"w5", 0x1d20}) && !model_evicts(model, (struct life){"w5", 0x1d21}));
    assert_true(model_lists(model, (struct life){"w9", 0x77b0}) && !model_lists(model, (struct life){"w9", 1}));
    assert_string_equal(model->round.why, "w5 evicted: silent 15.0 s");
    assert_string_equal(model->standby[0].id, "w1");
    assert_int_equal(model->warming[0].task, task_make(1, 7));
    assert_null(model_find_task(model, task_make(2, 0)));
}

static void model_reads_what_it_writes_and_keeps_unknown_members(void **state)
{
    (void)state;
    char sha256[MODEL_SHA256_BYTES];
    struct text json, body;
    struct model *model = read_text(example), *again;
    assert_non_null(model);
    check_example(model);
    assert_int_equal(model_write(model, arena, &json, &body, sha256, &err), STATUS_OK);
    assert_int_equal(body.length, 0);
    assert_non_null(strstr(json.bytes, "\"s1.3-31\":{\"owner\":\"w2\""));
    assert_non_null(strstr(json.bytes, "\"later\":{\"a\":1}"));
    assert_int_equal(model_read("model", json, &budget, &again, &err), STATUS_OK);
    check_example(again);
    struct model *copy = model_copy(again, &budget, &err);
    model_unref(model);
    model_unref(again);
    check_example(copy);
    model_unref(copy);
}

static void model_refuses_what_does_not_fit_together(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
    } damages[] = {
        {"\"v\":1", "\"v\":2"},
        {"\"owner\":\"w2\"", "\"owner\":\"w3\""},
        {"\"open\":false,\"from\":\"w2#9f1c\"", "\"open\":true,\"from\":\"w2#9f1c\""},
        {"s1.3-31", "s1.2-31"},
        {"s1.3-31", "s1.31-3"},
        {"s1.3-31", "s1.3-99999999"},
        {"\"inc\":\"77b0\"", "\"inc\":\"77x0\""},
        {"\"state\":\"running\"", "\"state\":\"runing\""},
        {"\"rev\":311", "\"rev\":-1"},
        {"\"w5#1d20\"}", "\"w5\"}"},
        {"\"kind\":\"incremental\"", "\"kind\":\"other\""},
        {"\"term\":7,", ""},
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        char text[sizeof example + 100];
        const char *place = strstr(example, damages[i].from);
        assert_non_null(place);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(place - example), example, damages[i].to, place + strlen(damages[i].from));
        if (read_text(text) != NULL) {
            fail_msg("was read: %s", damages[i].to);
        }
        assert_non_null(strstr(err.text, "model"));
    }
}

/* 5,000 tasks over 64 members in the worst order for runs. */
static struct model *large_model(void)
{
    struct model *model = model_create(&budget, &err);
    model->member_count = 64;
    model->members = arena_alloc(model->arena, 64 * sizeof *model->members);
    for (uint32_t i = 0; i < 64; i++) {
        model->members[i] = (struct model_member){{arena_format(model->arena, "member-%02u-%050u", i, i), i + 1}, i};
    }
    model->task_count = 5000;
    model->tasks = arena_alloc(model->arena, 5000 * sizeof *model->tasks);
    for (uint32_t i = 0; i < 5000; i++) {
        model->tasks[i] = (struct model_task){.task = task_make(1, i), .epoch = 7, .owner = i % 64, .open = true};
    }
    return model;
}

static void model_of_5000_tasks_moves_them_into_a_body(void **state)
{
    (void)state;
    char sha256[MODEL_SHA256_BYTES];
    struct text json, body, value;
    struct model *model = large_model(), *again;
    assert_int_equal(model_write(model, arena, &json, &body, sha256, &err), STATUS_OK);
    assert_true(body.length > MODEL_INLINE_MAX && json.length < MODEL_INLINE_MAX);
    assert_int_equal(value_seal(json, arena, &value, &err), STATUS_OK);
    assert_int_equal(model_read("model", json, &budget, &again, &err), STATUS_OK);
    assert_string_equal(again->body_sha256, sha256);
    assert_int_equal(again->task_count, 0);
    assert_int_equal(model_read_body(again, "body", (struct text){body.bytes, body.length - 1}, &err), STATUS_CORRUPT);
    assert_int_equal(model_read_body(again, "body", body, &err), STATUS_OK);
    assert_int_equal(again->task_count, 5000);
    for (uint32_t i = 0; i < 5000; i++) {
        assert_int_equal(again->tasks[i].owner, i % 64);
    }
    model_unref(model);
    model_unref(again);
}

static void model_of_contiguous_ranges_stays_in_the_register(void **state)
{
    (void)state;
    char sha256[MODEL_SHA256_BYTES];
    struct text json, body;
    struct model *model = large_model();
    for (uint32_t i = 0; i < 5000; i++) {
        model->tasks[i].owner = i / 79;
    }
    assert_int_equal(model_write(model, arena, &json, &body, sha256, &err), STATUS_OK);
    assert_int_equal(body.length, 0);
    assert_true(json.length < 16 << 10);
    model_unref(model);
}

static void member_reads_what_it_writes_and_keeps_unknown_members(void **state)
{
    (void)state;
    static const char text[] =
        "{\"v\":1,\"id\":\"w2\",\"inc\":\"9f1c\",\"nonce\":\"1\",\"beat\":8123,\"state\":\"active\",\"host\":\"h7\",\"rack\":\"az2\","
        "\"pid\":4711,"
        "\"build\":\"0.4.1\",\"verbs\":[\"core/1\",\"sql/1\"],\"capacity\":{\"threads\":8,\"memory_bytes\":12884901888,\"weight\":2.5},"
        "\"tags\":{\"disk\":\"nvme\"},\"seen\":{\"rev\":311,\"version\":42},\"held\":[\"s1.4-9\",\"s1.0\"],"
        "\"standby\":{\"s1.12\":{\"lag_bytes\":4096}},\"local\":{\"s1.4\":981},"
        "\"failed\":[{\"task\":\"s1.8\",\"code\":\"SPATE-2041\",\"attempts\":3,\"message\":\"m\"}],\"later\":[1]}";
    struct member *member, *again;
    struct text json;
    assert_int_equal(member_read("members/w2", text_from(text), &budget, &member, &err), STATUS_OK);
    assert_int_equal(member_write(member, arena, &json, &err), STATUS_OK);
    assert_int_equal(member_read("members/w2", json, &budget, &again, &err), STATUS_OK);
    member_unref(member);
    assert_int_equal(again->held_count, 7);
    assert_true(member_holds(again, task_make(1, 0)) && member_holds(again, task_make(1, 9)) && !member_holds(again, task_make(1, 3)));
    assert_true(member_knows(again, "sql/1") && !member_knows(again, "sql/2"));
    assert_int_equal(again->standby[0].lag_bytes, 4096);
    assert_int_equal(again->local[0].seq, 981);
    assert_int_equal(again->failed[0].attempts, 3);
    assert_true(again->host.weight == 2.5);
    assert_string_equal(again->host.tags, "{\"disk\":\"nvme\"}");
    assert_string_equal(again->unknown, "{\"later\":[1]}");
    assert_non_null(strstr(json.bytes, "\"held\":[\"s1.0\",\"s1.4-9\"]"));
    member_unref(again);
}

static void task_and_life_texts_are_parsed_strictly(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "s", "s1", "s1.", "s1.2-", "s1.2-1", "s1.2x", "x1.2", "s1.2-3-4", "alls", "s4294967296.0"};
    uint64_t first, last;
    char text[TASK_TEXT_BYTES];
    struct life life;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(task_run_parse(wrong[i], &first, &last));
    }
    assert_true(task_run_parse("all", &first, &last) && first == TASK_ALL && last == TASK_ALL);
    assert_string_equal(task_text(first, text), "all");
    assert_true(life_parse("a#b#9f", arena, &life));
    assert_string_equal(life.id, "a#b");
    assert_false(life_parse("w2", arena, &life) || life_parse("#1", arena, &life) || life_parse("w2#", arena, &life) ||
                 life_parse("w2#12345678901234567", arena, &life));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_reads_what_it_writes_and_keeps_unknown_members),
        cmocka_unit_test(model_refuses_what_does_not_fit_together),
        cmocka_unit_test(model_of_5000_tasks_moves_them_into_a_body),
        cmocka_unit_test(model_of_contiguous_ranges_stays_in_the_register),
        cmocka_unit_test(member_reads_what_it_writes_and_keeps_unknown_members),
        cmocka_unit_test(task_and_life_texts_are_parsed_strictly),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
