/* sql/parser_core.h: what the files of the parser share: tokens ahead, lists, names, errors, and each other's entries.
 *
 * For         parser_*.c only.
 * Shape       A parse function reads what it is named after from the current token on and leaves the next token current.
 *             Functions named parser_at / parser_accept / parser_expect work on words and operators by their upper-case
 *             spelling. What was asked for and not found is remembered and becomes the "expected" list of the message.
 * Ownership   Everything made is in the arena.
 * Errors      In parser->err; the status says that there is one. No backtracking: the first error is the one reported.
 */
#ifndef SPATE_SQL_PARSER_CORE_H
#define SPATE_SQL_PARSER_CORE_H

#include "sql/lexer.h"
#include "sql/parser.h"

enum { EXPECTED_LIMIT = 40 };
struct parser {
    struct arena *arena;
    struct text sql;
    struct lexer lexer;
    struct token *tokens;
    uint32_t token_count, token_capacity, next; /* next: index of the current token */
    const char *expected[EXPECTED_LIMIT];       /* at the current token */
    uint32_t expected_count;
    uint32_t alias_token; /* index + 1 of the last word taken as an alias without AS, and what could have stood there */
    const char *alias_nearest;
    uint32_t depth;
    struct error *err;
};

/* fragment: the text is not that of a statement (struct position). */
enum status parser_start(struct parser *parser, struct arena *arena, struct text sql, size_t at, bool fragment, struct error *err);
/* The token `ahead` places after the current one (END at the end). The pointer holds until the next call. */
const struct token *parser_peek(struct parser *parser, uint32_t ahead);
void parser_skip(struct parser *parser, uint32_t tokens);
bool parser_sees(struct parser *parser, uint32_t ahead, const char *word); /* not remembered as expected */
bool parser_at(struct parser *parser, const char *word);
bool parser_at_pair(struct parser *parser, const char *first, const char *second);
bool parser_accept(struct parser *parser, const char *word);
bool parser_accept_pair(struct parser *parser, const char *first, const char *second);
enum status parser_expect(struct parser *parser, const char *word);
/* SYNTAX at the current token: what was expected (`what`, or NULL and the remembered words), what was found. */
enum status parser_unexpected(struct parser *parser, const char *what);
enum status parser_error(struct parser *parser, const struct position *at, enum error_code code, const char *format, ...) PRINTF_LIKE(4, 5);
enum status parser_no_room(struct parser *parser);
/* Every recursion goes through these two. */
enum status parser_enter(struct parser *parser);
void parser_leave(struct parser *parser);

struct position parser_start_position(struct parser *parser);                /* that of the current token */
void parser_end_position(struct parser *parser, struct position *at);        /* ends at the last token taken */
struct text parser_source(struct parser *parser, const struct position *at); /* the SQL of a node; bytes NULL: no room */

/* An array that grows in the arena. */
struct list {
    void *items;
    uint32_t count, capacity;
};
enum status parser_add(struct parser *parser, struct list *list, const void *item, size_t item_bytes);
enum status parser_allocate(struct parser *parser, size_t bytes, void *pointer_to_pointer);

bool parser_at_identifier(struct parser *parser);
enum status parser_identifier(struct parser *parser, const char **name, const char *what);
enum status parser_name(struct parser *parser, struct ast_name *name, const char *what);
/* ( a, b, c ) */
enum status parser_identifier_list(struct parser *parser, const char *const **names, uint32_t *count, const char *what);
enum status parser_string(struct parser *parser, const char **text, const char *what); /* a text literal; NUL refused */
enum status parser_integer(struct parser *parser, int64_t *value, const char *what);
/* ('k' = 'v', ...) */
enum status parser_options(struct parser *parser, const struct ast_option **options, uint32_t *count);
enum status parser_hints(struct parser *parser, const struct ast_hint **hints, uint32_t *count); /* if there are any */

/* parser_literal.c */
bool parser_at_text(struct parser *parser);
enum status parser_text_literal(struct parser *parser, struct text *text);
enum status parser_binary_literal(struct parser *parser, struct text *text);
bool parser_time_unit(struct parser *parser, const char **unit); /* singular, upper case */
enum status parser_interval_qualifier(struct parser *parser, const char **from, const char **to, int32_t *precision, int32_t *scale);
enum status parser_interval(struct parser *parser, struct ast_expression **interval); /* after INTERVAL */

/* parser_type.c */
enum status parser_type(struct parser *parser, const struct ast_type **type);

/* parser_expression.c */
enum status parser_expression(struct parser *parser, const struct ast_expression **expression);
enum status parser_expression_above(struct parser *parser, uint32_t precedence, const struct ast_expression **expression);
enum status parser_expression_list(struct parser *parser, const struct ast_expression *const **items, uint32_t *count);
enum status parser_expression_new(struct parser *parser, enum ast_expression_kind kind, struct position at,
                                  struct ast_expression **expression);
enum status parser_expression_done(struct parser *parser, struct ast_expression *expression); /* sets end and height */
enum status parser_expression_args(struct parser *parser, struct ast_expression *expression, const struct list *args);
enum {
    PRECEDENCE_OR = 22,
    PRECEDENCE_AND = 24,
    PRECEDENCE_NOT = 26,
    PRECEDENCE_IS = 28,
    PRECEDENCE_COMPARE = 30,
    PRECEDENCE_IN = 32,
    PRECEDENCE_ADD = 40,
    PRECEDENCE_MULTIPLY = 60,
    PRECEDENCE_UNARY = 80,
    PRECEDENCE_POSTFIX = 100
};

/* parser_primary.c */
enum status parser_primary(struct parser *parser, const struct ast_expression **expression);

/* parser_call.c */
/* At '(' after the name (already taken). */
enum status parser_call(struct parser *parser, struct position at, const struct ast_name *name, const struct ast_expression **call);
bool parser_is_special_call(struct parser *parser); /* at NAME ( with a syntax of its own */
enum status parser_special_call(struct parser *parser, const struct ast_expression **call);

/* parser_json.c: functions with clauses; NAME and '(' are taken, ')' is not */
enum status parser_json_exists(struct parser *parser, struct ast_expression *node, struct list *args);
enum status parser_json_value(struct parser *parser, struct ast_expression *node, struct list *args);
enum status parser_json_query(struct parser *parser, struct ast_expression *node, struct list *args);
enum status parser_json_object(struct parser *parser, struct ast_expression *node, struct list *args);
enum status parser_json_array(struct parser *parser, struct ast_expression *node, struct list *args);
enum status parser_named_argument(struct parser *parser, struct position at, const char *name, struct ast_expression **node);

/* parser_query.c */
enum status parser_query(struct parser *parser, const struct ast_query **query);
bool parser_at_query(struct parser *parser);      /* SELECT, VALUES, WITH, TABLE name */
bool parser_at_query_rest(struct parser *parser); /* UNION, ORDER BY, LIMIT, ... */
/* The rest of a query whose first operand (in parentheses) is already read. */
enum status parser_query_rest(struct parser *parser, const struct ast_query *first, const struct ast_query **query);
enum status parser_order_items(struct parser *parser, const struct ast_order_item **items, uint32_t *count); /* after ORDER BY */
enum status parser_window(struct parser *parser, const struct ast_window **window);                          /* at ( */

/* parser_from.c */
enum status parser_from(struct parser *parser, const struct ast_table **table);
enum status parser_alias(struct parser *parser, const char **alias); /* [AS] alias, or NULL */

/* parser_match.c */
enum status parser_match(struct parser *parser, const struct ast_match **match); /* at MATCH_RECOGNIZE */

/* parser_create.c */
struct create_words { /* CREATE [OR REPLACE | OR ALTER] [TEMPORARY [SYSTEM]] */
    struct position at;
    bool or_replace, or_alter, temporary, system;
};
/* What stands between the parentheses of CREATE TABLE and ALTER TABLE ADD: columns, constraint, watermark. */
struct schema_parts {
    bool types_optional, altering; /* altering: columns may be nested and have a place */
    struct list columns;           /* struct ast_column_def */
    struct list places;            /* struct ast_column_place, one per column when altering */
    struct list primary_key;       /* const char * */
    const char *constraint_name;
    bool enforced_missing;
    const char *watermark_column;
    const struct ast_expression *watermark;
    struct text watermark_sql;
    struct position watermark_at;
};
enum status parser_schema(struct parser *parser, struct schema_parts *parts); /* in parentheses */
enum status parser_schema_element(struct parser *parser, struct schema_parts *parts);
enum status parser_distribution(struct parser *parser, struct ast_distribution *distribution); /* after DISTRIBUTED */
enum status parser_replace_table(struct parser *parser, struct ast_statement *statement);
enum status parser_if_not_exists(struct parser *parser, bool *given);
enum status parser_comment(struct parser *parser, const char **comment); /* if there is one */

/* parser_show.c, parser_statement.c, parser_other.c */
enum status parser_small_statement(struct parser *parser, struct ast_statement *statement, bool *found);
/* PARTITION (k [= literal], ...): values as SQL, NULL where there is none */
enum status parser_partition(struct parser *parser, const struct ast_option **partition, uint32_t *count);
enum status parser_partition_values(struct parser *parser, const struct ast_option **keys, const struct ast_expression *const **values,
                                    uint32_t *count);
enum status parser_other(struct parser *parser, struct ast_statement *statement);
enum status parser_create_other(struct parser *parser, const struct create_words *words, struct ast_statement *statement);
enum status parser_create(struct parser *parser, struct ast_statement *statement);
enum status parser_show(struct parser *parser, struct ast_statement *statement);
enum status parser_bare_statement_set(struct parser *parser, const struct ast_statement **statement);
enum status parser_statement(struct parser *parser, const struct ast_statement **statement);

#endif
