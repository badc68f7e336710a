"""docs/training/fabrics.md says what the profiles are."""

from __future__ import annotations

import re
from pathlib import Path

from shunter.fabrics import profiles
from shunter.fabrics.settings import BY_NAME

PAGE = (Path(__file__).resolve().parents[2] / "docs/training/fabrics.md").read_text()


def test_the_table_of_machines_is_that_of_the_profile() -> None:
    """A row lists the sizes of a family that have the same GPUs and interfaces: `g5.xlarge, 2xlarge`."""
    sizes: dict[tuple[str, str], list[str]] = {}
    for one in profiles()["efa"].instances:
        family, size = one.type.split(".")
        sizes.setdefault((family, f"{one.gpus} {one.accelerator} | {one.memory} | {one.devices}"), []).append(size)
    rows = re.findall(r"^\| ([a-z0-9-]+)\.(\w[\w, ]*) \| (.*) \|$", PAGE, re.MULTILINE)
    assert rows == [(family, ", ".join(names), rest) for (family, rest), names in sizes.items()]


def test_no_machine_has_been_checked_as_the_page_says() -> None:
    assert "None of these numbers has been checked on such a machine." in PAGE
    assert not any(one.checked for one in profiles()["efa"].instances)


def test_every_variable_of_efa_and_every_rule_is_on_the_page() -> None:
    for variable in profiles()["efa"].environment:
        assert f"`{variable.name}={variable.value}`" in PAGE
    for name in BY_NAME.keys() - {"RDMAV_HUGEPAGES_SAFE", "NCCL_MIN_CHANNELS"}:
        assert f"`{name}" in PAGE, name
