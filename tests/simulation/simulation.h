/* tests/simulation/simulation.h: the real decisions of coordination in a world made from one number.
 *
 * For         `make simulate`: simulation.c runs seeds, world.c keeps time and the network, services.c are registers, leases, the job record
 *             and Kafka's commits with their real rules, process.c performs actions as the runner does, faults.c breaks things, checks.c
 *             says what must stay true. Code of src/ that calls and waits runs in fibers (fiber.h) over simulated registers (session.c)
 *             and objects (objects.c): tasks with their commit records and checkpoints (tasks.c, commits.c), locks and latches (locks.c),
 *             the control log (control.c, control_checks.c). disaster.c: the coordination service loses everything.
 * Shape       One queue of events; each event may schedule others. All randomness comes from the seed, so a seed is one trace, and its hash
 *             is printed. Which faults a seed may have, and how often, is drawn first (swarm).
 * Phases      Faults until `calm_us`; then they end, and a bounded time later everything must be in order (I20).
 * Time        now_us is true time. A process sees it through its own clock, off by an offset and by up to 1 % in rate.
 */
#ifndef SIMULATION_H
#define SIMULATION_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/leader.h"
#include "cluster/leader_internal.h"
#include "cluster/processor.h"
#include "cluster/processor_internal.h"

enum { PROCESS_MAX = 10, TASK_MAX = 24, LIFE_MAX = 600, REGISTER_MAX = PROCESS_MAX + 1, SECOND = 1000000, HISTORY_MAX = 8 };
enum { FIBER_MAX = 400, NAMED_LEASE_MAX = 4, UPDATE_MAX = 1024, KEPT_MAX = 8, LOG_MAX = 1000 };

enum service { SERVICE_COORDINATION, SERVICE_STORAGE, SERVICE_COMMITS, SERVICE_COUNT };
enum commit_kind { COMMIT_KAFKA, COMMIT_REGISTERS };

#define FAULT_LIST(X)                                                                                                                      \
    X(CRASH)                                                                                                                               \
    X(CRASH_LEADER)                                                                                                                        \
    X(FREEZE_SHORT)                                                                                                                        \
    X(FREEZE_LONG)                                                                                                                         \
    X(CUT_ONE_WAY)                                                                                                                         \
    X(CUT_BOTH_WAYS)                                                                                                                       \
    X(OUTAGE)                                                                                                                              \
    X(SLOW)                                                                                                                                \
    X(LOSE_REPLIES)                                                                                                                        \
    X(READ_ERRORS)                                                                                                                         \
    X(LEAVE)                                                                                                                               \
    X(RESTART)                                                                                                                             \
    X(JOIN)                                                                                                                                \
    X(TWIN)                                                                                                                                \
    X(STOP_ALL)                                                                                                                            \
    X(MOVE)                                                                                                                                \
    X(SLOW_STOP)                                                                                                                           \
    X(TASK_FAILURE)                                                                                                                        \
    X(STEAL_LEASE)                                                                                                                         \
    X(LOST_HINTS)                                                                                                                          \
    X(CLOCK_RATE)                                                                                                                          \
    X(WALL_JUMP)                                                                                                                           \
    X(LATE_SEAT)                                                                                                                           \
    X(DISASTER)
#define X(name) FAULT_##name,
enum fault { FAULT_LIST(X) FAULT_COUNT };
#undef X

/* What should happen in some seed: else a corner was never looked into. */
#define SOMETIMES_LIST(X)                                                                                                                  \
    X(LEADER_DIES_READING_MODEL, "a leader dies while it reads the model")                                                                 \
    X(LEADER_DIES_READING_MEMBERS, "a leader dies while it reads the members (1, suspect)")                                                \
    X(LEADER_DIES_FENCING, "a leader dies while it fences (3)")                                                                            \
    X(LEADER_DIES_RAISING, "a leader dies while it raises the job record")                                                                 \
    X(LEADER_DIES_EVICTING, "a leader dies while it writes an eviction (2)")                                                               \
    X(LEADER_DIES_OPENING, "a leader dies while it writes an opening (4, 5)")                                                              \
    X(LEADER_DIES_ADMITTING, "a leader dies while it writes an admission (7)")                                                             \
    X(LEADER_DIES_MOVING, "a leader dies while it writes a move (8)")                                                                      \
    X(LEADER_DIES_STOP_ALL, "a leader dies while it writes a stop-all round (9)")                                                          \
    X(LEADER_DIES_OVERDUE, "a leader dies while it writes an overdue eviction (6)")                                                        \
    X(LEADER_DIES_SEALING, "a leader dies while it seals")                                                                                 \
    X(LEADER_DIES_DIRTY, "a leader dies between an eviction and its fence")                                                                \
    X(EVICT_IN_STOP_ALL, "a member is evicted during a stop-all round")                                                                    \
    X(CLOSED_TASK_MOVES, "a task moves that is still closed")                                                                              \
    X(CLOSED_FROM_EVICTED, "the former holder of a closed task is evicted")                                                                \
    X(SEAT_LENT_AGAIN, "a seat is lent to a second life")                                                                                  \
    X(REJOIN_IN_GRACE, "a member comes back while its tasks are kept for it")                                                              \
    X(OVERDUE, "a member is evicted for holding up a version")                                                                             \
    X(TWO_LEADERS, "two processes believe that they lead")                                                                                 \
    X(LEADER_CONFLICT, "a leader's write of the model conflicts")                                                                          \
    X(ZOMBIE_REFUSED, "a commit of an evicted life is refused")                                                                            \
    X(LATE_SEAT, "a seat is opened by a life that was evicted")                                                                            \
    X(SEAT_LOST, "the outcome of a commit is not known")                                                                                   \
    X(SUSPENDED, "a process is suspended, and goes on")                                                                                    \
    X(UNFENCED_HELD, "a write to an unfenced sink is held back")                                                                           \
    X(WAIT_FOR_PROOF, "a fenced seat waits for the proof that its life stopped writing")                                                   \
    X(REFUSED, "a second process of an id is refused")                                                                                     \
    X(TAKEN_OVER, "a register is taken over from a silent life")                                                                           \
    X(UNKNOWN_PUT_MODEL, "UNKNOWN on writing the model")                                                                                   \
    X(UNKNOWN_PUT_MEMBER, "UNKNOWN on writing a member")                                                                                   \
    X(UNKNOWN_LEASE, "UNKNOWN on acquiring the lease")                                                                                     \
    X(UNKNOWN_RECORD, "UNKNOWN on raising the job record")                                                                                 \
    X(UNKNOWN_FENCE, "UNKNOWN on fencing a seat")                                                                                          \
    X(UNKNOWN_SEAT, "UNKNOWN on opening a seat")                                                                                           \
    X(UNKNOWN_DELETE, "UNKNOWN on deleting a register")                                                                                    \
    X(LATE_WRITE, "a write lands after its caller has given it up")                                                                        \
    X(OLD_MODEL, "a fresh process is given an old model")                                                                                  \
    X(START_CANCELLED, "a start is cancelled by a newer model")                                                                            \
    X(LEFT, "a process leaves in order")                                                                                                   \
    X(STOP_ALL_OPENED, "a stop-all round opens")                                                                                           \
    X(FLIPPED, "a register is read with a bit flipped")                                                                                    \
    X(LOCK_HELD, "a lock is held")                                                                                                         \
    X(LOCK_SUSPENDED, "the holder of a lock is suspended by its own clock")                                                                \
    X(LOCK_LOST, "the holder of a lock learns that it has lost it")                                                                        \
    X(LOCK_OUTDATED, "an update by a former holder of a lock is refused")                                                                  \
    X(LOCK_UNKNOWN, "what became of an update is not known")                                                                               \
    X(LATCH_OPENED, "a latch opens")                                                                                                       \
    X(COMMIT_FENCED, "a task learns from its commit record that it is another's")                                                          \
    X(COMMIT_DOUBTFUL, "what became of a commit record's write is not known for long")                                                     \
    X(CHECKPOINT_FAILED, "a checkpoint fails, and the task goes on")                                                                       \
    X(SHOWN_AGAIN, "a file is shown that is shown already")                                                                                \
    X(EXPIRED, "a sweep removes checkpoints that are too many")                                                                            \
    X(SWEPT, "a sweep deletes files that nothing names")                                                                                   \
    X(VOID_RECORD, "a record of a former leader is void")                                                                                  \
    X(DUPLICATE_KEY, "an edit is the duplicate of another with its key")                                                                   \
    X(KEY_REUSED, "an edit is refused: its key is another's")                                                                              \
    X(EDIT_EXPIRED, "an edit expires")                                                                                                     \
    X(EDIT_APPLIED, "a task applies an edit")                                                                                              \
    X(LOG_SNAPSHOT, "a snapshot of the control log counts")                                                                                \
    X(LOG_CUT, "the front of the control log is cut off")                                                                                  \
    X(LEADER_DIES_DECIDING, "a leader dies while it appends a decision")                                                                   \
    X(LEADER_DIES_CLOSING, "a leader dies while it closes an edit")                                                                        \
    X(LONG_QUIET, "a quiet world goes on for 100,000 events")                                                                              \
    X(LOST_COORDINATOR, "a job is restarted whose coordination service has lost everything")
#define X(name, text) SOMETIMES_##name,
enum sometimes { SOMETIMES_LIST(X) SOMETIMES_COUNT };
#undef X

enum call {
    CALL_NONE,
    CALL_GET, /* registers and leases (session.c) */
    CALL_PUT,
    CALL_DEL,
    CALL_LIST,
    CALL_ACQUIRE,
    CALL_RENEW,
    CALL_RELEASE,
    CALL_OBJECT_GET, /* objects (objects.c) */
    CALL_OBJECT_HEAD,
    CALL_OBJECT_PUT,
    CALL_OBJECT_REMOVE,
    CALL_OBJECT_LIST,
    CALL_SHOW, /* a file of output is shown */
    CALL_COUNT
};
struct fiber;
struct tasks_file { /* of output, for inputs from .. to - 1 */
    uint64_t name, from, to, output;
};
struct operation { /* a request on its way, its outcome on the way back */
    uint32_t references;
    uint8_t process;
    uint32_t generation;
    enum step step;
    int64_t slow_us; /* its request takes so much longer, and nobody waits for it */
    int64_t late_us; /* an old client of the commit store: it waits long, and its request takes so long */
    bool commit;     /* a commit of the process's tasks, or with `records` a reading of its commit records; not a step */
    bool records;
    uint64_t request;
    int64_t sent_us; /* on the process's clock */
    enum service service;
    struct life life;
    const struct model *model;
    const struct member *member;
    struct cluster_version version;
    bool create;
    uint64_t task, epoch;
    uint32_t seat, seat_high;
    uint64_t term_floor;
    uint32_t producer; /* its number in the commit store when it was sent */
    struct commit_entry {
        uint64_t task, epoch, base;
        bool last;
    } entries[TASK_MAX];
    uint32_t entry_count;
    /* outcome */
    bool answered, done;
    enum status status;
    enum cluster_result result;
    const struct model *answer_model;
    const struct member *answer_member;
    struct cluster_version answer_version;
    struct cluster_member_view views[REGISTER_MAX];
    uint32_t view_count, answer_producer;
    bool gone, refused;
    /* of a fiber (session.c) */
    enum call call;
    struct fiber *fiber; /* that waits for it */
    bool given_up;
    char *name, *bytes, *answer;
    size_t length, answer_length;
    uint32_t answer_count;
    int64_t ttl_us;
    uint64_t fence;
    struct tasks_file file;
};

enum event_type {
    WORLD_TIMER,
    WORLD_HINT,
    WORLD_EXECUTE,
    WORLD_ANSWER,
    WORLD_TIMEOUT,
    WORLD_WORK,
    WORLD_LOCAL,
    WORLD_FIBER, /* one that slept: its wake's number in local.request */
    WORLD_SINK,
    WORLD_FAULT,
    WORLD_START,
    WORLD_KILL,
    WORLD_CHECK
};
struct world_event {
    int64_t at_us;
    uint64_t order;
    enum event_type type;
    uint8_t process;
    uint32_t generation;
    struct operation *operation;
    struct cluster_event local; /* WORLD_LOCAL; WORLD_SINK: task, and the life's number in request */
};

struct heap_entry {
    int64_t at_us;
    uint64_t order;
    uint32_t slot;
};

struct work { /* a task at work in a process */
    uint64_t task, epoch, start_request, stop_request;
    int64_t plan;
    uint64_t base;                 /* commits before the next one, as its record said */
    bool running, stopping, known; /* known: base is */
    bool ran, failed;              /* failed: it waits to be started again; its last commit may be in doubt */
    int64_t stop_after_us;         /* slow stop */
    int64_t written_us;            /* when its last write to an unfenced sink arrives */
    /* of commits in registers */
    uint64_t run;           /* which fiber runs it */
    bool starting;          /* and that has not said whether it could */
    uint64_t ctl_committed; /* rank in its last commit */
};
struct process {
    bool up, leaving, twin;
    uint32_t generation;
    char id[8];
    struct processor *processor;
    struct leader *leader;
    double rate;
    int64_t offset_us, wall_offset_us, frozen_until_us, slow_stop_until_us, born_us;
    bool paused;
    uint32_t seat, producer; /* 0: none */
    bool committing;         /* one commit or reading at a time */
    struct work works[TASK_MAX];
    uint32_t work_count;
    uint64_t abandon_request;
    uint64_t timer;
    bool was_suspended;
    int64_t held_back_us;
    struct control_side *control; /* NULL: there is no control log */
};

struct cell { /* a register of the coordination service */
    char id[8];
    bool there;
    const struct member *member;
    uint64_t version;
    int64_t written_us, before_us; /* the last two writes */
    int64_t widest_us;             /* the longest silence of the life that it shows */
};
struct record { /* of a task in the commit store */
    uint64_t task, epoch, count;
    /* of commits in registers: what the register says, and what follows from it; count is the position of the next input */
    uint64_t incarnation, seq, kept[KEPT_MAX], state, shown, ctl_rank, ctl_acked;
    uint32_t kept_count;
    uint64_t commit_epoch, return_epoch; /* since when a plan has it again that did without it: edits of the time between are not its own */
};
struct counted_file {
    uint64_t task;
    struct tasks_file file;
    bool shown;
};
struct accepted_edit { /* by rank */
    uint64_t index;
    bool for_tasks;
};
struct simulated_object { /* objects.c */
    char *key, *bytes;
    size_t length;
    uint64_t version;
    int64_t modified_us;
    uint32_t hash;
};
struct simulated_register { /* of bytes (session.c) */
    char *name, *bytes;     /* bytes NULL: absent */
    size_t length;
    uint64_t version;
    uint32_t hash;
};
struct named_lease {
    char name[24];
    int64_t until_us; /* 0: nobody has it */
    uint64_t fence;
};
enum update_said { UPDATE_OPEN, UPDATE_DONE, UPDATE_REFUSED };
struct lock_update { /* of a register that a lock guards */
    uint64_t token;
    enum update_said said; /* to who made it */
    uint32_t landed;
};
struct life_state { /* ghosts: what the checks know of every life there was */
    uint64_t incarnation;
    uint8_t process;
    uint32_t generation;
    bool fenced, evicted, listed, up;
};

struct world {
    uint64_t seed, random, hash, order;
    int64_t now_us, calm_us, end_us, bound_us;
    bool log, failed;
    char failure[600];
    struct heap_entry *heap; /* of events in slots */
    struct world_event *slots;
    uint32_t heap_count, heap_capacity, *free_slots, free_count;
    uint64_t events;
    struct budget budget;
    struct arena *arena;

    /* swarm */
    bool faults[FAULT_COUNT], hints, gone_known, lagging, stateful, unfenced, wire, sweeps, control, locks, leases_in_registers;
    enum timing_profile profile;
    struct cluster_timing timing;
    enum commit_kind commit_kind;
    enum service register_service; /* where commit records are */
    int64_t fault_interval_us, call_timeout_us;
    uint32_t first_processes, tasks, snapshot_every;

    /* network */
    int64_t cut_until_us[PROCESS_MAX][SERVICE_COUNT][2], outage_until_us[SERVICE_COUNT], slow_until_us, lose_until_us, errors_until_us;

    int64_t outage_from_us, long_outage_end_us; /* of the coordination service */

    /* services */
    const struct model *model, *old_model;
    uint64_t model_version;
    bool model_lost, disaster;
    struct cell cells[PROCESS_MAX];
    struct {
        bool held;
        char holder[LIFE_TEXT_BYTES];
        int64_t until_us;
        uint64_t fence;
    } lease;
    uint64_t lease_of[PROCESS_MAX]; /* the fence that the process's lease has; 0: none */
    uint64_t term_floor;
    uint32_t seat_high;
    uint32_t producers[64]; /* by seat: the number that may commit */
    struct record records[TASK_MAX];
    uint32_t record_count;

    struct simulated_register *registers;
    uint32_t register_count, register_capacity;
    struct simulated_object *objects;
    uint32_t object_count, object_capacity;
    struct counted_file *counted;
    uint32_t counted_count, counted_capacity;
    struct named_lease leases[NAMED_LEASE_MAX + 1];
    uint32_t lease_count;

    struct process processes[PROCESS_MAX];
    uint32_t process_count;
    struct fiber *fibers[FIBER_MAX];
    uint32_t fiber_count;

    /* what the operator wants */
    int64_t wanted_plan;
    uint64_t wanted_tasks[TASK_MAX];
    uint32_t wanted_count;
    struct control_pin pin;
    char pin_id[8];
    bool pinned;

    /* ghosts */
    struct life_state lives[LIFE_MAX];
    uint32_t life_count;
    uint64_t seat_user[64];
    uint64_t term_writer[4096]; /* incarnation of the writer of a term */
    int64_t version_since_us;
    struct {
        uint64_t task, writer, previous[16];
        uint32_t previous_count;
    } sinks[TASK_MAX * 2];
    uint32_t sink_count;
    struct lock_update updates[UPDATE_MAX];
    uint32_t update_count;
    const struct tenure *tenures[PROCESS_MAX]; /* of those who want the lock */
    uint32_t arrived;                          /* processes that have counted down, as bits */
    bool latch_open;
    struct control_fold *log_fold; /* of the control log, as it is */
    uint64_t log_through, log_term, log_hashes[LOG_MAX];
    struct accepted_edit edits[LOG_MAX];
    uint32_t edit_count;
    bool calm;
    int64_t settled_us;
    uint32_t stops_unmoved;
    uint64_t quiet_events; /* since it is settled; 0: it is not */
    size_t quiet_bytes;
    uint32_t quiet_fibers;
};
extern uint64_t sometimes_hits[SOMETIMES_COUNT];
#define SOMETIMES(name) (sometimes_hits[SOMETIMES_##name]++)

/* world.c */
uint64_t world_random(struct world *world);
uint32_t world_below(struct world *world, uint32_t limit);
bool world_chance(struct world *world, uint32_t percent);
void world_push(struct world *world, struct world_event event);
bool world_pop(struct world *world, struct world_event *event);
void world_log(struct world *world, const char *format, ...) PRINTF_LIKE(2, 3);
void world_fail(struct world *world, const char *format, ...) PRINTF_LIKE(2, 3);
int64_t world_local_us(const struct world *world, const struct process *process); /* now, on its clock */
int64_t world_true_us(const struct process *process, int64_t local_us);
int64_t world_store_us(const struct world *world); /* the object store's clock */
int64_t world_wall_us(const struct world *world, const struct process *process);
void world_send(struct world *world, struct operation *operation);
void operation_unref(struct operation *operation);
struct operation *operation_new(struct world *world, uint8_t process, enum service service);

/* services.c */
void services_execute(struct world *world, struct operation *operation);
struct record *services_record(struct world *world, uint64_t task);
void services_close(struct world *world);
int64_t services_silence_us(const struct world *world, const struct cell *cell); /* without what an outage explains */
struct cell *services_cell(struct world *world, const char *id, bool make);
bool services_read_fails(struct world *world);
struct cluster_version services_version(uint64_t number);
bool services_same_version(const struct cluster_version *version, uint64_t number);

/* session.c */
void session_execute(struct world *world, struct operation *operation);
void session_close(struct world *world);
const struct simulated_register *services_register(struct world *world, const char *name); /* NULL: absent */

/* commits.c */
void commits_check_write(struct world *world, const struct operation *operation);
void commits_check_show(struct world *world, struct operation *operation);
void checks_object_removed(struct world *world, const struct operation *operation);
void checks_fenced(struct world *world, struct life life);

/* locks.c */
void locks_start(struct world *world, uint8_t process);
void locks_check_write(struct world *world, const struct operation *operation, const struct simulated_register *before);
void locks_check_always(struct world *world);

/* process.c */
void process_start(struct world *world, uint8_t index, const char *id, bool twin);
void process_stop(struct world *world, uint8_t index); /* as at kill -9 */
void process_handle(struct world *world, const struct world_event *event);
void process_feed(struct world *world, uint8_t index, const struct cluster_event *event);
/* An event that comes a little later. */
void process_later(struct world *world, uint8_t index, int64_t delay_us, struct cluster_event event);
/* Of tasks that fibers run: started, or not (work NULL: nobody waits for it any more); stopped, with a last commit that is final. */
void process_start_ended(struct world *world, uint8_t index, struct work *work, uint64_t task, uint64_t request, enum status status);
void process_task_ended(struct world *world, uint8_t index, uint64_t task);

/* What the operator wants of the model. */
void control_operator(struct world *world, const struct model *model, struct control_effect *effect, bool alone);

/* faults.c */
void faults_draw(struct world *world);
void faults_strike(struct world *world);
void faults_calm(struct world *world);
int64_t faults_wall_offset_us(struct world *world);
void faults_crash(struct world *world, uint8_t index);
void faults_note_leader_death(struct world *world, const struct process *process);

/* checks.c */
void checks_model_written(struct world *world, const struct operation *operation, const struct model *old, const struct model *now);
void checks_commit_accepted(struct world *world, const struct operation *operation);
void checks_always(struct world *world);
void checks_register_written(struct world *world, const struct operation *operation, const struct simulated_register *before);
void checks_sink_write(struct world *world, uint64_t task, uint64_t incarnation);
void checks_stop(struct world *world, const struct process *process, uint64_t task);
void checks_exit(struct world *world, const struct process *process, int32_t code);
bool checks_settled(struct world *world, char *why, size_t size);
struct life_state *checks_life(struct world *world, uint64_t incarnation);

#endif
