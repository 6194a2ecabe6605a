/* circuit/operators/dead_letter_node.c: the letters of a queue, as rows for the dead-letter table's sink.
 *
 * The queue is the job's, so worker 0 drains it. A reader queues a letter before the rows behind it, so at the end of a tick all letters
 * are here that stand before the tick's rows; the last tick has them all. Letters alone make a tick, too.
 */
#include "circuit/operators/specs.h"
#include "connectors/dead_letter.h"

struct dead_letter_node {
    struct node node;
    const struct dead_letter_spec *spec;
};

static bool drains(const struct node *node)
{
    return node->circuit->worker == 0;
}

static enum status dead_letter_pull(struct node *node, const struct tick *tick, enum pull_state *state, struct error *err)
{
    (void)tick;
    (void)err;
    struct dead_letter *queue = ((struct dead_letter_node *)node)->spec->queue;
    *state = drains(node) && dead_letter_count(queue) > 0 ? PULL_ROWS : PULL_ENDED;
    return STATUS_OK;
}

/* Those that are there now: readers may go on. */
static enum status emit_letters(struct node *node, struct error *err)
{
    const struct dead_letter_spec *spec = ((struct dead_letter_node *)node)->spec;
    uint64_t left = drains(node) ? dead_letter_count(spec->queue) : 0;
    while (left > 0) {
        struct batch batch;
        uint32_t chunk_rows = node->circuit->settings.chunk_rows;
        TRY(dead_letter_take(spec->queue, left < chunk_rows ? (uint32_t)left : chunk_rows, spec->row, &batch, err));
        left -= batch.count;
        enum status status = node_emit(node, &batch, err);
        batch_release(&batch);
        TRY(status);
    }
    return STATUS_OK;
}

static enum status dead_letter_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    TRY(emit_letters(node, err));
    if (tick->end) {
        node->watermark = WATERMARK_END;
    }
    return STATUS_OK;
}

static void dead_letter_close(struct node *node)
{
    if (drains(node)) {
        dead_letter_stop(((struct dead_letter_node *)node)->spec->queue);
    }
}

static const struct node_type dead_letter_node_type = {
    .name = "DeadLetters",
    .stateless = true,
    .finish_tick = dead_letter_finish_tick,
    .close = dead_letter_close,
    .pull = dead_letter_pull,
    .stop = emit_letters,
};

enum status dead_letter_node_create(struct circuit *circuit, const struct dead_letter_spec *spec, struct node **node, struct error *err)
{
    struct dead_letter_node *self;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    TRY(circuit_add(circuit, &self->node, &dead_letter_node_type, "DeadLetters", NULL, 0, err));
    if (drains(&self->node)) { /* a tick that takes all there is does not end while a reader waits */
        dead_letter_serve(spec->queue, circuit->wakeup, circuit->settings.tick_rows >= 0);
    }
    *node = &self->node;
    return STATUS_OK;
}
