"""C14, C17, C24, C32, C69: one process that is cut off alone, clocks that are wrong, ends that are not in order, input that is bad or over."""
import os
import signal
import subprocess
import time

from membership import grown
from registry import scenario
from world import Process, expect, wait

HERE = os.path.dirname(os.path.abspath(__file__))


class Cut(Process):
    """In front of the service, for one process."""

    def __init__(self, world):
        self.path = os.path.join(world.folder, "cut")
        super().__init__([os.path.join(HERE, "../cut_proxy"), str(world.service.service.ports[0]), self.path], os.devnull)
        self.process = subprocess.Popen(self.arguments, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def say(self, word):
        with open(self.path + ".new", "w", encoding="ascii") as file:
            file.write(word)
        os.rename(self.path + ".new", self.path)


def cut_one_off(world, count):
    """Its session ends by force; a lone member keeps its tasks, of several it is replaced, and comes back as another life."""
    job = world.job()
    job.submit()
    job.start_feeding()
    cut = Cut(world)
    try:
        others = [world.start(f"w{number}") for number in range(2, count + 1)]
        if others:
            job.await_even(*[worker.id for worker in others])
        port, (_, _, place) = cut.port, world.uri.removeprefix("zookeeper://").partition("/")
        alone = world.start("w1", uri=f"zookeeper://127.0.0.1:{port}/{place}")
        ids = ["w1", *[worker.id for worker in others]]
        before = job.await_even(*ids)
        cut.say("cut")
        if others:
            job.await_even(*ids[1:])
        else:
            time.sleep(2 * world.ttl)
        cut.say("heal")
        after = job.await_even(*ids)
        expect(alone.lives(), "the one that was cut off has ended")
        expect(not others or after.members["w1"] != before.members["w1"], "it is another life", before.read, after.read)
        job.await_progress()
        job.check_exact()
    finally:
        cut.stop()


@scenario("C14", "Z")
def the_session_of_a_lone_member_expires(world):
    cut_one_off(world, 1)


@scenario("C14", "Z", weight=2)
def the_session_of_one_of_three_expires(world):
    cut_one_off(world, 3)


@scenario("C17", "LZ", quick=True)
def wall_clocks_are_wrong_and_step(world):
    shim = os.path.join(world.folder, "wall_clock.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", os.path.join(HERE, "wall_clock.c"), "-o", shim, "-ldl"], check=True)
    job = world.job()
    job.submit()
    job.start_feeding()
    for id, first in (("w1", "+"), ("w2", "-")):
        world.start(id, prefix=["env", f"LD_PRELOAD={shim}", f"WALL_CLOCK_FIRST={first}"])
    before = job.await_even("w1", "w2")
    time.sleep(2 * world.ttl)  # long enough to be taken for dead, by clocks that are believed
    job.await_progress()
    after = job.model()
    expect((after.version, after.term, after.lives()) == (before.version, before.term, before.lives()), "nobody is evicted, nothing changes",
           before.read, after.read, job.history())
    job.check_exact()


@scenario("C24", "LZ")
def a_member_has_no_time_to_stop(world):
    job = world.job(interval="5 s")
    job.submit()
    first = world.start("w1", settings=["cluster.task.stop.timeout=1 ms"])
    job.await_even("w1")
    job.start_feeding(pause=0.02, rows=500)
    world.start("w2")
    job.await_even("w1", "w2")
    first.send(signal.SIGTERM)
    first.process.wait(60)
    expect(first.process.returncode in (0, 1), "it ends in time, in order or not", first.process.returncode, first.said())
    job.await_even("w2")
    job.check_exact()
    return f"exit code {first.process.returncode}"


@scenario("C32", "L", quick=True)
def a_record_that_cannot_be_read_fails_its_job_alone(world):
    job, other = world.job(), world.job("other", partitions=2)
    job.submit()
    other.submit()
    workers = grown(world, job, 2)
    job.check_exact()
    with open(os.path.join(job.folder, ".poison"), "w", encoding="ascii") as file:
        file.write('{"id":1,"k":1}\nthis is no JSON\n')
    os.rename(file.name, os.path.join(job.folder, "in", "poison-1.json"))
    wait(lambda: job.model().state == "failed", "the job has failed")
    shown = world.run("job", "show", "orders", *world.places())
    expect("poison-1.json" in shown, "the file is named", shown)
    expect(all(worker.lives() for worker in workers), "a process has ended")
    other.feed()
    other.check_exact()
    job.compare(complete=False)


@scenario("C69", "LZ", quick=True)
def bounded_input_comes_to_its_end(world):
    job = world.job(partitions=7, rows=2000, follow=False)
    job.submit()
    workers = world.start("w1", "w2", "w3")
    wait(lambda: job.model().state == "finished", "the job has finished")
    job.check_exact()
    expect(all(worker.lives() for worker in workers), "workers wait for other jobs")
    for worker in workers:
        worker.leave()
