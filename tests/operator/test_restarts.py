"""How often a group was restarted, in numbers and words."""

from typing import Any

import pytest

from shunter.operator.restarts import Restarts, is_jobset_of, restarts

OWNER = [{"uid": "u", "controller": True}]


def jobset(policy: Any, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "j", "ownerReferences": OWNER}, "spec": {"failurePolicy": policy}, "status": status}


@pytest.mark.parametrize(
    ("status", "short", "text"),
    [
        ({"restarts": 1, "restartsCountTowardsMax": 1}, "1/3", "1 of 3 used"),
        ({"restarts": 1}, "0/3", "0 of 3 used, and 1 that does not count"),
        ({"restarts": 4, "restartsCountTowardsMax": 2}, "2/3", "2 of 3 used, and 2 that do not count"),
    ],
    ids=["a failure", "a disruption, which JobSet leaves out of the other counter", "both"],
)
def test_failures_and_disruptions_are_told_apart(status: dict[str, Any], short: str, text: str) -> None:
    counts = restarts(jobset({"maxRestarts": 3}, **status))
    assert counts is not None
    assert (counts.short, str(counts)) == (short, text)


def test_nothing_is_said_of_a_jobset_that_was_not_restarted_or_never_is() -> None:
    assert restarts(jobset({"maxRestarts": 3}, restarts=0)) is None
    assert restarts(jobset({"maxRestarts": 3})) is None
    assert restarts(jobset(None, restarts=1)) is None
    assert restarts({"metadata": {"name": "j"}}) is None


def test_a_policy_without_a_number_allows_no_restart_that_counts() -> None:
    assert restarts(jobset({"rules": []}, restarts=1)) == Restarts(made=1, used=0, most=0)


def test_a_jobset_of_an_earlier_job_of_the_name_is_not_its_own() -> None:
    assert is_jobset_of({"metadata": {"uid": "u"}}, jobset(None))
    assert not is_jobset_of({"metadata": {"uid": "later"}}, jobset(None))
    assert not is_jobset_of({"metadata": {}}, {"metadata": {"ownerReferences": [{"uid": "u"}]}})
