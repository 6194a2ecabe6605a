#include "cluster/control/decide.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"

struct turn {
    const struct control_fold *fold;
    const struct control_world *world;
    struct arena *arena;
    struct control_step *step;
    struct error *err;
};

static struct control_record *begin_record(struct turn *turn, enum control_kind kind)
{
    turn->step->kind = CONTROL_STEP_APPEND;
    turn->step->record = (struct control_record){.kind = kind, .at_ms = turn->world->wall_ms, .term = turn->world->term};
    return &turn->step->record;
}

static bool is_open(const struct control_entry *entry)
{
    return entry->state == CONTROL_STATE_ACCEPTED;
}

/* ---- what a proposal is ---- */

/* The edit that was accepted under the same key. */
static const struct control_entry *find_key(const struct control_fold *fold, const struct control_entry *proposed)
{
    for (uint32_t i = 0; proposed->propose.key != NULL && i < fold->entry_count; i++) {
        const struct control_entry *entry = &fold->entries[i];
        if (entry->rank != 0 && entry->propose.key != NULL && strcmp(entry->propose.key, proposed->propose.key) == 0) {
            return entry;
        }
    }
    return NULL;
}

static bool is_same_edit(const struct control_entry *left, const struct control_entry *right)
{
    return strcmp(left->propose.verb, right->propose.verb) == 0 && strcmp(left->propose.args_sha256, right->propose.args_sha256) == 0;
}

/* Everything that a member must know and does not, in one message. */
static enum status check_members(struct turn *turn, const struct control_verb *verb)
{
    struct text_builder names = {0};
    for (uint32_t i = 0; i < turn->world->member_count; i++) {
        const struct control_member *member = &turn->world->members[i];
        if (!control_verb_is_known(verb, member->sets, member->set_count)) {
            text_append_format(&names, "%s'%s'", names.length == 0 ? "" : ", ", member->id);
        }
    }
    enum status status = STATUS_OK;
    if (names.length > 0 || names.failed) {
        status = error_set(turn->err, ERROR_CTL_MEMBER_UNABLE, "%s (version %" PRIu32 ") is not known to %s", verb->name, verb->version,
                           names.failed ? "some process" : names.bytes);
    }
    text_builder_close(&names);
    return status;
}

/* The version that this proposal meets: edits accepted before it may be about to make another. */
static bool version_will_change(const struct turn *turn)
{
    for (uint32_t i = turn->fold->entry_count; i > 0; i--) {
        const struct control_entry *entry = &turn->fold->entries[i - 1];
        if (entry->rank != 0 && entry->rank <= turn->world->model_rank) {
            return false;
        }
        const struct control_verb *verb = NULL;
        struct error ignored;
        if (is_open(entry) && control_verb_find(turn->world->verbs, entry->propose.verb, &verb, &ignored) == STATUS_OK &&
            (verb->flags & VERB_NEW_VERSION) != 0) {
            return true;
        }
    }
    return false;
}

static enum status check_expected(struct turn *turn, const struct control_propose *propose)
{
    uint64_t version = turn->world->version, rank = turn->fold->rank;
    if (propose->expects_version && propose->expect_version != version) {
        return error_set(turn->err, ERROR_CTL_EXPECTED_OTHER, "expected version %" PRIu64 " of the model, but it is %" PRIu64,
                         propose->expect_version, version);
    }
    if (propose->expects_version && version_will_change(turn)) {
        return error_set(turn->err, ERROR_CTL_EXPECTED_OTHER,
                         "expected version %" PRIu64 " of the model, but an edit that was accepted before makes another",
                         propose->expect_version);
    }
    if (propose->expects_rank && propose->expect_rank != rank) {
        return error_set(turn->err, ERROR_CTL_EXPECTED_OTHER, "expected edit %" PRIu64 " to be the last, but it is %" PRIu64,
                         propose->expect_rank, rank);
    }
    return STATUS_OK;
}

static enum status check_ground(struct turn *turn, const struct control_verb *verb, const struct control_propose *propose,
                                enum control_how *how)
{
    const struct control_ground *ground = turn->world->ground;
    bool found = false;
    for (uint32_t i = 0; i < ground->verb_count; i++) {
        found = found || strcmp(ground->verbs[i], verb->name) == 0;
    }
    if (!found) {
        return error_set(turn->err, ERROR_CTL_NO_GROUND, "%s: this job, as it runs, has nothing that could act on it", propose->verb);
    }
    return ground->check == NULL ? STATUS_OK : ground->check(ground->context, turn->fold, verb, propose, how, turn->err);
}

/* OK: acceptable, by this verb and in this way. */
static enum status check_proposal(struct turn *turn, const struct control_propose *propose, const struct control_verb **verb,
                                  enum control_how *how)
{
    const struct control_ground *ground = turn->world->ground;
    TRY(control_verb_find(turn->world->verbs, propose->verb, verb, turn->err));
    TRY(control_verb_check(*verb, propose->args, turn->err));
    if (ground->permit != NULL) {
        TRY(ground->permit(ground->context, propose->actor, *verb, turn->err));
    }
    TRY(check_members(turn, *verb));
    TRY(check_expected(turn, propose));
    *how = (*verb)->how;
    return check_ground(turn, *verb, propose, how);
}

/* ---- verdicts ---- */

/* A text of at most CONTROL_REASON_MAX bytes that is UTF-8. */
static enum status keep_reason(struct turn *turn, const char *text, const char **kept)
{
    size_t length = strlen(text);
    length = utf8_valid_length(text, length < CONTROL_REASON_MAX ? length : CONTROL_REASON_MAX);
    TRY_ALLOC(*kept, arena_text(turn->arena, text, length), turn->err);
    return STATUS_OK;
}

static enum status refuse(struct turn *turn, struct control_decide *decide, enum control_verdict verdict, enum error_code code,
                          const char *reason)
{
    char text[CONTROL_CODE_BYTES];
    decide->verdict = verdict;
    TRY_ALLOC(decide->code, arena_format(turn->arena, "%s", control_code_text(code, text)), turn->err);
    return keep_reason(turn, reason, &decide->reason);
}

static enum status accept(struct turn *turn, struct control_decide *decide, const struct control_entry *entry,
                          const struct control_verb *verb, enum control_how how)
{
    const char **slots;
    uint32_t count;
    decide->verdict = CONTROL_ACCEPT;
    decide->rank = turn->fold->rank + 1;
    decide->how = how;
    decide->of = how == CONTROL_HOW_LEADER ? 0 : turn->world->task_count;
    decide->version = turn->world->version;
    TRY(control_verb_slots(verb, entry->propose.args, turn->arena, &slots, &count, turn->err));
    if ((verb->flags & VERB_CLEARS) != 0) {
        decide->clears = slots;
        decide->clear_count = count;
    } else {
        decide->sets = slots;
        decide->set_count = count;
    }
    if (verb->deprecated != NULL) {
        TRY_ALLOC(decide->warning,
                  arena_format(turn->arena, "%s is deprecated since %s; use %s", verb->name, verb->deprecated, verb->replaced_by),
                  turn->err);
    }
    return STATUS_OK;
}

/* Not about the proposal, but about us: no record says it. */
static bool is_own_failure(enum status status)
{
    return status == STATUS_NO_MEMORY || status == STATUS_INTERNAL || status == STATUS_UNAVAILABLE;
}

static enum status judge(struct turn *turn, struct control_decide *decide, const struct control_entry *entry)
{
    const struct control_propose *propose = &entry->propose;
    const struct control_entry *same = find_key(turn->fold, entry);
    const struct control_verb *verb;
    enum control_how how;
    if (same != NULL && is_same_edit(same, entry)) {
        decide->verdict = CONTROL_DUPLICATE;
        decide->duplicate_of = same->index;
        return STATUS_OK;
    }
    if (same != NULL) {
        (void)error_set(turn->err, ERROR_CTL_KEY_REUSED, "the key '%s' is that of #%" PRIu64 ", which is another edit (%s)", propose->key,
                        same->index, same->propose.verb);
        return refuse(turn, decide, CONTROL_REJECT, turn->err->code, turn->err->text);
    }
    if (propose->deadline_ms != 0 && turn->world->wall_ms - entry->at_ms > propose->deadline_ms) {
        (void)error_set(turn->err, ERROR_CTL_EXPIRED, "not decided within its deadline of %" PRId64 " ms", propose->deadline_ms);
        return refuse(turn, decide, CONTROL_EXPIRE, turn->err->code, turn->err->text);
    }
    enum status status = check_proposal(turn, propose, &verb, &how);
    if (is_own_failure(status)) {
        return status;
    }
    return status == STATUS_OK ? accept(turn, decide, entry, verb, how)
                               : refuse(turn, decide, CONTROL_REJECT, turn->err->code, turn->err->text);
}

static enum status decide_proposal(struct turn *turn, bool *done)
{
    for (uint32_t i = turn->fold->open_from; i < turn->fold->entry_count; i++) {
        if (turn->fold->entries[i].state == CONTROL_STATE_PROPOSED) {
            struct control_record *record = begin_record(turn, CONTROL_DECIDE);
            record->decide.ref = turn->fold->entries[i].index;
            *done = true;
            return judge(turn, &record->decide, &turn->fold->entries[i]);
        }
    }
    return STATUS_OK;
}

/* ---- closing ---- */

static bool shares_a_slot(const struct control_entry *left, const struct control_entry *right)
{
    for (uint32_t i = 0; i < left->set_count; i++) {
        for (uint32_t k = 0; k < right->set_count; k++) {
            if (strcmp(left->sets[i], right->sets[k]) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* The newest edit that replaces this one, which still waits. Only what the leader alone does can be replaced: of tasks nobody can know
 * which have applied it already. */
static const struct control_entry *find_replacement(const struct turn *turn, const struct control_entry *entry)
{
    const struct control_verb *verb;
    struct error ignored;
    if (entry->how != CONTROL_HOW_LEADER || control_verb_find(turn->world->verbs, entry->propose.verb, &verb, &ignored) != STATUS_OK ||
        (verb->flags & VERB_REPLACES) == 0) {
        return NULL;
    }
    for (uint32_t i = turn->fold->entry_count; i > 0 && &turn->fold->entries[i - 1] != entry; i--) {
        const struct control_entry *newer = &turn->fold->entries[i - 1];
        if (newer->rank > entry->rank && newer->state != CONTROL_STATE_SUPERSEDED && shares_a_slot(entry, newer)) {
            return newer;
        }
    }
    return NULL;
}

static bool all_have_applied(const struct turn *turn, const struct control_entry *entry)
{
    if (turn->world->model_rank < entry->rank) {
        return false;
    }
    for (uint32_t i = 0; entry->how != CONTROL_HOW_LEADER && i < turn->world->task_count; i++) {
        if (control_fold_acked(turn->fold, turn->world->tasks[i]) < entry->rank) {
            return false;
        }
    }
    return true;
}

/* Tasks that are gone, and tasks that came later, are not counted against the edit. */
static uint32_t count_applied(const struct turn *turn, const struct control_entry *entry)
{
    uint32_t applied = entry->how == CONTROL_HOW_LEADER ? 0 : turn->world->task_count;
    applied = applied < entry->of ? applied : entry->of;
    return applied < entry->failure_count ? 0 : applied - entry->failure_count;
}

static enum status close_entry(struct turn *turn, const struct control_entry *entry, bool *done)
{
    const struct control_ground *ground = turn->world->ground;
    const char *result = NULL, *reason = NULL;
    enum control_progress progress = all_have_applied(turn, entry) ? CONTROL_PROGRESS_DONE : CONTROL_PENDING;
    struct control_close close = {.ref = entry->index, .failed = entry->failure_count};
    if (progress == CONTROL_PROGRESS_DONE && ground->progress != NULL) {
        progress = ground->progress(ground->context, entry, &result, &reason);
    }
    const struct control_entry *replacement = progress == CONTROL_PENDING ? find_replacement(turn, entry) : NULL;
    if (replacement != NULL) {
        close.outcome = CONTROL_OUTCOME_SUPERSEDED;
        close.by = replacement->index;
    } else {
        bool failed = progress == CONTROL_PROGRESS_FAILED || entry->failure_count > 0;
        close.outcome = failed ? CONTROL_OUTCOME_FAILED : CONTROL_OUTCOME_DONE;
        close.applied = count_applied(turn, entry);
    }
    if (progress == CONTROL_PENDING && replacement == NULL) {
        return STATUS_OK;
    }
    *done = true;
    begin_record(turn, CONTROL_CLOSE)->close = close;
    if (result != NULL) {
        TRY_ALLOC(turn->step->record.close.result, arena_text(turn->arena, result, strlen(result)), turn->err);
    }
    return reason == NULL ? STATUS_OK : keep_reason(turn, reason, &turn->step->record.close.reason);
}

static enum status close_one(struct turn *turn, bool *done)
{
    for (uint32_t i = turn->fold->open_from; !*done && i < turn->fold->entry_count; i++) {
        if (is_open(&turn->fold->entries[i])) {
            TRY(close_entry(turn, &turn->fold->entries[i], done));
        }
    }
    return STATUS_OK;
}

/* ---- the first and the last step ---- */

static enum status announce_term(struct turn *turn, bool *done)
{
    if (turn->fold->term < turn->world->term) {
        *done = true;
        begin_record(turn, CONTROL_TERM)->term_of.leader = turn->world->leader;
    }
    return STATUS_OK;
}

/* Ranks that every task has committed, or that are none of theirs: no restore needs their edits again. */
static uint64_t settled_rank(const struct turn *turn)
{
    const struct control_fold *fold = turn->fold;
    uint64_t settled = turn->world->model_rank < fold->rank ? turn->world->model_rank : fold->rank;
    for (uint32_t i = 0; i < turn->world->task_count; i++) {
        uint64_t acked = control_fold_acked(fold, turn->world->tasks[i]);
        const struct control_entry *next = control_fold_after(fold, acked);
        while (next != NULL && next->how == CONTROL_HOW_LEADER) {
            next = control_fold_after(fold, next->rank);
        }
        uint64_t committed = next == NULL ? fold->rank : next->rank - 1;
        settled = committed < settled ? committed : settled;
    }
    return settled > fold->settled && turn->world->task_count > 0 ? settled : fold->settled;
}

static enum status take_snapshot(struct turn *turn, bool *done)
{
    const struct control_fold *fold = turn->fold;
    const struct control_world *world = turn->world;
    if (fold->through - fold->snapshot_through <= world->snapshot_every) { /* its own record comes behind it */
        return STATUS_OK;
    }
    struct control_snapshot snapshot = {
        .through = fold->through, .rank = fold->rank, .forget = fold->forgotten, .settled = settled_rank(turn)};
    int64_t retention_ms = world->retention_ms > CONTROL_KEYS_MS ? world->retention_ms : CONTROL_KEYS_MS;
    for (uint32_t i = 0; i < fold->entry_count; i++) {
        const struct control_entry *entry = &fold->entries[i];
        if (!control_state_is_final(entry->state) || entry->rank > snapshot.settled || entry->decided_ms > world->wall_ms - retention_ms) {
            break;
        }
        snapshot.forget = entry->index;
    }
    *done = true;
    begin_record(turn, CONTROL_SNAPSHOT)->snapshot = snapshot;
    turn->step->kind = CONTROL_STEP_SNAPSHOT;
    return STATUS_OK;
}

enum status control_decide(const struct control_fold *fold, const struct control_world *world, struct arena *arena,
                           struct control_step *step, struct error *err)
{
    static enum status (*const steps[])(struct turn * turn, bool *done) = {announce_term, decide_proposal, close_one, take_snapshot};
    struct turn turn = {fold, world, arena, step, err};
    bool done = false;
    *step = (struct control_step){.kind = CONTROL_STEP_WAIT};
    for (size_t i = 0; !done && fold->term <= world->term && i < ARRAY_LENGTH(steps); i++) {
        TRY(steps[i](&turn, &done));
    }
    return STATUS_OK;
}
