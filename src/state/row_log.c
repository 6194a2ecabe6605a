/* Arrays of a chunk and blocks of strings come from slabs: what a dropped chunk gives back is what the next one takes. The strings have a
 * slab of their own, which ends when nobody holds on to it any more (the buffer `root`).
 */
#include "state/row_log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/value_codec.h"

enum {
    FIRST_CHUNK_ROWS = 64,
    GROWTH_LOG2 = 2, /* of the first chunks, one to the next */
    FIRST_BLOCK_BYTES = 1024,
    LARGEST_BLOCK_BYTES = SLAB_BLOCK_MAX,
    TEXTS_AHEAD = 12,
    CACHE_LINE_BYTES = 64,
    VALIDITY_BYTES = LOG_CHUNK_ROWS / 8,
};
#define CHUNKS_MAX (UINT32_MAX / LOG_CHUNK_ROWS)

struct log_block {
    struct log_block *next;
    size_t bytes; /* with this header */
};
struct log_heap {
    struct slab slab;
};

static enum status no_room(const struct row_log *log, struct error *err)
{
    return error_set(err, ERROR_BUDGET_SPENT, "no room for more rows of a join in the account '%s'", log->budget->name);
}

/* ---- open and close ---- */

static void strings_release(void *owner)
{
    struct log_heap *strings = owner;
    slab_close(&strings->slab);
    free(strings);
}

static enum status strings_create(struct row_log *log, struct error *err)
{
    log->strings = calloc(1, sizeof *log->strings);
    if (log->strings == NULL) {
        return no_room(log, err);
    }
    slab_open(&log->strings->slab, log->budget, sizeof(uint64_t));
    enum status status = buffer_wrap(NULL, 0, strings_release, log->strings, &log->root, err);
    if (status != STATUS_OK) {
        free(log->strings);
    }
    return status;
}

static void set_columns(struct row_log *log, const struct type *const *types)
{
    for (uint32_t i = 0; i < log->column_count; i++) {
        struct log_column *column = &log->columns[i];
        column->type = types[i];
        column->physical = type_physical(types[i]);
        column->encoded = column->physical == PHYSICAL_SPAN || column->physical == PHYSICAL_ROW;
        column->text = column->physical == PHYSICAL_STRING;
        column->width = column->encoded ? (uint32_t)sizeof(struct string_view) : physical_bytes(column->physical);
    }
}

enum status row_log_create(struct budget *budget, const struct type *const *types, uint32_t column_count, const uint32_t *keys,
                           uint32_t key_count, uint32_t time_column, struct row_log **log, struct error *err)
{
    struct row_log *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a log of rows");
    }
    *created = (struct row_log){.budget = budget,
                                .column_count = column_count,
                                .key_count = key_count,
                                .time_column = time_column,
                                .columns = calloc(column_count + 1, sizeof *created->columns),
                                .keys = calloc(key_count + 1, sizeof *created->keys),
                                .current = UINT32_MAX,
                                .block_bytes = FIRST_BLOCK_BYTES,
                                .next_drop = INT64_MAX};
    slab_open(&created->slab, budget, SLAB_GRAIN);
    enum status status = created->columns == NULL || created->keys == NULL ? no_room(created, err) : strings_create(created, err);
    if (status != STATUS_OK) {
        free(created->columns);
        free(created->keys);
        free(created);
        return status;
    }
    set_columns(created, types);
    for (uint32_t i = 0; i < key_count; i++) {
        created->keys[i] = keys[i];
        assert(!created->columns[keys[i]].encoded);
    }
    *log = created;
    return STATUS_OK;
}

void row_log_destroy(struct row_log *log)
{
    if (log == NULL) {
        return;
    }
    for (uint32_t i = 0; i < log->column_count; i++) {
        free(log->columns[i].values);
        free(log->columns[i].validity);
    }
    buffer_unref(log->root);
    slab_close(&log->slab);
    text_builder_close(&log->encoded);
    free(log->columns);
    free(log->keys);
    free(log->chunks);
    free(log->free_chunks);
    free(log);
}

size_t row_log_bytes(const struct row_log *log)
{
    return log->slab.bytes + log->strings->slab.bytes + (size_t)log->chunk_capacity * sizeof *log->chunks;
}

/* ---- chunks ---- */

static bool grow_array(void *array, uint32_t count, size_t element_bytes)
{
    void *moved = realloc(*(void **)array, count * element_bytes);
    if (moved == NULL) {
        return false;
    }
    *(void **)array = moved;
    return true;
}

static enum status grow_chunks(struct row_log *log, struct error *err)
{
    uint32_t capacity = log->chunk_capacity == 0 ? 4 : log->chunk_capacity * 2;
    bool grown = grow_array(&log->chunks, capacity, sizeof *log->chunks) && grow_array(&log->free_chunks, capacity, sizeof(uint32_t));
    for (uint32_t i = 0; grown && i < log->column_count; i++) {
        grown = grow_array(&log->columns[i].values, capacity, sizeof(uint8_t *)) &&
                grow_array(&log->columns[i].validity, capacity, sizeof(uint64_t *));
    }
    if (!grown) {
        return no_room(log, err);
    }
    log->chunk_capacity = capacity;
    return STATUS_OK;
}

static enum status add_chunk(struct row_log *log, struct error *err)
{
    uint32_t at = log->chunk_count;
    if (at >= CHUNKS_MAX) {
        return error_set(err, ERROR_TOO_MANY, "a side of a join holds %llu rows; it cannot hold more", (unsigned long long)log->rows);
    }
    if (at == log->chunk_capacity) {
        TRY(grow_chunks(log, err));
    }
    struct log_chunk *chunk = &log->chunks[at];
    uint32_t rows = at * GROWTH_LOG2 >= 16 ? LOG_CHUNK_ROWS : (uint32_t)FIRST_CHUNK_ROWS << (at * GROWTH_LOG2);
    rows = rows > LOG_CHUNK_ROWS ? LOG_CHUNK_ROWS : rows;
    *chunk = (struct log_chunk){.capacity = rows, .latest = INT64_MIN};
    chunk->tags = slab_alloc(&log->slab, rows * sizeof *chunk->tags);
    chunk->next = slab_alloc(&log->slab, rows * sizeof *chunk->next);
    bool made = chunk->tags != NULL && chunk->next != NULL;
    for (uint32_t i = 0; i < log->column_count; i++) {
        log->columns[i].validity[at] = NULL;
        log->columns[i].values[at] = slab_alloc(&log->slab, (size_t)rows * log->columns[i].width);
        made = made && log->columns[i].values[at] != NULL;
    }
    if (!made) { /* what was made stays with the slab */
        return no_room(log, err);
    }
    log->chunk_count++;
    log->current = at;
    return STATUS_OK;
}

/* The chunk to be filled. */
static enum status chunk_with_room(struct row_log *log, struct error *err)
{
    if (log->current != UINT32_MAX && log->chunks[log->current].count < log->chunks[log->current].capacity) {
        return STATUS_OK;
    }
    if (log->free_count > 0) {
        log->current = log->free_chunks[--log->free_count];
        return STATUS_OK;
    }
    return add_chunk(log, err);
}

static enum status add_block(struct row_log *log, struct log_chunk *chunk, size_t need, struct error *err)
{
    bool alone = need > LARGEST_BLOCK_BYTES / 4;
    size_t bytes = alone || need + sizeof(struct log_block) > log->block_bytes ? need + sizeof(struct log_block) : log->block_bytes;
    struct log_block *block = slab_alloc(&log->strings->slab, bytes);
    if (block == NULL) {
        return no_room(log, err);
    }
    *block = (struct log_block){chunk->blocks, bytes};
    chunk->blocks = block;
    chunk->heap = (uint8_t *)(block + 1);
    chunk->heap_end = (uint8_t *)block + bytes;
    log->block_bytes = log->block_bytes < LARGEST_BLOCK_BYTES ? log->block_bytes * 2 : LARGEST_BLOCK_BYTES;
    return STATUS_OK;
}

/* ---- append ---- */

/* Copies what a view points to into the chunk. */
static inline enum status keep_bytes(struct row_log *log, struct log_chunk *chunk, struct string_view *view, struct error *err)
{
    if (view->length <= STRING_INLINE_BYTES) {
        return STATUS_OK;
    }
    if ((size_t)(chunk->heap_end - chunk->heap) < view->length) {
        TRY(add_block(log, chunk, view->length, err));
    }
    memcpy(chunk->heap, view->bytes, view->length);
    view->bytes = (const char *)chunk->heap;
    chunk->heap += view->length;
    return STATUS_OK;
}

/* A worker that gets every other row of a chunk defeats the processor's own guess of what comes next. */
static inline void fetch_text(const struct string_view *view)
{
    if (view->length > STRING_INLINE_BYTES) {
        __builtin_prefetch(view->bytes);
        __builtin_prefetch(view->bytes + CACHE_LINE_BYTES);
    }
}

static enum status put_texts(struct row_log *log, struct log_chunk *chunk, const struct vector *vector, struct selection rows,
                             struct string_view *to, struct error *err)
{
    const struct string_view *from = vector_strings(vector);
    for (uint32_t k = 0; k < rows.count; k++) {
        if (k + TEXTS_AHEAD < rows.count) {
            fetch_text(&from[selection_row(&rows, k + TEXTS_AHEAD)]);
        }
        to[k] = from[selection_row(&rows, k)];
        TRY(keep_bytes(log, chunk, &to[k], err));
    }
    return STATUS_OK;
}

static enum status put_encoded(struct row_log *log, struct log_chunk *chunk, const struct vector *vector, struct selection rows,
                               struct string_view *to, struct error *err)
{
    for (uint32_t k = 0; k < rows.count; k++) {
        to[k] = (struct string_view){0};
        if (vector_is_valid(vector, selection_row(&rows, k))) {
            text_builder_clear(&log->encoded);
            value_encode(vector, selection_row(&rows, k), &log->encoded);
            to[k] = string_view_make(log->encoded.bytes, log->encoded.length);
            TRY(keep_bytes(log, chunk, &to[k], err));
        }
    }
    return STATUS_OK;
}

static void put_fixed(uint32_t width, const uint8_t *from, struct selection rows, uint8_t *to)
{
    if (rows.rows == NULL) {
        memcpy(to, from, (size_t)rows.count * width);
        return;
    }
    if (width == sizeof(int64_t)) {
        const int64_t *values = (const int64_t *)(const void *)from;
        int64_t *kept = (int64_t *)(void *)to;
        for (uint32_t k = 0; k < rows.count; k++) {
            kept[k] = values[rows.rows[k]];
        }
        return;
    }
    for (uint32_t k = 0; k < rows.count; k++) {
        memcpy(to + (size_t)k * width, from + (size_t)rows.rows[k] * width, width);
    }
}

static enum status put_validity(struct row_log *log, struct log_column *column, const struct vector *vector, struct selection rows,
                                uint32_t first, struct error *err)
{
    uint64_t **validity = &column->validity[log->current];
    for (uint32_t k = 0; k < rows.count; k++) {
        if (vector_is_valid(vector, selection_row(&rows, k))) {
            continue;
        }
        if (*validity == NULL) {
            *validity = slab_alloc(&log->slab, VALIDITY_BYTES);
            if (*validity == NULL) {
                return no_room(log, err);
            }
            memset(*validity, 0xff, VALIDITY_BYTES);
        }
        (*validity)[(first + k) / 64] &= ~((uint64_t)1 << ((first + k) % 64));
    }
    return STATUS_OK;
}

static enum status put_column(struct row_log *log, uint32_t index, const struct vector *vector, struct selection rows, struct error *err)
{
    struct log_column *column = &log->columns[index];
    struct log_chunk *chunk = &log->chunks[log->current];
    uint8_t *to = column->values[log->current] + (size_t)chunk->count * column->width;
    if (vector->validity != NULL || vector->physical == PHYSICAL_NULL) {
        TRY(put_validity(log, column, vector, rows, chunk->count, err));
    }
    if (column->width == 0) {
        return STATUS_OK;
    }
    if (vector->physical == PHYSICAL_NULL) {
        memset(to, 0, (size_t)rows.count * column->width);
    } else if (column->text) {
        return put_texts(log, chunk, vector, rows, (struct string_view *)(void *)to, err);
    } else if (column->encoded) {
        return put_encoded(log, chunk, vector, rows, (struct string_view *)(void *)to, err);
    } else {
        put_fixed(column->width, vector->values, rows, to);
    }
    return STATUS_OK;
}

static enum status put_weights(struct row_log *log, const struct batch *batch, struct selection rows, struct error *err)
{
    struct log_chunk *chunk = &log->chunks[log->current];
    if (batch->weights == NULL && chunk->weights == NULL) {
        return STATUS_OK;
    }
    if (chunk->weights == NULL) {
        chunk->weights = slab_alloc(&log->slab, chunk->capacity * sizeof *chunk->weights);
        if (chunk->weights == NULL) {
            return no_room(log, err);
        }
        for (uint32_t row = 0; row < chunk->count; row++) {
            chunk->weights[row] = 1;
        }
    }
    for (uint32_t k = 0; k < rows.count; k++) {
        chunk->weights[chunk->count + k] = batch_weight(batch, selection_row(&rows, k));
    }
    return STATUS_OK;
}

static void put_latest(const struct row_log *log, struct log_chunk *chunk, uint32_t count)
{
    const int64_t *times = (const int64_t *)(const void *)log->columns[log->time_column].values[log->current] + chunk->count;
    int64_t latest = chunk->latest;
    for (uint32_t k = 0; k < count; k++) {
        latest = times[k] > latest ? times[k] : latest;
    }
    chunk->latest = latest;
}

/* Rows that fit into the chunk being filled. */
static enum status append_part(struct row_log *log, const struct batch *batch, const uint64_t *hashes, struct selection rows,
                               uint32_t *numbers, struct error *err)
{
    struct log_chunk *chunk = &log->chunks[log->current];
    for (uint32_t i = 0; i < log->column_count; i++) {
        TRY(put_column(log, i, &batch->columns[i], rows, err));
    }
    TRY(put_weights(log, batch, rows, err));
    for (uint32_t k = 0; k < rows.count && hashes != NULL; k++) {
        chunk->tags[chunk->count + k] = (uint32_t)(hashes[selection_row(&rows, k)] >> 32);
    }
    for (uint32_t k = 0; k < rows.count; k++) {
        numbers[k] = row_log_number(log->current, chunk->count + k);
    }
    if (log->time_column != ROW_LOG_NO_TIME) {
        put_latest(log, chunk, rows.count);
        log->next_drop = chunk->latest < log->next_drop ? chunk->latest : log->next_drop;
    }
    chunk->count += rows.count;
    log->rows += rows.count;
    return STATUS_OK;
}

enum status row_log_append(struct row_log *log, const struct batch *batch, const uint64_t *hashes, bool linked, uint32_t *numbers,
                           struct error *err)
{
    uint16_t rest[LOG_CHUNK_ROWS];
    struct selection rows = batch_selection(batch);
    assert(batch->column_count >= log->column_count && (!linked || log->waiting == 0));
    for (uint32_t done = 0; done < rows.count;) {
        TRY(chunk_with_room(log, err));
        struct log_chunk *chunk = &log->chunks[log->current];
        uint32_t room = chunk->capacity - chunk->count;
        struct selection part = {rows.rows, rows.count - done < room ? rows.count - done : room};
        if (done > 0 && rows.rows == NULL) { /* the rest of a dense batch is a selection */
            for (uint32_t k = 0; k < part.count; k++) {
                rest[k] = (uint16_t)(done + k);
            }
            part.rows = rest;
        } else if (done > 0) {
            part.rows += done;
        }
        TRY(append_part(log, batch, hashes, part, numbers + done, err));
        done += part.count;
        chunk->linked = linked ? chunk->count : chunk->linked;
        log->waiting += linked ? 0 : part.count;
    }
    return STATUS_OK;
}

void row_log_set_linked(struct row_log *log, uint32_t chunk)
{
    log->waiting -= log->chunks[chunk].count - log->chunks[chunk].linked;
    log->chunks[chunk].linked = log->chunks[chunk].count;
}

/* ---- drop ---- */

uint32_t row_log_find_droppable(const struct row_log *log, uint32_t chunk, int64_t bound)
{
    while (chunk < log->chunk_count && (log->chunks[chunk].count == 0 || log->chunks[chunk].latest > bound)) {
        chunk++;
    }
    return chunk;
}

void row_log_drop(struct row_log *log, uint32_t chunk)
{
    struct log_chunk *gone = &log->chunks[chunk];
    assert(log->time_column != ROW_LOG_NO_TIME);
    while (gone->blocks != NULL) {
        struct log_block *block = gone->blocks;
        gone->blocks = block->next;
        slab_free(&log->strings->slab, block, block->bytes);
    }
    for (uint32_t i = 0; i < log->column_count; i++) {
        slab_free(&log->slab, log->columns[i].validity[chunk], VALIDITY_BYTES);
        log->columns[i].validity[chunk] = NULL;
    }
    slab_free(&log->slab, gone->weights, gone->capacity * sizeof *gone->weights);
    gone->weights = NULL;
    gone->heap = gone->heap_end = NULL;
    gone->latest = INT64_MIN;
    log->rows -= gone->count;
    log->waiting -= gone->count - gone->linked;
    gone->count = gone->linked = gone->saved = 0;
    if (chunk != log->current) {
        log->free_chunks[log->free_count++] = chunk;
    }
}

void row_log_note_dropped(struct row_log *log)
{
    log->next_drop = INT64_MAX;
    for (uint32_t i = 0; i < log->chunk_count; i++) {
        const struct log_chunk *chunk = &log->chunks[i];
        log->next_drop = chunk->count > 0 && chunk->latest < log->next_drop ? chunk->latest : log->next_drop;
    }
}

void row_log_view(const struct row_log *log, uint32_t chunk, struct batch *view)
{
    view->count = log->chunks[chunk].count;
    for (uint32_t i = 0; i < log->column_count; i++) {
        const struct log_column *column = &log->columns[i];
        view->columns[i] = (struct vector){.type = column->type,
                                           .physical = column->physical,
                                           .count = view->count,
                                           .values = column->values[chunk],
                                           .validity = column->validity[chunk]};
        if (column->encoded) {
            view->columns[i] = (struct vector){.type = &type_null, .physical = PHYSICAL_NULL, .count = view->count};
        }
    }
}
