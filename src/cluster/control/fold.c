#include "cluster/control/fold.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define X(name, text, next) text,
static const char *const state_texts[] = {CONTROL_STATE_LIST(X)};
#undef X
#define X(name, text, next) (next),
static const uint32_t state_next[] = {CONTROL_STATE_LIST(X)};
#undef X

const char *control_state_text(enum control_state state)
{
    return state_texts[state];
}

bool control_state_is_final(enum control_state state)
{
    return state_next[state] == 0;
}

static void set_state(struct control_entry *entry, enum control_state state)
{
    assert((state_next[entry->state] & 1u << state) != 0);
    entry->state = state;
}

struct control_fold *control_fold_create(struct budget *budget, struct error *err)
{
    struct control_fold *fold = calloc(1, sizeof *fold);
    struct arena *arena = fold == NULL ? NULL : arena_create(budget, "control log");
    if (arena == NULL) {
        (void)error_set(err, ERROR_BUDGET_SPENT, "no room for the control log");
        free(fold);
        return NULL;
    }
    fold->budget = budget;
    fold->arena = arena;
    return fold;
}

void control_fold_destroy(struct control_fold *fold)
{
    if (fold != NULL) {
        arena_destroy(fold->arena);
        free(fold);
    }
}

struct control_fold *control_fold_copy(const struct control_fold *fold, struct error *err)
{
    struct control_fold *copy = NULL;
    struct arena *arena = arena_create(fold->budget, "copy of the control log");
    struct text json;
    if (arena == NULL) {
        (void)error_set(err, ERROR_BUDGET_SPENT, "no room for a copy of the control log");
    } else if (control_fold_write(fold, arena, &json, err) == STATUS_OK &&
               control_fold_read("copy", json, fold->budget, &copy, err) != STATUS_OK) {
        copy = NULL;
    }
    arena_destroy(arena);
    return copy;
}

/* A copy in the fold's arena; NULL stays NULL. */
static enum status keep(struct control_fold *fold, const char *text, const char **kept, struct error *err)
{
    *kept = NULL;
    if (text != NULL) {
        TRY_ALLOC(*kept, arena_text(fold->arena, text, strlen(text)), err);
    }
    return STATUS_OK;
}

/* ---- finding ---- */

static struct control_entry *find_entry(const struct control_fold *fold, uint64_t index)
{
    uint32_t low = 0, high = fold->entry_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (fold->entries[middle].index < index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < fold->entry_count && fold->entries[low].index == index ? &fold->entries[low] : NULL;
}

const struct control_entry *control_fold_find(const struct control_fold *fold, uint64_t index)
{
    return find_entry(fold, index);
}

const struct control_entry *control_fold_after(const struct control_fold *fold, uint64_t rank)
{
    const struct control_entry *next = NULL;
    for (uint32_t i = fold->entry_count; i > 0; i--) { /* the highest ranks are last */
        const struct control_entry *entry = &fold->entries[i - 1];
        if (entry->rank != 0 && entry->rank <= rank) {
            break;
        }
        if (entry->rank != 0 && entry->state != CONTROL_STATE_SUPERSEDED) {
            next = entry;
        }
    }
    return next;
}

/* Where a task is or belongs. */
static uint32_t acked_place(const struct control_fold *fold, uint64_t task)
{
    uint32_t low = 0, high = fold->acked_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (fold->acked[middle].task < task) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint64_t control_fold_acked(const struct control_fold *fold, uint64_t task)
{
    uint32_t place = acked_place(fold, task);
    return place < fold->acked_count && fold->acked[place].task == task ? fold->acked[place].through : 0;
}

uint32_t control_fold_applied(const struct control_fold *fold, const struct control_entry *entry)
{
    uint32_t acknowledged = 0;
    if (entry->state != CONTROL_STATE_ACCEPTED) {
        return entry->applied;
    }
    for (uint32_t i = 0; i < fold->acked_count; i++) {
        acknowledged += fold->acked[i].through >= entry->rank;
    }
    acknowledged = acknowledged < entry->of ? acknowledged : entry->of;
    return acknowledged < entry->failure_count ? 0 : acknowledged - entry->failure_count;
}

static uint32_t standing_place(const struct control_fold *fold, const char *slot)
{
    uint32_t low = 0, high = fold->standing_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(fold->standing[middle].slot, slot) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct control_standing *control_fold_standing(const struct control_fold *fold, const char *slot)
{
    uint32_t place = standing_place(fold, slot);
    return place < fold->standing_count && strcmp(fold->standing[place].slot, slot) == 0 ? &fold->standing[place] : NULL;
}

/* ---- what stands ---- */

static enum status fill_slot(struct control_fold *fold, const char *slot, const struct control_entry *entry, struct error *err)
{
    uint32_t place = standing_place(fold, slot);
    if (place == fold->standing_count || strcmp(fold->standing[place].slot, slot) != 0) {
        const char *kept;
        TRY(keep(fold, slot, &kept, err));
        TRY_ALLOC(fold->standing,
                  arena_grow(fold->arena, fold->standing, &fold->standing_capacity, fold->standing_count + 1, sizeof *fold->standing), err);
        memmove(&fold->standing[place + 1], &fold->standing[place], (fold->standing_count - place) * sizeof *fold->standing);
        fold->standing_count++;
        fold->standing[place].slot = kept;
    }
    struct control_standing *standing = &fold->standing[place];
    standing->index = entry->index;
    standing->rank = entry->rank;
    standing->verb = entry->propose.verb;
    standing->args = entry->propose.args;
    return STATUS_OK;
}

static void empty_slot(struct control_fold *fold, const char *slot)
{
    uint32_t place = standing_place(fold, slot);
    if (place < fold->standing_count && strcmp(fold->standing[place].slot, slot) == 0) {
        fold->standing_count--;
        memmove(&fold->standing[place], &fold->standing[place + 1], (fold->standing_count - place) * sizeof *fold->standing);
    }
}

/* What the leader could not do does not stand. (Where a task did it, it stays.) */
static void empty_slots_of(struct control_fold *fold, const struct control_entry *entry)
{
    for (uint32_t i = 0; i < entry->set_count; i++) {
        const struct control_standing *standing = control_fold_standing(fold, entry->sets[i]);
        if (standing != NULL && standing->index == entry->index) {
            empty_slot(fold, entry->sets[i]);
        }
    }
}

static enum status change_slots(struct control_fold *fold, struct control_entry *entry, const struct control_decide *decide,
                                struct error *err)
{
    for (uint32_t i = 0; i < decide->clear_count; i++) {
        empty_slot(fold, decide->clears[i]);
    }
    if (decide->set_count > 0) {
        TRY_ALLOC(entry->sets, arena_alloc(fold->arena, decide->set_count * sizeof *entry->sets), err);
    }
    for (uint32_t i = 0; i < decide->set_count; i++) {
        TRY(fill_slot(fold, decide->sets[i], entry, err));
        TRY(keep(fold, decide->sets[i], &entry->sets[entry->set_count++], err));
    }
    return STATUS_OK;
}

/* ---- records ---- */

static enum status fold_propose(struct control_fold *fold, uint64_t index, const struct control_record *record, bool *counted,
                                struct error *err)
{
    TRY_ALLOC(fold->entries, arena_grow(fold->arena, fold->entries, &fold->entry_capacity, fold->entry_count + 1, sizeof *fold->entries),
              err);
    struct control_entry *entry = &fold->entries[fold->entry_count];
    *entry = (struct control_entry){.index = index, .at_ms = record->at_ms, .propose = record->propose};
    memcpy(entry->id, record->id, sizeof entry->id);
    TRY(keep(fold, record->propose.key, &entry->propose.key, err));
    TRY(keep(fold, record->propose.verb, &entry->propose.verb, err));
    TRY(keep(fold, record->propose.args, &entry->propose.args, err));
    TRY(keep(fold, record->propose.actor, &entry->propose.actor, err));
    fold->entry_count++;
    return STATUS_OK;
}

static enum status fold_term(struct control_fold *fold, uint64_t index, const struct control_record *record, bool *counted,
                             struct error *err)
{
    *counted = record->term > fold->term;
    if (*counted) {
        fold->term = record->term;
        TRY(keep(fold, record->term_of.leader, &fold->leader, err));
    }
    return STATUS_OK;
}

static enum status fold_decide(struct control_fold *fold, uint64_t index, const struct control_record *record, bool *counted,
                               struct error *err)
{
    static const enum control_state states[CONTROL_VERDICT_COUNT] = {
        [CONTROL_ACCEPT] = CONTROL_STATE_ACCEPTED,
        [CONTROL_REJECT] = CONTROL_STATE_REJECTED,
        [CONTROL_DUPLICATE] = CONTROL_STATE_DUPLICATE,
        [CONTROL_EXPIRE] = CONTROL_STATE_EXPIRED,
    };
    const struct control_decide *decide = &record->decide;
    struct control_entry *entry = find_entry(fold, decide->ref);
    bool is_accept = decide->verdict == CONTROL_ACCEPT;
    *counted = record->term == fold->term && entry != NULL && entry->state == CONTROL_STATE_PROPOSED &&
               (!is_accept || (decide->rank == fold->rank + 1 && decide->ref > fold->last_accepted));
    if (!*counted) {
        return STATUS_OK;
    }
    set_state(entry, states[decide->verdict]);
    entry->decided_ms = record->at_ms;
    entry->duplicate_of = decide->duplicate_of;
    TRY(keep(fold, decide->code, &entry->code, err));
    TRY(keep(fold, decide->reason, &entry->reason, err));
    TRY(keep(fold, decide->warning, &entry->warning, err));
    if (is_accept) {
        fold->rank = entry->rank = decide->rank;
        fold->last_accepted = entry->index;
        entry->how = decide->how;
        entry->of = decide->of;
        entry->version = decide->version;
        TRY(change_slots(fold, entry, decide, err));
    }
    return STATUS_OK;
}

static enum status acknowledge(struct control_fold *fold, uint64_t task, uint64_t through, struct error *err)
{
    uint32_t place = acked_place(fold, task);
    if (place < fold->acked_count && fold->acked[place].task == task) {
        fold->acked[place].through = through > fold->acked[place].through ? through : fold->acked[place].through;
        return STATUS_OK;
    }
    TRY_ALLOC(fold->acked, arena_grow(fold->arena, fold->acked, &fold->acked_capacity, fold->acked_count + 1, sizeof *fold->acked), err);
    memmove(&fold->acked[place + 1], &fold->acked[place], (fold->acked_count - place) * sizeof *fold->acked);
    fold->acked[place] = (struct control_acked){task, through};
    fold->acked_count++;
    return STATUS_OK;
}

static struct control_entry *find_open_rank(struct control_fold *fold, uint64_t rank)
{
    for (uint32_t i = fold->entry_count; i > 0; i--) {
        if (fold->entries[i - 1].rank == rank) {
            return fold->entries[i - 1].state == CONTROL_STATE_ACCEPTED ? &fold->entries[i - 1] : NULL;
        }
    }
    return NULL;
}

static enum status note_failure(struct control_fold *fold, const struct control_failure *failure, struct error *err)
{
    struct control_entry *entry = failure->rank == 0 ? NULL : find_open_rank(fold, failure->rank);
    if (entry == NULL) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < entry->failure_count; i++) {
        if (entry->failures[i].task == failure->task) {
            return STATUS_OK;
        }
    }
    TRY_ALLOC(entry->failures,
              arena_grow(fold->arena, entry->failures, &entry->failure_capacity, entry->failure_count + 1, sizeof *entry->failures), err);
    struct control_failure *kept = &entry->failures[entry->failure_count];
    *kept = *failure;
    TRY(keep(fold, failure->code, &kept->code, err));
    TRY(keep(fold, failure->reason, &kept->reason, err));
    entry->failure_count++;
    return STATUS_OK;
}

/* What is true of a commit stays true, whoever says so: acknowledgements have no term. */
static enum status fold_ack(struct control_fold *fold, uint64_t index, const struct control_record *record, bool *counted,
                            struct error *err)
{
    const struct control_ack *ack = &record->ack;
    *counted = ack->through <= fold->rank;
    for (uint32_t i = 0; *counted && i < ack->task_count; i++) {
        TRY(acknowledge(fold, ack->tasks[i], ack->through, err));
    }
    for (uint32_t i = 0; *counted && i < ack->failed_count; i++) {
        TRY(note_failure(fold, &ack->failed[i], err));
    }
    return STATUS_OK;
}

static enum status fold_close(struct control_fold *fold, uint64_t index, const struct control_record *record, bool *counted,
                              struct error *err)
{
    static const enum control_state states[CONTROL_OUTCOME_COUNT] = {
        [CONTROL_OUTCOME_DONE] = CONTROL_STATE_DONE,
        [CONTROL_OUTCOME_FAILED] = CONTROL_STATE_FAILED,
        [CONTROL_OUTCOME_SUPERSEDED] = CONTROL_STATE_SUPERSEDED,
    };
    const struct control_close *close = &record->close;
    struct control_entry *entry = find_entry(fold, close->ref);
    *counted = record->term == fold->term && entry != NULL && entry->state == CONTROL_STATE_ACCEPTED;
    if (*counted) {
        set_state(entry, states[close->outcome]);
        entry->applied = close->applied;
        entry->superseded_by = close->by;
        TRY(keep(fold, close->result, &entry->result, err));
        TRY(keep(fold, close->reason, &entry->reason, err));
    }
    if (*counted && close->outcome == CONTROL_OUTCOME_FAILED && entry->how == CONTROL_HOW_LEADER) {
        empty_slots_of(fold, entry);
    }
    return STATUS_OK;
}

static enum status fold_snapshot(struct control_fold *fold, uint64_t index, const struct control_record *record, bool *counted,
                                 struct error *err)
{
    const struct control_snapshot *snapshot = &record->snapshot;
    uint32_t kept = 0;
    *counted = record->term == fold->term && snapshot->through < index && snapshot->through > fold->snapshot_through &&
               snapshot->forget <= snapshot->through && snapshot->forget >= fold->forgotten && snapshot->settled >= fold->settled &&
               snapshot->settled <= fold->rank;
    if (!*counted) {
        return STATUS_OK;
    }
    fold->snapshot_through = snapshot->through;
    fold->forgotten = snapshot->forget;
    fold->settled = snapshot->settled;
    for (uint32_t i = 0; i < fold->entry_count; i++) {
        struct control_entry *entry = &fold->entries[i];
        if (control_state_is_final(entry->state) && entry->index <= fold->forgotten) {
            continue;
        }
        if (control_state_is_final(entry->state) && entry->rank <= fold->settled) {
            entry->propose.args = NULL;
            entry->set_count = 0;
        }
        fold->entries[kept++] = *entry;
    }
    fold->entry_count = kept;
    fold->open_from = 0;
    return STATUS_OK;
}

/* ORDER CONTROL_KIND_LIST */
static enum status (*const folds[CONTROL_KIND_COUNT])(struct control_fold *fold, uint64_t index, const struct control_record *record,
                                                      bool *counted, struct error *err) = {
    [CONTROL_PROPOSE] = fold_propose, [CONTROL_TERM] = fold_term,   [CONTROL_DECIDE] = fold_decide,
    [CONTROL_ACK] = fold_ack,         [CONTROL_CLOSE] = fold_close, [CONTROL_SNAPSHOT] = fold_snapshot,
};

enum status control_fold_record(struct control_fold *fold, uint64_t index, const struct control_record *record, bool *counted,
                                struct error *err)
{
    assert(index == fold->through + 1);
    fold->through = index;
    *counted = true;
    TRY(folds[record->kind](fold, index, record, counted, err));
    while (fold->open_from < fold->entry_count && control_state_is_final(fold->entries[fold->open_from].state)) {
        fold->open_from++;
    }
    return STATUS_OK;
}
