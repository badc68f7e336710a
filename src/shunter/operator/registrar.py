"""Keeps three things in step: what is registered with the API server, what it trusts there, and which certificate is served.

Each look repairs what it finds, so it does not matter who changed it or who was killed in between. The order inside a look
matters: configurations are read before the certificate and written with what was read as precondition. So no
replica writes trust into them that is older than they are, and none serves a certificate that the others do not know.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from logging import getLogger
from pathlib import Path
from typing import Literal, NamedTuple

from shunter.api.meta import Json
from shunter.kube.client import Client
from shunter.kube.errors import NotFound
from shunter.kube.tls.certificate_sources import Source
from shunter.kube.tls.certificates import KeyPair
from shunter.kube.webhooks.registration import Configuration, Place, Url, bundles, manifest, register, trust

log = getLogger(__name__)

Serve = Callable[[KeyPair | Path], Awaitable[Place]]
"""Serves with a certificate from now on; answers where."""

Writes = Literal["configurations", "trust", "nothing"]
"""What of the webhook configurations is ours to write."""


class TrustState(NamedTuple):
    """What the API server trusts, or the one thing that is missing."""

    authorities: frozenset[bytes] = frozenset()
    problem: str = ""


class Registrar:
    """Registers the webhooks of one replica. `source` provides its certificate."""

    def __init__(self, client: Client, configurations: Sequence[Configuration], source: Source, *, writes: Writes) -> None:
        self._client = client
        self._configurations = configurations
        self._source = source
        self._writes = writes
        self._has_registered = False

    async def check(self, serve: Serve) -> TrustState:
        """Checks registration and certificate once, and corrects them; returns what the API server then trusts. Raises ApiError
        if a request fails, SecretProblem if the certificate is not available."""
        is_first = self._writes == "configurations" and not self._has_registered
        stored = [None if is_first else await self._read(configuration) for configuration in self._configurations]
        trusted = [bundle for registered in stored if registered for bundle in bundles(registered)]
        offer = await self._source.offer(trusted)
        place = await serve(offer.certificate)
        if self._writes == "configurations":
            await self._register(stored, place, offer.authorities)
            return TrustState(frozenset([offer.authorities]))
        for configuration, registered in zip(self._configurations, stored, strict=True):
            if registered is None:
                name = f"{configuration.resource.kind} {configuration.name}"
                return TrustState(problem=f"{name} does not exist. Install it with `shunter install`.")
            if self._writes == "trust" and any(bundle != offer.authorities for bundle in bundles(registered)):
                await trust(self._client, configuration.resource, registered, offer.authorities)
                log.info("%s %s trusts our certificate now", configuration.resource.kind, configuration.name)
        return TrustState(frozenset([offer.authorities] if self._writes == "trust" else trusted))

    async def _read(self, configuration: Configuration) -> Json | None:
        try:
            return await self._client.get(configuration.resource, configuration.name)
        except NotFound:
            return None

    async def _register(self, stored: Sequence[Json | None], place: Place, authorities: bytes) -> None:
        desired = [manifest(configuration, place, authority=authorities) for configuration in self._configurations]
        if self._has_registered and [_called(one) for one in stored] == [_called(one) for one in desired]:
            return
        await register(self._client, self._configurations, place, authority=authorities)
        self._has_registered = True
        log.info("registered the webhooks at %s", place.url if isinstance(place, Url) else place.hosts[0])


def _called(registered: Json | None) -> dict[str, Json]:
    """How each webhook of a configuration is called."""
    return {webhook["name"]: webhook["clientConfig"] for webhook in (registered or {}).get("webhooks") or ()}
