/* Contenders for one lock, in threads: each takes it, reads a list, adds its mark and writes the list back, again and again, and notes what it was
 * told. tests/cluster/locks runs several of these, kills and freezes them, and then compares the list with the notes.
 *
 * usage: lock_contenders URI NAME SECONDS THREADS FOLDER [OPTION=VALUE]...      lock_contenders URI - read
 * In FOLDER: "holder", the process that holds the lock, and "notes.NAME": "try MARK" before an update is asked for, then "done MARK", "outdated MARK" or "unknown MARK"; "timeout" when the lock was not had.
 * A mark is NAME.thread.number, in the list as FENCE:MARK. Everything is public interface. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "spate/coordination.h"

enum { THREADS_MAX = 64, LIST_BYTES = 43 << 10, MARK_BYTES = 64 };

struct contenders {
    spate_coordinator *coordinator;
    const char *name;
    int notes, holder; /* files */
    _Atomic time_t until;
    atomic_bool failed;
};
struct contender {
    struct contenders *all;
    uint32_t number, marks;
    unsigned seed;
    char list[LIST_BYTES + MARK_BYTES];
};

static void note(const struct contenders *all, const char *what, const char *mark)
{
    char line[MARK_BYTES + 20];
    int length = snprintf(line, sizeof line, "%s %s\n", what, mark);
    if (write(all->notes, line, (size_t)length) != length) { /* O_APPEND: whole, and there even if we are killed now */
        abort();
    }
}

static void fail(struct contender *self, const char *what, const struct spate_error *error)
{
    if (error->error_class != SPATE_ERROR_UNAVAILABLE) {
        fprintf(stderr, "%s: %s: %s\n", self->all->name, what, error->text);
        self->all->failed = true;
    }
    usleep(50000);
}

/* For the one who kills and freezes. */
static void show_holder(const struct contenders *all)
{
    char line[16];
    int length = snprintf(line, sizeof line, "%-10d\n", (int)getpid());
    if (pwrite(all->holder, line, (size_t)length, 0) != length) {
        abort();
    }
}

/* Adds a mark to the list, the lock being held. */
static void add_mark(struct contender *self, spate_lock *lock)
{
    static const char *const told[] = {
        [SPATE_OUTCOME_DONE] = "done", [SPATE_OUTCOME_OUTDATED] = "outdated", [SPATE_OUTCOME_UNKNOWN] = "unknown"};
    struct spate_error error;
    char mark[MARK_BYTES];
    size_t length;
    int outcome;
    show_holder(self->all);
    if (spate_lock_read(lock, "marks", self->list, LIST_BYTES, &length, &outcome, &error) != SPATE_OK) {
        fail(self, "read", &error);
        return;
    }
    if (outcome == SPATE_OUTCOME_OUTDATED) {
        return;
    }
    if (rand_r(&self->seed) % 8 == 0) {
        usleep((useconds_t)(rand_r(&self->seed) % 300000)); /* long enough to be frozen in */
    }
    if (length > LIST_BYTES - MARK_BYTES) { /* full: nothing more to try */
        self->all->until = 0;
        return;
    }
    snprintf(mark, sizeof mark, "%s.%u.%u", self->all->name, self->number, ++self->marks);
    length += (size_t)snprintf(self->list + length, MARK_BYTES, "%" PRIu64 ":%s\n", spate_lock_fence(lock), mark);
    note(self->all, "try", mark);
    if (spate_lock_update(lock, "marks", self->list, length, &outcome, &error) != SPATE_OK) {
        note(self->all, "outdated", mark); /* an error: nothing was changed */
        fail(self, "update", &error);
        return;
    }
    note(self->all, told[outcome], mark);
}

static void *contend(void *argument)
{
    struct contender *self = argument;
    while (time(NULL) < self->all->until) {
        struct spate_error error;
        spate_lock *lock;
        int outcome;
        int64_t timeout_ms = rand_r(&self->seed) % 3 == 0 ? 0 : rand_r(&self->seed) % 2000;
        if (spate_lock_acquire(self->all->coordinator, "marks", timeout_ms, &lock, &outcome, &error) != SPATE_OK) {
            fail(self, "acquire", &error);
        } else if (outcome != SPATE_OUTCOME_DONE) {
            note(self->all, "timeout", "");
            usleep(10000);
        } else {
            add_mark(self, lock);
            spate_lock_close(lock);
            usleep(20000);
        }
    }
    return NULL;
}

static int print_list(spate_coordinator *coordinator)
{
    static char list[LIST_BYTES];
    struct spate_error error;
    uint64_t fence;
    size_t length;
    int outcome;
    spate_lock *lock;
    if (spate_lock_acquire(coordinator, "marks", 30000, &lock, &outcome, &error) != SPATE_OK || outcome != SPATE_OUTCOME_DONE) {
        fprintf(stderr, "the lock cannot be had when all have gone\n");
        return 1;
    }
    spate_lock_close(lock);
    if (spate_register_read(coordinator, "marks", list, sizeof list, &length, &fence, &outcome, &error) != SPATE_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    fwrite(list, 1, length, stdout);
    return 0;
}

static int run(struct contenders *all, uint32_t count)
{
    static struct contender contenders[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        contenders[i] = (struct contender){.all = all, .number = i, .seed = (unsigned)getpid() * 64 + i};
        if (pthread_create(&threads[i], NULL, contend, &contenders[i]) != 0) {
            return 1;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    return all->failed;
}

static int open_file(const char *folder, const char *prefix, const char *name, int flags)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/%s%s", folder, prefix, name);
    return open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
}

int main(int argument_count, char **arguments)
{
    struct contenders all = {.name = arguments[2]};
    struct spate_error error;
    bool reads = argument_count >= 4 && strcmp(arguments[3], "read") == 0;
    if (argument_count < 6 && !reads) {
        fprintf(stderr, "usage: lock_contenders URI NAME SECONDS THREADS FOLDER [OPTION=VALUE]...\n");
        return 2;
    }
    const char *const *options = (const char *const *)&arguments[reads ? 4 : 6]; /* main's array ends with NULL */
    if (spate_coordinator_open(arguments[1], options, &all.coordinator, &error) != SPATE_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    int failed = 1;
    if (reads) {
        failed = print_list(all.coordinator);
    } else {
        all.notes = open_file(arguments[5], "notes.", all.name, O_APPEND);
        all.holder = open_file(arguments[5], "holder", "", 0);
        all.until = time(NULL) + atoi(arguments[3]);
        uint32_t count = (uint32_t)atoi(arguments[4]);
        failed = all.notes < 0 || all.holder < 0 || count > THREADS_MAX ? 1 : run(&all, count);
    }
    spate_coordinator_close(all.coordinator);
    return failed;
}
