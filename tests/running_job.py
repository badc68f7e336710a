"""A generated job of any kind all of whose pods run, and what becomes of them when they are deleted; in memory."""

from __future__ import annotations

from functools import cache

from job_world import World
from shunter.api.meta import Json
from shunter.api.resources import PODS
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.frameworks import framework_of

LEADERS = {"TFJob": "Chief", "MPIJob": "Launcher", "JAXJob": ""}
"""The role that decides about the end, where it is not called Master."""


class RunningJob:
    """A job all of whose pods run; their end is up to the test."""

    def __init__(self, framework: AnyFramework, restart_policy: str, workers: int = 2) -> None:
        self.world = _running(framework.info.resource.kind, restart_policy, workers).branch()
        self.before = self.uids
        self.start = self.world.status["startTime"]
        self.world.told.clear()

    @property
    def uids(self) -> set[str]:
        return {body["metadata"]["uid"] for body in self.world.all(PODS).values()}

    def run_all(self) -> None:
        """Every pod that is not on its way out runs, and the operator has seen it."""
        _run_all(self.world)

    def look(self) -> bool:
        has_changed = self.world.look()
        self.check()
        return has_changed

    def ends(self, end: tuple[str, int]) -> bool:
        """Pods on their way out end, and go; the operator looks after each of it. Whether there were any."""
        leaving = self.world.leaving
        for name in leaving:
            self.world.set_pod(name, end[0], exit_code=end[1])
            self.look()
        for name in leaving:
            self.world.end_pod(name)
            self.look()
        return bool(leaving)

    def settle(self, end: tuple[str, int]) -> None:
        for _ in range(20):
            has_changed = self.look()
            if not self.ends(end) and not has_changed:
                return
        raise AssertionError("the job does not come to rest")

    def check(self) -> None:
        """Nothing has failed, and nothing says so."""
        found = {one["type"] for one in self.world.status["conditions"] if one["status"] == "True"}
        assert not found & {"Failed", "Restarting", "Succeeded"}, self.world.status
        assert not [note for note in self.world.told if note.type == "Warning" or note.reason == "ExitedWithCode"]

    @property
    def is_running(self) -> bool:
        return any(one["type"] == "Running" and one["status"] == "True" for one in self.world.status["conditions"])


@cache
def _running(kind: str, restart_policy: str, workers: int) -> World:
    """The world of such a job, made once: each test goes on from a branch of it."""
    framework = framework_of(kind)
    container = {"name": framework.container, "image": "img:1"}
    replica = {"template": {"spec": {"containers": [container]}}, "restartPolicy": restart_policy}
    leader = LEADERS.get(kind, "Master")
    roles = {"Worker": {**replica, "replicas": workers}, **({leader: {**replica, "replicas": 1}} if leader else {})}
    job: Json = {
        "apiVersion": framework.info.resource.api_version,
        "kind": kind,
        "metadata": {"name": "job", "namespace": "team-a", "uid": "u1"},
        "spec": {framework.info.replica_specs: roles, "runPolicy": {"backoffLimit": 0}},
    }
    world = World(framework, job, has_grace=True)
    world.settle()
    _run_all(world)
    return world


def _run_all(world: World) -> None:
    while pending := [name for name, body in world.all(PODS).items() if "status" not in body]:
        for name in pending:
            world.set_pod(name, "Running")
        world.settle()
