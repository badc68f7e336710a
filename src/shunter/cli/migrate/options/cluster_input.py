"""Reads v1 jobs from a cluster: the manifest of a Helm release, or the jobs."""

from __future__ import annotations

import asyncio

from shunter.cli.output.progress import counting
from shunter.cluster.target import Target
from shunter.migrate.conversion.source import live, provider
from shunter.migrate.conversion.source.helm_release import manifest_of_release
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding


def release_manifest(target: Target, namespace: str, release: str) -> str:
    """The text of a release's latest revision; closes the client."""

    async def manifest() -> str:
        async with target.client as client:
            return await manifest_of_release(client, namespace, release)

    return asyncio.run(manifest())


def jobs(target: Target, namespace: str, selector: str) -> tuple[provider.Input, list[Finding]]:
    """The v1 jobs of a namespace (of all with ""), the runtimes there, and findings of reading them; closes the client."""

    async def listed() -> tuple[live.Live, tuple[SourceObject, ...]]:
        with counting("reading jobs") as advance:
            async with target.client as client:
                await live.require_namespaces(client, [namespace])
                found = await live.jobs(client, [namespace], label_selector=selector, read=advance)
                return found, await live.runtimes(client, [namespace])

    found, runtimes = asyncio.run(listed())
    return provider.Input(live=found.jobs, runtimes=runtimes), list(found.findings)
