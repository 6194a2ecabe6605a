/* Locks and latches: the real claims, tenures, guarded registers and latches, in every process of some worlds. I18: whatever holders do and
 * however late they wake up, updates of the guarded register follow each other, each made from the one before it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/claim.h"
#include "cluster/guarded.h"
#include "cluster/latch.h"
#include "fiber.h"

#define LEASE_NAME "locks/lease"
#define DATA_NAME  "locks/data"
#define LATCH_NAME "latches/start"

/* ---- the ghosts ---- */

static struct lock_update *find_update(struct world *world, uint64_t token)
{
    for (uint32_t i = world->update_count; i > 0; i--) {
        if (world->updates[i - 1].token == token) {
            return &world->updates[i - 1];
        }
    }
    return NULL;
}

/* What the register says, as far as the check needs it. The value is "NUMBER TOKEN BEFORE". */
struct guarded_form {
    uint64_t fence, number, token, before;
};

static const char *member(const char *json, const char *name)
{
    const char *at = strstr(json, name);
    return at == NULL ? "" : at + strlen(name) + strspn(at + strlen(name), "\": ");
}

static struct guarded_form read_form(const char *bytes, size_t length)
{
    char json[1024] = "";
    unsigned long long number = 0, token = 0, before = 0;
    memcpy(json, bytes, length < sizeof json ? length : sizeof json - 1);
    (void)!sscanf(member(json, "\"text\""), "%llu %llx %llx", &number, &token, &before);
    return (struct guarded_form){strtoull(member(json, "\"fence\""), NULL, 10), number, token, before};
}

/* I18 */
void locks_check_write(struct world *world, const struct operation *operation, const struct simulated_register *before)
{
    if (strcmp(operation->name, DATA_NAME) != 0) {
        return;
    }
    struct guarded_form old = before->bytes == NULL ? (struct guarded_form){0} : read_form(before->bytes, before->length);
    struct guarded_form now = read_form(operation->bytes, operation->length);
    if (now.fence < old.fence) {
        world_fail(world, "I18: a holder with fence %llu writes over one with %llu", (unsigned long long)now.fence,
                   (unsigned long long)old.fence);
    }
    if (now.token == old.token) {
        return; /* a holder has read it */
    }
    if (now.number != old.number + 1 || now.before != old.token) {
        world_fail(world, "I18: update %llu was made from %llx, but %llx is there", (unsigned long long)now.number,
                   (unsigned long long)now.before, (unsigned long long)old.token);
    }
    struct lock_update *update = find_update(world, now.token);
    if (update != NULL && (++update->landed > 1 || update->said == UPDATE_REFUSED)) {
        world_fail(world, "I18: update %llu lands %s", (unsigned long long)now.number,
                   update->landed > 1 ? "twice" : "after it was said to be refused");
    }
}

/* By their own clocks, two never have the lock at a time (nobody has taken it away by force). */
void locks_check_always(struct world *world)
{
    uint32_t holders = 0;
    for (uint8_t i = 0; i < world->process_count; i++) {
        const struct process *process = &world->processes[i];
        holders +=
            process->up && world->tenures[i] != NULL && tenure_state_at(world->tenures[i], world_local_us(world, process)) == TENURE_HELD;
    }
    if (holders > 1 && !world->faults[FAULT_STEAL_LEASE]) {
        world_fail(world, "I18: %u processes hold one lock by their own clocks", holders);
    }
}

/* ---- a holder ---- */

static struct lock_update *begin_update(struct world *world, uint64_t token)
{
    if (world->update_count == UPDATE_MAX) {
        return NULL;
    }
    world->updates[world->update_count] = (struct lock_update){.token = token};
    return &world->updates[world->update_count++];
}

static void note_update(struct fiber *fiber, uint64_t token, enum status status, enum guarded_result result)
{
    struct lock_update *update = find_update(fiber->world, token);
    bool done = status == STATUS_OK && result == GUARDED_OK, refused = status != STATUS_OK || result == GUARDED_OUTDATED;
    if (fiber->dead) {
        return;
    }
    update->said = done ? UPDATE_DONE : refused ? UPDATE_REFUSED : UPDATE_OPEN;
    if (done ? update->landed != 1 : refused && update->landed > 0) {
        world_fail(fiber->world, "I18: an update that was %s has landed %u times", done ? "done" : "refused", update->landed);
    }
    sometimes_hits[SOMETIMES_LOCK_OUTDATED] += status == STATUS_OK && result == GUARDED_OUTDATED;
    sometimes_hits[SOMETIMES_LOCK_UNKNOWN] += status == STATUS_OK && result == GUARDED_UNKNOWN;
}

/* Read, compute (long, now and then), update: with the fence alone, whatever the clock says. false: another has it. */
static bool update_once(struct fiber *fiber, uint64_t fence)
{
    struct world *world = fiber->world;
    struct guarded guarded = {&fiber->session, &fiber->random, DATA_NAME};
    struct guarded_value value;
    enum guarded_result result;
    struct error err;
    struct arena *arena = arena_create(&world->budget, "lock");
    unsigned long long number = 0, token = 0;
    enum status status = guarded_read(&guarded, fence, arena, &result, &value, &err);
    if (status == STATUS_OK && result == GUARDED_OK) {
        (void)!sscanf(value.bytes.bytes, "%llu %llx", &number, &token);
    }
    bool goes_on = status != STATUS_OK || result != GUARDED_OUTDATED;
    int64_t computes_us = world_chance(world, 20) ? world_below(world, (uint32_t)(2 * world->timing.lease_ttl.us)) : 5000;
    if (status == STATUS_OK && goes_on && fiber_sleep(fiber, computes_us)) {
        uint64_t mine = world_random(world) | 1;
        char text[80];
        snprintf(text, sizeof text, "%llu %llx %llx", number + 1, (unsigned long long)mine, token);
        if (begin_update(world, mine) != NULL) {
            status = guarded_update(&guarded, fence, text_from(text), &result, &err);
            note_update(fiber, mine, status, result);
            goes_on = status != STATUS_OK || result != GUARDED_OUTDATED;
        }
    }
    arena_destroy(arena);
    return goes_on;
}

static void ask_if_due(struct claim *claim)
{
    struct claim_call call;
    claim_begin(claim, &call);
    if (call.call != TENURE_WAIT) {
        claim_perform(claim, &call);
        claim_finish(claim, &call);
    }
}

static void hold(struct fiber *fiber, struct claim *claim)
{
    struct world *world = fiber->world;
    bool renews = world_chance(world, 70);
    SOMETIMES(LOCK_HELD);
    for (uint32_t rounds = 1 + world_below(world, 4); rounds > 0; rounds--) {
        if (!update_once(fiber, claim->tenure.fence) || !fiber_sleep(fiber, world_below(world, SECOND))) {
            return;
        }
        enum tenure_state state = tenure_state_at(&claim->tenure, fiber_now_us(fiber));
        sometimes_hits[SOMETIMES_LOCK_SUSPENDED] += state == TENURE_SUSPENDED;
        if (renews) {
            ask_if_due(claim);
        }
        if (claim->tenure.state == TENURE_LOST) {
            SOMETIMES(LOCK_LOST);
            return;
        }
    }
}

static void want_lock(struct fiber *fiber)
{
    struct world *world = fiber->world;
    char holder[40];
    struct error ignored;
    struct claim claim = {.session = &fiber->session, .clock = &fiber->clock.clock, .name = LEASE_NAME, .holder = holder};
    snprintf(holder, sizeof holder, "%s.%u", world->processes[fiber->process].id, fiber->generation);
    claim_open(&claim, TENURE_ONCE, &world->timing);
    world->tenures[fiber->process] = &claim.tenure;
    for (uint32_t tries = 20; tries > 0 && !fiber->dead && claim.tenure.state == TENURE_SEEKING; tries--) {
        ask_if_due(&claim);
        if (claim.tenure.state == TENURE_SEEKING) {
            fiber_sleep(fiber, claim.tenure.retry_us);
        }
    }
    if (claim.tenure.state == TENURE_HELD) {
        hold(fiber, &claim);
    }
    tenure_release(&claim.tenure);
    world->tenures[fiber->process] = NULL;
    (void)claim_end(&claim, &ignored);
}

/* ---- the latch that all who were there at first go through ---- */

static uint32_t arrivals(const struct world *world)
{
    uint32_t count = 0;
    for (uint32_t bits = world->arrived; bits != 0; bits &= bits - 1) {
        count++;
    }
    return count;
}

static void check_latch(struct fiber *fiber, const struct latch_state *state)
{
    struct world *world = fiber->world;
    bool open = latch_is_open(state);
    if (open && arrivals(world) < world->first_processes) {
        world_fail(world, "I18: the latch is open; %u of %u have counted down", arrivals(world), world->first_processes);
    }
    if (!open && world->latch_open) {
        world_fail(world, "I18: the latch was open, and is closed");
    }
    sometimes_hits[SOMETIMES_LATCH_OPENED] += open && !world->latch_open;
}

static void pass_latch(struct fiber *fiber)
{
    struct world *world = fiber->world;
    const struct latch latch = {&fiber->session, LATCH_NAME};
    const char *id = world->processes[fiber->process].id;
    struct latch_state state;
    struct error err;
    bool counted = false, opened = false, was_open;
    if (!fiber_sleep(fiber, world_below(world, (uint32_t)(3 * world->timing.lease_ttl.us)))) {
        return;
    }
    do {
        opened = opened || latch_open(&latch, world->first_processes, &state, &err) == STATUS_OK;
        if (opened && !counted && !fiber->dead) {
            world->arrived |= 1u << fiber->process;
            counted = latch_count_down(&latch, id, &state, &err) == STATUS_OK;
        }
        was_open = world->latch_open;
        if (counted && latch_look(&latch, &state, &err) == STATUS_OK && !fiber->dead) {
            if (was_open || latch_is_open(&state)) {
                check_latch(fiber, &state);
            }
            world->latch_open |= latch_is_open(&state);
            if (latch_is_open(&state)) {
                return;
            }
        }
    } while (fiber_sleep(fiber, 100000 + world_below(world, SECOND)));
}

static void run(struct fiber *fiber, void *context)
{
    struct world *world = fiber->world;
    (void)context;
    fiber->leases_in_registers = world->leases_in_registers;
    lease_register_open(&fiber->leases, &fiber->session, &fiber->clock.clock, world_random(world) | 1);
    if (fiber->process < world->first_processes) {
        pass_latch(fiber);
    }
    while (fiber_sleep(fiber, world_below(world, SECOND))) {
        want_lock(fiber);
    }
    lease_register_close(&fiber->leases, false);
}

void locks_start(struct world *world, uint8_t process)
{
    fiber_start(world, process, SERVICE_COORDINATION, run, NULL);
}
