/* The statements of kind OTHER. */
#include "sql/parser_core.h"

enum status parser_other(struct parser *parser, struct ast_statement *statement)
{
    return parser_unexpected(parser, "a statement");
}

enum status parser_create_other(struct parser *parser, const struct create_words *words, struct ast_statement *statement)
{
    return parser_unexpected(parser, NULL);
}

