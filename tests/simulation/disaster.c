/* The coordination service loses all that it had, and the operator restarts the job from its storage, as `spate job restart` does: above the
 * floor of terms, with every former holder fenced, under an epoch above all that checkpoints show. Processes are started anew; one of the old
 * ones may live on for a while. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/commit_record.h"
#include "disaster.h"
#include "fiber.h"
#include "objects.h"

enum { OPERATOR = PROCESS_MAX - 1, EPOCH_STEP = 1000000 };

/* What survives says how far epochs had come; tasks may have changed hands since. */
static uint64_t next_epoch(const struct world *world)
{
    uint64_t highest = 0;
    for (uint32_t i = 0; i < world->object_count; i++) {
        const struct simulated_object *object = &world->objects[i];
        const char *at = object->key == NULL || strstr(object->key, ".manifest.json") == NULL
                             ? NULL
                             : memmem(object->bytes, object->length, "\"epoch\":", 8);
        uint64_t epoch = at == NULL ? 0 : strtoull(at + 8, NULL, 10);
        highest = epoch > highest ? epoch : highest;
    }
    return (highest / EPOCH_STEP + 1) * EPOCH_STEP;
}

static void lose_registers(struct world *world)
{
    for (uint32_t i = 0; i < world->register_count; i++) {
        free(world->registers[i].bytes);
        world->registers[i].bytes = NULL;
    }
    for (uint32_t i = 0; i < PROCESS_MAX; i++) {
        struct cell *cell = &world->cells[i];
        member_unref(cell->member);
        cell->member = NULL;
        cell->there = false;
    }
    world->lease.held = false;
    world->model_lost = true;
    for (uint32_t i = 0; i < world->record_count; i++) {
        world->records[i].incarnation = 0;
    }
}

static void write_model(struct world *world, uint64_t epoch)
{
    struct error err;
    struct model *model = model_create(&world->budget, &err);
    model->job = "simulated";
    model->rev = 1;
    model->version = epoch;
    model->term = ++world->term_floor;
    model->plan = world->wanted_plan;
    model->stateful = world->stateful;
    model->unfenced = world->unfenced;
    model->round.why = "restarted";
    model->tasks = arena_alloc(model->arena, world->wanted_count * sizeof *model->tasks);
    model->task_count = world->wanted_count;
    for (uint32_t i = 0; i < world->wanted_count; i++) {
        model->tasks[i] = (struct model_task){.task = world->wanted_tasks[i], .epoch = epoch, .owner = MODEL_NONE};
    }
    model_unref(world->model);
    model_unref(world->old_model);
    world->model = model;
    world->old_model = NULL;
    world->model_version = ++world->order;
    world->model_lost = false;
    world_log(world, "restarted: term %" PRIu64 ", version %" PRIu64, model->term, model->version);
}

static void fence_all(struct world *world)
{
    for (uint32_t i = 0; i < world->life_count; i++) {
        world->lives[i].fenced |= world->lives[i].listed;
    }
    for (uint32_t i = 0; i < sizeof world->producers / sizeof *world->producers; i++) {
        world->producers[i] = (uint32_t)++world->order;
    }
}

static void start_anew(struct world *world)
{
    bool refused = !world->unfenced; /* by all that it writes to: else the operator makes sure that nobody lives on */
    uint8_t lives_on = refused && world_chance(world, 50) ? (uint8_t)world_below(world, world->process_count) : PROCESS_MAX;
    for (uint8_t i = 0; i < world->process_count; i++) {
        if (world->processes[i].up) {
            world_push(world, (struct world_event){.at_us = world->now_us + (i == lives_on ? world_below(world, 4 * SECOND) : 1),
                                                   .type = WORLD_KILL,
                                                   .process = i,
                                                   .generation = world->processes[i].generation});
        }
    }
}

static void run_restart(struct fiber *fiber, void *context)
{
    struct world *world = fiber->world;
    uint64_t epoch = next_epoch(world);
    struct error err;
    (void)context;
    for (uint32_t i = 0; i < world->record_count && world->commit_kind == COMMIT_REGISTERS && !fiber->dead; i++) {
        while (commit_record_fence(&fiber->session, "jobs/j", world->records[i].task, epoch, &err) != STATUS_OK &&
               fiber_sleep(fiber, SECOND / 10)) {
        }
    }
    if (!fiber->dead) {
        fence_all(world);
        write_model(world, epoch);
        start_anew(world);
    }
}

void disaster_strike(struct world *world)
{
    if (world->disaster || world->control || world->locks) { /* locks, and edits, do not outlive it */
        return;
    }
    world->disaster = true;
    SOMETIMES(LOST_COORDINATOR);
    world_log(world, "the coordination service has lost everything");
    lose_registers(world);
    struct process *operator= & world->processes[OPERATOR];
    operator->up = true;
    operator->rate = 1;
    snprintf(operator->id, sizeof operator->id, "op");
    fiber_start(world, OPERATOR, world->register_service, run_restart, NULL);
}

void disaster_close(struct world *world)
{
    if (world->disaster) {
        world->processes[OPERATOR].up = false;
        fibers_end(world, OPERATOR);
    }
}
