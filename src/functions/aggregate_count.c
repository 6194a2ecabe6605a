/* COUNT: a number per group. COUNT(*) has no argument, COUNT(a, b) counts rows where none is NULL. */
#include "functions/aggregate_entries.h"

static enum status count_update(const struct accumulate_call *call, struct error *err)
{
    (void)err;
    for (uint32_t k = 0; k < call->rows.count; k++) {
        int64_t *count = (int64_t *)(void *)accumulate_state(call, k);
        *count += accumulate_weight(call, selection_row(&call->rows, k));
    }
    return STATUS_OK;
}

static enum status count_update_inserts(const struct accumulate_call *call, struct error *err)
{
    if (call->weights != NULL) {
        return count_update(call, err);
    }
    for (uint32_t k = 0; k < call->rows.count; k++) {
        int64_t *count = (int64_t *)(void *)accumulate_state(call, k);
        *count += 1;
    }
    return STATUS_OK;
}

static enum status count_update_values(const struct accumulate_call *call, struct error *err)
{
    uint32_t arg_count = *(const uint32_t *)call->accumulator->data;
    bool nulls = false;
    for (uint32_t i = 0; i < arg_count; i++) {
        nulls = nulls || call->args[i]->validity != NULL || call->args[i]->physical == PHYSICAL_NULL;
    }
    if (!nulls) {
        return count_update_inserts(call, err);
    }
    for (uint32_t k = 0; k < call->rows.count; k++) {
        uint32_t row = selection_row(&call->rows, k);
        bool valid = true;
        for (uint32_t i = 0; i < arg_count; i++) {
            valid = valid && vector_is_valid(call->args[i], row);
        }
        int64_t *count = (int64_t *)(void *)accumulate_state(call, k);
        *count += valid ? accumulate_weight(call, row) : 0;
    }
    return STATUS_OK;
}

static enum status count_value(const struct result_call *call, struct error *err)
{
    (void)err;
    for (uint32_t k = 0; k < call->count; k++) {
        vector_int64(call->result)[k] = *(const int64_t *)(const void *)result_state(call, k);
    }
    return STATUS_OK;
}

static enum status count_merge(const struct accumulator *accumulator, void *into, const void *from, int64_t weight, struct slab *heap,
                               struct error *err)
{
    (void)accumulator, (void)heap, (void)err;
    *(int64_t *)into += *(const int64_t *)from * weight;
    return STATUS_OK;
}

static enum status count_bind(struct aggregate_binding *binding, struct error *err)
{
    uint32_t *arg_count;
    TRY_ALLOC(arg_count, arena_alloc(binding->arena, sizeof *arg_count), err);
    *arg_count = binding->arg_count;
    binding->accumulator = (struct accumulator){
        .function = binding->function,
        .result = &type_bigint_not_null,
        .state_bytes = sizeof(int64_t),
        .mergeable = true,
        .invertible = true,
        .update = binding->arg_count == 0 ? count_update_inserts : count_update_values,
        .value = count_value,
        .merge = count_merge,
        .data = arg_count,
    };
    return STATUS_OK;
}

const struct aggregate_function aggregate_count = {
    .name = "COUNT",
    .syntax = "COUNT(*) | COUNT([DISTINCT] value, ...)",
    .max_args = 16,
    .bind = count_bind,
    .summary = "The number of rows, or of rows where no value is NULL.",
    .example = "COUNT(DISTINCT user_id)",
};
