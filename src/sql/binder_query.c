/* Whole queries: WITH, VALUES, set operations, ORDER BY and LIMIT over them; and the entry points of the binder. */
#include <string.h>

#include "sql/binder_internal.h"

enum status bind_binder(const struct bind_context *context, struct binder *binder)
{
    *binder = (struct binder){.context = context, .arena = context->arena};
    return STATUS_OK;
}

enum status bind_query(const struct bind_context *context, const struct ast_query *query, struct relation **relation, struct error *err)
{
    struct binder binder;
    TRY(bind_binder(context, &binder));
    TRY(bind_whole_query(&binder, NULL, query, relation, err));
    return STATUS_OK;
}

enum status bind_expression(const struct bind_context *context, const struct ast_expression *ast, const struct schema *input,
                            const struct expression **expression, struct error *err)
{
    struct binder binder;
    struct scope scope;
    struct relation relation = {.schema = *input};
    TRY(bind_binder(context, &binder));
    TRY(scope_from_relation(&binder, &relation, NULL, &scope, err));
    scope.clause = "the definition";
    return bind_scalar(&binder, &scope, ast, expression, err);
}

/* ---- one row, casts, names ---- */

enum status bind_one_row(struct binder *binder, struct relation **relation, struct error *err)
{
    const struct expression *const **rows;
    const struct expression **cells;
    TRY_ALLOC(*relation, relation_make(binder->arena, RELATION_VALUES, NULL, 0, 1), err);
    TRY_ALLOC(rows, arena_alloc(binder->arena, sizeof *rows), err);
    TRY_ALLOC(cells, arena_alloc(binder->arena, sizeof *cells), err);
    TRY_ALLOC(cells[0], expression_int32(binder->arena, 0), err);
    rows[0] = cells;
    relation_columns(*relation)[0] = (struct column){.name = "ZERO", .type = cells[0]->type};
    (*relation)->values.rows = rows;
    (*relation)->values.row_count = 1;
    return STATUS_OK;
}

enum status bind_cast_columns(struct binder *binder, const struct type *const *types, struct relation **relation, struct error *err)
{
    struct relation *input = *relation;
    uint32_t count = input->schema.count;
    bool same = true;
    const struct expression **values;
    const char **names;
    enum time_attribute *times;
    TRY_ALLOC(values, arena_alloc(binder->arena, (count + 1) * sizeof *values), err);
    TRY_ALLOC(names, arena_alloc(binder->arena, (count + 1) * sizeof *names), err);
    TRY_ALLOC(times, arena_alloc(binder->arena, (count + 1) * sizeof *times), err);
    for (uint32_t i = 0; i < count; i++) {
        const struct column *column = &input->schema.columns[i];
        bool kept = type_equal_ignoring_nullable(column->type, types[i]);
        same = same && kept;
        TRY_ALLOC(values[i], expression_column(binder->arena, i, column->type), err);
        TRY(bind_cast(binder, &values[i], types[i], err));
        names[i] = column->name;
        times[i] = kept ? column->time : TIME_NONE;
    }
    if (!same) {
        TRY_ALLOC(*relation, relation_make_project(binder->arena, input, values, names, times, count), err);
    }
    return STATUS_OK;
}

enum status bind_distinct(struct binder *binder, struct relation **relation, struct error *err)
{
    struct relation *input = *relation, *distinct;
    uint32_t *keys, count = input->schema.count;
    TRY_ALLOC(distinct, relation_make_over(binder->arena, RELATION_AGGREGATE, input), err);
    TRY_ALLOC(keys, arena_alloc(binder->arena, (count + 1) * sizeof *keys), err);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = i;
        if (relation_window_role(input, i, &(const struct relation *){NULL}) == WINDOW_ROLE_NONE) {
            relation_columns(distinct)[i].time = TIME_NONE;
        }
    }
    distinct->aggregate = (struct aggregate_relation){.keys = keys, .key_count = count};
    *relation = distinct;
    return STATUS_OK;
}

/* ---- ORDER BY, OFFSET, FETCH ---- */

static enum status bind_limit_value(struct binder *binder, const struct ast_expression *ast, const char *what, int64_t *value,
                                    struct error *err)
{
    struct scope scope = {.clause = what};
    if (ast == NULL) {
        return STATUS_OK;
    }
    TRY(bind_constant_int64(binder, &scope, ast, what, value, err));
    if (*value < 0) {
        return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "%s must not be negative", what);
    }
    return STATUS_OK;
}

enum status bind_limits(struct binder *binder, const struct ast_query *query, struct sort_relation *sort, struct error *err)
{
    sort->fetch = -1;
    TRY(bind_limit_value(binder, query->offset, "OFFSET", &sort->offset, err));
    return bind_limit_value(binder, query->fetch, "LIMIT", &sort->fetch, err);
}

static struct sort_key sort_key_of(const struct ast_order_item *item, uint32_t column)
{
    return (struct sort_key){
        .column = column, .descending = item->descending, .nulls_first = item->nulls_given ? item->nulls_first : !item->descending};
}

/* A column of the relation by its name or its number. */
static enum status order_column(struct binder *binder, const struct relation *relation, const struct ast_expression *ast, uint32_t *column,
                                struct error *err)
{
    int64_t number;
    struct scope scope = {.clause = "ORDER BY"};
    if (ast->kind == AST_NUMBER) {
        TRY(bind_constant_int64(binder, &scope, ast, "a number in ORDER BY", &number, err));
        if (number < 1 || number > relation->schema.count) {
            return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "ORDER BY %lld: the query has %u columns", (long long)number,
                               relation->schema.count);
        }
        *column = (uint32_t)number - 1;
        return STATUS_OK;
    }
    const struct expression *value;
    TRY(scope_from_relation(binder, relation, NULL, &scope, err));
    scope.clause = "ORDER BY";
    TRY(bind_scalar(binder, &scope, ast, &value, err));
    if (value->kind != EXPRESSION_COLUMN) {
        return bind_refuse(&ast->at, ERROR_NOT_SUPPORTED, err, "ORDER BY of a set operation takes its columns, not expressions");
    }
    *column = value->index;
    return STATUS_OK;
}

enum status bind_output_order(struct binder *binder, const struct ast_query *query, struct relation **relation, struct error *err)
{
    struct sort_relation sort = {0};
    struct sort_key *keys;
    if (query->order_count == 0 && query->offset == NULL && query->fetch == NULL) {
        return STATUS_OK;
    }
    TRY_ALLOC(keys, arena_alloc(binder->arena, (query->order_count + 1) * sizeof *keys), err);
    for (uint32_t i = 0; i < query->order_count; i++) {
        uint32_t column;
        TRY(order_column(binder, *relation, query->order[i].expression, &column, err));
        keys[i] = sort_key_of(&query->order[i], column);
    }
    TRY(bind_limits(binder, query, &sort, err));
    sort.keys = keys;
    sort.key_count = query->order_count;
    TRY_ALLOC(*relation, relation_make_over(binder->arena, RELATION_SORT, *relation), err);
    (*relation)->sort = sort;
    return STATUS_OK;
}

/* ---- VALUES ---- */

static enum status values_types(struct binder *binder, const struct ast_query *query, const struct expression ***rows, uint32_t columns,
                                const struct type **types, struct error *err)
{
    for (uint32_t c = 0; c < columns; c++) {
        types[c] = rows[0][c]->type;
        for (uint32_t r = 1; r < query->row_count; r++) {
            const struct type *common = type_common(binder->arena, types[c], rows[r][c]->type);
            if (common == NULL) {
                return bind_refuse(&query->rows[r]->at, ERROR_TYPE_MISMATCH, err, "column %u of VALUES has types %s and %s", c + 1,
                                   bind_type_text(binder, types[c]), bind_type_text(binder, rows[r][c]->type));
            }
            types[c] = common;
        }
    }
    return STATUS_OK;
}

enum status bind_values(struct binder *binder, struct scope *outer, const struct ast_query *query, struct relation **relation,
                        struct error *err)
{
    const struct expression ***rows;
    const struct type **types;
    uint32_t columns = query->rows[0]->kind == AST_ROW ? query->rows[0]->arg_count : 1;
    struct scope scope = {.outer = outer, .clause = "VALUES"};
    TRY_ALLOC(rows, arena_alloc(binder->arena, query->row_count * sizeof *rows), err);
    TRY_ALLOC(types, arena_alloc(binder->arena, (columns + 1) * sizeof *types), err);
    for (uint32_t r = 0; r < query->row_count; r++) {
        const struct ast_expression *row = query->rows[r];
        bool is_row = row->kind == AST_ROW;
        if ((is_row ? row->arg_count : 1) != columns) {
            return bind_refuse(&row->at, ERROR_INVALID_QUERY, err, "row %u of VALUES has %u columns, the first has %u", r + 1,
                               is_row ? row->arg_count : 1, columns);
        }
        TRY(bind_scalars(binder, &scope, is_row ? row->args : &query->rows[r], columns, &rows[r], err));
    }
    TRY(values_types(binder, query, rows, columns, types, err));
    TRY_ALLOC(*relation, relation_make(binder->arena, RELATION_VALUES, NULL, 0, columns), err);
    for (uint32_t c = 0; c < columns; c++) {
        bool nullable = false;
        for (uint32_t r = 0; r < query->row_count; r++) {
            TRY(bind_cast(binder, &rows[r][c], types[c], err));
            nullable = nullable || rows[r][c]->type->nullable;
        }
        TRY_ALLOC(types[c], type_with_nullable(binder->arena, types[c], nullable), err);
        relation_columns(*relation)[c].type = types[c];
        TRY_ALLOC(relation_columns(*relation)[c].name, arena_format(binder->arena, "EXPR$%u", c), err);
    }
    (*relation)->values.rows = (const struct expression *const *const *)rows;
    (*relation)->values.row_count = query->row_count;
    return STATUS_OK;
}

/* ---- set operations ---- */

static enum status set_types(struct binder *binder, const struct ast_query *query, const struct relation *left,
                             const struct relation *right, const struct type **types, struct error *err)
{
    if (left->schema.count != right->schema.count) {
        return bind_refuse(&query->at, ERROR_INVALID_QUERY, err, "the two sides have %u and %u columns", left->schema.count,
                           right->schema.count);
    }
    for (uint32_t i = 0; i < left->schema.count; i++) {
        const struct type *one = left->schema.columns[i].type, *two = right->schema.columns[i].type;
        types[i] = type_common(binder->arena, one, two);
        if (types[i] == NULL) {
            return bind_refuse(&query->at, ERROR_TYPE_MISMATCH, err, "column %u ('%s') has types %s and %s", i + 1,
                               left->schema.columns[i].name, bind_type_text(binder, one), bind_type_text(binder, two));
        }
    }
    return STATUS_OK;
}

enum status bind_set_operation(struct binder *binder, struct scope *outer, const struct ast_query *query, struct relation **relation,
                               struct error *err)
{
    static const enum relation_kind kinds[] = {
        [AST_UNION] = RELATION_UNION, [AST_INTERSECT] = RELATION_INTERSECT, [AST_EXCEPT] = RELATION_EXCEPT};
    struct relation *inputs[2];
    const struct type **types;
    TRY(bind_whole_query(binder, outer, query->left, &inputs[0], err));
    TRY(bind_whole_query(binder, outer, query->right, &inputs[1], err));
    TRY_ALLOC(types, arena_alloc(binder->arena, (inputs[0]->schema.count + 1) * sizeof *types), err);
    TRY(set_types(binder, query, inputs[0], inputs[1], types, err));
    TRY(bind_cast_columns(binder, types, &inputs[0], err));
    TRY(bind_cast_columns(binder, types, &inputs[1], err));
    uint32_t count = inputs[0]->schema.count;
    TRY_ALLOC(*relation, relation_make(binder->arena, kinds[query->operation], inputs, 2, count), err);
    (*relation)->set.all = query->operation == AST_UNION || query->all;
    for (uint32_t i = 0; i < count; i++) {
        const struct column *one = &inputs[0]->schema.columns[i], *two = &inputs[1]->schema.columns[i];
        bool nullable = one->type->nullable || two->type->nullable;
        bool keeps_time = query->operation == AST_UNION && query->all && one->time == two->time;
        struct column *column = &relation_columns(*relation)[i];
        *column = (struct column){.name = one->name, .time = keeps_time ? one->time : TIME_NONE};
        TRY_ALLOC(column->type, type_with_nullable(binder->arena, one->type, nullable), err);
    }
    return query->operation == AST_UNION && !query->all ? bind_distinct(binder, relation, err) : STATUS_OK;
}

/* ---- the whole ---- */

static enum status bind_ctes(struct binder *binder, struct scope *outer, const struct ast_query *query, struct error *err)
{
    for (uint32_t i = 0; i < query->cte_count; i++) {
        const struct ast_cte *ast = &query->ctes[i];
        struct bound_cte *cte;
        TRY_ALLOC(cte, arena_alloc(binder->arena, sizeof *cte), err);
        *cte = (struct bound_cte){.ast = ast, .next = binder->ctes};
        TRY(bind_whole_query(binder, outer, ast->query, &cte->relation, err));
        if (ast->column_count > 0) {
            if (ast->column_count != cte->relation->schema.count) {
                return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "WITH %s names %u columns, its query has %u", ast->name,
                                   ast->column_count, cte->relation->schema.count);
            }
            const struct relation *query_relation = cte->relation;
            const struct expression **values;
            enum time_attribute *times;
            TRY_ALLOC(values, arena_alloc(binder->arena, ast->column_count * sizeof *values), err);
            TRY_ALLOC(times, arena_alloc(binder->arena, ast->column_count * sizeof *times), err);
            for (uint32_t c = 0; c < ast->column_count; c++) {
                TRY_ALLOC(values[c], expression_column(binder->arena, c, query_relation->schema.columns[c].type), err);
                times[c] = query_relation->schema.columns[c].time;
            }
            TRY_ALLOC(cte->relation, relation_make_project(binder->arena, cte->relation, values, ast->columns, times, ast->column_count),
                      err);
        }
        binder->ctes = cte;
    }
    return STATUS_OK;
}

static enum status bind_body(struct binder *binder, struct scope *outer, const struct ast_query *query, struct relation **relation,
                             struct error *err)
{
    switch (query->kind) {
    case AST_SELECT:
        return bind_select(binder, outer, query, relation, err);
    case AST_VALUES:
        TRY(bind_values(binder, outer, query, relation, err));
        return bind_output_order(binder, query, relation, err);
    default:
        TRY(bind_set_operation(binder, outer, query, relation, err));
        return bind_output_order(binder, query, relation, err);
    }
}

enum status bind_whole_query(struct binder *binder, struct scope *outer, const struct ast_query *query, struct relation **relation,
                             struct error *err)
{
    const struct bound_cte *ctes = binder->ctes;
    TRY(cancel_check(binder->context->cancelled, err));
    if (++binder->depth > BINDER_DEPTH_MAX) {
        return bind_refuse(&query->at, ERROR_TOO_DEEP, err, "the query nests more than %d levels", BINDER_DEPTH_MAX);
    }
    TRY(bind_ctes(binder, outer, query, err));
    TRY(bind_body(binder, outer, query, relation, err));
    binder->ctes = ctes;
    binder->depth--;
    return STATUS_OK;
}
