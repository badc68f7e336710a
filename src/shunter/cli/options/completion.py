"""Completion of names from the cluster that the command line selects.

Errors and timeouts are ignored: the shell then offers nothing.
"""

from __future__ import annotations

from functools import partial
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
    for job in _read_within_timeout(ctx, partial(_read_jobs, ctx)) or ():
        row = overview(job)
        if row.name.startswith(typed) and prefix.lower() in ("", row.kind.lower(), f"{row.kind.lower()}s"):
            offers.setdefault(f"{prefix}{slash}{row.name}", f"{row.kind} in {row.namespace}, {row.state}")
    return sorted(offers.items())


def ranks(ctx: typer.Context, incomplete: str) -> Offers:
    """The ranks of the job that was named."""
    # While the value of an option is completed, positional words are not assigned to arguments yet.
    named = ctx.params.get("job") or next(iter(ctx.args), "")
    name = str(named).rpartition("/")[2]

    async def read(client: Client) -> int:
        from shunter.jobs.jobsets import jobsets_of_all
        from shunter.jobs.pods_up import requested_ranks

        jobs, namespace = [job for job in await _read_jobs(ctx, client) if job["metadata"]["name"] == name], _namespace(ctx)
        jobsets = await jobsets_of_all(client, jobs, namespace)
        return max((requested_ranks(job, jobsets.get(job["metadata"]["uid"])) or 0 for job in jobs), default=0)

    count = _read_within_timeout(ctx, read) or 0
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


def _namespace(ctx: typer.Context) -> str:
    return str(ctx.params.get("namespace") or "")


async def _read_jobs(ctx: typer.Context, client: Client) -> list[Json]:
    from shunter.jobs.lookup import all_jobs

    return [job for _, job in await all_jobs(client, _namespace(ctx))]


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
