/* The verbs of this build. A verb is never taken out; it is deprecated, with the one that replaces it. No argument is called like an
 * option of `spate ctl` (--key, --wait ...). */
#include "base/compiler.h"
#include "cluster/control/verbs.h"

static const char *const starts[] = {"earliest", "latest", NULL};
static const char *const levels[] = {"error", "warn", "info", "debug", NULL};

#define SOURCE(need)                                                                                                                       \
    {                                                                                                                                      \
        .name = "source", .kind = VERB_TEXT, .required = (need), .summary = "A table of the job."                                          \
    }
static const struct verb_arg partitions_add[] = {
    SOURCE(true),
    {.name = "partitions", .kind = VERB_INTS, .required = true, .summary = "Partitions to read from now on."},
    {.name = "from", .kind = VERB_CHOICE, .choices = starts, .summary = "Where to begin; earliest unless it is given."},
};
static const struct verb_arg partitions_remove[] = {
    SOURCE(true),
    {.name = "partitions", .kind = VERB_INTS, .required = true, .summary = "Partitions to read no longer."},
};
static const struct verb_arg capacity_set[] = {
    {.name = "min", .kind = VERB_INT, .summary = "Processors to keep."},
    {.name = "max", .kind = VERB_INT, .min = 1, .max = INT32_MAX, .summary = "Processors to use at most."},
    {.name = "stages", .kind = VERB_OBJECT, .summary = "Bounds of single stages: {\"s1\": {\"min\": 2, \"max\": 8}}."},
};
static const struct verb_arg task_move[] = {
    {.name = "task", .kind = VERB_TASK, .required = true, .summary = "The task to move."},
    {.name = "to", .kind = VERB_TEXT, .required = true, .summary = "The processor that shall run it."},
};
static const struct verb_arg task_restart[] = {
    {.name = "task", .kind = VERB_TASK, .required = true, .summary = "The task to stop and start where it is."},
};
static const struct verb_arg processor_drain[] = {
    {.name = "processor", .kind = VERB_TEXT, .required = true, .summary = "The processor that shall run nothing any more."},
};
static const struct verb_arg processor_undrain[] = {
    {.name = "processor", .kind = VERB_TEXT, .required = true, .summary = "The processor that may have tasks again."},
};
static const struct verb_arg savepoint[] = {
    {.name = "name", .kind = VERB_TEXT, .summary = "How the savepoint is called; chosen unless it is given."},
    {.name = "drain", .kind = VERB_BOOL, .summary = "Sources end first and windows are flushed."},
};
static const struct verb_arg job_stop[] = {
    {.name = "savepoint", .kind = VERB_TEXT, .summary = "A savepoint to take before."},
};
static const struct verb_arg config_set[] = {
    {.name = "setting", .kind = VERB_TEXT, .required = true, .summary = "A setting of the job."},
    {.name = "value", .kind = VERB_TEXT, .required = true, .summary = "Its value, as in SET."},
    {.name = "scope", .kind = VERB_TEXT, .summary = "What it holds for; the whole job unless it is given."},
};
static const struct verb_arg config_unset[] = {
    {.name = "setting", .kind = VERB_TEXT, .required = true, .summary = "A setting that core.config.set has set."},
    {.name = "scope", .kind = VERB_TEXT, .summary = "What it holds for; the whole job unless it is given."},
};
static const struct verb_arg schema_change[] = {
    {.name = "table", .kind = VERB_TEXT, .required = true, .summary = "A table of the job."},
    {.name = "schema", .kind = VERB_TEXT, .required = true, .summary = "The id of the schema to read it by."},
};
static const struct verb_arg state_put[] = {
    {.name = "table", .kind = VERB_TEXT, .required = true, .summary = "A table that every task has whole."},
    {.name = "row", .kind = VERB_JSON, .required = true, .summary = "The primary key of the row."},
    {.name = "value", .kind = VERB_JSON, .required = true, .summary = "What it has from now on."},
};
static const struct verb_arg state_delete[] = {
    {.name = "table", .kind = VERB_TEXT, .required = true, .summary = "A table that every task has whole."},
    {.name = "row", .kind = VERB_JSON, .required = true, .summary = "The primary key of the row."},
};
static const struct verb_arg offset_reset[] = {
    SOURCE(true),
    {.name = "partitions", .kind = VERB_INTS, .summary = "Which; all unless they are given."},
    {.name = "to", .kind = VERB_JSON, .required = true, .summary = "\"earliest\", \"latest\", {\"timestamp\": ms} or {\"offset\": n}."},
    {.name = "keep_state", .kind = VERB_BOOL, .summary = "State stays as it is; else the job starts anew."},
};
static const struct verb_arg plan_replace[] = {
    {.name = "plan", .kind = VERB_SHA256, .summary = "A plan in the storage."},
    {.name = "sql", .kind = VERB_TEXT, .summary = "The new script."},
    {.name = "mapping", .kind = VERB_OBJECT, .summary = "Operators of the old plan by those of the new that take their state."},
};
static const struct verb_arg artifact_replace[] = {
    {.name = "name", .kind = VERB_TEXT, .required = true, .summary = "An artifact of the job."},
    {.name = "sha256", .kind = VERB_SHA256, .required = true, .summary = "The hash of the new one, which is in the storage."},
};
static const struct verb_arg rate_set[] = {
    SOURCE(false),
    {.name = "rows_per_second", .kind = VERB_INT, .required = true, .max = INT64_MAX, .summary = "At most; 0: no limit."},
};
static const struct verb_arg log_level[] = {
    {.name = "level", .kind = VERB_CHOICE, .choices = levels, .required = true, .summary = "What is logged."},
    {.name = "module", .kind = VERB_TEXT, .summary = "Of what; everything unless it is given."},
};

#define ARGS(list) .args = (list), .arg_count = ARRAY_LENGTH(list)
#define CORE(text) .name = "core." text, .version = 1, .since = "0.1.0"
static const struct control_verb verbs[] = {
    {CORE("partitions.add"), ARGS(partitions_add), .how = CONTROL_HOW_EACH, .flags = VERB_NEW_VERSION, .subject = "partitions",
     .target = {"source", "partitions"}, .undo = "core.partitions.remove",
     .summary = "Reads more partitions of a source, from their beginning unless told otherwise."},
    {CORE("partitions.remove"), ARGS(partitions_remove), .how = CONTROL_HOW_EACH, .flags = VERB_NEW_VERSION, .subject = "partitions",
     .target = {"source", "partitions"}, .undo = "core.partitions.add", .summary = "Drains partitions; where they stood is kept."},
    {CORE("capacity.set"), ARGS(capacity_set), .how = CONTROL_HOW_LEADER, .flags = VERB_NEW_VERSION | VERB_REPLACES, .subject = "capacity",
     .summary = "Bounds for the number of processors."},
    {CORE("task.move"), ARGS(task_move), .how = CONTROL_HOW_LEADER, .flags = VERB_NEW_VERSION | VERB_REPLACES, .subject = "place",
     .target = {"task"}, .summary = "Stops a task, waits for its last commit, and starts it on another processor."},
    {CORE("task.restart"), ARGS(task_restart), .how = CONTROL_HOW_LEADER, .flags = VERB_NEW_VERSION,
     .summary = "Stops a task and starts it in its place."},
    {CORE("processor.drain"), ARGS(processor_drain), .how = CONTROL_HOW_LEADER, .flags = VERB_NEW_VERSION | VERB_REPLACES,
     .subject = "drain", .target = {"processor"}, .undo = "core.processor.undrain",
     .summary = "Moves all tasks away from a processor and gives it none."},
    {CORE("processor.undrain"), ARGS(processor_undrain), .how = CONTROL_HOW_LEADER, .flags = VERB_NEW_VERSION | VERB_CLEARS,
     .subject = "drain", .target = {"processor"}, .undo = "core.processor.drain", .summary = "Gives a processor tasks again."},
    {CORE("savepoint"), ARGS(savepoint), .how = CONTROL_HOW_MARKED, .summary = "Keeps a consistent cut of the whole job under a name."},
    {CORE("checkpoint"), .how = CONTROL_HOW_EACH, .summary = "Takes a checkpoint now."},
    {CORE("job.pause"), .how = CONTROL_HOW_EACH, .subject = "pause", .undo = "core.job.resume",
     .summary = "Sources give nothing until the job is resumed."},
    {CORE("job.resume"), .how = CONTROL_HOW_EACH, .flags = VERB_CLEARS, .subject = "pause", .undo = "core.job.pause",
     .summary = "Sources go on where they stood."},
    {CORE("job.stop"), ARGS(job_stop), .how = CONTROL_HOW_MARKED, .summary = "Ends the job at one cut, with a last checkpoint."},
    {CORE("job.drain"), .how = CONTROL_HOW_MARKED, .summary = "Sources end, windows are flushed, then the job stops."},
    {CORE("job.cancel"), .how = CONTROL_HOW_LEADER, .flags = VERB_NEW_VERSION,
     .summary = "Ends the job at once, without a last checkpoint."},
    {CORE("config.set"), ARGS(config_set), .how = CONTROL_HOW_EACH, .subject = "config", .target = {"setting", "scope"},
     .undo = "core.config.unset", .summary = "Sets a setting of the running job."},
    {CORE("config.unset"), ARGS(config_unset), .how = CONTROL_HOW_EACH, .flags = VERB_CLEARS, .subject = "config",
     .target = {"setting", "scope"}, .undo = "core.config.set", .summary = "Brings a setting back to what the job was started with."},
    {CORE("schema.change"), ARGS(schema_change), .how = CONTROL_HOW_MARKED, .subject = "schema", .target = {"table"},
     .summary = "Reads a table by a new schema from one cut on."},
    {CORE("state.put"), ARGS(state_put), .how = CONTROL_HOW_EACH, .undo = "core.state.delete",
     .summary = "Puts a row into a table that every task has whole."},
    {CORE("state.delete"), ARGS(state_delete), .how = CONTROL_HOW_EACH, .undo = "core.state.put",
     .summary = "Deletes a row of a table that every task has whole."},
    {CORE("plan.replace"), ARGS(plan_replace), .one_of = {"plan", "sql"}, .how = CONTROL_HOW_STOP_ALL, .flags = VERB_NEW_VERSION,
     .subject = "plan", .summary = "Runs another plan; keeps the state of operators that are the same."},
    {CORE("offset.reset"), ARGS(offset_reset), .how = CONTROL_HOW_STOP_ALL, .flags = VERB_NEW_VERSION,
     .summary = "Reads a source again from another place."},
    {CORE("artifact.replace"), ARGS(artifact_replace), .how = CONTROL_HOW_EACH, .subject = "artifact", .target = {"name"},
     .summary = "Runs another version of an artifact."},
    {CORE("rate.set"), ARGS(rate_set), .how = CONTROL_HOW_EACH, .subject = "rate", .target = {"source"},
     .summary = "Limits how fast sources are read."},
    {CORE("log.level"), ARGS(log_level), .how = CONTROL_HOW_EACH, .subject = "log", .target = {"module"}, .summary = "Logs more or less."},
    {.name = "app.*", .version = 1, .since = "0.1.0", .how = CONTROL_HOW_EACH, .summary = "Whatever the job's own code makes of it."},
};
const struct verb_table control_verbs = {verbs, ARRAY_LENGTH(verbs)};
