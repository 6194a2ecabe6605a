/* A word count written against the Task API: a folder of files in, one line of text a row; how often each word came out, exactly once,
 * whatever is killed on the way.
 *
 * Build: cc wordcount.c $(pkg-config --cflags --libs spate) -o wordcount
 * Run:   ./wordcount books counts storage.uri=/tmp/storage 'execution.checkpointing.interval=1 s'
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <spate/task.h>

/* ---- the task ---- */

struct word_count {
    spate_task *task;
    spate_state *counts;  /* word -> total */
    spate_output *output; /* (word, total) */
};

static struct word_count the_count; /* this program runs one task */

static int word_count_init(void *context, spate_task *task, void **self)
{
    (void)context;
    the_count.task = task;
    the_count.counts = spate_task_state(task, "counts");
    the_count.output = spate_task_output(task, "counts");
    *self = &the_count;
    return the_count.counts != NULL && the_count.output != NULL ? SPATE_OK : SPATE_ERROR_SQL;
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

static int fail(spate_session *session)
{
    const struct spate_error *error = spate_session_error(session);
    fprintf(stderr, "error SPATE-%" PRIu32 ": %s\n%s\n", error->code, error->text, error->remedy);
    spate_session_close(session);
    return 1;
}

static int create_table(spate_session *session, const char *format, const char *path)
{
    char sql[4000];
    size_t offset = 0;
    spate_result *result;
    snprintf(sql, sizeof sql, format, path);
    int failed = spate_execute(session, sql, strlen(sql), &offset, &result);
    if (failed == SPATE_OK) {
        spate_result_close(result);
    }
    return failed;
}

static int create_tables(spate_session *session, const char *lines, const char *counts)
{
    int failed = create_table(session,
                              "CREATE TABLE lines (line STRING) WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'raw', "
                              "'source.partition-by-file' = 'true')",
                              lines);
    return failed != SPATE_OK ? failed
                              : create_table(session,
                                             "CREATE TABLE counts (word STRING, total BIGINT) WITH ('connector' = 'filesystem', "
                                             "'path' = '%s', 'format' = 'csv')",
                                             counts);
}

static int run(spate_session *session)
{
    static const char *const inputs[] = {"lines", NULL}, *const outputs[] = {"counts", NULL};
    static const struct spate_task_table tables[] = {{"counts", "word STRING, total BIGINT, PRIMARY KEY (word) NOT ENFORCED"}};
    static const struct spate_task_class type = {
        .size = sizeof type, .init = word_count_init, .process = word_count_process, .end_of_stream = word_count_end};
    const struct spate_task_spec spec = {
        .size = sizeof spec, .name = "wordcount", .type = &type, .inputs = inputs, .outputs = outputs, .tables = tables, .table_count = 1};
    spate_result *result;
    int failed = spate_task_run(session, &spec, &result);
    for (int step = SPATE_STEP_WORKED; failed == SPATE_OK && step != SPATE_STEP_ENDED;) {
        failed = spate_result_step(result, 100, &step);
    }
    spate_result_close(result);
    return failed;
}

int main(int argument_count, char **arguments)
{
    spate_session *session;
    if (argument_count < 3) {
        fprintf(stderr, "usage: wordcount LINES COUNTS [OPTION=VALUE]...\n");
        return 2;
    }
    if (spate_session_open((const char *const *)&arguments[3], &session) != SPATE_OK ||
        create_tables(session, arguments[1], arguments[2]) != SPATE_OK || run(session) != SPATE_OK) {
        return fail(session);
    }
    spate_session_close(session);
    return 0;
}
