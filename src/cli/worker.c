#include "cli/worker.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/configuration.h"
#include "cli/error_print.h"
#include "cli/setting_list.h"
#include "cli/signals.h"
#include "spate/worker.h"

enum { STEP_MS = 200 };

struct worker_arguments {
    struct spate_worker_options options;
    struct setting_list settings;
    const char *config;
};

static int usage_error(const char *what, const char *value)
{
    fprintf(stderr, "spate: %s '%s'; see spate worker --help\n", what, value);
    return 2;
}

static int take_setting(struct worker_arguments *self, const char *value)
{
    return setting_list_add(&self->settings, "worker", value);
}

static int take_coordinator(struct worker_arguments *self, const char *value)
{
    return setting_list_place(&self->settings, "worker", SETTING_COORDINATOR, value);
}

static int take_storage(struct worker_arguments *self, const char *value)
{
    return setting_list_place(&self->settings, "worker", SETTING_STORAGE, value);
}

static int take_jobs(struct worker_arguments *self, const char *value)
{
    self->options.jobs = value;
    return 0;
}

static int take_id(struct worker_arguments *self, const char *value)
{
    self->options.id = value;
    return 0;
}

static int take_host(struct worker_arguments *self, const char *value)
{
    self->options.host = value;
    return 0;
}

static int take_rack(struct worker_arguments *self, const char *value)
{
    self->options.rack = value;
    return 0;
}

static int take_config(struct worker_arguments *self, const char *value)
{
    self->config = value;
    return 0;
}

static const struct {
    const char *name, *value, *summary;
    int (*take)(struct worker_arguments *self, const char *value);
} flags[] = {
    {"--coordinator", "URI", "where processes agree: /dir, zookeeper://host:2181/ns, azure://account/container/prefix", take_coordinator},
    {"--storage", "URI", "where jobs and their checkpoints are kept", take_storage},
    {"--jobs", "PATTERN", "only jobs whose names fit: 'orders*'; else all", take_jobs},
    {"--id", "ID", "of this process; a process that takes its place later takes its id", take_id},
    {"--host", "NAME", "where it runs, if the machine's own name does not say: copies of state are on other hosts", take_host},
    {"--rack", "NAME", "its rack: copies of state are in other racks where there are any", take_rack},
    {"-s", "KEY=VALUE", "a setting; cluster.* are the timing of coordination", take_setting},
    {"--set", "KEY=VALUE", "the same", take_setting},
    {"--config", "FILE", "settings from this file, instead of spate.yaml", take_config},
};

static int print_help(void)
{
    printf("usage: spate worker --coordinator URI --storage URI [OPTION...]\n\n");
    for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
        printf("  %-15s%-11s%s\n", flags[i].name, flags[i].value, flags[i].summary);
    }
    printf("  %-26s%s\n", "--once", "end with an error when the coordination service cannot be reached at the start");
    printf("  %-26s%s\n", "--until-ended", "end when all jobs that it has joined have ended");
    printf("\nSIGTERM leaves in order: tasks commit, others take over. A second one ends at once.\n"
           "exit codes: 0 left, 1 a task could not end in order, 2 usage, 3 the id is another living process's, or something cannot be "
           "reached\n");
    return 0;
}

static int parse(struct worker_arguments *self, int argc, char **argv)
{
    int code = 0;
    for (int at = 1; at < argc && code == 0; at++) {
        size_t i = 0;
        if (strcmp(argv[at], "--until-ended") == 0 || strcmp(argv[at], "--once") == 0) {
            *(argv[at][2] == 'u' ? &self->options.until_ended : &self->options.once) = 1;
            continue;
        }
        while (i < ARRAY_LENGTH(flags) && strcmp(argv[at], flags[i].name) != 0) {
            i++;
        }
        if (i == ARRAY_LENGTH(flags)) {
            return usage_error("unknown option", argv[at]);
        }
        code = at + 1 < argc ? flags[i].take(self, argv[++at]) : usage_error("this needs a value:", argv[at]);
    }
    return code;
}

static void notice(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

static int work(struct worker_arguments *self, const char *const *settings)
{
    static const int codes[] = {[SPATE_WORKER_LEFT] = 0, [SPATE_WORKER_UNCLEAN] = 1, [SPATE_WORKER_REFUSED] = 3};
    struct spate_error error = {0};
    spate_worker *worker;
    int state = SPATE_WORKER_AT_WORK;
    self->options.size = sizeof self->options;
    self->options.notice = notice;
    signals_start(NULL);
    if (spate_worker_open(settings, &self->options, &worker, &error) != SPATE_OK) {
        return error_fail(&error);
    }
    while (state == SPATE_WORKER_AT_WORK) {
        if (signals_terminated() || signals_interrupted()) {
            spate_worker_leave(worker);
        }
        if (spate_worker_step(worker, STEP_MS, &state, &error) != SPATE_OK) {
            spate_worker_close(worker);
            return error_fail(&error);
        }
    }
    signals_end();
    spate_worker_close(worker);
    return codes[state];
}

int command_worker(int argc, char **argv)
{
    struct worker_arguments self = {.config = NULL};
    spate_config *config = NULL;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        return print_help();
    }
    int code = parse(&self, argc, argv);
    if (code == 0) {
        code = configuration_open(self.config, self.settings.items, &config);
    }
    if (code == 0) {
        code = work(&self, spate_config_settings(config));
    }
    spate_config_close(config);
    return code;
}
