"""Texts of thousands of equal parts are read as one of them is, each part once."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from migrate.conversion.rules.test_indirect_reads import converted, python, shell
from shunter.jobs.commands.shell_words import matching
from shunter.migrate.conversion.commands import shell_programs
from shunter.migrate.conversion.commands.reads import TextLines
from shunter.migrate.conversion.rules import programs
from shunter.migrate.conversion.rules.programs import built_names, container_names, ports_of_v1

UNREAD = {"HOST027"}
"""Told of what is nested too deep to be read."""


@pytest.mark.parametrize(
    ("part", "told"),
    [
        pytest.param("\n", set(), id="empty lines"),
        pytest.param("$(", UNREAD, id="substitutions that are never closed"),
        pytest.param("$((", UNREAD, id="arithmetic that is never closed"),
        pytest.param("${x:-", UNREAD, id="parameters that are never closed"),
        pytest.param("x=1\n", set(), id="assignments"),
        pytest.param("cd a\n", set(), id="directories within directories"),
        pytest.param("env|", set(), id="a pipe"),
        pytest.param("cat < /etc/issue\n", set(), id="redirections"),
        pytest.param("echo $HOSTNAME ", {"HOST010"}, id="the host name in one line"),
        pytest.param("kubectl get pods; ", {"HOST012"}, id="requests in one line"),
        pytest.param("bert-worker-0 ", {"HOST003"}, id="names of pods in one line"),
        pytest.param("kubectl logs bert-worker-0; ping bert-worker-0; ", {"HOST003", "HOST015"}, id="both"),
    ],
)
def test_a_thousand_parts_are_told_of_as_one_is(part: str, told: set[str]) -> None:
    of_one, of_many = ({one.topic.id for one in converted(shell(part * count)).findings} for count in (1, 1500))
    assert told <= of_one | UNREAD
    assert {name for name in of_many if name.startswith("HOST")} == told


@pytest.mark.parametrize(
    ("text", "behind"),
    [
        ("(a (b) (c))d", "d"),
        ("(a ')' b)d", "d"),
        ('(a ")" b)d', "d"),
        ("(a \\) b)d", "d"),
        ("(a (b)", ""),
        ("(((((", ""),
    ],
    ids=["brackets within", "an apostrophe", "quotes", "an escape", "open", "open within open"],
)
def test_a_bracket_closes_where_those_within_it_are_closed(text: str, behind: str) -> None:
    assert text[matching(text, 0, len(text)) :] == behind
    assert matching(text, 0, 2) == 2, "what ends before it is open"


def test_a_quote_may_hold_the_brackets_of_another_one() -> None:
    text = '$(a "$(b ")" c) d") e'
    ends = [matching(text, place, len(text)) for place, character in enumerate(text) if character == "("]
    assert [text[:end] for end in ends] == ['$(a "$(b ")', '$(a "$(b ")" c)']


def test_places_of_a_line_share_one_text() -> None:
    lines = TextLines("one two\nthree\n")
    assert lines.around(0, 3) is lines.around(4, 7)
    assert [lines.around(8, 9), lines.around(4, 9), lines.around(14, 14)] == ["three", "one two\nthree", ""]


def calls(of: Callable[[], object]) -> int:
    """How many functions are called to do it, those of C among them."""
    count = 0

    def counted(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        of()
    finally:
        sys.setprofile(before)
    return count


def repeated(part: str, length: int) -> str:
    return "".join(part.replace("<i>", str(number)) for number in range(length // len(part)))


SHELL_PARTS = (
    "a(){ ", "function a { ", "a() { hostname; }\na\n", "eval ", 'eval "', "eval $x ", "x=$x$x\n", "$(",
    '"$(', '${x:-"', "`", "\\`", '"', "'", "case $x in a) ", "if a; then ", "[[ ", "cat <<E\n", "cat <<E\nE\n", "((", "{ ", "a=(",
    "<(", 'sh -c "', "sudo ", ". a\n", "$@ ", "x=$(hostname)\n", "hostname | ", "hostname > a;cat a\n",
    "dig a |", "nslookup $V<i>\n", "V<i>=a;nslookup $V<i>\n",
)  # fmt: skip
PYTHON_PARTS = (
    "h = h + socket.gethostname()\n", "x = f'{x}{x}'\n", "cmd.append(cmd)\n", "cmd = [*cmd, *cmd]\n", "[", "f(", "'a' + ",
    "def f(a):\n  return f(a)\n", "h.split('-') + ", "os.system('hostname')\n", "if h:\n  x = h\n", "os.environ['RANK']\n",
    "x<i> = socket.getaddrinfo(h<i>, 1)\n",
)  # fmt: skip
"""`<i>` is the number of the part."""
MOST_WORK = 2.35
"""How many times the work a text of twice the length may take, without the work for a text of no parts. It is four times as much
where each part looks at all others."""


@pytest.mark.parametrize(
    ("part", "program"),
    [*((part, shell) for part in SHELL_PARTS), *((part, python) for part in PYTHON_PARTS)],
    ids=lambda value: repr(value) if isinstance(value, str) else value.__name__,
)
def test_a_text_of_twice_the_length_takes_twice_the_work(part: str, program: Callable[[str], list[str]]) -> None:
    none, few, once, twice = (program("import os, socket\n" + repeated(part, length)) for length in (0, 500, 1_000, 2_000))
    converted(few)  # what is done once a process is done now
    of_none, of_once, of_twice = (calls(partial(converted, text)) for text in (none, once, twice))
    assert of_twice - of_none < MOST_WORK * max(of_once - of_none, 1)


@pytest.mark.parametrize("part", ["for h in $(", "for h in $(a; ", "for h in $(a\n", "for h in $(a b"])
def test_loops_over_substitutions_within_each_other_are_read_in_time(part: str) -> None:
    few, many = (shell(part * count + "hostname" + "); do a; done" * count) for count in (5, 10))
    assert calls(lambda: converted(many)) < 4 * calls(lambda: converted(few))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x=a\n" + "x=$x$x\n" * 60, id="a word that doubles"),
        pytest.param('x="a$x b"; echo $x\n' * 2_000, id="a text that grows"),
        pytest.param("eval " * 5 + "hostname", id="texts of eval within each other"),
        pytest.param("echo " + "$(" * 20 + "hostname" + ")" * 20, id="substitutions within each other"),
        pytest.param("echo " + '"${x:-' * 20 + "$HOSTNAME" + '}"' * 20, id="defaults within each other"),
    ],
)
def test_what_is_not_looked_into_is_told_of(text: str) -> None:
    found = [one for one in converted(shell(text)).findings if one.topic.id == "HOST027"]
    assert len(found) == 1


def test_what_is_not_looked_into_is_told_of_where_a_launcher_starts_it() -> None:
    text = "echo " + "$(" * 20 + "hostname" + ")" * 20
    found = [one for one in converted(["torchrun", "--no-python", "bash", "-c", text]).findings if one.topic.id == "HOST027"]
    assert [one.path[-2:] for one in found] == [("command", 4)]


def test_the_text_is_named_that_is_nested_too_deep() -> None:
    text = "bash -c 'echo 1'; " + "eval " * 5 + "hostname; torchrun train.py"
    found = [one.message for one in converted(shell(text)).findings if one.topic.id == "HOST027"]
    assert len(found) == 1
    assert "eval eval" in found[0]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("echo " + "A" * 210_000 + " | base64 -d > x\n", id="one long word"),
        pytest.param("cat <<E > x\n" + "line\n" * 80_000 + "E\n", id="a long here-document"),
        pytest.param('LOG="$LOG line"\n' * 300, id="a variable that gets longer"),
    ],
)
def test_a_long_text_is_read_to_its_end(before: str) -> None:
    long, short = (converted(shell(text + "torchrun --nnodes 3 train.py")) for text in (before, ""))
    assert {one.topic.id for one in long.findings} == {one.topic.id for one in short.findings}


@pytest.mark.slow
def test_a_text_that_launchers_start_again_and_again_is_limited() -> None:
    text = "cat <<E > /f\n" + "echo a\n" * 3_000 + "E\n" + "torchrun --no-python bash /f\n" * 30
    assert "HOST027" in {one.topic.id for one in converted(shell(text)).findings}


def test_functions_within_functions_are_read() -> None:
    text = "f0() { f1() { f2() { f3() { f4() { hostname; }; }; }; }; }; R=$(f4 | grep -o '[0-9]*$'); python train.py --rank $R"
    assert "HOST009" in {one.topic.id for one in converted(shell(text)).findings}


def test_nested_texts_that_people_write_are_read() -> None:
    text = 'x="$(dirname "$(readlink -f "${0:-$(pwd)}")")"; a() { b() { c() { eval "echo $x"; }; c; }; b; }; a'
    assert "HOST027" not in {one.topic.id for one in converted(shell(text)).findings}


CLASS = re.compile(r"\[(?!\^|\\s\\S\])(?:\\.|[^\]\\\n])*\]")
UNBOUNDED = re.compile(r"(?:\[\^(?:\\.|[^\]\\\n])*\]|\[\\s\\S\]|(?<!\\)\.)[*+]\?")
"""In a pattern: anything to the next match of what follows, however far that is."""


def unbounded(source: str) -> list[str]:
    return UNBOUNDED.findall(CLASS.sub("", source))


@pytest.mark.parametrize("module", sorted(Path(programs.__path__[0]).glob("*.py")), ids=lambda module: str(module.stem))
def test_no_pattern_reads_on_for_ever(module: Path) -> None:
    """Such a pattern reads the rest of a line again at each place where it may begin: a call that no count of calls sees."""
    assert unbounded(module.read_text()) == []


def test_unbounded_patterns_are_recognised() -> None:
    assert unbounded(r"\|[^\n]*?x .*?x .+?x [\s\S]*?x [^\]]+?x") == ["[^\\n]*?", ".*?", ".+?", "[\\s\\S]*?", "[^\\]]+?"]
    assert unbounded(r"[^\n]{0,400}?x [^\n]*x \.*?x") == []


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(ports_of_v1._pattern(23456).pattern, id="a port"),
        pytest.param(ports_of_v1._RANGE.pattern, id="a range"),
        pytest.param(ports_of_v1._SUM.pattern, id="a sum"),
        pytest.param(built_names._pattern("bert", "master|worker"), id="a built name"),
        pytest.param(container_names._container_pattern("pytorch").pattern, id="a container"),
        pytest.param(container_names._log_pattern("bert", "master|worker"), id="a log"),
        pytest.param(container_names._OF_ANY_CONTAINER.pattern, id="any container"),
        pytest.param(shell_programs._REVERSE.pattern, id="the name of an address"),
        pytest.param(shell_programs._ADDS.pattern, id="a line of /etc/hosts"),
    ],
)
def test_what_lies_between_two_words_has_an_end(pattern: str) -> None:
    """A line may be a whole program in a few megabytes."""
    assert re.findall(r"(?:\[\^[^]]*\]|\[\\s\\S\])[*+]", pattern) == []
