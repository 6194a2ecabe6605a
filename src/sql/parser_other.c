/* Statements of kind OTHER: known by name, so that they are refused by name; what follows the name is taken up to the end of the
 * statement as written. */
#include <string.h>

#include "sql/ast_other.h"
#include "sql/parser_core.h"

static const char *const names[][4] = {
    {"ALTER", "CATALOG"},       {"ALTER", "CONNECTION"},      {"ALTER", "DATABASE"},       {"ALTER", "FUNCTION"},
    {"ALTER", "MATERIALIZED", "TABLE"}, {"ALTER", "MODEL"},   {"ALTER", "TABLE"},          {"ALTER", "VIEW"},
    {"ALTER", "TEMPORARY", "FUNCTION"}, {"ALTER", "TEMPORARY", "SYSTEM", "FUNCTION"},
    {"ADD", "JAR"},             {"ANALYZE", "TABLE"},         {"CALL"},                    {"COMPILE", "AND", "EXECUTE", "PLAN"},
    {"COMPILE", "PLAN"},        {"DELETE"},                   {"EXECUTE", "PLAN"},         {"LOAD", "MODULE"},
    {"REMOVE", "JAR"},          {"STOP", "JOB"},              {"TRUNCATE", "TABLE"},       {"UNLOAD", "MODULE"},
    {"UPDATE"},                 {"REPLACE", "TABLE"},
};
static const char *const created[][2] = {{"CATALOG"}, {"CONNECTION"}, {"DATABASE"}, {"FUNCTION"}, {"MATERIALIZED", "TABLE"}, {"MODEL"}};

/* The tokens up to ';' or the end; quotes and comments are the lexer's. */
static enum status rest(struct parser *parser, struct ast_statement *statement)
{
    struct ast_other *other;
    TRY(parser_allocate(parser, sizeof *other, &other));
    while (!parser_sees(parser, 0, ";") && parser_peek(parser, 0)->kind != TOKEN_END) {
        if (parser_peek(parser, 0)->kind == TOKEN_BAD) {
            return parser_unexpected(parser, NULL);
        }
        parser_skip(parser, 1);
    }
    parser_end_position(parser, &statement->at);
    other->sql = parser_source(parser, &statement->at);
    statement->kind = AST_STATEMENT_OTHER;
    statement->other = other;
    return other->sql.bytes == NULL ? parser_no_room(parser) : STATUS_OK;
}

/* How many of the words stand here; 0: not all of them. */
static uint32_t words_here(struct parser *parser, const char *const *words, uint32_t limit)
{
    uint32_t count = 0;
    while (count < limit && words[count] != NULL && parser_sees(parser, count, words[count])) {
        count++;
    }
    return count < limit && words[count] != NULL ? 0 : count;
}

static enum status named(struct parser *parser, const char *first, const char *const *words, uint32_t count, struct ast_statement *statement)
{
    struct text_builder name = {0};
    text_append_text(&name, first);
    for (uint32_t i = 0; i < count; i++) {
        text_append_format(&name, "%s%s", name.length > 0 ? " " : "", words[i]);
    }
    statement->words = name.failed ? NULL : arena_text(parser->arena, name.bytes, name.length);
    text_builder_close(&name);
    return statement->words == NULL ? parser_no_room(parser) : rest(parser, statement);
}

enum status parser_other(struct parser *parser, struct ast_statement *statement)
{
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        uint32_t count = words_here(parser, names[i], 4);
        if (count > 0) {
            return named(parser, "", names[i], count, statement);
        }
    }
    return parser_unexpected(parser, "a statement");
}

/* CREATE [OR REPLACE] [TEMPORARY [SYSTEM]] is taken. */
enum status parser_create_other(struct parser *parser, const struct create_words *words, struct ast_statement *statement)
{
    statement->at = words->at;
    for (size_t i = 0; i < ARRAY_LENGTH(created); i++) {
        uint32_t count = words_here(parser, created[i], 2);
        if (count > 0) {
            return named(parser, "CREATE", created[i], count, statement);
        }
        parser_at(parser, created[i][0]); /* for the message */
    }
    return parser_unexpected(parser, NULL);
}
