"""What became of each leaf: the most precise row counts, and what it says holds for the leaf itself."""

from __future__ import annotations

from shunter.migrate.conversion.ledger import Ledger, Row, Target
from shunter.migrate.paths import Path

JOB = {"spec": {"args": ["a", "b"], "env": []}, "kind": "X"}


def account(ledger: Ledger) -> dict[Path, Row | None]:
    return {path: row for path, _, row in ledger.account(JOB)}


def test_a_row_holds_for_all_below_it_step_by_step() -> None:
    ledger = Ledger()
    ledger.carried(("spec",), Target("TrainingRuntime", ("template",)))
    row = account(ledger)["spec", "args", 1]
    assert row is not None
    assert (row.path, row.target) == (("spec", "args", 1), Target("TrainingRuntime", ("template", "args", 1)))


def test_the_longer_path_counts_and_of_equal_ones_the_later() -> None:
    ledger = Ledger()
    ledger.defaulted(("spec", "args", 1), "first")
    ledger.defaulted(("spec", "args", 1), "second")
    ledger.carried(("spec",), Target("TrainJob", ()))
    rows = account(ledger)
    assert [(row.outcome, row.note) for row in (rows["spec", "args", 0], rows["spec", "args", 1]) if row] == [
        ("carried", ""),
        ("defaulted", "second"),
    ]


def test_leaves_that_nobody_spoke_of_have_no_row() -> None:
    ledger = Ledger()
    ledger.carried(("spec", "args"), Target("TrainJob", ("spec", "args")))
    assert [path for path, row in account(ledger).items() if row is None] == [("spec", "env"), ("kind",)]


def test_changes_are_noted_wherever_the_value_goes() -> None:
    ledger = Ledger()
    ledger.changed(("spec", "args", 0), "renamed")
    ledger.changed(("spec", "args", 0), "and quoted")
    ledger.carried(("spec", "args"), Target("TrainJob", ("spec", "args")), "all of them")
    row = account(ledger)["spec", "args", 0]
    assert row is not None
    assert row.note == "all of them; renamed; and quoted"


def test_carried_values_can_move_on() -> None:
    ledger = Ledger()
    ledger.carried(("spec", "args"), Target("TrainingRuntime", ("a",)))
    ledger.defaulted(("kind",), "as it is")
    ledger.moved(lambda target: Target("TrainJob", ("patch", *target.path)))
    rows = account(ledger)
    assert [row.target for row in (rows["spec", "args", 0], rows["kind",]) if row] == [
        Target("TrainJob", ("patch", "a", 0)),
        None,
    ]
