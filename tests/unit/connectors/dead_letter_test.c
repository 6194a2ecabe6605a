#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "connectors/dead_letter.h"
#include "data/cell_text.h"

static const struct type *const letter_types[] = {&type_string, &type_bytes, &type_string};
static const char *const letter_names[] = {"message", "payload", "code"};
static const struct type letter_row = {.kind = TYPE_ROW, .child_count = 3, .children = letter_types, .names = letter_names};

static enum status push(struct dead_letter *queue, const char *payload, size_t length, const char *message, struct error *err)
{
    struct letter_fields fields = {.payload = {payload, length},
                                   .source = TEXT("file /data/a.json"),
                                   .position = TEXT("line 1, byte 0"),
                                   .code = TEXT("SPATE-3001"),
                                   .message = text_from(message)};
    return dead_letter_push(queue, &fields, err);
}

static void check_take(struct dead_letter *queue, uint32_t limit, const char *expected)
{
    struct batch batch;
    struct error err;
    struct text_builder out = {0};
    assert_int_equal(dead_letter_take(queue, limit, &letter_row, &batch, &err), STATUS_OK);
    for (uint32_t row = 0; row < batch.count; row++) {
        for (uint32_t c = 0; c < 3; c++) {
            if (vector_is_valid(&batch.columns[c], row)) {
                cell_text_append(&batch.columns[c], row, time_zone_utc, CELL_TEXT_HEX, &out);
            } else {
                text_append_text(&out, "NULL");
            }
            text_append_char(&out, c < 2 ? '|' : '\n');
        }
    }
    assert_string_equal(out.bytes != NULL ? out.bytes : "", expected);
    text_builder_close(&out);
    batch_release(&batch);
}

static void letters_come_in_order_with_their_bytes(void **state)
{
    (void)state;
    struct budget budget;
    struct dead_letter *queue;
    struct error err;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    assert_int_equal(dead_letter_create(&budget, &queue, &err), STATUS_OK);
    check_take(queue, 10, "");
    assert_int_equal(push(queue, "\0\xff", 2, "two bytes, one of them NUL", &err), STATUS_OK);
    assert_int_equal(push(queue, NULL, 0, "no payload", &err), STATUS_OK);
    assert_int_equal(push(queue, "", 0, "an empty one", &err), STATUS_OK);
    assert_int_equal(push(queue, "a payload of more than 12 bytes", 31, "", &err), STATUS_OK);
    assert_int_equal(dead_letter_count(queue), 4);
    check_take(queue, 2, "two bytes, one of them NUL|x'00ff'|SPATE-3001\nno payload|NULL|SPATE-3001\n");
    check_take(queue, 1, "an empty one|x''|SPATE-3001\n");
    assert_int_equal(push(queue, "z", 1, "last", &err), STATUS_OK);
    check_take(queue, 10, "|x'61207061796c6f6164206f66206d6f7265207468616e203132206279746573'|SPATE-3001\nlast|x'7a'|SPATE-3001\n");
    assert_int_equal(push(queue, "left behind", 11, "freed with the queue", &err), STATUS_OK);
    dead_letter_destroy(queue);
    buffer_trim();
    assert_int_equal(budget.used_bytes, 0);
}

static void a_letter_past_the_budget_is_refused(void **state)
{
    (void)state;
    struct budget budget;
    struct dead_letter *queue;
    struct error err;
    budget_init(&budget, NULL, "test", 300);
    assert_int_equal(dead_letter_create(&budget, &queue, &err), STATUS_OK);
    assert_int_equal(push(queue, "x", 1, "fits", &err), STATUS_OK);
    char large[300] = {0};
    assert_int_equal(push(queue, large, sizeof large, "does not", &err), STATUS_NO_MEMORY);
    assert_int_equal(dead_letter_count(queue), 1);
    dead_letter_destroy(queue);
    assert_int_equal(budget.used_bytes, 0);
}

enum { MANY = 100000 };
static void *push_many(void *owner)
{
    struct dead_letter *queue = owner;
    struct error err;
    for (int i = 0; i < MANY; i++) {
        dead_letter_wait(queue);
        if (push(queue, "payload", 7, "one of many", &err) != STATUS_OK) {
            return "stopped";
        }
    }
    return "done";
}

/* Takes letters until the thread has pushed all. */
static uint64_t take_all(struct dead_letter *queue, uint64_t expected)
{
    uint64_t taken = 0;
    while (taken < expected) {
        struct batch batch;
        struct error err;
        assert_true(dead_letter_count(queue) < 20000); /* a MiB holds fewer */
        assert_int_equal(dead_letter_take(queue, CHUNK_ROWS, &letter_row, &batch, &err), STATUS_OK);
        taken += batch.count;
        batch_release(&batch);
    }
    return taken;
}

static void a_full_queue_holds_its_readers_until_it_is_drained_or_stopped(void **state)
{
    (void)state;
    struct budget budget;
    struct wakeup wakeup;
    struct dead_letter *queue;
    struct error err;
    pthread_t thread;
    void *result;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    wakeup_init(&wakeup);
    assert_int_equal(dead_letter_create(&budget, &queue, &err), STATUS_OK);
    dead_letter_serve(queue, &wakeup, true);
    uint64_t seen = wakeup_read(&wakeup);
    assert_int_equal(pthread_create(&thread, NULL, push_many, queue), 0);
    wakeup_wait(&wakeup, seen, 10000000);
    assert_true(wakeup_read(&wakeup) > seen);
    assert_int_equal(take_all(queue, MANY), MANY);
    pthread_join(thread, &result);
    assert_string_equal(result, "done");
    assert_int_equal(pthread_create(&thread, NULL, push_many, queue), 0);
    dead_letter_stop(queue);
    pthread_join(thread, &result);
    assert_string_equal(result, "stopped");
    dead_letter_destroy(queue);
    wakeup_destroy(&wakeup);
    buffer_trim();
    assert_int_equal(budget.used_bytes, 0);
}

static void columns_are_those_of_letters(void **state)
{
    (void)state;
    static const struct type short_text = {.kind = TYPE_VARCHAR, .nullable = true, .precision = 20};
    static const struct {
        const char *name;
        const struct type *type;
        const char *message; /* NULL: fits */
    } cases[] = {
        {"payload", &type_bytes, NULL},
        {"source", &type_string_not_null, NULL},
        {"payload", &type_string, "the column 'payload' of the dead-letter table 'd' must be BYTES"},
        {"code", &type_int, "the column 'code' of the dead-letter table 'd' must be STRING"},
        {"message", &short_text, "must be STRING"},
        {"Position", &type_string, "did you mean 'position'?"},
        {"day", &type_date, "has a column 'day'; its columns are some of payload BYTES"},
    };
    for (uint32_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct type row = {.kind = TYPE_ROW, .child_count = 1, .children = &cases[i].type, .names = &cases[i].name};
        struct error err;
        enum status status = dead_letter_check_table(&row, "d", &err);
        assert_int_equal(status == STATUS_OK, cases[i].message == NULL);
        if (status != STATUS_OK) {
            assert_int_equal(err.code, ERROR_INVALID_DEFINITION);
            assert_non_null(strstr(err.text, cases[i].message));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_come_in_order_with_their_bytes),
        cmocka_unit_test(a_letter_past_the_budget_is_refused),
        cmocka_unit_test(a_full_queue_holds_its_readers_until_it_is_drained_or_stopped),
        cmocka_unit_test(columns_are_those_of_letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
