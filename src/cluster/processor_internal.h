/* cluster/processor_internal.h: the parts of a processor, shared by its files.
 *
 * For         processor.c (events, the order of a decision), processor_register.c (join, heartbeat, leave), processor_tasks.c.
 * Invariants  One write of the register is in flight at a time, each on the version of the one before: they land in their order.
 *             Every task in `tasks` is in the next `held`; one that left it has no effect in flight.
 */
#ifndef SPATE_CLUSTER_PROCESSOR_INTERNAL_H
#define SPATE_CLUSTER_PROCESSOR_INTERNAL_H

#include "base/growing_array.h"
#include "base/random.h"
#include "cluster/processor.h"

enum task_phase {
    TASK_ANNOUNCED, /* to be published in `held` */
    TASK_READY,     /* published; waits for the seat, or for the end of a suspension */
    TASK_STARTING,
    TASK_RUNNING,
    TASK_STOPPING, /* STOP_TASK's outcome will say that the last commit is final */
    TASK_WAITING,  /* failed; starts again at retry_us */
};
enum { FAILURE_CODE_BYTES = 24, FAILURE_TEXT_BYTES = 200 };
struct processor_task {
    uint64_t task, epoch, request;
    enum task_phase phase;
    int64_t retry_us, started_us;
    uint32_t attempts;
    bool started; /* it may have had an effect */
    char code[FAILURE_CODE_BYTES], message[FAILURE_TEXT_BYTES];
};
enum seat_phase { SEAT_CLOSED, SEAT_OPENING, SEAT_OPENED /* the model is still to be read */, SEAT_CONFIRMED };
enum leave_kind { LEAVE_NOT, LEAVE_FOR_GOOD, LEAVE_TO_RESTART };

struct processor {
    struct processor_config config;
    const struct cluster_timing *timing;
    struct arena *arena; /* of the config's texts */
    struct random_source random;
    enum processor_state state; /* NEW, JOINING (and all that is alive), FENCED, LEAVING, REFUSED, LEFT */
    struct life life;
    uint64_t previous; /* incarnation before this one; 0: none */
    uint64_t requests; /* even numbers; the leader half has the odd ones */

    /* The register. */
    struct cluster_version version;
    const struct member *written;              /* the last put, confirmed or not */
    uint64_t put_request;                      /* 0: none in flight */
    int64_t put_sent_us, put_due_us, retry_us; /* after a put that was surely not done: not before */
    uint64_t read_request;
    int64_t read_due_us;
    bool unsure;  /* the last put's outcome: read back before the next */
    bool doubted; /* NEW: this life's register may have been made; if it is not there, it may have been and gone */
    bool publish;
    uint64_t beat;
    int64_t confirmed_us;   /* when the last confirmed put was sent */
    bool suspended, paused; /* paused: SUSPEND was sent */
    bool resuming;          /* suspended, and confirmed without a break since resumed_us: the model is to be read after that */
    int64_t resumed_us;
    bool farewell; /* a register with held = [] and the leaving state is confirmed */
    struct {       /* another life's register, while NEW */
        bool known;
        struct cluster_version version;
        int64_t since_us, read_us;
        uint64_t incarnation;
        uint32_t changes; /* by that life: one may be a late write of a process that has ended; two are a process */
    } watch;

    /* The model. */
    const struct model *model;
    int64_t model_sent_us, poll_due_us;
    uint64_t poll_request;
    bool listed;
    uint32_t seat;
    enum seat_phase seat_phase;
    uint64_t seat_request;
    int64_t seat_opened_us, seat_due_us;

    struct processor_task *tasks; /* sorted */
    struct member_local *standby, *local;
    uint64_t *follows; /* sorted */
    uint32_t task_count, task_capacity, standby_count, standby_capacity, local_count, local_capacity, follow_count, follow_capacity;

    uint64_t abandon_request;
    enum leave_kind leave;
    int64_t leave_us;
    uint64_t delete_request;
    int64_t delete_due_us;
};

uint64_t processor_request(struct processor *self);
void processor_fence(struct processor *self, const char *why, struct cluster_actions *actions);
void processor_begin_life(struct processor *self);     /* under a new incarnation */
bool processor_is_alive(const struct processor *self); /* the register is this life's */

/* processor_register.c */
void register_advance(struct processor *self, int64_t now_us, struct cluster_actions *actions);
void register_put_done(struct processor *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions);
void register_read_done(struct processor *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions);
void register_leave(struct processor *self, int64_t now_us, struct cluster_actions *actions);

/* processor_tasks.c */
void tasks_follow_model(struct processor *self, struct cluster_actions *actions);
void tasks_stop_all(struct processor *self, struct cluster_actions *actions);
void tasks_published(struct processor *self, const struct member *member);
void tasks_advance(struct processor *self, int64_t now_us, struct cluster_actions *actions);
void tasks_event(struct processor *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions);
bool tasks_at_work(const struct processor *self); /* some task may write */
void tasks_local_state(struct processor *self, const struct cluster_event *event, struct cluster_actions *actions);

#endif
