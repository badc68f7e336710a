"""NetworkPolicies on this node: enforced by a packet filter in each pod's network, or, where that is impossible, reported as not
enforced."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from logging import getLogger
from pathlib import Path
from typing import Protocol

from shunter.api.meta import ObjectMeta, Struct
from shunter.api.network_policies import Limits, NetworkPod, NetworkPolicy, World, limits, selecting
from shunter.api.resources import NAMESPACES, NETWORK_POLICIES, PODS
from shunter.cluster.node.runtime.launcher import Launcher, LauncherError
from shunter.kube.access import Request, allowed, listed
from shunter.kube.cache.informer import Informer
from shunter.kube.client import Client
from shunter.kube.controllers.plan import Note, Ref
from shunter.kube.errors import PASSING
from shunter.kube.events import EventRecorder

log = getLogger(__name__)

_RETRY_SECONDS = 1.0
_UNLIMITED = Limits()
_NEEDED = [Request(verb, resource, "") for verb in ("list", "watch") for resource in (NETWORK_POLICIES, NAMESPACES)]


class _Namespace(Struct, frozen=True):
    metadata: ObjectMeta


Failures = Mapping[str, Exception]
"""The error for each pod, by its uid, for which an update failed: LauncherError or OSError."""


class Enforcement(Protocol):
    """Puts policies into effect for the pods of a node."""

    def adopt(self, uids: Iterable[str]) -> None:
        """Takes over pods of an earlier agent, whose current state is unknown."""

    async def bring_up_to_date(self, world: World) -> Failures:
        """Puts the policies of the world into effect; returns the pods for which that failed."""


class NetworkPolicies:
    """The policies of a cluster and what they mean for this node's pods. `begin` comes first.

    `obstacle` says why they are not enforced; empty where they are.
    """

    def __init__(self, client: Client, *, pods: Callable[[], Sequence[NetworkPod]], name_server: str) -> None:
        self.obstacle = ""
        self._client = client
        self._pods = pods
        self._name_server = name_server
        self._policies = Informer(client, NETWORK_POLICIES, NetworkPolicy)
        self._namespaces = Informer(client, NAMESPACES, _Namespace)
        self._enforcement: Enforcement | None = None
        self._turn = asyncio.Lock()
        self._following: asyncio.Task[None] | None = None
        self._changed = False

    async def begin(self, group: asyncio.TaskGroup, enforcement: Enforcement, obstacle: str, adopted: Iterable[str]) -> None:
        """Starts watching policies; existing ones are loaded when it returns."""
        if refused := await self._refused():
            self.obstacle = f"its credentials may not {listed(refused)}"
            log.warning("NetworkPolicies have no effect on pods of this node: %s", self.obstacle)
            return
        self.obstacle = obstacle
        self._enforcement = enforcement
        enforcement.adopt(adopted)
        for informer in (self._policies, self._namespaces):
            group.create_task(informer.run())
        for informer in (self._policies, self._namespaces):
            await informer.wait_synced()
        self._policies.add_handler(lambda old, new: self.changed())
        self._namespaces.add_handler(lambda old, new: self.changed())

    async def _refused(self) -> list[Request]:
        """The missing permissions, if any. Retries while the server is unreachable."""
        while True:
            try:
                return [request for request, is_allowed in (await allowed(self._client, _NEEDED)).items() if not is_allowed]
            except PASSING as error:
                log.warning("Whether NetworkPolicies may be read is not known yet: %s", error.message)
                await asyncio.sleep(_RETRY_SECONDS)

    async def bring_up_to_date(self, uid: str) -> None:
        """Returns when all pods are up to date with the world as it was at the call, or later. Raises LauncherError or OSError
        when that failed for the pod with the uid; for other pods it is tried again in the background."""
        failures = await self._bring_up_to_date()
        if failures.keys() - {uid}:
            self.changed()
        if uid in failures:
            raise failures[uid]

    async def _bring_up_to_date(self) -> Failures:
        if self._enforcement is None:
            return {}
        async with self._turn:
            return await self._enforcement.bring_up_to_date(self._world())

    def changed(self) -> None:
        """Handles a change of policies, namespaces or pods: updates all pods, and retries until that succeeds."""
        self._changed = True
        if self._following is None or self._following.done():
            self._following = asyncio.ensure_future(self._follow())

    def stop(self) -> None:
        """Stops following policies; filters stay as they are."""
        if self._following is not None:
            self._following.cancel()

    async def _follow(self) -> None:
        while self._changed:
            self._changed = False
            failures = await self._bring_up_to_date()
            for uid, error in failures.items():
                log.error("NetworkPolicies are not enforced for pod %s as they are now, trying again: %s", uid, error)
            if failures:
                self._changed = True
                await asyncio.sleep(_RETRY_SECONDS)

    def _world(self) -> World:
        namespaces = {one.metadata.name: one.metadata.labels for one in self._namespaces.store.list()}
        return World(self._policies.store.list(), namespaces, self._pods(), self._name_server)


class PacketFilters:
    """The filters of pods with their own networks; `network_of` returns the file to which a pod's network is bound, by the pod's
    uid."""

    def __init__(self, launcher: Launcher, *, network_of: Callable[[str], Path], trusted: str) -> None:
        self._launcher = launcher
        self._network_of = network_of
        self._trusted = trusted
        self._set: dict[str, Limits | None] = {}
        """The limits that each filter sets, by uid; None when unknown. A new pod has no limits."""

    async def obstacle(self) -> str:
        """Why filters have no effect on this machine; empty when they have."""
        try:
            await self._launcher.request("try filter")
        except LauncherError as error:
            return f"this machine cannot filter packets with nf_tables ({error.message})"
        return ""

    def adopt(self, uids: Iterable[str]) -> None:
        """Marks their filters as unknown, so that the next `bring_up_to_date` sets them."""
        self._set |= dict.fromkeys(uids)

    async def clear(self, uids: Iterable[str]) -> None:
        """Removes the filters of an earlier agent when policies have no effect any more."""
        for uid in uids:
            if self._network_of(uid).exists() and (error := await self._apply(uid, _UNLIMITED)):
                log.error("The packet filter of pod %s could not be removed; restart the pod: %s", uid, error)

    async def bring_up_to_date(self, world: World) -> Failures:
        """Sets all changed filters. Waits for all requests: of two concurrent ones for one pod, the older could finish last."""
        wanted = limits(world)
        self._set = {uid: before for uid, before in self._set.items() if uid in wanted}
        due = [(uid, one) for uid, one in wanted.items() if self._set.get(uid, _UNLIMITED) != one]
        errors = await asyncio.gather(*(self._apply(uid, one) for uid, one in due))
        return {uid: error for (uid, _), error in zip(due, errors, strict=True) if error is not None}

    async def _apply(self, uid: str, wanted: Limits) -> LauncherError | OSError | None:
        """Sets the filter of a pod; returns the error, if any."""
        self._set[uid] = None
        sides = {
            side: None if allowances is None else [one._asdict() for one in allowances]
            for side, allowances in wanted._asdict().items()
        }
        try:
            await self._launcher.request("filter", namespace=str(self._network_of(uid)), trusted=self._trusted, **sides)
        except (LauncherError, OSError) as error:
            return error if self._network_of(uid).exists() else None  # the pod has gone meanwhile
        self._set[uid] = wanted
        return None


class Warnings:
    """On a node that does not enforce policies: records an event for each pod that a policy selects, once."""

    def __init__(self, recorder: EventRecorder, reason: str) -> None:
        self._recorder = recorder
        self._reason = reason
        self._warned: set[tuple[str, str]] = set()

    def adopt(self, uids: Iterable[str]) -> None:
        """Does nothing: one more event does no harm."""

    async def bring_up_to_date(self, world: World) -> Failures:
        """Records a warning for each pod and policy that selects it, once while the policy selects the pod. Never fails."""
        selected = [(pod, policy) for pod in world.pods if pod.address for policy in selecting(world.policies, pod)]
        for pod, policy in selected:
            if (pod.uid, policy.metadata.uid) not in self._warned:
                message = f"NetworkPolicy {policy.metadata.name} selects this pod and is not enforced: {self._reason}"
                regarding = Ref(PODS, pod.namespace, pod.name, pod.uid)
                note = Note(
                    regarding=regarding, type="Warning", reason="NetworkPolicyNotEnforced", message=message, action="Running"
                )
                self._recorder.record(note)
        self._warned = {(pod.uid, policy.metadata.uid) for pod, policy in selected}
        return {}
