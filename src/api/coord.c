/* The group of processes that runs a job, from outside (spate/operations.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/coord_view.h"
#include "cluster/history.h"
#include "spate/operations.h"
#include "storage/document.h"

struct look {
    struct coord_view view;
    spate_session *session;
    spate_result *result; /* its arena is the view's */
    struct text_table table;
};

/* ---- one call ---- */

static enum status look_begin(struct look *self, spate_session *session, const char *job, uint32_t columns, const char *const *names,
                              struct error *err)
{
    *self = (struct look){.session = session};
    TRY(result_create(session, SPATE_RESULT_ROWS, &self->result, err));
    text_table_open(&self->table, self->result->arena, &session->budget, columns, names);
    TRY(result_queue_create(&self->result->queue, err));
    return coord_open(&self->view, session, job, self->result->arena, err);
}

/* Models and members end here, so their texts are in the table by now: cells are copied. */
static int look_end(struct look *self, enum status status, spate_result **result)
{
    struct error *err = &self->session->error;
    if (status == STATUS_OK) {
        status = text_table_finish(&self->table, &self->result->schema, self->result->queue, err);
    }
    struct error kept = *err;
    coord_close(&self->view);
    *err = kept;
    *result = status == STATUS_OK ? self->result : NULL;
    if (status != STATUS_OK) {
        spate_result_close(self->result);
    }
    return status == STATUS_OK ? SPATE_OK : session_fail(self->session, status);
}

static void add(struct look *self, const char *cell)
{
    text_table_add(&self->table, cell);
}

static void add_number(struct look *self, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    add(self, text);
}

static enum status need_model(struct coord_view *view, struct error *err)
{
    TRY(coord_read_model(view, err));
    if (view->model != NULL) {
        return STATUS_OK;
    }
    if (view->damage != NULL) {
        return error_set(err, ERROR_STORE_CORRUPT, "%s; `spate coord repair` makes another from the storage", view->damage);
    }
    return error_set(err, ERROR_UNKNOWN_JOB,
                     "the coordinator has no model of job '%s': it is not run by workers; `spate job restart` with a coordinator makes one",
                     view->record.id);
}

/* ---- status ---- */

/* "3 (w5#1d20)": seats that are not fenced yet, and whose they were. */
static void add_dirty_seats(struct look *self, const struct model *model)
{
    struct text_builder text = {0};
    char life[LIFE_TEXT_BYTES];
    for (uint32_t i = 0; i < model->dirty_count; i++) {
        text_append_format(&text, "%s%u (%s)", i == 0 ? "" : ", ", model->dirty[i].seat, life_text(model->dirty[i].life, life));
    }
    self->table.failed |= text.failed;
    add(self, text.length == 0 || text.failed ? NULL : text.bytes);
    text_builder_close(&text);
}

static void add_evicted(struct look *self, const struct model *model)
{
    struct text_builder text = {0};
    char life[LIFE_TEXT_BYTES];
    for (uint32_t i = 0; i < model->evicted_count; i++) {
        text_append_format(&text, "%s%s", i == 0 ? "" : ", ", life_text(model->evicted[i], life));
    }
    self->table.failed |= text.failed;
    add(self, text.length == 0 || text.failed ? NULL : text.bytes);
    text_builder_close(&text);
}

static void add_round(struct look *self, const struct model *model)
{
    const char *why = model->round.why == NULL ? "" : model->round.why;
    add(self, arena_format(self->view.arena, "%s, %s%s%s", model->round.kind == MODEL_STOP_ALL ? "stop-all" : "incremental",
                           model->round.opened ? "opened" : "not opened yet", why[0] == '\0' ? "" : ": ", why));
}

static void add_members_in_short(struct look *self, const struct model *model)
{
    uint32_t spare = 0, silent = 0;
    for (uint32_t i = 0; i < self->view.member_count; i++) {
        const struct coord_member *member = &self->view.members[i];
        bool listed = member->member != NULL && model_lists(model, member->member->life);
        spare += !listed;
    }
    for (uint32_t i = 0; i < model->member_count; i++) {
        const struct coord_member *member = coord_find_member(&self->view, model->members[i].life);
        silent += member == NULL || member->gone || !member->beats;
    }
    add(self, arena_format(self->view.arena, "%u listed, %u of them silent; %u others", model->member_count, silent, spare));
}

static void add_status(struct look *self, const struct model *model)
{
    char leader[LIFE_TEXT_BYTES];
    uint32_t open = 0;
    int64_t edits = coord_open_edits(&self->view);
    for (uint32_t i = 0; i < model->task_count; i++) {
        open += model->tasks[i].open;
    }
    add(self, model_state_text(model->state));
    add_number(self, model->term);
    add_number(self, model->version);
    add_number(self, model->rev);
    add(self, life_text(model->leader, leader));
    add_round(self, model);
    add(self, arena_format(self->view.arena, "%u of %u open", open, model->task_count));
    add_members_in_short(self, model);
    add_dirty_seats(self, model);
    add_evicted(self, model);
    add(self, edits < 0 ? "the control log cannot be read" : arena_format(self->view.arena, "%" PRId64, edits));
}

static enum status show_status(struct look *self, struct error *err)
{
    struct coord_view *view = &self->view;
    TRY(coord_read_model(view, err));
    if (view->model == NULL && view->damage == NULL) {
        return need_model(view, err);
    }
    TRY(coord_read_members(view, err));
    TRY(coord_watch_members(view, err));
    TRY(coord_read_model(view, err)); /* as of the members */
    add(self, view->recorded ? view->record.name : NULL);
    add(self, view->record.id);
    if (view->model != NULL) {
        add_status(self, view->model);
    } else {
        add(self, arena_format(view->arena, "damaged: %s", view->damage == NULL ? "the model has gone" : view->damage));
        for (uint32_t i = 0; i < 10; i++) {
            add(self, NULL);
        }
    }
    return STATUS_OK;
}

int spate_coord_status(spate_session *session, const char *job, spate_result **result)
{
    static const char *const names[] = {"job",   "id",    "state",   "term",        "version", "rev",       "leader",
                                        "round", "tasks", "members", "dirty_seats", "evicted", "open_edits"};
    struct look self;
    enum status status = look_begin(&self, session, job, 13, names, &session->error);
    if (status == STATUS_OK) {
        status = show_status(&self, &session->error);
    }
    return look_end(&self, status, result);
}

/* ---- members ---- */

static const char *state_of(const struct model *model, struct life life, const struct member *member)
{
    static const char *const states[MEMBER_STATE_COUNT] = {"active", "leaving", "restarting"};
    if (model != NULL && model_evicts(model, life)) {
        return "evicted";
    }
    if (member == NULL) {
        return "no register";
    }
    return model != NULL && !model_lists(model, life) ? "spare" : states[member->state];
}

static const char *beat_of(const struct look *self, const struct coord_member *member)
{
    if (member == NULL || member->gone) {
        return member == NULL ? NULL : "ended";
    }
    if (member->beats) {
        return "beats";
    }
    return arena_format(self->view.arena, "silent for %.1f s of looking", (double)member->quiet_us / 1e6);
}

static void add_tasks_of(struct look *self, const struct model *model, struct life life)
{
    uint32_t owned = 0, open = 0;
    for (uint32_t i = 0; model != NULL && i < model->task_count; i++) {
        bool its = life_equal(model_owner(model, &model->tasks[i]), life);
        owned += its;
        open += its && model->tasks[i].open;
    }
    add(self,
        owned == open ? arena_format(self->view.arena, "%u", owned) : arena_format(self->view.arena, "%u, %u of them open", owned, open));
}

static void add_member(struct look *self, struct life life, const struct coord_member *seen)
{
    const struct model *model = self->view.model;
    const struct model_member *listed = model == NULL ? NULL : model_find_member(model, life.id);
    const struct member *member = seen == NULL ? NULL : seen->member;
    char text[LIFE_TEXT_BYTES];
    listed = listed != NULL && life_equal(listed->life, life) ? listed : NULL;
    add(self, life_text(life, text));
    add(self, state_of(model, life, member));
    add(self, listed == NULL ? NULL : arena_format(self->view.arena, "%u", listed->seat));
    add_tasks_of(self, model, life);
    add(self, member == NULL ? NULL : arena_format(self->view.arena, "%u", member->held_count));
    add(self, member == NULL ? NULL : arena_format(self->view.arena, "%" PRIu64, member->seen_version));
    add(self, beat_of(self, seen));
    add(self, member == NULL ? NULL : member->host.host);
    add(self, member == NULL ? NULL : arena_format(self->view.arena, "%" PRId64, member->host.pid));
    add(self, member == NULL || member->failed_count == 0 ? NULL : member->failed[0].message);
}

static void add_damaged(struct look *self, const struct coord_member *member)
{
    add(self, member->id);
    add(self, member->status == STATUS_CORRUPT ? "damaged" : "unreadable");
    for (uint32_t i = 0; i < 7; i++) {
        add(self, NULL);
    }
    add(self, member->damage);
}

static enum status show_members(struct look *self, struct error *err)
{
    struct coord_view *view = &self->view;
    TRY(coord_read_members(view, err));
    TRY(coord_watch_members(view, err));
    TRY(coord_read_model(view, err));
    for (uint32_t i = 0; i < view->member_count; i++) {
        if (view->members[i].member == NULL) {
            add_damaged(self, &view->members[i]);
        } else {
            add_member(self, view->members[i].member->life, &view->members[i]);
        }
    }
    for (uint32_t i = 0; view->model != NULL && i < view->model->member_count; i++) {
        if (coord_find_member(view, view->model->members[i].life) == NULL) {
            add_member(self, view->model->members[i].life, NULL);
        }
    }
    return STATUS_OK;
}

int spate_coord_members(spate_session *session, const char *job, spate_result **result)
{
    static const char *const names[] = {"member", "state", "seat", "tasks", "held", "seen_version", "heartbeat", "host", "pid", "trouble"};
    struct look self;
    enum status status = look_begin(&self, session, job, 10, names, &session->error);
    if (status == STATUS_OK) {
        status = show_members(&self, &session->error);
    }
    return look_end(&self, status, result);
}

/* ---- tasks ---- */

/* What a closed task waits for. */
static const char *waits_for(const struct look *self, const struct model *model, const struct model_task *task)
{
    char from[LIFE_TEXT_BYTES];
    const struct coord_member *holder = coord_find_member(&self->view, task->from);
    life_text(task->from, from);
    if (task->from.id != NULL && task->evicted) {
        return arena_format(self->view.arena, "%s was evicted and is not fenced yet", from);
    }
    if (holder != NULL && holder->member->seen_version < task->epoch) {
        return arena_format(self->view.arena, "%s has not seen version %" PRIu64 " yet: it is at %" PRIu64, from, task->epoch,
                            holder->member->seen_version);
    }
    if (task->from.id != NULL) {
        return arena_format(self->view.arena, "%s has not released it yet", from);
    }
    if (task->owner == MODEL_NONE) {
        return model->member_count == 0 ? "there is no member" : "no member has taken it yet";
    }
    return model->round.kind == MODEL_STOP_ALL ? "all tasks open together, when every member has stopped" : "the leader's next turn";
}

static bool alike(const struct model_task *left, const struct model_task *right)
{
    return left->task + 1 == right->task && left->owner == right->owner && left->epoch == right->epoch && left->open == right->open &&
           left->evicted == right->evicted && life_equal(left->from, right->from);
}

static enum status show_tasks(struct look *self, bool only_closed, struct error *err)
{
    char text[LIFE_TEXT_BYTES > TASK_TEXT_BYTES ? LIFE_TEXT_BYTES : TASK_TEXT_BYTES];
    TRY(need_model(&self->view, err));
    TRY(coord_read_members(&self->view, err));
    const struct model *model = self->view.model;
    for (uint32_t first = 0, next; first < model->task_count; first = next) {
        const struct model_task *task = &model->tasks[first];
        for (next = first + 1; next < model->task_count && alike(&model->tasks[next - 1], &model->tasks[next]); next++) {
        }
        if (only_closed && task->open) {
            continue;
        }
        add(self, task_run_text(task->task, model->tasks[next - 1].task, text));
        add(self, task->owner == MODEL_NONE ? NULL : life_text(model_owner(model, task), text));
        add_number(self, task->epoch);
        add(self, task->open ? "open" : task->retired ? "retired" : "closed");
        add(self, task->open ? NULL : waits_for(self, model, task));
    }
    return STATUS_OK;
}

int spate_coord_tasks(spate_session *session, const char *job, bool only_closed, spate_result **result)
{
    static const char *const names[] = {"tasks", "owner", "epoch", "state", "waits_for"};
    struct look self;
    enum status status = look_begin(&self, session, job, 5, names, &session->error);
    if (status == STATUS_OK) {
        status = show_tasks(&self, only_closed, &session->error);
    }
    return look_end(&self, status, result);
}

/* ---- history ---- */

static enum status show_history(struct look *self, struct error *err)
{
    struct history_round *rounds;
    uint32_t count;
    TRY(history_read(self->view.cluster, self->view.prefix, self->view.arena, &rounds, &count, err));
    for (uint32_t i = 0; i < count; i++) {
        time_t seconds = (time_t)(rounds[i].began_ms / 1000);
        struct tm parts;
        char at[40];
        gmtime_r(&seconds, &parts);
        strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%SZ", &parts);
        add(self, at);
        add_number(self, rounds[i].term);
        add_number(self, rounds[i].version);
        add(self, rounds[i].kind);
        add(self, rounds[i].outcome);
        add(self, rounds[i].took_us < 0 ? NULL : arena_format(self->view.arena, "%.3f s", (double)rounds[i].took_us / 1e6));
        add(self, rounds[i].why);
        add(self, rounds[i].moved[0] == '\0' ? NULL : rounds[i].moved);
        add(self, rounds[i].leader);
    }
    return STATUS_OK;
}

int spate_coord_history(spate_session *session, const char *job, spate_result **result)
{
    static const char *const names[] = {"began", "term", "version", "round", "outcome", "took", "why", "moved", "leader"};
    struct look self;
    enum status status = look_begin(&self, session, job, 9, names, &session->error);
    if (status == STATUS_OK) {
        status = show_history(&self, &session->error);
    }
    return look_end(&self, status, result);
}

/* ---- the model itself ---- */

/* With its tasks, also where these are in a body of their own. */
static enum status unparse(struct coord_view *view, const char **text, struct error *err)
{
    json_t *root = json_loadb(view->model_json.bytes, view->model_json.length, 0, NULL);
    json_t *body = view->model_body.length == 0 ? NULL : json_loadb(view->model_body.bytes, view->model_body.length, 0, NULL);
    if (root != NULL && body != NULL) {
        json_object_update(root, body);
    }
    char *printed = root == NULL ? NULL : json_dumps(root, JSON_INDENT(2));
    *text = printed == NULL ? NULL : arena_text(view->session->arena, printed, strlen(printed));
    free(printed);
    json_decref(root);
    json_decref(body);
    return *text != NULL ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for a model");
}

int spate_coord_model(spate_session *session, const char *job, const char **json)
{
    struct error *err = &session->error;
    struct coord_view view = {0};
    struct arena *arena = arena_create(&session->budget, "a model");
    enum status status =
        arena == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a model") : coord_open(&view, session, job, arena, err);
    if (status == STATUS_OK) {
        status = need_model(&view, err);
    }
    if (status == STATUS_OK) {
        status = unparse(&view, json, err);
    }
    coord_close(&view);
    if (arena != NULL) {
        arena_destroy(arena);
    }
    return status == STATUS_OK ? SPATE_OK : session_fail(session, status);
}
