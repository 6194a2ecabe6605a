/* formats/json_options.h: the options of the json format, shared by its decoder and encoder.
 *
 * For         one table in WITH (...): a table is read and written under the same options.
 */
#ifndef SPATE_FORMATS_JSON_OPTIONS_H
#define SPATE_FORMATS_JSON_OPTIONS_H

#include "formats/format.h"

enum json_map_null_key { JSON_MAP_NULL_KEY_FAIL, JSON_MAP_NULL_KEY_DROP, JSON_MAP_NULL_KEY_LITERAL };
struct json_settings {
    bool fail_on_missing_field, ignore_parse_errors, parser_enabled;
    bool decimal_as_plain_number, ignore_null_fields;
    int32_t timestamp_form; /* enum time_form */
    int32_t map_null_key;   /* enum json_map_null_key */
    const char *map_null_key_literal;
};
enum { JSON_OPTION_COUNT = 8 };
extern const struct option_def json_options[JSON_OPTION_COUNT];

#endif
