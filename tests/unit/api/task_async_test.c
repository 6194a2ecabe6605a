/* C68: answers that a task waits for: late, never, twice, failing, after its end. A thread plays the service that is asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "task_place.h"

enum { ROWS = 50, LIMIT = 4 };

/* Questions that wait for the service, which takes the newest first once there are `burst` of them. */
struct service {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    spate_completion asked[ROWS];
    int64_t ids[ROWS];
    int count, most, burst, expected;
    pthread_t thread;
    spate_completion last;
    int64_t order[ROWS]; /* in which answers came to the task */
    int answered;
};

/* By which everybody who is waited for has asked. */
static bool is_ready(const struct service *self)
{
    return self->count >= self->burst || (self->count > 0 && self->count == self->expected);
}

static void *serve(void *context)
{
    struct service *self = context;
    pthread_mutex_lock(&self->mutex);
    while (self->expected > 0) {
        while (!is_ready(self)) {
            pthread_cond_wait(&self->changed, &self->mutex);
        }
        while (self->count > 0) {
            char text[32];
            int at = --self->count;
            snprintf(text, sizeof text, "answer %d", (int)self->ids[at]);
            spate_completion_answer(self->asked[at], text, strlen(text));
            spate_completion_answer(self->asked[at], "again", 5); /* which is nothing */
            spate_completion_fail(self->asked[at], SPATE_ERROR_DATA, "too late");
            self->expected--;
        }
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

static void start_service(struct service *self, int burst, int expected)
{
    *self = (struct service){.burst = burst, .expected = expected};
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    assert_int_equal(pthread_create(&self->thread, NULL, serve, self), 0);
}

static int ask(void *context, spate_task *task, const spate_rows *rows)
{
    struct service *self = context;
    int code = SPATE_OK;
    for (uint32_t row = 0; row < spate_rows_count(rows) && code == SPATE_OK; row++) {
        int64_t id = spate_rows_cell(rows, row, 0).integer;
        spate_completion completion = {0, 0};
        code = spate_process_async(task, rows, row, &id, sizeof id, &completion);
        pthread_mutex_lock(&self->mutex);
        self->last = completion;
        if (self->thread != 0) {
            self->ids[self->count] = id;
            self->asked[self->count++] = completion;
            self->most = self->count > self->most ? self->count : self->most;
            pthread_cond_signal(&self->changed);
        }
        pthread_mutex_unlock(&self->mutex);
    }
    return code;
}

static int take_answer(void *context, spate_task *task, const struct spate_task_answer *answer)
{
    struct service *self = context;
    char wanted[32];
    int64_t id;
    assert_int_equal(answer->item_length, sizeof id);
    memcpy(&id, answer->item, sizeof id);
    snprintf(wanted, sizeof wanted, "answer %d", (int)id);
    assert_true(answer->answer_length == strlen(wanted) && memcmp(answer->answer, wanted, answer->answer_length) == 0);
    self->order[self->answered++] = id;
    return write_row(task, id, "row");
}

static const struct spate_task_class type = {.size = sizeof type, .process = ask, .answered = take_answer};

static struct spate_task_spec spec_of(struct service *service)
{
    return (struct spate_task_spec){.size = sizeof(struct spate_task_spec),
                                    .name = "asking",
                                    .type = &type,
                                    .context = service,
                                    .inputs = in_only,
                                    .outputs = out_only};
}

static void write_rows(int count)
{
    char text[ROWS * 16] = "";
    for (int i = 0; i < count; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d,x\n", i);
    }
    write_file("in", text);
}

static void run_served(int burst, uint32_t limit, const char *const *settings, struct service *service)
{
    write_rows(ROWS);
    start_service(service, burst, ROWS);
    struct spate_task_spec spec = spec_of(service);
    spec.async_limit = limit;
    spate_session *session = open_session(settings);
    create_tables(session);
    must_run(session, &spec);
    assert_int_equal(pthread_join(service->thread, NULL), 0);
    spate_session_close(session);
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(service->order[i], i);
    }
    spate_completion_answer(service->last, "after the end", 13);
}

static void answers_come_in_the_order_of_rows_whoever_is_late(void **state)
{
    (void)state;
    struct service service;
    run_served(ROWS, ROWS, NULL, &service);
    assert_int_equal(service.most, ROWS); /* all were asked before the first was answered */
}

static void no_more_are_asked_at_once_than_may_be(void **state)
{
    (void)state;
    struct service service;
    run_served(LIMIT, LIMIT, NULL, &service);
    assert_int_equal(service.most, LIMIT);
}

static void a_tick_has_all_its_answers_before_its_checkpoint(void **state)
{
    (void)state;
    struct service service;
    run_served(1, 1, (const char *const[]){"debug.restart-every=1", "pipeline.tick.rows=1", NULL}, &service);
}

/* Nobody answers by himself. */
static const char *run_alone(struct service *service, int64_t timeout_ms, int error_class)
{
    static char text[1000];
    struct spate_task_spec spec = spec_of(service);
    spate_session *session = open_session(NULL);
    spate_result *result;
    spec.async_timeout_ms = timeout_ms;
    create_tables(session);
    assert_int_equal(spate_task_run(session, &spec, &result), SPATE_OK);
    assert_int_equal(run_to_end(result), error_class);
    snprintf(text, sizeof text, "%s", spate_session_error(session)->text);
    spate_result_close(result);
    spate_session_close(session);
    return text;
}

static void an_answer_that_never_comes_fails_the_task_with_its_row(void **state)
{
    (void)state;
    struct service service = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    write_rows(1);
    const char *text = run_alone(&service, 30, SPATE_ERROR_UNAVAILABLE);
    assert_string_equal(text, "no answer has come within 30 ms\nfor row 0 of a partition of 'in'\nin task 'asking'");
    spate_completion_answer(service.last, "answer 0", 8); /* its task is gone */
    assert_int_equal(service.answered, 0);
}

static int ask_and_fail(void *context, spate_task *task, const spate_rows *rows)
{
    int code = ask(context, task, rows);
    spate_completion_fail(((struct service *)context)->last, SPATE_ERROR_DATA, "the service says no");
    return code;
}

static void a_failing_answer_fails_the_task_with_its_words(void **state)
{
    (void)state;
    struct service service = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    static const struct spate_task_class failing = {.size = sizeof failing, .process = ask_and_fail, .answered = take_answer};
    struct spate_task_spec spec = spec_of(&service);
    spate_session *session = open_session(NULL);
    spate_result *result;
    spec.type = &failing;
    write_rows(1);
    create_tables(session);
    assert_int_equal(spate_task_run(session, &spec, &result), SPATE_OK);
    assert_int_equal(run_to_end(result), SPATE_ERROR_DATA);
    assert_string_equal(spate_session_error(session)->text,
                        "the service says no\nin the answer to a row of task 'asking'\nfor row 0 of a partition of 'in'");
    spate_result_close(result);
    spate_session_close(session);
}

/* Not where no row is. */
static int ask_at_the_end(void *context, spate_task *task, const char *input)
{
    (void)context, (void)input;
    spate_completion completion;
    return spate_process_async(task, NULL, 0, NULL, 0, &completion);
}

static void a_question_outside_of_process_is_refused(void **state)
{
    (void)state;
    static const struct spate_task_class wrong = {
        .size = sizeof wrong, .process = ask_and_fail, .answered = take_answer, .end_of_stream = ask_at_the_end};
    struct service service = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct spate_task_spec spec = spec_of(&service);
    spate_session *session = open_session(NULL);
    spate_result *result;
    spec.type = &wrong;
    write_file("in", "");
    create_tables(session);
    assert_int_equal(spate_task_run(session, &spec, &result), SPATE_OK);
    assert_int_equal(run_to_end(result), SPATE_ERROR_SQL);
    assert_non_null(strstr(spate_session_error(session)->text, "an answer is waited for in process"));
    spate_result_close(result);
    spate_session_close(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_come_in_the_order_of_rows_whoever_is_late, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(no_more_are_asked_at_once_than_may_be, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_tick_has_all_its_answers_before_its_checkpoint, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(an_answer_that_never_comes_fails_the_task_with_its_row, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_failing_answer_fails_the_task_with_its_words, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_question_outside_of_process_is_refused, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
