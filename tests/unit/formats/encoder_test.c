#include "decode_helper.h"

/* Decodes the JSON text and encodes each row again: a line a row, "!message" for one that cannot be written. */
static char *transcode(const struct type *row, const char *text, const char *format, const char *const *given)
{
    struct budget budget;
    struct error err = {0};
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct arena *arena = arena_create(&budget, "test");
    const char *json_keys[] = {"format"}, *json_values[] = {"json"}, *keys[16] = {"format"}, *values[16] = {format};
    struct table_options json = {json_keys, json_values, 1}, options = {keys, values, 1};
    for (; given != NULL && *given != NULL; given += 2) {
        keys[options.count] = given[0];
        values[options.count++] = given[1];
    }
    struct format_context context = {.arena = arena, .budget = &budget, .zone = time_zone_utc, .row = row};
    struct decoder *decoder;
    struct encoder *encoder;
    struct batch batch;
    struct decode_target target = {0};
    struct decode_input input = {.bytes = text, .length = strlen(text), .last = true};
    struct text_builder out = {0};
    assert_int_equal(table_options_open_decoder(&json, &context, &decoder, &err), STATUS_OK);
    assert_int_equal(table_options_open_encoder(&options, &context, &encoder, &err), STATUS_OK);
    assert_int_equal(decode_target_open(&target, &context, 100, &batch, &err), STATUS_OK);
    if (decoder->type->decode(decoder, &input, &target, &err) != STATUS_OK) {
        fail_msg("%s", err.text);
    }
    for (uint32_t i = 0; i < batch.count; i++) {
        size_t before = out.length;
        if (encoder->type->encode(encoder, &batch, i, ROW_INSERT, &out, &err) != STATUS_OK) {
            out.length = before;
            text_append_text(&out, "!");
        }
        text_append_char(&out, '\n');
    }
    encoder->type->close(encoder);
    decoder->type->close(decoder);
    batch_release(&batch);
    arena_destroy(arena);
    return out.bytes;
}

static void check(const struct type *row, const char *text, const char *format, const char *const *options, const char *expected)
{
    char *written = transcode(row, text, format, options);
    assert_string_equal(written, expected);
    free(written);
}

static const struct type decimal = {.kind = TYPE_DECIMAL, .nullable = true, .precision = 10, .scale = 3};
static const struct type wide = {.kind = TYPE_DECIMAL, .nullable = true, .precision = 38, .scale = 18};
static const struct type time9 = {.kind = TYPE_TIMESTAMP, .nullable = true, .precision = 9};
static const struct type *const ints_child[] = {&type_int}, *const map_child[] = {&type_string, &type_int};
static const struct type ints = {.kind = TYPE_ARRAY, .nullable = true, .child_count = 1, .children = ints_child};
static const struct type map = {.kind = TYPE_MAP, .nullable = true, .child_count = 2, .children = map_child};
static const char *const inner_names[] = {"a", "b"};
static const struct type *const inner_types[] = {&type_int, &type_string};
static const struct type inner = {.kind = TYPE_ROW, .nullable = true, .child_count = 2, .children = inner_types, .names = inner_names};
static const struct type *const all_types[] = {&type_int,  &decimal,         &type_double, &type_float, &type_boolean, &type_date,
                                               &type_time, &type_timestamp3, &ints,        &map,        &inner};
static const char *const all_names[] = {"i", "m", "d", "f", "b", "dt", "tm", "ts", "arr", "mp", "rw"};
static const struct type all = {.kind = TYPE_ROW, .child_count = 11, .children = all_types, .names = all_names};
static const char all_text[] =
    "{\"i\":1,\"m\":1.50,\"d\":0.1,\"f\":1.0E10,\"b\":true,\"dt\":\"2024-02-29\",\"tm\":\"01:02:03\",\"ts\":\"2024-02-29 01:02:03.456\","
    "\"arr\":[1,null,3],\"mp\":{\"k\":7},\"rw\":{\"a\":1,\"b\":\"x\"}}\n{}\n";

static void json_values_are_spelled_as_flink_does(void **state)
{
    (void)state;
    static const char *const options[] = {"json.encode.ignore-null-fields",
                                          "true",
                                          "json.timestamp-format.standard",
                                          "ISO-8601",
                                          "json.encode.decimal-as-plain-number",
                                          "true",
                                          NULL};
    check(
        &all, all_text, "json", NULL,
        "{\"i\":1,\"m\":1.5,\"d\":0.1,\"f\":1.0E10,\"b\":true,\"dt\":\"2024-02-29\",\"tm\":\"01:02:03\",\"ts\":\"2024-02-29 01:02:03.456\","
        "\"arr\":[1,null,3],\"mp\":{\"k\":7},\"rw\":{\"a\":1,\"b\":\"x\"}}\n"
        "{\"i\":null,\"m\":null,\"d\":null,\"f\":null,\"b\":null,\"dt\":null,\"tm\":null,\"ts\":null,\"arr\":null,\"mp\":null,\"rw\":null}"
        "\n");
    check(&all, all_text, "json", options,
          "{\"i\":1,\"m\":1.500,\"d\":0.1,\"f\":1.0E10,\"b\":true,\"dt\":\"2024-02-29\",\"tm\":\"01:02:03\",\"ts\":\"2024-02-29T01:02:03."
          "456\","
          "\"arr\":[1,null,3],\"mp\":{\"k\":7},\"rw\":{\"a\":1,\"b\":\"x\"}}\n{}\n");
}

static void json_texts_and_decimals_keep_their_value(void **state)
{
    (void)state;
    static const struct type *const types[] = {&type_string, &wide, &time9};
    static const char *const names[] = {"s", "n", "t"};
    static const struct type row = {.kind = TYPE_ROW, .child_count = 3, .children = types, .names = names};
    check(
        &row,
        "{\"s\":\"tab\\tquote\\\"back\\\\nl\\nbell\\u0007vt\\u000b\",\"n\":12345678901234567890,\"t\":\"2024-01-02 03:04:05.10023\"}\n"
        "{\"s\":\"\xc3\xa9\xe4\xb8\xad\xf0\x9f\xa4\x97/\",\"n\":0.000000000000000001,\"t\":\"1969-12-31 "
        "23:59:59.999999999\"}\n{\"s\":\"\",\"n\":-0.0}\n",
        "json", NULL,
        "{\"s\":\"tab\\tquote\\\"back\\\\nl\\nbell\\u0007vt\\u000B\",\"n\":1.234567890123456789E+19,\"t\":\"2024-01-02 03:04:05.10023\"}\n"
        "{\"s\":\"\xc3\xa9\xe4\xb8\xad\\uD83E\\uDD17/\",\"n\":1E-18,\"t\":\"1969-12-31 "
        "23:59:59.999999999\"}\n{\"s\":\"\",\"n\":0,\"t\":null}\n");
}

static void csv_quotes_what_jackson_quotes(void **state)
{
    (void)state;
    static const struct type *const types[] = {&type_string, &decimal, &type_timestamp3, &ints, &inner, &type_boolean};
    static const char *const names[] = {"s", "m", "ts", "arr", "rw", "b"};
    static const struct type row = {.kind = TYPE_ROW, .child_count = 6, .children = types, .names = names};
    static const char *const nulls[] = {"csv.null-literal", "NIL", NULL};
    static const char *const bare[] = {"csv.disable-quote-character", "true", "csv.field-delimiter", ";", NULL};
    const char *text = "{\"s\":\"three, \\\"q\\\"\",\"m\":1.50,\"ts\":\"2024-02-29 "
                       "01:02:03.456\",\"arr\":[1,null,3],\"rw\":{\"a\":1,\"b\":\"x\"},\"b\":true}\n"
                       "{\"s\":\"plain\",\"m\":100}\n{\"s\":\"longer-than-twenty-four-letters\"}\n";
    check(&row, text, "csv", NULL,
          "\"three, \"\"q\"\"\",1.5,\"2024-02-29 01:02:03.456\",1;;3,1;x,true\nplain,1E+2,,,,\n\"longer-than-twenty-four-letters\",,,,,\n");
    check(&row, "{\"s\":\"plain\"}\n{}\n", "csv", nulls, "plain,NIL,NIL,NIL,NIL,NIL\nNIL,NIL,NIL,NIL,NIL,NIL\n");
    check(&row, "{\"s\":\"a,b c\"}\n", "csv", bare, "a,b c;;;;;\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_values_are_spelled_as_flink_does),
        cmocka_unit_test(json_texts_and_decimals_keep_their_value),
        cmocka_unit_test(csv_quotes_what_jackson_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
