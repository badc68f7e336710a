"""A conversion on a runtime that says less, or more, than its own: what the TrainJob has to say, and where each field of the
source stands then.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from shunter.api.meta import Json
from shunter.migrate.conversion.ledger import Manifest, Row, Target
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.rules.profiles import MANAGER
from shunter.migrate.conversion.rules.trainer import OF_THE_TRAINER, ordered
from shunter.migrate.conversion.sharing.parts import (
    TRAINER,
    Part,
    Parts,
    patch_of,
    replicated_jobs,
    trainer_of,
    training_container,
)
from shunter.migrate.paths import Path, value_at

_REPLICATED_JOBS: Path = ("spec", "template", "spec", "replicatedJobs")
_POD: Path = ("template", "spec", "template")
_FIELDS = {name: field for field, name in OF_THE_TRAINER.items()}
_COUNTS = ("numNodes", "numProcPerNode")


def on_runtime(conversion: Conversion, runtime: Json, said: Parts) -> Conversion:
    """The conversion with that runtime, of which its TrainJob says these parts itself."""
    train_job = _train_job(conversion.train_job, runtime, said)
    moved = _Moved(conversion, train_job, runtime)
    rows = tuple(row if row.target is None else moved.row(row, row.target) for row in conversion.rows)
    return replace(conversion, train_job=train_job, runtime=runtime, rows=rows)


def _train_job(before: Json, runtime: Json, said: Parts) -> Json:
    spec = {field: value for field, value in before["spec"].items() if field not in ("runtimeRef", "trainer")}
    of_pods = {part: value for part, value in said.items() if part[0] != TRAINER}
    if of_pods:
        spec["runtimePatches"] = [{"manager": MANAGER, "trainingRuntimeSpec": {"template": patch_of(of_pods)}}]
    counts = {field: before["spec"]["trainer"][field] for field in _COUNTS if field in before["spec"]["trainer"]}
    of_trainer = trainer_of({part: value for part, value in said.items() if part[0] == TRAINER})
    section = {**counts, **of_trainer} or {"numNodes": runtime["spec"]["mlPolicy"]["numNodes"]}
    reference = {**before["spec"]["runtimeRef"], "name": runtime["metadata"]["name"]}
    return {**before, "spec": {"runtimeRef": reference, **spec, "trainer": ordered(section)}}


class _Moved:
    """Where a field of a result stands now that its parts are said elsewhere."""

    def __init__(self, before: Conversion, train_job: Json, runtime: Json) -> None:
        assert before.runtime is not None, "a job of a shipped runtime already shares it"
        self._before: dict[Manifest, Json] = {"TrainJob": before.train_job, "TrainingRuntime": before.runtime}
        self._places = dict(_places(train_job, runtime))

    def row(self, row: Row, target: Target) -> Row:
        part, rest = _part_of(target, self._before[target.manifest])
        place = self._places.get(part)
        return row if place is None else row._replace(target=Target(place.manifest, place.path + rest))


def _part_of(target: Target, manifest: Json) -> tuple[Part, Path]:
    """The part that a field belongs to, and where in it the field stands; nothing for what is none."""
    path = target.path
    if target.manifest == "TrainJob":
        if path[:2] != ("spec", "trainer") or len(path) < 3:
            return (), ()
        return _in_list((TRAINER, _FIELDS.get(str(path[2]), str(path[2]))), path[3:], manifest["spec"]["trainer"].get(path[2]))
    if path[:4] != _REPLICATED_JOBS or path[5:8] != _POD or len(path) < 10:
        return (), ()
    job = replicated_jobs(manifest["spec"])[int(path[4])]
    pod, rest = job["template"]["spec"]["template"], path[8:]
    if rest[0] == "metadata":
        return (job["name"], *rest[:3]), rest[3:]
    field, inner = rest[1], rest[2:]
    if field in ("containers", "initContainers") and len(inner) > 1:
        container: Json = pod["spec"][field][inner[0]]
        if container is training_container(job) and inner[1] in (*OF_THE_TRAINER, "env"):
            return _in_list((TRAINER, inner[1]), inner[2:], container.get(inner[1]))
        return (job["name"], field, container["name"], inner[1]), inner[2:]
    return _in_list((job["name"], "spec", field), inner, pod["spec"].get(field))


def _in_list(part: Part, rest: Path, value: Any) -> tuple[Part, Path]:
    """Items of a list that has them by name are parts of their own, and so are the keys of a nodeSelector."""
    item = value_at(value, rest[:1]) if rest and isinstance(value, list) else None
    if isinstance(item, dict) and part[-1] != "tolerations":
        return (*part, str(item.get("name"))), rest[1:]
    return ((*part, rest[0]), rest[1:]) if rest and part[-1] == "nodeSelector" else (part, rest)


def _places(train_job: Json, runtime: Json) -> list[tuple[Part, Target]]:
    """Where each part stands; of one that both say the TrainJob's counts."""
    found: list[tuple[Part, Target]] = []
    for number, job in enumerate(replicated_jobs(runtime["spec"])):
        pod: Json = job["template"]["spec"]["template"]
        base = (*_REPLICATED_JOBS, number, *_POD)
        found += [(part, Target("TrainingRuntime", (*base, *path))) for part, path in _of_pod(job["name"], pod)]
        container = training_container(job)
        if container is not None:
            place = (*base, "spec", "containers", pod["spec"]["containers"].index(container))
            for field in OF_THE_TRAINER:
                if field in container:
                    found.append(((TRAINER, field), Target("TrainingRuntime", (*place, field))))
            for index, variable in enumerate(container.get("env") or ()):
                found.append(((TRAINER, "env", variable["name"]), Target("TrainingRuntime", (*place, "env", index))))
    for index, patch in enumerate(train_job["spec"].get("runtimePatches") or ()):
        jobs = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
        base = ("spec", "runtimePatches", index, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")
        for number, job in enumerate(jobs):
            pod = job["template"]["spec"]["template"]
            found += [(part, Target("TrainJob", (*base, number, *_POD, *path))) for part, path in _of_pod(job["name"], pod)]
    for name, value in train_job["spec"]["trainer"].items():
        if name == "env":
            for index, variable in enumerate(value):
                found.append(((TRAINER, "env", variable["name"]), Target("TrainJob", ("spec", "trainer", "env", index))))
        elif name in _FIELDS:
            found.append(((TRAINER, _FIELDS[name]), Target("TrainJob", ("spec", "trainer", name))))
    return found


def _of_pod(name: str, pod: Json) -> list[tuple[Part, Path]]:
    found: list[tuple[Part, Path]] = []
    for field, values in (pod.get("metadata") or {}).items():
        if isinstance(values, dict):
            found += [((name, "metadata", field, key), ("metadata", field, key)) for key in values]
    for field, value in pod["spec"].items() if "spec" in pod else ():
        if field in ("containers", "initContainers"):
            for index, container in enumerate(value):
                found += [
                    ((name, field, container.get("name"), inner), ("spec", field, index, inner))
                    for inner in container
                    if inner != "name"
                ]
        elif field == "nodeSelector":
            found += [((name, "spec", field, key), ("spec", field, key)) for key in value]
        elif isinstance(value, list) and field != "tolerations" and all(isinstance(one, dict) for one in value):
            found += [((name, "spec", field, one.get("name")), ("spec", field, index)) for index, one in enumerate(value)]
        else:
            found.append(((name, "spec", field), ("spec", field)))
    return found
