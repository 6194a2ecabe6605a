#include "cli/run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/error_print.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "spate/operations.h"

enum { BACKGROUND_MAX = 256, WAIT_MS = 100 };

struct run {
    const struct run_options *options;
    spate_session *session;
    const struct script *script; /* the one that runs now */
    spate_result *background[BACKGROUND_MAX];
    const struct script *background_scripts[BACKGROUND_MAX]; /* the one that each is of */
    uint32_t background_count;
    uint32_t submitted; /* jobs */
};

static int run_fail_in(const struct run *run, const struct script *script, bool running)
{
    const struct spate_error *error = spate_session_error(run->session);
    struct text text = {script->text.bytes, script->text.length};
    error_print(script->name, text, error);
    return signals_interrupted() ? 130 : error_exit_code(error, running);
}

static int run_fail(const struct run *run, bool running)
{
    return run_fail_in(run, run->script, running);
}

static void run_notice(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

/* One tick of each unbounded INSERT that goes on beside the script. */
static int run_background(struct run *run)
{
    if (signals_savepoint() && spate_session_savepoints(run->session) != SPATE_OK) {
        return run_fail(run, true);
    }
    for (uint32_t i = 0; i < run->background_count;) {
        int step;
        if (signals_terminated()) {
            spate_result_stop(run->background[i]);
        }
        if (spate_result_step(run->background[i], 0, &step) != SPATE_OK) {
            return run_fail_in(run, run->background_scripts[i], true);
        }
        if (step == SPATE_STEP_ENDED) {
            spate_result_close(run->background[i]);
            run->background[i] = run->background[--run->background_count];
            run->background_scripts[i] = run->background_scripts[run->background_count];
        } else {
            i++;
        }
    }
    return 0;
}

static bool run_timed_out(const struct run *run, int64_t started_us)
{
    return run->options->timeout_us > 0 && clock_system.monotonic_us(&clock_system) - started_us > run->options->timeout_us;
}

/* Steps until the end, the limit, the timeout or a signal. `output` NULL: an INSERT. */
static int run_to_end(struct run *run, spate_result *result, struct output *output)
{
    struct progress progress;
    progress_start(&progress);
    int64_t started_us = clock_system.monotonic_us(&clock_system);
    int step = SPATE_STEP_WORKED;
    bool full = false;
    while (step != SPATE_STEP_ENDED && !full) {
        if (signals_terminated()) {
            spate_result_stop(result);
        }
        if (spate_result_step(result, run->background_count > 0 ? 1 : WAIT_MS, &step) != SPATE_OK) {
            progress_clear(&progress);
            return run_fail(run, true);
        }
        if (output != NULL) {
            progress_clear(&progress);
            if (output_drain(output, &full) != SPATE_OK) {
                return run_fail(run, true);
            }
            if (run_timed_out(run, started_us)) {
                break;
            }
        }
        progress_update(&progress, result);
        int code = run_background(run);
        if (code != 0) {
            return code;
        }
    }
    progress_finish(&progress, result);
    return 0;
}

static int run_rows(struct run *run, spate_result *result)
{
    struct output output;
    if (output_open(&output, run->options->form, result, run->options->limit) != SPATE_OK) {
        fprintf(stderr, "spate: no room for the output\n");
        return 1;
    }
    int code = run_to_end(run, result, &output);
    bool full;
    if (code == 0 && output_drain(&output, &full) != SPATE_OK) {
        code = run_fail(run, true);
    }
    if (code == 0) {
        output_finish(&output);
    }
    output_close(&output);
    return code == 0 && ferror(stdout) ? 4 : code; /* main says so */
}

/* EXPLAIN and SHOW CREATE give one text: printed as it is. */
static int print_text(void *context, int kind, uint32_t column_count, const char *const *values, const size_t *lengths)
{
    (void)context;
    (void)kind;
    if (column_count > 0 && values[0] != NULL) {
        fwrite(values[0], 1, lengths[0], stdout);
        fputs(lengths[0] > 0 && values[0][lengths[0] - 1] == '\n' ? "" : "\n", stdout);
    }
    return 0;
}

static int run_text(struct run *run, spate_result *result)
{
    int64_t rows = 1;
    while (rows > 0) {
        if (spate_result_next_text(result, print_text, NULL, &rows) != SPATE_OK) {
            return run_fail(run, true);
        }
    }
    return 0;
}

static int run_insert(struct run *run, spate_result **result)
{
    if (spate_result_message(*result)[0] != '\0') {
        fprintf(stderr, "%s\n", spate_result_message(*result));
    }
    if (spate_result_is_awaited(*result) || run->background_count == BACKGROUND_MAX) {
        return run_to_end(run, *result, NULL);
    }
    run->background_scripts[run->background_count] = run->script;
    run->background[run->background_count++] = *result;
    *result = NULL;
    return 0;
}

static int run_result(struct run *run, spate_result **result)
{
    int kind = spate_result_kind(*result);
    bool text = spate_result_column_count(*result) == 1 && strcmp(spate_result_column_name(*result, 0), "result") == 0;
    if (kind == SPATE_RESULT_ROWS && text) {
        return run_text(run, *result);
    }
    if (run->options->mode == RUN_CHECK) {
        return 0;
    }
    if (kind == SPATE_RESULT_ROWS || kind == SPATE_RESULT_QUERY) {
        return run_rows(run, *result);
    }
    if (kind == SPATE_RESULT_INSERT) {
        return run_insert(run, result);
    }
    const char *message = spate_result_message(*result);
    bool submitted = run->options->mode == RUN_SUBMIT && strncmp(message, "job '", 5) == 0;
    run->submitted += submitted;
    if (message[0] != '\0' && strcmp(message, "OK") != 0 && (isatty(STDERR_FILENO) || submitted)) {
        fprintf(stderr, "%s\n", message);
    }
    return 0;
}

static int run_statement(struct run *run, size_t *offset, bool *more)
{
    static int (*const calls[])(spate_session *, const char *, size_t, size_t *, spate_result **) = {
        [RUN_EXECUTE] = spate_execute, [RUN_CHECK] = spate_check, [RUN_EXPLAIN] = spate_explain, [RUN_SUBMIT] = spate_execute};
    spate_result *result = NULL;
    const struct text_builder *text = &run->script->text;
    if (calls[run->options->mode](run->session, text->bytes, text->length, offset, &result) != SPATE_OK) {
        bool stopped = run->options->mode == RUN_EXECUTE && signals_terminated() &&
                       spate_session_error(run->session)->error_class == SPATE_ERROR_CANCELLED;
        return stopped ? 0 : run_fail(run, false);
    }
    *more = result != NULL;
    int code = result == NULL ? 0 : run_result(run, &result);
    spate_result_close(result);
    return code;
}

static int run_name_jobs(struct run *run)
{
    return spate_session_name_script(run->session, run->script->name) == SPATE_OK ? 0 : run_fail(run, false);
}

static int run_script(struct run *run)
{
    size_t offset = 0;
    bool more = true;
    int code = run_name_jobs(run);
    while (more && code == 0 && !signals_terminated()) {
        code = run_statement(run, &offset, &more);
    }
    return code;
}

static int run_wait_for_background(struct run *run)
{
    int code = 0;
    while (run->background_count > 0 && code == 0) {
        int step = SPATE_STEP_WORKED;
        if (run->background_count == 1 && !signals_terminated() && spate_result_step(run->background[0], WAIT_MS, &step) != SPATE_OK) {
            return run_fail_in(run, run->background_scripts[0], true);
        }
        if (run->background_count > 1 && !signals_terminated()) {
            usleep(1000);
        }
        code = run_background(run);
    }
    return code;
}

static bool begins_with_one_of(const char *setting, const char *const *prefixes)
{
    while (*prefixes != NULL && strncmp(setting, *prefixes, strlen(*prefixes)) != 0) {
        prefixes++;
    }
    return *prefixes != NULL;
}

/* One-off wishes are not repeated when the job is run again. From which savepoint a job begins is told to those who begin it: of one that is
 * submitted, workers. They look there only while a task has no checkpoint of its own. */
static bool is_kept(const struct run *run, const char *setting)
{
    static const char *const once[] = {"execution.state-recovery.", "high-availability.standby=", "debug.", NULL};
    static const char *const of_workers[] = {"execution.state-recovery.path=", "execution.state-recovery.ignore-unclaimed-state=", NULL};
    return !begins_with_one_of(setting, once) || (run->options->mode == RUN_SUBMIT && begins_with_one_of(setting, of_workers));
}

/* What runs the jobs of these scripts again, for the storage. */
static int run_tell_scripts(struct run *run, const struct script *scripts, uint32_t count)
{
    const char *settings[512];
    char folder[4096];
    struct text_builder sql = {0};
    uint32_t kept = 0;
    for (const char *const *at = run->options->settings; at != NULL && *at != NULL && kept < 511; at++) {
        settings[kept] = *at;
        kept += is_kept(run, *at);
    }
    settings[kept] = NULL;
    for (uint32_t i = 0; i < count; i++) {
        text_append_format(&sql, "%s%s%s\n", i == 0 ? "" : "\n", SCRIPT_HEAD, scripts[i].name);
        text_append(&sql, scripts[i].kept.bytes, scripts[i].kept.length);
    }
    bool told =
        !sql.failed && getcwd(folder, sizeof folder) != NULL && spate_session_script(run->session, sql.bytes, folder, settings) == SPATE_OK;
    text_builder_close(&sql);
    return told ? 0 : run_fail(run, false);
}

int run_scripts(const struct run_options *options, const struct script *scripts, uint32_t count)
{
    struct run run = {.options = options, .script = &scripts[0]};
    if (spate_session_open(options->settings, &run.session) != SPATE_OK) {
        int code = 1;
        if (run.session != NULL) {
            error_print("spate", TEXT(""), spate_session_error(run.session));
            code = 2;
        }
        spate_session_close(run.session);
        return code;
    }
    spate_session_on_notice(run.session, run_notice, NULL);
    signals_start(run.session);
    bool runs = options->mode == RUN_EXECUTE || options->mode == RUN_SUBMIT;
    int code = runs ? run_tell_scripts(&run, scripts, count) : 0;
    if (code == 0 && options->mode == RUN_SUBMIT &&
        spate_session_submit(run.session, options->replaces ? SPATE_SUBMIT_REPLACE : 0) != SPATE_OK) {
        code = run_fail(&run, false);
    }
    for (uint32_t i = 0; i < count && code == 0; i++) {
        run.script = &scripts[i];
        code = run_script(&run);
    }
    if (code == 0) {
        code = run_wait_for_background(&run);
    }
    if (code == 0 && options->mode == RUN_SUBMIT && run.submitted == 0) {
        fprintf(stderr, "spate: nothing was submitted: there is no INSERT in it\n");
        code = 1;
    }
    signals_end();
    for (uint32_t i = 0; i < run.background_count; i++) {
        spate_result_close(run.background[i]);
    }
    spate_session_close(run.session);
    return code;
}
