#include "fiber.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN
#endif
#ifdef FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
enum { STACK_BYTES = 1 << 20 };
#else
enum { STACK_BYTES = 256 << 10 };
#endif

struct fiber_stack {
    struct fiber_stack *next; /* of those that are free */
    ucontext_t context;
    void *fake; /* of the sanitizer */
    char bytes[STACK_BYTES];
};
static struct fiber_stack *free_stacks;
static ucontext_t loop_context; /* the world's */
static struct fiber *current;
#ifdef FIBER_ASAN
static void *loop_fake;
static const void *loop_bottom;
static size_t loop_bytes;
#endif

static void leave(struct fiber *fiber)
{
    current = NULL;
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(fiber->finished ? NULL : &fiber->stack->fake, loop_bottom, loop_bytes);
#endif
    swapcontext(&fiber->stack->context, &loop_context);
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(fiber->stack->fake, &loop_bottom, &loop_bytes);
#endif
    current = fiber;
}

static void enter(void)
{
    struct fiber *fiber = current;
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(NULL, &loop_bottom, &loop_bytes);
#endif
    fiber->run(fiber, fiber->context);
    fiber->finished = true;
    leave(fiber);
}

static void release(struct fiber *fiber)
{
    struct world *world = fiber->world;
    for (uint32_t i = 0; i < world->fiber_count; i++) {
        if (world->fibers[i] == fiber) {
            world->fibers[i] = world->fibers[--world->fiber_count];
            break;
        }
    }
    fiber->stack->next = free_stacks;
    free_stacks = fiber->stack;
    free(fiber->context);
    free(fiber);
}

/* Until it waits again, or has ended. */
static void resume(struct fiber *fiber)
{
    assert(current == NULL);
    current = fiber;
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(&loop_fake, fiber->stack->bytes, STACK_BYTES);
#endif
    swapcontext(&loop_context, &fiber->stack->context);
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(loop_fake, NULL, NULL);
#endif
    current = NULL;
    if (fiber->finished) {
        release(fiber);
    }
}

static int64_t clock_monotonic(const struct clock *clock)
{
    return fiber_now_us(((const struct fiber_clock *)clock)->fiber);
}

static int64_t clock_wall(const struct clock *clock)
{
    const struct fiber *fiber = ((const struct fiber_clock *)clock)->fiber;
    return world_wall_us(fiber->world, &fiber->world->processes[fiber->process]);
}

static struct fiber_stack *take_stack(void)
{
    struct fiber_stack *stack = free_stacks;
    if (stack == NULL) {
        return malloc(sizeof *stack);
    }
    free_stacks = stack->next;
    return stack;
}

struct fiber *fiber_start(struct world *world, uint8_t process, enum service service, fiber_run run, void *context)
{
    struct fiber *fiber = calloc(1, sizeof *fiber);
    *fiber = (struct fiber){.session = {&simulated_driver},
                            .clock = {.clock = {clock_wall, clock_monotonic}, .fiber = fiber},
                            .world = world,
                            .process = process,
                            .generation = world->processes[process].generation,
                            .service = service,
                            .run = run,
                            .context = context,
                            .stack = take_stack()};
    assert(world->fiber_count < FIBER_MAX);
    random_open(&fiber->random, world_random(world) | 1);
    world->fibers[world->fiber_count++] = fiber;
    getcontext(&fiber->stack->context);
    fiber->stack->fake = NULL;
    fiber->stack->context.uc_stack.ss_sp = fiber->stack->bytes;
    fiber->stack->context.uc_stack.ss_size = STACK_BYTES;
    fiber->stack->context.uc_link = NULL;
    makecontext(&fiber->stack->context, enter, 0);
    resume(fiber);
    return fiber;
}

static void end(struct fiber *fiber)
{
    fiber->dead = true;
    resume(fiber); /* waits for nothing any more: it comes to its end */
}

void fibers_end(struct world *world, uint8_t process)
{
    for (uint32_t i = world->fiber_count; i > 0; i--) {
        struct fiber *fiber = world->fibers[i - 1]; /* the last takes an ended one's place */
        if (fiber->process == process) {
            end(fiber);
        }
    }
}

bool fiber_sleep(struct fiber *fiber, int64_t delay_us)
{
    struct world *world = fiber->world;
    if (fiber->dead) {
        return false;
    }
    fiber->wake = ++world->order;
    world_push(world, (struct world_event){.at_us = world->now_us + delay_us,
                                           .type = WORLD_FIBER,
                                           .process = fiber->process,
                                           .generation = fiber->generation,
                                           .local = {.request = fiber->wake}});
    leave(fiber);
    fiber->wake = 0;
    return !fiber->dead;
}

bool fiber_pause(struct fiber *fiber)
{
    if (!fiber->dead) {
        fiber->paused = true;
        leave(fiber);
        fiber->paused = false;
    }
    return !fiber->dead;
}

void fiber_go_on(struct fiber *fiber)
{
    if (fiber->paused) {
        resume(fiber);
    }
}

enum awaited fiber_await(struct fiber *fiber, struct operation *operation)
{
    if (fiber->dead) {
        operation_unref(operation); /* the world's */
        return AWAITED_DEATH;
    }
    operation->fiber = fiber;
    fiber->waiting = operation;
    world_send(fiber->world, operation);
    leave(fiber);
    fiber->waiting = NULL;
    operation->fiber = NULL;
    return fiber->dead ? AWAITED_DEATH : operation->given_up ? AWAITED_NOTHING : AWAITED_ANSWER;
}

int64_t fiber_now_us(const struct fiber *fiber)
{
    return world_local_us(fiber->world, &fiber->world->processes[fiber->process]);
}

void fiber_answered(struct operation *operation, bool given_up)
{
    operation->given_up = given_up;
    if (operation->fiber != NULL) {
        resume(operation->fiber);
    }
}

void fiber_woken(struct world *world, const struct world_event *event)
{
    for (uint32_t i = 0; i < world->fiber_count; i++) {
        if (world->fibers[i]->wake == event->local.request) {
            resume(world->fibers[i]);
            return;
        }
    }
}

void fibers_close(void)
{
    while (free_stacks != NULL) {
        struct fiber_stack *stack = free_stacks;
        free_stacks = stack->next;
        free(stack);
    }
}
