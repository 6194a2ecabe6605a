#include "circuit/marker_snapshot.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct marker_entry {
    uint64_t snapshot;
    enum marker_state state;
    bool told;        /* abort has been called: nothing more comes but markers */
    uint32_t awaited; /* bits in `open` */
    uint64_t *open;   /* a bit per input whose marker has not come; kept for the next snapshot when the entry is forgotten */
};
struct marker_stage {
    const struct marker_stage_type *type;
    void *stage;
    uint32_t input_count, output_count;
    uint64_t *live; /* a bit per input that has not ended */
    uint32_t live_count;
    struct marker_entry *entries; /* the first `known` are in use */
    uint32_t known, capacity;
    uint32_t recording; /* entries in that state: messages are looked at only then */
};

static size_t bit_words(const struct marker_stage *self)
{
    return self->input_count / 64 + 1;
}

static bool bit_get(const uint64_t *words, uint32_t bit)
{
    return (words[bit / 64] >> (bit % 64) & 1) != 0;
}

static void bit_clear(uint64_t *words, uint32_t bit)
{
    words[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

enum status marker_stage_create(const struct marker_stage_type *type, void *stage, uint32_t input_count, uint32_t output_count,
                                struct marker_stage **created, struct error *err)
{
    assert(type->record != NULL);
    if (input_count > MARKER_CHANNELS_MAX || output_count > MARKER_CHANNELS_MAX) {
        return error_set(err, ERROR_TOO_MANY, "%u inputs and %u outputs of one stage; the limit is %d each", input_count, output_count,
                         MARKER_CHANNELS_MAX);
    }
    struct marker_stage *self = calloc(1, sizeof *self);
    if (self != NULL) {
        *self = (struct marker_stage){type, stage, input_count, output_count, .live_count = input_count};
        self->live = calloc(bit_words(self), sizeof *self->live);
    }
    if (self == NULL || self->live == NULL) {
        free(self);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the snapshots of a stage");
    }
    for (uint32_t input = 0; input < input_count; input++) {
        self->live[input / 64] |= UINT64_C(1) << (input % 64);
    }
    *created = self;
    return STATUS_OK;
}

void marker_stage_destroy(struct marker_stage *self)
{
    if (self == NULL) {
        return;
    }
    for (uint32_t i = 0; i < self->capacity; i++) {
        free(self->entries[i].open);
    }
    free(self->entries);
    free(self->live);
    free(self);
}

static struct marker_entry *entry_find(const struct marker_stage *self, uint64_t snapshot)
{
    for (uint32_t i = 0; i < self->known; i++) {
        if (self->entries[i].snapshot == snapshot) {
            return &self->entries[i];
        }
    }
    return NULL;
}

static enum status entries_grow(struct marker_stage *self, struct error *err)
{
    if (self->known == MARKER_SNAPSHOTS_MAX) {
        return error_set(err, ERROR_TOO_MANY, "%u snapshots at once; the limit is %d", self->known + 1, MARKER_SNAPSHOTS_MAX);
    }
    uint32_t capacity = self->capacity == 0 ? 1 : 2 * self->capacity;
    struct marker_entry *entries = realloc(self->entries, capacity * sizeof *entries);
    if (entries == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the snapshots of a stage");
    }
    self->entries = entries;
    while (self->capacity < capacity) {
        uint64_t *open = calloc(bit_words(self), sizeof *open);
        if (open == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for the snapshots of a stage");
        }
        entries[self->capacity++] = (struct marker_entry){.open = open};
    }
    return STATUS_OK;
}

static enum status entry_add(struct marker_stage *self, uint64_t snapshot, enum marker_state state, struct marker_entry **added,
                             struct error *err)
{
    if (self->known == self->capacity) {
        TRY(entries_grow(self, err));
    }
    struct marker_entry *entry = &self->entries[self->known++];
    *entry = (struct marker_entry){snapshot, state, false, self->live_count, entry->open};
    memcpy(entry->open, self->live, bit_words(self) * sizeof *entry->open);
    self->recording += state == MARKER_RECORDING;
    *added = entry;
    return STATUS_OK;
}

static void entry_forget(struct marker_stage *self, struct marker_entry *entry)
{
    struct marker_entry *last = &self->entries[--self->known], freed = *entry;
    assert(entry->state != MARKER_RECORDING);
    *entry = *last;
    *last = freed;
}

static void entry_drop(struct marker_stage *self, struct marker_entry *entry)
{
    self->recording -= entry->state == MARKER_RECORDING;
    entry->state = MARKER_ABORTED;
    if (self->type->drop != NULL) {
        self->type->drop(self->stage, entry->snapshot);
    }
}

/* Every input has brought its marker or its end. */
static enum status entry_close(struct marker_stage *self, struct marker_entry *entry, struct error *err)
{
    enum status status = STATUS_OK;
    if (entry->state == MARKER_RECORDING) {
        status = self->type->complete == NULL ? STATUS_OK : self->type->complete(self->stage, entry->snapshot, err);
    }
    if (status != STATUS_OK) {
        entry_drop(self, entry);
    }
    if (entry->state == MARKER_RECORDING) {
        self->recording--;
        entry->state = MARKER_COMPLETE;
    } else if (entry->told) {
        entry_forget(self, entry);
    }
    return status;
}

static enum status send_markers(struct marker_stage *self, uint64_t snapshot, struct error *err)
{
    for (uint32_t output = 0; output < self->output_count; output++) {
        TRY(self->type->send(self->stage, snapshot, output, err));
    }
    return STATUS_OK;
}

/* A snapshot the stage hears of for the first time. *entry stays NULL when there is no room for it. */
static enum status stage_record(struct marker_stage *self, uint64_t snapshot, struct marker_entry **entry, struct error *err)
{
    struct error unsent;
    TRY(entry_add(self, snapshot, MARKER_RECORDING, entry, err));
    enum status status = self->type->record(self->stage, snapshot, err);
    if (status != STATUS_OK) {
        entry_drop(self, *entry);
    }
    enum status sent = send_markers(self, snapshot, &unsent);
    if (sent != STATUS_OK && status == STATUS_OK) {
        *err = unsent;
    }
    return status != STATUS_OK ? status : sent;
}

/* Of two results in turn the first error counts. */
static enum status first_of(enum status first, const struct error *later_err, enum status later, struct error *err)
{
    if (first == STATUS_OK && later != STATUS_OK) {
        *err = *later_err;
    }
    return first != STATUS_OK ? first : later;
}

enum status marker_stage_begin(struct marker_stage *self, uint64_t snapshot, struct error *err)
{
    struct marker_entry *entry = entry_find(self, snapshot);
    if (entry != NULL) {
        return STATUS_OK;
    }
    enum status status = stage_record(self, snapshot, &entry, err);
    struct error closing;
    enum status closed = entry != NULL && entry->awaited == 0 ? entry_close(self, entry, &closing) : STATUS_OK;
    return first_of(status, &closing, closed, err);
}

enum status marker_stage_message(struct marker_stage *self, uint32_t input, const void *message, struct error *err)
{
    enum status status = STATUS_OK;
    assert(input < self->input_count);
    if (!bit_get(self->live, input)) {
        return error_set(err, ERROR_INTERNAL, "a message on the input %u of a stage, which has ended", input);
    }
    for (uint32_t i = 0; i < self->known && self->recording > 0; i++) {
        struct marker_entry *entry = &self->entries[i];
        if (entry->state != MARKER_RECORDING || !bit_get(entry->open, input)) {
            continue;
        }
        struct error failed;
        enum status kept = self->type->keep(self->stage, entry->snapshot, input, message, &failed);
        if (kept != STATUS_OK) {
            entry_drop(self, entry);
        }
        status = first_of(status, &failed, kept, err);
    }
    return status;
}

enum status marker_stage_marker(struct marker_stage *self, uint32_t input, uint64_t snapshot, struct error *err)
{
    assert(input < self->input_count);
    enum status status = STATUS_OK, closed = STATUS_OK;
    struct error closing;
    struct marker_entry *entry = entry_find(self, snapshot);
    if (!bit_get(self->live, input) || (entry != NULL && !bit_get(entry->open, input))) {
        return error_set(err, ERROR_INTERNAL, "a marker of the snapshot %llu on the input %u of a stage, which has brought its last",
                         (unsigned long long)snapshot, input);
    }
    if (entry == NULL) {
        status = stage_record(self, snapshot, &entry, err);
    }
    if (entry != NULL) {
        bit_clear(entry->open, input);
        closed = --entry->awaited == 0 ? entry_close(self, entry, &closing) : STATUS_OK;
    }
    return first_of(status, &closing, closed, err);
}

enum status marker_stage_end_input(struct marker_stage *self, uint32_t input, struct error *err)
{
    assert(input < self->input_count);
    enum status status = STATUS_OK;
    if (!bit_get(self->live, input)) {
        return error_set(err, ERROR_INTERNAL, "the input %u of a stage ends twice", input);
    }
    bit_clear(self->live, input);
    self->live_count--;
    for (uint32_t i = self->known; i-- > 0;) { /* from behind: one that is forgotten is replaced by the last, which has been seen */
        struct marker_entry *entry = &self->entries[i];
        if (bit_get(entry->open, input)) {
            struct error closing;
            bit_clear(entry->open, input);
            enum status closed = --entry->awaited == 0 ? entry_close(self, entry, &closing) : STATUS_OK;
            status = first_of(status, &closing, closed, err);
        }
    }
    return status;
}

void marker_stage_settle(struct marker_stage *self, uint64_t snapshot)
{
    struct marker_entry *entry = entry_find(self, snapshot);
    assert(entry != NULL && entry->state == MARKER_COMPLETE);
    entry_forget(self, entry);
}

enum status marker_stage_abort(struct marker_stage *self, uint64_t snapshot, struct error *err)
{
    enum status status = STATUS_OK;
    struct marker_entry *entry = entry_find(self, snapshot);
    if (entry == NULL) {
        TRY(entry_add(self, snapshot, MARKER_ABORTED, &entry, err));
        status = send_markers(self, snapshot, err);
    } else if (entry->state != MARKER_ABORTED) {
        entry_drop(self, entry);
    }
    entry->told = true;
    if (entry->awaited == 0) {
        entry_forget(self, entry);
    }
    return status;
}

enum marker_state marker_stage_state(const struct marker_stage *self, uint64_t snapshot)
{
    const struct marker_entry *entry = entry_find(self, snapshot);
    return entry == NULL ? MARKER_UNKNOWN : entry->state;
}

uint32_t marker_stage_live_inputs(const struct marker_stage *self)
{
    return self->live_count;
}

uint32_t marker_stage_known(const struct marker_stage *self)
{
    return self->known;
}
