"""Recorded faults: each folder of corpus/ is what `shunter doctor --record` wrote of a live job, and what it must say of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from shunter.doctor import recording
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.rules import RULES
from shunter.doctor.verdicts import Report

CORPUS = Path(__file__).parent / "corpus"
CASES = sorted(path.parent.name for path in CORPUS.glob("*/expected.yaml"))
EXPECTED: dict[str, Any] = {name: yaml.load((CORPUS / name / "expected.yaml").read_text(), yaml.CSafeLoader) for name in CASES}


def report(name: str) -> Report:
    evidence = recording.read(CORPUS / name)
    return diagnose(evidence, evidence.at)


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_fault_is_named(name: str) -> None:
    found, expected = report(name), EXPECTED[name]
    assert [verdict.id for verdict in found.verdicts] == expected["verdicts"]
    assert found.exit_code == expected["exit"]
    if found.verdicts:
        first = found.verdicts[0]
        assert (first.confidence, list(first.ranks), list(first.victims)) == (
            expected["confidence"],
            expected["ranks"],
            expected.get("victims", []),
        )
        assert expected["cause"] in first.cause


@pytest.mark.parametrize("name", ["wrong-size", "never-joins"])
@pytest.mark.parametrize("state", ["R", "D"])
@pytest.mark.parametrize("number", [0, 1])
def test_of_ranks_that_wrote_nothing_one_that_runs_or_reads_a_disk_waits_for_nobody(name: str, state: str, number: int) -> None:
    """A healthy job that took half a minute to start on a busy machine was said to wait in its rendezvous."""
    evidence = recording.read(CORPUS / name)
    samples = list(evidence.samples)
    waits = next(one for one in samples[number].processes if one.rank == 2)
    others = tuple(one for one in samples[number].processes if one is not waits)
    busy = msgspec.structs.replace(waits, state=state)
    samples[number] = msgspec.structs.replace(samples[number], processes=(*others, busy))
    assert diagnose(msgspec.structs.replace(evidence, samples=tuple(samples)), evidence.at).verdicts == ()


def test_rules_over_recorded_evidence_take_no_long_time() -> None:
    for name in CASES:
        evidence = recording.read(CORPUS / name)
        begun = time.process_time()
        diagnose(evidence, evidence.at)
        assert time.process_time() - begun < 0.1, f"{name}: 50 ms, on a machine that has nothing else to do"


def test_the_corpus_has_stacks_for_all_rules_about_them() -> None:
    told = {id for expected in EXPECTED.values() for id in expected["verdicts"]}
    assert {rule.id for rule in RULES if rule.id.startswith(("H", "S01"))} <= told
