/* Hints: which there are, and STATE_TTL, the one that acts: how long the state is kept of a join's inputs, or of an aggregate over one table.
 *
 * A key is a table's alias, or its name where it has none, in the FROM of the same SELECT. Within a hint the last value of a key counts, of
 * several hints the first, as in Flink. The left input of a join that is a join itself has no name.
 */
#include <string.h>
#include <strings.h>

#include "base/option.h"
#include "sql/binder_internal.h"

enum { NAMES_MAX = 64 };

struct ttl_entry {
    const struct ast_hint *hint;
    const char *name;
    int64_t us;
    bool used;
};
struct block_hints {
    struct ttl_entry *entries;
    uint32_t count;
    const char *names[NAMES_MAX]; /* of tables, for messages */
    uint32_t name_count;
};

static const char *const known_hints[] = {"STATE_TTL", "BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "MULTI_JOIN", "LOOKUP"};

static bool is_state_ttl(const struct ast_hint *hint)
{
    return strcasecmp(hint->name, "STATE_TTL") == 0;
}

enum status bind_check_hints(const struct ast_hint *hints, uint32_t count, bool of_select, struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t k = 0; k < ARRAY_LENGTH(known_hints); k++) {
            known = known || strcasecmp(known_hints[k], hints[i].name) == 0;
        }
        if (is_state_ttl(&hints[i]) && !of_select) {
            return bind_refuse(&hints[i].at, ERROR_INVALID_QUERY, err,
                               "the hint STATE_TTL stands behind SELECT and names tables of its FROM");
        }
        if (!known) {
            const char *nearest = text_nearest(hints[i].name, known_hints, ARRAY_LENGTH(known_hints));
            return bind_refuse(&hints[i].at, ERROR_INVALID_QUERY, err, "there is no hint '%s'%s%s%s", hints[i].name,
                               nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
        }
    }
    return STATUS_OK;
}

static struct ttl_entry *find_entry(const struct block_hints *hints, const char *name)
{
    for (uint32_t i = 0; i < hints->count; i++) {
        if (strcmp(hints->entries[i].name, name) == 0) {
            return &hints->entries[i];
        }
    }
    return NULL;
}

static enum status add_entries(const struct ast_hint *hint, struct block_hints *hints, struct error *err)
{
    for (uint32_t i = 0; i < hint->count; i++) {
        struct duration ttl;
        if (hint->keys[i] == NULL) {
            return bind_refuse(&hint->at, ERROR_INVALID_QUERY, err, "STATE_TTL takes 'table' = 'time', not '%s' alone", hint->values[i]);
        }
        err->line = 0;
        TRY(bind_place(duration_parse(hint->values[i], &ttl, err), &hint->at, err));
        struct ttl_entry *entry = find_entry(hints, hint->keys[i]);
        if (entry == NULL) {
            entry = &hints->entries[hints->count++];
            *entry = (struct ttl_entry){.hint = hint, .name = hint->keys[i]};
        }
        entry->us = entry->hint == hint ? ttl.us : entry->us;
    }
    return STATUS_OK;
}

enum status bind_block_hints(struct binder *binder, const struct ast_query *query, struct block_hints **hints, struct error *err)
{
    uint32_t count = 0;
    *hints = NULL;
    TRY(bind_check_hints(query->hints, query->hint_count, true, err));
    for (uint32_t i = 0; i < query->hint_count; i++) {
        count += is_state_ttl(&query->hints[i]) ? query->hints[i].count + 1 : 0;
    }
    if (count == 0) {
        return STATUS_OK;
    }
    TRY_ALLOC(*hints, arena_alloc(binder->arena, sizeof **hints), err);
    TRY_ALLOC((*hints)->entries, arena_alloc(binder->arena, count * sizeof *(*hints)->entries), err);
    for (uint32_t i = 0; i < query->hint_count; i++) {
        if (is_state_ttl(&query->hints[i])) {
            TRY(add_entries(&query->hints[i], *hints, err));
        }
    }
    return STATUS_OK;
}

/* NULL: it has none. */
static const char *table_name(const struct ast_table *table)
{
    if (table->kind == AST_TABLE_JOIN) {
        return NULL;
    }
    return table->alias != NULL || table->kind != AST_TABLE_NAME ? table->alias : table->name.parts[table->name.count - 1];
}

void bind_note_table(struct binder *binder, const struct ast_table *table)
{
    const char *name = table_name(table);
    if (binder->hints == NULL || name == NULL) {
        return;
    }
    struct ttl_entry *entry = find_entry(binder->hints, name);
    if (entry != NULL) {
        entry->used = true;
    }
    if (binder->hints->name_count < NAMES_MAX) {
        binder->hints->names[binder->hints->name_count++] = name;
    }
}

struct state_ttl bind_table_ttl(const struct binder *binder, const struct ast_table *table)
{
    const char *name = table_name(table);
    const struct ttl_entry *entry = binder->hints == NULL || name == NULL ? NULL : find_entry(binder->hints, name);
    return entry == NULL ? (struct state_ttl){0} : (struct state_ttl){.given = true, .us = entry->us};
}

enum status bind_check_hinted(const struct block_hints *hints, struct error *err)
{
    for (uint32_t i = 0; hints != NULL && i < hints->count; i++) {
        const struct ttl_entry *entry = &hints->entries[i];
        if (!entry->used) {
            const char *nearest = text_nearest(entry->name, hints->names, hints->name_count);
            return bind_refuse(&entry->hint->at, ERROR_INVALID_QUERY, err,
                               "STATE_TTL names '%s': the FROM of this SELECT has no table of this name or alias%s%s%s", entry->name,
                               nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
        }
    }
    return STATUS_OK;
}
