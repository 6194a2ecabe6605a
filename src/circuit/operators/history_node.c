#include "circuit/operators/history_node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/byte_reader.h"
#include "circuit/circuit.h"
#include "state/cold_folder.h"
#include "state/snapshot.h"

enum { PIECE_BYTES = 1 << 18, NUMBER_BYTES_MAX = 10 };

/* Bytes of the file that follow each other in the history as well. */
struct extent {
    uint64_t number; /* restored: of the piece */
    uint64_t start;  /* in the history */
    uint64_t offset; /* in the file */
    uint64_t length;
};
struct history_node {
    struct node node;
    FILE *file; /* NULL: all is in the tail */
    uint64_t file_bytes;
    struct extent *extents; /* in the order of the history, once all is restored */
    uint32_t extent_count, extent_capacity;
    struct text_builder tail; /* what comes after the extents */
    uint64_t tail_start;
    uint64_t saved;       /* bytes that are in checkpoints */
    uint64_t next_number; /* of a piece */
    uint64_t read;        /* bytes of the history that were taken into the window */
    struct text_builder window;
    size_t given; /* bytes of the window */
};

static const struct column history_columns[] = {{.name = "records", .type = &type_bytes}};
static const struct schema history_schema = {ARRAY_LENGTH(history_columns), history_columns};
static const struct snapshot_table history_table = {.name = "ticks", .schema = &history_schema, .place = SNAPSHOT_ONE, .expiry = -1};

static enum status no_room(struct error *err)
{
    return error_set(err, ERROR_BUDGET_SPENT, "no room for the record of a job's ticks");
}

static enum status disk_failed(const char *what, struct error *err)
{
    return error_set(err, ERROR_STATE_DISK, "cannot %s the file for the record of a job's ticks: %s", what, strerror(errno));
}

static uint64_t length_of(const struct history_node *self)
{
    return self->tail_start + self->tail.length;
}

/* ---- the file ---- */

static enum status write_extent(struct history_node *self, uint64_t number, struct text bytes, struct error *err)
{
    struct extent *extents;
    if (self->file == NULL) {
        TRY(cold_temporary(&self->file, err));
    }
    TRY_ALLOC(extents, arena_grow(node_arena(&self->node), self->extents, &self->extent_capacity, self->extent_count + 1, sizeof *extents),
              err);
    self->extents = extents;
    if (fwrite(bytes.bytes, 1, bytes.length, self->file) != bytes.length || fflush(self->file) != 0) {
        return disk_failed("write to", err);
    }
    extents[self->extent_count++] = (struct extent){number, self->tail_start, self->file_bytes, bytes.length};
    self->file_bytes += bytes.length;
    self->tail_start += bytes.length;
    return STATUS_OK;
}

static enum status spill(struct history_node *self, struct error *err)
{
    TRY(write_extent(self, 0, (struct text){self->tail.bytes, self->tail.length}, err));
    text_builder_clear(&self->tail);
    if (self->extent_count > 1) { /* those that follow each other in the file, too, are one */
        struct extent *before = &self->extents[self->extent_count - 2], *added = &self->extents[self->extent_count - 1];
        if (before->offset + before->length == added->offset) {
            before->length += added->length;
            self->extent_count--;
        }
    }
    return STATUS_OK;
}

/* The one that the place is in; there is one. */
static const struct extent *find_extent(const struct history_node *self, uint64_t at)
{
    uint32_t low = 0, high = self->extent_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        low = self->extents[middle].start <= at ? middle : low;
        high = self->extents[middle].start <= at ? high : middle;
    }
    return &self->extents[low];
}

/* Appends at most `most` bytes from `at` on, and at least one. */
static enum status read_some(const struct history_node *self, uint64_t at, size_t most, struct text_builder *out, struct error *err)
{
    char buffer[8192];
    if (at >= self->tail_start) {
        size_t skip = (size_t)(at - self->tail_start), left = self->tail.length - skip;
        text_append(out, self->tail.bytes + skip, left < most ? left : most);
        return out->failed ? no_room(err) : STATUS_OK;
    }
    const struct extent *extent = find_extent(self, at);
    uint64_t left = extent->start + extent->length - at;
    most = most < sizeof buffer ? most : sizeof buffer;
    ssize_t got = pread(fileno(self->file), buffer, left < most ? (size_t)left : most, (off_t)(extent->offset + (at - extent->start)));
    if (got <= 0) {
        return disk_failed("read", err);
    }
    text_append(out, buffer, (size_t)got);
    return out->failed ? no_room(err) : STATUS_OK;
}

/* ---- records ---- */

enum status history_node_add(struct node *node, struct text record, struct error *err)
{
    struct history_node *self = (struct history_node *)node;
    byte_append_number(&self->tail, record.length);
    text_append(&self->tail, record.bytes, record.length);
    if (self->tail.failed) {
        return no_room(err);
    }
    return self->tail.length >= PIECE_BYTES ? spill(self, err) : STATUS_OK;
}

bool history_node_is_empty(const struct node *node)
{
    return length_of((const struct history_node *)node) == 0;
}

/* The window has so many bytes that are not given yet, or all there are. */
static enum status fill(struct history_node *self, size_t wanted, struct error *err)
{
    if (self->window.length - self->given >= wanted || self->read == length_of(self)) {
        return STATUS_OK;
    }
    memmove(self->window.bytes, self->window.bytes + self->given, self->window.length - self->given);
    self->window.length -= self->given;
    self->given = 0;
    while (self->window.length < wanted && self->read < length_of(self)) {
        size_t before = self->window.length;
        TRY(read_some(self, self->read, PIECE_BYTES, &self->window, err));
        self->read += self->window.length - before;
    }
    return STATUS_OK;
}

static struct byte_reader window_of(const struct history_node *self)
{
    return byte_reader_open((const uint8_t *)self->window.bytes + self->given, self->window.length - self->given);
}

enum status history_node_next(struct node *node, struct text *record, bool *found, struct error *err)
{
    struct history_node *self = (struct history_node *)node;
    text_append(&self->window, "", 0);
    TRY(fill(self, NUMBER_BYTES_MAX, err));
    *found = self->window.length > self->given;
    if (!*found) {
        text_builder_close(&self->window);
        self->given = 0;
        return STATUS_OK;
    }
    struct byte_reader reader = window_of(self);
    size_t length = (size_t)byte_reader_number(&reader), prefix = self->window.length - self->given - byte_reader_left(&reader);
    if (reader.failed || length > length_of(self)) {
        return error_set(err, ERROR_STATE_CORRUPT, "the record of a job's ticks is broken");
    }
    TRY(fill(self, prefix + length, err));
    reader = window_of(self);
    (void)byte_reader_take(&reader, prefix);
    const uint8_t *bytes = byte_reader_take(&reader, length);
    if (bytes == NULL) {
        return error_set(err, ERROR_STATE_CORRUPT, "the record of a job's ticks is broken");
    }
    self->given += prefix + length;
    *record = (struct text){(const char *)bytes, length};
    return STATUS_OK;
}

/* ---- checkpoints ---- */

static enum status save_piece(struct history_node *self, struct snapshot_writer *writer, struct text_builder *piece, struct error *err)
{
    text_builder_clear(piece);
    while (piece->length < PIECE_BYTES && self->saved + piece->length < length_of(self)) {
        TRY(read_some(self, self->saved + piece->length, PIECE_BYTES - piece->length, piece, err));
    }
    const struct snapshot_cell cell = {.bytes = {piece->bytes, piece->length}};
    TRY(snapshot_write_cells(writer, 0, self->next_number++, &cell, err));
    self->saved += piece->length;
    return STATUS_OK;
}

static enum status history_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct history_node *self = (struct history_node *)node;
    struct text_builder piece = {0};
    enum status status = STATUS_OK;
    if (snapshot_is_full(writer)) {
        self->saved = 0;
        self->next_number = 0;
    }
    while (self->saved < length_of(self) && status == STATUS_OK) {
        status = save_piece(self, writer, &piece, err);
    }
    text_builder_close(&piece);
    return status;
}

static enum status history_take(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    (void)table;
    struct history_node *self = (struct history_node *)node;
    for (uint32_t row = 0; row < rows->batch->count; row++) {
        TRY(write_extent(self, rows->ids[row], snapshot_text(rows->batch, row, 0), err));
    }
    return STATUS_OK;
}

static int compare_extents(const void *left, const void *right)
{
    uint64_t a = ((const struct extent *)left)->number, b = ((const struct extent *)right)->number;
    return (a > b) - (a < b);
}

/* Pieces came in any order. */
static enum status history_restored(struct node *node, struct error *err)
{
    (void)err;
    struct history_node *self = (struct history_node *)node;
    if (self->extent_count > 1) {
        qsort(self->extents, self->extent_count, sizeof *self->extents, compare_extents);
    }
    uint64_t start = 0;
    for (uint32_t i = 0; i < self->extent_count; i++) {
        self->extents[i].start = start;
        start += self->extents[i].length;
    }
    return STATUS_OK;
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
    if (self->file != NULL) {
        fclose(self->file);
    }
    text_builder_close(&self->tail);
    text_builder_close(&self->window);
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
