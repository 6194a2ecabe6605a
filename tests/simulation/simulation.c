#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "disaster.h"
#include "fiber.h"
#include "simulation.h"

uint64_t sometimes_hits[SOMETIMES_COUNT];
#define X(name, text) text,
static const char *const sometimes_texts[] = {SOMETIMES_LIST(X)};
#undef X

enum { EVENTS_MAX = 2000000, CHECK_EVERY_US = 200000, LONG_EVENTS = 100000, LONG_ONE_IN = 400, GROWTH_BYTES = 256 << 10 };

/* What `spate job submit` writes. */
static void submit(struct world *world)
{
    struct error err;
    struct model *model = model_create(&world->budget, &err);
    model->job = "simulated";
    model->rev = model->version = 1;
    model->stateful = world->stateful;
    model->unfenced = world->unfenced;
    model->tasks = arena_alloc(model->arena, world->tasks * sizeof *model->tasks);
    for (uint32_t i = 0; i < world->tasks; i++) {
        model->tasks[i] = (struct model_task){.task = task_make(1, i), .epoch = 1, .owner = MODEL_NONE};
        world->wanted_tasks[i] = model->tasks[i].task;
    }
    model->task_count = world->wanted_count = world->tasks;
    world->model = model;
    world->model_version = 1;
    world->term_floor = world_below(world, 3);
}

static bool is_for_process(enum event_type type)
{
    return type != WORLD_EXECUTE && type != WORLD_SINK && type != WORLD_FAULT && type != WORLD_START && type != WORLD_KILL &&
           type != WORLD_CHECK;
}

static void begin_calm(struct world *world)
{
    faults_calm(world);
    for (uint8_t i = 0; i < world->process_count; i++) {
        bool served = false;
        for (uint8_t k = 0; k < world->process_count; k++) {
            served |= world->processes[k].up && strcmp(world->processes[k].id, world->processes[i].id) == 0;
        }
        if (!served) {
            process_start(world, i, world->processes[i].id, false);
        }
    }
    world_push(world, (struct world_event){.at_us = world->now_us + CHECK_EVERY_US, .type = WORLD_CHECK});
}

/* I22: a quiet world goes on for so many events, and needs no more than at first. false: it goes on. */
static bool check_growth(struct world *world)
{
    if (world->quiet_events == 0) {
        world->quiet_events = world->events;
        world->quiet_fibers = world->fiber_count;
    }
    if (world->events < world->quiet_events + LONG_EVENTS / 10) { /* by then all buffers are as large as they become */
        world->quiet_bytes = world->budget.used_bytes;
        return false;
    }
    if ((int64_t)world->budget.used_bytes > (int64_t)world->quiet_bytes + GROWTH_BYTES || world->fiber_count > world->quiet_fibers + 8) {
        world_fail(world, "I22: %zu bytes are in use, %zu were %" PRIu64 " events ago; %u fibers, %u were",
                   (size_t)world->budget.used_bytes, world->quiet_bytes, world->events - world->quiet_events, world->fiber_count,
                   world->quiet_fibers);
    }
    bool done = world->events >= world->quiet_events + LONG_EVENTS;
    sometimes_hits[SOMETIMES_LONG_QUIET] += done;
    return done;
}

static void check_calm(struct world *world)
{
    char why[200] = "";
    bool settled = checks_settled(world, why, sizeof why);
    if (settled && (world->seed % LONG_ONE_IN != 0 || check_growth(world))) {
        world->settled_us = world->now_us;
        return;
    }
    if (!settled && world->now_us > world->bound_us) {
        world_fail(world, "I20: %s, %.1f s after the last fault", why, (double)(world->now_us - world->calm_us) / SECOND);
    }
    world_push(world, (struct world_event){.at_us = world->now_us + CHECK_EVERY_US, .type = WORLD_CHECK});
}

static void step(struct world *world, struct world_event *event)
{
    struct process *process = &world->processes[event->process];
    world->now_us = event->at_us;
    if (is_for_process(event->type) && world->now_us < process->frozen_until_us && process->generation == event->generation) {
        event->at_us = process->frozen_until_us;
        if (event->type == WORLD_TIMEOUT) { /* its timer and an answer that waits: either may be seen first */
            event->at_us += world_below(world, (uint32_t)world->call_timeout_us);
        }
        world_push(world, *event);
        return;
    }
    world->events++;
    world->hash = hash_combine(world->hash, (uint64_t)event->at_us << 8 ^ (uint64_t)event->type << 4 ^ event->process);
    switch (event->type) {
    case WORLD_FAULT:
        if (!world->calm) {
            faults_strike(world);
        }
        break;
    case WORLD_START:
        if (!process->up && process->generation == event->generation) {
            process_start(world, event->process, process->id, process->twin);
        }
        break;
    case WORLD_KILL:
        if (process->up && process->generation == event->generation) {
            faults_crash(world, event->process);
        }
        break;
    case WORLD_CHECK:
        check_calm(world);
        break;
    case WORLD_SINK:
        checks_sink_write(world, event->local.task, event->local.request);
        break;
    default:
        process_handle(world, event);
    }
    checks_always(world);
}

static void close_world(struct world *world)
{
    struct world_event event;
    while (world_pop(world, &event)) {
        operation_unref(event.operation);
    }
    disaster_close(world);
    for (uint8_t i = 0; i < PROCESS_MAX; i++) {
        process_stop(world, i);
    }
    services_close(world);
    arena_destroy(world->arena);
    free(world->heap);
    free(world->slots);
    free(world->free_slots);
    if (world->budget.used_bytes != 0 && !world->failed) {
        world_fail(world, "I22: %zu bytes are left", (size_t)world->budget.used_bytes);
    }
}

static bool run_seed(uint64_t seed, bool log, uint64_t *hash, uint64_t *events, char *failure, size_t size)
{
    struct world *world = calloc(1, sizeof *world);
    struct world_event event;
    world->seed = seed;
    world->random = hash_uint64(seed);
    world->log = log;
    budget_init(&world->budget, NULL, "simulation", BUDGET_UNLIMITED);
    world->arena = arena_create(&world->budget, "actions");
    faults_draw(world);
    submit(world);
    world_log(world, "seed %llu: ttl %lld us, %s commits, unfenced %d, stateful %d, hints %d, gone known %d, tasks %u",
              (unsigned long long)seed, (long long)world->timing.lease_ttl.us, world->commit_kind == COMMIT_KAFKA ? "Kafka" : "register",
              world->unfenced, world->stateful, world->hints, world->gone_known, world->tasks);
    for (uint8_t i = 0; i < world->first_processes; i++) {
        char id[8];
        snprintf(id, sizeof id, "w%u", i);
        world->process_count++;
        process_start(world, i, id, false);
    }
    world_push(world, (struct world_event){.at_us = world->timing.lease_ttl.us / 2, .type = WORLD_FAULT});
    while (!world->failed && world->settled_us == 0 && world_pop(world, &event)) {
        if (!world->calm && event.at_us >= world->calm_us) {
            world->now_us = world->calm_us;
            begin_calm(world);
        }
        step(world, &event);
        operation_unref(event.operation);
        if (world->events > EVENTS_MAX) {
            world_fail(world, "I22: more than %d events", EVENTS_MAX);
        }
    }
    *hash = world->hash;
    *events += world->events;
    close_world(world);
    bool good = !world->failed;
    snprintf(failure, size, "%s", world->failure);
    free(world);
    return good;
}

static void print_sometimes(void)
{
    uint32_t missed = 0;
    printf("sometimes:\n");
    for (uint32_t i = 0; i < SOMETIMES_COUNT; i++) {
        printf("  %10llu  %s\n", (unsigned long long)sometimes_hits[i], sometimes_texts[i]);
        missed += sometimes_hits[i] == 0;
    }
    if (missed > 0) {
        printf("%u never\n", missed);
    }
}

/* usage: simulate SEEDS [FIRST [SECONDS [FAILURES]]]: stops after so many failures; simulate one SEED: with a log. */
int main(int argc, char **argv)
{
    char failure[600];
    uint64_t hash, events = 0, all = 0, failed = 0;
    if (argc == 3 && strcmp(argv[1], "one") == 0) {
        bool good = run_seed(strtoull(argv[2], NULL, 10), true, &hash, &events, failure, sizeof failure);
        printf("seed %s: %s; trace %016" PRIx64 ", %" PRIu64 " events\n", argv[2], good ? "no violation" : failure, hash, events);
        return good ? 0 : 1;
    }
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000, first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    uint64_t most = argc > 4 ? strtoull(argv[4], NULL, 10) : 5;
    double limit = argc > 3 ? strtod(argv[3], NULL) : 1e9;
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    double seconds = 0;
    uint64_t done = 0;
    for (; done < seeds && seconds < limit && failed < most; done++) {
        if (!run_seed(first + done, false, &hash, &events, failure, sizeof failure)) {
            printf("seed %" PRIu64 ": %s\n  make simulate SEED=%" PRIu64 "\n", first + done, failure, first + done);
            fflush(stdout);
            failed++;
        }
        all = hash_combine(all, hash);
        clock_gettime(CLOCK_MONOTONIC, &now);
        seconds = (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9;
    }
    fibers_close();
    print_sometimes();
    printf("%" PRIu64 " seeds from %" PRIu64 ", %" PRIu64 " failed, %.1f million events, traces %016" PRIx64
           ", %.1f s, %.0f seeds a minute\n",
           done, first, failed, (double)events / 1e6, all, seconds, (double)done / seconds * 60);
    return failed == 0 ? 0 : 1;
}
