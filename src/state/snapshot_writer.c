#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "state/column_codec.h"
#include "state/snapshot.h"
#include "state/snapshot_format.h"

enum { COMPRESS_FROM = 512, COMPRESS_LEVEL = 1 };

struct block {
    struct block_header header;
    char *payload;
};
struct snapshot_writer {
    struct budget *budget;
    bool full;
    uint64_t checkpoint;
    struct block *blocks;
    uint32_t block_count, block_capacity;
    uint32_t table_count;                /* of all operators so far */
    uint32_t first_table;                /* of the operator at hand */
    const struct snapshot_table *tables; /* its tables */
    uint64_t rows;
    size_t bytes;
    struct text_builder scratch, packed;
    snapshot_put *put; /* a writer that streams; else NULL */
    void *put_context;
    uint32_t put_count;
};

enum status snapshot_writer_create(struct budget *budget, bool full, uint64_t checkpoint, struct snapshot_writer **writer,
                                   struct error *err)
{
    struct snapshot_writer *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a checkpoint");
    }
    created->budget = budget;
    created->full = full;
    created->checkpoint = checkpoint;
    *writer = created;
    return STATUS_OK;
}

void snapshot_writer_destroy(struct snapshot_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    for (uint32_t i = 0; i < writer->block_count; i++) {
        free(writer->blocks[i].payload);
    }
    budget_release(writer->budget, writer->bytes);
    free(writer->blocks);
    text_builder_close(&writer->scratch);
    text_builder_close(&writer->packed);
    free(writer);
}

bool snapshot_is_full(const struct snapshot_writer *writer)
{
    return writer->full;
}

uint64_t snapshot_checkpoint(const struct snapshot_writer *writer)
{
    return writer->checkpoint;
}

uint64_t snapshot_rows(const struct snapshot_writer *writer)
{
    return writer->rows;
}

size_t snapshot_bytes(const struct snapshot_writer *writer)
{
    return writer->bytes;
}

static enum status no_room(struct error *err)
{
    return error_set(err, ERROR_BUDGET_SPENT, "no room for the state of a checkpoint");
}

static enum status put_block(struct snapshot_writer *writer, struct block *block, snapshot_put *put, void *context, struct error *err);

/* A block with `scratch` as its payload: put, or kept as a copy. */
static enum status add_block(struct snapshot_writer *writer, enum block_kind kind, uint32_t table, uint32_t rows, struct error *err)
{
    if (writer->scratch.failed || writer->scratch.length > BLOCK_BYTES_MAX) {
        return no_room(err);
    }
    size_t length = writer->scratch.length;
    struct block_header header = {.magic = BLOCK_MAGIC, .kind = (uint8_t)kind, .table = table, .rows = rows, .raw_bytes = (uint32_t)length};
    if (writer->put != NULL) {
        struct block block = {header, writer->scratch.bytes};
        writer->put_count++;
        return put_block(writer, &block, writer->put, writer->put_context, err);
    }
    if (writer->block_count == writer->block_capacity) {
        uint32_t capacity = writer->block_capacity == 0 ? 64 : writer->block_capacity * 2;
        struct block *grown = realloc(writer->blocks, capacity * sizeof *grown);
        if (grown == NULL) {
            return no_room(err);
        }
        writer->blocks = grown;
        writer->block_capacity = capacity;
    }
    if (!budget_charge(writer->budget, length)) {
        return no_room(err);
    }
    writer->bytes += length;
    char *payload = malloc(length + 1);
    if (payload == NULL) {
        return no_room(err);
    }
    if (length > 0) {
        memcpy(payload, writer->scratch.bytes, length);
    }
    writer->blocks[writer->block_count++] = (struct block){header, payload};
    return STATUS_OK;
}

static enum status declare_table(struct snapshot_writer *writer, const char *operator_id, const struct snapshot_table *table,
                                 struct error *err)
{
    struct text_builder *text = &writer->scratch;
    text_builder_clear(text);
    text_append(text, operator_id, strlen(operator_id) + 1);
    text_append(text, table->name, strlen(table->name) + 1);
    for (uint32_t i = 0; i < table->schema->count; i++) {
        text_append_format(text, "%s\t", table->schema->columns[i].name);
        type_print(table->schema->columns[i].type, text);
        text_append_char(text, '\n');
    }
    return add_block(writer, BLOCK_TABLE, writer->table_count++, 0, err);
}

enum status snapshot_begin(struct snapshot_writer *writer, const char *operator_id, const struct snapshot_table *tables, uint32_t count,
                           struct error *err)
{
    writer->first_table = writer->table_count;
    writer->tables = tables;
    for (uint32_t i = 0; i < count; i++) {
        TRY(declare_table(writer, operator_id, &tables[i], err));
    }
    return STATUS_OK;
}

void snapshot_resume(struct snapshot_writer *writer, uint32_t first_table)
{
    writer->first_table = first_table;
}

enum status snapshot_write(struct snapshot_writer *writer, uint32_t table, const uint64_t *ids, const struct batch *batch,
                           struct error *err)
{
    struct selection rows = batch_selection(batch);
    if (rows.count == 0) {
        return STATUS_OK;
    }
    struct text_builder *payload = &writer->scratch;
    text_builder_clear(payload);
    text_append(payload, (const char *)ids, rows.count * sizeof *ids);
    for (uint32_t i = 0; i < batch->column_count; i++) {
        column_encode(&batch->columns[i], rows, payload);
    }
    writer->rows += rows.count;
    return add_block(writer, BLOCK_ROWS, writer->first_table + table, rows.count, err);
}

enum status snapshot_remove(struct snapshot_writer *writer, uint32_t table, const uint64_t *ids, uint32_t count, struct error *err)
{
    for (uint32_t done = 0; done < count; done += CHUNK_ROWS) {
        uint32_t part = count - done < CHUNK_ROWS ? count - done : CHUNK_ROWS;
        text_builder_clear(&writer->scratch);
        text_append(&writer->scratch, (const char *)(ids + done), part * sizeof *ids);
        TRY(add_block(writer, BLOCK_REMOVE, writer->first_table + table, part, err));
    }
    return STATUS_OK;
}

enum status snapshot_replace(struct snapshot_writer *writer, uint32_t table, struct error *err)
{
    text_builder_clear(&writer->scratch);
    return add_block(writer, BLOCK_REPLACE, writer->first_table + table, 0, err);
}

enum status snapshot_expire(struct snapshot_writer *writer, uint32_t table, int64_t bound, struct error *err)
{
    text_builder_clear(&writer->scratch);
    text_append(&writer->scratch, (const char *)&bound, sizeof bound);
    text_append(&writer->scratch, (const char *)&writer->tables[table].expiry, sizeof writer->tables[table].expiry);
    return add_block(writer, BLOCK_EXPIRE, writer->first_table + table, 0, err);
}

enum status snapshot_write_cells(struct snapshot_writer *writer, uint32_t table, uint64_t id, const struct snapshot_cell *cells,
                                 struct error *err)
{
    const struct schema *schema = writer->tables[table].schema;
    struct vector columns[16] = {0};
    struct string_view views[16];
    uint32_t count = schema->count;
    for (uint32_t i = 0; i < count && i < 16; i++) {
        struct vector *column = &columns[i];
        *column = (struct vector){.type = schema->columns[i].type, .physical = type_physical(schema->columns[i].type), .count = 1};
        views[i] = string_view_make(cells[i].bytes.bytes, cells[i].bytes.length);
        column->values = column->physical == PHYSICAL_STRING ? (void *)&views[i] : (void *)(uintptr_t)&cells[i].number;
    }
    struct batch batch = {.count = 1, .column_count = count, .columns = columns};
    return snapshot_write(writer, table, &id, &batch, err);
}

/* ---- the file ---- */

static enum status put_block(struct snapshot_writer *writer, struct block *block, snapshot_put *put, void *context, struct error *err)
{
    struct block_header *header = &block->header;
    const char *payload = block->payload;
    header->codec = CODEC_NONE;
    header->stored_bytes = header->raw_bytes;
    if (header->raw_bytes >= COMPRESS_FROM) {
        size_t bound = ZSTD_compressBound(header->raw_bytes);
        if (writer->packed.capacity < bound) {
            char *grown = realloc(writer->packed.bytes, bound);
            if (grown == NULL) {
                return no_room(err);
            }
            writer->packed.bytes = grown;
            writer->packed.capacity = bound;
        }
        size_t length = ZSTD_compress(writer->packed.bytes, bound, payload, header->raw_bytes, COMPRESS_LEVEL);
        if (!ZSTD_isError(length) && length < header->raw_bytes) {
            header->codec = CODEC_ZSTD;
            header->stored_bytes = (uint32_t)length;
            payload = writer->packed.bytes;
        }
    }
    header->checksum = block_checksum(header, payload);
    TRY(put(context, header, sizeof *header, err));
    return header->stored_bytes == 0 ? STATUS_OK : put(context, payload, header->stored_bytes, err);
}

static enum status put_file_header(const struct snapshot_writer *writer, snapshot_put *put, void *context, struct error *err)
{
    struct snapshot_file_header header = {.version = SNAPSHOT_VERSION, .full = writer->full};
    memcpy(header.magic, SNAPSHOT_MAGIC, sizeof header.magic);
    return put(context, &header, sizeof header, err);
}

enum status snapshot_stream(struct snapshot_writer *writer, snapshot_put *put, void *context, struct error *err)
{
    TRY(put_file_header(writer, put, context, err));
    writer->put = put;
    writer->put_context = context;
    return STATUS_OK;
}

enum status snapshot_finish(struct snapshot_writer *writer, snapshot_put *put, void *context, struct error *err)
{
    text_builder_clear(&writer->scratch);
    TRY(add_block(writer, BLOCK_END, 0, writer->put != NULL ? writer->put_count : writer->block_count, err));
    if (writer->put != NULL) {
        return STATUS_OK;
    }
    TRY(put_file_header(writer, put, context, err));
    for (uint32_t i = 0; i < writer->block_count; i++) {
        TRY(put_block(writer, &writer->blocks[i], put, context, err));
    }
    return STATUS_OK;
}
