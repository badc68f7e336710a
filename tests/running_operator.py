"""The operator in the process of a test, with a configuration file: its metrics, health and progress can be asked."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

from cluster.api_server import RunningApiServer
from shunter.cluster.free_ports import free_port
from shunter.operator.process import OperatorOptions, run

HEAD = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
PLAIN = "metrics: {{bindAddress: '127.0.0.1:{metrics}'}}\nhealth: {{healthProbeBindAddress: '127.0.0.1:{health}'}}\n"
"""Metrics and health, each at a port of its own."""


class Operator:
    """The operator in this process, with a configuration file."""

    def __init__(self, server: RunningApiServer, tmp_path: Path, text: str, **options: Any) -> None:
        self.metrics, self.health, self.status = free_port(), free_port(), free_port()
        file = tmp_path / "config.yaml"
        file.write_text(HEAD + text.format(metrics=self.metrics, health=self.health, status=self.status))
        self.options = OperatorOptions(
            kubeconfig=server.kubeconfig,
            config=file,
            webhook_host="127.0.0.1",
            webhook_port=0,
            register_webhooks=True,
            install_runtimes=True,
            **{"leader_elect": False, **options},
        )
        self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False))

    @contextlib.asynccontextmanager
    async def running(self, *, ready: str = "readyz") -> AsyncIterator[Operator]:
        stop = asyncio.Event()
        task = asyncio.create_task(run(self.options, stop))
        async with self.session, asyncio.timeout(60):
            while (await self.get(f"http://127.0.0.1:{self.health}/{ready}"))[0] != 200:
                assert not task.done(), task.exception()
                await asyncio.sleep(0.05)
            yield self
            stop.set()
            await task

    async def get(self, url: str, **headers: str) -> tuple[int, str]:
        try:
            async with self.session.get(url, headers=headers) as answer:
                return answer.status, await answer.text()
        except aiohttp.ClientError:
            return 0, ""
