/* A program of the Task API that does nothing but obey: each task keeps the edits that it gets, in order, and shows them at its end.
 *
 * usage: obedient submit FOLDER TASKS SETTING=VALUE...    reads FOLDER/in, which is followed; writes FOLDER/out: task, place, edit, times, verb, args
 *        obedient work ID SETTING=VALUE...                a worker, until the job has ended, which the edit app.end brings about
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spate/task.h>

static int obey(void *self, spate_task *task, const struct spate_task_edit *edit)
{
    (void)self;
    spate_state *edits = spate_task_state(task, "edits");
    const spate_cell key = spate_cell_integer((int64_t)edit->rank);
    spate_cell values[] = {spate_cell_integer(0), spate_cell_integer(0), spate_cell_null(), spate_cell_null()};
    bool found;
    int failed = spate_state_get(edits, &key, values, &found);
    if (failed != SPATE_OK) {
        return failed;
    }
    values[0] = found ? values[0] : spate_cell_integer((int64_t)spate_state_count(edits) + 1);
    values[1].integer++;
    values[2] = spate_cell_text(edit->verb);
    values[3] = spate_cell_text(edit->args);
    return spate_state_put(edits, &key, values);
}

static int is_last(void *context, const spate_cell *key, const spate_cell *values)
{
    static const char end[] = "app.end";
    (void)context, (void)key;
    return values[2].length == sizeof end - 1 && memcmp(values[2].bytes, end, sizeof end - 1) == 0 ? -1 : 0;
}

static int show(void *context, const spate_cell *key, const spate_cell *values)
{
    spate_task *task = context;
    const spate_cell cells[] = {spate_cell_text(spate_task_id(task)), values[0], key[0], values[1], values[2], values[3]};
    return spate_output_row(spate_task_output(task, "out"), cells, 6);
}

static int look(void *self, spate_task *task)
{
    (void)self;
    spate_state *edits = spate_task_state(task, "edits");
    int ends = spate_state_each(edits, is_last, NULL);
    if (ends != -1) {
        return ends;
    }
    int failed = spate_state_each(edits, show, task);
    return failed != SPATE_OK ? failed : spate_task_shutdown(task, SPATE_SHUTDOWN_TASK);
}

static int process(void *self, spate_task *task, const spate_rows *rows)
{
    (void)self, (void)task, (void)rows;
    return SPATE_OK;
}

static void print_notice(void *context, const char *line)
{
    (void)context;
    printf("%s\n", line);
    fflush(stdout);
}

static int fail(const struct spate_error *error)
{
    fprintf(stderr, "%s\n", error->text);
    return 1;
}

static int work(const struct spate_task_spec *spec, const char *id, const char *const *settings)
{
    struct spate_worker_options options = {.size = sizeof options, .id = id, .until_ended = 1, .notice = print_notice};
    struct spate_error error;
    spate_worker *worker;
    int state = SPATE_WORKER_AT_WORK;
    int failed = spate_task_worker_open(settings, &options, spec, &worker, &error);
    while (failed == SPATE_OK && state == SPATE_WORKER_AT_WORK) {
        failed = spate_worker_step(worker, 200, &state, &error);
    }
    spate_worker_close(worker);
    return failed == SPATE_OK ? state == SPATE_WORKER_REFUSED : fail(&error);
}

static int submit(struct spate_task_spec *spec, const char *folder, const char *tasks, const char *const *settings)
{
    static const char setup[] = "SET 'parallelism.default' = '%s';"
                                "CREATE TABLE `in` (n BIGINT) WITH ('connector' = 'filesystem', 'path' = '%s/in', 'format' = 'csv', "
                                "'source.monitor-interval' = '50 ms');"
                                "CREATE TABLE `out` (task STRING, place BIGINT, edit BIGINT, times BIGINT, verb STRING, args STRING) WITH "
                                "('connector' = 'filesystem', "
                                "'path' = '%s/out', 'format' = 'json');";
    char text[4000];
    const char *message = "";
    spate_session *session;
    snprintf(text, sizeof text, setup, tasks, folder, folder);
    spec->setup = text;
    int failed = spate_session_open(settings, &session);
    if (failed == SPATE_OK) {
        failed = spate_task_submit(session, spec, settings, 0, &message);
    }
    int code = failed == SPATE_OK ? puts(message) < 0 : fail(spate_session_error(session));
    spate_session_close(session);
    return code;
}

int main(int argument_count, char **arguments)
{
    static const char *const inputs[] = {"in", NULL}, *const outputs[] = {"out", NULL};
    static const struct spate_task_table table = {
        "edits", "edit BIGINT, place BIGINT, times BIGINT, verb STRING, args STRING, PRIMARY KEY (edit) NOT ENFORCED"};
    static const struct spate_task_class type = {.size = sizeof type, .process = process, .window = look, .on_control = obey};
    struct spate_task_spec spec = {.size = sizeof spec,
                                   .name = "obedient",
                                   .type = &type,
                                   .inputs = inputs,
                                   .outputs = outputs,
                                   .tables = &table,
                                   .table_count = 1,
                                   .window_interval_ms = 20};
    const char *const *given = (const char *const *)arguments;
    if (argument_count >= 3 && strcmp(given[1], "work") == 0) {
        return work(&spec, given[2], &given[3]);
    }
    if (argument_count >= 4 && strcmp(given[1], "submit") == 0) {
        return submit(&spec, given[2], given[3], &given[4]);
    }
    fprintf(stderr, "usage: obedient submit FOLDER TASKS SETTING=VALUE... | work ID SETTING=VALUE...\n");
    return 2;
}
