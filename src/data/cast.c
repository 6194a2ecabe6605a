/* data/cast.c: which types can become which, and the frame around the kernels.
 *
 * The rules are a table of pairs of families. A cast is a kernel and, for nested types, casts of the children. */
#include "data/cast.h"

#include <stdio.h>

#include "base/utf8.h"
#include "data/cast_kernels.h"

enum family {
    FAMILY_NULL,
    FAMILY_BOOLEAN,
    FAMILY_INTEGER,
    FAMILY_DECIMAL,
    FAMILY_FLOAT,
    FAMILY_TEXT,
    FAMILY_BINARY,
    FAMILY_DATE,
    FAMILY_TIME,
    FAMILY_TIMESTAMP,
    FAMILY_INTERVAL_MONTH,
    FAMILY_INTERVAL_DAY,
    FAMILY_NESTED,
    FAMILY_OTHER,
    FAMILY_COUNT
};

static enum family family_of(const struct type *type)
{
    static const uint8_t families[TYPE_KIND_COUNT] = {
        [TYPE_NULL] = FAMILY_NULL,
        [TYPE_BOOLEAN] = FAMILY_BOOLEAN,
        [TYPE_TINYINT] = FAMILY_INTEGER,
        [TYPE_SMALLINT] = FAMILY_INTEGER,
        [TYPE_INT] = FAMILY_INTEGER,
        [TYPE_BIGINT] = FAMILY_INTEGER,
        [TYPE_DECIMAL] = FAMILY_DECIMAL,
        [TYPE_FLOAT] = FAMILY_FLOAT,
        [TYPE_DOUBLE] = FAMILY_FLOAT,
        [TYPE_CHAR] = FAMILY_TEXT,
        [TYPE_VARCHAR] = FAMILY_TEXT,
        [TYPE_BINARY] = FAMILY_BINARY,
        [TYPE_VARBINARY] = FAMILY_BINARY,
        [TYPE_DATE] = FAMILY_DATE,
        [TYPE_TIME] = FAMILY_TIME,
        [TYPE_TIMESTAMP] = FAMILY_TIMESTAMP,
        [TYPE_TIMESTAMP_LTZ] = FAMILY_TIMESTAMP,
        [TYPE_INTERVAL_MONTH] = FAMILY_INTERVAL_MONTH,
        [TYPE_INTERVAL_DAY] = FAMILY_INTERVAL_DAY,
        [TYPE_ARRAY] = FAMILY_NESTED,
        [TYPE_MULTISET] = FAMILY_NESTED,
        [TYPE_MAP] = FAMILY_NESTED,
        [TYPE_ROW] = FAMILY_NESTED,
        [TYPE_VARIANT] = FAMILY_OTHER,
        [TYPE_BITMAP] = FAMILY_OTHER,
    };
    return (enum family)families[type->kind];
}

#define NEVER CAST_NEVER
#define EXPL  CAST_EXPLICIT
#define IMPL  CAST_IMPLICIT
/* From (row) to (column). Implicit among integers and floats depends on the width, see below. */
static const uint8_t rules[FAMILY_COUNT][FAMILY_COUNT] = {
    /*                NULL   BOOL   INT    DEC    FLOAT  TEXT  BIN    DATE   TIME   TS     IMON   IDAY   NEST   OTHER */
    [FAMILY_NULL] = {IMPL, IMPL, IMPL, IMPL, IMPL, IMPL, IMPL, IMPL, IMPL, IMPL, IMPL, IMPL, IMPL, IMPL},
    [FAMILY_BOOLEAN] = {NEVER, IMPL, EXPL, EXPL, EXPL, EXPL, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER},
    [FAMILY_INTEGER] = {NEVER, EXPL, EXPL, IMPL, IMPL, EXPL, NEVER, NEVER, NEVER, NEVER, EXPL, EXPL, NEVER, NEVER},
    [FAMILY_DECIMAL] = {NEVER, EXPL, EXPL, IMPL, IMPL, EXPL, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER},
    [FAMILY_FLOAT] = {NEVER, EXPL, EXPL, IMPL, EXPL, EXPL, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER},
    [FAMILY_TEXT] = {NEVER, EXPL, EXPL, EXPL, EXPL, IMPL, EXPL, EXPL, EXPL, EXPL, NEVER, NEVER, NEVER, NEVER},
    [FAMILY_BINARY] = {NEVER, NEVER, NEVER, NEVER, NEVER, EXPL, IMPL, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER},
    [FAMILY_DATE] = {NEVER, NEVER, NEVER, NEVER, NEVER, EXPL, NEVER, IMPL, NEVER, EXPL, NEVER, NEVER, NEVER, NEVER},
    [FAMILY_TIME] = {NEVER, NEVER, NEVER, NEVER, NEVER, EXPL, NEVER, NEVER, IMPL, EXPL, NEVER, NEVER, NEVER, NEVER},
    [FAMILY_TIMESTAMP] = {NEVER, NEVER, NEVER, NEVER, NEVER, EXPL, NEVER, IMPL, IMPL, IMPL, NEVER, NEVER, NEVER, NEVER},
    [FAMILY_INTERVAL_MONTH] = {NEVER, NEVER, EXPL, NEVER, NEVER, EXPL, NEVER, NEVER, NEVER, NEVER, IMPL, NEVER, NEVER, NEVER},
    [FAMILY_INTERVAL_DAY] = {NEVER, NEVER, EXPL, NEVER, NEVER, EXPL, NEVER, NEVER, NEVER, NEVER, NEVER, IMPL, NEVER, NEVER},
    [FAMILY_NESTED] = {NEVER, NEVER, NEVER, NEVER, NEVER, EXPL, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, IMPL, NEVER},
    [FAMILY_OTHER] = {NEVER, NEVER, NEVER, NEVER, NEVER, EXPL, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER},
};
#undef NEVER
#undef EXPL
#undef IMPL

static enum cast_rule nested_rule(const struct type *from, const struct type *to)
{
    if (from->kind != to->kind || from->child_count != to->child_count) {
        return CAST_NEVER;
    }
    enum cast_rule rule = CAST_IMPLICIT;
    for (uint32_t i = 0; i < from->child_count; i++) {
        enum cast_rule child = cast_find_rule(from->children[i], to->children[i]);
        rule = child < rule ? child : rule;
    }
    return rule;
}

enum cast_rule cast_find_rule(const struct type *from, const struct type *to)
{
    enum family left = family_of(from), right = family_of(to);
    if (left == FAMILY_NESTED && right == FAMILY_NESTED) {
        return nested_rule(from, to);
    }
    if (left == FAMILY_OTHER && from->kind == to->kind) {
        return CAST_IMPLICIT;
    }
    if ((left == FAMILY_INTEGER && right == FAMILY_INTEGER) || (left == FAMILY_FLOAT && right == FAMILY_FLOAT)) {
        return from->kind <= to->kind ? CAST_IMPLICIT : CAST_EXPLICIT;
    }
    return (enum cast_rule)rules[left][right];
}

/* The values of one type are those of the other, as they lie in memory. */
static bool same_values(const struct type *from, const struct type *to)
{
    if (from->child_count > 0 || to->child_count > 0) {
        return false;
    }
    if (from->kind == to->kind && from->precision == to->precision && from->scale == to->scale) {
        return true;
    }
    if (to->kind == TYPE_VARCHAR && type_is_text(from)) {
        return to->precision >= from->precision;
    }
    if (to->kind == TYPE_VARBINARY && type_is_binary(from)) {
        return to->precision >= from->precision;
    }
    return from->kind == to->kind && type_is_interval(from);
}

static enum status all_null(struct cast_run *run)
{
    CAST_EACH_ROW(run, row)
    {
        cast_set_null(run, row);
    }
    return run->status;
}

static cast_fn *find_kernel(const struct type *from, const struct type *to)
{
    if (from->kind == TYPE_NULL) {
        return all_null;
    }
    cast_fn *(*const finders[])(const struct type *, const struct type *) = {cast_nested_find, cast_text_find, cast_time_find,
                                                                             cast_decimal_find, cast_number_find};
    for (size_t i = 0; i < ARRAY_LENGTH(finders); i++) {
        cast_fn *fn = finders[i](from, to);
        if (fn != NULL) {
            return fn;
        }
    }
    return NULL;
}

static enum status create_children(struct arena *arena, struct cast *cast, struct error *err)
{
    const struct cast **children;
    TRY_ALLOC(children, arena_alloc(arena, cast->from->child_count * sizeof *children), err);
    for (uint32_t i = 0; i < cast->from->child_count; i++) {
        TRY(cast_create(arena, cast->from->children[i], cast->to->children[i], cast->try_cast, &children[i], err));
    }
    cast->children = children;
    cast->child_count = cast->from->child_count;
    return STATUS_OK;
}

static enum status refuse_pair(const struct type *from, const struct type *to, struct error *err)
{
    struct text_builder left = {0}, right = {0};
    type_print(from, &left);
    type_print(to, &right);
    enum status status = error_set(err, ERROR_TYPE_MISMATCH, "%s cannot be cast to %s", left.bytes == NULL ? "?" : left.bytes,
                                   right.bytes == NULL ? "?" : right.bytes);
    text_builder_close(&left);
    text_builder_close(&right);
    return status;
}

enum status cast_create(struct arena *arena, const struct type *from, const struct type *to, bool try_cast, const struct cast **result,
                        struct error *err)
{
    if (cast_find_rule(from, to) == CAST_NEVER) {
        return refuse_pair(from, to, err);
    }
    struct cast *cast;
    TRY_ALLOC(cast, arena_alloc(arena, sizeof *cast), err);
    *cast = (struct cast){.from = from, .to = to, .try_cast = try_cast};
    if (from->child_count > 0 && to->child_count > 0) {
        TRY(create_children(arena, cast, err));
    }
    if (!same_values(from, to)) {
        cast->fn = find_kernel(from, to);
        if (cast->fn == NULL) {
            return refuse_pair(from, to, err);
        }
    }
    *result = cast;
    return STATUS_OK;
}

/* The result has the NULLs of the source: the bitmap is shared until a kernel adds one. */
static enum status prepare_result(const struct cast *cast, const struct cast_context *context, const struct vector *source,
                                  struct vector *result, struct error *err)
{
    TRY(vector_create(context->budget, cast->to, source->count, result, err));
    if (source->physical != PHYSICAL_NULL && result->physical != PHYSICAL_NULL && source->validity != NULL) {
        result->validity = source->validity;
        result->validity_buffer = buffer_ref(source->validity_buffer);
    }
    if ((result->physical == PHYSICAL_STRING || result->physical == PHYSICAL_SPAN) && result->values != NULL) {
        memset(result->values, 0, (size_t)source->count * physical_bytes(result->physical));
    }
    return STATUS_OK;
}

enum status cast_run(const struct cast *cast, const struct cast_context *context, const struct vector *source, struct selection rows,
                     struct vector *result, struct error *err)
{
    if (cast->fn == NULL) {
        TRY(vector_ref(source, result, err));
        result->type = cast->to;
        return STATUS_OK;
    }
    TRY(prepare_result(cast, context, source, result, err));
    struct cast_run run = {
        .cast = cast, .context = context, .source = source, .rows = rows, .result = result, .status = STATUS_OK, .err = err};
    run.heap = (struct string_heap){.budget = context->budget, .target = result};
    enum status status = cast->fn(&run);
    status = status == STATUS_OK ? run.status : status;
    if (status != STATUS_OK) {
        vector_release(result);
    }
    return status;
}

void cast_set_null(struct cast_run *run, uint32_t row)
{
    if (run->status != STATUS_OK || run->result->physical == PHYSICAL_NULL) {
        return;
    }
    run->status = vector_need_validity(run->context->budget, run->result, run->source->count, run->err);
    if (run->status == STATUS_OK) {
        vector_set_null(run->result, row);
    }
}

void cast_reject(struct cast_run *run, uint32_t row, struct text value)
{
    if (run->cast->try_cast || run->context->legacy) {
        cast_set_null(run, row);
        return;
    }
    char message[300];
    struct text_builder type = {0};
    type_print(run->cast->to, &type);
    int shown = value.length > 100 ? (int)utf8_prefix(value.bytes, 100, 100) : (int)value.length;
    snprintf(message, sizeof message, "cannot cast '%.*s'%s to %s", shown, value.bytes, value.length > 100 ? "..." : "",
             type.bytes == NULL ? "the type" : type.bytes);
    text_builder_close(&type);
    run->context->fail(run->context->owner, row, ERROR_INVALID_CAST, message);
}

int32_t cast_length(const struct cast_run *run)
{
    const struct type *to = run->cast->to;
    bool cuts = !run->context->legacy || to->kind == TYPE_CHAR || to->kind == TYPE_BINARY;
    return cuts ? to->precision : LENGTH_MAX;
}

void cast_put_text(struct cast_run *run, uint32_t row, const char *bytes, size_t length)
{
    size_t wanted = (size_t)cast_length(run), characters = 0;
    if (length > wanted) {
        length = utf8_prefix(bytes, length, wanted);
    }
    size_t pad = 0;
    if (run->cast->to->kind == TYPE_CHAR) {
        characters = utf8_count(bytes, length);
        pad = characters < wanted ? wanted - characters : 0;
    }
    char short_text[STRING_INLINE_BYTES];
    char *copy = short_text;
    if (length + pad > STRING_INLINE_BYTES) {
        copy = string_heap_alloc(&run->heap, length + pad, run->err);
        if (copy == NULL) {
            run->status = run->err->status;
            return;
        }
    }
    if (length > 0) {
        memcpy(copy, bytes, length);
    }
    memset(copy + length, ' ', pad);
    vector_strings(run->result)[row] = string_view_make(copy, length + pad);
}
