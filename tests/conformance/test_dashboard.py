"""The Grafana dashboard, read by Grafana's own types (conformance/grafana): no field is unknown, missing or of a wrong type."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shunter.install.dashboard import dashboard

pytestmark = pytest.mark.conformance

Json = dict[str, Any]
READER = Path(__file__).parents[2] / "conformance/grafana"
TIMEOUT_SECONDS = 110
"""Of which the compiler takes nearly all, the first time."""


def read(found: Json, directory: Path) -> subprocess.CompletedProcess[str]:
    file = directory / "dashboard.json"
    file.write_text(json.dumps(found))
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false", "GOWORK": "off"}
    command = ["go", "-C", str(READER), "run", ".", str(file)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS)


def test_grafana_s_types_know_all_of_the_dashboard_and_miss_nothing(tmp_path: Path) -> None:
    done = read(dashboard(), tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda panel: panel.update(colour=1), "unexpected field 'colour'"),
        (lambda panel: panel["targets"][0].update(expr=3), "cannot unmarshal number"),
        (lambda panel: panel["options"]["legend"].pop("calcs"), "required field is missing"),
    ],
    ids=["unknown", "wrong type", "missing"],
)
def test_what_grafana_s_types_do_not_know_is_named(tmp_path: Path, change: Callable[[Json], object], told: str) -> None:
    found = dashboard()
    change(found["panels"][1])
    done = read(found, tmp_path)
    assert (done.returncode, told in done.stderr) == (1, True), done.stderr
