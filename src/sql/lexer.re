#include "sql/lexer.h"

#include <ctype.h>
#include <string.h>

#include "base/utf8.h"
#include "sql/keyword.h"

/* Reading past the end gives NUL bytes; a NUL inside the text is told apart by the cursor. */
#define YYCTYPE unsigned char
#define YYPEEK() (cursor < lexer->limit ? (YYCTYPE)*cursor : 0)
#define YYSKIP() (++cursor)
#define YYBACKUP() (marker = cursor)
#define YYRESTORE() (cursor = marker)

/*!re2c
    re2c:api = custom;
    re2c:api:style = functions;
    re2c:yyfill:enable = 0;
    re2c:flags:case-ranges = 0;

    blank = [ \t\r\f\n\v];
    digit = [0-9];
    first = [A-Za-z_$@\x80-\xff];
    more = first | digit;
    number = digit+ ("." digit*)? ([eE] [-+]? digit+)? | "." digit+ ([eE] [-+]? digit+)?;
*/

static void count_line(struct lexer *lexer, const char *newline)
{
    lexer->line++;
    lexer->line_start = newline + 1;
}

/* Goes on from the place of the token before, if that is on this line: else long lines would take time by their length squared. */
static uint32_t column_of(struct lexer *lexer, const char *place)
{
    if (lexer->counted == NULL || lexer->counted < lexer->line_start || lexer->counted > place) {
        lexer->counted = lexer->line_start;
        lexer->counted_column = 1;
    }
    for (; lexer->counted < place; lexer->counted++) {
        lexer->counted_column += ((unsigned char)*lexer->counted & 0xc0) != 0x80;
    }
    return lexer->counted_column;
}

void lexer_start(struct lexer *lexer, struct arena *arena, struct text sql, size_t at)
{
    *lexer = (struct lexer){.arena = arena, .start = sql.bytes, .limit = sql.bytes + sql.length, .cursor = sql.bytes,
                            .line_start = sql.bytes, .line = 1};
    if (sql.length >= 3 && memcmp(sql.bytes, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark before the text */
        lexer->cursor += 3;
        lexer->line_start += 3;
    }
    for (; lexer->cursor < sql.bytes + at; lexer->cursor++) {
        if (*lexer->cursor == '\n') {
            count_line(lexer, lexer->cursor);
        }
    }
}

static const char *skip_line_comment(struct lexer *lexer, const char *cursor)
{
    while (cursor < lexer->limit && *cursor != '\n') {
        cursor++;
    }
    return cursor;
}

/* NULL: the comment does not end. */
static const char *skip_block_comment(struct lexer *lexer, const char *cursor)
{
    for (; cursor + 1 < lexer->limit; cursor++) {
        if (cursor[0] == '*' && cursor[1] == '/') {
            return cursor + 2;
        }
        if (*cursor == '\n') {
            count_line(lexer, cursor);
        }
    }
    return NULL;
}

static void bad(struct token *token, const char *message)
{
    token->kind = TOKEN_BAD;
    token->word = message;
}

static const char not_utf8[] = "the name is not valid UTF-8";

static bool is_utf8(const struct token *token)
{
    return utf8_valid_length(token->text.bytes, token->text.length) == token->text.length;
}

/* From past the opening quote to past the closing one; a doubled quote does not close, nor, with `backslash`, an escaped one. */
static const char *quoted(struct lexer *lexer, const char *cursor, char quote, bool backslash, enum token_kind kind, struct token *token)
{
    token->kind = kind;
    token->text.bytes = cursor;
    for (; cursor < lexer->limit; cursor++) {
        if (*cursor == '\n') {
            count_line(lexer, cursor);
        }
        if (backslash && *cursor == '\\' && cursor + 1 < lexer->limit && cursor[1] != '\n') {
            cursor++;
        } else if (*cursor == quote) {
            if (cursor + 1 < lexer->limit && cursor[1] == quote) {
                cursor++;
                continue;
            }
            token->text.length = (size_t)(cursor - token->text.bytes);
            if (kind == TOKEN_QUOTED && !is_utf8(token)) {
                bad(token, not_utf8);
            }
            return cursor + 1;
        }
    }
    bad(token, quote == '`' ? "the quoted identifier does not end" : "the text literal does not end");
    return cursor;
}

static bool word(struct lexer *lexer, const char *cursor, struct token *token)
{
    size_t length = (size_t)(cursor - token->text.bytes);
    char *upper = arena_text(lexer->arena, token->text.bytes, length);
    if (upper == NULL) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        upper[i] = (char)((unsigned char)upper[i] < 0x80 ? toupper((unsigned char)upper[i]) : upper[i]);
    }
    token->kind = TOKEN_WORD;
    token->word = upper;
    token->text.length = length;
    token->reserved = keyword_is_reserved(upper);
    if (!is_utf8(token)) {
        bad(token, not_utf8);
    }
    return true;
}

static void operator(struct token *token, const char *spelling)
{
    token->kind = TOKEN_OPERATOR;
    token->word = spelling;
}

static void begin(struct lexer *lexer, const char *cursor, struct token *token)
{
    *token = (struct token){.kind = TOKEN_END, .text = {cursor, 0}};
    token->at.fragment = lexer->fragment;
    token->at.line = lexer->line;
    token->at.column = column_of(lexer, cursor);
    token->at.offset = (uint32_t)(cursor - lexer->start);
}

static bool end(struct lexer *lexer, const char *cursor, struct token *token)
{
    lexer->cursor = cursor;
    token->at.end = (uint32_t)(cursor - lexer->start);
    return true;
}

bool lexer_next(struct lexer *lexer, struct token *token)
{
    const char *cursor = lexer->cursor, *marker = cursor;
    for (;;) {
        begin(lexer, cursor, token);
        if (cursor >= lexer->limit) {
            return end(lexer, cursor, token);
        }
/*!re2c
        "\n" { count_line(lexer, cursor - 1); continue; }
        [ \t\r\f\v]+ { continue; }
        "--" { cursor = skip_line_comment(lexer, cursor); continue; }
        "/*+" { lexer->in_hint = true; operator(token, "/*+"); return end(lexer, cursor, token); }
        "/*" {
            cursor = skip_block_comment(lexer, cursor);
            if (cursor == NULL) {
                bad(token, "the comment does not end");
                return end(lexer, lexer->limit, token);
            }
            continue;
        }
        "*" "/" {
            if (lexer->in_hint) {
                lexer->in_hint = false;
                operator(token, "*" "/");
                return end(lexer, cursor, token);
            }
            operator(token, "*");
            return end(lexer, cursor - 1, token);
        }
        "`" { cursor = quoted(lexer, cursor, '`', false, TOKEN_QUOTED, token); return end(lexer, cursor, token); }
        "'" { cursor = quoted(lexer, cursor, '\'', false, TOKEN_STRING, token); return end(lexer, cursor, token); }
        [nN] "'" { cursor = quoted(lexer, cursor, '\'', false, TOKEN_STRING, token); return end(lexer, cursor, token); }
        "_" [A-Za-z] [A-Za-z0-9_.:-]* "'" {
            cursor = quoted(lexer, cursor, '\'', false, TOKEN_STRING, token);
            return end(lexer, cursor, token);
        }
        [uU] "&'" { cursor = quoted(lexer, cursor, '\'', false, TOKEN_UNICODE, token); return end(lexer, cursor, token); }
        [eE] "'" { cursor = quoted(lexer, cursor, '\'', true, TOKEN_ESCAPED, token); return end(lexer, cursor, token); }
        [xX] "'" { cursor = quoted(lexer, cursor, '\'', false, TOKEN_BINARY, token); return end(lexer, cursor, token); }
        number { token->kind = TOKEN_NUMBER; token->text.length = (size_t)(cursor - token->text.bytes); return end(lexer, cursor, token); }
        first more* { return word(lexer, cursor, token) && end(lexer, cursor, token); }
        "<=" { operator(token, "<="); return end(lexer, cursor, token); }
        ">=" { operator(token, ">="); return end(lexer, cursor, token); }
        "<>" { operator(token, "<>"); return end(lexer, cursor, token); }
        "!=" { operator(token, "!="); return end(lexer, cursor, token); }
        "||" { operator(token, "||"); return end(lexer, cursor, token); }
        "=>" { operator(token, "=>"); return end(lexer, cursor, token); }
        "->" { operator(token, "->"); return end(lexer, cursor, token); }
        "{-" { operator(token, "{-"); return end(lexer, cursor, token); }
        "-}" { operator(token, "-}"); return end(lexer, cursor, token); }
        [-+*/%()[\]{},.;:<>=?|^$] {
            static const char spellings[] = "-\0+\0*\0/\0%\0(\0)\0[\0]\0{\0}\0,\0.\0;\0:\0<\0>\0=\0?\0|\0^\0$";
            for (size_t i = 0; i < sizeof spellings; i += 2) {
                if (spellings[i] == cursor[-1]) {
                    operator(token, &spellings[i]);
                    break;
                }
            }
            return end(lexer, cursor, token);
        }
        ["] { bad(token, "identifiers are quoted with ` and texts with '"); return end(lexer, cursor, token); }
        * { bad(token, "this character starts nothing in SQL"); return end(lexer, cursor, token); }
*/
    }
}
