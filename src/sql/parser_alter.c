/* ALTER: TABLE, MATERIALIZED TABLE, VIEW, and what has little more than options. */
#include <string.h>

#include "sql/parser_other.h"

static enum status alter_new(struct parser *parser, struct ast_statement *statement, struct ast_alter **alter)
{
    TRY(parser_allocate(parser, sizeof **alter, alter));
    **alter = (struct ast_alter){.at = statement->at};
    statement->other = *alter;
    (*alter)->if_exists = parser_accept(parser, "IF");
    if ((*alter)->if_exists) {
        TRY(parser_expect(parser, "EXISTS"));
    }
    return parser_name(parser, &(*alter)->name, "a name");
}

static enum status alter_done(struct parser *parser, struct ast_alter *alter, enum ast_alter_kind kind)
{
    alter->kind = kind;
    parser_end_position(parser, &alter->at);
    return STATUS_OK;
}

/* ---- options, names ---- */

static enum status set_options(struct parser *parser, struct ast_alter *alter)
{
    TRY(parser_options(parser, &alter->options, &alter->option_count));
    return alter_done(parser, alter, AST_ALTER_SET);
}

static enum status reset_options(struct parser *parser, struct ast_alter *alter)
{
    struct list keys = {0};
    TRY(parser_expect(parser, "("));
    do {
        struct ast_option option = {.at = parser_start_position(parser)};
        TRY(parser_string(parser, &option.key, "an option's key in quotes"));
        parser_end_position(parser, &option.at);
        TRY(parser_add(parser, &keys, &option, sizeof option));
    } while (parser_accept(parser, ","));
    alter->options = keys.items;
    alter->option_count = keys.count;
    TRY(parser_expect(parser, ")"));
    return alter_done(parser, alter, AST_ALTER_RESET);
}

/* RENAME TO name, RENAME column TO name */
static enum status rename_to(struct parser *parser, struct ast_alter *alter)
{
    bool whole = parser_accept(parser, "TO");
    if (!whole) {
        TRY(parser_name(parser, &alter->column, "TO or a column's name"));
        TRY(parser_expect(parser, "TO"));
    }
    TRY(parser_name(parser, &alter->new_name, "the new name"));
    return alter_done(parser, alter, whole ? AST_ALTER_RENAME : AST_ALTER_RENAME_COLUMN);
}

static enum status as_query(struct parser *parser, struct ast_alter *alter)
{
    TRY(parser_query(parser, &alter->query));
    alter->query_sql = parser_source(parser, &alter->query->at);
    if (alter->query_sql.bytes == NULL) {
        return parser_no_room(parser);
    }
    return alter_done(parser, alter, AST_ALTER_AS);
}

/* ---- ADD and MODIFY ---- */

static enum status add_partition(struct parser *parser, struct ast_alter *alter)
{
    TRY(parser_if_not_exists(parser, &alter->part_if_exists));
    TRY(parser_partition(parser, &alter->partition, &alter->partition_count));
    if (parser_accept(parser, "WITH")) {
        TRY(parser_options(parser, &alter->options, &alter->option_count));
    }
    return alter_done(parser, alter, AST_ALTER_ADD_PARTITION);
}

static enum status distribution(struct parser *parser, struct ast_alter *alter)
{
    struct ast_distribution *node;
    TRY(parser_allocate(parser, sizeof *node, &node));
    TRY(parser_distribution(parser, node));
    alter->distribution = node;
    return STATUS_OK;
}

static enum status schema(struct parser *parser, struct ast_alter *alter)
{
    struct schema_parts parts = {.altering = true};
    TRY(parser_at(parser, "(") ? parser_schema(parser, &parts) : parser_schema_element(parser, &parts));
    alter->columns = parts.columns.items;
    alter->places = parts.places.items;
    alter->column_count = parts.columns.count;
    alter->primary_key = parts.primary_key.items;
    alter->primary_key_count = parts.primary_key.count;
    alter->constraint_name = parts.constraint_name;
    alter->primary_key_enforced_missing = parts.enforced_missing;
    alter->watermark_column = parts.watermark_column;
    alter->watermark = parts.watermark;
    alter->watermark_sql = parts.watermark_sql;
    alter->watermark_at = parts.watermark_at;
    return STATUS_OK;
}

static enum status add_or_modify(struct parser *parser, struct ast_alter *alter, enum ast_alter_kind kind)
{
    if (kind == AST_ALTER_ADD && (parser_sees(parser, 0, "PARTITION") || parser_sees(parser, 0, "IF"))) {
        return add_partition(parser, alter);
    }
    TRY(parser_accept(parser, "DISTRIBUTION") ? distribution(parser, alter) : schema(parser, alter));
    return alter_done(parser, alter, kind);
}

static enum status add(struct parser *parser, struct ast_alter *alter)
{
    return add_or_modify(parser, alter, AST_ALTER_ADD);
}

static enum status modify(struct parser *parser, struct ast_alter *alter)
{
    return add_or_modify(parser, alter, AST_ALTER_MODIFY);
}

/* ---- DROP ---- */

static enum status drop_columns(struct parser *parser, struct ast_alter *alter)
{
    struct list drops = {0};
    bool several = parser_accept(parser, "(");
    do {
        struct ast_name name;
        TRY(parser_name(parser, &name, "a column's name"));
        TRY(parser_add(parser, &drops, &name, sizeof name));
    } while (several && parser_accept(parser, ","));
    if (several) {
        TRY(parser_expect(parser, ")"));
    }
    alter->drops = drops.items;
    alter->drop_count = drops.count;
    return alter_done(parser, alter, AST_ALTER_DROP_COLUMNS);
}

static enum status drop(struct parser *parser, struct ast_alter *alter)
{
    if (parser_accept_pair(parser, "PRIMARY", "KEY")) {
        return alter_done(parser, alter, AST_ALTER_DROP_PRIMARY_KEY);
    }
    if (parser_accept(parser, "CONSTRAINT")) {
        TRY(parser_name(parser, &alter->column, "a constraint's name"));
        return alter_done(parser, alter, AST_ALTER_DROP_CONSTRAINT);
    }
    if (parser_accept(parser, "WATERMARK")) {
        return alter_done(parser, alter, AST_ALTER_DROP_WATERMARK);
    }
    if (parser_accept(parser, "DISTRIBUTION")) {
        return alter_done(parser, alter, AST_ALTER_DROP_DISTRIBUTION);
    }
    alter->part_if_exists = parser_accept_pair(parser, "IF", "EXISTS");
    if (parser_at(parser, "PARTITION")) {
        TRY(parser_partition(parser, &alter->partition, &alter->partition_count));
        return alter_done(parser, alter, AST_ALTER_DROP_PARTITION);
    }
    return drop_columns(parser, alter);
}

/* ---- materialized tables ---- */

static enum status suspend(struct parser *parser, struct ast_alter *alter)
{
    return alter_done(parser, alter, AST_ALTER_SUSPEND);
}

static enum status resume(struct parser *parser, struct ast_alter *alter)
{
    if (parser_accept(parser, "WITH")) {
        TRY(parser_options(parser, &alter->options, &alter->option_count));
    }
    return alter_done(parser, alter, AST_ALTER_RESUME);
}

static enum status refresh(struct parser *parser, struct ast_alter *alter)
{
    if (parser_at(parser, "PARTITION")) {
        TRY(parser_partition(parser, &alter->partition, &alter->partition_count));
    }
    return alter_done(parser, alter, AST_ALTER_REFRESH);
}

static enum status set(struct parser *parser, struct ast_alter *alter)
{
    if (parser_accept(parser, "FRESHNESS")) {
        TRY(parser_freshness(parser, &alter->freshness));
        return alter_done(parser, alter, AST_ALTER_FRESHNESS);
    }
    if (parser_accept(parser, "REFRESH_MODE")) {
        TRY(parser_refresh_mode(parser, &alter->refresh_mode));
        return alter_done(parser, alter, AST_ALTER_REFRESH_MODE);
    }
    return set_options(parser, alter);
}

static enum status comment(struct parser *parser, struct ast_alter *alter)
{
    TRY(parser_string(parser, &alter->comment, "a comment in quotes"));
    return alter_done(parser, alter, AST_ALTER_COMMENT);
}

/* ---- the statements ---- */

enum { ON_TABLE = 1, ON_MATERIALIZED = 2, ON_VIEW = 4, ON_OPTIONS = 8 };
static const struct {
    const char *word;
    uint32_t on;
    enum status (*parse)(struct parser *parser, struct ast_alter *alter);
} actions[] = {
    {"RENAME", ON_TABLE | ON_MATERIALIZED | ON_VIEW | ON_OPTIONS, rename_to},
    {"SET", ON_TABLE | ON_OPTIONS, set_options},
    {"SET", ON_MATERIALIZED, set},
    {"RESET", ON_TABLE | ON_MATERIALIZED | ON_OPTIONS, reset_options},
    {"ADD", ON_TABLE | ON_MATERIALIZED, add},
    {"MODIFY", ON_TABLE | ON_MATERIALIZED, modify},
    {"DROP", ON_TABLE | ON_MATERIALIZED, drop},
    {"AS", ON_MATERIALIZED | ON_VIEW, as_query},
    {"SUSPEND", ON_MATERIALIZED, suspend},
    {"RESUME", ON_MATERIALIZED, resume},
    {"REFRESH", ON_MATERIALIZED, refresh},
    {"COMMENT", ON_OPTIONS, comment},
};

static enum status action(struct parser *parser, struct ast_statement *statement, uint32_t on)
{
    struct ast_alter *alter;
    TRY(alter_new(parser, statement, &alter));
    for (size_t i = 0; i < ARRAY_LENGTH(actions); i++) {
        if ((actions[i].on & on) != 0 && parser_accept(parser, actions[i].word)) {
            return actions[i].parse(parser, alter);
        }
    }
    return parser_unexpected(parser, NULL);
}

enum status parser_alter_table(struct parser *parser, struct ast_statement *statement)
{
    return action(parser, statement, strcmp(statement->words, "ALTER TABLE") == 0 ? ON_TABLE : ON_MATERIALIZED);
}

enum status parser_alter_view(struct parser *parser, struct ast_statement *statement)
{
    return action(parser, statement, ON_VIEW);
}

enum status parser_alter_options(struct parser *parser, struct ast_statement *statement)
{
    return action(parser, statement, ON_OPTIONS);
}

enum status parser_alter_function(struct parser *parser, struct ast_statement *statement)
{
    struct ast_alter *alter;
    TRY(alter_new(parser, statement, &alter));
    alter->temporary = strstr(statement->words, "TEMPORARY") != NULL;
    alter->system = strstr(statement->words, "SYSTEM") != NULL;
    TRY(parser_function_class(parser, &alter->class_name, &alter->language));
    return alter_done(parser, alter, AST_ALTER_FUNCTION_CLASS);
}
