"""Every rule: what it says, of what it stays silent, and what the report says when a source is withheld."""

from __future__ import annotations

import msgspec
import pytest

from doctor.rule_cases import CASES
from doctor.test_corpus import CORPUS, EXPECTED
from job_evidence import NOW
from shunter.api.meta import Json
from shunter.doctor import recording
from shunter.doctor.case import Case
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Evidence, Missing
from shunter.doctor.rules import RULES
from shunter.doctor.rules.rule import Rule

EMPTY: dict[str, Json] = {
    "pods": {"pods": ()},
    "events": {"events": ()},
    "logs": {"logs": ()},
    "nodes": {"nodes": ()},
    "persistentvolumeclaims": {"claims": ()},
    "metrics": {"cpu": {}},
    "networkpolicies": {"policies": ()},
}


def ids(evidence: Evidence, rules: tuple[Rule, ...] = RULES) -> list[str]:
    return [verdict.id for verdict in diagnose(evidence, evidence.at, rules).verdicts]


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_the_rules_say_this_and_nothing_else(case: tuple[Evidence, list[str]]) -> None:
    evidence, expected = case
    assert ids(evidence) == expected


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_that_is_disabled_fails_a_recording(rule: Rule) -> None:
    others = tuple(one for one in RULES if one is not rule)
    recorded = [(recording.read(CORPUS / name), own["verdicts"]) for name, own in EXPECTED.items() if rule.id in own["verdicts"]]
    assert recorded, "record this fault: see CONTRIBUTING.md"
    assert any(ids(evidence, others) != expected for evidence, expected in recorded)


WITHHELD = [
    (name, rule, what)
    for name, (evidence, expected) in CASES.items()
    for rule in RULES
    if rule.id in expected
    for what in rule.needs(Case(evidence, NOW))
]


@pytest.mark.parametrize(
    ("name", "rule", "what"), WITHHELD, ids=[f"{name}, {rule.id} without {what}" for name, rule, what in WITHHELD]
)
def test_a_source_that_is_withheld_is_named_with_the_rule(name: str, rule: Rule, what: str) -> None:
    evidence = CASES[name][0]
    gone = (Missing(what=what, why="you may not read them in n"),)
    before = [one for one in diagnose(evidence, NOW).verdicts if one.id == rule.id]
    report = diagnose(msgspec.structs.replace(evidence, missing=gone, **EMPTY[what]), NOW)
    after = [one for one in report.verdicts if one.id == rule.id]
    named = {id for one in report.not_checked for id in one.rules}
    assert rule.id in named or after == before, f"{rule.id} says another thing without {what}, and the report does not tell"
    assert report.exit_code in (1, 3)


def test_the_table_has_each_rule_once_by_the_name_of_its_module() -> None:
    from shunter.doctor import rules

    found = [module.RULE.id for module in rules.MODULES]
    assert found == [module.__name__.rsplit(".", 1)[1][:3].upper() for module in rules.MODULES]
    assert len(set(found)) == len(found)
