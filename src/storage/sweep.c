/* The plan: {"v": 1, "made_us": ..., "items": [{"kind", "key", "etag"}]} in the jobs' place. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "storage/job_records.h"
#include "storage/metric_store.h"
#include "storage/sweep_internal.h"

enum { PLAN_FORM = 1, PLAN_ITEMS_MAX = 100000, ROLL_UP_DAYS_MAX = 14 };
#define DAY_US   (INT64_C(86400) * 1000000)
#define PLAN_KEY "v1/gc/plan.json"

void sweep_tell(struct sweep *sweep, enum sweep_action action, enum store_kind kind, const char *key, uint64_t bytes)
{
    if (sweep->request->visit != NULL) {
        sweep->request->visit(sweep->request->context, action, kind, key, bytes);
    }
}

/* ---- making a plan ---- */

struct plan_maker {
    struct sweep *sweep;
    enum store_kind kind;
    const struct sweep_marks *marks;
    json_t *items;
};

static bool is_old(const struct sweep *sweep, const struct object_info *info)
{
    return info->modified_us <= sweep->now_us - sweep->limits->gc_grace.us;
}

static enum status plan_visit(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    struct plan_maker *self = context;
    enum sweep_class class = sweep_classify(key);
    bool is_content = class == SWEEP_STATE_FILE || class == SWEEP_SAVEPOINT_FILE || class == SWEEP_BLOB;
    if (!is_content || sweep_is_marked(self->marks, class, key) || !is_old(self->sweep, info)) {
        return STATUS_OK;
    }
    json_t *item = json_pack("{s:s, s:s, s:s}", "kind", store_kind_name(self->kind), "key", key, "etag", info->etag);
    if (json_array_append_new(self->items, item) != 0) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the plan of a sweep");
    }
    self->sweep->report->planned++;
    sweep_tell(self->sweep, SWEEP_PLANS, self->kind, key, info->bytes);
    *stop = json_array_size(self->items) >= PLAN_ITEMS_MAX; /* the rest is for the next plan */
    return STATUS_OK;
}

static enum status plan_write(struct sweep *sweep, json_t *items, struct arena *arena, struct error *err)
{
    enum object_result result;
    struct object_info info;
    struct text text;
    TRY(document_write(json_pack("{s:i, s:I, s:O}", "v", PLAN_FORM, "made_us", (json_int_t)sweep->now_us, "items", items), arena, &text,
                       err));
    return store_put(storage_objects(sweep->storage, STORE_JOBS), PLAN_KEY, text.bytes, text.length, PUT_ANY, NULL, &result, &info, err);
}

static enum status plan_make(struct sweep *sweep, const struct sweep_marks *marks, struct error *err)
{
    struct sweep_places places;
    struct plan_maker maker = {.sweep = sweep, .marks = marks, .items = json_array()};
    enum status status = STATUS_OK;
    sweep_places_find(sweep->storage, &places);
    for (uint32_t i = 0; i < places.count && status == STATUS_OK; i++) {
        struct object_store *store = storage_objects(sweep->storage, places.kinds[i]);
        maker.kind = places.kinds[i];
        status = store->driver->list(store, "v1/", NULL, plan_visit, &maker, err);
    }
    if (status == STATUS_OK && json_array_size(maker.items) > 0) {
        sweep->report->plan_due_us = sweep->now_us + sweep->limits->gc_grace.us;
        status = sweep->request->dry_run ? STATUS_OK : plan_write(sweep, maker.items, marks->arena, err);
    }
    json_decref(maker.items);
    return status;
}

/* ---- carrying a plan out ---- */

static enum status item_delete(struct sweep *sweep, const struct sweep_marks *marks, const json_t *item, struct error *err)
{
    const char *kind_name = json_string_value(json_object_get(item, "kind")), *key = json_string_value(json_object_get(item, "key"));
    const char *etag = json_string_value(json_object_get(item, "etag"));
    enum store_kind kind;
    struct object_info info;
    enum object_result result;
    if (kind_name == NULL || key == NULL || etag == NULL || !store_kind_find(kind_name, strlen(kind_name), &kind)) {
        return error_set(err, ERROR_STORE_CORRUPT, "'" PLAN_KEY "' is wrong: an item lacks its kind, key or etag");
    }
    enum sweep_class class = sweep_classify(key);
    bool is_content = class == SWEEP_STATE_FILE || class == SWEEP_SAVEPOINT_FILE || class == SWEEP_BLOB;
    if (!is_content || sweep_is_marked(marks, class, key)) {
        return STATUS_OK;
    }
    struct object_store *store = storage_objects(sweep->storage, kind);
    TRY(store->driver->head(store, key, &result, &info, err));
    if (result != OBJECT_OK || strcmp(info.etag, etag) != 0 || !is_old(sweep, &info)) {
        return STATUS_OK;
    }
    if (!sweep->request->dry_run) {
        TRY(store_remove(store, key, etag, &result, err));
    }
    if (result == OBJECT_OK) {
        sweep->report->deleted++;
        sweep->report->deleted_bytes += info.bytes;
        sweep_tell(sweep, SWEEP_DELETES, kind, key, info.bytes);
    }
    return STATUS_OK;
}

static enum status plan_carry_out(struct sweep *sweep, const struct document *plan, const struct sweep_marks *marks, struct error *err)
{
    const json_t *items = json_object_get(plan->root, "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        TRY(item_delete(sweep, marks, json_array_get(items, i), err));
    }
    enum object_result result;
    return sweep->request->dry_run ? STATUS_OK : store_remove(storage_objects(sweep->storage, STORE_JOBS), PLAN_KEY, NULL, &result, err);
}

static enum status plan_step(struct sweep *sweep, struct sweep_marks *marks, struct error *err)
{
    enum object_result result;
    struct text text;
    struct document plan;
    TRY(store_get(storage_objects(sweep->storage, STORE_JOBS), PLAN_KEY, marks->arena, &result, &text, NULL, err));
    if (result == OBJECT_OK) {
        TRY(document_open(PLAN_KEY, text, PLAN_FORM, marks->arena, &plan, err));
        int64_t due_us = document_int(&plan, plan.root, "made_us", DOCUMENT_REQUIRED, 0) + sweep->limits->gc_grace.us;
        enum status status = document_status(&plan);
        bool is_due = sweep->now_us >= due_us;
        if (status == STATUS_OK && is_due) {
            status = plan_carry_out(sweep, &plan, marks, err);
        }
        if (status == STATUS_OK && !is_due) {
            sweep->report->planned = json_array_size(json_object_get(plan.root, "items"));
            sweep->report->plan_due_us = due_us;
        }
        document_close(&plan);
        if (status != STATUS_OK || !is_due || sweep->request->dry_run) {
            return status;
        }
    }
    return plan_make(sweep, marks, err);
}

enum status storage_sweep(struct storage *storage, const struct sweep_request *request, struct sweep_report *report, struct error *err)
{
    const struct clock *clock = storage_clock(storage);
    struct sweep sweep = {.storage = storage, .request = request, .report = report, .limits = storage_limits_of(storage)};
    struct sweep_marks marks;
    sweep.marks = &marks;
    *report = (struct sweep_report){0};
    sweep.now_us = clock->wall_us(clock);
    TRY(storage_check(storage, ACCESS_JOBS, ACCESS_ADMIN, NULL, err));
    TRY(sweep_marks_open(&marks, err));
    enum status status = sweep_mark_all(storage, &marks, err);
    if (status != STATUS_OK) {
        error_add_context(err, "nothing was deleted: what cannot be read may name what would be");
    }
    if (status == STATUS_OK && (status = sweep_expire_all(&sweep, err)) == STATUS_OK) {
        status = plan_step(&sweep, &marks, err);
    }
    sweep_marks_close(&marks);
    return status;
}

/* Before anything expires: figures of all jobs into their coarser resolutions. */
static enum status roll_up_job(void *context, const struct job_record *record, bool *stop, struct error *err)
{
    (void)stop;
    struct storage *storage = context;
    int64_t days = storage_limits_of(storage)->kinds[STORE_METRICS].retain.us / DAY_US + 1;
    uint64_t made;
    return metrics_roll_up(storage, record->id, days < ROLL_UP_DAYS_MAX ? (uint32_t)days : ROLL_UP_DAYS_MAX, &made, err);
}

enum status storage_sweep_due(struct storage_sweeper *sweeper, struct storage *storage, struct error *err)
{
    static const struct sweep_request request;
    const struct clock *clock = storage_clock(storage);
    int64_t now_us = clock->monotonic_us(clock);
    if (sweeper->ran && now_us - sweeper->last_us < storage_limits_of(storage)->gc_interval.us) {
        return STATUS_OK;
    }
    sweeper->ran = true;
    sweeper->last_us = now_us; /* also after a failure: the next try is an interval away */
    TRY(job_record_list(storage, NULL, roll_up_job, storage, err));
    return storage_sweep(storage, &request, &sweeper->report, err);
}
