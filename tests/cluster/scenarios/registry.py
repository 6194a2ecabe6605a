"""Which scenarios there are, on which services each runs, and why the others of docs/cluster.md's list are left out."""

SCENARIOS = []


def scenario(id, runs, quick=False, weight=1):
    """`runs`: letters of services (L, Z, A). quick: also in `make test`. weight: how many scenarios beside others it counts as."""
    def note(function):
        SCENARIOS.append((id, runs, quick, weight, function))
        return function
    return note


LEFT = {
    "C8": "at the steps of a leader: the simulator (make simulate) and the model kill it there",
    "C13": "64 members and 5,000 tasks: the simulator, tests/unit/cluster/model_test.c and bench/failover",
    "C19": "faults at each read: the simulator",
    "C25": "old and future versions: the simulator",
    "C27": "two deaths at one instant: the simulator",
    "C28": "rounds without change: the simulator",
    "C29": "processes keep no standby's state",
    "C30": "processes do not warm up",
    "C33": "needs Kafka or object stores; tests/crash kills single processes",
    "C34": "needs changelogs",
    "C35": "lost replies of commits: the simulator, tests/unit/job",
    "C36": "tests/storage, tests/crash; of tasks tests/unit/job/checkpoint_task_test.c",
    "C37": "needs Kafka",
    "C39": "needs Kafka",
    "C40": "needs Kafka",
    "C41": "needs Kafka",
    "C45": "stale leaders' records in the log: the simulator, tests/unit/cluster/control_fold_test.c",
    "C47": "core.job.drain is refused: no job obeys it yet",
    "C48": "core.offset.reset is refused: no job obeys it yet",
    "C50": "core.plan.replace is refused: no job obeys it yet",
    "C51": "core.plan.replace is refused: no job obeys it yet",
    "C52": "core.schema.change is refused: no job obeys it yet",
    "C56": "there is no autoscaler",
    "C60": "tests/storage",
    "C61": "tests/storage",
    "C62": "tests/storage",
    "C63": "tests/storage",
    "C64": "tests/storage",
    "C65": "tests/storage",
    "C67": "needs Kafka",
    "C68": "async tasks: tests/unit/api/task_async_test.c",
    "C70": "there is no REST interface",
    "C71": "tests/cluster/locks",
    "C72": "tests/embed/coordination",
    "C74": "needs an older build",
    "C75": "needs Kafka",
}
