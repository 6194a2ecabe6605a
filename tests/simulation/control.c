/* The control log: each process has the leader's lane as cluster/runner_calls.c has it, a reader as job/edits_group.c is one, and now and then
 * somebody proposes an edit. Tasks apply what is accepted between two ticks, note the rank in their commits, and the reader acknowledges what
 * is committed. */
#include "control.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cluster/control/leading.h"
#include "cluster/control/log_register.h"
#include "control_internal.h"
#include "objects.h"

enum { ERRANDS_MAX = 8 };

struct errand {
    enum step step;
    uint64_t request;
    char *text;
};
struct lane { /* of a leader */
    struct errand errands[ERRANDS_MAX];
    uint32_t count;
    struct control_log *log;
};
struct control_side {
    struct world *world;
    uint8_t process;
    struct leading *leading;
    struct leader_control control;
    struct fiber *lane_fiber;
    struct lane *lane;
    const struct control_fold *fold; /* of the reader; NULL: none yet */
    int64_t read_us;                 /* when the reading began that made it */
};

static struct control_side *side_of(struct world *world, uint8_t process)
{
    return world->processes[process].control;
}

/* ---- the leader's lane ---- */

static enum status read_log(struct fiber *fiber, struct control_log **log, struct error *err)
{
    if (*log == NULL) {
        TRY(control_log_open(&fiber->session, "jobs/j", &fiber->world->budget, &fiber->clock.clock, &fiber->random, log, err));
    }
    return control_log_read(*log, err);
}

static enum status append_json(struct fiber *fiber, struct lane *lane, const char *json, struct error *err)
{
    struct control_record record;
    struct arena *arena = arena_create(&fiber->world->budget, "record");
    uint64_t index;
    bool counted = true;
    enum status status = control_record_read("a record", text_from(json), arena, &record, err);
    if (status == STATUS_OK) {
        status = record.kind == CONTROL_SNAPSHOT ? control_log_snapshot(lane->log, &record, &counted, err)
                                                 : control_log_append(lane->log, &record, &index, &counted, err);
    }
    sometimes_hits[SOMETIMES_VOID_RECORD] += status == STATUS_OK && !counted;
    arena_destroy(arena);
    return status;
}

static void run_errand(struct fiber *fiber, struct lane *lane, const struct errand *errand)
{
    struct error err;
    bool reads = errand->step == STEP_READ_CONTROL;
    if (!reads) {
        fiber_sleep(fiber, 1 + world_below(fiber->world, 2000)); /* it was decided before it is sent */
    }
    enum status status = reads ? read_log(fiber, &lane->log, &err) : append_json(fiber, lane, errand->text, &err);
    if (!fiber->dead) {
        process_later(fiber->world, fiber->process, 1,
                      (struct cluster_event){.kind = EVENT_OUTCOME,
                                             .step = errand->step,
                                             .request = errand->request,
                                             .status = status,
                                             .control = status == STATUS_OK ? control_log_fold(lane->log) : NULL,
                                             .wall_ms = fiber->clock.clock.wall_us(&fiber->clock.clock) / 1000});
    }
}

static void run_lane(struct fiber *fiber, void *context)
{
    struct lane *lane = context;
    do {
        while (lane->count > 0) {
            struct errand errand = lane->errands[0];
            memmove(lane->errands, lane->errands + 1, --lane->count * sizeof *lane->errands);
            run_errand(fiber, lane, &errand);
            free(errand.text);
            fiber_sleep(fiber, 2); /* what came of it is told, before the log is touched again */
        }
    } while (fiber_pause(fiber));
    control_log_close(lane->log);
}

void control_ask(struct world *world, uint8_t process, const struct cluster_action *action)
{
    struct control_side *side = side_of(world, process);
    struct lane *lane = side->lane;
    if (lane->count == ERRANDS_MAX) {
        world_fail(world, "a leader asks its control log for too much");
        return;
    }
    lane->errands[lane->count++] = (struct errand){action->step, action->request, action->text == NULL ? NULL : strdup(action->text)};
    fiber_go_on(side->lane_fiber);
}

/* ---- the leader's decisions: the real ones, and the simulated operator's stop-all rounds and pins ---- */

static enum status next_record(void *context, const struct control_view *view, const char **record, struct error *err)
{
    struct control_side *side = context;
    const struct leader_control *real = leading_control(side->leading);
    return real->next(real->context, view, record, err);
}

static enum status take_turn(void *context, const struct control_view *view, struct control_effect *effect, struct error *err)
{
    struct control_side *side = context;
    const struct leader_control *real = leading_control(side->leading);
    TRY(real->turn(real->context, view, effect, err));
    control_operator(side->world, view->model, effect, false);
    return STATUS_OK;
}

const struct leader_control *control_leader(struct world *world, uint8_t process)
{
    return &side_of(world, process)->control;
}

/* ---- who reads for the tasks, and acknowledges ---- */

static uint64_t first_open_rank(const struct control_fold *fold)
{
    for (uint32_t i = 0; i < fold->entry_count; i++) {
        if (fold->entries[i].state == CONTROL_STATE_ACCEPTED && fold->entries[i].how != CONTROL_HOW_LEADER) {
            return fold->entries[i].rank - 1;
        }
    }
    return fold->rank;
}

uint64_t control_chain(uint64_t edits, uint64_t rank, uint64_t index)
{
    return hash_combine(hash_combine(edits, rank), index) >> 8;
}

void control_apply(struct world *world, uint8_t process, struct control_place *place)
{
    const struct control_side *side = side_of(world, process);
    if (!world->control || side->fold == NULL || side->read_us < place->since_us) {
        return;
    }
    if (!place->known) {
        uint64_t first = first_open_rank(side->fold);
        place->known = true;
        place->begun = place->rank = first > place->rank ? first : place->rank;
    }
    uint64_t rank = place->rank;
    const struct control_entry *next;
    while ((next = control_fold_after(side->fold, rank)) != NULL) {
        rank = next->rank;
        if (next->how != CONTROL_HOW_LEADER) {
            place->rank = rank;
            place->edits = control_chain(place->edits, rank, next->index);
            SOMETIMES(EDIT_APPLIED);
        }
    }
}

/* One record for the tasks that have committed through the same rank. */
static enum status acknowledge(struct fiber *fiber, struct control_log *log, struct error *err)
{
    struct world *world = fiber->world;
    struct process *process = &world->processes[fiber->process];
    const struct control_fold *fold = control_log_fold(log);
    uint64_t tasks[TASK_MAX], through = 0;
    uint32_t count = 0;
    char life[LIFE_TEXT_BYTES];
    for (uint32_t i = 0; i < process->work_count; i++) {
        const struct work *work = &process->works[i];
        bool owed = work->running && work->ctl_committed > control_fold_acked(fold, work->task);
        if (owed && (count == 0 || work->ctl_committed == through)) {
            through = work->ctl_committed;
            tasks[count++] = work->task;
        }
    }
    if (count == 0) {
        return STATUS_OK;
    }
    for (uint32_t i = 1; i < count; i++) { /* sorted */
        for (uint32_t k = i; k > 0 && tasks[k] < tasks[k - 1]; k--) {
            uint64_t swapped = tasks[k];
            tasks[k] = tasks[k - 1];
            tasks[k - 1] = swapped;
        }
    }
    uint64_t index;
    bool counted;
    struct control_record record = {.kind = CONTROL_ACK, .ack = {.by = life, .through = through, .tasks = tasks, .task_count = count}};
    life_text(processor_life(process->processor), life);
    return control_log_append(log, &record, &index, &counted, err);
}

static void run_reader(struct fiber *fiber, void *context)
{
    struct world *world = fiber->world;
    struct control_log *log = NULL;
    struct error err;
    uint64_t checked = 0;
    (void)context;
    while (fiber_sleep(fiber, 2 * world->timing.poll.us + world_below(world, (uint32_t)(2 * world->timing.poll.us)))) {
        struct control_side *side = side_of(world, fiber->process);
        int64_t began_us = world->now_us;
        uint64_t there = world->log_through;
        side->fold = NULL; /* lent until the next reading */
        enum status status = read_log(fiber, &log, &err);
        if (!fiber->dead && status == STATUS_OK && control_log_fold(log)->through < there) {
            world_fail(world, "I19: a reader of the control log takes record %" PRIu64 " for the last; %" PRIu64 " were there before",
                       control_log_fold(log)->through, there);
        }
        if (!fiber->dead && status == STATUS_OK) {
            status = acknowledge(fiber, log, &err);
        }
        const struct control_fold *fold = log == NULL ? NULL : control_log_fold(log);
        if (!fiber->dead && fold != NULL) {
            if (fold->through != checked) {
                control_check_reader(world, fold);
                checked = fold->through;
            }
            side->fold = fold;
            side->read_us = status == STATUS_OK ? began_us : side->read_us;
        }
    }
    control_log_close(log);
}

/* ---- who proposes ---- */

static void make_proposal(struct world *world, struct control_propose *propose, char *key, char *args, size_t size)
{
    static const char *const apps[] = {"app.reload", "app.limit", "core.task.restart", "core.task.move", "core.nonsense"};
    char task[TASK_TEXT_BYTES];
    const struct model *model = world->model;
    uint32_t kind = world_below(world, 10);
    *propose = (struct control_propose){.verb = apps[kind < 6   ? kind % 2
                                                     : kind < 7 ? 2
                                                     : kind < 9 ? 3
                                                                : 4],
                                        .args = args,
                                        .actor = "user:ann"};
    uint64_t any = model->tasks[world_below(world, model->task_count)].task;
    if (strcmp(propose->verb, "core.task.move") == 0) {
        snprintf(args, size, "{\"task\":\"%s\",\"to\":\"w%u\"}", task_text(any, task), world_below(world, world->process_count));
    } else if (strcmp(propose->verb, "core.task.restart") == 0) {
        snprintf(args, size, "{\"task\":\"%s\"}", task_text(any, task));
    } else {
        snprintf(args, size, "{\"n\":%u}", world_below(world, 3));
    }
    if (world_chance(world, 60)) {
        snprintf(key, size, "key-%u", world_below(world, 6));
        propose->key = key;
    }
    propose->deadline_ms = world_chance(world, 20) ? world_below(world, 2000) * (WALL_RATE / 10) + 1 : 0;
    propose->expects_version = world_chance(world, 10);
    propose->expect_version = model->version;
}

static void propose(struct fiber *fiber, struct control_log **log)
{
    struct world *world = fiber->world;
    char key[80], args[80];
    struct control_record record = {.kind = CONTROL_PROPOSE};
    struct arena *arena = arena_create(&world->budget, "proposal");
    struct error err;
    uint64_t index;
    bool counted;
    make_proposal(world, &record.propose, key, args, sizeof args);
    enum status status = control_args_make(args, arena, &record.propose.args, record.propose.args_sha256, &err);
    if (status == STATUS_OK && (status = read_log(fiber, log, &err)) == STATUS_OK) {
        (void)!control_log_append(*log, &record, &index, &counted, &err);
    }
    arena_destroy(arena);
}

static void run_proposer(struct fiber *fiber, void *context)
{
    struct world *world = fiber->world;
    struct control_log *log = NULL;
    (void)context;
    while (fiber_sleep(fiber, SECOND + world_below(world, 6 * SECOND)) && !world->calm) {
        propose(fiber, &log);
    }
    control_log_close(log);
}

static void run_hasty_proposer(struct fiber *fiber, void *context)
{
    struct control_log *log = NULL;
    (void)context;
    if (fiber_sleep(fiber, world_below(fiber->world, 60000)) && !fiber->world->calm) {
        propose(fiber, &log);
    }
    control_log_close(log);
}

/* While one leader follows another: there is something for both to decide. */
void control_propose_soon(struct world *world)
{
    for (uint8_t i = 0; i < world->process_count && !world->calm; i++) {
        if (world->processes[i].up && world_chance(world, 40)) {
            fiber_start(world, i, SERVICE_COORDINATION, run_hasty_proposer, NULL);
        }
    }
}

/* ---- a process ---- */

bool control_start(struct world *world, uint8_t process)
{
    static const char *const verbs[] = {"app.*", NULL}, *const sets[] = {"core/1", "app/1"};
    struct control_side *side = calloc(1, sizeof *side);
    struct error err;
    const struct leading_config config = {
        .random_seed = world_random(world) | 1, .snapshot_every = world->snapshot_every, .verbs = verbs, .sets = sets, .set_count = 2};
    *side = (struct control_side){.world = world, .process = process, .control = {side, next_record, take_turn}};
    world->processes[process].control = side;
    return leading_create(&config, &side->leading, &err) == STATUS_OK;
}

void control_begin(struct world *world, uint8_t process)
{
    struct control_side *side = side_of(world, process);
    side->lane = calloc(1, sizeof *side->lane);
    side->lane_fiber = fiber_start(world, process, SERVICE_COORDINATION, run_lane, side->lane);
    fiber_start(world, process, SERVICE_COORDINATION, run_reader, NULL);
    fiber_start(world, process, SERVICE_COORDINATION, run_proposer, NULL);
}

void control_stop(struct world *world, uint8_t process)
{
    struct control_side *side = side_of(world, process);
    world->processes[process].control = NULL;
    if (side != NULL) {
        leading_destroy(side->leading);
        free(side);
    }
}
