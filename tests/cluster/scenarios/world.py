"""What scenarios are played in: a coordination service, jobs that are fed by files, `spate worker` processes that are killed and frozen.

A scenario waits for conditions, never for a time. What a condition needs is read by `spate coord` and from the output's files alone.
"""
import collections
import json
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from servers import ACCOUNT, KEY, Azurite, Process, Skipped, ZooKeeper  # noqa: E402, F401

LIMIT = int(os.environ.get("LIMIT", "180"))  # seconds that any condition may take: of a machine that is slow, not of ours


class Failed(Exception):
    """What was expected, and what there was instead."""

    def __str__(self):
        return "; ".join(f"{part!s:.1500}" for part in self.args)


def expect(holds, what, *seen):
    if not holds:
        raise Failed(what + "".join(f"; {one!s:.600}" for one in seen))


def wait(condition, what, limit=LIMIT, pause=0.1):
    """Until condition() is true; gives what it gave. What it last failed with is part of the message."""
    until, last = time.monotonic() + limit, None
    while time.monotonic() < until:
        try:
            given = condition()
            if given:
                return given
            last = given
        except Failed as problem:
            last = problem
        time.sleep(pause)
    raise Failed(f"waited {limit} s in vain for: {what}", last if last is not None else "")


class Service:
    """One driver's service. `place(name)`: URI of a namespace of its own; `ttl`: seconds after which a silent process is noticed."""
    letter, ttl = "L", 3

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.environment = {**os.environ, "SPATE_MODULE_PATH": os.path.join(build, "modules")}
        for name in list(self.environment):
            if name.startswith("AZURE_") or name.lower().endswith("_proxy"):
                del self.environment[name]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def place(self, name):
        return f"local://{self.folder}/{name}/coordination"

    def pause(self):
        """Stops what answers; False: nothing can be stopped."""
        return False

    def resume(self):
        pass


class Local(Service):
    pass


class OnZooKeeper(Service):
    letter, ttl, servers = "Z", 6, 1

    def __enter__(self):
        self.service = ZooKeeper(self.folder, self.servers)
        self.service.__enter__()
        return self

    def __exit__(self, *error):
        self.service.__exit__(*error)

    def place(self, name):
        return f"zookeeper://{self.service.hosts()}/{name.lower().replace('_', '-')}"

    def signal(self, number):
        for server in self.service.servers:
            server.process.send_signal(number)

    def pause(self):
        self.signal(signal.SIGSTOP)
        return True

    def resume(self):
        self.signal(signal.SIGCONT)


class OnThreeZooKeepers(OnZooKeeper):
    servers = 3


class OnAzure(Service):
    letter, ttl = "A", 15

    def __enter__(self):
        self.service = Azurite(self.folder)
        self.service.__enter__()
        endpoint = f"http://127.0.0.1:{self.service.port}/{ACCOUNT}"
        self.environment["AZURE_STORAGE_CONNECTION_STRING"] = (f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
                                                              f"BlobEndpoint={endpoint}")
        # whoever opens the service with this option makes the container; that there is no such job is all that is wrong then
        made = subprocess.run([os.path.join(self.build, "spate"), "coord", "model", "nobody", "--coordinator", f"azure://{ACCOUNT}/container/made",
                               "--storage", os.path.join(self.folder, "made"), "-s", "azure.create-container=true"], capture_output=True, text=True,
                              env=self.environment)
        if "there is no job 'nobody'" not in made.stderr:
            self.service.__exit__()
            raise Failed("the container cannot be made", made.stderr)
        return self

    def __exit__(self, *error):
        self.service.__exit__(*error)

    def place(self, name):
        return f"azure://{ACCOUNT}/container/{name.lower().replace('_', '-')}"

    def pause(self):
        self.service.process.send_signal(signal.SIGSTOP)
        return True

    def resume(self):
        self.service.process.send_signal(signal.SIGCONT)


SERVICES = {"local": Local, "zookeeper": OnZooKeeper, "zookeeper3": OnThreeZooKeepers, "azure": OnAzure}


class World:
    """What one scenario has: its folder, its namespace, its storage; everything that it starts ends with it."""

    def __init__(self, service, name):
        self.service, self.name = service, name
        self.folder = os.path.join(service.folder, name)
        os.makedirs(self.folder)
        self.uri, self.storage = service.place(name), os.path.join(self.folder, "storage")
        self.spate = os.path.join(service.build, "spate")
        self.registers = os.path.join(service.build, "tests/cluster/registers")
        self.environment, self.ttl = service.environment, service.ttl
        self.workers, self.jobs, self.closed = [], [], False

    def run(self, *arguments, program=None, code=0, data=None):
        expect(not self.closed, "interrupted")
        done = subprocess.run([program or self.spate, *arguments], input=data, stdin=None if data is not None else subprocess.DEVNULL,
                              capture_output=True, env=self.environment, cwd=self.folder, timeout=LIMIT)
        out, errors = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        if code is not None and done.returncode != code:
            raise Failed(f"{' '.join(arguments)}: exit {done.returncode}, expected {code}", out, errors)
        return out if code is not None else (done.returncode, out, errors)

    def places(self):
        return ["--coordinator", self.uri, "--storage", self.storage]

    def raw(self, verb, name, data=None):
        return self.run(self.uri, verb, name, program=self.registers, data=data)

    def job(self, name="orders", **options):
        job = Job(self, name, **options)
        self.jobs.append(job)
        return job

    def start(self, *ids, **options):
        """Workers; the one, or all."""
        started = [Worker(self, id, **options) for id in ids]
        return started[0] if len(started) == 1 else started

    def close(self):
        self.closed = True
        for job in self.jobs:
            job.stop_feeding()
        for worker in self.workers:
            worker.end()

    def trouble(self):
        """The last lines of every worker, for a failure's report."""
        return "\n".join(f"--- {worker.name}: {worker.said()[-1500:]}" for worker in self.workers)


class Worker:
    """A process `spate worker`."""

    def __init__(self, world, id, settings=(), jobs=None, storage=None, uri=None, prefix=()):
        expect(not world.closed, "interrupted")
        self.world, self.id = world, id
        self.name = f"{id}.{len(world.workers)}"
        self.log = os.path.join(world.folder, f"worker-{self.name}.log")
        words = [*prefix, world.spate, "worker", "--coordinator", uri or world.uri, "--storage", storage or world.storage, "--id", id]
        words += ["--jobs", jobs] if jobs else []
        for setting in settings:
            words += ["-s", setting]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=world.environment, cwd=world.folder)
        world.workers.append(self)

    def said(self):
        return open(self.log, encoding="utf-8", errors="replace").read()

    def lives(self):
        return self.process.poll() is None

    def send(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.send(signal.SIGKILL)
        self.process.wait()

    def freeze(self):
        self.send(signal.SIGSTOP)

    def go_on(self):
        self.send(signal.SIGCONT)

    def leave(self, code=0):
        """SIGTERM; in order."""
        self.send(signal.SIGTERM)
        self.await_exit(code)

    def await_exit(self, code=0):
        try:
            got = self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.name} does not end") from None
        expect(got == code, f"{self.name} ended with {got}, expected {code}", self.said()[-600:])

    def end(self):
        if self.lives():
            self.go_on()
            self.kill()


def spread_runs(tasks):
    """{"s0.0-2": X} -> {"s0.0": X, "s0.1": X, "s0.2": X}."""
    spread = {}
    for name, task in tasks.items():
        stage, dot, parts = name.partition(".")
        first, _, last = parts.partition("-")
        for part in range(int(first), int(last or first) + 1) if dot else [None]:
            spread[name if part is None else f"{stage}.{part}"] = task
    return spread


class Model:
    def __init__(self, read):
        self.read = read
        self.version, self.term, self.rev, self.state = read["version"], read["term"], read["rev"], read["state"]
        self.leader = read.get("leader", "-").partition("#")[0]
        self.members, self.tasks = read["members"], spread_runs(read["tasks"])
        self.opened = read["round"]["opened"]

    def lives(self):
        return {f"{id}#{member['inc']}" for id, member in self.members.items()}

    def owners(self):
        """{member: its tasks}, only of tasks that are open."""
        owners = collections.defaultdict(set)
        for name, task in self.tasks.items():
            if task["open"]:
                owners[task["owner"]].add(name)
        return dict(owners)

    def epochs(self):
        return {name: task["epoch"] for name, task in self.tasks.items()}


SCRIPT = """SET 'pipeline.name' = '%(name)s'; SET 'execution.checkpointing.interval' = '%(interval)s'; SET 'parallelism.default' = '%(tasks)d';
CREATE TABLE source (id BIGINT, k INT) WITH ('connector'='filesystem','path'='%(folder)s/in','format'='json',%(read)s);
CREATE TABLE sink (id BIGINT, twice BIGINT) WITH ('connector'='filesystem','path'='%(folder)s/out','format'='json');
INSERT INTO sink SELECT id, id * 2 FROM source WHERE k >= 0;
"""


class Job:
    """A job over a folder of files, shared out over `partitions` tasks; with more files to come it runs until it is stopped, else to its end."""

    def __init__(self, world, name, partitions=6, rows=300, follow=True, interval="200 ms"):
        self.world, self.name = world, name
        self.folder = os.path.join(world.folder, f"job-{len(world.jobs)}")
        self.files = self.rows = 0
        self.feeding, self.feeder = False, None
        os.makedirs(os.path.join(self.folder, "in"))
        for _ in range(partitions):
            self.feed(rows)
        self.script = os.path.join(self.folder, "job.sql")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(SCRIPT % {"name": name, "folder": self.folder, "interval": interval, "tasks": partitions if follow else 1,
                                 "read": "'source.monitor-interval'='50 ms'" if follow else "'source.partition-by-file'='true'"})

    def submit(self, *arguments, code=0):
        return self.world.run("job", "submit", self.script, *arguments, *self.world.places(), code=code)

    def order(self, verb, *arguments, code=0):
        """spate job kill, restart, stop, ..."""
        return self.world.run("job", verb, self.name, *arguments, *self.world.places(), code=code)

    def ctl(self, *arguments, code=0):
        return self.world.run("ctl", self.name, *arguments, *self.world.places(), code=code)

    # ---- input and output ----

    def feed(self, rows=300):
        """One more file, with every tenth row to be filtered out."""
        name = os.path.join(self.folder, "in", f"part-{self.files}.json")
        with open(os.path.join(self.folder, f".part-{self.files}"), "w", encoding="ascii") as file:
            for number in range(self.rows, self.rows + rows):
                file.write('{"id":%d,"k":%d}\n' % (number, -1 if number % 10 == 9 else number % 7))
        os.rename(file.name, name)
        self.files, self.rows = self.files + 1, self.rows + rows

    def start_feeding(self, pause=0.1, rows=100):
        def go():
            while self.feeding:
                self.feed(rows)
                time.sleep(pause)
        self.feeding = True
        self.feeder = threading.Thread(target=go)
        self.feeder.start()

    def stop_feeding(self):
        self.feeding = False
        if self.feeder is not None:
            self.feeder.join()
        self.feeder = None

    def output(self):
        """Every row that is shown, as often as it is."""
        shown, folder = collections.Counter(), os.path.join(self.folder, "out")
        for path, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name[0] not in "._"]
            for name in names:
                if name[0] not in "._":
                    for line in open(os.path.join(path, name), encoding="ascii"):
                        row = json.loads(line)
                        shown[row["id"], row["twice"]] += 1
        return shown

    def expected(self):
        """What one process would show."""
        return {(number, 2 * number): 1 for number in range(self.rows) if number % 10 != 9}

    def compare(self, complete):
        shown, expected = self.output(), self.expected()
        doubled = [row for row, times in shown.items() if times > 1]
        foreign = [row for row in shown if row not in expected]
        expect(not doubled, f"{len(doubled)} rows are shown more than once", doubled[:5])
        expect(not foreign, f"{len(foreign)} rows are shown that were never to be", foreign[:5])
        missing = len(expected) - len(shown)
        if complete:
            expect(missing == 0, f"{missing} of {len(expected)} rows are not shown yet")
        return missing == 0

    def check_exact(self):
        """Exact: all rows, each once; and it stays so."""
        self.stop_feeding()
        wait(lambda: self.compare(complete=True), f"the whole output of {self.name}", pause=0.3)

    def await_progress(self, rows=1):
        """At least so many rows more are shown than now."""
        before = sum(self.output().values())
        wait(lambda: sum(self.output().values()) >= before + rows, f"{rows} rows more of {self.name}", pause=0.2)

    # ---- the group ----

    def model(self):
        code, out, errors = self.world.run("coord", "model", self.name, *self.world.places(), code=None)
        expect(code == 0, "the model cannot be read", errors)
        return Model(json.loads(out))

    def status(self):
        return json.loads(self.world.run("coord", "status", self.name, *self.world.places(), "--json"))

    def history(self):
        return json.loads(self.world.run("coord", "history", self.name, *self.world.places(), "--json"))

    def await_even(self, *ids, but=()):
        """All tasks are open, at exactly these members, as evenly as can be; and nobody is left to fence. `but`: lives that are over."""
        def even():
            model = self.model()
            expect(not model.lives() & set(but), "a life that is over is listed", but, model.read)
            owners = model.owners()
            counts = [len(owners.get(id, ())) for id in ids]
            expect(set(owners) <= set(ids) and set(model.members) == set(ids), "other members", sorted(model.members), owners)
            expect(sum(counts) == len(model.tasks) and model.opened, "not all tasks are open", model.read)
            expect(max(counts) - min(counts) <= 1, "not even", owners)
            expect(not model.read.get("dirty_seats"), "seats are not fenced yet", model.read)
            return model
        return wait(even, f"all tasks of {self.name} at {', '.join(ids)}")

    def id(self):
        return self.model().read["job"]
