"""The kinds of gang schedulers, which recordings are about and which belong to neither generation of jobs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import yaml

from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS
from shunter.api.scheduling.podgroups import COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS
from shunter.kube.client import Client
from shunter.kube.errors import NotFound

SECONDS = 60.0


async def install_pod_groups(client: Client) -> None:
    """Both kinds of PodGroups; returns when they are served."""
    for definition in yaml.safe_load_all(Path(__file__).with_suffix(".yaml").read_text()):
        await client.apply(CUSTOM_RESOURCE_DEFINITIONS, definition)
    async with asyncio.timeout(SECONDS):
        for resource in (VOLCANO_POD_GROUPS, COSCHEDULING_POD_GROUPS):
            while True:
                try:
                    await client.list(resource)
                    break
                except NotFound:
                    await asyncio.sleep(0.05)
