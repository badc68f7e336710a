"""Programs of Workers that look the Master up once: v1 held them back until its name was known, v2 starts all pods at once."""

from __future__ import annotations

import re

from shunter.api.training.pytorch import KIND, MASTER
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.launch.pod_reads import words_and_texts
from shunter.migrate.conversion.rules.programs.texts import all_programs, place, quoted
from shunter.migrate.findings import Topic

ONCE = Topic(
    id="HOST020",
    title="a program looks up the Master before it may be known",
    severity="warning",
    impact="advisory",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 gave each Worker an init container that waits until the Master's name resolves. v2 starts all pods at once, and "
        "frameworks ask again until the name is there. A program that asks once, and for an address, may be too early: it "
        "fails, and whether it is started again is up to the restart policy."
    ),
    remedy="Have the program ask until it gets an answer, or leave MASTER_ADDR to the framework as it is.",
    effort=1,
    explains=("none",),
    limits_proof=True,
)
_LOOK_UP = re.compile(
    r"(?:\b(?:gethostbyname(?:_ex)?|getaddrinfo)\([^\n]*|"
    r"\b(?:getent\s+a?hosts|nslookup|dig|host|ping)\s[^\n|;&]*)MASTER_ADDR\b"
)
"""What asks for the name. That the Master listens was not certain in v1 either."""
_ASKS_AGAIN = re.compile(r"\b(?:while|until|for|try|retry|retrying|tenacity|backoff|Retry)\b")


def apply(draft: Draft) -> None:
    """Tells of each text once."""
    if draft.kind != KIND.resource.kind:
        return
    for programs in all_programs(draft):
        if programs.field != "containers" or {*programs.roles} == {MASTER}:
            continue
        for text, spot in words_and_texts(programs.container, programs.volumes, draft.texts_of):
            match = _LOOK_UP.search(text)
            if match and not _ASKS_AGAIN.search(text):
                path, offset = place(programs, spot, spot.offset(match.start()))
                says = f"{quoted(text, match.start(), spot)} asks for the Master's address once."
                draft.report(ONCE, path, says, offset=offset)
