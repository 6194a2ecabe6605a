#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "data/cell_text.h"
#include "functions/function.h"
#include "functions/json_path.h"
#include "functions/program.h"

static struct budget budget;
static struct arena *arena;
static struct evaluation evaluation;
static struct error err;

static int setup(void **state)
{
    (void)state;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "test");
    evaluation = (struct evaluation){.budget = &budget, .zone = time_zone_utc};
    return arena == NULL;
}

static int teardown(void **state)
{
    (void)state;
    arena_destroy(arena);
    assert_int_equal(budget.used_bytes, 0);
    return 0;
}

static void assert_json(const char *text, const char *expected)
{
    const struct json_value *value = json_parse(arena, text_from(text));
    if (expected == NULL || value == NULL) {
        assert_true(expected == NULL && value == NULL);
        return;
    }
    struct text_builder out = {0};
    json_write(value, &out);
    assert_string_equal(out.bytes, expected);
    text_builder_close(&out);
}

static void texts_are_read_strictly(void **state)
{
    (void)state;
    static const char *const bad[] = {"",    " ",     "{",         "[1,]",  "{\"a\":1,}", "01",     "1.",         "+1",
                                      ".5",  "1e",    "nul",       "'a'",   "\"a",        "\"\t\"", "\"\\x\"",    "\"\\u12\"",
                                      "1 2", "{a:1}", "{\"a\" 1}", "[1 2]", "-",          "NaN",    "\"\\u00g0\""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_json(bad[i], NULL);
    }
    assert_json(" { \"b\" : [ 1 , null , true ] , \"a\" : \"\\u00e9\\ud83d\\ude00\\n\" } ",
                "{\"a\":\"\xC3\xA9\xF0\x9F\x98\x80\\n\",\"b\":[1,null,true]}");
    assert_json("{\"a\":1,\"a\":2}", "{\"a\":2}");
    assert_json("\"\\ud800\"", "\"\xEF\xBF\xBD\"");
}

static void numbers_print_as_big_decimals(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"1.50", "1.50"},   {"1e3", "1E+3"},       {"1.0E20", "1.0E+20"}, {"0.000001", "0.000001"},
                                           {"1e-7", "1E-7"},   {"-0.0", "0.0"},       {"123e-2", "1.23"},    {"12.5e1", "125"},
                                           {"0e-18", "0E-18"}, {"100", "100"},        {"0.00", "0.00"},      {"1.5e-7", "1.5E-7"},
                                           {"-12", "-12"},     {"1.25e-8", "1.25E-8"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_json(cases[i][0], cases[i][1]);
    }
}

static void deep_texts_are_refused_not_followed(void **state)
{
    (void)state;
    static char deep[200001];
    memset(deep, '[', 100000);
    memset(deep + 100000, ']', 100000);
    assert_null(json_parse(arena, text_from(deep)));
}

static const struct expression *text(const char *value)
{
    return expression_string(arena, text_from(value));
}

static void assert_call(const char *name, const struct expression *const *args, uint32_t count, const char *expected)
{
    const struct expression *call;
    const struct vector *value;
    if (function_call_named(arena, &evaluation, name, args, count, &call, &err) != STATUS_OK) {
        assert_string_equal("refused", expected);
        return;
    }
    if (program_evaluate_constant(arena, &evaluation, call, &value, &err) != STATUS_OK) {
        assert_string_equal("failed", expected);
        return;
    }
    struct text_builder out = {0};
    cell_text_append(value, 0, evaluation.zone, CELL_TEXT_HEX, &out);
    assert_string_equal(out.bytes == NULL ? "" : out.bytes, expected);
    text_builder_close(&out);
}
#define CALL(name, expected, ...)                                                                                                          \
    do {                                                                                                                                   \
        const struct expression *const args_[] = {__VA_ARGS__};                                                                            \
        assert_call(name, args_, (uint32_t)(sizeof args_ / sizeof args_[0]), expected);                                                    \
    } while (0)
#define NOTHING expression_null(arena, &type_null)

static void a_path_without_lax_is_strict(void **state)
{
    (void)state;
    const struct expression *json = text("{\"a\":[{\"b\":1},{\"b\":null}],\"s\":\"x\"}");
    CALL("JSON_VALUE", "1", json, text("$.a[0].b"));
    CALL("JSON_VALUE", "NULL", json, text("$.a[1].b"), text("ON_EMPTY"), text("DEFAULT"), text("d"));
    CALL("JSON_VALUE", "d", json, text("lax $.a[1].b"), text("ON_EMPTY"), text("DEFAULT"), text("d"));
    CALL("JSON_VALUE", "failed", json, text("$.nope"), text("ON_ERROR"), text("ERROR"), NOTHING);
    CALL("JSON_VALUE", "NULL", json, text("lax $.nope"), text("ON_ERROR"), text("ERROR"), NOTHING);
    CALL("JSON_VALUE", "x", json, text("$['s']"));
    CALL("JSON_VALUE", "refused", json, text("$.a[?(@.b)]"));
    CALL("JSON_VALUE", "1", json, text("$.a[0].b"), text("RETURNING"), text(""), expression_null(arena, &type_int));
    CALL("JSON_VALUE", "NULL", json, text("$.s"), text("RETURNING"), text(""), expression_null(arena, &type_int));
    CALL("JSON_QUERY", "[1,null]", json, text("$.a[*].b"));
    CALL("JSON_QUERY", "[1,null]", json, text("$..b"));
    CALL("JSON_QUERY", "{\"b\":null}", json, text("$.a[-1]"));
    CALL("JSON_QUERY", "[{b}, NULL]", text("[\"{b}\",null]"), text("$"), text("RETURNING"), text(""),
         expression_null(arena, type_array(arena, &type_string, true)));
    CALL("JSON_EXISTS", "FALSE", json, text("$.a[1].b"));
    CALL("JSON_EXISTS", "NULL", json, text("$.nope"), text("ON_ERROR"), text("UNKNOWN"), NOTHING);
}

static void objects_are_sorted_and_nest(void **state)
{
    (void)state;
    const struct expression *inner, *pair[] = {text("k"), text("v")};
    assert_int_equal(function_call_named(arena, &evaluation, "JSON_OBJECT", pair, 2, &inner, &err), STATUS_OK);
    CALL("JSON_OBJECT", "{\"a\":{\"k\":\"v\"},\"b\":2}", text("b"), expression_int32(arena, 1), text("a"), inner, text("b"),
         expression_int32(arena, 2));
    CALL("JSON_OBJECT", "{}", text("a"), NOTHING, text("ON_NULL"), text("ABSENT"), NOTHING);
    CALL("JSON_ARRAY", "[1]", expression_int32(arena, 1), NOTHING);
    CALL("JSON_ARRAY", "[1,null]", expression_int32(arena, 1), NOTHING, text("ON_NULL"), text("NULL"), NOTHING);
    CALL("JSON_OBJECT", "refused", expression_int32(arena, 1), text("x"));
    CALL("JSON", "failed", text("{}"));
}

static void quoting_is_undone_by_unquoting(void **state)
{
    (void)state;
    CALL("JSON_QUOTE", "\"\\u00e9 \\ud83d\\ude00 \\t\\\"\"", text("\xC3\xA9 \xF0\x9F\x98\x80 \t\""));
    CALL("JSON_UNQUOTE", "\xC3\xA9 \xF0\x9F\x98\x80 \t\"", text("\"\\u00e9 \\ud83d\\ude00 \\t\\\"\""));
    CALL("JSON_UNQUOTE", "\"open", text("\"open"));
    CALL("JSON_STRING", "\"a/\\\\\"", text("a/\\"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read_strictly),
        cmocka_unit_test(numbers_print_as_big_decimals),
        cmocka_unit_test(deep_texts_are_refused_not_followed),
        cmocka_unit_test(a_path_without_lax_is_strict),
        cmocka_unit_test(objects_are_sorted_and_nest),
        cmocka_unit_test(quoting_is_undone_by_unquoting),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
