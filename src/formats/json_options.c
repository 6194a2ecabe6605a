#include "formats/json_options.h"

static const char *const timestamp_forms[] = {"SQL", "ISO-8601", NULL};
static const char *const map_null_keys[] = {"FAIL", "DROP", "LITERAL", NULL};

const struct option_def json_options[] = {
    {.name = "fail-on-missing-field",
     OPTION_BOOL(struct json_settings, fail_on_missing_field),
     .initial = "false",
     .summary = "Refuses a record that lacks a field; else the field is NULL."},
    {.name = "ignore-parse-errors",
     OPTION_BOOL(struct json_settings, ignore_parse_errors),
     .initial = "false",
     .summary = "A field that cannot be read becomes NULL, a record that is no JSON is dropped and counted."},
    {.name = "timestamp-format.standard",
     OPTION_CHOICE(struct json_settings, timestamp_form, timestamp_forms),
     .initial = "SQL",
     .summary = "Spelling of times: SQL '2024-01-31 12:00:00.5', ISO-8601 '2024-01-31T12:00:00.5'."},
    {.name = "map-null-key.mode",
     OPTION_CHOICE(struct json_settings, map_null_key, map_null_keys),
     .initial = "FAIL",
     .summary = "What the writer does with a NULL key of a map: FAIL, DROP the entry, or write a LITERAL."},
    {.name = "map-null-key.literal",
     OPTION_TEXT(struct json_settings, map_null_key_literal),
     .initial = "null",
     .summary = "The key written for a NULL key in mode LITERAL."},
    {.name = "encode.decimal-as-plain-number",
     OPTION_BOOL(struct json_settings, decimal_as_plain_number),
     .initial = "false",
     .summary = "Writes decimals with all their digits and no exponent."},
    {.name = "encode.ignore-null-fields",
     OPTION_BOOL(struct json_settings, ignore_null_fields),
     .initial = "false",
     .summary = "Leaves fields out that are NULL."},
    {.name = "decode.json-parser.enabled",
     OPTION_BOOL(struct json_settings, parser_enabled),
     .initial = "true",
     .summary = "Which of Flink's two parsers reads. They give the same rows, and so does the one here, for true and for false."},
};
