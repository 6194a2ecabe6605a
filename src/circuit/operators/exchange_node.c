/* circuit/operators/exchange_node.c: rows to the worker that owns their key.
 *
 * receive scatters a chunk by key group into one mailbox per worker; finish_tick says "ended" to all, waits until all peers have ended the
 * tick at this exchange, and emits what they sent, in the order of workers, so that the outcome does not depend on scheduling. A peer may
 * already scatter the next tick: mailboxes are kept by the parity of the tick's number. The watermark is the minimum over all workers; one
 * without partitions of the source says WATERMARK_END.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "circuit/operators/specs.h"
#include "data/order.h"

struct mailbox { /* from one worker to one worker, for one parity */
    struct batch *batches;
    uint32_t count, capacity;
    int64_t watermark;
    uint64_t ended_tick; /* 1 + number of the last tick that the sender ended */
};
struct exchange_group {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint32_t worker_count;
    bool aborted;
    struct mailbox *mailboxes; /* [(to * worker_count + from) * 2 + parity] */
};
struct exchange_node {
    struct node node;
    const struct exchange_spec *spec;
    uint64_t hashes[CHUNK_ROWS];
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
    pthread_mutex_init(&created->mutex, NULL);
    pthread_cond_init(&created->changed, NULL);
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
    pthread_cond_destroy(&group->changed);
    pthread_mutex_destroy(&group->mutex);
    free(group);
}

void exchange_group_abort(struct exchange_group *group)
{
    pthread_mutex_lock(&group->mutex);
    group->aborted = true;
    pthread_cond_broadcast(&group->changed);
    pthread_mutex_unlock(&group->mutex);
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
    struct selection rows = batch_selection(batch);
    memset(self->target_counts, 0, circuit->worker_count * sizeof *self->target_counts);
    if (self->spec->key_count > 0) {
        batch_hash(batch, self->spec->keys, self->spec->key_count, self->hashes);
    }
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        uint32_t target =
            self->spec->key_count == 0 ? 0 : circuit_worker_of(self->hashes[row], circuit->worker_count, circuit->settings.max_parallelism);
        self->targets[target * CHUNK_ROWS + self->target_counts[target]++] = (uint16_t)row;
    }
}

static enum status exchange_node_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct exchange_node *self = (struct exchange_node *)node;
    const struct circuit *circuit = node->circuit;
    exchange_scatter(self, batch);
    for (uint32_t target = 0; target < circuit->worker_count; target++) {
        uint32_t count = self->target_counts[target];
        if (count == 0) {
            continue;
        }
        struct batch part = {0};
        TRY(batch_gather(node_budget(node), batch, self->targets + (size_t)target * CHUNK_ROWS, count, &part, err));
        enum status status = mailbox_put(exchange_mailbox(self->spec->group, circuit->worker, target, circuit->tick_number), &part, err);
        batch_release(&part);
        TRY(status);
    }
    return STATUS_OK;
}

/* Says "ended" to all peers and waits for all of theirs. false: aborted. */
static bool exchange_meet(struct exchange_node *self, int64_t watermark, uint64_t tick)
{
    struct exchange_group *group = self->spec->group;
    uint32_t me = self->node.circuit->worker;
    pthread_mutex_lock(&group->mutex);
    for (uint32_t to = 0; to < group->worker_count; to++) {
        struct mailbox *mailbox = exchange_mailbox(group, me, to, tick);
        mailbox->watermark = watermark;
        mailbox->ended_tick = tick + 1;
    }
    pthread_cond_broadcast(&group->changed);
    for (uint32_t from = 0; from < group->worker_count && !group->aborted;) {
        if (exchange_mailbox(group, from, me, tick)->ended_tick == tick + 1) {
            from++;
        } else {
            pthread_cond_wait(&group->changed, &group->mutex);
        }
    }
    bool met = !group->aborted;
    pthread_mutex_unlock(&group->mutex);
    return met;
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
    .receive = exchange_node_receive,
    .finish_tick = exchange_node_finish_tick,
};

enum status exchange_node_create(struct circuit *circuit, const struct exchange_spec *spec, struct node *input, struct node **node,
                                 struct error *err)
{
    struct exchange_node *self;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    TRY_ALLOC(self->targets, arena_alloc(circuit->arena, (size_t)circuit->worker_count * CHUNK_ROWS * sizeof(uint16_t)), err);
    TRY_ALLOC(self->target_counts, arena_alloc(circuit->arena, circuit->worker_count * sizeof(uint32_t)), err);
    self->spec = spec;
    TRY(circuit_add(circuit, &self->node, &exchange_node_type, "Exchange", &input, 1, err));
    *node = &self->node;
    return STATUS_OK;
}
