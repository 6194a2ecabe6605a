/* Requests to the process of a job whose storage is no folder: they go through the storage, and nothing of them is left. */
#include <pthread.h>

#include "../storage/fixture.h"

#include "job/job_lock.h"

static const char job[] = "orders-0000";

struct answering {
    struct fixture *fixture;
    const char *failure;
    enum job_ask asked;
    char place[100];
};

static void *answer(void *context)
{
    struct answering *self = context;
    struct arena *arena = arena_create(NULL, "test");
    struct job_request request;
    while (!job_request_is_there(self->fixture->storage, job)) {
        usleep(1000);
    }
    assert_true(job_request_find(self->fixture->storage, job, arena, &request));
    self->asked = request.ask;
    snprintf(self->place, sizeof self->place, "%s", request.place);
    job_request_answer(self->fixture->storage, job, &request, "/backup/one", self->failure);
    arena_destroy(arena);
    return NULL;
}

static enum status ask(struct fixture *f, void *(*other)(void *context), void *context, enum job_ask what, const char **where)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, other, context), 0);
    enum status status = job_request_send(f->storage, job, what, "/backup", 1000000, f->arena, where, &f->err);
    pthread_join(thread, NULL);
    assert_int_equal(memory_store_count(f->memory), 0);
    return status;
}

static void who_asks_is_answered(void **state)
{
    (void)state;
    struct fixture f;
    const char *where;
    fixture_open(&f, NULL, 0);
    struct answering answering = {.fixture = &f};
    assert_false(job_request_is_there(f.storage, job));
    assert_int_equal(ask(&f, answer, &answering, JOB_ASK_STOP_SAVEPOINT, &where), STATUS_OK);
    assert_string_equal(where, "/backup/one");
    assert_int_equal(answering.asked, JOB_ASK_STOP_SAVEPOINT);
    assert_string_equal(answering.place, "/backup");
    answering.failure = "the disk\nis full";
    assert_int_not_equal(ask(&f, answer, &answering, JOB_ASK_KILL, &where), STATUS_OK);
    assert_non_null(strstr(f.err.text, "could not do it (kill): the disk\nis full"));
    fixture_close(&f);
}

static void *be_silent(void *context)
{
    struct fixture *f = context;
    while (!job_request_is_there(f->storage, job)) {
        usleep(1000);
    }
    f->clock.now_us += 2000000;
    return NULL;
}

static void who_asks_nobody_hears_so_in_time(void **state)
{
    (void)state;
    struct fixture f;
    const char *where;
    fixture_open(&f, NULL, 0);
    assert_int_equal(ask(&f, be_silent, &f, JOB_ASK_STOP, &where), STATUS_UNAVAILABLE);
    assert_non_null(strstr(f.err.text, "no process that runs job orders-0000 answered in time (stop)"));
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_is_answered),
        cmocka_unit_test(who_asks_nobody_hears_so_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
