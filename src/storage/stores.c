#include "storage/stores_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(kind, name) [STORE_##kind] = name,
static const char *const kind_names[STORE_KIND_COUNT] = {STORE_KIND_LIST(X)};
#undef X
/* Where a kind lives that has no URI of its own: in that one's place. */
static const enum store_kind kind_hosts[STORE_KIND_COUNT] = {
    [STORE_SAVEPOINTS] = STORE_CHECKPOINTS,
    [STORE_AUDIT] = STORE_LOGS,
};

const char *store_kind_name(enum store_kind kind)
{
    return kind_names[kind];
}

bool store_kind_find(const char *name, size_t length, enum store_kind *kind)
{
    for (uint32_t i = 0; i < STORE_KIND_COUNT; i++) {
        if (strlen(kind_names[i]) == length && memcmp(kind_names[i], name, length) == 0) {
            *kind = (enum store_kind)i;
            return true;
        }
    }
    return false;
}

/* ---- opening ---- */

static const char *option_get(const struct storage_settings *settings, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < settings->option_count; i++) {
        if (strcmp(settings->options[i].name, name) == 0) {
            value = settings->options[i].value;
        }
    }
    return value;
}

/* Everything that begins with "storage." is in the table, or is a driver's option of one kind. */
static enum status limits_read(struct storage_core *core, const struct storage_settings *settings, struct error *err)
{
    size_t count;
    const struct option_def *defs = storage_option_list(&count), *def;
    TRY(option_defaults(defs, count, &core->limits, core->arena, err));
    for (size_t i = 0; i < settings->option_count; i++) {
        const char *name = settings->options[i].name, *kind = name + strlen("storage.");
        enum store_kind found;
        if (strncmp(name, "storage.", 8) != 0) {
            continue;
        }
        size_t length = strcspn(kind, ".");
        if (store_kind_find(kind, length, &found) && kind[length] == '.' && strchr(kind + length + 1, '.') != NULL) {
            continue;
        }
        TRY(option_find(defs, count, "the storage", name, &def, err));
        TRY(option_apply(def, settings->options[i].value, &core->limits, core->arena, err));
    }
    return STATUS_OK;
}

static enum status root_find(const struct storage_settings *settings, struct arena *arena, const char **root, struct error *err)
{
    const char *home = getenv("HOME"), *state = getenv("XDG_STATE_HOME");
    *root = option_get(settings, "storage.uri");
    if (*root == NULL) {
        *root = option_get(settings, "execution.checkpointing.dir");
    }
    if (*root != NULL) {
        return STATUS_OK;
    }
    if (state != NULL && state[0] == '/') {
        TRY_ALLOC(*root, arena_format(arena, "%s/spate", state), err);
        return STATUS_OK;
    }
    if (home == NULL || home[0] != '/') {
        return error_set(err, ERROR_STORE_OPTION,
                         "no place for the storage: 'storage.uri' is not set, and neither XDG_STATE_HOME nor HOME "
                         "names a folder");
    }
    TRY_ALLOC(*root, arena_format(arena, "%s/.local/state/spate", home), err);
    return STATUS_OK;
}

/* Options for drivers: those that do not begin with "storage.", and of those that do the kind's own. */
static enum status driver_options(const struct storage_settings *settings, const char *kind, struct arena *arena,
                                  struct object_option **options, size_t *count, struct error *err)
{
    char own[64];
    size_t own_length = (size_t)snprintf(own, sizeof own, "storage.%s.", kind);
    TRY_ALLOC(*options, arena_alloc(arena, (settings->option_count + 1) * sizeof **options), err);
    *count = 0;
    for (size_t i = 0; i < settings->option_count; i++) {
        const char *name = settings->options[i].name;
        if (strncmp(name, "storage.", 8) != 0 && strcmp(name, "execution.checkpointing.dir") != 0) {
            (*options)[(*count)++] = settings->options[i];
        } else if (strncmp(name, own, own_length) == 0 && strchr(name + own_length, '.') != NULL) {
            (*options)[(*count)++] = (struct object_option){name + own_length, settings->options[i].value};
        }
    }
    return STATUS_OK;
}

static enum status open_objects(const struct storage_core *core, const char *uri, const struct object_option *options, size_t count,
                                struct object_store **store, struct error *err)
{
    if (core->open != NULL) {
        return core->open(core->open_context, uri, store, err);
    }
    return object_store_open(uri, options, count, &core->environment, store, err);
}

static enum status kind_open(struct storage_core *core, const struct storage_settings *settings, enum store_kind kind, struct error *err)
{
    char name[64];
    snprintf(name, sizeof name, "storage.%s.uri", kind_names[kind]);
    const char *uri = option_get(settings, name);
    struct object_option *options;
    size_t count;
    if (kind == STORE_CHECKPOINTS && uri == NULL) {
        uri = option_get(settings, "execution.checkpointing.dir");
    }
    TRY(driver_options(settings, kind_names[kind], core->arena, &options, &count, err));
    if (uri == NULL && count == core->driver_option_count) {
        return STATUS_OK; /* shares its host's */
    }
    if (uri != NULL) {
        core->uris[kind] = uri;
    } else if (kind_hosts[kind] != STORE_ARTIFACTS) {
        core->uris[kind] = core->uris[kind_hosts[kind]];
    }
    TRY(open_objects(core, core->uris[kind], options, count, &core->stores[kind], err));
    core->owned[kind] = true;
    return STATUS_OK;
}

/* The root is opened as that of artifacts when these have no place of their own: kind 0 is the host of all without a host. */
static enum status kinds_open(struct storage_core *core, const struct storage_settings *settings, struct error *err)
{
    struct object_option *options;
    const char *root;
    struct object_store *root_store = NULL;
    TRY(root_find(settings, core->arena, &root, err));
    TRY(driver_options(settings, "", core->arena, &options, &core->driver_option_count, err));
    core->driver_options = options;
    for (uint32_t i = 0; i < STORE_KIND_COUNT; i++) {
        core->uris[i] = root;
    }
    for (uint32_t i = 0; i < STORE_KIND_COUNT; i++) {
        TRY(kind_open(core, settings, (enum store_kind)i, err));
        if (core->stores[i] != NULL) {
            continue;
        }
        enum store_kind host = kind_hosts[i];
        if (host != STORE_ARTIFACTS) {
            core->stores[i] = core->stores[host];
            core->uris[i] = core->uris[host];
            continue;
        }
        if (root_store == NULL) {
            TRY(open_objects(core, root, options, core->driver_option_count, &root_store, err));
            core->owned[i] = true;
        }
        core->stores[i] = root_store;
    }
    return STATUS_OK;
}

static void core_close(struct storage_core *core)
{
    for (uint32_t i = 0; i < STORE_KIND_COUNT; i++) {
        if (core->owned[i]) {
            core->stores[i]->driver->close(core->stores[i]);
        }
    }
    arena_destroy(core->arena);
}

enum status storage_open(const struct storage_settings *settings, struct storage **storage, struct error *err)
{
    static const struct object_environment no_environment;
    struct arena *arena = arena_create(NULL, "storage");
    *storage = NULL;
    TRY_ALLOC(arena, arena, err);
    struct storage *self = arena_alloc(arena, sizeof *self);
    struct storage_core *core = arena_alloc(arena, sizeof *core);
    if (self == NULL || core == NULL) {
        arena_destroy(arena);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a storage");
    }
    self->core = core;
    core->arena = arena;
    core->environment = settings->environment == NULL ? no_environment : *settings->environment;
    core->clock = core->environment.clock == NULL ? &clock_system : core->environment.clock;
    core->environment.clock = core->clock;
    core->open = settings->open;
    core->open_context = settings->open_context;
    core->cache_dir = option_get(settings, "storage.artifacts.cache");
    random_open(&core->random, core->environment.random_seed);
    atomic_init(&core->next_file, 0);
    enum status status = limits_read(core, settings, err);
    if (status == STATUS_OK) {
        status = kinds_open(core, settings, err);
    }
    if (status != STATUS_OK) {
        error_add_context(err, "while opening the storage");
        core_close(core);
        return status;
    }
    *storage = self;
    return STATUS_OK;
}

void storage_close(struct storage *storage)
{
    if (storage == NULL) {
        return;
    }
    if (storage->view_arena != NULL) {
        arena_destroy(storage->view_arena);
        return;
    }
    core_close(storage->core);
}

const char *storage_uri(const struct storage *storage, enum store_kind kind)
{
    return storage->core->uris[kind];
}

const struct clock *storage_clock(const struct storage *storage)
{
    return storage->core->clock;
}

const struct storage_limits *storage_limits_of(const struct storage *storage)
{
    return &storage->core->limits;
}

struct object_store *storage_objects(const struct storage *storage, enum store_kind kind)
{
    return storage->core->stores[kind];
}

enum status storage_open_place(const struct storage *storage, const char *uri, struct object_store **store, struct error *err)
{
    const struct storage_core *core = storage->core;
    return open_objects(core, uri, core->driver_options, core->driver_option_count, store, err);
}

void storage_random_text(struct storage *storage, char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        text[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[random_next(&storage->core->random) % 36];
    }
    text[length] = '\0';
}
