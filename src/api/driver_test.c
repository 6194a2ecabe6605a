#include <stdio.h>
#include <string.h>

#include "api/public_error.h"
#include "cluster/driver_check.h"
#include "spate/driver.h"

enum { OPTIONS_MAX = 64, WHOLE_INCREMENTS = 10000, WHOLE_NAMES = 1500, WHOLE_CYCLES = 1000, WHOLE_ROUNDS = 20, QUICK_SHARE = 10 };

struct relay {
    struct spate_driver_test *test;
};

static void relay_check(void *context, const char *id, const char *name, enum driver_check_outcome outcome, const char *text)
{
    const struct relay *relay = context;
    relay->test->check(relay->test->context, id, name, (int)outcome, text);
}

static enum status split_options(const char *const *texts, struct arena *arena, struct cluster_option *options, size_t *count,
                                 struct error *err)
{
    *count = 0;
    for (; texts != NULL && *texts != NULL; texts++) {
        const char *equals = strchr(*texts, '='), *name;
        if (equals == NULL || equals == *texts) {
            return error_set(err, ERROR_INVALID_OPTION, "'%.100s' is no option: write key=value", *texts);
        }
        if (*count == OPTIONS_MAX) {
            return error_set(err, ERROR_TOO_MANY, "more than %d options of a driver", OPTIONS_MAX);
        }
        TRY_ALLOC(name, arena_text(arena, *texts, (size_t)(equals - *texts)), err);
        options[(*count)++] = (struct cluster_option){name, equals + 1};
    }
    return STATUS_OK;
}

static enum status run(const char *uri, struct spate_driver_test *test, struct error *err)
{
    struct relay relay = {test};
    struct cluster_option options[OPTIONS_MAX];
    struct driver_check_report report;
    uint32_t share = test->quick ? QUICK_SHARE : 1;
    struct driver_check_options run = {.uri = uri,
                                       .options = options,
                                       .ttl_us = test->ttl_us,
                                       .increments = WHOLE_INCREMENTS / share,
                                       .rounds = WHOLE_ROUNDS / share,
                                       .names = WHOLE_NAMES / share,
                                       .cycles = WHOLE_CYCLES / share,
                                       .outage_us = INT64_C(20000000) / share,
                                       .hints = test->hints,
                                       .faults = test->faults,
                                       .restart = test->restart,
                                       .denied = test->denied,
                                       .only = test->only,
                                       .report = relay_check,
                                       .context = &relay};
    struct budget budget;
    struct arena *arena;
    budget_init(&budget, NULL, "options of a driver", BUDGET_UNLIMITED);
    TRY_ALLOC(arena, arena_create(&budget, "options of a driver"), err);
    enum status status = split_options(test->options, arena, options, &run.option_count, err);
    if (status == STATUS_OK && (status = driver_check_run(&run, &report, err)) == STATUS_OK) {
        test->passed = report.passed;
        test->failed = report.failed;
        test->skipped = report.skipped;
    }
    arena_destroy(arena);
    return status;
}

int spate_driver_test_run(const char *uri, struct spate_driver_test *test)
{
    struct error err = {.text = ""};
    test->passed = test->failed = test->skipped = 0;
    enum status status = run(uri, test, &err);
    if (status == STATUS_OK) {
        return SPATE_OK;
    }
    int class = public_error_set(&test->error, &err, status);
    snprintf(test->error_text, sizeof test->error_text, "%s", err.text);
    test->error.text = test->error_text;
    return class;
}
