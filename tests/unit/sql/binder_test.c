#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "sql/binder.h"
#include "sql/parser.h"

static struct budget budget;
static struct arena *arena;
static struct catalog *catalog;
static struct evaluation evaluation;
static struct bind_context context;
static struct error err;

static void create(const char *sql)
{
    const struct ast_statement *statement;
    struct catalog_table *table;
    size_t next;
    enum status status = sql_parse_statement(arena, text_from(sql), 0, &statement, &next, &err);
    if (status == STATUS_OK && statement->kind == AST_STATEMENT_CREATE_VIEW) {
        status = bind_create_view(&context, &budget, &statement->create_view, &table, &err);
    } else if (status == STATUS_OK) {
        status = bind_create_table(&context, &budget, &statement->create_table, &table, &err);
    }
    if (status != STATUS_OK || catalog_add(catalog, table, false, false, &err) != STATUS_OK) {
        fail_msg("%s: %s", sql, err.text);
    }
}

static int set_up(void **state)
{
    (void)state;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "test");
    catalog = catalog_create(&budget);
    if (arena == NULL || catalog == NULL) {
        return 1;
    }
    evaluation = (struct evaluation){.budget = &budget, .zone = time_zone_utc};
    context = (struct bind_context){.arena = arena, .catalog = catalog, .evaluation = &evaluation};
    create("CREATE TABLE t (id INT NOT NULL, s STRING, d DECIMAL(10, 2), r ROW<a INT, b STRING>, ts TIMESTAMP(3), "
           "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)");
    create("CREATE TABLE o (id INT, k BIGINT)");
    create("CREATE VIEW v AS SELECT id, s FROM t");
    return 0;
}
static int tear_down(void **state)
{
    (void)state;
    arena_destroy(arena);
    catalog_destroy(catalog);
    return 0;
}

static enum status try_bind(const char *sql, struct relation **relation)
{
    const struct ast_query *query;
    memset(&err, 0, sizeof err);
    if (sql_parse_query(arena, text_from(sql), &query, &err) != STATUS_OK) {
        fail_msg("%s: %s", sql, err.text);
    }
    return bind_query(&context, query, relation, &err);
}

static struct relation *bind(const char *sql)
{
    struct relation *relation;
    if (try_bind(sql, &relation) != STATUS_OK) {
        fail_msg("%s: %s", sql, err.text);
    }
    return relation;
}

static const char *schema_text(const struct relation *relation)
{
    static const char *const times[] = {"", " *ROWTIME*", " *PROCTIME*"};
    const char *text = "";
    for (uint32_t i = 0; i < relation->schema.count; i++) {
        const struct column *column = &relation->schema.columns[i];
        text = arena_format(arena, "%s%s%s %s%s", text, i > 0 ? ", " : "", column->name, type_to_text(arena, column->type),
                            times[column->time]);
    }
    return text;
}

static void assert_schema(const char *sql, const char *schema)
{
    const char *found = schema_text(bind(sql));
    if (strcmp(found, schema) != 0) {
        fail_msg("%s\nis   %s\nnot  %s", sql, found, schema);
    }
}

static void assert_refused(const char *sql, enum error_code code, uint32_t line, uint32_t column, const char *text)
{
    struct relation *relation;
    if (try_bind(sql, &relation) == STATUS_OK) {
        fail_msg("%s: not refused", sql);
    }
    if (err.code != code || err.line != line || err.column != column || strstr(err.text, text) == NULL) {
        fail_msg("%s\nrefused with %d at %u:%u: %s\nnot with %d at %u:%u: %s", sql, (int)err.code, err.line, err.column, err.text,
                 (int)code, line, column, text);
    }
}

static void columns_have_the_types_of_flink(void **state)
{
    (void)state;
    assert_schema("SELECT id, s AS x, id + 1, d * 2 FROM t", "id INT NOT NULL, x STRING, EXPR$2 INT NOT NULL, EXPR$3 DECIMAL(21, 2)");
    assert_schema("SELECT t.r.a, r.b FROM t", "a INT, b STRING");
    assert_schema("SELECT 1, 1.50, 1E0, 'abc', 3000000000",
                  "EXPR$0 INT NOT NULL, EXPR$1 DECIMAL(3, 2) NOT NULL, EXPR$2 DOUBLE NOT NULL, EXPR$3 CHAR(3) NOT NULL, "
                  "EXPR$4 BIGINT NOT NULL");
    assert_schema("SELECT CASE WHEN id > 1 THEN 1 ELSE 2.5 END, COALESCE(s, 'x') FROM t",
                  "EXPR$0 DECIMAL(11, 1) NOT NULL, EXPR$1 STRING NOT NULL");
}

static void outer_joins_make_the_other_side_nullable(void **state)
{
    (void)state;
    assert_schema("SELECT t.id, o.k FROM t JOIN o ON t.id = o.id", "id INT NOT NULL, k BIGINT");
    assert_schema("SELECT t.id, o.k FROM o LEFT JOIN t ON t.id = o.id", "id INT, k BIGINT");
    assert_schema("SELECT id, k FROM t FULL JOIN o USING (id)", "id INT, k BIGINT");
}

static void time_attributes_follow_plain_columns(void **state)
{
    (void)state;
    assert_schema("SELECT ts, CAST(ts AS TIMESTAMP(3)) AS c, ts + INTERVAL '1' SECOND AS p FROM t WHERE id > 0",
                  "ts TIMESTAMP(3) *ROWTIME*, c TIMESTAMP(3), p TIMESTAMP(3)");
    assert_refused("SELECT * FROM TABLE(TUMBLE((SELECT CAST(ts AS TIMESTAMP(3)) AS c FROM t), DESCRIPTOR(c), INTERVAL '5' SECOND))",
                   ERROR_INVALID_WINDOW, 1, 86, "time attribute");
    assert_schema("SELECT window_start, window_time, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND)) "
                  "GROUP BY window_start, window_end, window_time",
                  "window_start TIMESTAMP(3) NOT NULL, window_time TIMESTAMP(3) NOT NULL *ROWTIME*, n BIGINT NOT NULL");
}

static void window_functions_read_a_query_too(void **state)
{
    (void)state;
    assert_schema("SELECT id, window_end FROM TABLE(TUMBLE((SELECT ts, id FROM t), DESCRIPTOR(ts), INTERVAL '5' SECOND))",
                  "id INT NOT NULL, window_end TIMESTAMP(3) NOT NULL");
}

static void functions_of_a_group_window_need_the_same_window(void **state)
{
    (void)state;
    assert_schema("SELECT TUMBLE_START(ts, INTERVAL '60' SECOND) AS w FROM t GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE)",
                  "w TIMESTAMP(3) NOT NULL");
    assert_refused("SELECT TUMBLE_START(ts, INTERVAL '7' SECOND) FROM t GROUP BY TUMBLE(ts, INTERVAL '5' SECOND)", ERROR_INVALID_WINDOW, 1,
                   8, "TUMBLE_START");
    assert_refused("SELECT TUMBLE_START(ts, INTERVAL '5' SECOND) FROM t", ERROR_INVALID_WINDOW, 1, 8, "TUMBLE_START");
}

static const struct relation *find_join(const struct relation *relation)
{
    while (relation->kind != RELATION_JOIN && relation->input_count > 0) {
        relation = relation->inputs[0];
    }
    assert_int_equal(relation->kind, RELATION_JOIN);
    return relation;
}

static void a_lateral_subquery_makes_a_lateral_join(void **state)
{
    (void)state;
    assert_true(find_join(bind("SELECT * FROM o a CROSS JOIN LATERAL (SELECT k FROM o b WHERE b.id = a.id) x"))->join.lateral);
    assert_false(find_join(bind("SELECT * FROM o a CROSS JOIN (SELECT k FROM o b) x"))->join.lateral);
}

static void a_view_or_a_cte_read_twice_is_one_relation(void **state)
{
    (void)state;
    const struct relation *join = find_join(bind("SELECT 1 FROM v a JOIN v b ON a.id = b.id"));
    assert_ptr_equal(join->inputs[0], join->inputs[1]);
    join = find_join(bind("WITH c AS (SELECT id FROM o) SELECT 1 FROM c a JOIN c b ON a.id = b.id"));
    assert_ptr_equal(join->inputs[0], join->inputs[1]);
}

static void refusals_say_where_and_what_was_meant(void **state)
{
    (void)state;
    assert_refused("SELECT id,\n  nam FROM (SELECT id, s AS name FROM t) x", ERROR_UNKNOWN_COLUMN, 2, 3, "name");
    assert_refused("SELECT * FROM tt", ERROR_UNKNOWN_TABLE, 1, 15, "did you mean");
    assert_refused("SELECT UPER(s) FROM t", ERROR_UNKNOWN_FUNCTION, 1, 8, "UPPER");
    assert_refused("SELECT id, COUNT(*) FROM t GROUP BY s", ERROR_NOT_GROUPED, 1, 8, "id");
    assert_refused("SELECT id FROM t JOIN o ON t.id = o.id", ERROR_AMBIGUOUS_COLUMN, 1, 8, "id");
    assert_refused("SELECT r.c FROM t", ERROR_UNKNOWN_COLUMN, 1, 10, "c");
    assert_refused("SELECT id FROM t WHERE id", ERROR_TYPE_MISMATCH, 1, 24, "BOOLEAN");
    assert_refused("SELECT id FROM t WHERE SUM(id) > 1", ERROR_INVALID_QUERY, 1, 24, "SUM");
    assert_refused("SELECT * FROM TO_CHANGELOG(input => TABLE t)", ERROR_NOT_SUPPORTED, 1, 15, "TO_CHANGELOG");
}

static void a_relation_prints_one_line_each(void **state)
{
    (void)state;
    struct text_builder out = {0};
    struct relation *relation = bind("SELECT id FROM o WHERE k > 1 ORDER BY id LIMIT 2");
    relations_print(&relation, 1, &out);
    uint32_t lines = 0;
    for (size_t i = 0; i < out.length; i++) {
        lines += out.bytes[i] == '\n';
    }
    assert_int_equal(lines, 4);
    assert_true(strncmp(out.bytes, "SORT by id fetch 2\n", 19) == 0);
    assert_non_null(strstr(out.bytes, "SCAN o (id, k)\n"));
    text_builder_close(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_have_the_types_of_flink),
        cmocka_unit_test(outer_joins_make_the_other_side_nullable),
        cmocka_unit_test(time_attributes_follow_plain_columns),
        cmocka_unit_test(window_functions_read_a_query_too),
        cmocka_unit_test(functions_of_a_group_window_need_the_same_window),
        cmocka_unit_test(a_lateral_subquery_makes_a_lateral_join),
        cmocka_unit_test(a_view_or_a_cte_read_twice_is_one_relation),
        cmocka_unit_test(refusals_say_where_and_what_was_meant),
        cmocka_unit_test(a_relation_prints_one_line_each),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
