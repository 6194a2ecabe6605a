/* The reference tables of this build as text or JSON: what is printed comes from the tables that the engine itself uses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/session.h"
#include "api/settings_flink.h"
#include "cluster/driver.h"
#include "cluster/timing.h"
#include "connectors/table_options.h"
#include "formats/json_text.h"
#include "functions/aggregate.h"
#include "functions/function.h"
#include "job/job_metrics.h"
#include "storage/object.h"
#include "storage/retention.h"

enum { FIELDS_MAX = 6, NAMES_MAX = 2048 };

/* One entry: its fields in order; a NULL value is left out. */
struct entry {
    const char *keys[FIELDS_MAX];
    const char *values[FIELDS_MAX];
    const char *title; /* in a list, instead of the name; NULL: the name */
};
struct reference {
    struct text_builder out;
    const char *name;  /* asked for; NULL: all */
    bool json, prefix; /* prefix: name need only begin the entry's */
    uint32_t printed;
    const char *names[NAMES_MAX]; /* seen, for "did you mean" */
    uint32_t name_count;
};

static void append_json(struct reference *self, const struct entry *entry)
{
    text_append_text(&self->out, self->printed == 0 ? "[\n  {" : ",\n  {");
    bool first = true;
    for (uint32_t i = 0; i < FIELDS_MAX && entry->keys[i] != NULL; i++) {
        if (entry->values[i] != NULL) {
            text_append_text(&self->out, first ? "" : ", ");
            json_append_string(text_from(entry->keys[i]), JSON_ESCAPE_MINIMAL, &self->out);
            text_append_text(&self->out, ": ");
            json_append_string(text_from(entry->values[i]), JSON_ESCAPE_MINIMAL, &self->out);
            first = false;
        }
    }
    text_append_char(&self->out, '}');
}

/* All entries: name and the last field (the summary) on a line. One entry: all its fields. */
static void append_plain(struct reference *self, const struct entry *entry)
{
    if (self->name == NULL || self->prefix) {
        uint32_t last = 0;
        while (last + 1 < FIELDS_MAX && entry->keys[last + 1] != NULL) {
            last++;
        }
        text_append_format(&self->out, "%-40s %s\n", entry->title == NULL ? entry->values[0] : entry->title,
                           entry->values[last] == NULL ? "" : entry->values[last]);
        return;
    }
    for (uint32_t i = 0; i < FIELDS_MAX && entry->keys[i] != NULL; i++) {
        if (entry->values[i] != NULL) {
            text_append_format(&self->out, "%s: %s\n", entry->keys[i], entry->values[i]);
        }
    }
}

/* The first field is the name. */
static bool reference_add(struct reference *self, const struct entry *entry)
{
    const char *name = entry->values[0];
    if (self->name_count < NAMES_MAX) {
        self->names[self->name_count++] = name;
    }
    if (self->name != NULL && (self->prefix ? strncasecmp(name, self->name, strlen(self->name)) : strcasecmp(name, self->name)) != 0) {
        return false;
    }
    if (self->json) {
        append_json(self, entry);
    } else {
        append_plain(self, entry);
    }
    self->printed++;
    return true;
}

static enum status add_functions(struct reference *self, struct error *err)
{
    (void)err;
    uint32_t count;
    const struct function *const *functions = function_list(&count);
    for (uint32_t i = 0; i < count; i++) {
        const struct function *f = functions[i];
        reference_add(self, &(struct entry){{"name", "kind", "category", "syntax", "example", "summary"},
                                            {f->name, "scalar", f->category, f->syntax, f->example, f->summary}});
    }
    const struct aggregate_function *const *aggregates = aggregate_list(&count);
    for (uint32_t i = 0; i < count; i++) {
        const struct aggregate_function *a = aggregates[i];
        reference_add(self, &(struct entry){{"name", "kind", "syntax", "example", "summary"},
                                            {a->name, "aggregate", a->syntax, a->example, a->summary}});
    }
    return STATUS_OK;
}

static const char *const option_kinds[] = {
    [OPTION_KIND_BOOL] = "boolean",         [OPTION_KIND_INT64] = "integer",
    [OPTION_KIND_DOUBLE] = "number",        [OPTION_KIND_TEXT] = "text",
    [OPTION_KIND_DURATION] = "duration",    [OPTION_KIND_BYTES] = "size",
    [OPTION_KIND_CHOICE] = "one of a list",
};

static void add_option(struct reference *self, const struct option_def *def, const char *prefix)
{
    char name[256], kind[512];
    snprintf(name, sizeof name, "%s%s", prefix, def->name);
    int used = snprintf(kind, sizeof kind, "%s", option_kinds[def->kind]);
    for (uint32_t i = 0; def->kind == OPTION_KIND_CHOICE && def->choices[i] != NULL; i++) {
        used += snprintf(kind + used, sizeof kind - (size_t)used, "%s%s", i == 0 ? ": " : ", ", def->choices[i]);
    }
    const struct entry entry = {{"name", "type", "default", "required", "summary"},
                                {name, kind, def->initial, (def->flags & OPTION_REQUIRED) != 0 ? "yes" : NULL, def->summary}};
    reference_add(self, &entry);
    self->name_count--; /* the name is on this stack; option names are not suggested */
}

/* The options of one owner, when it was asked for by name. */
static void add_owned_options(struct reference *self, const struct option_def *defs, size_t count, const char *prefix)
{
    const char *asked = self->name;
    if (asked == NULL || self->json) {
        return;
    }
    text_append_text(&self->out, "options:\n");
    self->name = NULL;
    for (size_t i = 0; i < count; i++) {
        text_append_text(&self->out, "  ");
        add_option(self, &defs[i], prefix);
        if (defs[i].initial != NULL) {
            text_append_format(&self->out, "  %-40s default: %s\n", "", defs[i].initial);
        }
    }
    self->name = asked;
}

static enum status add_connectors(struct reference *self, struct error *err)
{
    (void)err;
    uint32_t count;
    const struct source_type *const *sources = source_type_list(&count);
    for (uint32_t i = 0; i < count; i++) {
        const struct source_type *s = sources[i];
        if (reference_add(self, &(struct entry){{"name", "use", "summary"}, {s->name, "source", s->summary}})) {
            add_owned_options(self, s->options, s->option_count, "");
            add_owned_options(self, common_source_options, common_source_option_count, "");
        }
    }
    const struct sink_type *const *sinks = sink_type_list(&count);
    for (uint32_t i = 0; i < count; i++) {
        const struct sink_type *s = sinks[i];
        if (reference_add(self, &(struct entry){{"name", "use", "summary"}, {s->name, "sink", s->summary}})) {
            add_owned_options(self, s->options, s->option_count, "");
        }
    }
    return STATUS_OK;
}

static enum status add_formats(struct reference *self, struct error *err)
{
    (void)err;
    uint32_t count;
    char prefix[64];
    const struct decoder_type *const *decoders = decoder_type_list(&count);
    for (uint32_t i = 0; i < count; i++) {
        const struct decoder_type *d = decoders[i];
        snprintf(prefix, sizeof prefix, "%s.", d->name);
        if (reference_add(self, &(struct entry){{"name", "use", "summary"}, {d->name, "reading", d->summary}})) {
            add_owned_options(self, d->options, d->option_count, prefix);
        }
    }
    const struct encoder_type *const *encoders = encoder_type_list(&count);
    for (uint32_t i = 0; i < count; i++) {
        const struct encoder_type *e = encoders[i];
        snprintf(prefix, sizeof prefix, "%s.", e->name);
        if (reference_add(self, &(struct entry){{"name", "use", "summary"}, {e->name, "writing", e->summary}})) {
            add_owned_options(self, e->options, e->option_count, prefix);
        }
    }
    return STATUS_OK;
}

/* Those built in, and those whose modules are installed. */
static enum status add_stores(struct reference *self, struct error *err)
{
    (void)err;
    uint32_t count;
    const struct object_driver *const *drivers = object_driver_list(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (reference_add(self, &(struct entry){{"name", "summary"}, {drivers[i]->scheme, drivers[i]->summary}})) {
            add_owned_options(self, drivers[i]->options, drivers[i]->option_count, "");
        }
    }
    return STATUS_OK;
}

static enum status add_drivers(struct reference *self, struct error *err)
{
    (void)err;
    uint32_t count;
    const struct cluster_driver *const *drivers = cluster_driver_list(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (reference_add(self, &(struct entry){{"name", "summary"}, {drivers[i]->scheme, drivers[i]->summary}})) {
            add_owned_options(self, drivers[i]->options, drivers[i]->option_count, "");
        }
    }
    return STATUS_OK;
}

/* Their defaults are those of the coordination service. */
static void add_timing_options(struct reference *self)
{
    uint32_t count;
    const struct option_def *options = timing_option_list(&count);
    for (uint32_t i = 0; i < count; i++) {
        struct option_def one = options[i];
        char summary[400];
        snprintf(summary, sizeof summary, "%s Default: %s in a folder, %s with ZooKeeper, %s with Azure.", one.summary,
                 timing_initial(&options[i], TIMING_LOCAL), timing_initial(&options[i], TIMING_PUSHED),
                 timing_initial(&options[i], TIMING_POLLED));
        one.summary = summary;
        add_option(self, &one, "");
    }
}

static enum status add_options(struct reference *self, struct error *err)
{
    (void)err;
    self->prefix = true;
    for (uint32_t i = 0; i < session_option_count; i++) {
        add_option(self, &session_options[i], "");
    }
    size_t storage_count;
    const struct option_def *storage_options = storage_option_list(&storage_count);
    for (size_t i = 0; i < storage_count; i++) {
        if (strcmp(storage_options[i].name, "storage.uri") != 0) { /* it is a session's, too */
            add_option(self, &storage_options[i], "");
        }
    }
    add_timing_options(self);
    for (uint32_t i = 0; i < flink_key_count; i++) {
        static const char *const kinds[][2] = {[FLINK_KEY_ADVISORY] = {"advisory", "changes nothing"},
                                               [FLINK_KEY_REFUSED] = {"refused", "not supported"},
                                               [FLINK_KEY_RENAMED] = {"older name", "now"}};
        const struct flink_key *key = &flink_keys[i];
        char summary[400];
        snprintf(summary, sizeof summary, "(%s: %s)", kinds[key->kind][1], key->text);
        reference_add(self, &(struct entry){{"name", "type", "summary"}, {key->key, kinds[key->kind][0], summary}});
    }
    return STATUS_OK;
}

static enum status add_errors(struct reference *self, struct error *err)
{
    (void)err;
    uint32_t count;
    const struct error_info *infos = error_info_list(&count);
    const char *asked = self->name;
    if (asked != NULL && strncasecmp(asked, "SPATE-", 6) == 0) {
        self->name = asked + 6;
    }
    for (uint32_t i = 0; i < count; i++) {
        char number[16], title[64];
        snprintf(number, sizeof number, "%u", infos[i].number);
        snprintf(title, sizeof title, "%u %s", infos[i].number, infos[i].name);
        bool by_name = asked != NULL && strcasecmp(asked, infos[i].name) == 0;
        const char *kept = self->name;
        self->name = by_name ? number : kept;
        reference_add(self, &(struct entry){{"code", "name", "sqlstate", "what to do"},
                                            {number, infos[i].name, infos[i].sqlstate, infos[i].remedy},
                                            title});
        self->name = kept;
        self->names[self->name_count - 1] = infos[i].name; /* the number is on this stack */
    }
    self->name = asked;
    return STATUS_OK;
}

static enum status add_metrics(struct reference *self, struct error *err)
{
    (void)err;
    for (int i = 0; i < JOB_METRIC_COUNT; i++) {
        reference_add(self, &(struct entry){{"name", "summary"}, {job_metric_name(i), job_metric_summary(i)}});
    }
    return STATUS_OK;
}

static const struct {
    const char *what;
    enum status (*add)(struct reference *self, struct error *err);
} references[] = {
    {"functions", add_functions}, {"connectors", add_connectors}, {"formats", add_formats}, {"stores", add_stores},
    {"drivers", add_drivers},     {"options", add_options},       {"errors", add_errors},   {"metrics", add_metrics},
};

static enum status reference_finish(struct reference *self, const char *what, struct error *err)
{
    if (self->printed == 0 && self->name != NULL) {
        const char *near = text_nearest(self->name, self->names, self->name_count);
        return error_set(err, ERROR_UNKNOWN_NAME, "there is no '%s' among the %s%s%s%s", self->name, what,
                         near == NULL ? "" : "; did you mean '", near == NULL ? "" : near, near == NULL ? "" : "'?");
    }
    if (self->json) {
        text_append_text(&self->out, self->printed == 0 ? "[]\n" : "\n]\n");
    }
    return self->out.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for the reference") : STATUS_OK;
}

static enum status reference_make(struct reference *self, const char *what, struct error *err)
{
    for (uint32_t i = 0; i < ARRAY_LENGTH(references); i++) {
        if (strcmp(references[i].what, what) == 0) {
            TRY(references[i].add(self, err));
            return reference_finish(self, what, err);
        }
    }
    return error_set(err, ERROR_MISUSE, "'%s' is not one of functions, connectors, formats, stores, drivers, options, errors, metrics",
                     what);
}

int spate_reference(spate_session *session, const char *what, const char *name, bool json, const char **text)
{
    struct reference *self = calloc(1, sizeof *self);
    enum status status;
    if (self == NULL) {
        status = error_set(&session->error, ERROR_BUDGET_SPENT, "no room for the reference");
        return session_fail(session, status);
    }
    self->name = name;
    self->json = json;
    status = reference_make(self, what, &session->error);
    if (status == STATUS_OK) {
        *text = arena_text(session->arena, self->out.bytes == NULL ? "" : self->out.bytes, self->out.length);
        if (*text == NULL) {
            status = error_set(&session->error, ERROR_BUDGET_SPENT, "no room for the reference");
        }
    }
    text_builder_close(&self->out);
    free(self);
    return status == STATUS_OK ? SPATE_OK : session_fail(session, status);
}
