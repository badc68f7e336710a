"""DNS settings with which names of v2 may not be found."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.test_indirect_reads import converted
from shunter.api.meta import Json


def ndots(value: str) -> Json:
    return {"dnsConfig": {"options": [{"name": "ndots", "value": value}]}}


@pytest.mark.parametrize(
    ("pod", "is_told"),
    [
        (ndots("1"), True),
        (ndots("0"), True),
        ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["10.0.0.10"], "searches": ["training.svc.cluster.local"]}}, True),
        ({"dnsPolicy": "None", "dnsConfig": {**ndots("5")["dnsConfig"], "nameservers": ["10.0.0.10"]}}, False),
        (ndots("2"), False),
        ({"dnsConfig": {"options": [{"name": "timeout", "value": "1"}]}}, False),
        ({}, False),
    ],
)
def test_few_dots_are_told_of(pod: Json, is_told: bool) -> None:
    found = {one.topic.id for one in converted(["torchrun", "t.py"], "PyTorchJob", pod).findings}
    assert ("HOST032" in found) is is_told
