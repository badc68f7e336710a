"""docs/training/fabrics.md says what the profiles are."""

from __future__ import annotations

import re
from pathlib import Path

from shunter.fabrics import profiles
from shunter.fabrics.settings import BY_NAME

PAGE = (Path(__file__).resolve().parents[2] / "docs/training/fabrics.md").read_text()


def test_the_table_of_machines_is_that_of_the_profile() -> None:
    rows = re.findall(r"^\| ([a-z0-9-]+\.\w+) \| (.*) \|$", PAGE, re.MULTILINE)
    assert rows == [
        (
            one.type,
            f"{one.gpus} {one.accelerator} | {one.memory} | {one.devices} | {'yes' if one.checked else 'no'}",
        )
        for one in profiles()["efa"].instances
    ]


def test_every_variable_of_efa_and_every_rule_is_on_the_page() -> None:
    for variable in profiles()["efa"].environment:
        assert f"`{variable.name}={variable.value}`" in PAGE
    for name in BY_NAME.keys() - {"RDMAV_HUGEPAGES_SAFE", "NCCL_MIN_CHANNELS"}:
        assert f"`{name}" in PAGE, name
