/* A source node that is stopped between two ticks, and others that go on from its states, with as many workers as they like, emit each row
 * once. */
#include "../support/circuits.h"
#include "../support/tables.h"

#include "circuit/operators/source_node.h"

enum { WORKERS_MAX = 3, PARTITIONS = 4, TICK_ROWS = 3 };

struct team {
    struct wakeup wakeup;
    struct harness workers[WORKERS_MAX];
    struct node *nodes[WORKERS_MAX];
    struct source *source;
    struct source_spec spec;
    uint32_t count;
};

static void team_open(struct team *team, struct table *table, const struct source_context *context, uint32_t workers)
{
    *team = (struct team){.count = workers};
    wakeup_init(&team->wakeup);
    require(source_open(context, &team->source, &table->err), &table->err);
    team->spec = (struct source_spec){.source = team->source};
    for (uint32_t i = 0; i < workers; i++) {
        struct harness *harness = &team->workers[i];
        harness_open(harness);
        harness->circuit->worker = i;
        harness->circuit->worker_count = workers;
        harness->circuit->wakeup = &team->wakeup;
        harness->circuit->settings.tick_rows = TICK_ROWS;
        harness->circuit->settings.ring_bytes = 1 << 20;
        require(source_node_create(harness->circuit, &team->spec, &team->nodes[i], &table->err), &table->err);
        harness_capture(harness, team->nodes[i]);
    }
}

static void team_close(struct team *team)
{
    for (uint32_t i = 0; i < team->count; i++) {
        harness_close(&team->workers[i]);
    }
    source_close(team->source);
    wakeup_destroy(&team->wakeup);
}

/* A tick of all workers that takes rows; true: the input has ended. */
static bool team_tick(struct team *team)
{
    bool ended = true;
    struct error err;
    for (uint32_t i = 0; i < team->count; i++) {
        enum pull_state state = PULL_IDLE;
        for (int tries = 0; state == PULL_IDLE && tries < 5000; tries++) {
            require(circuit_pull(team->workers[i].circuit, &team->workers[i].tick, &state, &err), &err);
            usleep(state == PULL_IDLE ? 200 : 0);
        }
        ended = ended && state == PULL_ENDED;
        require(harness_finish(&team->workers[i], WATERMARK_NONE, false, &err), &err);
    }
    return ended;
}

static void team_save(struct team *team, struct text_builder *states)
{
    struct error err;
    assert_int_equal(team->source->partition_count, PARTITIONS);
    for (uint32_t p = 0; p < PARTITIONS; p++) {
        require(source_node_save_partition(team->nodes[p % team->count], p, &states[p], &err), &err);
    }
}

static void team_restore(struct team *team, const struct text_builder *states)
{
    struct error err;
    for (uint32_t p = 0; p < PARTITIONS; p++) {
        require(source_node_restore_partition(team->nodes[p % team->count], p, states[p].bytes, states[p].length, &err), &err);
    }
}

static void add_rows(struct team *team, uint32_t *seen)
{
    for (uint32_t i = 0; i < team->count; i++) {
        for (uint32_t r = 0; r < team->workers[i].capture->count; r++) {
            const struct captured *row = &team->workers[i].capture->rows[r];
            seen[atoi(row->text)] += (uint32_t)row->weight;
        }
    }
}

static void make_files(struct table *table, uint32_t *rows)
{
    static const char *const names[PARTITIONS] = {"a.csv", "b.csv.gz", "c.csv", "d.csv"};
    static const uint32_t counts[PARTITIONS] = {10, 17, 0, 4};
    struct text_builder text = {0};
    table_set(table, "source.partition-by-file", "true");
    *rows = 0;
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        text_builder_clear(&text);
        text_append(&text, "", 0);
        for (uint32_t r = 0; r < counts[i]; r++) {
            text_append_format(&text, "%u,\"a\ntext\"\n", (*rows)++);
        }
        put_file(table, names[i], text.bytes);
    }
    text_builder_close(&text);
}

static void states_are_restored_by_any_number_of_workers(void **state)
{
    (void)state;
    struct table table;
    uint32_t rows;
    table_open(&table, "csv");
    make_files(&table, &rows);
    struct source_context context = context_of(&table, pair_columns, 2);
    for (uint32_t ticks = 0; ticks < 9; ticks++) {
        for (uint32_t workers = 1; workers <= WORKERS_MAX; workers++) {
            struct text_builder states[PARTITIONS] = {{0}}, again[PARTITIONS] = {{0}};
            uint32_t seen[64] = {0};
            struct team first, second;
            team_open(&first, &table, &context, 1 + ticks % WORKERS_MAX);
            for (uint32_t t = 0; t < ticks; t++) {
                (void)team_tick(&first);
            }
            team_save(&first, states);
            add_rows(&first, seen);
            team_close(&first);
            team_open(&second, &table, &context, workers);
            team_restore(&second, states);
            team_save(&second, again); /* before a tick: as it was */
            for (uint32_t p = 0; p < PARTITIONS; p++) {
                assert_string_equal(again[p].bytes, states[p].bytes);
            }
            while (!team_tick(&second)) {
            }
            add_rows(&second, seen);
            for (uint32_t r = 0; r < rows; r++) {
                assert_int_equal(seen[r], 1);
            }
            team_close(&second);
            for (uint32_t p = 0; p < PARTITIONS; p++) {
                text_builder_close(&states[p]);
                text_builder_close(&again[p]);
            }
        }
    }
    table_close(&table);
}

static void a_partition_that_has_ended_stays_ended(void **state)
{
    (void)state;
    struct table table;
    uint32_t rows;
    table_open(&table, "csv");
    make_files(&table, &rows);
    struct source_context context = context_of(&table, pair_columns, 2);
    struct text_builder states[PARTITIONS] = {{0}};
    struct team team;
    team_open(&team, &table, &context, 1);
    while (!team_tick(&team)) {
    }
    team_save(&team, states);
    team_close(&team);
    team_open(&team, &table, &context, 2);
    team_restore(&team, states);
    while (!team_tick(&team)) {
    }
    assert_int_equal(team.workers[0].capture->count + team.workers[1].capture->count, 0);
    assert_int_equal(team.nodes[1]->watermark, WATERMARK_END);
    team_close(&team);
    for (uint32_t p = 0; p < PARTITIONS; p++) {
        assert_string_equal(states[p].bytes, "partition/1 ended=1");
        text_builder_close(&states[p]);
    }
    table_close(&table);
}

/* Also of a partition that has ended: what the other piece had was not all. */
static void a_piece_does_not_go_on_from_the_state_of_another(void **state)
{
    (void)state;
    static const struct {
        uint32_t piece, pieces;
    } pieces[] = {{0, 0}, {0, 1}, {0, 2}, {1, 2}, {0, 4}};
    struct text_builder states[ARRAY_LENGTH(pieces)][2] = {{{0}}};
    struct table table;
    uint32_t rows;
    struct error err;
    table_open(&table, "csv");
    make_files(&table, &rows);
    struct source_context context = context_of(&table, pair_columns, 2);
    for (uint32_t i = 0; i < ARRAY_LENGTH(pieces); i++) {
        struct team team;
        context.piece = pieces[i].piece;
        context.pieces = pieces[i].pieces;
        team_open(&team, &table, &context, 1);
        (void)team_tick(&team);
        require(source_node_save_partition(team.nodes[0], 0, &states[i][0], &err), &err);
        while (!team_tick(&team)) {
        }
        require(source_node_save_partition(team.nodes[0], 0, &states[i][1], &err), &err);
        assert_non_null(strstr(states[i][1].bytes, "ended=1"));
        team_close(&team);
    }
    for (uint32_t i = 0; i < ARRAY_LENGTH(pieces); i++) {
        for (uint32_t k = 0; k < 2 * ARRAY_LENGTH(pieces); k++) {
            const struct text_builder *saved = &states[k / 2][k % 2];
            struct team team;
            context.piece = pieces[i].piece;
            context.pieces = pieces[i].pieces;
            team_open(&team, &table, &context, 1);
            enum status status = source_node_restore_partition(team.nodes[0], 0, saved->bytes, saved->length, &err);
            assert_int_equal(status == STATUS_OK, k / 2 == i);
            assert_true(status == STATUS_OK || strstr(err.text, "a job keeps its number of tasks") != NULL);
            team_close(&team);
        }
    }
    for (uint32_t i = 0; i < ARRAY_LENGTH(pieces); i++) {
        text_builder_close(&states[i][0]);
        text_builder_close(&states[i][1]);
    }
    table_close(&table);
}

static void a_state_that_does_not_fit_is_an_error_of_the_first_pull(void **state)
{
    (void)state;
    static const char broken[] = "partition/1 ended=0 place=9:datagen/1 history=0:";
    struct table table;
    uint32_t rows;
    struct error err;
    enum pull_state pulled;
    table_open(&table, "csv");
    make_files(&table, &rows);
    struct source_context context = context_of(&table, pair_columns, 2);
    struct team team;
    team_open(&team, &table, &context, 1);
    require(source_node_restore_partition(team.nodes[0], 2, broken, strlen(broken), &err), &err);
    assert_int_not_equal(source_node_restore_partition(team.nodes[0], 1, "partition/9", 11, &err), STATUS_OK);
    assert_non_null(strstr(err.text, "'partition/9' is none of 'partition/1'"));
    assert_int_not_equal(circuit_pull(team.workers[0].circuit, &team.workers[0].tick, &pulled, &err), STATUS_OK);
    assert_non_null(strstr(err.text, "'datagen/1' is none of 'filesystem/1'"));
    assert_non_null(strstr(err.text, "in table 't'"));
    team_close(&team);
    table_close(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_restored_by_any_number_of_workers),
        cmocka_unit_test(a_partition_that_has_ended_stays_ended),
        cmocka_unit_test(a_piece_does_not_go_on_from_the_state_of_another),
        cmocka_unit_test(a_state_that_does_not_fit_is_an_error_of_the_first_pull),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
