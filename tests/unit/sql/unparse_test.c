#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "sql/parser.h"
#include "sql/unparse.h"

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

static const char *expression(const char *sql)
{
    const struct ast_expression *parsed;
    struct text text;
    if (sql_parse_expression(arena, text_from(sql), &parsed, &err) != STATUS_OK ||
        unparse_expression_text(arena, parsed, &text, &err) != STATUS_OK) {
        fail_msg("%s: %s", sql, err.text);
    }
    return text.bytes;
}
static const char *query(const char *sql)
{
    const struct ast_query *parsed;
    struct text text;
    if (sql_parse_query(arena, text_from(sql), &parsed, &err) != STATUS_OK || unparse_query_text(arena, parsed, &text, &err) != STATUS_OK) {
        fail_msg("%s: %s", sql, err.text);
    }
    return text.bytes;
}

static void expressions_print_in_one_canonical_way(void **state)
{
    static const struct {
        const char *sql, *canonical;
    } cases[] = {
        {"id+1", "`id` + 1"},
        {"upper('x'||cast(id as string))", "UPPER('x' || CAST(`id` AS STRING))"},
        {"ts - interval '5' seconds", "`ts` - INTERVAL '5' SECOND"},
        {"(a+b)*c - (d - e) - f", "(`a` + `b`) * `c` - (`d` - `e`) - `f`"},
        {"not (a and b) or c", "NOT (`a` AND `b`) OR `c`"},
        {"- -a", "-(-`a`)"},
        {"t.`odd``name` is not null", "`t`.`odd``name` IS NOT NULL"},
        {"x not in (1, 'it''s')", "`x` NOT IN (1, 'it''s')"},
        {"a between symmetric 1 and 2", "`a` BETWEEN SYMMETRIC 1 AND 2"},
        {"case when a then 1 else null end", "CASE WHEN `a` THEN 1 ELSE NULL END"},
        {"extract(day from d)", "EXTRACT(DAY FROM `d`)"},
        {"(r).a.b", "(`r`).`a`.`b`"},
        {"x'0aff'", "X'0AFF'"},
        {"count(distinct a) filter (where b > 1)", "COUNT(DISTINCT `a`) FILTER (WHERE `b` > 1)"},
        {"sum(v) over (partition by k order by t rows between 2 preceding and current row)",
         "SUM(`v`) OVER (PARTITION BY `k` ORDER BY `t` ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)"},
        {"current_timestamp", "CURRENT_TIMESTAMP"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_string_equal(expression(cases[i].sql), cases[i].canonical);
    }
}

static const char *const printed_cases[] = {
    "a",
    "a.b.c",
    "1.50e3",
    "'a\nb'",
    "U&'\\0000\\00e9''\\\\'",
    "date '2024-01-01'",
    "time '1:2:3'",
    "timestamp '2024-01-01 00:00:00.5'",
    "interval -'1-2' year(3) to month",
    "interval '1 2:3:4.5' day(2) to second(3)",
    "interval 5 day",
    "true",
    "unknown",
    "a = b is true",
    "(a = b) is not distinct from (c = d)",
    "a is null = b is null",
    "a = (not b)",
    "not not a",
    "a - (b - c)",
    "a / b % c * d",
    "a || b || (c || d)",
    "(a or b) and (c or d) and e",
    "(a and b) and c",
    "a like 'x%' escape '!'",
    "a not similar to b",
    "(a like b) like c",
    "a like (b like c)",
    "a between b and c and d",
    "a between (b between 1 and 2) and 3",
    "a not rlike 'x'",
    "a in (select b from t)",
    "(a, b) in ((1, 2), (3, 4))",
    "a > all (select 1)",
    "a = some (1, 2)",
    "exists (select 1 from t where u.x = t.x)",
    "(select max(a) from t)",
    "row(1, 'x', null)",
    "array[1, 2][1]",
    "map['a', 1]['a']",
    "array[row(1)][1].f",
    "(a).b",
    "((a).b).c",
    "f(x).y",
    "-a[1]",
    "(-a)[1]",
    "-(a + b)",
    "cast(x as row<`a` int not null 'c', b array<decimal(10, 2)>> not null)",
    "try_cast(x as timestamp_ltz(3))",
    "cast(x as interval day(2) to second(3))",
    "cast(x as map<string, multiset<int>>)",
    "cast(x as row<>)",
    "cast(x as timestamp(3) with local time zone)",
    "cast(a as varchar(10) array)",
    "ceil(x to month)",
    "floor(x)",
    "timestampadd(sql_tsi_day, 1, x)",
    "timestampdiff(hour, a, b)",
    "position('a' in b)",
    "substring(s from 2)",
    "substring(s, 2, 3)",
    "overlay(s placing r from 1 for 2)",
    "trim(s)",
    "trim(leading 'x' from s)",
    "trim(both from s)",
    "translate(a, b, c)",
    "json_value(a, '$.b' returning int null on empty default 1 + 2 on error)",
    "json_query(a, '$' with conditional array wrapper empty array on error)",
    "json_exists(a, '$.x' passing 1 as v, 2 as w true on error)",
    "json_object('a' value 1, key k value json_array(1, 2 absent on null) format json null on null)",
    "json_object()",
    "json_array(null on null)",
    "json_object((a) value 1)",
    "json_arrayagg(x order by y absent on null)",
    "json_objectagg(key k value v)",
    "a is json object",
    "a is not json",
    "count(*)",
    "listagg(distinct a, ',') within group (order by b desc nulls last)",
    "lag(a) ignore nulls over w",
    "rank() over (order by t range between interval '1' day preceding and unbounded following)",
    "row_number() over (w rows 5 preceding)",
    "cat.db.f(1)",
    "`f g`(1)",
    "`trim`(1)",
    "`select`(1)",
    "if(a, b, c)",
    "left('abc', 2)",
    "localtime",
    "current_date",
    "date('x')",
    "case a when 1, 2 then 'x' when 3 then 'y' end",
    "coalesce(a, default)",
    "? + 1",
    "(a, b) overlaps (c, d)",
    "next value for s",
    "(a - b) day",
    "(x - (y - z)) minute",
    "char_length(s) > 3 and upper(s) <> lower(s)",
    "array(select a from t)",
    "final last(a.x)",
    "running sum(x) + 1",
    "multiset[1, 2]",
    "a.*",
    "t.`*`",
};

static void what_was_printed_of_an_expression_prints_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(printed_cases); i++) {
        const char *once = expression(printed_cases[i]);
        assert_string_equal(expression(once), once);
    }
}

static void queries_print_clause_by_clause(void **state)
{
    (void)state;
    assert_string_equal(query("select id, s x from t where id>3 order by 1 limit 5"),
                        "SELECT `id`, `s` AS `x`\nFROM `t`\nWHERE `id` > 3\nORDER BY 1\nFETCH NEXT 5 ROWS ONLY");
    assert_string_equal(query("values (1, 2), (3, 4)"), "VALUES ROW(1, 2), ROW(3, 4)");
    assert_string_equal(query("select 1 union all select 2"), "SELECT 1\nUNION ALL\nSELECT 2");
}

static void what_was_printed_of_a_query_prints_the_same(void **state)
{
    static const char *const cases[] = {
        "select * from t",
        "select distinct a.*, b from t a",
        "select a from t group by a having count(*) > 1",
        "table t",
        "with a (x) as (select 1), b as (values (1)) select * from a, b",
        "select 1 union select 2 intersect select 3 except all select 4",
        "(select 1 union select 2) intersect select 3",
        "select 1 union (select 2 except select 3)",
        "(select 1 order by 1 limit 1) union all select 2",
        "(select 1 limit 3) limit 2",
        "select a from t order by a desc nulls first, b offset 2 rows fetch first 3 rows only",
        "select 1 limit 2, 3",
        "with x as (select 1) (with y as (select 2) select * from x, y)",
        "select * from a join b on a.x = b.x left join c using (x, y)",
        "select * from a, b cross join c, d",
        "select * from (a join b on true) full join c on false",
        "select * from a natural join (b left outer join c on b.i = c.i)",
        "select * from a left semi join b on a.i = b.i left anti join c on true",
        "select * from (select 1) as q (c)",
        "select * from (values (1, 'a')) v (x, y)",
        "select * from t, lateral (select t.a) l",
        "select * from t cross join unnest(t.xs) with ordinality as u (x, n)",
        "select * from t, lateral table(split(t.s)) as s (w)",
        "select * from table(tumble(table t, descriptor(ts), interval '1' minute))",
        "select * from table(cumulate(data => table t, timecol => descriptor(ts), step => interval '1' hour, size => interval '1' day))",
        "select * from table(f(table t partition by a order by (b desc), on_time => descriptor(ts)))",
        "select * from table(hop((select * from t) partition by k, descriptor(x), interval '1' day))",
        "select * from o join r for system_time as of o.t as r on o.c = r.c",
        "select /*+ broadcast(a), lookup('table' = 'b') */ * from a",
        "select * from t /*+ options('k' = 'v''s', 'l' = '2') */ as x",
        "select * from t tablesample bernoulli (10) repeatable (1)",
        "select a, b, sum(c) from t group by grouping sets ((a, b), (a), ()), cube(a, (b, c)), rollup (a, b)",
        "select sum(a) over w from t window w as (partition by b order by c), v as (w rows between unbounded preceding and 1 following)",
        "select * from (select *, row_number() over (partition by a order by b) n from t) where n <= 3",
        "select a from t qualify row_number() over (order by a) = 1",
        "select * from t match_recognize (partition by k order by ts measures first(a.p) as f, last(b.p) as l one row per match "
        "after match skip to last b pattern (a b* c+? (d | e f){2,} {- g{3} -} permute(h, i)) within interval '1' hour subset u = (a, b) "
        "define b as b.p > prev(b.p, 1), c as c.p < 3) as m",
        "select * from (select * from t) match_recognize (order by ts measures a.x as x all rows per match pattern (^ (a | b)* $) define a "
        "as true)",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *once = query(cases[i]);
        assert_string_equal(query(once), once);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_print_in_one_canonical_way),
        cmocka_unit_test(what_was_printed_of_an_expression_prints_the_same),
        cmocka_unit_test(queries_print_clause_by_clause),
        cmocka_unit_test(what_was_printed_of_a_query_prints_the_same),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
