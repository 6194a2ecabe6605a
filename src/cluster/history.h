/* cluster/history.h: the last rounds of a job's group, for people: why each began, what moved, how long it took.
 *
 * For         the runner, which notes what its leader wrote; `spate coord history`.
 * Shape       Register "<prefix>/history": {"v":1, "rounds":[{"version":42, "term":7, "leader":"w1#5f3a", "kind":"incremental",
 *             "why":"w5 evicted: silent", "moved":"s1.0-3 w5 > w2", "began_ms":..., "took_us":812000, "outcome":"opened"}]}, oldest first.
 *             A round begins with a version and ends when its last task is open, or with the next version ("replaced"). A leader that takes
 *             over is a round of its own ("leader"). Nobody decides by it.
 * Loss        It is written when a round has ended, after the model, and at most a few times a minute: a leader that dies takes with it what
 *             it has not written, and of two leaders at once one loses. A register that is no history is left as it is.
 * Threads     One at a time for a book.
 */
#ifndef SPATE_CLUSTER_HISTORY_H
#define SPATE_CLUSTER_HISTORY_H

#include "cluster/driver.h"
#include "cluster/model.h"

enum { HISTORY_MAX = 64, HISTORY_WHY_BYTES = 160, HISTORY_MOVED_BYTES = 260, HISTORY_LIFE_BYTES = 160, HISTORY_PENDING_MAX = 16 };

struct history_round {
    uint64_t version, term;
    char leader[HISTORY_LIFE_BYTES], kind[16], why[HISTORY_WHY_BYTES], moved[HISTORY_MOVED_BYTES], outcome[16];
    int64_t began_ms; /* wall time of the leader */
    int64_t took_us;  /* -1: not known */
};
/* What a leader has not written yet. */
struct history_book {
    struct history_round rounds[HISTORY_PENDING_MAX];
    int64_t began_us[HISTORY_PENDING_MAX]; /* by the clock of `now_us` */
    uint32_t count;
};

/* `now` was written over `before`. true: it is time to write the book. */
bool history_note(struct history_book *book, const struct model *before, const struct model *now, int64_t now_us, int64_t wall_us);
/* The rounds that are over; what is left is the one that goes on. */
enum status history_write(struct history_book *book, struct cluster_session *session, const char *prefix, struct arena *arena,
                          struct error *err);
/* Oldest first. ABSENT is none. */
enum status history_read(struct cluster_session *session, const char *prefix, struct arena *arena, struct history_round **rounds,
                         uint32_t *count, struct error *err);

#endif
