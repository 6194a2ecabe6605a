/* Names for operators that keep state: TYPE-SHAPE-EXACT[.N][-among-M].
 *
 * SHAPE is a hash of its tables with their types, of what the plan says that they mean (plan/meaning.c), and of the shapes below it. Nodes
 * without state add nothing of their own, so a changed filter, or the exchanges of another parallelism, leave it as it was. EXACT is a hash
 * with the filters in it. Of M operators of one shape each takes the state of its exact name only, whatever the order in which the SQL has
 * them; one that is alone of its shape takes the state of one that was. N tells apart what is the same in all this.
 */
#include <string.h>

#include "base/hash.h"
#include "circuit/circuit_cold.h"
#include "circuit/held_errors.h"

static const char among[] = "-among-";

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
    if (node->table_count > 0) {
        shape = hash_combine(shape, node->meaning);
    }
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

static bool is_same_shape(const struct node *node, const struct node *other)
{
    return other->table_count > 0 && other->shape == node->shape && other->type == node->type;
}

/* How many nodes have the shape of this one; `equal`: how many before it are the same in all. */
static uint32_t count_same(const struct circuit *circuit, uint32_t at, uint32_t *equal)
{
    const struct node *node = circuit->nodes[at];
    uint32_t same = 0;
    *equal = 0;
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        const struct node *other = circuit->nodes[i];
        same += is_same_shape(node, other);
        *equal += i < at && is_same_shape(node, other) && other->exact == node->exact;
    }
    return same;
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

static enum status name_node(struct circuit *circuit, uint32_t at, struct text_builder *text, struct error *err)
{
    struct node *node = circuit->nodes[at];
    uint32_t equal, same = count_same(circuit, at, &equal);
    text_builder_clear(text);
    append_type_name(node->type->name, text);
    text_append_format(text, "-%08x-%04x", (uint32_t)(node->shape >> 32), (uint32_t)(node->exact >> 48));
    if (equal > 0) {
        text_append_format(text, ".%u", equal + 1);
    }
    if (same > 1) {
        text_append_format(text, "%s%u", among, same);
    }
    node->alone = same == 1;
    node->id = text->failed ? NULL : text_to_arena(circuit->arena, (struct text){text->bytes, text->length});
    return node->id != NULL ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for the names of operators");
}

enum status circuit_name_nodes(struct circuit *circuit, struct error *err)
{
    struct text_builder text = {0};
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < circuit->node_count && status == STATUS_OK; i++) {
        struct node *node = circuit->nodes[i];
        node->shape = node_shape(node, &text);
        status = circuit->checkpointed ? check_saves(node, err) : STATUS_OK;
    }
    for (uint32_t i = 0; i < circuit->node_count && status == STATUS_OK; i++) {
        if (circuit->nodes[i]->table_count > 0) {
            status = name_node(circuit, i, &text, err);
        }
    }
    text_builder_close(&text);
    return status;
}

bool circuit_keeps_node(const struct circuit *circuit, const struct node *node)
{
    uint8_t wanted = circuit->keeps == KEEPS_PLACES ? NODE_KEPT_WITH_PLACES : NODE_KEPT_WITH_HISTORY;
    return node->table_count > 0 && (circuit->keeps == KEEPS_STATE || (node->type->kept & wanted) != 0);
}

bool circuit_has_state(const struct circuit *circuit)
{
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        const struct node *node = circuit->nodes[i];
        if (node->table_count > 0 && node->type->kept == 0) {
            return true;
        }
    }
    return false;
}

enum status circuit_save(struct circuit *circuit, struct snapshot_writer *writer, struct error *err)
{
    TRY(circuit_take_cold(circuit, err));
    circuit->cold_in_use = false;
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        struct node *node = circuit->nodes[i];
        if (circuit_keeps_node(circuit, node)) {
            node->in_database = node_belongs_in_database(node);
            circuit->cold_in_use = circuit->cold_in_use || node->in_database;
            TRY(snapshot_begin(writer, node->id, node->tables, node->table_count, err));
            TRY(node->type->save(node, writer, err));
            TRY(node_save_cold(node, writer, err));
        }
    }
    return STATUS_OK;
}

/* The same but for what follows the part that `end` ends. */
static bool is_same_name(const char *left, const char *left_end, const char *right, const char *right_end)
{
    return left_end - left == right_end - right && memcmp(left, right, (size_t)(left_end - left)) == 0;
}

/* Does the node take the state of this name? */
static bool takes_state_of(const struct node *node, const char *id)
{
    const char *own_among = strstr(node->id, among), *other_among = strstr(id, among);
    const char *own_end = own_among != NULL ? own_among : node->id + strlen(node->id);
    const char *other_end = other_among != NULL ? other_among : id + strlen(id);
    if (is_same_name(node->id, own_end, id, other_end)) {
        return true;
    }
    const char *own_exact = strrchr(node->id, '-'), *other_exact = strrchr(id, '-');
    return node->alone && other_among == NULL && other_exact != NULL && is_same_name(node->id, own_exact, id, other_exact);
}

static const struct snapshot_table *find_table(void *context, const char *operator_id, const char *table, void **handle)
{
    const struct circuit *circuit = context;
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        struct node *node = circuit->nodes[i];
        for (uint32_t t = 0; t < node->table_count && takes_state_of(node, operator_id); t++) {
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
    TRY(circuit_take_cold(node->circuit, err));
    TRY(node->type->restore(node, (uint32_t)(table - node->tables), rows, err));
    return node->cold == NULL ? STATUS_OK : node_relieve(node, err);
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
    TRY(circuit_take_cold(circuit, err));
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        struct node *node = circuit->nodes[i];
        if (node->claimed && node->type->restored != NULL) {
            TRY(node->type->restored(node, err));
        }
        if (node->type->count_state != NULL) {
            node->type->count_state(node);
        }
        node_count_cold(node);
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
