"""The directories of volumes that the provisioner made, which are deleted with their volumes unless these are retained."""

from __future__ import annotations

import asyncio
import shutil
from logging import getLogger
from pathlib import Path

from shunter.api.resources import PERSISTENT_VOLUMES
from shunter.cluster.controllers.removals import Removals
from shunter.cluster.controllers.volumes.views import DIRECTORY_FINALIZER, VOLUME_PROTECTION, Volume
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, NotFound

log = getLogger(__name__)

RETRY_SECONDS = 1.0


class DirectoryRemover:
    """Lets volumes of ours go once their directory is gone. What does not lie directly below `directory` is never touched."""

    def __init__(self, client: Client, directory: Path) -> None:
        self._client = client
        self._directory = directory
        self._removals = Removals()

    def changed(self, old: Volume | None, new: Volume | None) -> None:
        """For the informer of volumes."""
        if new is None or not is_to_be_emptied(new) or new.metadata.uid in self._removals:
            return
        self._removals.start(new.metadata.uid, self._remove(new), f"directory of {new.metadata.name}")

    async def run(self) -> None:
        """Waits to be cancelled, and then ends all removals."""
        await self._removals.run()

    async def _remove(self, volume: Volume) -> None:
        path = Path(volume.spec.host_path.get("path", ""))
        is_kept = volume.spec.persistent_volume_reclaim_policy == "Retain"
        while True:
            try:
                if path.parent == self._directory and not is_kept:
                    await asyncio.to_thread(remove_tree, path)
                await self._release(volume)
                return
            except (ApiError, OSError) as error:
                log.warning("directory of volume %s: %s", volume.metadata.name, error)
            await asyncio.sleep(RETRY_SECONDS)

    async def _release(self, volume: Volume) -> None:
        finalizers = [finalizer for finalizer in volume.metadata.finalizers if finalizer != DIRECTORY_FINALIZER]
        patch = {"metadata": {"uid": volume.metadata.uid, "finalizers": finalizers or None}}
        try:
            await self._client.patch(PERSISTENT_VOLUMES, volume.metadata.name, "", patch)
        except NotFound:
            return


def is_to_be_emptied(volume: Volume) -> bool:
    """Whether the volume is being deleted and no claim has it any more."""
    metadata = volume.metadata
    is_protected = VOLUME_PROTECTION in metadata.finalizers
    return metadata.deletion_timestamp is not None and DIRECTORY_FINALIZER in metadata.finalizers and not is_protected


def remove_tree(path: Path) -> None:
    """Removes a directory with all that is in it; one that is gone is fine. Raises OSError."""
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
