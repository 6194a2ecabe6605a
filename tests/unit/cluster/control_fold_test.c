#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "../support/arena.h"
#include "cluster/control/fold.h"
#include "cluster/task_id.h"

static struct random_source chance;

static uint64_t pick(uint64_t below)
{
    return random_next(&chance) % below;
}

static struct control_record propose(const char *verb, const char *args, const char *key)
{
    struct control_record record = {.kind = CONTROL_PROPOSE, .at_ms = 5, .propose = {.key = key, .verb = verb, .actor = "user:ann"}};
    control_id_make(&chance, 5, record.id);
    assert_int_equal(control_args_make(args, arena, &record.propose.args, record.propose.args_sha256, &err), STATUS_OK);
    return record;
}

static struct control_record of_leader(enum control_kind kind, uint64_t term)
{
    struct control_record record = {.kind = kind, .at_ms = 7, .term = term};
    control_id_make(&chance, 7, record.id);
    return record;
}

static struct control_record term(uint64_t number)
{
    struct control_record record = of_leader(CONTROL_TERM, number);
    record.term_of.leader = "w1#5f3a";
    return record;
}

static struct control_record accept(uint64_t number, uint64_t ref, uint64_t rank, const char *slot)
{
    struct control_record record = of_leader(CONTROL_DECIDE, number);
    record.decide = (struct control_decide){.ref = ref, .verdict = CONTROL_ACCEPT, .rank = rank, .how = CONTROL_HOW_EACH, .of = 4};
    if (slot != NULL) {
        record.decide.sets = arena_alloc(arena, sizeof *record.decide.sets);
        record.decide.sets[0] = slot;
        record.decide.set_count = 1;
    }
    return record;
}

static struct control_record close_record(uint64_t number, uint64_t ref, enum control_outcome outcome)
{
    struct control_record record = of_leader(CONTROL_CLOSE, number);
    record.close = (struct control_close){.ref = ref, .outcome = outcome, .applied = 4};
    return record;
}

static struct control_record ack(uint64_t through, uint64_t first, uint64_t last)
{
    struct control_record record = of_leader(CONTROL_ACK, 0);
    record.ack = (struct control_ack){.by = "w2#9f1c", .through = through, .tasks = arena_alloc(arena, 64 * sizeof(uint64_t))};
    for (uint64_t partition = first; partition <= last; partition++) {
        record.ack.tasks[record.ack.task_count++] = task_make(1, (uint32_t)partition);
    }
    return record;
}

static bool add(struct control_fold *fold, struct control_record record)
{
    bool counted;
    assert_int_equal(control_fold_record(fold, fold->through + 1, &record, &counted, &err), STATUS_OK);
    return counted;
}

static struct control_fold *new_fold(void)
{
    struct control_fold *fold = control_fold_create(&budget, &err);
    assert_non_null(fold);
    return fold;
}

static const char *json_of(const struct control_fold *fold)
{
    struct text json;
    assert_int_equal(control_fold_write(fold, arena, &json, &err), STATUS_OK);
    return json.bytes;
}

static void an_edit_goes_from_proposed_to_done(void **state)
{
    struct control_fold *fold = new_fold();
    assert_true(add(fold, term(7)));
    assert_true(add(fold, propose("core.config.set", "{\"key\":\"a\",\"value\":\"1\"}", "k")));
    assert_int_equal(control_fold_find(fold, 2)->state, CONTROL_STATE_PROPOSED);
    assert_true(add(fold, accept(7, 2, 1, "config/a")));
    assert_int_equal(control_fold_find(fold, 2)->state, CONTROL_STATE_ACCEPTED);
    assert_string_equal(control_fold_standing(fold, "config/a")->args, "{\"key\":\"a\",\"value\":\"1\"}");
    assert_true(add(fold, ack(1, 0, 2)));
    assert_int_equal(control_fold_applied(fold, control_fold_find(fold, 2)), 3);
    assert_true(add(fold, close_record(7, 2, CONTROL_OUTCOME_DONE)));
    assert_int_equal(control_fold_find(fold, 2)->state, CONTROL_STATE_DONE);
    assert_false(add(fold, close_record(7, 2, CONTROL_OUTCOME_FAILED)));
    assert_int_equal(control_fold_find(fold, 2)->state, CONTROL_STATE_DONE);
    assert_ptr_equal(control_fold_after(fold, 0), control_fold_find(fold, 2));
    assert_null(control_fold_after(fold, 1));
    control_fold_destroy(fold);
}

/* C45 */
static void what_an_outdated_leader_says_is_void(void **state)
{
    struct control_fold *fold = new_fold();
    assert_false(add(fold, accept(0, 1, 1, NULL))); /* refers to itself */
    assert_true(add(fold, term(7)));
    assert_true(add(fold, propose("core.job.pause", "{}", NULL)));
    assert_true(add(fold, term(8)));
    assert_false(add(fold, accept(7, 3, 1, "pause")));
    assert_false(add(fold, term(7)));
    assert_false(add(fold, accept(9, 3, 1, "pause"))); /* a term that was never announced */
    assert_int_equal(control_fold_find(fold, 3)->state, CONTROL_STATE_PROPOSED);
    assert_null(control_fold_standing(fold, "pause"));
    assert_true(add(fold, accept(8, 3, 1, "pause")));
    assert_false(add(fold, close_record(7, 3, CONTROL_OUTCOME_DONE)));
    assert_int_equal(control_fold_find(fold, 3)->state, CONTROL_STATE_ACCEPTED);
    control_fold_destroy(fold);
}

static void a_rank_out_of_order_is_void(void **state)
{
    struct control_fold *fold = new_fold();
    assert_true(add(fold, term(1)));
    assert_true(add(fold, propose("app.a", "{}", NULL)));
    assert_true(add(fold, propose("app.b", "{}", NULL)));
    assert_false(add(fold, accept(1, 3, 2, NULL)));
    assert_true(add(fold, accept(1, 3, 1, NULL)));
    assert_false(add(fold, accept(1, 2, 2, NULL))); /* before one that is accepted */
    assert_false(add(fold, accept(1, 9, 2, NULL)));
    assert_false(add(fold, ack(2, 0, 0))); /* of what is not decided */
    assert_int_equal(control_fold_acked(fold, task_make(1, 0)), 0);
    control_fold_destroy(fold);
}

static void failures_are_counted_once_a_task(void **state)
{
    struct control_fold *fold = new_fold();
    struct control_failure failure = {.rank = 1, .task = task_make(1, 1), .code = "SPATE-5001", .reason = "no room"};
    add(fold, term(1));
    add(fold, propose("app.a", "{}", NULL));
    add(fold, accept(1, 2, 1, NULL));
    struct control_record record = ack(1, 0, 3);
    record.ack.failed = &failure;
    record.ack.failed_count = 1;
    assert_true(add(fold, record));
    assert_true(add(fold, record));
    assert_int_equal(control_fold_find(fold, 2)->failure_count, 1);
    assert_int_equal(control_fold_applied(fold, control_fold_find(fold, 2)), 3);
    control_fold_destroy(fold);
}

/* The term, or now and then the one before it. */
static uint64_t outdated(const struct control_fold *fold)
{
    return fold->term - (fold->term > 0 && pick(10) == 0);
}

/* A leader that is right nine times in ten; else its term, reference or rank is another. */
static struct control_record random_decide(const struct control_fold *fold)
{
    static const char *const slots[] = {"config/a", "config/b", "pause", NULL};
    uint64_t ref = fold->entry_count == 0 ? 1 : fold->entries[pick(fold->entry_count)].index;
    for (uint32_t i = 0; i < fold->entry_count && pick(10) != 0; i++) {
        if (fold->entries[i].state == CONTROL_STATE_PROPOSED) {
            ref = fold->entries[i].index;
            break;
        }
    }
    struct control_record record = accept(outdated(fold), ref, fold->rank + 1 + (pick(20) == 0), slots[pick(4)]);
    record.decide.verdict = pick(3) == 0 ? (enum control_verdict)pick(CONTROL_VERDICT_COUNT) : CONTROL_ACCEPT;
    if (record.decide.verdict != CONTROL_ACCEPT) {
        record.decide.reason = "because";
        record.decide.duplicate_of = record.decide.verdict == CONTROL_DUPLICATE ? ref : 0;
        record.decide.set_count = 0;
    } else if (pick(4) == 0) {
        record.decide.clears = record.decide.sets;
        record.decide.clear_count = record.decide.set_count;
        record.decide.set_count = 0;
    }
    return record;
}

static struct control_record random_snapshot(const struct control_fold *fold)
{
    struct control_record record = of_leader(CONTROL_SNAPSHOT, outdated(fold));
    record.snapshot = (struct control_snapshot){
        .through = fold->through, .rank = fold->rank, .forget = fold->through / 2, .settled = fold->rank / 2, .bytes = 1};
    memset(record.snapshot.sha256, '0', sizeof record.snapshot.sha256 - 1);
    return record;
}

static struct control_record random_record(const struct control_fold *fold)
{
    char args[40];
    uint64_t kind = pick(100), first = pick(6);
    if (kind < 35) {
        snprintf(args, sizeof args, "{\"n\":%d}", (int)pick(5));
        return propose(pick(2) == 0 ? "app.a" : "core.config.set", args, pick(2) == 0 ? NULL : "key");
    }
    if (kind < 65) {
        return random_decide(fold);
    }
    if (kind < 80) {
        return ack(fold->rank + (pick(10) == 0), first, first + pick(3));
    }
    if (kind < 93) {
        uint64_t ref = fold->entry_count == 0 ? 1 : fold->entries[pick(fold->entry_count)].index;
        return close_record(outdated(fold), ref, (enum control_outcome)pick(CONTROL_OUTCOME_COUNT));
    }
    return kind < 96 ? random_snapshot(fold) : term(fold->term + pick(3));
}

/* As it comes back from a register. */
static struct control_record reread(const struct control_record *record)
{
    struct text json, again;
    struct control_record read;
    assert_int_equal(control_record_write(record, arena, &json, &err), STATUS_OK);
    assert_int_equal(control_record_read("record", json, arena, &read, &err), STATUS_OK);
    assert_int_equal(control_record_write(&read, arena, &again, &err), STATUS_OK);
    assert_string_equal(json.bytes, again.bytes);
    return read;
}

/* I12: whoever begins at a snapshot has the fold of who has read everything; also with records of outdated leaders in it. */
static void every_snapshot_and_its_tail_give_the_fold_of_the_whole_log(void **state)
{
    enum { LOGS = 60, RECORDS = 120, READERS = 6 };
    uint32_t void_count = 0, forgotten = 0, accepted = 0;
    for (uint64_t seed = 1; seed <= LOGS; seed++) {
        struct control_fold *whole = new_fold(), *readers[READERS] = {NULL};
        random_open(&chance, seed);
        for (uint32_t i = 1; i <= RECORDS; i++) {
            struct control_record record = random_record(whole), read = reread(&record);
            void_count += !add(whole, record);
            for (uint32_t r = 0; r < READERS; r++) {
                if (readers[r] != NULL) {
                    add(readers[r], read);
                    if (i % 12 == 0) {
                        assert_string_equal(json_of(readers[r]), json_of(whole));
                    }
                } else if (i == 1 + r * RECORDS / READERS) {
                    readers[r] = control_fold_copy(whole, &err);
                    assert_non_null(readers[r]);
                }
            }
        }
        forgotten += whole->forgotten > 0;
        accepted += (uint32_t)whole->rank;
        for (uint32_t r = 0; r < READERS; r++) {
            control_fold_destroy(readers[r]);
        }
        control_fold_destroy(whole);
        arena_reset(arena);
    }
    assert_true(void_count > LOGS && forgotten > LOGS / 2 && accepted > LOGS * 4); /* else it shows nothing */
}

static void a_snapshot_forgets_only_what_is_final(void **state)
{
    struct control_fold *fold = new_fold();
    add(fold, term(1));
    add(fold, propose("app.a", "{}", "one"));
    add(fold, propose("core.config.set", "{\"key\":\"a\"}", "two"));
    add(fold, propose("app.c", "{}", "three"));
    add(fold, accept(1, 2, 1, NULL));
    add(fold, accept(1, 3, 2, "config/a"));
    add(fold, close_record(1, 2, CONTROL_OUTCOME_DONE));
    add(fold, close_record(1, 3, CONTROL_OUTCOME_DONE));
    struct control_record record = of_leader(CONTROL_SNAPSHOT, 1);
    record.snapshot = (struct control_snapshot){.through = 8, .rank = 2, .forget = 2, .settled = 2};
    assert_true(add(fold, record));
    assert_null(control_fold_find(fold, 2));
    assert_null(control_fold_find(fold, 3)->propose.args);
    assert_string_equal(control_fold_find(fold, 3)->propose.key, "two");
    assert_string_equal(control_fold_standing(fold, "config/a")->args, "{\"key\":\"a\"}");
    assert_string_equal(control_fold_find(fold, 4)->propose.args, "{}");
    assert_false(add(fold, record)); /* the same again */
    control_fold_destroy(fold);
}

static void a_body_that_is_none_is_refused(void **state)
{
    static const char *const bodies[] = {
        "{}",
        "{\"v\":1}",
        "{\"v\":1,\"through\":1,\"entries\":[{}],\"acked\":[],\"standing\":[]}",
        "{\"v\":1,\"through\":1,\"entries\":[],\"acked\":[[\"x\",1]],\"standing\":[]}",
        "{\"v\":1,\"through\":1,\"entries\":[],\"acked\":[],\"standing\":[7]}",
        "{\"v\":1,\"through\":-1,\"entries\":[],\"acked\":[],\"standing\":[]}",
    };
    struct control_fold *fold;
    for (size_t i = 0; i < ARRAY_LENGTH(bodies); i++) {
        assert_int_equal(control_fold_read("body", text_from(bodies[i]), &budget, &fold, &err), STATUS_CORRUPT);
        assert_null(fold);
    }
    assert_int_equal(control_fold_read("body", TEXT("{\"v\":2}"), &budget, &fold, &err), STATUS_UNSUPPORTED);
}

static int open_all(void **state)
{
    random_open(&chance, 1);
    return open_arena(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_edit_goes_from_proposed_to_done),
        cmocka_unit_test(what_an_outdated_leader_says_is_void),
        cmocka_unit_test(a_rank_out_of_order_is_void),
        cmocka_unit_test(failures_are_counted_once_a_task),
        cmocka_unit_test(every_snapshot_and_its_tail_give_the_fold_of_the_whole_log),
        cmocka_unit_test(a_snapshot_forgets_only_what_is_final),
        cmocka_unit_test(a_body_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, open_all, close_arena);
}
