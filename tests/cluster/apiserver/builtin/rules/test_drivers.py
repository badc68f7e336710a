"""What CSINodes may say."""

from __future__ import annotations

import pytest

from shunter.cluster.apiserver.builtin.rules.drivers import csi_node_errors


@pytest.mark.parametrize(
    ("identity", "refused"),
    [("i" * 256, False), ("i" * 257, True), ("\u00e9" * 129, True)],
    ids=["256 bytes are taken", "257 are not", "a letter of two bytes counts twice"],
)
def test_a_node_id_has_at_most_256_bytes(identity: str, refused: bool) -> None:
    errors = csi_node_errors({"spec": {"drivers": [{"name": "csi.example.com", "nodeID": identity}]}}, None)
    assert [error.field for error in errors] == (["spec.drivers[0].nodeID"] if refused else [])
