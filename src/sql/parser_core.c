#include "sql/parser_core.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/keyword.h"

enum { SQL_BYTES_MAX = 16 * 1024 * 1024 };

enum status parser_no_room(struct parser *parser)
{
    return error_set(parser->err, ERROR_BUDGET_SPENT, "no room for the syntax tree");
}

enum status parser_start(struct parser *parser, struct arena *arena, struct text sql, size_t at, bool fragment, struct error *err)
{
    *parser = (struct parser){.arena = arena, .sql = sql, .err = err};
    if (sql.length > SQL_BYTES_MAX) {
        return error_set(err, ERROR_TOO_MANY, "the SQL text has %zu bytes; at most %d are read", sql.length, SQL_BYTES_MAX);
    }
    lexer_start(&parser->lexer, arena, sql, at);
    parser->lexer.fragment = fragment;
    return parser_peek(parser, 0) == NULL ? parser_no_room(parser) : STATUS_OK;
}

/* Without room for a token, the text ends here for the parser: it fails at the next thing it needs. */
const struct token *parser_peek(struct parser *parser, uint32_t ahead)
{
    static const struct token none = {.kind = TOKEN_BAD, .word = "no room for the tokens of the statement"};
    while (parser->token_count <= parser->next + ahead) {
        struct token *tokens = arena_grow(parser->arena, parser->tokens, &parser->token_capacity, parser->token_count + 1, sizeof *tokens);
        if (tokens == NULL) {
            return &none;
        }
        parser->tokens = tokens;
        if (!lexer_next(&parser->lexer, &tokens[parser->token_count])) {
            return &none;
        }
        parser->token_count++;
    }
    return &parser->tokens[parser->next + ahead];
}

void parser_skip(struct parser *parser, uint32_t tokens)
{
    parser->next += tokens;
    parser->expected_count = 0;
}

static bool token_is(const struct token *token, const char *word)
{
    return (token->kind == TOKEN_WORD || token->kind == TOKEN_OPERATOR) && strcmp(token->word, word) == 0;
}

bool parser_sees(struct parser *parser, uint32_t ahead, const char *word)
{
    return token_is(parser_peek(parser, ahead), word);
}

static void remember_expected(struct parser *parser, const char *word)
{
    for (uint32_t i = 0; i < parser->expected_count; i++) {
        if (strcmp(parser->expected[i], word) == 0) {
            return;
        }
    }
    if (parser->expected_count < EXPECTED_LIMIT) {
        parser->expected[parser->expected_count++] = word;
    }
}

bool parser_at(struct parser *parser, const char *word)
{
    if (token_is(parser_peek(parser, 0), word)) {
        return true;
    }
    remember_expected(parser, word);
    return false;
}

bool parser_at_pair(struct parser *parser, const char *first, const char *second)
{
    return parser_at(parser, first) && parser_sees(parser, 1, second);
}

bool parser_accept(struct parser *parser, const char *word)
{
    bool found = parser_at(parser, word);
    if (found) {
        parser_skip(parser, 1);
    }
    return found;
}

bool parser_accept_pair(struct parser *parser, const char *first, const char *second)
{
    bool found = parser_at_pair(parser, first, second);
    if (found) {
        parser_skip(parser, 2);
    }
    return found;
}

enum status parser_expect(struct parser *parser, const char *word)
{
    return parser_accept(parser, word) ? STATUS_OK : parser_unexpected(parser, NULL);
}

enum status parser_error(struct parser *parser, const struct position *at, enum error_code code, const char *format, ...)
{
    char message[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return error_set_at(parser->err, code, at->line, at->column, "%s", message);
}

/* ---- messages ---- */

static bool is_word(const char *expected)
{
    return expected[0] >= 'A' && expected[0] <= 'Z';
}

/* Words before signs: they say more. At most six. */
static void print_expected(const struct parser *parser, char *out, size_t size)
{
    const char *shown[6];
    uint32_t count = 0;
    for (int words = 1; words >= 0; words--) {
        for (uint32_t i = 0; i < parser->expected_count && count < ARRAY_LENGTH(shown); i++) {
            if (is_word(parser->expected[i]) == (words == 1)) {
                shown[count++] = parser->expected[i];
            }
        }
    }
    size_t used = 0;
    for (uint32_t i = 0; i < count && used < size; i++) {
        const char *between = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        const char *quote = is_word(shown[i]) || strchr(shown[i], ' ') != NULL ? "" : "'";
        const char *sign = strcmp(shown[i], ";") == 0 ? "the end of the statement" : shown[i];
        quote = sign == shown[i] ? quote : "";
        used += (size_t)snprintf(out + used, size - used, "%s%s%s%s", between, quote, sign, quote);
    }
}

static void print_found(const struct token *token, char *out, size_t size)
{
    if (token->kind == TOKEN_END || token_is(token, ";")) {
        snprintf(out, size, "the end of the statement");
        return;
    }
    if (token->kind == TOKEN_OPERATOR) {
        snprintf(out, size, "'%s'", token->word);
        return;
    }
    size_t length = token->text.length < 40 ? token->text.length : 40;
    while (length > 0 && length < token->text.length && ((unsigned char)token->text.bytes[length] & 0xc0) == 0x80) {
        length--;
    }
    const char *kind = token->kind == TOKEN_STRING ? "text " : token->kind == TOKEN_QUOTED ? "identifier " : "";
    snprintf(out, size, "%s%s'%.*s%s'", kind, token->reserved ? "the keyword " : "", (int)length, token->text.bytes,
             length < token->text.length ? "..." : "");
}

static const char *nearest_expected(const struct parser *parser, const struct token *token)
{
    const char *words[EXPECTED_LIMIT];
    size_t count = 0;
    for (uint32_t i = 0; i < parser->expected_count; i++) {
        if (is_word(parser->expected[i])) {
            words[count++] = parser->expected[i];
        }
    }
    return token->kind == TOKEN_WORD ? text_nearest(token->word, words, count) : NULL;
}

enum status parser_unexpected(struct parser *parser, const char *what)
{
    const struct token *token = parser_peek(parser, 0);
    char expected[400] = "", found[200];
    if (token->kind == TOKEN_BAD) {
        return parser_error(parser, &token->at, ERROR_SYNTAX, "%s", token->word);
    }
    if (parser->alias_token == parser->next && parser->alias_nearest != NULL && token->kind != TOKEN_END) {
        const struct token *alias = &parser->tokens[parser->next - 1];
        return parser_error(parser, &alias->at, ERROR_SYNTAX, "expected %s, found '%.*s'; did you mean %s?", parser->alias_nearest,
                            (int)alias->text.length, alias->text.bytes, parser->alias_nearest);
    }
    print_expected(parser, expected, sizeof expected);
    print_found(token, found, sizeof found);
    const char *near = what == NULL ? nearest_expected(parser, token) : NULL;
    const char *quote_hint = what != NULL && token->reserved && strstr(what, "name") != NULL ? "; to use it as a name, quote it: " : "";
    bool hint = quote_hint[0] != '\0';
    return parser_error(parser, &token->at, ERROR_SYNTAX, "expected %s, found %s%s%s%s%s%s%.*s%s", what != NULL ? what : expected, found,
                        near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "", quote_hint,
                        hint ? "`" : "", hint ? (int)token->text.length : 0, hint ? token->text.bytes : "", hint ? "`" : "");
}

enum status parser_enter(struct parser *parser)
{
    if (++parser->depth > SQL_DEPTH_MAX) {
        const struct position at = parser_peek(parser, 0)->at;
        return parser_error(parser, &at, ERROR_TOO_DEEP, "the statement nests more than %d levels", SQL_DEPTH_MAX);
    }
    return STATUS_OK;
}

void parser_leave(struct parser *parser)
{
    parser->depth--;
}

/* ---- positions and lists ---- */

struct position parser_start_position(struct parser *parser)
{
    return parser_peek(parser, 0)->at;
}

void parser_end_position(struct parser *parser, struct position *at)
{
    if (parser->next > 0) {
        at->end = parser->tokens[parser->next - 1].at.end;
    }
}

struct text parser_source(struct parser *parser, const struct position *at)
{
    size_t length = at->end > at->offset ? at->end - at->offset : 0;
    return (struct text){arena_text(parser->arena, parser->sql.bytes + at->offset, length), length};
}

enum status parser_add(struct parser *parser, struct list *list, const void *item, size_t item_bytes)
{
    void *items = arena_grow(parser->arena, list->items, &list->capacity, list->count + 1, item_bytes);
    if (items == NULL) {
        return parser_no_room(parser);
    }
    list->items = items;
    memcpy((char *)items + list->count * item_bytes, item, item_bytes);
    list->count++;
    return STATUS_OK;
}

enum status parser_allocate(struct parser *parser, size_t bytes, void *pointer_to_pointer)
{
    void *memory = arena_alloc(parser->arena, bytes);
    memcpy(pointer_to_pointer, &memory, sizeof memory);
    return memory == NULL ? parser_no_room(parser) : STATUS_OK;
}

/* ---- names ---- */

bool parser_at_identifier(struct parser *parser)
{
    const struct token *token = parser_peek(parser, 0);
    return token->kind == TOKEN_QUOTED || (token->kind == TOKEN_WORD && !token->reserved);
}

static const char *unquote_identifier(struct parser *parser, const struct token *token)
{
    char *name = arena_alloc(parser->arena, token->text.length + 1);
    size_t length = 0;
    for (size_t i = 0; name != NULL && i < token->text.length; i++) {
        name[length++] = token->text.bytes[i];
        if (token->kind == TOKEN_QUOTED && token->text.bytes[i] == '`') {
            i++; /* doubled */
        }
    }
    return name;
}

static enum status take_identifier(struct parser *parser, const char **name)
{
    const struct token *token = parser_peek(parser, 0);
    if (token->text.length == 0) {
        return parser_error(parser, &token->at, ERROR_SYNTAX, "an identifier may not be empty");
    }
    if (memchr(token->text.bytes, '\0', token->text.length) != NULL) {
        return parser_error(parser, &token->at, ERROR_SYNTAX, "an identifier may not hold the character U+0000");
    }
    *name = unquote_identifier(parser, token);
    parser_skip(parser, 1);
    return *name == NULL ? parser_no_room(parser) : STATUS_OK;
}

enum status parser_identifier(struct parser *parser, const char **name, const char *what)
{
    return parser_at_identifier(parser) ? take_identifier(parser, name) : parser_unexpected(parser, what);
}

enum status parser_name(struct parser *parser, struct ast_name *name, const char *what)
{
    struct list parts = {0}, positions = {0};
    name->at = parser_start_position(parser);
    do {
        const char *part;
        struct position at = parser_start_position(parser);
        /* after a dot no keyword can follow, so that every word is a name there */
        const struct token *token = parser_peek(parser, 0);
        if (parts.count > 0 && token->kind == TOKEN_WORD) {
            TRY(take_identifier(parser, &part));
        } else {
            TRY(parser_identifier(parser, &part, what));
        }
        TRY(parser_add(parser, &parts, &part, sizeof part));
        TRY(parser_add(parser, &positions, &at, sizeof at));
    } while (parser_accept(parser, "."));
    name->parts = parts.items;
    name->part_positions = positions.items;
    name->count = parts.count;
    parser_end_position(parser, &name->at);
    return STATUS_OK;
}

enum status parser_identifier_list(struct parser *parser, const char *const **names, uint32_t *count, const char *what)
{
    struct list list = {0};
    TRY(parser_expect(parser, "("));
    do {
        const char *name;
        TRY(parser_identifier(parser, &name, what));
        TRY(parser_add(parser, &list, &name, sizeof name));
    } while (parser_accept(parser, ","));
    *names = list.items;
    *count = list.count;
    return parser_expect(parser, ")");
}

enum status parser_string(struct parser *parser, const char **text, const char *what)
{
    struct text value;
    const struct position at = parser_start_position(parser);
    if (!parser_at_text(parser)) {
        return parser_unexpected(parser, what);
    }
    TRY(parser_text_literal(parser, &value));
    if (memchr(value.bytes, '\0', value.length) != NULL) {
        return parser_error(parser, &at, ERROR_INVALID_LITERAL, "this text may not hold the character U+0000");
    }
    *text = value.bytes;
    return STATUS_OK;
}

enum status parser_integer(struct parser *parser, int64_t *value, const char *what)
{
    const struct token *token = parser_peek(parser, 0);
    if (token->kind != TOKEN_NUMBER || token->text.length > 18 || strspn(token->text.bytes, "0123456789") < token->text.length) {
        return parser_unexpected(parser, what);
    }
    *value = 0;
    for (size_t i = 0; i < token->text.length; i++) {
        *value = *value * 10 + (token->text.bytes[i] - '0');
    }
    parser_skip(parser, 1);
    return STATUS_OK;
}

enum status parser_options(struct parser *parser, const struct ast_option **options, uint32_t *count)
{
    struct list list = {0};
    TRY(parser_expect(parser, "("));
    while (!parser_at(parser, ")") || list.count > 0) {
        struct ast_option option = {.at = parser_start_position(parser)};
        TRY(parser_string(parser, &option.key, "an option's key in quotes"));
        TRY(parser_expect(parser, "="));
        TRY(parser_string(parser, &option.value, "an option's value in quotes"));
        parser_end_position(parser, &option.at);
        TRY(parser_add(parser, &list, &option, sizeof option));
        if (!parser_accept(parser, ",")) {
            break;
        }
    }
    *options = list.items;
    *count = list.count;
    return parser_expect(parser, ")");
}

/* ---- hints ---- */

static enum status hint_word(struct parser *parser, const char **word)
{
    const struct token *token = parser_peek(parser, 0);
    if (parser_at_text(parser)) {
        return parser_string(parser, word, "a word");
    }
    if (token->kind == TOKEN_NUMBER || token->kind == TOKEN_WORD) {
        *word = text_to_arena(parser->arena, token->text);
        parser_skip(parser, 1);
        if (*word == NULL) {
            return parser_no_room(parser);
        }
        while (token->kind == TOKEN_WORD && parser_accept(parser, ".")) { /* a table's full name */
            const char *part;
            TRY(parser_identifier(parser, &part, "a name"));
            *word = arena_format(parser->arena, "%s.%s", *word, part);
            if (*word == NULL) {
                return parser_no_room(parser);
            }
            token = &parser->tokens[parser->next - 1];
        }
        return STATUS_OK;
    }
    return parser_identifier(parser, word, "a name or a text in the hint");
}

static enum status hint_entry(struct parser *parser, struct list *keys, struct list *values)
{
    const char *key = NULL, *value;
    TRY(hint_word(parser, &value));
    if (parser_accept(parser, "=")) {
        key = value;
        TRY(hint_word(parser, &value));
    }
    TRY(parser_add(parser, keys, &key, sizeof key));
    return parser_add(parser, values, &value, sizeof value);
}

static enum status hint(struct parser *parser, struct ast_hint *one)
{
    struct list keys = {0}, values = {0};
    *one = (struct ast_hint){.at = parser_start_position(parser)};
    TRY(parser_identifier(parser, &one->name, "a hint's name"));
    if (parser_accept(parser, "(")) {
        while (!parser_at(parser, ")") || keys.count > 0) {
            TRY(hint_entry(parser, &keys, &values));
            if (!parser_accept(parser, ",")) {
                break;
            }
        }
        TRY(parser_expect(parser, ")"));
    }
    one->keys = keys.items;
    one->values = values.items;
    one->count = keys.count;
    parser_end_position(parser, &one->at);
    return STATUS_OK;
}

enum status parser_hints(struct parser *parser, const struct ast_hint **hints, uint32_t *count)
{
    struct list list = {0};
    if (!parser_sees(parser, 0, "/*+")) {
        return STATUS_OK;
    }
    parser_skip(parser, 1);
    do {
        struct ast_hint one;
        TRY(hint(parser, &one));
        TRY(parser_add(parser, &list, &one, sizeof one));
        parser_accept(parser, ",");
    } while (!parser_at(parser, "*/"));
    *hints = list.items;
    *count = list.count;
    return parser_expect(parser, "*/");
}
