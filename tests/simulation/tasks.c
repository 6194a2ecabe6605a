/* Tasks that commit in registers: each runs as a thread of the product would, with the real commit records (cluster/commit_record.h) and the
 * real checkpoints (storage/checkpoints.h) over the simulated services, by the rules of job/checkpoint_task.c.
 *
 * A tick reads some inputs, each known by its position; its output is computed from the state and goes into files that nobody sees. The
 * checkpoint has the state and names the files; when the commit record names the checkpoint it counts; then the files are shown. Who takes a
 * task over restores what the record names, shows its files once more, and removes what never counted. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cluster/commit_record.h"
#include "control.h"
#include "objects.h"
#include "storage/checkpoints.h"
#include "storage/retention.h"
#include "tasks.h"

enum { KEPT = 2, UNSHOWN_MAX = 40, LISTED_MAX = 100, RETRY_US = 100000 };

struct task_context {
    uint64_t task, epoch, run;
    struct life life;
    bool settles; /* only ends the doubt about the last commit */
    struct storage *storage;
    struct commit_store store;
    struct arena *arena; /* of one step */
    char name[TASK_TEXT_BYTES], incarnation[40];
    uint64_t position, committed; /* committed: the position of the last commit that is known to count */
    uint64_t state, number, files;
    struct tasks_file unshown[UNSHOWN_MAX]; /* of no commit that is known to count, or not shown yet */
    uint32_t unshown_count;
    struct commit_record record; /* the last that counted */
    uint64_t uncounted[LISTED_MAX], listed[LISTED_MAX];
    uint32_t uncounted_count, listed_count;
    int64_t sweep_us; /* not before */
    struct control_place edits;
};

/* NULL: the task is no longer this fiber's. */
static struct work *work_of(const struct fiber *fiber, const struct task_context *task)
{
    struct process *process = &fiber->world->processes[fiber->process];
    for (uint32_t i = 0; !fiber->dead && i < process->work_count; i++) {
        if (process->works[i].task == task->task && process->works[i].run == task->run) {
            return &process->works[i];
        }
    }
    return NULL;
}

static bool is_fenced(const struct error *err)
{
    return err->code == ERROR_JOB_TAKEN;
}

static void report_fence(struct fiber *fiber, const struct task_context *task)
{
    const struct record *record = services_record(fiber->world, task->task);
    SOMETIMES(COMMIT_FENCED);
    if (work_of(fiber, task) != NULL && record->epoch == task->epoch && record->incarnation == task->life.incarnation) {
        world_fail(fiber->world, "I19: %s believes that its commit record is another's: it is its own", task->name);
    }
    if (work_of(fiber, task) != NULL) {
        process_later(fiber->world, fiber->process, 1, (struct cluster_event){.kind = EVENT_COMMIT_REFUSED});
    }
}

/* ---- the operator: its state is a chain over its inputs, and so is each output ---- */

static uint64_t next_state(uint64_t state, uint64_t task, uint64_t position)
{
    return hash_combine(hash_combine(state, task), position + 1);
}

uint64_t tasks_state_after(uint64_t state, uint64_t task, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        state = next_state(state, task, i);
    }
    return state;
}

uint64_t tasks_output(uint64_t state, uint64_t task, uint64_t from, uint64_t to)
{
    uint64_t output = 1;
    for (uint64_t i = from; i < to; i++) {
        state = next_state(state, task, i);
        output = hash_combine(output, state);
    }
    return output;
}

static void process_inputs(struct fiber *fiber, struct task_context *task)
{
    uint64_t from = task->position, to = from + 1 + world_below(fiber->world, 3);
    uint64_t name = hash_combine(hash_combine(task->life.incarnation, task->run), ++task->files) >> 12;
    task->unshown[task->unshown_count++] = (struct tasks_file){name, from, to, tasks_output(task->state, task->task, from, to)};
    task->state = tasks_state_after(task->state, task->task, from, to);
    task->position = to;
}

/* ---- a checkpoint ---- */

static const char *write_extra(const struct task_context *task, struct arena *arena)
{
    struct text_builder text = {0};
    text_append_format(&text, "{\"counted\":%" PRIu64 ",\"input_from\":%" PRIu64 ",\"input_to\":%" PRIu64, task->record.seq,
                       task->committed, task->position);
    text_append_format(&text, ",\"edits_known\":%d,\"edits_begun\":%" PRIu64 ",\"edits_rank\":%" PRIu64 ",\"edits_chain\":%" PRIu64,
                       task->edits.known, task->edits.begun, task->edits.rank, task->edits.edits);
    text_append_format(&text, ",\"output_files\":[");
    for (uint32_t i = 0; i < task->unshown_count; i++) {
        const struct tasks_file *file = &task->unshown[i];
        text_append_format(&text, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",\"%016" PRIx64 "\"]", i == 0 ? "" : ",", file->name, file->from,
                           file->to, file->output);
    }
    text_append_format(&text, "]}");
    const char *kept = arena_text(arena, text.bytes, text.length);
    text_builder_close(&text);
    return kept;
}

static uint64_t number_after(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at == NULL ? 0 : strtoull(at + strlen(name) + strcspn(at + strlen(name), "0123456789"), NULL, 10);
}

void tasks_read_edits(const char *extra, struct control_place *place)
{
    place->known = number_after(extra, "\"edits_known\":") != 0;
    place->begun = number_after(extra, "\"edits_begun\":");
    place->rank = number_after(extra, "\"edits_rank\":");
    place->edits = number_after(extra, "\"edits_chain\":");
}

uint32_t tasks_read_extra(const char *extra, uint64_t *from, uint64_t *to, struct tasks_file *files, uint32_t capacity)
{
    uint32_t count = 0;
    const char *at = strstr(extra, "\"output_files\"");
    *from = number_after(extra, "\"input_from\":");
    *to = number_after(extra, "\"input_to\":");
    at = at == NULL ? NULL : strchr(at, '[') + 1;
    while (at != NULL && count < capacity && (at = strpbrk(at, "[]")) != NULL && *at == '[') {
        char *end;
        struct tasks_file *file = &files[count++];
        file->name = strtoull(at + 1, &end, 10);
        file->from = strtoull(end + 1, &end, 10);
        file->to = strtoull(end + 1, &end, 10);
        file->output = strtoull(end + strcspn(end, "\"") + 1, &end, 16);
        at = strchr(end, ']') + 1;
    }
    return count;
}

/* Stores all that is needed to go on from here. */
static enum status store_checkpoint(struct task_context *task, struct error *err)
{
    struct checkpoint_writer *writer;
    enum object_result result = OBJECT_OK;
    struct checkpoint_file file;
    char state[60];
    snprintf(state, sizeof state, "%" PRIu64 " %016" PRIx64, task->position, task->state);
    TRY(checkpoint_begin(task->storage, "j", task->name, task->incarnation, &writer, err));
    enum status status = checkpoint_add_bytes(writer, state, strlen(state), 1, task->arena, &file, err);
    if (status == STATUS_OK) {
        struct checkpoint_table table = {.name = "state", .kind = "full", .files = &file, .file_count = 1};
        struct checkpoint_manifest manifest = {.seq = task->number,
                                               .epoch = task->epoch,
                                               .base = -1,
                                               .tables = &table,
                                               .table_count = 1,
                                               .watermark_ms = INT64_MIN,
                                               .build = "simulated",
                                               .extra = write_extra(task, task->arena)};
        status = checkpoint_commit(writer, &manifest, &result, err);
    }
    checkpoint_end(writer);
    return status != STATUS_OK || result == OBJECT_OK ? status : error_set(err, ERROR_JOB_TAKEN, "that number is another's");
}

/* Files of what counts, in order. One that is shown already stays as it is. */
static enum status show(struct fiber *fiber, struct task_context *task, struct error *err)
{
    while (task->unshown_count > 0) {
        struct operation *operation = session_request(fiber, CALL_SHOW, task->name);
        operation->service = SERVICE_STORAGE;
        operation->task = task->task;
        operation->file = task->unshown[0];
        enum awaited awaited = fiber_await(fiber, operation);
        bool shown = awaited == AWAITED_ANSWER && operation->status == STATUS_OK;
        operation_unref(operation);
        if (!shown) {
            return session_unavailable(err);
        }
        memmove(task->unshown, task->unshown + 1, --task->unshown_count * sizeof *task->unshown);
    }
    return STATUS_OK;
}

/* ---- taking a task ---- */

static enum status note_listed(void *context, uint64_t seq, bool *stop, struct error *err)
{
    struct task_context *task = context;
    (void)err;
    *stop = task->listed_count == LISTED_MAX - 1;
    task->listed[task->listed_count++] = seq;
    return STATUS_OK;
}

/* What was listed before the record was taken, and is not named by it, can never count any more. */
static enum status remove_uncounted(struct task_context *task, struct error *err)
{
    for (uint32_t i = 0; i < task->listed_count; i++) {
        enum object_result result;
        bool counts = task->listed[i] == task->record.seq;
        for (uint32_t k = 0; k < task->record.kept_count; k++) {
            counts |= task->listed[i] == task->record.kept[k];
        }
        if (!counts) {
            TRY(checkpoint_remove(task->storage, "j", task->name, task->listed[i], &result, err));
        }
    }
    return STATUS_OK;
}

static enum status take_state(void *context, const void *bytes, size_t length, struct error *err)
{
    struct task_context *task = context;
    char text[100] = "";
    memcpy(text, bytes, length < sizeof text ? length : sizeof text - 1);
    if (sscanf(text, "%" SCNu64 " %" SCNx64, &task->position, &task->state) != 2) {
        return error_set(err, ERROR_STORE_CORRUPT, "that is no state");
    }
    return STATUS_OK;
}

static enum status restore(struct task_context *task, struct error *err)
{
    struct checkpoint_manifest manifest;
    enum object_result result;
    uint64_t from, to;
    if (task->record.seq == 0) {
        return STATUS_OK;
    }
    TRY(checkpoint_read_manifest(task->storage, "j", task->name, task->record.seq, task->arena, &result, &manifest, err));
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_STORE_MISSING, "checkpoint %" PRIu64 " is not there", task->record.seq);
    }
    const struct object_sink sink = {take_state, task};
    TRY(checkpoint_open_file(task->storage, &manifest.tables[0].files[0], &sink, err));
    task->committed = task->position;
    tasks_read_edits(manifest.extra, &task->edits);
    task->unshown_count = tasks_read_extra(manifest.extra, &from, &to, task->unshown, UNSHOWN_MAX);
    return STATUS_OK;
}

static enum status take(struct fiber *fiber, struct task_context *task, struct error *err)
{
    TRY(objects_open_storage(fiber, &task->storage, err));
    TRY(checkpoint_list(task->storage, "j", task->name, note_listed, task, err));
    if (!fiber->world->calm && world_chance(fiber->world, 10)) { /* whoever cancels the start does not wait for that */
        fiber_sleep(fiber, world_below(fiber->world, (uint32_t)fiber->world->timing.lease_ttl.us));
    }
    TRY(commit_record_take(&task->store, task->listed_count == 0 ? 0 : task->listed[0], &task->record, err));
    task->number = commit_first_number(task->record.generation) - 1;
    TRY(restore(task, err));
    const struct record *record = services_record(fiber->world, task->task);
    if (record->return_epoch > record->commit_epoch) { /* what stands is told it; edits begin anew */
        task->edits = (struct control_place){.begun = task->edits.rank, .rank = task->edits.rank};
    }
    task->edits.since_us = fiber->world->now_us;
    TRY(remove_uncounted(task, err));
    return show(fiber, task, err);
}

/* ---- a commit ---- */

static void next_record(const struct task_context *task, struct commit_record *next)
{
    *next = task->record;
    if (task->record.seq != 0) {
        if (next->kept_count == KEPT) {
            memmove(next->kept, next->kept + 1, --next->kept_count * sizeof *next->kept);
        }
        next->kept[next->kept_count++] = task->record.seq;
    }
    next->seq = task->number;
    next->ctl_rank = task->edits.rank;
}

/* The manifest is stored: a service that is away for a while costs nothing but time. */
static enum status count_checkpoint(struct fiber *fiber, struct task_context *task, struct error *err)
{
    struct commit_record next;
    next_record(task, &next);
    enum status status = commit_record_put(&task->store, &next, err);
    for (uint32_t i = 0; i < 1 && status != STATUS_OK && !is_fenced(err) && fiber_sleep(fiber, RETRY_US); i++) {
        status = commit_record_put(&task->store, &next, err);
    }
    if (status != STATUS_OK) {
        if (task->uncounted_count < LISTED_MAX) {
            task->uncounted[task->uncounted_count++] = task->number; /* it may yet count: nothing of it is removed now */
        }
        return status;
    }
    uint64_t dropped = task->record.kept_count == KEPT ? task->record.kept[0] : 0;
    task->record = next;
    task->committed = task->position;
    struct error ignored;
    enum object_result result;
    if (dropped != 0) {
        (void)!checkpoint_remove(task->storage, "j", task->name, dropped, &result, &ignored);
    }
    while (task->uncounted_count > 0) {
        (void)!checkpoint_remove(task->storage, "j", task->name, task->uncounted[--task->uncounted_count], &result, &ignored);
    }
    return STATUS_OK;
}

static enum status commit(struct fiber *fiber, struct task_context *task, struct error *err)
{
    arena_reset(task->arena);
    task->number++;
    enum status status = store_checkpoint(task, err);
    if (status == STATUS_OK) {
        status = count_checkpoint(fiber, task, err);
    }
    if (status != STATUS_OK) {
        bool doubtful = commit_record_is_doubtful(&task->store);
        sometimes_hits[SOMETIMES_COMMIT_DOUBTFUL] += doubtful && !fiber->dead;
        sometimes_hits[SOMETIMES_CHECKPOINT_FAILED] += !doubtful && !fiber->dead;
        return status;
    }
    while (show(fiber, task, err) != STATUS_OK) {
        if (work_of(fiber, task) == NULL || !fiber_sleep(fiber, RETRY_US)) {
            return session_unavailable(err);
        }
    }
    return STATUS_OK;
}

/* false: it ends. */
static bool tick(struct fiber *fiber, struct task_context *task)
{
    struct world *world = fiber->world;
    struct work *work = work_of(fiber, task);
    struct error err;
    if (work == NULL || !work->running || world->processes[fiber->process].paused) {
        return work != NULL && work->running;
    }
    bool last = work->stopping && world->now_us >= work->stop_after_us && world->now_us >= work->written_us;
    if (!last && task->unshown_count < UNSHOWN_MAX) {
        control_apply(world, fiber->process, &task->edits);
        process_inputs(fiber, task);
    }
    enum status status = commit(fiber, task, &err);
    if (status != STATUS_OK && is_fenced(&err)) {
        report_fence(fiber, task);
        return false;
    }
    work = work_of(fiber, task);
    if (work != NULL && status == STATUS_OK) {
        work->ctl_committed = task->record.ctl_rank;
    }
    if (work != NULL && status == STATUS_OK && last) {
        process_task_ended(world, fiber->process, task->task);
        return false;
    }
    return work != NULL;
}

static bool fails(struct fiber *fiber, const struct task_context *task)
{
    struct world *world = fiber->world;
    struct work *work = work_of(fiber, task);
    if (work == NULL || work->stopping || !world->faults[FAULT_TASK_FAILURE] || world->calm || !world_chance(world, 2)) {
        return false;
    }
    work->running = work->known = false;
    work->failed = true;
    process_later(world, fiber->process, 1,
                  (struct cluster_event){.kind = EVENT_TASK_FAILED, .task = task->task, .code = "SIM", .text = "a fault"});
    return true;
}

/* One task of the job also sees to what is no longer needed, as the product's do; whoever owns it, and for a while one that owned it. */
static void sweep(struct fiber *fiber, struct task_context *task)
{
    static const struct sweep_request request;
    struct world *world = fiber->world;
    struct sweep_report report;
    struct error ignored;
    if (!world->sweeps || task_partition(task->task) != 0 || world->now_us < task->sweep_us) {
        return;
    }
    task->sweep_us = world->now_us + 2 * SECOND;
    if (storage_sweep(task->storage, &request, &report, &ignored) == STATUS_OK) {
        sometimes_hits[SOMETIMES_EXPIRED] += report.expired > 0;
        sometimes_hits[SOMETIMES_SWEPT] += report.deleted > 0;
    }
}

static void run_ticks(struct fiber *fiber, struct task_context *task)
{
    while (fiber_sleep(fiber, 200000 + world_below(fiber->world, 500000)) && tick(fiber, task)) {
        if (fails(fiber, task)) {
            return;
        }
        sweep(fiber, task);
    }
}

/* ---- a task's life ---- */

/* false: it does not run. */
static bool started(struct fiber *fiber, struct task_context *task, enum status status, const struct error *err)
{
    enum status told = status == STATUS_OK ? STATUS_OK : is_fenced(err) ? STATUS_FENCED : STATUS_UNAVAILABLE;
    bool runs = status == STATUS_OK && work_of(fiber, task) != NULL;
    if (runs) {
        work_of(fiber, task)->ctl_committed = task->record.ctl_rank;
    }
    if (!fiber->dead) {
        process_start_ended(fiber->world, fiber->process, work_of(fiber, task), task->task, task->run, told);
    }
    return runs;
}

/* A task that failed, and is stopped: to take its record once more, under the same epoch and life, makes an end of what is on its way. */
static void settle(struct fiber *fiber, struct task_context *task)
{
    struct error err;
    while (work_of(fiber, task) != NULL && fiber->world->now_us < work_of(fiber, task)->written_us) {
        fiber_sleep(fiber, RETRY_US);
    }
    while (work_of(fiber, task) != NULL) {
        enum status status = commit_record_take(&task->store, 0, &task->record, &err);
        if (status == STATUS_OK && work_of(fiber, task) != NULL) {
            process_task_ended(fiber->world, fiber->process, task->task);
        } else if (status != STATUS_OK && is_fenced(&err)) {
            report_fence(fiber, task);
            return;
        }
        if (!fiber_sleep(fiber, 2 * RETRY_US)) {
            return;
        }
    }
}

static void run(struct fiber *fiber, void *context)
{
    struct task_context *task = context;
    struct error err;
    task_text(task->task, task->name);
    task->arena = arena_create(&fiber->world->budget, "task");
    snprintf(task->incarnation, sizeof task->incarnation, "%" PRIx64 "-%" PRIu64, task->life.incarnation, task->run);
    enum status status = commit_store_open(&task->store, &fiber->session, "jobs/j", task->task, task->epoch, task->life, &err);
    if (status != STATUS_OK) {
        world_fail(fiber->world, "no room for a commit store");
    } else if (task->settles) {
        settle(fiber, task);
    } else {
        status = take(fiber, task, &err);
        if (started(fiber, task, status, &err)) {
            run_ticks(fiber, task);
        } else if (work_of(fiber, task) != NULL && work_of(fiber, task)->stopping) {
            settle(fiber, task);
        }
    }
    commit_store_close(&task->store);
    storage_close(task->storage);
    arena_destroy(task->arena);
}

void tasks_begin(struct world *world, uint8_t process, const struct work *work, struct life life, bool settles)
{
    struct task_context *task = calloc(1, sizeof *task);
    *task = (struct task_context){.task = work->task, .epoch = work->epoch, .run = work->run, .life = life, .settles = settles};
    fiber_start(world, process, world->register_service, run, task);
}

/* ---- the leader's fence ---- */

struct fence_context {
    const struct model *model;
    struct life life;
    uint64_t request;
};

static void run_fence(struct fiber *fiber, void *context)
{
    struct fence_context *fence = context;
    struct error err;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < fence->model->task_count && status == STATUS_OK; i++) {
        const struct model_task *task = &fence->model->tasks[i];
        if (task->evicted && life_equal(task->from, fence->life)) {
            status = commit_record_fence(&fiber->session, "jobs/j", task->task, task->epoch, &err);
        }
    }
    if (status == STATUS_OK) {
        checks_fenced(fiber->world, fence->life);
    }
    if (!fiber->dead) {
        process_later(fiber->world, fiber->process, 1,
                      (struct cluster_event){.kind = EVENT_OUTCOME, .step = STEP_FENCE_SEAT, .request = fence->request, .status = status});
    }
    model_unref(fence->model);
}

void tasks_fence(struct world *world, uint8_t process, const struct cluster_action *action)
{
    struct fence_context *fence = calloc(1, sizeof *fence);
    *fence = (struct fence_context){
        model_ref(action->model), {services_cell(world, action->life.id, true)->id, action->life.incarnation}, action->request};
    fiber_start(world, process, world->register_service, run_fence, fence);
}
