/* circuit/operators/session_window_internal.h: how sessions lie in memory, for the files of their implementation. */
#ifndef SPATE_CIRCUIT_OPERATORS_SESSION_WINDOW_INTERNAL_H
#define SPATE_CIRCUIT_OPERATORS_SESSION_WINDOW_INTERNAL_H

#include "circuit/circuit_cold.h"
#include "circuit/operators/keyed_records.h"
#include "circuit/operators/row_state.h"
#include "circuit/operators/session_list.h"

struct kept_row {
    row_handle row;
    int64_t weight, ordinal;
};
struct kept_rows { /* what a session keeps in rows mode */
    struct kept_row *items;
    uint32_t count, capacity;
    uint32_t owed, unused; /* items with a negative weight: withdrawn before they came */
};
struct session_window {
    struct node node;
    const struct session_window_spec *spec;
    struct window_time time;
    struct session_list sessions;
    struct call_set *calls;          /* NULL: table function */
    struct call_states states;       /* of the sessions; its slab holds the lists of kept rows */
    struct keyed_layout layout;      /* rows mode with calls: all keys of one session */
    struct row_store *rows;          /* rows mode; else NULL */
    const struct type *const *types; /* of the input */
    bool ordered;                    /* kept rows have ordinals */
    int64_t fired;
    struct cold_table *cold;     /* NULL: no database */
    struct touched_rows changed; /* checkpoints */
    struct state_map restored;   /* while state is restored: sessions by the numbers that they had */
    int64_t restored_fired;
    uint64_t hashes[CHUNK_ROWS];
    uint32_t slots[CHUNK_ROWS], numbers[CHUNK_ROWS];
    uint16_t placed[CHUNK_ROWS];
    /* output of the table function */
    uint32_t out_count;
    row_handle out_rows[CHUNK_ROWS];
    int64_t out_weights[CHUNK_ROWS], out_ordinals[CHUNK_ROWS];
    struct window_bounds out_bounds[CHUNK_ROWS];
};

static inline uint8_t *session_extra(const struct session_window *self, uint32_t number)
{
    return (uint8_t *)(session_at(&self->sessions, number) + 1);
}

static inline struct kept_rows *session_kept(const struct session_window *self, uint32_t number)
{
    return (struct kept_rows *)(void *)session_extra(self, number);
}
/* Appends a row to those of its session. */
enum status session_append_row(struct session_window *self, uint32_t number, const struct kept_row *row, struct error *err);

/* session_window_state.c: the state tables "clock", "sessions" and, where rows are kept, "rows". */
enum status session_window_declare(struct session_window *self, struct error *err);
enum status session_window_save(struct node *node, struct snapshot_writer *writer, struct error *err);
enum status session_window_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err);
enum status session_window_restored(struct node *node, struct error *err);
/* Rows of "sessions" back into memory; slots: of their keys, by row. numbers: of the sessions, NULL: nobody asks. */
enum status session_window_add(struct session_window *self, const struct batch *batch, uint32_t *slots, uint32_t *numbers,
                               struct error *err);
/* The columns of "sessions" for some of them. */
enum status session_window_columns(struct session_window *self, const uint32_t *numbers, uint32_t count, struct batch *batch,
                                   struct error *err);
enum { SESSION_TABLE_CLOCK, SESSION_TABLE_SESSIONS, SESSION_TABLE_ROWS };

/* session_window_cold.c */
enum status session_window_open_cold(struct node *node, struct error *err);

#endif
