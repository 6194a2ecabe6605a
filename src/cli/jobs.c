#include "cli/jobs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/option.h"
#include "cli/configuration.h"
#include "cli/error_print.h"
#include "cli/run.h"
#include "cli/setting_list.h"
#include "cli/variables.h"
#include "spate/operations.h"

#define STORAGE_KEY "storage.uri="
enum { WORDS_MAX = 5, SETTINGS_MAX = 256, SCRIPTS_MAX = 64, TIMEOUT_MS = 600000 };

/* ---- arguments ---- */

struct job_arguments {
    const char *words[WORDS_MAX]; /* what is no option */
    uint32_t word_count;
    struct setting_list settings;
    enum output_form form;
    const char *to; /* --to, --savepoint */
    bool yes, force, with_savepoints, takes_over;
    int64_t timeout_ms;
    const char *config; /* file; NULL: spate.yaml, if it is there */
};

static int usage_error(const char *what, const char *value)
{
    fprintf(stderr, "spate: %s '%s'; see spate --help\n", what, value);
    return 2;
}

static int take_setting(struct job_arguments *self, const char *value)
{
    return setting_list_add(&self->settings, "job", value);
}

/* A relative folder means the same after the working folder has changed. */
static int take_storage(struct job_arguments *self, const char *value)
{
    char folder[PATH_MAX], place[PATH_MAX + 32];
    bool relative = value[0] != '/' && strstr(value, "://") == NULL;
    if (relative && getcwd(folder, sizeof folder) == NULL) {
        return usage_error("write the folder as an absolute path: not", value);
    }
    int length = snprintf(place, sizeof place, "%s%s%s", relative ? folder : "", relative ? "/" : "", value);
    return length < (int)sizeof place ? setting_list_place(&self->settings, "job", SETTING_STORAGE, place)
                                      : usage_error("this is too long:", value);
}

static int take_coordinator(struct job_arguments *self, const char *value)
{
    return setting_list_place(&self->settings, "job", SETTING_COORDINATOR, value);
}

static int take_form(struct job_arguments *self, const char *value)
{
    return output_form_find(value, &self->form) ? 0 : usage_error("unknown form", value);
}

static int take_place(struct job_arguments *self, const char *value)
{
    self->to = value;
    return 0;
}

static int take_config(struct job_arguments *self, const char *value)
{
    self->config = value;
    return 0;
}

static int take_timeout(struct job_arguments *self, const char *value)
{
    struct duration duration;
    struct error err;
    if (duration_parse(value, &duration, &err) != STATUS_OK || duration.us <= 0) {
        return usage_error("--timeout takes a duration such as '10 s', not", value);
    }
    self->timeout_ms = duration.us / 1000;
    return 0;
}

static const struct {
    const char *name, *long_name;
    int (*take)(struct job_arguments *self, const char *value);
} flags[] = {
    {"--savepoint", "--savepoint", take_place},
    {"--config", "--config", take_config},
    {"--storage", "--storage", take_storage},
    {"--coordinator", "--coordinator", take_coordinator},
    {"-s", "--set", take_setting},
    {"-o", "--output", take_form},
    {"--to", "--to", take_place},
    {"--timeout", "--timeout", take_timeout},
};

static int parse_flag(struct job_arguments *self, int argc, char **argv, int *at)
{
    const struct {
        const char *name;
        bool *flag;
    } switches[] = {
        {"--yes", &self->yes}, {"--force", &self->force}, {"--with-savepoints", &self->with_savepoints}, {"--takeover", &self->takes_over}};
    if (strcmp(argv[*at], "--json") == 0) {
        return take_form(self, "json");
    }
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        if (strcmp(argv[*at], switches[i].name) == 0) {
            *switches[i].flag = true;
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strcmp(argv[*at], flags[i].name) == 0 || strcmp(argv[*at], flags[i].long_name) == 0) {
            return *at + 1 < argc ? flags[i].take(self, argv[++*at]) : usage_error("this needs a value:", argv[*at]);
        }
    }
    return usage_error("unknown option", argv[*at]);
}

static int parse(struct job_arguments *self, int argc, char **argv)
{
    *self = (struct job_arguments){.form = output_form_default(), .timeout_ms = TIMEOUT_MS};
    int code = 0;
    for (int at = 1; at < argc && code == 0; at++) {
        if (argv[at][0] == '-') {
            code = parse_flag(self, argc, argv, &at);
        } else if (self->word_count < WORDS_MAX) {
            self->words[self->word_count++] = argv[at];
        } else {
            code = usage_error("unexpected", argv[at]);
        }
    }
    return code;
}

/* ---- sessions and rows ---- */

/* A folder that is named wrong would be made, and have no jobs. */
static int storage_missing(const struct job_arguments *arguments)
{
    const char *setting = arguments->settings.places[SETTING_STORAGE];
    const char *place = setting[0] == '\0' ? "" : setting + strlen(STORAGE_KEY);
    struct stat found;
    if (place[0] != '/' || stat(place, &found) == 0 || errno != ENOENT) {
        return 0;
    }
    fprintf(stderr, "spate: no storage is at '%s': there is no such folder; give --storage the storage.uri of the job\n", place);
    return 3;
}

static int open_session(const struct job_arguments *arguments, spate_session **session)
{
    spate_config *config;
    int code = storage_missing(arguments);
    if (code != 0) {
        return code;
    }
    code = configuration_open(arguments->config, arguments->settings.items, &config);
    if (code == 0 && spate_session_open(spate_config_settings(config), session) != SPATE_OK) {
        if (*session != NULL) {
            error_print("spate", TEXT(""), spate_session_error(*session));
        }
        code = 2;
    }
    spate_config_close(config);
    return code;
}

/* ---- job ---- */

static int job_list(spate_session *session, const struct job_arguments *arguments)
{
    spate_result *result;
    return spate_job_list(session, &result) == SPATE_OK ? output_print_all(session, result, arguments->form, NULL, NULL)
                                                        : error_fail(spate_session_error(session));
}

static int job_show(spate_session *session, const struct job_arguments *arguments)
{
    spate_result *result;
    return spate_job_show(session, arguments->words[1], &result) == SPATE_OK
               ? output_print_all(session, result, arguments->form, NULL, NULL)
               : error_fail(spate_session_error(session));
}

/* Where the line after "-- spate:script NAME" begins; *name is ended in the text. NULL: no such line here. */
static char *script_head(char *at, const char **name)
{
    if (strncmp(at, SCRIPT_HEAD, strlen(SCRIPT_HEAD)) != 0) {
        return NULL;
    }
    *name = at + strlen(SCRIPT_HEAD);
    char *end = strchr(at, '\n');
    if (end == NULL) {
        return at + strlen(at);
    }
    *end = '\0';
    return end + 1;
}

/* The scripts in a stored text; the text is cut up. */
static int split_scripts(char *text, struct script *scripts, uint32_t *count)
{
    const struct variables none = {0};
    const char *name = "job";
    char *body = text, *next = script_head(text, &name);
    *count = 0;
    body = next != NULL ? next : body;
    while (body != NULL) {
        const char *this_name = name;
        char *head = strstr(body, "\n" SCRIPT_HEAD);
        next = NULL;
        if (head != NULL) {
            *head = '\0';
            next = script_head(head + 1, &name);
        }
        if (*count == SCRIPTS_MAX) {
            return usage_error("more than 64 scripts, at", this_name);
        }
        int code = script_from_text(this_name, body, &none, &scripts[(*count)++]);
        if (code != 0) {
            return code;
        }
        body = next;
    }
    return 0;
}

static int add_setting(const char *setting, const char **settings, uint32_t *count)
{
    if (*count == SETTINGS_MAX) {
        return usage_error("more than 256 settings, at", setting);
    }
    settings[(*count)++] = setting;
    settings[*count] = NULL;
    return 0;
}

/* Those of this place first, then the stored ones, so that those of this command line win. */
static int restart_settings(const struct job_arguments *arguments, const struct spate_job_script *script, const spate_config *config,
                            const char **settings)
{
    uint32_t count = 0;
    int code = 0;
    settings[0] = NULL;
    for (const char *const *here = spate_config_settings(config); *here != NULL && code == 0; here++) {
        code = add_setting(*here, settings, &count);
    }
    for (uint32_t i = 0; i < script->setting_count && code == 0; i++) {
        bool elsewhere =
            strncmp(script->settings[i], STORAGE_KEY, strlen(STORAGE_KEY)) == 0 && arguments->settings.places[SETTING_STORAGE][0] != '\0';
        code = elsewhere ? 0 : add_setting(script->settings[i], settings, &count);
    }
    for (uint32_t i = 0; i < arguments->settings.count && code == 0; i++) {
        code = add_setting(arguments->settings.items[i], settings, &count);
    }
    return code;
}

static void restart_notes(const struct spate_job_script *script)
{
    for (uint32_t i = 0; i < script->missing_count; i++) {
        fprintf(stderr, "spate: '%s' was a secret and is not stored: give it again with -s unless it is set otherwise\n",
                script->missing[i]);
    }
    if (chdir(script->folder) != 0) {
        fprintf(stderr, "spate: the folder '%s' is not here: relative paths are looked for in this one\n", script->folder);
    }
}

static int run_again(const struct job_arguments *arguments, const struct spate_job_script *script)
{
    const char *settings[SETTINGS_MAX + 1];
    struct script scripts[SCRIPTS_MAX];
    uint32_t count = 0;
    char *text = strdup(script->sql);
    if (text == NULL) {
        return usage_error("no room for the SQL of", script->name);
    }
    spate_config *config;
    int code = configuration_open(arguments->config, NULL, &config);
    code = code == 0 ? restart_settings(arguments, script, config, settings) : code;
    restart_notes(script);
    code = code == 0 ? split_scripts(text, scripts, &count) : code;
    if (code == 0) {
        const struct run_options options = {.form = arguments->form, .settings = settings};
        code = run_scripts(&options, scripts, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        script_close(&scripts[i]);
    }
    spate_config_close(config);
    free(text);
    return code;
}

/* One that runs on several processes is only given free again; another runs here. */
static int job_restart(spate_session *session, const struct job_arguments *arguments)
{
    int shared;
    if (spate_job_restart(session, arguments->words[1], arguments->takes_over ? SPATE_RESTART_TAKEOVER : 0, &shared) != SPATE_OK) {
        return error_fail(spate_session_error(session));
    }
    if (shared) {
        printf("job '%s' may be run again: by the workers that are there\n", arguments->words[1]);
        return 0;
    }
    struct spate_job_script script = {.size = sizeof script};
    return spate_job_script(session, arguments->words[1], &script) == SPATE_OK ? run_again(arguments, &script)
                                                                               : error_fail(spate_session_error(session));
}

/* ---- ending and removing ---- */

static int job_stop(spate_session *session, const struct job_arguments *arguments)
{
    const char *where;
    if (spate_job_stop(session, arguments->words[1], arguments->to, arguments->timeout_ms, &where) != SPATE_OK) {
        return error_fail(spate_session_error(session));
    }
    if (where[0] != '\0') {
        puts(where);
    }
    return 0;
}

static int job_kill(spate_session *session, const struct job_arguments *arguments)
{
    return spate_job_kill(session, arguments->words[1], arguments->timeout_ms) == SPATE_OK ? 0 : error_fail(spate_session_error(session));
}

static int job_remove(spate_session *session, const struct job_arguments *arguments)
{
    uint32_t how = (arguments->with_savepoints ? SPATE_REMOVE_SAVEPOINTS : 0) | (arguments->force ? SPATE_REMOVE_UNSEEN : 0);
    if (!arguments->yes) {
        fprintf(stderr,
                "spate: this deletes job '%s' with its checkpoints, logs and settings for ever; what it has written into tables stays. Add "
                "--yes "
                "to do it\n",
                arguments->words[1]);
        return 2;
    }
    return spate_job_remove(session, arguments->words[1], how) == SPATE_OK ? 0 : error_fail(spate_session_error(session));
}

/* ---- savepoint ---- */

static int savepoint_take(spate_session *session, const struct job_arguments *arguments)
{
    const char *where;
    if (spate_job_savepoint(session, arguments->words[0], arguments->to, arguments->timeout_ms, &where) != SPATE_OK) {
        return error_fail(spate_session_error(session));
    }
    puts(where);
    return 0;
}

/* ---- state ---- */

static int state_list(spate_session *session, const struct job_arguments *arguments)
{
    spate_result *result;
    return spate_state_list(session, arguments->words[1], &result) == SPATE_OK
               ? output_print_all(session, result, arguments->form, NULL, NULL)
               : error_fail(spate_session_error(session));
}

static int state_rows(spate_session *session, const struct job_arguments *arguments, const char *operator_id, const char *table,
                      enum output_form form, const char *prefix)
{
    spate_result *result;
    return spate_state_rows(session, arguments->words[1], operator_id, table, &result) == SPATE_OK
               ? output_print_all(session, result, form, prefix, NULL)
               : error_fail(spate_session_error(session));
}

static int state_show(spate_session *session, const struct job_arguments *arguments)
{
    return state_rows(session, arguments, arguments->words[2], arguments->words[3], arguments->form, NULL);
}

struct export
{
    spate_session *session;
    const struct job_arguments *arguments;
    int code;
};

/* Names of operators and tables hold nothing that JSON would escape. */
static int export_table(void *context, int kind, uint32_t column_count, const char *const *values, const size_t *lengths)
{
    (void)kind;
    (void)column_count;
    (void)lengths;
    struct export *self = context;
    const char *wanted = self->arguments->words[2];
    char operator_id[256], table[256], prefix[600];
    if ((wanted != NULL && strcmp(wanted, values[0]) != 0) ||
        (self->arguments->words[3] != NULL && strcmp(self->arguments->words[3], values[1]) != 0)) {
        return 0;
    }
    snprintf(operator_id, sizeof operator_id, "%s", values[0]); /* the values are lent until the next call */
    snprintf(table, sizeof table, "%s", values[1]);
    snprintf(prefix, sizeof prefix, "\"operator\":\"%s\",\"table\":\"%s\",", operator_id, table);
    self->code = state_rows(self->session, self->arguments, operator_id, table, OUTPUT_JSONL, prefix);
    return self->code;
}

static int state_export(spate_session *session, const struct job_arguments *arguments)
{
    struct export self = {session, arguments, 0};
    spate_result *tables;
    int64_t rows = 1;
    if (spate_state_list(session, arguments->words[1], &tables) != SPATE_OK) {
        return error_fail(spate_session_error(session));
    }
    while (rows > 0 && self.code == 0) {
        if (spate_result_next_text(tables, export_table, &self, &rows) != SPATE_OK) {
            self.code = error_fail(spate_session_error(session));
        }
    }
    spate_result_close(tables);
    return self.code;
}

/* ---- the commands ---- */

struct verb {
    const char *name; /* NULL: the command has none */
    uint32_t words_min, words_max;
    int (*run)(spate_session *session, const struct job_arguments *arguments);
};

static bool asks_for_help(int argc, char **argv)
{
    bool asks = false;
    for (int at = 1; at < argc; at++) {
        asks = asks || strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0;
    }
    return asks;
}

static int print_usage(FILE *file, const char *command, const char *usage)
{
    fprintf(file, "usage: spate %s %s [--storage URI] [-s KEY=VALUE] [-o FORM] [--json]\n", command, usage);
    return 0;
}

static int run_verb(int argc, char **argv, const struct verb *verbs, uint32_t count, const char *usage)
{
    struct job_arguments arguments;
    spate_session *session = NULL;
    if (asks_for_help(argc, argv)) {
        return print_usage(stdout, argv[0], usage);
    }
    int code = parse(&arguments, argc, argv);
    if (code != 0) {
        return code;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool named = verbs[i].name == NULL || (arguments.word_count > 0 && strcmp(arguments.words[0], verbs[i].name) == 0);
        if (named && arguments.word_count >= verbs[i].words_min && arguments.word_count <= verbs[i].words_max) {
            code = open_session(&arguments, &session);
            code = code == 0 ? verbs[i].run(session, &arguments) : code;
            spate_session_close(session);
            return code;
        }
    }
    (void)print_usage(stderr, argv[0], usage);
    return 2;
}

int command_job(int argc, char **argv)
{
    static const struct verb verbs[] = {{"list", 1, 1, job_list}, {"show", 2, 2, job_show}, {"restart", 2, 2, job_restart},
                                        {"stop", 2, 2, job_stop}, {"kill", 2, 2, job_kill}, {"remove", 2, 2, job_remove}};
    return run_verb(argc, argv, verbs, 6,
                    "submit FILE... --coordinator URI [--replace] | list | show JOB | restart JOB [--takeover] | stop JOB [--savepoint "
                    "PLACE] [--timeout D] | kill JOB [--timeout D] | "
                    "remove JOB --yes [--with-savepoints] [--force]");
}

int command_savepoint(int argc, char **argv)
{
    static const struct verb verbs[] = {{NULL, 1, 1, savepoint_take}};
    return run_verb(argc, argv, verbs, 1, "JOB [--to PLACE] [--timeout D]");
}

int command_state(int argc, char **argv)
{
    static const struct verb verbs[] = {{"ls", 2, 2, state_list}, {"show", 3, 4, state_show}, {"export", 2, 4, state_export}};
    return run_verb(argc, argv, verbs, 3, "ls JOB|PATH | show JOB|PATH OPERATOR [TABLE] | export JOB|PATH [OPERATOR [TABLE]]");
}
