/* The Task API over files in a folder: state, timers, windows, ends, commits, errors. Tasks are run again from their state after every tick
 * ('debug.restart-every'), or from their checkpoints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "spate/control.h"
#include "task_place.h"

static const char *const after_every_tick[] = {"debug.restart-every=1", "pipeline.tick.rows=1", NULL};

/* ---- state ---- */

enum { KINDS = 14 };
static const struct spate_task_table all_kinds = {"kinds",
                                                  "id BIGINT, name STRING, a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f "
                                                  "DECIMAL(10, 2), g FLOAT, h DOUBLE, i STRING, j BYTES, k DATE, "
                                                  "l TIME, m TIMESTAMP(3), n INTERVAL DAY TO SECOND, PRIMARY KEY (id, name) NOT ENFORCED"};

/* The row of a number; every third value is NULL. */
static void make_row(int64_t id, spate_cell *key, spate_cell *values)
{
    static char text[100];
    snprintf(text, sizeof text, "a text of more than twelve bytes: %" PRId64, id);
    key[0] = spate_cell_integer(id);
    key[1] = spate_cell_text(id % 2 == 0 ? "even" : "a name of an odd number");
    const spate_cell row[KINDS] = {spate_cell_boolean(id % 2 == 0),       spate_cell_integer(id - 100),    spate_cell_integer(id * -300),
                                   spate_cell_integer(id * 100000),       spate_cell_integer(id << 40),    spate_cell_integer(id * 125),
                                   spate_cell_real((double)id + 0.5),     spate_cell_real((double)id / 3), spate_cell_text(text),
                                   spate_cell_bytes("\0\xff", 2),         spate_cell_integer(id * 1000),   spate_cell_integer(id * 60000),
                                   spate_cell_integer(id * 1000000 + 42), spate_cell_integer(id * 7)};
    for (int i = 0; i < KINDS; i++) {
        values[i] = (id + i) % 3 == 0 ? spate_cell_null() : row[i];
    }
}

static bool same_cell(const spate_cell *left, const spate_cell *right)
{
    return left->kind == right->kind && left->integer == right->integer && left->real == right->real && left->length == right->length &&
           (left->length == 0 || memcmp(left->bytes, right->bytes, left->length) == 0);
}

static int check_row(void *context, const spate_cell *key, const spate_cell *values)
{
    spate_cell wanted_key[2], wanted[KINDS];
    int64_t *sum = context;
    make_row(key[0].integer, wanted_key, wanted);
    assert_true(same_cell(&key[0], &wanted_key[0]) && same_cell(&key[1], &wanted_key[1]));
    for (int i = 0; i < KINDS; i++) {
        assert_true(same_cell(&values[i], &wanted[i]));
    }
    *sum += key[0].integer;
    return 0;
}

/* Keeps a row for each number, over one of zeros that was there; removes every fourth. */
static int keep_kinds(void *self, spate_task *task, const spate_rows *rows)
{
    (void)self;
    spate_state *state = spate_task_state(task, "kinds");
    spate_cell key[2], values[KINDS], others[KINDS];
    assert_non_null(state);
    for (uint32_t row = 0; row < spate_rows_count(rows); row++) {
        int64_t id = spate_rows_cell(rows, row, 0).integer, sum = 0;
        bool found = true;
        make_row(id, key, values);
        for (int i = 0; i < KINDS; i++) {
            others[i] = spate_cell_null();
        }
        others[8] = spate_cell_text("another text of more than twelve bytes");
        assert_int_equal(spate_state_get(state, key, NULL, &found), SPATE_OK);
        assert_false(found);
        assert_int_equal(spate_state_put(state, key, others), SPATE_OK);
        assert_int_equal(spate_state_put(state, key, values), SPATE_OK);
        assert_int_equal(spate_state_get(state, key, others, &found), SPATE_OK);
        assert_true(found);
        check_row(&sum, key, others);
        make_row(id - 1, key, values);
        if (id % 4 == 0) {
            assert_int_equal(spate_state_remove(state, key), SPATE_OK);
        }
    }
    return SPATE_OK;
}

static int tell_kinds(void *self, spate_task *task, const char *input)
{
    (void)self;
    int64_t sum = 0;
    assert_string_equal(input, "in");
    assert_int_equal(spate_state_each(spate_task_state(task, "kinds"), check_row, &sum), 0);
    return write_row(task, sum, spate_state_count(spate_task_state(task, "kinds")) == 8 ? "eight" : "not eight");
}

static void state_of_all_types_comes_back_as_it_was(void **state)
{
    (void)state;
    static const struct spate_task_class type = {.size = sizeof type, .process = keep_kinds, .end_of_stream = tell_kinds};
    const struct spate_task_spec spec = {.size = sizeof spec,
                                         .name = "kinds",
                                         .type = &type,
                                         .inputs = in_only,
                                         .outputs = out_only,
                                         .tables = &all_kinds,
                                         .table_count = 1};
    write_file("in", "1,a\n2,b\n3,c\n4,d\n5,e\n6,f\n7,g\n8,h\n9,i\n10,j\n");
    spate_session *session = open_session(after_every_tick);
    create_tables(session);
    must_run(session, &spec);
    spate_session_close(session);
    assert_string_equal(shown("out"), "45,eight"); /* 55 less 3 and 7 */
}

static int put_wrong(void *self, spate_task *task, const spate_rows *rows)
{
    (void)rows;
    static const struct {
        int column, error_class;
        spate_cell cell;
    } wrong[] = {
        {0, SPATE_ERROR_SQL, {SPATE_CELL_INTEGER, 1, 0, NULL, 0}},
        {1, SPATE_ERROR_DATA, {SPATE_CELL_INTEGER, 128, 0, NULL, 0}},
        {2, SPATE_ERROR_DATA, {SPATE_CELL_INTEGER, -32769, 0, NULL, 0}},
        {3, SPATE_ERROR_DATA, {SPATE_CELL_INTEGER, 1L << 31, 0, NULL, 0}},
        {4, SPATE_ERROR_SQL, {SPATE_CELL_REAL, 0, 1.5, NULL, 0}},
        {5, SPATE_ERROR_DATA, {SPATE_CELL_INTEGER, 10000000000, 0, NULL, 0}},
        {6, SPATE_ERROR_SQL, {SPATE_CELL_TEXT, 0, 0, "1.5", 3}},
        {8, SPATE_ERROR_DATA, {SPATE_CELL_TEXT, 0, 0, "\xff", 1}},
        {11, SPATE_ERROR_DATA, {SPATE_CELL_INTEGER, 86400000, 0, NULL, 0}},
        {9, SPATE_ERROR_DATA, {SPATE_CELL_TEXT, 0, 0, NULL, 3}},
        {13, SPATE_ERROR_SQL, {SPATE_CELL_OTHER, 0, 0, NULL, 0}},
        {13, SPATE_ERROR_SQL, {99, 0, 0, NULL, 0}},
    };
    spate_state *state = spate_task_state(task, "kinds");
    spate_cell key[2], values[KINDS];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        make_row(1, key, values);
        values[wrong[i].column] = wrong[i].cell;
        assert_int_equal(spate_state_put(state, key, values), wrong[i].error_class);
    }
    assert_null(spate_task_state(task, "kind"));
    assert_null(spate_task_output(task, "outs"));
    assert_int_equal(spate_state_count(state), 0);
    make_row(1, key, values);
    key[1] = spate_cell_null();
    *(bool *)self = true;
    return spate_state_put(state, key, values); /* whose words stand */
}

static void cells_that_do_not_fit_are_refused_by_column(void **state)
{
    (void)state;
    bool came = false;
    static const struct spate_task_class type = {.size = sizeof type, .process = put_wrong};
    const struct spate_task_spec spec = {
        .size = sizeof spec, .name = "wrong", .type = &type, .context = &came, .inputs = in_only, .tables = &all_kinds, .table_count = 1};
    spate_session *session = open_session(NULL);
    spate_result *result;
    write_file("in", "1,a\n");
    create_tables(session);
    assert_int_equal(spate_task_run(session, &spec, &result), SPATE_OK);
    assert_int_equal(run_to_end(result), SPATE_ERROR_DATA);
    assert_true(came);
    const char *text = spate_session_error(session)->text;
    assert_non_null(strstr(text, "column 'name' is STRING NOT NULL: it was given a NULL"));
    assert_non_null(strstr(text, "in state table 'kinds'"));
    assert_non_null(strstr(text, "in process of task 'wrong'"));
    assert_non_null(strstr(text, "rows 0 to 0 of a partition of 'in'"));
    spate_result_close(result);
    spate_session_close(session);
}

/* ---- timers ---- */

/* Each row asks to be called at its number, and moves or cancels others. */
static int set_timers(void *self, spate_task *task, const spate_rows *rows)
{
    (void)self;
    int code = SPATE_OK;
    for (uint32_t row = 0; row < spate_rows_count(rows) && code == SPATE_OK; row++) {
        spate_cell id = spate_rows_cell(rows, row, 0), word = spate_rows_cell(rows, row, 1);
        code = word.length > 1 ? spate_task_cancel_timer(task, SPATE_TIMER_WATERMARK, word.bytes + 1, word.length - 1)
                               : spate_task_set_timer(task, SPATE_TIMER_WATERMARK, id.integer, word.bytes, word.length);
    }
    return code;
}

/* self: how many are still wanted, if it is anything. */
static int tell_timer(void *self, spate_task *task, const struct spate_task_timer *timer)
{
    char word[32];
    int *wanted = self, code = SPATE_OK;
    assert_int_equal(timer->kind, SPATE_TIMER_WATERMARK);
    assert_true(timer->time_ms <= spate_task_now_ms(task));
    snprintf(word, sizeof word, "%.*s", (int)timer->key_length, (const char *)timer->key);
    if (wanted != NULL && --*wanted == 0) {
        code = spate_task_shutdown(task, SPATE_SHUTDOWN_TASK);
    }
    return code == SPATE_OK ? write_row(task, timer->time_ms, word) : code;
}

static int tell_end(void *self, spate_task *task, const char *input)
{
    (void)self;
    int code = spate_task_set_timer(task, SPATE_TIMER_WATERMARK, 5, "late", 4);
    return code != SPATE_OK ? code : write_row(task, 0, input);
}

static void timers_are_called_once_by_the_watermark_moved_or_not_at_all(void **state)
{
    (void)state;
    static const struct spate_task_class type = {
        .size = sizeof type, .process = set_timers, .timer = tell_timer, .end_of_stream = tell_end};
    static const struct spate_task_spec spec = {
        .size = sizeof spec, .name = "timers", .type = &type, .inputs = in_only, .outputs = out_only};
    write_file("in", "30,a\n10,b\n20,c\n40,a\n15,d\n0,-c\n0,-nothing\n");
    spate_session *session = open_session(after_every_tick);
    create_tables(session);
    must_run(session, &spec);
    spate_session_close(session);
    assert_string_equal(shown("out"), "0,in 10,b 15,d 40,a 5,late");
}

/* An unbounded table with a watermark: timers that are due are called before the end. */
static void a_timer_waits_for_its_watermark(void **state)
{
    (void)state;
    static const struct spate_task_class type = {.size = sizeof type, .process = set_timers, .timer = tell_timer};
    int wanted = 3;
    const struct spate_task_spec spec = {.size = sizeof spec,
                                         .name = "timers",
                                         .type = &type,
                                         .context = &wanted,
                                         .inputs = (const char *const[]){"timed", NULL},
                                         .outputs = out_only};
    write_file("in", "1000,a\n3000,b\n9000,c\n");
    spate_session *session = open_session((const char *const[]){"execution.checkpointing.interval=10 ms",
                                                                "pipeline.auto-watermark-interval=1 ms", "pipeline.tick.rows=1", NULL});
    create_tables(session);
    execute(session,
            "CREATE TABLE timed (id BIGINT, word STRING, ts AS TO_TIMESTAMP_LTZ(id, 3), WATERMARK FOR ts AS ts) WITH ('connector' = "
            "'filesystem', 'path' = '%s/in', 'format' = 'csv', 'source.monitor-interval' = '10 ms')",
            folder);
    execute(session, "SET 'storage.uri' = '%s/storage'", folder);
    must_run(session, &spec);
    spate_session_close(session);
    assert_string_equal(shown("out"), "1000,a 3000,b 9000,c");
}

/* ---- windows, the clock, shutting down ---- */

struct counted {
    int windows, timers, committed, inits, closes;
    int64_t last_ms;
    uint64_t checkpoint;
    int wanted; /* windows, after which it shuts down */
    int scope;
};

static int count_init(void *context, spate_task *task, void **self)
{
    struct counted *counted = context;
    assert_ptr_equal(*self, context);
    counted->inits++;
    return spate_task_set_timer(task, SPATE_TIMER_CLOCK, spate_task_now_ms(task) + 1, "k", 1);
}

static int count_rows(void *self, spate_task *task, const spate_rows *rows)
{
    (void)self, (void)task, (void)rows;
    return SPATE_OK;
}

static int count_window(void *self, spate_task *task)
{
    struct counted *counted = self;
    assert_true(spate_task_now_ms(task) / 10 > counted->last_ms / 10); /* another multiple of 10 ms each time */
    counted->last_ms = spate_task_now_ms(task);
    counted->windows++;
    int code = write_row(task, counted->windows, "window");
    return code == SPATE_OK && counted->windows == counted->wanted ? spate_task_shutdown(task, counted->scope) : code;
}

static int count_timer(void *self, spate_task *task, const struct spate_task_timer *timer)
{
    struct counted *counted = self;
    assert_int_equal(timer->kind, SPATE_TIMER_CLOCK);
    assert_true(timer->key_length == 1 && memcmp(timer->key, "k", 1) == 0);
    assert_true(spate_task_now_ms(task) >= timer->time_ms);
    counted->timers++;
    return SPATE_OK;
}

static int never_ends(void *self, spate_task *task, const char *input)
{
    (void)self, (void)task;
    fail_msg("'%s' has ended", input);
    return SPATE_OK;
}

static void count_committed(void *self, spate_task *task, uint64_t checkpoint, uint64_t edits)
{
    struct counted *counted = self;
    assert_int_equal(edits, 0);
    assert_string_equal(spate_task_name(task), "counted");
    assert_true(checkpoint > counted->checkpoint);
    counted->checkpoint = checkpoint;
    counted->committed++;
}

static void count_close(void *self, spate_task *task)
{
    (void)task;
    ((struct counted *)self)->closes++;
}

static const struct spate_task_class counted_type = {.size = sizeof counted_type,
                                                     .init = count_init,
                                                     .process = count_rows,
                                                     .window = count_window,
                                                     .timer = count_timer,
                                                     .end_of_stream = never_ends,
                                                     .committed = count_committed,
                                                     .close = count_close};

static void run_counted(struct counted *counted)
{
    const struct spate_task_spec spec = {.size = sizeof spec,
                                         .name = "counted",
                                         .type = &counted_type,
                                         .context = counted,
                                         .inputs = followed_only,
                                         .outputs = out_only,
                                         .window_interval_ms = 10};
    spate_session *session = open_session((const char *const[]){"execution.checkpointing.interval=1 h", NULL});
    create_tables(session);
    execute(session, "SET 'storage.uri' = '%s/storage'", folder);
    create_followed(session);
    must_run(session, &spec);
    spate_session_close(session);
}

static void a_task_that_shuts_down_has_finished_and_a_process_goes_on(void **state)
{
    (void)state;
    struct counted process = {.wanted = 3, .scope = SPATE_SHUTDOWN_PROCESS}, task = {.wanted = 2, .scope = SPATE_SHUTDOWN_TASK},
                   again = {0};
    write_file("in", "1,a\n");
    run_counted(&process);
    assert_int_equal(process.windows, 3);
    assert_string_equal(shown("out"), "1,window 2,window 3,window");
    run_counted(&task);
    assert_int_equal(task.windows, 2);
    assert_int_equal(process.timers, 1);
    assert_int_equal(process.inits, 1);
    assert_int_equal(process.closes, 1);
    assert_int_equal(process.committed, 1);
    assert_string_equal(shown("out"), "1,window 1,window 2,window 2,window 3,window");
    run_counted(&again); /* nothing is left to do */
    assert_int_equal(again.windows, 0);
    assert_int_equal(again.inits, 0);
    assert_string_equal(shown("out"), "1,window 1,window 2,window 2,window 3,window");
}

/* ---- commits ---- */

static int commit_rows(void *self, spate_task *task, const spate_rows *rows)
{
    (void)self, (void)rows;
    return spate_task_commit(task);
}

static void note_checkpoint(void *self, spate_task *task, uint64_t checkpoint, uint64_t edits)
{
    (void)task, (void)edits;
    *(uint64_t *)self = checkpoint;
}

static void a_commit_is_a_checkpoint_after_the_tick(void **state)
{
    (void)state;
    uint64_t checkpoint = 0;
    static const struct spate_task_class type = {.size = sizeof type, .process = commit_rows, .committed = note_checkpoint};
    const struct spate_task_spec spec = {.size = sizeof spec, .name = "commits", .type = &type, .context = &checkpoint, .inputs = in_only};
    struct spate_task_spec followed = spec;
    followed.inputs = followed_only;
    spate_session *session = open_session((const char *const[]){"pipeline.tick.rows=1", NULL});
    spate_result *result;
    int step;
    write_file("in", "1,a\n2,b\n3,c\n");
    create_tables(session);
    assert_int_equal(spate_task_run(session, &spec, &result), SPATE_OK);
    assert_int_equal(run_to_end(result), SPATE_ERROR_SQL);
    assert_non_null(strstr(spate_session_error(session)->text, "its job takes no checkpoints"));
    spate_result_close(result);
    execute(session, "SET 'execution.checkpointing.interval' = '1 h'");
    execute(session, "SET 'storage.uri' = '%s/storage'", folder);
    create_followed(session);
    assert_int_equal(spate_task_run(session, &followed, &result), SPATE_OK);
    for (int i = 0; i < 10000 && checkpoint == 0; i++) {
        assert_int_equal(spate_result_step(result, 10, &step), SPATE_OK);
    }
    assert_true(checkpoint > 0);
    spate_result_close(result);
    spate_session_close(session);
}

/* ---- errors ---- */

struct failing {
    int error_class, failures, processed;
    bool silent;
};

static int process_failing(void *self, spate_task *task, const spate_rows *rows)
{
    struct failing *failing = self;
    failing->processed++;
    if (failing->failures == 0 || spate_rows_cell(rows, 0, 0).integer < 2) {
        return write_row(task, spate_rows_cell(rows, 0, 0).integer, "row");
    }
    failing->failures--;
    return failing->silent ? failing->error_class : spate_task_fail(task, failing->error_class, "row %d is not nice", 2);
}

static int run_failing(struct failing *failing, const char *name, const char **text, uint32_t *code)
{
    static char copy[1000];
    static const struct spate_task_class type = {.size = sizeof type, .process = process_failing};
    const struct spate_task_spec spec = {
        .size = sizeof spec, .name = name, .type = &type, .context = failing, .inputs = in_only, .outputs = out_only};
    spate_session *session = open_session(
        (const char *const[]){"pipeline.tick.rows=1", "execution.checkpointing.interval=1 h", "restart-strategy.type=fixed-delay",
                              "restart-strategy.fixed-delay.attempts=3", "restart-strategy.fixed-delay.delay=1 ms", NULL});
    spate_result *result;
    create_tables(session);
    execute(session, "SET 'storage.uri' = '%s/storage'", folder);
    assert_int_equal(spate_task_run(session, &spec, &result), SPATE_OK);
    int answer = run_to_end(result);
    if (answer != SPATE_OK) {
        snprintf(copy, sizeof copy, "%s", spate_session_error(session)->text);
        *code = spate_session_error(session)->code;
    }
    *text = copy;
    spate_result_close(result);
    spate_session_close(session);
    return answer;
}

static void errors_say_where_and_only_an_outage_is_tried_again(void **state)
{
    (void)state;
    struct failing data = {.error_class = SPATE_ERROR_DATA, .failures = 1}, silent = {.error_class = 99, .failures = 1, .silent = true},
                   outage = {.error_class = SPATE_ERROR_UNAVAILABLE, .failures = 2};
    const char *text;
    uint32_t code;
    write_file("in", "1,a\n2,b\n3,c\n");
    assert_int_equal(run_failing(&data, "data", &text, &code), SPATE_ERROR_DATA);
    assert_string_equal(text, "row 2 is not nice\nin process of task 'data'\ngiven rows 1 to 1 of a partition of 'in'");
    assert_int_equal(code, 6011);
    assert_int_equal(run_failing(&silent, "silent", &text, &code), SPATE_ERROR_DATA);
    assert_non_null(strstr(text, "it gave 99, and did not say why"));
    assert_int_equal(run_failing(&outage, "outage", &text, &code), SPATE_OK);
    assert_int_equal(outage.processed, 2 + 2 + 3);
    assert_string_equal(shown("out"), "1,row 2,row 3,row");
}

static int write_from_init(void *context, spate_task *task, void **self)
{
    (void)context, (void)self;
    return write_row(task, 1, "too early");
}

static void refuse(spate_session *session, const struct spate_task_spec *spec, const char *why)
{
    spate_result *result;
    int code = spate_task_run(session, spec, &result);
    if (code == SPATE_OK) {
        code = run_to_end(result);
        spate_result_close(result);
    }
    assert_int_equal(code, SPATE_ERROR_SQL);
    if (strstr(spate_session_error(session)->text, why) == NULL) {
        fail_msg("'%s' instead of '%s'", spate_session_error(session)->text, why);
    }
}

static void a_spec_that_cannot_run_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct spate_task_class type = {.size = sizeof type, .process = count_rows}, none = {.size = sizeof none},
                                         early = {.size = sizeof early, .process = count_rows, .init = write_from_init};
    const struct spate_task_spec good = {.size = sizeof good, .name = "t", .type = &type, .inputs = in_only, .outputs = out_only};
    struct spate_task_spec spec = good;
    struct spate_task_table table = {"s", "a BIGINT, b ARRAY<INT>, PRIMARY KEY (a) NOT ENFORCED"};
    spate_session *session = open_session(NULL);
    write_file("in", "1,a\n");
    create_tables(session);
    spec.type = &none;
    refuse(session, &spec, "the function 'process'");
    spec.type = &early;
    refuse(session, &spec, "rows for 'out' are written in process, answered, window, timer and end_of_stream only");
    spec = good;
    spec.inputs = (const char *const[]){"inn", NULL};
    refuse(session, &spec, "did you mean 'in'");
    spec.inputs = (const char *const[]){NULL};
    refuse(session, &spec, "has no input");
    spec = good;
    spec.outputs = (const char *const[]){"nowhere", NULL};
    refuse(session, &spec, "task 't' writes to 'nowhere', which is no table");
    spec.outputs = (const char *const[]){"out", "out", NULL};
    refuse(session, &spec, "has the output 'out' twice");
    spec = good;
    spec.window_interval_ms = 1;
    refuse(session, &spec, "go together");
    spec = good;
    spec.tables = &table;
    spec.table_count = 1;
    refuse(session, &spec, "column 'b' of state table 's' is ARRAY<INT>");
    table.columns = "a BIGINT, b STRING, PRIMARY KEY (b) NOT ENFORCED";
    refuse(session, &spec, "first those of its PRIMARY KEY");
    table.columns = "a BIGINT) WITH (";
    refuse(session, &spec, "in state table 's' of task 't'");
    execute(session, "SET 'parallelism.default' = '2'");
    refuse(session, &good, "a task runs in one thread");
    const char *message;
    assert_int_equal(spate_task_submit(session, &good, NULL, 0, &message), SPATE_ERROR_SQL);
    assert_non_null(strstr(spate_session_error(session)->text, "spec.setup"));
    spec = good;
    spec.setup = "SELECT 1;";
    refuse(session, &spec, "statements like CREATE and SET only");
    spec.setup = "CREATE TABLE t (a INT) WITH ('connector' = 'print'); INSERT INTO t VALUES (1);";
    refuse(session, &spec, "statements like CREATE and SET only");
    spate_session_close(session);
    spate_worker *worker;
    struct spate_error error;
    const struct spate_worker_options options = {.size = sizeof options};
    spec = good;
    spec.type = &none;
    assert_int_equal(spate_task_worker_open(NULL, &options, &spec, &worker, &error), SPATE_ERROR_SQL);
    assert_non_null(strstr(error.text, "the function 'process'"));
    assert_null(worker);
}

/* ---- changes, and whole batches ---- */

static int pass_arrow(void *self, spate_task *task, const spate_rows *rows)
{
    struct ArrowArray array;
    struct ArrowSchema schema;
    int64_t *balance = self;
    for (uint32_t row = 0; row < spate_rows_count(rows); row++) {
        *balance += spate_rows_kind(rows, row) == SPATE_DELETE ? -1 : 1;
    }
    assert_int_equal(spate_rows_column(rows, "word"), 1);
    assert_int_equal(spate_rows_column(rows, "none"), -1);
    assert_int_equal(spate_rows_column_count(rows), 2);
    int code = spate_rows_arrow(task, rows, &array, &schema);
    if (code == SPATE_OK) {
        code = spate_output_arrow(spate_task_output(task, "out"), &schema, &array);
        schema.release(&schema);
    }
    return code;
}

static void views_with_changes_come_with_kinds_and_go_on_as_arrow(void **state)
{
    (void)state;
    int64_t balance = 0;
    static const struct spate_task_class type = {.size = sizeof type, .process = pass_arrow};
    const struct spate_task_spec spec = {.size = sizeof spec,
                                         .name = "changes",
                                         .type = &type,
                                         .context = &balance,
                                         .inputs = (const char *const[]){"sums", NULL},
                                         .outputs = out_only};
    spate_session *session = open_session((const char *const[]){"pipeline.tick.rows=1", "pipeline.chunk.rows=64", NULL});
    write_file("in", "1,a\n2,b\n4,a\n");
    create_tables(session);
    execute(session, "CREATE VIEW sums AS SELECT SUM(id) AS id, word FROM `in` GROUP BY word");
    must_run(session, &spec);
    spate_session_close(session);
    assert_int_equal(balance, 2);
    assert_string_equal(shown("out"), "1,a 1,a 2,b 5,a"); /* what was withdrawn, too: the program does not look */
}

static int tell_ends(void *self, spate_task *task, const char *input)
{
    (void)self;
    return write_row(task, spate_task_watermark_ms(task) == INT64_MIN, input);
}

static void every_input_ends_once_also_when_the_task_is_restored(void **state)
{
    (void)state;
    static const struct spate_task_class type = {.size = sizeof type, .process = count_rows, .end_of_stream = tell_ends};
    const struct spate_task_spec spec = {
        .size = sizeof spec, .name = "ends", .type = &type, .inputs = (const char *const[]){"in", "more", NULL}, .outputs = out_only};
    spate_session *session = open_session(after_every_tick);
    write_file("in", "1,a\n");
    write_file("more", "1,a\n2,b\n3,c\n4,d\n");
    create_tables(session);
    execute(session, "CREATE TABLE `more` (id BIGINT, word STRING) WITH ('connector' = 'filesystem', 'path' = '%s/more', 'format' = 'csv')",
            folder);
    must_run(session, &spec);
    spate_session_close(session);
    assert_string_equal(shown("out"), "1,in 1,more");
}

/* ---- edits ---- */

struct edited {
    char verbs[200];
    uint64_t edits;
    int wanted;
};

static int obey(void *self, spate_task *task, const struct spate_task_edit *edit)
{
    struct edited *edited = self;
    spate_state *state = spate_task_state(task, "edits");
    const spate_cell key = spate_cell_integer((int64_t)edit->rank), verb = spate_cell_text(edit->verb);
    snprintf(edited->verbs + strlen(edited->verbs), sizeof edited->verbs - strlen(edited->verbs), "%s%s ", edit->verb, edit->args);
    if (strcmp(edit->verb, "app.fail") == 0) {
        return spate_task_fail(task, SPATE_ERROR_DATA, "not this one");
    }
    assert_int_equal(write_row(task, 1, "an edit writes no rows"), SPATE_ERROR_SQL);
    return spate_state_put(state, &key, &verb);
}

static void note_edits(void *self, spate_task *task, uint64_t checkpoint, uint64_t edits)
{
    (void)task, (void)checkpoint;
    ((struct edited *)self)->edits = edits;
}

static int tell_edits(void *self, spate_task *task)
{
    const struct edited *edited = self;
    return edited->wanted > 0 && edited->edits >= (uint64_t)edited->wanted ? spate_task_shutdown(task, SPATE_SHUTDOWN_PROCESS) : SPATE_OK;
}

static spate_session *session_with_log(void)
{
    char uri[200], storage[200];
    snprintf(uri, sizeof uri, "coordinator.uri=local://%s/log", folder);
    snprintf(storage, sizeof storage, "storage.uri=%s/storage", folder);
    spate_session *session = open_session((const char *const[]){uri, storage, "execution.checkpointing.interval=1 h", NULL});
    create_tables(session);
    create_followed(session);
    return session;
}

static uint64_t propose(spate_control *control, const char *verb)
{
    uint64_t index;
    const struct spate_proposal proposal = {.size = sizeof proposal,
                                            .verb = verb,
                                            .arguments = (const char *const[]){"n=7", NULL},
                                            .actor = "test",
                                            .expect_version = -1,
                                            .expect_rank = -1};
    assert_int_equal(spate_control_propose(control, &proposal, &index), SPATE_OK);
    return index;
}

static void run_edited(struct edited *edited, const char *const *verbs, uint32_t verb_count, const char *last_state)
{
    static const struct spate_task_class type = {
        .size = sizeof type, .process = count_rows, .window = tell_edits, .on_control = obey, .committed = note_edits};
    static const struct spate_task_table table = {"edits", "edit BIGINT, verb STRING, PRIMARY KEY (edit) NOT ENFORCED"};
    const struct spate_task_spec spec = {.size = sizeof spec,
                                         .name = "edited",
                                         .type = &type,
                                         .context = edited,
                                         .inputs = followed_only,
                                         .outputs = out_only,
                                         .tables = &table,
                                         .table_count = 1,
                                         .window_interval_ms = 5};
    spate_session *session = session_with_log(), *other = session_with_log();
    spate_control *control = NULL;
    spate_result *result;
    struct spate_edit edit = {.size = sizeof edit};
    uint64_t index = 0;
    int step = SPATE_STEP_WORKED;
    if (spate_task_run(session, &spec, &result) != SPATE_OK || spate_result_step(result, 10, &step) != SPATE_OK) {
        fail_msg("%s", spate_session_error(session)->text);
    }
    assert_int_equal(spate_control_open(other, "edited", &control), SPATE_OK);
    for (uint32_t i = 0; i < verb_count; i++) {
        index = propose(control, verbs[i]);
    }
    if (run_to_end(result) != SPATE_OK) {
        fail_msg("%s", spate_session_error(session)->text);
    }
    spate_result_close(result); /* waits for the acknowledgement */
    if (verb_count > 0) {
        assert_int_equal(spate_control_show(control, index, &edit), SPATE_OK);
        assert_string_equal(edit.state, last_state);
    }
    spate_control_close(control);
    spate_session_close(other);
    spate_session_close(session);
}

static void c55_an_edit_comes_once_in_order_and_is_in_the_checkpoint(void **state)
{
    (void)state;
    static const char *const first[] = {"app.reload", "app.rules.set"}, *const second[] = {"app.fail"};
    struct edited edited = {.wanted = 2}, later = {.wanted = 3};
    write_file("in", "1,a\n");
    run_edited(&edited, first, 2, "done");
    assert_string_equal(edited.verbs, "app.reload{\"n\":7} app.rules.set{\"n\":7} ");
    run_edited(&later, second, 1, "failed");
    assert_string_equal(later.verbs, "app.fail{\"n\":7} ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(state_of_all_types_comes_back_as_it_was, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(cells_that_do_not_fit_are_refused_by_column, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(timers_are_called_once_by_the_watermark_moved_or_not_at_all, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_timer_waits_for_its_watermark, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_task_that_shuts_down_has_finished_and_a_process_goes_on, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_commit_is_a_checkpoint_after_the_tick, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(errors_say_where_and_only_an_outage_is_tried_again, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_spec_that_cannot_run_is_refused_with_the_reason, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(views_with_changes_come_with_kinds_and_go_on_as_arrow, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(every_input_ends_once_also_when_the_task_is_restored, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(c55_an_edit_comes_once_in_order_and_is_in_the_checkpoint, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
