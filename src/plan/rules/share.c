/* Equal subtrees become one relation, so that they are computed once: a table that is read twice, a subquery written twice. */
#include <string.h>

#include "functions/function.h"
#include "plan/rules.h"

static bool expressions_equal(const struct expression *const *left, const struct expression *const *right, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!expression_equal(left[i], right[i])) {
            return false;
        }
    }
    return true;
}

static bool optional_equal(const struct expression *left, const struct expression *right)
{
    return left == NULL || right == NULL ? left == right : expression_equal(left, right);
}

static bool columns_equal(const uint32_t *left, const uint32_t *right, uint32_t count)
{
    return count == 0 || memcmp(left, right, count * sizeof *left) == 0;
}

static bool keys_equal(const struct sort_key *left, const struct sort_key *right, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (left[i].column != right[i].column || left[i].descending != right[i].descending || left[i].nulls_first != right[i].nulls_first) {
            return false;
        }
    }
    return true;
}

static bool windows_equal(const struct window_spec *left, const struct window_spec *right)
{
    return left->kind == right->kind && left->time_column == right->time_column && left->processing_time == right->processing_time &&
           left->size_us == right->size_us && left->slide_us == right->slide_us && left->offset_us == right->offset_us &&
           left->partition_count == right->partition_count && columns_equal(left->partition, right->partition, left->partition_count);
}

static bool schemas_equal(const struct schema *left, const struct schema *right)
{
    for (uint32_t i = 0; i < left->count && left->count == right->count; i++) {
        const struct column *l = &left->columns[i], *r = &right->columns[i];
        if (!type_equal(l->type, r->type) || l->time != r->time || strcmp(l->name, r->name) != 0) {
            return false;
        }
    }
    return left->count == right->count;
}

static bool ttls_equal(const struct state_ttl *left, const struct state_ttl *right)
{
    return left->given == right->given && left->us == right->us;
}

static bool aggregates_equal(const struct aggregate_relation *left, const struct aggregate_relation *right)
{
    bool same = left->key_count == right->key_count && left->call_count == right->call_count && left->set_count == right->set_count &&
                (left->sets == NULL) == (right->sets == NULL) && left->window == NULL && right->window == NULL &&
                columns_equal(left->keys, right->keys, left->key_count) && ttls_equal(&left->ttl, &right->ttl);
    for (uint32_t i = 0; same && left->sets != NULL && i < left->set_count; i++) {
        same = left->sets[i] == right->sets[i];
    }
    for (uint32_t i = 0; same && i < left->call_count; i++) {
        const struct aggregate_call *l = &left->calls[i], *r = &right->calls[i];
        same = l->function == r->function && l->arg_count == r->arg_count && l->distinct == r->distinct &&
               l->ignore_nulls == r->ignore_nulls && l->order_count == 0 && r->order_count == 0 &&
               expressions_equal(l->args, r->args, l->arg_count) && optional_equal(l->filter, r->filter);
    }
    return same;
}

static bool overs_equal(const struct over_relation *left, const struct over_relation *right)
{
    bool same = left->partition_count == right->partition_count && left->order_count == right->order_count && left->unit == right->unit &&
                left->preceding == right->preceding && left->following == right->following && left->default_frame == right->default_frame &&
                left->approximate == right->approximate && left->call_count == right->call_count &&
                columns_equal(left->partition, right->partition, left->partition_count) &&
                keys_equal(left->order, right->order, left->order_count);
    for (uint32_t i = 0; same && i < left->call_count; i++) {
        const struct over_call *l = &left->calls[i], *r = &right->calls[i];
        same = l->aggregate == r->aggregate && (l->aggregate != NULL || strcmp(l->name, r->name) == 0) && l->arg_count == r->arg_count &&
               l->distinct == r->distinct && l->ignore_nulls == r->ignore_nulls && expressions_equal(l->args, r->args, l->arg_count) &&
               optional_equal(l->filter, r->filter);
    }
    return same;
}

static bool scans_equal(const struct scan_relation *left, const struct scan_relation *right)
{
    return left->table == right->table && left->projections == right->projections && left->column_count == right->column_count &&
           columns_equal(left->columns, right->columns, left->column_count);
}

static bool joins_equal(const struct join_relation *left, const struct join_relation *right)
{
    return left->kind == right->kind && left->null_aware == right->null_aware && left->temporal == right->temporal &&
           left->time_column == right->time_column && left->lateral == right->lateral && left->single == right->single &&
           ttls_equal(&left->ttl[0], &right->ttl[0]) && ttls_equal(&left->ttl[1], &right->ttl[1]) &&
           optional_equal(left->condition, right->condition);
}

static bool values_equal(const struct relation *left, const struct relation *right)
{
    bool same = left->values.row_count == right->values.row_count;
    for (uint32_t r = 0; same && r < left->values.row_count; r++) {
        same = expressions_equal(left->values.rows[r], right->values.rows[r], left->schema.count);
    }
    return same;
}

static bool own_equal(const struct relation *left, const struct relation *right)
{
    switch (left->kind) {
    case RELATION_SCAN:
        return scans_equal(&left->scan, &right->scan);
    case RELATION_VALUES:
        return values_equal(left, right);
    case RELATION_FILTER:
        return expression_equal(left->filter.condition, right->filter.condition);
    case RELATION_PROJECT:
        return expressions_equal(left->project.expressions, right->project.expressions, left->schema.count);
    case RELATION_WATERMARK:
        return left->watermark.column == right->watermark.column &&
               expression_equal(left->watermark.expression, right->watermark.expression);
    case RELATION_AGGREGATE:
        return aggregates_equal(&left->aggregate, &right->aggregate);
    case RELATION_WINDOW:
        return windows_equal(&left->window, &right->window);
    case RELATION_JOIN:
        return joins_equal(&left->join, &right->join);
    case RELATION_LATERAL:
        return strcmp(left->lateral.function, right->lateral.function) == 0 && left->lateral.outer == right->lateral.outer &&
               left->lateral.with_ordinality == right->lateral.with_ordinality && left->lateral.arg_count == right->lateral.arg_count &&
               expressions_equal(left->lateral.args, right->lateral.args, left->lateral.arg_count);
    case RELATION_OVER:
        return overs_equal(&left->over, &right->over);
    case RELATION_SORT:
        return left->sort.key_count == right->sort.key_count && left->sort.offset == right->sort.offset &&
               left->sort.fetch == right->sort.fetch && keys_equal(left->sort.keys, right->sort.keys, left->sort.key_count);
    case RELATION_UNION:
    case RELATION_INTERSECT:
    case RELATION_EXCEPT:
        return left->set.all == right->set.all;
    }
    return false;
}

struct seen {
    struct relation **relations;
    uint32_t count, capacity;
};

static enum status share_relation(struct rewrite *rewrite, struct relation *relation, void *context, struct relation **changed,
                                  struct error *err)
{
    struct seen *seen = context;
    for (uint32_t i = 0; i < seen->count; i++) {
        struct relation *other = seen->relations[i];
        if (other->kind == relation->kind && other->input_count == relation->input_count &&
            (other->input_count == 0 || memcmp(other->inputs, relation->inputs, other->input_count * sizeof *other->inputs) == 0) &&
            schemas_equal(&other->schema, &relation->schema) && own_equal(other, relation)) {
            *changed = other;
            return STATUS_OK;
        }
    }
    if (seen->count == seen->capacity) {
        TRY_ALLOC(seen->relations, arena_grow(rewrite->arena, seen->relations, &seen->capacity, seen->count + 1, sizeof *seen->relations),
                  err);
    }
    seen->relations[seen->count++] = relation;
    *changed = relation;
    return STATUS_OK;
}

enum status rule_share(struct rewrite *rewrite, struct error *err)
{
    struct seen seen = {0};
    return rewrite_bottom_up(rewrite, share_relation, &seen, err);
}
