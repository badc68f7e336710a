"""The shell text that starts a program: what wrote it can be read from it again, and another text is no such text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.api.program_start import ProgramStart, read_start

WORDS = st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0")), min_size=1)
STARTS = st.builds(
    ProgramStart,
    st.sampled_from([":", "cd /workspace/code", 'mkdir -p "$A" && cd /b', "python -c 'a\nb && c' && cd /b"]),
    st.dictionaries(st.sampled_from(["RANK", "MASTER_ADDR"]), st.sampled_from(["0", "${A:-b}"])),
    WORDS.map(tuple),
)


@given(STARTS)
def test_what_is_written_can_be_read(start: ProgramStart) -> None:
    assert read_start(start.text) == start


@pytest.mark.parametrize(
    "change",
    [
        ("exit 143", "exit 0"),
        (" || exit", ""),
        ("python train.py", "python $A"),
        ("python train.py", "python 'train.py"),
        ("export RANK", "RANK"),
        ('"$@"', ""),
        ('exit "$code"', 'exit "$code"; reboot'),
    ],
)
def test_another_text_is_not_read(change: tuple[str, str]) -> None:
    text = ProgramStart("cd /b", {"RANK": "1"}, ("python", "train.py")).text
    assert change[0] in text
    assert read_start(text.replace(*change)) is None


def test_the_preparation_is_what_comes_before_the_program() -> None:
    start = ProgramStart("cd /b", {"RANK": "1"}, ("python", "train.py"))
    before, _, _ = start.text.partition("trap 'told")
    assert start.preparation == f"{before}export RANK=1\n"
