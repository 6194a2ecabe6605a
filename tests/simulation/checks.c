/* What must stay true: the invariants of docs/design/2026-11-30-coordination.md, by their numbers. The checks know what no process can know. */
#include <stdio.h>
#include <string.h>

#include "control.h"
#include "simulation.h"

struct life_state *checks_life(struct world *world, uint64_t incarnation)
{
    for (uint32_t i = world->life_count; i > 0; i--) {
        if (world->lives[i - 1].incarnation == incarnation) {
            return &world->lives[i - 1];
        }
    }
    return NULL;
}

static bool may_commit(struct world *world, const struct process *process, const struct work *work)
{
    if (!process->up || !work->running || process->paused) { /* paused: it commits nothing before it has read the model again */
        return false;
    }
    if (world->commit_kind == COMMIT_KAFKA) {
        return process->producer != 0 && world->producers[process->seat] == process->producer;
    }
    const struct record *record = services_record(world, work->task);
    return record->epoch == work->epoch && record->incarnation == processor_life(process->processor).incarnation;
}

/* I1: a linear history; one version, one content. */
static void check_history(struct world *world, const struct model *old, const struct model *now)
{
    if (now->rev != old->rev + 1 || now->term < old->term || now->version < old->version || now->version > old->version + 1) {
        world_fail(world, "I1: rev %llu -> %llu, term %llu -> %llu, version %llu -> %llu", (unsigned long long)old->rev,
                   (unsigned long long)now->rev, (unsigned long long)old->term, (unsigned long long)now->term,
                   (unsigned long long)old->version, (unsigned long long)now->version);
    }
    if (now->version != old->version) {
        return;
    }
    bool same = now->member_count == old->member_count && now->plan == old->plan;
    for (uint32_t i = 0; same && i < now->member_count; i++) {
        same = life_equal(now->members[i].life, old->members[i].life) && now->members[i].seat == old->members[i].seat;
    }
    for (uint32_t i = 0; i < now->task_count; i++) {
        const struct model_task *task = model_find_task(old, now->tasks[i].task);
        same &= task != NULL && task->epoch == now->tasks[i].epoch && life_equal(model_owner(old, task), model_owner(now, &now->tasks[i]));
    }
    if (!same) {
        world_fail(world, "I1: version %llu has two contents", (unsigned long long)now->version);
    }
}

/* I2 */
static void check_writer(struct world *world, const struct model *now)
{
    uint64_t *writer = &world->term_writer[now->term % (sizeof world->term_writer / sizeof *world->term_writer)];
    if (*writer != 0 && *writer != now->leader.incarnation) {
        world_fail(world, "I2: two leaders wrote in term %llu", (unsigned long long)now->term);
    }
    *writer = now->leader.incarnation;
}

/* I19: nobody is evicted because something could not be read. */
static void check_reason(struct world *world, struct life life, const char *why)
{
    const struct life_state *state = checks_life(world, life.incarnation);
    const struct cell *cell = services_cell(world, life.id, true);
    int64_t ttl = world->timing.lease_ttl.us, silent = services_silence_us(world, cell);
    if (state == NULL || !state->up || !cell->there || cell->member->life.incarnation != life.incarnation ||
        cell->member->state != MEMBER_ACTIVE) {
        return;
    }
    bool overdue = strstr(why, "held up") != NULL && world->now_us - world->version_since_us >= world->timing.barrier_timeout.us / 100 * 98;
    if (silent < ttl / 100 * 98 && cell->widest_us < ttl / 100 * 98 && !overdue) {
        world_fail(world, "I19: %s was evicted without a reason ('%s'): it was silent for %.3f s at most", life.id, why,
                   (double)(silent > cell->widest_us ? silent : cell->widest_us) / SECOND);
    }
}

static void check_members(struct world *world, const struct model *old, const struct model *now)
{
    for (uint32_t i = 0; i < old->member_count; i++) {
        struct life life = old->members[i].life;
        struct life_state *state = checks_life(world, life.incarnation);
        if (model_lists(now, life)) {
            continue;
        }
        check_reason(world, life, now->round.why);
        if (state != NULL) {
            state->evicted = true;
        }
        sometimes_hits[SOMETIMES_EVICT_IN_STOP_ALL] += old->round.kind == MODEL_STOP_ALL && !old->round.opened;
        sometimes_hits[SOMETIMES_OVERDUE] += strstr(now->round.why, "held up") != NULL;
        for (uint32_t k = 0; k < old->task_count; k++) {
            sometimes_hits[SOMETIMES_CLOSED_FROM_EVICTED] += !old->tasks[k].open && life_equal(old->tasks[k].from, life);
        }
    }
    for (uint32_t i = 0; i < now->member_count; i++) {
        const struct model_member *member = &now->members[i];
        struct life_state *state = checks_life(world, member->life.incarnation);
        if (model_lists(old, member->life)) {
            continue;
        }
        if (state != NULL) {
            state->listed = true;
        }
        if (state != NULL && state->evicted &&
            state->up) { /* of a dead one a late write may have made the register again: it stays silent */
            world_fail(world, "R2: the evicted life of %s was admitted again", member->life.id);
        }
        sometimes_hits[SOMETIMES_SEAT_LENT_AGAIN] += world->seat_user[member->seat % 64] != 0;
        sometimes_hits[SOMETIMES_REJOIN_IN_GRACE] += strstr(old->round.why, "restarts") != NULL;
        world->seat_user[member->seat % 64] = member->life.incarnation;
    }
}

/* A commit of the former holder that is still on its way, and would be accepted. */
static bool commit_is_on_its_way(const struct world *world, struct life from, uint64_t task)
{
    for (uint32_t i = 0; i < world->heap_count; i++) {
        const struct world_event *event = &world->slots[world->heap[i].slot];
        const struct operation *operation = event->operation;
        if (event->type != WORLD_EXECUTE || !operation->commit || operation->records || operation->life.incarnation != from.incarnation ||
            world->commit_kind != COMMIT_KAFKA || world->producers[operation->seat] != operation->producer) {
            continue;
        }
        for (uint32_t k = 0; k < operation->entry_count; k++) {
            if (operation->entries[k].task == task) {
                return true;
            }
        }
    }
    return false;
}

/* I6 */
static void check_opened(struct world *world, const struct model_task *before, const struct model_task *task)
{
    char text[TASK_TEXT_BYTES];
    if (!task->open || before->open || before->from.id == NULL) {
        return;
    }
    if (commit_is_on_its_way(world, before->from, task->task)) {
        world_fail(world, "I6: %s opens while a commit of its former holder is on its way", task_text(task->task, text));
    }
    for (uint8_t i = 0; i < world->process_count; i++) {
        const struct process *process = &world->processes[i];
        if (!process->up || processor_life(process->processor).incarnation != before->from.incarnation) {
            continue;
        }
        for (uint32_t k = 0; k < process->work_count; k++) {
            if (process->works[k].task == task->task && may_commit(world, process, &process->works[k])) {
                world_fail(world, "I6: %s opens while %s still works on it", task_text(task->task, text), process->id);
            }
        }
    }
}

void checks_model_written(struct world *world, const struct operation *operation, const struct model *old, const struct model *now)
{
    (void)operation;
    check_history(world, old, now);
    check_writer(world, now);
    check_members(world, old, now);
    world->version_since_us = now->version == old->version ? world->version_since_us : world->now_us;
    for (uint32_t i = 0; i < now->task_count; i++) {
        const struct model_task *task = &now->tasks[i], *before = model_find_task(old, task->task);
        if (!task->retired && (before == NULL || before->retired)) {
            services_record(world, task->task)->return_epoch = task->epoch;
        }
        if (before != NULL) {
            check_opened(world, before, task);
            sometimes_hits[SOMETIMES_CLOSED_TASK_MOVES] +=
                !before->open && before->from.id != NULL && !task->open && !life_equal(model_owner(old, before), model_owner(now, task));
        }
    }
    for (uint32_t i = 0; i < now->dirty_count; i++) {
        const struct life_state *state = checks_life(world, now->dirty[i].life.incarnation);
        sometimes_hits[SOMETIMES_WAIT_FOR_PROOF] += world->unfenced && state != NULL && state->fenced;
    }
    sometimes_hits[SOMETIMES_STOP_ALL_OPENED] += now->round.kind == MODEL_STOP_ALL && now->round.opened && !old->round.opened;
    if (world->log) {
        char leader[LIFE_TEXT_BYTES];
        world_log(world, "model rev %llu term %llu (%s) version %llu members %u tasks %u dirty %u opened %d: %s",
                  (unsigned long long)now->rev, (unsigned long long)now->term, life_text(now->leader, leader),
                  (unsigned long long)now->version, now->member_count, now->task_count, now->dirty_count, now->round.opened,
                  now->round.why);
        for (uint32_t i = 0; i < now->task_count; i++) {
            char task[TASK_TEXT_BYTES], owner[LIFE_TEXT_BYTES], from[LIFE_TEXT_BYTES];
            const struct model_task *t = &now->tasks[i];
            world_log(world, "    %s %s epoch %llu %s from %s%s%s", task_text(t->task, task), life_text(model_owner(now, t), owner),
                      (unsigned long long)t->epoch, t->open ? "open" : "closed", life_text(t->from, from), t->evicted ? " evicted" : "",
                      t->retired ? " retired" : "");
        }
    }
}

/* I4, I10 */
void checks_commit_accepted(struct world *world, const struct operation *operation)
{
    const struct life_state *life = checks_life(world, operation->life.incarnation);
    char text[TASK_TEXT_BYTES];
    if (life != NULL && life->fenced) {
        world_fail(world, "I4: a commit of a fenced life (process %u) is accepted", operation->process);
    }
    for (uint32_t i = 0; i < operation->entry_count; i++) {
        const struct record *record = services_record(world, operation->entries[i].task);
        if (record->count != operation->entries[i].base) {
            world_fail(world, "I10: %s has %llu commits; one that follows %llu is accepted", task_text(record->task, text),
                       (unsigned long long)record->count, (unsigned long long)operation->entries[i].base);
        }
    }
}

/* I3: one runner of a task whose commit would be accepted; I5: one plan at work. */
void checks_always(struct world *world)
{
    struct {
        uint64_t task;
        uint8_t process;
    } seen[PROCESS_MAX * TASK_MAX];
    uint32_t count = 0, leaders = 0;
    const struct work *first = NULL;
    char text[TASK_TEXT_BYTES];
    for (uint8_t i = 0; i < world->process_count; i++) {
        const struct process *process = &world->processes[i];
        leaders += process->up && leader_state(process->leader) == LEADER_LEADING;
        for (uint32_t k = 0; k < process->work_count; k++) {
            const struct work *work = &process->works[k];
            if (!may_commit(world, process, work)) {
                continue;
            }
            for (uint32_t n = 0; n < count; n++) {
                if (seen[n].task == work->task) {
                    world_fail(world, "I3: %s and %s both run %s", world->processes[seen[n].process].id, process->id,
                               task_text(work->task, text));
                }
            }
            seen[count].task = work->task;
            seen[count++].process = i;
            if (first != NULL && first->plan != work->plan) {
                world_fail(world, "I5: plans %lld and %lld are both at work", (long long)first->plan, (long long)work->plan);
            }
            first = first == NULL ? work : first;
        }
    }
    sometimes_hits[SOMETIMES_TWO_LEADERS] += leaders > 1;
    if (world->locks) {
        locks_check_always(world);
    }
}

void checks_register_written(struct world *world, const struct operation *operation, const struct simulated_register *before)
{
    if (strncmp(operation->name, "locks/", 6) == 0) {
        locks_check_write(world, operation, before);
    } else if (strncmp(operation->name, "jobs/j/commit/", 14) == 0) {
        commits_check_write(world, operation);
    } else if (strncmp(operation->name, "jobs/j/ctl/", 11) == 0) {
        control_check_write(world, operation);
    }
}

/* I8: writes of two owners of a task do not mix. `writer` names life and epoch. */
void checks_sink_write(struct world *world, uint64_t task, uint64_t writer)
{
    uint32_t i = 0;
    char text[TASK_TEXT_BYTES];
    while (i < world->sink_count && world->sinks[i].task != task) {
        i++;
    }
    if (i == world->sink_count) {
        if (world->sink_count == TASK_MAX * 2) {
            return;
        }
        world->sink_count++;
        world->sinks[i].task = task;
        world->sinks[i].writer = writer;
    }
    world_log(world, "  sink %s by %llx", task_text(task, text), (unsigned long long)writer);
    if (world->sinks[i].writer == writer) {
        return;
    }
    for (uint32_t k = 0; k < world->sinks[i].previous_count && k < 16; k++) {
        if (world->sinks[i].previous[k] == writer) {
            world_fail(world, "I8: a former owner of %s writes to a sink after its successor", task_text(task, text));
        }
    }
    world->sinks[i].previous[world->sinks[i].previous_count++ % 16] = world->sinks[i].writer;
    world->sinks[i].writer = writer;
}

/* I7 */
void checks_stop(struct world *world, const struct process *process, uint64_t task)
{
    const struct model *model = processor_model(process->processor);
    const struct model_task *entry = model_find_task(model, task);
    char text[TASK_TEXT_BYTES];
    if (!process->leaving && entry != NULL && entry->open && life_equal(model_owner(model, entry), processor_life(process->processor))) {
        world_fail(world, "I7: %s stops %s, which is still its own", process->id, task_text(task, text));
    }
}

/* I21 */
void checks_exit(struct world *world, const struct process *process, int32_t code)
{
    bool other = false;
    for (uint8_t i = 0; i < world->process_count; i++) {
        other |= &world->processes[i] != process && strcmp(world->processes[i].id, process->id) == 0;
    }
    if (code == 3 ? !other : !process->leaving) {
        world_fail(world, "I21: %s exits with %d", process->id, code);
    }
    sometimes_hits[SOMETIMES_LEFT] += code == 0;
}

static bool task_settled(struct world *world, const struct model_task *task)
{
    struct life owner = model_owner(world->model, task);
    for (uint8_t i = 0; i < world->process_count; i++) {
        const struct process *process = &world->processes[i];
        if (!process->up || processor_life(process->processor).incarnation != owner.incarnation) {
            continue;
        }
        for (uint32_t k = 0; k < process->work_count; k++) {
            const struct work *work = &process->works[k];
            if (work->task == task->task) {
                return work->known && !work->stopping && !process->paused && may_commit(world, process, work);
            }
        }
    }
    return false;
}

/* I20 */
bool checks_settled(struct world *world, char *why, size_t size)
{
    const struct model *model = world->model;
    uint32_t up = 0, leaders = 0;
    char text[TASK_TEXT_BYTES];
    for (uint8_t i = 0; i < world->process_count; i++) {
        const struct process *process = &world->processes[i];
        if (!process->up) {
            continue;
        }
        up++;
        leaders += leader_state(process->leader) == LEADER_LEADING && life_equal(model->leader, processor_life(process->processor));
        if (!model_lists(model, processor_life(process->processor))) {
            snprintf(why, size, "%s (%s) is not listed", process->id, processor_state_text(processor_state(process->processor)));
            return false;
        }
    }
    if (leaders != 1 || up != model->member_count || model->dirty_count > 0 || !model->round.opened || model->plan != world->wanted_plan) {
        snprintf(why, size, "%u leaders, %u processes up, %u listed, %u dirty seats, round opened %d, plan %lld of %lld", leaders, up,
                 model->member_count, model->dirty_count, model->round.opened, (long long)model->plan, (long long)world->wanted_plan);
        return false;
    }
    for (uint32_t i = 0; i < model->task_count; i++) {
        if (!model->tasks[i].open || !task_settled(world, &model->tasks[i])) {
            snprintf(why, size, "%s does not run at its owner", task_text(model->tasks[i].task, text));
            return false;
        }
    }
    return control_settled(world, why, size);
}
