#include "state/cold_timers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "data/value_codec.h"
#include "state/slot_array.h"

enum { TIME_BYTES = 8, HEAD_BYTES = COLD_PREFIX_BYTES + 2 * TIME_BYTES, FIRST_SPANS = 64 };

static enum status no_memory(struct error *err)
{
    return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for the times of keys in the database of state");
}

/* The order of the bytes is that of the times. */
static void append_time(int64_t time, struct text_builder *out)
{
    uint64_t bits = (uint64_t)time ^ (uint64_t)1 << 63;
    for (uint32_t shift = 64; shift > 0; shift -= 8) {
        text_append_char(out, (char)(bits >> (shift - 8)));
    }
}

static int64_t read_time(const char *bytes)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < TIME_BYTES; i++) {
        bits = bits << 8 | (uint8_t)bytes[i];
    }
    return (int64_t)(bits ^ (uint64_t)1 << 63);
}

static int64_t span_of(const struct cold_timers *timers, int64_t time)
{
    int64_t rest = time % timers->width_us;
    rest += rest < 0 ? timers->width_us : 0;
    return time < INT64_MIN + rest ? INT64_MIN : time - rest;
}

/* ---- spans ---- */

static enum status add_span(struct cold_timers *timers, int64_t span, struct error *err)
{
    uint32_t at = timers->count;
    while (at > 0 && timers->spans[at - 1] > span) {
        at--;
    }
    if (at > 0 && timers->spans[at - 1] == span) {
        return STATUS_OK;
    }
    if (timers->count == timers->capacity) {
        uint32_t capacity = timers->capacity == 0 ? FIRST_SPANS : timers->capacity * 2;
        int64_t *grown;
        TRY_ALLOC(grown, slot_array_grow(timers->budget, timers->spans, timers->capacity * sizeof *grown, capacity * sizeof *grown), err);
        timers->spans = grown;
        timers->capacity = capacity;
    }
    memmove(timers->spans + at + 1, timers->spans + at, (timers->count - at) * sizeof *timers->spans);
    timers->spans[at] = span;
    timers->count++;
    return STATUS_OK;
}

static void drop_first_span(struct cold_timers *timers)
{
    timers->count--;
    memmove(timers->spans, timers->spans + 1, timers->count * sizeof *timers->spans);
    timers->next_us = timers->count == 0 ? INT64_MAX : timers->spans[0];
}

static enum status take_spans(struct cold_timers *timers, const struct text_builder *note, struct error *err)
{
    if (note->failed) {
        return no_memory(err);
    }
    for (size_t at = 0; at + sizeof(int64_t) <= note->length; at += sizeof(int64_t)) {
        int64_t span;
        memcpy(&span, note->bytes + at, sizeof span);
        TRY(add_span(timers, span, err));
    }
    timers->next_us = timers->count == 0 ? INT64_MAX : timers->spans[0];
    return STATUS_OK;
}

enum status cold_timers_open(struct cold_timers *timers, struct budget *budget, struct cold_db *db, const struct cold_layout *layout,
                             int64_t width_us, struct error *err)
{
    struct text_builder note = {0};
    cold_timers_close(timers);
    *timers = (struct cold_timers){.budget = budget, .db = db, .layout = layout, .width_us = width_us < 1 ? 1 : width_us};
    timers->next_us = INT64_MAX;
    snprintf(timers->id, sizeof timers->id, "%s#times%u", layout->operator_id, layout->tag);
    snprintf(timers->note, sizeof timers->note, "timers%u", layout->tag);
    enum status status = cold_read_note(db, layout->operator_id, timers->note, &note, err);
    if (status == STATUS_OK) {
        status = take_spans(timers, &note, err);
    }
    text_builder_close(&note);
    return status;
}

void cold_timers_close(struct cold_timers *timers)
{
    if (timers->spans != NULL) {
        slot_array_free(timers->budget, timers->spans, timers->capacity * sizeof *timers->spans);
    }
    *timers = (struct cold_timers){0};
}

enum status cold_timers_save(struct cold_timers *timers, struct error *err)
{
    const struct text spans = {(const char *)timers->spans, timers->count * sizeof *timers->spans};
    return cold_write_note(timers->db, timers->layout->operator_id, timers->note, spans, err);
}

/* ---- keys ---- */

enum status cold_timers_add(struct cold_timers *timers, const struct batch *batch, const uint32_t *columns, const int64_t *times,
                            struct error *err)
{
    struct text_builder bytes = {0};
    struct cold_write writes[CHUNK_ROWS];
    size_t ends[CHUNK_ROWS];
    uint32_t count = 0;
    for (uint32_t row = 0; row < batch->count; row++) {
        if (times[row] == INT64_MAX) {
            continue;
        }
        TRY(add_span(timers, span_of(timers, times[row]), err));
        timers->next_us = times[row] < timers->next_us ? times[row] : timers->next_us;
        cold_append_prefix(timers->id, &bytes);
        append_time(span_of(timers, times[row]), &bytes);
        append_time(times[row], &bytes);
        for (uint32_t i = 0; i < timers->layout->key_count; i++) {
            value_encode(&batch->columns[columns[i]], row, &bytes);
        }
        ends[count++] = bytes.length;
    }
    for (uint32_t i = 0; i < count && !bytes.failed; i++) {
        size_t begin = i == 0 ? 0 : ends[i - 1];
        writes[i] = (struct cold_write){{bytes.bytes + begin, ends[i] - begin}, {"", 0}};
    }
    enum status status = bytes.failed ? no_memory(err) : count == 0 ? STATUS_OK : timers->db->driver->write(timers->db, writes, count, err);
    text_builder_close(&bytes);
    return status;
}

struct taken_keys {
    struct cold_timers *timers;
    int64_t until;
    struct text_builder bytes;
    uint32_t count;
    size_t ends[CHUNK_ROWS];
    bool more;      /* in the span */
    int64_t behind; /* the first time that was not taken */
    bool corrupt;
};

static bool take_key(void *context, struct text key, struct text value)
{
    (void)value;
    struct taken_keys *taken = context;
    const struct cold_layout *layout = taken->timers->layout;
    const uint8_t *at = (const uint8_t *)key.bytes + HEAD_BYTES, *end = (const uint8_t *)key.bytes + key.length;
    taken->corrupt = key.length < HEAD_BYTES;
    int64_t time = taken->corrupt ? 0 : read_time(key.bytes + COLD_PREFIX_BYTES + TIME_BYTES);
    if (!taken->corrupt && (time > taken->until || taken->count == CHUNK_ROWS)) {
        taken->more = true;
        taken->behind = time;
        return false;
    }
    for (uint32_t i = 0; i < layout->key_count && !taken->corrupt; i++) {
        at = value_check(layout->types[layout->keys[i]], at, end);
        taken->corrupt = at == NULL;
    }
    text_append(&taken->bytes, key.bytes, key.length);
    taken->ends[taken->count++] = taken->bytes.length;
    return !taken->corrupt && !taken->bytes.failed;
}

static enum status take_span(struct cold_timers *timers, struct taken_keys *taken, struct error *err)
{
    struct text_builder prefix = {0};
    cold_append_prefix(timers->id, &prefix);
    append_time(timers->spans[0], &prefix);
    taken->more = false;
    enum status status = prefix.failed ? no_memory(err)
                                       : timers->db->driver->scan(timers->db, (struct text){prefix.bytes, prefix.length}, (struct text){0},
                                                                  take_key, taken, err);
    text_builder_close(&prefix);
    TRY(status);
    if (taken->corrupt) {
        return error_set(err, ERROR_STATE_CORRUPT, "a time of a key of operator %s in the database of state is damaged",
                         timers->layout->operator_id);
    }
    return taken->bytes.failed ? no_memory(err) : STATUS_OK;
}

static enum status remove_taken(struct cold_timers *timers, const struct taken_keys *taken, struct error *err)
{
    struct cold_write writes[CHUNK_ROWS];
    for (uint32_t i = 0; i < taken->count; i++) {
        size_t begin = i == 0 ? 0 : taken->ends[i - 1];
        writes[i] = (struct cold_write){.key = {taken->bytes.bytes + begin, taken->ends[i] - begin}};
    }
    return taken->count == 0 ? STATUS_OK : timers->db->driver->write(timers->db, writes, taken->count, err);
}

static enum status decode_taken(struct cold_timers *timers, const struct taken_keys *taken, struct batch *keys, struct error *err)
{
    const struct cold_layout *layout = timers->layout;
    const uint8_t *cursors[CHUNK_ROWS];
    TRY(batch_init(keys, layout->key_count, err));
    keys->count = taken->count;
    for (uint32_t k = 0; k < taken->count; k++) {
        cursors[k] = (const uint8_t *)taken->bytes.bytes + (k == 0 ? 0 : taken->ends[k - 1]) + HEAD_BYTES;
    }
    for (uint32_t i = 0; i < layout->key_count && taken->count > 0; i++) {
        TRY(value_decode_column(timers->budget, layout->types[layout->keys[i]], cursors, taken->count, &keys->columns[i], err));
    }
    return STATUS_OK;
}

enum status cold_timers_take(struct cold_timers *timers, int64_t until, struct batch *keys, struct error *err)
{
    enum status status = STATUS_OK;
    *keys = (struct batch){0};
    if (timers->count == 0 || timers->next_us > until) {
        return STATUS_OK;
    }
    struct taken_keys *taken = calloc(1, sizeof *taken);
    if (taken == NULL) {
        return no_memory(err);
    }
    taken->timers = timers;
    taken->until = until;
    while (status == STATUS_OK && timers->count > 0 && timers->next_us <= until && taken->count < CHUNK_ROWS) {
        status = take_span(timers, taken, err);
        if (status == STATUS_OK && !taken->more) {
            drop_first_span(timers);
        } else if (status == STATUS_OK) {
            timers->next_us = taken->behind;
        }
    }
    status = status == STATUS_OK ? remove_taken(timers, taken, err) : status;
    status = status == STATUS_OK ? decode_taken(timers, taken, keys, err) : status;
    text_builder_close(&taken->bytes);
    free(taken);
    return status;
}
