/* Tables fed by the caller: a temporary table with the connector 'feed', whose attachment is the queue. */
#include "connectors/feed.h"

#include <stdlib.h>
#include <string.h>

#include "api/session.h"
#include "data/arrow.h"
#include "sql/binder.h"
#include "sql/parser.h"

struct spate_feed {
    spate_session *session;
    struct feed *feed;
};

static void feed_release(void *owned)
{
    feed_unref(owned);
}

static const struct type *feed_row_type(const struct catalog_table *table)
{
    const struct type **types = arena_alloc(table->arena, (table->column_count + 1) * sizeof *types);
    const char **names = arena_alloc(table->arena, (table->column_count + 1) * sizeof *names);
    uint32_t count = 0;
    for (uint32_t c = 0; c < table->column_count && types != NULL && names != NULL; c++) {
        if (table->columns[c].kind == AST_COLUMN_PHYSICAL) {
            types[count] = table->columns[c].type;
            names[count++] = table->columns[c].name;
        }
    }
    return types == NULL || names == NULL ? NULL : type_row(table->arena, count, types, names, false);
}

static enum status feed_attach(spate_session *session, struct catalog_table *table, uint32_t partitions, struct feed **feed,
                               struct error *err)
{
    const struct type *row;
    TRY_ALLOC(row, feed_row_type(table), err);
    TRY(feed_create(&session->budget, row, partitions, feed, err));
    if (!arena_on_reset(table->arena, feed_release, feed_ref(*feed))) {
        feed_unref(*feed);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a fed table");
    }
    table->attachment = *feed;
    return STATUS_OK;
}

enum status feed_table_make(spate_session *session, struct arena *arena, const char *table_name, const char *definition,
                            uint32_t partitions, struct feed **feed, struct catalog_table **made, struct error *err)
{
    const char *sql = arena_format(arena, "CREATE TEMPORARY TABLE `%s` (%s) WITH ('connector' = 'feed')", table_name, definition);
    const struct ast_statement *statement = NULL;
    size_t next;
    struct evaluation evaluation = {.budget = &session->budget};
    struct catalog_table *table;
    TRY_ALLOC(sql, sql, err);
    TRY(sql_parse_statement(arena, text_from(sql), 0, &statement, &next, err));
    if (statement == NULL || statement->kind != AST_STATEMENT_CREATE_TABLE || next != strlen(sql)) {
        return error_set(err, ERROR_INVALID_DEFINITION, "'%s' is not the inside of a CREATE TABLE", definition);
    }
    TRY(settings_evaluation(&session->settings, arena, &evaluation, err));
    struct bind_context context = {.arena = arena, .catalog = session->catalog, .evaluation = &evaluation};
    TRY(bind_create_table(&context, &session->budget, &statement->create_table, &table, err));
    enum status status = feed_attach(session, table, partitions, feed, err);
    if (status != STATUS_OK) {
        catalog_table_unref(table);
        return status;
    }
    *made = table;
    return STATUS_OK;
}

static enum status feed_define(spate_session *session, struct arena *arena, const char *table_name, const char *definition,
                               uint32_t partitions, struct feed **feed, struct error *err)
{
    struct catalog_table *table = NULL;
    TRY(feed_table_make(session, arena, table_name, definition, partitions, feed, &table, err));
    enum status status = catalog_add(session->catalog, table, false, false, err);
    if (status != STATUS_OK) {
        catalog_table_unref(table);
    }
    return status;
}

int spate_feed_open(spate_session *session, const char *table, const char *definition, uint32_t partitions, spate_feed **feed)
{
    struct error *err = &session->error;
    struct arena *arena = arena_create(&session->budget, "feed");
    spate_feed *created = calloc(1, sizeof *created);
    enum status status;
    *feed = NULL;
    if (arena == NULL || created == NULL) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for a fed table");
    } else if (partitions == 0 || partitions > 1024) {
        status = error_set(err, ERROR_MISUSE, "a fed table has from 1 to 1024 partitions, not %u", partitions);
    } else {
        created->session = session;
        status = feed_define(session, arena, table, definition, partitions, &created->feed, err);
    }
    arena_destroy(arena);
    if (status != STATUS_OK) {
        free(created);
        return session_fail(session, status);
    }
    *feed = created;
    return SPATE_OK;
}

int spate_feed_push(spate_feed *feed, uint32_t partition, struct ArrowArray *array)
{
    enum status status = feed_push(feed->feed, partition, array, &feed->session->error);
    return status == STATUS_OK ? SPATE_OK : session_fail(feed->session, status);
}

int spate_feed_keep(spate_feed *feed, bool keep)
{
    feed_keep(feed->feed, keep);
    return SPATE_OK;
}

int spate_feed_schema(spate_feed *feed, struct ArrowSchema *schema)
{
    enum status status = arrow_export_schema(feed_row(feed->feed), schema, &feed->session->error);
    return status == STATUS_OK ? SPATE_OK : session_fail(feed->session, status);
}

int spate_feed_end(spate_feed *feed)
{
    feed_end(feed->feed);
    return SPATE_OK;
}

void spate_feed_close(spate_feed *feed)
{
    if (feed != NULL) {
        feed_unref(feed->feed);
        free(feed);
    }
}
