#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/option.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/configuration.h"
#include "cli/control.h"
#include "cli/coord.h"
#include "cli/driver_test.h"
#include "cli/jobs.h"
#include "cli/reference.h"
#include "cli/run.h"
#include "cli/storage.h"
#include "cli/test_run.h"
#include "cli/variables.h"
#include "cli/worker.h"

enum { SCRIPTS_MAX = 64, SETTINGS_MAX = 64 };

/* ---- scripts: run, check, explain, -c, -f ---- */

struct script_arguments {
    struct run_options options;
    struct variables variables;
    struct {
        bool is_text;
        const char *value;
    } inputs[SCRIPTS_MAX];
    uint32_t input_count;
    const char *settings[SETTINGS_MAX + 1];
    uint32_t setting_count;
    const char *config; /* file; NULL: spate.yaml, if it is there */
};

static int usage_error(const char *format, const char *value)
{
    fputs("spate: ", stderr);
    fprintf(stderr, format, value); /* NOLINT: the formats are constants of this file */
    fputs("; see spate --help\n", stderr);
    return 2;
}

static int take_text(struct script_arguments *arguments, const char *value)
{
    if (arguments->input_count == SCRIPTS_MAX) {
        return usage_error("more than 64 scripts, at '%s'", value);
    }
    arguments->inputs[arguments->input_count].is_text = true;
    arguments->inputs[arguments->input_count++].value = value;
    return 0;
}

static int take_file(struct script_arguments *arguments, const char *value)
{
    if (arguments->input_count == SCRIPTS_MAX) {
        return usage_error("more than 64 scripts, at '%s'", value);
    }
    arguments->inputs[arguments->input_count++].value = value;
    return 0;
}

static int take_variable(struct script_arguments *arguments, const char *value)
{
    return variables_add(&arguments->variables, value);
}

static int take_setting(struct script_arguments *arguments, const char *value)
{
    if (arguments->setting_count == SETTINGS_MAX) {
        return usage_error("more than 64 settings, at '%s'", value);
    }
    arguments->settings[arguments->setting_count++] = value;
    return 0;
}

static int take_form(struct script_arguments *arguments, const char *value)
{
    return output_form_find(value, &arguments->options.form)
               ? 0
               : usage_error("-o '%s' is not one of table, tableau, changelog, csv, tsv, json, jsonl, vertical, markdown", value);
}

static int take_config(struct script_arguments *arguments, const char *value)
{
    arguments->config = value;
    return 0;
}

static int take_limit(struct script_arguments *arguments, const char *value)
{
    char *end;
    arguments->options.limit = strtoull(value, &end, 10);
    return *end == '\0' && arguments->options.limit > 0 ? 0 : usage_error("--limit '%s' is not a number of rows", value);
}

static int take_timeout(struct script_arguments *arguments, const char *value)
{
    struct duration duration;
    struct error err;
    if (duration_parse(value, &duration, &err) != STATUS_OK || duration.us <= 0) {
        return usage_error("--timeout '%s' is not a duration such as '10 s'", value);
    }
    arguments->options.timeout_us = duration.us;
    return 0;
}

static int take_fresh(struct script_arguments *arguments, const char *value)
{
    (void)value;
    return take_setting(arguments, "execution.state-recovery.fresh=true");
}

static int take_standby(struct script_arguments *arguments, const char *value)
{
    (void)value;
    return take_setting(arguments, "high-availability.standby=true");
}

static int take_until_end(struct script_arguments *arguments, const char *value)
{
    (void)value;
    return take_setting(arguments, "execution.until-end=true");
}

static int take_savepoint(struct script_arguments *arguments, const char *value)
{
    static char setting[4096 + 64];
    int length = snprintf(setting, sizeof setting, "execution.state-recovery.path=%s", value);
    return length < (int)sizeof setting ? take_setting(arguments, setting) : usage_error("--from-savepoint '%s' is too long", value);
}

static int take_uri(struct script_arguments *arguments, char *setting, size_t size, const char *key, const char *value)
{
    int length = snprintf(setting, size, "%s=%s", key, value);
    return length < (int)size ? take_setting(arguments, setting) : usage_error("'%s' is too long", value);
}

static int take_storage(struct script_arguments *arguments, const char *value)
{
    static char setting[4096 + 64];
    return take_uri(arguments, setting, sizeof setting, "storage.uri", value);
}

static int take_coordinator(struct script_arguments *arguments, const char *value)
{
    static char setting[4096 + 64];
    return take_uri(arguments, setting, sizeof setting, "coordinator.uri", value);
}

static int take_replace(struct script_arguments *arguments, const char *value)
{
    arguments->options.replaces = true;
    return arguments->options.mode == RUN_SUBMIT ? 0
                                                 : usage_error("--replace goes with `spate job submit` only%s", value == NULL ? "" : value);
}

static const struct {
    const char *name, *long_name, *value, *summary;
    int (*take)(struct script_arguments *arguments, const char *value);
} flags[] = {
    {"-c", "--command", "SQL", "run this text (repeatable)", take_text},
    {"-f", "--file", "FILE", "run this file; - is standard input (repeatable)", take_file},
    {"-v", "--variable", "NAME=VALUE", "a variable, used as ${NAME}", take_variable},
    {"-s", "--set", "KEY=VALUE", "a setting, as SET 'KEY' = 'VALUE' before the script", take_setting},
    {"--storage", "--storage", "URI", "where jobs keep what they need, as -s storage.uri=URI", take_storage},
    {"--coordinator", "--coordinator", "URI", "where processes agree, as -s coordinator.uri=URI", take_coordinator},
    {"--replace", "--replace", NULL, "job submit: end and forget a job of the same name first", take_replace},
    {"--config", "--config", "FILE", "settings from this file, instead of spate.yaml", take_config},
    {"-o", "--output", "FORM", "table, tableau, changelog, csv, tsv, json, jsonl, vertical, markdown", take_form},
    {"--fresh", "--fresh", NULL, "forget the checkpoints of the script's jobs and start anew", take_fresh},
    {"--from-savepoint", "--from-savepoint", "PATH", "start jobs without a checkpoint from this savepoint", take_savepoint},
    {"--standby", "--standby", NULL, "wait while another process runs the job, then go on in its place", take_standby},
    {"--until-end", "--until-end", NULL, "read unbounded sources up to what they have now, then end", take_until_end},
    {"--limit", "--limit", "N", "end a SELECT after N rows", take_limit},
    {"--timeout", "--timeout", "D", "end a SELECT after this time, e.g. '10 s'", take_timeout},
};

static int parse_flag(struct script_arguments *arguments, int argc, char **argv, int *at)
{
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strcmp(argv[*at], flags[i].name) == 0 || strcmp(argv[*at], flags[i].long_name) == 0) {
            if (flags[i].value == NULL) {
                return flags[i].take(arguments, NULL);
            }
            if (*at + 1 >= argc) {
                return usage_error("%s needs a value", argv[*at]);
            }
            return flags[i].take(arguments, argv[++*at]);
        }
    }
    return usage_error("unknown option '%s'", argv[*at]);
}

static int parse_scripts(struct script_arguments *arguments, int argc, char **argv)
{
    int code = 0;
    for (int at = 1; at < argc && code == 0; at++) {
        bool is_flag = argv[at][0] == '-' && argv[at][1] != '\0';
        code = is_flag ? parse_flag(arguments, argc, argv, &at) : take_file(arguments, argv[at]);
    }
    if (code == 0 && arguments->input_count == 0) {
        if (isatty(STDIN_FILENO)) {
            return usage_error("%s: give a FILE, -c SQL, or a script on standard input", argv[0]);
        }
        code = take_file(arguments, "-");
    }
    return code;
}

static int run_arguments(struct script_arguments *arguments, int argc, char **argv)
{
    struct script scripts[SCRIPTS_MAX];
    arguments->options.form = output_form_default();
    spate_config *config = NULL;
    uint32_t opened = 0;
    int code = parse_scripts(arguments, argc, argv);
    if (code == 0) {
        code = configuration_open(arguments->config, arguments->settings, &config);
    }
    for (; opened < arguments->input_count && code == 0; opened++) {
        const char *value = arguments->inputs[opened].value;
        code = arguments->inputs[opened].is_text ? script_from_text("-c", value, &arguments->variables, &scripts[opened])
                                                 : script_read_file(value, &arguments->variables, &scripts[opened]);
    }
    if (code == 0) {
        arguments->options.settings = spate_config_settings(config);
        code = run_scripts(&arguments->options, scripts, opened);
    }
    spate_config_close(config);
    for (uint32_t i = 0; i < opened; i++) {
        script_close(&scripts[i]);
    }
    return code;
}

static int command_run(int argc, char **argv)
{
    struct script_arguments arguments = {.options.mode = RUN_EXECUTE};
    return run_arguments(&arguments, argc, argv);
}

static int command_check(int argc, char **argv)
{
    struct script_arguments arguments = {.options.mode = RUN_CHECK};
    int code = run_arguments(&arguments, argc, argv);
    if (code == 0) {
        fputs("no errors\n", stderr);
    }
    return code;
}

static int command_explain(int argc, char **argv)
{
    struct script_arguments arguments = {.options.mode = RUN_EXPLAIN};
    return run_arguments(&arguments, argc, argv);
}

static int command_jobs(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "submit") != 0) {
        return command_job(argc, argv);
    }
    struct script_arguments arguments = {.options.mode = RUN_SUBMIT};
    return run_arguments(&arguments, argc - 1, argv + 1);
}

/* ---- reference ---- */

static int command_reference(int argc, char **argv)
{
    const char *name = NULL;
    bool json = false;
    for (int at = 1; at < argc; at++) {
        if (strcmp(argv[at], "--json") == 0) {
            json = true;
        } else if (argv[at][0] == '-' || name != NULL) {
            return usage_error("unexpected '%s'", argv[at]);
        } else {
            name = argv[at];
        }
    }
    return reference_print(argv[0], name, json);
}

static int command_completion(int argc, char **argv)
{
    return completion_print(argc == 2 ? argv[1] : NULL);
}

static int command_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("spate %s\n", spate_version());
    return 0;
}

static int command_help(int argc, char **argv);

static const struct command commands[] = {
    {"run", "[FILE...]", "execute SQL scripts; -c and -f alone do the same", command_run},
    {"check", "[FILE...]", "parse, bind and plan scripts, run nothing", command_check},
    {"explain", "[FILE...]", "show the plans of a script's statements", command_explain},
    {"test", "PATH...", "run SQL tests (*.slt) in a matrix of modes", command_test},
    {"test-driver", "URI", "run the suite of drivers of coordination on one", command_test_driver, true},
    {"job", "VERB", "submit, list, show, restart, stop, kill, remove jobs that a storage knows", command_jobs, true},
    {"worker", "", "take part in the jobs that were submitted to a storage and a coordinator", command_worker, true},
    {"savepoint", "JOB", "keep a job's state, running or not (--to PLACE)", command_savepoint, true},
    {"state", "ls|show|export", "look into a checkpoint or savepoint", command_state, true},
    {"ctl", "JOB VERB", "change a job that runs, by its control log; spate ctl verbs", command_ctl},
    {"coord", "VERB JOB", "the processes that run a job: status, members, tasks, model, history, repair", command_coord},
    {"storage", "VERB", "look at and tend what jobs keep; spate storage help", storage_command, true},
    {"functions", "[NAME]", "the functions", command_reference},
    {"connectors", "[NAME]", "the connectors and their options", command_reference},
    {"formats", "[NAME]", "the formats and their options", command_reference},
    {"stores", "[NAME]", "the stores of checkpoints and their options", command_reference},
    {"drivers", "[NAME]", "the drivers of coordination and their options", command_reference},
    {"config", "show", "the settings that count here, and where each comes from", command_config},
    {"options", "[PREFIX]", "the settings of a session", command_reference},
    {"errors", "[CODE]", "the error codes and what to do", command_reference},
    {"metrics", "[NAME]", "the figures that jobs with checkpoints keep", command_reference},
    {"completion", "bash|zsh|fish", "a completion script for the shell", command_completion},
    {"version", "", "the version", command_version},
    {"help", "", "this text", command_help},
};

uint32_t command_list(const struct command **list)
{
    *list = commands;
    return sizeof commands / sizeof commands[0];
}

static int command_help(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    fputs("spate: continuous SQL over streams and tables\n\nusage: spate COMMAND [ARGUMENTS]    spate -c SQL    spate -f FILE\n\n", stdout);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        printf("  %-12s%-18s%s\n", commands[i].name, commands[i].arguments, commands[i].summary);
    }
    fputs("\noptions of run, check, explain:\n", stdout);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        printf("  %-17s%-11s%s\n", flags[i].name, flags[i].value == NULL ? "" : flags[i].value, flags[i].summary);
    }
    fputs(
        "\noptions of job, savepoint, state: --storage URI (where jobs are kept), -s KEY=VALUE, -o FORM, --json, --to PLACE, --timeout D\n"
        "settings come from flags, else from SPATE_... variables, else from --config FILE or spate.yaml; spate config show\n",
        stdout);
    fputs("\nexit codes: 0 done, 1 a statement failed, 2 usage, 3 something cannot be reached, 4 a running job failed, 130 interrupted,\n"
          "128 + signal when stopped at once\n",
          stdout);
    return 0;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run_command(int argc, char **argv)
{
    if (argc < 2 && isatty(STDIN_FILENO)) {
        command_help(argc, argv);
        return 2;
    }
    if (argc > 1 && is_help(argv[1])) {
        return command_help(argc, argv);
    }
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        return command_version(argc, argv);
    }
    if (argc < 2 || argv[1][0] == '-') {
        return command_run(argc, argv);
    }
    const char *names[sizeof commands / sizeof commands[0]];
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        names[i] = commands[i].name;
        if (strcmp(argv[1], commands[i].name) == 0) {
            bool asks = argc == 3 && is_help(argv[2]) && !commands[i].has_help;
            return asks ? command_help(argc, argv) : commands[i].run(argc - 1, argv + 1);
        }
    }
    const char *near = text_nearest(argv[1], names, sizeof names / sizeof names[0]);
    fprintf(stderr, "spate: unknown command '%s'%s%s%s; see spate --help\n", argv[1], near == NULL ? "" : "; did you mean '",
            near == NULL ? "" : near, near == NULL ? "" : "'?");
    return 2;
}

/* A closed standard stream is made one that gives and takes nothing: the next file that is opened would get its number, and our rows. */
static void occupy_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) == -1) {
            (void)!open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    occupy_streams();
    int code = run_command(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("spate: error: cannot write to standard output: rows are missing there [SPATE-4001, SQLSTATE 58030]\n"
              "  see that it is open and that its disk has room (a retry may help)\n",
              stderr);
        return code == 0 ? 4 : code;
    }
    return code;
}
