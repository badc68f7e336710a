"""What becomes of pods when shunter node ends."""

from __future__ import annotations

from shunter.api.core import Pod, PodStatus
from shunter.api.meta import ObjectMeta, OwnerReference
from shunter.cluster.node.draining import eviction, to_evict


def pod(name: str, phase: str = "Running", owner: str = "Job") -> Pod:
    reference = OwnerReference(api_version="v1", kind=owner, name="o", uid="u", controller=True)
    metadata = ObjectMeta(name=name, namespace="team", uid=f"uid-of-{name}", owner_references=(reference,))
    return Pod(metadata=metadata, status=PodStatus(phase=phase))


def test_a_drain_evicts_what_runs_and_would_not_come_back() -> None:
    pods = [pod("a"), pod("b", "Pending"), pod("c", "Succeeded"), pod("d", "Failed"), pod("e", owner="DaemonSet")]
    assert [one.metadata.name for one in to_evict(pods)] == ["a", "b"]


def test_an_eviction_is_of_this_very_pod() -> None:
    assert eviction(pod("a"))["deleteOptions"] == {"preconditions": {"uid": "uid-of-a"}}
