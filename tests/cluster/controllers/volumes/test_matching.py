"""Which volume a claim gets: the one that is kept for it, else the smallest free one that fits."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.controllers.volumes.stored_claims import claim, volume
from shunter.cluster.controllers.volumes.matching import best_match, mismatch
from shunter.cluster.controllers.volumes.views import Volume

KEPT: dict[str, Any] = {"claimRef": {"namespace": "n", "name": "data"}}
GOING: dict[str, Any] = {"deletionTimestamp": "2026-11-21T12:00:00Z"}


@pytest.mark.parametrize(
    ("wanted", "volumes", "name"),
    [
        pytest.param({}, [volume("big", size="9Gi"), volume("fits", size="2Gi")], "fits", id="the smallest that is large enough"),
        pytest.param(
            {},
            [volume("two", accessModes=["ReadWriteOnce", "ReadOnlyMany"]), volume("one", size="9Gi")],
            "one",
            id="fewer modes count before bytes",
        ),
        pytest.param({}, [volume("b"), volume("a")], "a", id="of equal ones the first by name"),
        pytest.param({}, [volume("small", size="1Mi")], "", id="none that is too small"),
        pytest.param({"storageClassName": ""}, [volume()], "", id="none of another class"),
        pytest.param({"accessModes": ["ReadWriteMany"]}, [volume()], "", id="none with fewer modes"),
        pytest.param({"volumeMode": "Block"}, [volume()], "", id="none of another mode"),
        pytest.param({"volumeAttributesClassName": "gold"}, [volume()], "", id="none of another class of attributes"),
        pytest.param({}, [volume(volumeAttributesClassName="")], "v", id="no class of attributes, said or not"),
        pytest.param({}, [volume(phase="Pending")], "", id="none that is not available yet"),
        pytest.param({}, [volume(metadata=GOING)], "", id="none that is being deleted"),
        pytest.param({"selector": {"matchLabels": {"a": "b"}}}, [volume()], "", id="none that its selector leaves out"),
        pytest.param({}, [volume(claimRef={"namespace": "n", "name": "other", "uid": "x"})], "", id="none that is taken"),
        pytest.param({}, [volume(claimRef={"namespace": "n", "name": "data", "uid": "old"})], "", id="none of a former claim"),
        pytest.param({}, [volume("a"), volume("kept", **KEPT)], "kept", id="the one kept for it before a free one"),
        pytest.param({"storageClassName": ""}, [volume(**KEPT)], "v", id="the one kept for it, of whatever class"),
        pytest.param({}, [volume(size="1Mi", **KEPT)], "", id="not even the one kept for it where it is too small"),
        pytest.param({"volumeMode": "Block"}, [volume(**KEPT)], "", id="nor of another mode"),
        pytest.param({"accessModes": ["ReadWriteMany"]}, [volume(**KEPT)], "", id="nor with fewer modes"),
        pytest.param({}, [volume(metadata=GOING, **KEPT)], "", id="nor while it is being deleted"),
    ],
)
def test_a_claim_gets_the_volume_that_fits(wanted: dict[str, Any], volumes: list[Volume], name: str) -> None:
    found = best_match(claim(**wanted), volumes)
    assert (found.metadata.name if found else "") == name


def test_a_claim_that_waits_for_a_pod_gets_only_the_volume_kept_for_it() -> None:
    assert best_match(claim(), [volume()], delayed=True) is None
    assert best_match(claim(), [volume(**KEPT)], delayed=True) is not None


@pytest.mark.parametrize(
    ("wanted", "offered", "why"),
    [
        ({}, {}, ""),
        ({}, {"size": "2Gi"}, ""),
        ({}, {"size": "1Mi"}, "requested PV is too small"),
        ({"storageClassName": "fast"}, {}, "storageClassName does not match"),
        ({"volumeAttributesClassName": "gold"}, {}, "volumeAttributesClassName does not match"),
        ({"volumeMode": "Block"}, {}, "incompatible volumeMode"),
        ({"accessModes": ["ReadWriteMany"]}, {}, "incompatible accessMode"),
        ({}, {"metadata": GOING}, 'the volume is marked for deletion "v"'),
    ],
)
def test_a_volume_that_a_claim_names_is_refused_with_the_reason(
    wanted: dict[str, Any], offered: dict[str, Any], why: str
) -> None:
    assert mismatch(claim(**wanted), volume(**offered)) == why
