#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "objects.h"

struct cell *services_cell(struct world *world, const char *id, bool make)
{
    for (uint32_t i = 0; i < PROCESS_MAX; i++) {
        struct cell *cell = &world->cells[i];
        if (strcmp(cell->id, id) == 0) {
            return cell;
        }
        if (cell->id[0] == '\0' && make) {
            snprintf(cell->id, sizeof cell->id, "%s", id);
            return cell;
        }
    }
    return NULL;
}

int64_t services_silence_us(const struct world *world, const struct cell *cell)
{
    bool outage = world->long_outage_end_us > cell->written_us && world->long_outage_end_us <= world->now_us;
    return world->now_us - (outage ? world->long_outage_end_us : cell->written_us);
}

struct cluster_version services_version(uint64_t number)
{
    struct cluster_version version;
    snprintf(version.token, sizeof version.token, "%llu", (unsigned long long)number);
    return version;
}

bool services_same_version(const struct cluster_version *version, uint64_t number)
{
    struct cluster_version now = services_version(number);
    return strcmp(now.token, version->token) == 0;
}

struct record *services_record(struct world *world, uint64_t task)
{
    for (uint32_t i = 0; i < world->record_count; i++) {
        if (world->records[i].task == task) {
            return &world->records[i];
        }
    }
    if (world->record_count == TASK_MAX) {
        world_fail(world, "the simulator has no room for another task");
        return &world->records[0];
    }
    world->records[world->record_count] = (struct record){.task = task};
    return &world->records[world->record_count++];
}

static bool process_is_gone(struct world *world, uint64_t incarnation)
{
    struct life_state *life = checks_life(world, incarnation);
    return world->gone_known && life != NULL && !life->up;
}

bool services_read_fails(struct world *world)
{
    return world->now_us < world->errors_until_us && world_chance(world, 30);
}

static void hint_all(struct world *world)
{
    for (uint8_t i = 0; i < world->process_count && world->hints; i++) {
        bool lost = world->faults[FAULT_LOST_HINTS] && world_chance(world, 30);
        bool twice = world->faults[FAULT_LOST_HINTS] && world_chance(world, 10);
        for (int n = 0; n < (lost ? 0 : twice ? 2 : 1); n++) {
            world_push(world, (struct world_event){.at_us = world->now_us + 500 + world_below(world, 20000),
                                                   .type = WORLD_HINT,
                                                   .process = i,
                                                   .generation = world->processes[i].generation});
        }
    }
}

static void read_model(struct world *world, struct operation *operation)
{
    if (services_read_fails(world)) {
        operation->status = world_chance(world, 50) ? STATUS_UNAVAILABLE : STATUS_CORRUPT;
        return;
    }
    if (world->model_lost) {
        operation->result = CLUSTER_ABSENT;
        return;
    }
    const struct process *process = &world->processes[operation->process];
    bool fresh = process->up && process->generation == operation->generation && processor_model(process->processor) == NULL;
    bool old = world->lagging && fresh && world->old_model != NULL && world_chance(world, 50);
    if (old) {
        SOMETIMES(OLD_MODEL);
    }
    operation->answer_model = model_ref(old ? world->old_model : world->model);
    operation->answer_version = services_version(old ? world->model_version - 1 : world->model_version);
}

/* As bytes and back, as a real register would give it. */
static const struct model *through_wire(struct world *world, const struct model *model)
{
    struct error err;
    struct text json, body;
    char sha256[MODEL_SHA256_BYTES];
    struct model *read = NULL;
    struct arena *arena = arena_create(&world->budget, "wire");
    if (model_write(model, arena, &json, &body, sha256, &err) != STATUS_OK ||
        model_read("model", json, &world->budget, &read, &err) != STATUS_OK) {
        world_fail(world, "a model cannot be written and read: %s", err.text);
    }
    arena_destroy(arena);
    return read;
}

static void put_model(struct world *world, struct operation *operation)
{
    if (!services_same_version(&operation->version, world->model_version) || world->model_lost) {
        operation->result = CLUSTER_CONFLICT;
        SOMETIMES(LEADER_CONFLICT);
        return;
    }
    const struct model *now = world->wire ? through_wire(world, operation->model) : model_ref(operation->model);
    if (now == NULL) {
        return;
    }
    checks_model_written(world, operation, world->model, now);
    if (world->control && now->term > world->model->term) {
        control_propose_soon(world);
    }
    model_unref(world->old_model);
    world->old_model = world->model;
    world->model = now;
    operation->answer_version = services_version(++world->model_version);
    hint_all(world);
}

static void fill_view(struct world *world, struct operation *operation, const struct cell *cell)
{
    struct cluster_member_view *view = &operation->views[operation->view_count++];
    *view = (struct cluster_member_view){.id = cell->id};
    if (services_read_fails(world)) {
        view->status = world_chance(world, 50) ? STATUS_UNAVAILABLE : STATUS_CORRUPT;
        return;
    }
    view->member = member_ref(cell->member);
    view->version = services_version(cell->version);
    view->gone = process_is_gone(world, cell->member->life.incarnation);
}

static int compare_views(const void *left, const void *right)
{
    return strcmp(((const struct cluster_member_view *)left)->id, ((const struct cluster_member_view *)right)->id);
}

static void read_members(struct world *world, struct operation *operation)
{
    if (services_read_fails(world)) {
        operation->status = STATUS_UNAVAILABLE;
        return;
    }
    for (uint32_t i = 0; i < PROCESS_MAX; i++) {
        if (world->cells[i].there) {
            fill_view(world, operation, &world->cells[i]);
        }
    }
    qsort(operation->views, operation->view_count, sizeof *operation->views, compare_views);
}

static void read_member(struct world *world, struct operation *operation)
{
    const struct cell *cell = services_cell(world, world->processes[operation->process].id, true);
    if (services_read_fails(world)) {
        operation->status = world_chance(world, 50) ? STATUS_UNAVAILABLE : STATUS_CORRUPT;
    } else if (!cell->there) {
        operation->result = CLUSTER_ABSENT;
    } else {
        operation->answer_member = member_ref(cell->member);
        operation->answer_version = services_version(cell->version);
        operation->gone = process_is_gone(world, cell->member->life.incarnation);
    }
}

static void put_member(struct world *world, struct operation *operation)
{
    struct cell *cell = services_cell(world, operation->member->life.id, true);
    if (operation->create ? cell->there : !cell->there || !services_same_version(&operation->version, cell->version)) {
        operation->result = CLUSTER_CONFLICT;
        return;
    }
    bool same_life = cell->there && cell->member->life.incarnation == operation->member->life.incarnation;
    if (cell->there && !same_life && world->processes[operation->process].generation == operation->generation) {
        SOMETIMES(TAKEN_OVER);
    }
    int64_t silent_us = services_silence_us(world, cell);
    cell->widest_us = !same_life ? 0 : silent_us > cell->widest_us ? silent_us : cell->widest_us;
    member_unref(cell->member);
    cell->member = member_ref(operation->member);
    cell->there = true;
    cell->before_us = cell->written_us;
    cell->written_us = world->now_us;
    operation->answer_version = services_version(cell->version = ++world->order); /* never used twice */
    if (!same_life || operation->member->held_count != 0 || operation->member->seen_version != 0) {
        hint_all(world);
    }
}

static void delete_member(struct world *world, struct operation *operation)
{
    struct cell *cell = services_cell(world, world->processes[operation->process].id, true);
    if (!cell->there) {
        operation->result = CLUSTER_ABSENT;
    } else if (!services_same_version(&operation->version, cell->version)) {
        operation->result = CLUSTER_CONFLICT;
    } else {
        member_unref(cell->member);
        cell->member = NULL;
        cell->there = false;
    }
}

static void lease_acquire(struct world *world, struct operation *operation)
{
    char holder[LIFE_TEXT_BYTES];
    bool stolen = world->faults[FAULT_STEAL_LEASE] && !world->calm && world_chance(world, 5);
    if (world->lease.held && world->now_us < world->lease.until_us && !stolen) {
        operation->result = CLUSTER_CONFLICT;
        return;
    }
    world->lease.held = true;
    snprintf(world->lease.holder, sizeof world->lease.holder, "%s", life_text(operation->life, holder));
    world->lease.until_us = world->now_us + world->timing.lease_ttl.us;
    world->lease_of[operation->process] = ++world->lease.fence;
}

static void lease_renew(struct world *world, struct operation *operation)
{
    if (!world->lease.held || world->lease_of[operation->process] != world->lease.fence) {
        operation->result = CLUSTER_CONFLICT;
        return;
    }
    world->lease.until_us = world->now_us + world->timing.lease_ttl.us;
}

static void lease_release(struct world *world, struct operation *operation)
{
    if (world->lease_of[operation->process] == world->lease.fence) {
        world->lease.held = false;
    }
}

static void raise_record(struct world *world, struct operation *operation)
{
    world->term_floor = operation->term_floor > world->term_floor ? operation->term_floor : world->term_floor;
    world->seat_high = operation->seat_high > world->seat_high ? operation->seat_high : world->seat_high;
    operation->term_floor = world->term_floor;
    operation->seat_high = world->seat_high;
}

static void fence_seat(struct world *world, struct operation *operation)
{
    world->producers[operation->seat] = (uint32_t)++world->order;
    checks_fenced(world, operation->life);
}

/* InitProducerId: whoever comes last may commit. */
static void open_seat(struct world *world, struct operation *operation)
{
    const struct life_state *life = checks_life(world, operation->life.incarnation);
    if (life != NULL && life->evicted) {
        SOMETIMES(LATE_SEAT);
    }
    operation->answer_producer = world->producers[operation->seat] = (uint32_t)++world->order;
}

static void read_records(struct world *world, struct operation *operation)
{
    for (uint32_t i = 0; i < operation->entry_count; i++) {
        const struct record *record = services_record(world, operation->entries[i].task);
        operation->entries[i].base = record->count;
    }
}

static void commit(struct world *world, struct operation *operation)
{
    const struct life_state *life = checks_life(world, operation->life.incarnation);
    if (world->producers[operation->seat] != operation->producer) {
        operation->refused = true;
        if (life != NULL && life->evicted) {
            SOMETIMES(ZOMBIE_REFUSED);
        }
        return;
    }
    checks_commit_accepted(world, operation);
    for (uint32_t i = 0; i < operation->entry_count; i++) {
        struct record *record = services_record(world, operation->entries[i].task);
        record->count = operation->entries[i].base + 1;
        record->epoch = operation->entries[i].epoch;
    }
}

void services_execute(struct world *world, struct operation *operation)
{
    static void (*const steps[STEP_COUNT])(struct world *, struct operation *) = {
        [STEP_READ_MODEL] = read_model,       [STEP_PUT_MODEL] = put_model,     [STEP_READ_MEMBERS] = read_members,
        [STEP_READ_MEMBER] = read_member,     [STEP_PUT_MEMBER] = put_member,   [STEP_DELETE_MEMBER] = delete_member,
        [STEP_LEASE_ACQUIRE] = lease_acquire, [STEP_LEASE_RENEW] = lease_renew, [STEP_LEASE_RELEASE] = lease_release,
        [STEP_RAISE_RECORD] = raise_record,   [STEP_FENCE_SEAT] = fence_seat,   [STEP_OPEN_SEAT] = open_seat,
        [STEP_START_TASK] = read_records};
    operation->status = STATUS_OK;
    operation->result = CLUSTER_OK;
    if (operation->done) {
        SOMETIMES(LATE_WRITE);
    }
    if (operation->call != CALL_NONE) {
        session_execute(world, operation);
    } else if (operation->commit) {
        (operation->records ? read_records : commit)(world, operation);
    } else {
        steps[operation->step](world, operation);
    }
}

void services_close(struct world *world)
{
    model_unref(world->model);
    model_unref(world->old_model);
    session_close(world);
    objects_close(world);
    control_close(world);
    free(world->counted);
    for (uint32_t i = 0; i < PROCESS_MAX; i++) {
        member_unref(world->cells[i].member);
    }
}
