/* sql/lexer.h: SQL text to tokens.
 *
 * For         the parser; sql_is_complete.
 * Shape       One token at a time. Comments are skipped; a hint comment gives the tokens of what it holds, between the
 *             operators "/" "*+" written together and their end.
 * Invariants  `word` is the upper-case spelling of a WORD, the spelling of an OPERATOR, else NULL. Offsets only grow.
 * Ownership   Tokens lend from the text; words of identifiers are in the arena.
 * Errors      A text that ends inside quotes or a byte that starts no token gives TOKEN_BAD with a message in `word`; the
 *             parser reports it when it gets there.
 */
#ifndef SPATE_SQL_LEXER_H
#define SPATE_SQL_LEXER_H

#include "sql/ast.h"

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,   /* a keyword or an identifier */
    TOKEN_QUOTED, /* `identifier`, still escaped */
    TOKEN_NUMBER,
    TOKEN_STRING,  /* '..', with a charset prefix or without, still escaped */
    TOKEN_UNICODE, /* U&'..' */
    TOKEN_ESCAPED, /* E'..' */
    TOKEN_BINARY,  /* X'..' */
    TOKEN_OPERATOR,
    TOKEN_BAD,
};
struct token {
    enum token_kind kind;
    bool reserved; /* WORD: may not be an identifier */
    struct position at;
    const char *word;
    struct text text; /* as written; of texts and quoted identifiers what is between the quotes */
};

struct lexer {
    struct arena *arena;
    const char *start, *limit, *cursor, *line_start;
    uint32_t line;
    const char *counted; /* a place of this line, and its column */
    uint32_t counted_column;
    bool in_hint;
    bool fragment; /* its places say so */
};
/* Starts at the offset `at`, whose line and column are counted from the start of the text. */
void lexer_start(struct lexer *lexer, struct arena *arena, struct text sql, size_t at);
/* false: the arena has no room. */
bool lexer_next(struct lexer *lexer, struct token *token);

#endif
