"""C21 to C31: rounds, barriers, tasks that move."""
import time

from membership import by_id, grown
from registry import scenario
from world import expect, wait


@scenario("C21", "LZ", weight=3)
def members_are_restarted_one_by_one(world):
    job = world.job(partitions=12)
    job.submit()
    job.start_feeding(pause=0.2)
    workers = grown(world, job, 6)
    for worker in list(workers):
        before = job.model()
        worker.leave()
        world.start(worker.id)
        left = f"{worker.id}#{before.members[worker.id]['inc']}"  # a leader that left is listed until another leads
        after = job.await_even(*[other.id for other in workers], but=[left])
        others = [name for name, task in before.tasks.items() if task["owner"] == after.tasks[name]["owner"] != worker.id]
        expect(all(before.epochs()[name] == after.epochs()[name] for name in others), "tasks of others were stopped",
               [name for name in others if before.epochs()[name] != after.epochs()[name]], before.read["tasks"], after.read["tasks"],
               job.history()[-8:])
        expect(after.version - before.version <= 4, "a version a step", before.version, after.version, job.history())
    job.await_progress()
    job.check_exact()


@scenario("C22", "LZ", quick=True)
def one_is_restarted_in_place(world):
    job = world.job()
    job.submit()
    job.start_feeding()
    workers = grown(world, job, 2)
    before = job.model()
    workers[1].leave()
    world.start("w2")
    after = job.await_even("w1", "w2", but=[f"w2#{before.members['w2']['inc']}"])
    expect({id: len(tasks) for id, tasks in after.owners().items()} == {id: len(tasks) for id, tasks in before.owners().items()},
           "the same shares", before.owners(), after.owners())
    job.check_exact()


@scenario("C23", "LZ")
def one_that_does_not_release_is_evicted_alone(world):
    """Frozen for less than its ttl, it holds up a round: the barrier's time is over first."""
    slow = ["cluster.lease.ttl=60 s" if world.service.letter == "L" else "cluster.lease.ttl=40 s", "cluster.lease.margin=10 s",
            "cluster.heartbeat=1 s", "cluster.task.stop.timeout=1 s", "cluster.barrier.timeout=8 s"]
    slow += ["zookeeper.session-timeout=40 s"] if world.service.letter == "Z" else []
    job = world.job(partitions=6)
    job.submit()
    job.start_feeding()
    first = world.start("w1", settings=slow)
    job.await_even("w1")
    second = world.start("w2", settings=slow)
    before = job.await_even("w1", "w2")
    follower = by_id([first, second], "w2" if before.leader == "w1" else "w1")
    follower.freeze()
    try:
        world.start("w3", settings=slow)
        during = wait(lambda: (lambda model: model if follower.id not in model.members and model.opened else None)(job.model()),
                      "the one that holds it up is evicted, and the round completes")
        expect({before.leader, "w3"} == set(during.members), "it alone is evicted", during.read)
    finally:
        follower.go_on()
    job.await_even("w1", "w2", "w3")
    job.check_exact()


@scenario("C26", "LZA", quick=True)
def a_member_leaves_under_load(world):
    job = world.job()
    job.submit()
    job.start_feeding(pause=0.05, rows=400)
    workers = grown(world, job, 2)
    job.await_progress()
    began = time.monotonic()
    workers[0].leave()
    after = job.await_even("w2")
    took = time.monotonic() - began
    expect(not after.read.get("evicted"), "it left in order: nothing is evicted", after.read)
    job.await_progress()
    job.check_exact()
    return f"hand-over within {took:.1f} s"


@scenario("C31", "L", quick=True)
def a_task_is_moved_by_hand(world):
    job = world.job()
    job.submit()
    job.start_feeding()
    workers = grown(world, job, 2)
    before = job.model()
    task = sorted(before.owners()["w1"])[0]
    job.ctl("task.move", "--task", task, "--to", "w2", "--wait")
    moved = wait(lambda: (lambda model: model if task in model.owners().get("w2", ()) else None)(job.model()), f"{task} runs at w2")
    expect(moved.opened, "the round is over", moved.read)
    stayed = [name for name in before.tasks if name != task and moved.tasks[name]["owner"] == before.tasks[name]["owner"]]
    expect(all(moved.epochs()[name] == before.epochs()[name] for name in stayed), "others were stopped")
    job.ctl("task.move", "--task", "s0.99", "--to", "w2", "--wait", code=1)
    job.ctl("task.move", "--task", task, "--to", "nobody", "--wait", code=1)
    job.await_progress()
    job.check_exact()
    expect(all(worker.lives() for worker in workers), "a process has ended")
