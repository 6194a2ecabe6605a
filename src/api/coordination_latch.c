/* Latches. */
#include <stdlib.h>
#include <string.h>

#include "api/coordination_handle.h"
#include "cluster/latch.h"

struct spate_latch {
    struct spate_coordinator *owner;
    struct text_builder name;
    struct latch latch;
};

static enum status name_latch(struct spate_coordinator *coordinator, const char *name, struct spate_latch *latch, struct error *err)
{
    *latch = (struct spate_latch){.owner = coordinator};
    text_append_format(&latch->name, "latches/%s", name);
    if (latch->name.failed) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a latch");
    }
    latch->latch = (struct latch){coordinator->session, latch->name.bytes};
    return cluster_name_check(latch->name.bytes, err);
}

static enum status open_latch(struct spate_coordinator *coordinator, const char *name, uint32_t count, struct spate_latch **latch,
                              struct error *err)
{
    struct spate_latch *self;
    struct latch_state state;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    enum status status = name_latch(coordinator, name, self, err);
    if (status == STATUS_OK) {
        status = latch_open(&self->latch, count, &state, err);
    }
    if (status != STATUS_OK) {
        spate_latch_close(self);
        return status;
    }
    *latch = self;
    return STATUS_OK;
}

int spate_latch_open(spate_coordinator *coordinator, const char *name, uint32_t count, spate_latch **latch, struct spate_error *error)
{
    *latch = NULL;
    return coordination_finish(open_latch(coordinator, name, count, latch, coordination_error()), error);
}

int spate_latch_count_down(spate_latch *latch, const char *participant, int *outcome, struct spate_error *error)
{
    struct latch_state state;
    enum status status = latch_count_down(&latch->latch, participant, &state, coordination_error());
    if (status == STATUS_OK) {
        *outcome = state.absent ? SPATE_OUTCOME_ABSENT : SPATE_OUTCOME_DONE;
    }
    return coordination_finish(status, error);
}

/* A service that does not answer for a while is waited for, too. */
static enum status await(struct spate_latch *latch, int64_t deadline_us, struct latch_state *state, struct error *err)
{
    for (;;) {
        enum status status = latch_look(&latch->latch, state, err);
        int64_t now_us = coordination_now();
        bool decided = status == STATUS_OK ? state->absent || latch_is_open(state) : status != STATUS_UNAVAILABLE;
        if (decided || now_us >= deadline_us) {
            return status;
        }
        int64_t next_us = now_us + latch->owner->timing.poll.us;
        coordination_sleep(next_us < deadline_us ? next_us : deadline_us);
    }
}

int spate_latch_await(spate_latch *latch, int64_t timeout_ms, uint32_t *missing, int *outcome, struct spate_error *error)
{
    struct latch_state state;
    enum status status = await(latch, coordination_deadline(timeout_ms), &state, coordination_error());
    if (status == STATUS_OK) {
        *outcome = state.absent ? SPATE_OUTCOME_ABSENT : latch_is_open(&state) ? SPATE_OUTCOME_DONE : SPATE_OUTCOME_TIMED_OUT;
        if (missing != NULL) {
            *missing = state.absent ? 0 : state.count - state.arrived;
        }
    }
    return coordination_finish(status, error);
}

int spate_latch_remove(spate_coordinator *coordinator, const char *name, struct spate_error *error)
{
    struct spate_latch latch;
    struct error *err = coordination_error();
    enum status status = name_latch(coordinator, name, &latch, err);
    if (status == STATUS_OK) {
        status = latch_remove(&latch.latch, err);
    }
    text_builder_close(&latch.name);
    return coordination_finish(status, error);
}

void spate_latch_close(spate_latch *latch)
{
    if (latch != NULL) {
        text_builder_close(&latch->name);
        free(latch);
    }
}
