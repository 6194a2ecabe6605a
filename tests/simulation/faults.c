#include <stdio.h>
#include <string.h>

#include "disaster.h"
#include "simulation.h"

void faults_draw(struct world *world)
{
    static const struct cluster_option none[1];
    struct error err;
    uint32_t percent = 20 + world_below(world, 60);
    for (uint32_t i = 0; i < FAULT_COUNT; i++) {
        world->faults[i] = world_chance(world, percent);
    }
    world->hints = world_chance(world, 60);
    world->gone_known = world_chance(world, 40);
    world->lagging = world_chance(world, 30);
    world->stateful = world_chance(world, 25);
    world->unfenced = world_chance(world, 50);
    world->wire = world_chance(world, 5);
    world->profile = world_chance(world, 80) ? TIMING_LOCAL : world_chance(world, 50) ? TIMING_PUSHED : TIMING_POLLED;
    if (timing_read(world->profile, none, 0, &world->timing, &err) != STATUS_OK) {
        world_fail(world, "%s", err.text);
    }
    if (world_chance(world, 30)) { /* patience at its limits: barriers are overdue while there are other faults */
        world->timing.stop_timeout.us = 2 * SECOND;
        world->timing.barrier_timeout.us = 2 * (SECOND + world->timing.poll.us + world->timing.heartbeat.us);
        if (timing_check(world->profile, &world->timing, &err) != STATUS_OK) {
            world_fail(world, "%s", err.text);
        }
    }
    world->commit_kind = world_chance(world, 50) ? COMMIT_KAFKA : COMMIT_REGISTERS;
    world->sweeps = world_chance(world, 40);
    world->control = world->commit_kind == COMMIT_REGISTERS && world_chance(world, 50);
    world->snapshot_every = 5 + world_below(world, 30);
    world->locks = world_chance(world, 25);
    world->leases_in_registers = world_chance(world, 50);
    world->register_service = world_chance(world, 70) ? SERVICE_COORDINATION : SERVICE_COMMITS;
    world->call_timeout_us = world->timing.lease_ttl.us / 2;
    int64_t ttl = world->timing.lease_ttl.us;
    world->fault_interval_us = ttl / 10 + world_below(world, (uint32_t)ttl);
    world->calm_us = 5 * ttl + world_below(world, (uint32_t)(8 * ttl));
    world->first_processes = 1 + world_below(world, 5);
    world->tasks = 1 + world_below(world, 10);
}

int64_t faults_wall_offset_us(struct world *world)
{
    return world->faults[FAULT_WALL_JUMP] ? ((int64_t)world_below(world, 172801) - 86400) * SECOND : 0;
}

static uint8_t any_up(struct world *world, bool leader)
{
    uint8_t candidates[PROCESS_MAX], count = 0;
    for (uint8_t i = 0; i < world->process_count; i++) {
        const struct process *process = &world->processes[i];
        if (process->up && (!leader || leader_state(process->leader) != LEADER_FOLLOWER)) {
            candidates[count++] = i;
        }
    }
    return count == 0 ? PROCESS_MAX : candidates[world_below(world, count)];
}

static void restart_later(struct world *world, uint8_t index, int64_t delay_us)
{
    world_push(world, (struct world_event){.at_us = world->now_us + delay_us,
                                           .type = WORLD_START,
                                           .process = index,
                                           .generation = world->processes[index].generation});
}

static void note_death_in_write(struct world *world, const struct leader *leader)
{
    const struct model *base = leader->base, *draft = leader->draft;
    uint32_t opened = 0, moved = 0;
    if (leader->state == LEADER_SEALING) {
        SOMETIMES(LEADER_DIES_SEALING);
        return;
    }
    for (uint32_t i = 0; i < draft->task_count; i++) {
        const struct model_task *old = model_find_task(base, draft->tasks[i].task);
        opened += old != NULL && draft->tasks[i].open && !old->open;
        moved += old != NULL && !draft->tasks[i].open && old->open;
    }
    if (draft->dirty_count > base->dirty_count) {
        SOMETIMES(LEADER_DIES_EVICTING);
        sometimes_hits[SOMETIMES_LEADER_DIES_OVERDUE] += strstr(draft->round.why, "held up") != NULL;
    }
    sometimes_hits[SOMETIMES_LEADER_DIES_OPENING] += opened > 0;
    sometimes_hits[SOMETIMES_LEADER_DIES_MOVING] += moved > 0;
    sometimes_hits[SOMETIMES_LEADER_DIES_ADMITTING] += draft->member_count > base->member_count;
    sometimes_hits[SOMETIMES_LEADER_DIES_STOP_ALL] += draft->plan > base->plan;
    (void)world;
}

void faults_note_leader_death(struct world *world, const struct process *process)
{
    const struct leader *leader = process->leader;
    if (leader->state == LEADER_FOLLOWER) {
        return;
    }
    sometimes_hits[SOMETIMES_LEADER_DIES_READING_MODEL] += leader->phase == TURN_MODEL;
    sometimes_hits[SOMETIMES_LEADER_DIES_READING_MEMBERS] += leader->phase == TURN_MEMBERS;
    sometimes_hits[SOMETIMES_LEADER_DIES_FENCING] += leader->phase == TURN_FENCE;
    sometimes_hits[SOMETIMES_LEADER_DIES_RAISING] += leader->phase == TURN_RECORD;
    sometimes_hits[SOMETIMES_LEADER_DIES_DIRTY] += world->model->dirty_count > 0;
    if (leader->phase == TURN_WRITE) {
        note_death_in_write(world, leader);
    }
}

void faults_crash(struct world *world, uint8_t index)
{
    faults_note_leader_death(world, &world->processes[index]);
    bool twin = world->processes[index].twin;
    process_stop(world, index);
    if (!twin) {
        restart_later(world, index, 1000 + (world_chance(world, 50) ? world_below(world, SECOND) : world_below(world, 10 * SECOND)));
    }
}

static void crash(struct world *world, bool leader)
{
    uint8_t index = any_up(world, leader);
    if (index != PROCESS_MAX) {
        faults_crash(world, index);
    }
}

static void freeze(struct world *world, bool longer)
{
    uint8_t index = any_up(world, world_chance(world, 40));
    int64_t ttl = world->timing.lease_ttl.us;
    if (index != PROCESS_MAX) {
        int64_t length = longer ? ttl + world_below(world, (uint32_t)(2 * ttl)) : world_below(world, (uint32_t)ttl);
        world->processes[index].frozen_until_us = world->now_us + length;
        world_log(world, "freeze %s for %.3f s", world->processes[index].id, (double)length / SECOND);
    }
}

static void cut(struct world *world, bool both)
{
    uint8_t index = any_up(world, world_chance(world, 30));
    if (index == PROCESS_MAX) {
        return;
    }
    enum service service = world_chance(world, 60) ? SERVICE_COORDINATION : world_chance(world, 70) ? SERVICE_COMMITS : SERVICE_STORAGE;
    int64_t until = world->now_us + world_below(world, (uint32_t)(3 * world->timing.lease_ttl.us));
    uint32_t direction = world_below(world, 2);
    for (uint32_t i = 0; i < 2; i++) {
        if (both || i == direction) {
            world->cut_until_us[index][service][i] = until;
        }
    }
    world_log(world, "cut %s from service %d %s until %.3f", world->processes[index].id, (int)service, both ? "both ways" : "one way",
              (double)until / SECOND);
}

static void end_process(struct world *world, bool restart)
{
    uint8_t index = any_up(world, world_chance(world, 30));
    if (index == PROCESS_MAX || world->processes[index].leaving || world->now_us < world->processes[index].frozen_until_us) {
        return;
    }
    world->processes[index].leaving = true;
    world_log(world, "%s %s", restart ? "restart" : "leave", world->processes[index].id);
    process_feed(world, index, &(struct cluster_event){.kind = restart ? EVENT_RESTART : EVENT_LEAVE});
}

static void join(struct world *world, bool twin)
{
    char id[8];
    if (world->process_count == PROCESS_MAX - 1) {
        return;
    }
    uint8_t index = (uint8_t)world->process_count++, of = any_up(world, false);
    snprintf(id, sizeof id, "w%u", index);
    if (twin && of != PROCESS_MAX) {
        snprintf(id, sizeof id, "%s", world->processes[of].id);
    }
    process_start(world, index, id, twin && of != PROCESS_MAX);
}

static void new_plan(struct world *world)
{
    if (world->model->plan < world->wanted_plan) {
        return;
    }
    uint32_t count = 1 + world_below(world, 10);
    world->wanted_plan++;
    world->wanted_count = count;
    for (uint32_t i = 0; i < count; i++) {
        world->wanted_tasks[i] = task_make(1, i);
    }
    world_log(world, "new plan %lld of %u tasks", (long long)world->wanted_plan, count);
    if (world->faults[FAULT_FREEZE_LONG] && world_chance(world, 50)) { /* who has tasks that it has not */
        freeze(world, true);
    }
}

static void move(struct world *world)
{
    uint8_t index = any_up(world, false);
    if (index == PROCESS_MAX || world->model->task_count == 0) {
        return;
    }
    snprintf(world->pin_id, sizeof world->pin_id, "%s", world->processes[index].id);
    world->pin = (struct control_pin){world->model->tasks[world_below(world, world->model->task_count)].task, world->pin_id};
    world->pinned = true;
}

static void slow_stop(struct world *world)
{
    uint8_t index = any_up(world, false);
    if (index != PROCESS_MAX) {
        world->processes[index].slow_stop_until_us = world->now_us + 10 * SECOND;
    }
}

static void jump(struct world *world)
{
    uint8_t index = any_up(world, world_chance(world, 40));
    if (index != PROCESS_MAX) {
        world->processes[index].wall_offset_us = faults_wall_offset_us(world);
    }
}

static void outage(struct world *world, enum service service, int64_t until_us)
{
    until_us = until_us > world->outage_until_us[service] ? until_us : world->outage_until_us[service];
    if (service == SERVICE_COORDINATION) {
        bool going_on = world->now_us < world->outage_until_us[service];
        world->outage_from_us = going_on ? world->outage_from_us : world->now_us;
        if (until_us - world->outage_from_us > world->timing.lease_ttl.us / 2) {
            world->long_outage_end_us = until_us; /* longer than any gap that a count of silence survives */
        }
    }
    world->outage_until_us[service] = until_us;
    world_log(world, "outage of service %d until %.3f", (int)service, (double)until_us / SECOND);
}

static void strike(struct world *world, enum fault fault)
{
    int64_t ttl = world->timing.lease_ttl.us;
    switch (fault) {
    case FAULT_CRASH:
    case FAULT_CRASH_LEADER:
        crash(world, fault == FAULT_CRASH_LEADER);
        break;
    case FAULT_FREEZE_SHORT:
    case FAULT_FREEZE_LONG:
        freeze(world, fault == FAULT_FREEZE_LONG);
        break;
    case FAULT_CUT_ONE_WAY:
    case FAULT_CUT_BOTH_WAYS:
        cut(world, fault == FAULT_CUT_BOTH_WAYS);
        break;
    case FAULT_OUTAGE:
        outage(world, world_below(world, SERVICE_COUNT), world->now_us + world_below(world, (uint32_t)(2 * ttl)));
        break;
    case FAULT_SLOW:
        world->slow_until_us = world->now_us + world_below(world, (uint32_t)(2 * ttl));
        break;
    case FAULT_LOSE_REPLIES:
        world->lose_until_us = world->now_us + world_below(world, (uint32_t)(2 * ttl));
        break;
    case FAULT_READ_ERRORS:
        world->errors_until_us = world->now_us + world_below(world, (uint32_t)(2 * ttl));
        break;
    case FAULT_LEAVE:
    case FAULT_RESTART:
        end_process(world, fault == FAULT_RESTART);
        break;
    case FAULT_JOIN:
    case FAULT_TWIN:
        join(world, fault == FAULT_TWIN);
        break;
    case FAULT_STOP_ALL:
        new_plan(world);
        break;
    case FAULT_MOVE:
        move(world);
        break;
    case FAULT_SLOW_STOP:
        slow_stop(world);
        break;
    case FAULT_WALL_JUMP:
        jump(world);
        break;
    case FAULT_DISASTER:
        if (world_chance(world, 20)) {
            disaster_strike(world);
        }
        break;
    default:
        break; /* drawn elsewhere: where tasks work, leases are given, hints are sent, clocks are made */
    }
}

void faults_strike(struct world *world)
{
    enum fault fault = world_below(world, FAULT_COUNT);
    if (world->faults[fault]) {
        strike(world, fault);
    }
    world_push(world, (struct world_event){.at_us = world->now_us + 1 + world_below(world, (uint32_t)(2 * world->fault_interval_us)) / 4,
                                           .type = WORLD_FAULT});
}

/* When the last of what goes on by itself is over: requests on their way, stops that were made slow, tasks that wait after a failure, processes
 * that leave and come back, tasks kept for one that restarts. */
static int64_t last_fault_us(const struct world *world)
{
    int64_t last = world->now_us + 5 * SECOND + (world->faults[FAULT_LATE_SEAT] ? 3 * world->timing.lease_ttl.us : 0);
    for (uint8_t i = 0; i < world->process_count; i++) {
        const struct process *process = &world->processes[i];
        int64_t leaves = process->leaving ? world->now_us + world->timing.stop_timeout.us + 9 * SECOND : 0;
        last = leaves > last ? leaves : last;
        for (uint32_t k = 0; k < process->work_count; k++) {
            last = process->works[k].stop_after_us > last ? process->works[k].stop_after_us : last;
        }
        for (uint32_t k = 0; process->up && k < process->processor->task_count; k++) {
            int64_t retry_us = world_true_us(process, process->processor->tasks[k].retry_us);
            last = retry_us > last ? retry_us : last;
        }
    }
    int64_t grace = world->faults[FAULT_RESTART] ? world->now_us + world->timing.rejoin_grace.us : 0;
    return grace > last ? grace : last;
}

void faults_calm(struct world *world)
{
    int64_t delay_us = 0;
    memset(world->cut_until_us, 0, sizeof world->cut_until_us);
    if (world->now_us < world->outage_until_us[SERVICE_COORDINATION]) {
        world->long_outage_end_us = world->now_us - world->outage_from_us > world->timing.lease_ttl.us / 2 ? world->now_us : 0;
    }
    memset(world->outage_until_us, 0, sizeof world->outage_until_us);
    world->slow_until_us = world->lose_until_us = world->errors_until_us = 0;
    world->calm = true;
    for (uint8_t i = 0; i < world->process_count; i++) {
        world->processes[i].frozen_until_us = 0;
        world->processes[i].slow_stop_until_us = 0;
        if (world->processes[i].up) {
            int64_t flapping = leader_flapping_delay_us(world->processes[i].leader);
            delay_us = flapping > delay_us ? flapping : delay_us;
        }
    }
    const struct cluster_timing *timing = &world->timing;
    world->bound_us = last_fault_us(world) + delay_us + 2 * timing->lease_ttl.us + timing->debounce_max.us + timing->barrier_timeout.us +
                      10 * timing->poll.us;
    world_log(world, "calm; bound %.3f", (double)world->bound_us / SECOND);
}
