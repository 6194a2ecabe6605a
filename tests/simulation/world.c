#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "objects.h"

uint64_t world_random(struct world *world)
{
    uint64_t mixed = world->random += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

uint32_t world_below(struct world *world, uint32_t limit)
{
    return (uint32_t)((world_random(world) >> 32) * limit >> 32);
}

bool world_chance(struct world *world, uint32_t percent)
{
    return world_below(world, 100) < percent;
}

static bool before(const struct heap_entry *left, const struct heap_entry *right)
{
    return left->at_us != right->at_us ? left->at_us < right->at_us : left->order < right->order;
}

static uint32_t take_slot(struct world *world)
{
    if (world->free_count > 0) {
        return world->free_slots[--world->free_count];
    }
    if (world->heap_count == world->heap_capacity) {
        world->heap_capacity = world->heap_capacity == 0 ? 256 : world->heap_capacity * 2;
        world->heap = realloc(world->heap, world->heap_capacity * sizeof *world->heap);
        world->slots = realloc(world->slots, world->heap_capacity * sizeof *world->slots);
        world->free_slots = realloc(world->free_slots, world->heap_capacity * sizeof *world->free_slots);
    }
    return world->heap_count; /* none is free: all slots below are in the heap */
}

void world_push(struct world *world, struct world_event event)
{
    uint32_t slot = take_slot(world);
    event.order = ++world->order;
    if (event.operation != NULL) {
        event.operation->references++;
    }
    world->slots[slot] = event;
    struct heap_entry entry = {event.at_us, event.order, slot};
    uint32_t i = world->heap_count++;
    for (; i > 0 && before(&entry, &world->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        world->heap[i] = world->heap[(i - 1) / 2];
    }
    world->heap[i] = entry;
}

bool world_pop(struct world *world, struct world_event *event)
{
    if (world->heap_count == 0) {
        return false;
    }
    *event = world->slots[world->heap[0].slot];
    world->free_slots[world->free_count++] = world->heap[0].slot;
    struct heap_entry last = world->heap[--world->heap_count];
    uint32_t i = 0;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= world->heap_count) {
            break;
        }
        if (child + 1 < world->heap_count && before(&world->heap[child + 1], &world->heap[child])) {
            child++;
        }
        if (!before(&world->heap[child], &last)) {
            break;
        }
        world->heap[i] = world->heap[child];
        i = child;
    }
    world->heap[i] = last;
    return true;
}

void world_log(struct world *world, const char *format, ...)
{
    if (!world->log) {
        return;
    }
    va_list arguments;
    printf("%10.6f ", (double)world->now_us / SECOND);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

void world_fail(struct world *world, const char *format, ...)
{
    if (world->failed) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world->failure, sizeof world->failure, format, arguments);
    va_end(arguments);
    world->failed = true;
    world_log(world, "VIOLATION %s", world->failure);
}

int64_t world_local_us(const struct world *world, const struct process *process)
{
    return process->offset_us + (int64_t)((double)(world->now_us - process->born_us) * process->rate);
}

int64_t world_true_us(const struct process *process, int64_t local_us)
{
    double since = (double)(local_us - process->offset_us) / process->rate;
    return since > 1e15 ? INT64_MAX / 4 : process->born_us + (int64_t)since + 1;
}

int64_t world_store_us(const struct world *world)
{
    return INT64_C(1796083200) * SECOND + WALL_RATE * world->now_us;
}

int64_t world_wall_us(const struct world *world, const struct process *process)
{
    return world_store_us(world) + process->wall_offset_us;
}

void operation_unref(struct operation *operation)
{
    if (operation == NULL || --operation->references > 0) {
        return;
    }
    model_unref(operation->model);
    member_unref(operation->member);
    model_unref(operation->answer_model);
    member_unref(operation->answer_member);
    for (uint32_t i = 0; i < operation->view_count; i++) {
        member_unref(operation->views[i].member);
    }
    free(operation->name);
    free(operation->bytes);
    free(operation->answer);
    free(operation);
}

struct operation *operation_new(struct world *world, uint8_t process, enum service service)
{
    struct operation *operation = calloc(1, sizeof *operation);
    operation->references = 1;
    operation->process = process;
    operation->generation = world->processes[process].generation;
    operation->service = service;
    operation->sent_us = world_local_us(world, &world->processes[process]);
    return operation;
}

static int64_t delay_us(struct world *world)
{
    int64_t delay = 500 + world_below(world, 4000);
    if (world->now_us < world->slow_until_us && world_chance(world, 30)) {
        delay += world_below(world, 5 * SECOND);
    }
    return delay;
}

static void answer_at(struct world *world, struct operation *operation, int64_t at_us, enum event_type type)
{
    world_push(
        world,
        (struct world_event){
            .at_us = at_us, .type = type, .process = operation->process, .generation = operation->generation, .operation = operation});
}

/* A request is refused at once while its service is out; else it goes there and back, and either way may be cut, slow or lost. Whoever waited
 * for call_timeout gives up, whatever happens to the request after that. */
void world_send(struct world *world, struct operation *operation)
{
    int64_t now = world->now_us;
    const int64_t *cut = world->cut_until_us[operation->process][operation->service];
    if (now < world->outage_until_us[operation->service] && world_chance(world, 70)) {
        operation->answered = true;
        operation->status = STATUS_UNAVAILABLE;
        answer_at(world, operation, now + 1000 + world_below(world, 20000), WORLD_ANSWER);
        operation_unref(operation);
        return;
    }
    bool out = now < world->outage_until_us[operation->service];
    if (now >= cut[0] && !out) {
        answer_at(world, operation, now + delay_us(world) + operation->late_us + operation->slow_us, WORLD_EXECUTE);
    }
    answer_at(world, operation, now + world->call_timeout_us + 2 * operation->late_us, WORLD_TIMEOUT);
    operation_unref(operation);
}
