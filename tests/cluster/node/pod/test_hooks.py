"""Handlers of probes and hooks, carried out."""

from __future__ import annotations

from pathlib import Path

from shunter.cluster.node.pod.hooks import run_hook
from shunter.cluster.node.runtime.launcher import Launcher


async def test_a_handler_that_is_not_supported_is_named() -> None:
    probe = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3, "newer": {"port": 1}}
    complaint = await run_hook(Launcher(Path("log")), Path("attempt"), {"name": "c"}, probe, address="127.0.0.1", timeout=1.0)
    assert complaint == "handler newer is not supported by this node"
