#include "circuit/operators/session_list.h"

#include <assert.h>
#include <string.h>

#include "state/slot_array.h"

enum { FIRST_CAPACITY = 64, GENERATION_MASK = (1 << 30) - 1 };

enum status session_list_open(struct session_list *list, struct budget *budget, const struct window_time *time,
                              const struct type *const *key_types, uint32_t key_count, uint32_t extra_bytes, struct error *err)
{
    static const uint32_t value_bytes = sizeof(struct session_key);
    list->budget = budget;
    list->time = time;
    list->record_bytes = (uint32_t)sizeof(struct session) + extra_bytes;
    list->free = SESSION_NONE;
    list->dirty.budget = budget;
    return key_table_create(budget, key_types, key_count, &value_bytes, 1, &list->keys, err);
}

void session_list_close(struct session_list *list)
{
    slot_array_free(list->budget, list->records, (size_t)list->capacity * list->record_bytes);
    slot_array_free(list->budget, list->timers, list->timer_capacity * sizeof(struct session_timer));
    key_table_destroy(list->keys);
    dirty_slots_close(&list->dirty);
}

static inline enum status session_changed(struct session_list *list, uint32_t number, struct error *err)
{
    if (UNLIKELY(list->cold != NULL)) {
        cold_table_touch(list->cold, session_at(list, number)->key, 0);
    }
    return LIKELY(!list->followed) ? STATUS_OK : dirty_slots_mark(&list->dirty, number, err);
}

static struct session_key *key_at(const struct session_list *list, uint32_t key)
{
    return (struct session_key *)key_table_values(list->keys, 0) + key;
}

int64_t session_closes(const struct session_list *list, const struct session *session)
{
    int64_t end = session->last + list->time->spec.size_us;
    return list->time->spec.processing_time ? window_time_to_instant(list->time, end) : window_time_closes(list->time, end);
}

static bool timer_is_stale(const struct session_list *list, const struct session_timer *timer)
{
    const struct session *session = session_at(list, timer->session);
    return session->state == SESSION_FREE || session->generation != timer->generation;
}

/* Leaves out the timers of sessions that have left memory, once these are more than the others. */
static void timers_compact(struct session_list *list)
{
    enum { FEW = 4096 };
    uint32_t count = list->timer_count, kept = 0;
    if (count < FEW || count / 2 < list->live) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        list->timers[kept] = list->timers[i];
        kept += !timer_is_stale(list, &list->timers[i]);
    }
    list->timer_count = kept;
    struct session_timer *all = list->timers;
    for (uint32_t first = kept / 2; first-- > 0;) { /* each as the first of what is below it */
        struct session_timer moved = all[first];
        uint32_t at = first;
        for (uint32_t child = 2 * at + 1; child < kept; child = 2 * at + 1) {
            child += child + 1 < kept && all[child + 1].closes < all[child].closes;
            if (all[child].closes >= moved.closes) {
                break;
            }
            all[at] = all[child];
            at = child;
        }
        all[at] = moved;
    }
}

static enum status timer_push(struct session_list *list, int64_t closes, uint32_t session, struct error *err)
{
    if (list->timer_count == list->timer_capacity) {
        timers_compact(list);
    }
    if (list->timer_count == list->timer_capacity) {
        uint32_t capacity = list->timer_capacity == 0 ? FIRST_CAPACITY : list->timer_capacity * 2;
        struct session_timer *grown;
        TRY_ALLOC(grown, slot_array_grow(list->budget, list->timers, list->timer_capacity * sizeof *grown, capacity * sizeof *grown), err);
        list->timers = grown;
        list->timer_capacity = capacity;
    }
    uint32_t at = list->timer_count++;
    while (at > 0 && list->timers[(at - 1) / 2].closes > closes) {
        list->timers[at] = list->timers[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    list->timers[at] = (struct session_timer){closes, session, session_at(list, session)->generation};
    return STATUS_OK;
}

/* Puts `timer` in the place of the first one, which is gone. */
static void timer_replace_first(struct session_list *list, struct session_timer timer)
{
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= list->timer_count) {
            break;
        }
        if (child + 1 < list->timer_count && list->timers[child + 1].closes < list->timers[child].closes) {
            child++;
        }
        if (list->timers[child].closes >= timer.closes) {
            break;
        }
        list->timers[at] = list->timers[child];
        at = child;
    }
    list->timers[at] = timer;
}

static void timer_pop(struct session_list *list)
{
    struct session_timer last = list->timers[--list->timer_count];
    if (list->timer_count > 0) {
        timer_replace_first(list, last);
    }
}

static enum status session_take(struct session_list *list, uint32_t *number, struct error *err)
{
    uint32_t generation = 0;
    if (list->free != SESSION_NONE) {
        *number = list->free;
        list->free = session_at(list, *number)->older;
        generation = session_at(list, *number)->generation;
    } else {
        if (list->count == list->capacity) {
            uint32_t capacity = list->capacity == 0 ? FIRST_CAPACITY : list->capacity * 2;
            uint8_t *grown;
            TRY_ALLOC(grown,
                      slot_array_grow(list->budget, list->records, (size_t)list->capacity * list->record_bytes,
                                      (size_t)capacity * list->record_bytes),
                      err);
            list->records = grown;
            list->capacity = capacity;
        }
        *number = list->count++;
    }
    memset(session_at(list, *number), 0, list->record_bytes);
    session_at(list, *number)->generation = (generation + 1) & GENERATION_MASK;
    list->live++;
    return STATUS_OK;
}

static void session_give_back(struct session_list *list, uint32_t number)
{
    struct session *session = session_at(list, number);
    session->state = SESSION_FREE;
    list->live--;
    session->older = list->free;
    list->free = number;
}

static void unlink_session(struct session_list *list, uint32_t number)
{
    struct session *session = session_at(list, number);
    if (session->newer != SESSION_NONE) {
        session_at(list, session->newer)->older = session->older;
    } else {
        key_at(list, session->key)->head = session->older == SESSION_NONE ? 0 : session->older + 1;
    }
    if (session->older != SESSION_NONE) {
        session_at(list, session->older)->newer = session->newer;
    }
}

/* Closed ones are in a list of their own, by `older`. */
static void link_closed(struct session_list *list, uint32_t number)
{
    struct session *session = session_at(list, number);
    struct session_key *key = key_at(list, session->key);
    session->newer = SESSION_NONE;
    session->older = key->closed == 0 ? SESSION_NONE : key->closed - 1;
    key->closed = number + 1;
}

static void unlink_closed(struct session_list *list, uint32_t number)
{
    const struct session *session = session_at(list, number);
    struct session_key *key = key_at(list, session->key);
    if (key->closed == number + 1) {
        key->closed = session->older == SESSION_NONE ? 0 : session->older + 1;
        return;
    }
    struct session *before = session_at(list, key->closed - 1);
    while (before->older != number) {
        before = session_at(list, before->older);
    }
    before->older = session->older;
}

static void close_session(struct session_list *list, uint32_t number)
{
    unlink_session(list, number);
    session_at(list, number)->state = SESSION_CLOSED;
    link_closed(list, number);
}

static void link_session(struct session_list *list, uint32_t number, uint32_t newer)
{
    struct session *session = session_at(list, number);
    struct session_key *key = key_at(list, session->key);
    session->newer = newer;
    session->older = newer != SESSION_NONE ? session_at(list, newer)->older : key->head == 0 ? SESSION_NONE : key->head - 1;
    if (session->older != SESSION_NONE) {
        session_at(list, session->older)->newer = number;
    }
    if (newer != SESSION_NONE) {
        session_at(list, newer)->older = number;
    } else {
        key->head = number + 1;
    }
}

static enum status absorb(struct session_list *list, uint32_t into, uint32_t from, struct error *err)
{
    struct session *to = session_at(list, into), *session = session_at(list, from);
    TRY(list->merge(list->owner, into, from, err));
    TRY(session_changed(list, from, err));
    to->first = session->first < to->first ? session->first : to->first;
    to->last = session->last > to->last ? session->last : to->last;
    to->weight += session->weight;
    unlink_session(list, from);
    key_at(list, session->key)->sessions--;
    session->state = SESSION_MERGED;
    session->newer = into;
    return STATUS_OK;
}

static enum status session_make(struct session_list *list, uint32_t key, int64_t local, uint32_t newer, uint32_t *number, struct error *err)
{
    TRY(session_take(list, number, err));
    struct session *session = session_at(list, *number);
    session->first = session->last = local;
    session->key = key;
    session->state = SESSION_OPEN;
    enum status status = timer_push(list, session_closes(list, session), *number, err);
    if (status != STATUS_OK) {
        session_give_back(list, *number);
        return status;
    }
    link_session(list, *number, newer);
    key_at(list, key)->sessions++;
    return session_changed(list, *number, err);
}

enum status session_list_touch(struct session_list *list, uint32_t key, int64_t local, int64_t watermark, uint32_t *number,
                               struct error *err)
{
    int64_t gap = list->time->spec.size_us;
    uint32_t head = key_at(list, key)->head;
    uint32_t chosen = SESSION_NONE, newer = SESSION_NONE, next;
    for (uint32_t at = head == 0 ? SESSION_NONE : head - 1; at != SESSION_NONE; at = next) {
        struct session *session = session_at(list, at);
        next = session->older;
        if (session_closes(list, session) <= watermark) {
            close_session(list, at);
            TRY(session_changed(list, at, err));
            continue;
        }
        if (session->first > local + gap) {
            newer = at;
            continue;
        }
        if (session->last + gap < local) {
            break;
        }
        if (chosen != SESSION_NONE) {
            TRY(absorb(list, chosen, at, err));
            continue;
        }
        chosen = at;
        if (local >= session->first) {
            break; /* older ones end more than a gap before its first row */
        }
    }
    if (chosen != SESSION_NONE) {
        struct session *session = session_at(list, chosen);
        session->first = local < session->first ? local : session->first;
        session->last = local > session->last ? local : session->last;
        *number = chosen;
        return session_changed(list, chosen, err);
    }
    const struct session alone = {.last = local};
    if (session_closes(list, &alone) <= watermark) {
        *number = SESSION_NONE;
        return STATUS_OK;
    }
    return session_make(list, key, local, newer, number, err);
}

uint32_t session_list_resolve(const struct session_list *list, uint32_t number)
{
    while (session_at(list, number)->state == SESSION_MERGED) {
        number = session_at(list, number)->newer;
    }
    return number;
}

enum status session_list_next_closed(struct session_list *list, int64_t watermark, uint32_t *number, struct error *err)
{
    (void)err;
    while (list->timer_count > 0 && list->timers[0].closes <= watermark) {
        uint32_t at = list->timers[0].session;
        struct session *session = session_at(list, at);
        if (timer_is_stale(list, &list->timers[0])) {
            timer_pop(list);
            continue;
        }
        if (session->state == SESSION_MERGED) {
            timer_pop(list);
            session_give_back(list, at);
            continue;
        }
        int64_t closes = session_closes(list, session);
        if (closes > watermark) {
            timer_replace_first(list, (struct session_timer){closes, at, session->generation});
            continue;
        }
        timer_pop(list);
        if (session->state == SESSION_OPEN) {
            close_session(list, at);
        }
        *number = at;
        return STATUS_OK;
    }
    *number = SESSION_NONE;
    return STATUS_OK;
}

enum status session_list_drop_key(struct session_list *list, uint32_t key, struct error *err)
{
    if (key_table_has(list->keys, key) && key_at(list, key)->sessions == 0) {
        if (list->cold != NULL) {
            TRY(cold_table_forget(list->cold, &key, 1, err));
        }
        key_table_remove(list->keys, key);
    }
    return STATUS_OK;
}

uint32_t session_list_first(const struct session_list *list, uint32_t key)
{
    const struct session_key *of = key_at(list, key);
    return of->head != 0 ? of->head - 1 : of->closed != 0 ? of->closed - 1 : SESSION_NONE;
}

uint32_t session_list_next(const struct session_list *list, uint32_t number)
{
    const struct session *session = session_at(list, number);
    uint32_t closed = key_at(list, session->key)->closed;
    return session->older != SESSION_NONE ? session->older : session->state == SESSION_OPEN && closed != 0 ? closed - 1 : SESSION_NONE;
}

void session_list_forget(struct session_list *list, uint32_t number)
{
    session_give_back(list, number);
}

void session_list_clear(struct session_list *list)
{
    assert(list->live == 0);
    slot_array_free(list->budget, list->records, (size_t)list->capacity * list->record_bytes);
    slot_array_free(list->budget, list->timers, list->timer_capacity * sizeof(struct session_timer));
    list->records = NULL;
    list->timers = NULL;
    list->count = list->capacity = list->timer_count = list->timer_capacity = 0;
    list->free = SESSION_NONE;
}

enum status session_list_release(struct session_list *list, uint32_t number, struct error *err)
{
    uint32_t key = session_at(list, number)->key;
    TRY(session_changed(list, number, err));
    unlink_closed(list, number);
    session_give_back(list, number);
    assert(key_at(list, key)->sessions > 0);
    key_at(list, key)->sessions--;
    return session_list_drop_key(list, key, err);
}

enum status session_list_restore(struct session_list *list, const struct session *saved, uint32_t *number, struct error *err)
{
    uint32_t head = key_at(list, saved->key)->head, newer = SESSION_NONE;
    TRY(session_take(list, number, err));
    struct session *session = session_at(list, *number);
    uint32_t generation = session->generation;
    *session = *saved;
    session->generation = generation & GENERATION_MASK;
    key_at(list, saved->key)->sessions++;
    if (saved->state == SESSION_OPEN) {
        for (uint32_t at = head == 0 ? SESSION_NONE : head - 1; at != SESSION_NONE && session_at(list, at)->first > saved->first;) {
            newer = at;
            at = session_at(list, at)->older;
        }
        link_session(list, *number, newer);
    } else {
        link_closed(list, *number);
    }
    return timer_push(list, session_closes(list, session), *number, err);
}

size_t session_list_bytes(const struct session_list *list)
{
    return (size_t)list->capacity * list->record_bytes + list->timer_capacity * sizeof(struct session_timer) + key_table_bytes(list->keys);
}
