#include "connectors/filesystem/partition_time.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "data/cast.h"
#include "functions/time_pattern.h"

struct partition_time {
    const char **columns;
    uint32_t column_count;
    const char *pattern; /* NULL: the first column's value */
    const struct time_pattern *formatter;
    const char *formatter_text;
    const struct time_zone *zone;
};

/* The column whose name stands behind the '$', the longest: "$dayofyear" is not "$day". */
static int32_t column_at(const struct partition_time *time, const char *name)
{
    int32_t found = -1;
    for (uint32_t i = 0; i < time->column_count; i++) {
        size_t length = strlen(time->columns[i]);
        if (strncmp(name, time->columns[i], length) == 0 && (found < 0 || length > strlen(time->columns[found]))) {
            found = (int32_t)i;
        }
    }
    return found;
}

static enum status check_pattern(const struct partition_time *time, struct error *err)
{
    bool any = false;
    for (const char *dollar = time->pattern; (dollar = strchr(dollar, '$')) != NULL; dollar++) {
        if (column_at(time, dollar + 1) < 0) {
            return error_set(err, ERROR_INVALID_OPTION,
                             "option 'partition.time-extractor.timestamp-pattern': '%s' names no partition column of the table", dollar);
        }
        any = true;
    }
    return any ? STATUS_OK
               : error_set(err, ERROR_INVALID_OPTION,
                           "option 'partition.time-extractor.timestamp-pattern': '%s' has no partition column, as in '$day 00:00:00'",
                           time->pattern);
}

static enum status copy_columns(struct arena *arena, const struct sink_context *context, struct partition_time *time, struct error *err)
{
    TRY_ALLOC(time->columns, arena_alloc(arena, context->partition_count * sizeof *time->columns), err);
    for (uint32_t i = 0; i < context->partition_count; i++) {
        const char *name = context->partition_columns[i];
        TRY_ALLOC(time->columns[i], arena_text(arena, name, strlen(name)), err);
    }
    time->column_count = context->partition_count;
    return STATUS_OK;
}

enum status partition_time_open(struct arena *arena, const struct sink_context *context, const struct filesystem_settings *settings,
                                struct partition_time **time, struct error *err)
{
    struct partition_time *made;
    TRY_ALLOC(made, arena_alloc(arena, sizeof *made), err);
    TRY(copy_columns(arena, context, made, err));
    TRY(time_zone_find(arena, settings->commit_zone, &made->zone, err));
    if (settings->time_pattern != NULL) {
        TRY_ALLOC(made->pattern, arena_text(arena, settings->time_pattern, strlen(settings->time_pattern)), err);
        TRY(check_pattern(made, err));
    }
    if (settings->time_formatter != NULL) {
        TRY_ALLOC(made->formatter_text, arena_text(arena, settings->time_formatter, strlen(settings->time_formatter)), err);
        TRY(time_pattern_compile(arena, text_from(made->formatter_text), &made->formatter, err));
    }
    *time = made;
    return STATUS_OK;
}

/* The value of a column in the folder's path. */
static bool append_value(const struct partition_time *time, uint32_t column, const char *root, const char *folder, struct text_builder *out)
{
    struct text_builder path = {0};
    char *value;
    text_append_format(&path, "%s/", folder);
    bool found = !path.failed && partition_path_value(root, path.bytes, time->columns[column], &value);
    if (found) {
        text_append_text(out, value);
        free(value);
    }
    text_builder_close(&path);
    return found;
}

static bool append_time(const struct partition_time *time, const char *root, const char *folder, struct text_builder *out)
{
    bool found = true;
    if (time->pattern == NULL) {
        return append_value(time, 0, root, folder, out);
    }
    for (const char *p = time->pattern; *p != '\0' && found;) {
        if (*p != '$') {
            text_append_char(out, *p++);
            continue;
        }
        int32_t column = column_at(time, p + 1);
        found = append_value(time, (uint32_t)column, root, folder, out);
        p += 1 + strlen(time->columns[column]);
    }
    return found;
}

static bool parse(const struct partition_time *time, struct text text, int64_t *local_us)
{
    struct parsed_time parsed;
    int128_t value;
    if (time->formatter != NULL) {
        bool fits = time_pattern_parse(time->formatter, text, TIME_PATTERN_STRICT, &parsed);
        *local_us = fits ? parsed.local_us : 0;
        return fits;
    }
    bool fits = text_to_timestamp(text, 6, &value);
    *local_us = fits ? (int64_t)value : 0;
    return fits;
}

enum status partition_time_of(const struct partition_time *time, const char *root, const char *folder, int64_t *time_us, struct error *err)
{
    struct text_builder text = {0};
    int64_t local_us = 0;
    text_append(&text, "", 0);
    bool fits = append_time(time, root, folder, &text) && !text.failed && parse(time, (struct text){text.bytes, text.length}, &local_us);
    enum status status = STATUS_OK;
    if (!fits) {
        status =
            error_set(err, ERROR_INVALID_OPTION,
                      "the partition '%s' has no time: '%s' is not like '%s'; see 'partition.time-extractor.timestamp-pattern'", folder,
                      text.bytes == NULL ? "" : text.bytes, time->formatter_text == NULL ? "yyyy-MM-dd HH:mm:ss" : time->formatter_text);
    }
    text_builder_close(&text);
    *time_us = time_zone_to_utc(time->zone, local_us);
    return status;
}
