"""What can be told: ids that are promises, words that are complete, and every trap and gap of the specification among them."""

from __future__ import annotations

import re

import pytest

from shunter.migrate.catalogue import topics
from shunter.migrate.findings import GRADES, Topic

NOT_OF_A_JOB = {
    "T8": "v2 tells only the container that trains: runtimes tell the others as v1 did, so there is nothing to tell the user",
    "T30": "an Indexed Job keeps a pod's host name when it replaces it: nothing to tell, it is what v1 did",
}
"""Traps that no topic tells of, and why."""
SPECIFIED = [*(f"T{number}" for number in range(1, 40)), *(f"NX{number}" for number in range(1, 36))]


@pytest.mark.parametrize("topic", topics().values(), ids=lambda topic: topic.id)
def test_topic_is_complete(topic: Topic) -> None:
    assert re.fullmatch(r"[A-Z]+\d{3}", topic.id)
    assert topic.title
    assert not topic.title.endswith(".")
    assert topic.explanation.endswith((".", ":"))
    assert topic.remedy
    assert topic.grade in GRADES
    assert topic.effort in (0, 1, 3, 5, 7, 13)


@pytest.mark.parametrize("topic", topics().values(), ids=lambda topic: topic.id)
def test_only_what_blocks_needs_to_be_accepted(topic: Topic) -> None:
    assert topic.impact == "blocking" or not topic.acceptable


def test_nothing_that_changes_meaning_is_a_note() -> None:
    notes = [topic for topic in topics().values() if topic.severity == "info"]
    assert [topic.id for topic in notes if topic.change not in ("lossless", "manual") or topic.limits_proof] == []
    of_conversions = [topic for topic in notes if not topic.id.startswith("SCAN")]
    assert [topic.id for topic in of_conversions if topic.change != "lossless" or topic.grade not in ("E", "Q")] == []
    assert [topics()[id].severity for id in ("HOST003", "HOST006", "POD005", "PROFILE001")] == ["warning"] * 4


def test_every_trap_and_gap_of_the_specification_is_told_by_some_topic() -> None:
    told = {trap for topic in topics().values() for trap in topic.traps}
    assert [trap for trap in SPECIFIED if trap not in told] == [*NOT_OF_A_JOB]
