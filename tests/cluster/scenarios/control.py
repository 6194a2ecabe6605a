"""C31, C42 to C57: the control log of a job that several processes share. What is accepted is done once by every task, whoever is killed."""
import json
import os
import random
import threading
import time

from registry import scenario
from world import expect, wait

TASKS = 4


def edit(job, *arguments, code=0):
    """What came of it."""
    return json.loads(job.ctl(*arguments, "--json", "--timeout", "150 s", code=code))


def log(job):
    return [json.loads(line) for line in job.ctl("log", "--json").splitlines()]


def begin(world, *ids, **options):
    job = world.job(partitions=TASKS, **options)
    job.submit()
    workers = {id: world.start(id) for id in ids}
    job.await_even(*ids)
    return job, workers


def owner(job, task):
    return job.model().tasks[task]["owner"]


def check_log(job):
    """All edits are closed; those that were accepted have the ranks 1, 2, 3 ... in the order of the log."""
    wait(lambda: all(entry["state"] not in ("proposed", "accepted") for entry in log(job)), "all edits are closed")
    ranks = [entry["rank"] for entry in log(job) if "rank" in entry]
    expect(ranks == list(range(1, len(ranks) + 1)), "ranks without gaps", ranks)


def shown_ids(folder):
    ids = []
    for path, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] not in "._"]
        for name in names:
            if name[0] not in "._":
                ids += [json.loads(line)["id"] for line in open(os.path.join(path, name), encoding="ascii")]
    return sorted(ids)


def submit_from_savepoint(world, job, place):
    """Another job with the same statement, whose output is in a folder of its own."""
    with open(job.script, encoding="utf-8") as file:
        sql = file.read().replace(f"'pipeline.name' = '{job.name}'", "'pipeline.name' = 'other'").replace("/out'", "/out-other'")
    with open(f"{job.folder}/other.sql", "w", encoding="utf-8") as file:
        file.write(sql)
    world.run("job", "submit", f"{job.folder}/other.sql", *world.places(), "-s", f"execution.state-recovery.path={place}")


@scenario("C49", "LZA", quick=True)
def a_savepoint_is_taken_of_all_tasks_and_goes_on_elsewhere(world):
    job, _ = begin(world, "w1", "w2", interval="500 ms")
    done = edit(job, "checkpoint", "--wait")
    expect((done["state"], done["applied"], done["of"]) == ("done", TASKS, TASKS), "every task has committed it", done)
    job.check_exact()
    place = edit(job, "savepoint", "--name", "nightly", "--wait")["result"]["location"]
    with open(f"{place}/savepoint.json", encoding="utf-8") as file:
        tasks = sorted(task["task"] for task in json.loads(file.readline())["tasks"])
    expect(tasks == [f"s0.{n}" for n in range(TASKS)], "the savepoint has all tasks", tasks)
    again = edit(job, "savepoint", "--name", "nightly", "--wait", code=1)
    expect("already" in again["reason"], "not twice under one name", again)
    before = job.rows
    job.feed()
    submit_from_savepoint(world, job, place)
    expected = [n for n in range(before, job.rows) if n % 10 != 9]
    wait(lambda: len(shown_ids(f"{job.folder}/out-other")) >= len(expected), "the other goes on from there")
    expect(shown_ids(f"{job.folder}/out-other") == expected, "exactly what came after the savepoint", shown_ids(f"{job.folder}/out-other")[:5])
    world.run("job", "stop", "other", *world.places())
    job.start_feeding()
    done = edit(job, "job.stop", "--savepoint", "last", "--wait")
    expect(done["result"]["location"].rstrip("/").endswith(("last", "last+")), "the last savepoint", done)
    wait(lambda: job.model().state == "stopped", "the job is stopped")
    job.stop_feeding()
    wait(lambda: job.order("restart", code=None)[0] == 0, "it is restarted, once its workers have left it")
    job.await_even("w1", "w2")
    job.check_exact()
    check_log(job)


@scenario("C31", "LZ", quick=True)
def what_moves_by_hand_stays_where_it_was_put(world):
    job, workers = begin(world, "w1", "w2")
    here = owner(job, "s0.2")
    there = {"w1": "w2", "w2": "w1"}[here]
    edit(job, "task.move", "--task", "s0.2", "--to", there, "--wait")
    expect(owner(job, "s0.2") == there, "it has moved")
    epoch = job.model().epochs()["s0.2"]
    edit(job, "task.move", "--task", "s0.2", "--to", there, "--wait")
    expect(job.model().epochs()["s0.2"] > epoch, "a move to where it is restarts it")
    edit(job, "task.restart", "--task", "s0.1", "--wait")
    workers[there].kill()
    wait(lambda: job.model().owners().get(here, set()) == set(job.model().tasks), "the other has all, pinned or not")
    world.start(there)
    wait(lambda: "s0.2" in job.model().owners().get(there, ()), "it comes back with its processor")
    edit(job, "processor.drain", "--processor", there, "--wait")
    expect(set(job.model().owners()) == {here}, "the drained one has nothing", job.model().read)
    world.start("w3")
    wait(lambda: job.model().owners().get("w3"), "a third has some")
    edit(job, "capacity.set", "--max", "1", "--wait")
    expect(len(job.model().owners()) == 1, "one has all", job.model().read)
    edit(job, "processor.undrain", "--processor", there, "--wait")
    edit(job, "capacity.set", "--max", "8", "--wait")
    wait(lambda: len(job.model().owners()) == 3, "all three have some")
    job.feed()
    job.check_exact()
    check_log(job)


@scenario("C42", "LZA", quick=True)
def order_keys_expectations_and_deadlines(world):
    job, workers = begin(world, "w1", "w2")
    first = edit(job, "checkpoint", "--key", "deploy-1", "--wait")
    expect(edit(job, "checkpoint", "--key", "deploy-1", "--wait")["index"] == first["index"], "the same key is the same edit")
    expect(edit(job, "job.pause", "--key", "deploy-1", code=1)["code"] == "CTL-KEY-REUSED", "another edit under the key")
    version, got = str(job.model().version), []

    def restart(task):
        got.append(job.ctl("task.restart", "--task", task, "--expect-version", version, "--json", code=None))
    threads = [threading.Thread(target=restart, args=(task,)) for task in ("s0.0", "s0.1")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(sorted(code for code, _, _ in got) == [0, 1], "both meet the same version: only the first in the log may", got)
    refused = json.loads(next(out for code, out, _ in got if code == 1))
    expect(refused["code"] == "CTL-EXPECTED-OTHER", "the second meets another", refused)
    for worker in workers.values():
        worker.kill()
    _, _, errors = job.ctl("checkpoint", "--deadline", "1 ms", "--timeout", "100 ms", code=None)
    expect("not decided within the time" in errors, "nobody decides", errors)
    world.start("w1", "w2")
    expect(edit(job, "checkpoint", "--wait")["state"] == "done", "the next one is done")
    states = [entry["state"] for entry in log(job)]
    expect(states[-2:] == ["expired", "done"], "the one before has expired", states)
    check_log(job)


@scenario("C43", "LZ", quick=True, weight=2)
def edits_are_done_once_through_kills(world):
    seed = random.randrange(10 ** 6)
    chance = random.Random(seed)
    job, workers = begin(world, "w1", "w2", "w3")
    job.start_feeding()
    verbs = (("checkpoint",), ("task.restart", "--task", "s0.1"), ("job.pause",), ("job.resume",), ("task.move", "--task", "s0.3", "--to", "w2"))
    for n in range(8 if world.service.letter == "L" else 4):
        asked = (*chance.choice(verbs), "--key", f"edit-{n}", "--timeout", "1 ms")
        job.ctl(*asked, code=None)
        time.sleep(chance.random() * 0.7)
        id = chance.choice(sorted(workers))
        workers[id].kill()
        if chance.random() < 0.5:
            job.ctl(*asked, code=None)  # whoever is not sure asks again
        workers[id] = world.start(id)
    edit(job, "job.resume", "--wait")
    job.check_exact()
    keys = [entry["key"] for entry in log(job) if "rank" in entry and "key" in entry]
    expect(len(keys) == len(set(keys)), "a key is accepted once", keys, seed)
    check_log(job)
    return f"seed {seed}"


@scenario("C44", "LZA")
def an_accepted_edit_outlives_its_leader(world):
    job, workers = begin(world, "w1", "w2", "w3")
    for _ in range(3):
        leader = job.model().leader
        to = next(id for id in sorted(workers) if id not in (leader, owner(job, "s0.0")))
        index = str(edit(job, "task.move", "--task", "s0.0", "--to", to)["index"])
        workers[leader].kill()
        wait(lambda: json.loads(job.ctl("show", index, "--json"))["state"] == "done", "the next leader has done it")
        expect(owner(job, "s0.0") == to, "it has moved")
        workers[leader] = world.start(leader)
        job.await_even("w1", "w2", "w3")
    job.feed()
    job.check_exact()
    check_log(job)


@scenario("C46", "LZA", quick=True)
def nothing_is_processed_while_paused_whoever_comes_and_goes(world):
    job, workers = begin(world, "w1", "w2")
    job.check_exact()
    expect(edit(job, "job.pause", "--wait")["applied"] == TASKS, "all tasks pause")
    expect(job.model().state == "paused", "the model says it")
    before = job.output()
    for _ in range(20):
        job.feed()

    def still():
        edit(job, "checkpoint", "--wait")  # what was processed would be in it, and shown
        expect(job.output() == before, "nothing was processed")
    still()
    workers[job.model().leader].kill()
    world.start("w3")
    wait(lambda: "w3" in job.model().owners(), "another takes part")
    still()
    edit(job, "job.resume", "--wait")
    job.check_exact()
    check_log(job)


@scenario("C53", "LZ", quick=True)
def a_setting_acts_in_every_task_and_stays_set(world):
    job, workers = begin(world, "w1", "w2", interval="30 min")
    done = edit(job, "config.set", "--setting", "execution.checkpointing.interval", "--value", "200 ms", "--wait")
    expect((done["state"], done["applied"]) == ("done", TASKS), "all tasks have it", done)
    job.feed()
    job.check_exact()  # nothing but a checkpoint shows rows
    for id in sorted(workers):
        workers[id].kill()
        world.start(id)
    job.await_even("w1", "w2")
    for _ in range(8):
        job.feed()
    job.check_exact()
    refused = edit(job, "config.set", "--setting", "parallelism.default", "--value", "3", code=1)
    expect("execution.checkpointing.interval" in refused["reason"], "which can", refused)
    check_log(job)


@scenario("C53", "L", quick=True)
def what_cannot_be_done_is_refused_by_name(world):
    job, _ = begin(world, "w1", "w2")
    _, _, errors = job.ctl("savepont", code=None)
    expect("did you mean 'core.savepoint'?" in errors, "what is near", errors)
    for arguments in (("plan.replace", "--sql", "SELECT 1"), ("partitions.add", "--source", "t", "--partitions", "3,4"), ("job.drain",), ("app.reload",),
                      ("savepoint", "--drain"), ("capacity.set", "--min", "2"), ("offset.reset", "--source", "t", "--to", "earliest")):
        refused = edit(job, *arguments, code=1)
        expect(refused["code"] == "CTL-NO-GROUND", "no ground", refused)
    refused = edit(job, "task.move", "--task", "s0.1", "--to", "w7", code=1)
    expect("'w1', 'w2'" in refused["reason"], "what there is", refused)
    refused = edit(job, "task.move", "--task", "s0.9", "--to", "w1", code=1)
    expect("no task 's0.9'" in refused["reason"], "what there is not", refused)
    expect({entry["state"] for entry in log(job)} == {"rejected"}, "nothing was done")


@scenario("C57", "L", quick=True)
def a_job_that_is_cancelled_by_its_log_can_be_restarted(world):
    job, _ = begin(world, "w1", "w2")
    job.start_feeding()
    job.await_progress()
    expect(edit(job, "job.cancel", "--wait")["state"] == "done", "it is cancelled")
    wait(lambda: job.model().state == "killed", "the model says it")
    wait(lambda: job.order("restart", code=None)[0] == 0, "it is restarted, once its workers have left it")
    job.await_even("w1", "w2")
    job.check_exact()
    check_log(job)


@scenario("C54", "L")
def a_thousand_records_are_a_snapshot_and_a_tail(world):
    job, workers = begin(world, "w1")
    job.ctl("checkpoint", "--key", "first", "--wait")
    for n in range(260):  # four records each
        job.ctl("job.pause" if n % 2 else "job.resume")
    job.ctl("job.resume", "--wait")
    wait(lambda: any(name.endswith("ctl-snapshot") for name in world.raw("list", "jobs/").split()), "a snapshot")
    workers["w1"].leave()
    began = time.monotonic()
    world.start("w2")
    again = edit(job, "checkpoint", "--key", "first", "--wait")
    expect(again["rank"] == 1, "the key is still known", again)
    expect(edit(job, "checkpoint", "--wait")["state"] == "done", "and edits are done")
    job.feed()
    job.check_exact()
    return f"{time.monotonic() - began:.1f} s from the start to an edit that is done"
