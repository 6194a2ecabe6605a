#include "functions/time_text.h"

#include <stdlib.h>

#include "data/calendar.h"

/* A text that was compiled; value is a pattern or a zone, NULL when the text is wrong. */
struct compiled {
    struct compiled *next;
    struct text text;
    const void *value;
    char *message;
};
struct scratch {
    struct arena *arena;
    struct compiled *patterns, *zones;
};

void time_text_free(void *memory)
{
    struct scratch *scratch = memory;
    if (scratch != NULL) {
        arena_destroy(scratch->arena);
        free(scratch);
    }
}

static struct scratch *scratch_of(struct kernel_call *call)
{
    if (*call->scratch == NULL) {
        struct scratch *scratch = calloc(1, sizeof *scratch);
        if (scratch == NULL) {
            return NULL;
        }
        scratch->arena = arena_create(call->evaluation->budget, "time formats");
        if (scratch->arena == NULL) {
            free(scratch);
            return NULL;
        }
        *call->scratch = scratch;
    }
    return *call->scratch;
}

static bool compile(struct arena *arena, bool zone, struct compiled *compiled, struct error *err)
{
    enum status status;
    if (zone) {
        const struct time_zone *found = NULL;
        status = time_zone_find(arena, compiled->text.bytes, &found, err);
        compiled->value = found;
    } else {
        const struct time_pattern *found = NULL;
        status = time_pattern_compile(arena, compiled->text, &found, err);
        compiled->value = found;
    }
    return status == STATUS_OK;
}

/* Finds the text in the list or compiles it. NULL: wrong or no memory, the row has failed. */
static const void *find(struct kernel_call *call, bool zone, struct text text, uint32_t row)
{
    struct scratch *scratch = scratch_of(call);
    struct compiled **list = scratch == NULL ? NULL : zone ? &scratch->zones : &scratch->patterns;
    for (struct compiled *at = list == NULL ? NULL : *list; at != NULL; at = at->next) {
        if (text_equal(at->text, text)) {
            if (at->value == NULL) {
                kernel_fail(call, row, ERROR_INVALID_ARGUMENT, "%s", at->message);
            }
            return at->value;
        }
    }
    struct compiled *compiled = scratch == NULL ? NULL : arena_alloc(scratch->arena, sizeof *compiled);
    char *copy = compiled == NULL ? NULL : text_to_arena(scratch->arena, text);
    if (copy == NULL) {
        kernel_fail(call, row, ERROR_BUDGET_SPENT, "no room for a time format");
        return NULL;
    }
    struct error err;
    compiled->text = (struct text){copy, text.length};
    if (!compile(scratch->arena, zone, compiled, &err)) {
        compiled->value = NULL;
        compiled->message = arena_text(scratch->arena, err.text, strlen(err.text));
        kernel_fail(call, row, ERROR_INVALID_ARGUMENT, "%s", err.text);
    }
    compiled->next = *list;
    *list = compiled;
    return compiled->value;
}

const struct time_pattern *time_text_pattern(struct kernel_call *call, uint32_t index, uint32_t row)
{
    const struct time_text_data *data = call->data;
    return data->pattern != NULL ? data->pattern : find(call, false, vector_get_text(call->args[index], row), row);
}

const struct time_zone *time_text_zone(struct kernel_call *call, const struct time_zone *constant, uint32_t index, uint32_t row)
{
    return constant != NULL ? constant : find(call, true, vector_get_text(call->args[index], row), row);
}

enum status time_text_bind(struct function_binding *binding, uint32_t index, struct time_text_data *data, struct error *err)
{
    struct text text = TEXT("yyyy-MM-dd HH:mm:ss");
    if (index < binding->arg_count) {
        TRY(function_coerce(binding, index, &type_string, err));
        if (!expression_constant_text(binding->args[index], &text)) {
            data->pattern = NULL;
            return STATUS_OK;
        }
    }
    return time_pattern_compile(binding->arena, text, &data->pattern, err);
}

enum status time_zone_bind(struct function_binding *binding, uint32_t index, const struct time_zone **zone, struct error *err)
{
    struct text text;
    *zone = NULL;
    TRY(function_coerce(binding, index, &type_string, err));
    if (!expression_constant_text(binding->args[index], &text)) {
        return STATUS_OK;
    }
    char *name;
    TRY_ALLOC(name, text_to_arena(binding->arena, text), err);
    enum status status = time_zone_find(binding->arena, name, zone, err);
    return status == STATUS_INVALID_OPTION ? error_set(err, ERROR_INVALID_ARGUMENT, "there is no time zone '%.100s'", name) : status;
}

bool time_text_put(struct kernel_call *call, uint32_t row, const char *bytes, size_t length)
{
    if (length <= STRING_INLINE_BYTES) {
        vector_strings(call->result)[row] = string_view_make(bytes, length);
        return true;
    }
    char *copy = kernel_alloc(call, length);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, bytes, length);
    vector_strings(call->result)[row] = string_view_make(copy, length);
    return true;
}

int64_t time_to_later_instant(const struct time_zone *zone, int64_t local_us)
{
    int64_t earlier = time_zone_to_utc(zone, local_us);
    if (time_zone_is_utc(zone)) {
        return earlier;
    }
    int64_t later = local_us - time_zone_offset_seconds(zone, earlier + US_PER_DAY) * US_PER_SECOND;
    return later > earlier && time_zone_to_local(zone, later) == local_us ? later : earlier;
}
