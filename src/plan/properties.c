/* What is known of rows, carried through changes of columns. */
#include "plan/properties.h"

enum status properties_create(struct arena *arena, uint32_t column_count, struct properties *properties, struct error *err)
{
    *properties = (struct properties){0};
    return column_set_create(arena, column_count, &properties->event_time, err);
}

/* false: a column of the list is gone. */
static enum status list_map(struct arena *arena, struct column_list from, const uint32_t *map, struct column_list *to, bool *whole,
                            struct error *err)
{
    uint32_t *columns;
    TRY_ALLOC(columns, arena_alloc(arena, (from.count + 1) * sizeof *columns), err);
    *whole = true;
    for (uint32_t i = 0; i < from.count; i++) {
        columns[i] = map[from.columns[i]];
        *whole = *whole && columns[i] != COLUMN_NONE;
    }
    *to = (struct column_list){columns, from.count};
    return STATUS_OK;
}

static uint32_t map_window_columns(const uint32_t *from, uint32_t count, const uint32_t *map, uint32_t *to)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (map[from[i]] != COLUMN_NONE) {
            to[kept++] = map[from[i]];
        }
    }
    return kept;
}

enum status properties_map(struct arena *arena, const struct properties *from, uint32_t old_count, const uint32_t *map, uint32_t new_count,
                           struct properties *to, struct error *err)
{
    TRY(properties_create(arena, new_count, to, err));
    to->changes = from->changes;
    to->ordered = from->ordered;
    to->bounded = from->bounded;
    for (uint32_t i = 0; i < old_count; i++) {
        if (map[i] != COLUMN_NONE && column_set_has(&from->event_time, i)) {
            column_set_add(&to->event_time, map[i]);
        }
    }
    bool whole;
    for (uint32_t i = 0; i < from->key_count; i++) {
        struct column_list key;
        TRY(list_map(arena, from->keys[i], map, &key, &whole, err));
        if (whole) {
            properties_add_key(to, key);
        }
    }
    to->window = from->window;
    to->window.start_count = map_window_columns(from->window.starts, from->window.start_count, map, to->window.starts);
    to->window.end_count = map_window_columns(from->window.ends, from->window.end_count, map, to->window.ends);
    to->window.time_count = map_window_columns(from->window.times, from->window.time_count, map, to->window.times);
    to->window.present = from->window.present && to->window.start_count > 0 && to->window.end_count > 0;
    to->distribution = from->distribution;
    TRY(list_map(arena, from->distribution_columns, map, &to->distribution_columns, &whole, err));
    if (!whole) {
        to->distribution = DISTRIBUTION_ANY;
        to->distribution_columns.count = 0;
    }
    return STATUS_OK;
}

enum status properties_end_times(struct arena *arena, uint32_t column_count, struct properties *properties, struct error *err)
{
    properties->window.present = false;
    return column_set_create(arena, column_count, &properties->event_time, err);
}

void properties_add_key(struct properties *properties, struct column_list key)
{
    if (properties->key_count < PROPERTIES_KEYS_MAX) {
        properties->keys[properties->key_count++] = key;
    }
}

bool window_property_has(const uint32_t *columns, uint32_t count, uint32_t column)
{
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i] == column) {
            return true;
        }
    }
    return false;
}

bool properties_has_key_within(const struct properties *properties, const uint32_t *columns, uint32_t count)
{
    for (uint32_t k = 0; k < properties->key_count; k++) {
        const struct column_list *key = &properties->keys[k];
        uint32_t found = 0;
        for (uint32_t i = 0; i < key->count; i++) {
            found += window_property_has(columns, count, key->columns[i]);
        }
        if (found == key->count) {
            return true;
        }
    }
    return false;
}
