/* Names for operators that keep state. A name is the operator's type and a hash of its shape: its tables with their types, and the shapes
 * below it. Nodes without state add nothing of their own, so a changed filter, or the exchanges of another parallelism, leave the names of
 * what is above as they were. Equal shapes are told apart by their place in the plan's order.
 */
#include <string.h>

#include "base/hash.h"
#include "circuit/circuit.h"
#include "circuit/held_errors.h"

static uint64_t text_hash(const char *text)
{
    return hash_bytes(text, strlen(text));
}

static uint64_t table_shape(const struct snapshot_table *table, struct text_builder *text)
{
    text_builder_clear(text);
    text_append_format(text, "%s(", table->name);
    for (uint32_t i = 0; i < table->schema->count; i++) {
        type_print(table->schema->columns[i].type, text);
        text_append_char(text, ',');
    }
    return hash_bytes(text->bytes, text->length);
}

/* Only errors held back: nodes that are there or not as the expressions want it. They pass the shape below on. */
static bool is_transparent(const struct node *node)
{
    return node->input_count == 1 && (node->table_count == 0 || (node->table_count == 1 && node->tables[0].name == held_errors_table.name));
}

static uint64_t node_shape(const struct node *node, struct text_builder *text)
{
    if (is_transparent(node) && node->type->committed == NULL) {
        return node->inputs[0]->shape;
    }
    if (node->type->committed != NULL) { /* a sink: whatever feeds it */
        return hash_combine(text_hash(node->type->name), text_hash(node->label));
    }
    uint64_t shape = node->table_count > 0 || node->input_count == 0 ? text_hash(node->type->name) : 0;
    if (node->input_count == 0) {
        shape = hash_combine(shape, text_hash(node->label));
    }
    for (uint32_t i = 0; i < node->table_count; i++) {
        shape = hash_combine(shape, table_shape(&node->tables[i], text));
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        shape = hash_combine(shape, node->inputs[i]->shape);
    }
    return shape;
}

static uint32_t count_equal_before(const struct circuit *circuit, uint32_t at)
{
    uint32_t equal = 0;
    const struct node *node = circuit->nodes[at];
    for (uint32_t i = 0; i < at; i++) {
        const struct node *other = circuit->nodes[i];
        equal += other->table_count > 0 && other->shape == node->shape && other->type == node->type;
    }
    return equal;
}

/* "GroupAggregate" as "groupaggregate". */
static void append_type_name(const char *name, struct text_builder *out)
{
    for (; *name != '\0'; name++) {
        text_append_char(out, *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name);
    }
}

/* What keeps something and cannot save it would begin anew after a restart, and no one would know. */
static enum status check_saves(const struct node *node, struct error *err)
{
    return node->table_count > 0 || node->type->stateless
               ? STATUS_OK
               : error_set(err, ERROR_NOT_SUPPORTED, "the operator %s cannot save its state, so a job with checkpoints cannot have it",
                           node->type->name);
}

enum status circuit_name_nodes(struct circuit *circuit, struct error *err)
{
    struct text_builder text = {0};
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < circuit->node_count && status == STATUS_OK; i++) {
        struct node *node = circuit->nodes[i];
        node->shape = node_shape(node, &text);
        if (circuit->checkpointed) {
            TRY_GOTO(done, status, check_saves(node, err));
        }
        if (node->table_count == 0) {
            continue;
        }
        text_builder_clear(&text);
        append_type_name(node->type->name, &text);
        text_append_format(&text, "-%08x", (uint32_t)(node->shape >> 32));
        uint32_t equal = count_equal_before(circuit, i);
        if (equal > 0) {
            text_append_format(&text, "-%u", equal + 1);
        }
        node->id = text.failed ? NULL : text_to_arena(circuit->arena, (struct text){text.bytes, text.length});
        status = node->id != NULL ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for the names of operators");
    }
done:
    text_builder_close(&text);
    return status;
}

enum status circuit_save(struct circuit *circuit, struct snapshot_writer *writer, struct error *err)
{
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        struct node *node = circuit->nodes[i];
        if (node->table_count > 0) {
            TRY(snapshot_begin(writer, node->id, node->tables, node->table_count, err));
            TRY(node->type->save(node, writer, err));
        }
    }
    return STATUS_OK;
}

static const struct snapshot_table *find_table(void *context, const char *operator_id, const char *table, void **handle)
{
    const struct circuit *circuit = context;
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        struct node *node = circuit->nodes[i];
        for (uint32_t t = 0; t < node->table_count && strcmp(node->id, operator_id) == 0; t++) {
            if (strcmp(node->tables[t].name, table) == 0) {
                *handle = node;
                node->claimed = true;
                return &node->tables[t];
            }
        }
    }
    return NULL;
}

static enum status take_rows(void *context, void *handle, const struct snapshot_table *table, const struct snapshot_rows *rows,
                             struct error *err)
{
    (void)context;
    struct node *node = handle;
    return node->type->restore(node, (uint32_t)(table - node->tables), rows, err);
}

struct snapshot_target circuit_restore_target(struct circuit *circuit, bool ignore_unclaimed)
{
    return (struct snapshot_target){.find = find_table,
                                    .take = take_rows,
                                    .context = circuit,
                                    .budget = circuit->budget,
                                    .worker = circuit->worker,
                                    .worker_count = circuit->worker_count,
                                    .max_parallelism = circuit->settings.max_parallelism,
                                    .ignore_unclaimed = ignore_unclaimed};
}

enum status circuit_restored(struct circuit *circuit, struct error *err)
{
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        struct node *node = circuit->nodes[i];
        if (node->claimed && node->type->restored != NULL) {
            TRY(node->type->restored(node, err));
        }
    }
    return STATUS_OK;
}

enum status circuit_committed(struct circuit *circuit, uint64_t checkpoint, struct error *err)
{
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        struct node *node = circuit->nodes[i];
        if (node->type->committed != NULL) {
            TRY(node->type->committed(node, checkpoint, err));
        }
    }
    return STATUS_OK;
}
