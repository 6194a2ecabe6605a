/* Windows: table functions TUMBLE, HOP, CUMULATE, SESSION, and their old form in GROUP BY. */
#include <string.h>

#include "data/calendar.h"
#include "sql/binder_internal.h"

/* ---- table functions ---- */

enum parameter { PARAMETER_NONE, PARAMETER_SIZE, PARAMETER_SLIDE, PARAMETER_OFFSET };
static const struct window_function {
    const char *name;
    enum window_kind kind;
    struct {
        const char *name;
        enum parameter parameter;
        bool required;
    } parameters[3]; /* in the order of positional arguments */
} window_functions[] = {
    {"TUMBLE", WINDOW_TUMBLE, {{"SIZE", PARAMETER_SIZE, true}, {"OFFSET", PARAMETER_OFFSET, false}}},
    {"HOP", WINDOW_HOP, {{"SLIDE", PARAMETER_SLIDE, true}, {"SIZE", PARAMETER_SIZE, true}, {"OFFSET", PARAMETER_OFFSET, false}}},
    {"CUMULATE", WINDOW_CUMULATE, {{"STEP", PARAMETER_SLIDE, true}, {"SIZE", PARAMETER_SIZE, true}, {"OFFSET", PARAMETER_OFFSET, false}}},
    {"SESSION", WINDOW_SESSION, {{"GAP", PARAMETER_SIZE, true}}},
};

struct window_call {
    const struct window_function *function;
    const struct ast_expression *data, *time;
    const struct ast_expression *values[3];
};

static const struct window_function *find_window_function(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(window_functions); i++) {
        if (name != NULL && strcmp(window_functions[i].name, name) == 0) {
            return &window_functions[i];
        }
    }
    return NULL;
}

static enum status take_named(struct window_call *call, const struct ast_expression *argument, struct error *err)
{
    const char *name = argument->name.parts[0];
    if (text_equal_ignoring_case(text_from(name), TEXT("DATA"))) {
        call->data = argument->args[0];
        return STATUS_OK;
    }
    if (text_equal_ignoring_case(text_from(name), TEXT("TIMECOL"))) {
        call->time = argument->args[0];
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < 3 && call->function->parameters[i].name != NULL; i++) {
        if (text_equal_ignoring_case(text_from(name), text_from(call->function->parameters[i].name))) {
            call->values[i] = argument->args[0];
            return STATUS_OK;
        }
    }
    return bind_refuse(&argument->at, ERROR_WRONG_ARGUMENTS, err, "%s has no argument '%s'", call->function->name, name);
}

static enum status take_arguments(struct window_call *call, const struct ast_expression *ast, struct error *err)
{
    for (uint32_t i = 0; i < ast->arg_count; i++) {
        const struct ast_expression *argument = ast->args[i];
        if (argument->kind == AST_NAMED_ARG) {
            TRY(take_named(call, argument, err));
        } else if (i == 0) {
            call->data = argument;
        } else if (i == 1) {
            call->time = argument;
        } else if (i < 5 && call->function->parameters[i - 2].name != NULL) {
            call->values[i - 2] = argument;
        } else {
            return bind_refuse(&argument->at, ERROR_WRONG_ARGUMENTS, err, "%s has too many arguments", call->function->name);
        }
    }
    if (call->data == NULL || (call->data->kind != AST_TABLE_ARG && call->data->kind != AST_SUBQUERY)) {
        return bind_refuse(&ast->at, ERROR_WRONG_ARGUMENTS, err, "the first argument of %s is TABLE name or (query)", call->function->name);
    }
    if (call->time == NULL || call->time->kind != AST_DESCRIPTOR || call->time->arg_count != 1) {
        return bind_refuse(&ast->at, ERROR_WRONG_ARGUMENTS, err, "the second argument of %s is DESCRIPTOR(column)", call->function->name);
    }
    for (uint32_t i = 0; i < 3 && call->function->parameters[i].name != NULL; i++) {
        if (call->function->parameters[i].required && call->values[i] == NULL) {
            return bind_refuse(&ast->at, ERROR_WRONG_ARGUMENTS, err, "%s needs its argument %s", call->function->name,
                               call->function->parameters[i].name);
        }
    }
    return STATUS_OK;
}

static enum status window_sizes(struct binder *binder, const struct window_call *call, struct window_spec *window, struct error *err)
{
    struct scope scope = {.clause = "a window function"};
    for (uint32_t i = 0; i < 3; i++) {
        int64_t us;
        if (call->values[i] == NULL || (call->values[i]->kind == AST_NULL)) {
            continue;
        }
        TRY(bind_constant_interval(binder, &scope, call->values[i], call->function->parameters[i].name, &us, err));
        enum parameter parameter = call->function->parameters[i].parameter;
        if (parameter != PARAMETER_OFFSET && us <= 0) {
            return bind_refuse(&call->values[i]->at, ERROR_INVALID_WINDOW, err, "%s must be above zero",
                               call->function->parameters[i].name);
        }
        *(parameter == PARAMETER_SIZE ? &window->size_us : parameter == PARAMETER_SLIDE ? &window->slide_us : &window->offset_us) = us;
    }
    return STATUS_OK;
}

enum { ROW_WINDOWS_MAX = 1000000 };

/* A window has room within 64 bits of microseconds around any time (data/calendar.h). */
static enum status check_length(const struct window_spec *window, const struct position *at, struct error *err)
{
    const int64_t limit = INT64_C(1461000) * US_PER_DAY;
    bool fits = window->size_us <= limit && window->slide_us <= limit && window->offset_us <= limit && window->offset_us >= -limit;
    return fits ? STATUS_OK : bind_refuse(at, ERROR_INVALID_WINDOW, err, "the intervals of a window may have up to 4,000 years");
}

static enum status check_window_count(const struct window_spec *window, const struct position *at, struct error *err)
{
    bool many = window->kind == WINDOW_HOP || window->kind == WINDOW_CUMULATE;
    int64_t count = many && window->slide_us > 0 ? window->size_us / window->slide_us : 1;
    return count <= ROW_WINDOWS_MAX
               ? STATUS_OK
               : bind_refuse(at, ERROR_TOO_MANY, err, "each row would be in %lld windows; the limit is %d: widen the slide or step",
                             (long long)count, ROW_WINDOWS_MAX);
}

static enum status check_sizes(const struct window_call *call, const struct window_spec *window, const struct position *at,
                               struct error *err)
{
    TRY(check_length(window, at, err));
    if ((window->kind == WINDOW_HOP || window->kind == WINDOW_CUMULATE) && window->size_us % window->slide_us != 0) {
        return bind_refuse(at, ERROR_INVALID_WINDOW, err, "the SIZE of %s must be a multiple of its %s", call->function->name,
                           call->function->parameters[0].name);
    }
    TRY(check_window_count(window, at, err));
    int64_t offset = window->offset_us < 0 ? -window->offset_us : window->offset_us;
    if (offset >= window->size_us && window->kind != WINDOW_SESSION) {
        return bind_refuse(at, ERROR_INVALID_WINDOW, err, "the OFFSET of %s must be smaller than its SIZE", call->function->name);
    }
    return STATUS_OK;
}

static enum status window_input(struct binder *binder, struct scope *outer, const struct ast_expression *data, struct relation **relation,
                                struct error *err)
{
    if (data->subquery != NULL) {
        return bind_whole_query(binder, outer, data->subquery, relation, err);
    }
    return bind_named_table(binder, &data->name, NULL, 0, relation, err);
}

static enum status window_time(struct binder *binder, const struct window_call *call, const struct relation *input, struct scope *scope,
                               struct window_spec *window, struct error *err)
{
    const struct expression *time;
    const struct ast_expression *ast = call->time->args[0];
    TRY(bind_scalar(binder, scope, ast, &time, err));
    enum time_attribute attribute = time->kind == EXPRESSION_COLUMN ? bind_time(time, input) : TIME_NONE;
    if (attribute == TIME_NONE) {
        return bind_refuse(&ast->at, ERROR_INVALID_WINDOW, err,
                           "the window function %s needs a time attribute: a column with a WATERMARK, or PROCTIME()", call->function->name);
    }
    window->time_column = time->index;
    window->processing_time = attribute == TIME_PROCTIME;
    return STATUS_OK;
}

static enum status window_partition(struct binder *binder, const struct window_call *call, struct scope *scope, struct window_spec *window,
                                    struct error *err)
{
    uint32_t *partition;
    if (call->data->partition_count == 0) {
        return STATUS_OK;
    }
    if (call->function->kind != WINDOW_SESSION) {
        return bind_refuse(&call->data->at, ERROR_WRONG_ARGUMENTS, err, "PARTITION BY is for SESSION: %s takes none", call->function->name);
    }
    TRY_ALLOC(partition, arena_alloc(binder->arena, call->data->partition_count * sizeof *partition), err);
    for (uint32_t i = 0; i < call->data->partition_count; i++) {
        const struct expression *column;
        TRY(bind_scalar(binder, scope, call->data->partition[i], &column, err));
        if (column->kind != EXPRESSION_COLUMN) {
            return bind_refuse(&call->data->partition[i]->at, ERROR_NOT_SUPPORTED, err, "PARTITION BY of SESSION takes columns");
        }
        partition[i] = column->index;
    }
    window->partition = partition;
    window->partition_count = call->data->partition_count;
    return STATUS_OK;
}

static enum status make_window(struct binder *binder, struct relation *input, const struct window_spec *window, struct relation **relation,
                               struct error *err)
{
    uint32_t count = input->schema.count;
    const struct column *time = &input->schema.columns[window->time_column];
    TRY_ALLOC(*relation, relation_make(binder->arena, RELATION_WINDOW, &input, 1, count + 3), err);
    struct column *columns = relation_columns(*relation);
    memcpy(columns, input->schema.columns, count * sizeof *columns);
    for (uint32_t i = 0; i < count; i++) {
        columns[i].time = columns[i].time == TIME_ROWTIME ? TIME_NONE : columns[i].time;
    }
    columns[count] = (struct column){.name = "window_start", .type = &type_timestamp3_not_null};
    columns[count + 1] = (struct column){.name = "window_end", .type = &type_timestamp3_not_null};
    columns[count + 2] = (struct column){.name = "window_time", .time = time->time};
    columns[count + 2].type = time->type->kind == TYPE_TIMESTAMP_LTZ ? &type_timestamp_ltz3_not_null : &type_timestamp3_not_null;
    (*relation)->window = *window;
    return STATUS_OK;
}

/* Those of Flink that this version does not run are refused by name. */
static enum status refuse_table_function(const struct ast_table *ast, struct error *err)
{
    static const char *const flink[] = {"TO_CHANGELOG", "FROM_CHANGELOG", "ML_PREDICT", "ML_EVALUATE", "ML_FORECAST", "VECTOR_SEARCH"};
    const char *name = ast->call->function != NULL ? ast->call->function : "?";
    for (size_t i = 0; i < ARRAY_LENGTH(flink); i++) {
        if (strcmp(name, flink[i]) == 0) {
            return bind_refuse(&ast->at, ERROR_NOT_SUPPORTED, err, "the table function %s is not supported", name);
        }
    }
    return bind_refuse(&ast->at, ERROR_UNKNOWN_FUNCTION, err,
                       "there is no table function '%s'; there are TUMBLE, HOP, CUMULATE, SESSION and UNNEST", name);
}

enum status bind_window_function(struct binder *binder, struct scope *outer, const struct ast_table *ast, struct relation **relation,
                                 struct error *err)
{
    struct window_call call = {.function = find_window_function(ast->call->function)};
    struct window_spec window = {0};
    struct relation *input;
    struct scope scope;
    if (call.function == NULL) {
        return refuse_table_function(ast, err);
    }
    window.kind = call.function->kind;
    TRY(take_arguments(&call, ast->call, err));
    TRY(window_input(binder, outer, call.data, &input, err));
    const char *table = call.data->subquery == NULL ? call.data->name.parts[call.data->name.count - 1] : NULL;
    TRY(scope_from_relation(binder, input, table, &scope, err));
    scope.clause = "a window function";
    TRY(window_time(binder, &call, input, &scope, &window, err));
    TRY(window_sizes(binder, &call, &window, err));
    TRY(check_sizes(&call, &window, &ast->at, err));
    TRY(window_partition(binder, &call, &scope, &window, err));
    return make_window(binder, input, &window, relation, err);
}

/* ---- the old form: GROUP BY TUMBLE(time, INTERVAL ...) ---- */

bool legacy_window_is(const struct ast_expression *ast)
{
    return ast->kind == AST_CALL && ast->over == NULL && ast->arg_count >= 2 && ast->args[0]->kind != AST_TABLE_ARG &&
           ast->function != NULL &&
           (strcmp(ast->function, "TUMBLE") == 0 || strcmp(ast->function, "HOP") == 0 || strcmp(ast->function, "SESSION") == 0);
}

static const struct {
    const char *suffix;
    enum window_column column;
} auxiliaries[] = {
    {"_START", WINDOW_COLUMN_START},
    {"_END", WINDOW_COLUMN_END},
    {"_ROWTIME", WINDOW_COLUMN_ROWTIME},
    {"_PROCTIME", WINDOW_COLUMN_PROCTIME},
};

static int find_auxiliary(const char *name)
{
    static const char *const windows[] = {"TUMBLE", "HOP", "SESSION"};
    for (size_t w = 0; w < ARRAY_LENGTH(windows); w++) {
        size_t length = strlen(windows[w]);
        for (size_t i = 0; strncmp(name, windows[w], length) == 0 && i < ARRAY_LENGTH(auxiliaries); i++) {
            if (strcmp(name + length, auxiliaries[i].suffix) == 0) {
                return (int)i;
            }
        }
    }
    return -1;
}

bool legacy_auxiliary_is(const struct ast_expression *ast)
{
    return ast->kind == AST_CALL && ast->function != NULL && find_auxiliary(ast->function) >= 0;
}

/* What stands after the time: the size, or with three arguments (HOP) slide and size. */
static enum status legacy_intervals(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                                    struct window_spec *window, struct error *err)
{
    bool hop = ast->arg_count == 3;
    if (hop) {
        TRY(bind_constant_interval(binder, scope, ast->args[1], "the slide", &window->slide_us, err));
    }
    return bind_constant_interval(binder, scope, ast->args[hop ? 2 : 1], "the size", &window->size_us, err);
}

enum status bind_legacy_window(struct binder *binder, struct aggregation *self, const struct ast_expression *ast, struct error *err)
{
    const struct expression *time;
    struct window_spec *window = &self->window;
    bool hop = strcmp(ast->function, "HOP") == 0;
    if (self->window_call != NULL) {
        return bind_refuse(&ast->at, ERROR_NOT_SUPPORTED, err, "a second window in one GROUP BY is not supported");
    }
    if (ast->arg_count != (hop ? 3u : 2u)) {
        return bind_refuse(&ast->at, ERROR_WRONG_ARGUMENTS, err, "%s takes %s", ast->function,
                           hop ? "a time, a slide and a size" : "a time and an interval");
    }
    self->scope->clause = "GROUP BY";
    TRY(bind_scalar(binder, self->scope, ast->args[0], &time, err));
    enum time_attribute attribute = TIME_NONE;
    for (uint32_t i = 0; i < self->scope->count; i++) {
        if (expression_equal(self->scope->columns[i].value, time)) {
            attribute = self->scope->columns[i].time;
        }
    }
    if (attribute == TIME_NONE) {
        return bind_refuse(&ast->args[0]->at, ERROR_INVALID_WINDOW, err,
                           "the window %s needs a time attribute: a column with a WATERMARK, or PROCTIME()", ast->function);
    }
    window->kind = hop ? WINDOW_HOP : strcmp(ast->function, "TUMBLE") == 0 ? WINDOW_TUMBLE : WINDOW_SESSION;
    window->processing_time = attribute == TIME_PROCTIME;
    TRY(legacy_intervals(binder, self->scope, ast, window, err));
    if (window->size_us <= 0 || (hop && window->slide_us <= 0)) {
        return bind_refuse(&ast->at, ERROR_INVALID_WINDOW, err, "the intervals of %s must be above zero", ast->function);
    }
    TRY(check_length(window, &ast->at, err));
    TRY(check_window_count(window, &ast->at, err));
    self->window_call = ast;
    self->window_time = time;
    return STATUS_OK;
}

/* By its values, not by its text: INTERVAL '60' SECOND is INTERVAL '1' MINUTE. */
static enum status same_window(struct binder *binder, struct scope *scope, const struct ast_expression *auxiliary, bool *same,
                               struct error *err)
{
    const struct aggregation *self = scope->aggregation;
    const struct expression *time;
    struct window_spec window = {0};
    size_t length = strlen(self->window_call->function);
    *same = strncmp(auxiliary->function, self->window_call->function, length) == 0 && auxiliary->function[length] == '_' &&
            auxiliary->arg_count == self->window_call->arg_count;
    if (!*same) {
        return STATUS_OK;
    }
    TRY(bind_scalar(binder, scope, auxiliary->args[0], &time, err));
    TRY(legacy_intervals(binder, scope, auxiliary, &window, err));
    *same = expression_equal(time, self->window_time) && window.size_us == self->window.size_us && window.slide_us == self->window.slide_us;
    return STATUS_OK;
}

enum status bind_legacy_auxiliary(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                                  const struct expression **expression, struct error *err)
{
    struct aggregation *self = scope->aggregation;
    enum window_column which = auxiliaries[find_auxiliary(ast->function)].column;
    bool same = false;
    if (self != NULL && self->window_call != NULL) {
        TRY(same_window(binder, scope, ast, &same, err));
    }
    if (!same) {
        return bind_refuse(&ast->at, ERROR_INVALID_WINDOW, err, "%s needs the same window in GROUP BY", ast->function);
    }
    uint32_t index = 0;
    while (index < self->window_column_count && self->window_columns[index] != which) {
        index++;
    }
    if (index == self->window_column_count) {
        TRY_ALLOC(self->window_columns,
                  arena_grow(binder->arena, self->window_columns, &self->window_column_capacity, index + 1, sizeof *self->window_columns),
                  err);
        self->window_columns[self->window_column_count++] = which;
    }
    bool local = which == WINDOW_COLUMN_START || which == WINDOW_COLUMN_END;
    const struct type *type =
        !local && self->window_time->type->kind == TYPE_TIMESTAMP_LTZ ? &type_timestamp_ltz3_not_null : &type_timestamp3_not_null;
    TRY_ALLOC(*expression, expression_column(binder->arena, PLACEHOLDER_WINDOW + index, type), err);
    (void)bind_at(*expression, &ast->at);
    return STATUS_OK;
}
