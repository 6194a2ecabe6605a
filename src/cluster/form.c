#include "cluster/form.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t form_count(struct document *document, const json_t *object, const char *member)
{
    int64_t value = document_int(document, object, member, DOCUMENT_REQUIRED, 0);
    if (value < 0) {
        document_complain(document, member, "is negative");
        return 0;
    }
    return (uint64_t)value;
}

bool form_bool(struct document *document, const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);
    if (value != NULL && !json_is_null(value) && !json_is_boolean(value)) {
        document_complain(document, member, "is neither true nor false");
    }
    return json_is_true(value);
}

struct life form_life(struct document *document, const json_t *object, const char *member)
{
    struct life life = {0};
    const char *text = document_text(document, object, member, DOCUMENT_OPTIONAL);
    if (text != NULL && !life_parse(text, document->arena, &life)) {
        document_complain(document, member, "is not written like \"w2#9f1c\"");
    }
    return life;
}

uint64_t form_hex(struct document *document, const json_t *object, const char *member)
{
    uint64_t value = 0;
    const char *text = document_text(document, object, member, DOCUMENT_REQUIRED);
    if (text != NULL && !incarnation_parse(text, &value)) {
        document_complain(document, member, "is not a text of up to 16 hexadecimal digits");
    }
    return value;
}

uint32_t form_choice(struct document *document, const json_t *object, const char *member, const char *(*name)(uint32_t choice),
                     uint32_t count, const char *what)
{
    const char *text = document_text(document, object, member, DOCUMENT_REQUIRED);
    for (uint32_t i = 0; text != NULL && i < count; i++) {
        if (strcmp(name(i), text) == 0) {
            return i;
        }
    }
    document_complain(document, member, what);
    return 0;
}

uint64_t form_count_or(struct document *document, const json_t *object, const char *member, uint64_t absent)
{
    return json_object_get(object, member) == NULL ? absent : form_count(document, object, member);
}

void *form_array(struct document *document, size_t count, size_t bytes)
{
    void *array = arena_alloc(document->arena, count * bytes + 1);
    if (array == NULL && !document->failed) {
        document->failed = true;
        (void)error_set(document->err, ERROR_BUDGET_SPENT, "no room for '%s'", document->name);
    }
    return array;
}

const char **form_texts(struct document *document, const json_t *object, const char *member, uint32_t *count)
{
    const json_t *array = document_member(document, object, member, JSON_ARRAY, DOCUMENT_OPTIONAL);
    const char **texts = form_array(document, json_array_size(array), sizeof *texts);
    *count = 0;
    for (size_t i = 0; texts != NULL && i < json_array_size(array); i++) {
        const char *text = json_string_value(json_array_get(array, i));
        if (text == NULL || (texts[i] = arena_text(document->arena, text, strlen(text))) == NULL) {
            document_complain(document, member, "holds what is no text");
            break;
        }
        ++*count;
    }
    return texts;
}

static int compare_tasks(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

uint64_t *form_tasks(struct document *document, const json_t *object, const char *member, uint32_t *count)
{
    const json_t *array = document_member(document, object, member, JSON_ARRAY, DOCUMENT_OPTIONAL), *entry;
    size_t i;
    uint64_t total = 0, first, last;
    *count = 0;
    json_array_foreach((json_t *)(uintptr_t)array, i, entry)
    {
        if (!json_is_string(entry) || !task_run_parse(json_string_value(entry), &first, &last) ||
            (total += last - first + 1) > FORM_TASKS_MAX) {
            document_complain(document, member, "holds what is no task");
            return NULL;
        }
    }
    uint64_t *tasks = form_array(document, total, sizeof *tasks);
    if (tasks == NULL) {
        return NULL;
    }
    json_array_foreach((json_t *)(uintptr_t)array, i, entry)
    {
        (void)task_run_parse(json_string_value(entry), &first, &last);
        for (uint64_t n = last - first + 1; n > 0; n--) {
            tasks[(*count)++] = first++;
        }
    }
    qsort(tasks, *count, sizeof *tasks, compare_tasks);
    return tasks;
}

const char *form_unknown(struct document *document, const char *const *known, size_t known_count)
{
    json_t *rest = json_copy(document->root);
    const char *text = NULL;
    for (size_t i = 0; i < known_count; i++) {
        (void)json_object_del(rest, known[i]);
    }
    if (json_object_size(rest) > 0) {
        char *bytes = json_dumps(rest, JSON_COMPACT);
        text = bytes == NULL ? NULL : arena_text(document->arena, bytes, strlen(bytes));
        free(bytes);
    }
    json_decref(rest);
    return text;
}

void form_set_hex(json_t *object, const char *member, uint64_t value)
{
    char text[20];
    snprintf(text, sizeof text, "%" PRIx64, value);
    json_object_set_new(object, member, json_string(text));
}

void form_set_life(json_t *object, const char *member, struct life life)
{
    char text[LIFE_TEXT_BYTES];
    if (life.id != NULL) {
        json_object_set_new(object, member, json_string(life_text(life, text)));
    }
}

void form_set_tasks(json_t *object, const char *member, const uint64_t *tasks, uint32_t count)
{
    json_t *array = json_array();
    char text[TASK_TEXT_BYTES];
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1;
             end < count && tasks[end] == tasks[end - 1] + 1 && task_stage(tasks[end]) == task_stage(tasks[i]) && tasks[end] != TASK_ALL;) {
            end++;
        }
        json_array_append_new(array, json_string(task_run_text(tasks[i], tasks[end - 1], text)));
    }
    json_object_set_new(object, member, array);
}

enum status form_set_unknown(json_t *root, const char *unknown, struct error *err)
{
    if (unknown == NULL) {
        return STATUS_OK;
    }
    json_t *rest = json_loads(unknown, 0, NULL);
    if (rest == NULL || json_object_update_missing(root, rest) != 0) {
        json_decref(rest);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for what another build wrote");
    }
    json_decref(rest);
    return STATUS_OK;
}
