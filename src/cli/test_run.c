#include "cli/test_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/module.h"
#include "base/option.h"
#include "cli/test_report.h"

enum { PATHS_MAX = 8192, JOBS_MAX = 64, DEPTH_MAX = 32 };

struct test_options {
    const char *mode;  /* NULL: all */
    uint32_t left_out; /* modes, a bit each */
    const char *junit;
    bool tap;
    int64_t timeout_us;
    uint32_t jobs;
};
struct test_paths {
    char *paths[PATHS_MAX];
    uint32_t count;
};

/* ---- finding files ---- */

static int compare_paths(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void find_below(struct test_paths *paths, const char *path, int depth)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char inner[4096];
        struct stat status;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || stat(inner, &status) != 0) {
            continue;
        }
        size_t length = strlen(inner);
        if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX) {
            find_below(paths, inner, depth + 1);
        } else if (length > 4 && strcmp(inner + length - 4, ".slt") == 0 && paths->count < PATHS_MAX) {
            paths->paths[paths->count++] = strdup(inner);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static int find_paths(struct test_paths *paths, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        fprintf(stderr, "spate: cannot read '%s': %s\n", path, strerror(errno));
        return 2;
    }
    if (!S_ISDIR(status.st_mode)) {
        paths->paths[paths->count++] = strdup(path);
        return 0;
    }
    uint32_t first = paths->count;
    find_below(paths, path, 0);
    qsort(paths->paths + first, paths->count - first, sizeof(char *), compare_paths);
    return 0;
}

/* ---- running one file in all modes, some at once ---- */

struct running {
    pid_t pid;
    int out; /* the file that the child writes its verdicts to */
    uint32_t mode;
};

static bool start_mode(const struct test_file *file, uint32_t mode, const struct test_options *options, struct running *running)
{
    char name[] = "/tmp/spate-verdicts-XXXXXX";
    running->out = mkstemp(name);
    running->mode = mode;
    if (running->out < 0) {
        return false;
    }
    unlink(name);
    fflush(NULL);
    running->pid = fork();
    if (running->pid == 0) {
        alarm((unsigned)(options->timeout_us / 1000000) * (file->count + 1)); /* a hang outside a step */
        test_session_run(file, &test_modes[mode], options->timeout_us, running->out);
        exit(0);
    }
    return running->pid > 0;
}

static void read_verdicts(struct file_report *report, const struct running *running, int status)
{
    struct test_verdict verdict;
    lseek(running->out, 0, SEEK_SET);
    while (read(running->out, &verdict, sizeof verdict) == (ssize_t)sizeof verdict) {
        char *text = calloc(verdict.text_length + 1, 1);
        if (text == NULL || read(running->out, text, verdict.text_length) != (ssize_t)verdict.text_length) {
            free(text);
            break;
        }
        file_report_add(report, verdict.record, running->mode, verdict.passed != 0, text);
    }
    close(running->out);
    file_report_end_mode(report, running->mode, status);
}

static void wait_for_one(struct file_report *report, struct running *running, uint32_t *count)
{
    int status;
    pid_t pid = wait(&status);
    for (uint32_t i = 0; i < *count; i++) {
        if (running[i].pid == pid) {
            read_verdicts(report, &running[i], status);
            running[i] = running[--*count];
            return;
        }
    }
}

static void run_file(const struct test_file *file, const struct test_options *options, struct file_report *report)
{
    struct running running[JOBS_MAX];
    uint32_t count = 0;
    for (uint32_t mode = 0; mode < test_mode_count; mode++) {
        if ((options->left_out >> mode & 1) != 0 || (options->mode != NULL && strcmp(options->mode, test_modes[mode].name) != 0)) {
            continue;
        }
        if (count == options->jobs) {
            wait_for_one(report, running, &count);
        }
        if (!start_mode(file, mode, options, &running[count])) {
            fprintf(stderr, "spate: cannot start a test process: %s\n", strerror(errno));
            exit(1);
        }
        count++;
    }
    while (count > 0) {
        wait_for_one(report, running, &count);
    }
}

/* ---- the command ---- */

static int test_usage(const char *what, const char *value)
{
    fprintf(stderr,
            "spate: test: %s '%s'\nusage: spate test [--mode NAME] [--timeout D] [--jobs N] [--tap] [--junit FILE] PATH...\nmodes:", what,
            value);
    for (uint32_t i = 0; i < test_mode_count; i++) {
        fprintf(stderr, " %s", test_modes[i].name);
    }
    fputc('\n', stderr);
    return 2;
}

static bool mode_exists(const char *name)
{
    for (uint32_t i = 0; i < test_mode_count; i++) {
        if (strcmp(test_modes[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static int take_option(struct test_options *options, const char *name, const char *value)
{
    struct duration timeout;
    struct error err;
    if (strcmp(name, "--mode") == 0 && mode_exists(value)) {
        options->mode = value;
    } else if (strcmp(name, "--junit") == 0) {
        options->junit = value;
    } else if (strcmp(name, "--jobs") == 0 && atoi(value) > 0 && atoi(value) <= JOBS_MAX) {
        options->jobs = (uint32_t)atoi(value);
    } else if (strcmp(name, "--timeout") == 0 && duration_parse(value, &timeout, &err) == STATUS_OK && timeout.us > 0) {
        options->timeout_us = timeout.us;
    } else {
        return test_usage("wrong option or value", value);
    }
    return 0;
}

static int parse_arguments(int argc, char **argv, struct test_options *options, struct test_paths *paths)
{
    for (int at = 1; at < argc; at++) {
        int code = 0;
        if (strcmp(argv[at], "--tap") == 0) {
            options->tap = true;
        } else if (argv[at][0] == '-' && at + 1 < argc) {
            code = take_option(options, argv[at], argv[at + 1]);
            at++;
        } else if (argv[at][0] == '-') {
            code = test_usage("unknown option", argv[at]);
        } else {
            code = find_paths(paths, argv[at]);
        }
        if (code != 0) {
            return code;
        }
    }
    return paths->count > 0 ? 0 : test_usage("no test files", "");
}

static void run_path(const char *path, const struct test_options *options, struct test_report *report)
{
    struct test_file file;
    char problem[512];
    const char *failed = test_file_read(path, &file, problem, sizeof problem);
    struct file_report file_report;
    file_report_open(&file_report, &file);
    if (failed == NULL) {
        run_file(&file, options, &file_report);
    }
    test_report_file(report, &file_report, failed);
    file_report_close(&file_report);
    test_file_close(&file);
}

/* A mode that is asked for by its name fails where a module is missing; else it is left out, and that is said. */
static void leave_out_modes(struct test_options *options)
{
    for (uint32_t i = 0; i < test_mode_count && options->mode == NULL; i++) {
        const struct module *module;
        struct error err;
        if (test_modes[i].module != NULL && module_load(test_modes[i].module, &module, &err) != STATUS_OK) {
            options->left_out |= UINT32_C(1) << i;
            fprintf(stderr, "spate: test: mode %s is left out: %s\n", test_modes[i].name, err.text);
        }
    }
}

int command_test(int argc, char **argv)
{
    static struct test_paths paths;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct test_options options = {.timeout_us = 20000000, .jobs = cores > 0 && cores < JOBS_MAX ? (uint32_t)cores : 1};
    int code = parse_arguments(argc, argv, &options, &paths);
    if (code != 0) {
        return code;
    }
    leave_out_modes(&options);
    struct test_report report;
    if (!test_report_open(&report, options.tap, options.junit)) {
        fprintf(stderr, "spate: cannot write '%s': %s\n", options.junit, strerror(errno));
        return 2;
    }
    for (uint32_t i = 0; i < paths.count; i++) {
        run_path(paths.paths[i], &options, &report);
        free(paths.paths[i]);
    }
    return test_report_close(&report) == 0 ? 0 : 1;
}
