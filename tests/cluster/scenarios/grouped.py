"""C76: state that is grouped by what says of which piece a row is: each task has groups of its own, and they go on in another process."""
import collections
import json
import os

from membership import grown
from registry import scenario
from world import Job, expect, wait

SCRIPT = """SET 'pipeline.name' = '%(name)s'; SET 'execution.checkpointing.interval' = '%(interval)s'; SET 'parallelism.default' = '%(tasks)d';
CREATE TABLE source (id BIGINT, k INT, shop STRING, d INT) PARTITIONED BY (d, shop)
  WITH ('connector'='filesystem','path'='%(folder)s/in','format'='json','source.monitor-interval'='50 ms');
CREATE TABLE sink (d INT, shop STRING, k INT, n BIGINT, s BIGINT) WITH ('connector'='filesystem','path'='%(folder)s/out','format'='debezium-json');
INSERT INTO sink SELECT d, shop, k, COUNT(*), SUM(id) FROM source GROUP BY d, shop, k;
"""
# As folders have them, and what they are: an INT has several spellings.
DAYS = [("7", 7), ("07", 7), ("8", 8), ("__DEFAULT_PARTITION__", None), ("-1", -1)]
SHOPS = [("north", "north"), ("a%2Fb", "a/b"), ("__DEFAULT_PARTITION__", None)]


class GroupedJob(Job):
    """A job that counts. What it shows is what stands of the changes in its files."""

    def __init__(self, world, name, tasks=6):
        self.groups = collections.Counter(), collections.Counter()
        super().__init__(world, name, partitions=tasks)
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(SCRIPT % {"name": name, "folder": self.folder, "interval": "200 ms", "tasks": tasks})

    def feed(self, rows=300):
        (day_folder, day), (shop_folder, shop) = DAYS[self.files % len(DAYS)], SHOPS[self.files % len(SHOPS)]
        folder = os.path.join(self.folder, "in", f"d={day_folder}", f"shop={shop_folder}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(self.folder, f".part-{self.files}"), "w", encoding="ascii") as file:
            for number in range(self.rows, self.rows + rows):
                file.write('{"id":%d,"k":%d}\n' % (number, number % 7))
                self.groups[0][day, shop, number % 7] += 1
                self.groups[1][day, shop, number % 7] += number
        os.rename(file.name, os.path.join(folder, f"part-{self.files}.json"))
        self.files, self.rows = self.files + 1, self.rows + rows

    def output(self):
        stands = collections.Counter()
        for path, folders, names in os.walk(os.path.join(self.folder, "out")):
            folders[:] = [name for name in folders if name[0] not in "._"]
            for name in names:
                if name[0] not in "._":
                    for line in open(os.path.join(path, name), encoding="ascii"):
                        change = json.loads(line)
                        for side, sign in (("before", -1), ("after", 1)):
                            row = change.get(side)
                            if row is not None:
                                stands[row["d"], row["shop"], row["k"], row["n"], row["s"]] += sign
        return +stands

    def expected(self):
        return {(*group, count, self.groups[1][group]): 1 for group, count in self.groups[0].items()}

    def compare(self, complete):
        # Files of one commit are shown one after the other, so only the end can be compared.
        shown, expected = self.output(), self.expected()
        differ = [row for row in shown if shown[row] != expected.get(row)] + [row for row in expected if row not in shown]
        expect(not complete or not differ, f"{len(differ)} groups differ", sorted(differ, key=str)[:6])
        return not differ

    def await_rows(self, rows):
        wait(lambda: sum(row[3] for row in self.output()) >= rows, f"{rows} rows in groups of {self.name}", pause=0.2)


def grouped(world):
    job = GroupedJob(world, "grouped")
    world.jobs.append(job)
    return job


@scenario("C76", "LZA", quick=True)
def groups_go_on_in_another_process(world):
    job = grouped(world)
    job.submit()
    expect(len(job.model().tasks) == 6, "six tasks", job.model().read)
    job.start_feeding()
    workers = grown(world, job, 2)
    job.await_rows(3000)
    workers[1].kill()
    world.start("w3")
    job.await_even("w1", "w3")
    job.await_rows(job.rows)
    workers[0].freeze()
    job.await_even("w3")
    job.await_rows(job.rows)
    workers[0].go_on()
    job.await_even("w1", "w3")
    job.check_exact()
    job.order("kill")
    job.feed()
    job.order("restart")
    job.await_even("w1", "w3")
    job.check_exact()
