#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "sql/ast_other.h"
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

static const struct ast_statement *statement(const char *sql)
{
    const struct ast_statement *parsed = NULL;
    size_t next;
    if (sql_parse_statement(arena, text_from(sql), 0, &parsed, &next, &err) != STATUS_OK) {
        fail_msg("%s: %s", sql, err.text);
    }
    assert_int_equal(next, strlen(sql));
    return parsed;
}
static const struct ast_alter *alter(const char *sql, enum ast_alter_kind kind)
{
    const struct ast_alter *parsed = statement(sql)->other;
    assert_int_equal(parsed->kind, kind);
    return parsed;
}

static void every_statement_is_read_whole_and_keeps_its_name(void **state)
{
    static const char *const cases[][2] = {
        {"ALTER TABLE", "ALTER TABLE t ADD (a INT FIRST, b AS a + 1 AFTER a, PRIMARY KEY (a) NOT ENFORCED, WATERMARK FOR ts AS ts);"},
        {"ALTER TABLE", "ALTER TABLE c.d.t DROP PARTITION (p = 1)"},
        {"ALTER TABLE", "ALTER TABLE t ADD IF NOT EXISTS PARTITION (p = 'x') WITH ('k' = 'v')"},
        {"ALTER VIEW", "ALTER VIEW v AS SELECT 1"},
        {"ALTER DATABASE", "ALTER DATABASE d SET ('k' = 'v')"},
        {"ALTER CATALOG", "ALTER CATALOG c COMMENT 'x'"},
        {"ALTER CONNECTION", "ALTER CONNECTION IF EXISTS c RESET ('k')"},
        {"ALTER MODEL", "ALTER MODEL m RENAME TO n"},
        {"ALTER FUNCTION", "ALTER FUNCTION f AS 'x.Y' LANGUAGE JAVA"},
        {"ALTER TEMPORARY SYSTEM FUNCTION", "ALTER TEMPORARY SYSTEM FUNCTION f AS 'x.Y'"},
        {"ALTER MATERIALIZED TABLE", "ALTER MATERIALIZED TABLE m SET FRESHNESS = INTERVAL '1' HOUR"},
        {"ALTER MATERIALIZED TABLE", "ALTER MATERIALIZED TABLE m RESUME WITH ('k' = 'v')"},
        {"CREATE CATALOG", "CREATE CATALOG IF NOT EXISTS c COMMENT 'x' WITH ('type' = 'y')"},
        {"CREATE DATABASE", "CREATE DATABASE c.d"},
        {"CREATE CONNECTION", "CREATE TEMPORARY CONNECTION c WITH ('k' = 'v')"},
        {"CREATE FUNCTION", "CREATE TEMPORARY FUNCTION f AS 'x.Y' LANGUAGE SCALA USING JAR 'a.jar', JAR 'b.jar'"},
        {"CREATE MODEL", "CREATE MODEL m INPUT (a STRING) OUTPUT (b DOUBLE) WITH ('provider' = 'p')"},
        {"CREATE MATERIALIZED TABLE", "CREATE OR ALTER MATERIALIZED TABLE m PARTITIONED BY (a) WITH ('k' = 'v') FRESHNESS = INTERVAL '30' "
                                      "SECOND REFRESH_MODE = FULL AS SELECT 1 AS a"},
        {"UPDATE", "UPDATE t SET a = a + 1, b = DEFAULT WHERE c = 3"},
        {"DELETE", "DELETE FROM t WHERE a IN (SELECT b FROM u)"},
        {"TRUNCATE TABLE", "TRUNCATE TABLE t"},
        {"COMPILE PLAN", "COMPILE PLAN '/p.json' IF NOT EXISTS FOR INSERT INTO t SELECT 1"},
        {"COMPILE PLAN", "COMPILE PLAN '/p.json' FOR STATEMENT SET BEGIN INSERT INTO t SELECT 1; END"},
        {"COMPILE AND EXECUTE PLAN", "COMPILE AND EXECUTE PLAN '/p.json' FOR INSERT INTO t SELECT 1"},
        {"EXECUTE PLAN", "EXECUTE PLAN '/p.json'"},
        {"STOP JOB", "STOP JOB 'id' WITH SAVEPOINT WITH DRAIN"},
        {"CALL", "CALL c.d.p(1, x => 'y')"},
        {"ANALYZE TABLE", "ANALYZE TABLE t PARTITION (p = 1, q) COMPUTE STATISTICS FOR COLUMNS a, b"},
        {"LOAD MODULE", "LOAD MODULE hive WITH ('version' = '3')"},
        {"UNLOAD MODULE", "UNLOAD MODULE hive"},
        {"ADD JAR", "ADD JAR '/x.jar'"},
        {"REMOVE JAR", "REMOVE JAR '/x.jar'"},
        {"REPLACE TABLE", "REPLACE TABLE t WITH ('connector' = 'x') AS SELECT 1 AS a"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct ast_statement *parsed = statement(cases[i][1]);
        assert_int_equal(parsed->kind, AST_STATEMENT_OTHER);
        assert_string_equal(parsed->words, cases[i][0]);
    }
}

static void alter_table_tells_its_actions_apart(void **state)
{
    (void)state;
    const struct ast_alter *node = alter("ALTER TABLE IF EXISTS a.t RENAME TO b", AST_ALTER_RENAME);
    assert_true(node->if_exists);
    assert_int_equal(node->name.count, 2);
    assert_string_equal(node->new_name.parts[0], "b");
    node = alter("ALTER TABLE t RENAME a TO b", AST_ALTER_RENAME_COLUMN);
    assert_string_equal(node->column.parts[0], "a");
    node = alter("ALTER TABLE t RESET ('a', 'b')", AST_ALTER_RESET);
    assert_int_equal(node->option_count, 2);
    assert_string_equal(node->options[1].key, "b");
    assert_int_equal(alter("ALTER TABLE t SET ('a' = 'b')", AST_ALTER_SET)->option_count, 1);
    assert_int_equal(alter("ALTER TABLE t DROP (a, b)", AST_ALTER_DROP_COLUMNS)->drop_count, 2);
    alter("ALTER TABLE t DROP PRIMARY KEY", AST_ALTER_DROP_PRIMARY_KEY);
    alter("ALTER TABLE t DROP WATERMARK", AST_ALTER_DROP_WATERMARK);
    alter("ALTER TABLE t DROP CONSTRAINT pk", AST_ALTER_DROP_CONSTRAINT);
    alter("ALTER TABLE t DROP DISTRIBUTION", AST_ALTER_DROP_DISTRIBUTION);
    node = alter("ALTER TABLE t MODIFY DISTRIBUTION BY HASH (a) INTO 4 BUCKETS", AST_ALTER_MODIFY);
    assert_int_equal(node->distribution->buckets, 4);
}

static void columns_added_have_their_places(void **state)
{
    (void)state;
    const struct ast_alter *node = alter("ALTER TABLE t ADD (a INT FIRST, b AS a + 1 AFTER c, d STRING COMMENT 'x')", AST_ALTER_ADD);
    assert_int_equal(node->column_count, 3);
    assert_true(node->places[0].first);
    assert_string_equal(node->places[1].after.parts[0], "c");
    assert_int_equal(node->places[2].after.count, 0);
    assert_string_equal(node->columns[2].comment, "x");
    node = alter("ALTER TABLE t ADD WATERMARK FOR ts AS ts - INTERVAL '1' SECOND", AST_ALTER_ADD);
    assert_string_equal(node->watermark_column, "ts");
}

static void update_has_assignments_and_a_condition(void **state)
{
    (void)state;
    const struct ast_change *node = statement("UPDATE t SET a = 1, b = b || 'x' WHERE c")->other;
    assert_int_equal(node->assignment_count, 2);
    assert_string_equal(node->assignments[1].column.parts[0], "b");
    assert_int_equal(node->where->kind, AST_COLUMN);
    assert_null(((const struct ast_change *)statement("DELETE FROM t")->other)->where);
}

static void objects_created_keep_their_clauses(void **state)
{
    (void)state;
    const struct ast_create_object *node = statement("CREATE TEMPORARY SYSTEM FUNCTION IF NOT EXISTS f AS 'x.Y' USING JAR 'a.jar'")->other;
    assert_true(node->temporary && node->system && node->if_not_exists);
    assert_string_equal(node->class_name, "x.Y");
    assert_string_equal(node->jars[0], "a.jar");
    node = statement("CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = CONTINUOUS AS SELECT 1")->other;
    assert_int_equal(node->freshness->kind, AST_INTERVAL);
    assert_string_equal(node->refresh_mode, "CONTINUOUS");
    assert_non_null(node->query);
}

static void what_does_not_fit_is_reported_where_it_stands(void **state)
{
    static const struct {
        const char *sql;
        uint32_t column;
    } cases[] = {
        {"ALTER TABLE t FROB x", 15},
        {"ALTER TABLE t SET (a = 'b')", 20},
        {"UPDATE t WHERE a", 10},
        {"DELETE t", 8},
        {"COMPILE PLAN 'x' FOR SELECT 1", 22},
        {"CALL 1", 6},
        {"ALTER VIEW v ADD a INT", 14},
        {"CREATE CATALOG c WITH ()  x", 27},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct ast_statement *parsed;
        size_t next;
        assert_int_not_equal(sql_parse_statement(arena, text_from(cases[i].sql), 0, &parsed, &next, &err), STATUS_OK);
        assert_int_equal(err.column, cases[i].column);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_statement_is_read_whole_and_keeps_its_name),
        cmocka_unit_test(alter_table_tells_its_actions_apart),
        cmocka_unit_test(columns_added_have_their_places),
        cmocka_unit_test(update_has_assignments_and_a_condition),
        cmocka_unit_test(objects_created_keep_their_clauses),
        cmocka_unit_test(what_does_not_fit_is_reported_where_it_stands),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
