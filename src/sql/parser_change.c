/* UPDATE, DELETE, TRUNCATE TABLE. */
#include "sql/parser_other.h"

static enum status change_new(struct parser *parser, struct ast_statement *statement, struct ast_change **change)
{
    TRY(parser_allocate(parser, sizeof **change, change));
    **change = (struct ast_change){.at = statement->at};
    statement->other = *change;
    return parser_name(parser, &(*change)->table, "the table's name");
}

static enum status where(struct parser *parser, struct ast_change *change)
{
    if (parser_accept(parser, "WHERE")) {
        TRY(parser_expression(parser, &change->where));
    }
    parser_end_position(parser, &change->at);
    return STATUS_OK;
}

enum status parser_update(struct parser *parser, struct ast_statement *statement)
{
    struct ast_change *change;
    struct list assignments = {0};
    TRY(change_new(parser, statement, &change));
    TRY(parser_alias(parser, &change->alias));
    TRY(parser_expect(parser, "SET"));
    do {
        struct ast_assignment assignment;
        TRY(parser_name(parser, &assignment.column, "a column's name"));
        TRY(parser_expect(parser, "="));
        TRY(parser_expression(parser, &assignment.value));
        TRY(parser_add(parser, &assignments, &assignment, sizeof assignment));
    } while (parser_accept(parser, ","));
    change->assignments = assignments.items;
    change->assignment_count = assignments.count;
    return where(parser, change);
}

enum status parser_delete(struct parser *parser, struct ast_statement *statement)
{
    struct ast_change *change;
    TRY(parser_expect(parser, "FROM"));
    TRY(change_new(parser, statement, &change));
    TRY(parser_alias(parser, &change->alias));
    return where(parser, change);
}

enum status parser_truncate(struct parser *parser, struct ast_statement *statement)
{
    struct ast_change *change;
    TRY(change_new(parser, statement, &change));
    parser_end_position(parser, &change->at);
    return STATUS_OK;
}
