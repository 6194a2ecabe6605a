"""Faults that the simulator must find: each breaks one rule of the protocol in a copy of the source, (file, what is there, what replaces it)."""

MUTANTS = {
    # The seven of the model (tests/models/coordination.pml).
    "no compare-and-set": ("tests/simulation/services.c", "if (!services_same_version(&operation->version, world->model_version) || world->model_lost) {", "if (false) {"),
    "no fence": ("src/cluster/leader.c", "if (is_fenced(self, &fence->seat)) {", "if (growing_array_reserve(&self->fenced, &self->fenced_capacity, self->fenced_count + 1, sizeof *self->fenced) && (self->fenced[self->fenced_count++] = (struct fenced_life){fence->seat.seat, fence->seat.life.incarnation, 0}, true)) {"),
    "no acknowledgement": ("src/cluster/leader_members.c", "    if (task->from.id == NULL) {\n        return true;", "    if (!task->evicted) {\n        return true;"),
    "lost from": ("src/cluster/leader_turn.c", "    if (task->open) {\n        task->from", "    if (task->owner != MODEL_NONE) {\n        task->from"),
    "early stop-all": ("src/cluster/leader_turn.c", "return model->round.kind == MODEL_STOP_ALL && !model->round.opened;", "return (void)model, false;"),
    "old incarnation": ("src/cluster/processor.c", "        incarnation = random_next(&self->random);", "        incarnation = hash_bytes(self->config.id, strlen(self->config.id));"),
    "early acknowledgement": ("src/cluster/processor_register.c", "        member->held[member->held_count++] = self->tasks[i].task;", "        if (self->tasks[i].phase != TASK_STOPPING) {\n            member->held[member->held_count++] = self->tasks[i].task;\n        }"),
    # An error is not absence.
    "error as absent": ("src/cluster/leader_members.c", "return VERDICT_ALIVE; /* nothing is known: an error is never taken for absence */", "return VERDICT_DEAD;"),
    # What building it taught (docs/design/2026-11-30-coordination.md).
    "resumed by a late heartbeat": ("src/cluster/processor.c", "self->resuming && self->model_sent_us >= self->resumed_us", "self->resuming"),
    "seat not confirmed": ("src/cluster/processor_tasks.c", "self->seat_phase == SEAT_OPENED && self->model_sent_us >= self->seat_opened_us", "self->seat_phase == SEAT_OPENED"),
    "no proof of stopping": ("src/cluster/leader_turn.c", "(draft->unfenced && !members_stopped(self, life, turn->now_us))", "false"),
    "retired tasks dropped": ("src/cluster/leader_turn.c", "old->from.id != NULL && bsearch(", "false && bsearch("),
    "one late write is a life": ("src/cluster/processor_register.c", "self->watch.changes >= 2", "self->watch.changes >= 1"),
    "count goes on over a gap": ("src/cluster/leader_members.c", "    if (!same || broken) {", "    if (!same) {"),
    "no margin": ("tests/simulation/faults.c", "    world->call_timeout_us =", "    world->timing.lease_margin.us = -world->timing.lease_ttl.us / 2;\n    world->call_timeout_us ="),
    "evicted life admitted": ("src/cluster/leader_members.c", "!model_evicts(turn->draft, view->member->life) &&", ""),
    # Locks and latches.
    "update without its fence": ("src/cluster/guarded.c", "    if (there.fence > next->fence) {", "    if (false) {"),
    "reading writes nothing": ("src/cluster/guarded.c", "if (strcmp(there.nonce, nonce) != 0) {", "if (false) {"),
    "confirmed when answered": ("src/cluster/tenure.c", "        confirm(tenure, sent_us);", "        confirm(tenure, now_us);"),
    "counted down twice": ("src/cluster/latch.c", "if (latch_is_open(&reading->state) || has_arrived(arrived, change->participant)) {", "if (latch_is_open(&reading->state)) {"),
    # Commits in registers.
    "unknown taken for done": ("src/cluster/commit_record.c", "    *done = result == CLUSTER_OK;\n    store->stale", "    *done = result != CLUSTER_CONFLICT;\n    store->stale"),
    "commits beside its owner": ("src/cluster/commit_record.c", "    if (!is_mine(store, &there, &serial)) {", "    if (there.absent) {"),
    "taken under an old epoch": ("src/cluster/commit_record.c", "    if (!there.absent && (record->epoch > store->epoch ||", "    if (!there.absent && (false &&"),
    "numbers of the owner before": ("src/cluster/commit_record.c", "    record->generation = absent && listed == 0 ? 0 : before + 1;", "    record->generation = before;"),
    "shown before it counts": ("tests/simulation/tasks.c", "    if (status == STATUS_OK) {\n        status = count_checkpoint(fiber, task, err);", "    if (status == STATUS_OK) {\n        (void)!show(fiber, task, err);\n        status = count_checkpoint(fiber, task, err);"),
    "counted one swept": ("src/storage/sweep_mark.c", "    return read && (!task->has_record || (seq < task->counted && !named));", "    return read || named;"),
    # The control log.
    "decide without term": ("src/cluster/control/fold.c", "record->term == fold->term && entry != NULL && entry->state == CONTROL_STATE_PROPOSED &&", "entry != NULL && entry->state == CONTROL_STATE_PROPOSED &&"),
    "ack before commit": ("tests/simulation/tasks.c", "        control_apply(world, fiber->process, &task->edits);", "        control_apply(world, fiber->process, &task->edits);\n        work->ctl_committed = task->edits.rank;"),
    "key without memory": ("src/cluster/control/decide.c", "*same = find_key(turn->fold, entry);", "*same = false ? find_key(turn->fold, entry) : NULL;"),
    "edits applied again": ("tests/simulation/tasks.c", "    tasks_read_edits(manifest.extra, &task->edits);", "    tasks_read_edits(manifest.extra, &task->edits);\n    task->edits.rank = task->edits.begun;"),
    "closed before all have applied": ("src/cluster/control/decide.c", "        if (control_fold_acked(turn->fold, turn->world->tasks[i]) < entry->rank) {", "        if (control_fold_acked(turn->fold, turn->world->tasks[i]) + 1 < entry->rank) {"),
    # Errors of other reads.
    "commit record: error as absent": ("src/cluster/commit_record.c", "    TRY(place->session->driver->get(place->session, place->name, arena, &result, &value, err));", "    if (place->session->driver->get(place->session, place->name, arena, &result, &value, err) != STATUS_OK) {\n        result = CLUSTER_ABSENT;\n    }"),
    "control log: error as absent": ("src/cluster/control/log_register.c", "    TRY(driver_of(log)->get(log->session, name, arena, result, &value, err));\n    if (*result != CLUSTER_OK) {", "    if (driver_of(log)->get(log->session, name, arena, result, &value, err) != STATUS_OK) {\n        *result = CLUSTER_ABSENT;\n    }\n    if (*result != CLUSTER_OK) {"),
    "damaged record as absent": ("src/cluster/commit_record.c", "    return read_form(place->name, value.bytes, place->task, arena, content, err);", "    content->absent = read_form(place->name, value.bytes, place->task, arena, content, err) != STATUS_OK;\n    return STATUS_OK;"),
    # A job that is restarted without its coordinator's data.
    "epochs begin anew": ("tests/simulation/disaster.c", "    return (highest / EPOCH_STEP + 1) * EPOCH_STEP;", "    return 1;"),
}
