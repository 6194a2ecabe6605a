/* Rows written into files by a job that is stopped at any call to the file system, once in its first attempt and once more in the next, with
 * or without a power cut, and then runs to its end: each row is in the files once, none was shown before a checkpoint held it, and nothing is
 * left over but what is others'. */
#include "../support/batches.h"
#include "../support/tables.h"

#include "../../faults/fault_files.h"

#include "connectors/filesystem/filesystem.h"

enum { WORKERS_MAX = 3, ROWS = 24, TICK_ROWS = 3, TICKS_PER_CHECKPOINT = 2 };

/* What outlives a process: the files, and the last complete checkpoint. */
struct world {
    struct table table;
    struct fault_files files;
    bool partitioned, overwrite;
    void *shared; /* of the workers of an attempt */
    uint32_t attempts;
    uint64_t checkpoint;
    struct text_builder states[WORKERS_MAX];
    uint32_t state_count;
    int32_t state_rows; /* covered by it */
    bool done;
};
struct crew {
    struct sink *sinks[WORKERS_MAX];
    struct sink_context contexts[WORKERS_MAX];
    char statement[32];
    uint32_t count;
};

static const char *const partition_names[] = {"s"};

static void world_open(struct world *world, bool partitioned, bool overwrite)
{
    char backups[128], real[128];
    memset(world, 0, sizeof *world);
    table_open(&world->table, "csv");
    if (access("/dev/shm", W_OK) == 0) { /* syncs cost nothing there */
        rmdir(world->table.folder);
        strcpy(world->table.folder, "/dev/shm/spate-test-XXXXXX");
        assert_non_null(mkdtemp(world->table.folder));
    }
    snprintf(backups, sizeof backups, "%s/backups", world->table.folder);
    snprintf(real, sizeof real, "%s/table", world->table.folder);
    assert_int_equal(mkdir(backups, 0755), 0);
    world->table.values[1] = arena_text(world->table.arena, real, strlen(real));
    table_set(&world->table, "sink.rolling-policy.file-size", "20 b");
    table_set(&world->table, "sink.partition-commit.policy.kind", "success-file");
    fault_files_open(&world->files, backups);
    world->partitioned = partitioned;
    world->overwrite = overwrite;
    put_file(&world->table, "table/.part-0123456789abcdef-x-0-0.inprogress", "theirs");
    put_file(&world->table, "table/part-theirs", overwrite && !partitioned ? "99\n" : "");
}

static void world_close(struct world *world)
{
    for (uint32_t i = 0; i < WORKERS_MAX; i++) {
        text_builder_close(&world->states[i]);
    }
    fault_files_close(&world->files);
    table_close(&world->table);
}

static enum status crew_open(struct crew *crew, struct world *world, uint32_t count, struct error *err)
{
    static const struct type *const types[] = {&type_int, &type_string};
    static const char *const names[] = {"id", "s"};
    static const struct type row = {.kind = TYPE_ROW, .child_count = 2, .children = types, .names = names};
    memset(crew, 0, sizeof *crew);
    snprintf(crew->statement, sizeof crew->statement, "attempt-%u", world->attempts++);
    for (; crew->count < count; crew->count++) {
        crew->contexts[crew->count] = (struct sink_context){.arena = world->table.arena,
                                                            .budget = &world->table.budget,
                                                            .clock = &clock_system,
                                                            .zone = time_zone_utc,
                                                            .table = "t",
                                                            .row = &row,
                                                            .partition_columns = world->partitioned ? partition_names : NULL,
                                                            .partition_count = world->partitioned,
                                                            .options = &world->table.options,
                                                            .worker = crew->count,
                                                            .worker_count = count,
                                                            .overwrite = world->overwrite,
                                                            .statement_id = crew->statement,
                                                            .owner = "job-0",
                                                            .files = &world->files.base,
                                                            .shared = &world->shared};
        TRY(sink_open(&crew->contexts[crew->count], &crew->sinks[crew->count], err));
    }
    return STATUS_OK;
}

static void crew_close(struct crew *crew)
{
    for (uint32_t i = 0; i < crew->count; i++) {
        crew->sinks[i]->type->close(crew->sinks[i]);
    }
}

static enum status write_row(struct world *world, struct sink *sink, int32_t id, struct error *err)
{
    struct batch batch;
    const char *key = id % 5 == 0 ? "five" : "others";
    require(batch_init(&batch, 2, err), err);
    require(vector_create(&world->table.budget, &type_int, 1, &batch.columns[0], err), err);
    require(vector_create(&world->table.budget, &type_string, 1, &batch.columns[1], err), err);
    vector_int32(&batch.columns[0])[0] = id;
    vector_strings(&batch.columns[1])[0] = string_view_make(key, strlen(key));
    batch.count = 1;
    enum status status = sink->type->write(sink, &batch, NULL, err);
    batch_release(&batch);
    return status;
}

/* The checkpoint counts from the moment when all have prepared. */
static enum status checkpoint(struct world *world, struct crew *crew, int32_t rows, struct error *err)
{
    uint64_t number = world->checkpoint + 1 + (uint64_t)rows % 2;
    struct text_builder states[WORKERS_MAX] = {{0}};
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < crew->count && status == STATUS_OK; i++) {
        status = crew->sinks[i]->type->commit->prepare(crew->sinks[i], number, &states[i], err);
    }
    for (uint32_t i = 0; i < WORKERS_MAX; i++) {
        if (status == STATUS_OK) {
            text_builder_close(&world->states[i]);
            world->states[i] = states[i];
        } else {
            text_builder_close(&states[i]);
        }
    }
    TRY(status);
    world->checkpoint = number;
    world->state_count = crew->count;
    world->state_rows = rows;
    for (uint32_t again = 0; again < 2; again++) {
        for (uint32_t i = 0; i < crew->count; i++) {
            TRY(crew->sinks[i]->type->commit->committed(crew->sinks[i], number, err));
        }
    }
    return STATUS_OK;
}

static enum status crew_run(struct world *world, struct crew *crew, struct error *err)
{
    for (uint32_t i = 0; i < world->state_count; i++) {
        struct text state = {world->states[i].bytes, world->states[i].length};
        TRY(crew->sinks[0]->type->commit->restore(crew->sinks[0], state, err));
    }
    int32_t rows = world->state_rows;
    for (uint32_t tick = 1; rows < ROWS; tick++) {
        for (uint32_t n = 0; n < TICK_ROWS; n++, rows++) {
            TRY(write_row(world, crew->sinks[(uint32_t)rows % crew->count], rows, err));
        }
        for (uint32_t i = 0; i < crew->count; i++) {
            TRY(crew->sinks[i]->type->finish_tick(crew->sinks[i], rows == ROWS ? WATERMARK_END : WATERMARK_NONE, err));
        }
        if (tick % TICKS_PER_CHECKPOINT == 0) {
            TRY(checkpoint(world, crew, rows, err));
        }
    }
    for (uint32_t i = 0; i < crew->count; i++) {
        TRY(crew->sinks[i]->type->finish(crew->sinks[i], err));
    }
    TRY(checkpoint(world, crew, ROWS, err));
    world->done = true;
    return STATUS_OK;
}

/* Each row below `limit` that is shown counts in seen; a row above is an error. */
static void look(const struct world *world, uint32_t *seen, int32_t limit)
{
    struct file_list list;
    struct error err;
    memset(seen, 0, ROWS * sizeof *seen);
    require(file_list_scan(&list, world->table.values[1], NULL, &err), &err);
    for (size_t i = 0; i < list.count; i++) {
        FILE *file = fopen(list.entries[i].path, "r");
        int id;
        assert_non_null(file);
        while (fscanf(file, "%d%*[^\n]", &id) == 1) {
            assert_true(id >= 0 && id < limit);
            seen[id]++;
        }
        fclose(file);
    }
    file_list_clear(&list);
}

/* An attempt that is stopped at a call; true: it ran to its end before. */
static bool attempt(struct world *world, uint32_t workers, uint32_t stop_at, bool power_cut)
{
    struct crew crew;
    struct error err = {0};
    uint32_t seen[ROWS];
    fault_files_set(&world->files, stop_at == 0 ? FAULT_NONE : FAULT_STOP, stop_at);
    enum status status = crew_open(&crew, world, workers, &err);
    if (status == STATUS_OK) {
        status = crew_run(world, &crew, &err);
    }
    if (stop_at == 0 && status != STATUS_OK) {
        fail_msg("%s", err.text);
    }
    bool stopped = status != STATUS_OK;
    crew_close(&crew);
    fault_files_set(&world->files, FAULT_NONE, 0);
    if (stopped && power_cut) {
        fault_files_power_cut(&world->files);
    }
    if (!world->overwrite) {
        look(world, seen, stopped ? world->state_rows : ROWS);
    }
    return !stopped;
}

static bool count_name(void *context, const char *name, bool is_folder)
{
    uint32_t *counts = context;
    counts[0] += !is_folder && strncmp(name, ".part", 5) == 0;
    counts[1] += strcmp(name, "_SUCCESS") == 0;
    return true;
}

/* Hidden part files and success files of a folder. */
static void count_names(const struct world *world, const char *folder, uint32_t *counts)
{
    char path[256];
    snprintf(path, sizeof path, "%s%s", world->table.values[1], folder);
    int result = file_system_real.list(&file_system_real, path, count_name, counts);
    assert_true(result == 0 || !world->partitioned);
}

static void check_end(const struct world *world)
{
    uint32_t seen[ROWS];
    look(world, seen, ROWS);
    for (int32_t id = 0; id < ROWS; id++) {
        assert_int_equal(seen[id], 1);
    }
    uint32_t counts[2] = {0};
    count_names(world, "", counts);
    count_names(world, "/s=five", counts);
    count_names(world, "/s=others", counts);
    assert_int_equal(counts[0], 1); /* another job's */
    assert_int_equal(counts[1], world->partitioned ? 2 : 0);
}

static void stop_everywhere(bool partitioned, bool overwrite, bool power_cut)
{
    uint64_t random = 20261130;
    bool first_ends = false;
    uint32_t crashes = 0;
    for (uint32_t at = 1; !first_ends; at++) {
        struct world world;
        world_open(&world, partitioned, overwrite);
        first_ends = attempt(&world, 1 + at % WORKERS_MAX, at, power_cut);
        for (uint32_t again = 0; again < 2 && !world.done; again++) {
            crashes++;
            (void)attempt(&world, 1 + (uint32_t)next_random(&random) % WORKERS_MAX,
                          1 + (uint32_t)next_random(&random) % (again == 0 ? 40 : 200), power_cut);
        }
        attempt(&world, 1 + (uint32_t)next_random(&random) % WORKERS_MAX, 0, false);
        check_end(&world);
        world_close(&world);
    }
    assert_true(crashes > 100);
}

static void every_row_is_in_the_files_once_wherever_the_job_stops(void **state)
{
    (void)state;
    stop_everywhere(false, false, false);
}

static void every_row_is_in_the_partitions_once_wherever_the_job_stops(void **state)
{
    (void)state;
    stop_everywhere(true, false, false);
}

static void every_row_is_in_the_files_once_wherever_the_power_fails(void **state)
{
    (void)state;
    stop_everywhere(false, false, true);
    stop_everywhere(true, false, true);
}

static void insert_overwrite_keeps_what_earlier_attempts_showed(void **state)
{
    (void)state;
    stop_everywhere(false, true, false);
}

static void a_call_that_fails_loses_and_doubles_nothing(void **state)
{
    (void)state;
    static const enum fault faults[] = {FAULT_NO_SPACE, FAULT_SYNC, FAULT_SHORT_WRITES};
    for (uint32_t i = 0; i < ARRAY_LENGTH(faults); i++) {
        for (uint32_t at = 1; at < 60; at += 1 + at / 8) {
            struct world world;
            struct crew crew;
            struct error err;
            world_open(&world, true, false);
            fault_files_set(&world.files, faults[i], at);
            if (crew_open(&crew, &world, 2, &err) == STATUS_OK && crew_run(&world, &crew, &err) != STATUS_OK) {
                assert_int_equal(err.code, ERROR_FILE_UNWRITABLE);
            }
            crew_close(&crew);
            fault_files_set(&world.files, FAULT_NONE, 0);
            attempt(&world, 2, 0, false);
            check_end(&world);
            world_close(&world);
        }
    }
}

static enum status restore_again(struct world *world, struct error *err)
{
    struct crew crew;
    enum status status = crew_open(&crew, world, 1, err);
    for (uint32_t i = 0; i < world->state_count && status == STATUS_OK; i++) {
        struct text state = {world->states[i].bytes, world->states[i].length};
        status = crew.sinks[0]->type->commit->restore(crew.sinks[0], state, err);
    }
    crew_close(&crew);
    return status;
}

/* The state lists an open file of 7 bytes: "0,five\n". */
static void one_checkpoint(struct world *world, struct crew *crew)
{
    struct error err;
    require(crew_open(crew, world, 1, &err), &err);
    require(write_row(world, crew->sinks[0], 0, &err), &err);
    require(crew->sinks[0]->type->commit->prepare(crew->sinks[0], 1, &world->states[0], &err), &err);
    world->state_count = 1;
}

static void run_command(const struct world *world, const char *what)
{
    char command[256];
    snprintf(command, sizeof command, "cd '%s' && %s", world->table.values[1], what);
    assert_int_equal(system(command), 0);
}

static void what_a_checkpoint_lists_must_be_there(void **state)
{
    (void)state;
    struct world world;
    struct crew crew;
    struct error err = {0};
    world_open(&world, false, false);
    one_checkpoint(&world, &crew);
    crew_close(&crew);
    run_command(&world, "for f in .part-*attempt-0*; do cp $f ../kept; : > $f; done");
    assert_int_not_equal(restore_again(&world, &err), STATUS_OK);
    assert_int_equal(err.code, ERROR_OUTPUT_LOST);
    assert_non_null(strstr(err.text, "is shorter now; when it was saved it had 7 bytes"));
    run_command(&world, "rm .part-*attempt-0*");
    assert_int_not_equal(restore_again(&world, &err), STATUS_OK);
    assert_non_null(strstr(err.text, "is gone"));
    text_builder_clear(&world.states[0]);
    text_append_text(&world.states[0], "filesystem-sink/1 checkpoint=1 part=99:part/1 folder=0:");
    assert_int_not_equal(restore_again(&world, &err), STATUS_OK);
    assert_non_null(strstr(err.text, "the saved state of the sink is broken"));
    text_builder_clear(&world.states[0]);
    text_append_text(&world.states[0], "partition/1 ended=1");
    assert_int_not_equal(restore_again(&world, &err), STATUS_OK);
    assert_non_null(strstr(err.text, "is none of 'filesystem-sink/1'"));
    world_close(&world);
}

static void a_file_that_is_gone_is_missed_unless_it_was_shown(void **state)
{
    (void)state;
    struct world world;
    struct crew crew;
    struct error err = {0};
    world_open(&world, false, false);
    one_checkpoint(&world, &crew);
    for (int32_t id = 1; id < 12; id++) {
        require(write_row(&world, crew.sinks[0], id, &err), &err);
    }
    text_builder_clear(&world.states[0]);
    require(crew.sinks[0]->type->commit->prepare(crew.sinks[0], 2, &world.states[0], &err), &err);
    crew_close(&crew);
    run_command(&world, "mkdir ../kept && mv .part-*attempt-0-0-00000001.inprogress ../kept");
    assert_int_not_equal(restore_again(&world, &err), STATUS_OK);
    assert_int_equal(err.code, ERROR_OUTPUT_LOST);
    assert_non_null(strstr(err.text, "-00000001.inprogress' is gone, and was not shown"));
    run_command(&world, "test -z \"$(ls | grep attempt)\""); /* nothing is shown by halves */
    run_command(&world, "mv ../kept/.part* .");
    require(restore_again(&world, &err), &err);
    run_command(&world, "rm part-*attempt-0*"); /* somebody reads them, and takes them away */
    require(restore_again(&world, &err), &err);
    run_command(&world, "rm .shown-*");
    assert_int_not_equal(restore_again(&world, &err), STATUS_OK);
    world_close(&world);
}

static void what_was_shown_by_a_commit_may_be_gone(void **state)
{
    (void)state;
    struct world world;
    struct crew crew;
    struct error err;
    world_open(&world, true, false);
    one_checkpoint(&world, &crew);
    require(crew.sinks[0]->type->finish(crew.sinks[0], &err), &err);
    text_builder_clear(&world.states[0]);
    require(crew.sinks[0]->type->commit->prepare(crew.sinks[0], 2, &world.states[0], &err), &err);
    require(crew.sinks[0]->type->commit->committed(crew.sinks[0], 2, &err), &err);
    crew_close(&crew);
    run_command(&world, "rm s=five/part-*");
    require(restore_again(&world, &err), &err);
    world_close(&world);
}

static void a_checkpoint_that_fails_is_covered_by_the_next(void **state)
{
    (void)state;
    struct world world;
    struct crew crew;
    struct error err;
    uint32_t seen[ROWS];
    struct text_builder ignored = {0};
    world_open(&world, false, false);
    one_checkpoint(&world, &crew);
    const struct sink_commit *commit = crew.sinks[0]->type->commit;
    for (int32_t id = 1; id < 12; id++) {
        require(write_row(&world, crew.sinks[0], id, &err), &err);
    }
    require(commit->committed(crew.sinks[0], 1, &err), &err);
    look(&world, seen, 0); /* ended after checkpoint 1 */
    require(commit->prepare(crew.sinks[0], 2, &ignored, &err), &err);
    require(commit->prepare(crew.sinks[0], 3, &ignored, &err), &err);
    require(commit->committed(crew.sinks[0], 1, &err), &err);
    look(&world, seen, 0);
    require(commit->committed(crew.sinks[0], 3, &err), &err);
    look(&world, seen, 12);
    assert_int_equal(seen[0], 1);
    crew_close(&crew);
    text_builder_close(&ignored);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_in_the_files_once_wherever_the_job_stops),
        cmocka_unit_test(every_row_is_in_the_partitions_once_wherever_the_job_stops),
        cmocka_unit_test(every_row_is_in_the_files_once_wherever_the_power_fails),
        cmocka_unit_test(insert_overwrite_keeps_what_earlier_attempts_showed),
        cmocka_unit_test(a_call_that_fails_loses_and_doubles_nothing),
        cmocka_unit_test(what_a_checkpoint_lists_must_be_there),
        cmocka_unit_test(a_file_that_is_gone_is_missed_unless_it_was_shown),
        cmocka_unit_test(what_was_shown_by_a_commit_may_be_gone),
        cmocka_unit_test(a_checkpoint_that_fails_is_covered_by_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
