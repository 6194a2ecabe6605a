/* The CSV decoder: a record is scanned into fields by csv_scan.c, then the fields that are read are converted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "data/decimal.h"
#include "formats/built_in.h"
#include "formats/column.h"
#include "formats/csv_scan.h"
#include "formats/text_values.h"

struct csv_column {
    struct column column;
    const struct type *type;
    const char *name;
    bool used, shares; /* shares: strings may be views into the block */
    int64_t min, max;
    struct day_cache day;
    struct csv_column *children; /* ROW: fields; ARRAY: the element */
    uint32_t element_count;
};

struct csv_decoder {
    struct decoder base;
    struct csv_settings settings;
    struct csv_dialect dialect;
    struct csv_column *columns;
    uint32_t column_count;
    struct csv_record record;
    struct buffer *block;
    char *scratch;
    size_t scratch_capacity;
    enum status status;
    struct error *err;
    const struct csv_column *failed; /* the field of the failure, NULL: the record */
    char failure[256];
};

static enum status column_open(struct csv_decoder *self, struct csv_column *column, const struct type *type, bool nested,
                               struct arena *arena, struct error *err)
{
    static const int64_t limits[][2] = {[TYPE_TINYINT] = {INT8_MIN, INT8_MAX},
                                        [TYPE_SMALLINT] = {INT16_MIN, INT16_MAX},
                                        [TYPE_INT] = {INT32_MIN, INT32_MAX},
                                        [TYPE_BIGINT] = {INT64_MIN, INT64_MAX}};
    column->type = type;
    if (type_is_integer(type)) {
        column->min = limits[type->kind][0];
        column->max = limits[type->kind][1];
        return STATUS_OK;
    }
    bool container = type->kind == TYPE_ARRAY || type->kind == TYPE_ROW;
    if ((container && nested) || type->kind == TYPE_MAP || type->kind == TYPE_MULTISET || type->kind == TYPE_VARIANT ||
        type->kind == TYPE_BITMAP || type_is_interval(type)) {
        return error_set(err, ERROR_NOT_SUPPORTED, "the format 'csv' does not read %s%s", type_to_text(arena, type),
                         nested ? " inside a field" : "");
    }
    if (container) {
        TRY_ALLOC(column->children, arena_alloc(arena, type->child_count * sizeof *column->children), err);
        for (uint32_t i = 0; i < type->child_count; i++) {
            column->children[i].name = type->kind == TYPE_ROW ? type->names[i] : NULL;
            column->children[i].used = true;
            TRY(column_open(self, &column->children[i], type->children[i], true, arena, err));
        }
    }
    return STATUS_OK;
}

static enum status csv_decoder_open(const struct format_context *context, const void *settings, struct decoder **decoder, struct error *err)
{
    struct csv_decoder *self;
    TRY_ALLOC(self, arena_alloc(context->arena, sizeof *self), err);
    self->base.type = &csv_decoder_type;
    self->settings = *(const struct csv_settings *)settings;
    TRY(csv_dialect_make(&self->settings, context->arena, &self->dialect, err));
    self->column_count = context->row->child_count;
    TRY_ALLOC(self->columns, arena_alloc(context->arena, (self->column_count + 1) * sizeof *self->columns), err);
    for (uint32_t i = 0; i < self->column_count; i++) {
        self->columns[i].name = context->row->names[i];
        self->columns[i].used = context->projections == NULL || context->projections[i].used;
        if (self->columns[i].used) {
            TRY(column_open(self, &self->columns[i], context->row->children[i], false, context->arena, err));
        }
    }
    self->record.field_limit = self->column_count + 1;
    TRY_ALLOC(self->record.fields, arena_alloc(context->arena, self->record.field_limit * sizeof *self->record.fields), err);
    *decoder = &self->base;
    return STATUS_OK;
}

static void csv_decoder_close(struct decoder *decoder)
{
    free(((struct csv_decoder *)decoder)->scratch);
}

static void column_start(struct csv_column *column, struct budget *budget, struct vector *vector, uint32_t capacity)
{
    column_bind(&column->column, budget, vector, capacity);
    column->shares = false;
    if (column->type->kind == TYPE_ARRAY) {
        column->element_count = vector->children[0].count;
        column_start(&column->children[0], budget, &vector->children[0], column->element_count);
    } else if (column->type->kind == TYPE_ROW) {
        for (uint32_t i = 0; i < column->type->child_count; i++) {
            column_start(&column->children[i], budget, &vector->children[i], capacity);
        }
    }
}

static bool set_null(struct csv_decoder *self, struct csv_column *column, uint32_t row)
{
    if (!column->type->nullable) {
        self->failed = column;
        snprintf(self->failure, sizeof self->failure, "a field that is NOT NULL has no value");
        return false;
    }
    self->status = column_set_null(&column->column, row, self->err);
    if (column->type->kind == TYPE_ROW) {
        for (uint32_t i = 0; i < column->type->child_count; i++) {
            column_clear_slot(&column->children[i].column, row);
        }
    }
    return self->status == STATUS_OK;
}

/* The text does not convert: NULL or the end of the record. */
static bool refuse(struct csv_decoder *self, struct csv_column *column, struct text text, uint32_t row)
{
    if (self->settings.ignore_parse_errors) {
        return set_null(self, column, row);
    }
    char excerpt[TEXT_EXCERPT_BYTES];
    struct text_builder type = {0};
    type_print(column->type, &type);
    snprintf(self->failure, sizeof self->failure, "'%s' is no %.80s", text_excerpt(text, excerpt), type.failed ? "such value" : type.bytes);
    text_builder_close(&type);
    self->failed = column;
    return false;
}

static bool put_text(struct csv_decoder *self, struct csv_column *column, struct text text, bool in_block, uint32_t row)
{
    if (text.length > STRING_INLINE_BYTES && in_block && self->block != NULL) {
        column->shares = column->shares || column_share_block(&column->column, self->block);
    }
    if (text.length <= STRING_INLINE_BYTES || (in_block && column->shares)) {
        vector_strings(column->column.vector)[row] = string_view_make(text.bytes, text.length);
        return true;
    }
    self->status = column_put_copy(&column->column, row, text, self->err);
    return self->status == STATUS_OK;
}

static bool reserve_scratch(struct csv_decoder *self, size_t bytes)
{
    if (bytes > self->scratch_capacity) {
        char *moved = realloc(self->scratch, bytes * 2);
        if (moved == NULL) {
            self->status = error_set(self->err, ERROR_BUDGET_SPENT, "no room for a field of %zu bytes", bytes);
            return false;
        }
        self->scratch = moved;
        self->scratch_capacity = bytes * 2;
    }
    return true;
}

static bool put_binary(struct csv_decoder *self, struct csv_column *column, struct text text, uint32_t row)
{
    char *bytes = malloc(text.length + 3);
    size_t length;
    bool done;
    if (bytes != NULL && text_decode_base64(text, bytes, &length)) {
        done = put_text(self, column, (struct text){bytes, length}, false, row);
    } else {
        done = refuse(self, column, text, row);
    }
    free(bytes);
    return done;
}

static void put_wide(struct vector *vector, uint32_t row, int128_t value)
{
    if (vector->physical == PHYSICAL_INT128) {
        vector_int128(vector)[row] = value;
    } else {
        vector_int64(vector)[row] = (int64_t)value;
    }
}

static bool put_integer(struct csv_column *column, struct text text, uint32_t row)
{
    struct vector *vector = column->column.vector;
    int64_t value;
    if (!text_parse_integer(text, column->min, column->max, &value)) {
        return false;
    }
    switch (vector->physical) {
    case PHYSICAL_INT8:
        vector_int8(vector)[row] = (int8_t)value;
        return true;
    case PHYSICAL_INT16:
        vector_int16(vector)[row] = (int16_t)value;
        return true;
    case PHYSICAL_INT32:
        vector_int32(vector)[row] = (int32_t)value;
        return true;
    default:
        vector_int64(vector)[row] = value;
        return true;
    }
}

static bool put_time(struct csv_column *column, struct text text, uint32_t row)
{
    static const int32_t steps[] = {1000, 100, 10, 1};
    struct vector *vector = column->column.vector;
    int32_t value, precision = column->type->precision;
    int128_t wide;
    switch (column->type->kind) {
    case TYPE_DATE:
        if (!text_parse_date_short(text, &value)) {
            return false;
        }
        vector_int32(vector)[row] = value;
        return true;
    case TYPE_TIME:
        if (!text_parse_time(text, TIME_FORM_ISO, &value)) {
            return false;
        }
        vector_int32(vector)[row] = precision < 3 ? value - value % steps[precision] : value;
        return true;
    default:
        if (!text_parse_timestamp(text, TIME_FORM_SQL, column->type->kind == TYPE_TIMESTAMP_LTZ, precision, &column->day, &wide)) {
            return false;
        }
        put_wide(vector, row, wide);
        return true;
    }
}

static bool put_number(struct csv_column *column, struct text text, uint32_t row)
{
    struct vector *vector = column->column.vector;
    double value;
    switch (column->type->kind) {
    case TYPE_BOOLEAN:
        vector_bool(vector)[row] = text_equal_ignoring_case(text_trim(text), TEXT("true"));
        return true;
    case TYPE_FLOAT:
        if (!text_parse_double(text, &value)) {
            return false;
        }
        vector_float(vector)[row] = (float)value;
        return true;
    case TYPE_DOUBLE:
        if (!text_parse_double(text, &value)) {
            return false;
        }
        vector_double(vector)[row] = value;
        return true;
    default:
        return put_integer(column, text, row);
    }
}

static bool put_value(struct csv_decoder *self, struct csv_column *column, struct text text, bool in_block, uint32_t row);

static bool put_decimal(struct csv_decoder *self, struct csv_column *column, struct text text, uint32_t row)
{
    int128_t value;
    if (!text_is_decimal(text_trim(text))) {
        return refuse(self, column, text, row);
    }
    if (!decimal_parse(text, column->type->precision, column->type->scale, &value)) {
        return set_null(self, column, row); /* more digits than the column holds */
    }
    put_wide(column->column.vector, row, value);
    return true;
}

/* The next part of a field that holds several; false: none is left. */
static bool next_part(const struct csv_dialect *dialect, struct text *rest, bool *more, struct text *part)
{
    if (!*more) {
        return false;
    }
    const char *found = memmem(rest->bytes, rest->length, dialect->array_delimiter.bytes, dialect->array_delimiter.length);
    *more = found != NULL;
    *part = (struct text){rest->bytes, found == NULL ? rest->length : (size_t)(found - rest->bytes)};
    if (found != NULL) {
        size_t used = part->length + dialect->array_delimiter.length;
        *rest = (struct text){rest->bytes + used, rest->length - used};
    }
    return true;
}

static bool put_array(struct csv_decoder *self, struct csv_column *column, struct text text, bool in_block, uint32_t row)
{
    uint32_t first = column->element_count;
    struct text part;
    for (bool more = text.length > 0; next_part(&self->dialect, &text, &more, &part);) {
        self->status = column_reserve(&column->children[0].column, column->element_count + 1, self->err);
        if (self->status != STATUS_OK || !put_value(self, &column->children[0], part, in_block, column->element_count)) {
            return false;
        }
        column->element_count++;
    }
    vector_spans(column->column.vector)[row] = (struct span){first, column->element_count - first};
    return true;
}

static bool put_row(struct csv_decoder *self, struct csv_column *column, struct text text, bool in_block, uint32_t row)
{
    struct text rest = text, part;
    uint32_t field = 0;
    for (bool more = true; next_part(&self->dialect, &rest, &more, &part); field++) {
        if (field == column->type->child_count) {
            return refuse(self, column, text, row);
        }
        if (!put_value(self, &column->children[field], part, in_block, row)) {
            return false;
        }
    }
    if (field < column->type->child_count && !self->settings.ignore_parse_errors) {
        return refuse(self, column, text, row);
    }
    for (; field < column->type->child_count; field++) {
        if (!set_null(self, &column->children[field], row)) {
            return false;
        }
    }
    return true;
}

/* `in_block`: the text lies in the input, not in scratch. */
static bool put_value(struct csv_decoder *self, struct csv_column *column, struct text text, bool in_block, uint32_t row)
{
    if (self->dialect.has_null && text_equal(text, self->dialect.null_literal)) {
        return set_null(self, column, row);
    }
    column_set_valid(&column->column, row);
    switch (column->type->kind) {
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        return put_text(self, column, text, in_block, row);
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        return put_binary(self, column, text, row);
    case TYPE_NULL:
        return set_null(self, column, row);
    case TYPE_ARRAY:
        return put_array(self, column, text, in_block, row);
    case TYPE_ROW:
        return put_row(self, column, text, in_block, row);
    case TYPE_DECIMAL:
        return put_decimal(self, column, text, row);
    case TYPE_DATE:
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        return put_time(column, text_trim(text), row) || refuse(self, column, text, row);
    default:
        return put_number(column, text, row) || refuse(self, column, text, row);
    }
}

static bool put_field(struct csv_decoder *self, struct csv_column *column, const struct csv_field *field, uint32_t row)
{
    if (!field->coded) {
        return put_value(self, column, field->raw, true, row);
    }
    if (!reserve_scratch(self, field->raw.length)) {
        return false;
    }
    struct text text = {self->scratch, csv_field_decode(&self->dialect, field, self->scratch)};
    return put_value(self, column, text, false, row);
}

static bool put_record(struct csv_decoder *self, const char *start, uint32_t row)
{
    const struct csv_record *record = &self->record;
    size_t length = (size_t)(record->end - start);
    self->failed = NULL;
    if (record->field_count > self->column_count || (record->field_count < self->column_count && !self->settings.ignore_parse_errors)) {
        snprintf(self->failure, sizeof self->failure, "the row has %u fields, the table %u", record->field_count, self->column_count);
        return false;
    }
    if (utf8_valid_length(start, length) != length) {
        snprintf(self->failure, sizeof self->failure, "the row is not valid UTF-8");
        return false;
    }
    for (uint32_t i = 0; i < self->column_count; i++) {
        struct csv_column *column = &self->columns[i];
        if (column->used && !(i < record->field_count ? put_field(self, column, &record->fields[i], row) : set_null(self, column, row))) {
            return false;
        }
    }
    return true;
}

/* A record that is none; OK: go on. */
static enum status report(struct csv_decoder *self, struct decode_target *target, const struct decode_input *input, const char *start,
                          uint64_t line, struct error *err)
{
    if (self->status != STATUS_OK) {
        return self->status;
    }
    if (self->settings.ignore_parse_errors) {
        target->dropped++;
        return STATUS_OK;
    }
    struct decode_failure failure = {.code = ERROR_RECORD_UNREADABLE,
                                     .field = self->failed == NULL || self->failed->name == NULL ? "" : self->failed->name,
                                     .text = self->failure,
                                     .record = {start, (size_t)(self->record.end - start)},
                                     .record_offset = (uint64_t)(start - input->bytes),
                                     .line = line};
    if (target->fail == NULL) {
        return error_set(err, failure.code, "field '%s': %s", failure.field, failure.text);
    }
    return target->fail(target->owner, &failure, err) ? STATUS_OK : err->status;
}

static enum status decode_records(struct csv_decoder *self, struct decode_input *input, struct decode_target *target, struct error *err)
{
    const char *p = input->bytes, *end = p + input->length;
    uint64_t line = 0;
    bool last = input->last || input->framed;
    while (p < end && target->batch->count < target->row_limit) {
        if (self->settings.allow_comments && *p == '#') {
            const char *line_end = memchr(p, '\n', (size_t)(end - p));
            if (line_end == NULL && !last) {
                break;
            }
            p = line_end == NULL ? end : line_end + 1;
            line++;
        } else {
            enum csv_outcome outcome = csv_scan_record(&self->dialect, p, end, last, &self->record);
            if (outcome == CSV_PARTIAL) {
                break;
            }
            if (outcome == CSV_RECORD && put_record(self, p, target->batch->count)) {
                target->batch->count++;
            } else {
                if (outcome == CSV_BROKEN) {
                    self->failed = NULL;
                    snprintf(self->failure, sizeof self->failure, "%s", self->record.why);
                }
                TRY(report(self, target, input, p, line, err));
            }
            line += 1 + self->record.line_feeds;
            p = self->record.next;
        }
        input->consumed = (size_t)(p - input->bytes);
        input->lines = line;
        if (input->framed) {
            break;
        }
    }
    return STATUS_OK;
}

static enum status csv_decode(struct decoder *decoder, struct decode_input *input, struct decode_target *target, struct error *err)
{
    struct csv_decoder *self = (struct csv_decoder *)decoder;
    struct batch *batch = target->batch;
    for (uint32_t i = 0; i < self->column_count; i++) {
        if (self->columns[i].used) {
            column_start(&self->columns[i], target->budget, &batch->columns[i], target->row_limit);
        }
    }
    self->block = input->block;
    self->status = STATUS_OK;
    self->err = err;
    input->consumed = 0;
    input->lines = 0;
    enum status status = decode_records(self, input, target, err);
    for (uint32_t i = 0; i < self->column_count; i++) {
        column_set_count(&batch->columns[i], batch->count);
        if (self->columns[i].used && self->columns[i].type->kind == TYPE_ARRAY) {
            column_set_count(&batch->columns[i].children[0], self->columns[i].element_count);
        }
    }
    return status;
}

const struct decoder_type csv_decoder_type = {
    .name = "csv",
    .summary = "Comma-separated fields, a record a line.",
    .options = csv_options,
    .option_count = CSV_OPTION_COUNT,
    .settings_bytes = sizeof(struct csv_settings),
    .open = csv_decoder_open,
    .decode = csv_decode,
    .close = csv_decoder_close,
};
