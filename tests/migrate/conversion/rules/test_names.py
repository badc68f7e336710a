"""Names of TrainJobs: whatever the v1 job is called, v2 can make its pods, and the name is the same each time."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from migrate.generated_jobs import smallest
from shunter.api.meta import Json
from shunter.api.names import label_1035_faults
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.conversion import batch
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.options import Options

RANDOM = "abcde"
NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,70}[a-z0-9])?", fullmatch=True)


def named(kind: int, metadata: Json, replicas: int = 2) -> SourceObject:
    return SourceObject({**smallest(JOB_KINDS[kind], replicas=replicas), "metadata": metadata}, "names.yaml")


def pods(train_job: Json, runtime: Json | None, name: str) -> list[str]:
    """The last pod of each group, as JobSet names it."""
    of_shipped = [{"name": "node", "template": {"spec": {}}}]
    groups: list[Json] = runtime["spec"]["template"]["spec"]["replicatedJobs"] if runtime else of_shipped
    nodes = train_job["spec"]["trainer"].get("numNodes", 1)
    is_mpi = runtime is not None and "mpi" in runtime["spec"]["mlPolicy"]

    def count(group: Json) -> int:
        is_numbered_by_job = is_mpi or "metadata" in group["template"] or runtime is None
        return int(group["template"]["spec"].get("completions", nodes if is_numbered_by_job else 1))

    last = ((group, count(group) - 1) for group in groups)
    return [f"{name}-{group['name']}-{group.get('replicas', 1) - 1}-{index}-{RANDOM}" for group, index in last]


@settings(max_examples=150, derandomize=True, database=None)
@given(NAMES, st.integers(0, len(JOB_KINDS) - 1), st.sampled_from([1, 2, 11, 101]), st.sampled_from(["", "-v2"]))
def test_pods_can_be_named_whatever_the_job_is_called(name: str, kind: int, replicas: int, suffix: str) -> None:
    conversion = convert(named(kind, {"name": name}, replicas), Options(suffix=suffix))
    given_name = conversion.train_job["metadata"]["name"]
    assert not label_1035_faults(given_name)
    assert max(map(len, pods(conversion.train_job, conversion.runtime, given_name))) <= 63


@settings(max_examples=50, derandomize=True, database=None)
@given(st.from_regex(r"[a-z]([a-z0-9-]{0,70})", fullmatch=True), st.integers(0, len(JOB_KINDS) - 1))
def test_pods_can_be_named_whatever_the_api_server_appends(prefix: str, kind: int) -> None:
    conversion = convert(named(kind, {"generateName": prefix}), Options())
    metadata = conversion.train_job["metadata"]
    assert "name" not in metadata
    name = metadata["generateName"] + RANDOM
    assert not label_1035_faults(name)
    assert max(map(len, pods(conversion.train_job, conversion.runtime, name))) <= 63


@pytest.mark.parametrize(
    ("name", "converted"),
    [
        pytest.param("bert", "bert", id="a name that fits is kept"),
        pytest.param("a" * 48, "a" * 48, id="so is the longest that fits"),
        pytest.param("1-bert", "pytorch-1-bert", id="a digit first gets the kind before it"),
        pytest.param("bert.large", "bert-large", id="dots become hyphens"),
    ],
)
def test_name_is_the_nearest_that_v2_allows(name: str, converted: str) -> None:
    index = next(index for index, kind in enumerate(JOB_KINDS) if kind.resource.kind == "PyTorchJob")
    assert convert(named(index, {"name": name}), Options()).train_job["metadata"]["name"] == converted


def test_long_names_that_begin_alike_stay_apart() -> None:
    names = {convert(named(3, {"name": "a" * 60 + ending}), Options()).train_job["metadata"]["name"] for ending in "xyz"}
    assert len(names) == 3


def test_of_two_kinds_with_one_name_the_first_keeps_it_in_its_namespace() -> None:
    sources = [
        named(kind, {"name": "bert", "namespace": namespace}) for kind, namespace in ((0, "a"), (3, "a"), (3, "b"), (0, "a"))
    ]
    outcomes = batch.converted(sources, Options()).outcomes
    names = [outcome.conversion.train_job["metadata"]["name"] for outcome in outcomes if outcome.conversion]
    assert names == ["bert", "bert-pytorch", "bert", "bert"]


def job_of(kind: str, name: str, namespace: str = "a") -> SourceObject:
    index = next(index for index, each in enumerate(JOB_KINDS) if each.resource.kind == kind)
    return named(index, {"name": name, "namespace": namespace})


def names_of(sources: list[SourceObject], others: list[Json] | None = None, suffix: str = "") -> dict[str, str]:
    """The names of the TrainJobs by title of the v1 job."""
    outcomes = batch.converted(sources, Options(suffix=suffix), others or []).outcomes
    return {each.source.title: each.conversion.train_job["metadata"]["name"] for each in outcomes if each.conversion}


COLLISIONS = {
    "a name with the kind behind it": [("PyTorchJob", "x"), ("TFJob", "x"), ("TFJob", "x-tf")],
    "a name with the kind before it": [("MPIJob", "1-b"), ("MPIJob", "mpi-1-b")],
    "two names that become one": [("MPIJob", "b.c"), ("MPIJob", "b..c"), ("PyTorchJob", "b-c")],
    "names that are no labels and become one": [("MPIJob", "b.c"), ("PaddleJob", "b.c"), ("MPIJob", "b-c-paddle")],
}


@pytest.mark.parametrize("suffix", ["", "-v2"])
@pytest.mark.parametrize("jobs", COLLISIONS.values(), ids=COLLISIONS)
def test_no_two_jobs_of_a_namespace_get_one_name_whatever_comes_first(jobs: list[tuple[str, str]], suffix: str) -> None:
    sources = [job_of(kind, name) for kind, name in jobs]
    names = names_of(sources, suffix=suffix)
    assert len({*names.values()}) == len(jobs)
    last = sources[-1]
    assert names[last.title] == last.name + suffix
    elsewhere = [job_of(kind, name, "b") for kind, name in jobs]
    assert {title: name for title, name in names_of([*elsewhere, *sources], suffix=suffix).items() if " a/" in title} == names
    turned = names_of(sources[::-1], suffix=suffix)
    assert len({*turned.values()}) == len(jobs)
    assert turned[last.title] == names[last.title]


def test_a_name_that_is_taken_is_told() -> None:
    sources = [job_of("PyTorchJob", "x"), job_of("TFJob", "x"), job_of("TFJob", "x-tf")]
    outcomes = batch.converted(sources, Options()).outcomes
    told = [[finding.topic.id for finding in each.findings if finding.topic.id.startswith("NAME")] for each in outcomes]
    assert told == [[], ["NAME003", "NAME004"], []]


def test_names_of_a_run_that_was_cut_short_are_those_of_a_whole_one() -> None:
    sources = [job_of("PyTorchJob", "x"), job_of("TFJob", "x"), job_of("TFJob", "x-tf"), job_of("MPIJob", "1-b")]
    whole = batch.converted(sources, Options()).outcomes
    names = names_of(sources)
    for done in range(1 << len(sources)):
        written = [each.conversion.train_job for at, each in enumerate(whole) if done >> at & 1 and each.conversion]
        left = [source for at, source in enumerate(sources) if not done >> at & 1]
        assert names_of(left, written) == {source.title: names[source.title] for source in left}


def test_a_train_job_of_the_input_keeps_its_name() -> None:
    other = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "mpi-1-b", "namespace": "a"}}
    names = names_of([job_of("MPIJob", "1-b")], [other])
    assert names["MPIJob a/1-b"].startswith("mpi-1-b-")
    assert names_of([job_of("MPIJob", "1-b", "b")], [other]) == {"MPIJob b/1-b": "mpi-1-b"}
    assert names_of([job_of("MPIJob", "mpi-1-b")], [other]) == {"MPIJob a/mpi-1-b": "mpi-1-b"}


@pytest.mark.parametrize(("metadata", "told"), [("", []), ("metadata: {name: 1-b}", ["NAME002"])])
def test_a_job_that_its_owner_names_is_not_told_of_its_name(metadata: str, told: list[str]) -> None:
    trial = yaml.safe_dump(
        {key: value for key, value in smallest(JOB_KINDS[0]).items() if key != "metadata"}, default_flow_style=False
    )
    text = "apiVersion: kubeflow.org/v1beta1\nkind: Experiment\nmetadata: {name: e}\nspec:\n  trialTemplate:\n    trialSpec:\n"
    text += "".join(f"      {line}\n" for line in [metadata, *trial.splitlines()])
    experiment = Input((text_file(text, "x.yaml"),))
    (outcome,) = batch.converted(experiment.convertible, Options()).outcomes
    assert [each.topic.id for each in outcome.findings if each.topic.id.startswith("NAME")] == told
