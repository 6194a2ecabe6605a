/* Runs the suite of drivers of coordination (src/cluster/driver_check.h): usage in main(). The last line is "N passed, N failed". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/option.h"
#include "cluster/driver_check.h"

enum { OPTIONS_MAX = 24 };

static void print(void *context, const char *id, const char *name, enum driver_check_outcome outcome, const char *text)
{
    static const char *const words[] = {"ok  ", "FAIL", "skip"};
    printf("%s %s %s%s%s\n", words[outcome], id, name, text[0] == '\0' ? "" : ": ", text);
    fflush(stdout);
}

struct settings {
    struct duration ttl, gap, outage;
    int64_t increments, rounds, names, cycles;
    bool hints;
    const char *faults, *restart, *denied, *only;
};
static const struct option_def defs[] = {
    {.name = "--ttl", OPTION_DURATION(struct settings, ttl), .initial = "1 s"},
    {.name = "--outage", OPTION_DURATION(struct settings, outage), .initial = "20 s"},
    {.name = "--gap", OPTION_DURATION(struct settings, gap), .initial = "0 s"},
    {.name = "--increments", OPTION_INT64(struct settings, increments), .initial = "10000"},
    {.name = "--rounds", OPTION_INT64(struct settings, rounds), .initial = "20"},
    {.name = "--names", OPTION_INT64(struct settings, names), .initial = "1500"},
    {.name = "--cycles", OPTION_INT64(struct settings, cycles), .initial = "1000"},
    {.name = "--hints", OPTION_BOOL(struct settings, hints), .initial = "false"},
    {.name = "--faults", OPTION_TEXT(struct settings, faults)},
    {.name = "--restart", OPTION_TEXT(struct settings, restart)},
    {.name = "--denied", OPTION_TEXT(struct settings, denied)},
    {.name = "--only", OPTION_TEXT(struct settings, only)},
};

/* URI, then NAME=VALUE options of the driver, and --NAME=VALUE of the suite. */
static enum status read_arguments(int count, char **arguments, struct settings *settings, struct cluster_option *options,
                                  size_t *option_count, struct arena *arena, struct error *err)
{
    TRY(option_defaults(defs, ARRAY_LENGTH(defs), settings, arena, err));
    for (int i = 2; i < count; i++) {
        char *value = strchr(arguments[i], '=');
        const struct option_def *def;
        if (value == NULL || *option_count == OPTIONS_MAX) {
            return error_set(err, ERROR_INVALID_OPTION, "'%s' is not NAME=VALUE, or one too many", arguments[i]);
        }
        *value++ = '\0';
        if (strncmp(arguments[i], "--", 2) != 0) {
            options[(*option_count)++] = (struct cluster_option){arguments[i], value};
            continue;
        }
        TRY(option_find(defs, ARRAY_LENGTH(defs), "the suite", arguments[i], &def, err));
        TRY(option_apply(def, value, settings, arena, err));
    }
    return STATUS_OK;
}

int main(int argument_count, char **arguments)
{
    struct cluster_option options[OPTIONS_MAX];
    struct settings settings = {0};
    struct budget budget;
    struct error err;
    struct driver_check_report report = {0};
    struct driver_check_options run = {.options = options, .report = print};
    if (argument_count < 2) {
        fprintf(stderr, "usage: cluster_compliance URI [NAME=VALUE]... [--ttl=DURATION] [--only=IDS] ...\n");
        return 2;
    }
    budget_init(&budget, NULL, "arguments", BUDGET_UNLIMITED);
    struct arena *arena = arena_create(&budget, "arguments");
    enum status status = read_arguments(argument_count, arguments, &settings, options, &run.option_count, arena, &err);
    if (status == STATUS_OK) {
        run.uri = arguments[1];
        run.ttl_us = settings.ttl.us;
        run.outage_us = settings.outage.us;
        run.gap_us = settings.gap.us;
        run.increments = (uint32_t)settings.increments;
        run.rounds = (uint32_t)settings.rounds;
        run.names = (uint32_t)settings.names;
        run.cycles = (uint32_t)settings.cycles;
        run.hints = settings.hints;
        run.faults = settings.faults;
        run.restart = settings.restart;
        run.denied = settings.denied;
        run.only = settings.only;
        alarm(1200);
        status = driver_check_run(&run, &report, &err);
    }
    if (status != STATUS_OK) {
        printf("FAIL open: %s\n", err.text);
        report.failed++;
    }
    arena_destroy(arena);
    printf("%u passed, %u failed\n", report.passed, report.failed);
    return report.failed == 0 ? 0 : 1;
}
