/* Literals: the type is the smallest that holds what was written, digits counted as written. */
#include "sql/binder_internal.h"

#include <stdlib.h>
#include <string.h>

#include "data/calendar.h"
#include "data/decimal.h"
#include "data/number_text.h"

/* A constant of one value that lies in the arena. */
static enum status make_constant(struct binder *binder, enum type_kind kind, int32_t precision, int32_t scale, int128_t value,
                                 const struct expression **result, struct error *err)
{
    struct vector *vector;
    const struct type *type;
    TRY_ALLOC(type, type_make(binder->arena, kind, precision, scale, false), err);
    TRY_ALLOC(vector, arena_alloc(binder->arena, sizeof *vector), err);
    *vector = (struct vector){.type = type, .physical = type_physical(type), .count = 1};
    TRY_ALLOC(vector->values, arena_alloc(binder->arena, sizeof value), err);
    memcpy(vector->values, &value, physical_bytes(vector->physical)); /* little-endian: the low bytes */
    TRY_ALLOC(*result, expression_constant(binder->arena, vector), err);
    return STATUS_OK;
}

static enum status make_double(struct binder *binder, double value, const struct expression **result, struct error *err)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    struct vector *vector;
    TRY_ALLOC(vector, arena_alloc(binder->arena, sizeof *vector), err);
    *vector = (struct vector){.type = &type_double_not_null, .physical = PHYSICAL_DOUBLE, .count = 1};
    TRY_ALLOC(vector->values, arena_copy(binder->arena, &value, sizeof value), err);
    TRY_ALLOC(*result, expression_constant(binder->arena, vector), err);
    return STATUS_OK;
}

static enum status bind_number(struct binder *binder, const struct ast_expression *ast, bool negative, const struct expression **result,
                               struct error *err)
{
    struct text text = ast->text;
    if (memchr(text.bytes, 'e', text.length) != NULL || memchr(text.bytes, 'E', text.length) != NULL) {
        double value;
        char *digits;
        TRY_ALLOC(digits, text_to_arena(binder->arena, text), err);
        value = strtod(digits, NULL);
        return make_double(binder, negative ? -value : value, result, err);
    }
    int32_t digits = 0, scale = 0;
    bool fraction = false;
    int128_t value = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i];
        if (c == '.') {
            fraction = true;
            continue;
        }
        if (c < '0' || c > '9' || value > decimal_power_of_ten(37) * 10 / 10) {
            return bind_refuse(&ast->at, ERROR_INVALID_LITERAL, err, "number %.*s has more than 38 digits", (int)text.length, text.bytes);
        }
        value = value * 10 + (c - '0');
        digits++;
        scale += fraction;
    }
    if (!decimal_fits(value, DECIMAL_PRECISION_MAX) || scale > DECIMAL_PRECISION_MAX) {
        return bind_refuse(&ast->at, ERROR_INVALID_LITERAL, err, "number %.*s has more than 38 digits", (int)text.length, text.bytes);
    }
    value = negative ? -value : value;
    if (scale == 0 && value >= INT32_MIN && value <= INT32_MAX) {
        return make_constant(binder, TYPE_INT, 0, 0, value, result, err);
    }
    if (scale == 0 && value >= INT64_MIN && value <= INT64_MAX) {
        return make_constant(binder, TYPE_BIGINT, 0, 0, value, result, err);
    }
    return make_constant(binder, TYPE_DECIMAL, digits > DECIMAL_PRECISION_MAX ? DECIMAL_PRECISION_MAX : digits, scale, value, result, err);
}

struct reader {
    const char *at, *end;
};

/* Reads 1 to `most` digits. */
static bool read_digits(struct reader *reader, uint32_t most, int64_t *value, uint32_t *count)
{
    *value = 0;
    *count = 0;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9' && *count < most) {
        *value = *value * 10 + (*reader->at++ - '0');
        (*count)++;
    }
    return *count > 0;
}
static bool read_char(struct reader *reader, char c)
{
    if (reader->at < reader->end && *reader->at == c) {
        reader->at++;
        return true;
    }
    return false;
}

static bool read_date(struct reader *reader, int32_t *days)
{
    int64_t year, month, day;
    uint32_t count;
    if (!read_digits(reader, 4, &year, &count) || !read_char(reader, '-') || !read_digits(reader, 2, &month, &count) ||
        !read_char(reader, '-') || !read_digits(reader, 2, &day, &count)) {
        return false;
    }
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > date_days_in_month((int32_t)year, (int32_t)month)) {
        return false;
    }
    *days = date_join((int32_t)year, (int32_t)month, (int32_t)day);
    return true;
}

/* hh:mm:ss[.fraction] as nanoseconds; *digits: of the fraction. */
static bool read_time(struct reader *reader, int64_t *ns, int32_t *digits)
{
    int64_t hour, minute, second, fraction = 0;
    uint32_t count;
    if (!read_digits(reader, 2, &hour, &count) || !read_char(reader, ':') || !read_digits(reader, 2, &minute, &count) ||
        !read_char(reader, ':') || !read_digits(reader, 2, &second, &count) || hour > 23 || minute > 59 || second > 59) {
        return false;
    }
    *digits = 0;
    if (read_char(reader, '.')) {
        if (!read_digits(reader, 9, &fraction, &count)) {
            return false;
        }
        *digits = (int32_t)count;
        for (; count < 9; count++) {
            fraction *= 10;
        }
    }
    *ns = ((hour * 60 + minute) * 60 + second) * 1000000000 + fraction;
    return true;
}

static enum status refuse_time(const struct ast_expression *ast, const char *what, const char *form, struct error *err)
{
    return bind_refuse(&ast->at, ERROR_INVALID_LITERAL, err, "'%.*s' is no %s: write it as '%s'", (int)ast->text.length, ast->text.bytes,
                       what, form);
}

static enum status bind_temporal(struct binder *binder, const struct ast_expression *ast, const struct expression **result,
                                 struct error *err)
{
    struct reader reader = {ast->text.bytes, ast->text.bytes + ast->text.length};
    int32_t days = 0, digits = 0;
    int64_t ns = 0;
    if (ast->kind == AST_DATE) {
        if (!read_date(&reader, &days) || reader.at != reader.end) {
            return refuse_time(ast, "date", "yyyy-MM-dd", err);
        }
        return make_constant(binder, TYPE_DATE, 0, 0, days, result, err);
    }
    if (ast->kind == AST_TIME) {
        if (!read_time(&reader, &ns, &digits) || reader.at != reader.end) {
            return refuse_time(ast, "time", "HH:mm:ss[.fraction]", err);
        }
        return make_constant(binder, TYPE_TIME, digits, 0, ns / 1000000, result, err);
    }
    if (!read_date(&reader, &days) || !read_char(&reader, ' ') || !read_time(&reader, &ns, &digits) || reader.at != reader.end) {
        return refuse_time(ast, "timestamp", "yyyy-MM-dd HH:mm:ss[.fraction]", err);
    }
    int128_t value = digits <= 6 ? (int128_t)days * US_PER_DAY + ns / 1000 : (int128_t)days * US_PER_DAY * 1000 + ns;
    return make_constant(binder, TYPE_TIMESTAMP, digits, 0, value, result, err);
}

/* Units from the largest on, with how many of a unit the one before it has. */
enum { UNIT_YEAR, UNIT_MONTH, UNIT_DAY, UNIT_HOUR, UNIT_MINUTE, UNIT_SECOND, UNIT_COUNT, UNIT_QUARTER, UNIT_WEEK, UNIT_MILLISECOND };
static const struct interval_unit {
    const char *name;
    int32_t unit;
    int64_t size;   /* months, or us */
    char separator; /* before it, when it is not the first */
} interval_units[] = {
    {"YEAR", UNIT_YEAR, 12, 0},
    {"MONTH", UNIT_MONTH, 1, '-'},
    {"DAY", UNIT_DAY, US_PER_DAY, 0},
    {"HOUR", UNIT_HOUR, US_PER_HOUR, ' '},
    {"MINUTE", UNIT_MINUTE, US_PER_MINUTE, ':'},
    {"SECOND", UNIT_SECOND, US_PER_SECOND, ':'},
    {"QUARTER", UNIT_QUARTER, 3, 0},
    {"WEEK", UNIT_WEEK, 7 * US_PER_DAY, 0},
    {"MILLISECOND", UNIT_MILLISECOND, US_PER_MS, 0},
};

static const struct interval_unit *find_unit(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < ARRAY_LENGTH(interval_units); i++) {
        size_t own = strlen(interval_units[i].name);
        if (strncmp(interval_units[i].name, name, own) == 0 &&
            (length == own || (length == own + 1 && name[own] == 'S'))) { /* the plural too */
            return &interval_units[i];
        }
    }
    return NULL;
}

/* The fields of an interval's text from `first` to `last`. */
static bool read_interval(struct reader *reader, const struct interval_unit *first, const struct interval_unit *last, int64_t leading_max,
                          int64_t *value)
{
    *value = 0;
    for (const struct interval_unit *unit = first; unit <= last; unit++) {
        int64_t field, fraction = 0;
        uint32_t count;
        if (unit != first && !read_char(reader, unit->separator)) {
            return false;
        }
        if (!read_digits(reader, 10, &field, &count) || (unit == first && field > leading_max)) {
            return false;
        }
        if (unit != first && field > (unit->unit == UNIT_MONTH ? 11 : unit->unit == UNIT_HOUR ? 23 : 59)) {
            return false;
        }
        *value += field * unit->size;
        if (unit->unit == UNIT_SECOND && read_char(reader, '.')) {
            if (!read_digits(reader, 9, &fraction, &count)) {
                return false;
            }
            for (; count < 9; count++) {
                fraction *= 10;
            }
            *value += fraction / 1000;
        }
    }
    return reader->at == reader->end;
}

static enum status bind_interval(struct binder *binder, const struct ast_expression *ast, bool negative, const struct expression **result,
                                 struct error *err)
{
    const struct interval_unit *first = ast->unit_from == NULL ? NULL : find_unit(ast->unit_from);
    const struct interval_unit *last = ast->unit_to == NULL ? first : find_unit(ast->unit_to);
    if (first == NULL || last == NULL || last < first || (first->unit >= UNIT_COUNT && first != last)) {
        return bind_refuse(&ast->at, ERROR_INVALID_LITERAL, err, "INTERVAL cannot be of %s%s%s",
                           ast->unit_from != NULL ? ast->unit_from : "nothing", ast->unit_to != NULL ? " TO " : "",
                           ast->unit_to != NULL ? ast->unit_to : "");
    }
    bool months = first->unit == UNIT_YEAR || first->unit == UNIT_MONTH || first->unit == UNIT_QUARTER;
    int32_t precision = ast->precision >= 0 ? ast->precision : 2;
    int64_t leading_max = 9999999999;
    if (ast->precision >= 0 && ast->precision < 10) {
        leading_max = (int64_t)decimal_power_of_ten(ast->precision) - 1;
    }
    struct reader reader = {ast->text.bytes, ast->text.bytes + ast->text.length};
    while (reader.at < reader.end && *reader.at == ' ') {
        reader.at++;
    }
    while (reader.end > reader.at && reader.end[-1] == ' ') {
        reader.end--;
    }
    bool minus = read_char(&reader, '-');
    if (!minus) {
        (void)read_char(&reader, '+');
    }
    int64_t value;
    if (!read_interval(&reader, first, last, leading_max, &value) || (months && value > INT32_MAX)) {
        return bind_refuse(&ast->at, ERROR_INVALID_LITERAL, err, "'%.*s' is no interval of %s%s%s", (int)ast->text.length, ast->text.bytes,
                           ast->unit_from, ast->unit_to != NULL ? " TO " : "", ast->unit_to != NULL ? ast->unit_to : "");
    }
    if (minus != ast->negative) {
        value = -value;
    }
    value = negative ? -value : value;
    return months ? make_constant(binder, TYPE_INTERVAL_MONTH, precision, 0, value, result, err)
                  : make_constant(binder, TYPE_INTERVAL_DAY, precision, 3, value, result, err);
}

static enum status bind_binary(struct binder *binder, const struct ast_expression *ast, const struct expression **result, struct error *err)
{
    struct vector *vector;
    const struct type *type;
    struct string_view *view;
    const char *bytes;
    TRY_ALLOC(type, type_make(binder->arena, TYPE_BINARY, (int32_t)ast->text.length, 0, false), err);
    TRY_ALLOC(vector, arena_alloc(binder->arena, sizeof *vector), err);
    TRY_ALLOC(view, arena_alloc(binder->arena, sizeof *view), err);
    TRY_ALLOC(bytes, arena_text(binder->arena, ast->text.bytes, ast->text.length), err);
    *view = string_view_make(bytes, ast->text.length);
    *vector = (struct vector){.type = type, .physical = PHYSICAL_STRING, .count = 1, .values = view};
    TRY_ALLOC(*result, expression_constant(binder->arena, vector), err);
    return STATUS_OK;
}

enum status bind_literal(struct binder *binder, const struct ast_expression *ast, bool negative, const struct expression **expression,
                         struct error *err)
{
    switch (ast->kind) {
    case AST_NULL:
        TRY_ALLOC(*expression, expression_null(binder->arena, &type_null), err);
        break;
    case AST_BOOLEAN:
        TRY_ALLOC(*expression, expression_boolean(binder->arena, ast->boolean), err);
        break;
    case AST_STRING:
        TRY_ALLOC(*expression, expression_string(binder->arena, ast->text), err);
        break;
    case AST_NUMBER:
        TRY(bind_number(binder, ast, negative, expression, err));
        break;
    case AST_INTERVAL:
        TRY(bind_interval(binder, ast, negative, expression, err));
        break;
    case AST_BINARY:
        TRY(bind_binary(binder, ast, expression, err));
        break;
    default:
        TRY(bind_temporal(binder, ast, expression, err));
        break;
    }
    (void)bind_at(*expression, &ast->at);
    return STATUS_OK;
}

enum status bind_constant_int64(struct binder *binder, struct scope *scope, const struct ast_expression *ast, const char *what,
                                int64_t *value, struct error *err)
{
    const struct expression *expression;
    const struct vector *constant;
    TRY(bind_scalar(binder, scope, ast, &expression, err));
    if (!expression_is_constant(expression) || !type_is_integer(expression->type)) {
        return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "%s must be a constant whole number", what);
    }
    TRY(bind_place(program_evaluate_constant(binder->arena, binder->context->evaluation, expression, &constant, err), &ast->at, err));
    if (!vector_is_valid(constant, 0)) {
        return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "%s must not be NULL", what);
    }
    *value = (int64_t)vector_get_integer(constant, 0);
    return STATUS_OK;
}

enum status bind_constant_interval(struct binder *binder, struct scope *scope, const struct ast_expression *ast, const char *what,
                                   int64_t *us, struct error *err)
{
    const struct expression *expression;
    const struct vector *constant;
    TRY(bind_scalar(binder, scope, ast, &expression, err));
    if (expression->type->kind != TYPE_INTERVAL_DAY || !expression_is_constant(expression)) {
        return bind_refuse(&ast->at, ERROR_INVALID_WINDOW, err, "%s must be a constant interval of days to seconds, not %s", what,
                           bind_type_text(binder, expression->type));
    }
    TRY(bind_place(program_evaluate_constant(binder->arena, binder->context->evaluation, expression, &constant, err), &ast->at, err));
    if (!vector_is_valid(constant, 0)) {
        return bind_refuse(&ast->at, ERROR_INVALID_WINDOW, err, "%s must not be NULL", what);
    }
    *us = (int64_t)vector_get_integer(constant, 0);
    return STATUS_OK;
}
