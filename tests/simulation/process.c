#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "control.h"
#include "fiber.h"
#include "simulation.h"
#include "tasks.h"

void control_operator(struct world *world, const struct model *model, struct control_effect *effect, bool alone)
{
    if (model->plan < world->wanted_plan) {
        effect->stop_all = true;
        effect->plan = world->wanted_plan;
        effect->ctl_rank = alone ? world->wanted_plan : effect->ctl_rank;
        effect->why = "a new plan";
        effect->tasks = world->wanted_tasks;
        effect->task_count = world->wanted_count;
    }
    if (alone && world->pinned) {
        effect->pins = &world->pin;
        effect->pin_count = 1;
    }
}

/* Without a control log. */
static enum status control_turn(void *context, const struct control_view *view, struct control_effect *effect, struct error *err)
{
    (void)err;
    control_operator(context, view->model, effect, true);
    return STATUS_OK;
}

static void schedule_work(struct world *world, uint8_t index)
{
    world_push(world, (struct world_event){.at_us = world->now_us + 50000 + world_below(world, 150000),
                                           .type = WORLD_WORK,
                                           .process = index,
                                           .generation = world->processes[index].generation});
}

static void note_life(struct world *world, uint8_t index)
{
    const struct process *process = &world->processes[index];
    uint64_t incarnation = processor_life(process->processor).incarnation;
    struct life_state *life = checks_life(world, incarnation);
    if (life == NULL && world->life_count < LIFE_MAX) {
        world->lives[world->life_count++] =
            (struct life_state){.incarnation = incarnation, .process = index, .generation = process->generation, .up = true};
    }
}

void process_start(struct world *world, uint8_t index, const char *id, bool twin)
{
    static const char *const verbs[] = {"core/1", "app/1"};
    static struct leader_control control;
    struct process *process = &world->processes[index];
    struct error err;
    uint32_t generation = process->generation + 1;
    char name[sizeof process->id];
    snprintf(name, sizeof name, "%s", id); /* `id` may be the process's own */
    int64_t rate = world->faults[FAULT_CLOCK_RATE] ? (int64_t)world_below(world, 20001) - 10000 : 0;
    *process = (struct process){.up = true,
                                .twin = twin,
                                .generation = generation,
                                .rate = 1 + (double)rate / 1e6,
                                .offset_us = (int64_t)world_below(world, 1000) * SECOND,
                                .wall_offset_us = faults_wall_offset_us(world),
                                .born_us = world->now_us};
    snprintf(process->id, sizeof process->id, "%s", name);
    char host[8];
    snprintf(host, sizeof host, "h%d", index / 2);
    struct processor_config config = {.id = process->id,
                                      .host = {.host = host, .weight = 1, .verbs = (const char **)(uintptr_t)verbs, .verb_count = 2},
                                      .timing = &world->timing,
                                      .random_seed = world_random(world) | 1,
                                      .budget = &world->budget};
    control = (struct leader_control){.context = world, .turn = control_turn};
    if (world->control && !control_start(world, index)) {
        world_fail(world, "a leader's side of the control log cannot start");
        return;
    }
    struct leader_config leader = {.timing = &world->timing,
                                   .random_seed = world_random(world) | 1,
                                   .budget = &world->budget,
                                   .verbs = verbs,
                                   .verb_count = 2,
                                   .standbys = world->stateful,
                                   .control = world->control ? control_leader(world, index) : &control};
    if (processor_create(&config, &process->processor, &err) != STATUS_OK || leader_create(&leader, &process->leader, &err) != STATUS_OK) {
        world_fail(world, "a process cannot start: %s", err.text);
        return;
    }
    char text[LIFE_TEXT_BYTES];
    note_life(world, index);
    world_log(world, "start %s", life_text(processor_life(process->processor), text));
    if (world->control) {
        control_begin(world, index);
    }
    process_feed(world, index, &(struct cluster_event){.kind = EVENT_TIMER});
    schedule_work(world, index);
    if (world->locks) {
        locks_start(world, index);
    }
}

void process_stop(struct world *world, uint8_t index)
{
    struct process *process = &world->processes[index];
    if (!process->up) {
        return;
    }
    world_log(world, "stop %s", process->id);
    fibers_end(world, index);
    control_stop(world, index);
    for (uint32_t i = 0; i < world->life_count; i++) {
        if (world->lives[i].process == index && world->lives[i].generation == process->generation) {
            world->lives[i].up = false;
        }
    }
    processor_destroy(process->processor);
    leader_destroy(process->leader);
    process->processor = NULL;
    process->leader = NULL;
    process->up = false;
    process->work_count = 0;
    process->generation++;
    world->lease_of[index] = 0;
}

static struct work *find_work(struct process *process, uint64_t task)
{
    for (uint32_t i = 0; i < process->work_count; i++) {
        if (process->works[i].task == task) {
            return &process->works[i];
        }
    }
    return NULL;
}

static void drop_work(struct process *process, struct work *work)
{
    *work = process->works[--process->work_count];
}

/* Comes back to the process a little later, as an event of its own. */
void process_later(struct world *world, uint8_t index, int64_t delay_us, struct cluster_event event)
{
    event.sent_us = world_local_us(world, &world->processes[index]);
    world_push(world, (struct world_event){.at_us = world->now_us + delay_us,
                                           .type = WORLD_LOCAL,
                                           .process = index,
                                           .generation = world->processes[index].generation,
                                           .local = event});
}

static void outcome_later(struct world *world, uint8_t index, enum step step, uint64_t request, uint64_t task, enum status status,
                          int64_t delay_us)
{
    process_later(world, index, delay_us,
                  (struct cluster_event){
                      .kind = EVENT_OUTCOME, .step = step, .request = request, .task = task, .status = status, .code = "SIM", .text = ""});
}

/* With an id that outlives the process. */
static struct life life_of(struct world *world, const struct process *process)
{
    return (struct life){services_cell(world, process->id, true)->id, processor_life(process->processor).incarnation};
}

void process_start_ended(struct world *world, uint8_t index, struct work *work, uint64_t task, uint64_t request, enum status status)
{
    struct process *process = &world->processes[index];
    outcome_later(world, index, STEP_START_TASK, request, task, status, 1);
    if (work == NULL) {
        return;
    }
    work->starting = false;
    if (status == STATUS_OK) {
        work->running = work->known = work->ran = true;
        return;
    }
    work->failed = !work->stopping;
    if (!work->ran && !work->stopping) {
        drop_work(process, work);
    }
}

void process_task_ended(struct world *world, uint8_t index, uint64_t task)
{
    struct process *process = &world->processes[index];
    struct work *work = find_work(process, task);
    uint64_t request = work->stop_request;
    drop_work(process, work);
    outcome_later(world, index, STEP_STOP_TASK, request, task, STATUS_OK, 500);
}

static void begin_task(struct world *world, uint8_t index, const struct cluster_action *action)
{
    struct process *process = &world->processes[index];
    struct work *failed = find_work(process, action->task);
    if (process->work_count == TASK_MAX || (failed != NULL && !failed->failed)) {
        world_fail(world, "%s starts a task that it has", process->id);
        return;
    }
    struct work *work = failed != NULL ? failed : &process->works[process->work_count++];
    *work = (struct work){.task = action->task,
                          .epoch = action->epoch,
                          .start_request = action->request,
                          .plan = action->model->plan,
                          .ran = failed != NULL && failed->ran,
                          .written_us = failed != NULL ? failed->written_us : 0};
    if (world->commit_kind == COMMIT_REGISTERS) {
        work->run = action->request;
        work->starting = true;
        tasks_begin(world, index, work, life_of(world, process), false);
        return;
    }
    struct operation *operation = operation_new(world, index, SERVICE_COMMITS);
    operation->step = STEP_START_TASK;
    operation->request = action->request;
    operation->task = action->task;
    operation->entries[0] = (struct commit_entry){.task = action->task, .epoch = action->epoch};
    operation->entry_count = 1;
    world_send(world, operation);
}

/* Its fiber makes a last commit; one that failed has none any more. */
static void stop_run(struct world *world, uint8_t index, struct work *work, uint64_t request)
{
    const struct process *process = &world->processes[index];
    work->stopping = true;
    work->stop_request = request;
    work->stop_after_us = world->now_us < process->slow_stop_until_us ? world->now_us + world_below(world, 60 * SECOND) : 0;
    if (!work->running && !work->starting) {
        work->failed = false;
        work->run = request;
        tasks_begin(world, index, work, life_of(world, process), true);
    }
}

static void end_task(struct world *world, uint8_t index, const struct cluster_action *action)
{
    struct process *process = &world->processes[index];
    struct work *work = find_work(process, action->task);
    checks_stop(world, process, action->task);
    if (work == NULL) {
        outcome_later(world, index, STEP_STOP_TASK, action->request, action->task, STATUS_OK, 1000);
    } else if (!work->running && !work->ran) {
        SOMETIMES(START_CANCELLED);
        outcome_later(world, index, STEP_STOP_TASK, action->request, action->task, STATUS_OK, 1000);
        drop_work(process, work);
    } else if (world->commit_kind == COMMIT_REGISTERS) {
        stop_run(world, index, work, action->request);
    } else { /* of one that failed, a commit more ends the doubt about the last */
        work->known &= work->running;
        work->running = work->stopping = true;
        work->failed = false;
        work->start_request = 0;
        work->stop_request = action->request;
        work->stop_after_us = world->now_us < process->slow_stop_until_us ? world->now_us + world_below(world, 60 * SECOND) : 0;
    }
}

static void send_action(struct world *world, uint8_t index, const struct cluster_action *action)
{
    static const enum service services[STEP_COUNT] = {
        [STEP_RAISE_RECORD] = SERVICE_STORAGE, [STEP_FENCE_SEAT] = SERVICE_COMMITS, [STEP_OPEN_SEAT] = SERVICE_COMMITS};
    struct operation *operation = operation_new(world, index, services[action->step]);
    operation->step = action->step;
    operation->request = action->request;
    operation->life = action->life;
    operation->model = action->model == NULL ? NULL : model_ref(action->model);
    operation->member = action->member == NULL ? NULL : member_ref(action->member);
    operation->version = action->version;
    operation->create = action->create;
    operation->seat = action->seat;
    operation->seat_high = action->seat_high;
    operation->term_floor = action->term_floor;
    if (action->life.id != NULL) { /* texts of actions hold no longer than this call; ids of lives are looked up */
        operation->life.id = services_cell(world, action->life.id, true)->id;
    }
    if (action->step == STEP_OPEN_SEAT && world->faults[FAULT_LATE_SEAT] && !world->calm && world_chance(world, 30)) {
        int64_t ttl = world->timing.lease_ttl.us;
        operation->late_us = ttl + world_below(world, (uint32_t)ttl);
        for (uint32_t i = 0; i < 2; i++) {
            world->cut_until_us[index][SERVICE_COORDINATION][i] = world->now_us + 3 * ttl;
        }
    }
    world_send(world, operation);
}

/* A leader may die, or stand still for long, before or after its record is on its way. */
static void strike_appending(struct world *world, uint8_t index, const char *record)
{
    struct process *process = &world->processes[index];
    int64_t ttl = world->timing.lease_ttl.us;
    if (world->calm) {
        return;
    }
    if (world->faults[FAULT_FREEZE_LONG] && world_chance(world, 6)) {
        process->frozen_until_us = world->now_us + ttl + world_below(world, (uint32_t)ttl);
    } else if (world->faults[FAULT_CRASH_LEADER] && world_chance(world, 10)) {
        sometimes_hits[SOMETIMES_LEADER_DIES_DECIDING] += strstr(record, "\"decide\"") != NULL;
        sometimes_hits[SOMETIMES_LEADER_DIES_CLOSING] += strstr(record, "\"close\"") != NULL;
        world_push(world, (struct world_event){.at_us = world->now_us + world_below(world, 8000),
                                               .type = WORLD_KILL,
                                               .process = index,
                                               .generation = process->generation});
    }
}

static void perform(struct world *world, uint8_t index, const struct cluster_action *action)
{
    struct process *process = &world->processes[index];
    char task[TASK_TEXT_BYTES];
    if (world->log) {
        world_log(world, "  %s %s #%llu %s %s", process->id, step_text(action->step), (unsigned long long)action->request,
                  action->task != 0 ? task_text(action->task, task) : "", action->text != NULL ? action->text : "");
    }
    switch (action->step) {
    case STEP_START_TASK:
        begin_task(world, index, action);
        break;
    case STEP_STOP_TASK:
        end_task(world, index, action);
        break;
    case STEP_ABANDON_ALL:
        process->work_count = 0;
        process->committing = process->paused = false;
        process->producer = 0;
        outcome_later(world, index, STEP_ABANDON_ALL, action->request, 0, STATUS_OK, world->timing.stop_bound.us + 20000);
        break;
    case STEP_SUSPEND:
        process->paused = true;
        break;
    case STEP_RESUME:
        process->paused = false;
        break;
    case STEP_REPORT:
        if (strncmp(action->text, "coord.refused", 13) == 0) {
            SOMETIMES(REFUSED);
        }
        break;
    case STEP_EXIT:
        checks_exit(world, process, action->code);
        process_later(world, index, 1000, (struct cluster_event){.kind = EVENT_OUTCOME, .step = STEP_EXIT});
        break;
    case STEP_FOLLOW_TASK: /* the state is followed at once */
    case STEP_UNFOLLOW_TASK:
        process_later(world, index, 1 + world_below(world, 2 * SECOND),
                      (struct cluster_event){
                          .kind = EVENT_LOCAL_STATE, .task = action->task, .standby = true, .known = action->step == STEP_FOLLOW_TASK});
        break;
    case STEP_READ_CONTROL:
        control_ask(world, index, action);
        break;
    case STEP_APPEND_CONTROL:
        control_ask(world, index, action);
        strike_appending(world, index, action->text);
        break;
    case STEP_PUT_MODEL: /* a leader may die with its write on the way */
        send_action(world, index, action);
        if (world->faults[FAULT_CRASH_LEADER] && !world->calm && world_chance(world, 4)) {
            faults_crash(world, index);
        }
        break;
    case STEP_OPEN_SEAT:
        process->seat = action->seat;
        if (world->commit_kind == COMMIT_REGISTERS) { /* nothing is to be done */
            outcome_later(world, index, STEP_OPEN_SEAT, action->request, 0, STATUS_OK, 1);
        } else {
            send_action(world, index, action);
        }
        break;
    case STEP_FENCE_SEAT:
        if (world->commit_kind == COMMIT_REGISTERS) {
            tasks_fence(world, index, action);
        } else {
            send_action(world, index, action);
        }
        break;
    default:
        send_action(world, index, action);
    }
}

static void note_suspension(struct process *process)
{
    bool suspended = processor_state(process->processor) == PROCESSOR_SUSPENDED;
    if (process->was_suspended && processor_state(process->processor) == PROCESSOR_RUNNING) {
        SOMETIMES(SUSPENDED);
    }
    process->was_suspended = suspended || (process->was_suspended && processor_state(process->processor) == PROCESSOR_JOINING);
}

void process_feed(struct world *world, uint8_t index, const struct cluster_event *event)
{
    struct process *process = &world->processes[index];
    struct cluster_actions actions = {.arena = world->arena, .wake_us = INT64_MAX};
    int64_t now_us = world_local_us(world, process);
    uint32_t generation = process->generation;
    processor_decide(process->processor, event, now_us, &actions);
    leader_decide(process->leader, process->processor, event, now_us, &actions);
    note_life(world, index);
    note_suspension(process);
    if (actions.failed) {
        world_fail(world, "%s has no room", process->id);
    }
    for (uint32_t i = 0; i < actions.count && process->up && process->generation == generation; i++) {
        perform(world, index, &actions.list[i]);
    }
    if (process->up && actions.wake_us < INT64_MAX) {
        int64_t at_us = world_true_us(process, actions.wake_us);
        process->timer++;
        world_push(world, (struct world_event){.at_us = at_us <= world->now_us ? world->now_us + 1 : at_us,
                                               .type = WORLD_TIMER,
                                               .process = index,
                                               .generation = generation,
                                               .local = {.request = process->timer}});
    }
    actions_clear(&actions);
    arena_reset(world->arena);
}

static void note_unknown(const struct operation *operation)
{
    static const enum sometimes names[STEP_COUNT] = {
        [STEP_PUT_MODEL] = SOMETIMES_UNKNOWN_PUT_MODEL, [STEP_PUT_MEMBER] = SOMETIMES_UNKNOWN_PUT_MEMBER,
        [STEP_LEASE_ACQUIRE] = SOMETIMES_UNKNOWN_LEASE, [STEP_RAISE_RECORD] = SOMETIMES_UNKNOWN_RECORD,
        [STEP_FENCE_SEAT] = SOMETIMES_UNKNOWN_FENCE,    [STEP_OPEN_SEAT] = SOMETIMES_UNKNOWN_SEAT,
        [STEP_DELETE_MEMBER] = SOMETIMES_UNKNOWN_DELETE};
    if (names[operation->step] != 0) {
        sometimes_hits[names[operation->step]]++;
    }
}

static void commit_answered(struct world *world, uint8_t index, struct operation *operation, bool unknown);

/* The outcome of a request, or that it was given up. */
static void answered(struct world *world, struct operation *operation, bool given_up)
{
    struct process *process = &world->processes[operation->process];
    bool reads = operation->step == STEP_READ_MODEL || operation->step == STEP_READ_MEMBERS || operation->step == STEP_READ_MEMBER ||
                 operation->step == STEP_START_TASK;
    if (operation->done || !process->up || process->generation != operation->generation) {
        return;
    }
    operation->done = true;
    if (operation->call != CALL_NONE) {
        fiber_answered(operation, given_up);
        return;
    }
    if (operation->commit) {
        commit_answered(world, operation->process, operation, given_up);
        return;
    }
    struct cluster_event event = {.kind = EVENT_OUTCOME,
                                  .step = operation->step,
                                  .request = operation->request,
                                  .sent_us = operation->sent_us,
                                  .status = operation->status,
                                  .result = operation->result};
    if (given_up) {
        event.status = reads ? STATUS_UNAVAILABLE : STATUS_OK;
        event.result = CLUSTER_UNKNOWN;
        note_unknown(operation);
    } else if (operation->status == STATUS_OK && operation->result == CLUSTER_OK) {
        event.model = operation->answer_model;
        event.member = operation->answer_member;
        event.version = operation->answer_version;
        event.gone = operation->gone;
        event.members = operation->views;
        event.member_count = operation->view_count;
        event.term_floor = operation->term_floor;
        event.seat_high = operation->seat_high;
    }
    if (operation->step == STEP_START_TASK) {
        struct work *work = find_work(process, operation->task);
        event.task = operation->task;
        if (work == NULL || work->start_request != operation->request) {
            return process_feed(world, operation->process, &event); /* it was cancelled */
        }
        if (event.status == STATUS_OK && !operation->refused) {
            work->running = work->known = work->ran = true;
            work->base = operation->entries[0].base;
        } else {
            event.status = event.status == STATUS_OK ? STATUS_FENCED : event.status;
            work->failed = true;
            if (!work->ran) {
                drop_work(process, work);
            }
        }
    }
    if (operation->step == STEP_OPEN_SEAT && event.status == STATUS_OK && event.result == CLUSTER_OK) {
        process->producer = operation->answer_producer;
        for (uint32_t i = 0; i < process->work_count; i++) {
            process->works[i].known = false; /* whether the last transaction landed is in the records */
        }
    }
    if (operation->step == STEP_LEASE_RELEASE) {
        return;
    }
    process_feed(world, operation->process, &event);
}

static void commit_refused(struct world *world, uint8_t index)
{
    process_feed(world, index, &(struct cluster_event){.kind = EVENT_COMMIT_REFUSED});
}

static void fail_task(struct world *world, uint8_t index, uint32_t percent)
{
    struct process *process = &world->processes[index];
    if (!world->faults[FAULT_TASK_FAILURE] || world->calm || process->work_count == 0 || !world_chance(world, percent)) {
        return;
    }
    struct work *failed = &process->works[world_below(world, process->work_count)];
    if (failed->running && !failed->stopping && !process->committing) {
        uint64_t task = failed->task;
        failed->running = failed->known = false;
        failed->failed = true;
        process_feed(world, index, &(struct cluster_event){.kind = EVENT_TASK_FAILED, .task = task, .code = "SIM", .text = "a fault"});
    }
}

static void read_again(struct world *world, uint8_t index)
{
    struct process *process = &world->processes[index];
    for (uint32_t i = 0; i < process->work_count; i++) {
        process->works[i].known = false;
    }
    SOMETIMES(SEAT_LOST);
    process->producer = 0;
    process_feed(world, index, &(struct cluster_event){.kind = EVENT_SEAT_LOST});
    fail_task(world, index, 50);
}

static void records_read(struct world *world, uint8_t index, const struct operation *operation)
{
    struct process *process = &world->processes[index];
    if (operation->refused) {
        commit_refused(world, index);
        return;
    }
    for (uint32_t i = 0; i < operation->entry_count; i++) {
        struct work *work = find_work(process, operation->entries[i].task);
        if (work != NULL && work->epoch == operation->entries[i].epoch && work->running) {
            work->known = true;
            work->base = operation->entries[i].base;
        }
    }
}

static void committed(struct world *world, uint8_t index, const struct operation *operation)
{
    struct process *process = &world->processes[index];
    for (uint32_t i = 0; i < operation->entry_count; i++) {
        const struct commit_entry *entry = &operation->entries[i];
        struct work *work = find_work(process, entry->task);
        if (work == NULL || work->epoch != entry->epoch) {
            continue;
        }
        work->base = entry->base + 1;
        if (entry->last) {
            uint64_t request = work->stop_request;
            drop_work(process, work);
            outcome_later(world, index, STEP_STOP_TASK, request, entry->task, STATUS_OK, 500);
        }
    }
}

static void commit_answered(struct world *world, uint8_t index, struct operation *operation, bool unknown)
{
    struct process *process = &world->processes[index];
    if (!process->committing || processor_life(process->processor).incarnation != operation->life.incarnation) {
        return; /* of a life that was abandoned */
    }
    process->committing = false;
    if (operation->status != STATUS_OK && !unknown) {
        return;
    }
    if (operation->records) {
        if (!unknown) {
            records_read(world, index, operation);
        }
    } else if (unknown || operation->result == CLUSTER_CONFLICT) {
        read_again(world, index);
    } else if (operation->refused) {
        commit_refused(world, index);
    } else {
        committed(world, index, operation);
    }
}

/* One request for all tasks at work: a commit, or a reading of the records of those whose last commit is not known. */
static void commit_work(struct world *world, uint8_t index)
{
    struct process *process = &world->processes[index];
    bool records = false;
    for (uint32_t i = 0; i < process->work_count; i++) {
        records |= process->works[i].running && !process->works[i].known;
    }
    struct operation *operation = operation_new(world, index, SERVICE_COMMITS);
    operation->commit = true;
    operation->records = records;
    operation->life = (struct life){NULL, processor_life(process->processor).incarnation};
    operation->seat = process->seat;
    operation->producer = process->producer;
    for (uint32_t i = 0; i < process->work_count; i++) {
        const struct work *work = &process->works[i];
        if (work->running && (records ? !work->known : true)) {
            bool last = work->stopping && world->now_us >= work->stop_after_us && world->now_us >= work->written_us;
            operation->entries[operation->entry_count++] = (struct commit_entry){work->task, work->epoch, work->base, last};
        }
    }
    if (operation->entry_count == 0) {
        operation_unref(operation);
        return;
    }
    process->committing = true;
    bool in_doubt = !records && world->faults[FAULT_LATE_SEAT] && !world->calm && world_chance(world, 2);
    operation->slow_us = in_doubt ? world->call_timeout_us + world_below(world, 2 * SECOND) : 0;
    world_send(world, operation);
    if (in_doubt) { /* and for a while nothing else gets through */
        world->outage_until_us[SERVICE_COMMITS] = world->now_us + world->call_timeout_us + world_below(world, 2 * SECOND);
    }
}

/* Rows to a sink that refuses nobody: each write is on its way for at most stop.bound, by this process's clock. */
static void write_sinks(struct world *world, uint8_t index)
{
    struct process *process = &world->processes[index];
    if (!processor_may_write(process->processor, world_local_us(world, process))) {
        process->held_back_us = world->now_us;
        SOMETIMES(UNFENCED_HELD);
        return;
    }
    for (uint32_t i = 0; i < process->work_count; i++) {
        if (process->works[i].running && process->works[i].known && !process->works[i].stopping) {
            int64_t delay = world_chance(world, 70) ? world_below(world, 20000)
                                                    : (int64_t)(world_below(world, (uint32_t)world->timing.stop_bound.us) / process->rate);
            int64_t arrives_us = world->now_us + delay, *written_us = &process->works[i].written_us;
            *written_us = arrives_us > *written_us ? arrives_us : *written_us;
            world_push(world, (struct world_event){.at_us = world->now_us + delay,
                                                   .type = WORLD_SINK,
                                                   .process = index,
                                                   .local = {.task = process->works[i].task,
                                                             .request = processor_life(process->processor).incarnation ^
                                                                        hash_uint64(process->works[i].epoch)}});
        }
    }
}

static void work(struct world *world, uint8_t index)
{
    struct process *process = &world->processes[index];
    schedule_work(world, index);
    if (process->work_count == 0) {
        return;
    }
    if (world->unfenced) {
        write_sinks(world, index);
    }
    if (world->commit_kind == COMMIT_REGISTERS) {
        return; /* each task has its own time */
    }
    if (!process->paused && !process->committing && process->producer != 0) {
        commit_work(world, index);
    }
    fail_task(world, index, 1);
}

static void execute(struct world *world, struct operation *operation)
{
    const int64_t *cut = world->cut_until_us[operation->process][operation->service];
    services_execute(world, operation);
    bool lost = world->now_us < cut[1] || (world->now_us < world->lose_until_us && world_chance(world, 30));
    if (!lost) {
        int64_t delay = 500 + world_below(world, 4000);
        if (world->now_us < world->slow_until_us && world_chance(world, 30)) {
            delay += world_below(world, 5 * SECOND);
        }
        world_push(world, (struct world_event){.at_us = world->now_us + delay,
                                               .type = WORLD_ANSWER,
                                               .process = operation->process,
                                               .generation = operation->generation,
                                               .operation = operation});
    }
}

static void local_event(struct world *world, const struct world_event *event)
{
    if (event->local.kind == EVENT_OUTCOME && event->local.step == STEP_EXIT) {
        bool comes_back = world->processes[event->process].leaving;
        process_stop(world, event->process);
        bool alone = world->calm; /* refused by one that died meanwhile: whoever watches over processes starts it again */
        for (uint8_t i = 0; i < world->process_count; i++) {
            alone &= !world->processes[i].up || strcmp(world->processes[i].id, world->processes[event->process].id) != 0;
        }
        comes_back |= alone;
        if (comes_back) {
            world_push(world, (struct world_event){.at_us = world->now_us + 100000 + world_below(world, 8 * SECOND),
                                                   .type = WORLD_START,
                                                   .process = event->process,
                                                   .generation = world->processes[event->process].generation});
        }
        return;
    }
    process_feed(world, event->process, &event->local);
}

void process_handle(struct world *world, const struct world_event *event)
{
    struct process *process = &world->processes[event->process];
    if (event->type == WORLD_EXECUTE) {
        execute(world, event->operation);
        return;
    }
    if (!process->up || process->generation != event->generation) {
        return;
    }
    switch (event->type) {
    case WORLD_TIMER:
        if (event->local.request == process->timer) {
            process_feed(world, event->process, &(struct cluster_event){.kind = EVENT_TIMER});
        }
        break;
    case WORLD_HINT:
        process_feed(world, event->process, &(struct cluster_event){.kind = EVENT_HINT});
        break;
    case WORLD_ANSWER:
        answered(world, event->operation, false);
        break;
    case WORLD_TIMEOUT:
        answered(world, event->operation, true);
        break;
    case WORLD_WORK:
        work(world, event->process);
        break;
    case WORLD_LOCAL:
        local_event(world, event);
        break;
    case WORLD_FIBER:
        fiber_woken(world, event);
        break;
    default:
        break;
    }
}
