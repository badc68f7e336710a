"""Objects that options name: what is said of those that cannot be used."""

from __future__ import annotations

import pytest

from shunter.launch.named_objects import shared_fault


@pytest.mark.parametrize(
    ("modes", "nodes", "read_only", "shared"),
    [
        (["ReadWriteOnce"], 1, False, True),
        (["ReadWriteOnce"], 2, False, False),
        (["ReadWriteMany"], 2, False, True),
        (["ReadOnlyMany"], 2, True, True),
        (["ReadOnlyMany"], 2, False, False),
        (["ReadWriteOnce", "ReadWriteMany"], 8, False, True),
    ],
)
def test_a_claim_must_be_mountable_by_all_nodes(modes: list[str], nodes: int, read_only: bool, shared: bool) -> None:
    fault = shared_fault({"spec": {"accessModes": modes}}, nodes=nodes, read_only=read_only)
    assert (fault == "") is shared, fault
