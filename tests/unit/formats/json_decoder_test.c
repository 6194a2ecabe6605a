#include "decode_helper.h"

static const struct type *const pair_types[] = {&type_int, &type_string};
static const char *const pair_names[] = {"id", "s"};
static const struct type pair = {.kind = TYPE_ROW, .child_count = 2, .children = pair_types, .names = pair_names};
static const char *const lenient[] = {"json.ignore-parse-errors", "true", NULL};

static void json_members_come_in_any_order_and_the_last_of_a_name_wins(void **state)
{
    (void)state;
    decode_check((struct decode_case){.format = "json",
                                      .row = &pair,
                                      .text = "{\"id\":1,\"s\":\"a\"}\n{\"s\":\"a text that is longer than "
                                              "twelve\",\"id\":2}\n{\"id\":3,\"id\":4,\"s\":null,\"s\":\"dup\"}\r\n\n"
                                              " { \"x\" : [1, {\"id\":9}] , \"id\" : -5 } \n{}\n{\"id\":\" 6 \",\"s\":1.50} "},
                 "1|a\n2|a text that is longer than twelve\n4|dup\n-5|NULL\nNULL|NULL\n6|1.50\n");
}

static void json_escapes_become_characters(void **state)
{
    (void)state;
    decode_check((struct decode_case){.format = "json",
                                      .row = &pair,
                                      .text = "{\"s\":\"\\ud83e\\udd17 \\u00e9\\n\\\"\\\\\\/ and more of "
                                              "it\"}\n{\"\\u0073\":\"\\t\"}\n{\"s\":\"\xf0\x9f\xa4\x97 raw, longer than that\"}\n"},
                 "NULL|\xf0\x9f\xa4\x97 \xc3\xa9\n\"\\/ and more of it\nNULL|\t\nNULL|\xf0\x9f\xa4\x97 raw, longer than that\n");
}

static void json_numbers_are_cut_or_refused(void **state)
{
    (void)state;
    decode_check(
        (struct decode_case){.format = "json",
                             .row = &pair,
                             .text = "{\"id\":1.9}\n{\"id\":-1.9}\n{\"id\":1e3}\n{\"id\":2147483647}\n{\"id\":-0}\n{\"id\":0.1e1}\n"},
        "1|NULL\n-1|NULL\n1000|NULL\n2147483647|NULL\n0|NULL\n1|NULL\n");
    struct decode_result result;
    struct decode_case test = {.format = "json", .row = &pair, .text = "{\"id\":2147483648}\n{\"id\":true}\n{\"id\":1", .row_limit = 9};
    test.length = strlen(test.text);
    decode_run(&test, &result);
    assert_string_equal(result.rows.bytes,
                        "!id: '2147483648' is no INT\n!id: 'true' is no INT\n!: a comma or the closing brace is missing\n");
    text_builder_close(&result.rows);
}

static void json_broken_records_leave_their_neighbours_alone(void **state)
{
    (void)state;
    decode_check((struct decode_case){.format = "json",
                                      .options = lenient,
                                      .row = &pair,
                                      .text =
                                          "{\"id\":1}\n{\"id\":2, \"s\":\n{\"id\":003}\nnot "
                                          "json\n{\"id\":\"x\",\"s\":\"y\"}\n[1,2]\n\"text\"\n{\"id\":4,\"s\":\"a\x01\"}\n{\"id\":5} x\n"
                                          "{\"id\":6,\"s\":\"\xff\"}\n{\"id\":7,}\n{\"id\":8,\"s\":[1,2}\n{\"id\":9"},
                 "1|NULL\nNULL|y\n5|NULL\n");
}

static void json_arrays_of_objects_are_rows(void **state)
{
    (void)state;
    decode_check((struct decode_case){.format = "json",
                                      .row = &pair,
                                      .text =
                                          "[{\"id\":1},{\"id\":2,\"s\":\"b\"}]\n[]\nnull\n[ {\"id\":3} , null "
                                          ",{\"id\":4},{\"id\":5},{\"id\":6},{\"id\":7},{\"id\":8},{\"id\":9},{\"id\":10}]\n{\"id\":11}"},
                 "1|NULL\n2|b\n3|NULL\n4|NULL\n5|NULL\n6|NULL\n7|NULL\n8|NULL\n9|NULL\n10|NULL\n11|NULL\n");
}

static void json_containers_nest(void **state)
{
    (void)state;
    const struct type *const inner_types[] = {&type_int, &type_string};
    const char *const inner_names[] = {"x", "y"};
    const struct type inner = {.kind = TYPE_ROW, .nullable = true, .child_count = 2, .children = inner_types, .names = inner_names};
    const struct type *const ints_child[] = {&type_int}, *const inner_child[] = {&inner}, *const map_child[] = {&type_string, &inner};
    const struct type ints = {.kind = TYPE_ARRAY, .nullable = true, .child_count = 1, .children = ints_child};
    const struct type *const nested_child[] = {&ints};
    const struct type nested = {.kind = TYPE_ARRAY, .nullable = true, .child_count = 1, .children = nested_child};
    const struct type rows = {.kind = TYPE_ARRAY, .nullable = true, .child_count = 1, .children = inner_child};
    const struct type map = {.kind = TYPE_MAP, .nullable = true, .child_count = 2, .children = map_child};
    const struct type *const types[] = {&inner, &nested, &rows, &map};
    const char *const names[] = {"r", "n", "a", "m"};
    const struct type row = {.kind = TYPE_ROW, .child_count = 4, .children = types, .names = names};
    decode_check(
        (struct decode_case){
            .format = "json",
            .row = &row,
            .text =
                "{\"r\":{\"x\":1,\"y\":\"deep enough to be a "
                "view\"},\"n\":[[1,2],[],[null]],\"a\":[{\"x\":1},null,{\"y\":\"z\"}],\"m\":{\"k\":{\"x\":1},\"l\":null,\"k\":{\"x\":2}}}\n"
                "{\"r\":null,\"n\":null,\"a\":[],\"m\":{}}\n{\"r\":{},\"a\":[{}]}"},
        "(1, deep enough to be a view)|[[1, 2], [], [NULL]]|[(1, NULL), NULL, (NULL, z)]|{k=(2, NULL), l=NULL}\n"
        "NULL|NULL|[]|{}\n(NULL, NULL)|NULL|[(NULL, NULL)]|NULL\n");
}

static void json_skips_what_nobody_reads_but_checks_it(void **state)
{
    (void)state;
    const struct projection projections[] = {{.used = true, .whole = true}, {.used = false}};
    decode_check((struct decode_case){.format = "json",
                                      .options = lenient,
                                      .row = &pair,
                                      .projections = projections,
                                      .text = "{\"s\":\"skipped\",\"id\":1}\n{\"s\":{\"a\":[1,{\"b\":null}],\"c\":\"\\n\"},\"id\":2}\n{"
                                              "\"s\":[1,],\"id\":3}\n{\"s\":\"\\x\",\"id\":4}\n{\"s\":01,\"id\":5}\n"
                                              "{\"id\":6,\"s\":tru}\n{\"id\":7,\"s\":[[[[]]]]}\n"},
                 "1|NULL\n2|NULL\n7|NULL\n");
}

static void json_containers_under_texts_are_compact(void **state)
{
    (void)state;
    decode_check((struct decode_case){.format = "json", .row = &pair, .text = "{\"s\": { \"k\" : [ 1 , \"t\\u0077 o\" ] } }\n{\"s\":[]}"},
                 "NULL|{\"k\":[1,\"tw o\"]}\nNULL|[]\n");
}

static void json_messages_may_hold_line_feeds(void **state)
{
    (void)state;
    struct decode_result result;
    struct decode_case test = {
        .format = "json", .row = &pair, .text = "{\n \"id\": 1,\n \"s\": \"a\"\n}\n", .row_limit = 10, .framed = true};
    test.length = strlen(test.text);
    test.block_bytes = 0;
    /* the first call sees no bytes: an empty message is no row */
    decode_run(&test, &result);
    assert_string_equal(result.rows.bytes, "1|a\n");
    text_builder_close(&result.rows);
}

static void json_depth_is_limited(void **state)
{
    (void)state;
    char text[3000];
    memset(text, '[', sizeof text);
    memcpy(text, "{\"x\":", 5);
    struct decode_result result;
    struct decode_case test = {.format = "json", .options = lenient, .row = &pair, .text = text, .length = sizeof text, .row_limit = 10};
    decode_run(&test, &result);
    assert_int_equal(result.dropped, 1);
    text_builder_close(&result.rows);
}

static void json_large_maps_keep_the_last_value_of_a_name(void **state)
{
    (void)state;
    const struct type *const map_child[] = {&type_string, &type_int};
    const struct type map = {.kind = TYPE_MAP, .nullable = true, .child_count = 2, .children = map_child};
    const struct type *const types[] = {&map};
    const char *const names[] = {"m"};
    const struct type row = {.kind = TYPE_ROW, .child_count = 1, .children = types, .names = names};
    struct text_builder text = {0}, expected = {0};
    text_append_text(&text, "{\"m\":{");
    text_append_text(&expected, "{");
    for (int i = 0; i < 300; i++) {
        text_append_format(&text, "%s\"key number %d\":%d", i == 0 ? "" : ",", i % 150, i);
        if (i < 150) {
            text_append_format(&expected, "%skey number %d=%d", i == 0 ? "" : ", ", i, i + 150);
        }
    }
    text_append_text(&text, "}}\n");
    text_append_text(&expected, "}\n");
    struct decode_result result;
    struct decode_case test = {.format = "json", .row = &row, .text = text.bytes, .length = text.length, .row_limit = 10};
    decode_run(&test, &result);
    assert_string_equal(result.rows.bytes, expected.bytes);
    text_builder_close(&result.rows);
    text_builder_close(&text);
    text_builder_close(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_members_come_in_any_order_and_the_last_of_a_name_wins),
        cmocka_unit_test(json_escapes_become_characters),
        cmocka_unit_test(json_broken_records_leave_their_neighbours_alone),
        cmocka_unit_test(json_arrays_of_objects_are_rows),
        cmocka_unit_test(json_containers_nest),
        cmocka_unit_test(json_skips_what_nobody_reads_but_checks_it),
        cmocka_unit_test(json_containers_under_texts_are_compact),
        cmocka_unit_test(json_messages_may_hold_line_feeds),
        cmocka_unit_test(json_depth_is_limited),
        cmocka_unit_test(json_large_maps_keep_the_last_value_of_a_name),
        cmocka_unit_test(json_numbers_are_cut_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
