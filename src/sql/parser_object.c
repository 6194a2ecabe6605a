/* CREATE CATALOG, CONNECTION, DATABASE, FUNCTION, MATERIALIZED TABLE, MODEL: after the object's name. */
#include "sql/parser_other.h"

static enum status with_options(struct parser *parser, struct ast_create_object *object)
{
    return parser_accept(parser, "WITH") ? parser_options(parser, &object->options, &object->option_count) : STATUS_OK;
}

enum status parser_create_options(struct parser *parser, struct ast_create_object *object)
{
    TRY(parser_comment(parser, &object->comment));
    return with_options(parser, object);
}

enum status parser_function_class(struct parser *parser, const char **class_name, const char **language)
{
    static const char *const languages[] = {"JAVA", "SCALA", "PYTHON"};
    TRY(parser_expect(parser, "AS"));
    TRY(parser_string(parser, class_name, "a class name in quotes"));
    if (!parser_accept(parser, "LANGUAGE")) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(languages); i++) {
        if (parser_accept(parser, languages[i])) {
            *language = languages[i];
            return STATUS_OK;
        }
    }
    return parser_unexpected(parser, NULL);
}

enum status parser_create_function(struct parser *parser, struct ast_create_object *object)
{
    struct list jars = {0};
    TRY(parser_function_class(parser, &object->class_name, &object->language));
    if (parser_accept(parser, "USING")) {
        do {
            const char *path;
            if (!parser_accept(parser, "JAR") && !parser_accept(parser, "ARTIFACT")) {
                return parser_unexpected(parser, NULL);
            }
            TRY(parser_string(parser, &path, "a path in quotes"));
            TRY(parser_add(parser, &jars, &path, sizeof path));
        } while (parser_accept(parser, ","));
    }
    object->jars = jars.items;
    object->jar_count = jars.count;
    return with_options(parser, object);
}

static enum status plain_columns(struct parser *parser, const struct ast_column_def **columns, uint32_t *count)
{
    struct schema_parts parts = {0};
    TRY(parser_schema(parser, &parts));
    *columns = parts.columns.items;
    *count = parts.columns.count;
    return STATUS_OK;
}

enum status parser_create_model(struct parser *parser, struct ast_create_object *object)
{
    if (parser_accept(parser, "INPUT")) {
        TRY(plain_columns(parser, &object->columns, &object->column_count));
    }
    if (parser_accept(parser, "OUTPUT")) {
        TRY(plain_columns(parser, &object->outputs, &object->output_count));
    }
    TRY(parser_create_options(parser, object));
    return parser_accept(parser, "AS") ? parser_query(parser, &object->query) : STATUS_OK;
}

enum status parser_freshness(struct parser *parser, const struct ast_expression **freshness)
{
    TRY(parser_expect(parser, "="));
    return parser_expression_above(parser, PRECEDENCE_POSTFIX, freshness);
}

enum status parser_refresh_mode(struct parser *parser, const char **mode)
{
    TRY(parser_expect(parser, "="));
    *mode = parser_accept(parser, "FULL") ? "FULL" : "CONTINUOUS";
    return (*mode)[0] == 'F' ? STATUS_OK : parser_expect(parser, "CONTINUOUS");
}

static enum status materialized_schema(struct parser *parser, struct ast_create_object *object)
{
    struct schema_parts parts = {.types_optional = true};
    if (!parser_at(parser, "(")) {
        return STATUS_OK;
    }
    TRY(parser_schema(parser, &parts));
    object->columns = parts.columns.items;
    object->column_count = parts.columns.count;
    object->primary_key = parts.primary_key.items;
    object->primary_key_count = parts.primary_key.count;
    return STATUS_OK;
}

enum status parser_create_materialized(struct parser *parser, struct ast_create_object *object)
{
    TRY(materialized_schema(parser, object));
    TRY(parser_comment(parser, &object->comment));
    if (parser_accept(parser, "DISTRIBUTED")) {
        struct ast_distribution *distribution;
        TRY(parser_allocate(parser, sizeof *distribution, &distribution));
        TRY(parser_distribution(parser, distribution));
        object->distribution = distribution;
    }
    if (parser_accept(parser, "PARTITIONED")) {
        TRY(parser_expect(parser, "BY"));
        TRY(parser_identifier_list(parser, &object->partition_by, &object->partition_count, "a column's name"));
    }
    TRY(with_options(parser, object));
    if (parser_accept(parser, "FRESHNESS")) {
        TRY(parser_freshness(parser, &object->freshness));
    }
    if (parser_accept(parser, "REFRESH_MODE")) {
        TRY(parser_refresh_mode(parser, &object->refresh_mode));
    }
    TRY(parser_expect(parser, "AS"));
    return parser_query(parser, &object->query);
}
