/* state/saved_tables.h: the tables of a saved state, with the names and types of columns that its files give.
 *
 * For         `spate state` and the connector 'savepoint'. No SQL of the job is needed.
 * Shape       Columns are those that are stored, but bytes whose meaning the file says (state_layout.h) become typed ones; names that come
 *             twice get a number. One reading goes through all files and lists the tables that it meets (each worker's chain has the same ones). It gives the
 *             rows of one of them, or counts those of all.
 * Ownership   Tables live in the reading's arena. Batches are lent.
 * Threads     One at a time.
 * Errors      Those of saved_state.h; INVALID_OPTION names the operators or tables that there are.
 */
#ifndef SPATE_STATE_SAVED_TABLES_H
#define SPATE_STATE_SAVED_TABLES_H

#include "state/saved_state.h"
#include "state/state_layout.h"

struct saved_table {
    struct saved_table *next;
    const char *operator_id;
    struct snapshot_table declared; /* its name, and its columns as they are stored */
    struct schema stored, schema;   /* as they are in the files, and as they are read */
    struct state_layout **layouts;  /* by stored column; NULL: read as it is */
    const char *columns;            /* "k INT, n BIGINT NOT NULL" */
    uint64_t rows, bytes;           /* as far as they were read */
    bool wanted;
};
/* stored: the same rows as they are in the file, with their ids. */
typedef enum status saved_rows(void *context, const struct saved_table *table, const struct batch *batch,
                               const struct snapshot_rows *stored, struct error *err);
struct saved_reading {
    struct arena *arena;
    struct budget *budget;
    const char *operator_id,
        *table;       /* whose rows are given; operator NULL: those of all tables are counted; table NULL: any of its tables */
    saved_rows *take; /* NULL: the table is only looked for, and the reading ends when it is found */
    void *context;
    struct saved_table *tables; /* out, in the order of their appearance */
    /* inside */
    struct saved_table **last;
    bool found;
    enum status status;
    struct error error;
};
enum status saved_tables_read(const struct saved_state *state, struct saved_reading *reading, struct error *err);
/* The table that is meant: exactly one has to be. */
enum status saved_table_choose(const struct saved_reading *reading, const struct saved_table **table, struct error *err);

#endif
