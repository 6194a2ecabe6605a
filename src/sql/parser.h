/* sql/parser.h: SQL text to syntax trees.
 *
 * For         scripts and single statements of Flink SQL 2.3, the whole language.
 * Shape       Lexer (lexer.re, re2c) and recursive descent. A script is split by the grammar itself: ';' ends a statement.
 * Errors      SYNTAX with line and column of the offending token, what was expected, and what was found.
 * Limits      Nesting of SQL_DEPTH_MAX (TOO_DEEP past it), texts of 16 MiB.
 * Threads     Any; no state outlives a call.
 */
#ifndef SPATE_SQL_PARSER_H
#define SPATE_SQL_PARSER_H

#include "base/arena.h"
#include "base/error.h"
#include "sql/ast.h"

enum { SQL_DEPTH_MAX = 200 };

/* Parses one statement starting at `at` (line and column count from the start of `sql`). Sets *statement to NULL when only
 * blanks and comments are left, and *next to the offset past the statement and its ';'. Positions are of the whole text. */
enum status sql_parse_statement(struct arena *arena, struct text sql, size_t at, const struct ast_statement **statement, size_t *next,
                                struct error *err);
/* Parses all of `sql` as one expression, query or type (for tests, watermark strings, the DataType of options). */
enum status sql_parse_expression(struct arena *arena, struct text sql, const struct ast_expression **expression, struct error *err);
enum status sql_parse_query(struct arena *arena, struct text sql, const struct ast_query **query, struct error *err);
enum status sql_parse_type(struct arena *arena, struct text sql, const struct ast_type **type, struct error *err);
/* Is there a whole statement (up to a ';' outside quotes and comments)? For reading from a terminal or a pipe. */
bool sql_is_complete(struct text sql);

#endif
