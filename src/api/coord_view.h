/* api/coord_view.h: what the coordinator has of a job, read from outside: model, members, edits that are open.
 *
 * For         spate_coord_* (spate/operations.h): coord.c makes rows of it, coord_repair.c mends it.
 * Shape       coord_open finds the job: by name or id in the storage, else by id in the coordinator. Nothing here writes.
 * Damage      A register that is no model or member is a status of its own (CORRUPT), never "absent".
 * Ownership   Everything is in the view's arena; models and members are counted and end with coord_close.
 * Threads     As a session's.
 */
#ifndef SPATE_API_COORD_VIEW_H
#define SPATE_API_COORD_VIEW_H

#include "api/session.h"
#include "cluster/driver.h"
#include "cluster/member.h"
#include "cluster/model.h"
#include "cluster/timing.h"
#include "storage/job_records.h"

struct coord_member {
    const char *id; /* of its register */
    enum status status;
    const struct member *member; /* NULL unless OK */
    struct cluster_version version;
    bool gone;        /* its process has surely ended */
    bool beats;       /* its register has changed while it was watched */
    int64_t quiet_us; /* how long it was watched without a change */
    const char *damage;
};
struct coord_view {
    spate_session *session;
    struct arena *arena;
    struct cluster_session *cluster;
    struct cluster_timing timing; /* as the session has it; what is not set: the driver's defaults */
    struct job_record record;     /* id; the rest only when `recorded` */
    bool recorded;
    char prefix[JOB_ID_MAX + 8];

    enum cluster_result model_result; /* of the register */
    enum status model_status;         /* OK, or CORRUPT: then `damage` says what is wrong */
    struct cluster_version model_version;
    const struct model *model; /* NULL: absent or damaged */
    struct text model_json, model_body;
    const char *damage;

    struct coord_member *members; /* sorted by id */
    uint32_t member_count;
};

enum status coord_open(struct coord_view *self, spate_session *session, const char *job, struct arena *arena, struct error *err);
void coord_close(struct coord_view *self);
enum status coord_read_model(struct coord_view *self, struct error *err);
enum status coord_read_members(struct coord_view *self, struct error *err);
/* Reads members again until each has shown a heartbeat or is known to be gone, at most two heartbeats and a poll. */
enum status coord_watch_members(struct coord_view *self, struct error *err);
const struct coord_member *coord_find_member(const struct coord_view *self, struct life life); /* NULL: that life has no register */
/* Edits that are not done, failed or refused yet; -1: the control log cannot be read. */
int64_t coord_open_edits(const struct coord_view *self);

#endif
