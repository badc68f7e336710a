"""`shunter migrate scan`, as people call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.migrate.calls import migrate

pytestmark = pytest.mark.integration


def test_a_scan_tells_which_entries_of_migration_yaml_are_over(folder: Path) -> None:
    over = "- {id: SCAN016, reason: an old script, expires: 2026-01-01}"
    (folder / "migration.yaml").write_text(f"suppressions:\n{over}\n- {{id: RESTART001, reason: it loops}}\n")
    done = migrate("scan", "--strict", folder=folder)
    assert (done.returncode, "SUPPRESS002" in done.stderr, "SUPPRESS001" in done.stderr) == (2, True, False)


def test_a_scan_tells_lines_and_counts(folder: Path) -> None:
    done = migrate("scan", folder=folder)
    assert done.returncode == 0
    assert "nightly.sh:1:1: warning SCAN016 `kubectl get pytorchjobs` does not see jobs that have moved." in done.stdout
    assert "3 files scanned: 0 errors, 1 warning, " in done.stderr


def test_a_strict_scan_fails_on_warnings_that_nobody_took_on(folder: Path) -> None:
    assert migrate("scan", "--strict", folder=folder).returncode == 2
    (folder / "migration.yaml").write_text("suppressions:\n- {id: SCAN016, file: nightly.sh, reason: an old script}\n")
    assert migrate("scan", "--strict", folder=folder).returncode == 0


def test_a_scan_prints_any_form_of_report(folder: Path) -> None:
    done = migrate("scan", "-o", "sarif", "--report", "junit=scan.xml", folder=folder)
    assert json.loads(done.stdout)["runs"][0]["results"][0]["ruleId"] == "SCAN016"
    assert "SCAN016" in (folder / "scan.xml").read_text()
