/* A counter that processes share under a lock. They wait for each other at a latch, then each adds 1 so many times; the last value is the sum.
 *
 * Build: cc counter.c $(pkg-config --cflags --libs spate) -o counter
 * Run:   for i in 0 1 2 3 4 5 6 7 8 9; do ./counter /tmp/registers 10 $i 20 & done; wait; ./counter /tmp/registers show
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spate/coordination.h"

static int fail(const char *what, const struct spate_error *error)
{
    fprintf(stderr, "%s: %s\n%s\n", what, error->text, error->remedy);
    return 1;
}

/* With the lock. *added: whether 1 was added. (UNKNOWN, an answer that was lost while another took over, would have to be looked up in what the
 * register holds: who needs that writes more than a number.) */
static int add(spate_lock *lock, bool *added, struct spate_error *error)
{
    char text[24] = "";
    size_t length;
    int outcome;
    int failed = spate_lock_read(lock, "counter", text, sizeof text - 1, &length, &outcome, error);
    *added = false;
    if (failed != SPATE_OK || outcome == SPATE_OUTCOME_OUTDATED) {
        return failed; /* outdated: the lock was lost, and another has it */
    }
    text[length] = '\0';
    length = (size_t)snprintf(text, sizeof text, "%ld", atol(text) + 1);
    failed = spate_lock_update(lock, "counter", text, length, &outcome, error);
    *added = failed == SPATE_OK && outcome == SPATE_OUTCOME_DONE;
    return failed;
}

static int count(spate_coordinator *coordinator, long times)
{
    struct spate_error error;
    for (long done = 0; done < times;) {
        spate_lock *lock;
        int outcome;
        bool added = false;
        int failed = spate_lock_acquire(coordinator, "counter", 10000, &lock, &outcome, &error);
        if (failed == SPATE_OK && outcome == SPATE_OUTCOME_DONE) {
            failed = add(lock, &added, &error);
            spate_lock_close(lock);
        }
        if (failed != SPATE_OK && failed != SPATE_ERROR_UNAVAILABLE) {
            return fail("counting", &error);
        }
        done += added;
    }
    return 0;
}

static int show(spate_coordinator *coordinator)
{
    struct spate_error error;
    char text[24] = "";
    size_t length;
    uint64_t fence;
    int outcome;
    if (spate_register_read(coordinator, "counter", text, sizeof text - 1, &length, &fence, &outcome, &error) != SPATE_OK) {
        return fail("showing", &error);
    }
    printf("%s\n", outcome == SPATE_OUTCOME_ABSENT ? "0" : text);
    return 0;
}

/* Until as many as count have come, also when one of them was started again. */
static int wait_for_all(spate_coordinator *coordinator, uint32_t processes, const char *name)
{
    struct spate_error error;
    spate_latch *latch;
    uint32_t missing = 0;
    int outcome;
    if (spate_latch_open(coordinator, "counter", processes, &latch, &error) != SPATE_OK) {
        return fail("opening the latch", &error);
    }
    int failed = spate_latch_count_down(latch, name, &outcome, &error);
    if (failed == SPATE_OK) {
        failed = spate_latch_await(latch, 60000, &missing, &outcome, &error);
    }
    spate_latch_close(latch);
    if (failed != SPATE_OK) {
        return fail("waiting for the others", &error);
    }
    if (outcome != SPATE_OUTCOME_DONE) {
        fprintf(stderr, "%" PRIu32 " others did not come within a minute\n", missing);
    }
    return outcome == SPATE_OUTCOME_DONE ? 0 : 1;
}

int main(int argument_count, char **arguments)
{
    spate_coordinator *coordinator;
    struct spate_error error;
    bool shows = argument_count >= 3 && strcmp(arguments[2], "show") == 0;
    if (argument_count < 5 && !shows) {
        fprintf(stderr, "usage: counter URI PROCESSES NAME TIMES [OPTION=VALUE]...    counter URI show [OPTION=VALUE]...\n");
        return 2;
    }
    if (spate_coordinator_open(arguments[1], (const char *const *)&arguments[shows ? 3 : 5], &coordinator, &error) != SPATE_OK) {
        return fail("opening", &error);
    }
    int failed = shows ? show(coordinator) : wait_for_all(coordinator, (uint32_t)strtoul(arguments[2], NULL, 10), arguments[3]);
    if (failed == 0 && !shows) {
        failed = count(coordinator, strtol(arguments[4], NULL, 10));
    }
    spate_coordinator_close(coordinator);
    return failed;
}
