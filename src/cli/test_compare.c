#include "cli/test_compare.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cell_escape.h"

enum { SHOWN_MAX = 20 };

static void append_cell(struct text_builder *out, const char *cell, size_t length)
{
    if (cell == NULL) {
        text_append_text(out, "NULL");
        return;
    }
    if (length == 0) {
        text_append_text(out, "(empty)");
        return;
    }
    for (size_t i = 0; i < length; i++) {
        const char *escape = cell_escape(cell[i]);
        if (escape != NULL) {
            text_append_text(out, escape);
        } else {
            text_append_char(out, cell[i]);
        }
    }
}

void rows_to_lines(const struct final_rows *rows, uint32_t column_count, struct text_builder *out)
{
    const char **cells = calloc(column_count + 1, sizeof *cells);
    size_t *lengths = calloc(column_count + 1, sizeof *lengths);
    for (size_t i = 0; i < rows->count && cells != NULL && lengths != NULL; i++) {
        if (!final_row_stands(&rows->rows[i])) {
            continue;
        }
        final_rows_cells(&rows->rows[i], column_count, cells, lengths);
        for (uint32_t c = 0; c < column_count; c++) {
            if (c > 0) {
                text_append_char(out, '\t');
            }
            append_cell(out, cells[c], lengths[c]);
        }
        text_append_char(out, '\n');
    }
    free(cells);
    free(lengths);
}

struct line_list {
    struct text *lines;
    size_t count;
};

static int compare_lines(const void *left, const void *right)
{
    return text_compare(*(const struct text *)left, *(const struct text *)right);
}

static struct line_list split_lines(struct text text, bool sort)
{
    size_t count = 0;
    for (size_t i = 0; i < text.length; i++) {
        count += text.bytes[i] == '\n';
    }
    struct line_list list = {calloc(count + 2, sizeof(struct text)), 0};
    for (size_t at = 0; at < text.length && list.lines != NULL;) {
        const char *newline = memchr(text.bytes + at, '\n', text.length - at);
        size_t length = newline == NULL ? text.length - at : (size_t)(newline - text.bytes) - at;
        size_t shown = length > 0 && text.bytes[at + length - 1] == '\r' ? length - 1 : length;
        list.lines[list.count++] = (struct text){text.bytes + at, shown};
        at += length + 1;
    }
    if (sort && list.lines != NULL) {
        qsort(list.lines, list.count, sizeof *list.lines, compare_lines);
    }
    return list;
}

static void append_line(struct text_builder *out, char sign, struct text line, size_t *shown)
{
    if (++*shown <= SHOWN_MAX) {
        text_append_format(out, "      %c %.*s\n", sign, (int)line.length, line.bytes);
    }
}

static void append_difference(const struct line_list *expected, const struct line_list *got, struct text_builder *out)
{
    size_t i = 0, j = 0, shown = 0;
    while (i < expected->count || j < got->count) {
        int order = i == expected->count ? 1 : j == got->count ? -1 : compare_lines(&expected->lines[i], &got->lines[j]);
        if (order == 0) {
            i++;
            j++;
        } else if (order < 0) {
            append_line(out, '-', expected->lines[i++], &shown);
        } else {
            append_line(out, '+', got->lines[j++], &shown);
        }
    }
    if (shown > SHOWN_MAX) {
        text_append_format(out, "      ... and %zu more\n", shown - SHOWN_MAX);
    }
    text_append_format(out, "      (- expected %zu rows, + got %zu)\n", expected->count, got->count);
}

bool lines_equal(struct text expected_text, struct text got_text, bool nosort, struct text_builder *difference)
{
    struct line_list expected = split_lines(expected_text, !nosort), got = split_lines(got_text, !nosort);
    bool equal = expected.count == got.count;
    for (size_t i = 0; i < expected.count && equal; i++) {
        equal = text_equal(expected.lines[i], got.lines[i]);
    }
    if (!equal) {
        append_difference(&expected, &got, difference);
    }
    free(expected.lines);
    free(got.lines);
    return equal;
}
