"""Names of TrainJobs: whatever the v1 job is called, v2 can make its pods, and the name is the same each time (T11, NX24)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migrate.generated_jobs import smallest
from shunter.api.meta import Json
from shunter.api.names import label_1035_faults
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate import batch
from shunter.migrate.conversion import convert
from shunter.migrate.options import Options
from shunter.migrate.source.objects import SourceObject

RANDOM = "abcde"
NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,70}[a-z0-9])?", fullmatch=True)


def named(kind: int, metadata: Json, replicas: int = 2) -> SourceObject:
    return SourceObject({**smallest(JOB_KINDS[kind], replicas=replicas), "metadata": metadata}, "names.yaml")


def pods(train_job: Json, runtime: Json | None, name: str) -> list[str]:
    """The last pod of each group, as JobSet names it."""
    of_shipped = [{"name": "node", "template": {"spec": {}}}]
    groups = runtime["spec"]["template"]["spec"]["replicatedJobs"] if runtime else of_shipped
    nodes = train_job["spec"]["trainer"]["numNodes"]
    last = ((group, group["template"]["spec"].get("completions", nodes) - 1) for group in groups)
    return [f"{name}-{group['name']}-{group.get('replicas', 1) - 1}-{index}-{RANDOM}" for group, index in last]


@settings(deadline=None, max_examples=150, derandomize=True, database=None)
@given(NAMES, st.integers(0, len(JOB_KINDS) - 1), st.sampled_from([1, 2, 11, 101]), st.sampled_from(["", "-v2"]))
def test_pods_can_be_named_whatever_the_job_is_called(name: str, kind: int, replicas: int, suffix: str) -> None:
    conversion = convert(named(kind, {"name": name}, replicas), Options(suffix=suffix))
    given_name = conversion.train_job["metadata"]["name"]
    assert not label_1035_faults(given_name)
    assert max(map(len, pods(conversion.train_job, conversion.runtime, given_name))) <= 63


@settings(deadline=None, max_examples=50, derandomize=True, database=None)
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
