/* sql/unparse.h: syntax trees back to canonical SQL.
 *
 * For         SHOW CREATE, DESCRIBE, the texts that the catalog keeps, and error messages.
 * Shape       Identifiers in back quotes, function names and keywords in upper case, blanks around binary operators, parentheses only
 *             where the grammar needs them; the clauses of a query stand on lines of their own.
 * Invariants  Parsing what was printed gives a tree that prints the same.
 * Errors      None of its own: a text_builder without room says so itself (`failed`).
 * Limits      Recursion is as deep as the tree, at most SQL_DEPTH_MAX per kind of node.
 */
#ifndef SPATE_SQL_UNPARSE_H
#define SPATE_SQL_UNPARSE_H

#include "base/arena.h"
#include "base/error.h"
#include "sql/ast.h"

void unparse_identifier(const char *name, struct text_builder *out); /* `name` */
void unparse_name(const struct ast_name *name, struct text_builder *out);
void unparse_literal(struct text text, struct text_builder *out); /* 'text' */
void unparse_type(const struct ast_type *type, struct text_builder *out);
void unparse_expression(const struct ast_expression *expression, struct text_builder *out);
void unparse_query(const struct ast_query *query, struct text_builder *out);

/* The same as a text of the arena. */
enum status unparse_expression_text(struct arena *arena, const struct ast_expression *expression, struct text *text, struct error *err);
enum status unparse_query_text(struct arena *arena, const struct ast_query *query, struct text *text, struct error *err);

#endif
