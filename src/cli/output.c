#include "cli/output.h"

#include "cli/error_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define X(name, text) text,
static const char *const form_names[] = {OUTPUT_LIST(X)};
#undef X

static const char *const kind_texts[] = {
    [SPATE_INSERT] = "+I", [SPATE_UPDATE_BEFORE] = "-U", [SPATE_UPDATE_AFTER] = "+U", [SPATE_DELETE] = "-D"};

bool output_form_find(const char *name, enum output_form *form)
{
    for (int i = 0; i < OUTPUT_FORM_COUNT; i++) {
        if (strcasecmp(form_names[i], name) == 0) {
            *form = (enum output_form)i;
            return true;
        }
    }
    return false;
}

enum output_form output_form_default(void)
{
    return isatty(STDOUT_FILENO) ? OUTPUT_TABLE : OUTPUT_TSV;
}

static bool type_is_number(const char *type)
{
    static const char *const numbers[] = {"TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        size_t length = strlen(numbers[i]);
        if (strncmp(type, numbers[i], length) == 0 && (type[length] == '\0' || type[length] == ' ' || type[length] == '(')) {
            return true;
        }
    }
    return false;
}

int output_open(struct output *output, enum output_form form, spate_result *result, uint64_t limit)
{
    bool changes = !spate_result_is_insert_only(result), bounded = spate_result_is_bounded(result);
    uint32_t columns = spate_result_column_count(result);
    *output = (struct output){.form = form, .result = result, .limit = limit};
    if (form == OUTPUT_TABLE && !bounded) {
        output->form = OUTPUT_TABLEAU;
    }
    output->with_op = output->form == OUTPUT_CHANGELOG || output->form == OUTPUT_TABLEAU || (changes && !bounded);
    output->collect = !output->with_op && (changes || output->form == OUTPUT_TABLE || output->form == OUTPUT_MARKDOWN);
    uint32_t extra = output->with_op ? 1 : 0;
    output->column_count = columns + extra;
    output->names = calloc(output->column_count + 1, sizeof *output->names);
    output->numeric = calloc(output->column_count + 1, sizeof *output->numeric);
    output->cells = calloc(output->column_count + 1, sizeof *output->cells);
    output->lengths = calloc(output->column_count + 1, sizeof *output->lengths);
    if (output->names == NULL || output->numeric == NULL || output->cells == NULL || output->lengths == NULL) {
        output_close(output);
        return SPATE_ERROR_LIMIT;
    }
    if (output->with_op) {
        output->names[0] = "op";
    }
    for (uint32_t c = 0; c < columns; c++) {
        output->names[c + extra] = spate_result_column_name(result, c);
        output->numeric[c + extra] = type_is_number(spate_result_column_type(result, c));
    }
    if (!output->collect) {
        output_rows_head(output);
    }
    return SPATE_OK;
}

static int output_row(void *context, int kind, uint32_t column_count, const char *const *values, const size_t *lengths)
{
    struct output *output = context;
    if (output->collect) {
        final_rows_change(&output->rows, kind, column_count, values, lengths);
        return 0;
    }
    if (output->limit > 0 && output->printed == output->limit) {
        return 1;
    }
    uint32_t extra = output->with_op ? 1 : 0;
    if (output->with_op) {
        output->cells[0] = kind_texts[kind];
        output->lengths[0] = 2;
    }
    for (uint32_t c = 0; c < column_count; c++) {
        output->cells[c + extra] = values[c];
        output->lengths[c + extra] = lengths[c];
    }
    output_rows_one(output, output->cells, output->lengths, output->printed == 0);
    output->printed++;
    return 0;
}

int output_drain(struct output *output, bool *full)
{
    int64_t rows = 1;
    while (rows > 0) {
        int failed = spate_result_next_text(output->result, output_row, output, &rows);
        if (failed != SPATE_OK) {
            return failed;
        }
    }
    bool insert_only = spate_result_is_insert_only(output->result);
    uint64_t count = output->collect ? (insert_only ? output->rows.standing : 0) : output->printed;
    *full = (output->limit > 0 && count >= output->limit) || fflush(stdout) != 0;
    return SPATE_OK;
}

static void output_print_collected(struct output *output)
{
    output_rows_head(output);
    for (size_t i = 0; i < output->rows.count; i++) {
        if (!final_row_stands(&output->rows.rows[i]) || (output->limit > 0 && output->printed == output->limit)) {
            continue;
        }
        final_rows_cells(&output->rows.rows[i], output->column_count, output->cells, output->lengths);
        output_rows_one(output, output->cells, output->lengths, output->printed == 0);
        output->printed++;
    }
}

void output_finish(struct output *output)
{
    if (output->collect && (output->form == OUTPUT_TABLE || output->form == OUTPUT_MARKDOWN)) {
        output_table_print(output);
    } else {
        if (output->collect) {
            output_print_collected(output);
        }
        output_rows_tail(output);
    }
    fflush(stdout);
    if (output->rows.owed > 0) {
        fprintf(stderr, "note: %zu %s withdrawn that had not come: the input deletes what it does not have\n", output->rows.owed,
                output->rows.owed == 1 ? "row was" : "rows were");
    }
}

void output_close(struct output *output)
{
    final_rows_close(&output->rows);
    free(output->names);
    free(output->numeric);
    free(output->cells);
    free(output->lengths);
    output->names = NULL;
    output->numeric = NULL;
    output->cells = NULL;
    output->lengths = NULL;
}

int output_print_all(spate_session *session, spate_result *result, enum output_form form, const char *json_prefix, const char *title)
{
    struct output output;
    bool full;
    if (output_open(&output, form, result, 0) != SPATE_OK) {
        spate_result_close(result);
        fprintf(stderr, "spate: no room for the output\n");
        return 1;
    }
    output.json_prefix = json_prefix;
    int code = output_drain(&output, &full) == SPATE_OK ? 0 : error_fail(spate_session_error(session));
    if (code == 0 && (title == NULL || output.rows.count > 0)) {
        fputs(title == NULL ? "" : title, stdout);
        output_finish(&output);
    }
    output_close(&output);
    spate_result_close(result);
    return code;
}
