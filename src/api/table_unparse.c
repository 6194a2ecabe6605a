#include <string.h>

#include "api/session.h"
#include "sql/unparse.h"

static void append_names(struct text_builder *out, const struct catalog_table *table, const uint32_t *columns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        text_append_text(out, i == 0 ? "" : ", ");
        unparse_identifier(table->columns[columns[i]].name, out);
    }
}

static void append_column(struct text_builder *out, const struct table_column *column)
{
    unparse_identifier(column->name, out);
    if (column->kind == AST_COLUMN_COMPUTED) {
        text_append_format(out, " AS %.*s", (int)column->expression_sql.length, column->expression_sql.bytes);
    } else {
        text_append_char(out, ' ');
        type_print(column->type, out);
    }
    if (column->kind == AST_COLUMN_METADATA) {
        text_append_text(out, " METADATA");
        if (column->metadata_key != NULL) {
            text_append_text(out, " FROM ");
            unparse_literal(text_from(column->metadata_key), out);
        }
        text_append_text(out, column->is_virtual ? " VIRTUAL" : "");
    }
    if (column->comment != NULL) {
        text_append_text(out, " COMMENT ");
        unparse_literal(text_from(column->comment), out);
    }
}

static void append_constraints(struct text_builder *out, const struct catalog_table *table)
{
    if (table->watermark_column >= 0) {
        text_append_text(out, ",\n  WATERMARK FOR ");
        unparse_identifier(table->columns[table->watermark_column].name, out);
        text_append_format(out, " AS %.*s", (int)table->watermark_sql.length, table->watermark_sql.bytes);
    }
    if (table->primary_key_count > 0) {
        text_append_text(out, ",\n  CONSTRAINT `PK");
        for (uint32_t k = 0; k < table->primary_key_count; k++) {
            text_append_format(out, "_%s", table->columns[table->primary_key[k]].name);
        }
        text_append_text(out, "` PRIMARY KEY (");
        append_names(out, table, table->primary_key, table->primary_key_count);
        text_append_text(out, ") NOT ENFORCED");
    }
}

/* Options are printed in the order of their keys. */
static void append_options(struct text_builder *out, const struct catalog_table *table)
{
    text_append_text(out, "WITH (\n");
    const char *last = "";
    for (uint32_t printed = 0; printed < table->option_count; printed++) {
        const struct table_option *next = NULL;
        for (uint32_t i = 0; i < table->option_count; i++) {
            const struct table_option *option = &table->options[i];
            if (strcmp(option->key, last) > 0 && (next == NULL || strcmp(option->key, next->key) < 0)) {
                next = option;
            }
        }
        if (next == NULL) {
            break;
        }
        text_append_text(out, printed == 0 ? "  " : ",\n  ");
        unparse_literal(text_from(next->key), out);
        text_append_text(out, " = ");
        unparse_literal(text_from(next->value), out);
        last = next->key;
    }
    text_append_text(out, "\n)\n");
}

static void append_view(struct text_builder *out, const struct catalog_table *table)
{
    text_append_text(out, " (\n");
    for (uint32_t c = 0; c < table->column_count; c++) {
        text_append_text(out, c == 0 ? "  " : ",\n  ");
        unparse_identifier(table->columns[c].name, out);
    }
    text_append_text(out, "\n)\n");
    if (table->comment != NULL) {
        text_append_text(out, "COMMENT ");
        unparse_literal(text_from(table->comment), out);
        text_append_char(out, '\n');
    }
    text_append_format(out, "AS %.*s\n", (int)table->query_sql.length, table->query_sql.bytes);
}

static void append_table(struct text_builder *out, const struct catalog_table *table)
{
    text_append_text(out, " (\n");
    for (uint32_t c = 0; c < table->column_count; c++) {
        text_append_text(out, c == 0 ? "  " : ",\n  ");
        append_column(out, &table->columns[c]);
    }
    append_constraints(out, table);
    text_append_text(out, "\n)\n");
    if (table->comment != NULL) {
        text_append_text(out, "COMMENT ");
        unparse_literal(text_from(table->comment), out);
        text_append_char(out, '\n');
    }
    if (table->partition_count > 0) {
        text_append_text(out, "PARTITIONED BY (");
        append_names(out, table, table->partition_by, table->partition_count);
        text_append_text(out, ")\n");
    }
    append_options(out, table);
}

enum status table_unparse(const struct catalog_table *table, struct text_builder *out, struct error *err)
{
    text_append_format(out, "CREATE %s%s `default_catalog`.`default_database`.", table->temporary ? "TEMPORARY " : "",
                       table->is_view ? "VIEW" : "TABLE");
    unparse_identifier(table->name, out);
    if (table->is_view) {
        append_view(out, table);
    } else {
        append_table(out, table);
    }
    return out->failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for the text of '%s'", table->name) : STATUS_OK;
}
