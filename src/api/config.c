#include "spate/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/config_file.h"
#include "api/public_error.h"
#include "api/settings.h"
#include "cluster/timing.h"
#include "storage/object.h"
#include "storage/retention.h"
#include "storage/config_store.h"

enum { FILE_BYTES_MAX = 1 << 20 };
#define DEFAULT_FILE "spate.yaml"

struct entry {
    const char *key, *value, *origin;
};
struct spate_config {
    struct budget budget;
    struct arena *arena;
    struct error error;
    struct spate_error public_error;
    struct settings settings; /* in which all are tried out */
    const char *file;
    struct entry *entries; /* in the order in which they count */
    uint32_t count, capacity;
    const char **texts, **storage_texts; /* "key=value" */
};

/* ---- one setting ---- */

#define ORIGIN_FLAG "flag"

static enum status add(struct spate_config *self, const char *key, const char *value, const char *origin, struct error *err)
{
    const char *message;
    enum status status = settings_set(&self->settings, key, value, &message, err);
    if (status != STATUS_OK && strcmp(origin, ORIGIN_FLAG) != 0) { /* first, as the list of all keys may fill the text */
        struct error cause = *err;
        return error_set(err, cause.code, "%s: %.800s", origin, cause.text);
    }
    TRY(status);
    TRY_ALLOC(self->entries, arena_grow(self->arena, self->entries, &self->capacity, self->count + 1, sizeof *self->entries), err);
    self->entries[self->count++] = (struct entry){key, value, origin};
    return STATUS_OK;
}

/* ---- the file ---- */

static enum status add_line(void *context, const char *key, const char *value, uint32_t line, struct error *err)
{
    struct spate_config *self = context;
    const char *origin;
    TRY_ALLOC(origin, arena_format(self->arena, "%s:%u", self->file, line), err);
    return add(self, key, value, origin, err);
}

static enum status read_file(struct spate_config *self, const char *file, struct error *err)
{
    self->file = file == NULL ? DEFAULT_FILE : file;
    FILE *opened = fopen(self->file, "re");
    if (opened == NULL) {
        return file == NULL && errno == ENOENT ? STATUS_OK
                                               : error_set(err, ERROR_FILE_UNREADABLE, "cannot open '%s': %s", self->file, strerror(errno));
    }
    char *bytes = malloc(FILE_BYTES_MAX);
    size_t length = bytes == NULL ? 0 : fread(bytes, 1, FILE_BYTES_MAX, opened);
    bool failed = bytes == NULL || ferror(opened) != 0 || length == FILE_BYTES_MAX;
    fclose(opened);
    enum status status = failed ? error_set(err, ERROR_FILE_UNREADABLE, "cannot read '%s', or it has more than a MiB", self->file)
                                : config_file_parse((struct text){bytes, length}, self->file, self->arena, add_line, self, err);
    free(bytes);
    return status;
}

/* ---- the environment ---- */

/* "SPATE_PARALLELISM_DEFAULT" */
static void variable_name(const char *key, char *name, size_t size)
{
    size_t length = (size_t)snprintf(name, size, "SPATE_");
    for (; *key != '\0' && length + 1 < size; key++) {
        name[length++] = isalnum((unsigned char)*key) ? (char)toupper((unsigned char)*key) : '_';
    }
    name[length] = '\0';
}

static enum status add_variable(struct spate_config *self, const struct option_def *def, struct error *err)
{
    char name[200];
    const char *origin;
    if ((def->flags & OPTION_PREFIX) != 0) {
        return STATUS_OK;
    }
    variable_name(def->name, name, sizeof name);
    const char *value = getenv(name);
    if (value == NULL) {
        return STATUS_OK;
    }
    TRY_ALLOC(value, arena_text(self->arena, value, strlen(value)), err);
    TRY_ALLOC(origin, arena_format(self->arena, "environment %s", name), err);
    return add(self, def->name, value, origin, err);
}

/* ---- every key ---- */

typedef enum status each_def(struct spate_config *self, const struct option_def *def, struct error *err);

static enum status for_options(struct spate_config *self, const struct option_def *defs, size_t count, each_def *each, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        TRY(each(self, &defs[i], err));
    }
    return STATUS_OK;
}

/* Those that are not a store's, too. */
static enum status for_coordination(struct spate_config *self, each_def *each, struct error *err)
{
    uint32_t count;
    const struct cluster_driver *const *drivers = cluster_driver_list(&count);
    for (uint32_t i = 0; i < count; i++) {
        for (size_t k = 0; k < drivers[i]->option_count; k++) {
            const struct option_def *def = &drivers[i]->options[k];
            if (settings_is_of_coordination(def->name) && !settings_is_of_storage(def->name)) {
                TRY(each(self, def, err));
            }
        }
    }
    return STATUS_OK;
}

/* Settings of a session, of storage, and of the drivers that are here. */
static enum status for_all_options(struct spate_config *self, each_def *each, struct error *err)
{
    size_t count;
    uint32_t driver_count;
    const struct object_driver *const *drivers = object_driver_list(&driver_count);
    const struct option_def *storage = storage_option_list(&count);
    TRY(for_options(self, session_options, session_option_count, each, err));
    for (size_t i = 0; i < count; i++) {
        if (strcmp(storage[i].name, "storage.uri") != 0) { /* it is a session's, too */
            TRY(each(self, &storage[i], err));
        }
    }
    for (uint32_t i = 0; i < driver_count; i++) {
        bool set_in_sessions = drivers[i]->option_count > 0 && settings_is_of_storage(drivers[i]->options[0].name);
        TRY(for_options(self, drivers[i]->options, set_in_sessions ? drivers[i]->option_count : 0, each, err));
    }
    uint32_t timing_count;
    const struct option_def *timing = timing_option_list(&timing_count);
    TRY(for_options(self, timing, timing_count, each, err));
    return for_coordination(self, each, err);
}

/* ---- flags, and the whole ---- */

static enum status add_flags(struct spate_config *self, const char *const *flags, struct error *err)
{
    for (; flags != NULL && *flags != NULL; flags++) {
        const char *equals = strchr(*flags, '='), *key, *value;
        if (equals == NULL) {
            return error_set(err, ERROR_INVALID_OPTION, "'%s' is not of the form key=value", *flags);
        }
        TRY_ALLOC(key, arena_text(self->arena, *flags, (size_t)(equals - *flags)), err);
        TRY_ALLOC(value, arena_text(self->arena, equals + 1, strlen(equals + 1)), err);
        TRY(add(self, key, value, ORIGIN_FLAG, err));
    }
    return STATUS_OK;
}

static enum status make_texts(struct spate_config *self, struct error *err)
{
    uint32_t storage = 0;
    TRY_ALLOC(self->texts, arena_alloc(self->arena, (self->count + 1) * sizeof *self->texts), err);
    TRY_ALLOC(self->storage_texts, arena_alloc(self->arena, (self->count + 1) * sizeof *self->texts), err);
    for (uint32_t i = 0; i < self->count; i++) {
        const struct entry *entry = &self->entries[i];
        TRY_ALLOC(self->texts[i], arena_format(self->arena, "%s=%s", entry->key, entry->value), err);
        if (settings_is_of_storage(entry->key)) {
            self->storage_texts[storage++] = self->texts[i];
        }
    }
    return STATUS_OK;
}

static enum status config_init(struct spate_config *self, const char *file, const char *const *flags, struct error *err)
{
    budget_init(&self->budget, NULL, "configuration", BUDGET_UNLIMITED);
    TRY_ALLOC(self->arena, arena_create(&self->budget, "configuration"), err);
    TRY(settings_open(&self->settings, self->arena, err));
    TRY(read_file(self, file, err));
    TRY(for_all_options(self, add_variable, err));
    TRY(add_flags(self, flags, err));
    return make_texts(self, err);
}

int spate_config_open(const char *file, const char *const *flags, spate_config **config)
{
    struct spate_config *self = calloc(1, sizeof *self);
    *config = self;
    if (self == NULL) {
        return SPATE_ERROR_LIMIT;
    }
    enum status status = config_init(self, file, flags, &self->error);
    return status == STATUS_OK ? SPATE_OK : public_error_set(&self->public_error, &self->error, status);
}

void spate_config_close(spate_config *config)
{
    if (config != NULL) {
        arena_destroy(config->arena);
        free(config);
    }
}

const struct spate_error *spate_config_error(const spate_config *config)
{
    return &config->public_error;
}

const char *const *spate_config_settings(const spate_config *config)
{
    return config->texts;
}

const char *const *spate_config_storage(const spate_config *config)
{
    return config->storage_texts;
}

/* ---- what counts ---- */

/* The entry that counts for a key; NULL: none. */
static const struct entry *find_entry(const struct spate_config *self, const char *key)
{
    for (uint32_t i = self->count; i-- > 0;) {
        if (strcmp(settings_current_key(self->entries[i].key), key) == 0) {
            return &self->entries[i];
        }
    }
    return NULL;
}

struct visiting {
    const struct spate_config *config;
    spate_config_visit visit;
    void *context;
    int stopped;
};

static const char *shown_value(const struct entry *entry)
{
    return secret_is_name(entry->key) ? "******" : entry->value;
}

static void visit_option(struct visiting *self, const struct option_def *def)
{
    const struct entry *entry = find_entry(self->config, def->name);
    if ((def->flags & OPTION_PREFIX) == 0 && self->stopped == 0) {
        self->stopped = self->visit(self->context, def->name, entry == NULL ? def->initial : shown_value(entry),
                                    entry == NULL ? "default" : entry->origin);
    }
}

/* All settings of a session; of other keys (storage, drivers, advisory ones) those that are set. */
int spate_config_each(const spate_config *config, spate_config_visit visit, void *context)
{
    struct visiting self = {config, visit, context, 0};
    for (uint32_t i = 0; i < session_option_count; i++) {
        visit_option(&self, &session_options[i]);
    }
    for (uint32_t i = 0; i < config->count && self.stopped == 0; i++) {
        const struct entry *entry = &config->entries[i];
        const char *key = settings_current_key(entry->key);
        if (!settings_has_option(key) && find_entry(config, key) == entry) {
            self.stopped = visit(context, key, shown_value(entry), entry->origin);
        }
    }
    return self.stopped;
}
