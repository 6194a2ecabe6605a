/* state/cold_table_internal.h: what the files of cold_table share: cold_table.c (open, marks), cold_table_write.c (out of memory, and removed),
 * cold_table_fetch.c (back, the filter, scans).
 */
#ifndef SPATE_STATE_COLD_TABLE_INTERNAL_H
#define SPATE_STATE_COLD_TABLE_INTERNAL_H

#include "state/cold_table.h"

enum { COLD_PLACES = 2 * CHUNK_ROWS };

/* A write or a lookup of up to a chunk of units at a time. */
struct cold_scratch {
    struct text_builder bytes;
    size_t key_at[CHUNK_ROWS], key_end[CHUNK_ROWS], value_end[CHUNK_ROWS]; /* in `bytes`; a value follows its key */
    uint32_t count;
    uint32_t unit;        /* at hand: place of its slot; UINT32_MAX: none */
    bool put[CHUNK_ROWS]; /* of the slots that are written: it has a unit */
    uint32_t slots[CHUNK_ROWS];
    uint16_t places[COLD_PLACES]; /* 1 + index, by hash of the key: keys of a lookup, each once */
    struct cold_write writes[CHUNK_ROWS];
    struct text keys[CHUNK_ROWS];
    struct cold_values values;
    struct cold_rows rows;
};

enum status cold_no_memory(struct error *err);
/* Made, and emptied. */
enum status cold_need_scratch(struct cold_table *cold, struct error *err);
/* What all keys of the table's units begin with. */
enum status cold_append_scope(const struct cold_table *cold, struct text_builder *out, struct error *err);

static inline uint8_t cold_stored_mark(uint32_t part)
{
    return (uint8_t)(COLD_STORED << COLD_PART_BITS * part);
}

static inline uint8_t cold_dirty_mark(uint32_t part)
{
    return (uint8_t)(COLD_DIRTY << COLD_PART_BITS * part);
}

#endif
