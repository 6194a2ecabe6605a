/* circuit/operators/expand_node.c: GROUPING SETS: a chunk goes out once per set, keys outside the set NULL, the grouping id
 * (bit key_count-1-i set: key i is not in the set) appended. Columns that stay are shared. A set that is given twice makes groups of its
 * own: its number among equal sets is in the bits above.
 */
#include <string.h>

#include "circuit/operators/specs.h"

struct expand_node {
    struct node node;
    const struct expand_spec *spec;
};

static bool is_outside(const struct expand_spec *spec, uint64_t set, uint32_t column)
{
    for (uint32_t i = 0; i < spec->key_count; i++) {
        if (spec->keys[i] == column) {
            return ((set >> i) & 1) == 0;
        }
    }
    return false;
}

static enum status make_null(struct budget *budget, const struct type *type, uint32_t count, struct vector *vector, struct error *err)
{
    TRY(vector_create(budget, type, count, vector, err));
    if (vector->physical == PHYSICAL_NULL) {
        return STATUS_OK;
    }
    if (vector->values != NULL) {
        memset(vector->values, 0, (size_t)count * physical_bytes(vector->physical));
    }
    TRY(vector_need_validity(budget, vector, count, err));
    memset(vector->validity, 0, (count + 63) / 64 * sizeof(uint64_t));
    return STATUS_OK;
}

static enum status make_grouping_id(struct budget *budget, const struct expand_spec *spec, uint32_t index, const struct type *type,
                                    uint32_t count, struct vector *vector, struct error *err)
{
    uint64_t set = spec->sets[index];
    int64_t id = 0;
    for (uint32_t i = 0; i < index; i++) {
        id += (int64_t)(spec->sets[i] == set) << spec->key_count;
    }
    for (uint32_t i = 0; i < spec->key_count; i++) {
        id |= (int64_t)(((set >> i) & 1) == 0) << (spec->key_count - 1 - i);
    }
    TRY(vector_create(budget, type, count, vector, err));
    for (uint32_t k = 0; k < count; k++) {
        if (vector->physical == PHYSICAL_INT64) {
            vector_int64(vector)[k] = id;
        } else {
            vector_int32(vector)[k] = (int32_t)id;
        }
    }
    return STATUS_OK;
}

static enum status expand_set(struct expand_node *self, uint32_t index, const struct batch *batch, struct batch *output, struct error *err)
{
    const struct expand_spec *spec = self->spec;
    uint64_t set = spec->sets[index];
    struct budget *budget = node_budget(&self->node);
    uint32_t input_count = spec->input.schema->count;
    TRY(batch_init(output, spec->output->count, err));
    output->count = batch->count;
    batch_share_rows(batch, output);
    for (uint32_t i = 0; i < input_count; i++) {
        if (is_outside(spec, set, i)) {
            TRY(make_null(budget, spec->output->columns[i].type, batch->count, &output->columns[i], err));
        } else {
            TRY(vector_ref(&batch->columns[i], &output->columns[i], err));
        }
    }
    return make_grouping_id(budget, spec, index, spec->output->columns[input_count].type, batch->count, &output->columns[input_count], err);
}

static enum status expand_node_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct expand_node *self = (struct expand_node *)node;
    for (uint32_t i = 0; i < self->spec->set_count; i++) {
        struct batch output = {0};
        enum status status = expand_set(self, i, batch, &output, err);
        if (status == STATUS_OK) {
            status = node_emit(node, &output, err);
        }
        batch_release(&output);
        TRY(status);
    }
    return STATUS_OK;
}

static enum status expand_node_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    (void)tick, (void)err;
    node_pass_watermark(node);
    return STATUS_OK;
}

static const struct node_type expand_node_type = {
    .name = "Expand", .stateless = true, .receive = expand_node_receive, .finish_tick = expand_node_finish_tick};

enum status expand_node_create(struct circuit *circuit, const struct expand_spec *spec, struct node *input, struct node **node,
                               struct error *err)
{
    struct expand_node *self;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    TRY(circuit_add(circuit, &self->node, &expand_node_type, "Expand", &input, 1, err));
    *node = &self->node;
    return STATUS_OK;
}
