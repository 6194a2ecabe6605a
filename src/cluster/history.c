#include "cluster/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cluster/form.h"
#include "cluster/value.h"

enum { NAME_BYTES = CLUSTER_NAME_MAX + 1 };

/* ---- what is noted ---- */

static const char *owner_id(const struct model *model, const struct model_task *task)
{
    return task == NULL || task->owner == MODEL_NONE ? "-" : model->members[task->owner].life.id;
}

/* How many tasks from `first` on moved alike: the same stage, one after the other, from the same member to the same. */
static uint32_t run_length(const struct model *before, const struct model *now, uint32_t first)
{
    const char *from = owner_id(before, model_find_task(before, now->tasks[first].task)), *to = owner_id(now, &now->tasks[first]);
    uint32_t last = first;
    while (last + 1 < now->task_count && now->tasks[last + 1].task == now->tasks[last].task + 1 &&
           strcmp(owner_id(before, model_find_task(before, now->tasks[last + 1].task)), from) == 0 &&
           strcmp(owner_id(now, &now->tasks[last + 1]), to) == 0) {
        last++;
    }
    return last - first + 1;
}

static void append_run(char *text, size_t capacity, const char *run, uint32_t *left_out)
{
    size_t length = strlen(text), more = strlen(run) + (length == 0 ? 0 : 2);
    if (*left_out > 0 || length + more + sizeof ", and 4294967295 more" > capacity) {
        ++*left_out;
        return;
    }
    snprintf(text + length, capacity - length, "%s%s", length == 0 ? "" : ", ", run);
}

/* "s1.0-3 w5 > w2, s1.7 - > w9": a task without an owner is at "-". */
static void describe_moves(const struct model *before, const struct model *now, char *text, size_t capacity)
{
    uint32_t left_out = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < now->task_count;) {
        uint32_t length = run_length(before, now, i);
        const char *from = owner_id(before, model_find_task(before, now->tasks[i].task)), *to = owner_id(now, &now->tasks[i]);
        if (strcmp(from, to) != 0) {
            char run[TASK_TEXT_BYTES + 2 * LIFE_ID_MAX + 10], tasks[TASK_TEXT_BYTES];
            task_run_text(now->tasks[i].task, now->tasks[i + length - 1].task, tasks);
            snprintf(run, sizeof run, "%s %s > %s", tasks, from, to);
            append_run(text, capacity, run, &left_out);
        }
        i += length;
    }
    if (left_out > 0) {
        size_t length = strlen(text);
        snprintf(text + length, capacity - length, "%sand %u more", length == 0 ? "" : ", ", left_out);
    }
}

static struct history_round *add_round(struct history_book *book, const struct model *now, int64_t now_us, int64_t wall_us)
{
    char leader[LIFE_TEXT_BYTES];
    if (book->count == HISTORY_PENDING_MAX) { /* that could not be written for so long */
        memmove(book->rounds, book->rounds + 1, (HISTORY_PENDING_MAX - 1) * sizeof book->rounds[0]);
        memmove(book->began_us, book->began_us + 1, (HISTORY_PENDING_MAX - 1) * sizeof book->began_us[0]);
        book->count--;
    }
    struct history_round *round = &book->rounds[book->count];
    *round = (struct history_round){.version = now->version, .term = now->term, .began_ms = wall_us / 1000, .took_us = -1};
    snprintf(round->leader, sizeof round->leader, "%.*s", HISTORY_LIFE_BYTES - 1, life_text(now->leader, leader));
    snprintf(round->kind, sizeof round->kind, "%s", now->round.kind == MODEL_STOP_ALL ? "stop-all" : "incremental");
    snprintf(round->why, sizeof round->why, "%.*s", HISTORY_WHY_BYTES - 1, now->round.why == NULL ? "" : now->round.why);
    book->began_us[book->count++] = now_us;
    return round;
}

/* The round that goes on, if this process has seen it. */
static struct history_round *open_round(struct history_book *book)
{
    struct history_round *last = book->count == 0 ? NULL : &book->rounds[book->count - 1];
    return last != NULL && last->outcome[0] == '\0' ? last : NULL;
}

static void end_round(struct history_book *book, const char *outcome, int64_t now_us)
{
    struct history_round *round = open_round(book);
    if (round != NULL) {
        snprintf(round->outcome, sizeof round->outcome, "%s", outcome);
        round->took_us = now_us - book->began_us[book->count - 1];
    }
}

bool history_note(struct history_book *book, const struct model *before, const struct model *now, int64_t now_us, int64_t wall_us)
{
    if (now->term != before->term) {
        end_round(book, "replaced", now_us);
        struct history_round *round = add_round(book, now, now_us, wall_us);
        snprintf(round->kind, sizeof round->kind, "leader");
        snprintf(round->why, sizeof round->why, "a leader took over");
        snprintf(round->outcome, sizeof round->outcome, "sealed");
    }
    if (now->version != before->version) {
        end_round(book, "replaced", now_us);
        describe_moves(before, now, add_round(book, now, now_us, wall_us)->moved, HISTORY_MOVED_BYTES);
    }
    if (now->round.opened) {
        end_round(book, "opened", now_us);
    }
    return book->count > 0 && (open_round(book) == NULL || book->count >= HISTORY_PENDING_MAX / 2);
}

/* ---- the register ---- */

#define TEXT_MEMBER(round, document, object, member)                                                                                       \
    snprintf((round)->member, sizeof(round)->member, "%.*s", (int)sizeof(round)->member - 1, text_of(document, object, #member))

static const char *text_of(struct document *document, const json_t *object, const char *member)
{
    const char *text = document_text(document, object, member, DOCUMENT_REQUIRED);
    return text == NULL ? "" : text;
}

static void read_round(struct document *document, const json_t *object, struct history_round *round)
{
    round->version = form_count(document, object, "version");
    round->term = form_count(document, object, "term");
    round->began_ms = document_int(document, object, "began_ms", DOCUMENT_REQUIRED, 0);
    round->took_us = document_int(document, object, "took_us", DOCUMENT_REQUIRED, 0);
    TEXT_MEMBER(round, document, object, leader);
    TEXT_MEMBER(round, document, object, kind);
    TEXT_MEMBER(round, document, object, why);
    TEXT_MEMBER(round, document, object, moved);
    TEXT_MEMBER(round, document, object, outcome);
}

static enum status parse(const char *name, struct text bytes, struct arena *arena, struct history_round **rounds, uint32_t *count,
                         struct error *err)
{
    struct document document;
    struct text json;
    TRY(value_unseal(name, bytes, &json, err));
    TRY(document_open(name, json, FORM_VERSION, arena, &document, err));
    const json_t *list = document_member(&document, document.root, "rounds", JSON_ARRAY, DOCUMENT_REQUIRED), *entry;
    size_t i;
    *rounds = form_array(&document, json_array_size(list) + HISTORY_PENDING_MAX, sizeof **rounds);
    *count = 0;
    json_array_foreach((json_t *)(uintptr_t)list, i, entry)
    {
        if (*rounds != NULL) {
            read_round(&document, entry, &(*rounds)[(*count)++]);
        }
    }
    enum status status = document_status(&document);
    document_close(&document);
    return status;
}

/* `rounds` has room for what a book holds, behind them. */
static enum status load(struct cluster_session *session, const char *name, struct arena *arena, enum cluster_result *result,
                        struct cluster_version *version, struct history_round **rounds, uint32_t *count, struct error *err)
{
    struct cluster_value value;
    *count = 0;
    TRY(session->driver->get(session, name, arena, result, &value, err));
    if (*result != CLUSTER_OK) {
        TRY_ALLOC(*rounds, arena_alloc(arena, HISTORY_PENDING_MAX * sizeof **rounds), err);
        return STATUS_OK;
    }
    *version = value.version;
    return parse(name, value.bytes, arena, rounds, count, err);
}

static enum status seal(const struct history_round *rounds, uint32_t count, struct arena *arena, struct text *value, struct error *err)
{
    json_t *root = json_object(), *list = json_array();
    struct text json;
    json_object_set_new(root, "v", json_integer(FORM_VERSION));
    for (uint32_t i = 0; i < count; i++) {
        const struct history_round *round = &rounds[i];
        json_array_append_new(list, json_pack("{s:I, s:I, s:s, s:s, s:s, s:s, s:I, s:I, s:s}", "version", (json_int_t)round->version,
                                              "term", (json_int_t)round->term, "leader", round->leader, "kind", round->kind, "why",
                                              round->why, "moved", round->moved, "began_ms", (json_int_t)round->began_ms, "took_us",
                                              (json_int_t)round->took_us, "outcome", round->outcome));
    }
    json_object_set_new(root, "rounds", list);
    TRY(document_write(root, arena, &json, err));
    return value_seal(json, arena, value, err);
}

enum status history_write(struct history_book *book, struct cluster_session *session, const char *prefix, struct arena *arena,
                          struct error *err)
{
    char name[NAME_BYTES];
    enum cluster_result result, put;
    struct cluster_version version, written;
    struct history_round *rounds;
    struct text value;
    uint32_t count, over = book->count - (open_round(book) != NULL);
    snprintf(name, sizeof name, "%s/history", prefix);
    TRY(load(session, name, arena, &result, &version, &rounds, &count, err));
    memcpy(rounds + count, book->rounds, over * sizeof *rounds);
    uint32_t skip = count + over > HISTORY_MAX ? count + over - HISTORY_MAX : 0;
    TRY(seal(rounds + skip, count + over - skip, arena, &value, err));
    TRY(session->driver->put(session, name, value, result == CLUSTER_OK ? &version : NULL, &put, &written, err));
    if (put != CLUSTER_CONFLICT) { /* UNKNOWN: once too few rather than twice */
        book->count -= over;
        memmove(book->rounds, book->rounds + over, book->count * sizeof book->rounds[0]);
        memmove(book->began_us, book->began_us + over, book->count * sizeof book->began_us[0]);
    }
    return STATUS_OK;
}

enum status history_read(struct cluster_session *session, const char *prefix, struct arena *arena, struct history_round **rounds,
                         uint32_t *count, struct error *err)
{
    char name[NAME_BYTES];
    enum cluster_result result;
    struct cluster_version version;
    snprintf(name, sizeof name, "%s/history", prefix);
    return load(session, name, arena, &result, &version, rounds, count, err);
}
