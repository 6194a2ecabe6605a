"""C57 to C73: jobs that are killed, restarted, submitted twice; processes that end."""
import random
import signal
import time

from membership import grown
from registry import scenario
from world import expect, wait


@scenario("C57", "LZA", quick=True)
def a_job_is_killed_and_restarted(world):
    job = world.job()
    job.submit()
    job.start_feeding()
    workers = grown(world, job, 2)
    id = job.id()
    job.await_progress()
    job.order("kill")
    job.feed(500)
    job.order("restart")
    after = job.await_even("w1", "w2")
    expect(after.read["job"] == id, "the same id", after.read)
    expect(all(worker.lives() for worker in workers), "workers stay for other jobs")
    job.await_progress()
    job.check_exact()


@scenario("C58", "LZA", quick=True)
def all_processes_die_and_the_coordinator_with_them(world):
    job = world.job()
    job.submit()
    job.start_feeding()
    workers = grown(world, job, 2)
    before = job.model()
    job.await_progress()
    for worker in workers:
        worker.kill()
    world.raw("wipe", "jobs/")
    elsewhere = world.service.place(world.name + "-elsewhere")
    world.uri = elsewhere  # another coordinator; the storage is the same
    job.order("restart")
    world.start("v1", "v2")
    after = job.await_even("v1", "v2")
    expect(after.read["job"] == before.read["job"] and after.term > before.term, "the same job, a later term", after.read)
    expect(after.version > before.version, "a process that lives on must not come back with a higher epoch", after.read)
    job.await_progress()
    job.check_exact()


@scenario("C59", "L", quick=True)
def submits_and_kills_that_come_twice(world):
    job = world.job()
    job.submit()
    code, _, errors = job.submit(code=None)
    expect(code != 0 and "--replace" in errors, "a second submit is refused", errors)
    world.start("w1")
    job.await_even("w1")
    job.await_progress(0)
    job.order("kill")
    code, out, errors = job.order("kill", code=None)
    expect(code == 0 or "already" in errors, "a second kill says that it is killed", out, errors)
    code, _, errors = world.run("job", "kill", "nobody", *world.places(), code=None)
    expect(code != 0 and "nobody" in errors, "an unknown job is not found", errors)
    job.submit("--replace")
    job.await_even("w1")


@scenario("C66", "LZA", weight=2)
def processes_are_killed_while_ten_thousand_numbers_go_through(world):
    job = world.job(partitions=4, rows=100)
    job.submit()
    choice = random.Random(world.name)
    workers = {id: world.start(id) for id in ("w1", "w2", "w3")}
    job.await_even(*workers)
    job.start_feeding(pause=0.2, rows=100)
    kills = 0
    while job.rows < 10000:
        wait(lambda: len(job.model().members) == 3 and job.model().opened, "three members")
        leader = job.model().leader
        id = leader if kills % 2 == 0 and leader in workers else choice.choice(sorted(workers))
        workers[id].kill()
        workers[id] = world.start(id)
        kills += 1
        time.sleep(choice.uniform(0.2, 1.5))
    job.check_exact()
    return f"{job.rows} numbers, {kills} kills"


@scenario("C73", "LZ", quick=True)
def sigterm_ends_in_order_and_twice_at_once(world):
    job = world.job()
    job.submit()
    job.start_feeding()
    first = world.start("w1")
    wait(lambda: "takes part" in first.said(), "w1 has found the job", pause=0.01)
    first.leave()  # while it joins
    workers = [world.start("w2"), world.start("w3")]
    job.await_even("w2", "w3")
    leader = next(worker for worker in workers if worker.id == job.model().leader)
    leader.leave()  # while it leads
    other = next(worker for worker in workers if worker is not leader)
    job.await_even(other.id)
    fresh = world.start("w4")
    job.await_even(other.id, "w4")
    fresh.freeze()  # both signals are there when it looks
    fresh.send(signal.SIGTERM)
    fresh.go_on()
    time.sleep(0.5)
    if fresh.lives():
        fresh.send(signal.SIGTERM)
    fresh.process.wait(60)
    expect(fresh.process.returncode in (0, 128 + signal.SIGTERM, -signal.SIGTERM), "it ends in order or at once", fresh.process.returncode)
    job.await_even(other.id)
    job.await_progress()
    job.check_exact()
