/* circuit/operators/session_list.h: the open sessions of all keys.
 *
 * For         session_window.
 * Shape       A session is a record of fixed size by number: bounds, links, then what the owner keeps per session (`extra_bytes`,
 *             zeroed). The sessions of a key form a list, latest first, disjoint by more than the gap. A heap orders all of them by the
 *             watermark that closes them; its entries may be too early and are corrected when they come up.
 * Rules       A row joins the sessions that it touches (also exactly one gap away) and that are not closed at the watermark before it; it
 *             is late when there are none and its own session would be closed.
 * Changes     When `followed` is set, `dirty` lists the sessions that were made, touched, merged, closed or released. With `cold` set their keys
 *             are touched there, and forgotten before they are removed.
 * Invariants  A heap entry whose session has gone, or is another one by now, is passed over: the number's generation tells. A session that was
 *             merged into another forwards to it.
 * Threads     One task.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_SESSION_LIST_H
#define SPATE_CIRCUIT_OPERATORS_SESSION_LIST_H

#include "circuit/operators/window_time.h"
#include "state/cold_table.h"
#include "state/dirty_slots.h"
#include "state/key_table.h"

#define SESSION_NONE UINT32_MAX

struct session {
    int64_t first, last; /* local times of its rows */
    int64_t weight;
    uint32_t older, newer; /* of the same key; newer of a merged one: where it went */
    uint32_t key;          /* slot */
    uint32_t state : 2;    /* enum session_state */
    uint32_t generation : 30;
};
enum session_state { SESSION_FREE, SESSION_OPEN, SESSION_CLOSED, SESSION_MERGED };
struct session_key {       /* the value of a key */
    uint32_t head, closed; /* open ones, closed ones that are not yet emitted: number + 1, 0: none */
    uint32_t sessions;     /* of both */
};
struct session_timer {
    int64_t closes;
    uint32_t session, generation;
};
struct session_list {
    struct budget *budget;
    const struct window_time *time;
    struct key_table *keys;
    uint8_t *records;
    uint32_t record_bytes, count, capacity, free;
    uint32_t live; /* sessions that are not free */
    struct session_timer *timers;
    uint32_t timer_count, timer_capacity;
    /* Merges what the owner keeps of `from` into `into`. */
    enum status (*merge)(void *owner, uint32_t into, uint32_t from, struct error *err);
    void *owner;
    bool followed;
    struct dirty_slots dirty;
    struct cold_table *cold; /* NULL: no database */
};
enum status session_list_open(struct session_list *list, struct budget *budget, const struct window_time *time,
                              const struct type *const *key_types, uint32_t key_count, uint32_t extra_bytes, struct error *err);
void session_list_close(struct session_list *list);
static inline struct session *session_at(const struct session_list *list, uint32_t number)
{
    return (struct session *)(void *)(list->records + (size_t)number * list->record_bytes);
}
/* The session of a row of the key in `key` at a local time; SESSION_NONE: it is late. */
enum status session_list_touch(struct session_list *list, uint32_t key, int64_t local, int64_t watermark, uint32_t *number,
                               struct error *err);
/* Where a session has gone: itself unless it was merged. */
uint32_t session_list_resolve(const struct session_list *list, uint32_t number);
/* The next session that the watermark closes; SESSION_NONE: there is no more. It leaves the list of its key, not the store. */
enum status session_list_next_closed(struct session_list *list, int64_t watermark, uint32_t *number, struct error *err);
/* Ends a session that next_closed returned, and its key when that was the last. */
enum status session_list_release(struct session_list *list, uint32_t number, struct error *err);
/* Adds an open or closed session as it was: bounds, weight, state and key of `saved`. */
enum status session_list_restore(struct session_list *list, const struct session *saved, uint32_t *number, struct error *err);
static inline bool session_is_there(const struct session *session)
{
    return session->state == SESSION_OPEN || session->state == SESSION_CLOSED;
}
/* Removes a key without sessions (after a late row). */
enum status session_list_drop_key(struct session_list *list, uint32_t key, struct error *err);
/* The sessions of a key that are there, open and closed: the first one, and the one behind; SESSION_NONE: no more. */
uint32_t session_list_first(const struct session_list *list, uint32_t key);
uint32_t session_list_next(const struct session_list *list, uint32_t number);
/* Takes a session, and later its key, out of memory: they are elsewhere. */
void session_list_forget(struct session_list *list, uint32_t number);
/* Nothing is there any more: gives back the memory of sessions. */
void session_list_clear(struct session_list *list);
int64_t session_closes(const struct session_list *list, const struct session *session);
size_t session_list_bytes(const struct session_list *list);

#endif
