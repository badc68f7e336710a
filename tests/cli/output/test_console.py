"""What is printed is what was meant: whole names where no terminal is, paths as they are, a line that a shell can evaluate."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
import yaml
from rich.table import Table

import shunter.cli
from shunter.api.yaml import readable_yaml
from shunter.cli.clusters import export_line
from shunter.cli.output.console import Output, errors, note, output, print_as, print_table, say
from shunter.cluster.state_dir import StateDir

pytestmark = pytest.mark.integration

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
PRINTING = """
from rich.table import Table
from shunter.cli.output.console import Output, errors, output, print_table
table = Table("NAME", "STATE", box=None)
table.add_row("n" * 300, "e" * 30)
print_table(table)
errors().print("word " * 100)
"""


@pytest.mark.parametrize(
    "environment", [{}, {"COLUMNS": "40"}, {"FORCE_COLOR": "1"}, {"FORCE_COLOR": "1", "COLUMNS": "20"}], ids=str
)
def test_nothing_is_cut_or_folded_where_no_terminal_is(environment: dict[str, str]) -> None:
    given = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR")}
    done = subprocess.run(
        [sys.executable, "-c", PRINTING], env={**given, **environment}, capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in ESCAPES.sub("", done.stdout).splitlines()]
    assert rows == [["NAME", "STATE"], ["n" * 300, "e" * 30]]
    assert done.stderr.splitlines() == ["word " * 100]


def test_a_name_wider_than_the_terminal_goes_on_in_the_next_line() -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    given = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    subprocess.run([sys.executable, "-c", PRINTING], env={**given, "TERM": "xterm"}, stdin=slave, stdout=slave, check=True)
    shown = ESCAPES.sub("", os.read(master, 65536).decode())
    os.close(master)
    os.close(slave)
    assert (shown.count("n"), shown.count("e")) == (300, 30)
    assert max(map(len, shown.splitlines())) <= 40


def test_a_path_that_looks_like_markup_is_told_as_it_is_and_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    path = f"/home/ann/[project]/[/b]/{'long' * 40}"
    say(path)
    assert capsys.readouterr().err == f"{path}\n"


def test_a_note_tells_a_text_that_looks_like_markup_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    note("no permission to read, skipped: jobs [a/b]")
    assert capsys.readouterr().err == "note: no permission to read, skipped: jobs [a/b]\n"


def test_json_and_yaml_hold_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    value = [{"name": "bert", "ranks": 4, "finished": None, "loss": 0.25, "why": "yes"}, {}]
    print_as(value, Output.json)
    as_json = capsys.readouterr().out
    print_as(value, Output.yaml)
    assert json.loads(as_json) == yaml.safe_load(capsys.readouterr().out) == value


LIKE_MARKUP = "pytorchReplicaSpecs[Master] [red]loss[train] [/bin/sh]"


def test_what_looks_like_markup_is_printed_as_it_is_wherever_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    """Also with a style, and in tables: `[Master]` would be left out, and `[/bin/sh]` end with a traceback of rich."""
    output().print(LIKE_MARKUP)
    output().print(LIKE_MARKUP, style="bold")
    table = Table("FIELD", box=None)
    table.add_row(LIKE_MARKUP)
    print_table(table)
    errors().print(LIKE_MARKUP, style="green", soft_wrap=True)
    shown = capsys.readouterr()
    assert [line.strip() for line in shown.out.splitlines()] == [LIKE_MARKUP, LIKE_MARKUP, "FIELD", LIKE_MARKUP]
    assert shown.err == f"{LIKE_MARKUP}\n"


def test_markup_of_rich_is_used_nowhere() -> None:
    """The consoles would print it as it is."""
    package = Path(shunter.cli.__file__).parent
    texts = {path: path.read_text() for path in package.rglob("*.py")}
    assert [str(path) for path, text in texts.items() if re.search(r"rich\.markup|from_markup|\[/[a-z ]*\]", text)] == []


def test_what_looks_like_the_name_of_an_emoji_is_told_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    say("--env-from secret/hub:key: no such key")
    table = Table("label:fire:")
    table.add_row("a:key:b")
    print_table(table)
    shown = capsys.readouterr()
    assert shown.err == "--env-from secret/hub:key: no such key\n"
    assert ("label:fire:" in shown.out, "a:key:b" in shown.out) == (True, True), shown.out


def test_the_line_that_names_the_kubeconfig_is_one_word_for_a_shell() -> None:
    state = StateDir(Path("/home/ann/my state"))
    assert shlex.split(export_line(state)) == ["export", "KUBECONFIG=/home/ann/my state/kubeconfig"]


def test_yaml_shows_a_script_as_a_block_and_reads_back_the_same() -> None:
    shared = {"path": "/data"}
    value = {"command": ["sh", "-c", "trap 'x' TERM\n  cd /x\n"], "mounts": [shared, shared], "words": ["yes", "0755", "é", ""]}
    text = readable_yaml(value)
    assert "- |\n" in text
    assert "&id" not in text
    assert yaml.safe_load(text) == value
