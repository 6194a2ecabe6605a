#include "cluster/latch.h"

#include <string.h>

#include "base/utf8.h"
#include "cluster/value.h"
#include "storage/document.h"

enum { LATCH_FORM = 1, ATTEMPTS = 4 * LATCH_COUNT_MAX /* each conflict is another's progress */ };

/* The latch as it was read; `root` is kept for the next form. */
struct reading {
    struct budget budget;
    struct arena *arena;
    json_t *root; /* NULL: absent */
    struct latch_state state;
    struct cluster_version version;
};

bool latch_is_open(const struct latch_state *state)
{
    return !state->absent && state->arrived >= state->count;
}

static void reading_close(struct reading *reading)
{
    json_decref(reading->root);
    arena_destroy(reading->arena);
}

static enum status parse(const struct latch *latch, struct text bytes, struct reading *reading, struct error *err)
{
    struct document document;
    struct text json;
    TRY(value_unseal(latch->name, bytes, &json, err));
    TRY(document_open(latch->name, json, LATCH_FORM, reading->arena, &document, err));
    int64_t count = document_int(&document, document.root, "count", DOCUMENT_REQUIRED, 0);
    const json_t *arrived = document_member(&document, document.root, "arrived", JSON_ARRAY, DOCUMENT_REQUIRED);
    if (count < 1 || count > LATCH_COUNT_MAX || json_array_size(arrived) > (size_t)count) {
        document_complain(&document, "count", "does not fit its participants");
    }
    reading->state = (struct latch_state){.count = (uint32_t)count, .arrived = (uint32_t)json_array_size(arrived)};
    reading->root = json_incref(document.root);
    enum status status = document_status(&document);
    document_close(&document);
    return status;
}

static enum status reading_open(const struct latch *latch, struct reading *reading, struct error *err)
{
    enum cluster_result result;
    struct cluster_value value;
    *reading = (struct reading){.state = {.absent = true}};
    budget_init(&reading->budget, NULL, "a latch", BUDGET_UNLIMITED);
    TRY_ALLOC(reading->arena, arena_create(&reading->budget, "a latch"), err);
    enum status status = latch->session->driver->get(latch->session, latch->name, reading->arena, &result, &value, err);
    if (status == STATUS_OK && result == CLUSTER_OK) {
        reading->version = value.version;
        status = parse(latch, value.bytes, reading, err);
    }
    if (status != STATUS_OK) {
        reading_close(reading);
    }
    return status;
}

static enum status write_root(const struct latch *latch, struct reading *reading, enum cluster_result *result, struct error *err)
{
    struct text json, bytes;
    struct cluster_version version;
    TRY(document_write(json_incref(reading->root), reading->arena, &json, err));
    TRY(value_seal(json, reading->arena, &bytes, err));
    return latch->session->driver->put(latch->session, latch->name, bytes, reading->state.absent ? NULL : &reading->version, result,
                                       &version, err);
}

/* ---- changes: what one makes of the latch as it was read ---- */

struct change {
    const struct latch *latch;
    uint32_t count;
    const char *participant;
};
/* false: there is nothing to write. */
typedef bool (*change_fn)(const struct change *change, struct reading *reading, enum status *status, struct error *err);

static bool create(const struct change *change, struct reading *reading, enum status *status, struct error *err)
{
    if (!reading->state.absent) {
        if (reading->state.count != change->count) {
            *status = error_set(err, ERROR_CLUSTER_LATCH, "the latch '%s' counts %u participants, not %u", change->latch->name,
                                reading->state.count, change->count);
        }
        return false;
    }
    reading->root = json_pack("{s:i, s:i, s:[]}", "v", LATCH_FORM, "count", (int)change->count, "arrived");
    *status = reading->root == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a latch") : STATUS_OK;
    return reading->root != NULL;
}

static bool has_arrived(const json_t *arrived, const char *participant)
{
    for (size_t i = 0; i < json_array_size(arrived); i++) {
        const char *name = json_string_value(json_array_get(arrived, i));
        if (name != NULL && strcmp(name, participant) == 0) {
            return true;
        }
    }
    return false;
}

static bool arrive(const struct change *change, struct reading *reading, enum status *status, struct error *err)
{
    if (reading->state.absent) {
        return false;
    }
    json_t *arrived = json_object_get(reading->root, "arrived");
    if (latch_is_open(&reading->state) || has_arrived(arrived, change->participant)) {
        return false;
    }
    if (json_array_append_new(arrived, json_string(change->participant)) != 0) {
        *status = error_set(err, ERROR_BUDGET_SPENT, "no room for a latch");
        return false;
    }
    return true;
}

/* Reads, changes and writes until nothing is left to write: after a conflict or a lost answer, what is there says what is left. */
static enum status change_run(const struct change *change, change_fn make, struct latch_state *state, struct error *err)
{
    for (uint32_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct reading reading;
        enum cluster_result result;
        enum status status = STATUS_OK;
        TRY(reading_open(change->latch, &reading, err));
        *state = reading.state;
        bool more = make(change, &reading, &status, err);
        if (more) {
            status = write_root(change->latch, &reading, &result, err);
        }
        reading_close(&reading);
        if (status != STATUS_OK || !more) {
            return status;
        }
    }
    return error_set(err, ERROR_CLUSTER_UNAVAILABLE, "the latch '%s' was changed by others each of %d times that it was tried",
                     change->latch->name, ATTEMPTS);
}

enum status latch_open(const struct latch *latch, uint32_t count, struct latch_state *state, struct error *err)
{
    const struct change change = {.latch = latch, .count = count};
    if (count < 1 || count > LATCH_COUNT_MAX) {
        return error_set(err, ERROR_CLUSTER_LATCH, "a latch of %u participants; 1 to %d are allowed", count, LATCH_COUNT_MAX);
    }
    return change_run(&change, create, state, err);
}

enum status latch_count_down(const struct latch *latch, const char *participant, struct latch_state *state, struct error *err)
{
    const struct change change = {.latch = latch, .participant = participant};
    size_t length = strlen(participant);
    if (length == 0 || length >= CLUSTER_HOLDER_MAX || utf8_valid_length(participant, length) != length) {
        return error_set(err, ERROR_CLUSTER_NAME, "'%.100s' cannot count down: a participant is UTF-8 of 1 to %d bytes", participant,
                         CLUSTER_HOLDER_MAX - 1);
    }
    return change_run(&change, arrive, state, err);
}

enum status latch_look(const struct latch *latch, struct latch_state *state, struct error *err)
{
    struct reading reading;
    TRY(reading_open(latch, &reading, err));
    *state = reading.state;
    reading_close(&reading);
    return STATUS_OK;
}

enum status latch_remove(const struct latch *latch, struct error *err)
{
    for (uint32_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct reading reading;
        enum cluster_result result;
        TRY(reading_open(latch, &reading, err));
        bool absent = reading.state.absent;
        struct cluster_version version = reading.version;
        reading_close(&reading);
        if (absent) {
            return STATUS_OK;
        }
        TRY(latch->session->driver->del(latch->session, latch->name, &version, &result, err));
        if (result == CLUSTER_OK || result == CLUSTER_ABSENT) {
            return STATUS_OK;
        }
    }
    return error_set(err, ERROR_CLUSTER_UNAVAILABLE, "the latch '%s' was changed by others each of %d times that it was tried", latch->name,
                     ATTEMPTS);
}
