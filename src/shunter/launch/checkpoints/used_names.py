"""The names of jobs that have checkpoints in a place, which a new job must not get by itself: it would resume from theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.launch.checkpoints.bucket_access import s3_variables
from shunter.launch.checkpoints.bucket_checkpoints import has_keys, names_in_bucket
from shunter.launch.checkpoints.saved import names_with_checkpoints
from shunter.launch.options import Checkpoints


async def used_names(
    client: Client,
    namespace: str,
    place: Checkpoints | None,
    environment: Iterable[Json],
    notify: Callable[[str], None],
    *,
    name: str = "",
) -> set[str]:
    """The jobs, also deleted ones, that have anything below `place`: a directory of this machine, or a bucket on S3 for which the
    job has keys in its `environment`. `notify` gets a sentence for a place of which they are not known, and if the `name` that
    the new job is given is one of them."""
    if place is None:
        return set()
    unknown, reason = f"not checked whether a deleted job of the same name has checkpoints in {place.title}", ""
    found: set[str] | None = names_with_checkpoints(place.directory) if place.directory else None
    if place.url.startswith("s3://"):
        variables = await s3_variables(client, namespace, environment)
        if has_keys(variables):
            try:
                found = await asyncio.to_thread(names_in_bucket, place.url, variables)
            except InputError as error:
                reason = f" ({error.message})"
    if found is None:
        notify(f"checkpoints: {unknown}{reason}; the program may resume from them")
    elif name in found:
        notify(f"checkpoints: {place.directory or place.url}/{name} exists, and the program may resume from it")
    return found or set()
