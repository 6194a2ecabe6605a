/* sql/ast_other.h: statements of kind AST_STATEMENT_OTHER.
 *
 * For         refusing them by name; `struct ast_statement.other` points here, `words` has the name ("ALTER TABLE").
 * Ownership   The statement's arena; immutable once parsed.
 */
#ifndef SPATE_SQL_AST_OTHER_H
#define SPATE_SQL_AST_OTHER_H

#include "sql/ast.h"

struct ast_other {
    struct text sql; /* the whole statement as written */
};

#endif
