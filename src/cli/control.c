#include "cli/control.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/option.h"
#include "cli/configuration.h"
#include "cli/error_print.h"
#include "cli/json_text.h"
#include "cli/setting_list.h"
#include "spate/control.h"

enum { WORDS_MAX = 3, ARGUMENTS_MAX = 32, TIMEOUT_MS = 60000, LATE = 4, FOLLOW_US = 250000 };

struct ctl_arguments {
    const char *words[WORDS_MAX]; /* what is no option */
    uint32_t word_count;
    struct setting_list settings;
    char *arguments[ARGUMENTS_MAX + 1]; /* of the verb, "name=value" */
    uint32_t argument_count;
    const char *config;
    struct spate_proposal proposal;
    int64_t timeout_ms;
    bool wait, json, follow;
};

static int usage_error(const char *what, const char *value)
{
    fprintf(stderr, "spate: %s '%s'; see spate ctl\n", what, value);
    return 2;
}

/* ---- options ---- */

static int take_setting(struct ctl_arguments *self, const char *value)
{
    return setting_list_add(&self->settings, "ctl", value);
}

static int take_coordinator(struct ctl_arguments *self, const char *value)
{
    return setting_list_place(&self->settings, "ctl", SETTING_COORDINATOR, value);
}

static int take_storage(struct ctl_arguments *self, const char *value)
{
    return setting_list_place(&self->settings, "ctl", SETTING_STORAGE, value);
}

static int take_config(struct ctl_arguments *self, const char *value)
{
    self->config = value;
    return 0;
}

static int take_key(struct ctl_arguments *self, const char *value)
{
    self->proposal.key = value;
    return 0;
}

static int take_number(const char *value, int64_t *number)
{
    char *end;
    *number = strtoll(value, &end, 10);
    return *end == '\0' && *value != '\0' && *number >= 0 ? 0 : usage_error("this is no number:", value);
}

static int take_version(struct ctl_arguments *self, const char *value)
{
    return take_number(value, &self->proposal.expect_version);
}

static int take_rank(struct ctl_arguments *self, const char *value)
{
    return take_number(value, &self->proposal.expect_rank);
}

static int take_duration(const char *value, int64_t *ms)
{
    struct duration duration;
    struct error err;
    if (duration_parse(value, &duration, &err) != STATUS_OK || duration.us <= 0) {
        return usage_error("a duration is written like '10 s', not", value);
    }
    *ms = (duration.us + 999) / 1000;
    return 0;
}

static int take_deadline(struct ctl_arguments *self, const char *value)
{
    return take_duration(value, &self->proposal.deadline_ms);
}

static int take_timeout(struct ctl_arguments *self, const char *value)
{
    return take_duration(value, &self->timeout_ms);
}

static int take_wait(struct ctl_arguments *self, const char *value)
{
    (void)value;
    self->wait = true;
    return 0;
}

static int take_json(struct ctl_arguments *self, const char *value)
{
    (void)value;
    self->json = true;
    return 0;
}

static int take_follow(struct ctl_arguments *self, const char *value)
{
    (void)value;
    self->follow = true;
    return 0;
}

static const struct {
    const char *name, *value, *summary;
    int (*take)(struct ctl_arguments *self, const char *value);
} flags[] = {
    {"--coordinator", "URI", "the coordination service; else 'coordinator.uri' of the configuration", take_coordinator},
    {"--storage", "URI", "where the job is kept", take_storage},
    {"--key", "KEY", "the same key is the same edit, however often it is proposed", take_key},
    {"--expect-version", "N", "refuse it when the model's version is another by then", take_version},
    {"--expect-rank", "N", "refuse it when another edit was accepted after this one", take_rank},
    {"--deadline", "D", "refuse it when it is not accepted within this time", take_deadline},
    {"--wait", NULL, "wait until it is done, not only accepted", take_wait},
    {"--timeout", "D", "wait so long at most (60 s); the edit stays", take_timeout},
    {"--follow", NULL, "log: go on with what comes, until interrupted", take_follow},
    {"--json", NULL, "JSON instead of text", take_json},
    {"--config", "FILE", "settings from this file, instead of spate.yaml", take_config},
    {"-s", "KEY=VALUE", "a setting", take_setting},
};

static int usage(void)
{
    fputs("usage: spate ctl JOB VERB [--ARGUMENT VALUE ...] [OPTIONS]   propose an edit\n"
          "       spate ctl JOB log [--from N] [--follow] | show N    look at the control log\n"
          "       spate ctl verbs [VERB]                              what can be asked, and how\n",
          stderr);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        fprintf(stderr, "  %-16s %-10s %s\n", flags[i].name, flags[i].value == NULL ? "" : flags[i].value, flags[i].summary);
    }
    return 2;
}

/* Any other option is an argument of the verb; one without a value is true. */
static int take_argument(struct ctl_arguments *self, const char *name, const char *value)
{
    if (self->argument_count == ARGUMENTS_MAX || name[0] != '-' || name[1] != '-' || name[2] == '\0') {
        return usage_error("unknown option", name);
    }
    if (asprintf(&self->arguments[self->argument_count], "%s=%s", name + 2, value == NULL ? "true" : value) < 0) {
        return usage_error("no room for", name);
    }
    self->argument_count++;
    return 0;
}

static int parse_option(struct ctl_arguments *self, int argc, char **argv, int *at)
{
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strcmp(argv[*at], flags[i].name) == 0) {
            if (flags[i].value == NULL) {
                return flags[i].take(self, NULL);
            }
            return *at + 1 < argc ? flags[i].take(self, argv[++*at]) : usage_error("this needs a value:", argv[*at]);
        }
    }
    const char *name = argv[*at];
    bool has_value = *at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0 && strcmp(argv[*at + 1], "-s") != 0;
    return take_argument(self, name, has_value ? argv[++*at] : NULL);
}

static int parse(struct ctl_arguments *self, int argc, char **argv)
{
    int code = 0;
    self->timeout_ms = TIMEOUT_MS;
    self->proposal = (struct spate_proposal){.size = sizeof self->proposal, .expect_version = -1, .expect_rank = -1};
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

static void print_json_text(const char *name, const char *value)
{
    if (value != NULL) {
        printf(",\"%s\":", name);
        json_text_print(value, strlen(value));
    }
}

static void print_json(void *context, const struct spate_edit *edit)
{
    (void)context;
    printf("{\"index\":%" PRIu64 ",\"state\":\"%s\"", edit->index, edit->state);
    if (edit->rank != 0) {
        printf(",\"rank\":%" PRIu64 ",\"how\":\"%s\",\"applied\":%u,\"of\":%u", edit->rank, edit->how, edit->applied, edit->of);
    }
    print_json_text("verb", edit->verb);
    print_json_text("key", edit->key);
    print_json_text("actor", edit->actor);
    print_json_text("code", edit->code);
    print_json_text("reason", edit->reason);
    print_json_text("warning", edit->warning);
    if (edit->other != 0) {
        printf(",\"other\":%" PRIu64, edit->other);
    }
    if (edit->args != NULL) {
        printf(",\"args\":%s", edit->args);
    }
    if (edit->result != NULL) {
        printf(",\"result\":%s", edit->result);
    }
    puts("}");
}

static void print_line(void *context, const struct spate_edit *edit)
{
    (void)context;
    printf("#%" PRIu64 " %s", edit->index, edit->verb);
    if (edit->args != NULL && strcmp(edit->args, "{}") != 0) {
        printf(" %s", edit->args);
    }
    printf(": %s", edit->state);
    if (edit->rank != 0) {
        printf(" (edit %" PRIu64 ", applied %u of %u)", edit->rank, edit->applied, edit->of);
    }
    if (edit->other != 0) {
        printf(" of #%" PRIu64, edit->other);
    }
    if (edit->code != NULL) {
        printf(" %s:", edit->code);
    }
    if (edit->reason != NULL) {
        printf(" %s", edit->reason);
    }
    if (edit->warning != NULL) {
        printf(" (%s)", edit->warning);
    }
    if (edit->result != NULL) {
        printf(" %s", edit->result);
    }
    putchar('\n');
}

/* ---- what is asked ---- */

/* What the edit came to, as an exit code. */
static int code_of(const struct spate_edit *edit, bool reached)
{
    static const char *const good[] = {"accepted", "done", "superseded"};
    for (size_t i = 0; i < sizeof good / sizeof good[0] && reached; i++) {
        if (strcmp(edit->state, good[i]) == 0) {
            return 0;
        }
    }
    return reached ? 1 : LATE;
}

static int propose(spate_session *session, spate_control *control, struct ctl_arguments *self)
{
    const struct passwd *user = getpwuid(geteuid());
    char actor[160];
    struct spate_edit edit;
    uint64_t index;
    bool reached;
    snprintf(actor, sizeof actor, "user:%s", user == NULL ? "unknown" : user->pw_name);
    self->proposal.verb = self->words[1];
    self->proposal.arguments = (const char *const *)self->arguments;
    self->proposal.actor = actor;
    int result = spate_control_propose(control, &self->proposal, &index);
    if (result != SPATE_OK) {
        int code = error_fail(spate_session_error(session));
        return result == SPATE_ERROR_SQL ? 2 : code; /* no such verb, or not with these arguments: nothing was proposed */
    }
    if (spate_control_await(control, index, self->wait, self->timeout_ms, &edit, &reached) != SPATE_OK) {
        return error_fail(spate_session_error(session));
    }
    (self->json ? print_json : print_line)(NULL, &edit);
    if (!reached) {
        fprintf(stderr, "spate: not %s within the time; it stays: spate ctl %s show %" PRIu64 "\n", self->wait ? "done" : "decided",
                self->words[0], index);
    }
    return code_of(&edit, reached);
}

static int show(spate_session *session, spate_control *control, struct ctl_arguments *self)
{
    struct spate_edit edit;
    int64_t index = 0;
    int code = self->word_count == 3 ? take_number(self->words[2], &index) : usage();
    if (code == 0 && spate_control_show(control, (uint64_t)index, &edit) != SPATE_OK) {
        code = error_fail(spate_session_error(session));
    } else if (code == 0) {
        (self->json ? print_json : print_line)(NULL, &edit);
    }
    return code;
}

/* What was printed of an edit; a change of it is printed again. */
struct followed {
    struct ctl_arguments *arguments;
    struct seen {
        uint64_t index;
        uint32_t applied;
        char state[16];
    } * list;
    size_t count;
    uint64_t first_open; /* all before it are closed, and printed so */
    bool failed;
};

static struct seen *find_seen(struct followed *self, uint64_t index)
{
    for (size_t i = self->count; i > 0; i--) {
        if (self->list[i - 1].index == index) {
            return &self->list[i - 1];
        }
    }
    struct seen *list = realloc(self->list, (self->count + 1) * sizeof *list);
    if (list == NULL) {
        self->failed = true;
        return NULL;
    }
    self->list = list;
    list[self->count] = (struct seen){.index = index};
    return &list[self->count++];
}

static void follow_edit(void *context, const struct spate_edit *edit)
{
    struct followed *self = context;
    struct seen *seen = find_seen(self, edit->index);
    if (seen != NULL && (strcmp(seen->state, edit->state) != 0 || seen->applied != edit->applied)) {
        snprintf(seen->state, sizeof seen->state, "%s", edit->state);
        seen->applied = edit->applied;
        (self->arguments->json ? print_json : print_line)(NULL, edit);
    }
    if (!edit->closed && self->first_open == 0) {
        self->first_open = edit->index;
    }
}

/* Until something fails, or the reader is gone; an interruption ends the process. */
static int follow(spate_session *session, spate_control *control, struct ctl_arguments *self, uint64_t from)
{
    struct followed followed = {.arguments = self};
    int code = 0;
    while (code == 0) {
        followed.first_open = 0;
        if (spate_control_list(control, from, follow_edit, &followed) != SPATE_OK) {
            code = error_fail(spate_session_error(session));
        } else if (fflush(stdout) != 0 || followed.failed) {
            code = 1;
        } else {
            from = followed.first_open != 0 ? followed.first_open : followed.count == 0 ? from : followed.list[followed.count - 1].index;
            usleep(FOLLOW_US);
        }
    }
    free(followed.list);
    return code;
}

static int list(spate_session *session, spate_control *control, struct ctl_arguments *self)
{
    static const char option[] = "from=";
    int64_t from = 0;
    int code = 0;
    for (uint32_t i = 0; i < self->argument_count && code == 0; i++) {
        bool is_from = strncmp(self->arguments[i], option, sizeof option - 1) == 0;
        code = is_from ? take_number(self->arguments[i] + sizeof option - 1, &from) : usage_error("log takes no", self->arguments[i]);
    }
    if (code == 0 && self->follow) {
        return follow(session, control, self, (uint64_t)from);
    }
    if (code == 0 && spate_control_list(control, (uint64_t)from, self->json ? print_json : print_line, NULL) != SPATE_OK) {
        code = error_fail(spate_session_error(session));
    }
    return code;
}

static int work(spate_session *session, spate_control *control, struct ctl_arguments *self)
{
    if (strcmp(self->words[1], "show") == 0) {
        return show(session, control, self);
    }
    if (self->word_count != 2) {
        return usage();
    }
    if (strcmp(self->words[1], "log") == 0) {
        return list(session, control, self);
    }
    return propose(session, control, self);
}

static int print_verbs(spate_session *session, const char *verb)
{
    const char *text;
    if (spate_control_verbs(session, verb, &text) != SPATE_OK) {
        return error_fail(spate_session_error(session));
    }
    fputs(text, stdout);
    return 0;
}

static int in_session(spate_session *session, struct ctl_arguments *self)
{
    spate_control *control;
    if (strcmp(self->words[0], "verbs") == 0) {
        return print_verbs(session, self->word_count > 1 ? self->words[1] : NULL);
    }
    if (self->word_count < 2) {
        return usage();
    }
    if (spate_control_open(session, self->words[0], &control) != SPATE_OK) {
        return error_fail(spate_session_error(session));
    }
    int code = work(session, control, self);
    spate_control_close(control);
    return code;
}

int command_ctl(int argc, char **argv)
{
    struct ctl_arguments arguments = {0};
    spate_config *config = NULL;
    spate_session *session = NULL;
    int code = parse(&arguments, argc, argv);
    if (code == 0 && arguments.word_count == 0) {
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
    for (uint32_t i = 0; i < arguments.argument_count; i++) {
        free(arguments.arguments[i]);
    }
    return code;
}
