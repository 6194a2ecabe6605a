#include "cli/coord.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/configuration.h"
#include "cli/error_print.h"
#include "cli/output.h"
#include "cli/setting_list.h"
#include "spate/operations.h"

enum { WORDS_MAX = 2 };

struct coord_arguments {
    const char *words[WORDS_MAX]; /* verb, job */
    uint32_t word_count;
    struct setting_list settings;
    enum output_form form;
    bool form_given;
    const char *config;
    bool yes;
};

static int usage_error(const char *what, const char *value)
{
    fprintf(stderr, "spate: %s '%s'; see spate coord\n", what, value);
    return 2;
}

/* ---- options ---- */

static int take_setting(struct coord_arguments *self, const char *value)
{
    return setting_list_add(&self->settings, "coord", value);
}

static int take_coordinator(struct coord_arguments *self, const char *value)
{
    return setting_list_place(&self->settings, "coord", SETTING_COORDINATOR, value);
}

static int take_storage(struct coord_arguments *self, const char *value)
{
    return setting_list_place(&self->settings, "coord", SETTING_STORAGE, value);
}

static int take_config(struct coord_arguments *self, const char *value)
{
    self->config = value;
    return 0;
}

static int take_form(struct coord_arguments *self, const char *value)
{
    self->form_given = true;
    return output_form_find(value, &self->form) ? 0 : usage_error("unknown form", value);
}

static int take_json(struct coord_arguments *self, const char *value)
{
    (void)value;
    return take_form(self, "json");
}

static int take_yes(struct coord_arguments *self, const char *value)
{
    (void)value;
    self->yes = true;
    return 0;
}

static const struct {
    const char *name, *value, *summary;
    int (*take)(struct coord_arguments *self, const char *value);
} flags[] = {
    {"--coordinator", "URI", "the coordination service; else 'coordinator.uri' of the configuration", take_coordinator},
    {"--storage", "URI", "where the job is kept; without it, JOB is an id", take_storage},
    {"--json", NULL, "JSON instead of text", take_json},
    {"--yes", NULL, "repair: also while members beat", take_yes},
    {"-o", "FORM", "table, csv, tsv, json, jsonl, vertical, markdown", take_form},
    {"--config", "FILE", "settings from this file, instead of spate.yaml", take_config},
    {"-s", "KEY=VALUE", "a setting", take_setting},
};

static int parse_option(struct coord_arguments *self, int argc, char **argv, int *at)
{
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strcmp(argv[*at], flags[i].name) == 0) {
            if (flags[i].value == NULL) {
                return flags[i].take(self, NULL);
            }
            return *at + 1 < argc ? flags[i].take(self, argv[++*at]) : usage_error("this needs a value:", argv[*at]);
        }
    }
    return usage_error("unknown option", argv[*at]);
}

static int parse(struct coord_arguments *self, int argc, char **argv)
{
    int code = 0;
    self->form = output_form_default();
    for (int at = 1; at < argc && code == 0; at++) {
        if (argv[at][0] == '-') {
            code = parse_option(self, argc, argv, &at);
        } else if (self->word_count < WORDS_MAX) {
            self->words[self->word_count++] = argv[at];
        } else {
            code = usage_error("unexpected", argv[at]);
        }
    }
    return code;
}

/* ---- what is printed ---- */

static int print_members(spate_session *session, const struct coord_arguments *self)
{
    spate_result *result;
    return spate_coord_members(session, self->words[1], &result) == SPATE_OK ? output_print_all(session, result, self->form, NULL, NULL)
                                                                             : error_fail(spate_session_error(session));
}

static int print_tasks(spate_session *session, const struct coord_arguments *self, bool only_closed)
{
    spate_result *result;
    return spate_coord_tasks(session, self->words[1], only_closed, &result) == SPATE_OK
               ? output_print_all(session, result, self->form, NULL, NULL)
               : error_fail(spate_session_error(session));
}

static int show_tasks(spate_session *session, const struct coord_arguments *self)
{
    return print_tasks(session, self, false);
}

static int show_history(spate_session *session, const struct coord_arguments *self)
{
    spate_result *result;
    return spate_coord_history(session, self->words[1], &result) == SPATE_OK ? output_print_all(session, result, self->form, NULL, NULL)
                                                                             : error_fail(spate_session_error(session));
}

static int show_model(spate_session *session, const struct coord_arguments *self)
{
    const char *json;
    if (spate_coord_model(session, self->words[1], &json) != SPATE_OK) {
        return error_fail(spate_session_error(session));
    }
    puts(json);
    return 0;
}

/* As one object. */
static int status_json(spate_session *session, const struct coord_arguments *self, spate_result *status)
{
    fputs("{\"status\":", stdout);
    int code = output_print_all(session, status, OUTPUT_JSON, NULL, NULL);
    fputs(",\"members\":", stdout);
    code = code == 0 ? print_members(session, self) : code;
    fputs(",\"closed\":", stdout);
    code = code == 0 ? print_tasks(session, self, true) : code;
    fputs("}\n", stdout);
    return code;
}

/* A row that is read downwards, and tables, also into a pipe. */
static int status_screen(spate_session *session, const struct coord_arguments *self, spate_result *status)
{
    int code = output_print_all(session, status, self->form_given ? self->form : OUTPUT_VERTICAL, NULL, NULL);
    enum output_form form = self->form_given ? self->form : OUTPUT_TABLE;
    bool titled = form == OUTPUT_TABLE;
    spate_result *result;
    if (code == 0) {
        code = spate_coord_members(session, self->words[1], &result) == SPATE_OK
                   ? output_print_all(session, result, form, NULL, titled ? "members\n" : NULL)
                   : error_fail(spate_session_error(session));
    }
    if (code == 0) {
        code = spate_coord_tasks(session, self->words[1], true, &result) == SPATE_OK
                   ? output_print_all(session, result, form, NULL, titled ? "tasks that are not open\n" : NULL)
                   : error_fail(spate_session_error(session));
    }
    return code;
}

static int show_status(spate_session *session, const struct coord_arguments *self)
{
    spate_result *status;
    if (spate_coord_status(session, self->words[1], &status) != SPATE_OK) {
        return error_fail(spate_session_error(session));
    }
    return self->form == OUTPUT_JSON ? status_json(session, self, status) : status_screen(session, self, status);
}

static int repair(spate_session *session, const struct coord_arguments *self)
{
    const char *done;
    if (spate_coord_repair(session, self->words[1], self->yes ? SPATE_REPAIR_ANYWAY : 0, &done) != SPATE_OK) {
        return error_fail(spate_session_error(session));
    }
    fputs(done, stdout);
    return 0;
}

static const struct {
    const char *name, *summary;
    int (*run)(spate_session *session, const struct coord_arguments *self);
} verbs[] = {
    {"status", "one screen: who leads, who is there, which tasks are not open and why", show_status},
    {"members", "the processes: what they own and hold, and whether they beat", print_members},
    {"tasks", "every task, its owner, and what it waits for", show_tasks},
    {"model", "the register that decides who may do what, as JSON", show_model},
    {"history", "the last 64 rounds: why each began, what moved, how long it took", show_history},
    {"repair", "mend damaged registers: the model is made again from the job's record", repair},
};

static int usage(void)
{
    fputs("usage: spate coord VERB JOB [OPTIONS]   the group of processes that runs a job\n", stderr);
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        fprintf(stderr, "  %-16s %s\n", verbs[i].name, verbs[i].summary);
    }
    fputs("options:\n", stderr);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        fprintf(stderr, "  %-16s %-10s %s\n", flags[i].name, flags[i].value == NULL ? "" : flags[i].value, flags[i].summary);
    }
    return 2;
}

static int in_session(spate_session *session, const struct coord_arguments *self)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(self->words[0], verbs[i].name) == 0) {
            return verbs[i].run(session, self);
        }
    }
    return usage_error("there is no verb", self->words[0]);
}

int command_coord(int argc, char **argv)
{
    struct coord_arguments arguments = {.word_count = 0};
    spate_config *config = NULL;
    spate_session *session = NULL;
    int code = parse(&arguments, argc, argv);
    if (code == 0 && arguments.word_count < WORDS_MAX) {
        code = usage();
    }
    if (code == 0) {
        code = configuration_open(arguments.config, arguments.settings.items, &config);
    }
    if (code == 0 && spate_session_open(spate_config_settings(config), &session) != SPATE_OK) {
        code = session == NULL ? 2 : error_fail(spate_session_error(session));
    } else if (code == 0) {
        code = in_session(session, &arguments);
    }
    spate_session_close(session);
    spate_config_close(config);
    return code;
}
