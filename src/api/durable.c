/* Jobs that outlive their process: which storage, which name, what the user is told. */
#include <string.h>

#include "api/session.h"
#include "storage/stores.h"

struct job_name {
    struct job_name *next;
    const char *name;
    uint32_t used;
};

static enum status session_storage(spate_session *session, struct error *err)
{
    if (session->storage != NULL) {
        return STATUS_OK;
    }
    const struct settings *settings = &session->settings;
    const struct storage_settings storage = {.options = settings->storage, .option_count = settings->storage_count};
    return storage_open(&storage, &session->storage, err);
}

void durable_close_session(spate_session *session)
{
    storage_close(session->storage);
    session->storage = NULL;
}

/* The session's name for jobs; the second of the name gets "-2", and so on, so that a script's INSERTs keep theirs from run to run. */
static enum status choose_name(spate_session *session, const char **name, struct error *err)
{
    const char *base = session->settings.values.job_name;
    base = base != NULL ? base : session->default_job_name != NULL ? session->default_job_name : "spate";
    struct job_name *entry = session->job_names;
    while (entry != NULL && strcmp(entry->name, base) != 0) {
        entry = entry->next;
    }
    if (entry == NULL) {
        TRY_ALLOC(entry, arena_alloc(session->arena, sizeof *entry), err);
        *entry = (struct job_name){session->job_names, base, 0};
        session->job_names = entry;
    }
    entry->used++;
    *name = entry->used == 1 ? base : arena_format(session->arena, "%s-%u", base, entry->used);
    return *name != NULL ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for the name of a job");
}

int spate_session_name_jobs(spate_session *session, const char *name)
{
    char *copy = session->opened ? arena_text(session->arena, name, strlen(name)) : NULL;
    if (copy == NULL) {
        return session_fail(session, error_set(&session->error, ERROR_MISUSE, "the session is not open, or has no room"));
    }
    session->default_job_name = copy;
    return SPATE_OK;
}

enum status durable_open(spate_result *result, const char **job_id, struct error *err)
{
    if (result->checkpointer != NULL) {
        *job_id = checkpointer_job_id(result->checkpointer);
        return STATUS_OK;
    }
    spate_session *session = result->session;
    const char *name;
    enum job_start start;
    TRY(session_storage(session, err));
    TRY(choose_name(session, &name, err));
    const struct checkpointer_spec spec = {.storage = session->storage,
                                           .job = name,
                                           .budget = &session->budget,
                                           .clock = session->clock,
                                           .settings = settings_checkpoints(&session->settings),
                                           .cancelled = &session->cancelled};
    TRY(checkpointer_open(&spec, &result->checkpointer, &start, &result->message, err));
    *job_id = checkpointer_job_id(result->checkpointer);
    result->finished = start == START_FINISHED;
    return STATUS_OK;
}
