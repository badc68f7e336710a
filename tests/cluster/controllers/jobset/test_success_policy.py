"""When a JobSet has succeeded."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from cluster.controllers.jobset.stored_jobs import job, jobset
from shunter.api.jobset import SuccessPolicy
from shunter.cluster.controllers.jobset.children import Children
from shunter.cluster.controllers.jobset.progress import Progress
from shunter.cluster.controllers.jobset.success_policy import completed, is_met

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("policy", "ended", "met"),
    [
        pytest.param(None, [], False, id="none yet"),
        pytest.param(None, ["a", "a"], False, id="all but one"),
        pytest.param(None, ["a", "a", "b"], True, id="all"),
        pytest.param(SuccessPolicy("Any"), ["b"], True, id="any: one of all"),
        pytest.param(SuccessPolicy("Any", ("b",)), ["a", "a"], False, id="any of b: those of a do not count"),
        pytest.param(SuccessPolicy("Any", ("b",)), ["b"], True, id="any of b: one of b"),
        pytest.param(SuccessPolicy("All", ("a",)), ["a", "b"], False, id="all of a: one of a"),
        pytest.param(SuccessPolicy("All", ("a",)), ["a", "a"], True, id="all of a, without b"),
    ],
)
def test_a_jobset_has_succeeded_when_enough_of_its_targets_have(
    policy: SuccessPolicy | None, ended: list[str], *, met: bool
) -> None:
    of = jobset(a=2, b=1)
    of = msgspec.structs.replace(of, spec=msgspec.structs.replace(of.spec, success_policy=policy))
    jobs = [job(f"j{number}", name, ends="Complete") for number, name in enumerate(ended)] + [job("running")]
    assert is_met(of, Children.of(of, jobs)) is met


def test_a_jobset_without_jobs_has_not_succeeded() -> None:
    assert not is_met(jobset(), Children.of(jobset(), []))
    assert not is_met(jobset(a=0), Children.of(jobset(a=0), []))


def test_a_jobset_that_restarted_restarts_no_more_once_it_has_succeeded() -> None:
    restarting = Progress.of(jobset(a=1), NOW).condition("RestartingJobSet", True, "R", "m")
    done = completed(restarting)
    assert [(one.type, one.status) for one in done.status.conditions] == [("RestartingJobSet", "False"), ("Completed", "True")]
    assert done.status.terminal_state == "Completed"
    assert [one.type for one in completed(Progress.of(jobset(a=1), NOW)).status.conditions] == ["Completed"]
