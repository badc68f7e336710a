"""Completion of names from the cluster that the command line selects.

Errors and timeouts are ignored: the shell then offers nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shunter.api.meta import Json
    from shunter.kube.client import Client

Offers = list[tuple[str, str]]
"""Completions, each with its description."""
SECONDS = 2.0
"""The timeout."""


def job_names(ctx: typer.Context, incomplete: str) -> Offers:
    """Names of jobs; `KIND/NAME` once a kind was typed."""
    from shunter.operator.overview import overview

    prefix, slash, typed = incomplete.rpartition("/")
    offers: dict[str, str] = {}
    for job in _jobs(ctx):
        row = overview(job)
        if row.name.startswith(typed) and prefix.lower() in ("", row.kind.lower(), f"{row.kind.lower()}s"):
            offers.setdefault(f"{prefix}{slash}{row.name}", f"{row.kind} in {row.namespace}, {row.state}")
    return sorted(offers.items())


def ranks(ctx: typer.Context, incomplete: str) -> Offers:
    """The ranks of the job that was named."""
    from shunter.operator.overview import overview

    # While the value of an option is completed, positional words are not assigned to arguments yet.
    named = ctx.params.get("job") or next(iter(ctx.args), "")
    name = str(named).rpartition("/")[2]
    count = max((overview(job).ranks for job in _jobs(ctx) if job["metadata"]["name"] == name), default=0)
    return [(str(rank), "") for rank in range(count) if str(rank).startswith(incomplete)]


def namespaces(ctx: typer.Context, incomplete: str) -> Offers:
    """Namespaces of the cluster."""

    async def read(client: Client) -> Offers:
        from shunter.api.resources import NAMESPACES

        names = [item["metadata"]["name"] for item in (await client.list(NAMESPACES)).items]
        return [(name, "") for name in sorted(names) if name.startswith(incomplete)]

    return _read_within_timeout(ctx, read) or []


def contexts(ctx: typer.Context, incomplete: str) -> Offers:
    """Contexts of the kubeconfig."""
    import contextlib

    from shunter.kube import kubeconfig

    with contextlib.suppress(Exception):
        names = kubeconfig.read(ctx.params.get("kubeconfig")).contexts
        return [(name, "") for name in sorted(names) if name.startswith(incomplete)]
    return []


def kinds(incomplete: str) -> Offers:
    """Kinds of training jobs."""
    from shunter.operator.overview import SHOWN_RESOURCES

    names = [resource.kind for resource in SHOWN_RESOURCES]
    return [(name, "") for name in names if name.startswith(incomplete)]


def _jobs(ctx: typer.Context) -> list[Json]:
    async def read(client: Client) -> list[Json]:
        from shunter.jobs.lookup import all_jobs

        return [job for _, job in await all_jobs(client, str(ctx.params.get("namespace") or ""))]

    return _read_within_timeout(ctx, read) or []


def _read_within_timeout(ctx: typer.Context, read: Callable[[Client], Awaitable[Any]]) -> Any:
    """The result of `read`; None if it fails or takes too long."""
    import asyncio
    import contextlib
    import io

    from shunter.cli.target import connect

    async def run() -> Any:
        async with connect(ctx.params.get("kubeconfig"), str(ctx.params.get("context") or "")).client as client:
            return await asyncio.wait_for(read(client), SECONDS)

    with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
        return asyncio.run(run())
    return None
