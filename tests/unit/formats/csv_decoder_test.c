#include "decode_helper.h"

static const struct type *const pair_types[] = {&type_int, &type_string};
static const char *const pair_names[] = {"id", "s"};
static const struct type pair = {.kind = TYPE_ROW, .child_count = 2, .children = pair_types, .names = pair_names};

static void csv_quotes_hold_delimiters_and_line_feeds(void **state)
{
    (void)state;
    decode_check(
        (struct decode_case){
            .format = "csv",
            .row = &pair,
            .text = "1,plain\n2,\"with, comma\"\r\n3,\"say \"\"hi\"\" to them\"\n4,\"line one\nline two\"\n5,\n6,\"\"\n7, padded \n8,x\"y"},
        "1|plain\n2|with, comma\n3|say \"hi\" to them\n4|line one\nline two\n5|\n6|\n7| padded \n8|x\"y\n");
}

static void csv_options_act(void **state)
{
    (void)state;
    static const char *const options[] = {"csv.field-delimiter",
                                          ";",
                                          "csv.quote-character",
                                          "'",
                                          "csv.allow-comments",
                                          "true",
                                          "csv.null-literal",
                                          "n/a",
                                          "csv.escape-character",
                                          "\\",
                                          NULL};
    decode_check((struct decode_case){.format = "csv",
                                      .options = options,
                                      .row = &pair,
                                      .text = "# a comment, here\n1;'it''s; so'\n2;n/a\n#3;gone\n4;a\\;b\\nc\n5;'q\\'r'\n#"},
                 "1|it's; so\n2|NULL\n4|a;b\nc\n5|q'r\n");
}

static void csv_short_and_long_rows_fail_or_are_filled_and_dropped(void **state)
{
    (void)state;
    static const char *const options[] = {"csv.ignore-parse-errors", "true", NULL};
    const char *text = "1,a\n2\n3,c,extra\nx,4\n5,\"e\"f\n6,f\n";
    decode_check((struct decode_case){.format = "csv", .options = options, .row = &pair, .text = text}, "1|a\n2|NULL\nNULL|4\n6|f\n");
    struct decode_result result;
    struct decode_case test = {.format = "csv", .row = &pair, .text = text, .length = strlen(text), .row_limit = 100};
    decode_run(&test, &result);
    assert_string_equal(result.rows.bytes,
                        "!: the row has 1 fields, the table 2\n!: the row has 3 fields, the table 2\n!id: 'x' is no INT\n"
                        "!: text follows the closing quote of a field\n1|a\n6|f\n");
    text_builder_close(&result.rows);
}

static void csv_fields_hold_arrays(void **state)
{
    (void)state;
    const struct type *const child[] = {&type_string};
    const struct type array = {.kind = TYPE_ARRAY, .nullable = true, .child_count = 1, .children = child};
    const struct type *const types[] = {&type_int, &array};
    const struct type row = {.kind = TYPE_ROW, .child_count = 2, .children = types, .names = pair_names};
    decode_check((struct decode_case){.format = "csv", .row = &row, .text = "1,a;b;c\n2,\n3,one\n4,x;;\"y\n"},
                 "1|[a, b, c]\n2|[]\n3|[one]\n4|[x, , \"y]\n");
}

static void raw_lines_are_the_column(void **state)
{
    (void)state;
    const struct type *const types[] = {&type_string};
    const char *const names[] = {"line"};
    const struct type row = {.kind = TYPE_ROW, .child_count = 1, .children = types, .names = names};
    decode_check((struct decode_case){.format = "raw", .row = &row, .text = "first line that is long\n\n  spaces \r\nlast"},
                 "first line that is long\n\n  spaces \nlast\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_quotes_hold_delimiters_and_line_feeds),
        cmocka_unit_test(csv_options_act),
        cmocka_unit_test(csv_short_and_long_rows_fail_or_are_filled_and_dropped),
        cmocka_unit_test(csv_fields_hold_arrays),
        cmocka_unit_test(raw_lines_are_the_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
