/* Any token into any column, by the rules of Flink's converters: texts of numbers are numbers, a number under STRING is
 * its text, any text but "true" under BOOLEAN is FALSE, a container under STRING is its JSON text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/calendar.h"
#include "data/decimal.h"
#include "formats/json_reader.h"
#include "formats/json_scan.h"

enum token_kind { TOKEN_STRING, TOKEN_NUMBER, TOKEN_WORD, TOKEN_CONTAINER };
enum outcome { OUTCOME_VALUE, OUTCOME_NULL, OUTCOME_REFUSED, OUTCOME_FAILED };
struct token {
    enum token_kind kind;
    struct text text;
    const char *end;
};

/* Reads the token at p; the text of an escaped string is in scratch. False: failure is set, or (text.bytes NULL) the string is broken. */
static bool read_token(struct json_reader *reader, struct json_node *node, const char *p, struct token *token)
{
    const char *why;
    struct json_string string;
    if (*p == '"') {
        token->kind = TOKEN_STRING;
        token->end = json_scan_string(p + 1, &string, &why);
        if (token->end == NULL) {
            json_fail(reader, node, why, p);
            return false;
        }
        token->text = string.raw;
        if (string.escaped) {
            size_t length;
            if (!json_reserve_scratch(reader, string.raw.length)) {
                return false;
            }
            bool whole = json_unescape(string.raw, reader->scratch, &length);
            token->text = whole ? (struct text){reader->scratch, length} : (struct text){NULL, 0};
        }
        return true;
    }
    token->kind = *p == '{' || *p == '[' ? TOKEN_CONTAINER : *p == 't' || *p == 'f' ? TOKEN_WORD : TOKEN_NUMBER;
    token->end = json_skip_value(p, &why);
    if (token->end == NULL) {
        json_fail(reader, node, why, p);
        return false;
    }
    token->text = (struct text){p, (size_t)(token->end - p)};
    return true;
}

static enum outcome put_text(struct json_reader *reader, struct json_node *node, struct text text, uint32_t row)
{
    reader->status = column_put_copy(&node->column, row, text, reader->err);
    return reader->status == STATUS_OK ? OUTCOME_VALUE : OUTCOME_FAILED;
}

static enum outcome convert_string(struct json_reader *reader, struct json_node *node, const struct token *token, uint32_t row)
{
    if (token->kind != TOKEN_CONTAINER) {
        return put_text(reader, node, token->text, row);
    }
    struct text_builder compact = {0};
    json_append_compact(token->text, &compact);
    enum outcome outcome = OUTCOME_FAILED;
    if (compact.failed) {
        reader->status = error_set(reader->err, ERROR_BUDGET_SPENT, "no room for a text of %zu bytes", token->text.length);
    } else {
        outcome = put_text(reader, node, (struct text){compact.bytes, compact.length}, row);
    }
    text_builder_close(&compact);
    return outcome;
}

static enum outcome convert_binary(struct json_reader *reader, struct json_node *node, const struct token *token, uint32_t row)
{
    size_t length;
    if (token->kind != TOKEN_STRING) {
        return OUTCOME_REFUSED;
    }
    char *bytes = malloc(token->text.length + 3);
    if (bytes == NULL) {
        reader->status = error_set(reader->err, ERROR_BUDGET_SPENT, "no room for a text of %zu bytes", token->text.length);
        return OUTCOME_FAILED;
    }
    enum outcome outcome = OUTCOME_REFUSED;
    if (text_decode_base64(token->text, bytes, &length)) {
        outcome = put_text(reader, node, (struct text){bytes, length}, row);
    }
    free(bytes);
    return outcome;
}

static void put_wide(struct vector *vector, uint32_t row, int128_t value)
{
    if (vector->physical == PHYSICAL_INT128) {
        vector_int128(vector)[row] = value;
    } else {
        vector_int64(vector)[row] = (int64_t)value;
    }
}

static bool parse_whole(const struct json_node *node, const struct token *token, int64_t min, int64_t max, int64_t *value)
{
    bool cut = token->kind == TOKEN_NUMBER && (node->kind == TYPE_INT || node->kind == TYPE_BIGINT);
    return cut ? text_truncate_decimal(token->text, min, max, value) : text_parse_integer(token->text, min, max, value);
}

static enum outcome convert_integer(struct json_node *node, const struct token *token, uint32_t row)
{
    int64_t value;
    struct vector *vector = node->column.vector;
    if (!parse_whole(node, token, node->min, node->max, &value)) {
        return OUTCOME_REFUSED;
    }
    switch (vector->physical) {
    case PHYSICAL_INT8:
        vector_int8(vector)[row] = (int8_t)value;
        break;
    case PHYSICAL_INT16:
        vector_int16(vector)[row] = (int16_t)value;
        break;
    case PHYSICAL_INT32:
        vector_int32(vector)[row] = (int32_t)value;
        break;
    default:
        vector_int64(vector)[row] = value;
        break;
    }
    return OUTCOME_VALUE;
}

static enum outcome convert_interval(struct json_node *node, const struct token *token, uint32_t row)
{
    int64_t value;
    if (node->kind == TYPE_INTERVAL_MONTH) {
        if (!parse_whole(node, token, INT32_MIN, INT32_MAX, &value)) {
            return OUTCOME_REFUSED;
        }
        vector_int32(node->column.vector)[row] = (int32_t)value;
        return OUTCOME_VALUE;
    }
    if (!parse_whole(node, token, INT64_MIN / US_PER_MS, INT64_MAX / US_PER_MS, &value)) {
        return OUTCOME_REFUSED;
    }
    vector_int64(node->column.vector)[row] = value * US_PER_MS;
    return OUTCOME_VALUE;
}

static enum outcome convert_floating(struct json_node *node, const struct token *token, uint32_t row)
{
    double value;
    if (token->kind == TOKEN_WORD || !text_parse_double(token->text, &value)) {
        return OUTCOME_REFUSED;
    }
    if (node->kind == TYPE_FLOAT) {
        vector_float(node->column.vector)[row] = (float)value;
    } else {
        vector_double(node->column.vector)[row] = value;
    }
    return OUTCOME_VALUE;
}

static enum outcome convert_decimal(struct json_node *node, const struct token *token, uint32_t row)
{
    int128_t value;
    struct text text = text_trim(token->text);
    if (!text_is_decimal(text)) {
        return OUTCOME_REFUSED;
    }
    if (!decimal_parse(text, node->type->precision, node->type->scale, &value)) {
        return OUTCOME_NULL; /* more digits than the column holds */
    }
    put_wide(node->column.vector, row, value);
    return OUTCOME_VALUE;
}

static enum outcome convert_time(const struct json_reader *reader, struct json_node *node, const struct token *token, uint32_t row)
{
    static const int32_t steps[] = {1000, 100, 10, 1};
    struct vector *vector = node->column.vector;
    enum time_form form = (enum time_form)reader->settings.timestamp_form;
    int32_t value;
    int128_t wide;
    switch (node->kind) {
    case TYPE_DATE:
        if (!text_parse_date(token->text, &value)) {
            return OUTCOME_REFUSED;
        }
        vector_int32(vector)[row] = value;
        return OUTCOME_VALUE;
    case TYPE_TIME:
        if (!text_parse_time(token->text, form, &value)) {
            return OUTCOME_REFUSED;
        }
        vector_int32(vector)[row] = node->type->precision < 3 ? value - value % steps[node->type->precision] : value;
        return OUTCOME_VALUE;
    default:
        if (!text_parse_timestamp(token->text, form, node->kind == TYPE_TIMESTAMP_LTZ, node->type->precision, &node->day, &wide)) {
            return OUTCOME_REFUSED;
        }
        put_wide(vector, row, wide);
        return OUTCOME_VALUE;
    }
}

static enum outcome convert_scalar(struct json_reader *reader, struct json_node *node, const struct token *token, uint32_t row)
{
    switch (node->kind) {
    case TYPE_BOOLEAN:
        vector_bool(node->column.vector)[row] = text_equal_ignoring_case(text_trim(token->text), TEXT("true"));
        return OUTCOME_VALUE;
    case TYPE_TINYINT:
    case TYPE_SMALLINT:
    case TYPE_INT:
    case TYPE_BIGINT:
        return convert_integer(node, token, row);
    case TYPE_INTERVAL_MONTH:
    case TYPE_INTERVAL_DAY:
        return convert_interval(node, token, row);
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        return convert_floating(node, token, row);
    case TYPE_DECIMAL:
        return convert_decimal(node, token, row);
    case TYPE_DATE:
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        return token->kind == TOKEN_STRING ? convert_time(reader, node, token, row) : OUTCOME_REFUSED;
    default:
        return OUTCOME_REFUSED; /* ROW, ARRAY, MAP */
    }
}

static enum outcome convert(struct json_reader *reader, struct json_node *node, const struct token *token, uint32_t row)
{
    if (node->kind == TYPE_NULL) {
        return OUTCOME_NULL;
    }
    if (token->text.bytes == NULL) {
        return OUTCOME_REFUSED; /* half of a surrogate pair */
    }
    if (type_is_text(node->type)) {
        return convert_string(reader, node, token, row);
    }
    if (token->kind == TOKEN_CONTAINER) {
        return OUTCOME_REFUSED;
    }
    return type_is_binary(node->type) ? convert_binary(reader, node, token, row) : convert_scalar(reader, node, token, row);
}

static const char *refuse(struct json_reader *reader, struct json_node *node, const struct token *token)
{
    char excerpt[TEXT_EXCERPT_BYTES];
    struct text_builder type = {0};
    type_print(node->type, &type);
    if (token->text.bytes == NULL) {
        snprintf(reader->failure.text, sizeof reader->failure.text, "the text has half of a surrogate pair");
    } else {
        snprintf(reader->failure.text, sizeof reader->failure.text, "'%s' is no %.80s", text_excerpt(token->text, excerpt),
                 type.failed ? "such value" : type.bytes);
    }
    text_builder_close(&type);
    reader->failure.code = ERROR_RECORD_UNREADABLE;
    reader->failure.node = node;
    return NULL;
}

const char *json_convert_value(struct json_reader *reader, struct json_node *node, const char *p, uint32_t row)
{
    struct token token;
    if (!read_token(reader, node, p, &token)) {
        return NULL;
    }
    switch (convert(reader, node, &token, row)) {
    case OUTCOME_VALUE:
        column_set_valid(&node->column, row);
        return token.end;
    case OUTCOME_NULL:
        return json_set_null(reader, node, row) ? token.end : NULL;
    case OUTCOME_FAILED:
        return NULL;
    default:
        break;
    }
    if (!reader->settings.ignore_parse_errors) {
        return refuse(reader, node, &token);
    }
    return json_set_null(reader, node, row) ? token.end : NULL;
}
