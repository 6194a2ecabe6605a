/* What the control log must be: the checks fold it themselves, as it is written. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cluster/value.h"
#include "control_internal.h"

#define LOG_PREFIX "jobs/j/ctl/"

static uint64_t fold_hash(struct world *world, const struct control_fold *fold)
{
    struct text json;
    struct error err;
    struct arena *arena = arena_create(&world->budget, "fold");
    uint64_t hash = control_fold_write(fold, arena, &json, &err) == STATUS_OK ? hash_bytes(json.bytes, json.length) : 0;
    arena_destroy(arena);
    return hash;
}

/* I12: who has read as far has the same. */
void control_check_reader(struct world *world, const struct control_fold *fold)
{
    if (fold->through == 0 || fold->through >= LOG_MAX) {
        return;
    }
    if (fold->through > world->log_through) {
        world_fail(world, "I12: a reader is at record %" PRIu64 ", %" PRIu64 " are there", fold->through, world->log_through);
    } else if (fold_hash(world, fold) != world->log_hashes[fold->through]) {
        world_fail(world, "I12: a reader at record %" PRIu64 " has another state", fold->through);
    }
}

/* The void rule, told without the fold: a leader's record counts only under the highest term that was announced. */
static void check_term(struct world *world, const struct control_record *record, uint64_t index, bool counted)
{
    bool decides = record->kind == CONTROL_DECIDE || record->kind == CONTROL_CLOSE || record->kind == CONTROL_SNAPSHOT;
    if (decides && counted && record->term != world->log_term) {
        world_fail(world, "I14: record %" PRIu64 " of term %" PRIu64 " counts, behind term %" PRIu64, index, record->term, world->log_term);
    }
    sometimes_hits[SOMETIMES_VOID_RECORD] += decides && !counted;
    if (record->kind == CONTROL_TERM && record->term > world->log_term) {
        world->log_term = record->term;
    }
}

/* I15: what a key has done stays, and is not done again. */
static void check_key(struct world *world, const struct control_entry *accepted)
{
    const struct control_fold *fold = world->log_fold;
    for (uint32_t i = 0; i < fold->entry_count && accepted->propose.key != NULL; i++) {
        const struct control_entry *other = &fold->entries[i];
        if (other != accepted && other->rank != 0 && other->propose.key != NULL && strcmp(other->propose.key, accepted->propose.key) == 0) {
            world_fail(world, "I15: key '%s' is accepted as #%" PRIu64 " and as #%" PRIu64, accepted->propose.key, other->index,
                       accepted->index);
        }
    }
}

static void note_decision(struct world *world, const struct control_decide *decide)
{
    const struct control_entry *entry = control_fold_find(world->log_fold, decide->ref);
    sometimes_hits[SOMETIMES_DUPLICATE_KEY] += decide->verdict == CONTROL_DUPLICATE;
    sometimes_hits[SOMETIMES_EDIT_EXPIRED] += decide->verdict == CONTROL_EXPIRE;
    sometimes_hits[SOMETIMES_KEY_REUSED] += decide->verdict == CONTROL_REJECT && strcmp(decide->code, "CTL-KEY-REUSED") == 0;
    if (decide->verdict != CONTROL_ACCEPT || entry == NULL) {
        return;
    }
    if (decide->rank != world->edit_count + 1) {
        world_fail(world, "I12: rank %" PRIu64 " comes behind %u", decide->rank, world->edit_count);
        return;
    }
    check_key(world, entry);
    if (world->edit_count < LOG_MAX) {
        world->edits[world->edit_count++] = (struct accepted_edit){entry->index, decide->how != CONTROL_HOW_LEADER};
    }
}

/* I13: only what is committed is acknowledged. */
static void check_ack(struct world *world, const struct control_ack *ack)
{
    char text[TASK_TEXT_BYTES];
    for (uint32_t i = 0; i < ack->task_count; i++) {
        struct record *record = services_record(world, ack->tasks[i]);
        if (record->ctl_rank < ack->through) {
            world_fail(world, "I13: edits through %" PRIu64 " are acknowledged for %s, its commit has them through %" PRIu64, ack->through,
                       task_text(ack->tasks[i], text), record->ctl_rank);
        }
        record->ctl_acked = ack->through > record->ctl_acked ? ack->through : record->ctl_acked;
    }
}

/* I14: what is done, every task has in a commit. */
static void check_close(struct world *world, const struct control_close *close)
{
    const struct control_entry *entry = control_fold_find(world->log_fold, close->ref);
    char text[TASK_TEXT_BYTES];
    if (entry == NULL || close->outcome != CONTROL_OUTCOME_DONE || entry->how == CONTROL_HOW_LEADER) {
        return;
    }
    for (uint32_t i = 0; i < world->model->task_count; i++) {
        const struct model_task *task = &world->model->tasks[i];
        bool was_there = world->old_model != NULL && model_find_task(world->old_model, task->task) != NULL;
        if (was_there && !task->retired && services_record(world, task->task)->ctl_rank < entry->rank) {
            world_fail(world, "I14: edit %" PRIu64 " is done; %s has not committed it", entry->rank, task_text(task->task, text));
        }
    }
}

static void fold_record(struct world *world, uint64_t index, const struct control_record *record)
{
    struct error err;
    bool counted = false;
    if (control_fold_record(world->log_fold, index, record, &counted, &err) != STATUS_OK) {
        world_fail(world, "no room for the control log");
        return;
    }
    if (counted && record->kind == CONTROL_SNAPSHOT) { /* as readers do: without what was forgotten */
        SOMETIMES(LOG_SNAPSHOT);
        struct control_fold *copy = control_fold_copy(world->log_fold, &err);
        control_fold_destroy(world->log_fold);
        world->log_fold = copy;
    }
    check_term(world, record, index, counted);
    if (counted && record->kind == CONTROL_DECIDE) {
        note_decision(world, &record->decide);
    }
    if (counted && record->kind == CONTROL_CLOSE) {
        check_close(world, &record->close);
    }
    if (counted && record->kind == CONTROL_ACK) {
        check_ack(world, &record->ack);
    }
    world->log_through = index;
    if (index < LOG_MAX) {
        world->log_hashes[index] = fold_hash(world, world->log_fold);
    }
    world_log(world, "control #%" PRIu64 " %s of term %" PRIu64 "%s", index, control_kind_text(record->kind), record->term,
              counted ? "" : " (void)");
}

void control_check_write(struct world *world, const struct operation *operation)
{
    uint64_t index = strtoull(operation->name + strlen(LOG_PREFIX), NULL, 10);
    struct arena *arena = arena_create(&world->budget, "record");
    struct control_record record;
    struct text json;
    struct error err;
    if (world->log_fold == NULL) {
        world->log_fold = control_fold_create(&world->budget, &err);
    }
    if (index > world->log_through + 1) {
        world_fail(world, "I12: record %" PRIu64 " is written behind %" PRIu64, index, world->log_through);
    } else if (index == world->log_through + 1) { /* else: where the front was removed; its writer finds that out */
        if (value_unseal("record", (struct text){operation->bytes, operation->length}, &json, &err) == STATUS_OK &&
            control_record_read("record", json, arena, &record, &err) == STATUS_OK) {
            fold_record(world, index, &record);
        } else {
            world_fail(world, "record %" PRIu64 " of the control log is none: %s", index, err.text);
        }
    }
    arena_destroy(arena);
}

/* I12: what a commit holds of edits is what the log says, in order, each once. */
void control_check_commit(struct world *world, uint64_t task, uint64_t begun, uint64_t rank, uint64_t edits)
{
    struct record *record = services_record(world, task);
    uint64_t expected = 0;
    char text[TASK_TEXT_BYTES];
    if (rank < record->ctl_rank || rank < record->ctl_acked) {
        world_fail(world, "I13: a commit of %s has edits through %" PRIu64 " only; %" PRIu64 " were committed, %" PRIu64 " acknowledged",
                   task_text(task, text), rank, record->ctl_rank, record->ctl_acked);
    }
    for (uint64_t i = begun + 1; i <= rank && i <= world->edit_count; i++) {
        const struct accepted_edit *edit = &world->edits[i - 1];
        expected = edit->for_tasks ? control_chain(expected, i, edit->index) : expected;
    }
    world_log(world, "  edits of %s: from %" PRIu64 " through %" PRIu64 " of %u", task_text(task, text), begun, rank, world->edit_count);
    if (rank > world->edit_count || expected != edits) {
        world_fail(world, "I12: a commit of %s has other edits than the log: from %" PRIu64 " through %" PRIu64 " of %u",
                   task_text(task, text), begun, rank, world->edit_count);
    }
    record->ctl_rank = rank;
}

/* I14, I20: each edit has ended. */
bool control_settled(const struct world *world, char *why, size_t size)
{
    for (uint32_t i = 0; world->log_fold != NULL && i < world->log_fold->entry_count; i++) {
        const struct control_entry *entry = &world->log_fold->entries[i];
        if (!control_state_is_final(entry->state)) {
            snprintf(why, size, "edit #%" PRIu64 " (%s) is %s", entry->index, entry->propose.verb, control_state_text(entry->state));
            return false;
        }
    }
    return true;
}

void control_close(struct world *world)
{
    control_fold_destroy(world->log_fold);
    world->log_fold = NULL;
}
