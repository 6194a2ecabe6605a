#include "cluster/control/verbs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/task_id.h"

enum { VERBS_MAX = 64, ARGS_MAX = 8 };

static bool verb_is_pattern(const struct control_verb *verb)
{
    return verb->name[strlen(verb->name) - 1] == '*';
}

static bool verb_matches(const struct control_verb *verb, const char *name)
{
    size_t prefix = strlen(verb->name) - 1;
    return verb_is_pattern(verb) ? strncmp(verb->name, name, prefix) == 0 && name[prefix] != '\0' : strcmp(verb->name, name) == 0;
}

/* The full name of what is near, also to one who leaves "core." out. */
static const char *nearest_verb(const struct verb_table *table, const char *name)
{
    static const char core[] = "core.";
    const char *names[2 * VERBS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->count && i < VERBS_MAX; i++) {
        names[count++] = table->verbs[i].name;
        if (strncmp(table->verbs[i].name, core, sizeof core - 1) == 0) {
            names[count++] = table->verbs[i].name + sizeof core - 1;
        }
    }
    const char *nearest = text_nearest(name, names, count);
    const struct control_verb *verb = nearest == NULL ? NULL : control_verb_find_short(table, nearest);
    return verb == NULL ? NULL : verb->name;
}

enum status control_verb_find(const struct verb_table *table, const char *name, const struct control_verb **verb, struct error *err)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (verb_matches(&table->verbs[i], name)) {
            *verb = &table->verbs[i];
            return STATUS_OK;
        }
    }
    *verb = NULL;
    const char *nearest = nearest_verb(table, name);
    if (nearest != NULL) {
        return error_set(err, ERROR_CTL_UNKNOWN_VERB, "no verb '%.100s'; did you mean '%s'?", name, nearest);
    }
    return error_set(err, ERROR_CTL_UNKNOWN_VERB, "no verb '%.100s'", name);
}

const struct control_verb *control_verb_find_short(const struct verb_table *table, const char *name)
{
    static const char core[] = "core.";
    for (uint32_t i = 0; i < table->count; i++) {
        const struct control_verb *verb = &table->verbs[i];
        bool is_core = strncmp(verb->name, core, sizeof core - 1) == 0;
        if (verb_matches(verb, name) || (is_core && strcmp(verb->name + sizeof core - 1, name) == 0)) {
            return verb;
        }
    }
    return NULL;
}

/* ---- arguments ---- */

static void range_of(const struct verb_arg *arg, int64_t *min, int64_t *max)
{
    *min = arg->min;
    *max = arg->min == 0 && arg->max == 0 ? INT32_MAX : arg->max;
}

static bool int_fits(const struct verb_arg *arg, const json_t *value)
{
    int64_t min, max;
    range_of(arg, &min, &max);
    return json_is_integer(value) && json_integer_value(value) >= min && json_integer_value(value) <= max;
}

static int compare_ints(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static bool ints_fit(const struct verb_arg *arg, const json_t *value)
{
    size_t count = json_array_size(value);
    int64_t *numbers = count == 0 ? NULL : malloc(count * sizeof *numbers);
    bool fit = numbers != NULL;
    for (size_t i = 0; fit && i < count; i++) {
        fit = int_fits(arg, json_array_get(value, i));
        numbers[i] = json_integer_value(json_array_get(value, i));
    }
    if (fit) {
        qsort(numbers, count, sizeof *numbers, compare_ints);
    }
    for (size_t i = 1; fit && i < count; i++) {
        fit = numbers[i] != numbers[i - 1];
    }
    free(numbers);
    return fit;
}

static bool text_fits(const struct verb_arg *arg, const json_t *value)
{
    return json_is_string(value) && json_string_length(value) > 0;
}

static bool bool_fits(const struct verb_arg *arg, const json_t *value)
{
    return json_is_boolean(value);
}

static bool choice_fits(const struct verb_arg *arg, const json_t *value)
{
    for (uint32_t i = 0; json_is_string(value) && arg->choices[i] != NULL; i++) {
        if (strcmp(arg->choices[i], json_string_value(value)) == 0) {
            return true;
        }
    }
    return false;
}

static bool task_fits(const struct verb_arg *arg, const json_t *value)
{
    uint64_t first, last;
    return json_is_string(value) && task_run_parse(json_string_value(value), &first, &last) && first == last;
}

static bool sha256_fits(const struct verb_arg *arg, const json_t *value)
{
    return json_is_string(value) && json_string_length(value) == CONTROL_SHA256_BYTES - 1 &&
           strspn(json_string_value(value), "0123456789abcdef") == CONTROL_SHA256_BYTES - 1;
}

static bool json_fits(const struct verb_arg *arg, const json_t *value)
{
    return true;
}

static bool object_fits(const struct verb_arg *arg, const json_t *value)
{
    return json_is_object(value);
}

static const struct arg_type {
    const char *text, *wants;
    bool (*fits)(const struct verb_arg *arg, const json_t *value);
} arg_types[VERB_ARG_KIND_COUNT] = {
    [VERB_TEXT] = {"text", "a text that is not empty", text_fits},
    [VERB_INT] = {"number", "a whole number", int_fits},
    [VERB_INTS] = {"numbers", "an array of whole numbers, none twice,", ints_fit},
    [VERB_BOOL] = {"true or false", "true or false", bool_fits},
    [VERB_CHOICE] = {"choice", "one of ", choice_fits},
    [VERB_TASK] = {"task", "a task, like \"s1.17\" or \"all\"", task_fits},
    [VERB_SHA256] = {"SHA-256", "a SHA-256 in 64 hexadecimal digits", sha256_fits},
    [VERB_JSON] = {"JSON", "a JSON value", json_fits},
    [VERB_OBJECT] = {"JSON object", "a JSON object", object_fits},
};

const char *verb_arg_kind_text(enum verb_arg_kind kind)
{
    return arg_types[kind].text;
}

static void describe_wanted(const struct verb_arg *arg, struct text_builder *text)
{
    text_append_text(text, arg_types[arg->kind].wants);
    if (arg->kind == VERB_INT || arg->kind == VERB_INTS) {
        int64_t min, max;
        range_of(arg, &min, &max);
        text_append_format(text, " from %" PRId64 " to %" PRId64, min, max);
    }
    for (uint32_t i = 0; arg->kind == VERB_CHOICE && arg->choices[i] != NULL; i++) {
        text_append_format(text, "%s%s", i == 0 ? "" : ", ", arg->choices[i]);
    }
}

static const struct verb_arg *find_arg(const struct control_verb *verb, const char *name)
{
    for (uint32_t i = 0; i < verb->arg_count; i++) {
        if (strcmp(verb->args[i].name, name) == 0) {
            return &verb->args[i];
        }
    }
    return NULL;
}

/* Begins the next problem of a list. */
static struct text_builder *next_problem(struct text_builder *problems)
{
    text_append_text(problems, problems->length == 0 ? "" : "; ");
    return problems;
}

static void find_unknown_args(const struct control_verb *verb, json_t *args, struct text_builder *problems)
{
    const char *names[ARGS_MAX];
    const char *name;
    json_t *value;
    for (uint32_t i = 0; i < verb->arg_count; i++) {
        names[i] = verb->args[i].name;
    }
    json_object_foreach(args, name, value)
    {
        if (find_arg(verb, name) != NULL) {
            continue;
        }
        const char *nearest = text_nearest(name, names, verb->arg_count);
        text_append_format(next_problem(problems), "it takes no \"%.60s\"", name);
        if (nearest != NULL) {
            text_append_format(problems, "; did you mean \"%s\"?", nearest);
        }
    }
}

static void find_wrong_args(const struct control_verb *verb, const json_t *args, struct text_builder *problems)
{
    for (uint32_t i = 0; i < verb->arg_count; i++) {
        const struct verb_arg *arg = &verb->args[i];
        const json_t *value = json_object_get(args, arg->name);
        if (value == NULL && arg->required) {
            text_append_format(next_problem(problems), "\"%s\" is missing", arg->name);
        } else if (value != NULL && !arg_types[arg->kind].fits(arg, value)) {
            text_append_format(next_problem(problems), "\"%s\" must be ", arg->name);
            describe_wanted(arg, problems);
        }
    }
    if (verb->one_of[0] != NULL && (json_object_get(args, verb->one_of[0]) == NULL) == (json_object_get(args, verb->one_of[1]) == NULL)) {
        text_append_format(next_problem(problems), "exactly one of \"%s\" and \"%s\" must be given", verb->one_of[0], verb->one_of[1]);
    }
}

enum status control_verb_check(const struct control_verb *verb, const char *args, struct error *err)
{
    json_t *object = json_loads(args, JSON_REJECT_DUPLICATES, NULL);
    struct text_builder problems = {0};
    if (!json_is_object(object)) {
        text_append_text(&problems, "the arguments must be a JSON object");
    } else if (verb_is_pattern(verb)) {
        if (strlen(args) > CONTROL_APP_ARGS_MAX) {
            text_append_format(&problems, "the arguments are %zu bytes long; %d are allowed", strlen(args), CONTROL_APP_ARGS_MAX);
        }
    } else {
        find_wrong_args(verb, object, &problems);
        find_unknown_args(verb, object, &problems);
    }
    json_decref(object);
    enum status status = STATUS_OK;
    if (problems.failed) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room to check the arguments of '%s'", verb->name);
    } else if (problems.length > 0) {
        status = error_set(err, ERROR_CTL_BAD_ARGUMENTS, "%s: %s", verb->name, problems.bytes);
    }
    text_builder_close(&problems);
    return status;
}

/* ---- arguments as people write them ---- */

static json_t *number_or_text(const char *text, size_t length)
{
    char copy[24], *end = copy;
    if (length > 0 && length < sizeof copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
        long long value = strtoll(copy, &end, 10);
        if (*end == '\0') {
            return json_integer(value);
        }
    }
    return json_stringn(text, length);
}

static json_t *numbers_of(const char *text)
{
    json_t *array = json_array();
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        json_array_append_new(array, number_or_text(at, length));
        at += length;
        if (*at == '\0') {
            return array;
        }
    }
}

/* JSON, or the text itself where it is none. */
static json_t *json_or_text(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    return value == NULL ? json_string(text) : value;
}

static json_t *value_of(const struct control_verb *verb, const struct verb_arg *arg, const char *text)
{
    enum verb_arg_kind kind = arg != NULL ? arg->kind : verb_is_pattern(verb) ? VERB_JSON : VERB_TEXT;
    switch (kind) {
    case VERB_INT:
        return number_or_text(text, strlen(text));
    case VERB_INTS:
        return numbers_of(text);
    case VERB_BOOL:
    case VERB_JSON:
    case VERB_OBJECT:
        return json_or_text(text);
    default:
        return json_string(text);
    }
}

enum status control_verb_arguments(const struct control_verb *verb, const char *const *pairs, uint32_t count, struct arena *arena,
                                   const char **json, struct error *err)
{
    json_t *object = json_object();
    char name[64], *text = NULL;
    bool good = true;
    for (uint32_t i = 0; i < count && good; i++) {
        const char *equals = strchr(pairs[i], '=');
        size_t length = equals == NULL ? 0 : (size_t)(equals - pairs[i]);
        good = length > 0 && length < sizeof name;
        if (good) {
            memcpy(name, pairs[i], length);
            name[length] = '\0';
            for (char *at = name; *at != '\0'; at++) {
                *at = *at == '-' ? '_' : *at;
            }
            good = json_object_set_new(object, name, value_of(verb, find_arg(verb, name), equals + 1)) == 0;
        }
    }
    text = good ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(object);
    *json = text == NULL ? NULL : arena_text(arena, text, strlen(text));
    free(text);
    return *json != NULL ? STATUS_OK : error_set(err, ERROR_CTL_BAD_ARGUMENTS, "arguments are written NAME=VALUE, in UTF-8");
}

/* ---- slots ---- */

/* A value as part of a slot: '/' and '%' are written %2F and %25, so that two slots never meet. */
static void append_part(struct text_builder *slot, const json_t *value)
{
    char *json = json_is_string(value) ? NULL : json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    text_append_char(slot, '/');
    for (const char *at = json_is_string(value) ? json_string_value(value) : json; at != NULL && *at != '\0'; at++) {
        if (*at == '/' || *at == '%') {
            text_append_format(slot, "%%%02X", (unsigned)*at);
        } else {
            text_append_char(slot, *at);
        }
    }
    free(json);
}

/* The nth slot: of an argument with several numbers its nth. */
static const char *slot_make(const struct control_verb *verb, const json_t *args, uint32_t nth, struct arena *arena)
{
    struct text_builder slot = {0};
    text_append_text(&slot, verb->subject);
    for (uint32_t i = 0; verb->target[i] != NULL; i++) {
        const json_t *value = json_object_get(args, verb->target[i]);
        if (value != NULL) {
            append_part(&slot, json_is_array(value) ? json_array_get(value, nth) : value);
        }
    }
    const char *text = slot.failed ? NULL : arena_text(arena, slot.bytes, slot.length);
    text_builder_close(&slot);
    return text;
}

enum status control_verb_slots(const struct control_verb *verb, const char *args, struct arena *arena, const char ***slots, uint32_t *count,
                               struct error *err)
{
    *count = 0;
    *slots = NULL;
    if (verb->subject == NULL) {
        return STATUS_OK;
    }
    json_t *object = json_loads(args, 0, NULL);
    size_t need = 1;
    for (uint32_t i = 0; verb->target[i] != NULL; i++) {
        const json_t *value = json_object_get(object, verb->target[i]);
        need = json_is_array(value) ? json_array_size(value) : need;
    }
    bool complete = (*slots = arena_alloc(arena, need * sizeof **slots)) != NULL;
    while (complete && *count < need) {
        complete = ((*slots)[*count] = slot_make(verb, object, *count, arena)) != NULL;
        *count += complete;
    }
    json_decref(object);
    return complete ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for what stays in force");
}

bool control_verb_is_known(const struct control_verb *verb, const char *const *sets, uint32_t set_count)
{
    for (uint32_t i = 0; i < set_count; i++) {
        const char *slash = strrchr(sets[i], '/');
        size_t length = slash == NULL ? 0 : (size_t)(slash - sets[i]);
        if (length > 0 && strncmp(verb->name, sets[i], length) == 0 && verb->name[length] == '.' &&
            strtoul(slash + 1, NULL, 10) >= verb->version) {
            return true;
        }
    }
    return false;
}

/* ---- help ---- */

void control_verb_describe(const struct control_verb *verb, struct text_builder *text)
{
    text_append_format(text, "%s (%s, version %" PRIu32 ", since %s): %s\n", verb->name, control_how_text(verb->how), verb->version,
                       verb->since, verb->summary);
    for (uint32_t i = 0; i < verb->arg_count; i++) {
        const struct verb_arg *arg = &verb->args[i];
        text_append_format(text, "  %-16s %s%s (", arg->name, arg->summary, arg->required ? " Required." : "");
        describe_wanted(arg, text);
        text_append_text(text, ")\n");
    }
    if (verb->undo != NULL) {
        text_append_format(text, "  undone by %s\n", verb->undo);
    }
    if (verb->deprecated != NULL) {
        text_append_format(text, "  deprecated since %s: use %s\n", verb->deprecated, verb->replaced_by);
    }
}

void control_verbs_markdown(const struct verb_table *table, struct text_builder *text)
{
    text_append_text(text, "| verb | arguments | cuts | undone by | effect |\n| --- | --- | --- | --- | --- |\n");
    for (uint32_t i = 0; i < table->count; i++) {
        const struct control_verb *verb = &table->verbs[i];
        text_append_format(text, "| `%s` | ", verb->name);
        for (uint32_t k = 0; k < verb->arg_count; k++) {
            const struct verb_arg *arg = &verb->args[k];
            text_append_format(text, "%s`%s`%s (%s)", k == 0 ? "" : ", ", arg->name, arg->required ? "" : "?", arg_types[arg->kind].text);
        }
        text_append_format(text, "%s | %s | %s%s%s | %s |\n", verb_is_pattern(verb) ? "any, at most 32 KiB" : "",
                           control_how_text(verb->how), verb->undo == NULL ? "" : "`", verb->undo == NULL ? "" : verb->undo,
                           verb->undo == NULL ? "" : "`", verb->summary);
    }
}
