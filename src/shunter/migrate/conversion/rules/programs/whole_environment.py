"""Programs that write their whole environment to a file, whose readers are not seen here, or take a digest or the size of it."""

from __future__ import annotations

import re

from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.texts import all_programs, matches
from shunter.migrate.findings import Topic

WRITTEN = Topic(
    id="HOST022",
    title="a program uses its whole environment",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "HOSTNAME and MASTER_ADDR have other values in v2, and v2 sets variables that v1 does not, JOB_COMPLETION_INDEX for one. "
        "What reads a file of them gets those, and is not looked into; a digest of them, or their number, is another one."
    ),
    remedy="Look what reads the file, or use only the variables that it needs.",
    explains=("none",),
    limits_proof=True,
)
_LISTS = r"(?:env|printenv|export(?:\s+-p)?|declare\s+-[a-z]*p[a-z]*|set)"
"""Commands that print all variables when they have no arguments."""
_BEGINS = r"(?:^|(?<=[;&|(\n`{])|\b(?:do|then|else)\s)"
_FILE = r"(?:>>?\s*(?!/dev/(?:null|stdout|stderr)|&)|\|\s*tee\s+)\S"
_BY_SHELL = rf"{_BEGINS}\s*{_LISTS}\s*(?:\|[^\n;&|>]+)*?{_FILE}"
_BY_PYTHON = r"\b(?:dumps?|write|writelines|save)\(\s*(?:\w+\.)?(?:dict|str|repr|dumps)?\(?\s*os\.environ\b(?!\.get|\[)"
_COUNTS = r"(?:sha\d*sum|md5sum|b2sum|cksum|sum|wc)\b"
_COUNTED = rf"{_BEGINS}\s*{_LISTS}\s*(?:\|[^\n;&|>]+)*?\|\s*{_COUNTS}|\b(?:len|hash)\(\s*(?:\w+\()?\s*os\.environ\b(?!\.get|\[)"
_USES = {
    "writes all variables to a file": re.compile(f"{_BY_SHELL}|{_BY_PYTHON}", re.MULTILINE),
    "counts all variables, or takes a digest of them": re.compile(_COUNTED, re.MULTILINE),
}


def apply(draft: Draft) -> None:
    """Tells of each text once for each use."""
    for programs in all_programs(draft):
        for use, pattern in _USES.items():
            for found in matches(draft, programs, pattern):
                draft.report(WRITTEN, found.path, f"{found.line} {use}.", offset=found.offset)
