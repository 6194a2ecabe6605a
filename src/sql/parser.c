#include "sql/parser.h"

#include "sql/parser_core.h"

static enum status parse_end(struct parser *parser)
{
    parser_at(parser, ";");
    return parser_peek(parser, 0)->kind == TOKEN_END ? STATUS_OK : parser_unexpected(parser, NULL);
}

enum status sql_parse_statement(struct arena *arena, struct text sql, size_t at, const struct ast_statement **statement, size_t *next,
                                struct error *err)
{
    struct parser parser;
    *statement = NULL;
    TRY(parser_start(&parser, arena, sql, at, false, err));
    while (parser_accept(&parser, ";")) {
        continue;
    }
    if (parser_peek(&parser, 0)->kind == TOKEN_END) {
        *next = sql.length;
        return STATUS_OK;
    }
    const struct ast_statement *parsed;
    TRY(parser_statement(&parser, &parsed));
    if (!parser_sees(&parser, 0, ";")) {
        TRY(parse_end(&parser));
    }
    *next = parser_peek(&parser, 0)->at.end;
    *statement = parsed;
    return STATUS_OK;
}

enum status sql_parse_expression(struct arena *arena, struct text sql, const struct ast_expression **expression, struct error *err)
{
    struct parser parser;
    TRY(parser_start(&parser, arena, sql, 0, true, err));
    TRY(parser_expression(&parser, expression));
    return parse_end(&parser);
}

enum status sql_parse_query(struct arena *arena, struct text sql, const struct ast_query **query, struct error *err)
{
    struct parser parser;
    TRY(parser_start(&parser, arena, sql, 0, true, err));
    TRY(parser_query(&parser, query));
    return parse_end(&parser);
}

enum status sql_parse_type(struct arena *arena, struct text sql, const struct ast_type **type, struct error *err)
{
    struct parser parser;
    TRY(parser_start(&parser, arena, sql, 0, true, err));
    TRY(parser_type(&parser, type));
    return parse_end(&parser);
}

/* The offset past what starts at `at` and does not end a statement inside: a quoted text, a comment; else the next byte. */
static size_t skip_quoted(struct text sql, size_t at)
{
    const char *bytes = sql.bytes;
    char first = bytes[at];
    bool line = first == '-' && at + 1 < sql.length && bytes[at + 1] == '-';
    bool block = first == '/' && at + 1 < sql.length && bytes[at + 1] == '*';
    if (first != '\'' && first != '`' && !line && !block) {
        return at + 1;
    }
    bool escaped = first == '\'' && at > 0 && (bytes[at - 1] == 'E' || bytes[at - 1] == 'e');
    for (size_t i = at + (line || block ? 2 : 1); i < sql.length; i++) {
        if (line && bytes[i] == '\n') {
            return i;
        }
        if (block && bytes[i] == '*' && i + 1 < sql.length && bytes[i + 1] == '/') {
            return i + 2;
        }
        if (escaped && bytes[i] == '\\') {
            i++;
        } else if (!line && !block && bytes[i] == first) {
            return i + 1;
        }
    }
    return sql.length + 1;
}

static bool word_at(struct text sql, size_t at, const char *word)
{
    struct text expected = text_from(word);
    bool starts = at == 0 || !(sql.bytes[at - 1] == '_' || (sql.bytes[at - 1] | 32) >= 'a');
    return starts && at + expected.length <= sql.length &&
           text_equal_ignoring_case((struct text){sql.bytes + at, expected.length}, expected);
}

/* A ';' inside STATEMENT SET ... END does not end the statement. */
bool sql_is_complete(struct text sql)
{
    bool in_set = false, set_word = false, complete = false;
    for (size_t i = 0; i < sql.length;) {
        char c = sql.bytes[i];
        set_word = set_word || (word_at(sql, i, "STATEMENT") && i + 9 < sql.length);
        in_set = in_set || (set_word && word_at(sql, i, "BEGIN")) || (set_word && c == ';');
        if (in_set && word_at(sql, i, "END")) {
            in_set = set_word = false;
        }
        complete = c == ';' ? !in_set : complete && (c == ' ' || c == '\n' || c == '\t' || c == '\r');
        size_t next = skip_quoted(sql, i);
        bool comment = next > i + 1 && (c == '-' || c == '/');
        complete = complete || (comment && i > 0 && sql.bytes[i - 1] == ';' && !in_set);
        if (next > sql.length) {
            return complete && c == '-';
        }
        i = next;
    }
    return complete;
}
