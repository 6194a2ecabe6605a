#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/form.h"
#include "cluster/model.h"
#include "functions/digest.h"

static const char *const known[] = {"v",        "job",  "rev",      "term",    "leader",  "nonce",      "version",
                                    "state",    "plan", "ctl_rank", "round",   "members", "tasks",      "stateful",
                                    "unfenced", "body", "standby",  "warming", "evicted", "dirty_seats"};

static int compare_members(const void *left, const void *right)
{
    return strcmp(((const struct model_member *)left)->life.id, ((const struct model_member *)right)->life.id);
}

static int compare_seats(const void *left, const void *right)
{
    const struct model_seat *a = left, *b = right;
    return a->seat < b->seat ? -1 : a->seat > b->seat;
}

static int compare_tasks(const void *left, const void *right)
{
    const struct model_task *a = left, *b = right;
    return a->task < b->task ? -1 : a->task > b->task;
}

static int compare_copyists(const void *left, const void *right)
{
    const struct model_copyist *a = left, *b = right;
    return a->task != b->task ? (a->task < b->task ? -1 : 1) : strcmp(a->id, b->id);
}

static void read_members(struct document *document, struct model *model)
{
    const json_t *members = document_member(document, document->root, "members", JSON_OBJECT, DOCUMENT_REQUIRED), *entry;
    const char *id;
    model->members = form_array(document, json_object_size(members), sizeof *model->members);
    json_object_foreach((json_t *)(uintptr_t)members, id, entry)
    {
        if (model->members == NULL) {
            return;
        }
        struct model_member *member = &model->members[model->member_count++];
        member->life = (struct life){arena_text(document->arena, id, strlen(id)), form_hex(document, entry, "inc")};
        member->seat = (uint32_t)form_count(document, entry, "seat");
        if (member->life.id == NULL) {
            document_complain(document, "members", "finds no room");
            return;
        }
    }
    qsort(model->members, model->member_count, sizeof *model->members, compare_members);
}

static void read_seats(struct document *document, struct model *model)
{
    const json_t *dirty = document_member(document, document->root, "dirty_seats", JSON_OBJECT, DOCUMENT_OPTIONAL), *entry;
    const char *seat;
    model->dirty = form_array(document, json_object_size(dirty), sizeof *model->dirty);
    json_object_foreach((json_t *)(uintptr_t)dirty, seat, entry)
    {
        char *end = NULL;
        struct life life = {0};
        unsigned long number = strtoul(seat, &end, 10);
        if (model->dirty == NULL || end == seat || *end != '\0' || number >= MODEL_NONE || !json_is_string(entry) ||
            !life_parse(json_string_value(entry), document->arena, &life)) {
            document_complain(document, "dirty_seats", "holds what is no seat");
            return;
        }
        model->dirty[model->dirty_count++] = (struct model_seat){(uint32_t)number, life};
    }
    qsort(model->dirty, model->dirty_count, sizeof *model->dirty, compare_seats);
}

static void read_evicted(struct document *document, struct model *model)
{
    const json_t *evicted = document_member(document, document->root, "evicted", JSON_ARRAY, DOCUMENT_OPTIONAL), *entry;
    size_t i;
    model->evicted = form_array(document, json_array_size(evicted), sizeof *model->evicted);
    json_array_foreach((json_t *)(uintptr_t)evicted, i, entry)
    {
        if (model->evicted == NULL || !json_is_string(entry) ||
            !life_parse(json_string_value(entry), document->arena, &model->evicted[model->evicted_count])) {
            document_complain(document, "evicted", "holds what is no life of a member");
            return;
        }
        model->evicted_count++;
    }
}

static const struct {
    const char *member;
    size_t list, count;
} copyists[] = {{"standby", offsetof(struct model, standby), offsetof(struct model, standby_count)},
                {"warming", offsetof(struct model, warming), offsetof(struct model, warming_count)}};

/* "standby": {"s1.1": ["w1"]}, "warming": {"s1.7": "w9"}. */
static void read_copyists(struct document *document, struct model *model, size_t kind)
{
    const json_t *object = document_member(document, document->root, copyists[kind].member, JSON_OBJECT, DOCUMENT_OPTIONAL), *entry;
    const char *key;
    size_t total = 0;
    json_object_foreach((json_t *)(uintptr_t)object, key, entry)
    {
        total += json_is_array(entry) ? json_array_size(entry) : 1;
    }
    struct model_copyist *list = form_array(document, total, sizeof *list);
    uint32_t count = 0;
    json_object_foreach((json_t *)(uintptr_t)object, key, entry)
    {
        uint64_t first, last;
        bool good = list != NULL && task_run_parse(key, &first, &last) && first == last;
        for (size_t i = 0; good && i < (json_is_array(entry) ? json_array_size(entry) : 1); i++) {
            const char *id = json_string_value(json_is_array(entry) ? json_array_get(entry, i) : entry);
            list[count].task = first;
            good = id != NULL && (list[count++].id = arena_text(document->arena, id, strlen(id))) != NULL;
        }
        if (!good) {
            document_complain(document, copyists[kind].member, "holds what is no task and its members");
            return;
        }
    }
    qsort(list, count, sizeof *list, compare_copyists);
    *(struct model_copyist **)((char *)model + copyists[kind].list) = list;
    *(uint32_t *)((char *)model + copyists[kind].count) = count;
}

static bool read_task(struct document *document, const struct model *model, const json_t *entry, struct model_task *task)
{
    const char *owner = document_text(document, entry, "owner", DOCUMENT_OPTIONAL);
    const struct model_member *member = model_find_member(model, owner);
    *task = (struct model_task){.epoch = form_count(document, entry, "epoch"),
                                .open = form_bool(document, entry, "open"),
                                .evicted = form_bool(document, entry, "evicted"),
                                .retired = form_bool(document, entry, "retired"),
                                .from = form_life(document, entry, "from"),
                                .owner = member == NULL ? MODEL_NONE : (uint32_t)(member - model->members)};
    return (owner == NULL) == (member == NULL) && !(task->open && (member == NULL || task->from.id != NULL));
}

static void read_tasks(struct document *document, const json_t *tasks, struct model *model)
{
    const json_t *entry;
    const char *key;
    uint64_t total = 0, first, last;
    json_object_foreach((json_t *)(uintptr_t)tasks, key, entry)
    {
        if (!task_run_parse(key, &first, &last) || (total += last - first + 1) > FORM_TASKS_MAX) {
            document_complain(document, "tasks", "holds what is no task");
            return;
        }
    }
    model->tasks = form_array(document, total, sizeof *model->tasks);
    json_object_foreach((json_t *)(uintptr_t)tasks, key, entry)
    {
        struct model_task task;
        if (model->tasks == NULL || !json_is_object(entry) || !read_task(document, model, entry, &task)) {
            document_complain(document, "tasks", "holds a task whose owner, from and open do not fit together");
            return;
        }
        (void)task_run_parse(key, &first, &last);
        for (uint64_t n = last - first + 1; n > 0; n--) {
            task.task = first++;
            model->tasks[model->task_count++] = task;
        }
    }
    qsort(model->tasks, model->task_count, sizeof *model->tasks, compare_tasks);
    for (uint32_t i = 1; i < model->task_count; i++) {
        if (model->tasks[i - 1].task == model->tasks[i].task) {
            document_complain(document, "tasks", "names a task twice");
            return;
        }
    }
}

static void read_round(struct document *document, struct model *model)
{
    const json_t *round = document_member(document, document->root, "round", JSON_OBJECT, DOCUMENT_REQUIRED);
    const char *kind = document_text(document, round, "kind", DOCUMENT_REQUIRED);
    if (round == NULL || kind == NULL) {
        return;
    }
    if (strcmp(kind, "incremental") != 0 && strcmp(kind, "stop-all") != 0) {
        document_complain(document, "round", "is of a kind that is not known");
    }
    model->round.kind = strcmp(kind, "stop-all") == 0 ? MODEL_STOP_ALL : MODEL_INCREMENTAL;
    model->round.opened = form_bool(document, round, "opened");
    model->round.since_rev = form_count(document, round, "since_rev");
    const char *why = document_text(document, round, "why", DOCUMENT_OPTIONAL);
    model->round.why = why == NULL ? "" : why;
}

static const char *state_of(uint32_t i)
{
    return model_state_text((enum model_state)i);
}

static void read_head(struct document *document, struct model *model)
{
    const json_t *root = document->root;
    const char *job = document_text(document, root, "job", DOCUMENT_REQUIRED);
    model->job = job == NULL ? "" : job;
    model->rev = form_count(document, root, "rev");
    model->term = form_count(document, root, "term");
    model->version = form_count(document, root, "version");
    model->leader = form_life(document, root, "leader");
    model->nonce = form_hex(document, root, "nonce");
    model->plan = document_int(document, root, "plan", DOCUMENT_REQUIRED, 0);
    model->ctl_rank = document_int(document, root, "ctl_rank", DOCUMENT_REQUIRED, 0);
    model->stateful = form_bool(document, root, "stateful");
    model->unfenced = form_bool(document, root, "unfenced");
    model->state = form_choice(document, root, "state", state_of, MODEL_STATE_COUNT, "is not known");
}

static void read_body_name(struct document *document, struct model *model)
{
    const json_t *body = document_member(document, document->root, "body", JSON_OBJECT, DOCUMENT_OPTIONAL);
    if (body == NULL) {
        read_tasks(document, document_member(document, document->root, "tasks", JSON_OBJECT, DOCUMENT_REQUIRED), model);
        return;
    }
    const char *sha256 = document_text(document, body, "sha256", DOCUMENT_REQUIRED);
    model->body_bytes = form_count(document, body, "size");
    if (sha256 == NULL || strlen(sha256) != MODEL_SHA256_BYTES - 1) {
        document_complain(document, "body", "has no SHA-256");
        return;
    }
    memcpy(model->body_sha256, sha256, MODEL_SHA256_BYTES);
}

enum status model_read(const char *name, struct text json, struct budget *budget, struct model **model, struct error *err)
{
    struct document document;
    struct model *read = model_create(budget, err);
    if (read == NULL) {
        return err->status;
    }
    enum status status = document_open(name, json, FORM_VERSION, read->arena, &document, err);
    if (status == STATUS_OK) {
        read_head(&document, read);
        read_round(&document, read);
        read_members(&document, read);
        read_seats(&document, read);
        read_evicted(&document, read);
        read_copyists(&document, read, 0);
        read_copyists(&document, read, 1);
        if (!document.failed) {
            read_body_name(&document, read);
        }
        read->unknown = form_unknown(&document, known, ARRAY_LENGTH(known));
        status = document_status(&document);
        document_close(&document);
    }
    if (status != STATUS_OK) {
        model_unref(read);
        return status;
    }
    *model = read;
    return STATUS_OK;
}

static void text_sha256(struct text text, char sha256[MODEL_SHA256_BYTES])
{
    uint8_t digest[DIGEST_BYTES_MAX];
    digest_text(digest, digest_compute(DIGEST_SHA256, text.bytes, text.length, digest), sha256);
}

enum status model_read_body(struct model *model, const char *name, struct text body, struct error *err)
{
    struct document document;
    char sha256[MODEL_SHA256_BYTES];
    text_sha256(body, sha256);
    if (body.length != model->body_bytes || strcmp(sha256, model->body_sha256) != 0) {
        return error_set(err, ERROR_STORE_CORRUPT, "the body '%s' of a model has %zu bytes and SHA-256 %s; %" PRIu64 " and %s were written",
                         name, body.length, sha256, model->body_bytes, model->body_sha256);
    }
    TRY(document_open(name, body, FORM_VERSION, model->arena, &document, err));
    read_tasks(&document, document_member(&document, document.root, "tasks", JSON_OBJECT, DOCUMENT_REQUIRED), model);
    enum status status = document_status(&document);
    document_close(&document);
    model->body_sha256[0] = '\0';
    return status;
}

static bool tasks_alike(const struct model_task *left, const struct model_task *right)
{
    return left->task + 1 == right->task && task_stage(left->task) == task_stage(right->task) && right->task != TASK_ALL &&
           left->owner == right->owner && left->epoch == right->epoch && left->open == right->open && left->evicted == right->evicted &&
           left->retired == right->retired && life_equal(left->from, right->from);
}

static json_t *write_tasks(const struct model *model)
{
    json_t *object = json_object();
    char text[TASK_TEXT_BYTES];
    for (uint32_t i = 0, end; i < model->task_count; i = end) {
        const struct model_task *task = &model->tasks[i];
        for (end = i + 1; end < model->task_count && tasks_alike(&model->tasks[end - 1], &model->tasks[end]);) {
            end++;
        }
        json_t *entry = json_object();
        json_object_set_new(entry, "owner", task->owner == MODEL_NONE ? json_null() : json_string(model_owner(model, task).id));
        json_object_set_new(entry, "epoch", json_integer((json_int_t)task->epoch));
        json_object_set_new(entry, "open", json_boolean(task->open));
        form_set_life(entry, "from", task->from);
        if (task->evicted) {
            json_object_set_new(entry, "evicted", json_true());
        }
        if (task->retired) {
            json_object_set_new(entry, "retired", json_true());
        }
        json_object_set_new(object, task_run_text(task->task, model->tasks[end - 1].task, text), entry);
    }
    return object;
}

static void write_members(json_t *root, const struct model *model)
{
    json_t *members = json_object(), *dirty = json_object(), *evicted = json_array();
    char text[LIFE_TEXT_BYTES];
    for (uint32_t i = 0; i < model->member_count; i++) {
        json_t *entry = json_object();
        form_set_hex(entry, "inc", model->members[i].life.incarnation);
        json_object_set_new(entry, "seat", json_integer(model->members[i].seat));
        json_object_set_new(members, model->members[i].life.id, entry);
    }
    for (uint32_t i = 0; i < model->dirty_count; i++) {
        char seat[16];
        snprintf(seat, sizeof seat, "%" PRIu32, model->dirty[i].seat);
        json_object_set_new(dirty, seat, json_string(life_text(model->dirty[i].life, text)));
    }
    for (uint32_t i = 0; i < model->evicted_count; i++) {
        json_array_append_new(evicted, json_string(life_text(model->evicted[i], text)));
    }
    json_object_set_new(root, "members", members);
    json_object_set_new(root, "dirty_seats", dirty);
    json_object_set_new(root, "evicted", evicted);
}

static void write_copyists(json_t *root, const struct model *model)
{
    json_t *standby = json_object(), *warming = json_object();
    char text[TASK_TEXT_BYTES];
    for (uint32_t i = 0; i < model->standby_count; i++) {
        json_t *list = json_object_get(standby, task_text(model->standby[i].task, text));
        if (list == NULL) {
            list = json_array();
            json_object_set_new(standby, text, list);
        }
        json_array_append_new(list, json_string(model->standby[i].id));
    }
    for (uint32_t i = 0; i < model->warming_count; i++) {
        json_object_set_new(warming, task_text(model->warming[i].task, text), json_string(model->warming[i].id));
    }
    json_object_set_new(root, "standby", standby);
    json_object_set_new(root, "warming", warming);
}

static void write_head(json_t *root, const struct model *model)
{
    json_object_set_new(root, "v", json_integer(FORM_VERSION));
    json_object_set_new(root, "job", json_string(model->job));
    json_object_set_new(root, "rev", json_integer((json_int_t)model->rev));
    json_object_set_new(root, "term", json_integer((json_int_t)model->term));
    form_set_life(root, "leader", model->leader);
    form_set_hex(root, "nonce", model->nonce);
    json_object_set_new(root, "version", json_integer((json_int_t)model->version));
    json_object_set_new(root, "state", json_string(model_state_text(model->state)));
    json_object_set_new(root, "plan", json_integer(model->plan));
    json_object_set_new(root, "ctl_rank", json_integer(model->ctl_rank));
    json_object_set_new(root, "stateful", json_boolean(model->stateful));
    json_object_set_new(root, "unfenced", json_boolean(model->unfenced));
    json_t *round = json_object();
    json_object_set_new(round, "kind", json_string(model->round.kind == MODEL_STOP_ALL ? "stop-all" : "incremental"));
    json_object_set_new(round, "opened", json_boolean(model->round.opened));
    json_object_set_new(round, "since_rev", json_integer((json_int_t)model->round.since_rev));
    json_object_set_new(round, "why", json_string(model->round.why));
    json_object_set_new(root, "round", round);
}

/* Moves the tasks into a body of their own. */
static enum status split_body(json_t *root, struct arena *arena, struct text *body, char sha256[MODEL_SHA256_BYTES], struct error *err)
{
    json_t *apart = json_object(), *name = json_object();
    json_object_set_new(apart, "v", json_integer(FORM_VERSION));
    json_object_set(apart, "tasks", json_object_get(root, "tasks"));
    enum status status = document_write(apart, arena, body, err);
    if (status == STATUS_OK) {
        text_sha256(*body, sha256);
        json_object_set_new(name, "sha256", json_string(sha256));
        json_object_set_new(name, "size", json_integer((json_int_t)body->length));
        json_object_set(root, "body", name);
        (void)json_object_del(root, "tasks");
    }
    json_decref(name);
    return status;
}

enum status model_write(const struct model *model, struct arena *arena, struct text *json, struct text *body,
                        char sha256[MODEL_SHA256_BYTES], struct error *err)
{
    json_t *root = json_object();
    write_head(root, model);
    write_members(root, model);
    write_copyists(root, model);
    json_object_set_new(root, "tasks", write_tasks(model));
    json_object_set_new(root, "body", json_null());
    enum status status = form_set_unknown(root, model->unknown, err);
    *body = (struct text){"", 0};
    sha256[0] = '\0';
    if (status == STATUS_OK) {
        status = document_write(json_incref(root), arena, json, err);
    }
    if (status == STATUS_OK && json->length > MODEL_INLINE_MAX) {
        status = split_body(root, arena, body, sha256, err);
        if (status == STATUS_OK) {
            status = document_write(json_incref(root), arena, json, err);
        }
    }
    json_decref(root);
    return status;
}
