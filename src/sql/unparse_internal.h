/* sql/unparse_internal.h: what the files of the unparser share.
 *
 * For         unparse*.c only.
 * Shape       An operand is printed in parentheses when it binds less than `precedence` (those of sql/parser_core.h).
 */
#ifndef SPATE_SQL_UNPARSE_INTERNAL_H
#define SPATE_SQL_UNPARSE_INTERNAL_H

#include "sql/unparse.h"

void unparse_operand(const struct ast_expression *expression, uint32_t precedence, struct text_builder *out);
void unparse_list(const struct ast_expression *const *items, uint32_t count, struct text_builder *out);
void unparse_identifiers(const char *const *names, uint32_t count, struct text_builder *out); /* (`a`, `b`) */
void unparse_units(const char *from, const char *to, int32_t precision, int32_t scale, struct text_builder *out);
void unparse_order(const struct ast_order_item *items, uint32_t count, struct text_builder *out);
void unparse_window(const struct ast_window *window, struct text_builder *out); /* ( ... ) */
void unparse_call(const struct ast_expression *call, struct text_builder *out);
void unparse_from(const struct ast_table *table, struct text_builder *out);
void unparse_hints(const struct ast_hint *hints, uint32_t count, struct text_builder *out);
struct ast_match;
void unparse_match(const struct ast_match *match, struct text_builder *out);

#endif
