"""Informers of ConfigMaps, and what their handlers hear."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from shunter.api.core import ConfigMap
from shunter.api.resources import CONFIG_MAPS
from shunter.kube.cache.informer import Informer
from shunter.kube.cache.reflector import Timing
from shunter.kube.client import Client

COLLECTION = "/api/v1/configmaps"
FAST = Timing(first_wait=0.01, longest_wait=0.05, longest_wait_for_kind=0.05, silence=5.0)
Json = dict[str, Any]
RESTING = replace(FAST, pause=0.2)
Eventually = Callable[[Callable[[], object]], Awaitable[object]]


def config_map(name: str, namespace: str = "n", **data: str) -> Json:
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


class Heard:
    """What a handler was told, as short words."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def __call__(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        name = (new or old).metadata.name  # type: ignore[union-attr]
        self.words.append(f"{'+' if old is None else '-' if new is None else '~'}{name}")


@asynccontextmanager
async def running(informer: Informer[ConfigMap]) -> AsyncIterator[Informer[ConfigMap]]:
    task = asyncio.create_task(informer.run())
    try:
        async with asyncio.timeout(5):
            await informer.wait_synced()
        yield informer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def new_informer(client: Client, timing: Timing = FAST, **options: object) -> Informer[ConfigMap]:
    return Informer(client, CONFIG_MAPS, ConfigMap, timing=timing, **options)  # type: ignore[arg-type]


def names(informer: Informer[ConfigMap]) -> list[str]:
    return sorted(obj.metadata.name for obj in informer.store.list())
