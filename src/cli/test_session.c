/* One file in one mode, in a process of its own. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/test_compare.h"
#include "cli/test_run.h"
#include "spate/spate.h"

enum { PATH_BYTES = 4096, DEPTH_MAX = 16 };

struct test_session {
    const struct test_file *file;
    spate_session *session;
    char folder[256];
    int64_t timeout_us;
    struct text_builder message; /* why the record failed */
};

/* ---- files ---- */

static void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
}

static bool write_test_file(struct test_session *self, const struct test_record *record)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", self->folder, record->argument == NULL ? "" : record->argument);
    make_parents(path);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        text_append_format(&self->message, "cannot write '%s': %s", path, strerror(errno));
        return false;
    }
    fwrite(record->body.bytes, 1, record->body.length, file);
    return fclose(file) == 0;
}

static void read_file_into(const char *path, struct text_builder *out)
{
    FILE *file = fopen(path, "r");
    char block[65536];
    size_t got;
    while (file != NULL && (got = fread(block, 1, sizeof block, file)) > 0) {
        text_append(out, block, got);
    }
    if (out->length > 0 && out->bytes[out->length - 1] != '\n') {
        text_append_char(out, '\n');
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void read_below(const char *path, struct text_builder *out, int depth)
{
    struct stat status;
    if (depth > DEPTH_MAX || stat(path, &status) != 0) {
        return;
    }
    if (!S_ISDIR(status.st_mode)) {
        read_file_into(path, out);
        return;
    }
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char inner[PATH_BYTES];
        int length = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && length < (int)sizeof inner) {
            read_below(inner, out, depth + 1);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

/* ---- SQL ---- */

static void replace_folder(const struct test_session *self, struct text body, struct text_builder *out)
{
    for (size_t at = 0; at < body.length;) {
        if (body.length - at >= 6 && memcmp(body.bytes + at, "${DIR}", 6) == 0) {
            text_append_text(out, self->folder);
            at += 6;
        } else {
            text_append_char(out, body.bytes[at++]);
        }
    }
    text_append(out, "", 0);
}

static int take_row(void *context, int kind, uint32_t column_count, const char *const *values, const size_t *lengths)
{
    final_rows_change(context, kind, column_count, values, lengths);
    return 0;
}

static int drain(spate_result *result, struct final_rows *rows)
{
    int64_t count = 1;
    while (count > 0) {
        int failed = spate_result_next_text(result, take_row, rows, &count);
        if (failed != SPATE_OK) {
            return failed;
        }
    }
    return SPATE_OK;
}

/* Steps to the end. SPATE_OK, an error class, or -1 for a time-out. */
static int run_to_end(struct test_session *self, spate_result *result, struct final_rows *rows)
{
    int64_t until_us = clock_system.monotonic_us(&clock_system) + self->timeout_us;
    int step = SPATE_STEP_WORKED;
    while (step != SPATE_STEP_ENDED) {
        int failed = spate_result_step(result, 20, &step);
        if (failed == SPATE_OK) {
            failed = drain(result, rows);
        }
        if (failed != SPATE_OK) {
            return failed;
        }
        if (clock_system.monotonic_us(&clock_system) > until_us) {
            return -1;
        }
    }
    return drain(result, rows);
}

/* Executes all statements of the text; the rows of the last one with columns are in `rows`. */
static int execute(struct test_session *self, struct text sql, struct final_rows *rows, uint32_t *column_count)
{
    size_t offset = 0;
    for (;;) {
        spate_result *result = NULL;
        int failed = spate_execute(self->session, sql.bytes, sql.length, &offset, &result);
        if (failed != SPATE_OK || result == NULL) {
            return failed;
        }
        *column_count = spate_result_column_count(result);
        failed = run_to_end(self, result, rows);
        spate_result_close(result);
        if (failed != SPATE_OK) {
            return failed;
        }
    }
}

static void say_error(struct test_session *self, int failed)
{
    if (failed == -1) {
        text_append_format(&self->message, "it did not end within %lld ms", (long long)(self->timeout_us / 1000));
        return;
    }
    const struct spate_error *error = spate_session_error(self->session);
    text_append_format(&self->message, "error [SPATE-%u] at %u:%u: %s", error->code, error->line, error->column, error->text);
}

static bool error_matches(struct test_session *self, const struct test_record *record)
{
    const char *text = spate_session_error(self->session)->text;
    regex_t pattern;
    if (record->argument == NULL) {
        return true;
    }
    if (regcomp(&pattern, record->argument, REG_EXTENDED | REG_NOSUB) != 0) {
        text_append_format(&self->message, "'%s' is not a regular expression", record->argument);
        return false;
    }
    bool matches = regexec(&pattern, text, 0, NULL, 0) == 0;
    regfree(&pattern);
    if (!matches) {
        text_append_format(&self->message, "expected an error that matches /%s/, got: %s", record->argument, text);
    }
    return matches;
}

static bool check_rows(struct test_session *self, const struct test_record *record, const struct final_rows *rows, uint32_t column_count)
{
    struct text_builder got = {0};
    rows_to_lines(rows, column_count, &got);
    bool equal = false;
    if (rows->owed > 0 || (rows->early && !record->early)) {
        text_append_text(&self->message, "a row was withdrawn that had not been given\n");
    } else if (rows->failed || got.failed) {
        text_append_text(&self->message, "no room for the rows");
    } else {
        equal =
            lines_equal(record->expected, (struct text){got.bytes == NULL ? "" : got.bytes, got.length}, record->nosort, &self->message);
    }
    text_builder_close(&got);
    return equal;
}

static bool run_sql(struct test_session *self, const struct test_record *record)
{
    bool must_fail = record->kind == RECORD_STATEMENT_ERROR || record->kind == RECORD_QUERY_ERROR;
    struct text_builder sql = {0};
    struct final_rows rows = {0};
    uint32_t column_count = 0;
    replace_folder(self, record->body, &sql);
    int failed = execute(self, (struct text){sql.bytes, sql.length}, &rows, &column_count);
    bool passed;
    if (must_fail && failed == SPATE_OK) {
        text_append_text(&self->message, "expected an error, got rows:\n");
        passed = check_rows(self, record, &rows, column_count) && false;
    } else if (must_fail && failed != -1) {
        passed = error_matches(self, record);
    } else if (failed != SPATE_OK) {
        say_error(self, failed);
        passed = false;
    } else {
        passed = record->kind != RECORD_QUERY || check_rows(self, record, &rows, column_count);
    }
    final_rows_close(&rows);
    text_builder_close(&sql);
    return passed;
}

static bool run_read(struct test_session *self, const struct test_record *record)
{
    char path[PATH_BYTES];
    struct text_builder got = {0};
    snprintf(path, sizeof path, "%s/%s", self->folder, record->argument == NULL ? "" : record->argument);
    read_below(path, &got, 0);
    text_append(&got, "", 0);
    bool equal = lines_equal(record->expected, (struct text){got.bytes, got.length}, false, &self->message);
    text_builder_close(&got);
    return equal;
}

/* ---- the file ---- */

static void give_verdict(struct test_session *self, uint32_t record, bool passed, int out)
{
    struct test_verdict verdict = {.record = record, .passed = passed, .text_length = passed ? 0 : (uint32_t)self->message.length};
    ssize_t written = write(out, &verdict, sizeof verdict);
    if (written == (ssize_t)sizeof verdict && verdict.text_length > 0) {
        written = write(out, self->message.bytes, verdict.text_length);
    }
    if (written < 0) {
        _exit(3);
    }
}

static void run_record(struct test_session *self, uint32_t i, int out)
{
    const struct test_record *record = &self->file->records[i];
    text_builder_clear(&self->message);
    if (record->kind == RECORD_FILE) {
        write_test_file(self, record);
        return;
    }
    bool passed = record->kind == RECORD_READ ? run_read(self, record) : run_sql(self, record);
    give_verdict(self, i, passed, out);
}

void test_session_run(const struct test_file *file, const struct test_mode *mode, int64_t timeout_us, int out)
{
    struct test_session self = {.file = file, .timeout_us = timeout_us};
    const char *base = getenv("TMPDIR");
    snprintf(self.folder, sizeof self.folder, "%s/spate-test-XXXXXX", base == NULL ? "/tmp" : base);
    if (mkdtemp(self.folder) == NULL || spate_session_open((const char *const *)mode->settings, &self.session) != SPATE_OK) {
        fprintf(stderr, "spate: cannot begin a test in '%s': %s\n", self.folder,
                self.session == NULL ? strerror(errno) : spate_session_error(self.session)->text);
        _exit(3);
    }
    for (uint32_t i = 0; i < file->count; i++) {
        run_record(&self, i, out);
    }
    spate_session_close(self.session);
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", self.folder);
    if (system(command) != 0) {
        fprintf(stderr, "spate: cannot remove '%s'\n", self.folder);
    }
    text_builder_close(&self.message);
}
