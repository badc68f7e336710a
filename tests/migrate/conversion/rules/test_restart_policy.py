"""restartPolicy and backoffLimit: what happens when a pod fails."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.converted_job import converted

UNLIMITED = 2**31 - 1


@pytest.mark.parametrize(
    ("restart", "limit", "backoff", "told"),
    [
        pytest.param("OnFailure", None, UNLIMITED, [], id="v1 restarts for ever unless it is told otherwise"),
        pytest.param("OnFailure", 0, 0, [], id="no restart"),
        pytest.param("OnFailure", 3, 3, [], id="three restarts"),
        pytest.param("OnFailure", -1, 0, ["RESTART006"], id="a negative limit"),
        pytest.param("Never", None, 0, [], id="Never fails at once"),
        pytest.param("Never", 5, 0, [], id="Never, whatever the limit"),
        pytest.param("Always", None, UNLIMITED, ["RESTART001"], id="Always"),
        pytest.param("Sometimes", None, UNLIMITED, ["RESTART004"], id="a policy that does not exist"),
    ],
)
def test_the_jobs_restart_as_often_as_the_v1_job(restart: str, limit: int | None, backoff: int, told: list[str]) -> None:
    result = converted({} if limit is None else {"backoffLimit": limit}, restart=restart)
    assert {job["backoffLimit"] for job in result.jobs} == {backoff}
    assert sorted({id for id in result.findings if id.startswith("RESTART")}) == told


def test_exit_codes_become_a_policy_that_fails_for_the_permanent_ones_only() -> None:
    result = converted(restart="ExitCode")
    (rule,) = result.jobs[0]["podFailurePolicy"]["rules"]
    assert (rule["action"], rule["onExitCodes"]["operator"]) == ("FailJob", "In")
    assert set(rule["onExitCodes"]["values"]) == set(range(1, 128))
    assert "RESTART005" in result.findings
    assert result.jobs[0]["template"]["spec"]["restartPolicy"] == "Never"
