"""A case of the crash tests: a job, its folder, its runs and how they end."""
import collections
import json
import os
import random
import re
import signal
import subprocess
import time

import jobs

SHIM = "tests/crash/crash_shim.so"
PATIENCE_S = 60
ERROR_CODES = (1, 3, 4)
TARGETS = ["write", "fsync", "rename", "link", "unlink", "mkdir", "any"]
FAULTS = ["kill"] * 6 + ["before"] * 3 + ["torn"] * 2 + ["short", "full", "fail", "lost", "lost", "power", "power", "power", "slow"]
HITS = {"torn": ["write"], "short": ["write"], "full": ["write", "mkdir"], "fail": ["write", "fsync", "fsync", "rename", "link"],
        "lost": ["rename", "link", "unlink"]}


class Wrong(Exception):
    pass


class Refused(Exception):
    """The job cannot have checkpoints."""


def read_files(folder):
    """Rows of all shown files, with the partition's folder; names of hidden ones."""
    found, hidden = collections.Counter(), []
    for path, _, names in os.walk(folder):
        for name in names:
            if name.startswith(".shown-"):
                continue  # marks stay: what a restart looks at
            if name.startswith("."):
                hidden.append(os.path.join(path, name))
            elif name != "_SUCCESS":
                with open(os.path.join(path, name), encoding="utf-8") as f:
                    found.update((os.path.relpath(path, folder), line) for line in f)
    return found, hidden


def net(changes):
    """The rows that changes leave, and how often each."""
    left = collections.Counter()
    for (folder, line), count in changes.items():
        change = json.loads(line)
        for sign, image in ((-1, change["before"]), (1, change["after"])):
            if image is not None:
                left[folder, json.dumps(image)] += sign * count
    return collections.Counter({row: count for row, count in left.items() if count != 0})


class Case:
    """One job, its folder and its runs."""
    policy = os.environ.get("CRASH_POLICY")

    def __init__(self, build, folder, job, seed):
        self.spate, self.shim = os.path.join(build, "spate"), os.path.join(build, SHIM)
        self.folder, self.job, self.r, self.kills, self.log = folder, job, random.Random(seed), 0, []
        self.resumed = 0
        os.makedirs(f"{folder}/s")
        self.rows = self.r.choice([60, 900, 2500, 2500])
        jobs.write_inputs(folder, seed, self.rows)
        self.write_script("job", job.script(folder, f"{folder}/done"))
        self.settings = {"storage.uri": f"{folder}/store", "execution.checkpointing.interval": self.r.choice(["1 ms", "1 ms", "20 ms"]),
                         "pipeline.tick.rows": self.r.choice([10, 20, 50, 200]), "pipeline.name": "job",
                         "execution.checkpointing.num-retained": self.r.choice([1, 2, 3]),
                         "execution.checkpointing.incremental": self.r.choice(["true", "true", "false"]),
                         "high-availability.policy": self.policy or self.r.choice(["passive", "passive", "upstream-backup"]),
                         "state.backend.rocksdb.localdir": f"{folder}/local"}
        self.backends = self.r.choice([["hashmap"], ["rocksdb"], ["rocksdb", "hashmap"]])  # of each run one

    def write_script(self, name, text):
        with open(f"{self.folder}/{name}.sql", "w", encoding="utf-8") as f:
            f.write(text)

    def command(self, script="job", parallelism=None, more=()):
        parallelism = parallelism or self.r.choice([1, 1, 2, 3])
        keeps_state = self.settings.get("high-availability.policy") not in ("upstream-backup", "none")
        backend = self.r.choice(self.backends) if keeps_state else "hashmap"
        chosen = {**self.settings, "parallelism.default": parallelism, "state.backend.type": backend,
                  "debug.spill-all": self.r.choice(["true", "false"])}
        settings = [x for key, value in chosen.items() for x in ("-s", f"{key}={value}")]
        return [self.spate, "run", *settings, *more, "-f", f"{self.folder}/{script}.sql"]

    def start(self, fault=None, count=None, **options):
        environment = dict(os.environ)
        if fault or count:
            environment["LD_PRELOAD"] = self.shim
            environment["CRASH_FAULT" if fault else "CRASH_COUNT"] = fault or count
        arguments = self.command(**options)
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        process.spate_log = f"{' '.join(a for a in arguments if re.match('parallelism|state.backend.type|debug', a))} {fault or ''}"
        return process

    def end(self, process, wait_s=PATIENCE_S, stop=signal.SIGKILL):
        """Waits so long, then sends the signal. Returns the exit code."""
        try:
            out, err = process.communicate(timeout=wait_s)
        except subprocess.TimeoutExpired:
            process.send_signal(stop)
            try:
                out, err = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
                raise Wrong(f"it does not stop: {err[-500:]}") from None
            if wait_s == PATIENCE_S:
                raise Wrong(f"it hangs: {err[-500:]}") from None
        self.kills += process.returncode == -signal.SIGKILL
        self.resumed += "goes on from checkpoint" in err
        self.log.append(f"  {process.spate_log} wait {wait_s:.3f} s: exit {process.returncode} {err.strip()[-400:]}")
        self.error = err
        return process.returncode

    def once(self, **options):
        return self.end(self.start(**options))

    def answer(self):
        """The batch answer, and what a run with checkpoints costs: seconds and system calls."""
        self.write_script("batch", self.job.script(self.folder, f"{self.folder}/full"))
        settings, self.settings = self.settings, {}
        if self.once(script="batch", parallelism=1) != 0:
            raise Wrong("the batch run fails")
        expected = self.outcome(f"{self.folder}/full")
        self.settings = {**settings, "storage.uri": f"{self.folder}/store0"}
        self.write_script("count", self.job.script(self.folder, f"{self.folder}/count"))
        begin = time.monotonic()
        if self.once(script="count", count=f"{self.folder}/calls") != 0:
            raise Refused(self.error.splitlines()[0]) if "cannot save its state" in self.error else Wrong("the run with checkpoints fails")
        self.seconds = time.monotonic() - begin
        self.check(expected, f"{self.folder}/count", "a run with checkpoints that nobody disturbs")
        self.settings = settings
        with open(f"{self.folder}/calls", encoding="utf-8") as f:
            self.calls = {name: int(count) for name, count in (line.split() for line in f)}
        return expected

    def outcome(self, folder):
        found, hidden = read_files(folder)
        if hidden:
            raise Wrong(f"hidden files are left: {hidden[:5]}")
        return net(found) if self.job.changes else found

    def check(self, expected, folder, what):
        found = self.outcome(folder)
        if found != expected:
            lost, more = +(expected - found), +(found - expected)
            raise Wrong(f"{what}: {lost.total()} rows lost, {more.total()} too many, of {expected.total()}: lost {list(lost.items())[:3]}, "
                        f"more {list(more.items())[:3]}")

    def check_store(self):
        """Stale temporary files do not pile up."""
        old = [name for path, _, names in os.walk(f"{self.folder}/store") for name in names if "/temp" in path]
        if len(old) > 2 * self.kills + 4:
            raise Wrong(f"{len(old)} temporary files are left in the store: {old[:5]}")

    def check_local(self):
        """What killed processes have left on local disk is removed by the next that has a database."""
        local = f"{self.folder}/local"
        self.backends, self.settings = ["rocksdb"], {"state.backend.rocksdb.localdir": local}
        if os.path.exists(local) and self.once(script="batch", parallelism=1) != 0:
            raise Wrong("the batch run fails with a database")
        left = os.listdir(local) if os.path.exists(local) else []
        if left:
            raise Wrong(f"{len(left)} files are left of databases: {left[:5]}")

    def choose_fault(self):
        fault = self.r.choice(FAULTS)
        call = self.r.choice(HITS.get(fault, TARGETS))
        return f"{fault}:{call}:{self.r.randint(1, max(1, self.calls[call]))}"

    def disturb(self):
        """A run with one fault; true when the job is done. Only a fault of the disk may end it with an error."""
        fault = self.choose_fault() if self.r.random() < 0.6 else None
        code = self.once(fault=fault) if fault else self.end(self.start(), self.r.uniform(0, self.seconds * 1.1))
        allowed = ERROR_CODES if fault and fault.split(":")[0] in ("full", "fail") else ()
        if code not in (0, -signal.SIGKILL, *allowed):
            raise Wrong(f"exit code {code}")
        return code == 0

    def finish(self):
        for _ in range(3):
            if self.once() == 0:
                return
        raise Wrong("it does not end without a fault")

    def run(self):
        expected = self.answer()
        done, goal = False, self.r.choice([1, 2, 4, 7])
        while not done and self.kills < goal and len(self.log) < 30:
            done = self.disturb()
        if not done:
            self.finish()
        self.check(expected, f"{self.folder}/done", "after the kills")
        if self.once() != 0 or "has finished" not in self.error:
            raise Wrong("a further run does not say that the job has finished")
        self.check_store()
        self.check_local()
