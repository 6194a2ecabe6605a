#include "functions/program_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "data/cell_text.h"

/* The lowest failing row is the one reported, so that the message does not depend on the order of steps. */
void row_failures_add(const struct program_failures *at, uint32_t row, enum error_code code, const char *text)
{
    struct row_failures *failures = at->rows;
    if (failures->count == 0) {
        memset(failures->failed, 0, sizeof failures->failed);
    }
    if (row_failures_has(failures, row)) {
        return;
    }
    failures->failed[row / 64] |= (uint64_t)1 << (row % 64);
    failures->count++;
    if (failures->count == 1 || row < failures->first_row) {
        failures->first_row = row;
        (void)!error_set_at(&failures->first, code, at->at->fragment ? 0 : at->at->line, at->at->fragment ? 0 : at->at->column, "%s", text);
    }
}

/* The row's value becomes zero: later steps compute with it, and must not meet more digits than its type has. */
void kernel_fail(struct kernel_call *call, uint32_t row, enum error_code code, const char *format, ...)
{
    struct program_failures *failures = call->failures;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (call->result != NULL && call->result->values != NULL) {
        size_t width = physical_bytes(call->result->physical);
        memset((uint8_t *)call->result->values + row * width, 0, width);
    }
    row_failures_add(failures, row, code, text);
}

char *kernel_alloc(struct kernel_call *call, size_t bytes)
{
    return string_heap_alloc(call->heap, bytes, kernel_error(call));
}

struct error *kernel_error(struct kernel_call *call)
{
    return ((struct program_failures *)call->failures)->err;
}

enum { ROW_TEXT_MAX = 500, ROW_COLUMNS_MAX = 20 };

enum status row_failures_raise(const struct row_failures *failures, const struct batch *batch, const char *const *names,
                               const struct time_zone *zone, struct error *err)
{
    struct text_builder row = {0};
    for (uint32_t i = 0; names != NULL && i < batch->column_count && i < ROW_COLUMNS_MAX && row.length < ROW_TEXT_MAX; i++) {
        if (names[i] == NULL) {
            continue;
        }
        text_append_format(&row, "%s%s=", row.length > 0 ? ", " : "", names[i]);
        cell_text_append(&batch->columns[i], failures->first_row, zone, CELL_TEXT_HEX, &row);
    }
    *err = failures->first;
    if (row.length > 0) {
        error_add_context(err, "in the row %.*s%s", (int)(row.length < ROW_TEXT_MAX ? row.length : ROW_TEXT_MAX), row.bytes,
                          row.length > ROW_TEXT_MAX ? "..." : "");
    }
    text_builder_close(&row);
    return err->status;
}
