#include "cluster/member.h"

#include <stdlib.h>
#include <string.h>

struct counted {
    _Atomic uint32_t references;
    struct member member;
};

static struct counted *counted_of(const struct member *member)
{
    return (struct counted *)((char *)(uintptr_t)member - offsetof(struct counted, member));
}

struct member *member_create(struct budget *budget, struct error *err)
{
    struct arena *arena = arena_create(budget, "member register");
    struct counted *counted = arena == NULL ? NULL : arena_alloc(arena, sizeof *counted);
    if (counted == NULL) {
        if (arena != NULL) {
            arena_destroy(arena);
        }
        (void)error_set(err, ERROR_BUDGET_SPENT, "no room for a member's register");
        return NULL;
    }
    counted->references = 1;
    counted->member.arena = arena;
    counted->member.host.weight = 1;
    return &counted->member;
}

struct member *member_ref(const struct member *member)
{
    counted_of(member)->references++;
    return &counted_of(member)->member;
}

void member_unref(const struct member *member)
{
    if (member != NULL && --counted_of(member)->references == 0) {
        arena_destroy(member->arena);
    }
}

static int compare_tasks(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

bool member_holds(const struct member *member, uint64_t task)
{
    return member->held_count > 0 && bsearch(&task, member->held, member->held_count, sizeof task, compare_tasks) != NULL;
}

bool member_runs(const struct member *member, uint64_t task)
{
    return member->running_count > 0 && bsearch(&task, member->running, member->running_count, sizeof task, compare_tasks) != NULL;
}

bool member_knows(const struct member *member, const char *verb)
{
    for (uint32_t i = 0; i < member->host.verb_count; i++) {
        if (strcmp(member->host.verbs[i], verb) == 0) {
            return true;
        }
    }
    return false;
}

bool member_host_keep(const struct member_host *host, struct arena *arena, struct member_host *kept)
{
    *kept = *host;
    const char **const texts[] = {&kept->host, &kept->rack, &kept->boot, &kept->address, &kept->build, &kept->tags};
    bool good = (kept->verbs = arena_copy(arena, host->verbs, host->verb_count * sizeof *host->verbs)) != NULL;
    for (size_t i = 0; good && i < ARRAY_LENGTH(texts); i++) {
        good = *texts[i] == NULL || (*texts[i] = arena_text(arena, *texts[i], strlen(*texts[i]))) != NULL;
    }
    for (uint32_t i = 0; good && i < host->verb_count; i++) {
        good = (kept->verbs[i] = arena_text(arena, host->verbs[i], strlen(host->verbs[i]))) != NULL;
    }
    return good;
}
