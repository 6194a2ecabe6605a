/* One function reads and one writes each kind; a table leads to them. */
#include <string.h>

#include "cluster/control/record.h"
#include "cluster/form.h"

enum { RECORD_FORM = 1 };
static const char no_choice[] = "is none of the values that it can have";
#define COMMON_MEMBERS "v", "kind", "id", "at_ms", "term"

#define CHOICE(name)                                                                                                                       \
    static const char *name##_of(uint32_t i)                                                                                               \
    {                                                                                                                                      \
        return control_##name##_text((enum control_##name)i);                                                                              \
    }
CHOICE(kind)
CHOICE(how)
CHOICE(verdict)
CHOICE(outcome)
#undef CHOICE

static void read_sha256(struct document *document, const json_t *object, const char *member, char sha256[CONTROL_SHA256_BYTES])
{
    const char *text = document_text(document, object, member, DOCUMENT_REQUIRED);
    if (text == NULL || strlen(text) != CONTROL_SHA256_BYTES - 1) {
        document_complain(document, member, "is not a SHA-256 in 64 hexadecimal digits");
        return;
    }
    memcpy(sha256, text, CONTROL_SHA256_BYTES);
}

static void read_args(struct document *document, struct control_propose *propose)
{
    const char *args = document_json(document, document->root, "args");
    if (!json_is_object(json_object_get(document->root, "args"))) {
        document_complain(document, "args", "is not an object");
    } else if (args != NULL && !document->failed &&
               control_args_make(args, document->arena, &propose->args, propose->args_sha256, document->err) != STATUS_OK) {
        document->failed = true;
    }
}

static void read_propose(struct document *document, struct control_record *record)
{
    struct control_propose *propose = &record->propose;
    const json_t *root = document->root, *expect = document_member(document, root, "expect", JSON_OBJECT, DOCUMENT_OPTIONAL);
    propose->key = document_text(document, root, "key", DOCUMENT_OPTIONAL);
    propose->verb = document_text(document, root, "verb", DOCUMENT_REQUIRED);
    propose->actor = document_text(document, root, "actor", DOCUMENT_REQUIRED);
    propose->deadline_ms = document_int(document, root, "deadline_ms", DOCUMENT_OPTIONAL, 0);
    propose->expects_version = json_object_get(expect, "version") != NULL;
    propose->expects_rank = json_object_get(expect, "rank") != NULL;
    propose->expect_version = form_count_or(document, expect, "version", 0);
    propose->expect_rank = form_count_or(document, expect, "rank", 0);
    read_args(document, propose);
}

static void write_propose(json_t *root, const struct control_record *record)
{
    const struct control_propose *propose = &record->propose;
    if (propose->key != NULL) {
        json_object_set_new(root, "key", json_string(propose->key));
    }
    json_object_set_new(root, "verb", json_string(propose->verb));
    json_object_set_new(root, "args", json_loads(propose->args, 0, NULL));
    if (propose->expects_version || propose->expects_rank) {
        json_t *expect = json_object();
        if (propose->expects_version) {
            json_object_set_new(expect, "version", json_integer((json_int_t)propose->expect_version));
        }
        if (propose->expects_rank) {
            json_object_set_new(expect, "rank", json_integer((json_int_t)propose->expect_rank));
        }
        json_object_set_new(root, "expect", expect);
    }
    if (propose->deadline_ms != 0) {
        json_object_set_new(root, "deadline_ms", json_integer(propose->deadline_ms));
    }
    json_object_set_new(root, "actor", json_string(propose->actor));
}

static void read_term(struct document *document, struct control_record *record)
{
    record->term_of.leader = document_text(document, document->root, "leader", DOCUMENT_REQUIRED);
}

static void write_term(json_t *root, const struct control_record *record)
{
    json_object_set_new(root, "leader", json_string(record->term_of.leader));
}

static void read_decide(struct document *document, struct control_record *record)
{
    struct control_decide *decide = &record->decide;
    const json_t *root = document->root;
    decide->ref = form_count(document, root, "ref");
    decide->verdict = form_choice(document, root, "verdict", verdict_of, CONTROL_VERDICT_COUNT, no_choice);
    decide->code = document_text(document, root, "code", DOCUMENT_OPTIONAL);
    decide->reason = document_text(document, root, "reason", DOCUMENT_OPTIONAL);
    decide->warning = document_text(document, root, "warning", DOCUMENT_OPTIONAL);
    if (decide->verdict == CONTROL_DUPLICATE) {
        decide->duplicate_of = form_count(document, root, "duplicate_of");
    } else if (decide->verdict == CONTROL_ACCEPT) {
        decide->rank = form_count(document, root, "rank");
        decide->how = form_choice(document, root, "how", how_of, CONTROL_HOW_COUNT, no_choice);
        decide->of = (uint32_t)form_count(document, root, "of");
        decide->version = form_count(document, root, "version");
        decide->sets = form_texts(document, root, "sets", &decide->set_count);
        decide->clears = form_texts(document, root, "clears", &decide->clear_count);
    }
}

static void write_text(json_t *root, const char *member, const char *text)
{
    if (text != NULL) {
        json_object_set_new(root, member, json_string(text));
    }
}

static void write_texts(json_t *root, const char *member, const char *const *texts, uint32_t count)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < count; i++) {
        json_array_append_new(array, json_string(texts[i]));
    }
    if (count > 0) {
        json_object_set(root, member, array);
    }
    json_decref(array);
}

static void write_decide(json_t *root, const struct control_record *record)
{
    const struct control_decide *decide = &record->decide;
    json_object_set_new(root, "ref", json_integer((json_int_t)decide->ref));
    json_object_set_new(root, "verdict", json_string(control_verdict_text(decide->verdict)));
    if (decide->verdict == CONTROL_DUPLICATE) {
        json_object_set_new(root, "duplicate_of", json_integer((json_int_t)decide->duplicate_of));
    } else if (decide->verdict == CONTROL_ACCEPT) {
        json_object_set_new(root, "rank", json_integer((json_int_t)decide->rank));
        json_object_set_new(root, "how", json_string(control_how_text(decide->how)));
        json_object_set_new(root, "of", json_integer(decide->of));
        json_object_set_new(root, "version", json_integer((json_int_t)decide->version));
        write_texts(root, "sets", decide->sets, decide->set_count);
        write_texts(root, "clears", decide->clears, decide->clear_count);
    }
    write_text(root, "code", decide->code);
    write_text(root, "reason", decide->reason);
    write_text(root, "warning", decide->warning);
}

static void read_failures(struct document *document, struct control_ack *ack)
{
    const json_t *array = document_member(document, document->root, "failed", JSON_ARRAY, DOCUMENT_OPTIONAL);
    uint64_t last = 0;
    ack->failed = form_array(document, json_array_size(array), sizeof *ack->failed);
    for (size_t i = 0; ack->failed != NULL && i < json_array_size(array); i++) {
        const json_t *object = json_array_get(array, i);
        struct control_failure *failure = &ack->failed[ack->failed_count++];
        const char *task = document_text(document, object, "task", DOCUMENT_REQUIRED);
        failure->rank = form_count(document, object, "rank");
        failure->code = document_text(document, object, "code", DOCUMENT_REQUIRED);
        failure->reason = document_text(document, object, "reason", DOCUMENT_REQUIRED);
        if (task == NULL || !task_run_parse(task, &failure->task, &last) || last != failure->task) {
            document_complain(document, "failed", "names what is no task");
        }
    }
}

static void read_ack(struct document *document, struct control_record *record)
{
    struct control_ack *ack = &record->ack;
    ack->by = document_text(document, document->root, "by", DOCUMENT_REQUIRED);
    ack->through = form_count(document, document->root, "through");
    ack->tasks = form_tasks(document, document->root, "tasks", &ack->task_count);
    read_failures(document, ack);
}

static void write_ack(json_t *root, const struct control_record *record)
{
    const struct control_ack *ack = &record->ack;
    char text[TASK_TEXT_BYTES];
    json_t *failed = json_array();
    json_object_set_new(root, "by", json_string(ack->by));
    json_object_set_new(root, "through", json_integer((json_int_t)ack->through));
    form_set_tasks(root, "tasks", ack->tasks, ack->task_count);
    for (uint32_t i = 0; i < ack->failed_count; i++) {
        const struct control_failure *failure = &ack->failed[i];
        json_array_append_new(failed, json_pack("{sI ss ss ss}", "rank", (json_int_t)failure->rank, "task", task_text(failure->task, text),
                                                "code", failure->code, "reason", failure->reason));
    }
    if (ack->failed_count > 0) {
        json_object_set(root, "failed", failed);
    }
    json_decref(failed);
}

static void read_close(struct document *document, struct control_record *record)
{
    struct control_close *close = &record->close;
    const json_t *root = document->root;
    close->ref = form_count(document, root, "ref");
    close->outcome = form_choice(document, root, "outcome", outcome_of, CONTROL_OUTCOME_COUNT, no_choice);
    close->applied = (uint32_t)form_count(document, root, "applied");
    close->failed = (uint32_t)form_count(document, root, "failed");
    close->by = form_count_or(document, root, "by", 0);
    close->result = document_json(document, root, "result");
    close->reason = document_text(document, root, "reason", DOCUMENT_OPTIONAL);
}

static void write_close(json_t *root, const struct control_record *record)
{
    const struct control_close *close = &record->close;
    json_object_set_new(root, "ref", json_integer((json_int_t)close->ref));
    json_object_set_new(root, "outcome", json_string(control_outcome_text(close->outcome)));
    json_object_set_new(root, "applied", json_integer(close->applied));
    json_object_set_new(root, "failed", json_integer(close->failed));
    if (close->by != 0) {
        json_object_set_new(root, "by", json_integer((json_int_t)close->by));
    }
    if (close->result != NULL) {
        json_object_set_new(root, "result", json_loads(close->result, JSON_DECODE_ANY, NULL));
    }
    write_text(root, "reason", close->reason);
}

static void read_snapshot(struct document *document, struct control_record *record)
{
    struct control_snapshot *snapshot = &record->snapshot;
    const json_t *root = document->root, *body = document_member(document, root, "body", JSON_OBJECT, DOCUMENT_REQUIRED);
    snapshot->through = form_count(document, root, "through");
    snapshot->rank = form_count(document, root, "rank");
    snapshot->forget = form_count(document, root, "forget");
    snapshot->settled = form_count(document, root, "settled");
    snapshot->bytes = form_count(document, body, "size");
    read_sha256(document, body, "sha256", snapshot->sha256);
}

static void write_snapshot(json_t *root, const struct control_record *record)
{
    const struct control_snapshot *snapshot = &record->snapshot;
    json_object_set_new(root, "through", json_integer((json_int_t)snapshot->through));
    json_object_set_new(root, "rank", json_integer((json_int_t)snapshot->rank));
    json_object_set_new(root, "forget", json_integer((json_int_t)snapshot->forget));
    json_object_set_new(root, "settled", json_integer((json_int_t)snapshot->settled));
    json_object_set_new(root, "body", json_pack("{ss sI}", "sha256", snapshot->sha256, "size", (json_int_t)snapshot->bytes));
}

/* ORDER CONTROL_KIND_LIST. `known`: what the kind reads and writes. */
static const struct kind_form {
    void (*read)(struct document *document, struct control_record *record);
    void (*write)(json_t *root, const struct control_record *record);
    bool leads; /* a leader's, with its term */
    const char *known[20];
} forms[CONTROL_KIND_COUNT] = {
    [CONTROL_PROPOSE] = {read_propose, write_propose, false, {COMMON_MEMBERS, "key", "verb", "args", "expect", "deadline_ms", "actor"}},
    [CONTROL_TERM] = {read_term, write_term, true, {COMMON_MEMBERS, "leader"}},
    [CONTROL_DECIDE] = {read_decide,
                        write_decide,
                        true,
                        {COMMON_MEMBERS, "ref", "verdict", "rank", "how", "of", "version", "sets", "clears", "duplicate_of", "code",
                         "reason", "warning"}},
    [CONTROL_ACK] = {read_ack, write_ack, false, {COMMON_MEMBERS, "by", "through", "tasks", "failed"}},
    [CONTROL_CLOSE] = {read_close, write_close, true, {COMMON_MEMBERS, "ref", "outcome", "applied", "failed", "by", "result", "reason"}},
    [CONTROL_SNAPSHOT] = {read_snapshot, write_snapshot, true, {COMMON_MEMBERS, "through", "rank", "forget", "settled", "body"}},
};

static uint32_t known_count(const struct kind_form *form)
{
    uint32_t count = 0;
    while (count < ARRAY_LENGTH(form->known) && form->known[count] != NULL) {
        count++;
    }
    return count;
}

enum status control_record_read(const char *name, struct text json, struct arena *arena, struct control_record *record, struct error *err)
{
    struct document document;
    *record = (struct control_record){0};
    TRY(document_open(name, json, RECORD_FORM, arena, &document, err));
    record->kind = form_choice(&document, document.root, "kind", kind_of, CONTROL_KIND_COUNT, no_choice);
    const char *id = document_text(&document, document.root, "id", DOCUMENT_REQUIRED);
    if (id != NULL && strlen(id) == CONTROL_ID_BYTES - 1) {
        memcpy(record->id, id, CONTROL_ID_BYTES);
    } else {
        document_complain(&document, "id", "does not have 26 digits");
    }
    record->at_ms = document_int(&document, document.root, "at_ms", DOCUMENT_REQUIRED, 0);
    const struct kind_form *form = &forms[record->kind];
    record->term = form->leads ? form_count(&document, document.root, "term") : 0;
    if (!document.failed) {
        form->read(&document, record);
        record->unknown = form_unknown(&document, form->known, known_count(form));
    }
    enum status status = document_status(&document);
    document_close(&document);
    return status;
}

enum status control_record_write(const struct control_record *record, struct arena *arena, struct text *json, struct error *err)
{
    const struct kind_form *form = &forms[record->kind];
    json_t *root = json_pack("{si ss ss sI}", "v", RECORD_FORM, "kind", control_kind_text(record->kind), "id", record->id, "at_ms",
                             (json_int_t)record->at_ms);
    if (form->leads) {
        json_object_set_new(root, "term", json_integer((json_int_t)record->term));
    }
    form->write(root, record);
    enum status status = form_set_unknown(root, record->unknown, err);
    if (status != STATUS_OK) {
        json_decref(root);
        return status;
    }
    TRY(document_write(root, arena, json, err));
    if (json->length > CONTROL_RECORD_MAX) {
        return error_set(err, ERROR_CTL_TOO_LARGE, "a control record would be %zu bytes long; %d are allowed", json->length,
                         CONTROL_RECORD_MAX);
    }
    return STATUS_OK;
}
