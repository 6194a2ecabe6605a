/* What commits in registers, checkpoints and shown files must be. The checks read the registers and objects themselves. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "objects.h"
#include "tasks.h"

enum { MANIFEST_FILES_MAX = 64 };
#define COMMIT_PREFIX "jobs/j/commit/"

static const char *member(const char *json, const char *name)
{
    const char *at = strstr(json, name);
    return at == NULL ? "" : at + strlen(name) + strspn(at + strlen(name), "\": ");
}

static const struct simulated_object *find_manifest(struct world *world, uint64_t task, uint64_t seq)
{
    char key[120], text[TASK_TEXT_BYTES];
    snprintf(key, sizeof key, "v1/jobs/j/checkpoints/%s/%020" PRIu64 ".manifest.json", task_text(task, text), seq);
    return objects_find(world, key);
}

/* Epoch, life, and which checkpoints it names. */
static void read_record(struct record *record, const char *bytes, size_t length)
{
    char json[4096] = "";
    memcpy(json, bytes, length < sizeof json ? length : sizeof json - 1);
    record->epoch = strtoull(member(json, "\"epoch\""), NULL, 10);
    const char *life = member(json, "\"life\""), *hash = strchr(life, '#');
    record->incarnation = hash == NULL || hash > life + 8 ? 0 : strtoull(hash + 1, NULL, 16);
    if (strncmp(member(json, "\"begun\""), "true", 4) != 0) {
        return; /* a fence made it: what counted is to be found in the storage */
    }
    record->seq = strtoull(member(json, "\"seq\""), NULL, 10);
    record->kept_count = 0;
    const char *at = member(json, "\"kept\"");
    while ((*at == '[' || *at == ',') && at[1] != ']' && record->kept_count < KEPT_MAX) {
        char *end;
        record->kept[record->kept_count++] = strtoull(at + 1, &end, 10);
        at = end;
    }
}

static struct counted_file *find_file(struct world *world, uint64_t task, uint64_t name)
{
    for (uint32_t i = world->counted_count; i > 0; i--) {
        if (world->counted[i - 1].task == task && world->counted[i - 1].file.name == name) {
            return &world->counted[i - 1];
        }
    }
    return NULL;
}

/* I9, I10: a file that counts from now on. */
static void count_file(struct world *world, struct record *record, const struct tasks_file *file)
{
    char text[TASK_TEXT_BYTES];
    if (file->from != record->count) {
        world_fail(world, "I10: output of %s for inputs %" PRIu64 " to %" PRIu64 " counts, behind inputs up to %" PRIu64,
                   task_text(record->task, text), file->from, file->to, record->count);
    }
    if (file->output != tasks_output(record->state, record->task, file->from, file->to)) {
        world_fail(world, "I9: wrong output of %s for inputs from %" PRIu64, task_text(record->task, text), file->from);
    }
    record->state = tasks_state_after(record->state, record->task, file->from, file->to);
    record->count = file->to;
    if (world->counted_count == world->counted_capacity) {
        world->counted_capacity = world->counted_capacity == 0 ? 64 : 2 * world->counted_capacity;
        world->counted = realloc(world->counted, world->counted_capacity * sizeof *world->counted);
    }
    world->counted[world->counted_count++] = (struct counted_file){record->task, *file, false};
}

/* I9: what counted before, and is named no more, has been shown. */
static void check_left_behind(struct world *world, uint64_t task, const struct tasks_file *files, uint32_t count)
{
    char text[TASK_TEXT_BYTES];
    for (uint32_t i = world->counted_count; i > 0; i--) {
        const struct counted_file *counted = &world->counted[i - 1];
        bool named = counted->task != task || counted->shown;
        for (uint32_t k = 0; k < count && !named; k++) {
            named = files[k].name == counted->file.name;
        }
        if (!named) {
            world_fail(world, "I9: output of %s for inputs from %" PRIu64 " counted, and is never shown", task_text(task, text),
                       counted->file.from);
        }
        if (counted->task == task && counted->shown) {
            return; /* they are shown in order */
        }
    }
}

static void check_commit(struct world *world, struct record *record)
{
    struct tasks_file files[MANIFEST_FILES_MAX];
    uint64_t from, to;
    char text[TASK_TEXT_BYTES];
    const struct life_state *life = checks_life(world, record->incarnation);
    const struct simulated_object *manifest = find_manifest(world, record->task, record->seq);
    if (life != NULL && life->fenced) {
        world_fail(world, "I4: a commit of %s by a fenced life (process %u) is accepted", task_text(record->task, text), life->process);
    }
    if (manifest == NULL) {
        world_fail(world, "I16: checkpoint %" PRIu64 " of %s counts, and is not there", record->seq, task_text(record->task, text));
        return;
    }
    char *json = strndup(manifest->bytes, manifest->length);
    struct control_place edits;
    tasks_read_edits(json, &edits);
    uint32_t count = tasks_read_extra(json, &from, &to, files, MANIFEST_FILES_MAX);
    free(json);
    check_left_behind(world, record->task, files, count);
    for (uint32_t i = 0; i < count; i++) {
        if (find_file(world, record->task, files[i].name) == NULL) {
            count_file(world, record, &files[i]);
        }
    }
    if (to != record->count) {
        world_fail(world, "I10: a commit of %s says that it is at input %" PRIu64 ", its output ends at %" PRIu64,
                   task_text(record->task, text), to, record->count);
    }
    if (world->control) {
        control_check_commit(world, record->task, edits.begun, edits.rank, edits.edits);
    }
    world_log(world, "  commit %" PRIu64 " of %s: through input %" PRIu64, record->seq, task_text(record->task, text), to);
}

void commits_check_write(struct world *world, const struct operation *operation)
{
    uint64_t first, last;
    if (!task_run_parse(operation->name + strlen(COMMIT_PREFIX), &first, &last)) {
        return;
    }
    struct record *record = services_record(world, first);
    uint64_t before = record->seq, epoch = record->epoch;
    char text[TASK_TEXT_BYTES];
    read_record(record, operation->bytes, operation->length);
    if (record->epoch < epoch) {
        world_fail(world, "I3: the epoch of %s falls from %" PRIu64 " to %" PRIu64, task_text(first, text), epoch, record->epoch);
    }
    if (record->seq != before) {
        check_commit(world, record);
    }
}

/* I9: only what counts is shown, all in order, each once. */
void commits_check_show(struct world *world, struct operation *operation)
{
    struct counted_file *counted = find_file(world, operation->task, operation->file.name);
    struct record *record = services_record(world, operation->task);
    char text[TASK_TEXT_BYTES];
    if (counted == NULL) {
        world_fail(world, "I9: output of %s that never counted is shown: inputs from %" PRIu64, task_text(operation->task, text),
                   operation->file.from);
        return;
    }
    if (counted->shown) {
        SOMETIMES(SHOWN_AGAIN);
        return;
    }
    if (operation->file.from != record->shown) {
        world_fail(world, "I9: output of %s is shown from input %" PRIu64 ", behind input %" PRIu64, task_text(operation->task, text),
                   operation->file.from, record->shown);
    }
    counted->shown = true;
    record->shown = operation->file.to;
}

/* ---- I17: the checkpoint that a record names is not removed, nor a file of it (older ones that it keeps are limits' to remove) ---- */

static void check_named(struct world *world, const struct record *record, uint64_t seq, const char *key)
{
    const struct simulated_object *manifest = find_manifest(world, record->task, seq);
    char text[TASK_TEXT_BYTES], end[60], quoted[OBJECT_KEY_MAX + 3];
    snprintf(quoted, sizeof quoted, "%s\"", key + strlen("v1/"));
    snprintf(end, sizeof end, "checkpoints/%s/%020" PRIu64 ".manifest.json", task_text(record->task, text), seq);
    bool names = manifest != NULL && memmem(manifest->bytes, manifest->length, quoted, strlen(quoted)) != NULL;
    if (names || strstr(key, end) != NULL) {
        world_fail(world, "I17: '%s' is removed; the commit record of %s names it", key, task_text(record->task, text));
    }
}

void checks_object_removed(struct world *world, const struct operation *operation)
{
    for (uint32_t i = 0; i < world->record_count; i++) {
        const struct record *record = &world->records[i];
        if (record->seq != 0) {
            check_named(world, record, record->seq, operation->name);
        }
    }
}

void checks_fenced(struct world *world, struct life life)
{
    struct life_state *state = checks_life(world, life.incarnation);
    if (state != NULL) {
        state->fenced = true;
    }
}
