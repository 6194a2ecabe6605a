/* A word count written against the Task API: a folder of files in, one line of text a row; how often each word came out, exactly once,
 * whatever is killed on the way. README.md runs it in one process, and in three.
 *
 * Build: cc wordcount.c $(pkg-config --cflags --libs spate) -o wordcount
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spate/task.h>

/* ---- the task ---- */

struct word_count {
    spate_state *counts;  /* word -> total */
    spate_output *output; /* (word, total) */
};

/* A worker may run several tasks, each in a thread: what a task works with is its own. */
static int word_count_init(void *context, spate_task *task, void **self)
{
    (void)context;
    struct word_count *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return spate_task_fail(task, SPATE_ERROR_LIMIT, "no memory for a task");
    }
    made->counts = spate_task_state(task, "counts");
    made->output = spate_task_output(task, "counts");
    *self = made;
    return SPATE_OK;
}

static void word_count_close(void *self, spate_task *task)
{
    (void)task;
    free(self);
}

static int count_word(struct word_count *self, const char *word, size_t length)
{
    spate_cell key = spate_cell_bytes(word, length), total = spate_cell_integer(0);
    bool found;
    int failed = spate_state_get(self->counts, &key, &total, &found);
    total.integer++;
    return failed != SPATE_OK ? failed : spate_state_put(self->counts, &key, &total);
}

static int count_line(struct word_count *self, const char *line, size_t length)
{
    int failed = SPATE_OK;
    for (size_t at = 0; at < length && failed == SPATE_OK;) {
        size_t end = at;
        while (end < length && line[end] != ' ') {
            end++;
        }
        if (end > at) {
            failed = count_word(self, line + at, end - at);
        }
        at = end + 1;
    }
    return failed;
}

static int word_count_process(void *context, spate_task *task, const spate_rows *rows)
{
    (void)task;
    int failed = SPATE_OK;
    for (uint32_t row = 0; row < spate_rows_count(rows) && failed == SPATE_OK; row++) {
        spate_cell line = spate_rows_cell(rows, row, 0);
        failed = count_line(context, line.bytes, line.length); /* of a NULL: no bytes */
    }
    return failed;
}

static int write_count(void *context, const spate_cell *key, const spate_cell *values)
{
    const struct word_count *self = context;
    spate_cell cells[] = {key[0], values[0]};
    return spate_output_row(self->output, cells, 2);
}

static int word_count_end(void *context, spate_task *task, const char *input)
{
    (void)task, (void)input;
    struct word_count *self = context;
    return spate_state_each(self->counts, write_count, self);
}

/* ---- the job ---- */

static const char *const inputs[] = {"lines", NULL}, *const outputs[] = {"counts", NULL};
static const struct spate_task_table tables[] = {{"counts", "word STRING, total BIGINT, PRIMARY KEY (word) NOT ENFORCED"}};
static const struct spate_task_class type = {.size = sizeof type,
                                             .init = word_count_init,
                                             .process = word_count_process,
                                             .end_of_stream = word_count_end,
                                             .close = word_count_close};
static struct spate_task_spec spec = {
    .size = sizeof spec, .name = "wordcount", .type = &type, .inputs = inputs, .outputs = outputs, .tables = tables, .table_count = 1};

static int print_error(const struct spate_error *error)
{
    fprintf(stderr, "error SPATE-%" PRIu32 ": %s\n%s\n", error->code, error->text, error->remedy);
    return 1;
}

/* All in this process. */
static int run(spate_session *session)
{
    spate_result *result;
    int failed = spate_task_run(session, &spec, &result);
    for (int step = SPATE_STEP_WORKED; failed == SPATE_OK && step != SPATE_STEP_ENDED;) {
        failed = spate_result_step(result, 100, &step);
    }
    return failed;
}

/* For workers to do. */
static int submit(spate_session *session, const char *const *settings)
{
    const char *message = "";
    int failed = spate_task_submit(session, &spec, settings, 0, &message);
    if (failed == SPATE_OK) {
        printf("%s\n", message);
    }
    return failed;
}

static void print_notice(void *context, const char *line)
{
    (void)context;
    printf("%s\n", line);
    fflush(stdout);
}

static int work(const char *id, const char *const *settings)
{
    struct spate_worker_options options = {.size = sizeof options, .id = id, .until_ended = 1, .notice = print_notice};
    struct spate_error error;
    spate_worker *worker;
    int state = SPATE_WORKER_AT_WORK;
    int failed = spate_task_worker_open(settings, &options, &spec, &worker, &error);
    while (failed == SPATE_OK && state == SPATE_WORKER_AT_WORK) {
        failed = spate_worker_step(worker, 200, &state, &error);
    }
    spate_worker_close(worker);
    return failed == SPATE_OK ? state == SPATE_WORKER_REFUSED : print_error(&error);
}

static int start(bool here, const char *setup, const char *const *settings)
{
    spate_session *session;
    int failed = spate_session_open(settings, &session);
    spec.setup = setup;
    if (failed == SPATE_OK) {
        failed = here ? run(session) : submit(session, settings);
    }
    int code = failed == SPATE_OK ? 0 : print_error(spate_session_error(session));
    spate_session_close(session); /* and what it has open */
    return code;
}

int main(int argument_count, char **arguments)
{
    static const char setup[] = "CREATE TABLE lines (line STRING) WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'raw', "
                                "'source.partition-by-file' = 'true');\n"
                                "CREATE TABLE counts (word STRING, total BIGINT) WITH ('connector' = 'filesystem', 'path' = '%s', "
                                "'format' = 'csv');\n";
    const char *const *given = (const char *const *)arguments;
    char text[8000];
    if (argument_count >= 3 && strcmp(given[1], "work") == 0) {
        return work(given[2], &given[3]);
    }
    bool here = argument_count >= 4 && strcmp(given[1], "run") == 0;
    if (!here && (argument_count < 4 || strcmp(given[1], "submit") != 0)) {
        fprintf(stderr, "usage: wordcount run|submit LINES COUNTS [OPTION=VALUE]...    wordcount work ID [OPTION=VALUE]...\n");
        return 2;
    }
    snprintf(text, sizeof text, setup, given[2], given[3]);
    return start(here, text, &given[4]);
}
