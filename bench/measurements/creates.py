"""Creates that are validated, and on disk before they are acknowledged: how many a second, how late the slowest, none lost."""

from __future__ import annotations

import os
import signal
import threading
import time
from itertools import count
from typing import Any

import usage
from embedded import Cluster, cluster, objects, until
from figures import Figure
from load import create, post

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SAMPLES = "/apis/bench.shunter.dev/v1/namespaces/default/samples"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def measure(settings: dict[str, Any]) -> list[Figure]:
    with cluster() as started:
        defined = objects()
        started.ask("POST", DEFINITIONS, defined["sample_definition"])
        until(lambda: bool(started.ask("GET", SAMPLES)), seconds=10)
        sample, clients = defined["sample"], settings["clients"]
        create(started, SAMPLES, sample, "warm", settings["warm_up"], clients=clients)
        server = [started.processes()["apiserver"]]
        before = usage.processor_seconds(server)
        custom = create(started, SAMPLES, sample, "sample", settings["objects"], clients=clients)
        busy = (usage.processor_seconds(server) - before) / settings["objects"]
        builtin = create(started, CONFIG_MAPS, defined["config_map"], "map", settings["objects"] // 3, clients=clients)
        lost, acknowledged = lost_by_kill(started, sample, settings["durability_seconds"], clients)
    return [
        Figure("custom objects created", custom.per_second, "/s", f"{clients} clients, schema with CEL"),
        Figure("processor time of a create", busy * 1e6, "us", "of the API server, watchers' share included"),
        Figure("custom object create, p50", custom.percentile(0.5), "ms"),
        Figure("custom object create, p99", custom.percentile(0.99), "ms"),
        Figure("ConfigMaps created", builtin.per_second, "/s", f"p99 {builtin.percentile(0.99):.0f} ms"),
        Figure("acknowledged writes lost by kill -9", lost, "writes", f"of {acknowledged} before the kill"),
    ]


def lost_by_kill(started: Cluster, sample: Any, seconds: float, clients: int) -> tuple[int, int]:
    """Kills the API server under load; acknowledged writes that it does not know any more when it is back, and all of them."""
    victim = started.processes()["apiserver"]
    threading.Timer(seconds, lambda: os.kill(victim, signal.SIGKILL)).start()
    names = (f"durable-{number}" for number in count())
    sent = post(started, SAMPLES, sample, names, clients=clients)
    until(lambda: started.processes().get("apiserver", victim) != victim, seconds=30)
    until(lambda: started.ask("GET", "/readyz") == "ok", seconds=30)
    time.sleep(0.1)
    return len(set(sent.acknowledged) - started.names(SAMPLES)), len(sent.acknowledged)
