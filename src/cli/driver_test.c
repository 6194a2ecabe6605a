#include "cli/driver_test.h"

#include <stdio.h>
#include <string.h>

#include "base/option.h"
#include "base/text.h"
#include "cli/error_print.h"
#include "spate/driver.h"

enum { OPTIONS_MAX = 64, TTL_US = 3000000 };

struct arguments {
    struct spate_driver_test test;
    const char *uri, *options[OPTIONS_MAX + 1];
    uint32_t option_count;
};

static int usage(const char *format, const char *value)
{
    fputs("spate test-driver: ", stderr);
    fprintf(stderr, format, value); /* NOLINT: the formats are constants of this file */
    fputs("; see spate test-driver --help\n", stderr);
    return 2;
}

static int take_option(struct arguments *a, const char *value)
{
    if (a->option_count == OPTIONS_MAX || strchr(value, '=') == NULL) {
        return usage("'%s' is not KEY=VALUE, or one too many", value);
    }
    a->options[a->option_count++] = value;
    return 0;
}
static int take_ttl(struct arguments *a, const char *value)
{
    struct duration ttl;
    struct error err;
    if (duration_parse(value, &ttl, &err) != STATUS_OK || ttl.us <= 0) {
        return usage("--ttl '%s' is not a duration such as '3 s'", value);
    }
    a->test.ttl_us = ttl.us;
    return 0;
}
static int take_only(struct arguments *a, const char *value)
{
    a->test.only = value;
    return 0;
}
static int take_faults(struct arguments *a, const char *value)
{
    a->test.faults = value;
    return 0;
}
static int take_restart(struct arguments *a, const char *value)
{
    a->test.restart = value;
    return 0;
}
static int take_denied(struct arguments *a, const char *value)
{
    a->test.denied = value;
    return 0;
}
static int take_quick(struct arguments *a, const char *value)
{
    (void)value;
    a->test.quick = true;
    return 0;
}
static int take_hints(struct arguments *a, const char *value)
{
    (void)value;
    a->test.hints = true;
    return 0;
}

static const struct {
    const char *name, *value, *summary;
    int (*take)(struct arguments *arguments, const char *value);
} flags[] = {
    {"-s", "KEY=VALUE", "an option of the driver (repeatable); `spate drivers NAME` lists ours", take_option},
    {"--ttl", "D", "of leases; 3 s", take_ttl},
    {"--quick", NULL, "a tenth of the increments, names and sessions", take_quick},
    {"--hints", NULL, "the driver must give hints", take_hints},
    {"--only", "IDS", "ids, or parts of names, separated by commas: D3,D9", take_only},
    {"--faults", "COMMAND", "is run with cut, heal, errors, drop-replies behind it (D13, D14, D15)", take_faults},
    {"--restart", "COMMAND", "restarts the servers (D21)", take_restart},
    {"--denied", "KEY=VALUE", "an option that makes the credentials wrong (D17)", take_denied},
};

static int help(void)
{
    fputs(
        "usage: spate test-driver URI [OPTIONS]\n\nRuns the checks D1 to D21 of docs/cluster.md on a coordination; what they make is below "
        "names that begin with 'check-'.\n\n",
        stdout);
    for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
        printf("  %-12s%-12s%s\n", flags[i].name, flags[i].value == NULL ? "" : flags[i].value, flags[i].summary);
    }
    return 0;
}

static int take_flag(struct arguments *a, int argc, char **argv, int *at)
{
    for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
        if (strcmp(argv[*at], flags[i].name) != 0) {
            continue;
        }
        if (flags[i].value != NULL && *at + 1 >= argc) {
            return usage("%s needs a value", argv[*at]);
        }
        return flags[i].take(a, flags[i].value == NULL ? NULL : argv[++*at]);
    }
    return usage("unknown option '%s'", argv[*at]);
}

static void print_check(void *context, const char *id, const char *name, int outcome, const char *text)
{
    static const char *const words[] = {"ok  ", "FAIL", "skip"};
    (void)context;
    printf("%s %s %s%s%s\n", words[outcome], id, name, text[0] == '\0' ? "" : ": ", text);
    fflush(stdout);
}

int command_test_driver(int argc, char **argv)
{
    struct arguments a = {.test = {.size = sizeof a.test, .ttl_us = TTL_US, .check = print_check}};
    for (int at = 1; at < argc; at++) {
        if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
            return help();
        }
        if (argv[at][0] != '-' && a.uri == NULL) {
            a.uri = argv[at];
            continue;
        }
        int code = argv[at][0] == '-' ? take_flag(&a, argc, argv, &at) : usage("unexpected '%s'", argv[at]);
        if (code != 0) {
            return code;
        }
    }
    if (a.uri == NULL) {
        return usage("%s", "it takes the URI of a coordination");
    }
    a.test.options = a.options;
    if (spate_driver_test_run(a.uri, &a.test) != SPATE_OK) {
        error_print("spate test-driver", TEXT(""), &a.test.error);
        return error_exit_code(&a.test.error, false);
    }
    printf("%u passed, %u failed, %u skipped\n", a.test.passed, a.test.failed, a.test.skipped);
    return a.test.failed == 0 ? 0 : 1;
}
