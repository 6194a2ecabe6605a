/* tests/fuzz/decoder_fuzz.h: a decoder under any bytes.
 *
 * For         json_decoder_fuzz.c, csv_decoder_fuzz.c.
 * Property    No input crashes or hangs a decoder, and the rows do not depend on where the input was cut. The input's first byte
 *             chooses the cut, the second the row limit and the options.
 */
#ifndef SPATE_TESTS_DECODER_FUZZ_H
#define SPATE_TESTS_DECODER_FUZZ_H

#include <stdlib.h>
#include <string.h>

#include "connectors/table_options.h"
#include "data/cell_text.h"

struct fuzz_rows {
    struct text_builder good, bad; /* what failed is reported before the rows of its batch: kept apart */
    uint64_t dropped;
};

static bool fuzz_fail(void *owner, const struct decode_failure *failure, struct error *err)
{
    (void)err;
    struct fuzz_rows *rows = owner;
    text_append_format(&rows->bad, "%s: %s\n", failure->field, failure->text);
    return true;
}

static void fuzz_print(const struct batch *batch, struct text_builder *out)
{
    for (uint32_t row = 0; row < batch->count; row++) {
        for (uint32_t i = 0; i < batch->column_count; i++) {
            cell_text_append(&batch->columns[i], row, time_zone_utc, CELL_TEXT_HEX, out);
            text_append_char(out, '|');
        }
        text_append_char(out, '\n');
    }
}

static void fuzz_decode(const struct table_options *options, const struct type *row, const char *text, size_t length, size_t block_bytes,
                        uint32_t row_limit, struct fuzz_rows *rows)
{
    struct budget budget;
    struct error err = {0};
    budget_init(&budget, NULL, "fuzz", BUDGET_UNLIMITED);
    struct arena *arena = arena_create(&budget, "fuzz");
    struct format_context context = {.arena = arena, .budget = &budget, .zone = time_zone_utc, .row = row};
    struct decoder *decoder;
    if (table_options_open_decoder(options, &context, &decoder, &err) != STATUS_OK) {
        abort();
    }
    size_t start = 0, end = block_bytes < length ? block_bytes : length;
    for (bool more = true; more;) {
        struct batch batch;
        struct decode_target target = {.fail = fuzz_fail, .owner = rows};
        if (decode_target_open(&target, &context, row_limit, &batch, &err) != STATUS_OK) {
            abort();
        }
        while (batch.count < row_limit) {
            char *bytes = malloc(end - start + 1); /* so that a sanitizer sees reads past the end */
            memcpy(bytes, text + start, end - start);
            struct decode_input input = {.bytes = bytes, .length = end - start, .last = end == length};
            if (decoder->type->decode(decoder, &input, &target, &err) != STATUS_OK || input.consumed > input.length) {
                abort();
            }
            free(bytes);
            start += input.consumed;
            if (batch.count < row_limit && input.last) {
                more = false;
                break;
            }
            end = length - end < block_bytes ? length : end + (batch.count < row_limit ? block_bytes : 0);
        }
        fuzz_print(&batch, &rows->good);
        rows->dropped += target.dropped;
        batch_release(&batch);
    }
    decoder->type->close(decoder);
    arena_destroy(arena);
}

static int fuzz_compare(const struct table_options *options, const struct type *row, const uint8_t *data, size_t size)
{
    static const uint32_t limits[] = {1, 7, 4096, 3};
    if (size < 2 || size > 1 << 16) {
        return 0;
    }
    const char *text = (const char *)data + 2;
    size_t length = size - 2;
    struct fuzz_rows whole = {0}, cut = {0};
    fuzz_decode(options, row, text, length, length + 1, 4096, &whole);
    fuzz_decode(options, row, text, length, (size_t)data[0] + 1, limits[data[1] % 4], &cut);
    if (whole.good.length != cut.good.length || whole.bad.length != cut.bad.length || whole.dropped != cut.dropped ||
        (whole.good.length > 0 && memcmp(whole.good.bytes, cut.good.bytes, whole.good.length) != 0)) {
        abort();
    }
    text_builder_close(&whole.good);
    text_builder_close(&whole.bad);
    text_builder_close(&cut.good);
    text_builder_close(&cut.bad);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
