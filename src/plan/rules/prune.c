/* Columns, fields, aggregate calls that nobody reads are dropped, down into the sources.
 *
 * First what each relation is asked for, parents before children (united where it is read more than once); then relations are made again
 * bottom-up with what is left, each with a map from old to new columns. Before anything that keeps rows, columns that only a filter below
 * needed are dropped too.
 */
#include <string.h>

#include "plan/rules/needs.h"

struct pruned {
    struct relation *relation;
    uint32_t *map; /* old column -> new, or COLUMN_NONE */
};
struct pruning {
    struct rewrite *rewrite;
    struct arena *arena;
    struct pointer_map needs;  /* relation -> struct needs */
    struct pointer_map pruned; /* relation -> struct pruned */
    struct relation **order;   /* children before parents */
    uint32_t count, capacity;
};

static enum status list_relations(struct pruning *self, struct relation *relation, struct error *err)
{
    if (pointer_map_get(&self->needs, relation) != NULL) {
        return STATUS_OK;
    }
    struct needs *needs;
    TRY(rewrite_step(self->rewrite, err));
    TRY_ALLOC(needs, arena_alloc(self->arena, sizeof *needs), err);
    TRY(needs_create(self->arena, relation->schema.count, needs, err));
    TRY(pointer_map_put(&self->needs, relation, needs, err));
    for (uint32_t i = 0; i < relation->input_count; i++) {
        TRY(list_relations(self, relation->inputs[i], err));
    }
    if (self->count == self->capacity) {
        TRY_ALLOC(self->order, arena_grow(self->arena, self->order, &self->capacity, self->count + 1, sizeof *self->order), err);
    }
    self->order[self->count++] = relation;
    return STATUS_OK;
}

static enum status ask_inputs(struct pruning *self, const struct relation *relation, struct error *err)
{
    struct needs *own = pointer_map_get(&self->needs, relation);
    if (relation->kind == RELATION_UNION && relation->schema.count > 0) { /* its rows need some column to be rows */
        bool any = false;
        for (uint32_t c = 0; c < own->count; c++) {
            any = any || own->columns[c].used;
        }
        if (!any) {
            need_whole(&own->columns[0]);
        }
    }
    for (uint32_t i = 0; i < relation->input_count; i++) {
        struct needs asked, *all = pointer_map_get(&self->needs, relation->inputs[i]);
        TRY(needs_of_input(self->arena, relation, own, i, &asked, err));
        for (uint32_t c = 0; c < asked.count; c++) {
            TRY(need_merge(self->arena, &all->columns[c], &asked.columns[c], err));
        }
    }
    return STATUS_OK;
}

static enum status map_create(struct pruning *self, uint32_t count, uint32_t **map, struct error *err)
{
    TRY_ALLOC(*map, arena_alloc(self->arena, (count + 1) * sizeof **map), err);
    memset(*map, 0xff, count * sizeof **map);
    return STATUS_OK;
}

static const struct pruned *pruned_of(const struct pruning *self, const struct relation *relation)
{
    return pointer_map_get(&self->pruned, relation);
}

/* The input without columns that this parent does not read. */
static enum status narrow(struct pruning *self, const struct relation *parent, uint32_t input, struct pruned *result, struct error *err)
{
    const struct needs *own = pointer_map_get(&self->needs, parent);
    const struct relation *old = parent->inputs[input];
    struct needs asked;
    *result = *pruned_of(self, old);
    TRY(needs_of_input(self->arena, parent, own, input, &asked, err));
    uint32_t *columns, *map, count = 0;
    TRY_ALLOC(columns, arena_alloc(self->arena, (old->schema.count + 1) * sizeof *columns), err);
    TRY(map_create(self, old->schema.count, &map, err));
    for (uint32_t i = 0; i < old->schema.count; i++) {
        if (asked.columns[i].used) {
            map[i] = count;
            columns[count++] = result->map[i];
        }
    }
    bool same = count == result->relation->schema.count;
    for (uint32_t i = 0; i < count; i++) {
        same = same && columns[i] == i;
    }
    if (same || count == 0) {
        return STATUS_OK;
    }
    TRY_ALLOC(result->relation, relation_select(self->arena, result->relation, columns, count), err);
    result->map = map;
    return STATUS_OK;
}

static enum status renumbered(struct pruning *self, const struct expression *expression, const uint32_t *map,
                              const struct expression **result, struct error *err)
{
    *result = expression;
    if (expression != NULL) {
        TRY_ALLOC(*result, expression_renumber(self->arena, expression, map), err);
    }
    return STATUS_OK;
}

struct renumbering {
    struct pruning *self;
    const uint32_t *map;
};

static enum status renumber_one(const struct expression *expression, void *context, const struct expression **changed, struct error *err)
{
    struct renumbering *renumbering = context;
    return renumbered(renumbering->self, expression, renumbering->map, changed, err);
}

static enum status columns_renumbered(struct pruning *self, const uint32_t *columns, uint32_t count, const uint32_t *map,
                                      const uint32_t **result, struct error *err)
{
    uint32_t *list;
    TRY_ALLOC(list, arena_alloc(self->arena, (count + 1) * sizeof *list), err);
    for (uint32_t i = 0; i < count; i++) {
        list[i] = map[columns[i]];
    }
    *result = list;
    return STATUS_OK;
}

static enum status order_renumbered(struct pruning *self, const struct sort_key *keys, uint32_t count, const uint32_t *map,
                                    const struct sort_key **result, struct error *err)
{
    struct sort_key *list;
    TRY_ALLOC(list, arena_alloc(self->arena, (count + 1) * sizeof *list), err);
    for (uint32_t i = 0; i < count; i++) {
        list[i] = keys[i];
        list[i].column = map[keys[i].column];
    }
    *result = list;
    return STATUS_OK;
}

static enum status projection_make(struct pruning *self, const struct need *need, struct projection *projection, struct error *err)
{
    struct projection *children = NULL;
    projection->used = need->used;
    projection->whole = need->whole || need->children == NULL;
    if (!projection->whole) {
        TRY_ALLOC(children, arena_alloc(self->arena, (need->child_count + 1) * sizeof *children), err);
        for (uint32_t i = 0; i < need->child_count; i++) {
            TRY(projection_make(self, &need->children[i], &children[i], err));
        }
        projection->child_count = need->child_count;
        projection->children = children;
    }
    return STATUS_OK;
}

static enum status prune_scan(struct pruning *self, const struct relation *relation, const struct needs *own, struct pruned *result,
                              struct error *err)
{
    uint32_t *columns, count = 0;
    struct projection *projections;
    bool partial = false;
    struct relation *scan;
    TRY_ALLOC(columns, arena_alloc(self->arena, (relation->schema.count + 1) * sizeof *columns), err);
    TRY_ALLOC(projections, arena_alloc(self->arena, (relation->schema.count + 1) * sizeof *projections), err);
    TRY_ALLOC(scan, relation_copy(self->arena, relation), err);
    struct column *schema;
    TRY_ALLOC(schema, arena_alloc(self->arena, (relation->schema.count + 1) * sizeof *schema), err);
    bool none = true;
    for (uint32_t i = 0; i < relation->schema.count; i++) {
        none = none && !own->columns[i].used;
    }
    for (uint32_t i = 0; i < relation->schema.count; i++) {
        struct need need = own->columns[i];
        if (none && i == 0) {
            need_whole(&need);
        }
        if (need.used) {
            TRY(projection_make(self, &need, &projections[count], err));
            partial = partial || !projections[count].whole;
            columns[count] = relation->scan.columns[i];
            schema[count] = relation->schema.columns[i];
            result->map[i] = count++;
        }
    }
    scan->scan.columns = columns;
    scan->scan.column_count = count;
    scan->scan.projections = partial ? projections : NULL;
    scan->schema = (struct schema){count, schema};
    result->relation = scan;
    return STATUS_OK;
}

static enum status prune_values(struct pruning *self, const struct relation *relation, const struct needs *own, struct pruned *result,
                                struct error *err)
{
    (void)own;
    (void)self;
    (void)err;
    for (uint32_t i = 0; i < relation->schema.count; i++) {
        result->map[i] = i;
    }
    result->relation = (struct relation *)relation;
    return STATUS_OK;
}

static enum status prune_project(struct pruning *self, const struct relation *relation, const struct needs *own, struct pruned *result,
                                 struct error *err)
{
    const struct pruned *input = pruned_of(self, relation->inputs[0]);
    const struct expression **expressions;
    struct column *columns;
    uint32_t count = 0;
    TRY_ALLOC(expressions, arena_alloc(self->arena, (relation->schema.count + 1) * sizeof *expressions), err);
    TRY_ALLOC(columns, arena_alloc(self->arena, (relation->schema.count + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < relation->schema.count; i++) {
        if (own->columns[i].used) {
            columns[count] = relation->schema.columns[i];
            TRY(renumbered(self, relation->project.expressions[i], input->map, &expressions[count], err));
            result->map[i] = count++;
        }
    }
    if (count == 0) { /* rows need a column to be rows */
        TRY_ALLOC(expressions[0], expression_boolean(self->arena, true), err);
        columns[count++] = (struct column){"row", &type_boolean_not_null, TIME_NONE};
    }
    TRY_ALLOC(result->relation, relation_project(self->arena, input->relation, count, expressions, columns), err);
    result->relation->line = relation->line;
    result->relation->column = relation->column;
    return STATUS_OK;
}

/* FILTER, WATERMARK, SORT: the input's columns. */
static enum status prune_passing(struct pruning *self, const struct relation *relation, struct pruned *result, struct error *err)
{
    struct pruned input = *pruned_of(self, relation->inputs[0]);
    if (relation->kind == RELATION_SORT) {
        TRY(narrow(self, relation, 0, &input, err));
    }
    struct renumbering renumbering = {self, input.map};
    struct relation *copy;
    TRY(relation_change_expressions(self->arena, (struct relation *)relation, renumber_one, &renumbering, &copy, err));
    copy->inputs[0] = input.relation;
    copy->schema = input.relation->schema;
    if (relation->kind == RELATION_WATERMARK) {
        struct column *columns;
        uint32_t at = input.map[relation->watermark.column];
        copy->watermark.column = at;
        TRY_ALLOC(columns, arena_copy(self->arena, copy->schema.columns, copy->schema.count * sizeof *columns), err);
        columns[at] = relation->schema.columns[relation->watermark.column];
        copy->schema.columns = columns;
    }
    if (relation->kind == RELATION_SORT) {
        TRY(order_renumbered(self, relation->sort.keys, relation->sort.key_count, input.map, &copy->sort.keys, err));
    }
    *result = (struct pruned){copy, input.map};
    return STATUS_OK;
}

static enum status prune_aggregate(struct pruning *self, const struct relation *relation, const struct needs *own, struct pruned *result,
                                   struct error *err)
{
    const struct aggregate_relation *aggregate = &relation->aggregate;
    struct pruned input;
    struct relation *copy;
    TRY(narrow(self, relation, 0, &input, err));
    struct renumbering renumbering = {self, input.map};
    uint32_t keys = aggregate->key_count, count = 0, kept = 0;
    struct aggregate_call *calls;
    struct column *columns;
    TRY_ALLOC(copy, relation_copy(self->arena, relation), err);
    TRY_ALLOC(calls, arena_alloc(self->arena, (aggregate->call_count + 1) * sizeof *calls), err);
    TRY_ALLOC(columns, arena_alloc(self->arena, (relation->schema.count + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < relation->schema.count; i++) {
        uint32_t call = i - keys;
        bool is_call = i >= keys && call < aggregate->call_count;
        if (is_call && !own->columns[i].used && !(keys == 0 && i == 0)) {
            continue;
        }
        if (is_call) {
            calls[kept++] = aggregate->calls[call];
        }
        columns[count] = relation->schema.columns[i];
        result->map[i] = count++;
    }
    copy->aggregate.calls = calls;
    copy->aggregate.call_count = kept;
    TRY(relation_change_expressions(self->arena, copy, renumber_one, &renumbering, &copy, err));
    for (uint32_t i = 0; i < kept; i++) {
        struct aggregate_call *call = (struct aggregate_call *)&copy->aggregate.calls[i];
        TRY(order_renumbered(self, call->order, call->order_count, input.map, &call->order, err));
    }
    TRY(columns_renumbered(self, aggregate->keys, keys, input.map, &copy->aggregate.keys, err));
    if (aggregate->window != NULL) {
        struct window_spec *window;
        TRY_ALLOC(window, arena_copy(self->arena, aggregate->window, sizeof *window), err);
        window->time_column = input.map[window->time_column];
        TRY(columns_renumbered(self, window->partition, window->partition_count, input.map, &window->partition, err));
        copy->aggregate.window = window;
    }
    copy->schema = (struct schema){count, columns};
    copy->inputs[0] = input.relation;
    result->relation = copy;
    return STATUS_OK;
}

/* The new input's columns, then `extra` columns of the old relation from `first` on, all of which stay. */
static enum status append_schema(struct pruning *self, const struct relation *relation, const struct pruned *input, uint32_t first,
                                 const bool *keep, struct relation *copy, struct pruned *result, struct error *err)
{
    uint32_t before = input->relation->schema.count, count = before;
    struct column *columns;
    TRY_ALLOC(columns, arena_alloc(self->arena, (before + relation->schema.count + 1) * sizeof *columns), err);
    memcpy(columns, input->relation->schema.columns, before * sizeof *columns);
    for (uint32_t i = 0; i < first; i++) {
        result->map[i] = input->map[i];
        if (input->map[i] != COLUMN_NONE) { /* what the parent says of time and nullability holds */
            columns[input->map[i]] = relation->schema.columns[i];
        }
    }
    for (uint32_t i = first; i < relation->schema.count; i++) {
        if (keep == NULL || keep[i - first]) {
            columns[count] = relation->schema.columns[i];
            result->map[i] = count++;
        }
    }
    copy->schema = (struct schema){count, columns};
    copy->inputs[0] = input->relation;
    result->relation = copy;
    return STATUS_OK;
}

static enum status prune_window(struct pruning *self, const struct relation *relation, struct pruned *result, struct error *err)
{
    struct pruned input;
    struct relation *copy;
    TRY(narrow(self, relation, 0, &input, err));
    TRY_ALLOC(copy, relation_copy(self->arena, relation), err);
    copy->window.time_column = input.map[relation->window.time_column];
    TRY(columns_renumbered(self, relation->window.partition, relation->window.partition_count, input.map, &copy->window.partition, err));
    return append_schema(self, relation, &input, relation->inputs[0]->schema.count, NULL, copy, result, err);
}

static enum status prune_lateral(struct pruning *self, const struct relation *relation, struct pruned *result, struct error *err)
{
    struct pruned input = *pruned_of(self, relation->inputs[0]);
    struct renumbering renumbering = {self, input.map};
    struct relation *copy;
    TRY(relation_change_expressions(self->arena, (struct relation *)relation, renumber_one, &renumbering, &copy, err));
    return append_schema(self, relation, &input, relation->inputs[0]->schema.count, NULL, copy, result, err);
}

static enum status prune_over(struct pruning *self, const struct relation *relation, const struct needs *own, struct pruned *result,
                              struct error *err)
{
    const struct over_relation *over = &relation->over;
    uint32_t first = relation->schema.count - over->call_count, kept = 0;
    struct pruned input;
    struct relation *copy;
    struct over_call *calls;
    bool *keep;
    TRY(narrow(self, relation, 0, &input, err));
    TRY_ALLOC(calls, arena_alloc(self->arena, (over->call_count + 1) * sizeof *calls), err);
    TRY_ALLOC(keep, arena_alloc(self->arena, (over->call_count + 1) * sizeof *keep), err);
    for (uint32_t i = 0; i < over->call_count; i++) {
        keep[i] = own->columns[first + i].used;
        if (keep[i]) {
            calls[kept++] = over->calls[i];
        }
    }
    if (kept == 0) {
        memcpy(result->map, input.map, first * sizeof *result->map);
        result->relation = input.relation;
        return STATUS_OK;
    }
    TRY_ALLOC(copy, relation_copy(self->arena, relation), err);
    copy->over.calls = calls;
    copy->over.call_count = kept;
    struct renumbering renumbering = {self, input.map};
    TRY(relation_change_expressions(self->arena, copy, renumber_one, &renumbering, &copy, err));
    TRY(columns_renumbered(self, over->partition, over->partition_count, input.map, &copy->over.partition, err));
    TRY(order_renumbered(self, over->order, over->order_count, input.map, &copy->over.order, err));
    return append_schema(self, relation, &input, first, keep, copy, result, err);
}

static enum status prune_join(struct pruning *self, const struct relation *relation, struct pruned *result, struct error *err)
{
    struct pruned sides[2];
    uint32_t left = relation->inputs[0]->schema.count, right = relation->inputs[1]->schema.count, *map;
    struct relation *copy;
    for (uint32_t i = 0; i < 2; i++) {
        TRY(narrow(self, relation, i, &sides[i], err));
    }
    uint32_t new_left = sides[0].relation->schema.count, new_right = sides[1].relation->schema.count;
    TRY(map_create(self, left + right, &map, err));
    for (uint32_t i = 0; i < left + right; i++) {
        uint32_t to = i < left ? sides[0].map[i] : sides[1].map[i - left];
        map[i] = to == COLUMN_NONE || i < left ? to : to + new_left;
    }
    TRY_ALLOC(copy, relation_copy(self->arena, relation), err);
    TRY(renumbered(self, relation->join.condition, map, &copy->join.condition, err));
    copy->inputs[0] = sides[0].relation;
    copy->inputs[1] = sides[1].relation;
    if (relation->join.temporal) {
        copy->join.time_column = map[relation->join.time_column];
    }
    uint32_t count = new_left + (join_keeps_right(relation->join.kind) ? new_right : 0);
    struct column *columns;
    TRY_ALLOC(columns, arena_alloc(self->arena, (count + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = i < new_left ? sides[0].relation->schema.columns[i] : sides[1].relation->schema.columns[i - new_left];
    }
    for (uint32_t i = 0; i < relation->schema.count; i++) {
        result->map[i] = map[i];
        if (map[i] != COLUMN_NONE) {
            columns[map[i]] = relation->schema.columns[i];
        }
    }
    copy->schema = (struct schema){count, columns};
    result->relation = copy;
    return STATUS_OK;
}

static enum status prune_set(struct pruning *self, const struct relation *relation, const struct needs *own, struct pruned *result,
                             struct error *err)
{
    struct relation *copy;
    struct column *columns;
    uint32_t count = 0;
    TRY_ALLOC(copy, relation_copy(self->arena, relation), err);
    TRY_ALLOC(columns, arena_alloc(self->arena, (relation->schema.count + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < relation->input_count; i++) {
        struct pruned input;
        TRY(narrow(self, relation, i, &input, err));
        copy->inputs[i] = input.relation;
    }
    for (uint32_t i = 0; i < relation->schema.count; i++) {
        if (own->columns[i].used || relation->kind != RELATION_UNION) {
            columns[count] = relation->schema.columns[i];
            result->map[i] = count++;
        }
    }
    copy->schema = (struct schema){count, columns};
    result->relation = copy;
    return STATUS_OK;
}

static enum status prune_one(struct pruning *self, const struct relation *relation, struct error *err)
{
    const struct needs *own = pointer_map_get(&self->needs, relation);
    struct pruned *result;
    TRY_ALLOC(result, arena_alloc(self->arena, sizeof *result), err);
    TRY(map_create(self, relation->schema.count, &result->map, err));
    TRY(pointer_map_put(&self->pruned, relation, result, err));
    switch (relation->kind) {
    case RELATION_SCAN:
        return prune_scan(self, relation, own, result, err);
    case RELATION_VALUES:
        return prune_values(self, relation, own, result, err);
    case RELATION_FILTER:
    case RELATION_WATERMARK:
    case RELATION_SORT:
        return prune_passing(self, relation, result, err);
    case RELATION_PROJECT:
        return prune_project(self, relation, own, result, err);
    case RELATION_AGGREGATE:
        return prune_aggregate(self, relation, own, result, err);
    case RELATION_WINDOW:
        return prune_window(self, relation, result, err);
    case RELATION_JOIN:
        return prune_join(self, relation, result, err);
    case RELATION_LATERAL:
        return prune_lateral(self, relation, result, err);
    case RELATION_OVER:
        return prune_over(self, relation, own, result, err);
    case RELATION_UNION:
    case RELATION_INTERSECT:
    case RELATION_EXCEPT:
        return prune_set(self, relation, own, result, err);
    }
    return STATUS_OK;
}

enum status rule_prune(struct rewrite *rewrite, struct error *err)
{
    struct pruning self = {.rewrite = rewrite, .arena = rewrite->arena, .needs.arena = rewrite->arena, .pruned.arena = rewrite->arena};
    for (uint32_t i = 0; i < rewrite->root_count; i++) {
        TRY(list_relations(&self, rewrite->roots[i], err));
        struct needs *needs = pointer_map_get(&self.needs, rewrite->roots[i]);
        for (uint32_t c = 0; c < needs->count; c++) {
            need_whole(&needs->columns[c]);
        }
    }
    for (uint32_t i = self.count; i-- > 0;) {
        TRY(rewrite_step(rewrite, err));
        TRY(ask_inputs(&self, self.order[i], err));
    }
    for (uint32_t i = 0; i < self.count; i++) {
        TRY(rewrite_step(rewrite, err));
        TRY(prune_one(&self, self.order[i], err));
    }
    for (uint32_t i = 0; i < rewrite->root_count; i++) {
        rewrite->roots[i] = pruned_of(&self, rewrite->roots[i])->relation;
    }
    return STATUS_OK;
}
