"""`shunter migrate inventory`, as people call it, and what it has in common with `scan`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.migrate.calls import migrate

pytestmark = pytest.mark.integration


def test_an_inventory_lists_jobs_with_class_and_reason(folder: Path) -> None:
    done = migrate("inventory", "-f", ".", "--report", "csv=jobs.csv", folder=folder)
    assert done.returncode == 0
    assert "Jobs: 2 (2 PyTorchJob)" in done.stdout
    assert "blocked   PyTorchJob team-a/bert: " in done.stdout
    assert "inside Experiment team-a/tune" in done.stdout
    assert len((folder / "jobs.csv").read_text().splitlines()) == 3


def test_an_inventory_as_json_is_all_that_is_printed(folder: Path) -> None:
    done = migrate("inventory", "-f", "job.yaml", "-o", "json", folder=folder)
    assert json.loads(done.stdout)["classes"]["blocked"] == 1


def test_an_inventory_heeds_what_is_taken_on(folder: Path) -> None:
    (folder / "migration.yaml").write_text("suppressions:\n- {id: RESTART001, reason: it loops}\n")
    done = migrate("inventory", "-f", "job.yaml", "-o", "json", folder=folder)
    assert json.loads(done.stdout)["classes"]["complex"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((), "no input was named"), (("-f", "job.yaml", "--cluster"), "--cluster cannot be combined with another input")],
    ids=["neither", "both"],
)
@pytest.mark.parametrize("verb", ["inventory", "report"])
def test_one_input_has_to_be_named(verb: str, arguments: tuple[str, ...], message: str, folder: Path) -> None:
    done = migrate(verb, *arguments, folder=folder)
    assert done.returncode == 1
    assert message in done.stderr


@pytest.mark.parametrize(("verb", "code"), [("report", 3), ("validate", 3), ("diff", 2)])
def test_a_chart_is_not_taken_for_nothing_to_do(verb: str, code: int, chart: Path) -> None:
    done = migrate(verb, "-f", "chart", folder=chart)
    assert done.returncode == code
    assert "INPUT016" in done.stdout + done.stderr


@pytest.fixture
def chart(folder: Path) -> Path:
    """A folder with a chart in it, which has one v1 job."""
    (folder / "chart").mkdir()
    (folder / "chart" / "Chart.yaml").write_text("name: train\n")
    (folder / "chart" / "job.yaml").write_text((folder / "job.yaml").read_text().replace("Always", "{{ .Values.policy }}"))
    return folder


def test_an_inventory_of_a_chart_says_that_its_templates_are_not_listed_and_ends_with_3(chart: Path) -> None:
    done = migrate("inventory", "-f", "chart", folder=chart)
    assert (done.returncode, "Jobs: 0" in done.stdout) == (3, True)
    assert "chart/job.yaml:1:1: blocking INPUT016" in done.stderr
    (chart / "migration.yaml").write_text("suppressions:\n- {id: INPUT016, reason: counted elsewhere}\n")
    done = migrate("inventory", "-f", "chart", folder=chart)
    assert (done.returncode, done.stderr) == (0, "")
