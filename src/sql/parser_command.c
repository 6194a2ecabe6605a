/* Plans, jars, jobs, procedures, statistics, modules. */
#include <string.h>

#include "sql/parser_other.h"

static enum status plan_new(struct parser *parser, struct ast_statement *statement, struct ast_plan **plan)
{
    TRY(parser_allocate(parser, sizeof **plan, plan));
    **plan = (struct ast_plan){.at = statement->at};
    statement->other = *plan;
    return parser_string(parser, &(*plan)->path, "the plan's path in quotes");
}

enum status parser_compile_plan(struct parser *parser, struct ast_statement *statement)
{
    struct ast_plan *plan;
    TRY(plan_new(parser, statement, &plan));
    TRY(parser_if_not_exists(parser, &plan->if_not_exists));
    TRY(parser_expect(parser, "FOR"));
    if (!parser_at(parser, "INSERT") && !parser_at_pair(parser, "STATEMENT", "SET")) {
        return parser_unexpected(parser, NULL);
    }
    TRY(parser_at(parser, "INSERT") ? parser_statement(parser, &plan->statement) : parser_bare_statement_set(parser, &plan->statement));
    parser_end_position(parser, &plan->at);
    return STATUS_OK;
}

enum status parser_execute_plan(struct parser *parser, struct ast_statement *statement)
{
    struct ast_plan *plan;
    TRY(plan_new(parser, statement, &plan));
    parser_end_position(parser, &plan->at);
    return STATUS_OK;
}

static enum status command_new(struct parser *parser, struct ast_statement *statement, struct ast_command **command)
{
    TRY(parser_allocate(parser, sizeof **command, command));
    **command = (struct ast_command){.at = statement->at};
    statement->other = *command;
    return STATUS_OK;
}

static enum status command_done(struct parser *parser, struct ast_command *command)
{
    parser_end_position(parser, &command->at);
    return STATUS_OK;
}

enum status parser_jar(struct parser *parser, struct ast_statement *statement)
{
    struct ast_command *command;
    TRY(command_new(parser, statement, &command));
    TRY(parser_string(parser, &command->text, "a path in quotes"));
    return command_done(parser, command);
}

enum status parser_stop_job(struct parser *parser, struct ast_statement *statement)
{
    struct ast_command *command;
    TRY(command_new(parser, statement, &command));
    TRY(parser_string(parser, &command->text, "a job's id in quotes"));
    command->with_savepoint = parser_accept_pair(parser, "WITH", "SAVEPOINT");
    command->with_drain = parser_accept_pair(parser, "WITH", "DRAIN");
    return command_done(parser, command);
}

enum status parser_call_procedure(struct parser *parser, struct ast_statement *statement)
{
    struct ast_command *command;
    TRY(command_new(parser, statement, &command));
    TRY(parser_expression_above(parser, PRECEDENCE_POSTFIX + 1, &command->call));
    if (command->call->kind != AST_CALL) {
        return parser_error(parser, &command->call->at, ERROR_SYNTAX, "expected a call of a procedure");
    }
    return command_done(parser, command);
}

/* ANALYZE TABLE t [PARTITION (..)] COMPUTE STATISTICS [FOR COLUMNS a, b | FOR ALL COLUMNS] */
enum status parser_analyze(struct parser *parser, struct ast_statement *statement)
{
    struct ast_command *command;
    struct list columns = {0};
    TRY(command_new(parser, statement, &command));
    TRY(parser_name(parser, &command->name, "the table's name"));
    if (parser_at(parser, "PARTITION")) {
        TRY(parser_partition(parser, &command->partition, &command->partition_count));
    }
    TRY(parser_expect(parser, "COMPUTE"));
    TRY(parser_expect(parser, "STATISTICS"));
    if (!parser_accept(parser, "FOR")) {
        return command_done(parser, command);
    }
    command->all_columns = parser_accept(parser, "ALL");
    TRY(parser_expect(parser, "COLUMNS"));
    do {
        const char *name;
        if (command->all_columns) {
            return command_done(parser, command);
        }
        TRY(parser_identifier(parser, &name, "a column's name"));
        TRY(parser_add(parser, &columns, &name, sizeof name));
    } while (parser_accept(parser, ","));
    command->columns = columns.items;
    command->column_count = columns.count;
    return command_done(parser, command);
}

enum status parser_module(struct parser *parser, struct ast_statement *statement)
{
    struct ast_command *command;
    TRY(command_new(parser, statement, &command));
    TRY(parser_name(parser, &command->name, "a module's name"));
    if (strcmp(statement->words, "LOAD MODULE") == 0 && parser_accept(parser, "WITH")) {
        TRY(parser_options(parser, &command->options, &command->option_count));
    }
    return command_done(parser, command);
}
