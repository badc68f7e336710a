"""Which keys a change of an object concerns."""

from __future__ import annotations

import msgspec
import pytest

from shunter.api.core import Pod
from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, JOBS
from shunter.kube.cache.mapping import enqueuing, own_key, to_controller
from shunter.kube.controllers.plan import Key


def pod(name: str = "p", *owners: Json) -> Pod:
    return msgspec.convert({"metadata": {"name": name, "namespace": "team", "ownerReferences": owners}}, Pod)


def owner(api_version: str, kind: str, name: str, *, controls: bool = True) -> Json:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": "u", "controller": controls}


def test_an_object_concerns_itself() -> None:
    assert [*own_key(pod())] == [Key("team", "p")]


@pytest.mark.parametrize(
    ("owners", "keys"),
    [
        ([owner("batch/v1", "Job", "j")], [Key("team", "j")]),
        ([owner("batch/v1beta1", "Job", "j")], [Key("team", "j")]),
        ([owner("v1", "ConfigMap", "c", controls=False), owner("batch/v1", "Job", "j")], [Key("team", "j")]),
        ([owner("batch/v1", "Job", "j", controls=False)], []),
        ([owner("batch.volcano.sh/v1alpha1", "Job", "j")], []),
        ([owner("batch/v1", "CronJob", "j")], []),
        ([], []),
    ],
    ids=[
        "by its controller",
        "in another version",
        "beside another owner",
        "an owner only",
        "another group",
        "another kind",
        "none",
    ],
)
def test_an_object_concerns_the_owner_that_manages_it(owners: list[Json], keys: list[Key]) -> None:
    assert [*to_controller(JOBS)(pod("p", *owners))] == keys


def test_an_owner_of_the_whole_cluster_has_no_namespace() -> None:
    runtime = CLUSTER_TRAINING_RUNTIMES
    assert [*to_controller(runtime)(pod("p", owner(runtime.api_version, runtime.kind, "r")))] == [Key("", "r")]


def test_a_change_of_owner_concerns_the_former_and_the_new_one() -> None:
    added: list[Key] = []
    handler = enqueuing(to_controller(JOBS), added.append)
    handler(pod("p", owner("batch/v1", "Job", "before")), pod("p", owner("batch/v1", "Job", "after")))
    handler(None, pod("p", owner("batch/v1", "Job", "new")))
    handler(pod("p", owner("batch/v1", "Job", "gone")), None)
    assert added == [Key("team", name) for name in ("before", "after", "new", "gone")]
