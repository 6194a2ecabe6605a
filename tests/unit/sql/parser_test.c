#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sql/ast_match.h"
#include "sql/parser.h"

static struct budget budget;
static struct arena *arena;
static struct error err;

static int set_up(void **state)
{
    (void)state;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "test");
    return arena == NULL;
}
static int tear_down(void **state)
{
    (void)state;
    arena_destroy(arena);
    return 0;
}

static const struct ast_expression *expression(const char *sql)
{
    const struct ast_expression *parsed = NULL;
    if (sql_parse_expression(arena, text_from(sql), &parsed, &err) != STATUS_OK) {
        fail_msg("%s: %s", sql, err.text);
    }
    return parsed;
}
static const struct ast_statement *statement(const char *sql)
{
    const struct ast_statement *parsed = NULL;
    size_t next;
    if (sql_parse_statement(arena, text_from(sql), 0, &parsed, &next, &err) != STATUS_OK) {
        fail_msg("%s: %s", sql, err.text);
    }
    return parsed;
}
static void fails(const char *sql, uint32_t line, uint32_t column, const char *part)
{
    const struct ast_statement *parsed;
    size_t next;
    assert_int_not_equal(sql_parse_statement(arena, text_from(sql), 0, &parsed, &next, &err), STATUS_OK);
    assert_int_equal(err.line, line);
    assert_int_equal(err.column, column);
    if (strstr(err.text, part) == NULL) {
        fail_msg("%s: '%s' does not hold '%s'", sql, err.text, part);
    }
}

static void multiplication_binds_tighter_than_addition_and_comparison_tighter_than_and(void **state)
{
    (void)state;
    const struct ast_expression *e = expression("a + b * 2 = c AND NOT d OR e");
    assert_string_equal(e->op, "OR");
    assert_string_equal(e->args[0]->op, "AND");
    assert_string_equal(e->args[0]->args[0]->op, "=");
    assert_string_equal(e->args[0]->args[0]->args[0]->op, "+");
    assert_string_equal(e->args[0]->args[0]->args[0]->args[1]->op, "*");
    assert_string_equal(e->args[0]->args[1]->op, "NOT");
}

static void is_null_binds_less_than_comparison(void **state)
{
    (void)state;
    const struct ast_expression *e = expression("a = b IS NULL");
    assert_string_equal(e->op, "IS NULL");
    assert_string_equal(e->args[0]->op, "=");
}

static void a_chain_of_and_is_one_node(void **state)
{
    (void)state;
    const struct ast_expression *e = expression("a AND b AND c AND d");
    assert_int_equal(e->arg_count, 4);
}

static void positions_count_lines_and_columns_from_one(void **state)
{
    (void)state;
    const struct ast_query *query;
    assert_int_equal(sql_parse_query(arena, TEXT("SELECT a,\n  b + 1 FROM t"), &query, &err), STATUS_OK);
    const struct ast_expression *second = query->items[1].expression;
    assert_int_equal(second->at.line, 2);
    assert_int_equal(second->at.column, 3);
    assert_int_equal(second->at.offset, 12);
    assert_int_equal(second->at.end, 17);
}

static void an_error_names_the_place_what_was_expected_and_a_near_keyword(void **state)
{
    (void)state;
    fails("SELECT a FORM t", 1, 10, "did you mean FROM?");
    fails("SELECT a\nFROM", 2, 5, "found the end of the statement");
    fails("CREATE TABLE t (a INT b INT)", 1, 23, "found 'b'");
    fails("SELECT 'abc", 1, 8, "does not end");
    fails("SELECT 'a' 'b'", 1, 12, "separate lines");
}

static void literals_are_unescaped(void **state)
{
    (void)state;
    assert_string_equal(expression("'it''s'")->text.bytes, "it's");
    assert_string_equal(expression("U&'\\00e9'")->text.bytes, "\xc3\xa9");
    assert_string_equal(expression("U&'#00e9' UESCAPE '#'")->text.bytes, "\xc3\xa9");
    assert_string_equal(expression("E'a\\tb'")->text.bytes, "a\tb");
    assert_string_equal(expression("'p'\n'q'")->text.bytes, "pq");
    assert_int_equal(expression("X'00ff'")->text.length, 2);
    assert_string_equal(expression("INTERVAL '1' DAY TO SECOND(3)")->unit_to, "SECOND");
}

static void nesting_past_the_limit_is_refused(void **state)
{
    (void)state;
    char sql[2 * 1000 + 2];
    memset(sql, '(', 1000);
    sql[1000] = '1';
    memset(sql + 1001, ')', 1000);
    sql[2001] = '\0';
    const struct ast_expression *parsed;
    assert_int_equal(sql_parse_expression(arena, text_from(sql), &parsed, &err), STATUS_LIMIT);
    assert_int_equal(err.code, ERROR_TOO_DEEP);
}

static void a_table_keeps_columns_key_watermark_and_options(void **state)
{
    (void)state;
    const struct ast_statement *s =
        statement("CREATE TABLE t (a INT NOT NULL, b AS a + 1, c STRING METADATA FROM 'k' VIRTUAL, ts TIMESTAMP(3),"
                  " WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'x')");
    assert_int_equal(s->kind, AST_STATEMENT_CREATE_TABLE);
    assert_int_equal(s->create_table.column_count, 4);
    assert_false(s->create_table.columns[0].type->nullable);
    assert_string_equal(s->create_table.columns[1].expression_sql.bytes, "a + 1");
    assert_string_equal(s->create_table.columns[2].metadata_key, "k");
    assert_string_equal(s->create_table.watermark_column, "ts");
    assert_string_equal(s->create_table.primary_key[0], "a");
    assert_string_equal(s->create_table.options[0].value, "x");
}

static void match_recognize_keeps_its_pattern(void **state)
{
    (void)state;
    const struct ast_statement *s = statement("SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY u ORDER BY ts MEASURES A.x AS x"
                                              " AFTER MATCH SKIP TO LAST B PATTERN (A (B | C)+? D{2,3}) DEFINE B AS B.v > 1)");
    const struct ast_match *match = s->query->from->match;
    assert_int_equal(match->pattern->child_count, 3);
    assert_true(match->pattern->children[1]->reluctant);
    assert_int_equal(match->pattern->children[2]->maximum, 3);
    assert_string_equal(match->skip_variable, "B");
}

static void statements_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        enum ast_statement_kind kind;
    } cases[] = {
        {"VALUES (1, 2)", AST_STATEMENT_QUERY},
        {"((SELECT 1) UNION ALL (SELECT 2)) ORDER BY 1 LIMIT 3", AST_STATEMENT_QUERY},
        {"INSERT INTO t PARTITION (p = 1) (a, b) SELECT 1, 2", AST_STATEMENT_INSERT},
        {"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END", AST_STATEMENT_STATEMENT_SET},
        {"BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END;", AST_STATEMENT_STATEMENT_SET},
        {"EXPLAIN CHANGELOG_MODE SELECT 1", AST_STATEMENT_EXPLAIN},
        {"CREATE TEMPORARY VIEW v (a) AS SELECT 1", AST_STATEMENT_CREATE_VIEW},
        {"DROP TABLE IF EXISTS t", AST_STATEMENT_DROP},
        {"SHOW FULL TABLES FROM d LIKE 'x%'", AST_STATEMENT_SHOW},
        {"DESC t", AST_STATEMENT_DESCRIBE},
        {"USE CATALOG c", AST_STATEMENT_USE},
        {"SET 'a' = 'b'", AST_STATEMENT_SET},
        {"RESET", AST_STATEMENT_RESET},
        {"ALTER TABLE t RENAME TO u", AST_STATEMENT_OTHER},
        {"CREATE DATABASE d", AST_STATEMENT_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(statement(cases[i].sql)->kind, cases[i].kind);
    }
}

static void any_bytes_give_a_tree_or_an_error(void **state)
{
    (void)state;
    static const char sql[] =
        "SELECT a.b[1], CASE x WHEN 1 THEN 'q' END, /*+ h('k'='v') */ `w` FROM (VALUES (1)) AS t(a) WHERE x IN (SELECT 1)";
    char bytes[sizeof sql];
    for (size_t cut = 0; cut < sizeof sql; cut++) {
        for (int byte = 0; byte < 256; byte += 17) {
            const struct ast_statement *parsed;
            size_t next;
            memcpy(bytes, sql, sizeof sql);
            bytes[cut] = (char)byte;
            (void)!sql_parse_statement(arena, (struct text){bytes, sizeof sql - 1}, 0, &parsed, &next, &err);
            (void)!sql_parse_statement(arena, (struct text){bytes, cut}, 0, &parsed, &next, &err);
            arena_reset(arena);
        }
    }
}

static void text_is_utf8_and_may_begin_with_its_mark(void **state)
{
    (void)state;
    statement("\xef\xbb\xbfSELECT 1");
    fails("\xef\xbb\xbfSELECT a FORM t", 1, 10, "did you mean FROM?");
    fails("SELECT 1 AS b\xff", 1, 13, "not valid UTF-8");
    fails("SELECT\n `\xc3` FROM t", 2, 2, "not valid UTF-8");
    fails("SELECT '\xff'", 1, 8, "not valid UTF-8");
    statement("SELECT 1 AS \xc3\xa4 -- \xff");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiplication_binds_tighter_than_addition_and_comparison_tighter_than_and),
        cmocka_unit_test(is_null_binds_less_than_comparison),
        cmocka_unit_test(a_chain_of_and_is_one_node),
        cmocka_unit_test(positions_count_lines_and_columns_from_one),
        cmocka_unit_test(an_error_names_the_place_what_was_expected_and_a_near_keyword),
        cmocka_unit_test(literals_are_unescaped),
        cmocka_unit_test(nesting_past_the_limit_is_refused),
        cmocka_unit_test(a_table_keeps_columns_key_watermark_and_options),
        cmocka_unit_test(match_recognize_keeps_its_pattern),
        cmocka_unit_test(statements_are_told_apart),
        cmocka_unit_test(text_is_utf8_and_may_begin_with_its_mark),
        cmocka_unit_test(any_bytes_give_a_tree_or_an_error),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
