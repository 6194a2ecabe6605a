/* What a name means: the innermost scope that knows it decides; a qualifier is tried before a column with fields. */
#include "sql/binder_internal.h"

#include <string.h>

enum { NAMES_MAX = 256 };

enum status scope_from_relation(struct binder *binder, const struct relation *relation, const char *table, struct scope *scope,
                                struct error *err)
{
    *scope = (struct scope){.count = relation->schema.count};
    TRY_ALLOC(scope->columns, arena_alloc(binder->arena, (scope->count + 1) * sizeof *scope->columns), err);
    for (uint32_t i = 0; i < scope->count; i++) {
        const struct column *column = &relation->schema.columns[i];
        const struct expression *value;
        TRY_ALLOC(value, expression_column(binder->arena, i, column->type), err);
        scope->columns[i] = (struct scope_column){.table = table, .name = column->name, .value = value, .time = column->time};
    }
    return STATUS_OK;
}

enum time_attribute bind_time(const struct expression *expression, const struct relation *input)
{
    if (expression->kind == EXPRESSION_COLUMN) {
        return expression->index < input->schema.count ? input->schema.columns[expression->index].time : TIME_NONE;
    }
    if (expression->kind == EXPRESSION_CALL && expression->function != NULL && strcmp(expression->function->name, "PROCTIME") == 0) {
        return TIME_PROCTIME;
    }
    return TIME_NONE;
}

enum status scope_find_local(struct binder *binder, const struct scope *scope, const char *table, const char *name,
                             const struct scope_column **column, const struct position *at, struct error *err)
{
    (void)binder;
    *column = NULL;
    for (uint32_t i = 0; i < scope->count; i++) {
        const struct scope_column *candidate = &scope->columns[i];
        if (strcmp(candidate->name, name) != 0 || (table == NULL && candidate->merged) ||
            (table != NULL && (candidate->table == NULL || strcmp(candidate->table, table) != 0))) {
            continue;
        }
        if (*column != NULL) {
            return bind_refuse(at, ERROR_AMBIGUOUS_COLUMN, err, "column '%s' is in '%s' and in '%s'", name,
                               (*column)->table != NULL ? (*column)->table : "?", candidate->table != NULL ? candidate->table : "?");
        }
        *column = candidate;
    }
    return STATUS_OK;
}

static bool scope_has_table(const struct scope *scope, const char *table)
{
    for (uint32_t i = 0; i < scope->count; i++) {
        if (scope->columns[i].table != NULL && strcmp(scope->columns[i].table, table) == 0) {
            return true;
        }
    }
    return false;
}

/* The column that the first parts of a name mean in this scope, and how many parts that took. */
static enum status find_in_scope(struct binder *binder, const struct scope *scope, const struct ast_name *name,
                                 const struct scope_column **column, uint32_t *used, struct error *err)
{
    *column = NULL;
    if (name->count >= 4 && strcmp(name->parts[0], "default_catalog") == 0 && strcmp(name->parts[1], "default_database") == 0) {
        *used = 4;
        TRY(scope_find_local(binder, scope, name->parts[2], name->parts[3], column, &name->at, err));
    }
    if (*column == NULL && name->count >= 3 && strcmp(name->parts[0], "default_database") == 0) {
        *used = 3;
        TRY(scope_find_local(binder, scope, name->parts[1], name->parts[2], column, &name->at, err));
    }
    if (*column == NULL && name->count >= 2) {
        *used = 2;
        TRY(scope_find_local(binder, scope, name->parts[0], name->parts[1], column, &name->at, err));
    }
    if (*column == NULL) {
        *used = 1;
        TRY(scope_find_local(binder, scope, NULL, name->parts[0], column, &name->at, err));
    }
    return STATUS_OK;
}

struct outward {
    struct binder *binder;
    struct scope *scope;
    uint32_t depth;
    const struct position *at;
    bool failed;
};

static const struct expression *make_outer(const struct expression *column, void *context)
{
    struct outward *outward = context;
    struct expression *node = arena_alloc(outward->binder->arena, sizeof *node);
    struct outer_reference *reference = arena_alloc(outward->binder->arena, sizeof *reference);
    if (node == NULL || reference == NULL) {
        outward->failed = true;
        return NULL;
    }
    *node = (struct expression){.kind = EXPRESSION_OUTER,
                                .type = column->type,
                                .index = column->index,
                                .depth = outward->depth,
                                .line = outward->at->line,
                                .column = outward->at->column};
    *reference = (struct outer_reference){node, outward->scope->references};
    outward->scope->references = reference;
    return node;
}

/* The value of a column of a scope `depth` levels out. */
static enum status column_value(struct binder *binder, struct scope *scope, uint32_t depth, const struct scope_column *column,
                                const struct position *at, const struct expression **result, struct error *err)
{
    if (depth == 0) {
        if (column->value->kind == EXPRESSION_COLUMN) { /* a node of its own, with its own place */
            TRY_ALLOC(*result, expression_column(binder->arena, column->value->index, column->value->type), err);
            (void)bind_at(*result, at);
        } else {
            *result = column->value;
        }
        return STATUS_OK;
    }
    struct outward outward = {.binder = binder, .scope = scope, .depth = depth, .at = at};
    *result = column->value->kind == EXPRESSION_COLUMN ? make_outer(column->value, &outward)
                                                       : expression_replace_columns(binder->arena, column->value, make_outer, &outward);
    return *result == NULL || outward.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a column") : STATUS_OK;
}

/* Says what the name may have meant: near names, or all of the scope's columns when they are few. */
static enum status refuse_unknown(struct binder *binder, const struct scope *scope, const struct ast_name *name, struct error *err)
{
    const char *candidates[NAMES_MAX], *written = name->parts[name->count > 1 ? 1 : 0];
    size_t count = 0;
    if (name->count > 1) {
        bool known = false;
        for (const struct scope *s = scope; s != NULL; s = s->outer) {
            known = known || scope_has_table(s, name->parts[0]);
        }
        if (!known) {
            for (uint32_t i = 0; i < scope->count && count < NAMES_MAX; i++) {
                if (scope->columns[i].table != NULL) {
                    candidates[count++] = scope->columns[i].table;
                }
            }
            const char *nearest = text_nearest(name->parts[0], candidates, count);
            return bind_refuse(&name->at, ERROR_UNKNOWN_COLUMN, err, "there is no table or column '%s' here for '%s'%s%s%s", name->parts[0],
                               bind_name_text(binder, name), nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
                               nearest != NULL ? "'?" : "");
        }
    }
    for (const struct scope *s = scope; s != NULL; s = s->outer) {
        for (uint32_t i = 0; i < s->count && count < NAMES_MAX; i++) {
            if (name->count == 1 || (s->columns[i].table != NULL && strcmp(s->columns[i].table, name->parts[0]) == 0)) {
                candidates[count++] = s->columns[i].name;
            }
        }
    }
    const char *nearest = text_nearest(written, candidates, count);
    if (nearest != NULL) {
        return bind_refuse(&name->at, ERROR_UNKNOWN_COLUMN, err, "there is no column '%s'; did you mean '%s'?",
                           bind_name_text(binder, name), nearest);
    }
    const char *list = count > 0 ? candidates[0] : "(none)";
    for (size_t i = 1; i < count && i < 12 && list != NULL; i++) {
        list = arena_format(binder->arena, "%s, %s", list, candidates[i]);
    }
    return bind_refuse(&name->at, ERROR_UNKNOWN_COLUMN, err, "there is no column '%s'; the columns are %s%s", bind_name_text(binder, name),
                       list != NULL ? list : "?", count > 12 ? ", ..." : "");
}

enum status bind_field(struct binder *binder, const struct expression *row, const char *field, const struct position *at,
                       const struct expression **result, struct error *err)
{
    if (row->type->kind != TYPE_ROW) {
        return bind_refuse(at, ERROR_UNKNOWN_COLUMN, err, "there is no field '%s' in a value of type %s: only ROW has fields", field,
                           bind_type_text(binder, row->type));
    }
    for (uint32_t i = 0; i < row->type->child_count; i++) {
        if (strcmp(row->type->names[i], field) != 0) {
            continue;
        }
        const struct type *type = row->type->children[i];
        if (row->type->nullable) {
            TRY_ALLOC(type, bind_nullable(binder, type), err);
        }
        TRY_ALLOC(*result, expression_make(binder->arena, EXPRESSION_FIELD, type, &row, 1), err);
        ((struct expression *)*result)->index = i;
        (void)bind_at(*result, at);
        return STATUS_OK;
    }
    const char *nearest = text_nearest(field, row->type->names, row->type->child_count);
    return bind_refuse(at, ERROR_UNKNOWN_COLUMN, err, "there is no field '%s' in %s%s%s%s", field, bind_type_text(binder, row->type),
                       nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

enum status bind_name(struct binder *binder, struct scope *scope, const struct ast_name *name, const struct expression **result,
                      struct error *err)
{
    for (uint32_t i = 0; name->count == 1 && i < scope->alias_count; i++) {
        if (scope->aliases[i].name != NULL && strcmp(scope->aliases[i].name, name->parts[0]) == 0) {
            *result = scope->aliases[i].value;
            return STATUS_OK;
        }
    }
    const struct scope_column *column = NULL;
    struct scope *found = scope;
    uint32_t depth = 0, used = 0;
    for (; found != NULL; found = found->outer, depth++) {
        TRY(find_in_scope(binder, found, name, &column, &used, err));
        if (column != NULL) {
            break;
        }
    }
    if (column == NULL) {
        return refuse_unknown(binder, scope, name, err);
    }
    TRY(column_value(binder, found, depth, column, &name->at, result, err));
    for (; used < name->count; used++) {
        TRY(bind_field(binder, *result, name->parts[used], &name->part_positions[used], result, err));
    }
    return STATUS_OK;
}
