/* The body of a snapshot. Members in a fixed order: equal folds give equal texts. */
#include <string.h>

#include "cluster/control/fold.h"
#include "cluster/form.h"

enum { FOLD_FORM = 1 };

static void set_count(json_t *object, const char *member, uint64_t value)
{
    if (value != 0) {
        json_object_set_new(object, member, json_integer((json_int_t)value));
    }
}

static void set_text(json_t *object, const char *member, const char *text)
{
    if (text != NULL) {
        json_object_set_new(object, member, json_string(text));
    }
}

/* A value that is kept as JSON text. */
static void set_json(json_t *object, const char *member, const char *text)
{
    if (text != NULL) {
        json_object_set_new(object, member, json_loads(text, JSON_DECODE_ANY, NULL));
    }
}

/* ---- writing ---- */

static json_t *propose_json(const struct control_propose *propose)
{
    json_t *object = json_object();
    set_text(object, "key", propose->key);
    set_text(object, "verb", propose->verb);
    set_json(object, "args", propose->args);
    set_text(object, "args_sha256", propose->args_sha256);
    if (propose->expects_version) {
        json_object_set_new(object, "expect_version", json_integer((json_int_t)propose->expect_version));
    }
    if (propose->expects_rank) {
        json_object_set_new(object, "expect_rank", json_integer((json_int_t)propose->expect_rank));
    }
    set_count(object, "deadline_ms", (uint64_t)propose->deadline_ms);
    set_text(object, "actor", propose->actor);
    return object;
}

static json_t *failures_json(const struct control_entry *entry)
{
    json_t *array = json_array();
    char text[TASK_TEXT_BYTES];
    for (uint32_t i = 0; i < entry->failure_count; i++) {
        const struct control_failure *failure = &entry->failures[i];
        json_array_append_new(array, json_pack("{sI ss ss ss}", "rank", (json_int_t)failure->rank, "task", task_text(failure->task, text),
                                               "code", failure->code, "reason", failure->reason));
    }
    return array;
}

static json_t *entry_json(const struct control_entry *entry)
{
    json_t *object = json_pack("{sI ss ss sI}", "index", (json_int_t)entry->index, "id", entry->id, "state",
                               control_state_text(entry->state), "at_ms", (json_int_t)entry->at_ms);
    json_object_set_new(object, "propose", propose_json(&entry->propose));
    set_count(object, "decided_ms", (uint64_t)entry->decided_ms);
    set_count(object, "rank", entry->rank);
    if (entry->rank != 0) {
        json_object_set_new(object, "how", json_string(control_how_text(entry->how)));
    }
    set_count(object, "of", entry->of);
    set_count(object, "applied", entry->applied);
    set_count(object, "version", entry->version);
    set_count(object, "duplicate_of", entry->duplicate_of);
    set_count(object, "superseded_by", entry->superseded_by);
    set_text(object, "code", entry->code);
    set_text(object, "reason", entry->reason);
    set_text(object, "warning", entry->warning);
    set_json(object, "result", entry->result);
    if (entry->set_count > 0) {
        json_t *sets = json_array();
        for (uint32_t i = 0; i < entry->set_count; i++) {
            json_array_append_new(sets, json_string(entry->sets[i]));
        }
        json_object_set_new(object, "sets", sets);
    }
    if (entry->failure_count > 0) {
        json_object_set_new(object, "failures", failures_json(entry));
    }
    return object;
}

/* Tasks that are at the same rank and follow each other are one entry. */
static json_t *acked_json(const struct control_fold *fold)
{
    json_t *array = json_array();
    char text[TASK_TEXT_BYTES];
    for (uint32_t i = 0, end; i < fold->acked_count; i = end) {
        const struct control_acked *first = &fold->acked[i];
        for (end = i + 1; end < fold->acked_count && fold->acked[end].through == first->through &&
                          fold->acked[end].task == fold->acked[end - 1].task + 1 && fold->acked[end].task != TASK_ALL &&
                          task_stage(fold->acked[end].task) == task_stage(first->task);) {
            end++;
        }
        json_array_append_new(array,
                              json_pack("[sI]", task_run_text(first->task, fold->acked[end - 1].task, text), (json_int_t)first->through));
    }
    return array;
}

static json_t *standing_json(const struct control_fold *fold)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < fold->standing_count; i++) {
        const struct control_standing *standing = &fold->standing[i];
        json_t *object = json_pack("{ss sI sI ss}", "slot", standing->slot, "index", (json_int_t)standing->index, "rank",
                                   (json_int_t)standing->rank, "verb", standing->verb);
        set_json(object, "args", standing->args);
        json_array_append_new(array, object);
    }
    return array;
}

enum status control_fold_write(const struct control_fold *fold, struct arena *arena, struct text *json, struct error *err)
{
    json_t *root = json_pack("{si}", "v", FOLD_FORM), *entries = json_array();
    json_object_set_new(root, "through", json_integer((json_int_t)fold->through));
    set_count(root, "term", fold->term);
    set_text(root, "leader", fold->leader);
    set_count(root, "rank", fold->rank);
    set_count(root, "last_accepted", fold->last_accepted);
    set_count(root, "snapshot_through", fold->snapshot_through);
    set_count(root, "forgotten", fold->forgotten);
    set_count(root, "settled", fold->settled);
    for (uint32_t i = 0; i < fold->entry_count; i++) {
        json_array_append_new(entries, entry_json(&fold->entries[i]));
    }
    json_object_set_new(root, "entries", entries);
    json_object_set_new(root, "acked", acked_json(fold));
    json_object_set_new(root, "standing", standing_json(fold));
    return document_write(root, arena, json, err);
}

/* ---- reading ---- */

static uint64_t get_count(struct document *document, const json_t *object, const char *member)
{
    return form_count_or(document, object, member, 0);
}

static const char *get_text(struct document *document, const json_t *object, const char *member)
{
    return document_text(document, object, member, DOCUMENT_OPTIONAL);
}

static void get_propose(struct document *document, const json_t *entry, struct control_propose *propose)
{
    const json_t *object = document_member(document, entry, "propose", JSON_OBJECT, DOCUMENT_REQUIRED);
    const char *sha256 = document_text(document, object, "args_sha256", DOCUMENT_REQUIRED);
    propose->key = get_text(document, object, "key");
    propose->verb = document_text(document, object, "verb", DOCUMENT_REQUIRED);
    propose->args = document_json(document, object, "args");
    propose->expects_version = json_object_get(object, "expect_version") != NULL;
    propose->expects_rank = json_object_get(object, "expect_rank") != NULL;
    propose->expect_version = get_count(document, object, "expect_version");
    propose->expect_rank = get_count(document, object, "expect_rank");
    propose->deadline_ms = (int64_t)get_count(document, object, "deadline_ms");
    propose->actor = document_text(document, object, "actor", DOCUMENT_REQUIRED);
    if (sha256 != NULL && strlen(sha256) == CONTROL_SHA256_BYTES - 1) {
        memcpy(propose->args_sha256, sha256, CONTROL_SHA256_BYTES);
    } else {
        document_complain(document, "args_sha256", "is no SHA-256");
    }
}

static const char *state_of(uint32_t i)
{
    return control_state_text((enum control_state)i);
}

static const char *how_of(uint32_t i)
{
    return control_how_text((enum control_how)i);
}

static void get_failures(struct document *document, const json_t *object, struct control_entry *entry)
{
    const json_t *array = document_member(document, object, "failures", JSON_ARRAY, DOCUMENT_OPTIONAL);
    uint64_t last = 0;
    entry->failure_count = entry->failure_capacity = 0;
    entry->failures = form_array(document, json_array_size(array), sizeof *entry->failures);
    for (size_t i = 0; entry->failures != NULL && i < json_array_size(array); i++) {
        struct control_failure *failure = &entry->failures[entry->failure_count++];
        const json_t *from = json_array_get(array, i);
        const char *task = document_text(document, from, "task", DOCUMENT_REQUIRED);
        failure->rank = form_count(document, from, "rank");
        failure->code = document_text(document, from, "code", DOCUMENT_REQUIRED);
        failure->reason = document_text(document, from, "reason", DOCUMENT_REQUIRED);
        if (task == NULL || !task_run_parse(task, &failure->task, &last)) {
            document_complain(document, "failures", "names what is no task");
        }
    }
    entry->failure_capacity = entry->failure_count;
}

static void get_entry(struct document *document, const json_t *object, struct control_entry *entry)
{
    const char *id = document_text(document, object, "id", DOCUMENT_REQUIRED);
    if (id != NULL && strlen(id) == CONTROL_ID_BYTES - 1) {
        memcpy(entry->id, id, CONTROL_ID_BYTES);
    } else {
        document_complain(document, "id", "does not have 26 digits");
    }
    entry->index = form_count(document, object, "index");
    entry->state = form_choice(document, object, "state", state_of, CONTROL_STATE_COUNT, "is no state of an edit");
    entry->at_ms = document_int(document, object, "at_ms", DOCUMENT_REQUIRED, 0);
    get_propose(document, object, &entry->propose);
    entry->decided_ms = (int64_t)get_count(document, object, "decided_ms");
    entry->rank = get_count(document, object, "rank");
    entry->how = entry->rank == 0 ? CONTROL_HOW_LEADER
                                  : form_choice(document, object, "how", how_of, CONTROL_HOW_COUNT, "is no way to apply an edit");
    entry->of = (uint32_t)get_count(document, object, "of");
    entry->applied = (uint32_t)get_count(document, object, "applied");
    entry->version = get_count(document, object, "version");
    entry->duplicate_of = get_count(document, object, "duplicate_of");
    entry->superseded_by = get_count(document, object, "superseded_by");
    entry->code = get_text(document, object, "code");
    entry->reason = get_text(document, object, "reason");
    entry->warning = get_text(document, object, "warning");
    entry->result = document_json(document, object, "result");
    entry->sets = form_texts(document, object, "sets", &entry->set_count);
    get_failures(document, object, entry);
}

static void get_entries(struct document *document, struct control_fold *fold)
{
    const json_t *array = document_member(document, document->root, "entries", JSON_ARRAY, DOCUMENT_REQUIRED);
    fold->entries = form_array(document, json_array_size(array), sizeof *fold->entries);
    for (size_t i = 0; fold->entries != NULL && i < json_array_size(array) && !document->failed; i++) {
        get_entry(document, json_array_get(array, i), &fold->entries[i]);
        if (i > 0 && fold->entries[i].index <= fold->entries[i - 1].index) {
            document_complain(document, "entries", "is not in order");
        }
        fold->entry_count++;
    }
    fold->entry_capacity = fold->entry_count;
}

static void get_acked(struct document *document, struct control_fold *fold)
{
    const json_t *array = document_member(document, document->root, "acked", JSON_ARRAY, DOCUMENT_REQUIRED), *pair;
    size_t i;
    uint64_t total = 0, first = 0, last = 0;
    json_array_foreach((json_t *)(uintptr_t)array, i, pair)
    {
        const char *run = json_string_value(json_array_get(pair, 0));
        if (run == NULL || !task_run_parse(run, &first, &last) || (total += last - first + 1) > FORM_TASKS_MAX ||
            !json_is_integer(json_array_get(pair, 1))) {
            document_complain(document, "acked", "holds what is no pair of tasks and rank");
            return;
        }
    }
    fold->acked = form_array(document, total, sizeof *fold->acked);
    json_array_foreach((json_t *)(uintptr_t)array, i, pair)
    {
        if (fold->acked == NULL || !task_run_parse(json_string_value(json_array_get(pair, 0)), &first, &last)) {
            return;
        }
        for (uint64_t n = last - first + 1; n > 0; n--) {
            fold->acked[fold->acked_count++] = (struct control_acked){first++, (uint64_t)json_integer_value(json_array_get(pair, 1))};
        }
    }
    fold->acked_capacity = fold->acked_count;
}

static void get_standing(struct document *document, struct control_fold *fold)
{
    const json_t *array = document_member(document, document->root, "standing", JSON_ARRAY, DOCUMENT_REQUIRED);
    fold->standing = form_array(document, json_array_size(array), sizeof *fold->standing);
    for (size_t i = 0; fold->standing != NULL && i < json_array_size(array); i++) {
        struct control_standing *standing = &fold->standing[fold->standing_count++];
        const json_t *object = json_array_get(array, i);
        standing->slot = document_text(document, object, "slot", DOCUMENT_REQUIRED);
        standing->index = form_count(document, object, "index");
        standing->rank = form_count(document, object, "rank");
        standing->verb = document_text(document, object, "verb", DOCUMENT_REQUIRED);
        standing->args = document_json(document, object, "args");
    }
    fold->standing_capacity = fold->standing_count;
}

enum status control_fold_read(const char *name, struct text json, struct budget *budget, struct control_fold **fold, struct error *err)
{
    struct document document;
    struct control_fold *made = control_fold_create(budget, err);
    *fold = NULL;
    if (made == NULL) {
        return err->status;
    }
    enum status status = document_open(name, json, FOLD_FORM, made->arena, &document, err);
    if (status == STATUS_OK) {
        made->through = form_count(&document, document.root, "through");
        made->term = get_count(&document, document.root, "term");
        made->leader = get_text(&document, document.root, "leader");
        made->rank = get_count(&document, document.root, "rank");
        made->last_accepted = get_count(&document, document.root, "last_accepted");
        made->snapshot_through = get_count(&document, document.root, "snapshot_through");
        made->forgotten = get_count(&document, document.root, "forgotten");
        made->settled = get_count(&document, document.root, "settled");
        get_entries(&document, made);
        get_acked(&document, made);
        get_standing(&document, made);
        status = document_status(&document);
        document_close(&document);
    }
    if (status != STATUS_OK) {
        control_fold_destroy(made);
        return status;
    }
    *fold = made;
    return STATUS_OK;
}
