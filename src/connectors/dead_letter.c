#include "connectors/dead_letter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUE_BYTES_MAX = 1 << 20 };
#define LENGTH_NULL SIZE_MAX

static const struct {
    const char *name, *type;
} letter_columns[LETTER_FIELDS] = {
    {"payload", "BYTES"}, {"source", "STRING"}, {"position", "STRING"}, {"code", "STRING"}, {"message", "STRING"},
};

struct letter {
    struct letter *next;
    size_t bytes; /* of the whole block, charged */
    const struct reader *reader;
    uint64_t read; /* its read() */
    size_t lengths[LETTER_FIELDS];
    char text[];
};
struct dead_letter {
    struct budget *budget;
    pthread_mutex_t mutex;
    pthread_cond_t room;
    struct letter *first, **last;
    uint64_t count;
    size_t bytes;
    struct wakeup *wakeup; /* NULL: nobody serves */
    bool limited, stopped;
};

enum status dead_letter_create(struct budget *budget, struct dead_letter **queue, struct error *err)
{
    struct dead_letter *created;
    TRY_ALLOC(created, calloc(1, sizeof *created), err);
    created->budget = budget;
    created->last = &created->first;
    pthread_mutex_init(&created->mutex, NULL);
    pthread_cond_init(&created->room, NULL);
    *queue = created;
    return STATUS_OK;
}

static struct letter *letter_free(struct dead_letter *queue, struct letter *letter)
{
    struct letter *next = letter->next;
    budget_release(queue->budget, letter->bytes);
    free(letter);
    return next;
}

void dead_letter_destroy(struct dead_letter *queue)
{
    if (queue == NULL) {
        return;
    }
    while (queue->first != NULL) {
        queue->first = letter_free(queue, queue->first);
    }
    pthread_cond_destroy(&queue->room);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

void dead_letter_serve(struct dead_letter *queue, struct wakeup *wakeup, bool limited)
{
    pthread_mutex_lock(&queue->mutex);
    queue->wakeup = wakeup;
    queue->limited = limited;
    pthread_mutex_unlock(&queue->mutex);
}

void dead_letter_stop(struct dead_letter *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->wakeup = NULL;
    queue->limited = false;
    queue->stopped = true;
    pthread_cond_broadcast(&queue->room);
    pthread_mutex_unlock(&queue->mutex);
}

void dead_letter_wait(struct dead_letter *queue)
{
    pthread_mutex_lock(&queue->mutex);
    while (queue->limited && queue->bytes > QUEUE_BYTES_MAX) {
        pthread_cond_wait(&queue->room, &queue->mutex);
    }
    pthread_mutex_unlock(&queue->mutex);
}

static enum status letter_make(struct budget *budget, const struct text *fields, struct letter **letter, struct error *err)
{
    size_t bytes = sizeof(struct letter);
    for (uint32_t i = 0; i < LETTER_FIELDS; i++) {
        bytes += fields[i].length;
    }
    struct letter *made = budget_charge(budget, bytes) ? malloc(bytes) : NULL;
    if (made == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a dead letter of %zu bytes", bytes);
    }
    made->next = NULL;
    made->bytes = bytes;
    char *to = made->text;
    for (uint32_t i = 0; i < LETTER_FIELDS; i++) {
        made->lengths[i] = fields[i].bytes == NULL ? LENGTH_NULL : fields[i].length;
        if (fields[i].length > 0) {
            memcpy(to, fields[i].bytes, fields[i].length);
        }
        to += fields[i].length;
    }
    *letter = made;
    return STATUS_OK;
}

enum status dead_letter_push(struct dead_letter *queue, const struct letter_fields *fields, struct error *err)
{
    const struct text list[LETTER_FIELDS] = {fields->payload, fields->source, fields->position, fields->code, fields->message};
    struct letter *letter;
    TRY(letter_make(queue->budget, list, &letter, err));
    letter->reader = fields->reader;
    letter->read = fields->reader == NULL ? 0 : fields->reader->reads;
    pthread_mutex_lock(&queue->mutex);
    if (queue->stopped) {
        pthread_mutex_unlock(&queue->mutex);
        letter_free(queue, letter);
        return error_set(err, ERROR_CANCELLED, "the job has stopped");
    }
    *queue->last = letter;
    queue->last = &letter->next;
    queue->count++;
    queue->bytes += letter->bytes;
    if (queue->wakeup != NULL && queue->count == 1) {
        wakeup_signal(queue->wakeup);
    }
    pthread_mutex_unlock(&queue->mutex);
    return STATUS_OK;
}

static int32_t letter_field(const char *name)
{
    for (int32_t i = 0; i < LETTER_FIELDS; i++) {
        if (strcmp(letter_columns[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static enum status refuse_column(const char *table, const char *column, struct error *err)
{
    const char *names[LETTER_FIELDS];
    for (uint32_t i = 0; i < LETTER_FIELDS; i++) {
        names[i] = letter_columns[i].name;
    }
    const char *nearest = text_nearest(column, names, LETTER_FIELDS);
    return error_set(err, ERROR_INVALID_DEFINITION,
                     "the dead-letter table '%s' has a column '%s'%s%s%s; its columns are some of payload BYTES, source STRING, position "
                     "STRING, code STRING, message STRING",
                     table, column, nearest != NULL ? " (did you mean '" : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "'?)" : "");
}

enum status dead_letter_check_table(const struct type *row, const char *table, struct error *err)
{
    for (uint32_t i = 0; i < row->child_count; i++) {
        const struct type *type = row->children[i];
        int32_t field = letter_field(row->names[i]);
        if (field < 0) {
            return refuse_column(table, row->names[i], err);
        }
        enum type_kind kind = field == 0 ? TYPE_VARBINARY : TYPE_VARCHAR;
        if (type->kind != kind || type->precision != LENGTH_MAX) {
            return error_set(err, ERROR_INVALID_DEFINITION, "the column '%s' of the dead-letter table '%s' must be %s", row->names[i],
                             table, letter_columns[field].type);
        }
    }
    return STATUS_OK;
}

static struct text letter_text(const struct letter *letter, int32_t field)
{
    const char *start = letter->text;
    for (int32_t i = 0; i < field; i++) {
        start += letter->lengths[i] == LENGTH_NULL ? 0 : letter->lengths[i];
    }
    return letter->lengths[field] == LENGTH_NULL ? (struct text){0} : (struct text){start, letter->lengths[field]};
}

static enum status fill_column(struct budget *budget, const struct letter *letter, uint32_t count, int32_t field, struct vector *vector,
                               struct error *err)
{
    struct string_heap heap = {.budget = budget, .target = vector};
    for (uint32_t row = 0; row < count; row++, letter = letter->next) {
        struct text text = letter_text(letter, field);
        const char *bytes = text.bytes;
        if (bytes == NULL) {
            TRY(vector_need_validity(budget, vector, count, err));
            vector_set_null(vector, row);
        } else if (text.length > STRING_INLINE_BYTES) {
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
    TRY(batch_init(batch, row->child_count, err));
    for (uint32_t i = 0; i < row->child_count; i++) {
        enum status status = vector_create(budget, row->children[i], count, &batch->columns[i], err);
        if (status == STATUS_OK) {
            status = fill_column(budget, letters, count, letter_field(row->names[i]), &batch->columns[i], err);
        }
        if (status != STATUS_OK) {
            batch_release(batch);
            return status;
        }
    }
    batch->count = count;
    return STATUS_OK;
}

void dead_letter_let_go(struct dead_letter *queue, const struct reader *reader)
{
    pthread_mutex_lock(&queue->mutex);
    for (struct letter *letter = queue->first; letter != NULL; letter = letter->next) {
        letter->reader = letter->reader == reader ? NULL : letter->reader;
    }
    pthread_mutex_unlock(&queue->mutex);
}

static bool letter_is_due(const struct letter *letter)
{
    return letter->reader == NULL || letter->read <= atomic_load_explicit(&letter->reader->passed, memory_order_acquire);
}

uint64_t dead_letter_count(struct dead_letter *queue)
{
    uint64_t count = 0;
    pthread_mutex_lock(&queue->mutex);
    for (const struct letter *letter = queue->first; letter != NULL; letter = letter->next) {
        count += letter_is_due(letter);
    }
    pthread_mutex_unlock(&queue->mutex);
    return count;
}

/* The first letters that are due leave the queue. */
static uint32_t detach(struct dead_letter *queue, uint32_t limit, struct letter **letters)
{
    uint32_t count = 0;
    pthread_mutex_lock(&queue->mutex);
    struct letter **link = &queue->first, **end = letters;
    while (*link != NULL && count < limit) {
        struct letter *letter = *link;
        if (!letter_is_due(letter)) {
            link = &letter->next;
            continue;
        }
        *link = letter->next;
        *end = letter;
        end = &letter->next;
        queue->bytes -= letter->bytes;
        count++;
    }
    *end = NULL;
    queue->count -= count;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    queue->last = link;
    pthread_cond_broadcast(&queue->room);
    pthread_mutex_unlock(&queue->mutex);
    return count;
}

enum status dead_letter_take(struct dead_letter *queue, uint32_t row_limit, const struct type *row, struct batch *batch, struct error *err)
{
    struct letter *letters;
    *batch = (struct batch){0};
    uint32_t count = detach(queue, row_limit, &letters);
    if (count == 0) {
        return STATUS_OK;
    }
    enum status status = fill_batch(queue->budget, letters, count, row, batch, err);
    for (uint32_t i = 0; i < count; i++) {
        letters = letter_free(queue, letters);
    }
    return status;
}
