"""C1 to C20: who is there, who leads, and a service that is slow, silent, damaged or lost."""
import json
import time

from registry import scenario
from world import expect, wait


def grown(world, job, count):
    """`count` workers with an even share each."""
    workers = [world.start(f"w{number}") for number in range(1, count + 1)]
    job.await_even(*[worker.id for worker in workers])
    return workers


def by_id(workers, id):
    return next(worker for worker in workers if worker.id == id)


@scenario("C1", "LZA", quick=True)
def three_processes_share_six_tasks(world):
    job = world.job()
    job.submit()
    world.start("w1", "w2", "w3")
    model = job.await_even("w1", "w2", "w3")
    expect(all(len(tasks) == 2 for tasks in model.owners().values()), "each owns two", model.owners())
    job.check_exact()
    after = job.model()
    expect((after.version, after.term) == (model.version, model.term), "the version or the leader changed without reason", job.history())


def one_more_then_one_less(world, count):
    job = world.job(partitions=8)
    job.submit()
    job.start_feeding()
    workers = grown(world, job, count)
    before = job.model()
    workers.append(world.start("x"))
    ids = [worker.id for worker in workers]
    after = job.await_even(*ids)
    stayed = [name for name, task in before.tasks.items() if after.tasks[name]["owner"] == task["owner"]]
    touched = [name for name in stayed if after.epochs()[name] != before.epochs()[name]]
    expect(not touched, "tasks that did not move were stopped", touched)
    expect(len(before.tasks) - len(stayed) <= -(-len(before.tasks) // (count + 1)), "more tasks moved than had to", before.owners(), after.owners())
    workers[0].leave()
    last = job.await_even(*ids[1:])
    kept = [name for name in after.tasks if after.tasks[name]["owner"] != workers[0].id]
    expect(all(last.epochs()[name] == after.epochs()[name] for name in kept if last.tasks[name]["owner"] == after.tasks[name]["owner"]),
           "tasks of those that stayed were stopped")
    job.await_progress()
    job.check_exact()


@scenario("C2", "LZA", quick=True)
def a_second_comes_and_the_first_leaves(world):
    one_more_then_one_less(world, 1)


@scenario("C2", "LZA")
def a_third_comes_and_the_first_leaves(world):
    one_more_then_one_less(world, 2)


@scenario("C2", "LZ", weight=2)
def a_sixth_comes_and_the_first_leaves(world):
    one_more_then_one_less(world, 5)


@scenario("C3", "LZA", quick=True)
def the_leader_is_killed_and_one_is_added(world):
    job = world.job()
    job.submit()
    job.start_feeding()
    workers = grown(world, job, 3)
    before = job.model()
    by_id(workers, before.leader).kill()
    left = [worker.id for worker in workers if worker.id != before.leader]
    model = job.await_even(*left)
    expect(model.term > before.term and model.version > before.version and model.leader in left, "a new leader goes on", model.read)
    world.start("w4")
    later = job.await_even("w4", *left)
    expect(later.version > model.version and later.term == model.term, "versions go on under the same leader", later.read)
    job.check_exact()


def some_of_five_die(world, choose, leader_dies):
    job = world.job(partitions=10)
    job.submit()
    job.start_feeding()
    workers = grown(world, job, 5)
    before = job.model()
    followers = [worker for worker in workers if worker.id != before.leader]
    dying = choose(by_id(workers, before.leader), followers)
    for worker in dying:
        worker.kill()
    after = job.await_even(*[worker.id for worker in workers if worker not in dying])
    expect((after.term != before.term) == leader_dies, "the leader changes only when it died", before.read, after.read)
    job.await_progress()
    job.check_exact()


@scenario("C4", "LZ", weight=2)
def one_follower_of_five_dies(world):
    some_of_five_die(world, lambda leader, followers: followers[:1], False)


@scenario("C4", "LZ", weight=2)
def all_followers_of_five_die(world):
    some_of_five_die(world, lambda leader, followers: followers, False)


@scenario("C4", "LZA", weight=2)
def leader_and_a_follower_of_five_die(world):
    some_of_five_die(world, lambda leader, followers: [leader, followers[0]], True)


def freeze_one(world, choose_leader):
    """Frozen until it was replaced, then continued: it comes back by itself as another life."""
    job = world.job()
    job.submit()
    job.start_feeding()
    workers = grown(world, job, 3)
    before = job.model()
    frozen = next(worker for worker in workers if (worker.id == before.leader) == choose_leader)
    frozen.freeze()
    left = [worker.id for worker in workers if worker is not frozen]
    during = job.await_even(*left)
    expect((during.term > before.term) == choose_leader, "the leader changes only when it was frozen", during.read)
    job.await_progress()
    frozen.go_on()
    after = job.await_even(*[worker.id for worker in workers])
    expect(after.term == during.term and after.members[frozen.id]["inc"] != before.members[frozen.id]["inc"],
           "it is another life, and a follower", before.read, after.read)
    expect(frozen.lives(), "it has ended")
    job.check_exact()


@scenario("C5", "LZA", quick=True)
def a_leader_is_frozen_past_its_time(world):
    freeze_one(world, True)


@scenario("C6", "LZA")
def a_follower_is_frozen_past_its_time(world):
    freeze_one(world, False)


@scenario("C7", "L")
def a_newcomer_wins_the_election(world):
    """The follower is frozen for less than its time while the leader dies: only the newcomer can win."""
    slow = ["cluster.lease.ttl=20 s", "cluster.lease.margin=5 s", "cluster.heartbeat=1 s"]
    job = world.job()
    job.submit()
    workers = [world.start("w1", settings=slow)]
    job.await_even("w1")
    workers.append(world.start("w2", settings=slow))
    before = job.await_even("w1", "w2")
    leader, follower = by_id(workers, before.leader), next(worker for worker in workers if worker.id != before.leader)
    world.start("w3", settings=slow)
    follower.freeze()
    leader.kill()
    try:
        sealed = wait(lambda: (lambda model: model if model.leader == "w3" else None)(job.model()), "w3 leads")
    finally:
        follower.go_on()
    expect(sealed.term == before.term + 1, "one term more", sealed.read)
    expect(sealed.version >= before.version, "it goes on from the version that is there", before.read, sealed.read)
    kept = [name for name in before.owners()[follower.id] if sealed.tasks[name]["owner"] == follower.id]
    expect(all(sealed.epochs()[name] == before.epochs()[name] for name in kept), "tasks that did not move were stopped", before.epochs(), sealed.read)
    after = job.await_even(follower.id, "w3")
    expect(after.version > before.version and after.members[follower.id] == before.members[follower.id], "versions go on; the follower stays",
           before.read, after.read, job.history())
    job.check_exact()


@scenario("C9", "LZA")
def a_leader_is_frozen_during_a_round(world):
    job = world.job()
    job.submit()
    job.start_feeding()
    workers = grown(world, job, 2)
    before = job.model()
    leader = by_id(workers, before.leader)
    workers.append(world.start("w3"))
    wait(lambda: job.model().version > before.version, "the round begins", pause=0.02)
    leader.freeze()
    left = [worker.id for worker in workers if worker is not leader]
    during = job.await_even(*left)
    expect(during.term > before.term, "another leads", during.read)
    leader.go_on()
    job.await_even(*[worker.id for worker in workers])
    job.check_exact()


@scenario("C10", "LZA", quick=True)
def a_second_process_of_an_id_is_refused(world):
    job = world.job()
    job.submit()
    job.start_feeding()
    first = world.start("w2")
    before = job.await_even("w2")
    second = world.start("w2")
    second.await_exit(3)
    said = second.said()
    expect(str(first.process.pid) in said, "it names the process that has the id", said)
    after = job.model()
    expect(after.lives() == before.lives() and after.epochs() == before.epochs(), "the first was disturbed", after.read)
    job.await_progress()
    job.check_exact()


@scenario("C11", "LZA", quick=True)
def one_that_was_killed_comes_back_under_its_id(world):
    job = world.job()
    job.submit()
    job.start_feeding()
    workers = grown(world, job, 2)
    before = job.model()
    workers[1].kill()
    began = time.monotonic()
    world.start("w2")
    after = wait(lambda: (lambda model: model if model.members.get("w2", before.members["w2"])["inc"] != before.members["w2"]["inc"] else None)(
        job.model()), "the new life is a member")
    took = time.monotonic() - began
    after = job.await_even("w1", "w2")
    expect(len(after.owners()["w2"]) == len(before.owners()["w2"]), "as many tasks come back", after.owners())
    job.check_exact()
    return f"a member again after {took:.1f} s, the ttl is {world.ttl} s"


def one_task_among_three(world, first, others):
    job = world.job(partitions=1)
    job.submit()
    leader = world.start(first)
    job.await_even(first)
    waiting = world.start(*others)
    ids = [first, *others]
    before = wait(lambda: (lambda model: model if set(model.members) == set(ids) and model.opened else None)(job.model()), "all three are members")
    expect(sum(len(tasks) for tasks in before.owners().values()) == 1 and before.leader == first, "one works", before.read)
    job.feed()
    job.check_exact()
    expect(job.model().version == before.version, "the version is stable", job.history())
    (owner,) = before.owners()
    ({first: leader, others[0]: waiting[0], others[1]: waiting[1]}[owner]).kill()
    wait(lambda: (lambda owners: owners and owner not in owners)(job.model().owners()), "an idle one takes over")
    job.feed()
    job.check_exact()


@scenario("C12", "LZ", quick=True)
def idle_members_behind_a_leader_that_sorts_first(world):
    one_task_among_three(world, "a", ["m", "z"])


@scenario("C12", "LZA")
def idle_members_around_a_leader_that_sorts_between(world):
    one_task_among_three(world, "m", ["a", "z"])


@scenario("C12", "LZ")
def idle_members_before_a_leader_that_sorts_last(world):
    one_task_among_three(world, "z", ["a", "m"])


@scenario("C15", "LZA", quick=True)
def a_service_that_is_not_there_is_named(world):
    nowhere = {"L": "local:///proc/spate-nowhere", "Z": "zookeeper://127.0.0.1:1/orders", "A": "azure://nobody/container/orders"}[world.service.letter]
    job = world.job()
    code, _, errors = world.run("job", "submit", job.script, "--coordinator", nowhere, "--storage", world.storage, code=None)
    expect(code in (1, 3) and errors, "submit says what is wrong", code, errors)
    place = {"L": "/proc/spate-nowhere", "Z": "127.0.0.1:1", "A": "nobody"}[world.service.letter]
    expect(place in errors, "the address is named", errors)


@scenario("C16", "ZA", weight=2)
def a_service_that_pauses_loses_nobody(world):
    job = world.job()
    job.submit()
    job.start_feeding()
    workers = grown(world, job, 2)
    before = job.model()
    for pause in (2, 2 * world.ttl):
        world.service.pause()
        time.sleep(pause)
        world.service.resume()
        job.await_progress()
    expect(all(worker.lives() for worker in workers), "a process has ended")
    job.await_even("w1", "w2")
    job.check_exact()
    after = job.model()
    expect(after.lives() == before.lives(), "nobody is evicted for an outage", before.read, after.read, job.history())


DAMAGES = {"zeroed": lambda value: bytes(len(value)), "cut": lambda value: value[:len(value) // 2],
           "flipped": lambda value: value[:20] + bytes([value[20] ^ 4]) + value[21:]}


def damage_model(world, job, id, how):
    name = f"jobs/{id}/model"
    damaged = DAMAGES[how](world.raw("get", name).encode())
    world.raw("put", name, data=damaged)
    return name, damaged


@scenario("C18", "LZA", quick=True)
def a_damaged_model_is_named_and_kept_and_repaired(world):
    job = world.job()
    job.submit()
    job.start_feeding()
    workers = grown(world, job, 2)
    id = job.id()
    job.check_exact()  # all tasks run: one that is only open cannot start without the model
    job.start_feeding()
    for how in DAMAGES:
        name, damaged = damage_model(world, job, id, how)
        job.await_progress()  # running tasks go on
        code, _, errors = world.run("coord", "model", "orders", *world.places(), code=None)
        expect(code == 1 and name in errors, f"a model that is {how} is named", errors)
        wait(lambda: all(name in worker.said() for worker in workers), "workers name it")
        expect(world.raw("get", name).encode() == damaged, "it was overwritten")
        code, _, errors = world.run("coord", "repair", "orders", *world.places(), code=None)
        expect(code != 0 and "--yes" in errors, "repair asks while members beat", errors)
        world.run("coord", "repair", "orders", "--yes", *world.places())
        job.await_even("w1", "w2")
        job.check_exact()
        job.start_feeding()
    job.check_exact()


@scenario("C20", "LZA", quick=True)
def the_coordinator_is_wiped_and_the_job_restarted(world):
    job = world.job()
    job.submit()
    job.start_feeding()
    workers = grown(world, job, 2)
    before = job.model()
    job.await_progress()
    zombie = workers[0]
    zombie.freeze()
    workers[1].kill()
    world.raw("wipe", f"jobs/{before.read['job']}/")
    code, out, errors = world.run("job", "restart", "orders", *world.places(), code=None)
    expect(code == 0, "restart", out, errors)
    world.start("w3")
    after = wait(lambda: (lambda model: model if "w3" in model.members and model.opened else None)(job.model()), "w3 works")
    expect(after.read["job"] == before.read["job"] and after.term > before.term, "the same job, a later term", after.read)
    zombie.go_on()
    job.await_progress()
    job.await_even("w1", "w3")
    job.check_exact()


@scenario("C38", "LZA")
def names_that_differ_little_share_nothing(world):
    jobs = [world.job(name, partitions=2) for name in ("a-b", "a_b", "A-b", "a-b-c", "a" * 60)]
    for job in jobs:
        job.submit()
        job.start_feeding(pause=0.3)
    world.start("w1", "w2")
    ids = [wait(lambda job=job: job.await_even("w1", "w2"), job.name).read["job"] for job in jobs]
    expect(len(set(ids)) == len(ids), "ids are different", ids)
    for job in jobs:
        job.check_exact()
