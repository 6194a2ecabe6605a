#include "cluster/commit_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/form.h"
#include "cluster/value.h"

enum { NAME_BYTES = CLUSTER_NAME_MAX + 1, NONCE_BYTES = RANDOM_NAME_BYTES + 24, ATTEMPTS = 100 };

/* A register as it was read, or as it is to be. */
struct content {
    struct commit_record record;
    const char *nonce, *unknown;
    bool absent;
    struct cluster_version version;
};

/* ---- the form ---- */

static const char *const members[] = {"v", "task", "epoch", "life", "generation", "nonce", "begun", "seq", "kept", "ctl_rank", "ended"};

static void read_kept(struct document *document, struct commit_record *record)
{
    const json_t *kept = document_member(document, document->root, "kept", JSON_ARRAY, DOCUMENT_OPTIONAL);
    uint64_t before = 0;
    for (size_t i = 0; i < json_array_size(kept); i++) {
        json_int_t number = json_integer_value(json_array_get(kept, i));
        if (i == COMMIT_KEPT_MAX || number <= (json_int_t)before || (uint64_t)number >= record->seq) {
            document_complain(document, "kept", "is no list of some ascending numbers below seq");
            return;
        }
        before = record->kept[record->kept_count++] = (uint64_t)number;
    }
}

static enum status read_form(const char *name, struct text value, uint64_t task, struct arena *arena, struct content *content,
                             struct error *err)
{
    struct document document;
    struct text json;
    char wanted[TASK_TEXT_BYTES];
    struct commit_record *record = &content->record;
    TRY(value_unseal(name, value, &json, err));
    TRY(document_open(name, json, FORM_VERSION, arena, &document, err));
    const char *text = document_text(&document, document.root, "task", DOCUMENT_REQUIRED);
    if (text != NULL && strcmp(text, task_text(task, wanted)) != 0) {
        document_complain(&document, "task", "is another task's: the register was moved or copied");
    }
    record->task = task;
    record->epoch = form_count(&document, document.root, "epoch");
    record->life = form_life(&document, document.root, "life");
    record->generation = form_count(&document, document.root, "generation");
    record->begun = form_bool(&document, document.root, "begun");
    record->seq = form_count(&document, document.root, "seq");
    record->ctl_rank = form_count(&document, document.root, "ctl_rank");
    record->ended = form_bool(&document, document.root, "ended");
    read_kept(&document, record);
    content->nonce = document_text(&document, document.root, "nonce", DOCUMENT_REQUIRED);
    content->unknown = form_unknown(&document, members, ARRAY_LENGTH(members));
    enum status status = document_status(&document);
    document_close(&document);
    return status;
}

static json_t *make_root(const struct content *content)
{
    const struct commit_record *record = &content->record;
    char task[TASK_TEXT_BYTES];
    json_t *kept = json_array();
    for (uint32_t i = 0; i < record->kept_count; i++) {
        json_array_append_new(kept, json_integer((json_int_t)record->kept[i])); /* NOLINT: no room: json_pack fails as well */
    }
    json_t *root =
        json_pack("{si ss sI sI ss sb sI so sI sb}", "v", FORM_VERSION, "task", task_text(record->task, task), "epoch",
                  (json_int_t)record->epoch, "generation", (json_int_t)record->generation, "nonce", content->nonce, "begun", record->begun,
                  "seq", (json_int_t)record->seq, "kept", kept, "ctl_rank", (json_int_t)record->ctl_rank, "ended", record->ended);
    if (root != NULL && json_array_size(json_object_get(root, "kept")) != record->kept_count) {
        json_decref(root);
        return NULL;
    }
    return root;
}

static enum status write_form(const struct content *content, struct arena *arena, struct text *value, struct error *err)
{
    struct text json;
    json_t *root = make_root(content);
    if (root == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a commit record");
    }
    form_set_life(root, "life", content->record.life);
    enum status status = form_set_unknown(root, content->unknown, err);
    if (status != STATUS_OK) {
        json_decref(root);
        return status;
    }
    TRY(document_write(root, arena, &json, err));
    return value_seal(json, arena, value, err);
}

/* ---- calls ---- */

struct place { /* of a record */
    struct cluster_session *session;
    uint64_t task;
    char name[NAME_BYTES];
};

static struct place place_of(struct cluster_session *session, const char *prefix, uint64_t task)
{
    struct place place = {.session = session, .task = task};
    char text[TASK_TEXT_BYTES];
    snprintf(place.name, sizeof place.name, "%s/commit/%s", prefix, task_text(task, text));
    return place;
}

static enum status fetch(const struct place *place, struct arena *arena, struct content *content, struct error *err)
{
    enum cluster_result result;
    struct cluster_value value;
    *content = (struct content){.nonce = "", .record.task = place->task};
    TRY(place->session->driver->get(place->session, place->name, arena, &result, &value, err));
    content->absent = result != CLUSTER_OK;
    if (content->absent) {
        return STATUS_OK;
    }
    content->version = value.version;
    return read_form(place->name, value.bytes, place->task, arena, content, err);
}

/* Over what is there; *version is set with OK. */
static enum status store_over(const struct place *place, const struct content *there, const struct content *next, struct arena *arena,
                              enum cluster_result *result, struct cluster_version *version, struct error *err)
{
    struct text bytes;
    TRY(write_form(next, arena, &bytes, err));
    return place->session->driver->put(place->session, place->name, bytes, there->absent ? NULL : &there->version, result, version, err);
}

static enum status too_busy(const struct place *place, struct error *err)
{
    return error_set(err, ERROR_CLUSTER_UNAVAILABLE, "the register '%s' was changed by others each of %d times that it was tried",
                     place->name, ATTEMPTS);
}

enum status commit_record_read(struct cluster_session *session, const char *prefix, uint64_t task, struct arena *arena, bool *found,
                               struct commit_record *record, struct error *err)
{
    struct place place = place_of(session, prefix, task);
    struct content content;
    TRY(fetch(&place, arena, &content, err));
    *found = !content.absent;
    *record = content.record;
    return STATUS_OK;
}

/* ---- the leader ---- */

static enum status fence_once(const struct place *place, uint64_t epoch, const char *nonce, struct arena *arena, bool *done,
                              struct error *err)
{
    struct content there;
    enum cluster_result result;
    struct cluster_version version;
    TRY(fetch(place, arena, &there, err));
    *done = !there.absent && there.record.epoch >= epoch;
    if (*done) {
        return STATUS_OK;
    }
    struct content next = there;
    next.nonce = nonce;
    next.record.epoch = epoch;
    next.record.life = (struct life){0};
    TRY(store_over(place, &there, &next, arena, &result, &version, err));
    *done = result == CLUSTER_OK; /* else what is there next tells */
    return STATUS_OK;
}

enum status commit_record_fence(struct cluster_session *session, const char *prefix, uint64_t task, uint64_t epoch, struct error *err)
{
    struct place place = place_of(session, prefix, task);
    struct random_source random;
    struct arena *arena;
    char nonce[RANDOM_NAME_BYTES];
    bool done = false;
    enum status status = STATUS_OK;
    random_open(&random, 0);
    random_name(&random, nonce);
    TRY_ALLOC(arena, arena_create(NULL, "a commit record"), err);
    for (uint32_t attempt = 0; attempt < ATTEMPTS && status == STATUS_OK && !done; attempt++) {
        arena_reset(arena);
        status = fence_once(&place, epoch, nonce, arena, &done, err);
    }
    arena_destroy(arena);
    return status != STATUS_OK || done ? status : too_busy(&place, err);
}

/* ---- the owner ---- */

enum status commit_store_open(struct commit_store *store, struct cluster_session *session, const char *prefix, uint64_t task,
                              uint64_t epoch, struct life life, struct error *err)
{
    struct random_source random;
    *store = (struct commit_store){.session = session, .prefix = prefix, .task = task, .epoch = epoch, .life = life};
    random_open(&random, 0);
    random_name(&random, store->nonce);
    TRY_ALLOC(store->arena, arena_create(NULL, "a commit record"), err);
    return STATUS_OK;
}

void commit_store_close(struct commit_store *store)
{
    arena_destroy(store->arena);
    store->arena = NULL;
}

bool commit_record_is_doubtful(const struct commit_store *store)
{
    return store->stale;
}

static enum status refuse(const struct commit_store *store, const struct content *there, struct error *err)
{
    char task[TASK_TEXT_BYTES], mine[LIFE_TEXT_BYTES], other[LIFE_TEXT_BYTES];
    task_text(store->task, task);
    life_text(store->life, mine);
    if (there->absent) {
        return error_set(err, ERROR_JOB_TAKEN, "the commit record of task %s in '%s' is gone: %s no longer owns the task", task,
                         store->prefix, mine);
    }
    return error_set(err, ERROR_JOB_TAKEN,
                     "task %s in '%s' is owned by %s since epoch %" PRIu64 ": %s (epoch %" PRIu64 ") no longer owns it", task,
                     store->prefix, there->record.life.id == NULL ? "another" : life_text(there->record.life, other), there->record.epoch,
                     mine, store->epoch);
}

/* A nonce of this owner: its serial. */
static bool is_mine(const struct commit_store *store, const struct content *there, uint64_t *serial)
{
    size_t length = strlen(store->nonce);
    if (there->absent || strncmp(there->nonce, store->nonce, length) != 0 || there->nonce[length] != '-') {
        return false;
    }
    *serial = strtoull(there->nonce + length + 1, NULL, 10);
    return true;
}

static const char *make_nonce(const struct commit_store *store, char nonce[NONCE_BYTES])
{
    snprintf(nonce, NONCE_BYTES, "%s-%" PRIu64, store->nonce, store->serial);
    return nonce;
}

static enum status adopt(struct commit_store *store, const struct content *content, const struct cluster_version *version,
                         struct error *err)
{
    store->unknown = NULL;
    arena_reset(store->arena);
    if (content->unknown != NULL) {
        TRY_ALLOC(store->unknown, arena_text(store->arena, content->unknown, strlen(content->unknown)), err);
    }
    store->record = content->record;
    store->record.life = store->life;
    store->version = *version;
    store->stale = false;
    return STATUS_OK;
}

static void become_owner(const struct commit_store *store, uint64_t listed, struct commit_record *record, bool absent)
{
    uint64_t newest = listed / COMMIT_SPAN, before = record->generation > newest ? record->generation : newest;
    record->generation = absent && listed == 0 ? 0 : before + 1;
    if (!record->begun) {
        record->begun = true;
        record->seq = listed;
        record->kept_count = 0;
    }
    record->epoch = store->epoch;
    record->life = store->life;
}

static enum status take_once(struct commit_store *store, const struct place *place, uint64_t listed, struct arena *arena, bool *done,
                             struct error *err)
{
    struct content there;
    enum cluster_result result;
    struct cluster_version version;
    char nonce[NONCE_BYTES];
    uint64_t serial;
    TRY(fetch(place, arena, &there, err));
    *done = true;
    if (is_mine(store, &there, &serial)) { /* the answer was lost */
        return adopt(store, &there, &there.version, err);
    }
    const struct commit_record *record = &there.record;
    if (!there.absent && (record->epoch > store->epoch ||
                          (record->epoch == store->epoch && record->life.id != NULL && !life_equal(record->life, store->life)))) {
        return refuse(store, &there, err);
    }
    struct content next = there;
    next.nonce = make_nonce(store, nonce);
    become_owner(store, listed, &next.record, there.absent);
    TRY(store_over(place, &there, &next, arena, &result, &version, err));
    *done = result == CLUSTER_OK;
    return *done ? adopt(store, &next, &version, err) : STATUS_OK;
}

enum status commit_record_take(struct commit_store *store, uint64_t listed, struct commit_record *record, struct error *err)
{
    struct place place = place_of(store->session, store->prefix, store->task);
    struct arena *arena;
    bool done = false;
    enum status status = STATUS_OK;
    TRY_ALLOC(arena, arena_create(NULL, "a commit record, as read"), err);
    for (uint32_t attempt = 0; attempt < ATTEMPTS && status == STATUS_OK && !done; attempt++) {
        arena_reset(arena);
        status = take_once(store, &place, listed, arena, &done, err);
    }
    arena_destroy(arena);
    if (status == STATUS_OK && !done) {
        return too_busy(&place, err);
    }
    *record = store->record;
    return status;
}

static void set_commit(struct commit_record *record, const struct commit_record *next)
{
    record->seq = next->seq;
    record->ctl_rank = next->ctl_rank;
    record->ended = next->ended;
    record->kept_count = next->kept_count;
    memcpy(record->kept, next->kept, next->kept_count * sizeof *next->kept);
}

/* What is there, after an answer that was lost or refused. *landed: it is what this put wants. */
static enum status look_again(struct commit_store *store, const struct place *place, struct arena *arena, bool *landed, struct error *err)
{
    struct content there;
    uint64_t serial = 0;
    TRY(fetch(place, arena, &there, err));
    if (!is_mine(store, &there, &serial)) {
        return refuse(store, &there, err);
    }
    *landed = serial == store->serial;
    return adopt(store, &there, &there.version, err);
}

static enum status put_once(struct commit_store *store, const struct place *place, const struct commit_record *next, struct arena *arena,
                            bool *done, struct error *err)
{
    enum cluster_result result;
    struct cluster_version version;
    char nonce[NONCE_BYTES];
    if (store->stale) {
        TRY(look_again(store, place, arena, done, err));
        if (*done) {
            return STATUS_OK;
        }
    }
    const struct content there = {.version = store->version};
    struct content content = {.record = store->record, .nonce = make_nonce(store, nonce), .unknown = store->unknown};
    if (store->unknown != NULL) {
        TRY_ALLOC(content.unknown, arena_text(arena, store->unknown, strlen(store->unknown)), err);
    }
    set_commit(&content.record, next);
    TRY(store_over(place, &there, &content, arena, &result, &version, err));
    *done = result == CLUSTER_OK;
    store->stale = !*done;
    return *done ? adopt(store, &content, &version, err) : STATUS_OK;
}

enum status commit_record_put(struct commit_store *store, const struct commit_record *next, struct error *err)
{
    struct place place = place_of(store->session, store->prefix, store->task);
    struct arena *arena;
    bool done = false;
    enum status status = STATUS_OK;
    TRY_ALLOC(arena, arena_create(NULL, "a commit record, as read"), err);
    store->serial++;
    for (uint32_t attempt = 0; attempt < ATTEMPTS && status == STATUS_OK && !done; attempt++) {
        arena_reset(arena);
        status = put_once(store, &place, next, arena, &done, err);
    }
    arena_destroy(arena);
    return status != STATUS_OK || done ? status : too_busy(&place, err);
}
