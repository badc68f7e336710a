"""Programs that write their whole environment to a file, whose readers are not seen here, or take a digest or the size of it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.new_variables import only_in_v2
from shunter.migrate.conversion.rules.programs.pod_reads import pod_variables
from shunter.migrate.conversion.rules.programs.texts import Programs, all_programs, first_match, place, quoted
from shunter.migrate.findings import Topic

WRITTEN = Topic(
    id="HOST022",
    title="a program uses its whole environment",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "HOSTNAME and MASTER_ADDR have other values in v2, and v2 sets variables that v1 does not, for example "
        "JOB_COMPLETION_INDEX. A file of all variables contains these too; the programs that read it are not checked. A hash or "
        "a count of the variables differs."
    ),
    remedy="Check the programs that read the file, or use only the variables that they need.",
    explains=("none",),
    limits_proof=True,
)
_LISTS = r"(?:env|printenv|export(?:\s+-p)?|declare\s+-[a-z]*p[a-z]*|set)"
"""Commands that print all variables when they have no arguments."""
_LONGEST_PIPE = 20
"""Commands in a pipe that are looked at: each beginning of a longer one would be read to its end."""
_BEGINS = r"(?:^|(?<=[;&|(\n`{])|\b(?:do|then|else)\s)"
_PIPE = rf"{_BEGINS}[^\S\n]*{_LISTS}\s*(?:\|[^\n;&|>]+){{0,{_LONGEST_PIPE}}}?"
_FILE = r"(?:>>?\s*(?!/dev/(?:null|stdout|stderr)|&)|\|\s*tee\s+)\S"
_ALL = r"os\.environ\b(?!(?:\.copy\(\)|\))?(?:\.(?:get|pop|setdefault)\b|\[))"
"""The environment, of which no single variable is taken."""
_WRITES = rf"\b(?:dumps?|write|writelines|save)\(\s*(?:\w+\.)?(?:dict|str|repr|dumps)?\(?\s*{_ALL}"
_COUNTS = r"\|\s*(?:sha\d*sum|md5sum|b2sum|cksum|sum|wc)\b"
_DIGESTS = r"(?:len|hash|sha\d\w*|md5|blake2[bs]|crc32|adler32|hashlib\.new)"
_KEEPS_ALL = r"(?:(?:\w+\.)?(?:str|repr|dumps|dict|list|tuple|sorted|set|frozenset|bytes)\(\s*)*"
_USES = {
    "writes all variables to a file": late_pattern(rf"{_PIPE}{_FILE}|{_WRITES}", re.MULTILINE),
    "counts all variables, or takes a digest of them": late_pattern(
        rf"{_PIPE}{_COUNTS}|\b{_DIGESTS}\(\s*(?:[\"']\w+[\"'],\s*)?{_KEEPS_ALL}{_ALL}", re.MULTILINE
    ),
}
_GREP = late_pattern(r"\|\s*[ef]?grep\s+(?P<options>(?:-\S+\s+)*)(?P<pattern>\"[^\"]*\"|'[^']*'|\S+)")
_INVERTS = late_pattern(r"(?:^|\s)(?:-[a-zA-Z]*v|--invert-match)")
_INSERTS = late_pattern(r"\$[\w{(]")


def apply(draft: Draft) -> None:
    """Reports each text once for each use."""
    for programs in all_programs(draft):
        for use, pattern in _USES.items():
            for text, spot in programs.texts:
                if first_match(pattern, text) and (match := _of_changed(draft, programs, pattern.finditer(text))):
                    path, offset = place(programs, spot, spot.offset(match.start()))
                    draft.report(WRITTEN, path, f"{quoted(text, match.start(), spot)} {use}.", offset=offset)


def _of_changed(draft: Draft, programs: Programs, uses: Iterable[re.Match[str]]) -> re.Match[str] | None:
    """The first one in which no grep leaves only variables that v2 does not change."""
    changed = [*pod_variables(draft, programs), *only_in_v2(draft, programs)]
    kept_by = ((use, [*_GREP.finditer(use[0])]) for use in uses)
    return next((use for use, greps in kept_by if all(any(_may_pass(name, grep) for name in changed) for grep in greps)), None)


def _may_pass(name: str, grep: re.Match[str]) -> bool:
    pattern = grep["pattern"].strip("\"'").replace("\\|", "|")
    if _INVERTS.search(grep["options"]) or _INSERTS.search(pattern):
        return True
    try:
        return bool(re.search(pattern, f"{name}=", re.IGNORECASE if "i" in grep["options"] else 0))
    except re.error:
        return True
