#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cluster/history.h"
#include "memory_session.h"

static struct memory_session *session;
static struct budget budget;
static struct arena *arena;
static struct error err;

static int open_session(void **state)
{
    (void)state;
    session = memory_session_create();
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "test");
    return session == NULL || arena == NULL;
}

static int close_session(void **state)
{
    (void)state;
    arena_destroy(arena);
    memory_session_destroy(session);
    return 0;
}

/* Six tasks: the first half at w1, the second at `second`; MODEL_NONE: at nobody. */
static struct model *make_model(uint64_t term, uint64_t version, uint32_t second, bool opened, const char *why)
{
    struct model *model = model_create(&budget, &err);
    assert_non_null(model);
    model->term = term;
    model->version = version;
    model->leader = (struct life){"w1", 0x5f3a};
    model->round.opened = opened;
    model->round.why = why;
    model->member_count = 2;
    model->members = arena_alloc(model->arena, 2 * sizeof *model->members);
    model->members[0] = (struct model_member){{"w1", 0x5f3a}, 0};
    model->members[1] = (struct model_member){{"w2", 0x9f1c}, 1};
    model->task_count = 6;
    model->tasks = arena_alloc(model->arena, 6 * sizeof *model->tasks);
    for (uint32_t i = 0; i < 6; i++) {
        model->tasks[i] = (struct model_task){.task = task_make(1, i), .owner = i < 3 ? 0 : second};
    }
    return model;
}

static bool note(struct history_book *book, struct model *before, struct model *now, int64_t now_us)
{
    bool due = history_note(book, before, now, now_us, 1000000 + now_us);
    model_unref(before);
    model_unref(now);
    return due;
}

static struct history_round *read_back(uint32_t *count)
{
    struct history_round *rounds;
    assert_int_equal(history_read(memory_session_of(session), "jobs/a", arena, &rounds, count, &err), STATUS_OK);
    return rounds;
}

static void write_book(struct history_book *book)
{
    assert_int_equal(history_write(book, memory_session_of(session), "jobs/a", arena, &err), STATUS_OK);
}

static void a_round_says_why_it_began_what_moved_and_how_long_it_took(void **state)
{
    (void)state;
    struct history_book book = {.count = 0};
    uint32_t count;
    (void)read_back(&count);
    assert_int_equal(count, 0);
    assert_false(note(&book, make_model(1, 7, 1, true, ""), make_model(1, 8, MODEL_NONE, false, "w2 evicted: silent"), 0));
    assert_false(note(&book, make_model(1, 8, MODEL_NONE, false, ""), make_model(1, 9, 0, false, "s1.3 moves"), 400000));
    assert_true(note(&book, make_model(1, 9, 0, false, ""), make_model(1, 9, 0, true, ""), 1000000));
    write_book(&book);
    assert_int_equal(book.count, 0);
    const struct history_round *rounds = read_back(&count);
    assert_int_equal(count, 2);
    assert_string_equal(rounds[0].why, "w2 evicted: silent");
    assert_string_equal(rounds[0].moved, "s1.3-5 w2 > -");
    assert_string_equal(rounds[0].outcome, "replaced");
    assert_int_equal(rounds[0].took_us, 400000);
    assert_string_equal(rounds[1].moved, "s1.3-5 - > w1");
    assert_string_equal(rounds[1].outcome, "opened");
    assert_int_equal(rounds[1].took_us, 600000);
    assert_int_equal(rounds[1].began_ms, 1400);
    assert_string_equal(rounds[1].leader, "w1#5f3a");
}

static void a_new_leader_is_noted_and_a_version_that_only_opens_is_not(void **state)
{
    (void)state;
    struct history_book book = {.count = 0};
    uint32_t count;
    assert_true(note(&book, make_model(1, 7, 1, false, ""), make_model(2, 7, 1, false, ""), 0));
    assert_false(note(&book, make_model(2, 7, 1, false, ""), make_model(2, 8, 1, false, "x"), 5));
    write_book(&book); /* what goes on stays in the book */
    assert_int_equal(book.count, 1);
    const struct history_round *rounds = read_back(&count);
    assert_int_equal(count, 1);
    assert_string_equal(rounds[0].kind, "leader");
    assert_int_equal(rounds[0].term, 2);
}

static void the_ring_keeps_the_last_of_any_number_within_a_register(void **state)
{
    (void)state;
    struct history_book book = {.count = 0};
    char why[400];
    uint32_t count;
    memset(why, '"', sizeof why - 1); /* two bytes each in JSON */
    why[sizeof why - 1] = '\0';
    for (uint64_t version = 1; version <= 200; version++) {
        (void)note(&book, make_model(1, version, 1, true, ""), make_model(1, version + 1, (uint32_t)version % 2, true, why), 0);
        write_book(&book);
    }
    const struct history_round *rounds = read_back(&count);
    assert_int_equal(count, HISTORY_MAX);
    assert_int_equal(rounds[0].version, 201 - HISTORY_MAX + 1);
    assert_int_equal(rounds[HISTORY_MAX - 1].version, 201);
}

static void a_damaged_register_is_not_written_over(void **state)
{
    (void)state;
    struct history_book book = {.count = 0};
    assert_true(note(&book, make_model(1, 7, 1, true, ""), make_model(1, 8, 0, true, ""), 0));
    write_book(&book);
    memory_session_damage(session, "jobs/a/history", 20);
    assert_true(note(&book, make_model(1, 8, 0, true, ""), make_model(1, 9, 1, true, ""), 0));
    assert_int_equal(history_write(&book, memory_session_of(session), "jobs/a", arena, &err), STATUS_CORRUPT);
    assert_int_equal(book.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_round_says_why_it_began_what_moved_and_how_long_it_took, open_session, close_session),
        cmocka_unit_test_setup_teardown(a_new_leader_is_noted_and_a_version_that_only_opens_is_not, open_session, close_session),
        cmocka_unit_test_setup_teardown(the_ring_keeps_the_last_of_any_number_within_a_register, open_session, close_session),
        cmocka_unit_test_setup_teardown(a_damaged_register_is_not_written_over, open_session, close_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
