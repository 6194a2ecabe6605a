/* Several workers read the same files: each file is read once, and each worker gets all of it, whatever the others do. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/file_relay.h"

enum { WORKERS = 3, CHAINS = 4, FILES = 3, PIECES = 40, PIECE_BYTES = 1000 };

struct storage {
    atomic_uint reads;
    int fails; /* the file that cannot be read to its end; -1: none */
};

static char byte_at(uint32_t file, uint64_t at)
{
    return (char)(file * 31 + at * 7 + at / 251);
}

static enum status read_file(void *context, uint32_t chain, uint32_t file, const struct object_sink *sink, struct error *err)
{
    struct storage *storage = context;
    uint32_t number = chain * FILES + file;
    char bytes[PIECE_BYTES];
    atomic_fetch_add(&storage->reads, 1);
    for (uint64_t at = 0; at < PIECES * PIECE_BYTES; at += PIECE_BYTES) {
        if ((int)number == storage->fails && at > PIECE_BYTES * 5) {
            return error_set(err, ERROR_STORE_CORRUPT, "file %u is damaged", number);
        }
        for (uint64_t i = 0; i < PIECE_BYTES; i++) {
            bytes[i] = byte_at(number, at + i);
        }
        TRY(sink->write(sink->context, bytes, PIECE_BYTES - number, err));
        TRY(sink->write(sink->context, bytes + PIECE_BYTES - number, number, err));
    }
    return STATUS_OK;
}

struct worker {
    struct file_relay *relay;
    uint32_t number, gives_up_in; /* the file in which its table refuses a row; UINT32_MAX: none */
    useconds_t delay_us;          /* of each piece */
    pthread_t thread;
    /* out */
    uint32_t files;
    enum status status;
    struct error error;
};
struct checked {
    const struct worker *worker;
    uint32_t file;
    uint64_t at;
};

static enum status check_bytes(void *context, const void *bytes, size_t length, struct error *err)
{
    struct checked *checked = context;
    const char *got = bytes;
    usleep(checked->worker->delay_us);
    for (size_t i = 0; i < length; i++) {
        if (got[i] != byte_at(checked->file, checked->at + i)) {
            return error_set(err, ERROR_INTERNAL, "wrong byte %llu of file %u", (unsigned long long)(checked->at + i), checked->file);
        }
    }
    checked->at += length;
    return checked->file == checked->worker->gives_up_in && checked->at > PIECE_BYTES * 20
               ? error_set(err, ERROR_STATE_MISFIT, "worker %u gives up", checked->worker->number)
               : STATUS_OK;
}

static void *worker_run(void *context)
{
    struct worker *worker = context;
    file_relay_join(worker->relay, worker->number);
    for (uint32_t file = 0; file < CHAINS * FILES && worker->status == STATUS_OK; file++) {
        struct checked checked = {.worker = worker, .file = file};
        const struct object_sink sink = {check_bytes, &checked};
        worker->status = file_relay_read(worker->relay, worker->number, file / FILES, file % FILES, &sink, &worker->error);
        worker->files += worker->status == STATUS_OK && checked.at == PIECES * PIECE_BYTES;
    }
    file_relay_leave(worker->relay, worker->number);
    return NULL;
}

/* late: the last worker begins when the others are done. */
static void run(struct storage *storage, struct worker *workers, bool late)
{
    const struct job_image image = {.read = read_file, .context = storage};
    struct file_relay *relay;
    struct error err;
    assert_int_equal(file_relay_open(&image, WORKERS, &relay, &err), STATUS_OK);
    for (uint32_t i = 0; i < WORKERS; i++) {
        workers[i].relay = relay;
        workers[i].number = i;
    }
    uint32_t together = late ? WORKERS - 1 : WORKERS;
    for (uint32_t i = 0; i < together; i++) {
        assert_int_equal(pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < together; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    if (late) {
        worker_run(&workers[WORKERS - 1]);
    }
    file_relay_close(relay);
}

static void each_file_is_read_once(void **state)
{
    (void)state;
    struct storage storage = {.fails = -1};
    struct worker workers[WORKERS] = {
        {.gives_up_in = UINT32_MAX}, {.gives_up_in = UINT32_MAX, .delay_us = 30}, {.gives_up_in = UINT32_MAX}};
    run(&storage, workers, false);
    for (uint32_t i = 0; i < WORKERS; i++) {
        assert_int_equal(workers[i].status, STATUS_OK);
        assert_int_equal(workers[i].files, CHAINS * FILES);
    }
    assert_int_equal(storage.reads, CHAINS * FILES);
}

static void a_worker_that_fails_holds_nobody_up(void **state)
{
    (void)state;
    struct storage storage = {.fails = -1};
    struct worker workers[WORKERS] = {{.gives_up_in = 4}, {.gives_up_in = UINT32_MAX}, {.gives_up_in = 7, .delay_us = 30}};
    run(&storage, workers, false);
    assert_int_equal(workers[0].status, STATUS_INVALID_SQL);
    assert_int_equal(workers[0].files, 4);
    assert_int_equal(workers[1].status, STATUS_OK);
    assert_int_equal(workers[1].files, CHAINS * FILES);
    assert_int_equal(workers[2].files, 7);
    assert_int_equal(storage.reads, CHAINS * FILES);
}

static void all_may_fail(void **state)
{
    (void)state;
    struct storage storage = {.fails = -1};
    struct worker workers[WORKERS] = {{.gives_up_in = 2}, {.gives_up_in = 2, .delay_us = 30}, {.gives_up_in = 2}};
    run(&storage, workers, false);
    for (uint32_t i = 0; i < WORKERS; i++) {
        assert_int_equal(workers[i].files, 2);
    }
}

static void all_hear_of_damage(void **state)
{
    (void)state;
    struct storage storage = {.fails = 5};
    struct worker workers[WORKERS] = {
        {.gives_up_in = UINT32_MAX}, {.gives_up_in = UINT32_MAX, .delay_us = 30}, {.gives_up_in = UINT32_MAX}};
    run(&storage, workers, false);
    for (uint32_t i = 0; i < WORKERS; i++) {
        assert_int_equal(workers[i].status, STATUS_CORRUPT);
        assert_non_null(strstr(workers[i].error.text, "file 5 is damaged"));
        assert_true(workers[i].files <= 5);
    }
    assert_int_equal(storage.reads, 6);
}

static void one_that_comes_late_reads_alone(void **state)
{
    (void)state;
    struct storage storage = {.fails = -1};
    struct worker workers[WORKERS] = {{.gives_up_in = UINT32_MAX}, {.gives_up_in = UINT32_MAX}, {.gives_up_in = UINT32_MAX}};
    run(&storage, workers, true);
    for (uint32_t i = 0; i < WORKERS; i++) {
        assert_int_equal(workers[i].status, STATUS_OK);
        assert_int_equal(workers[i].files, CHAINS * FILES);
    }
    assert_int_equal(storage.reads, 2 * CHAINS * FILES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_is_read_once), cmocka_unit_test(a_worker_that_fails_holds_nobody_up), cmocka_unit_test(all_may_fail),
        cmocka_unit_test(all_hear_of_damage),     cmocka_unit_test(one_that_comes_late_reads_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
