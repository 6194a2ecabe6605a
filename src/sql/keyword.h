/* sql/keyword.h: which words are reserved, and which of those may still name a function.
 *
 * For         the parser, and whoever prints names (a reserved word must be quoted).
 * Invariants  Words are upper case. Reserved as in Flink: every keyword of its grammar that is not declared free.
 */
#ifndef SPATE_SQL_KEYWORD_H
#define SPATE_SQL_KEYWORD_H

#include <stdbool.h>
#include <stddef.h>

bool keyword_is_reserved(const char *word);
/* May a reserved word be called as a function: LEFT(..), COUNT(..)? */
bool keyword_is_callable(const char *word);
const char *const *keyword_reserved_list(size_t *count); /* sorted */

#endif
