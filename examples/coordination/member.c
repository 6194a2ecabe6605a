/* Twelve tasks shared out among all processes that run this: each task is at one of them at a time, and moves when processes come, leave, die or
 * freeze. A task counts its steps in a register that only its present owner can change.
 *
 * Build: cc member.c $(pkg-config --cflags --libs spate) -o member
 * Run:   ./member /tmp/registers ann & ./member /tmp/registers bob &      kill one, or stop and continue it, or start a third
 *        ./member /tmp/registers show                                        who is there, and each task's steps: "task: fence owner steps, ..."
 */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spate/coordination.h"

enum { TASKS = 12, KEPT_BYTES = 16000, PATIENCE_MS = 30000 };
struct worker {
    const char *name;
    atomic_bool runs[TASKS], stopped;
};
static volatile sig_atomic_t is_asked_to_end;

static void ask_to_end(int signal_number)
{
    (void)signal_number;
    is_asked_to_end = 1;
}

/* Callbacks come on the member's thread; main's loop does the steps. It may be in the middle of one when its task is taken away: its register
 * refuses that step then, for the new owner has read it under a higher fence. */
static void on_model(void *context, const struct spate_grant *grants, uint32_t count)
{
    struct worker *worker = context;
    for (uint32_t i = 0; i < count; i++) {
        printf("%s runs task %u, fence %" PRIu64 "\n", worker->name, grants[i].task, grants[i].fence);
        worker->runs[grants[i].task] = true;
    }
}
static void on_model_expired(void *context, const uint32_t *tasks, uint32_t count)
{
    struct worker *worker = context;
    for (uint32_t i = 0; i < count; i++) {
        printf("%s lets go of task %u\n", worker->name, tasks[i]);
        worker->runs[tasks[i]] = false;
    }
}
static void on_fenced(void *context)
{
    struct worker *worker = context;
    printf("%s was taken for dead, and joins again\n", worker->name);
    for (uint32_t i = 0; i < TASKS; i++) {
        worker->runs[i] = false;
    }
}
static void on_stopped(void *context, int how)
{
    struct worker *worker = context;
    printf("%s %s\n", worker->name, how == SPATE_MEMBER_REFUSED ? "is refused: another process has its id" : "has left");
    worker->stopped = true;
}

/* One step of a task: the last line of its register is "fence owner steps". */
static void step(spate_member *member, const struct worker *worker, uint32_t task)
{
    static char lines[KEPT_BYTES + 200];
    struct spate_error error;
    char name[40];
    size_t length;
    int outcome;
    uint64_t fence, last_fence = 0;
    unsigned steps = 0;
    snprintf(name, sizeof name, "tasks/%u", task);
    if (!spate_member_may_write(member, task, &fence) ||
        spate_member_read(member, task, name, lines, KEPT_BYTES, &length, &outcome, &error) != SPATE_OK ||
        (outcome != SPATE_OUTCOME_DONE && outcome != SPATE_OUTCOME_ABSENT)) {
        return; /* the next step tries again */
    }
    lines[length] = '\0';
    char *last = length == 0 ? lines : strrchr(lines, ',');
    last = last == NULL ? lines : last;
    if (sscanf(last, "%*[, ]%" SCNu64 " %*s %u", &last_fence, &steps) != 2 &&
        sscanf(last, "%" SCNu64 " %*s %u", &last_fence, &steps) != 2) {
        last_fence = 0;
    }
    if (last_fence == fence) { /* our own entry: one step more */
        *last = '\0';
    } else {
        steps = 0;
        last = lines + length;
    }
    snprintf(last, 200, "%s%" PRIu64 " %s %u", last == lines ? "" : ", ", fence, worker->name, steps + 1);
    (void)spate_member_update(member, task, name, lines, strlen(lines), &outcome, &error);
    if (outcome == SPATE_OUTCOME_OUTDATED) {
        printf("%s was refused: task %u is another's\n", worker->name, task);
    }
}

static void show_member(void *context, const struct spate_member_info *member)
{
    (void)context;
    printf("%s%s:", member->id, member->leads ? " (leads)" : "");
    for (uint32_t i = 0; i < member->task_count; i++) {
        printf(" %u", member->tasks[i]);
    }
    printf("\n");
}

static int show(spate_coordinator *coordinator)
{
    static char lines[KEPT_BYTES + 1];
    struct spate_error error;
    size_t length;
    uint64_t fence;
    int outcome;
    if (spate_member_list(coordinator, "example", show_member, NULL, &outcome, &error) != SPATE_OK) {
        fprintf(stderr, "%s\n%s\n", error.text, error.remedy);
        return 1;
    }
    for (uint32_t task = 0; task < TASKS; task++) {
        char name[40];
        snprintf(name, sizeof name, "tasks/%u", task);
        if (spate_register_read(coordinator, name, lines, KEPT_BYTES, &length, &fence, &outcome, &error) == SPATE_OK) {
            printf("%u: %.*s\n", task, (int)length, lines);
        }
    }
    return 0;
}

static int work(spate_coordinator *coordinator, const char *name)
{
    static const struct spate_member_callbacks callbacks = {.size = sizeof callbacks,
                                                            .on_model_expired = on_model_expired,
                                                            .on_model = on_model,
                                                            .on_fenced = on_fenced,
                                                            .on_stopped = on_stopped};
    struct worker worker = {.name = name};
    spate_member *member;
    struct spate_error error;
    int outcome;
    if (spate_member_join(coordinator, "example", name, TASKS, &callbacks, &worker, &member, &error) != SPATE_OK) {
        fprintf(stderr, "%s\n%s\n", error.text, error.remedy);
        return 1;
    }
    while (!is_asked_to_end && !worker.stopped) {
        for (uint32_t task = 0; task < TASKS; task++) {
            if (worker.runs[task]) {
                step(member, &worker, task);
            }
        }
        usleep(20000);
    }
    bool refused = worker.stopped;
    if (!refused) {
        (void)spate_member_leave(member, PATIENCE_MS, &outcome, &error); /* others take over at once */
    }
    spate_member_close(member);
    return refused ? 3 : 0;
}

int main(int argument_count, char **arguments)
{
    spate_coordinator *coordinator;
    struct spate_error error;
    if (argument_count < 3) {
        fprintf(stderr, "usage: member URI NAME|show [OPTION=VALUE]...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGTERM, ask_to_end);
    signal(SIGINT, ask_to_end);
    if (spate_coordinator_open(arguments[1], (const char *const *)&arguments[3], &coordinator, &error) != SPATE_OK) {
        fprintf(stderr, "%s\n%s\n", error.text, error.remedy);
        return 1;
    }
    int code = strcmp(arguments[2], "show") == 0 ? show(coordinator) : work(coordinator, arguments[2]);
    spate_coordinator_close(coordinator);
    return code;
}
