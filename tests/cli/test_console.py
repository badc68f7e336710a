"""What is printed is what was meant: whole names where no terminal is, paths as they are, a line that a shell can evaluate."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from rich.table import Table

from shunter.cli.clusters import export_line
from shunter.cli.console import print_table, say
from shunter.cluster.state_dir import StateDir


def test_a_name_in_a_table_is_whole_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(box=None)
    table.add_column("NAME")
    table.add_row("n" * 300)
    print_table(table)
    assert capsys.readouterr().out.split() == ["NAME", "n" * 300]


def test_a_path_that_looks_like_markup_is_told_as_it_is_and_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    path = f"/home/ann/[project]/[/b]/{'long' * 40}"
    say(path)
    assert capsys.readouterr().err == f"{path}\n"


def test_the_line_that_names_the_kubeconfig_is_one_word_for_a_shell() -> None:
    state = StateDir(Path("/home/ann/my state"))
    assert shlex.split(export_line(state)) == ["export", "KUBECONFIG=/home/ann/my state/kubeconfig"]
