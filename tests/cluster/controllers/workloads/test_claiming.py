"""Which objects a controller owns: cluster/controllers/workloads/claiming.py."""

from __future__ import annotations

import msgspec
import pytest

from shunter.api.batch import JOB_TRACKING_FINALIZER as TRACKING
from shunter.api.core import Pod
from shunter.api.meta import Json, ObjectMeta, controller_reference
from shunter.api.resources import JOBS, PODS
from shunter.api.selectors import LabelSelector
from shunter.cluster.controllers.workloads.claiming import Owner, claims, finalizer_removal

OWNER = Owner(JOBS, ObjectMeta(name="train", namespace="team-a", uid="job"))
OURS = controller_reference("batch/v1", "Job", "train", "job")
OTHERS = {"apiVersion": "v1", "kind": "ConfigMap", "name": "note", "uid": "map"}
SELECTOR = LabelSelector(match_labels={"job": "train"})
VERSION = {"uid": "pod", "resourceVersion": "7"}


def pod(labels: dict[str, str], owners: list[Json], finalizers: list[str]) -> Pod:
    metadata = {"name": "train-0", "namespace": "team-a", **VERSION, "labels": labels, "ownerReferences": owners}
    return msgspec.convert({"metadata": {**metadata, "finalizers": finalizers}}, Pod)


SELECTED = {"job": "train"}


@pytest.mark.parametrize(
    ("labels", "owners", "finalizers", "written"),
    [
        pytest.param(SELECTED, [OURS], [TRACKING], None, id="what is owned and selected stays as it is"),
        pytest.param({}, [], [], None, id="what is neither owned nor selected stays as it is"),
        pytest.param(
            SELECTED, [OTHERS], ["a/b"], {"ownerReferences": [OTHERS, OURS], "finalizers": ["a/b", TRACKING]}, id="an orphan"
        ),
        pytest.param(
            SELECTED, [], [TRACKING], {"ownerReferences": [OURS], "finalizers": [TRACKING]}, id="an orphan that has the finalizer"
        ),
        pytest.param(
            {}, [OURS, OTHERS], [TRACKING, "a/b"], {"ownerReferences": [OTHERS], "finalizers": ["a/b"]}, id="no longer selected"
        ),
        pytest.param({}, [OURS], [TRACKING], {"ownerReferences": None, "finalizers": None}, id="with nothing else in the lists"),
    ],
)
def test_owners_and_the_finalizer_go_in_one_write(
    labels: dict[str, str], owners: list[Json], finalizers: list[str], written: Json | None
) -> None:
    found = claims(OWNER, SELECTOR, PODS, [pod(labels, owners, finalizers)], finalizer=TRACKING)
    assert [patch.patch for patch in found] == ([] if written is None else [{"metadata": {**written, **VERSION}}])


def test_finalizers_are_left_alone_where_an_owner_needs_none() -> None:
    (patch,) = claims(OWNER, SELECTOR, PODS, [pod(SELECTED, [], ["a/b"])])
    assert patch.patch == {"metadata": {"ownerReferences": [OURS], **VERSION}}


def test_a_finalizer_is_taken_alone() -> None:
    patch = finalizer_removal(PODS, pod(SELECTED, [OURS], [TRACKING, "a/b"]).metadata, TRACKING)
    assert patch.patch == {"metadata": {"finalizers": ["a/b"], **VERSION}}
