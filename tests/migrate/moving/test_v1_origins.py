"""Whether the job that a plan moved is still there, as the same training."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.moving.journal import Record
from shunter.migrate.moving.plan import Item
from shunter.migrate.moving.v1_origins import digests_with_any_suspend, origin_of, recreated_uids


def job(uid: str = "u1", image: str = "i", **spec: Any) -> Json:
    template = {"spec": {"containers": [{"name": "pytorch", "image": image}]}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "bert", "namespace": "team", "uid": uid},
        "spec": {**spec, "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template}}},
    }


def item(planned: Json, uid: str = "u1") -> Item:
    return Item(
        kind="PyTorchJob",
        namespace="team",
        name="bert",
        sha256=digest(planned),
        state="Running",
        job_class="simple",
        action="move",
        why="",
        uid=uid,
    )


def recreated(uid: str, **fields: Any) -> Record:
    """What a rollback recorded of a job that it made again."""
    given: Json = {"verb": "delete", "phase": "undone", "after": "digest", **fields}
    about: Json = {"api_version": "kubeflow.org/v1", "kind": "PyTorchJob", "plural": "pytorchjobs", "name": "bert", "uid": uid}
    return Record(number=1, step="s", at="", **about, **given)


def test_a_job_that_is_gone_has_no_origin_and_one_of_no_plan_is_told_by_its_name() -> None:
    assert origin_of(item(job()), None, ()) == "gone"
    assert origin_of(None, job("other", image="other"), ()) == "there"


def test_the_object_that_was_planned_is_the_same_training_however_it_was_changed() -> None:
    assert origin_of(item(job()), job("u1", image="other"), ()) == "there"


def test_a_job_made_again_is_the_same_training_if_its_manifest_is() -> None:
    assert origin_of(item(job()), job("u2"), ()) == "there"
    assert origin_of(item(job()), job("u2", image="other"), ()) == "another"


@pytest.mark.parametrize("policy", [None, {}, {"suspend": True}, {"suspend": False}])
@pytest.mark.parametrize("now", [None, {}, {"suspend": True}, {"suspend": False}])
def test_suspending_and_resuming_make_no_other_training(policy: Json | None, now: Json | None) -> None:
    def with_policy(uid: str, given: Json | None) -> Json:
        return job(uid) if given is None else job(uid, runPolicy=given)

    assert origin_of(item(with_policy("u1", policy)), with_policy("u2", now), ()) == "there"


def test_another_rule_for_its_life_makes_another_training() -> None:
    planned = job(runPolicy={"suspend": True, "backoffLimit": 3})
    assert origin_of(item(planned), job("u2", runPolicy={"backoffLimit": 3}), ()) == "there"
    assert origin_of(item(planned), job("u2", runPolicy={"backoffLimit": 4}), ()) == "another"


def test_a_job_that_a_rollback_made_again_is_the_planned_one() -> None:
    changed = job("u2", image="other")
    assert origin_of(item(job()), changed, [recreated("u2")]) == "there"
    assert origin_of(item(job()), changed, [recreated("u3")]) == "another"
    unwritten = [recreated("u2", after=""), recreated("u2", phase="done"), recreated("u2", verb="patch")]
    assert (recreated_uids(unwritten), origin_of(item(job()), changed, unwritten)) == (set(), "another")


def test_a_job_that_is_looked_at_stays_as_it_is() -> None:
    given = job(runPolicy={"suspend": True, "backoffLimit": 3})
    before = copy.deepcopy(given)
    assert len({*digests_with_any_suspend(given)}) == 3
    assert given == before
