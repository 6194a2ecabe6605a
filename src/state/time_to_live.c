#include "state/time_to_live.h"

#include <assert.h>

#include "state/slot_array.h"

enum { UNIT_US = 1000, UNITS_MAX = 1 << 30, FIRST_ENTRIES = 1024, LOOKED_AT = 16 };

void ttl_open(struct time_to_live *ttl, struct budget *budget, int64_t ttl_us, int64_t now_us)
{
    *ttl = (struct time_to_live){.budget = budget, .ttl_us = ttl_us};
    if (ttl_us <= 0) {
        return;
    }
    ttl->unit_us = UNIT_US;
    while (ttl_us / ttl->unit_us >= UNITS_MAX) {
        ttl->unit_us *= 2;
    }
    ttl->units = (uint32_t)((ttl_us + ttl->unit_us - 1) / ttl->unit_us);
    /* Whatever was written up to the base has expired: 1 is below `oldest`. */
    ttl->base_us = (now_us / ttl->unit_us - ttl->units - 2) * ttl->unit_us;
    ttl_move_to(ttl, now_us);
}

void ttl_close(struct time_to_live *ttl)
{
    slot_array_free(ttl->budget, ttl->written, (size_t)ttl->capacity * sizeof *ttl->written);
    ttl->written = NULL;
    ttl->capacity = 0;
}

size_t ttl_bytes(const struct time_to_live *ttl)
{
    return (size_t)ttl->capacity * sizeof *ttl->written;
}

/* The base moves on, before numbers get too large: once in weeks. */
static void move_base(struct time_to_live *ttl, int64_t now_us)
{
    int64_t shift = (now_us - ttl->base_us) / ttl->unit_us - ttl->units - 2;
    for (uint32_t i = 0; i < ttl->capacity; i++) {
        ttl->written[i] = ttl->written[i] > shift ? ttl->written[i] - (uint32_t)shift : ttl->written[i] > 0;
    }
    ttl->base_us += shift * ttl->unit_us;
}

void ttl_move_to(struct time_to_live *ttl, int64_t now_us)
{
    if ((now_us - ttl->base_us) / ttl->unit_us > UINT32_MAX) {
        move_base(ttl, now_us);
    }
    assert(now_us >= ttl->now_us);
    ttl->now_us = now_us;
    ttl->now = (uint32_t)((now_us - ttl->base_us) / ttl->unit_us);
    ttl->oldest = ttl->now - ttl->units + 1;
}

enum status ttl_grow(struct time_to_live *ttl, uint32_t entry, struct error *err)
{
    uint32_t capacity = ttl->capacity == 0 ? FIRST_ENTRIES : ttl->capacity;
    while (capacity <= entry) {
        capacity = capacity > UINT32_MAX / 2 ? UINT32_MAX : capacity * 2;
    }
    uint32_t *grown;
    TRY_ALLOC(grown, slot_array_grow(ttl->budget, ttl->written, (size_t)ttl->capacity * sizeof *grown, (size_t)capacity * sizeof *grown),
              err);
    ttl->written = grown;
    ttl->capacity = capacity;
    return STATUS_OK;
}

int64_t ttl_written_us(const struct time_to_live *ttl, uint32_t entry)
{
    uint32_t written = entry < ttl->capacity ? ttl->written[entry] : 0;
    return written == 0 ? TTL_NO_TIME : ttl->base_us + (int64_t)written * ttl->unit_us;
}

int64_t ttl_expires_us(const struct time_to_live *ttl, uint32_t entry)
{
    int64_t written = ttl_written_us(ttl, entry);
    return written == TTL_NO_TIME ? INT64_MAX : written + ((int64_t)ttl->units + 1) * ttl->unit_us;
}

enum status ttl_restore(struct time_to_live *ttl, uint32_t entry, int64_t written_us, struct error *err)
{
    if (entry >= ttl->capacity) {
        TRY(ttl_grow(ttl, entry, err));
    }
    uint32_t written = ttl->now; /* also for a clock that stood ahead of this one */
    if (written_us != TTL_NO_TIME && written_us < ttl->now_us) {
        written = written_us <= ttl->base_us + ttl->unit_us ? 1 : (uint32_t)((written_us - ttl->base_us) / ttl->unit_us);
    }
    if (written > ttl->written[entry]) {
        ttl->written[entry] = written;
    }
    return STATUS_OK;
}

uint32_t ttl_sweep(struct time_to_live *ttl, uint32_t count, uint32_t *expired, uint32_t room)
{
    uint32_t found = 0, all = count < ttl->capacity ? count : ttl->capacity;
    uint64_t most = (uint64_t)room * LOOKED_AT;
    ttl->cursor = ttl->cursor < all ? ttl->cursor : 0;
    for (uint64_t looked = 0; looked < all && looked < most && found < room; looked++) {
        uint32_t entry = ttl->cursor++;
        ttl->cursor = ttl->cursor < all ? ttl->cursor : 0;
        if (ttl->written[entry] != 0 && ttl->written[entry] < ttl->oldest) {
            expired[found++] = entry;
        }
    }
    return found;
}
