"""Plays a case over HTTP: the same steps, against whatever cluster a connection leads to, recorded in the same form."""

from __future__ import annotations

import asyncio
import copy
import fnmatch
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping

from player.case import Case, Step
from player.live_cluster import NAMESPACES, RESOURCES, LiveCluster, Place, resource_of
from player.pod_status import pod_status
from player.record import Recorder
from player.shape import Json
from shunter.api.resources import PODS

MERGE = "application/merge-patch+json"
QUIET = 1.5
"""Seconds without a change after which a step is taken as done, as in the recordings."""
LONGEST = 25.0


async def play(
    case: Case,
    live: LiveCluster,
    *,
    quiet: float = QUIET,
    patience: float = 0.0,
    is_met: Callable[[Step, Json], bool] = lambda step, record: True,
) -> AsyncIterator[tuple[Step, Json]]:
    """Yields each step with its record. The case's namespace is made first and must not be there.

    A step is over after `quiet` seconds without a change, and when its record then is not as it is to be, up to `patience`
    seconds later: a busy machine may pause that long between two changes.
    """
    recorder = Recorder(live.shapes(case.namespace))
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": case.namespace}}
    made = await live.send("POST", NAMESPACES.path(), body)
    assert made.code == 201, made
    for step in case.steps:
        answers = await _Turn(case, live).take(step)
        await live.rest(case.namespace, quiet=quiet, longest=LONGEST)
        deadline = time.monotonic() + patience
        while not is_met(step, record := _look(case, live, recorder, answers)) and time.monotonic() < deadline:
            await live.rest(case.namespace, quiet=quiet / 2, longest=patience)
        recorder.advance()
        yield step, record


def in_turn(pods: Mapping[Place, Json]) -> list[Place]:
    """Pods in the order in which a step writes their statuses: those that have not ended first, then by name.

    A controller may act on each write before the next. A pod that ended in an earlier step is only written again, as it was when
    the case was recorded, and must not decide what becomes of those that the step is about.
    """
    return sorted(pods, key=lambda place: (pods[place].get("status", {}).get("phase") in ("Succeeded", "Failed"), place.name))


def _look(case: Case, live: LiveCluster, recorder: Recorder, answers: list[Json]) -> Json:
    """What the step has changed so far."""
    places = live.mine(case.namespace, case.name)
    objects = [live.objects[place] for place in places if place.resource.kind != "Event"]
    events = [live.objects[place] for place in places if place.resource.kind == "Event"]
    return recorder.look(objects, events, answers)


class _Turn:
    """One step's requests."""

    def __init__(self, case: Case, live: LiveCluster) -> None:
        self._case = case
        self._live = live

    async def take(self, step: Step) -> list[Json]:
        """Sends what the step says; the answers, as recorded."""
        match step.verb:
            case "apply":
                return [await self._apply(obj) for obj in json.loads(json.dumps(step.argument, default=str))]
            case "patch":
                return await self._each(step.argument, "PATCH", "", step.argument["merge"])
            case "status":
                return await self._each(step.argument, "PATCH", "status", {"status": step.argument["merge"]})
            case "delete":
                propagation = step.argument.get("propagation", "Background")
                options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
                return await self._each(step.argument, "DELETE", "", options)
            case "pods":
                await self._pods(step.argument)
            case "wait":
                await asyncio.sleep(step.argument)
            case verb:
                raise AssertionError(f"{self._case.name}: unknown step {verb}")
        return []

    async def _apply(self, obj: Json) -> Json:
        resource = resource_of(obj["kind"], obj["apiVersion"])
        answer = await self._live.send("POST", resource.path(self._case.namespace), obj)
        name = obj["metadata"].get("name") or obj["metadata"].get("generateName")
        return answer.shown(f"{obj['kind']}/{name}")

    async def _each(self, what: Json, method: str, subresource: str, body: Json) -> list[Json]:
        answers = []
        for place in self._targets(what):
            path = place.resource.path(self._case.namespace, place.name, subresource)
            content_type = MERGE if method == "PATCH" else "application/json"
            answer = await self._live.send(method, path, body, content_type)
            answers.append(answer.shown(f"{what['kind']}/{place.name}"))
        return answers

    async def _pods(self, what: Json) -> None:
        pods = {
            place: self._live.objects[place] for place in self._of_kind("Pod", None) if fnmatch.fnmatch(place.name, what["match"])
        }
        for place in in_turn(pods):
            path = PODS.path(self._case.namespace, place.name, "status")
            await self._live.send("PATCH", path, {"status": pod_status(copy.deepcopy(pods[place]), what)}, MERGE)

    def _targets(self, what: Json) -> list[Place]:
        """What a step names, by pattern; one that is not there is asked for all the same."""
        found = [
            place for place in self._of_kind(what["kind"], what.get("apiVersion")) if fnmatch.fnmatch(place.name, what["name"])
        ]
        if found:
            return sorted(found, key=lambda place: (place.resource.api_version, place.name))
        return [Place(resource_of(what["kind"], what.get("apiVersion")), self._case.namespace, what["name"])]

    def _of_kind(self, kind: str, api_version: str | None) -> list[Place]:
        kinds = {other for other in RESOURCES if other.kind == kind and api_version in (None, other.api_version)}
        return [place for place in self._live.mine(self._case.namespace, self._case.name) if place.resource in kinds]
