/* Files come from the newest to the oldest, so the first row of an id that is seen is the last that was written. `seen` holds the ids of all
 * files but the oldest. In the first pass tables with after_others are passed over, in the second all the others. */
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "state/column_codec.h"
#include "state/id_set.h"
#include "state/snapshot.h"
#include "state/snapshot_format.h"

struct chain_table { /* of the whole chain */
    struct chain_table *next;
    char *names; /* operator id, NUL, table name, NUL */
    const struct snapshot_table *declared;
    void *handle;
    struct id_set seen;
    int64_t bound;          /* of expiry; rows of older files below it are gone */
    int64_t bound_of_file;  /* that of the file at hand counts from the next file on */
    int32_t expiry;         /* the column that it is about; -1: there is no bound yet */
    bool misfit, known;     /* nobody takes its rows; somebody has a table of the name */
    bool replaced;          /* nothing of older files counts */
    bool replaced_in_older; /* the same, from the next file on */
};
struct snapshot_reader {
    struct snapshot_target target;
    uint32_t chain;
    struct chain_table *tables;
    bool second_pass, has_late_tables;
    /* the file at hand */
    const char *file;
    bool oldest, begun, ended;
    uint64_t offset; /* of what is in `pending` */
    uint32_t blocks, block_bytes;
    struct text_builder pending, raw;
    struct chain_table **numbered;
    uint32_t numbered_count, numbered_capacity;
    uint64_t hashes[CHUNK_ROWS], ids[CHUNK_ROWS];
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
        id_set_close(&reader->tables->seen);
        free(reader->tables->names);
        free(reader->tables);
        reader->tables = next;
    }
    text_builder_close(&reader->pending);
    text_builder_close(&reader->raw);
    free(reader->numbered);
    free(reader);
}

static enum status corrupt(const struct snapshot_reader *reader, const char *what, struct error *err)
{
    return error_set(err, ERROR_STATE_CORRUPT, "the file of state '%s' is damaged at byte %llu: %s", reader->file,
                     (unsigned long long)reader->offset, what);
}

/* ---- tables ---- */

/* Do the columns in the file (a line each: name, tab, type) have the types that are declared? Names may have changed. */
static bool columns_fit(const struct snapshot_table *table, const char *lines, size_t length)
{
    struct text_builder type = {0};
    const char *line = lines, *end = lines + length;
    uint32_t fitting = 0;
    while (line < end && fitting < table->schema->count) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        const char *tab = line_end == NULL ? NULL : memchr(line, '\t', (size_t)(line_end - line));
        text_builder_clear(&type);
        type_print(table->schema->columns[fitting].type, &type);
        if (tab == NULL || type.failed || (size_t)(line_end - tab - 1) != type.length || memcmp(tab + 1, type.bytes, type.length) != 0) {
            break;
        }
        line = line_end + 1;
        fitting++;
    }
    text_builder_close(&type);
    return line == end && fitting == table->schema->count;
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
                                  .seen = {.budget = reader->target.budget},
                                  .bound = INT64_MIN,
                                  .bound_of_file = INT64_MIN,
                                  .expiry = -1};
    reader->tables = table;
    *found = table;
    claim(reader, table, copy, copy + strlen(copy) + 1, lines, length);
    return STATUS_OK;
}

static enum status read_table(struct snapshot_reader *reader, const struct block_header *header, const char *payload, struct error *err)
{
    const char *end = payload + header->raw_bytes;
    const char *name = memchr(payload, 0, header->raw_bytes);
    const char *lines = name == NULL ? NULL : memchr(name + 1, 0, (size_t)(end - name - 1));
    if (lines == NULL || header->table != reader->numbered_count) {
        return corrupt(reader, "a table is declared in a way that cannot be", err);
    }
    lines++;
    if (reader->numbered_count == reader->numbered_capacity) {
        uint32_t capacity = reader->numbered_capacity == 0 ? 16 : reader->numbered_capacity * 2;
        struct chain_table **grown = realloc(reader->numbered, capacity * sizeof(struct chain_table *));
        if (grown == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to read a checkpoint");
        }
        reader->numbered = grown;
        reader->numbered_capacity = capacity;
    }
    return find_table(reader, payload, (size_t)(lines - payload), lines, (size_t)(end - lines), &reader->numbered[reader->numbered_count++],
                      err);
}

/* ---- rows ---- */

static bool is_read_now(const struct snapshot_reader *reader, const struct chain_table *table)
{
    return table->declared != NULL && !table->replaced && table->declared->after_others == reader->second_pass;
}

static bool is_mine(const struct snapshot_reader *reader, const struct snapshot_table *table, uint64_t hash)
{
    const struct snapshot_target *target = &reader->target;
    if (table->place == SNAPSHOT_HASH) {
        uint32_t group = (uint32_t)(hash % target->max_parallelism);
        return (uint32_t)((uint64_t)group * target->worker_count / target->max_parallelism) == target->worker;
    }
    return table->place == SNAPSHOT_EVERY || target->worker == 0;
}

/* Which rows of the batch are the last of their id, alive, and of this worker. */
static enum status choose_rows(struct snapshot_reader *reader, struct chain_table *table, const struct batch *batch, const uint64_t *ids,
                               uint32_t *count, struct error *err)
{
    const struct snapshot_table *declared = table->declared;
    if (declared->place == SNAPSHOT_HASH) {
        batch_hash(batch, declared->place_columns, declared->place_count, reader->hashes);
    }
    *count = 0;
    for (uint32_t row = 0; row < batch->count; row++) {
        uint64_t id;
        memcpy(&id, (const char *)ids + row * sizeof id, sizeof id);
        bool alive = table->expiry < 0 || vector_int64(&batch->columns[table->expiry])[row] >= table->bound;
        if (alive && is_mine(reader, declared, reader->hashes[row]) && !id_set_has(&table->seen, id)) {
            reader->ids[*count] = id;
            reader->kept[(*count)++] = (uint16_t)row;
        }
        if (!reader->oldest) {
            TRY(id_set_add(&table->seen, id, err));
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

static enum status read_rows(struct snapshot_reader *reader, struct chain_table *table, const struct block_header *header,
                             const char *payload, struct error *err)
{
    const struct schema *schema = table->declared->schema;
    const uint8_t *cursor = (const uint8_t *)payload, *end = cursor + header->raw_bytes;
    if (header->rows == 0 || header->rows > CHUNK_ROWS || header->raw_bytes < header->rows * sizeof(uint64_t)) {
        return corrupt(reader, "a block has a number of rows that cannot be", err);
    }
    cursor += header->rows * sizeof(uint64_t);
    struct batch batch = {0};
    TRY(batch_init(&batch, schema->count, err));
    batch.count = header->rows;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < schema->count && status == STATUS_OK; i++) {
        status = column_decode(reader->target.budget, schema->columns[i].type, header->rows, &cursor, end, &batch.columns[i], err);
    }
    uint32_t count = 0;
    if (status == STATUS_OK) {
        status = choose_rows(reader, table, &batch, (const uint64_t *)(const void *)payload, &count, err);
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
    if (header->raw_bytes != header->rows * sizeof(uint64_t)) {
        return corrupt(reader, "a list of removed rows has a length that cannot be", err);
    }
    for (uint32_t i = 0; i < header->rows && !reader->oldest; i++) {
        uint64_t id;
        memcpy(&id, payload + i * sizeof id, sizeof id);
        TRY(id_set_add(&table->seen, id, err));
    }
    return STATUS_OK;
}

static enum status read_bound(struct snapshot_reader *reader, struct chain_table *table, const struct block_header *header,
                              const char *payload, struct error *err)
{
    const struct schema *schema = table->declared->schema;
    int64_t bound;
    int32_t column;
    if (header->raw_bytes != sizeof bound + sizeof column) {
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
    if (!is_read_now(reader, table)) {
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

static bool needs_payload(const struct snapshot_reader *reader, const struct block_header *header)
{
    if (header->kind != BLOCK_ROWS || header->table >= reader->numbered_count) {
        return true;
    }
    const struct chain_table *table = reader->numbered[header->table];
    return table->misfit || is_read_now(reader, table);
}

static enum status unpack(struct snapshot_reader *reader, const struct block_header *header, const char *stored, const char **payload,
                          struct error *err)
{
    if (header->codec == CODEC_NONE && header->raw_bytes == header->stored_bytes) {
        *payload = stored;
        return STATUS_OK;
    }
    if (header->codec != CODEC_ZSTD || header->raw_bytes > BLOCK_BYTES_MAX) {
        return corrupt(reader, "a block of an unknown codec", err);
    }
    if (reader->raw.capacity < header->raw_bytes) {
        char *grown = realloc(reader->raw.bytes, header->raw_bytes);
        if (grown == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to read a checkpoint");
        }
        reader->raw.bytes = grown;
        reader->raw.capacity = header->raw_bytes;
    }
    size_t length = ZSTD_decompress(reader->raw.bytes, header->raw_bytes, stored, header->stored_bytes);
    if (ZSTD_isError(length) || length != header->raw_bytes) {
        return corrupt(reader, "a block does not unpack", err);
    }
    *payload = reader->raw.bytes;
    return STATUS_OK;
}

static enum status check_file_header(struct snapshot_reader *reader, const char *bytes, struct error *err)
{
    struct snapshot_file_header header;
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, SNAPSHOT_MAGIC, sizeof header.magic) != 0) {
        return corrupt(reader, "it is no file of state", err);
    }
    if (header.version != SNAPSHOT_VERSION) {
        return error_set(err, ERROR_STATE_CORRUPT, "the file of state '%s' has version %u; this program reads version %d", reader->file,
                         header.version, SNAPSHOT_VERSION);
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
        if (header.magic != BLOCK_MAGIC || header.stored_bytes > BLOCK_BYTES_MAX || reader->ended) {
            return corrupt(reader, "no block begins here", err);
        }
        size_t whole = sizeof header + header.stored_bytes;
        if (length - *used < whole) {
            break;
        }
        const char *stored = bytes + *used + sizeof header, *payload;
        if (block_checksum(&header, stored) != header.checksum) {
            return corrupt(reader, "the checksum of a block differs", err);
        }
        reader->block_bytes = (uint32_t)whole;
        if (needs_payload(reader, &header)) {
            TRY(unpack(reader, &header, stored, &payload, err));
            TRY(read_block(reader, &header, payload, err));
        }
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
