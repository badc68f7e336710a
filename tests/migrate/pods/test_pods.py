"""The chains that the proof stands on make what the originals were recorded making, link by link and from end to end."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pytest

from player.case import Step
from player.compare import differences
from player.outcomes import Recorded, outcome, recorded
from player.shape import Json, Shapes
from shunter.cluster.controllers.job.pods import pods_of
from shunter.cluster.controllers.jobset.jobs import jobs_of
from shunter.errors import InputError
from shunter.migrate.options import Options
from shunter.migrate.pods.admission import PriorityClasses, admitted
from shunter.migrate.pods.sides import v1_side, v2_side

pytestmark = pytest.mark.slow  # reads every recording

GANGS = {
    "": "none",
    "volcano": "volcano",
    "scheduler-plugins-scheduler": "coscheduling:scheduler-plugins-scheduler",
}
"""What our options call the gang scheduler that an operator was started with."""
TRAIN_JOB = ("trainer.kubeflow.org/v1alpha1", "TrainJob")


class Made(NamedTuple):
    """What one applied object led to in one step of a recording."""

    namespace: str
    applied: Json
    new: dict[str, Json]
    earlier: dict[str, Json]
    """What was there before, by kind and name."""

    @property
    def name(self) -> str:
        return str(self.applied["metadata"]["name"])

    @property
    def classes(self) -> PriorityClasses:
        return PriorityClasses(obj for obj in self.earlier.values() if obj["kind"] == "PriorityClass")

    def children(self, child: str) -> dict[str, Json]:
        return self.owned_by(self.applied["kind"], self.name, child)

    def owned_by(self, kind: str, name: str, child: str) -> dict[str, Json]:
        found = {}
        for obj in self.new.values():
            owners = [(owner["kind"], owner["name"]) for owner in obj["metadata"].get("ownerReferences", [])]
            if obj["kind"] == child and (kind, name) in owners:
                found[obj["metadata"]["name"]] = obj
        return found


def made(one: Recorded) -> Iterator[Made]:
    """Every object that a user applied and the API server took, with what was new in that step."""
    namespace, earlier = one.case.namespace, dict[str, Json]()
    for step in one.case.steps:
        new = step.recorded.get("new") or {}
        earlier |= new
        for obj in _taken(step):
            yield Made(namespace, _in_namespace(obj, namespace), new, dict(earlier))
        for name, changed in (step.recorded.get("changed") or {}).items():
            earlier[name] = {**earlier.get(name, {}), **(changed or {})}


def v1_jobs(one: Recorded) -> Iterator[Made]:
    return (job for job in made(one) if job.applied["apiVersion"] == "kubeflow.org/v1")


def train_jobs(one: Recorded) -> Iterator[Made]:
    return (job for job in made(one) if (job.applied["apiVersion"], job.applied["kind"]) == TRAIN_JOB)


def each_of(*folders: str) -> pytest.MarkDecorator:
    """Every case of these folders that the original plays alike each time, and we as it does."""
    cases = [one for one in recorded(*folders) if outcome(one, "plans").verdict not in ("chance", "on purpose")]
    return pytest.mark.parametrize("one", cases, ids=lambda one: one.id)


def _taken(step: Step) -> Iterator[Json]:
    if step.verb == "apply":
        for obj, answer in zip(step.argument, step.recorded["answers"], strict=True):
            if answer["code"] == 201 and obj["metadata"].get("name"):
                yield obj


def _in_namespace(obj: Json, namespace: str) -> Json:
    return {**obj, "metadata": {"namespace": namespace, **obj["metadata"]}}


def assert_alike(wanted: dict[str, Json], got: list[Json], owners: Iterable[Json] = ()) -> None:
    """The objects that were recorded, and no others. Recordings say `xxxxx` for generated names, and name owners by uid."""
    shapes = Shapes()
    for obj in (*owners, *got):
        shapes.see(obj)
    found = {obj["metadata"]["name"]: _shown(shapes, obj) for obj in got}
    assert sorted(found) == sorted(wanted)
    for name, obj in wanted.items():
        texts = [str(difference) for difference in differences(_plain(obj), found[name])]
        assert not texts, f"{obj['kind']}/{name}\n" + "\n".join(texts)


def _shown(shapes: Shapes, obj: Json) -> Json:
    return _plain(shapes.shown(copy.deepcopy(obj)))


def _plain(obj: Json) -> Json:
    """Without what only a server counts, and without the status, which controllers write."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in ("generation", "generateName")}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}


each_v1_case = each_of("v1", "v1-volcano", "v1-coscheduling")


@each_v1_case
def test_a_v1_job_gets_the_pods_that_were_recorded(one: Recorded) -> None:
    options = Options(gang=GANGS[one.gang_scheduler])
    for job in v1_jobs(one):
        if pods := job.children("Pod"):
            assert_alike(pods, [replica.pod for replica in v1_side(job.applied, options, job.classes).replicas])


@each_of("v2")
def test_a_trainjob_gets_the_jobset_the_jobs_and_the_pods_that_were_recorded(one: Recorded) -> None:
    for job in train_jobs(one):
        jobsets = job.children("JobSet")
        if not jobsets:
            continue
        side = v2_side(job.applied, _runtime(job), job.classes)
        assert_alike(jobsets, [side.jobset])
        jobs = job.owned_by("JobSet", job.name, "Job")
        pods = {name: pod for owner in jobs for name, pod in job.owned_by("Job", owner, "Pod").items()}
        made_pods = {replica.pod["metadata"]["name"]: replica.pod for replica in side.replicas}
        assert_alike(jobs, [made for made in side.jobs if made["metadata"]["name"] in jobs], [side.jobset])
        assert_alike(pods, [pod for name, pod in made_pods.items() if name in pods], [side.jobset, *side.jobs])


@each_of("jobset")
def test_a_jobset_gets_the_jobs_that_were_recorded(one: Recorded) -> None:
    for applied in made(one):
        if jobs := applied.owned_by("JobSet", applied.name, "Job"):
            jobset = admitted(applied.applied, applied.classes)
            made_jobs = [admitted(job, applied.classes) for job in jobs_of(jobset)]
            assert_alike(jobs, [job for job in made_jobs if job["metadata"]["name"] in jobs], [jobset])


@each_of("job")
def test_a_job_gets_the_pods_that_were_recorded(one: Recorded) -> None:
    for applied in made(one):
        if pods := applied.owned_by("Job", applied.name, "Pod"):
            job = admitted(applied.applied, applied.classes)
            made_pods = [admitted(pod, applied.classes) for pod in pods_of(job)]
            assert_alike(pods, [pod for pod in made_pods if pod["metadata"]["name"] in pods], [job])


@each_v1_case
def test_a_v1_job_without_pods_is_no_surprise(one: Recorded) -> None:
    """It is suspended, left to others, waits for its gang or for a name that is taken, wants none, or is refused in words."""
    for job in v1_jobs(one):
        run_policy: dict[str, Any] = job.applied["spec"].get("runPolicy", {})
        waits = run_policy.get("suspend") or run_policy.get("managedBy") or one.gang_scheduler or "foreign" in one.id
        wants = "worker-zero" not in one.id
        if wants and not waits and not job.children("Pod"):
            with pytest.raises(InputError):
                v1_side(job.applied)


def _runtime(one: Made) -> Json:
    reference = {"kind": "ClusterTrainingRuntime", **one.applied["spec"]["runtimeRef"]}
    found = one.earlier[f"{reference['kind']}/{reference['name']}"]
    return _in_namespace(found, one.namespace) if found["kind"] == "TrainingRuntime" else found


def test_every_link_of_the_chains_is_held_to_many_recordings() -> None:
    v1 = recorded("v1", "v1-volcano", "v1-coscheduling")
    assert sum(bool(job.children("Pod")) for one in v1 for job in v1_jobs(one)) > 90
    assert sum(bool(job.children("JobSet")) for one in recorded("v2") for job in train_jobs(one)) > 100
