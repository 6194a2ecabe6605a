#include "task_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char folder[64];

/* ---- a place, a session, a job ---- */

int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/spate-task-XXXXXX");
    return mkdtemp(folder) == NULL;
}

int remove_folder(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

void write_file(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

spate_session *open_session(const char *const *settings)
{
    spate_session *session;
    assert_int_equal(spate_session_open(settings, &session), SPATE_OK);
    return session;
}

void execute(spate_session *session, const char *format, ...)
{
    char sql[2000];
    size_t offset = 0;
    spate_result *result;
    va_list args;
    va_start(args, format);
    vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    if (spate_execute(session, sql, strlen(sql), &offset, &result) != SPATE_OK) {
        fail_msg("%s: %s", sql, spate_session_error(session)->text);
    }
    spate_result_close(result);
}

/* Tables over files of the folder: `in` of numbers and texts, `out` likewise. */
void create_tables(spate_session *session)
{
    execute(session, "CREATE TABLE `in` (id BIGINT, word STRING) WITH ('connector' = 'filesystem', 'path' = '%s/in', 'format' = 'csv')",
            folder);
    execute(session, "CREATE TABLE `out` (id BIGINT, word STRING) WITH ('connector' = 'filesystem', 'path' = '%s/out', 'format' = 'csv')",
            folder);
}

/* The same input, which does not end. */
void create_followed(spate_session *session)
{
    execute(session,
            "CREATE TABLE followed (id BIGINT, word STRING) WITH ('connector' = 'filesystem', 'path' = '%s/in', 'format' = 'csv', "
            "'source.monitor-interval' = '10 ms')",
            folder);
}

const char *const followed_only[] = {"followed", NULL};
const char *const in_only[] = {"in", NULL}, *const out_only[] = {"out", NULL};

/* Steps to the end; what a step gave that failed. */
int run_to_end(spate_result *result)
{
    int code = SPATE_OK, step = SPATE_STEP_WORKED;
    while (code == SPATE_OK && step != SPATE_STEP_ENDED) {
        code = spate_result_step(result, 100, &step);
    }
    return code;
}

void must_run(spate_session *session, const struct spate_task_spec *spec)
{
    spate_result *result;
    if (spate_task_run(session, spec, &result) != SPATE_OK || run_to_end(result) != SPATE_OK) {
        fail_msg("%s", spate_session_error(session)->text);
    }
    spate_result_close(result);
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* All shown lines below a folder, sorted, with blanks between them. */
const char *shown(const char *name)
{
    static char text[8000];
    char path[600], *lines[200], buffer[400];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    DIR *listing = opendir(path);
    for (struct dirent *at; listing != NULL && (at = readdir(listing)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s/%s", folder, name, at->d_name);
        FILE *file = at->d_name[0] == '.' || at->d_name[0] == '_' ? NULL : fopen(path, "r");
        while (file != NULL && fgets(buffer, sizeof buffer, file) != NULL && count < 200) {
            buffer[strcspn(buffer, "\n")] = '\0';
            lines[count++] = strdup(buffer);
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " " : "", lines[i]);
        free(lines[i]);
    }
    return text;
}

int write_row(spate_task *task, int64_t id, const char *word)
{
    spate_output *output = spate_task_output(task, "out");
    const spate_cell cells[] = {spate_cell_integer(id), spate_cell_text(word)};
    return output == NULL ? SPATE_ERROR_SQL : spate_output_row(output, cells, 2);
}
