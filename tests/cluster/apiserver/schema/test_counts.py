"""What a scale subresource demands of the fields that it names."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.cluster.apiserver.kinds import ScalePaths
from shunter.cluster.apiserver.schema.counts import scale_errors

SCALE = ScalePaths("spec.replicas", "status.replicas", "status.selector")


@pytest.mark.parametrize(
    ("obj", "faults"),
    [
        pytest.param({}, [], id="all are absent"),
        pytest.param(
            {"spec": {"replicas": 0}, "status": {"replicas": 2**31 - 1, "selector": ""}}, [], id="the ends of the range"
        ),
        pytest.param(
            {"spec": {"replicas": -1}}, [".spec.replicas: Invalid value: -1: should be a non-negative integer"], id="negative"
        ),
        pytest.param(
            {"status": {"replicas": 2**31}},
            [".status.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"],
            id="beyond 32 bits",
        ),
        pytest.param({"spec": {"replicas": "3"}}, [".spec.replicas: Invalid value: 0: "], id="a text"),
        pytest.param({"spec": {"replicas": 1.5}}, [".spec.replicas: Invalid value: 0: "], id="a fraction"),
        pytest.param({"spec": {"replicas": True}}, [".spec.replicas: Invalid value: 0: "], id="true"),
        pytest.param({"spec": {"replicas": None}}, [".spec.replicas: Invalid value: 0: "], id="null"),
        pytest.param({"spec": [1]}, [".spec.replicas: Invalid value: 0: "], id="a list on the way"),
        pytest.param(
            {"status": {"selector": {"a": "b"}}}, ['.status.selector: Invalid value: "": '], id="a selector that is no text"
        ),
    ],
)
def test_counts_are_32_bit_numbers_and_the_selector_is_text(obj: Any, faults: list[str]) -> None:
    found = [str(error) for error in scale_errors(SCALE, obj)]
    assert len(found) == len(faults)
    assert all(error.startswith(fault) for error, fault in zip(found, faults, strict=True))


def test_a_scale_without_a_selector_looks_at_none() -> None:
    assert scale_errors(ScalePaths("spec.replicas", "status.replicas"), {"status": {"selector": 5}}) == []
