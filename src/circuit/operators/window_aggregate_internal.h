/* circuit/operators/window_aggregate_internal.h: how windows lie in memory, for the files of their implementation. */
#ifndef SPATE_CIRCUIT_OPERATORS_WINDOW_AGGREGATE_INTERNAL_H
#define SPATE_CIRCUIT_OPERATORS_WINDOW_AGGREGATE_INTERNAL_H

#include "circuit/operators/keyed_records.h"

struct pane {
    int64_t start, first_end, last_end; /* start: of the slice (of the window where a pane is a window) */
    int64_t window_start;               /* where a pane is a window */
    uint32_t place;                     /* in the index of panes */
    uint32_t batch_index;               /* among the panes of the batch at hand, when batch_stamp is current */
    uint64_t batch_stamp;
    struct keyed_records records;
};
struct pane_list {
    struct pane **items;
    uint32_t count, capacity;
};
/* What the last row found: other rows of the same slice need not look again. */
struct pane_cache {
    bool valid;
    int64_t low, high;                    /* local times */
    int64_t watermark_from, watermark_to; /* [from, to): same first_end */
    struct pane *pane;
};
struct
    restored_numbers { /* where the records of a pane's number are now: the pane's place, and the slot, by the lower half of their number */
    struct state_map places, slots;
};
struct window_restore {       /* while state is restored */
    struct state_map numbers; /* index into `panes`, by number of the pane then: the upper half of a record's number. Of DISTINCT */
    struct restored_numbers *panes;
    uint32_t count, capacity;
    int64_t fired, last_end;
    bool entered; /* there were entered panes, those that begin to count by last_end */
};
enum { WINDOW_TABLE_CLOCK, WINDOW_TABLE_GROUPS, WINDOW_TABLE_DISTINCT };
struct window_aggregate {
    struct node node;
    const struct window_aggregate_spec *spec;
    struct window_time time;
    struct keyed_layout layout;
    struct call_set *calls;
    bool panes_are_windows;
    int64_t step;            /* between the ends of windows */
    int64_t fired;           /* watermark of the last finish_tick */
    int64_t last_end;        /* of the last window that closed */
    int64_t next_close;      /* nothing closes below this watermark */
    struct key_table *index; /* (start, first_end) -> pane */
    struct pane_list waiting, entered;
    struct keyed_records running;    /* what the entered panes add up to (CUMULATE, HOP by subtraction) */
    bool spills;                     /* panes may be in the database */
    bool noted;                      /* it has a note of some */
    struct records_layouts sum_cold; /* of `running` */
    struct pane_cache cache;
    struct window_restore restored;
    /* the batch at hand: each assignment of a row to a pane, and the panes met */
    uint64_t stamp;
    uint32_t assigned, pane_count;
    uint16_t rows[CHUNK_ROWS];
    uint32_t panes_of_rows[CHUNK_ROWS];
    struct pane *panes[CHUNK_ROWS];
    uint32_t pane_rows[CHUNK_ROWS + 1];
    uint16_t sorted[CHUNK_ROWS];
    uint64_t hashes[CHUNK_ROWS];
};

/* The pane of a slice for the windows from `first` on. */
enum status window_pane_find(struct window_aggregate *self, int64_t start, const struct window_bounds *first, int64_t last_end,
                             struct pane **pane, struct error *err);
/* The watermark (or the clock's time) from which a window ending at `end` is closed. */
int64_t window_closes(const struct window_aggregate *self, int64_t end);
enum status window_pane_list_add(struct window_aggregate *self, struct pane_list *list, struct pane *pane, struct error *err);
/* Frees it; the index and the database may still have it. */
void window_pane_close(struct window_aggregate *self, struct pane *pane);

/* window_aggregate_close.c */
/* Emits and drops what the watermark has reached. */
enum status window_close_due(struct window_aggregate *self, int64_t watermark, struct error *err);
/* `waiting` in the order in which its panes begin to count. */
void window_sort_waiting(struct window_aggregate *self);
/* Takes in the panes that count from the window ending at `end` on; they are the first that wait. Then the first *next are to be dropped. */
enum status window_enter_panes(struct window_aggregate *self, int64_t end, uint32_t *next, struct error *err);
void window_drop_first(struct window_aggregate *self, uint32_t count);
void window_set_next_close(struct window_aggregate *self);

/* window_aggregate_state.c: the state tables "clock", "groups" and those of DISTINCT. */
enum status window_aggregate_declare(struct window_aggregate *self, struct error *err);
enum status window_aggregate_save(struct node *node, struct snapshot_writer *writer, struct error *err);
enum status window_aggregate_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err);
enum status window_aggregate_restored(struct node *node, struct error *err);
void window_forget_numbers(struct window_aggregate *self);

/* window_aggregate_cold.c */
enum status window_aggregate_open_cold(struct node *node, struct error *err);
/* Of an open pane: its records may be in the database, which has `units` of each table; NULL: none. */
enum status window_spill_pane(struct window_aggregate *self, struct pane *pane, const uint64_t *units, struct error *err);
/* The same for records that panes are added up in: one at a time. */
enum status window_spill_sum(struct window_aggregate *self, struct keyed_records *records, struct error *err);
/* All panes are written, and which there are. */
enum status window_save_cold(struct window_aggregate *self, struct snapshot_writer *writer, struct error *err);
/* They are all in memory, and are saved from there: the database has none. */
enum status window_forget_note(struct window_aggregate *self, struct error *err);

#endif
