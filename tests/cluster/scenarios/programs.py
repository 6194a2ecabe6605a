"""C55: jobs whose tasks are a program's own (spate/task.h), run by workers of that program."""
import json
import os
import random
import subprocess
import time

from registry import scenario
from world import Worker, expect, wait

TASKS, EDITS = 3, 12


class ProgramWorker(Worker):
    """A process of tests/cluster/obedient."""

    def __init__(self, world, program, id):
        self.world, self.id, self.name = world, id, f"{id}.{len(world.workers)}"
        self.log = os.path.join(world.folder, f"worker-{self.name}.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([program, "work", id, *settings(world)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=world.environment, cwd=world.folder)
        world.workers.append(self)


def settings(world):
    return [f"storage.uri={world.storage}", f"coordinator.uri={world.uri}"]


def output(world):
    """Every row that is shown."""
    rows, folder = [], os.path.join(world.folder, "out")
    for path, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] not in "._"]
        for name in names:
            if name[0] not in "._":
                rows += [json.loads(line) for line in open(os.path.join(path, name), encoding="utf-8")]
    return rows


def ctl(world, *arguments):
    return world.run("ctl", "obedient", *arguments, *world.places())


@scenario("C55", "L", quick=True)
def edits_of_a_program_come_to_each_task_once_in_order_also_after_kills(world):
    program = os.path.join(world.service.build, "tests/cluster/obedient")
    choice = random.Random(world.name)
    os.mkdir(os.path.join(world.folder, "in"))
    with open(os.path.join(world.folder, "in", "one"), "w", encoding="ascii") as file:
        file.write("1\n2\n")
    world.run("submit", world.folder, str(TASKS), *settings(world), "execution.checkpointing.interval=100 ms", program=program)
    workers = {id: ProgramWorker(world, program, id) for id in ("w1", "w2", "w3")}
    wait(lambda: json.loads(world.run("coord", "model", "obedient", *world.places()))["round"]["opened"], "its tasks are open")
    for number in range(EDITS):
        ctl(world, f"app.rule{number}", "--n", str(number), *(["--wait"] if number % 4 == 0 else []), "--timeout", "150 s")
        if number % 3 == 1:
            id = choice.choice(sorted(workers))
            workers[id].kill()
            workers[id] = ProgramWorker(world, program, id)
            time.sleep(choice.uniform(0, 0.5))
    ctl(world, "app.end", "--timeout", "150 s")
    wait(lambda: len({row["task"] for row in output(world)}) == TASKS, "all tasks have shown their edits")
    wait(lambda: all(json.loads(line)["state"] == "done" for line in ctl(world, "log", "--json").splitlines()), "all edits are done")
    for task in (f"s0.{number}" for number in range(TASKS)):
        rows = sorted((row for row in output(world) if row["task"] == task), key=lambda row: row["edit"])
        expect([row["verb"] for row in rows] == [f"app.rule{number}" for number in range(EDITS)] + ["app.end"], f"{task} got all", rows)
        expect([row["place"] for row in rows] == list(range(1, EDITS + 2)), f"{task} got them in the order of their ranks", rows)
        expect(all(row["times"] == 1 for row in rows), f"{task} got each once", rows)
        expect(json.loads(rows[3]["args"]) == {"n": 3}, "with what was proposed", rows[3])
