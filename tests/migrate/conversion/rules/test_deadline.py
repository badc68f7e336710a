"""runPolicy.activeDeadlineSeconds."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.converted_job import converted


@pytest.mark.parametrize(
    ("seconds", "carried", "told"),
    [
        pytest.param(None, None, [], id="none"),
        pytest.param(1, 1, ["DEADLINE002"], id="a second"),
        pytest.param(2**31, 2**31, ["DEADLINE002"], id="more than 32 bits"),
        pytest.param(0, None, ["DEADLINE001"], id="one that has passed before the job starts"),
        pytest.param(-5, None, ["DEADLINE001"], id="a negative one"),
    ],
)
def test_a_deadline_is_the_trainjobs_where_it_may_be_one(seconds: int | None, carried: int | None, told: list[str]) -> None:
    result = converted({"activeDeadlineSeconds": seconds})
    assert (result.train_job.get("activeDeadlineSeconds"), result.findings) == (carried, told)
    assert all("activeDeadlineSeconds" not in job for job in result.jobs)
