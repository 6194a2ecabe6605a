/* The control log of a job from outside (spate/control.h). */
#include "spate/control.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/coordinator.h"
#include "api/session.h"
#include "cluster/control/log_register.h"
#include "cluster/control/verbs.h"
#include "state/saved_state.h"
#include "storage/job_definition.h"

struct spate_control {
    spate_session *session;
    struct cluster_session *cluster;
    struct control_log *log;
    struct random_source random;
    struct arena *arena; /* of one call */
};

static int answer(spate_control *control, enum status status)
{
    return status == STATUS_OK ? SPATE_OK : session_fail(control->session, status);
}

static enum status open_in(spate_control *self, const char *job, struct error *err)
{
    spate_session *session = self->session;
    struct job_record record;
    char prefix[EDITS_PREFIX_BYTES];
    TRY(durable_storage(session, err));
    TRY(job_find(session->storage, job, self->arena, &record, err));
    TRY(coordinator_open(session, "the job's control log", NULL, &self->cluster, err));
    return control_log_open(self->cluster, edits_prefix(record.id, prefix), &session->budget, NULL, &self->random, &self->log, err);
}

int spate_control_open(spate_session *session, const char *job, spate_control **control)
{
    *control = NULL;
    spate_control *self = calloc(1, sizeof *self);
    struct arena *arena = self == NULL ? NULL : arena_create(&session->budget, "control");
    if (arena == NULL) {
        free(self);
        return session_fail(session, error_set(&session->error, ERROR_BUDGET_SPENT, "no room for a control log"));
    }
    *self = (spate_control){.session = session, .arena = arena};
    random_open(&self->random, 0);
    enum status status = open_in(self, job, &session->error);
    if (status != STATUS_OK) {
        spate_control_close(self);
        return session_fail(session, status);
    }
    *control = self;
    return SPATE_OK;
}

void spate_control_close(spate_control *self)
{
    if (self != NULL) {
        control_log_close(self->log);
        cluster_close(self->cluster, true);
        arena_destroy(self->arena);
        free(self);
    }
}

/* ---- proposing ---- */

static enum status find_verb(const char *name, const struct control_verb **verb, struct error *err)
{
    *verb = control_verb_find_short(&control_verbs, name);
    return *verb != NULL ? STATUS_OK : control_verb_find(&control_verbs, name, verb, err);
}

static enum status make_record(spate_control *self, const struct spate_proposal *proposal, struct control_record *record, struct error *err)
{
    const struct control_verb *verb;
    const char *json;
    uint32_t count = 0;
    while (proposal->arguments != NULL && proposal->arguments[count] != NULL) {
        count++;
    }
    TRY(find_verb(proposal->verb, &verb, err));
    TRY(control_verb_arguments(verb, proposal->arguments, count, self->arena, &json, err));
    TRY(control_verb_check(verb, json, err));
    struct control_propose *propose = &record->propose;
    propose->verb = strchr(verb->name, '*') == NULL ? verb->name : proposal->verb;
    propose->key = proposal->key;
    propose->actor = proposal->actor;
    propose->deadline_ms = proposal->deadline_ms;
    propose->expects_version = proposal->expect_version >= 0;
    propose->expects_rank = proposal->expect_rank >= 0;
    propose->expect_version = propose->expects_version ? (uint64_t)proposal->expect_version : 0;
    propose->expect_rank = propose->expects_rank ? (uint64_t)proposal->expect_rank : 0;
    TRY(control_args_make(json, self->arena, &propose->args, propose->args_sha256, err));
    return control_propose_check(propose, err);
}

int spate_control_propose(spate_control *self, const struct spate_proposal *proposal, uint64_t *index)
{
    struct error *err = &self->session->error;
    struct control_record record = {.kind = CONTROL_PROPOSE};
    bool counted;
    arena_reset(self->arena);
    enum status status = make_record(self, proposal, &record, err);
    return answer(self, status == STATUS_OK ? control_log_append(self->log, &record, index, &counted, err) : status);
}

/* ---- looking ---- */

static void describe(const struct control_fold *fold, const struct control_entry *entry, struct spate_edit *edit)
{
    bool accepted = entry->rank != 0;
    *edit = (struct spate_edit){.size = sizeof *edit,
                                .index = entry->index,
                                .rank = entry->rank,
                                .verb = entry->propose.verb,
                                .state = control_state_text(entry->state),
                                .args = entry->propose.args,
                                .key = entry->propose.key,
                                .actor = entry->propose.actor,
                                .how = accepted ? control_how_text(entry->how) : NULL,
                                .code = entry->code,
                                .reason = entry->reason,
                                .warning = entry->warning,
                                .result = entry->result,
                                .other = entry->duplicate_of != 0 ? entry->duplicate_of : entry->superseded_by,
                                .applied = control_fold_applied(fold, entry),
                                .of = entry->of,
                                .at_ms = entry->at_ms,
                                .decided = entry->state != CONTROL_STATE_PROPOSED,
                                .closed = control_state_is_final(entry->state)};
    if (entry->reason == NULL && entry->failure_count > 0) {
        edit->code = entry->failures[0].code;
        edit->reason = entry->failures[0].reason;
    }
}

static enum status look(spate_control *self, uint64_t index, struct spate_edit *edit, struct error *err)
{
    TRY(control_log_read(self->log, err));
    const struct control_entry *entry = control_fold_find(control_log_fold(self->log), index);
    if (entry == NULL) {
        return error_set(err, ERROR_UNKNOWN_NAME, "the control log has no edit #%" PRIu64 "; its last record is #%" PRIu64, index,
                         control_log_fold(self->log)->through);
    }
    describe(control_log_fold(self->log), entry, edit);
    return STATUS_OK;
}

int spate_control_show(spate_control *self, uint64_t index, struct spate_edit *edit)
{
    return answer(self, look(self, index, edit, &self->session->error));
}

int spate_control_await(spate_control *self, uint64_t index, bool closed, int64_t timeout_ms, struct spate_edit *edit, bool *reached)
{
    enum { PAUSE_US = 50000 };
    struct error *err = &self->session->error;
    int64_t until_us = clock_system.monotonic_us(&clock_system) + timeout_ms * 1000;
    for (;;) {
        enum status status = look(self, index, edit, err);
        if (status == STATUS_OK && strcmp(edit->state, control_state_text(CONTROL_STATE_DUPLICATE)) == 0) {
            index = edit->other;
            status = look(self, index, edit, err);
        }
        if (status != STATUS_OK) {
            return answer(self, status);
        }
        *reached = closed ? edit->closed : edit->decided;
        if (*reached || clock_system.monotonic_us(&clock_system) >= until_us) {
            return SPATE_OK;
        }
        usleep(PAUSE_US);
    }
}

int spate_control_list(spate_control *self, uint64_t from, spate_edit_function give, void *context)
{
    struct error *err = &self->session->error;
    enum status status = control_log_read(self->log, err);
    if (status != STATUS_OK) {
        return answer(self, status);
    }
    const struct control_fold *fold = control_log_fold(self->log);
    for (uint32_t i = 0; i < fold->entry_count; i++) {
        if (fold->entries[i].index >= from) {
            struct spate_edit edit;
            describe(fold, &fold->entries[i], &edit);
            give(context, &edit);
        }
    }
    return SPATE_OK;
}

static void append_summary(const struct control_verb *verb, struct text_builder *text)
{
    text_append_format(text, "%-24s %s\n", verb->name, verb->summary);
}

int spate_control_verbs(spate_session *session, const char *name, const char **text)
{
    const struct control_verb *verb = NULL;
    struct text_builder built = {0};
    if (name != NULL && find_verb(name, &verb, &session->error) != STATUS_OK) {
        return session_fail(session, session->error.status);
    }
    for (uint32_t i = 0; i < control_verbs.count && verb == NULL; i++) {
        append_summary(&control_verbs.verbs[i], &built);
    }
    if (verb != NULL) {
        control_verb_describe(verb, &built);
    }
    *text = built.failed ? NULL : arena_text(session->arena, built.bytes, built.length);
    text_builder_close(&built);
    return *text != NULL ? SPATE_OK : session_fail(session, error_set(&session->error, ERROR_BUDGET_SPENT, "no room for the verbs"));
}
