"""From a pod to running attempts: sandbox, sources, volumes once a pod; environment, limits, launch once an attempt."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from shunter.api.core import Service
from shunter.api.meta import Json, annotations_of
from shunter.cluster.local_path import is_provisioned
from shunter.cluster.node.content.downward import PodContext
from shunter.cluster.node.content.environment import declared_environment, unknown_program, unsupported_source
from shunter.cluster.node.content.images import ImageError, Images
from shunter.cluster.node.content.mounts import Mount, container_mounts
from shunter.cluster.node.content.references import MissingSourceError, Sources, names_sources
from shunter.cluster.node.content.service_account_tokens import is_fresh, stored_tokens
from shunter.cluster.node.content.service_links import api_server_variables, service_variables
from shunter.cluster.node.content.sources import fetch_sources
from shunter.cluster.node.content.user_identity import refuse_root, volume_group
from shunter.cluster.node.content.volume_files import give_to_group, is_from_api, volume_files, write_files
from shunter.cluster.node.content.volumes import read_only_volumes, sealed_volumes, volume_source
from shunter.cluster.node.content.warm_start import ANNOTATION, module_names
from shunter.cluster.node.gpus import Gpus, variables
from shunter.cluster.node.launch import attempt as files
from shunter.cluster.node.layout import PodDirectory
from shunter.cluster.node.pod import container_attempts
from shunter.cluster.node.pod.assigned_pod import AssignedPod
from shunter.cluster.node.pod.containers import Role, every
from shunter.cluster.node.resources import limits
from shunter.cluster.node.runtime.cgroups import Cgroups
from shunter.cluster.node.runtime.launcher import Launcher
from shunter.cluster.node.runtime.protocol import ContainerRequest, Runtime
from shunter.cluster.node.runtime.warm_parents import WarmParent, WarmParents
from shunter.errors import EnvironmentProblem
from shunter.kube.client import Client
from shunter.kube.errors import ApiError


class StartProblem(Exception):
    """Why a pod or container cannot start for now: what its status and its event say, in kubelet's words."""

    def __init__(self, reason: str, message: str, *, event: str, event_message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.event = event
        self.event_message = event_message


class StartDependencies(NamedTuple):
    """What starting a container takes, shared by all pods of the node."""

    client: Client
    runtime: Runtime
    launcher: Launcher
    cgroups: Cgroups
    images: Images
    host_ip: str
    capacity: Mapping[str, Fraction]
    gpus: Gpus
    services: Callable[[str], Iterable[Service]]
    """The Services of a namespace, for the variables of its pods."""
    enforce_policies: Callable[[str], Awaitable[None]]
    """Returns when the NetworkPolicies of all pods with an address are enforced. Raises LauncherError or OSError where that
    failed for the pod with this uid."""
    warm_parents: WarmParents
    warm_modules: tuple[str, ...]
    """What containers of pods that say nothing of it need not import again; empty for none."""


class ContainerStarter:
    """Starts the attempts of one pod. `prepare` must have succeeded before `start`."""

    def __init__(self, dependencies: StartDependencies, directory: PodDirectory) -> None:
        self._dependencies = dependencies
        self._directory = directory
        self._sources = Sources({}, {}, {})
        self._volumes: dict[str, Path] = {}
        self.address = ""
        self.is_prepared = False

    def adopt(self) -> None:
        """Takes over the sandbox that an earlier agent made, if it is still there."""
        self.address = self._dependencies.runtime.adopt_sandbox(self._directory)

    async def prepare(self, pod: AssignedPod) -> None:
        """Sandbox and volumes. Raises StartProblem; what was done stays, so it may be called again."""
        body = pod.as_json()
        from_api = asyncio.ensure_future(self._fill_from_api(pod, body))
        try:
            if not self.address:
                try:
                    self._directory.path.mkdir(parents=True, exist_ok=True, mode=0o700)
                    files.write_json(str(self._directory.pod_file), {"metadata": body["metadata"]})
                    self.address = await self._dependencies.runtime.create_sandbox(body, self._directory)
                except (EnvironmentProblem, OSError) as error:
                    raise _sandbox_problem(error) from error
            # Before anything runs in it, and before anything of it reaches others.
            try:
                await self._dependencies.enforce_policies(pod.uid)
            except (EnvironmentProblem, OSError) as error:
                raise _sandbox_problem(error, "NetworkPolicies cannot be enforced: ") from error
            await from_api
        finally:
            if not from_api.cancel() and not from_api.cancelled():
                from_api.exception()  # the sandbox's problem is shown first
        for volume in pod.spec.get("volumes") or ():
            if not is_from_api(volume):
                self._fill(volume, body)
        self.is_prepared = True

    async def _fill_from_api(self, pod: AssignedPod, body: Json) -> None:
        """Fetches what the pod refers to, and fills the volumes that are made of nothing else. Raises StartProblem."""
        self._sources = await self._fetch(pod)
        for volume in pod.spec.get("volumes") or ():
            if is_from_api(volume):
                self._fill(volume, body)

    def _fill(self, volume: Json, body: Json) -> None:
        """Raises StartProblem."""
        try:
            self._volumes[volume["name"]] = self._filled(volume, body)
        except (MissingSourceError, ValueError, OSError) as error:
            message = f'MountVolume.SetUp failed for volume "{volume["name"]}" : {error}'
            raise StartProblem("ContainerCreating", message, event="FailedMount", event_message=message) from error

    async def refresh_volumes(self, pod: AssignedPod) -> None:
        """Brings the files of volumes made from API objects up to date, also those that an earlier agent wrote. Sources that
        vanished leave the files as they are."""
        self._sources = await self._fetch(pod)
        body = pod.as_json()
        for volume in pod.spec.get("volumes") or ():
            if is_from_api(volume):
                with suppress(MissingSourceError):
                    self._filled(volume, body)

    def _filled(self, volume: Json, pod: Json) -> Path:
        """Where a volume lies, with the files, rights and group that are its pod's."""
        source = volume_source(self._sources.resolved(volume), self._directory)
        behind = self._sources.volume_behind(volume)
        is_own = behind is not None and is_provisioned(annotations_of(behind))
        if is_own and not any(source.iterdir()):
            source.chmod(0o777)  # its users are not known yet
        own = self._dependencies.runtime.switches_users
        group = volume_group(pod["spec"]) if own else None
        if is_from_api(volume):
            write_files(source, volume_files(volume, pod, self._sources, self._context()), group=group, own=own)
        elif group is not None and ("emptyDir" in volume or is_own or (behind and "local" in behind["spec"])):
            give_to_group(source, group, read_only=False)
        return source

    async def start(self, pod: AssignedPod, container: Json, number: int) -> int:
        """Launches one attempt and returns the read end of its events FIFO. Raises StartProblem."""
        body = pod.as_json()
        directory = self._directory.attempt(container["name"], number)
        image = container.get("image", "")
        if number and names_sources(container):
            # What changed since the run before counts; while the server is away, what was known then.
            with suppress(StartProblem):
                self._sources = await self._fetch(pod)
        is_main = any(one["name"] == container["name"] and role is Role.MAIN for one, role in every(pod.spec))
        if is_main:
            self._dependencies.runtime.set_initialized(body, self._directory)
        try:
            if problem := unsupported_source(container):
                raise ValueError(problem)
            refuse_root(body, container)
            found = self._dependencies.images.find(image)
            platform = api_server_variables(*self._dependencies.runtime.api_server(body))
            links = self._service_variables(pod)
            declared = declared_environment(
                body, container, sources=self._sources, context=self._context(), given={**platform, **links}
            )
            gpus = variables(self._dependencies.gpus.of(pod.uid, container["name"]))
            environment = {**links, **gpus, **declared}
            request = ContainerRequest(
                body, container, self._directory, number, found, environment, platform,
                self._mounts(pod.spec, container, environment),
                self._dependencies.cgroups.create(self._group(container["name"], number), limits(container)),
            )  # fmt: skip
            spec = {
                **self._dependencies.runtime.attempt_spec(request),
                "unknown_program": unknown_program(container, found.entrypoint),
            }
        except ImageError as error:
            raise StartProblem(
                "ErrImagePull", str(error), event="Failed", event_message=f'Failed to pull image "{image}": {error}'
            ) from error
        except (MissingSourceError, ValueError) as error:
            # The next try may find what is missing.
            self.is_prepared = False
            raise StartProblem(
                "CreateContainerConfigError", str(error), event="Failed", event_message=f"Error: {error}"
            ) from error
        except (EnvironmentProblem, OSError) as error:
            raise StartProblem("CreateContainerError", str(error), event="Failed", event_message=f"Error: {error}") from error
        spec = {**spec, **_standard_streams(container)}
        warm, says = self._warm_start(pod, spec) if is_main else (None, {})
        try:
            container_attempts.create(directory, {**spec, **says})
            return await self._dependencies.launcher.run_attempt(directory, warm)
        except FileExistsError:
            raise
        except OSError as error:
            # A full disk, a machine without room for a process: nothing runs, so the number is free again.
            container_attempts.discard(directory)
            raise StartProblem("CreateContainerError", str(error), event="Failed", event_message=f"Error: {error}") from error

    def _warm_start(self, pod: AssignedPod, spec: Json) -> tuple[WarmParent | None, Json]:
        """The warm parent that starts a main container, if one does, and what the spec says of it."""
        asked = pod.metadata.annotations.get(ANNOTATION)
        try:
            modules = self._dependencies.warm_modules if asked is None else module_names(asked)
        except ValueError as error:
            return None, {"cold": f"annotation {ANNOTATION}: {error}"}
        return self._dependencies.warm_parents.find(spec, modules) if modules else (None, {})

    def release_group(self, container: str, number: int) -> None:
        """Removes the cgroup of an attempt that has ended."""
        self._dependencies.cgroups.remove(self._group(container, number))

    async def release(self) -> None:
        """Frees what a finished pod needs no more (address, mounts, written layers); logs and states stay."""
        self._dependencies.cgroups.remove(self._directory.uid)
        await self._dependencies.runtime.release_sandbox(self._directory)

    async def remove(self) -> None:
        """Removes everything of the pod."""
        self._dependencies.cgroups.remove(self._directory.uid)
        await self._dependencies.runtime.remove_sandbox(self._directory)

    def _group(self, container: str, number: int) -> str:
        # One per attempt: the kernel's count of memory kills never goes back to zero.
        return f"{self._directory.uid}/{container}.{number}"

    def _mounts(self, spec: Json, container: Json, environment: Mapping[str, str]) -> list[Mount]:
        read_only, sealed = read_only_volumes(spec), sealed_volumes(spec)
        return container_mounts(container, self._volumes, environment, read_only=read_only, sealed=sealed)

    def _service_variables(self, pod: AssignedPod) -> dict[str, str]:
        if pod.spec.get("enableServiceLinks") is False:
            return {}
        return service_variables(self._dependencies.services(pod.metadata.namespace))

    def _context(self) -> PodContext:
        return PodContext(self.address, self._dependencies.host_ip, self._dependencies.capacity)

    async def _fetch(self, pod: AssignedPod) -> Sources:
        try:
            known = self._sources.tokens or stored_tokens(pod.spec, self._directory)
            tokens = {key: token for key, token in known.items() if is_fresh(token, key, time.time())}
            return await fetch_sources(self._dependencies.client, pod, tokens)
        except ApiError as error:
            message = f"the API server did not give what the pod refers to: {error.message}"
            raise StartProblem("ContainerCreating", message, event="FailedMount", event_message=message) from error


def _sandbox_problem(error: EnvironmentProblem | OSError, what: str = "") -> StartProblem:
    """`what` failed; empty for all of it."""
    why = what + (error.message if isinstance(error, EnvironmentProblem) else str(error))
    event_message = f"Failed to create pod sandbox: {why}"
    return StartProblem("ContainerCreating", why, event="FailedCreatePodSandBox", event_message=event_message)


def _standard_streams(container: Json) -> Json:
    """How the container's input and output are connected; `stdin_once`: its input ends with the first who typed it."""
    return {
        "stdin": bool(container.get("stdin")),
        "stdin_once": bool(container.get("stdinOnce")),
        "terminal": bool(container.get("tty")),
    }


def has_refreshable_volumes(spec: Json) -> bool:
    """Whether volumes of the pod follow changes of API objects."""
    return any(is_from_api(volume) for volume in spec.get("volumes") or ())
