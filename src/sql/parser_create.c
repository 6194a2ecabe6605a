/* CREATE TABLE and CREATE VIEW. */
#include <string.h>

#include "sql/parser_core.h"

enum status parser_if_not_exists(struct parser *parser, bool *given)
{
    *given = parser_accept(parser, "IF");
    if (*given) {
        TRY(parser_expect(parser, "NOT"));
        TRY(parser_expect(parser, "EXISTS"));
    }
    return STATUS_OK;
}

enum status parser_comment(struct parser *parser, const char **comment)
{
    return parser_accept(parser, "COMMENT") ? parser_string(parser, comment, "a comment in quotes") : STATUS_OK;
}

/* ---- columns ---- */

static enum status computed(struct parser *parser, struct ast_column_def *column)
{
    column->kind = AST_COLUMN_COMPUTED;
    TRY(parser_expression(parser, &column->expression));
    column->expression_sql = parser_source(parser, &column->expression->at);
    return column->expression_sql.bytes == NULL ? parser_no_room(parser) : STATUS_OK;
}

static enum status enforcement(struct parser *parser, bool *enforced_missing)
{
    bool not = parser_accept_pair(parser, "NOT", "ENFORCED");
    if (!not ) {
        parser_accept(parser, "ENFORCED");
    }
    *enforced_missing = !not ;
    return STATUS_OK;
}

/* [CONSTRAINT name] PRIMARY KEY [NOT ENFORCED] at a column */
static enum status column_key(struct parser *parser, struct schema_parts *parts, struct ast_column_def *column)
{
    const char *name;
    if (parser_accept(parser, "CONSTRAINT")) {
        TRY(parser_identifier(parser, &name, "a constraint's name"));
        parts->constraint_name = name;
    }
    if (!parser_accept(parser, "PRIMARY")) {
        return STATUS_OK;
    }
    TRY(parser_expect(parser, "KEY"));
    if (parts->primary_key.count > 0) {
        return parser_error(parser, &column->at, ERROR_INVALID_DEFINITION,
                            "a table has one primary key: write PRIMARY KEY (a, b) for several columns");
    }
    column->primary_key = true;
    TRY(parser_add(parser, &parts->primary_key, &column->name, sizeof column->name));
    return enforcement(parser, &parts->enforced_missing);
}

/* FIRST, AFTER column: in ALTER TABLE */
static enum status column_place(struct parser *parser, struct schema_parts *parts)
{
    struct ast_column_place place = {0};
    if (!parts->altering) {
        return STATUS_OK;
    }
    place.first = parser_accept(parser, "FIRST");
    if (!place.first && parser_accept(parser, "AFTER")) {
        TRY(parser_name(parser, &place.after, "a column's name"));
    }
    return parser_add(parser, &parts->places, &place, sizeof place);
}

static enum status metadata(struct parser *parser, struct ast_column_def *column)
{
    column->kind = AST_COLUMN_METADATA;
    if (parser_accept(parser, "FROM")) {
        TRY(parser_string(parser, &column->metadata_key, "a metadata key in quotes"));
    }
    column->is_virtual = parser_accept(parser, "VIRTUAL");
    return STATUS_OK;
}

static enum status typed_column(struct parser *parser, struct schema_parts *parts, struct ast_column_def *column)
{
    TRY(parser_type(parser, &column->type));
    if (parser_accept(parser, "METADATA")) {
        return metadata(parser, column);
    }
    return column_key(parser, parts, column);
}

static enum status column(struct parser *parser, struct schema_parts *parts)
{
    struct ast_column_def column = {.kind = AST_COLUMN_PHYSICAL, .at = parser_start_position(parser)};
    struct ast_name name;
    TRY(parser_name(parser, &name, "a column's name"));
    if (name.count > 1 && !parts->altering) {
        return parser_error(parser, &name.at, ERROR_SYNTAX, "a column's name has one part; quote it if it holds a dot");
    }
    column.name = name.parts[name.count - 1];
    if (parser_accept(parser, "AS")) {
        TRY(computed(parser, &column));
    } else if (!parts->types_optional || !(parser_sees(parser, 0, ",") || parser_sees(parser, 0, ")"))) {
        TRY(typed_column(parser, parts, &column));
    }
    TRY(parser_comment(parser, &column.comment));
    parser_end_position(parser, &column.at);
    TRY(column_place(parser, parts));
    return parser_add(parser, &parts->columns, &column, sizeof column);
}

static enum status dotted(struct parser *parser, const struct ast_name *name, const char **text)
{
    *text = name->parts[0];
    for (uint32_t i = 1; i < name->count && *text != NULL; i++) {
        *text = arena_format(parser->arena, "%s.%s", *text, name->parts[i]);
    }
    return *text == NULL ? parser_no_room(parser) : STATUS_OK;
}

static enum status watermark(struct parser *parser, struct schema_parts *parts)
{
    struct ast_name column;
    const struct position at = parser->tokens[parser->next - 1].at;
    if (parts->watermark != NULL) {
        return parser_error(parser, &at, ERROR_INVALID_DEFINITION, "a table has one watermark");
    }
    parts->watermark_at = at;
    TRY(parser_expect(parser, "FOR"));
    TRY(parser_name(parser, &column, "the time column's name"));
    TRY(dotted(parser, &column, &parts->watermark_column));
    TRY(parser_expect(parser, "AS"));
    TRY(parser_expression(parser, &parts->watermark));
    parser_end_position(parser, &parts->watermark_at);
    parts->watermark_sql = parser_source(parser, &parts->watermark->at);
    return parts->watermark_sql.bytes == NULL ? parser_no_room(parser) : STATUS_OK;
}

/* PRIMARY KEY (..) [NOT ENFORCED] and UNIQUE (..), the word taken by the caller's look */
static enum status constraint(struct parser *parser, struct schema_parts *parts)
{
    const struct position at = parser_start_position(parser);
    const char *const *names;
    uint32_t count;
    if (parser_accept(parser, "CONSTRAINT")) {
        TRY(parser_identifier(parser, &parts->constraint_name, "a constraint's name"));
    }
    if (parser_accept(parser, "UNIQUE")) {
        return parser_error(parser, &at, ERROR_NOT_SUPPORTED, "UNIQUE is not supported; only PRIMARY KEY (...) NOT ENFORCED is");
    }
    TRY(parser_expect(parser, "PRIMARY"));
    TRY(parser_expect(parser, "KEY"));
    if (parts->primary_key.count > 0) {
        return parser_error(parser, &at, ERROR_INVALID_DEFINITION, "a table has one primary key");
    }
    TRY(parser_identifier_list(parser, &names, &count, "a column's name"));
    for (uint32_t i = 0; i < count; i++) {
        TRY(parser_add(parser, &parts->primary_key, &names[i], sizeof names[i]));
    }
    return enforcement(parser, &parts->enforced_missing);
}

enum status parser_schema_element(struct parser *parser, struct schema_parts *parts)
{
    if (parser_sees(parser, 0, "WATERMARK") && parser_sees(parser, 1, "FOR")) {
        parser_skip(parser, 1);
        return watermark(parser, parts);
    }
    if (parser_sees(parser, 0, "CONSTRAINT") || parser_sees(parser, 0, "PRIMARY") || parser_sees(parser, 0, "UNIQUE")) {
        return constraint(parser, parts);
    }
    return column(parser, parts);
}

/* ( element, ... ) */
enum status parser_schema(struct parser *parser, struct schema_parts *parts)
{
    TRY(parser_expect(parser, "("));
    if (parser_accept(parser, ")")) {
        return STATUS_OK;
    }
    do {
        TRY(parser_schema_element(parser, parts));
    } while (parser_accept(parser, ","));
    return parser_expect(parser, ")");
}

/* ---- the rest of a table ---- */

enum status parser_distribution(struct parser *parser, struct ast_distribution *distribution)
{
    distribution->buckets = -1;
    if (parser_accept(parser, "BY")) {
        if (parser_accept(parser, "HASH")) {
            distribution->kind = "HASH";
        } else if (parser_accept(parser, "RANGE")) {
            distribution->kind = "RANGE";
        }
        TRY(parser_identifier_list(parser, &distribution->columns, &distribution->column_count, "a column's name"));
        if (!parser_accept(parser, "INTO")) {
            return STATUS_OK;
        }
    } else {
        TRY(parser_expect(parser, "INTO"));
    }
    TRY(parser_integer(parser, &distribution->buckets, "the number of buckets"));
    return parser_expect(parser, "BUCKETS");
}

static const char *const like_features[] = {"ALL",      "CONSTRAINTS", "DISTRIBUTION", "GENERATED",
                                            "METADATA", "OPTIONS",     "PARTITIONS",   "WATERMARKS"};

static enum status like(struct parser *parser, struct ast_create_table *table)
{
    static const char *const verbs[] = {
        [AST_LIKE_INCLUDING] = "INCLUDING", [AST_LIKE_EXCLUDING] = "EXCLUDING", [AST_LIKE_OVERWRITING] = "OVERWRITING"};
    table->has_like = true;
    TRY(parser_name(parser, &table->like, "a table's name"));
    if (!parser_accept(parser, "(")) {
        return STATUS_OK;
    }
    while (!parser_accept(parser, ")")) {
        enum ast_like_option option = AST_LIKE_DEFAULT;
        size_t feature = 0;
        for (enum ast_like_option i = AST_LIKE_INCLUDING; i <= AST_LIKE_OVERWRITING && option == AST_LIKE_DEFAULT; i++) {
            option = parser_accept(parser, verbs[i]) ? i : option;
        }
        while (option != AST_LIKE_DEFAULT && feature < ARRAY_LENGTH(like_features) && !parser_accept(parser, like_features[feature])) {
            feature++;
        }
        if (option == AST_LIKE_DEFAULT || feature == ARRAY_LENGTH(like_features)) {
            return parser_unexpected(parser, NULL);
        }
        table->like_options[feature] = option;
    }
    return STATUS_OK;
}

static enum status table_clauses(struct parser *parser, struct ast_create_table *table)
{
    TRY(parser_comment(parser, &table->comment));
    if (parser_accept(parser, "DISTRIBUTED")) {
        struct ast_distribution distribution = {0};
        TRY(parser_distribution(parser, &distribution));
        table->distribution = distribution.kind;
        table->distributed_by = distribution.columns;
        table->distributed_count = distribution.column_count;
        table->buckets = distribution.buckets;
    }
    if (parser_accept(parser, "PARTITIONED")) {
        TRY(parser_expect(parser, "BY"));
        TRY(parser_identifier_list(parser, &table->partition_by, &table->partition_count, "a column's name"));
    }
    if (parser_accept(parser, "WITH")) {
        TRY(parser_options(parser, &table->options, &table->option_count));
    }
    if (parser_accept(parser, "LIKE")) {
        return like(parser, table);
    }
    return parser_accept(parser, "AS") ? parser_query(parser, &table->as_query) : STATUS_OK;
}

static enum status create_table(struct parser *parser, struct ast_create_table *table)
{
    struct schema_parts parts = {.types_optional = true};
    table->buckets = -1;
    TRY(parser_if_not_exists(parser, &table->if_not_exists));
    TRY(parser_name(parser, &table->name, "the table's name"));
    if (parser_at(parser, "(")) {
        TRY(parser_schema(parser, &parts));
    }
    table->columns = parts.columns.items;
    table->column_count = parts.columns.count;
    table->watermark_column = parts.watermark_column;
    table->watermark = parts.watermark;
    table->watermark_sql = parts.watermark_sql;
    table->watermark_at = parts.watermark_at;
    table->primary_key = parts.primary_key.items;
    table->primary_key_count = parts.primary_key.count;
    table->constraint_name = parts.constraint_name;
    table->primary_key_enforced_missing = parts.enforced_missing;
    TRY(table_clauses(parser, table));
    for (uint32_t i = 0; i < table->column_count && table->as_query == NULL; i++) {
        if (table->columns[i].type == NULL && table->columns[i].kind != AST_COLUMN_COMPUTED) {
            return parser_error(parser, &table->columns[i].at, ERROR_SYNTAX, "the column '%s' needs a type", table->columns[i].name);
        }
    }
    return STATUS_OK;
}

/* REPLACE TABLE is taken. */
enum status parser_replace_table(struct parser *parser, struct ast_statement *statement)
{
    struct ast_create_table *table;
    TRY(parser_allocate(parser, sizeof *table, &table));
    *table = (struct ast_create_table){.or_replace = true};
    statement->other = table;
    return create_table(parser, table);
}

/* [name [COMMENT 'x'], ...] of a view */
static enum status view_columns(struct parser *parser, struct ast_create_view *view)
{
    struct list names = {0}, comments = {0};
    if (!parser_accept(parser, "(")) {
        return STATUS_OK;
    }
    do {
        const char *name, *comment = NULL;
        TRY(parser_identifier(parser, &name, "a column's name"));
        TRY(parser_comment(parser, &comment));
        TRY(parser_add(parser, &names, &name, sizeof name));
        TRY(parser_add(parser, &comments, &comment, sizeof comment));
    } while (parser_accept(parser, ","));
    view->columns = names.items;
    view->column_comments = comments.items;
    view->column_count = names.count;
    return parser_expect(parser, ")");
}

static enum status create_view(struct parser *parser, struct ast_create_view *view)
{
    TRY(parser_if_not_exists(parser, &view->if_not_exists));
    TRY(parser_name(parser, &view->name, "the view's name"));
    TRY(view_columns(parser, view));
    TRY(parser_comment(parser, &view->comment));
    TRY(parser_expect(parser, "AS"));
    TRY(parser_query(parser, &view->query));
    view->query_sql = parser_source(parser, &view->query->at);
    return view->query_sql.bytes == NULL ? parser_no_room(parser) : STATUS_OK;
}

enum status parser_create(struct parser *parser, struct ast_statement *statement)
{
    struct create_words words = {.at = parser_start_position(parser)};
    parser_skip(parser, 1);
    words.or_replace = parser_accept_pair(parser, "OR", "REPLACE");
    words.or_alter = !words.or_replace && parser_accept_pair(parser, "OR", "ALTER");
    words.temporary = parser_accept(parser, "TEMPORARY");
    words.system = words.temporary && parser_accept(parser, "SYSTEM");
    if (!words.or_alter && !words.system && parser_accept(parser, "TABLE")) {
        statement->kind = AST_STATEMENT_CREATE_TABLE;
        statement->create_table.temporary = words.temporary;
        statement->create_table.or_replace = words.or_replace;
        return create_table(parser, &statement->create_table);
    }
    if (!words.or_alter && !words.system && parser_accept(parser, "VIEW")) {
        statement->kind = AST_STATEMENT_CREATE_VIEW;
        statement->create_view.temporary = words.temporary;
        statement->create_view.or_replace = words.or_replace;
        return create_view(parser, &statement->create_view);
    }
    return parser_create_other(parser, &words, statement);
}
