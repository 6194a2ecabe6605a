/* Held back errors over restarts at any parallelism: files of all workers, restored by others, withdrawals that come to any of them. */
#include "../support/batches.h"

#include "base/hash.h"
#include "circuit/held_errors.h"

enum { WORKERS_MAX = 3, KEYS = 40 };

struct team { /* the held errors of one operator on the workers of a job */
    struct budget budget;
    struct evaluation evaluation;
    uint32_t workers;
    struct held_meeting *meeting;
    struct circuit *circuits[WORKERS_MAX];
    struct held_errors *held[WORKERS_MAX];
};
struct files {
    struct text_builder bytes[WORKERS_MAX];
    uint32_t count;
};
static const struct tick last_tick = {.end = true, .bounded = true};

static void team_open(struct team *team, uint32_t workers)
{
    struct error err;
    static const struct pipeline_settings settings = {.max_parallelism = 128};
    memset(team, 0, sizeof *team);
    budget_init(&team->budget, NULL, "test", BUDGET_UNLIMITED);
    team->evaluation.budget = &team->budget;
    team->workers = workers;
    if (workers > 1) {
        require(held_meeting_create(workers, &team->meeting, &err), &err);
    }
    for (uint32_t w = 0; w < workers; w++) {
        struct held_errors *other;
        require(circuit_create(&team->budget, &team->evaluation, NULL, &settings, NULL, w, workers, &team->circuits[w], &err), &err);
        team->circuits[w]->held_meeting = team->meeting;
        require(held_errors_create(team->circuits[w], &other, &err), &err);
        held_errors_destroy(other); /* of another operator */
        require(held_errors_create(team->circuits[w], &team->held[w], &err), &err);
    }
}

static void team_close(struct team *team)
{
    for (uint32_t w = 0; w < team->workers; w++) {
        held_errors_destroy(team->held[w]);
        circuit_destroy(team->circuits[w]);
    }
    held_meeting_destroy(team->meeting);
    assert_int_equal(team->budget.used_bytes, 0);
}

static void team_add(struct team *team, uint32_t worker, uint64_t key, int64_t weight)
{
    struct error error, err;
    (void)!error_set_at(&error, ERROR_INVALID_ARGUMENT, 3, 14, "the row of key %u fails", (uint32_t)key);
    require(held_errors_add_key(team->held[worker], hash_uint64(key), weight, &error, &err), &err);
}

/* How many workers raise at the end of the tick. */
static uint32_t team_raises(struct team *team, struct error *raised)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < team->workers; w++) {
        struct error err;
        if (held_errors_check(team->held[w], &last_tick, &err) != STATUS_OK) {
            *raised = err;
            count++;
        }
    }
    return count;
}

static enum status put_bytes(void *context, const void *bytes, size_t length, struct error *err)
{
    (void)err;
    text_append(context, bytes, length);
    return STATUS_OK;
}

static struct files team_save(struct team *team)
{
    struct files files = {.count = team->workers};
    for (uint32_t w = 0; w < team->workers; w++) {
        struct error err;
        struct snapshot_writer *writer;
        require(snapshot_writer_create(&team->budget, true, 0, &writer, &err), &err);
        require(snapshot_begin(writer, "calc-1", &held_errors_table, 1, &err), &err);
        require(held_errors_save(team->held[w], writer, 0, &err), &err);
        require(snapshot_finish(writer, put_bytes, &files.bytes[w], &err), &err);
        snapshot_writer_destroy(writer);
    }
    return files;
}

static const struct snapshot_table *find_held(void *context, const char *operator_id, const char *table, void **handle)
{
    assert_string_equal(operator_id, "calc-1");
    assert_string_equal(table, "held");
    *handle = context;
    return &held_errors_table;
}

static enum status take_held(void *context, void *handle, const struct snapshot_table *table, const struct snapshot_rows *rows,
                             struct error *err)
{
    (void)context, (void)table;
    return held_errors_restore(handle, rows, err);
}

/* Every worker reads the files of all. */
static void team_restore(struct team *team, struct files *files)
{
    for (uint32_t w = 0; w < team->workers; w++) {
        for (uint32_t chain = 0; chain < files->count; chain++) {
            struct error err;
            struct snapshot_reader *reader;
            const struct snapshot_target target = {.find = find_held,
                                                   .take = take_held,
                                                   .context = team->held[w],
                                                   .budget = &team->budget,
                                                   .worker = w,
                                                   .worker_count = team->workers,
                                                   .max_parallelism = 128};
            require(snapshot_reader_create(&target, chain, &reader, &err), &err);
            snapshot_file_begin(reader, "file", true);
            require(snapshot_file_bytes(reader, files->bytes[chain].bytes, files->bytes[chain].length, &err), &err);
            require(snapshot_file_end(reader, &err), &err);
            snapshot_reader_destroy(reader);
        }
    }
    for (uint32_t chain = 0; chain < files->count; chain++) {
        text_builder_close(&files->bytes[chain]);
    }
}

static void team_restart(struct team *team, uint32_t workers)
{
    struct files files = team_save(team);
    team_close(team);
    team_open(team, workers);
    team_restore(team, &files);
}

static void row_withdrawn_on_another_worker_after_a_restart_is_forgotten(void **state)
{
    (void)state;
    struct error raised;
    for (uint32_t before = 1; before <= WORKERS_MAX; before++) {
        for (uint32_t after = 1; after <= WORKERS_MAX; after++) {
            struct team team;
            team_open(&team, before);
            for (uint32_t key = 0; key < KEYS; key++) {
                team_add(&team, key % before, key, 1);
            }
            team_restart(&team, after);
            for (uint32_t key = 0; key < KEYS; key++) {
                team_add(&team, (key + 1) % after, key, -1);
            }
            assert_int_equal(team_raises(&team, &raised), 0);
            team_close(&team);
        }
    }
}

static void row_that_stands_after_a_restart_is_raised_once_with_its_message(void **state)
{
    (void)state;
    struct error raised;
    for (uint32_t after = 1; after <= WORKERS_MAX; after++) {
        struct team team;
        team_open(&team, 2);
        team_add(&team, 0, 5, 1);
        team_add(&team, 1, 6, 1);
        team_restart(&team, after);
        team_add(&team, after - 1, 6, -1);
        struct error err;
        const struct tick amid = {.bounded = true};
        require(held_errors_check(team.held[0], &amid, &err), &err); /* bounded input has not ended */
        assert_int_equal(team_raises(&team, &raised), 1);
        assert_string_equal(raised.text, "the row of key 5 fails");
        assert_int_equal(raised.code, ERROR_INVALID_ARGUMENT);
        assert_int_equal(raised.status, error_info_find(ERROR_INVALID_ARGUMENT)->status);
        assert_int_equal(raised.line, 3);
        assert_int_equal(raised.column, 14);
        team_add(&team, 0, 5, -1);
        assert_int_equal(team_raises(&team, &raised), 0); /* the next tick is judged anew */
        team_close(&team);
    }
}

/* Runs of random parallelism; within one a row is always met by the same worker. */
static void rows_of_many_restarts_stand_as_their_weights_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t random = seed;
        int64_t weights[KEYS] = {0};
        struct team team;
        struct error raised;
        team_open(&team, 1);
        for (uint64_t run = 0; run < 8; run++) {
            bool emptied = next_random(&random) % 2 == 0, stands = false;
            for (uint32_t key = 0; key < KEYS; key++) {
                uint32_t worker = (uint32_t)(hash_uint64(key * 8 + run) % team.workers);
                int64_t weight = emptied ? -weights[key] : (int64_t)(next_random(&random) % 4) - 1;
                if (weight != 0) {
                    team_add(&team, worker, key, weight);
                }
                weights[key] += weight;
                stands = stands || weights[key] > 0;
            }
            assert_int_equal(team_raises(&team, &raised) > 0, stands);
            /* a worker that raised has not come to the others: its job is over, and restarts from what was saved */
            team_restart(&team, 1 + (uint32_t)(next_random(&random) % WORKERS_MAX));
        }
        team_close(&team);
    }
}

static void row_with_an_unknown_code_is_refused(void **state)
{
    (void)state;
    struct team team;
    struct error err;
    struct batch batch;
    static const struct type *const types[] = {&type_bigint, &type_bigint, &type_bigint, &type_bigint, &type_bigint, &type_string};
    static const int64_t rows[][1] = {{1}, {1}, {987654321}, {0}, {0}, {2}};
    const int64_t *columns[] = {rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]};
    const uint64_t id = 0;
    team_open(&team, 1);
    fill_batch(&team.budget, types, columns, ARRAY_LENGTH(types), 1, &batch);
    const struct snapshot_rows restored = {&batch, &id, 0};
    assert_int_equal(held_errors_restore(team.held[0], &restored, &err), STATUS_CORRUPT);
    batch_release(&batch);
    team_close(&team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_withdrawn_on_another_worker_after_a_restart_is_forgotten),
        cmocka_unit_test(row_that_stands_after_a_restart_is_raised_once_with_its_message),
        cmocka_unit_test(rows_of_many_restarts_stand_as_their_weights_say),
        cmocka_unit_test(row_with_an_unknown_code_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
