"""How long ago something was, in the largest unit that says enough."""

from datetime import UTC, datetime, timedelta

import pytest

from shunter.jobs.ages import age

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (119, "119s"), (120, "2m"), (7199, "119m"), (7200, "2h"), (200_000, "2d"), (-5, "0s")],
)
def test_ages_are_shown_in_the_largest_telling_unit(seconds: int, text: str) -> None:
    assert age(NOW, NOW + timedelta(seconds=seconds)) == text
