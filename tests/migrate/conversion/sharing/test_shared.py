"""Runtimes that several jobs share: what is equal stands in them, what differs in TrainJobs, and the pods stay as they were."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from migrate.test_properties import lost, refused
from migrate.test_recorded_jobs import jobs as jobs_in
from shunter.api.meta import Json
from shunter.migrate.conversion import batch
from shunter.migrate.conversion.emit import files
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.sharing import shared, shared_in
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.provider import Input, read
from shunter.migrate.options import Options
from shunter.migrate.proof.comparison import compared

TESTS = Path(__file__).parents[3]
ANY_VARIABLE = ["train"]


def job(name: str, kind: str = "PyTorchJob", role: str = "Worker", workers: int = 2, **container: Any) -> Json:
    specs = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs", "JAXJob": "jaxReplicaSpecs"}
    names = {"PyTorchJob": "pytorch", "TFJob": "tensorflow", "JAXJob": "jax"}
    pod = container.pop("pod", {})
    template = {"spec": {"containers": [{"name": names[kind], "image": "x:1", **container}], **pod}}
    replicas = {"replicas": workers, "restartPolicy": "OnFailure", "template": template}
    roles = {role: replicas} if kind != "PyTorchJob" else {"Master": {**replicas, "replicas": 1}, "Worker": replicas}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "team"},
        "spec": {specs[kind]: roles},
    }


def converted(*found: Json, options: Options = Options(), known: tuple[Json, ...] = ()) -> list[Conversion]:  # noqa: B008
    sources = [SourceObject(copy.deepcopy(one), f"{one['metadata']['name']}.yaml") for one in found]
    return files.usable(shared(batch.converted(sources, options), known))


def runtimes(found: list[Conversion]) -> list[Json]:
    by_key = {files.runtime_key(one.runtime): one.runtime for one in found if one.runtime}
    return [*by_key.values()]


def node(runtime: Json, number: int = 0) -> Json:
    container: Json = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"][
        "containers"
    ][number]
    return container


def require_proof(found: list[Conversion], options: Options = Options()) -> None:  # noqa: B008
    for one in found:
        assert [f"{each.topic.id} {each.message}" for each in compared(one, options).findings if each.is_blocking] == []
        assert lost(one.source.value, one) == []
        assert refused(one) == []


def test_what_differs_stands_in_the_train_jobs_and_what_is_equal_in_the_runtime() -> None:
    first = job("a", command=ANY_VARIABLE, args=["--lr=1"], env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])
    second = job(
        "b", command=ANY_VARIABLE, args=["--lr=2"], env=[{"name": "A", "value": "1"}, {"name": "B", "value": "3"}], workers=5
    )
    found = converted(first, second)
    (runtime,) = runtimes(found)
    said = [one.train_job["spec"]["trainer"] for one in found]
    assert said == [
        {"numNodes": 3, "args": ["--lr=1"], "env": [{"name": "B", "value": "2"}]},
        {"numNodes": 6, "args": ["--lr=2"], "env": [{"name": "B", "value": "3"}]},
    ]
    assert (node(runtime)["image"], node(runtime)["command"]) == ("x:1", ANY_VARIABLE)
    assert {"name": "A", "value": "1"} in node(runtime)["env"]
    require_proof(found)


def test_a_job_that_is_alone_says_all_itself() -> None:
    (one,) = converted(job("a"))
    assert one.train_job["spec"]["trainer"]["image"] == "x:1"
    assert "image" not in node(runtimes([one])[0])


def test_the_order_of_the_input_does_not_count() -> None:
    three = [job(name, args=[name], env=[{"name": name, "value": "1"}, {"name": "ALL", "value": "1"}]) for name in "abc"]
    forwards, backwards = converted(*three), converted(*reversed(three))
    assert [one.train_job for one in forwards] == [one.train_job for one in reversed(backwards)]
    assert runtimes(forwards) == runtimes(backwards)


@pytest.mark.parametrize("version", ["2.3", "2.1"])
def test_pods_that_differ_in_what_a_patch_can_say_share_a_runtime(version: str) -> None:
    def on(name: str) -> Json:
        mount = [{"name": "data", "mountPath": "/data"}]
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
        return job(name, volumeMounts=mount, pod={"volumes": volumes, "nodeSelector": {"pool": "gpu"}})

    options = Options(target_version=version)
    found = converted(on("a"), on("b"), options=options)
    if version == "2.1":
        assert len(runtimes(found)) == 2
        return
    (runtime,) = runtimes(found)
    pod = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"pool": "gpu"}
    assert "volumes" not in pod
    (patch,) = found[1].train_job["spec"]["runtimePatches"]
    (group,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert group["template"]["spec"]["template"]["spec"] == {
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "b"}}]
    }
    require_proof(found, options)


def test_a_variable_that_is_made_of_one_that_differs_stands_behind_it() -> None:
    made = {"name": "PLACE", "value": "/out/$(RUN)"}
    found = converted(*(job(name, env=[{"name": "RUN", "value": name}, made]) for name in "ab"))
    assert [one.train_job["spec"]["trainer"]["env"] for one in found] == [
        [{"name": "RUN", "value": "a"}, made],
        [{"name": "RUN", "value": "b"}, made],
    ]
    require_proof(found)


def test_tf_jobs_of_several_sizes_share_a_runtime() -> None:
    found = converted(*(job(name, "TFJob", workers=count) for name, count in (("a", 2), ("b", 3))))
    assert len(runtimes(found)) == 1
    assert [[one["name"] for one in each.train_job["spec"]["trainer"]["env"]] for each in found] == [["TF_CONFIG"]] * 2
    require_proof(found)


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"runPolicy": {"backoffLimit": 3}}},
        {"spec": {"runPolicy": {"ttlSecondsAfterFinished": 60}}},
        {"metadata": {"namespace": "other"}},
    ],
)
def test_jobs_whose_runtimes_must_differ_share_none(change: Json) -> None:
    other = job("b")
    for section, fields in change.items():
        other[section] |= fields
    found = converted(job("a"), other)
    assert len(runtimes(found)) == 2
    require_proof(found)


def test_a_blocked_job_does_not_count() -> None:
    blocked = job("b", image="y:1")
    blocked["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = "Always"
    assert len(converted(job("a"), job("c"), blocked)) == 2
    assert node(runtimes(converted(job("a"), job("c"), blocked))[0])["image"] == "x:1"


def test_a_runtime_that_is_there_is_taken_where_it_does() -> None:
    there = runtimes(converted(job("a", args=["1"]), job("b", args=["2"])))
    (late,) = converted(job("c", image="y:1", args=["3"]), known=tuple(there))
    assert late.runtime == there[0]
    assert late.train_job["spec"]["trainer"] == {"numNodes": 3, "image": "y:1", "args": ["3"]}
    require_proof([late])


def test_a_runtime_that_says_more_than_the_job_is_not_taken() -> None:
    there = runtimes(converted(*(job(name, env=[{"name": "DEBUG", "value": "1"}]) for name in "ab")))
    (late,) = converted(job("c"), known=tuple(there))
    assert late.runtime != there[0]
    without_mark = copy.deepcopy(runtimes(converted(job("a")))[0])
    without_mark["metadata"].pop("annotations")
    without_mark["metadata"]["name"] = "by-hand"
    (late,) = converted(job("c"), known=(without_mark,))
    assert [one["metadata"]["name"] for one in runtimes([late])] != ["by-hand"]


@pytest.mark.slow
def test_all_recorded_jobs_together_get_the_pods_that_they_had() -> None:
    sources: list[SourceObject] = []
    for path in sorted((TESTS / "recordings" / "v1").glob("*.yaml")):
        for number, one in enumerate(jobs_in(yaml.load(path.read_text(), Loader=yaml.CSafeLoader)["steps"])):
            name = f"{one['metadata'].get('name', 'x')[:30]}-{len(sources)}"
            sources.append(SourceObject({**one, "metadata": {"name": name}}, f"{path.stem}-{number}.yaml"))
    options = Options(elastic_nodes="replicas", accepted=("MPI001",))
    alone = batch.converted(sources, options)
    found = files.usable(shared(alone))
    assert len(runtimes(found)) < len(runtimes(files.usable(alone)))
    before = {id(one.source): one for one in files.usable(alone)}
    changed = [one for one in found if before[id(one.source)].train_job != one.train_job]
    assert len(changed) > 20
    require_proof(changed, options)


TWO_JOBS = """\
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata:
  name: {name}
spec:
  jaxReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: jax
            image: x:1  # pinned
            args: [{name}]  # of its own
"""


def test_comments_stand_where_their_values_do() -> None:
    given = Input(tuple(text_file(TWO_JOBS.format(name=name), f"{name}.yaml") for name in "ab"))
    text = files.stream(given, shared_in(given, batch.converted(given.convertible, Options())))
    runtime, first, second = text.split("---\n")
    assert "image: x:1  # pinned" in runtime
    assert "args: [a]  # of its own" in first
    assert "args: [b]  # of its own" in second
    assert "image" not in first + second


def test_a_tree_of_kustomizations_shares_only_what_is_equal(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.yaml").write_text(TWO_JOBS.format(name=name))
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml, b.yaml]\n")
    given = read([str(tmp_path)])
    found = files.usable(shared_in(given, batch.converted(given.convertible, Options())))
    assert [one.train_job["spec"]["trainer"]["image"] for one in found] == ["x:1", "x:1"]


def test_examples_twice_share_their_runtimes_and_keep_their_pods() -> None:
    options = Options(elastic_nodes="replicas", accepted=("MPI001",))
    found = provider_jobs(TESTS.parent / "examples" / "v1")
    twice = [
        replace(one, value={**one.value, "metadata": {**one.metadata, "name": f"{one.name}-{n}"}}) for one in found for n in "ab"
    ]
    shared_twice = files.usable(shared(batch.converted(twice, options)))
    assert len(shared_twice) == 2 * len(found)
    assert len(runtimes(shared_twice)) <= len(found)
    require_proof(shared_twice, options)


def provider_jobs(folder: Path) -> list[SourceObject]:
    return read([str(path) for path in sorted(folder.glob("*.yaml"))]).jobs


def test_jobs_that_say_nothing_themselves_have_a_trainer_section_nevertheless() -> None:
    """Without one the Trainer would tell its pods no variables (kubeflow/trainer#4076)."""
    found = converted(job("a", "TFJob", workers=1), job("b", "TFJob", workers=1))
    assert [one.train_job["spec"]["trainer"] for one in found] == [{"numNodes": 1}] * 2
    require_proof(found)
