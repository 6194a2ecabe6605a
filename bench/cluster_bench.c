/* What a round costs at the size of 64 members with ids of 60 bytes and 5,000 tasks: bytes in the register and in the body beside it, and the
 * leader's time, over the pure functions (cluster/protocol.h) with registers in memory: no service, no waiting.
 *
 * usage: spate-bench-cluster [ROUNDS]      rows of a table: what, bytes or ms (minimum, median, maximum)
 *
 * A round: one member is found dead; its tasks are closed, its seat is fenced, its tasks open at the others. Each next round the next member dies
 * and the one before is back. Reading and writing the model and the members as JSON is counted in, as the runner does them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster/leader.h"

enum { MEMBERS = 64, TASKS = 5000, ROUNDS_MAX = 1000, NAME_BYTES = 64, STEPS_MAX = 100000 };

static struct budget budget;
static struct arena *arena;
static struct error err;
static struct cluster_timing timing;

/* The registers: JSON texts and counters as versions. */
struct registered {
    char *json;
    size_t length;
    uint64_t version;
};
static struct registered model_text, body_text, own_text;
static struct registered member_texts[MEMBERS];
static char ids[MEMBERS][NAME_BYTES];
static uint64_t incarnations[MEMBERS];
static int32_t dead = -1; /* index: its process has surely ended */
static struct model *current;
static size_t register_bytes, body_bytes, moved_tasks;

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, err.text);
    exit(1);
}

static void must(enum status status, const char *what)
{
    if (status != STATUS_OK) {
        fail(what);
    }
}

static int64_t wall_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void keep(struct registered *registered, struct text text)
{
    free(registered->json);
    registered->json = malloc(text.length + 1);
    memcpy(registered->json, text.bytes, text.length);
    registered->length = text.length;
    registered->version++;
}

static struct cluster_version version_of(const struct registered *registered)
{
    struct cluster_version version = {.token = ""};
    snprintf(version.token, sizeof version.token, "%" PRIu64, registered->version);
    return version;
}

static void write_model(const struct model *model)
{
    char sha256[MODEL_SHA256_BYTES];
    struct text json, body;
    must(model_write(model, arena, &json, &body, sha256, &err), "writing a model");
    keep(&model_text, json);
    keep(&body_text, body);
    register_bytes = json.length;
    body_bytes = body.length;
}

static struct model *read_model(void)
{
    struct model *model;
    must(model_read("model", (struct text){model_text.json, model_text.length}, &budget, &model, &err), "reading a model");
    if (model->body_sha256[0] != '\0') {
        must(model_read_body(model, "body", (struct text){body_text.json, body_text.length}, &err), "reading a body");
    }
    return model;
}

/* As its process would: it has seen the version, and holds what is open at it. */
static void write_member(uint32_t index)
{
    struct member *member = member_create(&budget, &err);
    struct text json;
    uint32_t held = 0;
    member->life = (struct life){ids[index], incarnations[index]};
    member->beat = member_texts[index].version;
    member->host.weight = 1;
    member->seen_rev = current->rev;
    member->seen_version = current->version;
    member->held = arena_alloc(member->arena, TASKS * sizeof *member->held);
    for (uint32_t i = 0; i < TASKS; i++) {
        if (current->tasks[i].open && life_equal(model_owner(current, &current->tasks[i]), member->life)) {
            member->held[held++] = current->tasks[i].task;
        }
    }
    member->held_count = held;
    must(member_write(member, arena, &json, &err), "writing a member");
    keep(&member_texts[index], json);
    member_unref(member);
}

static void begin(void)
{
    struct model *model = model_create(&budget, &err);
    model->job = "bench";
    model->rev = model->version = 1;
    model->member_count = MEMBERS;
    model->members = arena_alloc(model->arena, MEMBERS * sizeof *model->members);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        snprintf(ids[i], sizeof ids[i], "member-%02u-%050u", i, i);
        incarnations[i] = i + 1;
        model->members[i] = (struct model_member){{ids[i], incarnations[i]}, i};
    }
    model->task_count = TASKS;
    model->tasks = arena_alloc(model->arena, TASKS * sizeof *model->tasks);
    for (uint32_t i = 0; i < TASKS; i++) { /* the worst order for runs */
        model->tasks[i] = (struct model_task){.task = task_make(1, i), .epoch = 1, .owner = i % MEMBERS, .open = true};
    }
    model->round.opened = true;
    write_model(model);
    model_unref(model);
    current = read_model();
    for (uint32_t i = 0; i < MEMBERS; i++) {
        write_member(i);
    }
}

/* ---- one process, the leader's; its actions are carried out at once ---- */

struct process {
    struct processor *processor;
    struct leader *leader;
    int64_t now_us;
};

static void read_members(struct cluster_event *event)
{
    struct cluster_member_view *views = calloc(MEMBERS, sizeof *views); /* an outcome may ask for the next reading at once */
    event->members = views;
    event->member_count = MEMBERS;
    for (uint32_t i = 0; i < MEMBERS; i++) {
        struct member *member;
        if (i != 0 && (int32_t)i != dead) {
            write_member(i);
        }
        const struct registered *text = i == 0 ? &own_text : &member_texts[i];
        must(member_read("member", (struct text){text->json, text->length}, &budget, &member, &err), "reading a member");
        views[i] = (struct cluster_member_view){
            .id = ids[i], .status = STATUS_OK, .member = member, .version = version_of(text), .gone = (int32_t)i == dead};
    }
}

static void put_own(const struct cluster_action *action)
{
    struct text json;
    must(member_write(action->member, arena, &json, &err), "writing a member");
    keep(&own_text, json);
}

static void put_model(const struct cluster_action *action)
{
    for (uint32_t i = 0; i < TASKS; i++) {
        const struct model_task *old = &current->tasks[i], *new = &action->model->tasks[i];
        moved_tasks += !life_equal(model_owner(current, old), model_owner(action->model, new)) && new->owner != MODEL_NONE;
    }
    write_model(action->model);
    model_unref(current);
    current = read_model();
}

/* The own register of this life is not there before it is put. */
static void read_own(struct cluster_event *event)
{
    struct member *member;
    if (own_text.json == NULL) {
        event->result = CLUSTER_ABSENT;
        return;
    }
    must(member_read("member", (struct text){own_text.json, own_text.length}, &budget, &member, &err), "reading a member");
    event->member = member;
    event->version = version_of(&own_text);
}

static void perform(const struct cluster_action *action, struct cluster_event *event, int64_t now_us)
{
    *event = (struct cluster_event){
        .kind = EVENT_OUTCOME, .step = action->step, .request = action->request, .task = action->task, .sent_us = now_us};
    if (action->step == STEP_READ_MODEL) {
        event->model = current;
        event->version = version_of(&model_text);
    } else if (action->step == STEP_PUT_MODEL) {
        put_model(action);
        event->version = version_of(&model_text);
    } else if (action->step == STEP_READ_MEMBERS) {
        read_members(event);
    } else if (action->step == STEP_READ_MEMBER) {
        read_own(event);
    } else if (action->step == STEP_PUT_MEMBER) {
        put_own(action);
        event->version = version_of(&own_text);
    } else if (action->step == STEP_RAISE_RECORD) {
        event->term_floor = action->term_floor;
        event->seat_high = action->seat_high;
    }
}

static bool has_outcome(enum step step)
{
    return step != STEP_LEASE_RELEASE && step != STEP_SUSPEND && step != STEP_RESUME && step != STEP_FOLLOW_TASK &&
           step != STEP_UNFOLLOW_TASK && step != STEP_REPORT && step != STEP_EXIT;
}

static void decide(struct process *process, const struct cluster_event *event);

/* The actions of one decision, and all that follows from their outcomes. */
static void carry_out(struct process *process, struct cluster_actions *actions)
{
    for (uint32_t i = 0; i < actions->count; i++) {
        struct cluster_event event;
        if (!has_outcome(actions->list[i].step)) {
            continue;
        }
        perform(&actions->list[i], &event, process->now_us);
        decide(process, &event);
        for (uint32_t k = 0; k < event.member_count; k++) {
            member_unref(event.members[k].member);
        }
        free((void *)(uintptr_t)event.members);
        member_unref(event.member);
    }
}

static void decide(struct process *process, const struct cluster_event *event)
{
    struct arena *own = arena_create(&budget, "actions");
    struct cluster_actions actions = {.arena = own};
    actions_clear(&actions);
    processor_decide(process->processor, event, process->now_us, &actions);
    leader_decide(process->leader, process->processor, event, process->now_us, &actions);
    carry_out(process, &actions);
    actions_clear(&actions);
    arena_destroy(own);
}

static void tick(struct process *process)
{
    static const struct cluster_event timer = {.kind = EVENT_TIMER};
    process->now_us += timing.poll.us;
    decide(process, &timer);
    arena_reset(arena);
}

static bool is_settled(void)
{
    for (uint32_t i = 0; i < current->task_count; i++) {
        struct life owner = model_owner(current, &current->tasks[i]);
        if (!current->tasks[i].open || (dead >= 0 && owner.id != NULL && strcmp(owner.id, ids[dead]) == 0)) {
            return false;
        }
    }
    return current->dirty_count == 0 && current->member_count == MEMBERS - (dead >= 0);
}

/* The leader's time until all is open again; the process's own waiting is left out: its clock jumps. */
static int64_t settle(struct process *process)
{
    int64_t began_us = wall_us();
    for (uint32_t i = 0; i < STEPS_MAX && !is_settled(); i++) {
        tick(process);
    }
    if (!is_settled()) {
        fail("the round does not end");
    }
    return wall_us() - began_us;
}

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static void print_times(const char *what, int64_t *times, uint32_t count)
{
    qsort(times, count, sizeof *times, compare);
    printf("%s\t%.1f\t%.1f\t%.1f\tms\n", what, (double)times[0] / 1e3, (double)times[count / 2] / 1e3, (double)times[count - 1] / 1e3);
}

static void open_process(struct process *process)
{
    const struct processor_config processor = {.id = ids[0], .host = {.weight = 1}, .timing = &timing, .random_seed = 1, .budget = &budget};
    const struct leader_config leader = {.timing = &timing, .random_seed = 2, .budget = &budget};
    *process = (struct process){.now_us = 1000000};
    must(processor_create(&processor, &process->processor, &err), "a processor");
    must(leader_create(&leader, &process->leader, &err), "a leader");
}

int main(int argument_count, char **arguments)
{
    static int64_t away[ROUNDS_MAX], back[ROUNDS_MAX];
    struct process process;
    uint32_t rounds = argument_count > 1 ? (uint32_t)strtoul(arguments[1], NULL, 10) : 20;
    rounds = rounds == 0 || rounds > ROUNDS_MAX ? 20 : rounds;
    budget_init(&budget, NULL, "bench", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "bench");
    must(timing_read(TIMING_LOCAL, NULL, 0, &timing, &err), "timing");
    begin();
    printf("register before\t%zu\tbytes\nbody before\t%zu\tbytes\n", register_bytes, body_bytes);
    open_process(&process);
    (void)settle(&process); /* member 0 comes as another life, and leads */
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t index = 1 + round % (MEMBERS - 1);
        moved_tasks = 0;
        dead = (int32_t)index;
        away[round] = settle(&process);
        dead = -1;
        incarnations[index] += MEMBERS; /* it comes back as another life */
        back[round] = settle(&process);
    }
    printf("register after\t%zu\tbytes\nbody after\t%zu\tbytes\n", register_bytes, body_bytes);
    print_times("a member dies", away, rounds);
    print_times("and comes back", back, rounds);
    processor_destroy(process.processor);
    leader_destroy(process.leader);
    return 0;
}
