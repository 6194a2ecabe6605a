/* bench/job_bench.c: one script with jobs, timed: what checkpoints cost, how long ticks stall, how soon a restart gives its first rows.
 *
 * usage: spate-bench-job [--first-tick] FILE.sql [KEY=VALUE]...      --first-tick: ends with the first tick that has rows
 *
 * Prints for each INSERT a line: rows read, seconds from its start to its end, milliseconds to its first tick with rows, checkpoints, longest and
 * last stall in ms, bytes of the last checkpoint, peak memory of the process in MB, and the seconds of processor time of this thread (which is
 * the worker, with one) and of the whole process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "spate/spate.h"

enum { SQL_BYTES = 1 << 20 };

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

static void run_insert(const spate_session *session, spate_result *result, double start, bool first_tick)
{
    int step = SPATE_STEP_WORKED;
    double first = 0;
    struct spate_progress progress = {.size = sizeof progress};
    while (step != SPATE_STEP_ENDED && (first == 0 || !first_tick)) {
        if (spate_result_step(result, 100, &step) != SPATE_OK) {
            die(session);
        }
        if (first == 0 && step == SPATE_STEP_WORKED) {
            first = now_s();
        }
    }
    spate_result_progress(result, &progress);
    printf("%llu\t%.4f\t%.1f\t%llu\t%.2f\t%.2f\t%llu\t%ld\t%.3f\t%.3f\n", (unsigned long long)progress.rows_read, now_s() - start,
           first == 0 ? 0.0 : (first - start) * 1e3, (unsigned long long)progress.checkpoints,
           (double)progress.checkpoint_longest_stall_us / 1e3, (double)progress.checkpoint_stall_us / 1e3,
           (unsigned long long)progress.checkpoint_bytes, peak_mb(), cpu_s(RUSAGE_THREAD), cpu_s(RUSAGE_SELF));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    spate_session *session;
    static char sql[SQL_BYTES];
    bool first_tick = argc > 1 && strcmp(argv[1], "--first-tick") == 0;
    argv += first_tick;
    argc -= first_tick;
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: spate-bench-job [--first-tick] FILE.sql [KEY=VALUE]...\n");
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
            run_insert(session, result, start, first_tick);
        }
        if (first_tick && spate_result_kind(result) == SPATE_RESULT_INSERT) {
            exit(0); /* as if killed */
        }
        spate_result_close(result);
    }
    spate_session_close(session);
    return 0;
}
