#include <stdlib.h>
#include <string.h>

#include "state/column_codec.h"
#include "state/packed_integers.h"
#include "state/snapshot.h"
#include "state/snapshot_format.h"

/* Rows are encoded when the file is put: what is kept until then are the batch and the ids, in `payload`, or NULL: first_id and up. Behind the
 * ids are the raw bytes, if there are some. */
struct block {
    struct block_header header;
    char *payload;
    bool is_batch;
    struct batch batch;
    uint64_t first_id;
    struct snapshot_raw raw; /* fill NULL: none */
};
struct snapshot_writer {
    struct budget *budget;
    bool full;
    uint64_t checkpoint;
    struct snapshot_file_header file;
    struct block *blocks;
    uint32_t block_count, block_capacity;
    uint32_t table_count;                /* of all operators so far */
    uint32_t first_table;                /* of the operator at hand */
    const struct snapshot_table *tables; /* its tables */
    uint64_t rows, live;
    size_t bytes; /* charged */
    struct text_builder scratch;
    struct column_coder coder;
    snapshot_put *put; /* a writer that streams; else NULL */
    void *put_context;
    uint32_t put_count;
    bool defers;
    struct snapshot_deferred *deferred;
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
    created->file = (struct snapshot_file_header){.version = SNAPSHOT_VERSION, .full = full, .worker_count = 1, .max_parallelism = 1};
    memcpy(created->file.magic, SNAPSHOT_MAGIC, sizeof created->file.magic);
    *writer = created;
    return STATUS_OK;
}

void snapshot_set_worker(struct snapshot_writer *writer, uint32_t worker, uint32_t worker_count, uint32_t max_parallelism)
{
    writer->file.worker = worker;
    writer->file.worker_count = worker_count;
    writer->file.max_parallelism = max_parallelism;
}

static void block_release(struct block *block)
{
    free(block->payload);
    batch_release(&block->batch);
    *block = (struct block){0};
}

void snapshot_writer_destroy(struct snapshot_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    for (struct snapshot_deferred *next; writer->deferred != NULL; writer->deferred = next) {
        next = writer->deferred->next;
        writer->deferred->drop(writer->deferred);
    }
    for (uint32_t i = 0; i < writer->block_count; i++) {
        block_release(&writer->blocks[i]);
    }
    budget_release(writer->budget, writer->bytes);
    free(writer->blocks);
    text_builder_close(&writer->scratch);
    column_coder_close(&writer->coder);
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

void snapshot_note_live(struct snapshot_writer *writer, uint64_t rows)
{
    writer->live += rows;
}

uint64_t snapshot_live(const struct snapshot_writer *writer)
{
    return writer->live;
}

static enum status no_room(struct error *err)
{
    return error_set(err, ERROR_BUDGET_SPENT, "no room for the state of a checkpoint");
}

/* ---- blocks ---- */

static enum status put_block(const struct block_header *unsummed, const void *payload, snapshot_put *put, void *context, struct error *err)
{
    struct block_header header = *unsummed;
    header.checksum = block_checksum(&header, payload);
    TRY(put(context, &header, sizeof header, err));
    return header.bytes == 0 ? STATUS_OK : put(context, payload, header.bytes, err);
}

static enum status put_scratch(struct snapshot_writer *writer, struct block_header *header, snapshot_put *put, void *context,
                               struct error *err)
{
    if (writer->scratch.failed || writer->scratch.length > BLOCK_BYTES_MAX) {
        return no_room(err);
    }
    header->bytes = (uint32_t)writer->scratch.length;
    return put_block(header, writer->scratch.bytes, put, context, err);
}

static enum status new_block(struct snapshot_writer *writer, const struct block_header *header, size_t payload, struct block **block,
                             struct error *err)
{
    if (writer->block_count == writer->block_capacity) {
        uint32_t capacity = writer->block_capacity == 0 ? 64 : writer->block_capacity * 2;
        struct block *grown = realloc(writer->blocks, capacity * sizeof *grown);
        if (grown == NULL) {
            return no_room(err);
        }
        writer->blocks = grown;
        writer->block_capacity = capacity;
    }
    if (!budget_charge(writer->budget, payload)) {
        return no_room(err);
    }
    writer->bytes += payload;
    struct block made = {.header = *header};
    if (payload > 0 && (made.payload = malloc(payload)) == NULL) {
        return no_room(err);
    }
    *block = &writer->blocks[writer->block_count++];
    **block = made;
    return STATUS_OK;
}

/* A block with `scratch` as its payload: put, or kept as a copy. */
static enum status add_block(struct snapshot_writer *writer, enum block_kind kind, uint32_t table, uint32_t rows, struct error *err)
{
    struct block_header header = {.magic = BLOCK_MAGIC, .kind = (uint8_t)kind, .table = table, .rows = rows};
    struct block *block;
    if (writer->put != NULL) {
        writer->put_count++;
        return put_scratch(writer, &header, writer->put, writer->put_context, err);
    }
    if (writer->scratch.failed || writer->scratch.length > BLOCK_BYTES_MAX) {
        return no_room(err);
    }
    header.bytes = (uint32_t)writer->scratch.length;
    TRY(new_block(writer, &header, header.bytes, &block, err));
    if (header.bytes > 0) {
        memcpy(block->payload, writer->scratch.bytes, header.bytes);
    }
    return STATUS_OK;
}

void snapshot_place_print(const struct snapshot_table *table, struct text_builder *text)
{
    static const char *const names[] = {[SNAPSHOT_ONE] = "one", [SNAPSHOT_HASH] = "hash", [SNAPSHOT_EVERY] = "every"};
    text_append_text(text, names[table->place]);
    for (uint32_t i = 0; table->place == SNAPSHOT_HASH && i < table->place_count; i++) {
        text_append_format(text, " %u", table->place_columns[i]);
    }
}

static enum status declare_table(struct snapshot_writer *writer, const char *operator_id, const struct snapshot_table *table,
                                 struct error *err)
{
    struct text_builder *text = &writer->scratch;
    text_builder_clear(text);
    text_append(text, operator_id, strlen(operator_id) + 1);
    text_append(text, table->name, strlen(table->name) + 1);
    snapshot_place_print(table, text);
    text_append_char(text, '\0');
    for (uint32_t i = 0; i < table->schema->count; i++) {
        text_append_format(text, "%s\t", table->schema->columns[i].name);
        type_print(table->schema->columns[i].type, text);
        if (table->layouts != NULL && table->layouts[i] != NULL) {
            text_append_format(text, "\t%s", table->layouts[i]);
        }
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

/* ---- later ---- */

void snapshot_allow_deferred(struct snapshot_writer *writer)
{
    writer->defers = true;
}

bool snapshot_defers(const struct snapshot_writer *writer)
{
    return writer->defers;
}

void snapshot_defer(struct snapshot_writer *writer, struct snapshot_deferred *deferred, uint32_t *first_table)
{
    *first_table = writer->first_table;
    deferred->next = writer->deferred;
    writer->deferred = deferred;
}

enum status snapshot_take_deferred(struct snapshot_writer *writer, bool *more, struct error *err)
{
    struct snapshot_deferred *first = writer->deferred;
    *more = first != NULL;
    if (first == NULL) {
        return STATUS_OK;
    }
    struct snapshot_deferred *next = first->next;
    TRY(first->take(first, more, err));
    if (!*more) {
        writer->deferred = next;
        *more = next != NULL;
    }
    return STATUS_OK;
}

/* ---- rows ---- */

static void encode_ids(const uint64_t *ids, uint32_t count, struct text_builder *out)
{
    packed_integers_encode((const int64_t *)(const void *)ids, count, sizeof *ids, out);
}

/* ids NULL: first_id and up. */
static void encode_rows(struct snapshot_writer *writer, const uint64_t *ids, uint64_t first_id, const struct batch *batch)
{
    struct selection rows = batch_selection(batch);
    text_builder_clear(&writer->scratch);
    if (ids == NULL) {
        packed_integers_encode_run(first_id, &writer->scratch);
    } else {
        encode_ids(ids, rows.count, &writer->scratch);
    }
    for (uint32_t i = 0; i < batch->column_count; i++) {
        column_encode(&writer->coder, &batch->columns[i], rows, &writer->scratch);
    }
}

enum status snapshot_write(struct snapshot_writer *writer, uint32_t table, const uint64_t *ids, const struct batch *batch,
                           struct error *err)
{
    uint32_t count = batch_rows(batch);
    if (count == 0) {
        return STATUS_OK;
    }
    encode_rows(writer, ids, 0, batch);
    writer->rows += count;
    return add_block(writer, BLOCK_ROWS, writer->first_table + table, count, err);
}

enum status snapshot_keep(struct snapshot_writer *writer, uint32_t table, const uint64_t *ids, uint64_t first_id, struct batch *batch,
                          struct error *err)
{
    struct block *block;
    uint32_t count = batch_rows(batch);
    size_t bytes = ids == NULL ? 0 : count * sizeof *ids;
    const struct block_header header = {.magic = BLOCK_MAGIC, .kind = BLOCK_ROWS, .table = writer->first_table + table, .rows = count};
    enum status status = STATUS_OK;
    if (count > 0 && writer->put != NULL) {
        status = snapshot_write(writer, table, ids, batch, err);
    } else if (count > 0) {
        status = new_block(writer, &header, bytes, &block, err);
        if (status == STATUS_OK) {
            block->is_batch = true;
            block->batch = *batch;
            block->first_id = first_id;
            if (ids != NULL) {
                memcpy(block->payload, ids, bytes);
            }
            writer->rows += count;
            *batch = (struct batch){0};
        }
    }
    batch_release(batch);
    return status;
}

enum status snapshot_keep_raw(struct snapshot_writer *writer, uint32_t table, const uint64_t *ids, struct batch *batch,
                              const struct snapshot_raw *raw, void **to, struct error *err)
{
    struct block *block;
    uint32_t count = batch_rows(batch);
    const struct block_header header = {.magic = BLOCK_MAGIC, .kind = BLOCK_ROWS, .table = writer->first_table + table, .rows = count};
    enum status status = new_block(writer, &header, count * sizeof *ids + raw->bytes, &block, err);
    if (status == STATUS_OK) {
        block->is_batch = true;
        block->batch = *batch;
        block->raw = *raw;
        memcpy(block->payload, ids, count * sizeof *ids);
        *to = block->payload + count * sizeof *ids;
        writer->rows += count;
        *batch = (struct batch){0};
    }
    batch_release(batch);
    return status;
}

enum status snapshot_remove(struct snapshot_writer *writer, uint32_t table, const uint64_t *ids, uint32_t count, struct error *err)
{
    for (uint32_t done = 0; done < count; done += CHUNK_ROWS) {
        uint32_t part = count - done < CHUNK_ROWS ? count - done : CHUNK_ROWS;
        text_builder_clear(&writer->scratch);
        encode_ids(ids + done, part, &writer->scratch);
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

static enum status put_file_header(const struct snapshot_writer *writer, snapshot_put *put, void *context, struct error *err)
{
    struct snapshot_file_header header = writer->file;
    header.check = file_header_check(&header);
    return put(context, &header, sizeof header, err);
}

enum status snapshot_stream(struct snapshot_writer *writer, snapshot_put *put, void *context, struct error *err)
{
    TRY(put_file_header(writer, put, context, err));
    writer->put = put;
    writer->put_context = context;
    return STATUS_OK;
}

/* What was put is not needed any more. */
static enum status put_kept(struct snapshot_writer *writer, struct block *block, snapshot_put *put, void *context, struct error *err)
{
    enum status status = STATUS_OK;
    const uint64_t *ids = (const uint64_t *)(const void *)block->payload;
    if (block->raw.fill != NULL) {
        status = block->raw.fill(block->raw.owner, ids + block->header.rows, block->header.rows, &block->batch, err);
    }
    if (block->is_batch && status == STATUS_OK) {
        encode_rows(writer, ids, block->first_id, &block->batch);
        status = put_scratch(writer, &block->header, put, context, err);
    } else if (status == STATUS_OK) {
        status = put_block(&block->header, block->payload, put, context, err);
    }
    block_release(block);
    return status;
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
        TRY(put_kept(writer, &writer->blocks[i], put, context, err));
    }
    return STATUS_OK;
}
