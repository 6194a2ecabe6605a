#include "cli/error_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const class_hints[] = {
    [SPATE_ERROR_SQL] = "a retry will not help",
    [SPATE_ERROR_DATA] = "a retry will not help until the data or the error policy changes",
    [SPATE_ERROR_LIMIT] = "a limit was reached",
    [SPATE_ERROR_UNAVAILABLE] = "a retry may help",
    [SPATE_ERROR_INTERNAL] = "this is a fault of Spate",
};

/* The line with the number, and a caret below the column (counted in characters, tabs kept). */
static void print_source_line(struct text text, uint32_t line, uint32_t column)
{
    const char *start = text.bytes, *end = text.bytes + text.length;
    for (uint32_t n = 1; n < line && start < end; n++) {
        const char *newline = memchr(start, '\n', (size_t)(end - start));
        start = newline == NULL ? end : newline + 1;
    }
    const char *newline = memchr(start, '\n', (size_t)(end - start));
    int length = (int)((newline == NULL ? end : newline) - start);
    if (length == 0 || length > 400) {
        return;
    }
    fprintf(stderr, "  %.*s\n  ", length, start);
    for (uint32_t i = 1, at = 0; i < column && at < (uint32_t)length; at++) {
        if (((unsigned char)start[at] & 0xC0) != 0x80) {
            fputc(start[at] == '\t' ? '\t' : ' ', stderr);
            i++;
        }
    }
    fprintf(stderr, "^\n");
}

void error_print(const char *source, struct text text, const struct spate_error *error)
{
    bool colour = isatty(STDERR_FILENO) && getenv("NO_COLOR") == NULL;
    const char *red = colour ? "\033[31m" : "", *plain = colour ? "\033[0m" : "";
    if (error->line > 0) {
        fprintf(stderr, "%s:%u:%u: ", source, error->line, error->column);
    } else {
        fprintf(stderr, "%s: ", source);
    }
    fprintf(stderr, "%serror%s: %s [SPATE-%u, SQLSTATE %s]\n", red, plain, error->text, error->code, error->sqlstate);
    if (error->line > 0) {
        print_source_line(text, error->line, error->column);
    }
    if (error->remedy != NULL && error->remedy[0] != '\0' && error->error_class != SPATE_ERROR_CANCELLED) {
        const char *hint = class_hints[error->error_class];
        fprintf(stderr, "  %s%s%s%s\n", error->remedy, hint == NULL ? "" : " (", hint == NULL ? "" : hint, hint == NULL ? "" : ")");
    }
}

int error_exit_code(const struct spate_error *error, bool running)
{
    if (error->error_class == SPATE_ERROR_CANCELLED) {
        return 130;
    }
    if (running) {
        return 4;
    }
    return error->error_class == SPATE_ERROR_UNAVAILABLE ? 3 : 1;
}

int error_fail(const struct spate_error *error)
{
    error_print("spate", TEXT(""), error);
    return error_exit_code(error, false);
}
