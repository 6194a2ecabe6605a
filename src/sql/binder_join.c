/* Joins: ON, USING, NATURAL, comma and CROSS, LATERAL, UNNEST, FOR SYSTEM_TIME AS OF. */
#include <string.h>

#include "sql/binder_internal.h"

static const enum join_kind join_kinds[] = {
    [AST_JOIN_INNER] = JOIN_INNER, [AST_JOIN_LEFT] = JOIN_LEFT, [AST_JOIN_RIGHT] = JOIN_RIGHT, [AST_JOIN_FULL] = JOIN_FULL,
    [AST_JOIN_CROSS] = JOIN_INNER, [AST_JOIN_SEMI] = JOIN_SEMI, [AST_JOIN_ANTI] = JOIN_ANTI,
};

static const struct expression *shift_column(const struct expression *column, void *context)
{
    struct {
        struct arena *arena;
        uint32_t by;
    } *shift = context;
    return expression_column(shift->arena, column->index + shift->by, column->type);
}

struct nullable_types {
    struct binder *binder;
    const struct relation *relation;
};

/* A column under the type that the join's output has (an outer side is nullable). */
static const struct expression *retype_column(const struct expression *column, void *context)
{
    struct nullable_types *types = context;
    return expression_column(types->binder->arena, column->index, types->relation->schema.columns[column->index].type);
}

/* The JOIN relation without its condition. */
static enum status make_join(struct binder *binder, enum join_kind kind, struct relation *left, struct relation *right,
                             struct relation **relation, struct error *err)
{
    bool left_only = kind == JOIN_SEMI || kind == JOIN_ANTI;
    uint32_t left_count = left->schema.count, count = left_count + (left_only ? 0 : right->schema.count);
    struct relation *inputs[] = {left, right};
    TRY(bind_check_columns(count, err));
    TRY_ALLOC(*relation, relation_make(binder->arena, RELATION_JOIN, inputs, 2, count), err);
    (*relation)->join.kind = kind;
    for (uint32_t i = 0; i < count; i++) {
        bool of_left = i < left_count;
        struct column column = of_left ? left->schema.columns[i] : right->schema.columns[i - left_count];
        bool outer = of_left ? kind == JOIN_RIGHT || kind == JOIN_FULL : kind == JOIN_LEFT || kind == JOIN_FULL;
        if (outer) {
            TRY_ALLOC(column.type, bind_nullable(binder, column.type), err);
        }
        relation_columns(*relation)[i] = column;
    }
    return STATUS_OK;
}

/* What names mean over both sides; with `typed` under the output's types, else (for ON) under the sides' own. */
static enum status join_columns(struct binder *binder, const struct from *left, const struct from *right, const struct relation *typed,
                                struct scope_column **columns, struct error *err)
{
    struct {
        struct arena *arena;
        uint32_t by;
    } shift = {binder->arena, left->relation->schema.count};
    struct nullable_types types = {binder, typed};
    TRY_ALLOC(*columns, arena_alloc(binder->arena, (left->count + right->count + 1) * sizeof **columns), err);
    for (uint32_t i = 0; i < left->count + right->count; i++) {
        struct scope_column *column = &(*columns)[i];
        *column = i < left->count ? left->columns[i] : right->columns[i - left->count];
        if (i >= left->count) {
            TRY_ALLOC(column->value, expression_replace_columns(binder->arena, column->value, shift_column, &shift), err);
        }
        if (typed != NULL) {
            TRY_ALLOC(column->value, expression_replace_columns(binder->arena, column->value, retype_column, &types), err);
        }
    }
    return STATUS_OK;
}

/* ---- USING, NATURAL ---- */

struct using_list {
    const char **names;
    uint32_t count;
};

static enum status using_names(struct binder *binder, const struct ast_table *ast, const struct from *left, const struct from *right,
                               struct using_list *list, struct error *err)
{
    TRY_ALLOC(list->names, arena_alloc(binder->arena, (ast->using_count + left->count + 1) * sizeof *list->names), err);
    for (uint32_t i = 0; i < ast->using_count; i++) {
        list->names[list->count++] = ast->using_columns[i];
    }
    for (uint32_t i = 0; ast->natural && i < left->count; i++) {
        for (uint32_t j = 0; j < right->count; j++) {
            if (!left->columns[i].merged && !right->columns[j].merged && strcmp(left->columns[i].name, right->columns[j].name) == 0) {
                list->names[list->count++] = left->columns[i].name;
                break;
            }
        }
    }
    return STATUS_OK;
}

static enum status using_side(struct binder *binder, const struct from *from, const char *name, const struct position *at, uint32_t *index,
                              struct error *err)
{
    struct scope scope = {.columns = from->columns, .count = from->count};
    const struct scope_column *column;
    TRY(scope_find_local(binder, &scope, NULL, name, &column, at, err));
    if (column == NULL) {
        return bind_refuse(at, ERROR_UNKNOWN_COLUMN, err, "USING names a column '%s' that one side does not have", name);
    }
    *index = (uint32_t)(column - from->columns);
    return STATUS_OK;
}

static enum status using_condition(struct binder *binder, const struct ast_table *ast, const struct from *left, const struct from *right,
                                   const struct using_list *list, const struct scope_column *columns, const struct expression **condition,
                                   struct error *err)
{
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t one, two;
        const struct expression *equal;
        TRY(using_side(binder, left, list->names[i], &ast->at, &one, err));
        TRY(using_side(binder, right, list->names[i], &ast->at, &two, err));
        TRY(bind_comparison(binder, "=", &ast->at, columns[one].value, columns[left->count + two].value, &equal, err));
        TRY_ALLOC(*condition, expression_and(binder->arena, *condition, equal), err);
    }
    return STATUS_OK;
}

static enum status merged_value(struct binder *binder, const struct ast_table *ast, const struct scope_column *one,
                                const struct scope_column *two, const struct expression **value, struct error *err)
{
    if (ast->join == AST_JOIN_RIGHT) {
        *value = two->value;
    } else if (ast->join == AST_JOIN_FULL) {
        const struct expression **args;
        TRY_ALLOC(args, arena_alloc(binder->arena, 2 * sizeof *args), err);
        args[0] = one->value;
        args[1] = two->value;
        return bind_case_of(binder, &ast->at, EXPRESSION_COALESCE, args, 2, value, err);
    } else {
        *value = one->value;
    }
    return STATUS_OK;
}

/* The merged columns come first; the two sides' own are reached by their qualifier only. */
static enum status merge_columns(struct binder *binder, const struct ast_table *ast, const struct from *left, const struct from *right,
                                 const struct using_list *list, struct scope_column *columns, struct from *from, struct error *err)
{
    struct scope_column *all;
    TRY_ALLOC(all, arena_alloc(binder->arena, (list->count + left->count + right->count + 1) * sizeof *all), err);
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t one, two;
        TRY(using_side(binder, left, list->names[i], &ast->at, &one, err));
        TRY(using_side(binder, right, list->names[i], &ast->at, &two, err));
        all[i] = (struct scope_column){.name = list->names[i], .time = TIME_NONE};
        TRY(merged_value(binder, ast, &columns[one], &columns[left->count + two], &all[i].value, err));
        columns[one].merged = true;
        columns[left->count + two].merged = true;
    }
    memcpy(all + list->count, columns, (left->count + right->count) * sizeof *all);
    from->columns = all;
    from->count = list->count + left->count + right->count;
    return STATUS_OK;
}

/* ---- temporal ---- */

static enum status temporal_column(struct binder *binder, struct scope *outer, const struct ast_table *right, const struct from *left,
                                   uint32_t *column, struct error *err)
{
    struct scope scope = {.outer = outer, .columns = left->columns, .count = left->count, .clause = "FOR SYSTEM_TIME AS OF"};
    const struct expression *time;
    TRY(bind_scalar(binder, &scope, right->system_time, &time, err));
    if (time->kind != EXPRESSION_COLUMN || bind_time(time, left->relation) == TIME_NONE) {
        return bind_refuse(&right->system_time->at, ERROR_INVALID_QUERY, err,
                           "FOR SYSTEM_TIME AS OF takes a time attribute of the left side");
    }
    *column = time->index;
    return STATUS_OK;
}

static enum status bind_temporal_right(struct binder *binder, const struct ast_table *ast, struct from *from, struct error *err)
{
    struct relation *relation;
    struct scope scope;
    bind_note_table(binder, ast);
    TRY(bind_named_table(binder, &ast->name, ast->hints, ast->hint_count, &relation, err));
    TRY(scope_from_relation(binder, relation, ast->name.parts[ast->name.count - 1], &scope, err));
    *from = (struct from){.relation = relation, .columns = scope.columns, .count = scope.count};
    return from_name_columns(binder, ast, from, err);
}

/* ---- lateral functions ---- */

static enum status element_columns(struct binder *binder, const struct ast_table *ast, const struct type *collection, bool nullable,
                                   struct column *columns, uint32_t *count, struct error *err)
{
    const struct type *element = collection->child_count > 0 ? collection->children[0] : NULL;
    *count = 0;
    if (collection->kind == TYPE_MAP) {
        columns[(*count)++] = (struct column){.name = "KEY", .type = collection->children[0]};
        columns[(*count)++] = (struct column){.name = "VALUE", .type = collection->children[1]};
    } else if (collection->kind != TYPE_ARRAY && collection->kind != TYPE_MULTISET) {
        return bind_refuse(&ast->at, ERROR_TYPE_MISMATCH, err, "UNNEST takes an ARRAY, MULTISET or MAP, not %s",
                           bind_type_text(binder, collection));
    } else if (element->kind == TYPE_ROW) {
        for (uint32_t i = 0; i < element->child_count; i++) {
            const struct type *type = element->children[i];
            if (element->nullable) {
                TRY_ALLOC(type, bind_nullable(binder, type), err);
            }
            columns[(*count)++] = (struct column){.name = element->names[i], .type = type};
        }
    } else {
        columns[(*count)++] = (struct column){.name = "EXPR$0", .type = element};
    }
    if (ast->with_ordinality) {
        columns[(*count)++] = (struct column){.name = "ORDINALITY", .type = &type_int_not_null};
    }
    for (uint32_t i = 0; nullable && i < *count; i++) {
        TRY_ALLOC(columns[i].type, bind_nullable(binder, columns[i].type), err);
    }
    return STATUS_OK;
}

enum status bind_lateral_function(struct binder *binder, struct scope *scope, struct from *left, const struct ast_table *ast,
                                  bool outer_join, struct from *from, struct error *err)
{
    struct column columns[256];
    const struct expression **args;
    uint32_t added, left_count = left->relation->schema.count;
    if (ast->kind != AST_TABLE_UNNEST) {
        return bind_refuse(&ast->at, ERROR_UNKNOWN_FUNCTION, err, "there is no table function '%s'",
                           ast->call->function != NULL ? ast->call->function : "?");
    }
    if (ast->call->arg_count != 1) {
        return bind_refuse(&ast->at, ERROR_NOT_SUPPORTED, err, "UNNEST of %u collections at once is not supported", ast->call->arg_count);
    }
    TRY(bind_scalars(binder, scope, ast->call->args, 1, &args, err));
    if (args[0]->type->child_count > 0 && args[0]->type->children[0]->child_count > ARRAY_LENGTH(columns) - 2) {
        return bind_refuse(&ast->at, ERROR_TOO_MANY, err, "UNNEST of rows with more than %zu fields", ARRAY_LENGTH(columns) - 2);
    }
    TRY(element_columns(binder, ast, args[0]->type, outer_join, columns, &added, err));
    struct relation *relation;
    TRY_ALLOC(relation, relation_make(binder->arena, RELATION_LATERAL, &left->relation, 1, left_count + added), err);
    memcpy(relation_columns(relation), left->relation->schema.columns, left_count * sizeof columns[0]);
    memcpy(relation_columns(relation) + left_count, columns, added * sizeof columns[0]);
    relation->lateral.function = "UNNEST";
    relation->lateral.args = args;
    relation->lateral.arg_count = 1;
    relation->lateral.outer = outer_join;
    relation->lateral.with_ordinality = ast->with_ordinality;
    struct from right = {.count = added};
    TRY_ALLOC(right.columns, arena_alloc(binder->arena, (added + 1) * sizeof *right.columns), err);
    for (uint32_t i = 0; i < added; i++) {
        right.columns[i] = (struct scope_column){.name = columns[i].name};
        TRY_ALLOC(right.columns[i].value, expression_column(binder->arena, left_count + i, columns[i].type), err);
    }
    TRY(from_name_columns(binder, ast, &right, err));
    *from = (struct from){.relation = relation, .count = left->count + added};
    TRY_ALLOC(from->columns, arena_alloc(binder->arena, (from->count + 1) * sizeof *from->columns), err);
    memcpy(from->columns, left->columns, left->count * sizeof *from->columns);
    memcpy(from->columns + left->count, right.columns, added * sizeof *from->columns);
    return STATUS_OK;
}

static bool is_lateral_function(const struct ast_table *ast)
{
    return ast->kind == AST_TABLE_UNNEST;
}

/* UNNEST to the right of a join: ON may only be TRUE. */
static enum status bind_unnest_join(struct binder *binder, struct scope *outer, const struct ast_table *ast, struct from *left,
                                    struct from *from, struct error *err)
{
    struct scope scope = {.outer = outer, .columns = left->columns, .count = left->count, .clause = "UNNEST"};
    bool outer_join = ast->join == AST_JOIN_LEFT;
    if (ast->join != AST_JOIN_CROSS && ast->join != AST_JOIN_INNER && !outer_join) {
        return bind_refuse(&ast->right->at, ERROR_INVALID_QUERY, err, "UNNEST can only be joined by CROSS, INNER or LEFT JOIN");
    }
    TRY(bind_lateral_function(binder, &scope, left, ast->right, outer_join, from, err));
    if (ast->on == NULL || (ast->on->kind == AST_BOOLEAN && ast->on->boolean)) {
        return STATUS_OK;
    }
    if (outer_join) {
        return bind_refuse(&ast->on->at, ERROR_NOT_SUPPORTED, err, "LEFT JOIN UNNEST takes ON TRUE only");
    }
    struct scope both = {.outer = outer, .columns = from->columns, .count = from->count, .clause = "ON"};
    const struct expression *condition;
    TRY(bind_condition(binder, &both, ast->on, &condition, err));
    TRY_ALLOC(from->relation, relation_make_over(binder->arena, RELATION_FILTER, from->relation), err);
    from->relation->filter.condition = condition;
    return STATUS_OK;
}

/* ---- the join ---- */

static enum status bind_right(struct binder *binder, struct scope *outer, const struct ast_table *ast, const struct from *left,
                              struct from *right, struct error *err)
{
    if (ast->right->kind == AST_TABLE_NAME && ast->right->system_time != NULL) {
        return bind_temporal_right(binder, ast->right, right, err);
    }
    if (!ast->right->lateral) {
        return bind_from(binder, outer, ast->right, right, err);
    }
    if (ast->join != AST_JOIN_CROSS && ast->join != AST_JOIN_INNER && ast->join != AST_JOIN_LEFT) {
        return bind_refuse(&ast->right->at, ERROR_INVALID_QUERY, err, "LATERAL can only be joined by CROSS, INNER or LEFT JOIN");
    }
    struct scope *scope;
    TRY_ALLOC(scope, arena_alloc(binder->arena, sizeof *scope), err);
    *scope = (struct scope){.outer = outer, .columns = left->columns, .count = left->count, .clause = "LATERAL"};
    return bind_from(binder, scope, ast->right, right, err);
}

static enum status bind_on(struct binder *binder, struct scope *outer, const struct ast_table *ast, const struct from *left,
                           const struct from *right, const struct using_list *list, const struct expression **condition, struct error *err)
{
    struct scope_column *columns;
    *condition = NULL;
    TRY(join_columns(binder, left, right, NULL, &columns, err));
    if (list->count > 0) {
        TRY(using_condition(binder, ast, left, right, list, columns, condition, err));
    }
    if (ast->on != NULL) {
        struct scope scope = {.outer = outer, .columns = columns, .count = left->count + right->count, .clause = "ON"};
        TRY(bind_condition(binder, &scope, ast->on, condition, err));
    }
    return STATUS_OK;
}

enum status bind_join(struct binder *binder, struct scope *outer, const struct ast_table *ast, struct from *from, struct error *err)
{
    struct from left, right;
    struct using_list list = {0};
    const struct expression *condition;
    struct scope_column *columns;
    if (++binder->depth > BINDER_DEPTH_MAX) {
        return bind_refuse(&ast->at, ERROR_TOO_DEEP, err, "the query nests more than %d levels", BINDER_DEPTH_MAX);
    }
    TRY(bind_from(binder, outer, ast->left, &left, err));
    if (is_lateral_function(ast->right)) {
        binder->depth--;
        return bind_unnest_join(binder, outer, ast, &left, from, err);
    }
    TRY(bind_right(binder, outer, ast, &left, &right, err));
    TRY(using_names(binder, ast, &left, &right, &list, err));
    TRY(bind_on(binder, outer, ast, &left, &right, &list, &condition, err));
    TRY(bind_place(make_join(binder, join_kinds[ast->join], left.relation, right.relation, &from->relation, err), &ast->at, err));
    from->relation->join.condition = condition;
    from->relation->join.lateral = ast->right->lateral;
    from->relation->join.ttl[0] = bind_table_ttl(binder, ast->left);
    from->relation->join.ttl[1] = bind_table_ttl(binder, ast->right);
    from->relation->line = ast->at.line;
    from->relation->column = ast->at.column;
    if (ast->right->kind == AST_TABLE_NAME && ast->right->system_time != NULL) {
        from->relation->join.temporal = true;
        TRY(temporal_column(binder, outer, ast->right, &left, &from->relation->join.time_column, err));
    }
    if (ast->join == AST_JOIN_SEMI || ast->join == AST_JOIN_ANTI) {
        from->columns = left.columns;
        from->count = left.count;
    } else {
        TRY(join_columns(binder, &left, &right, from->relation, &columns, err));
        TRY(merge_columns(binder, ast, &left, &right, &list, columns, from, err));
    }
    binder->depth--;
    return STATUS_OK;
}
