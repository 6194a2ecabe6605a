#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define X(name_, number_, status_, sqlstate_, remedy_)                                                                                     \
    {.name = #name_, .number = (number_), .status = STATUS_##status_, .sqlstate = (sqlstate_), .remedy = (remedy_)},
static const struct error_info infos[] = {ERROR_LIST(X)};
#undef X

const struct error_info *error_info_list(uint32_t *count)
{
    *count = ARRAY_LENGTH(infos);
    return infos;
}

const struct error_info *error_info_find(uint32_t number)
{
    for (uint32_t i = 0; i < ARRAY_LENGTH(infos); i++) {
        if (infos[i].number == number) {
            return &infos[i];
        }
    }
    return NULL;
}

static enum status error_fill(struct error *err, enum error_code code, const char *format, va_list arguments)
{
    const struct error_info *info = error_info_find(code);
    err->status = info == NULL ? STATUS_INTERNAL : info->status;
    err->code = code;
    vsnprintf(err->text, sizeof err->text, format, arguments);
    return err->status;
}

enum status error_set(struct error *err, enum error_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    enum status status = error_fill(err, code, format, arguments);
    va_end(arguments);
    err->line = 0;
    err->column = 0;
    return status;
}

enum status error_set_at(struct error *err, enum error_code code, uint32_t line, uint32_t column, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    enum status status = error_fill(err, code, format, arguments);
    va_end(arguments);
    err->line = line;
    err->column = column;
    return status;
}

void error_add_context(struct error *err, const char *format, ...)
{
    size_t used = strlen(err->text);
    if (used + 2 >= sizeof err->text) {
        return;
    }
    err->text[used++] = '\n';
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->text + used, sizeof err->text - used, format, arguments);
    va_end(arguments);
}
