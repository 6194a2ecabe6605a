/* Statements of kind OTHER: which words begin them, and who reads the rest. They are refused by name when bound. */
#include <string.h>

#include "sql/parser_other.h"

static const struct {
    const char *words[4];
    parser_other_fn *parse;
} statements[] = {
    {{"ALTER", "CATALOG"}, parser_alter_options},
    {{"ALTER", "CONNECTION"}, parser_alter_options},
    {{"ALTER", "DATABASE"}, parser_alter_options},
    {{"ALTER", "FUNCTION"}, parser_alter_function},
    {{"ALTER", "MATERIALIZED", "TABLE"}, parser_alter_table},
    {{"ALTER", "MODEL"}, parser_alter_options},
    {{"ALTER", "TABLE"}, parser_alter_table},
    {{"ALTER", "VIEW"}, parser_alter_view},
    {{"ALTER", "TEMPORARY", "FUNCTION"}, parser_alter_function},
    {{"ALTER", "TEMPORARY", "SYSTEM", "FUNCTION"}, parser_alter_function},
    {{"ADD", "JAR"}, parser_jar},
    {{"ANALYZE", "TABLE"}, parser_analyze},
    {{"CALL"}, parser_call_procedure},
    {{"COMPILE", "AND", "EXECUTE", "PLAN"}, parser_compile_plan},
    {{"COMPILE", "PLAN"}, parser_compile_plan},
    {{"DELETE"}, parser_delete},
    {{"EXECUTE", "PLAN"}, parser_execute_plan},
    {{"LOAD", "MODULE"}, parser_module},
    {{"REMOVE", "JAR"}, parser_jar},
    {{"REPLACE", "TABLE"}, parser_replace_table},
    {{"STOP", "JOB"}, parser_stop_job},
    {{"TRUNCATE", "TABLE"}, parser_truncate},
    {{"UNLOAD", "MODULE"}, parser_module},
    {{"UPDATE"}, parser_update},
};
static const struct {
    const char *words[2];
    parser_object_fn *parse;
} objects[] = {
    {{"CATALOG"}, parser_create_options},  {{"CONNECTION"}, parser_create_options},
    {{"DATABASE"}, parser_create_options}, {{"FUNCTION"}, parser_create_function},
    {{"MODEL"}, parser_create_model},      {{"MATERIALIZED", "TABLE"}, parser_create_materialized},
};

/* How many of the words stand here; 0: not all of them. */
static uint32_t words_here(struct parser *parser, const char *const *words, uint32_t limit)
{
    uint32_t count = 0;
    while (count < limit && words[count] != NULL && parser_sees(parser, count, words[count])) {
        count++;
    }
    return count < limit && words[count] != NULL ? 0 : count;
}

static enum status name_statement(struct parser *parser, const char *first, const char *const *words, uint32_t count,
                                  struct ast_statement *statement)
{
    struct text_builder name = {0};
    text_append_text(&name, first);
    for (uint32_t i = 0; i < count; i++) {
        text_append_format(&name, "%s%s", name.length > 0 ? " " : "", words[i]);
    }
    statement->words = name.failed ? NULL : arena_text(parser->arena, name.bytes, name.length);
    text_builder_close(&name);
    statement->kind = AST_STATEMENT_OTHER;
    parser_skip(parser, count);
    return statement->words == NULL ? parser_no_room(parser) : STATUS_OK;
}

enum status parser_other(struct parser *parser, struct ast_statement *statement)
{
    for (size_t i = 0; i < ARRAY_LENGTH(statements); i++) {
        uint32_t count = words_here(parser, statements[i].words, 4);
        if (count > 0) {
            TRY(name_statement(parser, "", statements[i].words, count, statement));
            return statements[i].parse(parser, statement);
        }
    }
    return parser_unexpected(parser, "a statement");
}

/* CREATE [OR REPLACE | OR ALTER] [TEMPORARY [SYSTEM]] is taken. */
enum status parser_create_other(struct parser *parser, const struct create_words *words, struct ast_statement *statement)
{
    struct ast_create_object *object;
    statement->at = words->at;
    TRY(parser_allocate(parser, sizeof *object, &object));
    *object = (struct ast_create_object){.at = words->at,
                                         .or_replace = words->or_replace,
                                         .or_alter = words->or_alter,
                                         .temporary = words->temporary,
                                         .system = words->system};
    for (size_t i = 0; i < ARRAY_LENGTH(objects); i++) {
        uint32_t count = words_here(parser, objects[i].words, 2);
        if (count > 0) {
            TRY(name_statement(parser, "CREATE", objects[i].words, count, statement));
            statement->other = object;
            TRY(parser_if_not_exists(parser, &object->if_not_exists));
            TRY(parser_name(parser, &object->name, "a name"));
            TRY(objects[i].parse(parser, object));
            parser_end_position(parser, &object->at);
            return STATUS_OK;
        }
        parser_at(parser, objects[i].words[0]); /* for the message */
    }
    return parser_unexpected(parser, NULL);
}
