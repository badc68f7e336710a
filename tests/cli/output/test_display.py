"""A followed job in a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from shunter.cli.output import display
from shunter.operator.pod_places import Member


@pytest.mark.parametrize(
    ("rank", "colour"), [(0, 36), (1, 32), (8, 36), (None, 36)], ids=["the first", "another", "after all colours", "no rank"]
)
def test_a_log_line_begins_with_its_pod_in_the_colour_of_its_rank(
    rank: int | None, colour: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, color_system="standard", highlight=False, emoji=False, width=30)
    monkeypatch.setattr(display, "output", lambda: console)
    display.TerminalDisplay().log(Member("worker", 1, rank), "sidecar", "[bold]loss=[/] is not markup")
    assert screen.getvalue() == f"\x1b[{colour}m[worker-1 sidecar]\x1b[0m [bold]loss=[/] is not markup\n"
