/* data/cast_nested.c: ARRAY, MULTISET, MAP and ROW: the children are cast as whole columns.
 *
 * Spans stay as they are. A child that cannot be converted is noted; each row that contains such a child fails (or, with
 * TRY_CAST, is NULL as a whole). */
#include <stdlib.h>

#include "data/cast_kernels.h"

struct child_failures {
    uint32_t count;
    uint64_t *failed; /* one bit a child */
    uint32_t children;
    enum error_code code; /* of the first */
    char text[300];
};

static void child_failed(void *owner, uint32_t row, enum error_code code, const char *text)
{
    struct child_failures *failures = owner;
    if (failures->failed == NULL) {
        failures->failed = calloc((failures->children + 63) / 64, sizeof *failures->failed);
        failures->code = code;
        size_t length = strlen(text);
        length = length < sizeof failures->text ? length : sizeof failures->text - 1;
        memcpy(failures->text, text, length);
        failures->text[length] = '\0';
    }
    failures->count++;
    if (failures->failed != NULL) {
        failures->failed[row / 64] |= (uint64_t)1 << (row % 64);
    }
}

static bool has_failure(const struct child_failures *failures, uint32_t offset, uint32_t length)
{
    for (uint32_t i = offset; i < offset + length; i++) {
        if (failures->failed == NULL || ((failures->failed[i / 64] >> (i % 64)) & 1) != 0) {
            return true;
        }
    }
    return false;
}

static void reject_rows(struct cast_run *run, const struct child_failures *failures)
{
    bool spans = run->source->physical == PHYSICAL_SPAN;
    CAST_EACH_ROW(run, row)
    {
        if (!vector_is_valid(run->source, row)) {
            continue;
        }
        struct span span = spans ? vector_spans(run->source)[row] : (struct span){row, 1};
        if (!has_failure(failures, span.offset, span.length)) {
            continue;
        }
        if (run->cast->try_cast || run->context->legacy) {
            cast_set_null(run, row);
            if (spans) {
                vector_spans(run->result)[row] = (struct span){0, 0};
            }
        } else {
            run->context->fail(run->context->owner, row, failures->code, failures->text);
        }
    }
}

/* A child's own TRY_CAST would make it NULL alone: it is run as a plain cast. */
static enum status cast_child(struct cast_run *run, uint32_t index, struct selection rows, struct error *err)
{
    struct cast child = *run->cast->children[index];
    child.try_cast = false;
    const struct vector *source = &run->source->children[index];
    struct child_failures failures = {.children = source->count};
    struct cast_context context = *run->context;
    context.fail = child_failed;
    context.owner = &failures;
    context.legacy = false;
    struct vector result;
    enum status status = cast_run(&child, &context, source, rows, &result, err);
    if (status == STATUS_OK) {
        vector_release(&run->result->children[index]);
        run->result->children[index] = result;
        if (failures.count > 0) {
            reject_rows(run, &failures);
        }
    }
    free(failures.failed);
    return status;
}

static enum status cast_spans(struct cast_run *run)
{
    if (run->source->count > 0) {
        memcpy(run->result->values, run->source->values, (size_t)run->source->count * sizeof(struct span));
    }
    for (uint32_t i = 0; i < run->cast->child_count; i++) {
        TRY(cast_child(run, i, (struct selection){NULL, run->source->children[i].count}, run->err));
    }
    if (run->cast->child_count < run->source->child_count) { /* the counts of a MULTISET */
        struct vector *counts = &run->result->children[1];
        vector_release(counts);
        TRY(vector_ref(&run->source->children[1], counts, run->err));
    }
    return STATUS_OK;
}

/* Fields of NULL rows are unspecified: they are left out. A ROW inside an ARRAY may have more rows than a selection can name;
 * those come from builders that give NULL rows NULL fields. */
static enum status cast_fields(struct cast_run *run)
{
    uint16_t present[CHUNK_ROWS];
    struct selection rows = run->rows;
    if (run->source->validity != NULL && run->source->count <= CHUNK_ROWS) {
        uint32_t count = 0;
        CAST_EACH_ROW(run, row)
        {
            present[count] = (uint16_t)row;
            count += vector_is_valid(run->source, row);
        }
        rows = (struct selection){present, count};
    }
    for (uint32_t i = 0; i < run->cast->child_count; i++) {
        TRY(cast_child(run, i, rows, run->err));
    }
    return STATUS_OK;
}

cast_fn *cast_nested_find(const struct type *from, const struct type *to)
{
    if (from->child_count == 0 || to->child_count == 0) {
        return NULL;
    }
    return from->kind == TYPE_ROW ? cast_fields : cast_spans;
}
