"""Columns that several kinds share: durations, selectors."""

from __future__ import annotations

import pytest

from shunter.cluster.apiserver.printers.columns import format_selector, human_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 120, "3h2m"),
        (8 * 3600 + 120, "8h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (49 * 3600, "2d1h"),
        (8 * 86400, "8d"),
        (500 * 86400, "500d"),
        (800 * 86400, "2y70d"),
        (3000 * 86400, "8y"),
    ],
)
def test_durations_read_as_in_kubectl(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


def test_selectors_are_shown_in_their_own_notation() -> None:
    selector = {
        "matchLabels": {"b": "2", "a": "1"},
        "matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["q", "p"]}, {"key": "y", "operator": "Exists"}],
    }
    assert format_selector(selector) == "a=1,b=2,x notin (p,q),y"
