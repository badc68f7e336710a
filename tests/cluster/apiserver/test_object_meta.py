"""Names that are generated, and owners that are named twice."""

from __future__ import annotations

from shunter.cluster.apiserver.object_meta import generated_name, without_duplicate_owners


def test_generated_names_fit_a_label() -> None:
    name = generated_name("x" * 100 + "-")
    assert len(name) == 63
    assert generated_name("a-").startswith("a-")
    assert len(generated_name("a-")) == 7


def test_repeated_owners_are_dropped() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    metadata = {"ownerReferences": [owner, dict(owner), {**owner, "uid": "v"}]}
    assert without_duplicate_owners(metadata)
    assert [o["uid"] for o in metadata["ownerReferences"]] == ["u", "v"]
    assert not without_duplicate_owners(metadata)
