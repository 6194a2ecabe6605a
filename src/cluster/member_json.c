#include <string.h>

#include "cluster/form.h"
#include "cluster/member.h"

static const char *const known[] = {"v",       "id",    "inc",        "nonce",   "beat",     "state",  "host",  "rack",
                                    "boot",    "pid",   "started_ms", "seen",    "capacity", "tags",   "build", "held",
                                    "standby", "local", "failed",     "address", "verbs",    "running"};
static const char *const states[MEMBER_STATE_COUNT] = {"active", "leaving", "restarting"};

static void read_host(struct document *document, struct member_host *host)
{
    const json_t *root = document->root, *capacity = document_member(document, root, "capacity", JSON_OBJECT, DOCUMENT_OPTIONAL);
    host->host = document_text(document, root, "host", DOCUMENT_OPTIONAL);
    host->rack = document_text(document, root, "rack", DOCUMENT_OPTIONAL);
    host->boot = document_text(document, root, "boot", DOCUMENT_OPTIONAL);
    host->address = document_text(document, root, "address", DOCUMENT_OPTIONAL);
    host->build = document_text(document, root, "build", DOCUMENT_OPTIONAL);
    host->tags = document_json(document, root, "tags");
    host->pid = document_int(document, root, "pid", DOCUMENT_OPTIONAL, 0);
    host->started_ms = document_int(document, root, "started_ms", DOCUMENT_OPTIONAL, 0);
    host->threads = document_int(document, capacity, "threads", DOCUMENT_OPTIONAL, 0);
    host->memory_bytes = document_int(document, capacity, "memory_bytes", DOCUMENT_OPTIONAL, 0);
    host->task_max = (uint32_t)document_int(document, capacity, "tasks", DOCUMENT_OPTIONAL, 0);
    const json_t *weight = json_object_get(capacity, "weight");
    host->weight = weight == NULL ? 1 : json_number_value(weight);
    if (!(host->weight > 0)) {
        document_complain(document, "capacity", "has a weight that is not above 0");
    }
    host->verbs = form_texts(document, document->root, "verbs", &host->verb_count);
}

/* {"s1.12": {"lag_bytes": 4096}} or {"s1.4": 981}. */
static struct member_local *read_local(struct document *document, const char *name, uint32_t *count)
{
    const json_t *object = document_member(document, document->root, name, JSON_OBJECT, DOCUMENT_OPTIONAL), *entry;
    struct member_local *list = form_array(document, json_object_size(object), sizeof *list);
    const char *key;
    *count = 0;
    json_object_foreach((json_t *)(uintptr_t)object, key, entry)
    {
        uint64_t first, last;
        if (list == NULL || !task_run_parse(key, &first, &last) || first != last || !(json_is_object(entry) || json_is_integer(entry))) {
            document_complain(document, name, "holds what is no task");
            return NULL;
        }
        struct member_local *local = &list[(*count)++];
        local->task = first;
        if (json_is_object(entry)) {
            local->lag_bytes = form_count(document, entry, "lag_bytes");
        } else {
            local->seq = (uint64_t)json_integer_value(entry);
        }
    }
    return list;
}

static void read_failed(struct document *document, struct member *member)
{
    const json_t *failed = document_member(document, document->root, "failed", JSON_ARRAY, DOCUMENT_OPTIONAL), *entry;
    size_t i;
    member->failed = form_array(document, json_array_size(failed), sizeof *member->failed);
    json_array_foreach((json_t *)(uintptr_t)failed, i, entry)
    {
        uint64_t last;
        const char *task = document_text(document, entry, "task", DOCUMENT_REQUIRED);
        if (member->failed == NULL || task == NULL || !task_run_parse(task, &member->failed[i].task, &last)) {
            document_complain(document, "failed", "holds what is no task");
            return;
        }
        member->failed[i].code = document_text(document, entry, "code", DOCUMENT_OPTIONAL);
        member->failed[i].message = document_text(document, entry, "message", DOCUMENT_OPTIONAL);
        member->failed[i].attempts = (uint32_t)document_int(document, entry, "attempts", DOCUMENT_OPTIONAL, 0);
        member->failed_count++;
    }
}

static const char *state_of(uint32_t i)
{
    return states[i];
}

static void read_all(struct document *document, struct member *member)
{
    const json_t *root = document->root, *seen = document_member(document, root, "seen", JSON_OBJECT, DOCUMENT_REQUIRED);
    member->life.id = document_text(document, root, "id", DOCUMENT_REQUIRED);
    member->life.incarnation = form_hex(document, root, "inc");
    member->nonce = form_hex(document, root, "nonce");
    member->beat = form_count(document, root, "beat");
    member->state = form_choice(document, root, "state", state_of, MEMBER_STATE_COUNT, "is not known");
    if (seen != NULL) {
        member->seen_rev = form_count(document, seen, "rev");
        member->seen_version = form_count(document, seen, "version");
    }
    read_host(document, &member->host);
    member->held = form_tasks(document, root, "held", &member->held_count);
    if (json_object_get(root, "running") != NULL) {
        member->running = form_tasks(document, root, "running", &member->running_count);
    }
    member->standby = read_local(document, "standby", &member->standby_count);
    member->local = read_local(document, "local", &member->local_count);
    read_failed(document, member);
    member->unknown = form_unknown(document, known, ARRAY_LENGTH(known));
}

enum status member_read(const char *name, struct text json, struct budget *budget, struct member **member, struct error *err)
{
    struct document document;
    struct member *read = member_create(budget, err);
    if (read == NULL) {
        return err->status;
    }
    enum status status = document_open(name, json, FORM_VERSION, read->arena, &document, err);
    if (status == STATUS_OK) {
        read_all(&document, read);
        status = document_status(&document);
        document_close(&document);
    }
    if (status != STATUS_OK) {
        member_unref(read);
        return status;
    }
    *member = read;
    return STATUS_OK;
}

static void set_text(json_t *object, const char *member, const char *text)
{
    if (text != NULL) {
        json_object_set_new(object, member, json_string(text));
    }
}

static enum status write_host(json_t *root, const struct member_host *host, struct error *err)
{
    json_t *verbs = json_array(), *capacity = json_object();
    set_text(root, "host", host->host);
    set_text(root, "rack", host->rack);
    set_text(root, "boot", host->boot);
    json_object_set_new(root, "pid", json_integer(host->pid));
    json_object_set_new(root, "started_ms", json_integer(host->started_ms));
    set_text(root, "address", host->address);
    set_text(root, "build", host->build);
    for (uint32_t i = 0; i < host->verb_count; i++) {
        json_array_append_new(verbs, json_string(host->verbs[i]));
    }
    json_object_set_new(root, "verbs", verbs);
    json_object_set_new(capacity, "threads", json_integer(host->threads));
    json_object_set_new(capacity, "memory_bytes", json_integer(host->memory_bytes));
    json_object_set_new(capacity, "weight", json_real(host->weight));
    json_object_set_new(capacity, "tasks", json_integer(host->task_max));
    json_object_set_new(root, "capacity", capacity);
    return document_set_json(root, "tags", host->tags, err);
}

static void write_local(json_t *root, const struct member *member)
{
    json_t *standby = json_object(), *local = json_object(), *failed = json_array();
    char text[TASK_TEXT_BYTES];
    for (uint32_t i = 0; i < member->standby_count; i++) {
        json_t *entry = json_object();
        json_object_set_new(entry, "lag_bytes", json_integer((json_int_t)member->standby[i].lag_bytes));
        json_object_set_new(standby, task_text(member->standby[i].task, text), entry);
    }
    for (uint32_t i = 0; i < member->local_count; i++) {
        json_object_set_new(local, task_text(member->local[i].task, text), json_integer((json_int_t)member->local[i].seq));
    }
    for (uint32_t i = 0; i < member->failed_count; i++) {
        json_t *entry = json_object();
        set_text(entry, "task", task_text(member->failed[i].task, text));
        set_text(entry, "code", member->failed[i].code);
        json_object_set_new(entry, "attempts", json_integer(member->failed[i].attempts));
        set_text(entry, "message", member->failed[i].message);
        json_array_append_new(failed, entry);
    }
    json_object_set_new(root, "standby", standby);
    json_object_set_new(root, "local", local);
    json_object_set_new(root, "failed", failed);
}

enum status member_write(const struct member *member, struct arena *arena, struct text *json, struct error *err)
{
    json_t *root = json_object(), *seen = json_object();
    json_object_set_new(root, "v", json_integer(FORM_VERSION));
    set_text(root, "id", member->life.id);
    form_set_hex(root, "inc", member->life.incarnation);
    form_set_hex(root, "nonce", member->nonce);
    json_object_set_new(root, "beat", json_integer((json_int_t)member->beat));
    set_text(root, "state", states[member->state]);
    json_object_set_new(seen, "rev", json_integer((json_int_t)member->seen_rev));
    json_object_set_new(seen, "version", json_integer((json_int_t)member->seen_version));
    json_object_set_new(root, "seen", seen);
    form_set_tasks(root, "held", member->held, member->held_count);
    form_set_tasks(root, "running", member->running, member->running_count);
    write_local(root, member);
    enum status status = write_host(root, &member->host, err);
    if (status == STATUS_OK) {
        status = form_set_unknown(root, member->unknown, err);
    }
    if (status != STATUS_OK) {
        json_decref(root);
        return status;
    }
    return document_write(root, arena, json, err);
}
