#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/job_records.h"
#include "task_owner.h"

/* A task whose owners change: whatever former owners still do, what is shown is the batch answer, each row once. */

enum { ROWS = 300, FILES = 6 };
static struct task_world world;
static char root[64], job[JOB_ID_MAX + 1], sql[2000];
static char storage_setting[128];
static const char *settings[8];
static struct error err;

static void write_input(void)
{
    char path[160];
    snprintf(path, sizeof path, "%s/in", root);
    assert_int_equal(mkdir(path, 0755), 0);
    for (int f = 0; f < FILES; f++) {
        snprintf(path, sizeof path, "%s/in/%d.csv", root, f);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        for (int i = f * ROWS / FILES; i < (f + 1) * ROWS / FILES; i++) {
            fprintf(file, "%d,%d\n%d,%d\n", i, i % 7, (i * 7) % ROWS, (i * 7) % ROWS % 7); /* ROWS and 7 share no factor: each id twice */
        }
        fclose(file);
    }
}

static void create_job(void)
{
    struct storage *storage;
    struct job_record record = {.name = "orders", .desired = DESIRED_RUNNING};
    struct arena *arena = arena_create(NULL, "test");
    enum object_result result;
    char uri[80];
    const struct object_option option = {"storage.uri", uri};
    const struct storage_settings where = {.options = &option, .option_count = 1};
    snprintf(uri, sizeof uri, "%s/store", root);
    assert_int_equal(storage_open(&where, &storage, &err), STATUS_OK);
    assert_int_equal(job_record_create(storage, &record, arena, &result, &err), STATUS_OK);
    memcpy(job, record.id, sizeof job);
    storage_close(storage);
    arena_destroy(arena);
}

static int open_world(void **state)
{
    (void)state;
    task_world_open(&world);
    snprintf(root, sizeof root, "/tmp/spate-task-XXXXXX");
    assert_non_null(mkdtemp(root));
    write_input();
    create_job();
    snprintf(storage_setting, sizeof storage_setting, "storage.uri=%s/store", root);
    settings[0] = storage_setting;
    settings[1] = "execution.checkpointing.interval=1 ms";
    settings[2] = "pipeline.tick.rows=10";
    settings[3] = "execution.checkpointing.tolerable-failed-checkpoints=100";
    settings[4] = "restart-strategy.type=none";
    settings[5] = NULL;
    snprintf(sql, sizeof sql,
             "CREATE TABLE input (id BIGINT, k BIGINT) WITH ('connector' = 'filesystem', 'path' = '%s/in', 'format' = 'csv');"
             "CREATE TABLE output (id BIGINT, n BIGINT) WITH ('connector' = 'filesystem', 'path' = '%s/out', 'format' = 'csv');"
             "INSERT INTO output SELECT DISTINCT id, k + 1 FROM input;",
             root, root);
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    char command[100];
    task_world_close(&world);
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static struct task_owner *owner(uint64_t epoch)
{
    return task_owner_create(&world, job, "s0.3", epoch, settings, sql);
}

static void run_to_end(struct task_owner *one)
{
    const char *text;
    while (task_owner_step(one) != OWNER_ENDED) {
        usleep(200);
    }
    enum status status = task_owner_status(one, &text);
    if (status != STATUS_OK) {
        fail_msg("the owner fails: %s", text);
    }
}

/* ---- what is shown ---- */

struct shown {
    uint32_t times[ROWS];
    uint32_t rows, files;
};

static void read_shown(const char *folder, struct shown *shown)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", root, folder);
    DIR *opened = opendir(path);
    for (struct dirent *at; opened != NULL && (at = readdir(opened)) != NULL;) {
        int id, n;
        if (at->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s/%s", root, folder, at->d_name);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        while (fscanf(file, "%d,%d\n", &id, &n) == 2) {
            assert_in_range(id, 0, ROWS - 1);
            assert_int_equal(n, id % 7 + 1);
            shown->times[id]++;
            shown->rows++;
        }
        assert_true(feof(file));
        fclose(file);
        shown->files++;
    }
    if (opened != NULL) {
        closedir(opened);
    }
}

/* Each row at most once, at any time; `all`: each once. */
static uint32_t check_shown(bool all)
{
    struct shown shown = {0};
    read_shown("out", &shown);
    read_shown("taken", &shown);
    for (int i = 0; i < ROWS; i++) {
        if (shown.times[i] > 1 || (all && shown.times[i] == 0)) {
            fail_msg("row %d is shown %u times", i, shown.times[i]);
        }
    }
    return shown.rows;
}

static void task_that_nobody_disturbs_shows_each_row_once(void **state)
{
    (void)state;
    struct task_owner *one = owner(1);
    run_to_end(one);
    assert_int_equal(check_shown(true), ROWS);
    task_owner_kill(one);
    struct task_owner *again = owner(2);
    run_to_end(again);
    assert_non_null(strstr(task_owner_message(again), "has finished"));
    assert_int_equal(check_shown(true), ROWS);
    task_owner_kill(again);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(task_that_nobody_disturbs_shows_each_row_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
