/* circuit/operators/exchange_node.c: rows to the worker that owns their key, to one worker, or to all.
 *
 * receive puts the rows of a chunk into one mailbox per worker, by key group; those of its own worker it emits at once, while they are in
 * the cache. finish_tick says "ended" to all, waits until all peers have ended the tick at this exchange, and emits what they sent, in the
 * order of workers, so that the outcome does not depend on scheduling. A peer may already send rows of the next tick: mailboxes are kept by
 * the parity of the tick's number. The watermark is the minimum over all workers; one without partitions of the source says WATERMARK_END.
 * Rows are not copied while a worker gets at least a quarter of a chunk: it gets a reference to the chunk with a selection of its own.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/wakeup.h"
#include "circuit/operators/specs.h"
#include "data/order.h"

/* A part of a chunk that is smaller than this share of it is copied. */
enum { SHARED_PART_MIN = 4 };

struct mailbox { /* from one worker to one worker, for one parity */
    struct batch *batches;
    uint32_t count, capacity;
    int64_t watermark;
    atomic_uint_fast64_t ended_tick; /* 1 + number of the last tick that the sender ended */
};
struct exchange_group {
    struct wakeup changed;
    uint32_t worker_count;
    atomic_bool aborted;
    struct mailbox *mailboxes; /* [(to * worker_count + from) * 2 + parity] */
};
struct exchange_node {
    struct node node;
    const struct exchange_spec *spec;
    uint64_t hashes[CHUNK_ROWS];
    uint16_t *owners;  /* by key group */
    uint16_t *targets; /* worker_count lists of CHUNK_ROWS */
    uint32_t *target_counts;
};

enum status exchange_group_create(uint32_t worker_count, struct exchange_group **group, struct error *err)
{
    struct exchange_group *created = calloc(1, sizeof *created);
    struct mailbox *mailboxes = calloc((size_t)worker_count * worker_count * 2, sizeof *mailboxes);
    if (created == NULL || mailboxes == NULL) {
        free(created);
        free(mailboxes);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for an exchange between %u workers", worker_count);
    }
    wakeup_init(&created->changed);
    created->worker_count = worker_count;
    created->mailboxes = mailboxes;
    *group = created;
    return STATUS_OK;
}

void exchange_group_destroy(struct exchange_group *group)
{
    if (group == NULL) {
        return;
    }
    for (uint32_t i = 0; i < group->worker_count * group->worker_count * 2; i++) {
        for (uint32_t b = 0; b < group->mailboxes[i].count; b++) {
            batch_release(&group->mailboxes[i].batches[b]);
        }
        free(group->mailboxes[i].batches);
    }
    free(group->mailboxes);
    wakeup_destroy(&group->changed);
    free(group);
}

void exchange_group_abort(struct exchange_group *group)
{
    atomic_store(&group->aborted, true);
    wakeup_signal(&group->changed);
}

static struct mailbox *exchange_mailbox(struct exchange_group *group, uint32_t from, uint32_t to, uint64_t tick)
{
    return &group->mailboxes[((size_t)to * group->worker_count + from) * 2 + tick % 2];
}

/* Takes the batch. The sender alone touches this parity until it says "ended", so no lock is needed. */
static enum status mailbox_put(struct mailbox *mailbox, struct batch *batch, struct error *err)
{
    if (mailbox->count == mailbox->capacity) {
        uint32_t capacity = mailbox->capacity == 0 ? 16 : mailbox->capacity * 2;
        struct batch *larger = realloc(mailbox->batches, capacity * sizeof *larger);
        if (larger == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for %u batches in an exchange", capacity);
        }
        mailbox->batches = larger;
        mailbox->capacity = capacity;
    }
    mailbox->batches[mailbox->count++] = *batch;
    *batch = (struct batch){0};
    return STATUS_OK;
}

static void exchange_scatter(struct exchange_node *self, const struct batch *batch)
{
    const struct circuit *circuit = self->node.circuit;
    uint32_t groups = circuit->settings.max_parallelism;
    uint64_t mask = (groups & (groups - 1)) == 0 ? groups - 1 : 0; /* a division a row costs more than all the rest here */
    struct selection rows = batch_selection(batch);
    memset(self->target_counts, 0, circuit->worker_count * sizeof *self->target_counts);
    batch_hash(batch, self->spec->keys, self->spec->key_count, self->hashes);
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        uint32_t target = self->owners[mask != 0 ? self->hashes[row] & mask : self->hashes[row] % groups];
        self->targets[target * CHUNK_ROWS + self->target_counts[target]++] = (uint16_t)row;
    }
}

/* The rows `rows` of the batch: itself with a selection when they are many, else a copy. */
static enum status exchange_part(struct exchange_node *self, const struct batch *batch, struct selection rows, struct batch *part,
                                 struct error *err)
{
    struct budget *budget = node_budget(&self->node);
    if (rows.count * SHARED_PART_MIN < batch->count) {
        return batch_gather(budget, batch, rows.rows, rows.count, part, err);
    }
    assert((batch->weights == NULL || batch->weights_buffer != NULL) && (batch->watermarks == NULL || batch->watermarks_buffer != NULL));
    TRY(batch_ref(batch, part, err));
    part->selected = NULL;
    if (rows.count == batch->count) {
        return STATUS_OK;
    }
    uint16_t *selected;
    buffer_unref(part->selected_buffer);
    part->selected_buffer = NULL;
    enum status status = batch_need_selection(budget, part, &selected, err);
    if (status != STATUS_OK) {
        batch_release(part);
        return status;
    }
    memcpy(selected, rows.rows, rows.count * sizeof *selected);
    part->selected_count = rows.count;
    return STATUS_OK;
}

static enum status exchange_send(struct exchange_node *self, const struct batch *batch, struct selection rows, uint32_t target,
                                 struct error *err)
{
    const struct circuit *circuit = self->node.circuit;
    struct batch part = {0};
    TRY(exchange_part(self, batch, rows, &part, err));
    enum status status;
    if (target == circuit->worker) {
        status = node_emit(&self->node, &part, err);
    } else {
        status = mailbox_put(exchange_mailbox(self->spec->group, circuit->worker, target, circuit->tick_number), &part, err);
    }
    batch_release(&part);
    return status;
}

static enum status exchange_node_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct exchange_node *self = (struct exchange_node *)node;
    if (self->spec->key_count == 0) {
        uint32_t end = self->spec->to_all ? node->circuit->worker_count : 1;
        for (uint32_t target = 0; target < end; target++) {
            TRY(exchange_send(self, batch, batch_selection(batch), target, err));
        }
        return STATUS_OK;
    }
    exchange_scatter(self, batch);
    for (uint32_t target = 0; target < node->circuit->worker_count; target++) {
        struct selection rows = {self->targets + (size_t)target * CHUNK_ROWS, self->target_counts[target]};
        if (rows.count > 0) {
            TRY(exchange_send(self, batch, rows, target, err));
        }
    }
    return STATUS_OK;
}

/* Says "ended" to all peers and waits for all of theirs. false: aborted. */
static bool exchange_meet(struct exchange_node *self, int64_t watermark, uint64_t tick)
{
    struct exchange_group *group = self->spec->group;
    uint32_t me = self->node.circuit->worker;
    for (uint32_t to = 0; to < group->worker_count; to++) {
        struct mailbox *mailbox = exchange_mailbox(group, me, to, tick);
        mailbox->watermark = watermark;
        atomic_store_explicit(&mailbox->ended_tick, tick + 1, memory_order_release);
    }
    wakeup_signal(&group->changed);
    for (uint32_t from = 0; from < group->worker_count;) {
        uint64_t seen = wakeup_read(&group->changed);
        if (atomic_load(&group->aborted)) {
            return false;
        }
        if (atomic_load_explicit(&exchange_mailbox(group, from, me, tick)->ended_tick, memory_order_acquire) == tick + 1) {
            from++;
        } else {
            wakeup_wait_soon(&group->changed, seen);
        }
    }
    return true;
}

static enum status exchange_drain(struct exchange_node *self, struct mailbox *mailbox, struct error *err)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < mailbox->count; i++) {
        if (status == STATUS_OK) {
            status = node_emit(&self->node, &mailbox->batches[i], err);
        }
        batch_release(&mailbox->batches[i]);
    }
    mailbox->count = 0;
    return status;
}

static enum status exchange_node_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct exchange_node *self = (struct exchange_node *)node;
    if (!exchange_meet(self, node_min_input_watermark(node), tick->number)) {
        return error_set(err, ERROR_CANCELLED, "another worker has failed");
    }
    int64_t watermark = WATERMARK_END;
    for (uint32_t from = 0; from < self->spec->group->worker_count; from++) {
        struct mailbox *mailbox = exchange_mailbox(self->spec->group, from, node->circuit->worker, tick->number);
        watermark = mailbox->watermark < watermark ? mailbox->watermark : watermark;
        TRY(exchange_drain(self, mailbox, err));
    }
    if (watermark > node->watermark) {
        node->watermark = watermark;
    }
    return STATUS_OK;
}

static const struct node_type exchange_node_type = {
    .name = "Exchange",
    .stateless = true,
    .receive = exchange_node_receive,
    .finish_tick = exchange_node_finish_tick,
};

enum status exchange_node_create(struct circuit *circuit, const struct exchange_spec *spec, struct node *input, struct node **node,
                                 struct error *err)
{
    struct exchange_node *self;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    uint32_t groups = circuit->settings.max_parallelism;
    TRY_ALLOC(self->owners, arena_alloc(circuit->arena, groups * sizeof *self->owners), err);
    for (uint32_t group = 0; group < groups; group++) {
        self->owners[group] = (uint16_t)circuit_worker_of(group, circuit->worker_count, groups);
    }
    TRY_ALLOC(self->targets, arena_alloc(circuit->arena, (size_t)circuit->worker_count * CHUNK_ROWS * sizeof(uint16_t)), err);
    TRY_ALLOC(self->target_counts, arena_alloc(circuit->arena, circuit->worker_count * sizeof(uint32_t)), err);
    self->spec = spec;
    TRY(circuit_add(circuit, &self->node, &exchange_node_type, "Exchange", &input, 1, err));
    *node = &self->node;
    return STATUS_OK;
}
