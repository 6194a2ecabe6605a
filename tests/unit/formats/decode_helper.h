/* tests/unit/formats/decode_helper.h: decodes a text as a stream of blocks and prints the rows.
 *
 * For         the decoders' tests: the same text, cut anywhere and decoded under any row limit, gives the same rows.
 * Shape       A line a row, fields separated by '|' as CAST to STRING gives them; "!field: message" for a failed record.
 */
#ifndef SPATE_TESTS_DECODE_HELPER_H
#define SPATE_TESTS_DECODE_HELPER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "connectors/table_options.h"
#include "data/cell_text.h"

struct decode_case {
    const char *format;
    const char *const *options; /* key, value, ..., NULL */
    const struct type *row;
    const struct projection *projections;
    const char *text;
    size_t length;
    size_t block_bytes; /* given at a time; 0: all */
    uint32_t row_limit;
    bool framed;
};
struct decode_result {
    struct text_builder rows;
    uint64_t dropped;
};

static inline bool helper_fail(void *owner, const struct decode_failure *failure, struct error *err)
{
    (void)err;
    struct decode_result *result = owner;
    text_append_format(&result->rows, "!%s: %s\n", failure->field, failure->text);
    return true;
}

static inline void helper_print(const struct batch *batch, struct text_builder *out)
{
    for (uint32_t row = 0; row < batch->count; row++) {
        for (uint32_t i = 0; i < batch->column_count; i++) {
            text_append_text(out, i == 0 ? "" : "|");
            cell_text_append(&batch->columns[i], row, time_zone_utc, CELL_TEXT_HEX, out);
        }
        text_append_char(out, '\n');
    }
}

static inline void decode_run(const struct decode_case *test, struct decode_result *result)
{
    struct budget budget;
    struct error err = {0};
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct arena *arena = arena_create(&budget, "test");
    const char *keys[16] = {"format"}, *values[16] = {test->format};
    struct table_options options = {keys, values, 1};
    for (const char *const *at = test->options; at != NULL && *at != NULL; at += 2) {
        keys[options.count] = at[0];
        values[options.count++] = at[1];
    }
    struct format_context context = {
        .arena = arena, .budget = &budget, .zone = time_zone_utc, .row = test->row, .projections = test->projections};
    struct decoder *decoder;
    if (table_options_open_decoder(&options, &context, &decoder, &err) != STATUS_OK) {
        fail_msg("%s", err.text);
    }
    memset(result, 0, sizeof *result);
    size_t start = 0, end = 0;
    bool more = true;
    while (more) {
        struct batch batch;
        struct decode_target target = {.fail = helper_fail, .owner = result};
        assert_int_equal(decode_target_open(&target, &context, test->row_limit, &batch, &err), STATUS_OK);
        while (batch.count < test->row_limit) {
            struct buffer *block;
            assert_int_equal(buffer_create(&budget, end - start + 1, &block, &err), STATUS_OK);
            memcpy(buffer_bytes_mutable(block), test->text + start, end - start);
            struct decode_input input = {.bytes = (const char *)buffer_bytes(block),
                                         .length = end - start,
                                         .block = block,
                                         .framed = test->framed,
                                         .last = end == test->length};
            enum status status = decoder->type->decode(decoder, &input, &target, &err);
            buffer_unref(block);
            if (status != STATUS_OK) {
                fail_msg("%s", err.text);
            }
            start += input.consumed;
            if (batch.count == test->row_limit) {
                break;
            }
            if (input.last) {
                more = false;
                break;
            }
            end = test->block_bytes == 0 || test->length - end < test->block_bytes ? test->length : end + test->block_bytes;
        }
        helper_print(&batch, &result->rows);
        result->dropped += target.dropped;
        batch_release(&batch);
    }
    decoder->type->close(decoder);
    arena_destroy(arena);
    buffer_trim();
    assert_int_equal(budget.used_bytes, 0);
}

/* The rows whatever the cut and the row limit. */
static inline void decode_check(struct decode_case test, const char *expected)
{
    static const uint32_t limits[] = {1, 7, 4096};
    test.length = test.length == 0 ? strlen(test.text) : test.length;
    for (uint32_t i = 0; i < ARRAY_LENGTH(limits); i++) {
        for (size_t block = 0; block < (test.length < 200 ? test.length + 1 : 70); block++) {
            struct decode_result result;
            test.block_bytes = block;
            test.row_limit = limits[i];
            decode_run(&test, &result);
            assert_string_equal(result.rows.bytes == NULL ? "" : result.rows.bytes, expected);
            text_builder_close(&result.rows);
        }
    }
}

#endif
