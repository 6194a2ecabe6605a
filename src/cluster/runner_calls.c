#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/growing_array.h"
#include "cluster/model_register.h"
#include "cluster/runner_internal.h"
#include "cluster/value.h"

enum { NAME_BYTES = CLUSTER_NAME_MAX + 1 };

static void name_of(const struct lane *lane, const char *part, const char *id, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s/%s%s", lane->runner->prefix, part, id);
}

static struct budget *budget_of(const struct lane *lane)
{
    return lane->runner->config.processor.budget;
}

static bool is_same(const struct cluster_version *left, const struct cluster_version *right)
{
    return strcmp(left->token, right->token) == 0;
}

/* The value of a register as JSON; ABSENT is a result. */
static enum status read_register(struct lane *lane, const char *name, enum cluster_result *result, struct cluster_value *value,
                                 struct text *json, struct error *err)
{
    const struct runner *runner = lane->runner;
    TRY(runner->driver->get(runner->config.session, name, lane->arena, result, value, err));
    return *result == CLUSTER_OK ? value_unseal(name, value->bytes, json, err) : STATUS_OK;
}

/* A model of the version that was read last is that model. */
static enum status call_read_model(struct lane *lane, const struct cluster_action *action, struct cluster_event *event, struct error *err)
{
    char name[NAME_BYTES];
    struct cluster_value value;
    struct text json;
    struct model *model;
    (void)action;
    name_of(lane, "model", "", name);
    TRY(read_register(lane, name, &event->result, &value, &json, err));
    if (event->result != CLUSTER_OK) {
        return STATUS_OK;
    }
    if (lane->model == NULL || !is_same(&lane->version, &value.version)) {
        TRY(model_parse(name, json, lane->runner->config.stores, budget_of(lane), lane->arena, &model, err));
        model_unref(lane->model);
        lane->model = model;
        lane->version = value.version;
    }
    event->model = lane->model;
    event->version = value.version;
    return STATUS_OK;
}

static enum status put_json(struct lane *lane, const char *name, struct text json, const struct cluster_version *expect,
                            struct cluster_event *event, struct error *err)
{
    const struct runner *runner = lane->runner;
    struct text value;
    TRY(value_seal(json, lane->arena, &value, err));
    return runner->driver->put(runner->config.session, name, value, expect, &event->result, &event->version, err);
}

static enum status call_put_model(struct lane *lane, const struct cluster_action *action, struct cluster_event *event, struct error *err)
{
    const struct runner_stores *stores = lane->runner->config.stores;
    char name[NAME_BYTES], sha256[MODEL_SHA256_BYTES];
    struct text json, body;
    name_of(lane, "model", "", name);
    TRY(model_write(action->model, lane->arena, &json, &body, sha256, err));
    if (body.length > 0) {
        TRY(stores->put_body(stores->context, sha256, body, err));
    }
    return put_json(lane, name, json, &action->version, event, err);
}

static bool has_ended(const struct lane *lane, struct life life)
{
    const struct runner *runner = lane->runner;
    char text[LIFE_TEXT_BYTES];
    return runner->driver->gone != NULL && runner->driver->gone(runner->config.session, life_text(life, text)) == CLUSTER_GONE;
}

static enum status call_read_member(struct lane *lane, const struct cluster_action *action, struct cluster_event *event, struct error *err)
{
    char name[NAME_BYTES];
    struct cluster_value value;
    struct text json;
    struct member *member;
    (void)action;
    name_of(lane, "members/", lane->runner->config.processor.id, name);
    TRY(read_register(lane, name, &event->result, &value, &json, err));
    if (event->result == CLUSTER_OK) {
        TRY(member_read(name, json, budget_of(lane), &member, err));
        event->member = member;
        event->version = value.version;
        event->gone = has_ended(lane, member->life);
    }
    return STATUS_OK;
}

static enum status call_put_member(struct lane *lane, const struct cluster_action *action, struct cluster_event *event, struct error *err)
{
    char name[NAME_BYTES];
    struct text json;
    name_of(lane, "members/", action->member->life.id, name);
    TRY(member_write(action->member, lane->arena, &json, err));
    return put_json(lane, name, json, action->create ? NULL : &action->version, event, err);
}

static enum status call_delete_member(struct lane *lane, const struct cluster_action *action, struct cluster_event *event,
                                      struct error *err)
{
    const struct runner *runner = lane->runner;
    char name[NAME_BYTES];
    name_of(lane, "members/", runner->config.processor.id, name);
    return runner->driver->del(runner->config.session, name, &action->version, &event->result, err);
}

static struct cached_member *cached(struct lane *lane, const char *id)
{
    for (uint32_t i = 0; i < lane->member_count; i++) {
        if (strcmp(lane->members[i].id, id) == 0) {
            return &lane->members[i];
        }
    }
    if (!growing_array_reserve(&lane->members, &lane->member_capacity, lane->member_count + 1, sizeof *lane->members)) {
        return NULL;
    }
    struct cached_member *member = &lane->members[lane->member_count++];
    memset(member, 0, sizeof *member);
    snprintf(member->id, sizeof member->id, "%s", id);
    return member;
}

/* false: it is not there any more. What cannot be read is a view with its status. */
static bool view_member(struct lane *lane, const char *name, struct cluster_member_view *view)
{
    struct error err;
    enum cluster_result result;
    struct cluster_value value;
    struct text json;
    struct member *member;
    struct cached_member *known = cached(lane, view->id);
    view->status = known == NULL ? STATUS_NO_MEMORY : read_register(lane, name, &result, &value, &json, &err);
    if (view->status == STATUS_OK && result != CLUSTER_OK) {
        return false;
    }
    if (view->status == STATUS_OK && (known->member == NULL || !is_same(&known->version, &value.version))) {
        view->status = member_read(name, json, budget_of(lane), &member, &err);
        if (view->status == STATUS_OK) {
            member_unref(known->member);
            known->member = member;
            known->version = value.version;
        }
    }
    if (view->status == STATUS_OK) {
        view->member = member_ref(known->member);
        view->version = value.version;
        view->gone = has_ended(lane, known->member->life);
    }
    return true;
}

static enum status call_read_members(struct lane *lane, struct cluster_event *event, struct cluster_member_view **members,
                                     struct error *err)
{
    const struct runner *runner = lane->runner;
    char prefix[NAME_BYTES];
    struct cluster_names names;
    name_of(lane, "members/", "", prefix);
    TRY(runner->driver->list(runner->config.session, prefix, lane->arena, &names, err));
    struct cluster_member_view *views = calloc(names.count + 1, sizeof *views);
    TRY_ALLOC(*members, views, err);
    for (uint32_t i = 0; i < names.count; i++) {
        struct cluster_member_view *view = &views[event->member_count];
        view->id = strdup(names.names[i] + strlen(prefix));
        if (view->id != NULL && view_member(lane, names.names[i], view)) {
            event->member_count++;
        } else {
            free((char *)(uintptr_t)view->id);
        }
    }
    return STATUS_OK;
}

static enum status call_lease(struct lane *lane, const struct cluster_action *action, struct cluster_event *event, struct error *err)
{
    const struct runner *runner = lane->runner;
    char name[NAME_BYTES], holder[LIFE_TEXT_BYTES], held_by[CLUSTER_HOLDER_MAX];
    name_of(lane, "leader", "", name);
    if (action->step == STEP_LEASE_ACQUIRE && lane->lease == NULL) {
        return runner->driver->lease_acquire(runner->config.session, name, life_text(action->life, holder),
                                             runner->config.processor.timing->lease_ttl.us, &event->result, &lane->lease, held_by, err);
    }
    if (action->step == STEP_LEASE_RENEW && lane->lease != NULL) {
        TRY(runner->driver->lease_renew(lane->lease, &event->result, err));
    } else {
        event->result = CLUSTER_CONFLICT; /* also of one that is asked for while the last is not given up */
    }
    if (event->result == CLUSTER_CONFLICT && lane->lease != NULL) {
        struct cluster_lease *lease = lane->lease;
        lane->lease = NULL;
        return runner->driver->lease_release(lease, err);
    }
    return STATUS_OK;
}

static enum status call_store(struct lane *lane, const struct cluster_action *action, struct cluster_event *event, struct error *err)
{
    const struct runner_stores *stores = lane->runner->config.stores;
    if (action->step == STEP_FENCE_SEAT) {
        return stores->fence_seat(stores->context, action->seat, action->life, action->model, err);
    }
    if (action->step == STEP_OPEN_SEAT) {
        return stores->open_seat(stores->context, action->seat, action->life, err);
    }
    event->term_floor = action->term_floor;
    event->seat_high = action->seat_high;
    return stores->raise_record(stores->context, &event->term_floor, &event->seat_high, err);
}

/* ---- the control log ---- */

static enum status read_control(struct lane *lane, struct error *err)
{
    const struct runner *runner = lane->runner;
    if (lane->log == NULL) {
        TRY(control_log_open(runner->config.session, runner->prefix, budget_of(lane), NULL, &lane->random, &lane->log, err));
    }
    return control_log_read(lane->log, err);
}

static enum status append_control(struct lane *lane, const char *json, struct error *err)
{
    struct control_record record;
    uint64_t index;
    bool counted; /* the fold says it, too */
    TRY(control_record_read("a record to append", (struct text){json, strlen(json)}, lane->arena, &record, err));
    if (record.kind == CONTROL_SNAPSHOT) {
        return control_log_snapshot(lane->log, &record, &counted, err);
    }
    return control_log_append(lane->log, &record, &index, &counted, err);
}

static enum status call_control(struct lane *lane, const struct cluster_action *action, struct cluster_event *event, struct error *err)
{
    TRY(action->step == STEP_READ_CONTROL ? read_control(lane, err) : append_control(lane, action->text, err));
    event->control = control_log_fold(lane->log);
    event->wall_ms = clock_system.wall_us(&clock_system) / 1000;
    return STATUS_OK;
}

static void report(const struct lane *lane, enum step step, const struct error *err)
{
    const struct runner_tasks *tasks = lane->runner->config.tasks;
    char text[sizeof err->text + 60];
    snprintf(text, sizeof text, "coord.error step=%s %s", step_text(step), err->text);
    tasks->report(tasks->context, text);
}

/* The lane has read what this model was written over. Nobody decides by the history: a failure is only reported. */
static void keep_history(struct lane *lane, const struct model *written)
{
    const struct runner_config *config = &lane->runner->config;
    struct error err;
    if (lane->model != NULL && lane->model->rev + 1 == written->rev &&
        history_note(&lane->history, lane->model, written, runner_now_us(), clock_system.wall_us(&clock_system)) &&
        history_write(&lane->history, config->session, lane->runner->prefix, lane->arena, &err) != STATUS_OK) {
        report(lane, STEP_PUT_MODEL, &err);
    }
}

void runner_call(struct lane *lane, const struct errand *errand)
{
    static enum status (*const calls[STEP_COUNT])(struct lane *, const struct cluster_action *, struct cluster_event *,
                                                  struct error *) = {[STEP_READ_MODEL] = call_read_model,
                                                                     [STEP_PUT_MODEL] = call_put_model,
                                                                     [STEP_READ_MEMBER] = call_read_member,
                                                                     [STEP_PUT_MEMBER] = call_put_member,
                                                                     [STEP_DELETE_MEMBER] = call_delete_member,
                                                                     [STEP_LEASE_ACQUIRE] = call_lease,
                                                                     [STEP_LEASE_RENEW] = call_lease,
                                                                     [STEP_LEASE_RELEASE] = call_lease,
                                                                     [STEP_RAISE_RECORD] = call_store,
                                                                     [STEP_FENCE_SEAT] = call_store,
                                                                     [STEP_OPEN_SEAT] = call_store,
                                                                     [STEP_READ_CONTROL] = call_control,
                                                                     [STEP_APPEND_CONTROL] = call_control};
    const struct cluster_action *action = &errand->action;
    struct error err;
    struct cluster_event event = {.kind = EVENT_OUTCOME, .step = action->step, .request = action->request, .sent_us = runner_now_us()};
    struct cluster_member_view *members = NULL;
    event.status = action->step == STEP_READ_MEMBERS ? call_read_members(lane, &event, &members, &err)
                                                     : calls[action->step](lane, action, &event, &err);
    if (event.status != STATUS_OK) {
        report(lane, action->step, &err);
    }
    bool written = action->step == STEP_PUT_MODEL && event.status == STATUS_OK && event.result == CLUSTER_OK;
    if (action->step != STEP_LEASE_RELEASE) {
        runner_post_taking(lane->runner, &event, members);
    }
    member_unref(event.member);
    if (written) { /* after the outcome: nothing waits for it */
        keep_history(lane, action->model);
    }
}

void runner_calls_close(struct lane *lane)
{
    struct error ignored;
    model_unref(lane->model);
    for (uint32_t i = 0; i < lane->member_count; i++) {
        member_unref(lane->members[i].member);
    }
    free(lane->members);
    control_log_close(lane->log);
    if (lane->lease != NULL) { /* a process that ends in order has released it before */
        (void)!lane->runner->driver->lease_release(lane->lease, &ignored);
    }
}
