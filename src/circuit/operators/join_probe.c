/* circuit/operators/join_probe.c: candidates become pairs: weights, condition, match counts, output chunks.
 *
 * Columns of the chunk's own side are gathered from the chunk (strings are shared), those of the other side from its row store. For the
 * condition only the columns it reads are fetched; the others only for pairs that passed.
 */
#include "circuit/operators/join_probe.h"

#include <string.h>

/* Moves columns `columns` of a side into their places in the output; chunk NULL: own side is fetched by handles, too. */
static enum status join_fetch(struct join *self, uint32_t which, const struct batch *chunk, const uint16_t *rows, const row_handle *handles,
                              uint32_t count, const uint32_t *columns, uint32_t column_count, struct vector *target, struct error *err)
{
    if (chunk != NULL) {
        for (uint32_t i = 0; i < column_count; i++) {
            TRY(vector_gather(node_budget(&self->node), &chunk->columns[columns[i]], rows, count, &target[columns[i]], err));
        }
        return STATUS_OK;
    }
    uint32_t *positions = self->scratch_columns;
    for (uint32_t i = 0; i < column_count; i++) {
        positions[i] = self->position[which][columns[i]];
    }
    TRY(join_rows_gather(&self->state.sides[which], handles, count, positions, column_count, self->vectors, err));
    for (uint32_t i = 0; i < column_count; i++) {
        target[columns[i]] = self->vectors[i];
    }
    return STATUS_OK;
}

static void pairs_weigh(struct join *self, uint32_t which, const struct batch *chunk)
{
    struct join_pairs *pairs = &self->pairs;
    const struct join_side *other = &self->state.sides[1 - which];
    pairs->weighted = false;
    for (uint32_t i = 0; i < pairs->count; i++) {
        self->handles[i] = join_entry_row(other, pairs->other[i]);
        pairs->weights[i] = batch_weight(chunk, pairs->rows[i]) * join_entry_weight(other, pairs->other[i]);
        pairs->weighted = pairs->weighted || pairs->weights[i] != 1;
    }
}

static enum status batch_set_weights(struct budget *budget, struct batch *batch, const int64_t *from, struct error *err)
{
    int64_t *weights;
    TRY(batch_need_weights(budget, batch, batch->count, &weights, err));
    memcpy(weights, from, batch->count * sizeof *weights);
    return STATUS_OK;
}

static enum status pairs_fill_candidates(struct join *self, uint32_t which, const struct batch *chunk, struct batch *candidates,
                                         struct error *err)
{
    struct join_pairs *pairs = &self->pairs;
    candidates->count = pairs->count;
    for (uint32_t i = 0; i < candidates->column_count; i++) {
        candidates->columns[i] = (struct vector){.type = &type_null, .physical = PHYSICAL_NULL, .count = pairs->count};
    }
    for (uint32_t side = 0; side < 2; side++) {
        struct vector *target = candidates->columns + (side == 0 ? 0 : self->left_columns);
        TRY(join_fetch(self, side, side == which ? chunk : NULL, pairs->rows, self->handles, pairs->count, self->used[side],
                       self->used_count[side], target, err));
    }
    return pairs->weighted ? batch_set_weights(node_budget(&self->node), candidates, pairs->weights, err) : STATUS_OK;
}

static enum status pairs_fail(struct join *self, const struct batch *candidates, struct error *err)
{
    if (self->held != NULL) {
        return held_errors_add(self->held, candidates, &self->failures, err);
    }
    return row_failures_raise(&self->failures, candidates, self->names, node_evaluation(&self->node)->zone, err);
}

/* Keeps the pairs for which the condition is TRUE. */
static enum status pairs_check(struct join *self, uint32_t which, const struct batch *chunk, struct error *err)
{
    struct join_pairs *pairs = &self->pairs;
    struct batch candidates;
    uint32_t kept = 0;
    TRY(batch_init(&candidates, self->left_columns + self->right_columns, err));
    enum status status;
    TRY_GOTO(done, status, pairs_fill_candidates(self, which, chunk, &candidates, err));
    TRY_GOTO(done, status, program_filter(self->condition, &candidates, self->kept, &kept, &self->failures, err));
    if (self->failures.count > 0) {
        TRY_GOTO(done, status, pairs_fail(self, &candidates, err));
    }
    if (kept < pairs->count) {
        for (uint32_t i = 0; i < kept; i++) {
            uint32_t from = self->kept[i];
            pairs->rows[i] = pairs->rows[from];
            pairs->own[i] = pairs->own[from];
            pairs->other[i] = pairs->other[from];
            pairs->weights[i] = pairs->weights[from];
            self->handles[i] = self->handles[from];
        }
        pairs->count = kept;
    }
done:
    batch_release(&candidates);
    return status;
}

/* Each side's tracked rows count what they met: a new entry all there is, an older one only what came. */
static enum status pairs_count_matches(struct join *self, uint32_t which, const struct batch *chunk, struct error *err)
{
    struct join_pairs *pairs = &self->pairs;
    struct join_side *own = &self->state.sides[which], *other = &self->state.sides[1 - which];
    for (uint32_t i = 0; i < pairs->count; i++) {
        if (own->tracked && pairs->own[i] != 0) {
            join_extra_at(own, pairs->own[i])->matches += join_entry_weight(other, pairs->other[i]);
        }
        if (other->tracked) {
            join_extra_at(other, pairs->other[i])->matches += batch_weight(chunk, pairs->rows[i]);
            TRY(join_side_touch(other, pairs->other[i], err));
            if (ttl_is_set(&other->ttl)) {
                TRY(ttl_write(&other->ttl, pairs->other[i], err));
            }
        }
    }
    return STATUS_OK;
}

/* Columns that nobody reads stay NULL. */
static void join_clear_columns(const struct join *self, struct batch *output)
{
    bool narrowed = self->sent_count[0] + self->sent_count[1] < output->column_count;
    for (uint32_t i = 0; i < output->column_count && narrowed; i++) {
        output->columns[i] = (struct vector){.physical = PHYSICAL_NULL, .count = output->count};
    }
}

static void join_set_types(const struct join *self, struct batch *output)
{
    for (uint32_t i = 0; i < output->column_count; i++) {
        output->columns[i].type = self->spec->output->columns[i].type;
    }
}

static void gather_int64(const int64_t *from, const uint16_t *rows, uint32_t count, int64_t *to)
{
    for (uint32_t i = 0; i < count; i++) {
        to[i] = from[rows[i]];
    }
}

/* Rows that only pass by (lookup) keep what travels with them: lateness and source order. */
static enum status lookup_carry(struct join *self, const struct batch *chunk, const uint16_t *rows, struct batch *output, struct error *err)
{
    int64_t *values;
    if (chunk->watermarks != NULL) {
        TRY(batch_need_watermarks(node_budget(&self->node), output, output->count, &values, err));
        gather_int64(chunk->watermarks, rows, output->count, values);
    }
    if (chunk->ordered) {
        TRY(batch_need_ordinals(node_budget(&self->node), output, output->count, &values, err));
        for (uint32_t i = 0; i < output->count; i++) {
            values[i] = batch_ordinal(chunk, rows[i]);
        }
        output->ordered = true;
    }
    return STATUS_OK;
}

static enum status pairs_fill_output(struct join *self, uint32_t which, const struct batch *chunk, struct batch *output, struct error *err)
{
    struct join_pairs *pairs = &self->pairs;
    output->count = pairs->count;
    join_clear_columns(self, output);
    for (uint32_t side = 0; side < 2; side++) {
        struct vector *target = output->columns + (side == 0 ? 0 : self->left_columns);
        TRY(join_fetch(self, side, side == which ? chunk : NULL, pairs->rows, self->handles, pairs->count, self->sent[side],
                       self->sent_count[side], target, err));
    }
    join_set_types(self, output);
    if (self->lookup) {
        TRY(lookup_carry(self, chunk, pairs->rows, output, err));
    }
    return pairs->weighted ? batch_set_weights(node_budget(&self->node), output, pairs->weights, err) : STATUS_OK;
}

static enum status pairs_emit(struct join *self, uint32_t which, const struct batch *chunk, struct error *err)
{
    struct batch output;
    TRY(batch_init(&output, self->output_columns, err));
    enum status status = pairs_fill_output(self, which, chunk, &output, err);
    if (status == STATUS_OK) {
        status = node_emit(&self->node, &output, err);
    }
    batch_release(&output);
    return status;
}

/* Pairs with a row that was withdrawn earlier in the tick. */
static void pairs_drop_weightless(struct join *self)
{
    struct join_pairs *pairs = &self->pairs;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pairs->count; i++) {
        if (pairs->weights[i] != 0) {
            pairs->rows[kept] = pairs->rows[i];
            pairs->weights[kept] = pairs->weights[i];
            self->handles[kept++] = self->handles[i];
        }
    }
    pairs->count = kept;
}

static enum status pairs_run(struct join *self, uint32_t which, const struct batch *chunk, struct error *err)
{
    struct join_pairs *pairs = &self->pairs;
    pairs_weigh(self, which, chunk);
    if (self->condition != NULL) {
        TRY(pairs_check(self, which, chunk, err));
    }
    for (uint32_t i = 0; self->matched != NULL && i < pairs->count; i++) {
        self->matched[pairs->rows[i]] |= pairs->weights[i] != 0;
    }
    if (self->matched == NULL && (self->state.sides[0].tracked || self->state.sides[1].tracked)) {
        TRY(pairs_count_matches(self, which, chunk, err));
    }
    if (!self->emits_pairs) {
        return STATUS_OK;
    }
    if (pairs->weighted) {
        pairs_drop_weightless(self);
    }
    return pairs->count > 0 ? pairs_emit(self, which, chunk, err) : STATUS_OK;
}

enum status join_pairs_flush(struct join *self, uint32_t which, const struct batch *batch, struct error *err)
{
    if (self->pairs.count == 0) {
        return STATUS_OK;
    }
    enum status status = pairs_run(self, which, batch, err);
    self->pairs.count = 0;
    return status;
}

/* ---- rows by themselves ---- */

/* Fills an output of `count` lone rows: own columns from the chunk or by handles, the other side's all NULL. */
static enum status join_fill_lone(struct join *self, uint32_t which, const struct batch *chunk, const uint16_t *rows,
                                  const row_handle *handles, uint32_t count, struct batch *output, struct error *err)
{
    output->count = count;
    join_clear_columns(self, output);
    for (uint32_t side = 0; side < 2; side++) {
        if (side == 1 && !self->emits_pairs) {
            break;
        }
        if (side != which) {
            memset(self->handles, 0, count * sizeof *self->handles);
        }
        TRY(join_fetch(self, side, side == which ? chunk : NULL, rows, side == which ? handles : self->handles, count, self->sent[side],
                       self->sent_count[side], output->columns + (side == 0 ? 0 : self->left_columns), err));
    }
    join_set_types(self, output);
    return STATUS_OK;
}

enum status join_emit_unkeyed(struct join *self, uint32_t which, const struct batch *batch, uint32_t count, struct error *err)
{
    struct batch output;
    TRY(batch_init(&output, self->output_columns, err));
    enum status status;
    TRY_GOTO(done, status, join_fill_lone(self, which, batch, self->unkeyed, NULL, count, &output, err));
    if (batch->weights != NULL) {
        int64_t *weights;
        TRY_GOTO(done, status, batch_need_weights(node_budget(&self->node), &output, count, &weights, err));
        gather_int64(batch->weights, self->unkeyed, count, weights);
    }
    if (self->lookup) {
        TRY_GOTO(done, status, lookup_carry(self, batch, self->unkeyed, &output, err));
    }
    status = node_emit(&self->node, &output, err);
done:
    batch_release(&output);
    return status;
}

enum status join_lone_flush(struct join *self, uint32_t which, struct error *err)
{
    struct join_lone *lone = &self->lone;
    if (lone->count == 0) {
        return STATUS_OK;
    }
    struct batch output;
    TRY(batch_init(&output, self->output_columns, err));
    enum status status;
    TRY_GOTO(done, status, join_fill_lone(self, which, NULL, NULL, lone->rows, lone->count, &output, err));
    if (lone->weighted) {
        TRY_GOTO(done, status, batch_set_weights(node_budget(&self->node), &output, lone->weights, err));
    }
    status = node_emit(&self->node, &output, err);
done:
    batch_release(&output);
    lone->count = 0;
    lone->weighted = false;
    return status;
}

enum status join_lone_add(struct join *self, uint32_t which, row_handle row, int64_t weight, struct error *err)
{
    struct join_lone *lone = &self->lone;
    lone->rows[lone->count] = row;
    lone->weights[lone->count++] = weight;
    lone->weighted = lone->weighted || weight != 1;
    return lone->count < self->pairs.limit ? STATUS_OK : join_lone_flush(self, which, err);
}
