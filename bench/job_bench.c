/* bench/job_bench.c: one script with jobs, timed: what checkpoints cost, how long ticks stall, how soon a restart gives its first rows.
 *
 * usage: spate-bench-job [--first-tick] [--for SECONDS] [--apart CORE] FILE.sql [KEY=VALUE]...
 *
 * --first-tick ends with the first tick that has rows, --for after a time: both as if killed. --apart moves the thread that stores checkpoints
 * to a core of its own.
 *
 * Prints for each INSERT a line: rows read, seconds from its start to its end, milliseconds to its first tick with rows, checkpoints, longest
 * stall in ms of all and of the last LAST_STALLS, bytes of the last checkpoint, peak memory of the process in MB, and the seconds of processor
 * time of this thread (which is the worker, with one) and of the whole process.
 */
#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "spate/spate.h"

enum { SQL_BYTES = 1 << 20, LAST_STALLS = 5 };

struct options {
    bool first_tick;
    double seconds; /* 0: to the end */
    int apart;      /* core; -1: none */
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void die(const spate_session *session)
{
    fprintf(stderr, "job_bench: %s\n", spate_session_error(session)->text);
    exit(1);
}

static long peak_mb(void)
{
    char line[256];
    long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            kb = strtol(line + 6, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kb / 1024;
}

static double cpu_s(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* Threads have names: that of the checkpointer is in job/checkpoint_store.c. False: it has not started yet. */
static bool move_apart(int core)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    bool moved = false;
    while (tasks != NULL && (task = readdir(tasks)) != NULL) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file != NULL && fgets(name, sizeof name, file) != NULL && strcmp(name, "checkpoints\n") == 0) {
            cpu_set_t cores;
            CPU_ZERO(&cores);
            CPU_SET(core, &cores);
            moved = sched_setaffinity((pid_t)atoi(task->d_name), sizeof cores, &cores) == 0;
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return moved;
}

struct stalls {
    uint64_t seen; /* checkpoints */
    double last[LAST_STALLS];
};

static void note_stall(struct stalls *stalls, const spate_result *result)
{
    struct spate_progress progress = {.size = sizeof progress};
    spate_result_progress(result, &progress);
    if (progress.checkpoints > stalls->seen) {
        stalls->seen = progress.checkpoints;
        stalls->last[stalls->seen % LAST_STALLS] = (double)progress.checkpoint_stall_us / 1e3;
    }
}

static double longest_of_last(const struct stalls *stalls)
{
    double longest = 0;
    for (int i = 0; i < LAST_STALLS; i++) {
        longest = stalls->last[i] > longest ? stalls->last[i] : longest;
    }
    return longest;
}

static void run_insert(const spate_session *session, spate_result *result, double start, const struct options *options)
{
    int step = SPATE_STEP_WORKED;
    double first = 0;
    bool apart = options->apart < 0;
    struct stalls stalls = {0};
    struct spate_progress progress = {.size = sizeof progress};
    while (step != SPATE_STEP_ENDED && (first == 0 || !options->first_tick) &&
           (options->seconds == 0 || now_s() - start < options->seconds)) {
        apart = apart || move_apart(options->apart);
        if (spate_result_step(result, 100, &step) != SPATE_OK) {
            die(session);
        }
        if (first == 0 && step == SPATE_STEP_WORKED) {
            first = now_s();
        }
        note_stall(&stalls, result);
    }
    spate_result_progress(result, &progress);
    printf("%llu\t%.4f\t%.1f\t%llu\t%.2f\t%.2f\t%llu\t%ld\t%.3f\t%.3f\n", (unsigned long long)progress.rows_read, now_s() - start,
           first == 0 ? 0.0 : (first - start) * 1e3, (unsigned long long)progress.checkpoints,
           (double)progress.checkpoint_longest_stall_us / 1e3, longest_of_last(&stalls), (unsigned long long)progress.checkpoint_bytes,
           peak_mb(), cpu_s(RUSAGE_THREAD), cpu_s(RUSAGE_SELF));
    fflush(stdout);
}

/* Takes the options from the front of the arguments. */
static struct options take_options(int *argc, char ***argv)
{
    struct options options = {.apart = -1};
    while (*argc > 2 && strncmp((*argv)[1], "--", 2) == 0) {
        bool plain = strcmp((*argv)[1], "--first-tick") == 0;
        if (plain) {
            options.first_tick = true;
        } else if (strcmp((*argv)[1], "--for") == 0) {
            options.seconds = atof((*argv)[2]);
        } else if (strcmp((*argv)[1], "--apart") == 0) {
            options.apart = atoi((*argv)[2]);
        } else {
            break;
        }
        *argv += plain ? 1 : 2;
        *argc -= plain ? 1 : 2;
    }
    return options;
}

int main(int argc, char **argv)
{
    spate_session *session;
    static char sql[SQL_BYTES];
    struct options options = take_options(&argc, &argv);
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: spate-bench-job [--first-tick] [--for SECONDS] [--apart CORE] FILE.sql [KEY=VALUE]...\n");
        return 2;
    }
    size_t length = fread(sql, 1, sizeof sql - 1, file), offset = 0;
    fclose(file);
    if (spate_session_open((const char *const *)argv + 2, &session) != SPATE_OK) {
        die(session);
    }
    for (;;) {
        spate_result *result = NULL;
        double start = now_s();
        if (spate_execute(session, sql, length, &offset, &result) != SPATE_OK) {
            die(session);
        }
        if (result == NULL) {
            break;
        }
        if (spate_result_kind(result) == SPATE_RESULT_INSERT) {
            run_insert(session, result, start, &options);
            if (options.first_tick || options.seconds > 0) {
                exit(0); /* as if killed */
            }
        }
        spate_result_close(result);
    }
    spate_session_close(session);
    return 0;
}
