"""Numbers of processes that programs read."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.test_indirect_reads import converted, shell
from shunter.api.meta import Json


@pytest.mark.parametrize(
    ("resources", "told"),
    [
        ({}, "auto in v1 and 1 in v2"),
        ({"limits": {"cpu": "4"}}, "auto in v1 and 4 in v2"),
        ({"limits": {"nvidia.com/gpu": 2}}, ""),
    ],
)
def test_a_program_that_reads_the_number_of_processes_is_told_of(resources: Json, told: str) -> None:
    command = shell("torchrun --nproc_per_node=$PET_NPROC_PER_NODE t.py")
    messages = [one.message for one in converted(command, resources=resources).findings if one.topic.id == "TORCH012"]
    assert [told in message for message in messages] == [True] * bool(told)
