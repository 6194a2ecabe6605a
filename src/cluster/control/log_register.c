#include "cluster/control/log_register.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/form.h"
#include "cluster/value.h"
#include "functions/digest.h"

enum { NAME_BYTES = CLUSTER_NAME_MAX + 1, SNAPSHOT_FORM = 1, PART_BYTES = 60 << 10, BATCH_RECORDS = 256, TRIES_MAX = 1000 };

struct snapshot_register { /* "ctl-snapshot" */
    bool exists;
    uint64_t term, through, cut, bytes;
    char sha256[CONTROL_SHA256_BYTES];
    char nonce[CONTROL_ID_BYTES];
    struct cluster_version version;
};
struct control_log {
    struct cluster_session *session;
    struct budget *budget;
    const struct clock *clock;
    struct random_source *random;
    struct arena *scratch; /* of one call */
    struct control_fold *fold;
    uint64_t cut;
    char prefix[CLUSTER_NAME_MAX / 2];
};

static const struct cluster_driver *driver_of(const struct control_log *log)
{
    return log->session->driver;
}

static const char *record_name(const struct control_log *log, uint64_t index, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s/ctl/%020" PRIu64, log->prefix, index);
    return name;
}

static const char *snapshot_name(const struct control_log *log, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s/ctl-snapshot", log->prefix);
    return name;
}

/* In the order of the indexes: who removes old bodies cannot meet a newer one. */
static const char *part_name(const struct control_log *log, uint64_t through, const char *sha256, uint64_t part, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s/ctl-body/%020" PRIu64 "/%s/%06" PRIu64, log->prefix, through, sha256, part);
    return name;
}

/* ---- registers ---- */

static enum status get_json(struct control_log *log, const char *name, struct arena *arena, enum cluster_result *result, struct text *json,
                            struct cluster_version *version, struct error *err)
{
    struct cluster_value value;
    TRY(driver_of(log)->get(log->session, name, arena, result, &value, err));
    if (*result != CLUSTER_OK) {
        return STATUS_OK;
    }
    *version = value.version;
    return value_unseal(name, value.bytes, json, err);
}

enum status control_log_get(struct control_log *log, uint64_t index, struct arena *arena, enum cluster_result *result,
                            struct control_record *record, struct error *err)
{
    char name[NAME_BYTES];
    struct text json;
    struct cluster_version version;
    TRY(get_json(log, record_name(log, index, name), arena, result, &json, &version, err));
    return *result == CLUSTER_OK ? control_record_read(name, json, arena, record, err) : STATUS_OK;
}

static enum status read_snapshot_register(struct control_log *log, struct snapshot_register *snapshot, struct error *err)
{
    char name[NAME_BYTES];
    struct text json;
    struct document document;
    enum cluster_result result;
    *snapshot = (struct snapshot_register){0};
    TRY(get_json(log, snapshot_name(log, name), log->scratch, &result, &json, &snapshot->version, err));
    if (result != CLUSTER_OK) {
        return STATUS_OK;
    }
    TRY(document_open(name, json, SNAPSHOT_FORM, log->scratch, &document, err));
    const char *sha256 = document_text(&document, document.root, "sha256", DOCUMENT_REQUIRED);
    const char *nonce = document_text(&document, document.root, "nonce", DOCUMENT_REQUIRED);
    snapshot->exists = true;
    snapshot->term = form_count(&document, document.root, "term");
    snapshot->through = form_count(&document, document.root, "through");
    snapshot->cut = form_count(&document, document.root, "cut");
    snapshot->bytes = form_count(&document, document.root, "size");
    if (sha256 == NULL || nonce == NULL || strlen(sha256) != CONTROL_SHA256_BYTES - 1 || strlen(nonce) != CONTROL_ID_BYTES - 1) {
        document_complain(&document, "sha256", "or \"nonce\" is wrong");
    } else {
        memcpy(snapshot->sha256, sha256, CONTROL_SHA256_BYTES);
        memcpy(snapshot->nonce, nonce, CONTROL_ID_BYTES);
    }
    enum status status = document_status(&document);
    document_close(&document);
    return status;
}

/* Made at once, in the order "v" ... "size"; the register has no members of others to keep. */
static enum status write_snapshot_register(struct control_log *log, const struct snapshot_register *snapshot, enum cluster_result *result,
                                           struct error *err)
{
    char name[NAME_BYTES];
    struct text json, value;
    struct cluster_version version;
    TRY(document_write(json_pack("{si ss sI sI sI ss sI}", "v", SNAPSHOT_FORM, "nonce", snapshot->nonce, "term", (json_int_t)snapshot->term,
                                 "through", (json_int_t)snapshot->through, "cut", (json_int_t)snapshot->cut, "sha256", snapshot->sha256,
                                 "size", (json_int_t)snapshot->bytes),
                       log->scratch, &json, err));
    TRY(value_seal(json, log->scratch, &value, err));
    TRY(driver_of(log)->put(log->session, snapshot_name(log, name), value, snapshot->exists ? &snapshot->version : NULL, result, &version,
                            err));
    if (*result == CLUSTER_UNKNOWN) {
        struct snapshot_register now;
        TRY(read_snapshot_register(log, &now, err));
        *result = now.exists && strcmp(now.nonce, snapshot->nonce) == 0 ? CLUSTER_OK : CLUSTER_CONFLICT;
    }
    return STATUS_OK;
}

/* ---- the body of a snapshot ---- */

static void hash_body(struct text body, char sha256[CONTROL_SHA256_BYTES])
{
    uint8_t digest[DIGEST_BYTES_MAX];
    size_t bytes = digest_compute(DIGEST_SHA256, body.bytes, body.length, digest);
    digest_text(digest, bytes, sha256);
}

/* Parts are named by their content: one that is there is the same. */
static enum status put_body(struct control_log *log, struct text body, const struct control_snapshot *snapshot, struct error *err)
{
    char name[NAME_BYTES];
    uint64_t part = 0;
    for (size_t at = 0; at < body.length; at += PART_BYTES) {
        size_t length = body.length - at < PART_BYTES ? body.length - at : PART_BYTES;
        struct text value;
        struct cluster_version version;
        enum cluster_result result = CLUSTER_UNKNOWN;
        TRY(value_seal((struct text){body.bytes + at, length}, log->scratch, &value, err));
        part_name(log, snapshot->through, snapshot->sha256, part++, name);
        for (int tries = 0; result == CLUSTER_UNKNOWN; tries++) {
            if (tries == TRIES_MAX) {
                return error_set(err, ERROR_STORE_UNAVAILABLE, "'%s' was written %d times without an answer", name, tries);
            }
            TRY(driver_of(log)->put(log->session, name, value, NULL, &result, &version, err));
        }
    }
    return STATUS_OK;
}

/* *complete false: it was replaced meanwhile. */
static enum status get_body(struct control_log *log, const struct snapshot_register *snapshot, struct text *body, bool *complete,
                            struct error *err)
{
    char name[NAME_BYTES], sha256[CONTROL_SHA256_BYTES];
    char *bytes;
    size_t at = 0;
    TRY_ALLOC(bytes, arena_alloc(log->scratch, snapshot->bytes + 1), err);
    *complete = true;
    for (uint64_t part = 0; at < snapshot->bytes; part++) {
        struct text json;
        struct cluster_version version;
        enum cluster_result result;
        TRY(get_json(log, part_name(log, snapshot->through, snapshot->sha256, part, name), log->scratch, &result, &json, &version, err));
        if (result != CLUSTER_OK) {
            *complete = false;
            return STATUS_OK;
        }
        if (json.length == 0 || json.length > snapshot->bytes - at) {
            return error_set(err, ERROR_STORE_CORRUPT, "'%s' has %zu bytes, which does not fit its snapshot", name, json.length);
        }
        memcpy(bytes + at, json.bytes, json.length);
        at += json.length;
    }
    *body = (struct text){bytes, at};
    hash_body(*body, sha256);
    return strcmp(sha256, snapshot->sha256) == 0
               ? STATUS_OK
               : error_set(err, ERROR_STORE_CORRUPT, "the snapshot '%s' has another hash: %s", snapshot->sha256, sha256);
}

static void take_fold(struct control_log *log, struct control_fold *take)
{
    control_fold_destroy(log->fold);
    log->fold = take;
}

/* Begins anew from the newest snapshot, or from nothing. */
static enum status load_snapshot(struct control_log *log, struct error *err)
{
    struct control_fold *fold = NULL;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        struct snapshot_register snapshot;
        struct text body;
        bool complete;
        arena_reset(log->scratch);
        TRY(read_snapshot_register(log, &snapshot, err));
        log->cut = snapshot.cut;
        if (!snapshot.exists) {
            fold = control_fold_create(log->budget, err);
            take_fold(log, fold);
            return fold == NULL ? err->status : STATUS_OK;
        }
        TRY(get_body(log, &snapshot, &body, &complete, err));
        if (complete) {
            TRY(control_fold_read("ctl-body", body, log->budget, &fold, err));
            take_fold(log, fold);
            return STATUS_OK;
        }
    }
    return error_set(err, ERROR_STORE_CORRUPT, "the body of the snapshot of the control log at '%s' is not complete", log->prefix);
}

/* ---- reading ---- */

/* A record that counted may have emptied the fold: then it moves into an arena without what was forgotten. */
static enum status fold_one(struct control_log *log, uint64_t index, const struct control_record *record, bool *counted, struct error *err)
{
    enum status status = control_fold_record(log->fold, index, record, counted, err);
    if (status == STATUS_OK && *counted && record->kind == CONTROL_SNAPSHOT) {
        struct control_fold *copy = control_fold_copy(log->fold, err);
        status = copy == NULL ? err->status : STATUS_OK;
        if (copy != NULL) {
            take_fold(log, copy);
        }
    }
    if (status != STATUS_OK) { /* half a fold is none */
        take_fold(log, NULL);
    }
    return status;
}

/* Up to BATCH_RECORDS; *end: the next one is absent. Nothing is folded if the cut has passed them (*passed). */
static enum status read_batch(struct control_log *log, bool *end, bool *passed, struct error *err)
{
    struct control_record *records;
    struct snapshot_register snapshot;
    uint32_t count = 0;
    enum cluster_result result = CLUSTER_OK;
    uint64_t first = log->fold->through + 1;
    arena_reset(log->scratch);
    TRY_ALLOC(records, arena_alloc(log->scratch, BATCH_RECORDS * sizeof *records), err);
    while (count < BATCH_RECORDS) {
        TRY(control_log_get(log, first + count, log->scratch, &result, &records[count], err));
        if (result != CLUSTER_OK) {
            break;
        }
        count++;
    }
    TRY(read_snapshot_register(log, &snapshot, err));
    log->cut = snapshot.cut;
    *end = result != CLUSTER_OK;
    *passed = snapshot.cut >= first;
    for (uint32_t i = 0; !*passed && i < count; i++) {
        bool counted;
        TRY(fold_one(log, first + i, &records[i], &counted, err));
    }
    return STATUS_OK;
}

enum status control_log_read(struct control_log *log, struct error *err)
{
    bool end = false, passed = false;
    if (log->fold == NULL) {
        TRY(load_snapshot(log, err));
    }
    while (!end || passed) {
        TRY(read_batch(log, &end, &passed, err));
        if (passed) {
            TRY(load_snapshot(log, err));
        }
    }
    return STATUS_OK;
}

const struct control_fold *control_log_fold(const struct control_log *log)
{
    return log->fold;
}

uint64_t control_log_cut(const struct control_log *log)
{
    return log->cut;
}

/* ---- appending ---- */

/* What is at the index after a write whose outcome is not known. ABSENT: not there (yet). */
static enum status read_back(struct control_log *log, uint64_t index, const char *id, enum cluster_result *result, struct error *err)
{
    struct control_record there;
    TRY(control_log_get(log, index, log->scratch, result, &there, err));
    if (*result == CLUSTER_OK && strcmp(there.id, id) != 0) {
        *result = CLUSTER_CONFLICT;
    }
    return STATUS_OK;
}

/* Whether what we wrote is where the front was removed: then it is nowhere, and goes. */
static enum status undo_if_cut(struct control_log *log, uint64_t index, const struct cluster_version *version, bool *was_cut,
                               struct error *err)
{
    char name[NAME_BYTES];
    struct snapshot_register snapshot;
    enum cluster_result result;
    TRY(read_snapshot_register(log, &snapshot, err));
    log->cut = snapshot.cut;
    *was_cut = snapshot.cut >= index;
    return *was_cut ? driver_of(log)->del(log->session, record_name(log, index, name), version, &result, err) : STATUS_OK;
}

/* One try at the first free index as far as is known. CONFLICT: it is taken. */
static enum status append_once(struct control_log *log, const char *id, struct text value, uint64_t index, enum cluster_result *result,
                               struct error *err)
{
    char name[NAME_BYTES];
    struct cluster_version version = {0};
    bool was_cut = false;
    TRY(driver_of(log)->put(log->session, record_name(log, index, name), value, NULL, result, &version, err));
    if (*result == CLUSTER_UNKNOWN) {
        struct cluster_value there;
        TRY(read_back(log, index, id, result, err));
        if (*result == CLUSTER_OK) { /* for its version */
            TRY(driver_of(log)->get(log->session, name, log->scratch, result, &there, err));
            version = there.version;
        }
    }
    if (*result == CLUSTER_OK) {
        TRY(undo_if_cut(log, index, &version, &was_cut, err));
        *result = was_cut ? CLUSTER_CONFLICT : CLUSTER_OK;
    }
    return STATUS_OK;
}

enum status control_log_append(struct control_log *log, struct control_record *record, uint64_t *index, bool *counted, struct error *err)
{
    struct arena *arena = arena_create(log->budget, "control record");
    struct control_record kept;
    struct text json, value;
    enum cluster_result result = CLUSTER_CONFLICT;
    enum status status = STATUS_OK;
    if (arena == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a control record");
    }
    record->at_ms = record->at_ms == 0 ? log->clock->wall_us(log->clock) / 1000 : record->at_ms;
    control_id_make(log->random, record->at_ms, record->id);
    TRY_GOTO(done, status, control_record_write(record, arena, &json, err));
    TRY_GOTO(done, status, value_seal(json, arena, &value, err));
    TRY_GOTO(done, status, control_record_read("the record", json, arena, &kept, err));
    for (int tries = 0; result != CLUSTER_OK; tries++) {
        if (tries == TRIES_MAX) {
            status = error_set(err, ERROR_STORE_UNAVAILABLE, "a control record found no free index in %d tries", tries);
            goto done;
        }
        if (result == CLUSTER_CONFLICT) {
            TRY_GOTO(done, status, control_log_read(log, err));
        }
        *index = log->fold->through + 1;
        TRY_GOTO(done, status, append_once(log, record->id, value, *index, &result, err));
    }
    status = fold_one(log, *index, &kept, counted, err);
done:
    arena_destroy(arena);
    return status;
}

/* ---- cutting ---- */

static enum status remove_register(struct control_log *log, const char *name, struct error *err)
{
    struct cluster_value value;
    enum cluster_result result;
    TRY(driver_of(log)->get(log->session, name, log->scratch, &result, &value, err));
    /* Whatever comes of it: who is late finds another version, and what stays is removed next time. */
    return result == CLUSTER_OK ? driver_of(log)->del(log->session, name, &value.version, &result, err) : STATUS_OK;
}

/* Names are sorted: the oldest go first. */
static enum status remove_records(struct control_log *log, uint64_t cut, struct error *err)
{
    char prefix[NAME_BYTES], last[NAME_BYTES];
    struct cluster_names names;
    snprintf(prefix, sizeof prefix, "%s/ctl/", log->prefix);
    TRY(driver_of(log)->list(log->session, prefix, log->scratch, &names, err));
    record_name(log, cut, last);
    for (uint32_t i = 0; i < names.count && strcmp(names.names[i], last) <= 0; i++) {
        TRY(remove_register(log, names.names[i], err));
    }
    return STATUS_OK;
}

static enum status remove_old_bodies(struct control_log *log, uint64_t through, struct error *err)
{
    char prefix[NAME_BYTES], first_kept[NAME_BYTES];
    struct cluster_names names;
    snprintf(prefix, sizeof prefix, "%s/ctl-body/", log->prefix);
    snprintf(first_kept, sizeof first_kept, "%s/ctl-body/%020" PRIu64 "/", log->prefix, through);
    TRY(driver_of(log)->list(log->session, prefix, log->scratch, &names, err));
    for (uint32_t i = 0; i < names.count && strcmp(names.names[i], first_kept) < 0; i++) {
        TRY(remove_register(log, names.names[i], err));
    }
    return STATUS_OK;
}

/* After the record counted: no older leader can get here any more, since its record was void. */
static enum status publish_snapshot(struct control_log *log, const struct control_record *record, bool *counted, struct error *err)
{
    struct snapshot_register snapshot;
    enum cluster_result result;
    arena_reset(log->scratch);
    TRY(read_snapshot_register(log, &snapshot, err));
    *counted = snapshot.term <= record->term && snapshot.through < record->snapshot.through;
    if (!*counted) {
        return STATUS_OK;
    }
    snapshot.term = record->term;
    snapshot.through = record->snapshot.through;
    snapshot.cut = record->snapshot.forget;
    snapshot.bytes = record->snapshot.bytes;
    memcpy(snapshot.sha256, record->snapshot.sha256, sizeof snapshot.sha256);
    memcpy(snapshot.nonce, record->id, sizeof snapshot.nonce);
    TRY(write_snapshot_register(log, &snapshot, &result, err));
    *counted = result == CLUSTER_OK;
    if (*counted) {
        log->cut = snapshot.cut;
        TRY(remove_records(log, snapshot.cut, err));
        TRY(remove_old_bodies(log, snapshot.through, err));
    }
    return STATUS_OK;
}

enum status control_log_snapshot(struct control_log *log, struct control_record *record, bool *counted, struct error *err)
{
    struct text body;
    uint64_t index;
    *counted = log->fold != NULL && record->snapshot.through == log->fold->through;
    if (!*counted) { /* others have appended since it was decided: it is decided anew */
        return STATUS_OK;
    }
    arena_reset(log->scratch);
    TRY(control_fold_write(log->fold, log->scratch, &body, err));
    hash_body(body, record->snapshot.sha256);
    record->snapshot.bytes = body.length;
    TRY(put_body(log, body, &record->snapshot, err));
    TRY(control_log_append(log, record, &index, counted, err));
    return *counted ? publish_snapshot(log, record, counted, err) : STATUS_OK;
}

/* ---- open, close ---- */

enum status control_log_open(struct cluster_session *session, const char *prefix, struct budget *budget, const struct clock *clock,
                             struct random_source *random, struct control_log **log, struct error *err)
{
    *log = NULL;
    if (strlen(prefix) >= sizeof(*log)->prefix) {
        return error_set(err, ERROR_CTL_TOO_LARGE, "the name '%.60s...' is too long for a control log", prefix);
    }
    struct control_log *made = calloc(1, sizeof *made);
    struct arena *scratch = made == NULL ? NULL : arena_create(budget, "control log, one call");
    if (scratch == NULL) {
        free(made);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a control log");
    }
    *made = (struct control_log){.session = session, .budget = budget, .random = random, .scratch = scratch};
    made->clock = clock == NULL ? &clock_system : clock;
    snprintf(made->prefix, sizeof made->prefix, "%s", prefix);
    enum status status = load_snapshot(made, err);
    if (status != STATUS_OK) {
        control_log_close(made);
        return status;
    }
    *log = made;
    return STATUS_OK;
}

void control_log_close(struct control_log *log)
{
    if (log != NULL) {
        control_fold_destroy(log->fold);
        arena_destroy(log->scratch);
        free(log);
    }
}
