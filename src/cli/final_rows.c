#include "cli/final_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "spate/spate.h"

static char *row_encode(uint32_t column_count, const char *const *values, const size_t *lengths, size_t *size)
{
    *size = 0;
    for (uint32_t c = 0; c < column_count; c++) {
        *size += sizeof(uint32_t) + lengths[c];
    }
    char *blob = malloc(*size + 1);
    char *at = blob;
    for (uint32_t c = 0; c < column_count && blob != NULL; c++) {
        uint32_t length = values[c] == NULL ? UINT32_MAX : (uint32_t)lengths[c];
        memcpy(at, &length, sizeof length);
        at += sizeof length;
        if (values[c] != NULL) {
            memcpy(at, values[c], lengths[c]);
            at += lengths[c];
        }
    }
    return blob;
}

static bool rows_reindex(struct final_rows *rows)
{
    size_t size = rows->index_size == 0 ? 1024 : rows->index_size * 2;
    uint32_t *index = calloc(size, sizeof *index);
    if (index == NULL) {
        return false;
    }
    for (size_t i = 0; i < rows->count; i++) {
        size_t at = rows->rows[i].hash & (size - 1);
        while (index[at] != 0) {
            at = (at + 1) & (size - 1);
        }
        index[at] = (uint32_t)i + 1;
    }
    free(rows->index);
    rows->index = index;
    rows->index_size = size;
    rows->index_used = rows->count;
    return true;
}

/* Takes the row's blob. */
static void rows_append(struct final_rows *rows, struct final_row row)
{
    if (rows->index_used * 2 >= rows->index_size && !rows_reindex(rows)) {
        rows->failed = true;
    }
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity == 0 ? 256 : rows->capacity * 2;
        struct final_row *larger = realloc(rows->rows, capacity * sizeof *larger);
        if (larger == NULL) {
            rows->failed = true;
        } else {
            rows->rows = larger;
            rows->capacity = capacity;
        }
    }
    if (rows->failed) {
        free(row.blob);
        return;
    }
    size_t at = row.hash & (rows->index_size - 1);
    while (rows->index[at] != 0) {
        at = (at + 1) & (rows->index_size - 1);
    }
    rows->rows[rows->count++] = row;
    rows->index[at] = (uint32_t)rows->count;
    rows->index_used++;
    rows->standing += !row.owed;
    rows->owed += row.owed;
}

/* Takes the latest equal row away that stands, or is owed; false: there is none. */
static bool rows_remove(struct final_rows *rows, const struct final_row *gone, bool owed)
{
    uint32_t latest = 0;
    size_t at = rows->index_size == 0 ? 0 : gone->hash & (rows->index_size - 1);
    for (; rows->index_size > 0 && rows->index[at] != 0; at = (at + 1) & (rows->index_size - 1)) {
        const struct final_row *row = &rows->rows[rows->index[at] - 1];
        bool equal = row->blob != NULL && row->owed == owed && row->hash == gone->hash && row->size == gone->size &&
                     memcmp(row->blob, gone->blob, gone->size) == 0;
        latest = equal && rows->index[at] > latest ? rows->index[at] : latest;
    }
    if (latest == 0) {
        return false;
    }
    free(rows->rows[latest - 1].blob);
    rows->rows[latest - 1].blob = NULL;
    rows->standing -= !owed;
    rows->owed -= owed;
    return true;
}

void final_rows_change(struct final_rows *rows, int kind, uint32_t column_count, const char *const *values, const size_t *lengths)
{
    struct final_row row = {.owed = kind != SPATE_INSERT && kind != SPATE_UPDATE_AFTER};
    row.blob = row_encode(column_count, values, lengths, &row.size);
    if (row.blob == NULL) {
        rows->failed = true;
        return;
    }
    row.hash = hash_bytes(row.blob, row.size);
    if ((row.owed || rows->owed > 0) && rows_remove(rows, &row, !row.owed)) {
        free(row.blob);
        return;
    }
    rows->early = rows->early || row.owed;
    rows_append(rows, row);
}

void final_rows_cells(const struct final_row *row, uint32_t column_count, const char **values, size_t *lengths)
{
    const char *at = row->blob;
    for (uint32_t c = 0; c < column_count; c++) {
        uint32_t length;
        memcpy(&length, at, sizeof length);
        at += sizeof length;
        values[c] = length == UINT32_MAX ? NULL : at;
        lengths[c] = length == UINT32_MAX ? 0 : length;
        at += lengths[c];
    }
}

void final_rows_close(struct final_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->rows[i].blob);
    }
    free(rows->rows);
    free(rows->index);
    *rows = (struct final_rows){0};
}
