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

enum status parser_match(struct parser *parser, const struct ast_match **match)
{
    const struct position at = parser_start_position(parser);
    return parser_error(parser, &at, ERROR_NOT_SUPPORTED, "MATCH_RECOGNIZE is not supported");
}
