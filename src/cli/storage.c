#include "cli/storage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/option.h"
#include "cli/error_print.h"
#include "cli/configuration.h"
#include "cli/json_text.h"
#include "spate/storage.h"

enum { SETTINGS_MAX = 64, WORDS_MAX = 4, SETTING_BYTES = 4200 };

struct arguments {
    const char *job, *principal, *config;
    bool json, dry_run, revoke;
    int64_t since_us; /* how far back; 0: all */
    char storage[SETTING_BYTES];
    const char *settings[SETTINGS_MAX + 1];
    uint32_t setting_count;
    const char *words[WORDS_MAX];
    uint32_t word_count;
};

static int usage(const char *format, const char *value)
{
    fputs("spate storage: ", stderr);
    fprintf(stderr, format, value); /* NOLINT: the formats are constants of this file */
    fputs("; see spate storage help\n", stderr);
    return 2;
}

/* ---- output ---- */

static void print_entry(void *context, const char *key, const char *about)
{
    const struct arguments *arguments = context;
    if (arguments->json) {
        fputs("{\"key\":", stdout);
        json_text_print(key, strlen(key));
        fputs(",\"about\":", stdout);
        json_text_print(about, strlen(about));
        fputs("}\n", stdout);
        return;
    }
    printf("%s\t", key);
    for (; *about != '\0'; about++) { /* an error may have several lines */
        putchar(*about == '\n' ? ' ' : *about);
    }
    putchar('\n');
}

static void print_bytes(void *context, const void *bytes, size_t length)
{
    (void)context;
    fwrite(bytes, 1, length, stdout);
}

static int fail(const spate_storage *storage)
{
    fflush(stdout);
    error_print("spate storage", TEXT(""), spate_storage_error(storage));
    return error_exit_code(spate_storage_error(storage), false);
}

static int finish(const spate_storage *storage, int code)
{
    return code == SPATE_OK ? 0 : fail(storage);
}

/* ---- the verbs ---- */

static int run_ls(spate_storage *storage, struct arguments *a)
{
    return finish(storage, spate_storage_list(storage, a->job, a->word_count == 0 ? "" : a->words[0], print_entry, a));
}

static int run_cat(spate_storage *storage, struct arguments *a)
{
    return finish(storage, spate_storage_read(storage, a->job, a->words[0], print_bytes, a));
}

static int run_put(spate_storage *storage, struct arguments *a)
{
    return finish(storage, spate_storage_write(storage, a->job, a->words[0], a->words[1], print_entry, a));
}

static int run_rm(spate_storage *storage, struct arguments *a)
{
    return finish(storage, spate_storage_remove(storage, a->job, a->words[0]));
}

static void print_due(int64_t due_us)
{
    time_t seconds = (time_t)(due_us / 1000000);
    struct tm utc;
    char text[32];
    gmtime_r(&seconds, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    fprintf(stderr, "; what is planned may go from %s on", text);
}

static int run_gc(spate_storage *storage, struct arguments *a)
{
    struct spate_storage_sweep report = {.size = sizeof report};
    if (spate_storage_gc(storage, a->dry_run, print_entry, a, &report) != SPATE_OK) {
        return fail(storage);
    }
    fflush(stdout);
    fprintf(stderr, "%s%" PRIu64 " expired, %" PRIu64 " planned, %" PRIu64 " deleted (%" PRIu64 " bytes)", a->dry_run ? "dry run: " : "",
            report.expired, report.planned, report.deleted, report.deleted_bytes);
    if (report.plan_due_us != 0) {
        print_due(report.plan_due_us);
    }
    fputc('\n', stderr);
    return 0;
}

static int run_fsck(spate_storage *storage, struct arguments *a)
{
    struct spate_storage_check report = {.size = sizeof report};
    if (spate_storage_fsck(storage, a->job, print_entry, a, &report) != SPATE_OK) {
        return fail(storage);
    }
    fflush(stdout);
    fprintf(stderr, "%" PRIu64 " documents, %" PRIu64 " files, %" PRIu64 " bytes, %" PRIu64 " problems\n", report.documents, report.files,
            report.bytes, report.problems);
    return report.problems == 0 ? 0 : 1;
}

static int run_grant(spate_storage *storage, struct arguments *a)
{
    bool changed;
    if (a->word_count == 0) {
        return finish(storage, spate_storage_grants(storage, print_entry, a));
    }
    if (a->word_count == 1) {
        return usage("grant takes PRINCIPAL ROLE [JOBS], or nothing; there is only '%s'", a->words[0]);
    }
    if (spate_storage_grant(storage, a->words[0], a->words[1], a->word_count > 2 ? a->words[2] : "*", a->revoke, &changed) != SPATE_OK) {
        return fail(storage);
    }
    if (!changed) {
        fprintf(stderr, a->revoke ? "there is no such grant\n" : "it is granted already\n");
    }
    return 0;
}

static int run_audit(spate_storage *storage, struct arguments *a)
{
    int64_t from_us = a->since_us == 0 ? 0 : clock_system.wall_us(&clock_system) - a->since_us;
    return finish(storage, spate_storage_audit(storage, from_us, print_entry, a));
}

static int run_access_plan(spate_storage *storage, struct arguments *a)
{
    return finish(storage, spate_storage_access_plan(storage, print_entry, a));
}

static const struct verb {
    const char *name, *arguments, *summary;
    uint32_t least, most; /* words */
    int (*run)(spate_storage *storage, struct arguments *arguments);
} verbs[] = {
    {"ls", "[PREFIX]", "keys and a line about each", 0, 1, run_ls},
    {"cat", "KEY", "what is there", 1, 1, run_cat},
    {"put", "KEY FILE", "a new version of an artifact or a configuration", 2, 2, run_put},
    {"rm", "KEY", "removes an artifact's name, a savepoint, a checkpoint", 1, 1, run_rm},
    {"gc", "", "removes what has passed its limits and what nothing names; --dry-run only lists", 0, 0, run_gc},
    {"fsck", "", "reads everything that documents name, and lists what is missing or damaged", 0, 0, run_fsck},
    {"grant", "[PRINCIPAL ROLE [JOBS]]", "gives a role on jobs (--revoke: takes it back); alone: the grants", 0, 3, run_grant},
    {"audit", "", "who was denied what, and who deleted; --since D: the last D", 0, 0, run_audit},
    {"access-plan", "", "the rights that the backend should give, so that it mirrors the roles", 0, 0, run_access_plan},
};

/* ---- arguments ---- */

static int take_storage(struct arguments *a, const char *value)
{
    snprintf(a->storage, sizeof a->storage, "storage.uri=%s", value);
    return 0;
}
static int take_job(struct arguments *a, const char *value)
{
    a->job = value;
    return 0;
}
static int take_config(struct arguments *a, const char *value)
{
    a->config = value;
    return 0;
}
static int take_principal(struct arguments *a, const char *value)
{
    a->principal = value;
    return 0;
}
static int take_setting(struct arguments *a, const char *value)
{
    if (a->setting_count == SETTINGS_MAX - 1) {
        return usage("more than 63 settings, at '%s'", value);
    }
    a->settings[a->setting_count++] = value;
    return 0;
}
static int take_since(struct arguments *a, const char *value)
{
    struct duration duration;
    struct error err;
    if (duration_parse(value, &duration, &err) != STATUS_OK || duration.us <= 0) {
        return usage("--since '%s' is not a duration such as '2 h'", value);
    }
    a->since_us = duration.us;
    return 0;
}
static int take_json(struct arguments *a, const char *value)
{
    (void)value;
    a->json = true;
    return 0;
}
static int take_dry_run(struct arguments *a, const char *value)
{
    (void)value;
    a->dry_run = true;
    return 0;
}
static int take_revoke(struct arguments *a, const char *value)
{
    (void)value;
    a->revoke = true;
    return 0;
}

static const struct {
    const char *name, *value, *summary;
    const char *verb; /* NULL: of all */
    int (*take)(struct arguments *arguments, const char *value);
} flags[] = {
    {"--storage", "URI", "the storage; else SPATE_STORAGE_URI, else $XDG_STATE_HOME/spate", NULL, take_storage},
    {"--config", "FILE", "settings from this file, instead of spate.yaml", NULL, take_config},
    {"--job", "NAME", "within this job", NULL, take_job},
    {"--as", "PRINCIPAL", "in this one's name, with its rights: user:ann", NULL, take_principal},
    {"--set", "KEY=VALUE", "an option of the storage (repeatable); `spate options storage` lists them", NULL, take_setting},
    {"--json", NULL, "a JSON object a line", NULL, take_json},
    {"--dry-run", NULL, "list, change nothing", "gc", take_dry_run},
    {"--revoke", NULL, "take the role back", "grant", take_revoke},
    {"--since", "D", "only the last D, e.g. '2 h'", "audit", take_since},
};

static int take_flag(struct arguments *a, const char *verb, int argc, char **argv, int *at)
{
    for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
        if (strcmp(argv[*at], flags[i].name) != 0) {
            continue;
        }
        if (flags[i].verb != NULL && strcmp(flags[i].verb, verb) != 0) {
            return usage("%s is of another verb", flags[i].name);
        }
        if (flags[i].value != NULL && *at + 1 >= argc) {
            return usage("%s needs a value", argv[*at]);
        }
        return flags[i].take(a, flags[i].value == NULL ? NULL : argv[++*at]);
    }
    return usage("unknown option '%s'", argv[*at]);
}

static int parse(struct arguments *a, const struct verb *verb, int verb_at, int argc, char **argv)
{
    for (int at = 1; at < argc; at++) {
        if (at == verb_at) {
            continue;
        }
        if (argv[at][0] == '-' && argv[at][1] != '\0') {
            int code = take_flag(a, verb->name, argc, argv, &at);
            if (code != 0) {
                return code;
            }
        } else if (a->word_count == verb->most) {
            return usage("unexpected '%s'", argv[at]);
        } else {
            a->words[a->word_count++] = argv[at];
        }
    }
    if (a->word_count < verb->least) {
        return usage("it takes %s", verb->arguments);
    }
    if (a->storage[0] != '\0') {
        a->settings[a->setting_count++] = a->storage;
    }
    return 0;
}

static int help(void)
{
    fputs("usage: spate storage VERB [ARGUMENTS]\n\n", stdout);
    for (size_t i = 0; i < ARRAY_LENGTH(verbs); i++) {
        printf("  %-12s%-25s%s\n", verbs[i].name, verbs[i].arguments, verbs[i].summary);
    }
    fputs("\noptions:\n", stdout);
    for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
        printf("  %-12s%-12s%s\n", flags[i].name, flags[i].value == NULL ? "" : flags[i].value, flags[i].summary);
    }
    fputs(
        "\nkeys: jobs/NAME, config/SCOPE[/VERSION], audit/DAY; with --job: artifacts/NAME, config/SCOPE[/VERSION], checkpoints/TASK/SEQ,\n"
        "savepoints/NAME, offsets/TASK, logs/DAY[/HOUR], metrics/NAME\n",
        stdout);
    return 0;
}

/* Flags behind what file and environment say. *opened: what spate_storage_open gave; returns the exit code of the rest. */
static int open_storage(const struct arguments *a, spate_storage **storage, int *opened)
{
    const char *settings[2 * SETTINGS_MAX + 1];
    spate_config *config;
    uint32_t count = 0;
    int code = configuration_open(a->config, NULL, &config);
    if (code == 0) {
        for (const char *const *here = spate_config_storage(config); *here != NULL && count < SETTINGS_MAX; here++) {
            settings[count++] = *here;
        }
        memcpy(settings + count, a->settings, (a->setting_count + 1) * sizeof *settings);
        *opened = spate_storage_open(settings, a->principal, storage);
    }
    spate_config_close(config);
    return code;
}

static int run_verb(const struct verb *verb, int verb_at, int argc, char **argv)
{
    struct arguments arguments = {0};
    spate_storage *storage;
    int code = parse(&arguments, verb, verb_at, argc, argv);
    if (code != 0) {
        return code;
    }
    int opened;
    code = open_storage(&arguments, &storage, &opened);
    if (code != 0) {
        return code;
    }
    if (storage == NULL) {
        fputs("spate storage: no memory\n", stderr);
        return 1;
    }
    code = opened != SPATE_OK ? fail(storage) : verb->run(storage, &arguments);
    spate_storage_close(storage);
    return fflush(stdout) != 0 && code == 0 ? 1 : code;
}

/* The first word that is no flag and no flag's value; options may stand before it. argc: there is none. */
static int verb_find(int argc, char **argv)
{
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
            if (strcmp(argv[at], flags[i].name) == 0 && flags[i].value != NULL) {
                at++;
                break;
            }
        }
    }
    return at < argc ? at : argc;
}

int storage_command(int argc, char **argv)
{
    const char *names[ARRAY_LENGTH(verbs)];
    int at = verb_find(argc, argv);
    if (at == argc || strcmp(argv[at], "help") == 0) {
        (void)help();
        return at == argc && (argc < 2 || strcmp(argv[1], "--help") != 0) ? 2 : 0;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(verbs); i++) {
        names[i] = verbs[i].name;
        if (strcmp(argv[at], verbs[i].name) == 0) {
            return run_verb(&verbs[i], at, argc, argv);
        }
    }
    const char *near = text_nearest(argv[at], names, ARRAY_LENGTH(names));
    fprintf(stderr, "spate storage: unknown verb '%s'%s%s%s; see spate storage help\n", argv[at], near == NULL ? "" : "; did you mean '",
            near == NULL ? "" : near, near == NULL ? "" : "'?");
    return 2;
}
