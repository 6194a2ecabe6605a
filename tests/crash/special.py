"""Cases with a course of their own: damaged checkpoints, several processes, signals, and a folder that grows while its job is killed."""
import collections
import json
import os
import random
import re
import signal
import time

from case import Case, Wrong, net, read_files
from jobs import JOBS, rows

TAKEN, ERRORS = 3, (1, 4)


def job_named(name):
    return next(job for job in JOBS if job.name == name)


class Special(Case):
    names = ("tumble", "distinct rows", "partitions", "over", "datagen")

    def __init__(self, build, folder, seed):
        super().__init__(build, folder, job_named(random.Random(seed).choice(self.names)), seed)
        self.settings["pipeline.tick.rows"] = self.r.choice([1, 5])

    def require(self, condition, what):
        if not condition:
            raise Wrong(f"{what}; the last run said: {self.error.strip()[-600:]}")

    def kill_late(self, least=1):
        """Ends a run once it has some checkpoints. False: it was faster."""
        process = self.start(fault="slow:fsync:1")
        until = time.monotonic() + 30
        while len(self.manifests()) < least and process.poll() is None and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(self.r.random() * 0.05)
        process.kill()
        return self.end(process) != 0

    def found_below(self, part):
        return sorted(os.path.join(path, name) for path, _, names in os.walk(f"{self.folder}/store") for name in names
                      if part in os.path.join(path, name) and "/temp" not in path)

    def manifests(self):
        return self.found_below(".manifest.json")

    def damage(self, path):
        """Flips a byte, cuts the file, or removes it."""
        kind, size = self.r.choice(["flip", "cut", "empty", "remove"]), os.path.getsize(path)
        if kind == "remove":
            os.remove(path)
        elif kind == "flip":
            with open(path, "r+b") as f:
                f.seek(self.r.randrange(size))
                byte = f.read(1)[0]
                f.seek(-1, 1)
                f.write(bytes([byte ^ 1 << self.r.randrange(8)]))
        else:
            os.truncate(path, self.r.randrange(size) if kind == "cut" else 0)
        self.log.append(f"  {kind} {path}")
        return kind


class DamagedNewest(Special):
    """The newest checkpoint is damaged: the one before is used, and what the newest had shown is not shown twice."""

    def run(self):
        self.settings["execution.checkpointing.num-retained"] = 3
        self.settings["execution.checkpointing.incremental"] = "false"
        expected = self.answer()
        for _ in range(3):
            if not self.kill_late(3) or len(self.manifests()) < 2:
                break
            newest = self.manifests()[-1]
            with open(newest, encoding="utf-8") as f:
                text = f.read()
            files = [p for p in self.found_below("/state") if os.path.basename(p) in text]
            flipped = self.r.choice([newest, *files])
            kind = self.damage(flipped)
            self.require(self.once() == 0, "it does not go on from the older checkpoint")
            # Of a manifest that is gone nothing is left that could be named; its number is taken again.
            if os.path.exists(flipped) and not (kind == "remove" and flipped == newest):
                self.require("damaged" in self.error, "the damaged checkpoint is not named")
            break
        self.finish()
        self.check(expected, f"{self.folder}/done", "after damage")


class AllDamaged(Special):
    """No checkpoint is whole: an error, never a new start by itself; --fresh starts anew."""

    def run(self):
        expected = self.answer()
        if self.kill_late():
            for path in self.found_below("/state") + self.manifests():
                os.truncate(path, os.path.getsize(path) // 2)
            before = self.shown()
            code = self.once()
            self.require(code in ERRORS, f"exit code {code} although all checkpoints are damaged")
            self.require(self.shown() == before, "a job that could not start has changed its output")
            os.rename(f"{self.folder}/done", f"{self.folder}/before")
            self.require(self.once(more=["--fresh"]) == 0, "--fresh does not start anew")
            self.check(expected, f"{self.folder}/done", "after --fresh")

    def shown(self):
        return sorted(name for _, _, names in os.walk(f"{self.folder}/done") for name in names if not name.startswith("."))


class Overwrite(Special):
    """INSERT OVERWRITE again and again with --fresh: what is there is of the last run alone, also when that was killed."""
    names = ("distinct rows", "partitions", "datagen")

    def run(self):
        expected = self.answer()
        with open(f"{self.folder}/job.sql", encoding="utf-8") as f:
            text = f.read()
        self.write_script("job", text.replace("INSERT INTO", "INSERT OVERWRITE"))
        for _ in range(self.r.randint(2, 3)):
            self.end(self.start(more=["--fresh"]), self.r.uniform(0, self.seconds * 1.5))
            self.finish()
            self.check(expected, f"{self.folder}/done", "after --fresh")


class TwoProcesses(Special):
    """The second process for a job is refused; one that stands by goes on when the first is killed."""

    def run(self):
        expected = self.answer()
        first = self.start(fault="slow:fsync:1")
        until = time.monotonic() + 30
        while not self.manifests() and first.poll() is None and time.monotonic() < until:
            time.sleep(0.001)
        second = self.start()
        standby = self.start(more=["--standby"])
        code = self.end(second)
        if first.poll() is None:
            self.require(code == TAKEN or "has finished" in self.error, f"exit code {code} of the second process")
            time.sleep(self.r.random() * 0.1)
        first.kill()
        self.end(first)
        self.require(self.end(standby) == 0, "the process that stood by does not end the job")
        self.check(expected, f"{self.folder}/done", "after the take-over")


class Signals(Special):
    """SIGTERM: exit code 0 after a checkpoint, and the next run goes on; a second signal stops at once."""

    def run(self):
        expected = self.answer()
        for _ in range(6):
            process = self.start(fault=self.r.choice([None, "slow:fsync:1"]))
            time.sleep(self.r.uniform(0, self.seconds))
            process.send_signal(signal.SIGTERM)
            second = self.r.choice([None, None, signal.SIGTERM, signal.SIGKILL])
            if second:
                time.sleep(self.r.uniform(0, 0.01))
                process.send_signal(second)
            code = self.end(process)
            self.log[-1] += f" second signal {second}"
            early = not os.path.isdir(f"{self.folder}/store")
            allowed = (0, -signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM) if second or early else (0, -signal.SIGTERM)
            self.require(code in allowed, f"exit code {code}")
        self.finish()
        self.check(expected, f"{self.folder}/done", "after the signals")


class Growing(Special):
    """Rows are appended to files, and files to the folder, while the job is killed. It is ended by SIGTERM once all is shown."""
    names = ("calc", "tumble", "partitions")
    end_row = '{"id":-1,"k":99,"v":0,"ts":"2025-01-01 00:00:00"}\n'

    def take_rows(self):
        """The answer, and the lines that make it, the end row last: they are taken out of the folder, to be fed into it."""
        with open(f"{self.folder}/s/4.json", "w", encoding="utf-8") as f:
            f.write(self.end_row)
        expected = self.without_end(self.answer_only())
        lines = []
        for name in ("0.json", "1.json", "2.json", "4.json"):
            with open(f"{self.folder}/s/{name}", encoding="utf-8") as f:
                lines += f.readlines()
            os.remove(f"{self.folder}/s/{name}")
        return expected, lines

    def run(self):
        expected, lines = self.take_rows()
        self.write_script("job", self.job.script(self.folder, f"{self.folder}/done", ",'source.monitor-interval'='5 ms'"))
        self.grow(lines)
        process, until = self.start(), time.monotonic() + 30
        while time.monotonic() < until and process.poll() is None and not (self.has_lock(process) and self.without_end(self.seen()) == expected):
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        self.require(self.end(process) in (0, -signal.SIGTERM), "it does not stop")  # all was shown before it could hear signals
        found = self.without_end(self.outcome(f"{self.folder}/done"))
        if found != expected:
            raise Wrong(f"{(expected - found).total()} rows lost, {(found - expected).total()} too many of {expected.total()}")

    def has_lock(self, process):
        """Before that, SIGTERM would end it as any program that is just being loaded."""
        folder = f"{self.settings['storage.uri']}/locks"
        names = os.listdir(folder) if os.path.isdir(folder) else ()
        return any(open(f"{folder}/{name}", encoding="utf-8").read() == f"process {process.pid}" for name in names)

    def answer_only(self):
        self.write_script("batch", self.job.script(self.folder, f"{self.folder}/full"))
        settings, self.settings = self.settings, {}
        self.require(self.once(script="batch", parallelism=1) == 0, "the batch run fails")
        self.settings = settings
        return self.outcome(f"{self.folder}/full")

    def without_end(self, found):
        for key in [key for key in found if '"id":-1,' in key[1] or '"k":99' in key[1] or "k=99" in key[0] or '"2025' in key[1]]:
            del found[key]
        return found

    def seen(self):
        return read_files(f"{self.folder}/done")[0]

    def any_crash(self):
        return f"{self.r.choice(['kill:any', 'before:any', 'power:any', 'torn:write', 'lost:rename'])}:{self.r.randint(1, 200)}"

    def grow(self, lines):
        """Appends pieces that end anywhere, in four files one after the other, with kills between them."""
        count, process, kills = len(lines), None, self.r.choice([1, 3, 6])
        cuts = sorted(self.r.randrange(count) for _ in range(kills * 3))
        for i, (begin, end) in enumerate(zip([0, *cuts], [*cuts, count])):
            if process is None:
                process = self.start(fault=self.r.choice([None, self.any_crash()]))
            with open(f"{self.folder}/s/{i * 4 // (len(cuts) + 1)}.json", "a", encoding="utf-8") as f:
                text = "".join(lines[begin:end])
                half = self.r.randint(0, len(text))
                f.write(text[:half])
                f.flush()
                time.sleep(self.r.uniform(0, 0.03))
                f.write(text[half:])
            time.sleep(self.r.uniform(0, 0.03))
            if i % 3 == 2:
                self.killed(process)
                process = None
        if process is not None:
            self.killed(process)

    def killed(self, process):
        process.kill()
        return self.end(process)


class ActiveStandby(Growing):
    """A standby follows the process that runs the job, and takes over when that is killed, again and again, while rows come. The standby is
    killed, too; both die at any system call."""
    names = ("calc", "aggregate", "aggregate of aggregate", "distinct", "tumble", "session", "partitions", "over", "top 3", "last row", "join, left",
             "interval join", "union, two sinks")
    policy = "active"

    def run(self):
        expected, lines = self.take_rows()
        script = self.job.script(self.folder, f"{self.folder}/done", ",'source.monitor-interval'='5 ms'")
        self.write_script("job", re.sub(r"file-size'='[^']*'", "file-size'='1 b'", script))  # each row is shown by a checkpoint
        self.parallelism, self.processes, self.taken = self.r.choice([1, 1, 3]), [], 0
        self.feed(lines)
        until = time.monotonic() + 60
        while time.monotonic() < until and self.found() != expected:
            self.keep_two()
            time.sleep(0.02)
        found = self.found()
        for process in self.processes:
            process.kill()
            self.end(process)
            self.taken += "goes on in the place of" in self.error
        if found != expected:
            raise Wrong(f"{(expected - found).total()} rows lost, {(found - expected).total()} too many of {expected.total()}")
        self.resumed += self.taken  # it may be none: the standby dies, too, before it stands by

    def found(self):
        return self.without_end(self.net(self.seen()))

    def net(self, found):
        return net(found) if self.job.changes else found

    def keep_two(self):
        """The oldest runs the job, or one that has just taken over."""
        for process in [p for p in self.processes if p.poll() is not None]:
            self.processes.remove(process)
            self.require(self.end(process) in (0, -signal.SIGKILL, -signal.SIGTERM), "a process failed")
            self.taken += "goes on in the place of" in self.error
        while len(self.processes) < 2:
            fault = self.r.choice([None, None, f"kill:any:{self.r.randint(200, 4000)}", f"before:any:{self.r.randint(200, 4000)}"])
            self.processes.append(self.start(parallelism=self.parallelism, more=["--standby"], fault=fault))

    def feed(self, lines):
        kills = self.r.randint(2, 5)
        pieces = kills * 4
        for i in range(pieces):
            self.keep_two()
            text = "".join(lines[i * len(lines) // pieces:(i + 1) * len(lines) // pieces])
            half = self.r.randint(0, len(text))
            with open(f"{self.folder}/s/{i * 4 // pieces}.json", "a", encoding="utf-8") as f:
                f.write(text[:half])
                f.flush()
                time.sleep(self.r.uniform(0, 0.1))
                f.write(text[half:])
            time.sleep(self.r.uniform(0, 0.1))
            if i % 4 == 3:
                self.r.choice([self.processes[0], self.processes[0], self.processes[-1]]).kill()


class Gap(Growing):
    """The policy none: rows that came while nobody ran the job, or that no checkpoint covered, may be lost. No row is read twice, what was
    shown stays as it was, and from some time after a start on nothing is lost."""
    names = ("calc", "tumble", "partitions")
    policy = "none"

    def run(self):
        expected, lines = self.take_rows()
        script = self.job.script(self.folder, f"{self.folder}/done", ",'source.monitor-interval'='5 ms'")
        self.write_script("job", re.sub(r"file-size'='[^']*'", "file-size'='1 b'", script))  # each row is shown by a checkpoint
        self.before, self.most = collections.Counter(), self.sums_of_all(lines) if self.job.name == "tumble" else expected
        self.grow(lines)
        _, old = read_files(f"{self.folder}/done")
        process = self.start()
        if self.job.name != "tumble":
            self.probe(process)
        until = time.monotonic() + 30
        while not self.has_lock(process) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        self.require(self.end(process) in (0, -signal.SIGTERM), "it does not stop")
        found, hidden = read_files(f"{self.folder}/done")
        self.require(set(hidden) <= set(old), f"hidden files are left: {hidden[:5]}")  # a process that is stopped while it plans removes none
        self.compare(found)

    def killed(self, process):
        code = super().killed(process)
        self.require(code == -signal.SIGKILL, f"exit code {code}")
        self.compare(self.seen())
        return code

    def compare(self, found):
        """What is shown is some of the answer, and has all that was shown before."""
        gone = self.before - found
        self.require(not gone, f"{gone.total()} rows are not shown any more: {list(gone.items())[:3]}")
        self.before = found
        found = self.without_end(collections.Counter({row: count for row, count in found.items() if '"id":1000' not in row[1]}))
        more = +(self.sums(found) - self.most)
        self.require(not more, f"{more.total()} too many: {list(more.items())[:3]}")

    def sums(self, found):
        """Of a window that is shown in parts, the sum of the parts."""
        if self.job.name != "tumble":
            return found
        sums = collections.Counter()
        for (_, line), count in found.items():
            row = json.loads(line)
            sums[row["a"], row["k"]] += count * (row["v"] or 0)
        return sums

    def sums_of_all(self, lines):
        """By window and key, late rows included: to a job that begins anew they are not late."""
        sums = collections.Counter()
        for row in map(json.loads, lines):
            sums[row["ts"][:18] + "0.000", row["k"]] += row["v"] or 0
        return sums

    def probe(self, process):
        """Rows come one by one until one is shown; all that follow must be."""
        until, count, left = time.monotonic() + 60, 0, None
        while process.poll() is None and time.monotonic() < until and left != 0:
            count += 1
            left = left - 1 if left is not None else 20 if self.probes() else None
            with open(f"{self.folder}/s/9.json", "a", encoding="utf-8") as f:
                f.write(f'{{"id":{1000000 + count},"k":1,"v":100,"ts":"2024-06-01 00:00:00"}}\n')
            time.sleep(0.02)
        wanted = set(range(count - 20, count + 1))
        while process.poll() is None and time.monotonic() < until and not wanted <= self.probes().keys():
            time.sleep(0.02)
        found = self.probes()
        self.require(wanted <= found.keys(), f"rows that came after others were shown are lost: {sorted(wanted - found.keys())[:5]}")
        self.require(set(found.values()) == {1}, "a row is shown twice")

    def probes(self):
        found = collections.Counter()
        for (_, line), count in self.seen().items():
            if '"id":1000' in line:
                found[json.loads(line)["id"] - 1000000] += count
        return found


CASES = [("active standby", ActiveStandby), ("damaged newest checkpoint", DamagedNewest), ("all checkpoints damaged", AllDamaged), ("overwrite anew", Overwrite),
         ("two processes", TwoProcesses),
         ("signals", Signals), ("growing folder", Growing), ("policy none", Gap)]
