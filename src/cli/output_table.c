/* Whole tables: box drawing on a terminal, or Markdown. Widths count columns of the screen, not bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cli/output.h"

static size_t display_width(const char *text, size_t length)
{
    mbstate_t state = {0};
    size_t width = 0;
    for (size_t at = 0; at < length;) {
        wchar_t wide;
        size_t used = mbrtowc(&wide, text + at, length - at, &state);
        if (used == 0 || used > length) {
            used = 1;
            width += 1;
            state = (mbstate_t){0};
        } else {
            int columns = wcwidth(wide);
            width += columns > 0 ? (size_t)columns : 0;
        }
        at += used;
    }
    return width;
}

static void print_cell(const char *cell, size_t length, size_t width, bool right)
{
    size_t used = display_width(cell, length);
    size_t pad = width > used ? width - used : 0;
    printf("%*s", right ? (int)pad : 0, "");
    for (size_t i = 0; i < length; i++) {
        fputc(cell[i] == '\n' || cell[i] == '\t' || cell[i] == '\r' ? ' ' : cell[i], stdout);
    }
    printf("%*s", right ? 0 : (int)pad, "");
}

static void print_rule(const struct output *output, const size_t *widths, const char *left, const char *middle, const char *right,
                       const char *dash)
{
    for (uint32_t c = 0; c < output->column_count; c++) {
        fputs(c == 0 ? left : middle, stdout);
        for (size_t i = 0; i < widths[c] + 2; i++) {
            fputs(dash, stdout);
        }
    }
    printf("%s\n", right);
}

static void print_line(const struct output *output, const size_t *widths, const char *const *cells, const size_t *lengths, bool head,
                       const char *bar)
{
    for (uint32_t c = 0; c < output->column_count; c++) {
        printf("%s ", bar);
        bool null = cells[c] == NULL;
        print_cell(null ? "NULL" : cells[c], null ? 4 : lengths[c], widths[c], output->numeric[c] && !head);
        fputc(' ', stdout);
    }
    printf("%s\n", bar);
}

static void measure(const struct output *output, size_t *widths, const char **cells, size_t *lengths)
{
    for (uint32_t c = 0; c < output->column_count; c++) {
        widths[c] = display_width(output->names[c], strlen(output->names[c]));
    }
    for (size_t i = 0; i < output->rows.count; i++) {
        if (!final_row_stands(&output->rows.rows[i])) {
            continue;
        }
        final_rows_cells(&output->rows.rows[i], output->column_count, cells, lengths);
        for (uint32_t c = 0; c < output->column_count; c++) {
            size_t width = cells[c] == NULL ? 4 : display_width(cells[c], lengths[c]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
}

void output_table_print(const struct output *output)
{
    bool markdown = output->form == OUTPUT_MARKDOWN;
    const char *bar = markdown ? "|" : "│";
    size_t *widths = calloc(output->column_count + 1, sizeof *widths);
    size_t *lengths = calloc(output->column_count + 1, sizeof *lengths);
    const char **cells = calloc(output->column_count + 1, sizeof *cells);
    if (widths == NULL || lengths == NULL || cells == NULL) {
        fprintf(stderr, "spate: no room to print a table\n");
    } else {
        measure(output, widths, cells, lengths);
        if (!markdown) {
            print_rule(output, widths, "┌", "┬", "┐", "─");
        }
        for (uint32_t c = 0; c < output->column_count; c++) {
            lengths[c] = strlen(output->names[c]);
        }
        print_line(output, widths, output->names, lengths, true, bar);
        print_rule(output, widths, markdown ? "|" : "├", markdown ? "|" : "┼", markdown ? "|" : "┤", markdown ? "-" : "─");
        uint64_t printed = 0;
        for (size_t i = 0; i < output->rows.count; i++) {
            if (final_row_stands(&output->rows.rows[i]) && (output->limit == 0 || printed < output->limit)) {
                final_rows_cells(&output->rows.rows[i], output->column_count, cells, lengths);
                print_line(output, widths, cells, lengths, false, bar);
                printed++;
            }
        }
        if (!markdown) {
            print_rule(output, widths, "└", "┴", "┘", "─");
        }
    }
    free(widths);
    free(lengths);
    free(cells);
}
