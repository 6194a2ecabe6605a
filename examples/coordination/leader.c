/* One leader among all processes that run this: who leads adds a line to a register, each with its turn; who does not waits.
 *
 * Build: cc leader.c $(pkg-config --cflags --libs spate) -o leader
 * Run:   ./leader /tmp/registers ann & ./leader /tmp/registers bob &      kill the one that leads, or stop and continue it
 *        ./leader /tmp/registers show                                        the turns: the fence, and who had it
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spate/coordination.h"

enum { KEPT_BYTES = 16000 };
static volatile sig_atomic_t is_asked_to_end;

static void ask_to_end(int signal_number)
{
    (void)signal_number;
    is_asked_to_end = 1;
}

/* Callbacks come on the coordinator's thread: they only tell. What a leader does asks spate_election_is_leader again. */
static void on_elected(void *name, uint64_t fence)
{
    printf("%s leads, fence %" PRIu64 "\n", (const char *)name, fence);
}
static void on_suspended(void *name)
{
    printf("%s is not sure that it leads\n", (const char *)name);
}
static void on_deposed(void *name)
{
    printf("%s leads no more\n", (const char *)name);
}

/* A leader's turn: what it reads cannot be changed any more by a leader before it, and what it writes is refused when there is one after it. */
static int take_turn(spate_election *election, const char *name)
{
    static char lines[KEPT_BYTES + 200];
    struct spate_error error;
    size_t length;
    int outcome;
    uint64_t fence;
    if (!spate_election_is_leader(election, &fence)) {
        return SPATE_OK;
    }
    int failed = spate_election_read(election, "turns", lines, KEPT_BYTES, &length, &outcome, &error);
    if (failed == SPATE_OK && (outcome == SPATE_OUTCOME_DONE || outcome == SPATE_OUTCOME_ABSENT)) {
        length += (size_t)snprintf(lines + length, 200, "%" PRIu64 " %s\n", fence, name);
        failed = spate_election_update(election, "turns", lines, length, &outcome, &error);
    }
    if (failed != SPATE_OK && failed != SPATE_ERROR_UNAVAILABLE) { /* unavailable: the next turn tries again */
        fprintf(stderr, "%s: %s\n%s\n", name, error.text, error.remedy);
        return failed;
    }
    if (failed == SPATE_OK && outcome == SPATE_OUTCOME_OUTDATED) {
        printf("%s was refused: there is a later leader\n", name);
    }
    return SPATE_OK;
}

static int show(spate_coordinator *coordinator)
{
    static char lines[KEPT_BYTES + 1];
    struct spate_error error;
    size_t length;
    uint64_t fence;
    int outcome;
    if (spate_register_read(coordinator, "turns", lines, KEPT_BYTES, &length, &fence, &outcome, &error) != SPATE_OK) {
        fprintf(stderr, "%s\n%s\n", error.text, error.remedy);
        return 1;
    }
    fwrite(lines, 1, length, stdout);
    return 0;
}

/* Until it is asked to end, or the register is full. */
static int lead(spate_coordinator *coordinator, const char *name)
{
    static const struct spate_election_callbacks callbacks = {sizeof callbacks, on_elected, on_suspended, on_deposed};
    spate_election *election;
    struct spate_error error;
    int failed = spate_election_run(coordinator, "example", &callbacks, (void *)name, &election, &error);
    if (failed != SPATE_OK) {
        fprintf(stderr, "%s\n%s\n", error.text, error.remedy);
        return 1;
    }
    while (failed == SPATE_OK && !is_asked_to_end) {
        failed = take_turn(election, name);
        usleep(50000);
    }
    spate_election_close(election); /* resigns: another leads at once */
    return failed == SPATE_OK ? 0 : 1;
}

int main(int argument_count, char **arguments)
{
    spate_coordinator *coordinator;
    struct spate_error error;
    if (argument_count < 3) {
        fprintf(stderr, "usage: leader URI NAME|show [OPTION=VALUE]...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGTERM, ask_to_end);
    signal(SIGINT, ask_to_end);
    if (spate_coordinator_open(arguments[1], (const char *const *)&arguments[3], &coordinator, &error) != SPATE_OK) {
        fprintf(stderr, "%s\n%s\n", error.text, error.remedy);
        return 1;
    }
    int failed = strcmp(arguments[2], "show") == 0 ? show(coordinator) : lead(coordinator, arguments[2]);
    spate_coordinator_close(coordinator);
    return failed;
}
