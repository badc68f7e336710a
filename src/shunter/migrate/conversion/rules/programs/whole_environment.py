"""Programs that write their whole environment to a file: what reads the file is not seen here."""

from __future__ import annotations

import re

from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.texts import all_programs, matches
from shunter.migrate.findings import Topic

WRITTEN = Topic(
    id="HOST022",
    title="a program writes its whole environment to a file",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "HOSTNAME and MASTER_ADDR have other values in v2, and v2 sets variables that v1 does not, JOB_COMPLETION_INDEX for one. "
        "What reads the file gets them, and is not looked into."
    ),
    remedy="Look what reads the file, or write only the variables that it needs.",
    explains=("none",),
    limits_proof=True,
)
_LISTS = r"(?:env|printenv|export(?:\s+-p)?|declare\s+-[a-z]*p[a-z]*|set)"
"""Commands that print all variables when they have no arguments."""
_BEGINS = r"(?:^|(?<=[;&|(\n`{])|\b(?:do|then|else)\s)"
_FILE = r"(?:>>?\s*(?!/dev/(?:null|stdout|stderr)|&)|\|\s*tee\s+)\S"
_BY_SHELL = rf"{_BEGINS}\s*{_LISTS}\s*(?:\|[^\n;&|>]+)*?{_FILE}"
_BY_PYTHON = r"\b(?:dumps?|write|writelines|save)\(\s*(?:\w+\.)?(?:dict|str|repr|dumps)?\(?\s*os\.environ\b(?!\.get|\[)"
_PATTERN = re.compile(f"{_BY_SHELL}|{_BY_PYTHON}", re.MULTILINE)


def apply(draft: Draft) -> None:
    """Tells of each text once."""
    for programs in all_programs(draft):
        for found in matches(draft, programs, _PATTERN):
            draft.report(WRITTEN, found.path, f"{found.line} writes all variables to a file.", offset=found.offset)
