/* Dead-letter tables: looked up where a table is read whose records may go there, written at the end of the plan. */
#include <string.h>

#include "connectors/dead_letter.h"
#include "plan/physical.h"
#include "plan/table_options.h"

/* "letters", "default_catalog.default_database.letters": a name with dots is that of a table that is called so, or a path to one. */
static enum status table_name(struct arena *arena, const char *text, struct ast_name *whole, struct ast_name *path, struct error *err)
{
    const char **parts;
    struct position *positions;
    uint32_t count = 1;
    for (const char *p = text; *p != '\0'; p++) {
        count += *p == '.';
    }
    TRY_ALLOC(parts, arena_alloc(arena, (count + 1) * sizeof *parts), err);
    TRY_ALLOC(positions, arena_alloc(arena, (count + 1) * sizeof *positions), err);
    TRY_ALLOC(whole->parts, arena_copy(arena, &text, sizeof text), err);
    whole->count = 1;
    whole->part_positions = positions;
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strcspn(text, ".");
        TRY_ALLOC(parts[i], arena_text(arena, text, length), err);
        text += length + 1;
    }
    *path = (struct ast_name){.count = count, .parts = parts, .part_positions = positions};
    return STATUS_OK;
}

static enum status refuse_unknown(struct planner *planner, const char *name, struct error *err)
{
    struct catalog_table **tables;
    const char *names[256];
    uint32_t count, listed = 0;
    TRY(catalog_list(planner->context->bind.catalog, planner->arena, &tables, &count, err));
    for (uint32_t i = 0; i < count && listed < ARRAY_LENGTH(names); i++) {
        if (!tables[i]->is_view) {
            names[listed++] = tables[i]->name;
        }
    }
    const char *nearest = text_nearest(name, names, listed);
    return error_set(err, ERROR_UNKNOWN_TABLE, "there is no table '%s' for dead letters%s%s%s", name,
                     nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

static enum status find_table(struct planner *planner, const struct catalog_table *reader, const char *name, struct catalog_table **table,
                              struct error *err)
{
    const struct catalog *catalog = planner->context->bind.catalog;
    struct ast_name whole = {0}, path;
    TRY(table_name(planner->arena, name, &whole, &path, err));
    *table = catalog_find(catalog, &whole);
    if (*table == NULL) {
        *table = catalog_find(catalog, &path);
    }
    if (*table == NULL) {
        return refuse_unknown(planner, name, err);
    }
    if ((*table)->is_view) {
        return error_set(err, ERROR_INVALID_DEFINITION, "'%s' is a view: dead letters need a table", name);
    }
    if (strcmp((*table)->name, reader->name) == 0 && (*table)->temporary == reader->temporary) {
        return error_set(err, ERROR_INVALID_DEFINITION, "the table is its own dead-letter table: bad records need another one");
    }
    return STATUS_OK;
}

static void release_table(void *table)
{
    catalog_table_unref(table);
}

/* The statement keeps the table, also if it is dropped meanwhile. */
static enum status hold_table(struct planner *planner, struct catalog_table *table, struct error *err)
{
    if (!arena_on_reset(planner->arena, release_table, catalog_table_ref(table))) {
        catalog_table_unref(table);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for table '%s'", table->name);
    }
    return STATUS_OK;
}

static enum status route_open(struct planner *planner, struct catalog_table *table, struct letter_route *route, struct error *err)
{
    const uint32_t *physical;
    const char *id;
    enum sink_accepts accepts;
    TRY(hold_table(planner, table, err));
    TRY_ALLOC(id, arena_format(planner->arena, "letters-%u", planner->plan->route_count), err);
    TRY(plan_sink_context(planner, table, false, id, &physical, &route->sink, err));
    TRY(dead_letter_check_table(route->sink->row, table->name, err));
    TRY(sink_accepts(route->sink, &accepts, err));
    route->table = table;
    return dead_letter_create(planner->context->budget, &route->queue, err);
}

static enum status route_find(struct planner *planner, const struct catalog_table *reader, const char *name, struct letter_route **route,
                              struct error *err)
{
    struct plan *plan = planner->plan;
    struct catalog_table *table;
    TRY(find_table(planner, reader, name, &table, err));
    for (uint32_t i = 0; i < plan->route_count; i++) {
        if (plan->routes[i].table == table) {
            *route = &plan->routes[i];
            return STATUS_OK;
        }
    }
    if (plan->route_count == plan->route_capacity) {
        TRY_ALLOC(plan->routes, arena_grow(plan->arena, plan->routes, &plan->route_capacity, plan->route_count + 1, sizeof *plan->routes),
                  err);
    }
    struct letter_route opened = {0};
    TRY(route_open(planner, table, &opened, err));
    plan->routes[plan->route_count] = opened;
    *route = &plan->routes[plan->route_count++];
    return STATUS_OK;
}

/* Rows whose event time is too far ahead are decoded already: their letters have no payload. */
static enum status check_payload(const struct letter_route *route, struct error *err)
{
    const struct type *row = route->sink->row;
    for (uint32_t i = 0; i < row->child_count; i++) {
        if (!row->children[i]->nullable && type_is_binary(row->children[i])) {
            return error_set(err, ERROR_INVALID_DEFINITION,
                             "the column '%s' of the dead-letter table '%s' is NOT NULL, but a row that 'scan.watermark.max-future-skew' "
                             "refuses has NULL there",
                             row->names[i], route->table->name);
        }
    }
    return STATUS_OK;
}

static enum status find_queue(struct planner *planner, const struct catalog_table *reader, const struct common_source_settings *settings,
                              struct dead_letter **queue, struct error *err)
{
    struct letter_route *route;
    TRY(route_find(planner, reader, settings->dead_letter_table, &route, err));
    if (settings->max_future_skew.us > 0) {
        TRY(check_payload(route, err));
    }
    const char *before = route->readers == NULL ? "" : route->readers;
    TRY_ALLOC(route->readers, arena_format(planner->arena, "%s%s%s", before, route->readers == NULL ? "" : ", ", reader->name), err);
    *queue = route->queue;
    return STATUS_OK;
}

enum status plan_dead_letter(struct planner *planner, const struct relation *scan, const struct table_options *options,
                             struct dead_letter **queue, struct error *err)
{
    struct common_source_settings settings;
    struct error ignored; /* source_open says what is wrong with the options */
    *queue = NULL;
    if (common_source_settings_read(options, planner->arena, &settings, &ignored) != STATUS_OK ||
        settings.error_policy != ERROR_POLICY_DEAD_LETTER) {
        return STATUS_OK;
    }
    enum status status = find_queue(planner, scan->scan.table, &settings, queue, err);
    if (status != STATUS_OK) {
        error_add_context(err, "in table '%s', 'scan.dead-letter-table' = '%s'", scan->scan.table->name, settings.dead_letter_table);
        err->line = scan->line;
        err->column = scan->column;
    }
    return status;
}

static enum status letters_schema(struct planner *planner, const struct type *row, struct schema **schema, struct error *err)
{
    struct column *columns;
    TRY(plan_schema_make(planner, row->child_count, &columns, schema, err));
    for (uint32_t i = 0; i < row->child_count; i++) {
        columns[i] = (struct column){.name = row->names[i], .type = row->children[i]};
    }
    return STATUS_OK;
}

enum status plan_dead_letters(struct planner *planner, struct error *err)
{
    for (uint32_t i = 0; i < planner->plan->route_count; i++) {
        const struct letter_route *route = &planner->plan->routes[i];
        struct schema *schema;
        struct plan_node *letters, *sink;
        TRY(letters_schema(planner, route->sink->row, &schema, err));
        TRY(plan_add(planner, PLAN_DEAD_LETTERS, NULL, 0, schema, &letters, err));
        letters->dead_letter = (struct dead_letter_spec){route->queue, route->sink->row, route->readers};
        letters->properties.distribution = DISTRIBUTION_ONE;
        TRY(plan_add(planner, PLAN_SINK, &letters, 1, schema, &sink, err));
        sink->table = route->table->name;
        sink->sink = (struct sink_spec){.input = plan_input(letters), .context = route->sink};
        TRY(plan_output_add(planner, sink, err));
    }
    return STATUS_OK;
}

enum status plan_check_overwrites(struct planner *planner, const struct bound_insert *inserts, uint32_t count, struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t r = 0; r < planner->plan->route_count; r++) {
            const struct letter_route *route = &planner->plan->routes[r];
            if (inserts[i].overwrite && inserts[i].table == route->table) {
                return error_set_at(err, ERROR_NOT_SUPPORTED, inserts[i].relation->line, inserts[i].relation->column,
                                    "INSERT OVERWRITE of table '%s' would remove the dead letters that table '%s' writes there meanwhile",
                                    route->table->name, route->readers);
            }
        }
    }
    return STATUS_OK;
}
