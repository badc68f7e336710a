"""`migration.yaml` and `--accept`: what is suppressed, and what is said of the file itself."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.migrate.catalogue import topics
from shunter.migrate.conversion import suppression
from shunter.migrate.conversion.batch import Batch, converted
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options

TODAY = date(2026, 11, 21)


def job(name: str, namespace: str = "team-a", restart_policy: str = "Always") -> SourceObject:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "trainer:1", "command": ["torchrun", "train.py"]}]}}
    spec = {"pytorchReplicaSpecs": {"Master": {"restartPolicy": restart_policy, "template": template}}}
    metadata = {"name": name, "namespace": namespace}
    return SourceObject({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": spec}, "cluster")


def batch(*jobs: SourceObject) -> Batch:
    return converted(jobs, Options())


def entries(text: str) -> tuple[suppression.Entry, ...]:
    return suppression.parsed(f"suppressions:\n{text}", "migration.yaml")


def test_a_finding_that_is_taken_on_blocks_no_more_and_says_why() -> None:
    applied = suppression.applied(batch(job("bert")), entries("- {id: RESTART001, reason: it loops by itself}"), TODAY)
    outcome = applied.batch.outcomes[0]
    assert not outcome.is_blocked
    assert outcome.conversion is not None
    assert not outcome.conversion.is_blocked
    assert [finding.suppressed for finding in outcome.findings if finding.topic.id == "RESTART001"] == ["it loops by itself"]
    assert applied.faults == []


@pytest.mark.parametrize(
    ("globs", "blocked"),
    [
        ("kind: PyTorchJob", []),
        ("kind: TFJob", ["bert", "gpt"]),
        ("name: b*", ["gpt"]),
        ("namespace: team-?", []),
        ("namespace: team-b", ["bert", "gpt"]),
        ("field: spec.pytorchReplicaSpecs.*.restartPolicy", []),
        ("field: spec.runPolicy.*", ["bert", "gpt"]),
        ("name: '[a-c]*'", ["gpt"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_globs_choose_the_findings(globs: str, blocked: list[str]) -> None:
    chosen = entries(f"- {{id: RESTART001, reason: known, {globs}}}")
    outcomes = suppression.applied(batch(job("bert"), job("gpt")), chosen, TODAY).batch.outcomes
    assert [outcome.source.name for outcome in outcomes if outcome.is_blocked] == blocked


@pytest.mark.parametrize(
    ("entry", "told", "remedy"),
    [
        ("{id: RESTART001, name: gone, reason: r}", "SUPPRESS001", "Remove it"),
        ("{id: RESTART001, reason: r, expires: 2026-11-21}", "SUPPRESS002", "a new date"),
        ("{id: RESTART01, reason: r}", "SUPPRESS003", "Did you mean RESTART001"),
        ("{id: INPUT001, reason: r}", "SUPPRESS004", "Follow the remedy of the finding"),
    ],
    ids=["unused", "expired", "unknown id", "cannot be suppressed"],
)
def test_an_entry_that_does_nothing_is_told_with_its_line(entry: str, told: str, remedy: str) -> None:
    applied = suppression.applied(batch(job("bert")), entries(f"- {entry}"), TODAY)
    assert [(fault.topic.id, str(fault.place)) for fault in applied.faults] == [(told, "migration.yaml:2:3")]
    assert remedy in applied.faults[0].advice
    assert applied.batch.is_blocked


@pytest.mark.parametrize("id", ["SCAN016", "HELM002", "KUSTOMIZE006", "PROOF001", "INPUT016"])
def test_what_other_verbs_tell_is_not_unneeded(id: str) -> None:
    assert id in topics()
    assert suppression.applied(batch(job("bert")), entries(f"- {{id: {id}, reason: r}}"), TODAY).faults == []


def test_an_entry_holds_until_the_day_it_names() -> None:
    until_tomorrow = entries("- {id: RESTART001, reason: r, expires: 2026-11-22}")
    assert suppression.applied(batch(job("bert")), until_tomorrow, TODAY).faults == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("suppressions:\n- {id: RESTART001}", "missing required field `reason`"),
        ("suppressions:\n- {id: RESTART001, reason: ' '}", "migration.yaml:2:3: the suppression of RESTART001 gives no reason"),
        ("suppressions:\n- {id: RESTART001, reason: r, until: 2027-01-01}", "unknown field `until`"),
        ("suppressions:\n- {id: RESTART001, reason: r, expires: soon}", "Invalid RFC3339"),
        ("suppress: []", "unknown field `suppress`"),
        ("suppressions: [", "migration.yaml:.*not valid YAML"),
        ("- a", "Expected `object`"),
    ],
    ids=["no reason", "an empty reason", "an unknown field", "no date", "another key", "not YAML", "a list"],
)
def test_a_file_that_is_not_as_it_should_be_is_refused(text: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        suppression.parsed(text, "migration.yaml")


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml: no such file\. Name an existing file"):
        suppression.read(tmp_path / "none.yaml")
    with pytest.raises(InputError, match=r": cannot be read: Is a directory\."):
        suppression.read(tmp_path)


def test_an_empty_file_takes_nothing_on(tmp_path: Path) -> None:
    path = tmp_path / "migration.yaml"
    path.write_text("# nothing yet\n")
    assert suppression.read(path) == ()


def test_accepted_ids_may_be_listed_or_repeated() -> None:
    assert suppression.accepted(["RESTART001,FIELD001", "RESTART001"]) == ("RESTART001", "FIELD001")


@pytest.mark.parametrize(
    ("id", "named"),
    [
        ("RESTART01", "unknown finding id.*RESTART001"),
        ("INPUT001", "cannot be suppressed"),
        ("RESTART002", "nothing to suppress"),
    ],
    ids=["unknown", "not acceptable", "not blocking"],
)
def test_an_id_that_cannot_be_accepted_is_refused(id: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        suppression.accepted([id])


@pytest.mark.parametrize(
    ("glob", "is_used"),
    [
        ("spec.pytorchReplicaSpecs.Master.template.spec.containers[0].command[0]", True),
        ("spec.*.containers[*].command[0]", True),
        ("spec.*.containers[1].command[0]", False),
    ],
    ids=["the field of a report", "a glob in brackets", "another container"],
)
def test_a_field_is_chosen_as_a_report_shows_it(glob: str, is_used: bool) -> None:
    given = batch(job("bert"))
    assert "TORCH011" in {finding.topic.id for finding in given.findings}
    applied = suppression.applied(given, entries(f"- {{id: TORCH011, reason: known, field: '{glob}'}}"), TODAY)
    assert [fault.topic.id for fault in applied.faults] == ([] if is_used else ["SUPPRESS001"])
