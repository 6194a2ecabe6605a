#include "connectors/error_policy.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text_values.h"

enum { LETTER_FIELDS = 5 };
static const char *const letter_names[LETTER_FIELDS] = {"payload", "source", "position", "code", "message"};

struct letter {
    struct letter *next;
    size_t bytes; /* of the whole block, charged */
    size_t lengths[LETTER_FIELDS];
    char text[];
};
struct dead_letter {
    struct budget *budget;
    pthread_mutex_t mutex;
    struct letter *first, **last;
};

enum status dead_letter_create(struct budget *budget, struct dead_letter **queue, struct error *err)
{
    struct dead_letter *created;
    TRY_ALLOC(created, calloc(1, sizeof *created), err);
    created->budget = budget;
    created->last = &created->first;
    pthread_mutex_init(&created->mutex, NULL);
    *queue = created;
    return STATUS_OK;
}

static void letter_free(struct dead_letter *queue, struct letter *letter)
{
    budget_release(queue->budget, letter->bytes);
    free(letter);
}

void dead_letter_destroy(struct dead_letter *queue)
{
    if (queue == NULL) {
        return;
    }
    while (queue->first != NULL) {
        struct letter *letter = queue->first;
        queue->first = letter->next;
        letter_free(queue, letter);
    }
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

enum status dead_letter_push(struct dead_letter *queue, struct text payload, struct text source, struct text position, struct text code,
                             struct text message, struct error *err)
{
    const struct text fields[LETTER_FIELDS] = {payload, source, position, code, message};
    size_t bytes = sizeof(struct letter);
    for (uint32_t i = 0; i < LETTER_FIELDS; i++) {
        bytes += fields[i].length;
    }
    if (!budget_charge(queue->budget, bytes)) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a dead letter of %zu bytes", bytes);
    }
    struct letter *letter = malloc(bytes);
    if (letter == NULL) {
        budget_release(queue->budget, bytes);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a dead letter of %zu bytes", bytes);
    }
    letter->next = NULL;
    letter->bytes = bytes;
    char *to = letter->text;
    for (uint32_t i = 0; i < LETTER_FIELDS; i++) {
        letter->lengths[i] = fields[i].length;
        if (fields[i].length > 0) {
            memcpy(to, fields[i].bytes, fields[i].length);
        }
        to += fields[i].length;
    }
    pthread_mutex_lock(&queue->mutex);
    *queue->last = letter;
    queue->last = &letter->next;
    pthread_mutex_unlock(&queue->mutex);
    return STATUS_OK;
}

static int32_t letter_field(const char *name)
{
    for (int32_t i = 0; i < LETTER_FIELDS; i++) {
        if (strcmp(letter_names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

enum status dead_letter_check_table(const struct type *row, const char *table, struct error *err)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < row->child_count; i++) {
        int32_t field = letter_field(row->names[i]);
        if (field >= 0) {
            bool fits = field == 0 ? type_is_binary(row->children[i]) : type_is_text(row->children[i]);
            if (!fits) {
                return error_set(err, ERROR_INVALID_DEFINITION, "the column '%s' of the dead-letter table '%s' must be %s", row->names[i],
                                 table, field == 0 ? "BYTES" : "STRING");
            }
            found++;
        } else if (!row->children[i]->nullable) {
            return error_set(err, ERROR_INVALID_DEFINITION,
                             "the column '%s' of the dead-letter table '%s' is NOT NULL, and nothing fills it", row->names[i], table);
        }
    }
    if (found == 0) {
        return error_set(
            err, ERROR_INVALID_DEFINITION,
            "the dead-letter table '%s' has none of the columns payload BYTES, source STRING, position STRING, code STRING, message STRING",
            table);
    }
    return STATUS_OK;
}

static struct text letter_text(const struct letter *letter, int32_t field)
{
    const char *start = letter->text;
    for (int32_t i = 0; i < field; i++) {
        start += letter->lengths[i];
    }
    return (struct text){start, letter->lengths[field]};
}

static enum status fill_column(struct budget *budget, const struct letter *letter, uint32_t count, int32_t field, struct vector *vector,
                               struct error *err)
{
    struct string_heap heap = {.budget = budget, .target = vector};
    for (uint32_t row = 0; row < count; row++, letter = letter->next) {
        struct text text = letter_text(letter, field);
        const char *bytes = text.bytes;
        if (text.length > STRING_INLINE_BYTES) {
            vector->count = row;
            char *copy = string_heap_alloc(&heap, text.length, err);
            if (copy == NULL) {
                return err->status;
            }
            memcpy(copy, text.bytes, text.length);
            bytes = copy;
        }
        vector_strings(vector)[row] = string_view_make(bytes, text.length);
    }
    vector->count = count;
    return STATUS_OK;
}

static enum status fill_batch(struct budget *budget, const struct letter *letters, uint32_t count, const struct type *row,
                              struct batch *batch, struct error *err)
{
    for (uint32_t i = 0; i < row->child_count; i++) {
        int32_t field = letter_field(row->names[i]);
        if (field < 0) {
            batch->columns[i] = (struct vector){.type = row->children[i], .physical = PHYSICAL_NULL, .count = count};
            continue;
        }
        TRY(vector_create(budget, row->children[i], count, &batch->columns[i], err));
        TRY(fill_column(budget, letters, count, field, &batch->columns[i], err));
    }
    batch->count = count;
    return STATUS_OK;
}

enum status dead_letter_take(struct dead_letter *queue, struct budget *budget, const struct type *row, struct batch *batch,
                             struct error *err)
{
    *batch = (struct batch){0};
    pthread_mutex_lock(&queue->mutex);
    struct letter *letters = queue->first;
    uint32_t count = 0;
    struct letter **end = &queue->first;
    while (*end != NULL && count < CHUNK_ROWS) {
        end = &(*end)->next;
        count++;
    }
    if (count > 0) {
        queue->first = *end;
        if (queue->first == NULL) {
            queue->last = &queue->first;
        }
    }
    pthread_mutex_unlock(&queue->mutex);
    if (count == 0) {
        return STATUS_OK;
    }
    enum status status = batch_init(batch, row->child_count, err);
    if (status == STATUS_OK) {
        status = fill_batch(budget, letters, count, row, batch, err);
        if (status != STATUS_OK) {
            batch_release(batch);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        struct letter *next = letters->next;
        letter_free(queue, letters);
        letters = next;
    }
    return status;
}

enum status error_reporter_init(struct error_reporter *reporter, const struct source_context *context, struct error *err)
{
    struct common_source_settings settings;
    TRY(common_source_settings_read(context->options, context->arena, &settings, err));
    *reporter = (struct error_reporter){.context = context, .policy = settings.error_policy, .source = context->table};
    return STATUS_OK;
}

static void count_one(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

bool error_reporter_fail(void *owner, const struct decode_failure *failure, struct error *err)
{
    struct error_reporter *reporter = owner;
    const struct source_context *context = reporter->context;
    uint64_t line = reporter->line + failure->line + 1;
    if (context->counters != NULL) {
        count_one(&context->counters->failed);
    }
    if (reporter->policy == ERROR_POLICY_SKIP) {
        return true;
    }
    char place[128] = "";
    if (failure->field[0] != '\0') {
        snprintf(place, sizeof place, ", field '%.100s'", failure->field);
    }
    if (reporter->policy == ERROR_POLICY_DEAD_LETTER && context->dead_letter != NULL) {
        char position[64], code[16], message[512];
        snprintf(position, sizeof position, "line %" PRIu64 ", byte %" PRIu64, line, reporter->byte + failure->record_offset);
        snprintf(code, sizeof code, "SPATE-%d", (int)failure->code);
        snprintf(message, sizeof message, "%s%s%s", failure->text, place[0] == '\0' ? "" : place, "");
        count_one(&context->counters->dead_lettered);
        return dead_letter_push(context->dead_letter, failure->record, text_from(reporter->source), text_from(position), text_from(code),
                                text_from(message), err) == STATUS_OK;
    }
    char excerpt[TEXT_EXCERPT_BYTES];
    (void)!error_set(err, failure->code, "table '%s', %s, line %" PRIu64 "%s: %s; the record begins with: %s", context->table,
                     reporter->source, line, place, failure->text, text_excerpt(failure->record, excerpt));
    return false;
}
