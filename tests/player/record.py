"""What one step changed: the difference between two looks at a namespace, in the form of a recording."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from player.shape import Json, Shapes

NOISE = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}
NOT_RECORDED = {"persistentvolume-controller", "resource_claim", "horizontal-pod-autoscaler"}
"""Controllers that did not run when the recordings were made, and speak up where they do."""

WAITING = "WaitingForPodGroup"
TOLD_BESIDES = (WAITING, "RankFailed")
"""Events that Shunter alone tells; the first stands in the condition Created as well. Recordings are compared without them: else
those of gangs and of failures would show nothing."""
KEPT_BESIDES = "rankFailures"
"""The field of the status in which Shunter keeps what failed."""


class Recorder:
    """Keeps what was shown before, so that each step records only what is new."""

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        self._before: dict[str, Json] = {}
        self._events: set[str] = set()
        self._seen: tuple[dict[str, Json], set[str]] = {}, set()

    def record(self, objects: Iterable[Json], events: Iterable[Json], answers: list[Json]) -> Json:
        """The step's record; the next one starts from here."""
        record = self.look(objects, events, answers)
        self.advance()
        return record

    def advance(self) -> None:
        """The step is over: the next one starts from what was last looked at."""
        self._before, self._events = self._seen[0], self._events | self._seen[1]

    def look(self, objects: Iterable[Json], events: Iterable[Json], answers: list[Json]) -> Json:
        """The step's record so far. Several objects of one shown name are told apart as NAME#2, oldest first."""
        now: dict[str, Json] = {}
        normal = self._shapes.normal
        relevant = [obj for obj in objects if (obj["kind"], obj["metadata"]["name"]) not in NOISE]
        for obj in sorted(relevant, key=lambda obj: (obj["kind"], normal(obj["metadata"]["name"]), self._shapes.age(obj))):
            reference = twin = f"{obj['kind']}/{normal(obj['metadata']['name'])}"
            number = 1
            while twin in now:
                number += 1
                twin = f"{reference}#{number}"
            now[twin] = _as_recorded(self._shapes.shown(obj))
        record: dict[str, Any] = {}
        if answers:
            record["answers"] = normal(answers)
        if new := {name: obj for name, obj in now.items() if name not in self._before}:
            record["new"] = new
        if changed := {name: _changed_parts(self._before[name], obj) for name, obj in now.items() if name in self._before}:
            record["changed"] = {name: parts for name, parts in changed.items() if parts}
            if not record["changed"]:
                del record["changed"]
        if removed := sorted(set(self._before) - set(now)):
            record["removed"] = removed
        fresh = self._fresh(events)
        if fresh:
            record["events"] = [fresh[text] for text in sorted(fresh)]
        self._seen = now, set(fresh)
        return record

    def _fresh(self, events: Iterable[Json]) -> dict[str, Json]:
        """Events whose shown form was not there before, by that form."""
        fresh: dict[str, Json] = {}
        for event in events:
            shown = self._shapes.event(event)
            if shown["from"] in NOT_RECORDED or shown["reason"] in TOLD_BESIDES:
                continue
            text = json.dumps(shown, sort_keys=True)
            if text not in self._events:
                fresh[text] = shown
        return fresh


def _as_recorded(shown: Json) -> Json:
    """A job as the originals show it: without what failed, and while its pods are kept back without that."""
    if KEPT_BESIDES in (shown.get("status") or {}):
        shown = {**shown, "status": {name: part for name, part in shown["status"].items() if name != KEPT_BESIDES}}
    conditions = (shown.get("status") or {}).get("conditions") or []
    if all(condition.get("reason") != WAITING for condition in conditions):
        return shown
    kind, name = shown["kind"], shown["metadata"]["name"]
    plain = {"reason": f"{kind}Created", "message": f"{kind} {name} is created."}
    told = [{**one, **plain} if one.get("reason") == WAITING else one for one in conditions]
    return {**shown, "status": {**shown["status"], "conditions": told}}


def _changed_parts(before: Json, now: Json) -> Json:
    """The top-level parts of an object that differ; None where a part went."""
    return {part: now.get(part) for part in {**before, **now} if now.get(part) != before.get(part)}
