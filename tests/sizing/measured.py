"""The published measurements of measurements.yaml, with what the formulas say of each."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import yaml

from shunter.sizing.fits import MemoryRange, band, choice_of
from shunter.sizing.formulas import Memory, memory
from shunter.sizing.instances import Gpu, Instance
from shunter.sizing.options import SizeOptions
from shunter.sizing.shapes import Shape, known_models

FILE = Path(__file__).with_name("measurements.yaml")
UNITS = {"GiB": 2**30, "GB": 10**9}


@dataclasses.dataclass(frozen=True)
class Measurement:
    """A row of the file. `computed` is in the row's own unit."""

    row: dict[str, Any]
    memory: Memory
    band: MemoryRange
    verdict: str
    """Of the machine on which it was measured; empty where that is not stated."""

    @property
    def unit(self) -> int:
        return UNITS[self.row.get("unit", "GiB")]

    @property
    def computed(self) -> float:
        size = self.memory.states if self.row["source"] == "zero" else self.memory.total
        return size / self.unit

    @property
    def error(self) -> int | None:
        """Formula / published - 1 in per cent."""
        published = self.row.get("published")
        return None if published is None else round((self.computed / published - 1) * 100)

    @property
    def is_within_band(self) -> bool:
        return bool(self.band.low <= self.row["published"] * self.unit <= self.band.high)


def measurements() -> list[Measurement]:
    return [_measurement(row) for row in _content()["rows"]]


def sources() -> dict[str, Any]:
    return dict(_content()["sources"])


def _content() -> Any:
    return yaml.load(FILE.read_text(), Loader=yaml.CSafeLoader)


def _measurement(row: dict[str, Any]) -> Measurement:
    shape = known_models()[row["model"]].shape if "model" in row else msgspec.convert(row["shape"], Shape)
    options = SizeOptions(**row["options"], strategy=row["sharding"])
    gpus, each = row["gpus"], row["gpus_a_node"]
    needed = memory(shape, options, row["sharding"], gpus=gpus, gpus_a_node=each)
    verdict = ""
    if "device_mib" in row:
        machine = Instance("measured", "", Gpu("measured", row["device_mib"]), each)
        verdict = choice_of(shape, options, machine, gpus // each).verdict
    return Measurement(row, needed, band(options, row["sharding"], needed), verdict)
