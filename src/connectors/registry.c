#include <assert.h>
#include <string.h>

#include "connectors/built_in.h"
#include "connectors/table_options.h"

static const struct source_type *const sources[] = {&datagen_source_type, &feed_source_type, &filesystem_source_type, &nexmark_source_type,
                                                    &savepoint_source_type};
static const struct sink_type *const sinks[] = {&blackhole_sink_type, &filesystem_sink_type, &print_sink_type};
enum { CONNECTORS_MAX = ARRAY_LENGTH(sources) + ARRAY_LENGTH(sinks) };

const struct source_type *source_type_find(const char *name)
{
    for (uint32_t i = 0; i < ARRAY_LENGTH(sources); i++) {
        if (strcmp(sources[i]->name, name) == 0) {
            return sources[i];
        }
    }
    return NULL;
}

const struct sink_type *sink_type_find(const char *name)
{
    for (uint32_t i = 0; i < ARRAY_LENGTH(sinks); i++) {
        if (strcmp(sinks[i]->name, name) == 0) {
            return sinks[i];
        }
    }
    return NULL;
}

const struct source_type *const *source_type_list(uint32_t *count)
{
    *count = ARRAY_LENGTH(sources);
    return sources;
}

const struct sink_type *const *sink_type_list(uint32_t *count)
{
    *count = ARRAY_LENGTH(sinks);
    return sinks;
}

static enum status refuse_connector(const char *name, bool reading, struct error *err)
{
    const char *names[CONNECTORS_MAX];
    size_t count = 0;
    struct text_builder list = {0};
    for (uint32_t i = 0; reading && i < ARRAY_LENGTH(sources); i++) {
        names[count++] = sources[i]->name;
    }
    for (uint32_t i = 0; !reading && i < ARRAY_LENGTH(sinks); i++) {
        names[count++] = sinks[i]->name;
    }
    for (size_t i = 0; i < count; i++) {
        text_append_format(&list, "%s'%s'", i == 0 ? "" : ", ", names[i]);
    }
    const char *verb = reading ? "read" : "write", *other = reading ? "written" : "read", *nearest = text_nearest(name, names, count);
    enum status status;
    if (reading ? sink_type_find(name) != NULL : source_type_find(name) != NULL) {
        status =
            error_set(err, ERROR_UNKNOWN_CONNECTOR, "connector '%s' can only be %s; to %s there are: %s", name, other, verb, list.bytes);
    } else if (nearest != NULL) {
        status = error_set(err, ERROR_UNKNOWN_CONNECTOR, "there is no connector '%s' to %s; did you mean '%s'?", name, verb, nearest);
    } else {
        status = error_set(err, ERROR_UNKNOWN_CONNECTOR, "there is no connector '%s' to %s; there are: %s", name, verb, list.bytes);
    }
    text_builder_close(&list);
    return status;
}

static enum status connector_name(const struct table_options *options, const char **name, struct error *err)
{
    *name = table_options_get(options, "connector");
    return *name != NULL ? STATUS_OK : error_set(err, ERROR_MISSING_OPTION, "the option 'connector' is missing");
}

static enum status read_source_settings(const struct source_context *context, const struct source_type *type, void **settings,
                                        struct error *err)
{
    TRY(table_options_check(context->options, type->name, type->options, type->option_count, err));
    TRY_ALLOC(*settings, arena_alloc(context->arena, type->settings_bytes + 1), err);
    return table_options_read(context->options, "", type->options, type->option_count, context->arena, *settings, err);
}

static enum status open_source(const struct source_context *context, struct source **source, struct error *err)
{
    const char *name;
    void *settings;
    struct common_source_settings common;
    TRY(connector_name(context->options, &name, err));
    const struct source_type *type = source_type_find(name);
    if (type == NULL) {
        return refuse_connector(name, true, err);
    }
    TRY(read_source_settings(context, type, &settings, err));
    TRY(common_source_settings_read(context->options, context->arena, &common, err));
    assert(common.error_policy != ERROR_POLICY_DEAD_LETTER || context->dead_letter != NULL);
    TRY(type->open(context, settings, source, err));
    (*source)->piece = type->divide == NULL ? 0 : context->piece;
    (*source)->pieces = type->divide == NULL ? 0 : context->pieces;
    if (context->until_end && !(*source)->bounded) {
        source_close(*source);
        *source = NULL;
        return error_set(err, ERROR_NOT_SUPPORTED, "'%s' makes rows for ever, so it has no end to be read to ('execution.until-end')",
                         name);
    }
    return STATUS_OK;
}

enum status source_open(const struct source_context *context, struct source **source, struct error *err)
{
    enum status status = open_source(context, source, err);
    if (status != STATUS_OK) {
        error_add_context(err, "in table '%s'", context->table);
    }
    return status;
}

enum status source_infer(const struct source_context *context, const struct schema **schema, struct error *err)
{
    const char *name = table_options_get(context->options, "connector");
    const struct source_type *type = name == NULL ? NULL : source_type_find(name);
    void *settings;
    *schema = NULL;
    if (type == NULL || type->infer == NULL) {
        return STATUS_OK;
    }
    enum status status = read_source_settings(context, type, &settings, err);
    if (status == STATUS_OK) {
        status = type->infer(context->storage, settings, context->arena, context->budget, schema, err);
    }
    if (status != STATUS_OK) {
        error_add_context(err, "while finding the columns of table '%s'", context->table);
    }
    return status;
}

void source_close(struct source *source)
{
    if (source != NULL) {
        source->type->close(source);
    }
}

static enum status prepare_sink(const struct sink_context *context, const struct sink_type **type, void **settings, struct error *err)
{
    const char *name;
    TRY(connector_name(context->options, &name, err));
    *type = sink_type_find(name);
    if (*type == NULL) {
        return refuse_connector(name, false, err);
    }
    TRY(table_options_check(context->options, name, (*type)->options, (*type)->option_count, err));
    TRY_ALLOC(*settings, arena_alloc(context->arena, (*type)->settings_bytes + 1), err);
    return table_options_read(context->options, "", (*type)->options, (*type)->option_count, context->arena, *settings, err);
}

enum status sink_accepts(const struct sink_context *context, enum sink_accepts *accepts, struct error *err)
{
    const struct sink_type *type;
    void *settings;
    enum status status = prepare_sink(context, &type, &settings, err);
    if (status == STATUS_OK) {
        status = type->accepts(context, settings, accepts, err);
    }
    if (status != STATUS_OK) {
        error_add_context(err, "in table '%s'", context->table);
    }
    return status;
}

enum status sink_open(const struct sink_context *context, struct sink **sink, struct error *err)
{
    const struct sink_type *type;
    void *settings;
    enum status status = prepare_sink(context, &type, &settings, err);
    if (status == STATUS_OK) {
        status = type->open(context, settings, sink, err);
    }
    if (status != STATUS_OK) {
        error_add_context(err, "in table '%s'", context->table);
    }
    return status;
}
