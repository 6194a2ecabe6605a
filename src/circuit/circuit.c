#include "circuit/circuit.h"

#include <assert.h>
#include <stdlib.h>

#include "circuit/circuit_cold.h"

enum status circuit_create(struct budget *budget, const struct evaluation *evaluation, const struct clock *clock,
                           const struct pipeline_settings *settings, struct wakeup *wakeup, uint32_t worker, uint32_t worker_count,
                           struct circuit **circuit, struct error *err)
{
    struct arena *arena;
    TRY_ALLOC(arena, arena_create(budget, "circuit"), err);
    struct circuit *created = arena_alloc(arena, sizeof *created);
    if (created == NULL) {
        arena_destroy(arena);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a circuit");
    }
    created->arena = arena;
    created->budget = budget;
    created->evaluation = *evaluation;
    created->clock = clock;
    created->settings = *settings;
    created->checkpointed = settings->checkpointed;
    created->incremental = settings->incremental;
    created->keeps = settings->keeps;
    created->wakeup = wakeup;
    created->worker = worker;
    created->worker_count = worker_count;
    created->tick_budget_rows = 4 * CHUNK_ROWS;
    *circuit = created;
    return STATUS_OK;
}

void circuit_destroy(struct circuit *circuit)
{
    if (circuit == NULL) {
        return;
    }
    for (uint32_t i = circuit->node_count; i-- > 0;) {
        struct node *node = circuit->nodes[i];
        node_close_cold(node);
        if (node->type->close != NULL) {
            node->type->close(node);
        }
    }
    text_builder_close(&circuit->pulled);
    text_builder_close(&circuit->notices);
    arena_destroy(circuit->arena);
}

static enum status node_connect(struct arena *arena, struct node *from, struct node *to, uint32_t input, struct error *err)
{
    struct edge *outputs;
    TRY_ALLOC(outputs, arena_alloc(arena, (from->output_count + 1) * sizeof *outputs), err);
    for (uint32_t i = 0; i < from->output_count; i++) {
        outputs[i] = from->outputs[i];
    }
    outputs[from->output_count] = (struct edge){.to = to, .input = input};
    from->outputs = outputs;
    from->output_count++;
    to->inputs[input] = from;
    return STATUS_OK;
}

enum status circuit_add(struct circuit *circuit, struct node *node, const struct node_type *type, const char *label,
                        struct node *const *inputs, uint32_t input_count, struct error *err)
{
    if (input_count > NODE_INPUTS_MAX) {
        return error_set(err, ERROR_TOO_MANY, "%u inputs of one operator '%s'; the limit is %d", input_count, label, NODE_INPUTS_MAX);
    }
    node->type = type;
    node->circuit = circuit;
    node->label = label;
    node->watermark = WATERMARK_NONE;
    node->input_count = input_count;
    TRY_ALLOC(node->inputs, arena_alloc(circuit->arena, (input_count + 1) * sizeof(struct node *)), err);
    for (uint32_t i = 0; i < input_count; i++) {
        TRY(node_connect(circuit->arena, inputs[i], node, i, err));
    }
    struct node **nodes;
    TRY_ALLOC(nodes, arena_grow(circuit->arena, circuit->nodes, &circuit->node_capacity, circuit->node_count + 1, sizeof(struct node *)),
              err);
    circuit->nodes = nodes;
    circuit->nodes[circuit->node_count++] = node;
    return STATUS_OK;
}

enum status circuit_pull(struct circuit *circuit, const struct tick *tick, enum pull_state *state, struct error *err)
{
    circuit->evaluation.now_us = tick->now_us;
    circuit->tick_number = tick->number;
    TRY(circuit_take_cold(circuit, err));
    if (circuit->ends) {
        *state = PULL_ENDED;
        return STATUS_OK;
    }
    bool rows = false, ended = true;
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        struct node *node = circuit->nodes[i];
        if (node->type->pull == NULL) {
            continue;
        }
        enum pull_state pulled = PULL_IDLE;
        TRY(node->type->pull(node, tick, &pulled, err));
        rows = rows || pulled == PULL_ROWS;
        ended = ended && pulled == PULL_ENDED;
    }
    *state = ended ? PULL_ENDED : rows ? PULL_ROWS : PULL_IDLE;
    return STATUS_OK;
}

enum status circuit_finish(struct circuit *circuit, const struct tick *tick, struct error *err)
{
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        struct node *node = circuit->nodes[i];
        int64_t before = node->watermark;
        TRY(node->type->finish_tick(node, tick, err));
        assert(node->watermark >= before);
        if (node->type->count_state != NULL) {
            node->type->count_state(node);
        }
    }
    return circuit->cold == NULL ? STATUS_OK : circuit_relieve(circuit, err);
}

enum status circuit_stop(struct circuit *circuit, struct error *err)
{
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        struct node *node = circuit->nodes[i];
        if (node->type->stop != NULL) {
            TRY(node->type->stop(node, err));
        }
    }
    return STATUS_OK;
}

int64_t circuit_next_timer(const struct circuit *circuit)
{
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        const struct node *node = circuit->nodes[i];
        int64_t timer = node->type->next_timer == NULL ? INT64_MAX : node->type->next_timer(node);
        next = timer < next ? timer : next;
    }
    return next;
}

uint32_t circuit_worker_of(uint64_t hash, uint32_t worker_count, uint32_t max_parallelism)
{
    uint32_t key_group = (uint32_t)(hash % max_parallelism);
    return (uint32_t)((uint64_t)key_group * worker_count / max_parallelism);
}
