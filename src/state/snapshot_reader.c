/* Files come from the newest to the oldest, so the first row of an id that is seen is the last that was written. `seen` holds the ids of all
 * files but the oldest. In the first pass tables with after_others are passed over, in the second all the others. */
#include <stdlib.h>
#include <string.h>

#include "state/column_codec.h"
#include "state/packed_integers.h"
#include "state/seen_ids.h"
#include "state/snapshot.h"
#include "state/snapshot_format.h"

struct chain_table { /* of the whole chain */
    struct chain_table *next;
    char *names; /* operator id, NUL, table name, NUL */
    const struct snapshot_table *declared;
    void *handle;
    struct seen_ids seen;
    int64_t bound;          /* of expiry; rows of older files below it are gone */
    int64_t bound_of_file;  /* that of the file at hand counts from the next file on */
    int32_t expiry;         /* the column that it is about; -1: there is no bound yet */
    bool misfit, known;     /* nobody takes its rows; somebody has a table of the name */
    bool replaced;          /* nothing of older files counts */
    bool replaced_in_older; /* the same, from the next file on */
    bool placed_alike;      /* the file at hand places its rows as the declaration does */
};
enum share { SHARE_NONE, SHARE_SOME, SHARE_ALL }; /* of a table in a file: this worker's */

struct snapshot_reader {
    struct snapshot_target target;
    uint32_t chain;
    struct chain_table *tables;
    bool second_pass, has_late_tables;
    /* the file at hand */
    const char *file;
    bool oldest, begun, ended;
    struct snapshot_file_header header;
    uint64_t offset; /* of what is in `pending` */
    uint32_t blocks, block_bytes;
    struct text_builder pending;
    struct column_coder coder;
    struct chain_table **numbered;
    uint32_t numbered_count, numbered_capacity;
    uint64_t hashes[CHUNK_ROWS], ids[CHUNK_ROWS];
    int64_t read_ids[CHUNK_ROWS];
    uint16_t kept[CHUNK_ROWS];
};

enum status snapshot_reader_create(const struct snapshot_target *target, uint32_t chain, struct snapshot_reader **reader, struct error *err)
{
    struct snapshot_reader *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to read a checkpoint");
    }
    created->target = *target;
    created->chain = chain;
    *reader = created;
    return STATUS_OK;
}

void snapshot_reader_destroy(struct snapshot_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    while (reader->tables != NULL) {
        struct chain_table *next = reader->tables->next;
        seen_ids_close(&reader->tables->seen);
        free(reader->tables->names);
        free(reader->tables);
        reader->tables = next;
    }
    text_builder_close(&reader->pending);
    column_coder_close(&reader->coder);
    free(reader->numbered);
    free(reader);
}

static enum status corrupt(const struct snapshot_reader *reader, const char *what, struct error *err)
{
    return error_set(err, ERROR_STATE_CORRUPT, "the file of state '%s' is damaged at byte %llu: %s", reader->file,
                     (unsigned long long)reader->offset, what);
}

/* ---- tables ---- */

/* Do the columns in the file (a line each: name, tab, type, perhaps a tab and a layout) have the types that are declared? Names and layouts
 * may have changed. */
static bool columns_fit(const struct snapshot_table *table, const char *lines, size_t length)
{
    struct text_builder type = {0};
    const char *line = lines, *end = lines + length;
    uint32_t fitting = 0;
    while (line < end && fitting < table->schema->count) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        const char *tab = line_end == NULL ? NULL : memchr(line, '\t', (size_t)(line_end - line));
        const char *second = tab == NULL ? NULL : memchr(tab + 1, '\t', (size_t)(line_end - tab - 1));
        size_t length_of_type = tab == NULL ? 0 : (size_t)((second == NULL ? line_end : second) - tab - 1);
        text_builder_clear(&type);
        type_print(table->schema->columns[fitting].type, &type);
        if (tab == NULL || type.failed || length_of_type != type.length || memcmp(tab + 1, type.bytes, type.length) != 0) {
            break;
        }
        line = line_end + 1;
        fitting++;
    }
    text_builder_close(&type);
    return line == end && fitting == table->schema->count;
}

/* Does the file say the same of where rows belong? */
static bool is_placed_alike(const struct snapshot_table *table, const char *place)
{
    struct text_builder declared = {0};
    bool alike = false;
    if (table != NULL) {
        snapshot_place_print(table, &declared);
        alike = !declared.failed && strcmp(declared.bytes, place) == 0;
    }
    text_builder_close(&declared);
    return alike;
}

static void claim(struct snapshot_reader *reader, struct chain_table *table, const char *operator_id, const char *name, const char *lines,
                  size_t length)
{
    const struct snapshot_target *target = &reader->target;
    bool described = target->describe != NULL;
    table->declared = described ? target->describe(target->context, operator_id, name, (struct text){lines, length}, &table->handle)
                                : target->find(target->context, operator_id, name, &table->handle);
    if (table->declared != NULL && (described || columns_fit(table->declared, lines, length))) {
        reader->has_late_tables = reader->has_late_tables || table->declared->after_others;
        return;
    }
    table->misfit = true;
    table->known = table->declared != NULL;
    table->declared = NULL;
}

/* Rows that nobody takes; an empty table troubles nobody. */
static enum status refuse_rows(const struct snapshot_reader *reader, const struct chain_table *table, struct error *err)
{
    if (reader->target.ignore_unclaimed) {
        return STATUS_OK;
    }
    return error_set(
        err, ERROR_STATE_MISFIT,
        "the state of operator %s (table '%s') %s; SET 'execution.state-recovery.ignore-unclaimed-state' = 'true' leaves it out",
        table->names, table->names + strlen(table->names) + 1,
        table->known ? "has other columns than the operator of this SQL" : "belongs to no operator of this SQL");
}

static enum status find_table(struct snapshot_reader *reader, const char *names, size_t names_length, const char *lines, size_t length,
                              struct chain_table **found, struct error *err)
{
    for (struct chain_table *table = reader->tables; table != NULL; table = table->next) {
        if (memcmp(table->names, names, strlen(table->names) + 1) == 0 &&
            strcmp(table->names + strlen(table->names) + 1, names + strlen(names) + 1) == 0) {
            *found = table;
            return STATUS_OK;
        }
    }
    struct chain_table *table = calloc(1, sizeof *table);
    char *copy = malloc(names_length);
    if (table == NULL || copy == NULL) {
        free(table);
        free(copy);
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to read a checkpoint");
    }
    memcpy(copy, names, names_length);
    *table = (struct chain_table){.next = reader->tables,
                                  .names = copy,
                                  .seen.sparse.budget = reader->target.budget,
                                  .bound = INT64_MIN,
                                  .bound_of_file = INT64_MIN,
                                  .expiry = -1};
    reader->tables = table;
    *found = table;
    claim(reader, table, copy, copy + strlen(copy) + 1, lines, length);
    return STATUS_OK;
}

static enum status grow_numbered(struct snapshot_reader *reader, struct error *err)
{
    if (reader->numbered_count < reader->numbered_capacity) {
        return STATUS_OK;
    }
    uint32_t capacity = reader->numbered_capacity == 0 ? 16 : reader->numbered_capacity * 2;
    struct chain_table **grown = realloc(reader->numbered, capacity * sizeof(struct chain_table *));
    if (grown == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to read a checkpoint");
    }
    reader->numbered = grown;
    reader->numbered_capacity = capacity;
    return STATUS_OK;
}

static enum status read_table(struct snapshot_reader *reader, const struct block_header *header, const char *payload, struct error *err)
{
    const char *end = payload + header->bytes, *ends[3], *at = payload; /* of the operator, the table, the place */
    for (uint32_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        ends[i] = at == NULL ? NULL : memchr(at, 0, (size_t)(end - at));
        at = ends[i] == NULL ? NULL : ends[i] + 1;
    }
    if (at == NULL || header->table != reader->numbered_count) {
        return corrupt(reader, "a table is declared in a way that cannot be", err);
    }
    struct chain_table *table;
    TRY(grow_numbered(reader, err));
    TRY(find_table(reader, payload, (size_t)(ends[1] + 1 - payload), at, (size_t)(end - at), &table, err));
    table->placed_alike = is_placed_alike(table->declared, ends[1] + 1);
    reader->numbered[reader->numbered_count++] = table;
    return STATUS_OK;
}

/* ---- rows ---- */

static bool is_read_now(const struct snapshot_reader *reader, const struct chain_table *table)
{
    return table->declared != NULL && !table->replaced && table->declared->after_others == reader->second_pass;
}

static bool is_mine(const struct snapshot_reader *reader, uint64_t hash)
{
    const struct snapshot_target *target = &reader->target;
    uint32_t group = (uint32_t)(hash % target->max_parallelism);
    return (uint32_t)((uint64_t)group * target->worker_count / target->max_parallelism) == target->worker;
}

/* The first key group of a worker. */
static uint32_t first_group(uint32_t worker, uint32_t worker_count, uint32_t max_parallelism)
{
    return (uint32_t)(((uint64_t)worker * max_parallelism + worker_count - 1) / worker_count);
}

/* What of the table's rows in this file is the worker's own, before they are looked at. */
static enum share share_of(const struct snapshot_reader *reader, const struct chain_table *table)
{
    const struct snapshot_target *target = &reader->target;
    const struct snapshot_file_header *file = &reader->header;
    if (table->declared->place == SNAPSHOT_EVERY || target->worker_count == 1) {
        return SHARE_ALL;
    }
    if (table->declared->place == SNAPSHOT_ONE) {
        return target->worker == 0 ? SHARE_ALL : SHARE_NONE;
    }
    if (!table->placed_alike || file->max_parallelism != target->max_parallelism) {
        return SHARE_SOME;
    }
    uint32_t groups = target->max_parallelism;
    uint32_t first = first_group(file->worker, file->worker_count, groups), end = first_group(file->worker + 1, file->worker_count, groups);
    uint32_t own_first = first_group(target->worker, target->worker_count, groups);
    uint32_t own_end = first_group(target->worker + 1, target->worker_count, groups);
    if (end <= own_first || first >= own_end) {
        return SHARE_NONE;
    }
    return first >= own_first && end <= own_end ? SHARE_ALL : SHARE_SOME;
}

/* Which rows of the batch are the last of their id, alive, and of this worker. */
static enum status choose_rows(struct snapshot_reader *reader, struct chain_table *table, const struct batch *batch, uint32_t *count,
                               struct error *err)
{
    const struct snapshot_table *declared = table->declared;
    bool all = share_of(reader, table) == SHARE_ALL;
    if (!all) {
        batch_hash(batch, declared->place_columns, declared->place_count, reader->hashes);
    }
    if (all && reader->oldest && table->expiry < 0 && seen_ids_is_empty(&table->seen)) {
        memcpy(reader->ids, reader->read_ids, batch->count * sizeof *reader->ids);
        *count = batch->count;
        return STATUS_OK;
    }
    *count = 0;
    for (uint32_t row = 0; row < batch->count; row++) {
        uint64_t id = (uint64_t)reader->read_ids[row];
        bool alive = table->expiry < 0 || vector_int64(&batch->columns[table->expiry])[row] >= table->bound;
        if (alive && (all || is_mine(reader, reader->hashes[row])) && !seen_ids_has(&table->seen, id)) {
            reader->ids[*count] = id;
            reader->kept[(*count)++] = (uint16_t)row;
        }
        if (!reader->oldest) {
            TRY(seen_ids_add(&table->seen, id, err));
        }
    }
    return STATUS_OK;
}

static enum status deliver(struct snapshot_reader *reader, const struct chain_table *table, struct batch *batch, uint32_t count,
                           struct error *err)
{
    if (count == 0) {
        return STATUS_OK;
    }
    struct batch kept = {0};
    if (count < batch->count) {
        TRY(batch_gather(reader->target.budget, batch, reader->kept, count, &kept, err));
    }
    struct snapshot_rows rows = {count < batch->count ? &kept : batch, reader->ids, reader->chain, reader->block_bytes};
    enum status status = reader->target.take(reader->target.context, table->handle, table->declared, &rows, err);
    batch_release(&kept);
    return status;
}

static enum status read_ids(struct snapshot_reader *reader, const struct block_header *header, const uint8_t **cursor, const uint8_t *end,
                            struct error *err)
{
    if (header->rows == 0 || header->rows > CHUNK_ROWS ||
        !packed_integers_decode(reader->read_ids, header->rows, sizeof *reader->read_ids, cursor, end)) {
        return corrupt(reader, "a block has a number of rows that cannot be", err);
    }
    return STATUS_OK;
}

static enum status read_rows(struct snapshot_reader *reader, struct chain_table *table, const struct block_header *header,
                             const char *payload, struct error *err)
{
    const struct schema *schema = table->declared->schema;
    const uint8_t *cursor = (const uint8_t *)payload, *end = cursor + header->bytes;
    TRY(read_ids(reader, header, &cursor, end, err));
    struct batch batch = {0};
    TRY(batch_init(&batch, schema->count, err));
    batch.count = header->rows;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < schema->count && status == STATUS_OK; i++) {
        status = column_decode(&reader->coder, reader->target.budget, schema->columns[i].type, header->rows, &cursor, end,
                               &batch.columns[i], err);
    }
    uint32_t count = 0;
    if (status == STATUS_OK) {
        status = choose_rows(reader, table, &batch, &count, err);
    }
    if (status == STATUS_OK) {
        status = deliver(reader, table, &batch, count, err);
    }
    batch_release(&batch);
    return status;
}

static enum status read_removed(struct snapshot_reader *reader, struct chain_table *table, const struct block_header *header,
                                const char *payload, struct error *err)
{
    const uint8_t *cursor = (const uint8_t *)payload;
    TRY(read_ids(reader, header, &cursor, cursor + header->bytes, err));
    for (uint32_t i = 0; i < header->rows && !reader->oldest; i++) {
        TRY(seen_ids_add(&table->seen, (uint64_t)reader->read_ids[i], err));
    }
    return STATUS_OK;
}

static enum status read_bound(struct snapshot_reader *reader, struct chain_table *table, const struct block_header *header,
                              const char *payload, struct error *err)
{
    const struct schema *schema = table->declared->schema;
    int64_t bound;
    int32_t column;
    if (header->bytes != sizeof bound + sizeof column) {
        return corrupt(reader, "a bound has a length that cannot be", err);
    }
    memcpy(&bound, payload, sizeof bound);
    memcpy(&column, payload + sizeof bound, sizeof column);
    if (column < 0 || (uint32_t)column >= schema->count || type_physical(schema->columns[column].type) != PHYSICAL_INT64) {
        return corrupt(reader, "a bound is of a column that cannot be", err);
    }
    table->expiry = column;
    table->bound_of_file = bound;
    return STATUS_OK;
}

/* ---- blocks ---- */

static enum status read_block(struct snapshot_reader *reader, const struct block_header *header, const char *payload, struct error *err)
{
    if (header->kind == BLOCK_TABLE) {
        return read_table(reader, header, payload, err);
    }
    if (header->kind == BLOCK_END) {
        reader->ended = true;
        return header->rows == reader->blocks ? STATUS_OK : corrupt(reader, "blocks are missing", err);
    }
    if (header->table >= reader->numbered_count) {
        return corrupt(reader, "a block is of no table", err);
    }
    struct chain_table *table = reader->numbered[header->table];
    if (table->misfit && header->kind == BLOCK_ROWS) {
        return refuse_rows(reader, table, err);
    }
    bool of_rows = header->kind == BLOCK_ROWS || header->kind == BLOCK_REMOVE;
    if (!is_read_now(reader, table) || (of_rows && share_of(reader, table) == SHARE_NONE)) {
        return STATUS_OK;
    }
    switch (header->kind) {
    case BLOCK_ROWS:
        return read_rows(reader, table, header, payload, err);
    case BLOCK_REMOVE:
        return read_removed(reader, table, header, payload, err);
    case BLOCK_REPLACE:
        table->replaced_in_older = true;
        return STATUS_OK;
    case BLOCK_EXPIRE:
        return read_bound(reader, table, header, payload, err);
    default:
        return corrupt(reader, "a block of an unknown kind", err);
    }
}

static enum status check_file_header(struct snapshot_reader *reader, const char *bytes, struct error *err)
{
    struct snapshot_file_header *header = &reader->header;
    memcpy(header, bytes, sizeof *header);
    if (memcmp(header->magic, SNAPSHOT_MAGIC, sizeof header->magic) != 0) {
        return corrupt(reader, "it is no file of state", err);
    }
    if (header->version != SNAPSHOT_VERSION) {
        return error_set(err, ERROR_STATE_CORRUPT, "the file of state '%s' has version %u; this program reads version %d", reader->file,
                         header->version, SNAPSHOT_VERSION);
    }
    if (header->check != file_header_check(header) || header->worker >= header->worker_count) {
        return corrupt(reader, "the checksum of its header differs", err);
    }
    return STATUS_OK;
}

/* Takes what is whole from the front of `bytes`; *used says how much. */
static enum status read_whole(struct snapshot_reader *reader, const char *bytes, size_t length, size_t *used, struct error *err)
{
    *used = 0;
    if (!reader->begun && length >= sizeof(struct snapshot_file_header)) {
        TRY(check_file_header(reader, bytes, err));
        reader->begun = true;
        *used = sizeof(struct snapshot_file_header);
        reader->offset += *used;
    }
    while (reader->begun && length - *used >= sizeof(struct block_header)) {
        struct block_header header;
        memcpy(&header, bytes + *used, sizeof header);
        if (header.magic != BLOCK_MAGIC || header.bytes > BLOCK_BYTES_MAX || reader->ended) {
            return corrupt(reader, "no block begins here", err);
        }
        size_t whole = sizeof header + header.bytes;
        if (length - *used < whole) {
            break;
        }
        const char *payload = bytes + *used + sizeof header;
        if (block_checksum(&header, payload) != header.checksum) {
            return corrupt(reader, "the checksum of a block differs", err);
        }
        reader->block_bytes = (uint32_t)whole;
        TRY(read_block(reader, &header, payload, err));
        reader->blocks++;
        reader->offset += whole;
        *used += whole;
    }
    return STATUS_OK;
}

void snapshot_file_begin(struct snapshot_reader *reader, const char *name, bool oldest)
{
    reader->file = name;
    reader->oldest = oldest;
    reader->begun = reader->ended = false;
    reader->offset = 0;
    reader->blocks = reader->numbered_count = 0;
    text_builder_clear(&reader->pending);
}

enum status snapshot_file_bytes(struct snapshot_reader *reader, const void *bytes, size_t length, struct error *err)
{
    size_t used;
    if (reader->pending.length == 0) {
        TRY(read_whole(reader, bytes, length, &used, err));
        text_append(&reader->pending, (const char *)bytes + used, length - used);
    } else {
        text_append(&reader->pending, bytes, length);
        if (!reader->pending.failed) {
            TRY(read_whole(reader, reader->pending.bytes, reader->pending.length, &used, err));
            memmove(reader->pending.bytes, reader->pending.bytes + used, reader->pending.length - used);
            reader->pending.length -= used;
        }
    }
    return reader->pending.failed ? error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to read a checkpoint") : STATUS_OK;
}

enum status snapshot_file_end(struct snapshot_reader *reader, struct error *err)
{
    if (!reader->ended || reader->pending.length > 0) {
        return corrupt(reader, "it ends too early", err);
    }
    for (struct chain_table *table = reader->tables; table != NULL; table = table->next) {
        table->replaced = table->replaced || table->replaced_in_older;
        table->bound = table->bound_of_file > table->bound ? table->bound_of_file : table->bound;
    }
    return STATUS_OK;
}

bool snapshot_wants_second_pass(struct snapshot_reader *reader)
{
    if (reader->second_pass || !reader->has_late_tables) {
        return false;
    }
    reader->second_pass = true;
    for (struct chain_table *table = reader->tables; table != NULL; table = table->next) {
        if (table->declared != NULL && table->declared->after_others) {
            table->replaced = table->replaced_in_older = false;
        }
    }
    return true;
}
