/* The forms that print a row as soon as it is there. */
#include <stdio.h>
#include <string.h>

#include "cli/cell_escape.h"
#include "cli/json_text.h"
#include "cli/output.h"

/* tsv and changelog: the escapes of the test format. */
static void print_escaped(const char *cell, size_t length)
{
    if (cell == NULL) {
        fputs("NULL", stdout);
        return;
    }
    for (size_t i = 0; i < length; i++) {
        const char *escape = cell_escape(cell[i]);
        if (escape != NULL) {
            fputs(escape, stdout);
        } else {
            fputc(cell[i], stdout);
        }
    }
}

static void print_csv(const char *cell, size_t length)
{
    if (cell == NULL) {
        return;
    }
    bool quote = length == 0;
    for (size_t i = 0; i < length && !quote; i++) {
        quote = strchr(",\"\r\n", cell[i]) != NULL && cell[i] != '\0';
    }
    if (!quote) {
        fwrite(cell, 1, length, stdout);
        return;
    }
    fputc('"', stdout);
    for (size_t i = 0; i < length; i++) {
        if (cell[i] == '"') {
            fputc('"', stdout);
        }
        fputc(cell[i], stdout);
    }
    fputc('"', stdout);
}

static void print_json_cell(const char *cell, size_t length, bool number)
{
    bool plain = number && cell != NULL && length > 0 && strchr("-0123456789", cell[0]) != NULL && cell[length - 1] != 'y';
    if (cell == NULL) {
        fputs("null", stdout);
    } else if (plain) {
        fwrite(cell, 1, length, stdout);
    } else {
        json_text_print(cell, length);
    }
}

static void print_json_row(const struct output *output, const char *const *cells, const size_t *lengths)
{
    fputc('{', stdout);
    fputs(output->json_prefix == NULL ? "" : output->json_prefix, stdout);
    for (uint32_t c = 0; c < output->column_count; c++) {
        fputs(c == 0 ? "" : ",", stdout);
        json_text_print(output->names[c], strlen(output->names[c]));
        fputc(':', stdout);
        print_json_cell(cells[c], lengths[c], output->numeric[c]);
    }
    fputc('}', stdout);
}

static void print_vertical_row(const struct output *output, const char *const *cells, const size_t *lengths)
{
    int width = 0;
    for (uint32_t c = 0; c < output->column_count; c++) {
        int length = (int)strlen(output->names[c]);
        width = length > width ? length : width;
    }
    printf("-[ row %llu ]-\n", (unsigned long long)output->printed + 1);
    for (uint32_t c = 0; c < output->column_count; c++) {
        printf("%*s: ", width, output->names[c]);
        fwrite(cells[c] == NULL ? "NULL" : cells[c], 1, cells[c] == NULL ? 4 : lengths[c], stdout);
        fputc('\n', stdout);
    }
}

static void print_separated(const struct output *output, const char *const *cells, const size_t *lengths, char separator,
                            void (*print)(const char *cell, size_t length))
{
    for (uint32_t c = 0; c < output->column_count; c++) {
        if (c > 0) {
            fputc(separator, stdout);
        }
        print(cells[c], lengths[c]);
    }
    fputc('\n', stdout);
}

static void print_bars(const struct output *output, const char *const *cells, const size_t *lengths)
{
    for (uint32_t c = 0; c < output->column_count; c++) {
        fputs(c == 0 ? "| " : " | ", stdout);
        print_escaped(cells[c], lengths[c]);
    }
    fputs(" |\n", stdout);
}

void output_rows_head(const struct output *output)
{
    if (output->form == OUTPUT_CSV) {
        for (uint32_t c = 0; c < output->column_count; c++) {
            fputs(c == 0 ? "" : ",", stdout);
            print_csv(output->names[c], strlen(output->names[c]));
        }
        fputc('\n', stdout);
    } else if (output->form == OUTPUT_TABLEAU || output->form == OUTPUT_MARKDOWN) {
        for (uint32_t c = 0; c < output->column_count; c++) {
            printf("%s%s", c == 0 ? "| " : " | ", output->names[c]);
        }
        fputs(" |\n", stdout);
        for (uint32_t c = 0; output->form == OUTPUT_MARKDOWN && c < output->column_count; c++) {
            fputs(c == 0 ? "| --- |" : " --- |", stdout);
        }
        fputs(output->form == OUTPUT_MARKDOWN ? "\n" : "", stdout);
    } else if (output->form == OUTPUT_JSON) {
        fputc('[', stdout);
    }
}

void output_rows_one(const struct output *output, const char *const *cells, const size_t *lengths, bool first)
{
    switch (output->form) {
    case OUTPUT_CSV:
        print_separated(output, cells, lengths, ',', print_csv);
        break;
    case OUTPUT_JSON:
        fputs(first ? "\n" : ",\n", stdout);
        print_json_row(output, cells, lengths);
        break;
    case OUTPUT_JSONL:
        print_json_row(output, cells, lengths);
        fputc('\n', stdout);
        break;
    case OUTPUT_VERTICAL:
        print_vertical_row(output, cells, lengths);
        break;
    case OUTPUT_TABLEAU:
    case OUTPUT_MARKDOWN:
        print_bars(output, cells, lengths);
        break;
    default:
        print_separated(output, cells, lengths, '\t', print_escaped);
    }
}

void output_rows_tail(const struct output *output)
{
    if (output->form == OUTPUT_JSON) {
        fputs("\n]\n", stdout);
    } else if (output->form == OUTPUT_TABLEAU) {
        printf("Received a total of %llu rows\n", (unsigned long long)output->printed);
    }
}
