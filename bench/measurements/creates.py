"""Creates that are validated, and on disk before they are acknowledged: how many a second, how late the slowest, none lost."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import usage
from embedded import Cluster, cluster, objects, until
from figures import Figure
from load import Sent, post

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SAMPLES = "/apis/bench.shunter.dev/v1/namespaces/default/samples"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def measure(settings: dict[str, Any]) -> list[Figure]:
    with cluster() as started:
        defined = objects()
        started.ask("POST", DEFINITIONS, defined["sample_definition"])
        until(lambda: bool(started.ask("GET", SAMPLES)), seconds=10)
        samples, config_maps = bodies(defined["sample"]), bodies(defined["config_map"])
        load(started, SAMPLES, samples, "warm", settings["warm_up"], settings["clients"])
        server = [started.processes()["apiserver"]]
        before = usage.processor_seconds(server)
        custom = load(started, SAMPLES, samples, "sample", settings["objects"], settings["clients"])
        busy = (usage.processor_seconds(server) - before) / settings["objects"]
        builtin = load(started, CONFIG_MAPS, config_maps, "map", settings["objects"] // 3, settings["clients"])
        lost, acknowledged = lost_by_kill(started, samples, settings["durability_seconds"], settings["clients"])
    return [
        Figure("custom objects created", custom.per_second, "/s", f"{settings['clients']} clients, schema with CEL"),
        Figure("processor time of a create", busy * 1e6, "us", "of the API server, watchers' share included"),
        Figure("custom object create, p50", custom.percentile(0.5), "ms"),
        Figure("custom object create, p99", custom.percentile(0.99), "ms"),
        Figure("ConfigMaps created", builtin.per_second, "/s", f"p99 {builtin.percentile(0.99):.0f} ms"),
        Figure("acknowledged writes lost by kill -9", lost, "writes", f"of {acknowledged} before the kill"),
    ]


def bodies(template: Any) -> Callable[[str], bytes]:
    text = json.dumps(template).encode()
    return lambda name: text.replace(b"NAME", name.encode())


def load(started: Cluster, path: str, body: Callable[[str], bytes], prefix: str, objects: int, clients: int) -> Sent:
    sent = post(started, path, body, iter([f"{prefix}-{number}" for number in range(objects)]), clients=clients)
    if sent.refused or len(sent.acknowledged) != objects:
        raise RuntimeError(f"{len(sent.acknowledged)} of {objects} created; refused: {sent.refused[:3]}")
    return sent


def lost_by_kill(started: Cluster, body: Callable[[str], bytes], seconds: float, clients: int) -> tuple[int, int]:
    """Kills the API server under load; acknowledged writes that it does not know any more when it is back, and all of them."""
    victim = started.processes()["apiserver"]
    threading.Timer(seconds, lambda: os.kill(victim, signal.SIGKILL)).start()
    names = (f"durable-{number}" for number in count())
    sent = post(started, SAMPLES, body, names, clients=clients)
    until(lambda: started.processes().get("apiserver", victim) != victim, seconds=30)
    until(lambda: started.ask("GET", "/readyz") == "ok", seconds=30)
    time.sleep(0.1)
    return len(set(sent.acknowledged) - started.names(SAMPLES)), len(sent.acknowledged)
