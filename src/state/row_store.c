/* A row is one block of a slab: its hash (8 bytes; none where no one asks for it), its length (4 bytes; none where all rows are equally
 * long), NULL bits, a fixed part per column (a string or nested value: its length, first bytes and offset, see struct part), then the
 * variable bytes. Everything that is not a value is zero, and offsets follow from what is before them, so equal rows have equal bytes. A
 * handle is the block's address. So a bid of two numbers takes 24 bytes.
 */
#include "state/row_store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/slab.h"
#include "data/value_codec.h"

/* SLICE_ROWS: rows are encoded so many at a time that they stay in the cache from their first column to their last. */
enum { COLUMNS_MAX = 4096, SLICE_ROWS = 64 };

/* A value of variable length: inline when it is short, else at `offset` of the block. */
struct part {
    uint32_t length;
    char prefix[4];
    union {
        char rest[8];
        uint64_t offset;
    };
};
_Static_assert(sizeof(struct part) == sizeof(struct string_view), "short ones lie as in a view");

struct store_column {
    const struct type *type;
    enum physical physical;
    uint32_t width, offset; /* from the start of the block */
    bool text, encoded;     /* text: STRING; encoded: nested */
};
struct row_store {
    struct budget *budget;
    struct slab slab;
    uint32_t column_count, fixed_bytes;
    uint32_t length_offset, null_offset; /* in a block; the hash is at 0 */
    bool variable, unhashed;
    struct store_column *columns;
    uint32_t *all; /* 0, 1, 2, ... */
    struct text_builder encoded;
    uint32_t *sizes; /* per row of a batch */
};

static uint8_t *row_bytes(row_handle handle)
{
    return (uint8_t *)(uintptr_t)handle;
}

static bool row_is_null(const struct row_store *store, const uint8_t *row, uint32_t column)
{
    return ((row[store->null_offset + column / 8] >> (column % 8)) & 1) != 0;
}

static void describe_column(struct store_column *column, const struct type *type)
{
    column->type = type;
    column->physical = type_physical(type);
    column->text = column->physical == PHYSICAL_STRING;
    column->encoded = column->physical == PHYSICAL_SPAN || column->physical == PHYSICAL_ROW;
    column->width = column->encoded ? (uint32_t)sizeof(struct part) : physical_bytes(column->physical);
}

static void lay_out(struct row_store *store)
{
    store->length_offset = store->unhashed ? 0 : sizeof(uint64_t);
    store->null_offset = store->length_offset + (store->variable ? (uint32_t)sizeof(uint32_t) : 0);
    uint32_t offset = store->null_offset + (store->column_count + 7) / 8;
    for (uint32_t i = 0; i < store->column_count; i++) {
        struct store_column *column = &store->columns[i];
        uint32_t align = column->width > 8 ? 8 : column->width == 0 ? 1 : column->width;
        offset = (offset + align - 1) / align * align;
        column->offset = offset;
        offset += column->width;
    }
    store->fixed_bytes = (offset + 7) / 8 * 8;
}

enum status row_store_create(struct budget *budget, const struct type *const *types, uint32_t column_count, struct row_store **store,
                             struct error *err)
{
    assert(column_count <= COLUMNS_MAX);
    struct row_store *created = calloc(1, sizeof *created);
    struct store_column *columns = calloc(column_count + 1, sizeof *columns);
    uint32_t *all = calloc(column_count + 1, sizeof *all);
    uint32_t *sizes = malloc(CHUNK_ROWS * sizeof *sizes);
    if (created == NULL || columns == NULL || all == NULL || sizes == NULL) {
        free(created);
        free(columns);
        free(all);
        free(sizes);
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a store of rows");
    }
    *created = (struct row_store){.budget = budget, .column_count = column_count, .columns = columns, .all = all, .sizes = sizes};
    slab_open(&created->slab, budget, sizeof(uint64_t));
    for (uint32_t i = 0; i < column_count; i++) {
        all[i] = i;
        describe_column(&columns[i], types[i]);
        created->variable = created->variable || columns[i].text || columns[i].encoded;
    }
    lay_out(created);
    *store = created;
    return STATUS_OK;
}

void row_store_destroy(struct row_store *store)
{
    if (store == NULL) {
        return;
    }
    slab_close(&store->slab);
    text_builder_close(&store->encoded);
    free(store->columns);
    free(store->all);
    free(store->sizes);
    free(store);
}

void row_store_omit_hashes(struct row_store *store)
{
    assert(store->slab.bytes == 0);
    store->unhashed = true;
    lay_out(store);
}

uint32_t row_store_column_count(const struct row_store *store)
{
    return store->column_count;
}

/* Adds the variable bytes of a column to each row's size. */
static void add_sizes(struct row_store *store, const struct store_column *column, const struct vector *vector, struct selection rows)
{
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        if (!vector_is_valid(vector, row)) {
            continue;
        }
        size_t length;
        if (column->text) {
            length = vector_strings(vector)[row].length;
        } else {
            text_builder_clear(&store->encoded);
            value_encode(vector, row, &store->encoded);
            length = store->encoded.length;
        }
        store->sizes[k] += length > STRING_INLINE_BYTES ? (uint32_t)((length + 7) / 8 * 8) : 0;
    }
}

static enum status allocate_rows(struct row_store *store, uint32_t count, row_handle *handles, struct error *err)
{
    for (uint32_t k = 0; k < count; k++) {
        void *block = slab_alloc(&store->slab, store->sizes[k]);
        if (block == NULL) {
            while (k > 0) {
                k--;
                slab_free(&store->slab, row_bytes(handles[k]), store->sizes[k]);
            }
            return error_set(err, ERROR_BUDGET_SPENT, "no room for more rows of state in the account '%s'", store->budget->name);
        }
        handles[k] = (uint64_t)(uintptr_t)block;
    }
    return STATUS_OK;
}

static void start_rows(struct row_store *store, uint32_t first, uint32_t end, const row_handle *handles)
{
    for (uint32_t k = first; k < end; k++) {
        uint8_t *row = row_bytes(handles[k]);
        memset(row, 0, store->fixed_bytes);
        if (store->variable) {
            memcpy(row + store->length_offset, &store->sizes[k], sizeof(uint32_t));
        }
        store->sizes[k] = store->fixed_bytes; /* from here on: where the next variable part goes */
    }
}

static void put_part(struct row_store *store, uint8_t *row, uint32_t offset, struct text text, uint32_t *end)
{
    struct part *part = (struct part *)(void *)(row + offset);
    part->length = (uint32_t)text.length;
    if (text.length <= STRING_INLINE_BYTES) {
        if (text.length > 0) {
            memcpy(part->prefix, text.bytes, text.length);
        }
        return;
    }
    uint32_t rounded = (uint32_t)((text.length + 7) / 8 * 8);
    memcpy(part->prefix, text.bytes, sizeof part->prefix);
    part->offset = *end;
    memset(row + *end + rounded - 8, 0, 8);
    memcpy(row + *end, text.bytes, text.length);
    *end += rounded;
}

static void put_value(struct row_store *store, const struct store_column *column, const struct vector *vector, uint32_t from, uint8_t *row,
                      uint32_t *end)
{
    if (column->text) {
        put_part(store, row, column->offset, vector_get_text(vector, from), end);
    } else if (column->encoded) {
        text_builder_clear(&store->encoded);
        value_encode(vector, from, &store->encoded);
        put_part(store, row, column->offset, (struct text){store->encoded.bytes, store->encoded.length}, end);
    } else {
        value_copy_normal(column->physical, (const uint8_t *)vector->values + (size_t)from * column->width, row + column->offset);
    }
}

static void put_fixed64(const struct vector *vector, struct selection rows, uint32_t offset, uint32_t first, uint32_t end,
                        const row_handle *handles)
{
    for (uint32_t k = first; k < end; k++) {
        memcpy(row_bytes(handles[k]) + offset, &vector_int64(vector)[selection_row(&rows, k)], 8);
    }
}

static void put_column(struct row_store *store, uint32_t index, const struct vector *vector, struct selection rows, uint32_t first,
                       uint32_t end, const row_handle *handles)
{
    const struct store_column *column = &store->columns[index];
    if (column->physical == PHYSICAL_INT64 && vector->physical == PHYSICAL_INT64 && vector->validity == NULL) {
        put_fixed64(vector, rows, column->offset, first, end, handles);
        return;
    }
    for (uint32_t k = first; k < end; k++) {
        uint32_t from = selection_row(&rows, k);
        uint8_t *row = row_bytes(handles[k]);
        if (!vector_is_valid(vector, from)) {
            row[store->null_offset + index / 8] |= (uint8_t)(1U << (index % 8));
        } else {
            put_value(store, column, vector, from, row, &store->sizes[k]);
        }
    }
}

static void put_hashes(const struct row_store *store, const struct batch *batch, const row_handle *handles)
{
    struct selection rows = batch_selection(batch);
    uint64_t hashes[CHUNK_ROWS];
    batch_hash(batch, store->all, store->column_count, hashes);
    for (uint32_t k = 0; k < rows.count; k++) {
        memcpy(row_bytes(handles[k]), &hashes[selection_row(&rows, k)], sizeof(uint64_t));
    }
}

enum status row_store_add(struct row_store *store, const struct batch *batch, row_handle *handles, struct error *err)
{
    struct selection rows = batch_selection(batch);
    assert(batch->column_count >= store->column_count);
    for (uint32_t k = 0; k < rows.count; k++) {
        store->sizes[k] = store->fixed_bytes;
    }
    for (uint32_t i = 0; store->variable && i < store->column_count; i++) {
        if (store->columns[i].text || store->columns[i].encoded) {
            add_sizes(store, &store->columns[i], &batch->columns[i], rows);
        }
    }
    assert(!store->encoded.failed);
    TRY(allocate_rows(store, rows.count, handles, err));
    for (uint32_t first = 0; first < rows.count; first += SLICE_ROWS) {
        uint32_t end = rows.count - first < SLICE_ROWS ? rows.count : first + SLICE_ROWS;
        start_rows(store, first, end, handles);
        for (uint32_t i = 0; i < store->column_count; i++) {
            put_column(store, i, &batch->columns[i], rows, first, end, handles);
        }
    }
    if (!store->unhashed) {
        put_hashes(store, batch, handles);
    }
    return STATUS_OK;
}

static uint32_t row_size(const struct row_store *store, row_handle handle)
{
    uint32_t bytes = store->fixed_bytes;
    if (store->variable) {
        memcpy(&bytes, row_bytes(handle) + store->length_offset, sizeof bytes);
    }
    return bytes;
}

void row_store_free(struct row_store *store, row_handle handle)
{
    slab_free(&store->slab, row_bytes(handle), row_size(store, handle));
}

uint64_t row_store_hash(const struct row_store *store, row_handle handle)
{
    assert(!store->unhashed);
    uint64_t hash;
    memcpy(&hash, row_bytes(handle), sizeof hash);
    return hash;
}

bool row_store_equal(const struct row_store *store, row_handle left, row_handle right)
{
    uint32_t bytes = row_size(store, left);
    return left == right || (bytes == row_size(store, right) && memcmp(row_bytes(left), row_bytes(right), bytes) == 0);
}

static struct text part_text(const uint8_t *row, const struct store_column *column)
{
    const struct part *part = (const struct part *)(const void *)(row + column->offset);
    const char *bytes = part->length <= STRING_INLINE_BYTES ? part->prefix : (const char *)row + part->offset;
    return (struct text){bytes, part->length};
}

static bool value_equals(struct row_store *store, const struct store_column *column, const uint8_t *row, const struct vector *vector,
                         uint32_t from)
{
    if (column->text) {
        return text_equal(part_text(row, column), vector_get_text(vector, from));
    }
    if (column->encoded) {
        text_builder_clear(&store->encoded);
        value_encode(vector, from, &store->encoded);
        return text_equal(part_text(row, column), (struct text){store->encoded.bytes, store->encoded.length});
    }
    uint8_t value[16];
    value_copy_normal(column->physical, (const uint8_t *)vector->values + (size_t)from * column->width, value);
    return memcmp(value, row + column->offset, column->width) == 0;
}

bool row_store_equals_row(const struct row_store *store, row_handle handle, const struct batch *batch, uint32_t row)
{
    const uint8_t *bytes = row_bytes(handle);
    for (uint32_t i = 0; i < store->column_count; i++) {
        bool valid = vector_is_valid(&batch->columns[i], row);
        if (valid == row_is_null(store, bytes, i)) {
            return false;
        }
        if (valid && !value_equals((struct row_store *)(uintptr_t)store, &store->columns[i], bytes, &batch->columns[i], row)) {
            return false;
        }
    }
    return true;
}

static enum status gather_validity(const struct row_store *store, const row_handle *handles, uint32_t count, uint32_t column,
                                   struct vector *vector, struct error *err)
{
    if (vector->physical == PHYSICAL_NULL) {
        return STATUS_OK;
    }
    for (uint32_t k = 0; k < count; k++) {
        if (handles[k] != 0 && !row_is_null(store, row_bytes(handles[k]), column)) {
            continue;
        }
        if (vector->validity == NULL) {
            TRY(vector_need_validity(store->budget, vector, count, err));
        }
        vector_set_null(vector, k);
    }
    return STATUS_OK;
}

static void gather_fixed(const struct store_column *column, const row_handle *handles, uint32_t count, struct vector *vector)
{
    uint8_t *to = vector->values;
    for (uint32_t k = 0; k < count; k++, to += column->width) {
        if (handles[k] == 0) {
            memset(to, 0, column->width);
            continue;
        }
        const uint8_t *from = row_bytes(handles[k]) + column->offset;
        switch (column->width) {
        case 8:
            memcpy(to, from, 8);
            break;
        case 4:
            memcpy(to, from, 4);
            break;
        default:
            memcpy(to, from, column->width);
        }
    }
}

static enum status gather_texts(const struct row_store *store, const struct store_column *column, const row_handle *handles, uint32_t count,
                                struct vector *vector, struct error *err)
{
    struct string_view *views = vector_strings(vector);
    size_t total = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (handles[k] == 0) {
            views[k] = (struct string_view){0};
            continue;
        }
        memcpy(&views[k], row_bytes(handles[k]) + column->offset, sizeof views[k]);
        total += views[k].length > STRING_INLINE_BYTES ? views[k].length : 0;
    }
    if (total == 0) {
        return STATUS_OK;
    }
    TRY(buffer_create(store->budget, total, &vector->heaps[0], err));
    vector->heap_count = 1;
    char *heap = (char *)buffer_bytes_mutable(vector->heaps[0]);
    for (uint32_t k = 0; k < count; k++) {
        if (views[k].length > STRING_INLINE_BYTES) {
            memcpy(heap, part_text(row_bytes(handles[k]), column).bytes, views[k].length);
            views[k].bytes = heap;
            heap += views[k].length;
        }
    }
    return STATUS_OK;
}

static enum status gather_encoded(const struct row_store *store, const struct store_column *column, const row_handle *handles,
                                  uint32_t count, struct vector *vector, struct error *err)
{
    const uint8_t **cursors;
    TRY_ALLOC(cursors, malloc((count + 1) * sizeof *cursors), err);
    uint32_t index = (uint32_t)(column - store->columns);
    for (uint32_t k = 0; k < count; k++) {
        bool is_null = handles[k] == 0 || row_is_null(store, row_bytes(handles[k]), index);
        cursors[k] = is_null ? NULL : (const uint8_t *)part_text(row_bytes(handles[k]), column).bytes;
    }
    enum status status = value_decode_column(store->budget, column->type, cursors, count, vector, err);
    free(cursors);
    return status;
}

static enum status gather_column(const struct row_store *store, const row_handle *handles, uint32_t count, uint32_t index,
                                 struct vector *vector, struct error *err)
{
    const struct store_column *column = &store->columns[index];
    if (column->encoded) {
        return gather_encoded(store, column, handles, count, vector, err);
    }
    TRY(vector_create(store->budget, column->type, count, vector, err));
    enum status status = gather_validity(store, handles, count, index, vector, err);
    if (status == STATUS_OK && column->text) {
        status = gather_texts(store, column, handles, count, vector, err);
    } else if (status == STATUS_OK && column->width > 0) {
        gather_fixed(column, handles, count, vector);
    }
    if (status != STATUS_OK) {
        vector_release(vector);
    }
    return status;
}

enum status row_store_gather(const struct row_store *store, const row_handle *handles, uint32_t count, const uint32_t *columns,
                             uint32_t column_count, struct vector *vectors, struct error *err)
{
    if (columns == NULL) {
        columns = store->all;
        column_count = store->column_count;
    }
    for (uint32_t k = 0; k < count; k++) {
        __builtin_prefetch(row_bytes(handles[k]));
        __builtin_prefetch(row_bytes(handles[k]) + 64);
    }
    for (uint32_t i = 0; i < column_count; i++) {
        enum status status = gather_column(store, handles, count, columns[i], &vectors[i], err);
        for (uint32_t undo = 0; status != STATUS_OK && undo < i; undo++) {
            vector_release(&vectors[undo]);
        }
        TRY(status);
    }
    return STATUS_OK;
}

static int compare_column(const struct store_column *column, const uint8_t *left, const uint8_t *right)
{
    if (column->text) {
        return text_compare(part_text(left, column), part_text(right, column));
    }
    if (column->encoded) {
        return value_compare(column->type, (const uint8_t *)part_text(left, column).bytes, (const uint8_t *)part_text(right, column).bytes);
    }
    return value_compare_fixed(column->physical, left + column->offset, right + column->offset);
}

int row_store_compare(const struct row_store *store, const struct sort_key *keys, uint32_t count, row_handle left, row_handle right)
{
    const uint8_t *left_row = row_bytes(left), *right_row = row_bytes(right);
    for (uint32_t i = 0; i < count; i++) {
        bool left_null = row_is_null(store, left_row, keys[i].column), right_null = row_is_null(store, right_row, keys[i].column);
        if (left_null || right_null) {
            if (left_null != right_null) {
                return left_null == keys[i].nulls_first ? -1 : 1;
            }
            continue;
        }
        int order = compare_column(&store->columns[keys[i].column], left_row, right_row);
        if (order != 0) {
            return (order > 0) == keys[i].descending ? -1 : 1;
        }
    }
    return 0;
}

size_t row_store_bytes(const struct row_store *store)
{
    return store->slab.bytes;
}

const struct slab *row_store_slab(const struct row_store *store)
{
    return &store->slab;
}

void row_store_clear(struct row_store *store)
{
    slab_close(&store->slab);
}
