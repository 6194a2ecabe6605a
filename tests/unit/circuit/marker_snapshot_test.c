/* Stages that send each other money over channels that deliver when they like, with snapshots begun, aborted and failing meanwhile, and
 * stages that end. Of each snapshot that completes: no money is lost or made, no effect is in it without its cause, and each channel's
 * state is what was on its way. Each snapshot ends, and leaves nothing behind. The seed is printed when a run fails. */
#include "../support/batches.h"

#include <stdlib.h>

#include "circuit/marker_snapshot.h"

enum { STAGES = 7, CHANNELS = 16, ITEMS = 4096, SNAPSHOTS = 12, STEPS = 1500, SEEDS = 400, MONEY = 1000 };

enum item_kind { ITEM_MONEY, ITEM_MARKER, ITEM_END };
struct item {
    enum item_kind kind;
    int64_t amount; /* or the snapshot's number */
    uint32_t clock[STAGES];
};
struct channel {
    uint32_t from, to, input; /* which input of `to` */
    struct item items[ITEMS]; /* taken, then under way */
    uint32_t taken, count;
    uint32_t sent_money, taken_money;
    bool ended;
};
struct cut { /* what one stage gave for one snapshot */
    bool recorded, complete;
    int64_t balance;
    uint32_t clock[STAGES];
};
struct cut_channel {
    uint32_t sent, received; /* when the sender, the receiver recorded */
    uint32_t kept;
    int64_t amount;
};
struct snapshot_run {
    bool in_flight, completed, aborted;
    bool begin_at[STAGES], told[STAGES]; /* still to be done */
    struct cut cuts[STAGES];
    struct cut_channel channels[CHANNELS];
};
struct world;
struct stage {
    struct world *world;
    uint32_t number;
    struct marker_stage *marker;
    int64_t balance;
    uint32_t clock[STAGES];
    uint32_t outputs[CHANNELS], output_count, inputs[CHANNELS], input_count;
    bool ended;
};
struct world {
    uint64_t random;
    uint32_t stage_count, channel_count;
    struct stage stages[STAGES];
    struct channel channels[CHANNELS];
    struct snapshot_run runs[SNAPSHOTS];
    uint32_t begun, completed, aborted;
    bool failing;    /* records fail now and then */
    bool overtaking; /* a fault on purpose: markers overtake the message before them */
    uint32_t faults; /* checks that did not hold */
};

static uint32_t pick(struct world *world, uint32_t below)
{
    return (uint32_t)(next_random(&world->random) % below);
}

static bool chance(struct world *world, uint32_t one_in)
{
    return pick(world, one_in) == 0;
}

static void channel_put(struct channel *channel, enum item_kind kind, int64_t amount, const uint32_t *clock)
{
    assert_true(channel->count < ITEMS && !channel->ended);
    struct item *item = &channel->items[channel->count++];
    *item = (struct item){.kind = kind, .amount = amount};
    memcpy(item->clock, clock, sizeof item->clock);
    channel->sent_money += kind == ITEM_MONEY;
    channel->ended = kind == ITEM_END;
}

static enum status fail_now_and_then(struct stage *stage, struct error *err)
{
    bool fails = stage->world->failing && chance(stage->world, 30);
    return fails ? error_set(err, ERROR_BUDGET_SPENT, "no room") : STATUS_OK;
}

static enum status stage_record(void *context, uint64_t snapshot, struct error *err)
{
    struct stage *stage = context;
    struct snapshot_run *run = &stage->world->runs[snapshot];
    struct cut *cut = &run->cuts[stage->number];
    assert_false(cut->recorded);
    TRY(fail_now_and_then(stage, err));
    *cut = (struct cut){.recorded = true, .balance = stage->balance};
    memcpy(cut->clock, stage->clock, sizeof cut->clock);
    for (uint32_t i = 0; i < stage->output_count; i++) {
        run->channels[stage->outputs[i]].sent = stage->world->channels[stage->outputs[i]].sent_money;
    }
    for (uint32_t i = 0; i < stage->input_count; i++) {
        run->channels[stage->inputs[i]].received = stage->world->channels[stage->inputs[i]].taken_money;
    }
    return STATUS_OK;
}

static enum status stage_send(void *context, uint64_t snapshot, uint32_t output, struct error *err)
{
    (void)err;
    struct stage *stage = context;
    struct channel *channel = &stage->world->channels[stage->outputs[output]];
    if (channel->ended) {
        return STATUS_OK;
    }
    channel_put(channel, ITEM_MARKER, (int64_t)snapshot, stage->clock);
    if (stage->world->overtaking && channel->count - channel->taken > 1) {
        struct item *last = &channel->items[channel->count - 1], marker = *last;
        *last = last[-1];
        last[-1] = marker;
    }
    return STATUS_OK;
}

static enum status stage_keep(void *context, uint64_t snapshot, uint32_t input, const void *message, struct error *err)
{
    struct stage *stage = context;
    TRY(fail_now_and_then(stage, err));
    const struct item *item = message;
    struct cut_channel *kept = &stage->world->runs[snapshot].channels[stage->inputs[input]];
    struct channel *channel = &stage->world->channels[stage->inputs[input]];
    assert_true(stage->world->runs[snapshot].cuts[stage->number].recorded);
    stage->world->faults += kept->received + kept->kept != channel->taken_money; /* in order, none left out */
    kept->kept++;
    kept->amount += item->amount;
    return STATUS_OK;
}

static enum status stage_complete(void *context, uint64_t snapshot, struct error *err)
{
    struct stage *stage = context;
    TRY(fail_now_and_then(stage, err));
    struct cut *cut = &stage->world->runs[snapshot].cuts[stage->number];
    assert_true(cut->recorded && !cut->complete);
    cut->complete = true;
    return STATUS_OK;
}

static void stage_drop(void *context, uint64_t snapshot)
{
    struct stage *stage = context;
    stage->world->runs[snapshot].cuts[stage->number].complete = false;
}

static const struct marker_stage_type stage_type = {
    .record = stage_record, .send = stage_send, .keep = stage_keep, .complete = stage_complete, .drop = stage_drop};

static void world_open(struct world *world, uint64_t seed)
{
    struct error err;
    memset(world, 0, sizeof *world);
    world->random = seed * 7919 + 1;
    world->stage_count = 1 + pick(world, STAGES);
    world->channel_count = pick(world, CHANNELS + 1); /* loops to oneself and several between two are channels too */
    for (uint32_t c = 0; c < world->channel_count; c++) {
        struct channel *channel = &world->channels[c];
        struct stage *from = &world->stages[channel->from = pick(world, world->stage_count)];
        struct stage *to = &world->stages[channel->to = pick(world, world->stage_count)];
        channel->input = to->input_count;
        from->outputs[from->output_count++] = c;
        to->inputs[to->input_count++] = c;
    }
    for (uint32_t s = 0; s < world->stage_count; s++) {
        struct stage *stage = &world->stages[s];
        stage->world = world;
        stage->number = s;
        stage->balance = MONEY;
        require(marker_stage_create(&stage_type, stage, stage->input_count, stage->output_count, &stage->marker, &err), &err);
    }
}

static void world_close(struct world *world)
{
    for (uint32_t s = 0; s < world->stage_count; s++) {
        marker_stage_destroy(world->stages[s].marker);
    }
}

static void snapshot_abort(struct world *world, uint32_t number)
{
    struct snapshot_run *run = &world->runs[number];
    if (run->in_flight) {
        run->in_flight = false;
        run->aborted = true;
        world->aborted++;
        for (uint32_t s = 0; s < world->stage_count; s++) {
            run->begin_at[s] = false;
            run->told[s] = true;
        }
    }
}

/* An error of a stage is of one of the snapshots it knows: those that are not RECORDING or COMPLETE there any more. */
static void stage_failed(struct world *world, const struct stage *stage)
{
    assert_true(world->failing);
    for (uint32_t i = 0; i < world->begun; i++) {
        if (marker_stage_state(stage->marker, i) == MARKER_ABORTED) {
            snapshot_abort(world, i);
        }
    }
}

static void mark_reached(const struct world *world, uint32_t from, bool *reached)
{
    reached[from] = true;
    for (uint32_t c = 0; c < world->channel_count; c++) {
        const struct channel *channel = &world->channels[c];
        if (channel->from == from && !channel->ended && !reached[channel->to]) {
            mark_reached(world, channel->to, reached);
        }
    }
}

/* Begun at a random stage, then at others until all are reached. */
static void snapshot_begin(struct world *world)
{
    bool reached[STAGES] = {false};
    struct snapshot_run *run = &world->runs[world->begun++];
    run->in_flight = true;
    uint32_t first = pick(world, world->stage_count);
    for (uint32_t i = 0; i < world->stage_count; i++) {
        uint32_t s = (first + i) % world->stage_count;
        if (!reached[s] || chance(world, 6)) {
            run->begin_at[s] = true;
            mark_reached(world, s, reached);
        }
    }
}

static void snapshot_check(struct world *world, const struct snapshot_run *run)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < world->stage_count; i++) {
        total += run->cuts[i].balance;
        for (uint32_t j = 0; j < world->stage_count; j++) {
            world->faults += run->cuts[i].clock[j] > run->cuts[j].clock[j]; /* an effect without its cause */
        }
    }
    for (uint32_t c = 0; c < world->channel_count; c++) {
        const struct cut_channel *channel = &run->channels[c];
        total += channel->amount;
        world->faults += channel->received + channel->kept != channel->sent;
    }
    world->faults += total != (int64_t)MONEY * world->stage_count;
}

/* The coordinator: what is complete at every stage is checked and settled. */
static void snapshots_settle(struct world *world)
{
    for (uint32_t i = 0; i < world->begun; i++) {
        struct snapshot_run *run = &world->runs[i];
        bool complete = run->in_flight;
        for (uint32_t s = 0; s < world->stage_count && complete; s++) {
            complete = run->cuts[s].complete;
        }
        if (complete) {
            snapshot_check(world, run);
            run->in_flight = false;
            run->completed = true;
            world->completed++;
            for (uint32_t s = 0; s < world->stage_count; s++) {
                run->begin_at[s] = false;
                marker_stage_settle(world->stages[s].marker, i);
            }
        }
    }
}

/* One thing that the coordinator has still to do, at a random stage; false: none there. */
static bool coordinate(struct world *world)
{
    struct error err;
    uint32_t s = pick(world, world->stage_count), i = pick(world, SNAPSHOTS);
    struct stage *stage = &world->stages[s];
    struct snapshot_run *run = &world->runs[i];
    if (run->told[s]) {
        run->told[s] = false;
        require(marker_stage_abort(stage->marker, i, &err), &err);
    } else if (run->begin_at[s]) {
        run->begin_at[s] = false;
        if (marker_stage_begin(stage->marker, i, &err) != STATUS_OK) {
            stage_failed(world, stage);
        }
    } else {
        return false;
    }
    return true;
}

static void send_money(struct world *world)
{
    struct stage *stage = &world->stages[pick(world, world->stage_count)];
    if (stage->output_count > 0 && !stage->ended && stage->balance > 0) {
        int64_t amount = 1 + pick(world, (uint32_t)stage->balance);
        stage->balance -= amount;
        stage->clock[stage->number]++;
        channel_put(&world->channels[stage->outputs[pick(world, stage->output_count)]], ITEM_MONEY, amount, stage->clock);
    }
}

static void take_money(struct stage *stage, const struct item *item)
{
    stage->balance += item->amount;
    stage->clock[stage->number]++;
    for (uint32_t s = 0; s < STAGES; s++) {
        stage->clock[s] = item->clock[s] > stage->clock[s] ? item->clock[s] : stage->clock[s];
    }
}

static bool deliver(struct world *world)
{
    struct error err;
    struct channel *channel = world->channel_count == 0 ? NULL : &world->channels[pick(world, world->channel_count)];
    if (channel == NULL || channel->taken == channel->count) {
        return false;
    }
    struct stage *stage = &world->stages[channel->to];
    const struct item *item = &channel->items[channel->taken++];
    enum status status = STATUS_OK;
    if (item->kind == ITEM_MONEY) {
        status = marker_stage_message(stage->marker, channel->input, item, &err);
        channel->taken_money++;
        take_money(stage, item);
    } else if (item->kind == ITEM_MARKER) {
        status = marker_stage_marker(stage->marker, channel->input, (uint64_t)item->amount, &err);
    } else {
        status = marker_stage_end_input(stage->marker, channel->input, &err);
    }
    if (status != STATUS_OK) {
        stage_failed(world, stage);
    }
    return true;
}

/* A stage sends nothing more. Those behind it hear of what is in flight from the coordinator, if no marker came that way. */
static void end_stage(struct world *world, struct stage *stage)
{
    stage->ended = true;
    for (uint32_t i = 0; i < stage->output_count; i++) {
        channel_put(&world->channels[stage->outputs[i]], ITEM_END, 0, stage->clock);
        for (uint32_t n = 0; n < world->begun; n++) {
            if (world->runs[n].in_flight) {
                world->runs[n].begin_at[world->channels[stage->outputs[i]].to] = true;
            }
        }
    }
}

static void world_step(struct world *world, bool ending)
{
    struct stage *stage = &world->stages[pick(world, world->stage_count)];
    send_money(world);
    deliver(world);
    coordinate(world);
    if (world->begun < SNAPSHOTS && chance(world, 40)) {
        snapshot_begin(world);
    }
    if (world->begun > 0 && chance(world, 300)) {
        snapshot_abort(world, pick(world, world->begun));
    }
    if (ending && !stage->ended && chance(world, 400)) {
        end_stage(world, stage);
    }
    snapshots_settle(world);
}

/* Everything under way arrives, with nothing new. */
static void world_drain(struct world *world)
{
    for (uint32_t quiet = 0; quiet < 3000; quiet++) {
        bool delivered = deliver(world), coordinated = coordinate(world);
        quiet = delivered || coordinated ? 0 : quiet;
        snapshots_settle(world);
    }
}

static void world_run(struct world *world, uint64_t seed, bool ending, bool failing, bool overtaking)
{
    world_open(world, seed);
    world->failing = failing;
    world->overtaking = overtaking;
    for (uint32_t step = 0; step < STEPS; step++) {
        world_step(world, ending);
    }
    world_drain(world);
}

static void check_world(const struct world *world, uint64_t seed)
{
    if (world->faults > 0 || world->completed + world->aborted != world->begun || world->begun == 0) {
        fail_msg("seed %llu: %u snapshots, %u complete, %u aborted, %u faults", (unsigned long long)seed, world->begun, world->completed,
                 world->aborted, world->faults);
    }
    for (uint32_t s = 0; s < world->stage_count; s++) {
        if (marker_stage_known(world->stages[s].marker) != 0) {
            fail_msg("seed %llu: the stage %u still knows %u snapshots", (unsigned long long)seed, s,
                     marker_stage_known(world->stages[s].marker));
        }
    }
}

static void run_seeds(bool ending, bool failing)
{
    struct world *world = malloc(sizeof *world);
    uint32_t completed = 0, aborted = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world_run(world, seed, ending, failing, false);
        check_world(world, seed);
        completed += world->completed;
        aborted += world->aborted;
        world_close(world);
    }
    assert_true(completed > SEEDS && aborted > SEEDS / 4);
    free(world);
}

static void snapshots_of_any_graph_are_consistent_and_end(void **state)
{
    (void)state;
    run_seeds(false, false);
}

static void channels_that_end_stand_for_their_markers(void **state)
{
    (void)state;
    run_seeds(true, false);
}

static void a_stage_that_cannot_record_lets_the_others_end(void **state)
{
    (void)state;
    run_seeds(true, true);
}

/* The checks above see what they are for: a marker that overtakes one message makes cuts that are not consistent. */
static void checks_notice_a_marker_that_overtakes(void **state)
{
    (void)state;
    struct world *world = malloc(sizeof *world);
    uint32_t noticed = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        world_run(world, seed, false, false, true);
        noticed += world->faults > 0;
        world_close(world);
    }
    assert_true(noticed > 10);
    free(world);
}

static void what_breaks_the_rules_of_a_channel_is_an_error(void **state)
{
    (void)state;
    struct error err;
    struct world *world = calloc(1, sizeof *world);
    struct stage *stage = &world->stages[0];
    *stage = (struct stage){.world = world, .input_count = 2, .inputs = {0, 1}};
    require(marker_stage_create(&stage_type, stage, 2, 0, &stage->marker, &err), &err);
    require(marker_stage_marker(stage->marker, 0, 3, &err), &err);
    assert_int_equal(marker_stage_state(stage->marker, 3), MARKER_RECORDING);
    assert_int_equal(marker_stage_marker(stage->marker, 0, 3, &err), STATUS_INTERNAL);
    require(marker_stage_end_input(stage->marker, 1, &err), &err);
    assert_int_equal(marker_stage_state(stage->marker, 3), MARKER_COMPLETE);
    assert_int_equal(marker_stage_live_inputs(stage->marker), 1);
    struct item item = {0};
    assert_int_equal(marker_stage_message(stage->marker, 1, &item, &err), STATUS_INTERNAL);
    assert_int_equal(marker_stage_marker(stage->marker, 1, 4, &err), STATUS_INTERNAL);
    assert_int_equal(marker_stage_end_input(stage->marker, 1, &err), STATUS_INTERNAL);
    marker_stage_settle(stage->marker, 3);
    assert_int_equal(marker_stage_state(stage->marker, 3), MARKER_UNKNOWN);
    marker_stage_destroy(stage->marker);
    free(world);
}

static enum status record_nothing(void *stage, uint64_t snapshot, struct error *err)
{
    (void)stage;
    (void)snapshot;
    (void)err;
    return STATUS_OK;
}

static void snapshots_known_at_once_have_a_limit(void **state)
{
    (void)state;
    struct error err;
    static const struct marker_stage_type type = {.record = record_nothing};
    struct marker_stage *stage;
    assert_int_equal(marker_stage_create(&type, NULL, 0, MARKER_CHANNELS_MAX + 1, &stage, &err), STATUS_LIMIT);
    require(marker_stage_create(&type, NULL, 1, 0, &stage, &err), &err);
    for (uint64_t i = 0; i < MARKER_SNAPSHOTS_MAX; i++) {
        require(marker_stage_begin(stage, i, &err), &err);
    }
    assert_int_equal(marker_stage_begin(stage, MARKER_SNAPSHOTS_MAX, &err), STATUS_LIMIT);
    require(marker_stage_end_input(stage, 0, &err), &err);
    for (uint64_t i = 0; i < MARKER_SNAPSHOTS_MAX; i++) {
        marker_stage_settle(stage, i);
    }
    assert_int_equal(marker_stage_known(stage), 0);
    marker_stage_destroy(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots_of_any_graph_are_consistent_and_end),  cmocka_unit_test(channels_that_end_stand_for_their_markers),
        cmocka_unit_test(a_stage_that_cannot_record_lets_the_others_end), cmocka_unit_test(checks_notice_a_marker_that_overtakes),
        cmocka_unit_test(what_breaks_the_rules_of_a_channel_is_an_error), cmocka_unit_test(snapshots_known_at_once_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
