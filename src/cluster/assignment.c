#include "cluster/assignment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct plan {
    const struct assignment_input *input;
    struct arena *arena;
    uint32_t *quota, *load, *pins, *current; /* by member */
    uint32_t *target;                        /* by task */
    bool *fixed;                             /* by member: its quota does not follow its weight */
};

static bool can_have(const struct plan *plan, uint32_t member)
{
    return !plan->input->members[member].drained;
}

static uint32_t limit_of(const struct plan *plan, uint32_t member)
{
    uint32_t limit = plan->input->members[member].task_max;
    return !can_have(plan, member) ? 0 : limit == 0 ? UINT32_MAX : limit;
}

static uint32_t pin_of(const struct plan *plan, uint32_t task)
{
    uint32_t pinned = plan->input->tasks[task].pinned;
    return pinned != ASSIGNMENT_NONE && can_have(plan, pinned) ? pinned : ASSIGNMENT_NONE;
}

/* Fixes the quotas that cannot follow the weights (limits, pins), until none is left; gives what remains for the others. */
static uint32_t fix_quotas(struct plan *plan, double *weight)
{
    const struct assignment_input *input = plan->input;
    uint32_t rest = input->task_count;
    bool again = true;
    *weight = 0;
    while (again) {
        again = false;
        *weight = 0;
        for (uint32_t i = 0; i < input->member_count; i++) {
            *weight += plan->fixed[i] ? 0 : input->members[i].weight;
        }
        for (uint32_t i = 0; i < input->member_count && !again; i++) {
            if (plan->fixed[i]) {
                continue;
            }
            double share = rest * input->members[i].weight / *weight;
            uint32_t limit = limit_of(plan, i), pins = plan->pins[i] < limit ? plan->pins[i] : limit;
            uint32_t fixed = limit < ceil(share) ? limit : pins > ceil(share) ? pins : UINT32_MAX;
            if (fixed != UINT32_MAX && (fixed <= floor(share) || fixed > ceil(share))) {
                fixed = fixed > rest ? rest : fixed;
                plan->fixed[i] = again = true;
                plan->quota[i] = fixed;
                rest -= fixed;
            }
        }
    }
    return rest;
}

struct candidate {
    uint32_t member;
    bool keeps; /* one more lets it keep a task that it has */
    double fraction;
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->keeps != b->keeps) {
        return a->keeps ? -1 : 1;
    }
    if (a->fraction != b->fraction) {
        return a->fraction > b->fraction ? -1 : 1;
    }
    return a->member < b->member ? -1 : a->member > b->member;
}

/* Each gets the floor of its share; what remains goes, one each, first to those that keep a task by it. */
static bool share_out(struct plan *plan)
{
    const struct assignment_input *input = plan->input;
    double weight;
    uint32_t rest = fix_quotas(plan, &weight), given = 0, count = 0;
    struct candidate *candidates = arena_alloc(plan->arena, input->member_count * sizeof *candidates + 1);
    if (candidates == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < input->member_count; i++) {
        if (!plan->fixed[i]) {
            double share = rest * input->members[i].weight / weight;
            uint32_t least = (uint32_t)floor(share);
            plan->quota[i] = least;
            given += least;
            bool keeps = plan->pins[i] > least || plan->current[i] > least;
            if (share > least) {
                candidates[count++] = (struct candidate){i, keeps, share - least};
            }
        }
    }
    qsort(candidates, count, sizeof *candidates, compare_candidates);
    for (uint32_t i = 0; i < count && given < rest; i++) {
        if (plan->quota[candidates[i].member] < limit_of(plan, candidates[i].member)) {
            plan->quota[candidates[i].member]++;
            given++;
        }
    }
    return true;
}

static bool has_room(const struct plan *plan, uint32_t member)
{
    return plan->load[member] < plan->quota[member];
}

static void place(struct plan *plan, uint32_t task, uint32_t member)
{
    plan->target[task] = member;
    plan->load[member]++;
}

static bool stays_at(const struct plan *plan, uint32_t task, uint32_t member)
{
    return plan->input->tasks[task].owner == member && pin_of(plan, task) == ASSIGNMENT_NONE && can_have(plan, member);
}

/* Pinned tasks, then those that can stay; where a member has too many, those that would go well elsewhere leave first, then the last ones. */
static void keep(struct plan *plan, const uint32_t *leaves_well)
{
    const struct assignment_input *input = plan->input;
    for (uint32_t i = 0; i < input->task_count; i++) {
        uint32_t pinned = pin_of(plan, i);
        if (pinned != ASSIGNMENT_NONE && plan->load[pinned] < limit_of(plan, pinned)) {
            place(plan, i, pinned);
        }
    }
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (uint32_t i = 0; i < input->task_count; i++) {
            uint32_t owner = input->tasks[i].owner;
            if (plan->target[i] == ASSIGNMENT_NONE && owner != ASSIGNMENT_NONE && leaves_well[i] == rank && stays_at(plan, i, owner) &&
                has_room(plan, owner)) {
                place(plan, i, owner);
            }
        }
    }
}

static bool same_text(const char *left, const char *right)
{
    return left != NULL && right != NULL && strcmp(left, right) == 0;
}

static void place_where_it_was(struct plan *plan)
{
    const struct assignment_input *input = plan->input;
    for (uint32_t i = 0; i < input->task_count; i++) {
        const struct assignment_task *task = &input->tasks[i];
        const char *host = task->owner != ASSIGNMENT_NONE ? input->members[task->owner].host : task->host;
        for (uint32_t k = 0; host != NULL && plan->target[i] == ASSIGNMENT_NONE && k < input->member_count; k++) {
            if (has_room(plan, k) && same_text(input->members[k].host, host)) {
                place(plan, i, k);
            }
        }
    }
}

static void place_rest(struct plan *plan)
{
    const struct assignment_input *input = plan->input;
    for (uint32_t i = 0; i < input->task_count; i++) {
        uint32_t warming = input->tasks[i].warming;
        if (plan->target[i] == ASSIGNMENT_NONE && warming != ASSIGNMENT_NONE && has_room(plan, warming)) {
            place(plan, i, warming);
        }
    }
    for (uint32_t quality = 0; quality < ASSIGNMENT_QUALITY_COUNT; quality++) {
        for (uint32_t i = 0; i < input->copy_count; i++) {
            const struct assignment_copy *copy = &input->copies[i];
            if (copy->quality == quality && plan->target[copy->task] == ASSIGNMENT_NONE && has_room(plan, copy->member)) {
                place(plan, copy->task, copy->member);
            }
        }
    }
    place_where_it_was(plan);
    uint32_t next = 0; /* neighbours stay together: runs of tasks are short to write */
    for (uint32_t i = 0; i < input->task_count; i++) {
        while (next < input->member_count && !has_room(plan, next)) {
            next++;
        }
        if (plan->target[i] == ASSIGNMENT_NONE && next < input->member_count) {
            place(plan, i, next);
        }
    }
}

/* 2: it warms up elsewhere already; 1: somebody else has its state; 0: neither. */
static uint32_t *rank_leavers(struct plan *plan)
{
    const struct assignment_input *input = plan->input;
    uint32_t *ranks = arena_alloc(plan->arena, input->task_count * sizeof *ranks + 1);
    for (uint32_t i = 0; ranks != NULL && i < input->copy_count; i++) {
        const struct assignment_copy *copy = &input->copies[i];
        if (copy->member != input->tasks[copy->task].owner && plan->current[copy->member] < plan->quota[copy->member]) {
            ranks[copy->task] = 1;
        }
    }
    for (uint32_t i = 0; ranks != NULL && i < input->task_count; i++) {
        if (input->tasks[i].warming != ASSIGNMENT_NONE) {
            ranks[i] = 2;
        }
    }
    return ranks;
}

static void warm_up(struct plan *plan, bool *caught_up, struct assignment *assignment)
{
    const struct assignment_input *input = plan->input;
    uint32_t warming = 0;
    for (uint32_t i = 0; i < input->copy_count; i++) {
        const struct assignment_copy *copy = &input->copies[i];
        caught_up[copy->task] |= copy->quality == ASSIGNMENT_STANDBY && copy->member == plan->target[copy->task];
    }
    for (uint32_t pass = 0; pass < 2; pass++) { /* those that do so already come first */
        for (uint32_t i = 0; i < input->task_count; i++) {
            const struct assignment_task *task = &input->tasks[i];
            uint32_t target = plan->target[i];
            bool already = task->warming != ASSIGNMENT_NONE && task->warming == target;
            if (already != (pass == 0)) {
                continue;
            }
            assignment->owner[i] = target;
            if (!input->stateful || task->owner == ASSIGNMENT_NONE || target == task->owner || target == ASSIGNMENT_NONE || caught_up[i] ||
                pin_of(plan, i) != ASSIGNMENT_NONE || (already && task->warmed)) {
                continue;
            }
            assignment->owner[i] = task->owner;
            if (warming < input->warmup_max) {
                assignment->warming[i] = target;
                warming++;
            }
        }
    }
}

static bool may_stand_by(const struct plan *plan, uint32_t owner, uint32_t member)
{
    const struct assignment_member *members = plan->input->members;
    return owner != member && can_have(plan, member) && !same_text(members[owner].host, members[member].host) &&
           !same_text(members[owner].rack, members[member].rack);
}

static int compare_copies(const void *left, const void *right)
{
    const struct assignment_copy *a = left, *b = right;
    if (a->task != b->task) {
        return a->task < b->task ? -1 : 1;
    }
    return a->member < b->member ? -1 : a->member > b->member;
}

/* Those of one task: the present ones that may stay, then the least loaded. */
static void stand_by(struct plan *plan, uint32_t task, uint32_t owner, uint32_t first_present, uint32_t *loads,
                     struct assignment *assignment)
{
    const struct assignment_input *input = plan->input;
    struct assignment_copy *list = assignment->standbys + assignment->standby_count;
    uint32_t count = 0;
    for (uint32_t i = first_present; i < input->standby_count && input->standbys[i].task == task && count < input->standbys_wanted; i++) {
        if (may_stand_by(plan, owner, input->standbys[i].member)) {
            list[count++] = (struct assignment_copy){task, input->standbys[i].member, ASSIGNMENT_STANDBY};
        }
    }
    while (count < input->standbys_wanted) {
        uint32_t best = ASSIGNMENT_NONE;
        for (uint32_t k = 0; k < input->member_count; k++) {
            bool taken = !may_stand_by(plan, owner, k);
            for (uint32_t i = 0; i < count; i++) {
                taken |= list[i].member == k;
            }
            if (!taken && (best == ASSIGNMENT_NONE || loads[k] < loads[best])) {
                best = k;
            }
        }
        if (best == ASSIGNMENT_NONE) {
            break;
        }
        list[count++] = (struct assignment_copy){task, best, ASSIGNMENT_STANDBY};
    }
    for (uint32_t i = 0; i < count; i++) {
        loads[list[i].member]++;
    }
    qsort(list, count, sizeof *list, compare_copies);
    assignment->standby_count += count;
}

static bool plan_standbys(struct plan *plan, struct assignment *assignment)
{
    const struct assignment_input *input = plan->input;
    uint32_t *loads = arena_alloc(plan->arena, input->member_count * sizeof *loads + 1), present = 0;
    size_t most = (size_t)input->task_count * input->standbys_wanted;
    assignment->standbys = arena_alloc(plan->arena, most * sizeof *assignment->standbys + 1);
    if (loads == NULL || assignment->standbys == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < input->task_count; i++) {
        while (present < input->standby_count && input->standbys[present].task < i) {
            present++;
        }
        if (assignment->owner[i] != ASSIGNMENT_NONE) {
            stand_by(plan, i, assignment->owner[i], present, loads, assignment);
        }
    }
    return true;
}

static bool prepare(struct plan *plan, struct assignment *assignment)
{
    size_t members = plan->input->member_count * sizeof(uint32_t) + 1, tasks = plan->input->task_count * sizeof(uint32_t) + 1;
    uint32_t **const by_member[] = {&plan->quota, &plan->load, &plan->pins, &plan->current};
    uint32_t **const by_task[] = {&plan->target, &assignment->owner, &assignment->warming};
    bool good = (plan->fixed = arena_alloc(plan->arena, members)) != NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(by_member); i++) {
        good &= (*by_member[i] = arena_alloc(plan->arena, members)) != NULL;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(by_task); i++) {
        good &= (*by_task[i] = arena_alloc(plan->arena, tasks)) != NULL;
        if (good) {
            memset(*by_task[i], 0xff, tasks - 1);
        }
    }
    for (uint32_t i = 0; good && i < plan->input->task_count; i++) {
        uint32_t owner = plan->input->tasks[i].owner, pinned = pin_of(plan, i);
        if (pinned != ASSIGNMENT_NONE) {
            plan->pins[pinned]++;
        }
        if (owner != ASSIGNMENT_NONE && (pinned == ASSIGNMENT_NONE || pinned == owner)) {
            plan->current[owner]++;
        }
    }
    return good;
}

enum status assignment_plan(const struct assignment_input *input, struct arena *arena, struct assignment *assignment, struct error *err)
{
    struct plan plan = {.input = input, .arena = arena};
    uint32_t *ranks = NULL;
    bool *caught_up = arena_alloc(arena, input->task_count + 1);
    *assignment = (struct assignment){0};
    if (caught_up == NULL || !prepare(&plan, assignment) || !share_out(&plan) || (ranks = rank_leavers(&plan)) == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room to plan the owners of %u tasks", input->task_count);
    }
    keep(&plan, ranks);
    place_rest(&plan);
    warm_up(&plan, caught_up, assignment);
    return plan_standbys(&plan, assignment) ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room to plan standbys");
}
