"""What holds for every runtime and every job of it: hypothesis writes both as users may, with fields that nothing here knows."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from player.operator_replay import applied
from shunter.api.formats.quantity import canonical_resource
from shunter.api.meta import Json, MetadataOnly
from shunter.api.scheduling.podgroups import PodGroup
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.controllers.plan import Apply, Create, Plan
from shunter.operator.trainer.plan import FIELD_MANAGER, Observed, plan
from shunter.operator.trainer.plugins import COMPANIONS
from shunter.operator.trainer.render import jobset_for, rendered
from shunter.operator.trainer.snapshot import as_go_writes, runtime_in, snapshot_of
from shunter.operator.trainer.stored_lists import with_stored_lists
from shunter.operator.trainer.views import ConfigMap, LiveJobSet

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
EXAMPLES = settings(max_examples=90)
RANDOMNESS = bytes(range(32))

VALUES = st.text("abcXYZ019 -_=$./", max_size=12)
WORDS = st.lists(VALUES, max_size=3)
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"

QUANTITIES: dict[str, list[Any]] = {
    "cpu": ["1", "500m", 2, "0.25", "64"],
    "memory": ["1Gi", "512Mi", "1e9", "100M"],
    "nvidia.com/gpu": ["1", 2, "8"],
    "example.com/widget": ["3"],
}
POLICIES: list[Json | None] = [
    None,
    {},
    {"torch": {}},
    {"mpi": {}},
    {"mpi": {"runLauncherAsNode": True, "sshAuthMountPath": "/keys", "numProcPerNode": 3}},
    {"jax": {}},
    {"xgboost": {}},
    {"flux": {"numProcPerNode": 2}},
]
POD_GROUPS: list[Json | None] = [
    None,
    {"coscheduling": {"scheduleTimeoutSeconds": 5}},
    {"coscheduling": {}},
    {"volcano": {}},
    {"volcano": {"networkTopology": {"mode": "soft", "highestTierAllowed": 2}}},
    {"volcano": {}, "coscheduling": {}},
]


def objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    """Objects of which any field may be missing."""
    return st.fixed_dictionaries({}, optional=fields)


def named(names: st.SearchStrategy[str], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Json]]:
    """Lists of objects with names of their own."""
    entry = st.builds(lambda name, rest: {"name": name, **rest}, names, objects(**fields))
    return st.lists(entry, max_size=3, unique_by=lambda one: one["name"])


environments = named(st.sampled_from(["A", "B_1", "PATH", "NCCL_DEBUG"]), value=VALUES)
quantities = objects(**{name: st.sampled_from(amounts) for name, amounts in QUANTITIES.items()})
resources = objects(limits=quantities, requests=quantities)
labels = st.dictionaries(st.sampled_from(["team", "example.com/tier", "app"]), st.sampled_from(["x", "y1", ""]), max_size=2)
metadata = objects(labels=labels, annotations=labels)
mounts = st.lists(st.sampled_from(["/data", "/cache", "/out"]), max_size=2, unique=True).map(
    lambda paths: [{"name": "scratch", "mountPath": path} for path in paths]
)
ports = st.lists(st.sampled_from([80, 8080, 9000]), max_size=2, unique=True).map(
    lambda numbers: [{"containerPort": number, "name": f"p{number}"} for number in numbers]
)


def containers(name: str) -> st.SearchStrategy[list[Json]]:
    """The container that a replicated job is about, and perhaps others."""
    fields: dict[str, st.SearchStrategy[Any]] = {
        "command": WORDS,
        "args": WORDS,
        "env": environments,
        "ports": ports,
        "resources": resources,
        "volumeMounts": mounts,
        "workingDir": st.just("/work"),
        "imagePullPolicy": st.sampled_from(["Always", "Never"]),
        "readinessProbe": st.just({"tcpSocket": {"port": 22}}),
        "securityContext": st.just({"runAsUser": 7}),
    }
    main = objects(**fields).map(lambda rest: {"name": name, "image": "img:main", **rest})
    side = objects(**fields).map(lambda rest: {"name": "sidecar", "image": "img:side", **rest})
    return st.one_of(main.map(lambda one: [one]), st.tuples(main, side).map(list), st.tuples(side, main).map(list))


@st.composite
def replicated_jobs(draw: st.DrawFn, name: str, ancestor: str) -> Json:
    container = "node" if ancestor in ("", "trainer") else ancestor
    pod = draw(
        objects(
            initContainers=st.just([{"name": "prepare", "image": "img:init"}]),
            nodeSelector=labels,
            tolerations=st.just([{"key": "gpu", "operator": "Exists"}]),
            schedulerName=st.just("own"),
            restartPolicy=st.sampled_from(["Never", "OnFailure"]),
            hostNetwork=st.just(True),
        )
    )
    pod["containers"] = draw(containers(container))
    if draw(st.booleans()) or any(one.get("volumeMounts") for one in pod["containers"]):
        pod["volumes"] = [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}]
    job_spec = draw(objects(backoffLimit=st.integers(0, 3), parallelism=st.integers(1, 3), activeDeadlineSeconds=st.just(60)))
    job_spec["template"] = {**draw(objects(metadata=metadata)), "spec": pod}
    template: Json = {"spec": job_spec}
    if ancestor:
        template["metadata"] = {"labels": {ANCESTOR: ancestor, **draw(labels)}}
    elif draw(st.booleans()):
        template["metadata"] = {"annotations": draw(labels)}
    return {"name": name, **({} if ancestor else draw(objects(replicas=st.integers(1, 2)))), "template": template}


@st.composite
def runtimes(draw: st.DrawFn) -> Json:
    policy = draw(st.sampled_from(POLICIES))
    jobs = [("node", "trainer")]
    if policy and "mpi" in policy:
        jobs = draw(st.sampled_from([[("node", ""), ("launcher", "trainer")], [("launcher", "trainer"), ("node", "")], jobs]))
    for ancestor in ("dataset-initializer", "model-initializer"):
        if draw(st.booleans()):
            jobs.insert(0, (ancestor, ancestor))
    if draw(st.booleans()):
        jobs.append(("other", ""))
    template: Json = {"spec": {"replicatedJobs": [draw(replicated_jobs(name, ancestor)) for name, ancestor in jobs]}}
    template["spec"] |= draw(objects(ttlSecondsAfterFinished=st.just(9), failurePolicy=st.just({"maxRestarts": 2})))
    if draw(st.booleans()):
        template["metadata"] = draw(metadata)
    spec: Json = {"template": template}
    if policy is not None:
        spec["mlPolicy"] = {**policy, **draw(objects(numNodes=st.integers(1, 5)))}
    groups = draw(st.sampled_from(POD_GROUPS))
    if groups is not None:
        spec["podGroupPolicy"] = groups
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "rt", "namespace": "team-a", "uid": "r1"},
        "spec": spec,
    }


trainers = objects(
    image=st.just("img:job"),
    command=WORDS,
    args=WORDS,
    env=environments,
    numNodes=st.integers(1, 7),
    numProcPerNode=st.integers(1, 4),
    resourcesPerNode=resources,
)


@st.composite
def trainjobs(draw: st.DrawFn, runtime: Json) -> TrainJob:
    jobs = [job["name"] for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]]
    spec: Json = {
        "runtimeRef": {"name": "rt", "kind": "TrainingRuntime"},
        **draw(objects(trainer=trainers, suspend=st.booleans())),
    }
    initializers = {
        name.removesuffix("-initializer"): draw(objects(storageUri=st.just("hf://a/b"), env=environments))
        for name in jobs
        if name.endswith("-initializer")
    }
    if bool(initializers) and draw(st.booleans()):
        spec["initializer"] = initializers
    if draw(st.booleans()):
        pod = draw(
            objects(nodeSelector=labels, serviceAccountName=st.just("runner"), schedulingGates=st.just([{"name": "x/gate"}]))
        )
        patched = {
            "name": draw(st.sampled_from(jobs)),
            "template": {"spec": {"template": {"metadata": draw(metadata), "spec": pod}}},
        }
        template = {"metadata": draw(metadata), "spec": {"replicatedJobs": [patched]}}
        spec["runtimePatches"] = [{"manager": "acme.io/queue", "trainingRuntimeSpec": {"template": template}}]
    identity = {"name": draw(st.sampled_from(["t", "mnist", "a-longer-name"])), "namespace": "team-a", "uid": "u1"}
    return msgspec.convert({"metadata": identity, "spec": spec}, TrainJob)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[TrainJob, Json]:
    """A runtime, and a job of it."""
    runtime = draw(runtimes())
    return draw(trainjobs(runtime)), runtime


@pytest.mark.slow
@EXAMPLES
@given(pairs())
def test_a_job_is_rendered_the_same_again_and_its_sources_are_left_as_they_are(pair: tuple[TrainJob, Json]) -> None:
    job, runtime = pair
    before = copy.deepcopy(runtime), msgspec.json.encode(job)
    one, other = rendered(job, runtime), rendered(job, runtime)
    assert (one.jobset, one.objects) == (other.jobset, other.objects)
    assert [make(RANDOMNESS) for make in one.secrets.values()] == [make(RANDOMNESS) for make in other.secrets.values()]
    assert (runtime, msgspec.json.encode(job)) == before


@pytest.mark.slow
@EXAMPLES
@given(pairs())
def test_an_operator_that_is_started_again_makes_the_same_of_the_snapshot(pair: tuple[TrainJob, Json]) -> None:
    job, runtime = pair
    snapshot = owned_view(job, snapshot_of(job, runtime), ConfigMap)
    assert rendered(job, runtime_in(job, snapshot)).jobset == jobset_for(job, as_go_writes(runtime))


@pytest.mark.slow
@EXAMPLES
@given(pairs())
def test_a_job_whose_objects_are_there_is_left_alone(pair: tuple[TrainJob, Json]) -> None:
    job, runtime = pair
    made = plan(Observed(job=job, runtime=runtime, randomness=RANDOMNESS), NOW)
    again = plan(after(job, made), NOW)
    if not job.spec.suspend:
        assert again.writes == ()
    last = made.writes[-1]
    assert isinstance(last, Apply)
    assert [write.body for write in again.writes if isinstance(write, Apply)] == [last.body][: len(again.writes)]


@pytest.mark.slow
@EXAMPLES
@given(pairs())
def test_the_jobset_is_accepted_and_applying_it_again_changes_nothing(pair: tuple[TrainJob, Json]) -> None:
    job, runtime = pair
    wanted = jobset_for(job, runtime)
    stored = applied(None, wanted, manager=FIELD_MANAGER, now=NOW)
    again = with_stored_lists(wanted, msgspec.convert(stored, LiveJobSet))
    assert applied(stored, again, manager=FIELD_MANAGER, now=NOW) == stored


@EXAMPLES
@given(pairs())
def test_no_field_of_the_runtime_or_the_job_is_lost(pair: tuple[TrainJob, Json]) -> None:
    job, runtime = pair
    template, made = runtime["spec"]["template"], jobset_for(job, runtime)
    assert set(lost(template["spec"], made["spec"], "")) <= overridden(job, runtime)
    for field in ("labels", "annotations"):
        wanted = {**(template.get("metadata") or {}).get(field, {})}
        for patch in job.spec.runtime_patches:
            wanted |= patch.training_runtime_spec["template"].get("metadata", {}).get(field, {})
        assert made["metadata"].get(field, {}) == wanted
    trainer = job.spec.trainer
    if trainer is None:
        return
    (container,) = [one for pods in replicated(made, "trainer") for one in pod_spec(pods)["containers"] if one["name"] == "node"]
    variables = {one["name"]: one for one in container.get("env", [])}
    assert all(variables[one["name"]]["value"] == one.get("value", "") for one in trainer.env)
    assert container["image"] == (trainer.image or "img:main")


# --- what the properties look at


def owned_view(job: TrainJob, body: Json, view: type[Any]) -> Any:
    owner = {"apiVersion": "v1", "kind": "TrainJob", "name": job.metadata.name, "uid": job.metadata.uid, "controller": True}
    return msgspec.convert({**body, "metadata": {**body["metadata"], "ownerReferences": [owner]}}, view)


def after(job: TrainJob, made: Plan) -> Observed:
    """What an operator sees once everything of a plan was written."""
    bodies = {
        (write.resource, write.body["metadata"]["name"]): write.body for write in made.writes if isinstance(write, Apply | Create)
    }
    views: dict[str, Any] = {"ConfigMap": ConfigMap, "Secret": MetadataOnly, "PodGroup": PodGroup}
    names = {body["metadata"]["name"]: body for body in bodies.values() if body["kind"] == "ConfigMap"}
    jobset = next(body for body in bodies.values() if body["kind"] == "JobSet")
    return Observed(
        job=job,
        snapshot=owned_view(job, names[f"{job.metadata.name}-runtime-snapshot"], ConfigMap),
        jobset=msgspec.convert({"metadata": jobset["metadata"], "spec": {"suspend": jobset["spec"]["suspend"]}}, LiveJobSet),
        companions={
            companion: owned_view(job, body, views[companion.resource.kind])
            for companion in COMPANIONS
            if (body := bodies.get((companion.resource, companion.name(job))))
        },
    )


def lost(original: Any, made: Any, path: str) -> Iterator[str]:
    """Paths at which the original says something that what was made of it does not. Entries of lists are found by their key;
    quantities may be written otherwise."""
    if isinstance(original, dict) and isinstance(made, dict):
        for field, value in original.items():
            yield from lost(value, made.get(field), f"{path}.{field}")
    elif isinstance(original, list) and isinstance(made, list) and original and isinstance(original[0], dict):
        key = next(key for key in ("mountPath", "containerPort", "name", "key") if key in original[0])
        found = {one.get(key): one for one in made}
        for one in original:
            yield from lost(one, found.get(one[key]), f"{path}[{one[key]}]")
    elif original and original != made and (".resources." not in path or canonical_resource(original) != made):
        yield path


def overridden(job: TrainJob, runtime: Json) -> set[str]:
    """Where the job, its patches and the runtime's policy may say otherwise than the template."""
    trainer, paths = job.spec.trainer, set()
    for pods in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        place = f".replicatedJobs[{pods['name']}]"
        inside = f"{place}.template.spec.template.spec"
        paths |= {f"{place}.template.spec.parallelism"}
        ancestor = pods["template"].get("metadata", {}).get("labels", {}).get(ANCESTOR, "")
        main = f"{inside}.containers[{'node' if ancestor in ('', 'trainer') else ancestor}]"
        given = [one["name"] for one in trainer.env] if trainer else []
        for source in (job.spec.initializer.dataset, job.spec.initializer.model) if job.spec.initializer else ():
            given += [one["name"] for one in source.env] if source else []
        paths |= {f"{main}.env[{name}].value" for name in given}
        if trainer is not None:
            paths |= {f"{main}.image", f"{main}.command", f"{main}.args"}
            for section in ("limits", "requests"):
                paths |= {f"{main}.resources.{section}.{name}" for name in QUANTITIES}
        paths |= {f"{main}.command"}
        for patch in job.spec.runtime_patches:
            for patched in patch.training_runtime_spec["template"]["spec"]["replicatedJobs"]:
                template = patched["template"]["spec"]["template"]
                if patched["name"] == pods["name"]:
                    paths |= {f"{inside}.nodeSelector.{name}" for name in template["spec"].get("nodeSelector", {})}
                    for field in ("labels", "annotations"):
                        keys = template.get("metadata", {}).get(field, {})
                        paths |= {f"{place}.template.spec.template.metadata.{field}.{name}" for name in keys}
    return paths


def replicated(jobset: Json, ancestor: str) -> list[Json]:
    jobs = jobset["spec"]["replicatedJobs"]
    return [job for job in jobs if job["template"].get("metadata", {}).get("labels", {}).get(ANCESTOR) == ancestor]


def pod_spec(replicated_job: Json) -> Json:
    spec: Json = replicated_job["template"]["spec"]["template"]["spec"]
    return spec
