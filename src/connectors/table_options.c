#include "connectors/table_options.h"

#include <stdio.h>
#include <string.h>

const char *table_options_get(const struct table_options *options, const char *key)
{
    for (uint32_t i = options->count; i > 0; i--) { /* the last one wins: hints are put behind */
        if (strcmp(options->keys[i - 1], key) == 0) {
            return options->values[i - 1];
        }
    }
    return NULL;
}

static const char *const error_policies[] = {"fail", "skip", "dead-letter", NULL};
static const char *const emit_strategies[] = {"on-periodic", "on-event", NULL};

const struct option_def common_source_options[] = {
    {.name = "scan.error-policy",
     OPTION_CHOICE(struct common_source_settings, error_policy, error_policies),
     .initial = "fail",
     .summary = "What a record that cannot be read does: fail the job, be skipped and counted, or go to the dead-letter table."},
    {.name = "scan.dead-letter-table",
     OPTION_TEXT(struct common_source_settings, dead_letter_table),
     .summary = "The table of the policy 'dead-letter'; its columns are some of payload BYTES, source, position, code, message STRING."},
    {.name = "scan.watermark.idle-timeout",
     OPTION_DURATION(struct common_source_settings, idle_timeout),
     .summary = "A partition without rows for this long does not hold the watermark back."},
    {.name = "scan.watermark.max-future-skew",
     OPTION_DURATION(struct common_source_settings, max_future_skew),
     .summary = "Rows whose event time is further ahead of the clock go the way of the error policy."},
    {.name = "scan.watermark.emit.strategy",
     OPTION_CHOICE(struct common_source_settings, emit_strategy, emit_strategies),
     .initial = "on-periodic",
     .summary = "When the watermark moves: in steps, or after each row."},
};
const uint32_t common_source_option_count = ARRAY_LENGTH(common_source_options);

static bool key_matches(const char *key, const char *prefix, const struct option_def *def)
{
    size_t length = strlen(prefix);
    if (strncmp(key, prefix, length) != 0) {
        return false;
    }
    key += length;
    if ((def->flags & OPTION_PREFIX) == 0) {
        return strcmp(key, def->name) == 0;
    }
    size_t name_length = strlen(def->name) - 1;
    return strncmp(key, def->name, name_length) == 0 && key[name_length] != '\0';
}

enum status table_options_read(const struct table_options *options, const char *prefix, const struct option_def *defs, size_t count,
                               struct arena *arena, void *settings, struct error *err)
{
    TRY(option_defaults(defs, count, settings, arena, err));
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (uint32_t j = 0; j < options->count; j++) {
            if (key_matches(options->keys[j], prefix, &defs[i])) {
                enum status status = option_apply(&defs[i], options->values[j], settings, arena, err);
                if (status != STATUS_OK && prefix[0] != '\0') {
                    error_add_context(err, "among the options of the format, '%s*'", prefix);
                }
                TRY(status);
                found = true;
            }
        }
        if (!found && (defs[i].flags & OPTION_REQUIRED) != 0) {
            return error_set(err, ERROR_MISSING_OPTION, "the option '%s%s' is missing: %s", prefix, defs[i].name, defs[i].summary);
        }
    }
    return STATUS_OK;
}

enum status common_source_settings_read(const struct table_options *options, struct arena *arena, struct common_source_settings *settings,
                                        struct error *err)
{
    *settings = (struct common_source_settings){0};
    TRY(table_options_read(options, "", common_source_options, common_source_option_count, arena, settings, err));
    if (settings->error_policy == ERROR_POLICY_DEAD_LETTER && settings->dead_letter_table == NULL) {
        return error_set(err, ERROR_MISSING_OPTION, "the option 'scan.dead-letter-table' is missing: 'scan.error-policy' is 'dead-letter'");
    }
    return STATUS_OK;
}

/* Tables of options that a key is looked up in. */
struct option_group {
    const char *prefix;
    const struct option_def *defs;
    size_t count;
};
enum { GROUPS_MAX = 4, CANDIDATES_MAX = 128, CANDIDATE_BYTES = 64, LIST_BYTES_MAX = 500 };

static bool groups_have(const struct option_group *groups, uint32_t group_count, const char *key)
{
    for (uint32_t g = 0; g < group_count; g++) {
        for (size_t i = 0; i < groups[g].count; i++) {
            if (key_matches(key, groups[g].prefix, &groups[g].defs[i])) {
                return true;
            }
        }
    }
    return false;
}

static enum status refuse_key(const struct option_group *groups, uint32_t group_count, const char *connector, const char *key,
                              struct error *err)
{
    char names[CANDIDATES_MAX][CANDIDATE_BYTES];
    const char *candidates[CANDIDATES_MAX];
    size_t count = 0;
    struct text_builder list = {0};
    for (uint32_t g = 0; g < group_count; g++) {
        for (size_t i = 0; i < groups[g].count && count < CANDIDATES_MAX; i++) {
            snprintf(names[count], CANDIDATE_BYTES, "%s%s", groups[g].prefix, groups[g].defs[i].name);
            candidates[count] = names[count];
            if (list.length < LIST_BYTES_MAX) { /* room for the layers above to say where */
                text_append_format(&list, "%s'%s'", count == 0 ? "" : ", ", names[count]);
            }
            count++;
        }
    }
    const char *nearest = count == 0 ? NULL : text_nearest(key, candidates, count);
    enum status status;
    if (nearest != NULL) {
        status = error_set(err, ERROR_UNKNOWN_OPTION, "connector '%s' has no option '%s'; did you mean '%s'?", connector, key, nearest);
    } else {
        status = error_set(err, ERROR_UNKNOWN_OPTION, "connector '%s' has no option '%s'; it has: %s", connector, key,
                           list.bytes == NULL ? "none" : list.bytes);
    }
    text_builder_close(&list);
    return status;
}

enum status table_options_check(const struct table_options *options, const char *connector, const struct option_def *defs, size_t count,
                                struct error *err)
{
    struct option_group groups[GROUPS_MAX] = {{"", defs, count}, {"", common_source_options, common_source_option_count}};
    uint32_t group_count = 2;
    char prefix[32] = "";
    const char *format = table_options_get(options, "format");
    if (format != NULL && groups_have(groups, 1, "format")) {
        snprintf(prefix, sizeof prefix, "%s.", format);
        const struct decoder_type *decoder = decoder_type_find(format);
        const struct encoder_type *encoder = encoder_type_find(format);
        if (decoder != NULL) {
            groups[group_count++] = (struct option_group){prefix, decoder->options, decoder->option_count};
        }
        if (encoder != NULL) {
            groups[group_count++] = (struct option_group){prefix, encoder->options, encoder->option_count};
        }
        if (decoder == NULL && encoder == NULL) {
            return STATUS_OK; /* opening the format says it better */
        }
    }
    for (uint32_t i = 0; i < options->count; i++) {
        if (strcmp(options->keys[i], "connector") != 0 && !groups_have(groups, group_count, options->keys[i])) {
            return refuse_key(groups, group_count, connector, options->keys[i], err);
        }
    }
    return STATUS_OK;
}

enum { FORMATS_MAX = 32 };

static enum status refuse_format(const char *name, bool reading, struct error *err)
{
    const char *names[FORMATS_MAX] = {NULL};
    uint32_t count;
    struct text_builder list = {0};
    const struct decoder_type *const *decoders = decoder_type_list(&count);
    if (!reading) {
        encoder_type_list(&count);
    }
    for (uint32_t i = 0; i < count && i < FORMATS_MAX; i++) {
        uint32_t ignored;
        names[i] = reading ? decoders[i]->name : encoder_type_list(&ignored)[i]->name;
        text_append_format(&list, "%s'%s'", i == 0 ? "" : ", ", names[i]);
    }
    const char *nearest = text_nearest(name, names, count < FORMATS_MAX ? count : FORMATS_MAX);
    enum status status;
    if (nearest != NULL) {
        status = error_set(err, ERROR_UNKNOWN_FORMAT, "there is no format '%s' to %s; did you mean '%s'?", name, reading ? "read" : "write",
                           nearest);
    } else {
        status = error_set(err, ERROR_UNKNOWN_FORMAT, "there is no format '%s' to %s; there are: %s", name, reading ? "read" : "write",
                           list.bytes == NULL ? "none" : list.bytes);
    }
    text_builder_close(&list);
    return status;
}

static enum status format_name(const struct table_options *options, const char **name, char prefix[32], struct error *err)
{
    *name = table_options_get(options, "format");
    if (*name == NULL) {
        return error_set(err, ERROR_MISSING_OPTION, "the option 'format' is missing");
    }
    snprintf(prefix, 32, "%s.", *name);
    return STATUS_OK;
}

enum status table_options_open_decoder(const struct table_options *options, const struct format_context *context, struct decoder **decoder,
                                       struct error *err)
{
    const char *name;
    char prefix[32];
    TRY(format_name(options, &name, prefix, err));
    const struct decoder_type *type = decoder_type_find(name);
    if (type == NULL) {
        return refuse_format(name, true, err);
    }
    void *settings;
    TRY_ALLOC(settings, arena_alloc(context->arena, type->settings_bytes), err);
    TRY(table_options_read(options, prefix, type->options, type->option_count, context->arena, settings, err));
    return type->open(context, settings, decoder, err);
}

enum status table_options_encoder_type(const struct table_options *options, const struct encoder_type **type, struct error *err)
{
    const char *name;
    char prefix[32];
    TRY(format_name(options, &name, prefix, err));
    *type = encoder_type_find(name);
    return *type == NULL ? refuse_format(name, false, err) : STATUS_OK;
}

enum status table_options_open_encoder(const struct table_options *options, const struct format_context *context, struct encoder **encoder,
                                       struct error *err)
{
    const char *name;
    char prefix[32];
    const struct encoder_type *type;
    TRY(format_name(options, &name, prefix, err));
    TRY(table_options_encoder_type(options, &type, err));
    void *settings;
    TRY_ALLOC(settings, arena_alloc(context->arena, type->settings_bytes), err);
    TRY(table_options_read(options, prefix, type->options, type->option_count, context->arena, settings, err));
    return type->open(context, settings, encoder, err);
}
