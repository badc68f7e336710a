"""What one pod costs in the operator's cache.

The one measurement that looks inside: a pod as the API server stores it, decoded by the type that informers use and put into
their store, as often as there are pods. Each copy is decoded from bytes of its own, as from a LIST.
"""

from __future__ import annotations

import gc
import json
import tracemalloc
from typing import Any

import msgspec

from embedded import Cluster, cluster, job, until
from figures import Figure
from shunter.api.core import Pod
from shunter.kube.cache.store import Store, by_controller_uid

JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
PODS = "/api/v1/namespaces/default/pods"


def measure(settings: dict[str, Any]) -> list[Figure]:
    pods = settings["pods"]
    with cluster("--simulate") as started:
        stored = running_pod(started)
    wire = [json.dumps(stored).replace("model-worker-0", f"model-worker-{number}").encode() for number in range(pods)]
    decode = msgspec.json.Decoder(Pod).decode
    store: Store[Pod] = Store({"owner": by_controller_uid})
    gc.collect()
    tracemalloc.start()
    for body in wire:
        store.put(decode(body))
    gc.collect()
    size = tracemalloc.get_traced_memory()[0] / pods
    tracemalloc.stop()
    assert len(store) == pods, "every copy has a name of its own"
    return [
        Figure("memory of a cached pod", size, "bytes", f"{len(wire[0]):,} bytes as JSON"),
    ]


def running_pod(started: Cluster) -> Any:
    started.ask("POST", JOBS, job("model"))
    until(lambda: started.ask("GET", f"{PODS}/model-worker-0").get("status", {}).get("phase") == "Running", seconds=30)
    return started.ask("GET", f"{PODS}/model-worker-0")
