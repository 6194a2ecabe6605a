/* sql/parser_other.h: the parsers of statements of kind OTHER, by what follows their words.
 *
 * For         parser_other.c, which knows the words; parser_alter.c, parser_change.c, parser_command.c, parser_object.c.
 * Shape       The statement's words are taken; each sets statement->other.
 */
#ifndef SPATE_SQL_PARSER_OTHER_H
#define SPATE_SQL_PARSER_OTHER_H

#include "sql/ast_other.h"
#include "sql/parser_core.h"

typedef enum status parser_other_fn(struct parser *parser, struct ast_statement *statement);
parser_other_fn parser_alter_table, parser_alter_view, parser_alter_options, parser_alter_function;
parser_other_fn parser_update, parser_delete, parser_truncate;
parser_other_fn parser_compile_plan, parser_execute_plan;
parser_other_fn parser_jar, parser_stop_job, parser_call_procedure, parser_analyze, parser_module;

typedef enum status parser_object_fn(struct parser *parser, struct ast_create_object *object);
parser_object_fn parser_create_options, parser_create_function, parser_create_model, parser_create_materialized;

enum status parser_freshness(struct parser *parser, const struct ast_expression **freshness);             /* after FRESHNESS */
enum status parser_refresh_mode(struct parser *parser, const char **mode);                                /* after REFRESH_MODE */
enum status parser_function_class(struct parser *parser, const char **class_name, const char **language); /* AS 'c' [LANGUAGE l] */

#endif
