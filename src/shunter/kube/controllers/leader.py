"""Leader election by a Lease: of several processes one writes.

client-go's times and rules. A candidate trusts only its own clock: a lease is free when it has not changed for its duration since
the candidate first saw it. The leader stops writing when it could not renew for `renew_deadline`, well before anybody may lead.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from logging import getLogger

from shunter.api.meta import Json, ObjectMeta, Struct, rfc3339_micro
from shunter.api.resources import LEASES
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists, ApiError, Conflict, NotFound

log = getLogger(__name__)


def process_identity() -> str:
    """A name for this process that no other process, also after a restart, has."""
    return f"{socket.gethostname()}_{os.getpid()}_{random.getrandbits(64):016x}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderOptions:
    """Times are seconds. InputError unless each is longer than the one before it: a leader that may write longer than its lease
    lasts would not be the only one."""

    name: str
    namespace: str
    identity: str = field(default_factory=process_identity)
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry_period < self.renew_deadline < self.lease_duration:
            times = {"retryPeriod": self.retry_period, "renewDeadline": self.renew_deadline, "leaseDuration": self.lease_duration}
            said = ", ".join(f"{name} {seconds:g}s" for name, seconds in times.items())
            raise InputError(
                f"leaderElection: {said}: each must be longer than the one before it.", "The defaults are 2s, 10s, 15s."
            )


class LeaseSpec(Struct, frozen=True):
    """The spec of a coordination.k8s.io/v1 Lease; without a holder, or with an empty one, the lease is free."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


def lease_holder(lease: LeaseSpec, now: datetime) -> str:
    """Who holds a lease by the clock of its holder; empty for one that was released, or has run out."""
    if lease.renew_time is None or now > lease.renew_time + timedelta(seconds=lease.lease_duration_seconds or 0):
        return ""
    return lease.holder_identity or ""


class Lease(Struct, frozen=True):
    """A coordination.k8s.io/v1 Lease, as far as an election goes by it."""

    metadata: ObjectMeta
    spec: LeaseSpec = LeaseSpec()


class LeaderElection:
    """This process's part in one election: `acquire`, then `hold`, then `release`."""

    def __init__(
        self,
        client: Client,
        options: LeaderOptions,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._options = options
        self._clock = clock
        self._now = now
        self._lease: Lease | None = None
        """The lease as last seen, by us or by the server's answer to our write."""
        self._seen_at = 0.0
        self._valid_until = 0.0
        self.has_tried = asyncio.Event()
        self.has_followed = False
        """Whether this process had to wait; known once it `has_tried`."""

    @property
    def is_leader(self) -> bool:
        """Whether this process may write: also False when it was stopped or starved for so long that another may lead."""
        return self._clock() < self._valid_until

    async def acquire(self) -> None:
        """Returns when this process leads."""
        log.info("waiting to lead by lease %s/%s", self._options.namespace, self._options.name)
        while not await self._attempt_in_time(self._options.renew_deadline):
            self.has_followed = True
            self.has_tried.set()
            await asyncio.sleep(self._pause())
        self.has_tried.set()
        log.info("leading as %s", self._options.identity)

    async def hold(self) -> None:
        """Renews the lease; returns when it is lost."""
        while self.is_leader:
            await asyncio.sleep(self._options.retry_period)
            is_renewed = await self._attempt_in_time(self._valid_until - self._clock())
            if not is_renewed and self._is_held_by_another():
                self._valid_until = 0.0
        log.error("lease %s/%s is lost", self._options.namespace, self._options.name)

    async def release(self) -> None:
        """Lets another process lead at once, if this one leads; only when it has stopped writing."""
        self._valid_until = 0.0
        try:
            async with asyncio.timeout(self._options.retry_period):
                # Read again: a renewal that was cancelled may have been carried out.
                lease = await self._client.get(LEASES, self._options.name, self._options.namespace, view=Lease)
                if lease.spec.holder_identity == self._options.identity:
                    spec = {**self._spec(lease), "holderIdentity": "", "leaseDurationSeconds": 1}
                    await self._client.update(LEASES, self._body(spec, lease.metadata.resource_version))
        except (ApiError, TimeoutError) as error:
            log.warning("the lease was not released, it runs out by itself: %s", error)

    def _pause(self) -> float:
        """Seconds until a candidate's next attempt: client-go's random period, but not past the end of the lease."""
        pause = self._options.retry_period * random.uniform(1.0, 2.2)
        if self._lease is None or not self._is_held_by_another() or self._has_run_out():
            return pause
        return min(pause, self._runs_out_at() - self._clock())

    async def _attempt_in_time(self, seconds: float) -> bool:
        """An attempt of at most so many seconds, and of half the renew deadline, as client-go's: of several API servers behind an
        address the one that was asked may be gone without a word, and the next attempt finds another."""
        try:
            async with asyncio.timeout(max(0.0, min(seconds, self._options.renew_deadline / 2))):
                return await self._attempt()
        except TimeoutError:
            log.warning("lease %s/%s: the server does not answer", self._options.namespace, self._options.name)
            if self.is_leader:
                # The renewal may have been carried out: read the lease again.
                self._lease = None
            return False

    async def _attempt(self) -> bool:
        """Takes or renews the lease; whether this process leads now."""
        asked_at = self._clock()
        try:
            if self._lease is None or not self.is_leader:
                self._observe(await self._client.get(LEASES, self._options.name, self._options.namespace, view=Lease))
            if self._lease is not None and self._is_held_by_another() and not self._has_run_out():
                return False
            version = self._lease.metadata.resource_version if self._lease else ""
            written = await self._client.update(LEASES, self._body(self._spec(self._lease), version), view=Lease)
        except NotFound:
            return await self._create(asked_at)
        except Conflict:
            self._lease = None
            return False
        except ApiError as error:
            log.warning("lease %s/%s: %s", self._options.namespace, self._options.name, error)
            return False
        self._lead_with(written, asked_at)
        return True

    async def _create(self, asked_at: float) -> bool:
        try:
            self._lead_with(await self._client.create(LEASES, self._body(self._spec(None), ""), view=Lease), asked_at)
        except AlreadyExists:
            return False
        except ApiError as error:
            log.warning("lease %s/%s: %s", self._options.namespace, self._options.name, error)
            return False
        return True

    def _lead_with(self, lease: Lease, asked_at: float) -> None:
        self._observe(lease)
        self._valid_until = asked_at + self._options.renew_deadline

    def _observe(self, lease: Lease) -> None:
        if self._lease is None or self._lease.metadata.resource_version != lease.metadata.resource_version:
            self._lease = lease
            self._seen_at = self._clock()

    def _is_held_by_another(self) -> bool:
        return self._lease is not None and self._lease.spec.holder_identity not in (None, "", self._options.identity)

    def _has_run_out(self) -> bool:
        return self._clock() >= self._runs_out_at()

    def _runs_out_at(self) -> float:
        """When the lease is free if it is not renewed, by this process's clock."""
        assert self._lease is not None
        return self._seen_at + (self._lease.spec.lease_duration_seconds or 0)

    def _spec(self, before: Lease | None) -> Json:
        """The lease's spec once this process holds it."""
        now = rfc3339_micro(self._now())
        spec = before.spec if before else LeaseSpec()
        is_renewal = spec.holder_identity == self._options.identity and spec.acquire_time is not None
        return {
            "holderIdentity": self._options.identity,
            "leaseDurationSeconds": math.ceil(self._options.lease_duration),
            "acquireTime": rfc3339_micro(spec.acquire_time) if is_renewal and spec.acquire_time else now,
            "renewTime": now,
            "leaseTransitions": (spec.lease_transitions or 0) + (0 if is_renewal or before is None else 1),
        }

    def _body(self, spec: Json, resource_version: str) -> Json:
        metadata: Json = {"name": self._options.name, "namespace": self._options.namespace}
        if resource_version:
            metadata["resourceVersion"] = resource_version
        return LEASES.typed({"metadata": metadata, "spec": spec})
