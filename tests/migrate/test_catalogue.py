"""The catalogue of findings: ids that are promises, complete texts, and a finding for every known difference of v1 and v2."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from shunter.migrate.catalogue import modules, topics
from shunter.migrate.findings import GRADES, Topic

KNOWN_DIFFERENCES = yaml.load(Path(__file__).with_name("known_differences.yaml").read_text(), yaml.CSafeLoader)


@pytest.mark.parametrize("topic", topics().values(), ids=lambda topic: topic.id)
def test_topic_is_complete(topic: Topic) -> None:
    assert re.fullmatch(r"[A-Z]+\d{3}", topic.id)
    assert topic.title
    assert not topic.title.endswith(".")
    assert topic.explanation.endswith((".", ":"))
    assert topic.remedy
    assert topic.grade in GRADES
    assert topic.effort in (0, 1, 3, 5, 7, 13)


def test_the_module_of_every_topic_is_known() -> None:
    assert modules().keys() == topics().keys()
    assert modules()["TTL001"] == ("shunter.migrate.conversion.rules.clean_pod_policy",)


def test_a_module_that_only_defines_topics_reports_none() -> None:
    assert modules()["MPI001"] == ("shunter.migrate.conversion.kinds.mpi_findings",)
    assert modules()["TORCH010"] == ("shunter.migrate.conversion.rules.pytorch.processes",)
    assert modules()["PROOF015"] == ("shunter.migrate.proof.stages.server",)
    assert modules()["READY007"] == ("shunter.migrate.moving.readiness.checks.permissions",)
    assert [id for id, found in modules().items() if any(module.endswith("topics") for module in found)] == []


@pytest.mark.parametrize("topic", topics().values(), ids=lambda topic: topic.id)
def test_only_what_blocks_needs_to_be_accepted(topic: Topic) -> None:
    assert topic.impact == "blocking" or not topic.acceptable


def test_nothing_that_changes_meaning_is_a_note() -> None:
    notes = [topic for topic in topics().values() if topic.severity == "info"]
    assert [topic.id for topic in notes if topic.change not in ("lossless", "manual") or topic.limits_proof] == []
    of_conversions = [topic for topic in notes if not topic.id.startswith("SCAN")]
    assert [topic.id for topic in of_conversions if topic.change != "lossless" or topic.grade not in ("E", "Q")] == []
    assert [topics()[id].severity for id in ("HOST003", "HOST006", "POD005", "PROFILE001")] == ["warning"] * 4


@pytest.mark.parametrize("known", KNOWN_DIFFERENCES, ids=lambda known: known["difference"])
def test_every_known_difference_between_v1_and_v2_is_reported_by_a_finding(known: dict[str, Any]) -> None:
    assert known["findings"]
    assert [id for id in known["findings"] if id not in topics()] == []
