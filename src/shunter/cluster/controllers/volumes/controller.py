"""The controllers of claims and volumes: they observe, and the plans decide."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from logging import getLogger
from pathlib import Path

from shunter.api.core import Pod
from shunter.api.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, STORAGE_CLASSES
from shunter.api.scheduling.storage_classes import IS_DEFAULT, default_class
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.cluster.controllers.volumes import claim_plan, volume_plan
from shunter.cluster.controllers.volumes.directories import DirectoryRemover
from shunter.cluster.controllers.volumes.views import (
    WAIT_FOR_CONSUMER,
    Claim,
    StorageClass,
    Volume,
)
from shunter.cluster.local_path import PROVISIONER
from shunter.kube.cache.store import Store, key_of
from shunter.kube.client import Client
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Key
from shunter.kube.errors import AlreadyExists, ApiError

log = getLogger(__name__)

COMPONENT = "persistentvolume-controller"
UNBOUND = "unbound"
BY_CLAIM = "claim"
RETRY_SECONDS = 1.0
STANDARD = "standard"


def register(manager: Manager, client: Client, *, directory: Path | None, strict: bool) -> None:
    """Adds the controllers of claims and volumes. `directory` is where the provisioner makes volumes; None makes none, and then
    there is no class either. A `strict` provisioner serves no class that does not exist."""
    claims = manager.informer(PERSISTENT_VOLUME_CLAIMS, Claim, indexes={UNBOUND: by_unbound})
    volumes = manager.informer(PERSISTENT_VOLUMES, Volume, indexes={BY_CLAIM: by_claim, UNBOUND: by_free})
    classes = manager.informer(STORAGE_CLASSES, StorageClass)
    pods = manager.informer(PODS, Pod, indexes={BY_CLAIM: by_claims})
    recorder = manager.recorder(COMPONENT)

    def observe_claim(key: Key) -> claim_plan.Observed | None:
        """The claim, the volumes bound to it, reserved for it or free, its class, and whether a pod on a node uses it."""
        claim = claims.store.get(key)
        if claim is None:
            return None
        named = volumes.store.get(Key("", claim.spec.volume_name)) if claim.spec.volume_name else None
        found = (*volumes.store.by_index(BY_CLAIM, str(key)), *volumes.store.by_index(UNBOUND, UNBOUND))
        return claim_plan.Observed(
            claim=claim,
            volumes=(named, *found) if named is not None else found,
            storage_class=classes.store.get(Key("", claim.storage_class)) if claim.storage_class else None,
            default_class=default_class(one.metadata for one in classes.store.list()),
            in_use=any(pod.spec.node_name for pod in pods.store.by_index(BY_CLAIM, str(key))),
            directory=str(directory or ""),
            strict=strict,
        )

    def observe_volume(key: Key) -> volume_plan.Observed | None:
        """The volume, and the claim that now has the name in its claimRef, which may differ from the claim it was bound to."""
        volume = volumes.store.get(key)
        if volume is None:
            return None
        reference = volume.spec.claim_ref
        claim = claims.store.get(Key(reference.namespace, reference.name)) if reference else None
        return volume_plan.Observed(volume=volume, claim=claim)

    def all_unbound(_: StorageClass | Volume) -> Iterable[Key]:
        return [key_of(claim) for claim in claims.store.by_index(UNBOUND, UNBOUND)]

    def concerned(volume: Volume) -> Iterable[Key]:
        reference = volume.spec.claim_ref
        return all_unbound(volume) if reference is None else [Key(reference.namespace, reference.name)]

    manager.controller(
        "persistent-volume-claims",
        FunctionReconciler(observe_claim, lambda observed, _: claim_plan.plan(observed)),
        primary=claims,
        mapped=[(volumes, concerned), (classes, all_unbound), (pods, claims_of)],
        recorder=recorder,
    )
    manager.controller(
        "persistent-volumes",
        FunctionReconciler(observe_volume, lambda observed, _: volume_plan.plan(observed)),
        primary=volumes,
        mapped=[(claims, lambda claim: volumes_of(claim, volumes.store))],
        recorder=recorder,
    )
    if directory is not None:
        remover = DirectoryRemover(client, directory)
        volumes.add_handler(remover.changed)
        manager.background("volume-directories", remover.run)
        manager.background("storage-class", StandardClass(client).run)


def by_unbound(claim: Claim) -> Iterable[str]:
    """The index of claims whose phase is not Bound, all under UNBOUND."""
    return () if claim.is_bound else (UNBOUND,)


def by_free(volume: Volume) -> Iterable[str]:
    """The index of volumes that name no claim, all under UNBOUND."""
    return (UNBOUND,) if volume.spec.claim_ref is None else ()


def by_claim(volume: Volume) -> Iterable[str]:
    """The index of volumes by the claim that they are bound to or reserved for."""
    reference = volume.spec.claim_ref
    return () if reference is None else (f"{reference.namespace}/{reference.name}",)


def by_claims(pod: Pod) -> Iterable[str]:
    """The index of pods by their claims: `default/data`."""
    return [str(key) for key in claims_of(pod)]


def claims_of(pod: Pod) -> Iterable[Key]:
    """The keys of the pod's claims, which need not exist."""
    return [Key(pod.metadata.namespace, name) for name in pod.claims]


def volumes_of(claim: Claim, volumes: Store[Volume]) -> Iterable[Key]:
    """The volumes that a claim's coming, change or end may concern."""
    named = {claim.spec.volume_name} - {""}
    return [Key("", name) for name in named | {one.metadata.name for one in volumes.by_index(BY_CLAIM, str(key_of(claim)))}]


class StandardClass:
    """Makes the default class once a start, if it is not there."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def run(self) -> None:
        """Tries until the server answers, then waits to be cancelled."""
        while True:
            if await self._is_there():
                await asyncio.Event().wait()
            await asyncio.sleep(RETRY_SECONDS)

    async def _is_there(self) -> bool:
        body = {
            "apiVersion": STORAGE_CLASSES.api_version,
            "kind": STORAGE_CLASSES.kind,
            "metadata": {"name": STANDARD, "annotations": {IS_DEFAULT: "true"}},
            "provisioner": PROVISIONER,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": WAIT_FOR_CONSUMER,
        }
        try:
            await self._client.create(STORAGE_CLASSES, body)
        except AlreadyExists:
            return True
        except ApiError as error:
            log.warning("StorageClass %s: %s", STANDARD, error.message)
            return False
        return True
