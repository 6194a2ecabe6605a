#include "cli/test_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lines {
    const char *at, *end;
    uint32_t number; /* of the line at `at`, from 1 */
};

static struct text line_peek(const struct lines *lines)
{
    const char *newline = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    size_t length = (size_t)((newline == NULL ? lines->end : newline) - lines->at);
    return (struct text){lines->at, length > 0 && lines->at[length - 1] == '\r' ? length - 1 : length};
}

static struct text line_take(struct lines *lines)
{
    struct text line = line_peek(lines);
    const char *newline = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    lines->at = newline == NULL ? lines->end : newline + 1;
    lines->number++;
    return line;
}

static bool lines_more(const struct lines *lines)
{
    return lines->at < lines->end;
}

/* The text up to the next blank line, or (stop) a line of four dashes, which is taken. */
static struct text take_body(struct lines *lines, bool stop, bool *dashes)
{
    const char *start = lines->at, *end = lines->at;
    *dashes = false;
    while (lines_more(lines) && line_peek(lines).length > 0) {
        if (stop && text_equal(line_peek(lines), TEXT("----"))) {
            line_take(lines);
            *dashes = true;
            break;
        }
        line_take(lines);
        end = lines->at;
    }
    return (struct text){start, (size_t)(end - start)};
}

static struct test_record *record_add(struct test_file *file, enum record_kind kind, uint32_t line, struct text argument)
{
    if (file->count == file->capacity) {
        uint32_t capacity = file->capacity == 0 ? 64 : file->capacity * 2;
        struct test_record *larger = realloc(file->records, capacity * sizeof *larger);
        if (larger == NULL) {
            return NULL;
        }
        file->records = larger;
        file->capacity = capacity;
    }
    struct test_record *record = &file->records[file->count++];
    *record = (struct test_record){.kind = kind, .line = line};
    if (argument.length > 0) {
        record->argument = strndup(argument.bytes, argument.length);
    }
    return record;
}

static const struct {
    const char *words;
    enum record_kind kind;
    bool nosort, has_argument, early;
} record_heads[] = {
    {"file", RECORD_FILE, false, true},
    {"statement ok", RECORD_STATEMENT, false, false},
    {"statement error", RECORD_STATEMENT_ERROR, false, true},
    {"query error", RECORD_QUERY_ERROR, false, true},
    {"query nosort", RECORD_QUERY, true, false},
    {"query early", RECORD_QUERY, false, false, true},
    {"query", RECORD_QUERY, false, false},
    {"read", RECORD_READ, false, true},
};

static int find_head(struct text line, struct text *argument)
{
    for (size_t i = 0; i < sizeof record_heads / sizeof record_heads[0]; i++) {
        size_t length = strlen(record_heads[i].words);
        if (line.length < length || memcmp(line.bytes, record_heads[i].words, length) != 0) {
            continue;
        }
        bool exact = line.length == length;
        if (exact || (record_heads[i].has_argument && line.bytes[length] == ' ')) {
            *argument = exact ? (struct text){"", 0} : (struct text){line.bytes + length + 1, line.length - length - 1};
            return (int)i;
        }
    }
    return -1;
}

static const char *take_record(struct test_file *file, struct lines *lines, char *problem, size_t problem_size)
{
    uint32_t number = lines->number;
    struct text line = line_take(lines), argument;
    int head = find_head(line, &argument);
    if (head < 0) {
        snprintf(problem, problem_size, "line %u: unknown record '%.*s'", number, (int)line.length, line.bytes);
        return problem;
    }
    struct test_record *record = record_add(file, record_heads[head].kind, number, argument);
    if (record == NULL) {
        return "no room for the records";
    }
    bool dashes;
    record->nosort = record_heads[head].nosort;
    record->early = record_heads[head].early;
    if (record->kind == RECORD_READ) { /* the file's text follows at once */
        record->expected = take_body(lines, false, &dashes);
        return NULL;
    }
    record->body = take_body(lines, record->kind == RECORD_QUERY, &dashes);
    if (dashes) {
        record->expected = take_body(lines, false, &dashes);
    }
    return NULL;
}

static const char *parse_records(struct test_file *file, char *problem, size_t problem_size)
{
    struct lines lines = {file->text.bytes, file->text.bytes + file->text.length, 1};
    const char *failed = NULL;
    while (failed == NULL && lines_more(&lines)) {
        struct text line = line_peek(&lines);
        if (line.length == 0 || line.bytes[0] == '#') {
            line_take(&lines);
        } else if (text_equal(line, TEXT("halt"))) {
            break;
        } else {
            failed = take_record(file, &lines, problem, problem_size);
        }
    }
    return failed;
}

const char *test_file_read(const char *path, struct test_file *file, char *problem, size_t problem_size)
{
    *file = (struct test_file){.path = path};
    FILE *stream = fopen(path, "r");
    if (stream == NULL) {
        snprintf(problem, problem_size, "cannot open: %s", strerror(errno));
        return problem;
    }
    char block[65536];
    size_t got;
    while ((got = fread(block, 1, sizeof block, stream)) > 0) {
        text_append(&file->text, block, got);
    }
    text_append(&file->text, "", 0);
    fclose(stream);
    return file->text.failed ? "no room for the file" : parse_records(file, problem, problem_size);
}

void test_file_close(struct test_file *file)
{
    for (uint32_t i = 0; i < file->count; i++) {
        free(file->records[i].argument);
    }
    free(file->records);
    text_builder_close(&file->text);
}
