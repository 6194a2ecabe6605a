/* Names of columns, each once, as Flink makes them: of two columns "x" the second is "x0", a third "x1". */
#include <string.h>

#include "base/hash.h"
#include "sql/binder_internal.h"

struct used_name {
    const char *name;  /* NULL: a free place */
    uint32_t attempts; /* of this name; numbers below are taken */
};
struct used_names {
    struct used_name *places;
    uint32_t mask; /* there are twice as many places as names */
};

static struct used_name *place_of(const struct used_names *used, const char *name)
{
    uint32_t at = (uint32_t)hash_bytes(name, strlen(name)) & used->mask;
    while (used->places[at].name != NULL && strcmp(used->places[at].name, name) != 0) {
        at = (at + 1) & used->mask;
    }
    return &used->places[at];
}

static enum status make_unique(struct binder *binder, struct used_names *used, const char **name, struct error *err)
{
    struct used_name *first = place_of(used, *name), *place = first;
    while (place->name != NULL) {
        TRY_ALLOC(*name, arena_format(binder->arena, "%s%u", first->name, first->attempts++), err);
        place = place_of(used, *name);
    }
    place->name = *name;
    return STATUS_OK;
}

enum status bind_unique_names(struct binder *binder, struct relation *relation, struct error *err)
{
    struct column *columns = relation_columns(relation);
    uint32_t capacity = 4;
    while (capacity < relation->schema.count * 2) {
        capacity *= 2;
    }
    struct used_names used = {.mask = capacity - 1};
    TRY_ALLOC(used.places, arena_alloc(binder->arena, capacity * sizeof *used.places), err);
    for (uint32_t i = 0; i < relation->schema.count; i++) {
        TRY(make_unique(binder, &used, &columns[i].name, err));
    }
    return STATUS_OK;
}
