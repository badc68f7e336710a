"""Which claim is missing or has no volume, and when nothing is said about one."""

from __future__ import annotations

import pytest

from doctor.evidences import seen
from doctor.rule_cases import OF_CLAIM, unscheduled
from job_evidence import NOW
from shunter.api.meta import Json
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Missing

NOT_FOUND = '0/2 nodes are available: persistentvolumeclaim "weights" not found. preemption: 0/2 nodes are available.'
UNBOUND = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/2 nodes are available."


def claim(name: str = "weights", phase: str = "Pending", **spec: str) -> Json:
    return {"metadata": {"name": name, "namespace": "n"}, "spec": spec, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("message", "claims", "named"),
    [
        pytest.param(NOT_FOUND, (), ("weights", "does not exist"), id="a claim that does not exist"),
        pytest.param(NOT_FOUND, (claim("other"),), ("weights", "does not exist"), id="another claim exists"),
        pytest.param(UNBOUND, (claim(storageClassName="fast"),), ("weights", "fast", "Pending"), id="a claim without a volume"),
        pytest.param(UNBOUND, (claim(),), ("weights", "Pending"), id="a claim of the default class"),
        pytest.param(UNBOUND, (claim(phase="Lost"),), ("weights", "Lost"), id="a claim whose volume is lost"),
    ],
)
def test_the_claim_is_named_with_what_it_lacks(message: str, claims: tuple[Json, ...], named: tuple[str, ...]) -> None:
    (verdict,) = diagnose(seen(unscheduled(message, spec=OF_CLAIM), claims=claims), NOW).verdicts
    text = " ".join((verdict.cause, *(one.text for one in verdict.evidence)))
    assert (verdict.id, verdict.confidence) == ("K01", "certain")
    assert [word for word in named if word not in text] == []


def test_a_claim_that_exists_by_now_is_not_missing() -> None:
    assert diagnose(seen(unscheduled(NOT_FOUND, spec=OF_CLAIM), claims=(claim(phase="Bound"),)), NOW).verdicts == ()


def test_without_the_right_to_read_claims_a_missing_one_is_only_likely() -> None:
    unread = (Missing(what="persistentvolumeclaims", why="you may not read them in n"),)
    (verdict,) = diagnose(seen(unscheduled(NOT_FOUND, spec=OF_CLAIM), missing=unread), NOW).verdicts
    assert (verdict.id, verdict.confidence) == ("K01", "likely")
