"""Which objects a pod refers to, and what is said where one cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.cluster.node.content.references import MissingSourceError, Sources, TokenKey, references


def test_everything_a_pod_refers_to_is_found() -> None:
    pod = {
        "metadata": {},
        "spec": {
            "initContainers": [{"name": "i", "envFrom": [{"configMapRef": {"name": "c1"}}, {"secretRef": {"name": "s1"}}]}],
            "containers": [
                {
                    "name": "m",
                    "env": [
                        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c2", "key": "k"}}},
                        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s2", "key": "k"}}},
                    ],
                }
            ],
            "volumes": [
                {"name": "v1", "configMap": {"name": "c3"}},
                {"name": "v2", "secret": {"secretName": "s3"}},
                {
                    "name": "v3",
                    "projected": {
                        "sources": [
                            {"configMap": {"name": "c4"}},
                            {"secret": {"name": "s4"}},
                            {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}},
                        ]
                    },
                },
            ],
        },
    }
    found = references(pod)
    assert found.config_maps == {"c1", "c2", "c3", "c4"}
    assert found.secrets == {"s1", "s2", "s3", "s4"}
    assert found.tokens == {TokenKey("", 600)}


def claim_of(volume: str, phase: str = "Bound") -> dict[str, Any]:
    return {"spec": {"volumeName": volume}, "status": {"phase": phase}}


CLAIMS = {"data": claim_of("pv"), "local": claim_of("disk"), "nfs": claim_of("share"), "new": claim_of("", "Pending")}
PERSISTENT = {
    "pv": {"metadata": {"name": "pv"}, "spec": {"hostPath": {"path": "/v", "type": "DirectoryOrCreate"}}},
    "disk": {"metadata": {"name": "disk"}, "spec": {"local": {"path": "/mnt/disk"}}},
    "share": {"metadata": {"name": "share"}, "spec": {"nfs": {"server": "x", "path": "/"}}},
}


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("data", {"path": "/v", "type": "DirectoryOrCreate"}),
        ("local", {"path": "/mnt/disk", "type": "Directory"}),
    ],
)
def test_a_claim_is_the_directory_of_its_volume(claim: str, source: dict[str, str]) -> None:
    sources = Sources({}, {}, {}, CLAIMS, PERSISTENT)
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim}}
    assert sources.resolved(volume) == {"name": "v", "hostPath": source}


@pytest.mark.parametrize(
    ("claim", "why"), [("none", "not found"), ("new", "is not bound"), ("nfs", "neither hostPath nor local")]
)
def test_a_claim_that_cannot_be_mounted_says_why(claim: str, why: str) -> None:
    sources = Sources({}, {}, {}, CLAIMS, PERSISTENT)
    with pytest.raises(MissingSourceError, match=why):
        sources.resolved({"name": "v", "persistentVolumeClaim": {"claimName": claim}})
