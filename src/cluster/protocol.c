#include "cluster/protocol.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#define X(name, outcome) #name,
static const char *const names[] = {STEP_LIST(X)};
#undef X

const char *step_text(enum step step)
{
    assert(step < STEP_COUNT);
    return names[step];
}

struct cluster_action *actions_add(struct cluster_actions *actions, enum step step)
{
    struct cluster_action *list = arena_grow(actions->arena, actions->list, &actions->capacity, actions->count + 1, sizeof *actions->list);
    if (list == NULL) {
        actions->failed = true;
        return NULL;
    }
    actions->list = list;
    list[actions->count] = (struct cluster_action){.step = step};
    return &list[actions->count++];
}

void actions_report(struct cluster_actions *actions, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct cluster_action *action = actions_add(actions, STEP_REPORT);
    if (action != NULL) {
        action->text = arena_format(actions->arena, "%s", text);
    }
}

void actions_wake(struct cluster_actions *actions, int64_t at_us)
{
    if (at_us < actions->wake_us) {
        actions->wake_us = at_us;
    }
}

void actions_clear(struct cluster_actions *actions)
{
    for (uint32_t i = 0; i < actions->count; i++) {
        model_unref(actions->list[i].model);
        member_unref(actions->list[i].member);
    }
    actions->list = NULL;
    actions->count = actions->capacity = 0;
    actions->failed = false;
    actions->wake_us = INT64_MAX;
}
