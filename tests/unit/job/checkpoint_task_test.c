#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/commit_record.h"
#include "storage/job_records.h"
#include "task_owner.h"

/* A task whose owners change: whatever former owners still do, what is shown is the batch answer, each row once. */

enum { ROWS = 1500, FILES = 6 };
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
    settings[2] = "pipeline.tick.rows=20";
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

/* ---- what the record says ---- */

static struct commit_record look(void)
{
    static const struct commit_record none;
    char prefix[JOB_ID_MAX + 8];
    bool found;
    struct commit_record record;
    struct arena *arena = arena_create(NULL, "test");
    snprintf(prefix, sizeof prefix, "jobs/%s", job);
    pthread_mutex_lock(&world.mutex);
    enum status status = commit_record_read(memory_session_of(world.registers), prefix, task_make(0, 3), arena, &found, &record, &err);
    pthread_mutex_unlock(&world.mutex);
    arena_destroy(arena);
    assert_int_equal(status, STATUS_OK);
    return found ? record : none;
}

static void fence(uint64_t epoch)
{
    char prefix[JOB_ID_MAX + 8];
    snprintf(prefix, sizeof prefix, "jobs/%s", job);
    pthread_mutex_lock(&world.mutex);
    enum status status = commit_record_fence(memory_session_of(world.registers), prefix, task_make(0, 3), epoch, &err);
    pthread_mutex_unlock(&world.mutex);
    assert_int_equal(status, STATUS_OK);
}

/* What it stores after the step has some time, so that there are many checkpoints. */
static void step_and_wait(struct task_owner *one)
{
    const char *text = "";
    uint64_t before = look().seq;
    if (task_owner_step(one) == OWNER_ENDED) {
        (void)!task_owner_status(one, &text);
        fail_msg("the owner ends too early: %s", text);
    }
    for (int i = 0; i < 20 && look().seq == before && task_owner_state(one) != OWNER_FROZEN; i++) {
        usleep(1000);
    }
}

/* Until so many of its checkpoints count. */
static void run_until(struct task_owner *one, uint64_t count)
{
    uint64_t before = look().seq;
    while (look().seq % COMMIT_SPAN < count || look().seq <= before) {
        step_and_wait(one);
    }
}

static void run_until_frozen(struct task_owner *one)
{
    while (task_owner_state(one) != OWNER_FROZEN) {
        step_and_wait(one);
    }
}

static void run_to_fence(struct task_owner *zombie)
{
    const char *text = "";
    while (task_owner_step(zombie) != OWNER_ENDED) {
        usleep(200);
    }
    enum status status = task_owner_status(zombie, &text);
    if (status != STATUS_FENCED) {
        fail_msg("a former owner ends with status %d: %s", (int)status, text);
    }
}

/* ---- one former owner ---- */

static void former_owner_that_was_only_about_to_begin_touches_nothing_of_the_next(void **state)
{
    (void)state;
    struct task_owner *former = owner(1), *next = owner(2);
    task_owner_step(former); /* it has taken the record, restored, and written nothing */
    run_until(next, 2);
    run_to_fence(former);
    run_to_end(next);
    check_shown(true);
    task_owner_kill(former);
    task_owner_kill(next);
}

static void former_owner_that_restored_late_touches_nothing_of_the_next(void **state)
{
    (void)state;
    struct task_owner *first = owner(1), *former = owner(2), *next = owner(3);
    run_until(first, 2);
    task_owner_kill(first);
    task_owner_step(former); /* restored what the first left */
    run_until(next, 2);
    uint32_t rows = check_shown(false);
    run_to_fence(former);
    assert_int_equal(check_shown(false), rows);
    run_to_end(next);
    check_shown(true);
    task_owner_kill(former);
    task_owner_kill(next);
}

static uint32_t count_manifests(void)
{
    char path[400];
    uint32_t count = 0;
    snprintf(path, sizeof path, "%s/store/v1+/jobs+/%s+/checkpoints+/s0.3+", root, job);
    DIR *opened = opendir(path);
    assert_non_null(opened);
    for (struct dirent *at; (at = readdir(opened)) != NULL;) {
        count += strstr(at->d_name, ".manifest.json") != NULL;
    }
    closedir(opened);
    return count;
}

static void frozen_in_its_commit(enum owner_fault fault, bool dies)
{
    struct task_owner *former = owner(1), *next = owner(2);
    run_until(former, 2);
    task_owner_fail_next(former, fault);
    run_until_frozen(former);
    uint32_t rows = check_shown(false);
    if (dies) {
        task_owner_kill(former);
        assert_int_equal(check_shown(false), rows);
    }
    run_until(next, 2);
    if (!dies) {
        run_to_fence(former);
        task_owner_kill(former);
    }
    run_to_end(next);
    check_shown(true);
    assert_true(count_manifests() <= 3); /* nothing of the former owner stays but what was kept */
    task_owner_kill(next);
}

static void former_owner_that_stored_a_manifest_and_comes_too_late_to_count_it_is_refused(void **state)
{
    (void)state;
    frozen_in_its_commit(OWNER_FREEZES_BEFORE, false);
}

static void former_owner_that_counted_a_checkpoint_and_comes_too_late_to_show_it_shows_nothing_twice(void **state)
{
    (void)state;
    frozen_in_its_commit(OWNER_FREEZES_AFTER, false);
}

static void owner_that_dies_before_its_manifest_counts_has_not_made_it(void **state)
{
    (void)state;
    frozen_in_its_commit(OWNER_FREEZES_BEFORE, true);
}

static void owner_that_dies_before_it_shows_what_counts_is_followed_by_one_that_does(void **state)
{
    (void)state;
    frozen_in_its_commit(OWNER_FREEZES_AFTER, true);
}

static void owner_whose_answers_are_lost_counts_each_checkpoint_once(void **state)
{
    (void)state;
    struct task_owner *one = owner(1);
    for (uint64_t count = 1; count < 12; count += 2) {
        task_owner_fail_next(one, count % 3 == 0 ? OWNER_LOSES_DONE : count % 3 == 1 ? OWNER_LOSES_UNDONE : OWNER_IS_CUT_OFF);
        run_until(one, count);
        check_shown(false);
    }
    run_to_end(one);
    check_shown(true);
    task_owner_kill(one);
}

static void owner_that_a_leader_has_fenced_commits_no_more(void **state)
{
    (void)state;
    struct task_owner *former = owner(1), *next = owner(5);
    run_until(former, 2);
    fence(5);
    uint64_t counted = look().seq;
    run_to_fence(former);
    assert_int_equal(look().seq, counted);
    run_to_end(next);
    check_shown(true);
    task_owner_kill(former);
    task_owner_kill(next);
}

/* ---- damage ---- */

/* Flips a byte in the middle of each file in the folder whose name begins so. */
static void damage(const char *folder, const char *beginning)
{
    char path[800];
    uint32_t damaged = 0;
    snprintf(path, sizeof path, "%s/store/v1+/jobs+/%s+/%s", root, job, folder);
    DIR *opened = opendir(path);
    assert_non_null(opened);
    for (struct dirent *at; (at = readdir(opened)) != NULL;) {
        struct stat info;
        char byte;
        snprintf(path, sizeof path, "%s/store/v1+/jobs+/%s+/%s/%s", root, job, folder, at->d_name);
        if (strncmp(at->d_name, beginning, strlen(beginning)) != 0 || stat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
            continue;
        }
        int file = open(path, O_RDWR);
        assert_true(file >= 0);
        assert_int_equal(pread(file, &byte, 1, info.st_size / 2), 1);
        byte ^= 1;
        assert_int_equal(pwrite(file, &byte, 1, info.st_size / 2), 1);
        close(file);
        damaged++;
    }
    closedir(opened);
    assert_true(damaged > 0);
}

static void damage_manifest(uint64_t number)
{
    char name[32];
    snprintf(name, sizeof name, "%020llu", (unsigned long long)number);
    damage("checkpoints+/s0.3+", name);
}

static void damaged_checkpoint_is_followed_by_an_older_one_that_counted(void **state)
{
    (void)state;
    settings[5] = "execution.checkpointing.num-retained=3";
    settings[6] = NULL;
    struct task_owner *former = owner(1), *next = owner(2);
    run_until(former, 5);
    task_owner_kill(former);
    struct commit_record before = look();
    assert_int_equal(before.kept_count, 2);
    damage_manifest(before.seq);
    damage_manifest(before.kept[1]);
    task_owner_step(next);
    assert_non_null(strstr(task_owner_message(next), "for a newer one is damaged"));
    assert_int_equal(look().seq, before.kept[0]); /* said before anything is done on top of it */
    run_until(next, 2);
    check_shown(false);
    run_to_end(next);
    check_shown(true);
    task_owner_kill(next);
}

static void damaged_checkpoint_without_an_older_one_stops_the_task_and_is_named(void **state)
{
    (void)state;
    const char *text;
    settings[5] = "execution.checkpointing.num-retained=1";
    settings[6] = NULL;
    struct task_owner *former = owner(1), *next = owner(2);
    run_until(former, 3);
    task_owner_kill(former);
    uint64_t counted = look().seq;
    uint32_t rows = check_shown(false);
    damage_manifest(counted);
    while (task_owner_step(next) != OWNER_ENDED) {
    }
    assert_int_equal(task_owner_status(next, &text), STATUS_CORRUPT);
    assert_non_null(strstr(text, ".manifest.json"));
    assert_int_equal(look().seq, counted);
    assert_true(check_shown(false) >= rows);
    task_owner_kill(next);
}

static void damaged_files_of_a_checkpoint_are_found_when_it_is_restored(void **state)
{
    (void)state;
    const char *text;
    settings[5] = "execution.checkpointing.num-retained=3";
    settings[6] = "execution.checkpointing.incremental=false";
    settings[7] = NULL;
    struct task_owner *former = owner(1), *next = owner(2), *last = owner(3);
    run_until(former, 5);
    task_owner_kill(former);
    struct commit_record before = look();
    damage("state+/s0.3+", ""); /* of all that are kept */
    while (task_owner_step(next) != OWNER_ENDED) {
    }
    assert_int_equal(task_owner_status(next, &text), STATUS_CORRUPT);
    assert_non_null(strstr(text, "/state/s0.3/"));
    assert_int_equal(look().seq, before.seq); /* nothing is given up while there is nothing better */
    damage("state+/s0.3+", "");               /* as they were */
    run_to_end(last);
    check_shown(true);
    task_owner_kill(next);
    task_owner_kill(last);
}

static void damaged_record_is_waited_for_until_it_is_repaired(void **state)
{
    (void)state;
    char name[JOB_ID_MAX + 32];
    struct task_owner *one = owner(1);
    run_until(one, 2);
    struct commit_record before = look();
    snprintf(name, sizeof name, "jobs/%s/commit/s0.3", job);
    task_owner_fail_next(one, OWNER_LOSES_UNDONE); /* so that it looks what is there */
    pthread_mutex_lock(&world.mutex);
    memory_session_damage(world.registers, name, 30);
    pthread_mutex_unlock(&world.mutex);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(task_owner_step(one), OWNER_READY);
        usleep(20000);
    }
    pthread_mutex_lock(&world.mutex);
    memory_session_damage(world.registers, name, 30); /* as it was */
    pthread_mutex_unlock(&world.mutex);
    assert_true(look().seq >= before.seq && look().seq <= before.seq + 1);
    run_to_end(one);
    check_shown(true);
    task_owner_kill(one);
}

/* ---- the service's data are lost ---- */

static void lose_record(uint64_t next_epoch)
{
    char name[JOB_ID_MAX + 32];
    struct cluster_session *inner = memory_session_of(world.registers);
    struct arena *arena = arena_create(NULL, "test");
    enum cluster_result result;
    struct cluster_value value;
    snprintf(name, sizeof name, "jobs/%s/commit/s0.3", job);
    pthread_mutex_lock(&world.mutex);
    assert_int_equal(inner->driver->get(inner, name, arena, &result, &value, &err), STATUS_OK);
    assert_int_equal(inner->driver->del(inner, name, &value.version, &result, &err), STATUS_OK);
    pthread_mutex_unlock(&world.mutex);
    arena_destroy(arena);
    fence(next_epoch);
    assert_false(look().begun);
}

static void task_whose_record_is_lost_goes_on_from_its_newest_checkpoint(void **state)
{
    (void)state;
    struct task_owner *former = owner(1), *zombie = owner(2), *next = owner(9);
    run_until(former, 3);
    task_owner_kill(former);
    run_until(zombie, 2);
    uint64_t counted = look().seq;
    lose_record(9);
    task_owner_step(next);
    assert_true(look().seq >= counted); /* one more may have been stored */
    run_until(next, 1);
    run_to_fence(zombie); /* of before */
    run_to_end(next);
    check_shown(true);
    task_owner_kill(zombie);
    task_owner_kill(next);
}

static void task_whose_record_is_lost_may_go_on_from_one_that_did_not_come_to_count(void **state)
{
    (void)state;
    struct task_owner *former = owner(1), *next = owner(9);
    run_until(former, 3);
    task_owner_fail_next(former, OWNER_FREEZES_BEFORE);
    run_until_frozen(former); /* its manifest is stored */
    lose_record(9);
    task_owner_step(next);
    run_until(next, 1);
    run_to_fence(former);
    run_to_end(next);
    check_shown(true);
    task_owner_kill(former);
    task_owner_kill(next);
}

/* ---- many, at random ---- */

enum { ALIVE_MAX = 5, ACTIONS = 400 };
struct cast {
    struct task_owner *owners[ALIVE_MAX]; /* the last is the newest */
    uint32_t count;
    uint64_t epoch, random;
};

static uint32_t draw(struct cast *cast, uint32_t bound)
{
    cast->random = cast->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(cast->random >> 33) % bound;
}

static void remove_owner(struct cast *cast, uint32_t at)
{
    task_owner_kill(cast->owners[at]);
    memmove(cast->owners + at, cast->owners + at + 1, (--cast->count - at) * sizeof *cast->owners);
}

static void add_owner(struct cast *cast)
{
    if (cast->count == ALIVE_MAX) {
        remove_owner(cast, draw(cast, ALIVE_MAX - 1));
    }
    cast->epoch += 1 + draw(cast, 2);
    if (draw(cast, 2) == 0) {
        fence(cast->epoch);
    }
    cast->owners[cast->count++] = owner(cast->epoch);
}

/* Whoever reads the output may take files away. */
static void take_files(void)
{
    char from[400], to[400];
    snprintf(from, sizeof from, "%s/taken", root);
    mkdir(from, 0755);
    snprintf(from, sizeof from, "%s/out", root);
    DIR *opened = opendir(from);
    for (struct dirent *at; opened != NULL && (at = readdir(opened)) != NULL;) {
        if (at->d_name[0] != '.') {
            snprintf(from, sizeof from, "%s/out/%s", root, at->d_name);
            snprintf(to, sizeof to, "%s/taken/%s", root, at->d_name);
            assert_int_equal(access(to, F_OK), -1); /* shown again after it was taken */
            assert_int_equal(rename(from, to), 0);
        }
    }
    if (opened != NULL) {
        closedir(opened);
    }
}

static void assert_good_end(const struct task_owner *ended)
{
    const char *text;
    enum status status = task_owner_status(ended, &text);
    if (status != STATUS_OK && status != STATUS_FENCED && status != STATUS_UNAVAILABLE && status != STATUS_CANCELLED) {
        fail_msg("an owner ends with status %d: %s", (int)status, text);
    }
}

/* true: the newest has done all there was. */
static bool step_one(struct cast *cast, uint32_t at)
{
    const char *text;
    if (task_owner_step(cast->owners[at]) != OWNER_ENDED) {
        usleep(draw(cast, 3) == 0 ? 1000 : 0); /* so that what it stores is often stored by its next step */
        return false;
    }
    assert_good_end(cast->owners[at]);
    bool newest = at == cast->count - 1, done = task_owner_status(cast->owners[at], &text) == STATUS_OK;
    remove_owner(cast, at);
    if (newest && !done) {
        add_owner(cast);
    }
    return newest && done;
}

static bool act(struct cast *cast)
{
    uint32_t choice = draw(cast, 100), any = draw(cast, cast->count);
    if (choice < 60) {
        return step_one(cast, cast->count - 1);
    }
    if (choice < 80) {
        return step_one(cast, any);
    }
    if (choice < 89) {
        task_owner_fail_next(cast->owners[any], (enum owner_fault)draw(cast, OWNER_FAULT_COUNT));
    } else if (choice < 94) {
        add_owner(cast);
    } else if (choice < 97) {
        remove_owner(cast, any);
        if (any == cast->count) {
            add_owner(cast);
        }
    } else {
        take_files();
    }
    check_shown(false);
    return false;
}

static void play(uint64_t seed)
{
    struct cast cast = {.random = seed};
    bool done = false;
    add_owner(&cast);
    for (uint32_t i = 0; i < ACTIONS && !done; i++) {
        done = act(&cast);
    }
    for (uint32_t tries = 0; !done; tries++) { /* from now on nothing fails */
        assert_in_range(tries, 0, 100000);
        task_owner_fail_next(cast.owners[cast.count - 1], OWNER_FINE);
        done = step_one(&cast, cast.count - 1);
    }
    check_shown(true);
    while (cast.count > 0) {
        if (task_owner_step(cast.owners[0]) == OWNER_ENDED) {
            assert_good_end(cast.owners[0]);
            remove_owner(&cast, 0);
        }
    }
    check_shown(true);
}

static void owners_at_random_show_the_batch_answer(void **state)
{
    const char *seeds = getenv("SEEDS"), *first = getenv("SEED");
    uint64_t count = seeds == NULL ? 5 : strtoull(seeds, NULL, 10), seed = first == NULL ? 1 : strtoull(first, NULL, 10);
    for (uint64_t i = 0; i < count; i++) {
        if (i > 0) {
            close_world(state);
            open_world(state);
        }
        fprintf(stderr, "seed %llu\n", (unsigned long long)(seed + i));
        play(seed + i);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(task_that_nobody_disturbs_shows_each_row_once),
        TEST(former_owner_that_was_only_about_to_begin_touches_nothing_of_the_next),
        TEST(former_owner_that_restored_late_touches_nothing_of_the_next),
        TEST(former_owner_that_stored_a_manifest_and_comes_too_late_to_count_it_is_refused),
        TEST(former_owner_that_counted_a_checkpoint_and_comes_too_late_to_show_it_shows_nothing_twice),
        TEST(owner_that_dies_before_its_manifest_counts_has_not_made_it),
        TEST(owner_that_dies_before_it_shows_what_counts_is_followed_by_one_that_does),
        TEST(owner_whose_answers_are_lost_counts_each_checkpoint_once),
        TEST(owner_that_a_leader_has_fenced_commits_no_more),
        TEST(damaged_checkpoint_is_followed_by_an_older_one_that_counted),
        TEST(damaged_checkpoint_without_an_older_one_stops_the_task_and_is_named),
        TEST(damaged_files_of_a_checkpoint_are_found_when_it_is_restored),
        TEST(damaged_record_is_waited_for_until_it_is_repaired),
        TEST(task_whose_record_is_lost_goes_on_from_its_newest_checkpoint),
        TEST(task_whose_record_is_lost_may_go_on_from_one_that_did_not_come_to_count),
        TEST(owners_at_random_show_the_batch_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
