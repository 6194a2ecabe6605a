/* state/row_log_probe.c: finding partners by a scan: a filter over the tags of the few, then a small hash table of them. */
#include <string.h>

#include "state/row_log.h"

enum { NO_ROW = 0 };

void row_probe_set(struct row_probe *probe, const struct batch *batch, const uint32_t *keys, uint32_t key_count, const uint64_t *hashes)
{
    struct selection rows = batch_selection(batch);
    probe->batch = batch;
    probe->keys = keys;
    probe->key_count = key_count;
    memset(probe->filter, 0, sizeof probe->filter);
    memset(probe->heads, 0, sizeof probe->heads);
    for (uint32_t k = rows.count; k > 0; k--) { /* so that chains are in the order of the rows */
        uint32_t tag = (uint32_t)(hashes[selection_row(&rows, k - 1)] >> 32);
        uint16_t *head = &probe->heads[tag % PROBE_HEADS];
        probe->filter[(tag >> 16) / 64] |= (uint64_t)1 << ((tag >> 16) % 64);
        probe->tags[k - 1] = tag;
        probe->next[k - 1] = *head;
        *head = (uint16_t)k;
    }
}

uint32_t row_log_candidates(const struct row_log *log, uint32_t chunk, const struct row_probe *probe, uint16_t *rows)
{
    const struct log_chunk *from = &log->chunks[chunk];
    const uint32_t *tags = from->tags;
    uint32_t kept = 0;
    for (uint32_t row = from->linked; row < from->count; row++) {
        uint32_t bit = tags[row] >> 16;
        rows[kept] = (uint16_t)row;
        kept += (uint32_t)(probe->filter[bit / 64] >> (bit % 64)) & 1;
    }
    return kept;
}

static bool keys_equal(const struct row_probe *probe, const struct row_log *log, uint32_t chunk, uint32_t row, uint32_t k)
{
    struct selection rows = batch_selection(probe->batch);
    uint32_t other = selection_row(&rows, k);
    for (uint32_t i = 0; i < log->key_count; i++) {
        const struct log_column *column = &log->columns[log->keys[i]];
        struct vector key = {.type = column->type,
                             .physical = column->physical,
                             .count = log->chunks[chunk].count,
                             .values = column->values[chunk],
                             .validity = column->validity[chunk]};
        if (!vector_rows_equal(&key, row, &probe->batch->columns[probe->keys[i]], other)) {
            return false;
        }
    }
    return true;
}

uint32_t row_probe_match(const struct row_probe *probe, const struct row_log *log, uint32_t chunk, uint32_t row, uint32_t after)
{
    uint32_t tag = log->chunks[chunk].tags[row];
    uint32_t at = after == ROW_PROBE_END ? probe->heads[tag % PROBE_HEADS] : probe->next[after];
    for (; at != NO_ROW; at = probe->next[at - 1]) {
        if (probe->tags[at - 1] == tag && keys_equal(probe, log, chunk, row, at - 1)) {
            return at - 1;
        }
    }
    return ROW_PROBE_END;
}
