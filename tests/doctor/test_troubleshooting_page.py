"""docs/troubleshooting.md: each section begins with a command, and what it shows is what that command says."""

from __future__ import annotations

import re
import textwrap

import pytest

from doctor.troubleshooting import BROKEN, PAGE, rewritten

ISSUES = [
    "NCCL timeout",
    "Ranks that do not match",
    "Out of memory, in the backward pass or elsewhere",
    "Conversion fails",
    "A TrainJob does not deploy",
    "Different results after the move",
    "Slower than before",
]


def test_each_section_begins_with_a_command() -> None:
    sections = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    assert [section.splitlines()[0] for section in sections] == ISSUES
    for section in sections:
        assert section.split("\n")[2].startswith("    $ shunter "), section


@pytest.mark.integration
def test_what_the_page_shows_is_what_the_commands_say() -> None:
    text = PAGE.read_text()
    assert text == rewritten(text), "write it anew: PYTHONPATH=tests .venv/bin/python -m doctor.troubleshooting"
    assert text.count("    $ shunter ") >= 12


def test_the_manifest_that_is_converted_is_the_one_that_is_shown() -> None:
    assert textwrap.indent(BROKEN, "    ") in PAGE.read_text()
