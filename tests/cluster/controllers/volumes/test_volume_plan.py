"""What becomes of a volume: its phase, its end, its directory."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.cluster.controllers.volumes.views import (
    DIRECTORY_FINALIZER,
    VOLUME_PROTECTION,
    Claim,
    Volume,
)
from shunter.cluster.controllers.volumes.volume_plan import Observed, plan
from shunter.cluster.local_path import PROVISIONED_BY, PROVISIONER
from shunter.kube.controllers.plan import NOTHING, Delete, Patch, Plan

OURS = {"annotations": {PROVISIONED_BY: PROVISIONER}, "finalizers": [DIRECTORY_FINALIZER, VOLUME_PROTECTION]}
REFERENCE = {"namespace": "n", "name": "data", "uid": "c1"}


def volume(*, phase: str = "Pending", metadata: dict[str, Any] | None = None, **spec: Any) -> Volume:
    named = {"name": "v", "uid": "v1", **(metadata or {})}
    return msgspec.convert({"metadata": named, "spec": spec, "status": {"phase": phase}}, Volume)


def claim(uid: str = "c1", name: str = "v") -> Claim:
    return msgspec.convert({"metadata": {"name": "data", "namespace": "n", "uid": uid}, "spec": {"volumeName": name}}, Claim)


def phase_of(made: Plan) -> str:
    return next((str(write.patch["status"]["phase"]) for write in made.writes if isinstance(write, Patch)), "")


@pytest.mark.parametrize(
    ("reference", "of", "expected"),
    [
        pytest.param(None, None, "Available", id="nobody's"),
        pytest.param({"namespace": "n", "name": "data"}, None, "Available", id="kept for a claim that may come"),
        pytest.param(REFERENCE, claim(), "Bound", id="a claim's"),
        pytest.param(REFERENCE, None, "Released", id="of a claim that is gone"),
        pytest.param(REFERENCE, claim("c2"), "Released", id="of a claim whose name another has now"),
        pytest.param(REFERENCE, claim(name="w"), "Released", id="of a claim that has another"),
    ],
)
def test_the_phase_of_a_volume_says_whose_it_is(reference: dict[str, Any] | None, of: Claim | None, expected: str) -> None:
    spec: Json = {"claimRef": reference} if reference else {}
    assert phase_of(plan(Observed(volume=volume(**spec), claim=of))) == expected
    assert plan(Observed(volume=volume(phase=expected, **spec), claim=of)) == NOTHING


def test_a_released_volume_of_ours_is_deleted_and_a_retained_one_stays() -> None:
    going = plan(Observed(volume=volume(metadata=OURS, claimRef=REFERENCE, persistentVolumeReclaimPolicy="Delete")))
    assert isinstance(going.writes[-1], Delete)
    kept = plan(Observed(volume=volume(metadata=OURS, claimRef=REFERENCE, persistentVolumeReclaimPolicy="Retain")))
    assert phase_of(kept) == "Released"
    assert len(kept.writes) == 1


def test_a_released_volume_that_nobody_can_delete_fails_and_says_so() -> None:
    made = plan(Observed(volume=volume(claimRef=REFERENCE, persistentVolumeReclaimPolicy="Delete", phase="Bound")))
    assert "Failed" in [write.patch["status"]["phase"] for write in made.writes if isinstance(write, Patch)]
    failed = volume(claimRef=REFERENCE, persistentVolumeReclaimPolicy="Delete", phase="Failed")
    assert plan(Observed(volume=failed)) == NOTHING


@pytest.mark.parametrize(("of", "is_released"), [(claim(), False), (None, True), (claim("c2"), True)])
def test_a_volume_is_kept_while_a_claim_has_it(of: Claim | None, *, is_released: bool) -> None:
    going = {**OURS, "deletionTimestamp": "2026-11-21T12:00:00Z"}
    kept = volume(metadata=going, phase="Bound", claimRef=REFERENCE)
    assert bool(plan(Observed(volume=kept, claim=of)).writes) is is_released
