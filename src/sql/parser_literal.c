/* Text, binary and interval literals. */
#include <string.h>

#include "base/utf8.h"
#include "sql/parser_core.h"

bool parser_at_text(struct parser *parser)
{
    enum token_kind kind = parser_peek(parser, 0)->kind;
    return kind == TOKEN_STRING || kind == TOKEN_UNICODE || kind == TOKEN_ESCAPED;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* `digits` hexadecimal digits at `bytes`; false when there are not as many. */
static bool read_hex(const char *bytes, size_t length, size_t digits, uint32_t *value)
{
    *value = 0;
    for (size_t i = 0; i < digits; i++) {
        int digit = i < length ? hex_digit(bytes[i]) : -1;
        if (digit < 0) {
            return false;
        }
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

/* One piece of a literal between quotes: room for what it can be unescaped to. */
struct piece {
    struct parser *parser;
    const struct token *token;
    char *out;
    size_t length;
};

static enum status put_code_point(struct piece *piece, uint32_t code_point)
{
    size_t used = utf8_encode(code_point, piece->out + piece->length);
    if (used == 0) {
        return parser_error(piece->parser, &piece->token->at, ERROR_INVALID_LITERAL, "U+%04X is not a character", (unsigned)code_point);
    }
    piece->length += used;
    return STATUS_OK;
}

/* \XXXX is a UTF-16 unit as in Java: two of them may make one character. \+XXXXXX is a code point. */
static enum status unescape_unicode(struct piece *piece, char escape)
{
    const char *in = piece->token->text.bytes;
    size_t length = piece->token->text.length;
    for (size_t i = 0; i < length; i++) {
        uint32_t code_point, low;
        if (in[i] == '\'' && i + 1 < length) {
            piece->out[piece->length++] = in[i++];
        } else if (in[i] != escape) {
            piece->out[piece->length++] = in[i];
        } else if (i + 1 < length && in[i + 1] == escape) {
            piece->out[piece->length++] = in[i++];
        } else if (i + 1 < length && in[i + 1] == '+' && read_hex(in + i + 2, length - i - 2, 6, &code_point)) {
            TRY(put_code_point(piece, code_point));
            i += 7;
        } else if (read_hex(in + i + 1, length - i - 1, 4, &code_point)) {
            i += 4;
            if (code_point >= 0xd800 && code_point < 0xdc00 && i + 1 < length && in[i + 1] == escape &&
                read_hex(in + i + 2, length - i - 2, 4, &low) && low >= 0xdc00 && low < 0xe000) {
                code_point = 0x10000 + ((code_point - 0xd800) << 10) + (low - 0xdc00);
                i += 5;
            }
            TRY(put_code_point(piece, code_point));
        } else {
            return parser_error(piece->parser, &piece->token->at, ERROR_INVALID_LITERAL,
                                "'%c' in a Unicode literal must be followed by four hexadecimal digits", escape);
        }
    }
    return STATUS_OK;
}

/* E'..': C's escapes, octal and hexadecimal ones included. */
static enum status unescape_c(struct piece *piece)
{
    static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
    const char *in = piece->token->text.bytes;
    size_t length = piece->token->text.length;
    for (size_t i = 0; i < length; i++) {
        if (in[i] == '\'' && i + 1 < length) {
            piece->out[piece->length++] = in[i++];
            continue;
        }
        if (in[i] != '\\' || i + 1 >= length) {
            piece->out[piece->length++] = in[i];
            continue;
        }
        char c = in[++i];
        const char *name = c == '\0' ? NULL : strchr(names, c);
        uint32_t code_point = 0;
        if (name != NULL) {
            piece->out[piece->length++] = values[name - names];
        } else if ((c == 'u' && read_hex(in + i + 1, length - i - 1, 4, &code_point)) ||
                   (c == 'U' && read_hex(in + i + 1, length - i - 1, 8, &code_point))) {
            TRY(put_code_point(piece, code_point));
            i += c == 'u' ? 4 : 8;
        } else if (c == 'x' && i + 1 < length && hex_digit(in[i + 1]) >= 0) {
            for (size_t digits = 0; digits < 2 && i + 1 < length && hex_digit(in[i + 1]) >= 0; digits++) {
                code_point = code_point * 16 + (uint32_t)hex_digit(in[++i]);
            }
            TRY(put_code_point(piece, code_point));
        } else if (c >= '0' && c <= '7') {
            for (size_t digits = 0; digits < 3 && i < length && in[i] >= '0' && in[i] <= '7'; digits++) {
                code_point = code_point * 8 + (uint32_t)(in[i++] - '0');
            }
            i--;
            TRY(put_code_point(piece, code_point));
        } else {
            piece->out[piece->length++] = c;
        }
    }
    return STATUS_OK;
}

static void unescape_plain(struct piece *piece)
{
    const char *in = piece->token->text.bytes;
    for (size_t i = 0; i < piece->token->text.length; i++) {
        piece->out[piece->length++] = in[i];
        if (in[i] == '\'') {
            i++; /* doubled */
        }
    }
}

static enum status unescape(struct parser *parser, const struct token *token, char escape, struct text *text)
{
    struct piece piece = {.parser = parser, .token = token};
    /* no escape grows: the shortest for a character of 4 bytes is 8 long; \x80 gives 2 bytes for 4 */
    TRY(parser_allocate(parser, token->text.length + 5, &piece.out));
    if (token->kind == TOKEN_UNICODE) {
        TRY(unescape_unicode(&piece, escape));
    } else if (token->kind == TOKEN_ESCAPED) {
        TRY(unescape_c(&piece));
    } else {
        unescape_plain(&piece);
    }
    piece.out[piece.length] = '\0';
    *text = (struct text){piece.out, piece.length};
    return STATUS_OK;
}

/* 'a' on one line and 'b' on a later one are one literal; on the same line that is an error, as a comma is likely missing. */
static enum status append_continuations(struct parser *parser, struct text *text, uint32_t line, bool binary,
                                        enum status (*read)(struct parser *parser, struct text *text))
{
    while (parser_peek(parser, 0)->kind == TOKEN_STRING) {
        const struct token *token = parser_peek(parser, 0);
        struct text more;
        if (token->at.line == line) {
            return parser_error(parser, &token->at, ERROR_SYNTAX, "pieces of one %s literal must stand on separate lines",
                                binary ? "binary" : "text");
        }
        line = token->at.line;
        TRY(read(parser, &more));
        char *joined = arena_alloc(parser->arena, text->length + more.length + 1);
        if (joined == NULL) {
            return parser_no_room(parser);
        }
        memcpy(joined, text->bytes, text->length);
        memcpy(joined + text->length, more.bytes, more.length);
        *text = (struct text){joined, text->length + more.length};
    }
    return STATUS_OK;
}

static enum status read_plain(struct parser *parser, struct text *text)
{
    const struct token token = *parser_peek(parser, 0);
    parser_skip(parser, 1);
    return unescape(parser, &token, '\\', text);
}

static enum status read_escape_character(struct parser *parser, char *escape)
{
    *escape = '\\';
    if (!parser_accept(parser, "UESCAPE")) {
        return STATUS_OK;
    }
    const struct token *token = parser_peek(parser, 0);
    if (token->kind != TOKEN_STRING || token->text.length != 1 || (unsigned char)token->text.bytes[0] >= 0x80 ||
        strchr("\"'+ \t\n", token->text.bytes[0]) != NULL || hex_digit(token->text.bytes[0]) >= 0) {
        return parser_unexpected(parser, "one character in quotes that is no digit, letter a to f, quote, blank or '+'");
    }
    *escape = token->text.bytes[0];
    parser_skip(parser, 1);
    return STATUS_OK;
}

enum status parser_text_literal(struct parser *parser, struct text *text)
{
    const struct token token = *parser_peek(parser, 0);
    char escape = '\\';
    size_t valid = utf8_valid_length(token.text.bytes, token.text.length);
    if (valid < token.text.length) {
        return parser_error(parser, &token.at, ERROR_INVALID_LITERAL, "the text is not valid UTF-8 from its byte %zu on", valid + 1);
    }
    parser_skip(parser, 1);
    if (token.kind == TOKEN_UNICODE) {
        TRY(read_escape_character(parser, &escape));
    }
    TRY(unescape(parser, &token, escape, text));
    uint32_t line = token.at.line;
    for (size_t i = 0; i < token.text.length; i++) {
        line += token.text.bytes[i] == '\n';
    }
    return append_continuations(parser, text, line, false, read_plain);
}

static enum status read_binary(struct parser *parser, struct text *text)
{
    const struct token token = *parser_peek(parser, 0);
    char *bytes;
    if (token.text.length % 2 != 0) {
        return parser_error(parser, &token.at, ERROR_INVALID_LITERAL, "a binary literal needs an even number of hexadecimal digits");
    }
    TRY(parser_allocate(parser, token.text.length / 2 + 1, &bytes));
    for (size_t i = 0; i < token.text.length; i += 2) {
        uint32_t byte;
        if (!read_hex(token.text.bytes + i, 2, 2, &byte)) {
            return parser_error(parser, &token.at, ERROR_INVALID_LITERAL, "a binary literal holds hexadecimal digits only");
        }
        bytes[i / 2] = (char)byte;
    }
    *text = (struct text){bytes, token.text.length / 2};
    parser_skip(parser, 1);
    return STATUS_OK;
}

enum status parser_binary_literal(struct parser *parser, struct text *text)
{
    uint32_t line = parser_peek(parser, 0)->at.line;
    TRY(read_binary(parser, text));
    return append_continuations(parser, text, line, true, read_binary);
}

/* ---- intervals ---- */

bool parser_time_unit(struct parser *parser, const char **unit)
{
    static const char *const units[] = {"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"};
    const struct token *token = parser_peek(parser, 0);
    for (size_t i = 0; token->kind == TOKEN_WORD && i < ARRAY_LENGTH(units); i++) {
        size_t length = strlen(units[i]);
        if (strncmp(token->word, units[i], length) == 0 && (token->word[length] == '\0' || strcmp(token->word + length, "S") == 0)) {
            *unit = units[i];
            parser_skip(parser, 1);
            return true;
        }
    }
    return false;
}

static enum status small_integer(struct parser *parser, int32_t *value)
{
    int64_t wide;
    const struct position at = parser_start_position(parser);
    TRY(parser_integer(parser, &wide, "a whole number"));
    if (wide > 1000) {
        return parser_error(parser, &at, ERROR_INVALID_LITERAL, "the precision %lld is too large", (long long)wide);
    }
    *value = (int32_t)wide;
    return STATUS_OK;
}

/* unit [(p [, s])] [TO unit [(s)]] */
enum status parser_interval_qualifier(struct parser *parser, const char **from, const char **to, int32_t *precision, int32_t *scale)
{
    *precision = *scale = -1;
    *to = NULL;
    if (!parser_time_unit(parser, from)) {
        return parser_unexpected(parser, "a time unit (YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, ...)");
    }
    if (parser_accept(parser, "(")) {
        TRY(small_integer(parser, precision));
        if (strcmp(*from, "SECOND") == 0 && parser_accept(parser, ",")) {
            TRY(small_integer(parser, scale));
        }
        TRY(parser_expect(parser, ")"));
    }
    if (parser_accept(parser, "TO")) {
        if (!parser_time_unit(parser, to)) {
            return parser_unexpected(parser, "a time unit (MONTH, HOUR, MINUTE, SECOND)");
        }
        if (strcmp(*to, "SECOND") == 0 && parser_accept(parser, "(")) {
            TRY(small_integer(parser, scale));
            TRY(parser_expect(parser, ")"));
        }
    }
    return STATUS_OK;
}

enum status parser_interval(struct parser *parser, struct ast_expression **interval)
{
    struct ast_expression *node;
    const struct position at = parser->tokens[parser->next - 1].at;
    TRY(parser_expression_new(parser, AST_INTERVAL, at, &node));
    node->negative = parser_accept(parser, "-");
    if (!node->negative) {
        parser_accept(parser, "+");
    }
    const struct token *token = parser_peek(parser, 0);
    if (token->kind == TOKEN_NUMBER) { /* INTERVAL 5 DAY */
        node->text = (struct text){text_to_arena(parser->arena, token->text), token->text.length};
        if (node->text.bytes == NULL) {
            return parser_no_room(parser);
        }
        parser_skip(parser, 1);
    } else if (parser_at_text(parser)) {
        TRY(parser_text_literal(parser, &node->text));
    } else {
        return parser_unexpected(parser, "the interval's value in quotes");
    }
    TRY(parser_interval_qualifier(parser, &node->unit_from, &node->unit_to, &node->precision, &node->scale));
    *interval = node;
    return parser_expression_done(parser, node);
}
