/* What all files of the binder use: refusals with their place, calls, casts, columns appended below. */
#include "sql/binder_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "data/cast.h"

enum status bind_refuse(const struct position *at, enum error_code code, struct error *err, const char *format, ...)
{
    char text[900];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return error_set_at(err, code, at->line, at->column, "%s", text);
}

enum status bind_check_columns(uint64_t count, struct error *err)
{
    return count <= COLUMNS_MAX ? STATUS_OK
                                : error_set(err, ERROR_TOO_MANY, "%llu columns; at most %d are read: name those that you need instead of *",
                                            (unsigned long long)count, COLUMNS_MAX);
}

enum status bind_place(enum status status, const struct position *at, struct error *err)
{
    if (status != STATUS_OK && err->line == 0) {
        err->line = at->line;
        err->column = at->column;
    }
    return status;
}

const struct expression *bind_at(const struct expression *expression, const struct position *at)
{
    struct expression *node = (struct expression *)expression; /* made just now, by us */
    if (node != NULL && node->line == 0) {
        node->fragment = at->fragment;
        node->line = at->line;
        node->column = at->column;
    }
    return expression;
}

const char *bind_type_text(struct binder *binder, const struct type *type)
{
    const char *text = type_to_text(binder->arena, type);
    return text != NULL ? text : "?";
}

const char *bind_name_text(struct binder *binder, const struct ast_name *name)
{
    const char *text = name->count > 0 ? name->parts[0] : "";
    for (uint32_t i = 1; i < name->count && text != NULL; i++) {
        text = arena_format(binder->arena, "%s.%s", text, name->parts[i]);
    }
    return text != NULL ? text : "?";
}

const struct type *bind_nullable(struct binder *binder, const struct type *type)
{
    return type->nullable ? type : type_with_nullable(binder->arena, type, true);
}

enum status bind_call(struct binder *binder, const char *name, const struct position *at, const struct expression *const *args,
                      uint32_t arg_count, const struct expression **result, struct error *err)
{
    err->line = 0;
    TRY(bind_place(function_call_named(binder->arena, binder->context->evaluation, name, args, arg_count, result, err), at, err));
    (void)bind_at(*result, at);
    return STATUS_OK;
}

enum status bind_not(struct binder *binder, bool negated, const struct position *at, const struct expression **expression,
                     struct error *err)
{
    if (!negated) {
        return STATUS_OK;
    }
    return bind_call(binder, "NOT", at, expression, 1, expression, err);
}

enum status bind_cast(struct binder *binder, const struct expression **expression, const struct type *type, struct error *err)
{
    if (type_equal_ignoring_nullable((*expression)->type, type)) {
        return STATUS_OK;
    }
    const struct type *to;
    TRY_ALLOC(to, type_with_nullable(binder->arena, type, (*expression)->type->nullable), err);
    if ((*expression)->type->kind == TYPE_NULL) {
        TRY_ALLOC(*expression, expression_null(binder->arena, bind_nullable(binder, type)), err);
        return STATUS_OK;
    }
    const struct position at = {.line = (*expression)->line, .column = (*expression)->column, .fragment = (*expression)->fragment};
    TRY_ALLOC(*expression, expression_cast(binder->arena, *expression, to, false), err);
    (void)bind_at(*expression, &at);
    return STATUS_OK;
}

enum status extension_column(struct extension *extension, const struct expression *expression, uint32_t *column, struct error *err)
{
    if (expression->kind == EXPRESSION_COLUMN) {
        *column = expression->index;
        return STATUS_OK;
    }
    uint32_t base = extension->input->schema.count;
    for (uint32_t i = 0; i < extension->count; i++) {
        if (extension->added[i] == expression || expression_equal(extension->added[i], expression)) {
            *column = base + i;
            return STATUS_OK;
        }
    }
    TRY_ALLOC(extension->added,
              arena_grow(extension->binder->arena, extension->added, &extension->capacity, extension->count + 1, sizeof *extension->added),
              err);
    *column = base + extension->count;
    extension->added[extension->count++] = expression;
    return STATUS_OK;
}

enum status extension_finish(struct extension *extension, struct relation **relation, struct error *err)
{
    struct relation *input = extension->input;
    if (extension->count == 0) {
        *relation = input;
        return STATUS_OK;
    }
    struct arena *arena = extension->binder->arena;
    uint32_t base = input->schema.count, count = base + extension->count;
    const struct expression **values;
    const char **names;
    enum time_attribute *times;
    TRY_ALLOC(values, arena_alloc(arena, count * sizeof *values), err);
    TRY_ALLOC(names, arena_alloc(arena, count * sizeof *names), err);
    TRY_ALLOC(times, arena_alloc(arena, count * sizeof *times), err);
    for (uint32_t i = 0; i < base; i++) {
        TRY_ALLOC(values[i], expression_column(arena, i, input->schema.columns[i].type), err);
        names[i] = input->schema.columns[i].name;
        times[i] = input->schema.columns[i].time;
    }
    for (uint32_t i = 0; i < extension->count; i++) {
        values[base + i] = extension->added[i];
        TRY_ALLOC(names[base + i], arena_format(arena, "$f%u", base + i), err);
        times[base + i] = bind_time(extension->added[i], input);
    }
    TRY_ALLOC(*relation, relation_make_project(arena, input, values, names, times, count), err);
    return STATUS_OK;
}
