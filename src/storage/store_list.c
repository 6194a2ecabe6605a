/* What is right below a prefix. The driver lists all keys; below a folder's first one the listing starts again behind the folder. */
#include <stdio.h>
#include <string.h>

#include "storage/stores_internal.h"

struct names_visit {
    size_t prefix_length;
    struct arena *arena;
    struct store_names *names;
    bool again;
    char after[OBJECT_KEY_MAX + 1];
};

static enum status names_add(struct names_visit *self, const char *part, size_t length, struct error *err)
{
    char name[OBJECT_KEY_MAX + 1];
    struct store_names *names = self->names;
    if (!store_name_decode(part, length, name, sizeof name)) {
        return STATUS_OK; /* not ours */
    }
    TRY_ALLOC(names->names, arena_grow(self->arena, names->names, &names->capacity, names->count + 1, sizeof *names->names), err);
    TRY_ALLOC(names->names[names->count], arena_text(self->arena, name, strlen(name)), err);
    names->count++;
    return STATUS_OK;
}

static enum status names_visit(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    (void)info;
    struct names_visit *self = context;
    const char *part = key + self->prefix_length;
    size_t length = strcspn(part, "/");
    TRY(names_add(self, part, length, err));
    if (part[length] == '/') {
        /* '0' is the byte after '/': every key of this folder is below */
        snprintf(self->after, sizeof self->after, "%.*s0", (int)(self->prefix_length + length), key);
        self->again = *stop = true;
    }
    return STATUS_OK;
}

enum status store_list_names(struct object_store *store, const char *prefix, struct arena *arena, struct store_names *names,
                             struct error *err)
{
    struct names_visit visit = {.prefix_length = strlen(prefix), .arena = arena, .names = names};
    *names = (struct store_names){0};
    do {
        visit.again = false;
        TRY(store->driver->list(store, prefix, visit.after[0] == '\0' ? NULL : visit.after, names_visit, &visit, err));
    } while (visit.again);
    return STATUS_OK;
}

/* Keys are taken in rounds, so that nothing is removed in the middle of a listing. */
enum { REMOVE_ROUND = 1000 };
struct remove_visit {
    const char *except;
    struct arena *arena;
    char *keys[REMOVE_ROUND];
    uint32_t count;
};

static enum status remove_visit(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    (void)info;
    struct remove_visit *self = context;
    if (self->except != NULL && strncmp(key, self->except, strlen(self->except)) == 0) {
        return STATUS_OK;
    }
    TRY_ALLOC(self->keys[self->count], arena_text(self->arena, key, strlen(key)), err);
    *stop = ++self->count == REMOVE_ROUND;
    return STATUS_OK;
}

enum status store_remove_below(struct object_store *store, const char *prefix, const char *except, uint64_t *removed, struct error *err)
{
    struct remove_visit *visit;
    struct arena *arena = arena_create(NULL, "keys to remove");
    enum status status = STATUS_OK;
    TRY_ALLOC(arena, arena, err);
    do {
        arena_reset(arena);
        visit = arena_alloc(arena, sizeof *visit);
        if (visit == NULL) {
            status = error_set(err, ERROR_BUDGET_SPENT, "no room for keys to remove");
            break;
        }
        *visit = (struct remove_visit){.except = except, .arena = arena};
        status = store->driver->list(store, prefix, NULL, remove_visit, visit, err);
        for (uint32_t i = 0; status == STATUS_OK && i < visit->count; i++) {
            enum object_result result;
            status = store_remove(store, visit->keys[i], NULL, &result, err);
            *removed += result == OBJECT_OK;
        }
    } while (status == STATUS_OK && visit->count == REMOVE_ROUND);
    arena_destroy(arena);
    return status;
}
