#include "circuit/operators/history_node.h"

#include <stdlib.h>
#include <string.h>

#include "circuit/circuit.h"
#include "state/snapshot.h"

enum { PIECE_BYTES = 1 << 18 };

struct piece { /* that was restored */
    uint64_t number;
    char *bytes;
    size_t length;
};
struct history_node {
    struct node node;
    struct text_builder records;
    size_t saved;         /* bytes that are in checkpoints */
    uint64_t next_number; /* of a piece */
    struct piece *pieces;
    uint32_t piece_count, piece_capacity;
};

static const struct column history_columns[] = {{.name = "records", .type = &type_bytes}};
static const struct schema history_schema = {ARRAY_LENGTH(history_columns), history_columns};
static const struct snapshot_table history_table = {.name = "ticks", .schema = &history_schema, .place = SNAPSHOT_ONE, .expiry = -1};

static enum status history_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct history_node *self = (struct history_node *)node;
    if (snapshot_is_full(writer)) {
        self->saved = 0;
        self->next_number = 0;
    }
    while (self->saved < self->records.length) {
        size_t left = self->records.length - self->saved, length = left < PIECE_BYTES ? left : PIECE_BYTES;
        const struct snapshot_cell cell = {.bytes = {self->records.bytes + self->saved, length}};
        TRY(snapshot_write_cells(writer, 0, self->next_number++, &cell, err));
        self->saved += length;
    }
    return STATUS_OK;
}

static enum status history_take(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    (void)table;
    struct history_node *self = (struct history_node *)node;
    for (uint32_t row = 0; row < rows->batch->count; row++) {
        struct text bytes = snapshot_text(rows->batch, row, 0);
        struct piece *pieces;
        TRY_ALLOC(pieces, arena_grow(node_arena(node), self->pieces, &self->piece_capacity, self->piece_count + 1, sizeof *pieces), err);
        self->pieces = pieces;
        struct piece piece = {rows->ids[row], malloc(bytes.length + 1), bytes.length};
        TRY_ALLOC(piece.bytes, piece.bytes, err);
        memcpy(piece.bytes, bytes.bytes, bytes.length);
        self->pieces[self->piece_count++] = piece;
    }
    return STATUS_OK;
}

static int compare_pieces(const void *left, const void *right)
{
    uint64_t a = ((const struct piece *)left)->number, b = ((const struct piece *)right)->number;
    return (a > b) - (a < b);
}

static void release_pieces(struct history_node *self)
{
    for (uint32_t i = 0; i < self->piece_count; i++) {
        free(self->pieces[i].bytes);
    }
    self->piece_count = 0;
}

static enum status history_restored(struct node *node, struct error *err)
{
    struct history_node *self = (struct history_node *)node;
    qsort(self->pieces, self->piece_count, sizeof *self->pieces, compare_pieces);
    for (uint32_t i = 0; i < self->piece_count; i++) {
        text_append(&self->records, self->pieces[i].bytes, self->pieces[i].length);
    }
    release_pieces(self);
    return self->records.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for the record of a job's ticks") : STATUS_OK;
}

static enum status history_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    (void)node;
    (void)tick;
    (void)err;
    return STATUS_OK;
}

static void history_close(struct node *node)
{
    struct history_node *self = (struct history_node *)node;
    release_pieces(self);
    text_builder_close(&self->records);
}

static const struct node_type history_node_type = {
    .name = "History",
    .kept = NODE_KEPT_WITH_HISTORY,
    .finish_tick = history_finish_tick,
    .close = history_close,
    .save = history_save,
    .restore = history_take,
    .restored = history_restored,
};

enum status history_node_create(struct circuit *circuit, struct node **node, struct error *err)
{
    struct history_node *self;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    TRY(circuit_add(circuit, &self->node, &history_node_type, "History", NULL, 0, err));
    self->node.tables = &history_table;
    self->node.table_count = 1;
    *node = &self->node;
    return STATUS_OK;
}

enum status history_node_add(struct node *node, struct text record, struct error *err)
{
    struct history_node *self = (struct history_node *)node;
    text_append(&self->records, record.bytes, record.length);
    return self->records.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for the record of a job's ticks") : STATUS_OK;
}

struct text history_node_records(const struct node *node)
{
    const struct history_node *self = (const struct history_node *)node;
    return (struct text){self->records.bytes, self->records.length};
}
