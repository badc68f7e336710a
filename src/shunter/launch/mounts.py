"""What the pods of a program mount: its code, its checkpoints, the claims that were asked for; each at its own path. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from shunter.api.meta import Json
from shunter.api.trainer import template as templates
from shunter.api.trainer.runtime import HOST_FILE_DIRECTORY, NODE
from shunter.errors import InputError
from shunter.launch.annotations import SHORT
from shunter.launch.code.delivery import Code, ImageCode, MountedCode
from shunter.launch.options import Checkpoints, ClaimVolume, LaunchOptions
from shunter.launch.runtimes.choice import MPIRUN, Runtime

CODE_PATH = "/workspace/code"
PACKED_PATH = "/workspace/packed"
CHECKPOINTS_PATH = "/workspace/checkpoints"
SSH_PATH = "/root/.ssh"
SYSTEM_PATHS = ("/", "/dev", "/proc", "/sys")
"""What stands there comes with the container."""
TOKENS_PATH = "/var/run/secrets"
"""The directory of the tokens of the service account, and for the server that receives progress."""

VolumeAndMount = tuple[Json, Json]
"""A volume of a pod, and its mount without the volume's name."""


def map_name(digest: str, number: int) -> str:
    """The name of the ConfigMap with part `number` of the code."""
    return f"code-{digest[:SHORT]}-{number}"


def code_volumes(code: Code) -> list[VolumeAndMount]:
    """One for code that is mounted, none for code in an image; of packed code its pieces, and where they are unpacked."""
    if isinstance(code, MountedCode):
        source = {"path": code.directory, "type": "Directory"}
        return [({"name": "code", "hostPath": source}, {"mountPath": CODE_PATH, "readOnly": True})]
    if isinstance(code, ImageCode):
        return []
    sources = [{"configMap": {"name": map_name(code.digest, number)}} for number in range(len(code.pieces))]
    return [
        ({"name": "packed-code", "projected": {"sources": sources}}, {"mountPath": PACKED_PATH, "readOnly": True}),
        ({"name": "code", "emptyDir": {}}, {"mountPath": CODE_PATH}),
    ]


def checkpoint_volumes(checkpoints: Checkpoints | None) -> list[VolumeAndMount]:
    """One, or none where there are no checkpoints, or they are at a URL."""
    if checkpoints is None or checkpoints.url:
        return []
    if checkpoints.directory:
        source: Json = {"hostPath": {"path": checkpoints.directory, "type": "DirectoryOrCreate"}}
    else:
        source = {"persistentVolumeClaim": {"claimName": checkpoints.claim}}
    inside = {"subPath": posixpath.normpath(checkpoints.inside)} if checkpoints.inside else {}
    return [({"name": "checkpoints", **source}, {"mountPath": CHECKPOINTS_PATH, **inside})]


def claim_volumes(volumes: Sequence[ClaimVolume]) -> list[VolumeAndMount]:
    """One for each --volume, in their order."""
    return [
        (
            {"name": f"volume-{number}", "persistentVolumeClaim": {"claimName": volume.claim}},
            {"mountPath": volume.path, **({"readOnly": True} if volume.read_only else {})},
        )
        for number, volume in enumerate(volumes)
    ]


def require_free_paths(options: LaunchOptions, code: Code, runtime: Runtime) -> None:
    """InputError for a volume at, above or below a path that something else of the job has: the server takes such a job, and its
    pods do not start, or do not see what they need."""
    others = _taken_paths(options, code, runtime)
    for volume in options.volumes:
        option = f"--volume {volume.claim}:{volume.path}"
        if volume.path in SYSTEM_PATHS or is_below(volume.path, "/proc") or is_below(volume.path, "/sys"):
            raise InputError(f"{option}: that path belongs to the container's operating system.", "Choose another path.")
        for path, what in others.items():
            if path == volume.path:
                raise InputError(f"{option}: {what} there.", "Choose another path.")
            if is_below(path, volume.path) or is_below(volume.path, path):
                raise InputError(f"{option}: {what} at {path}.", "Choose a path that is neither above nor below it.")
        others[volume.path] = f"claim {volume.claim} is mounted"


def is_below(path: str, above: str) -> bool:
    """Whether a path lies in another one."""
    return path.startswith(f"{above.rstrip('/')}/")


def _taken_paths(options: LaunchOptions, code: Code, runtime: Runtime) -> dict[str, str]:
    """What has which path, as the beginning of a sentence."""
    taken = {TOKENS_PATH: "the job's tokens are"}
    for job in templates.replicated_jobs(runtime.spec.get("template") or {}):
        for container in templates.containers(job):
            if container["name"] == NODE:
                paths = [mount["mountPath"] for mount in container.get("volumeMounts") or ()]
                taken |= dict.fromkeys(paths, f"runtime {runtime.name} mounts a volume")
    if options.fabric is not None:
        taken |= {
            mount["mountPath"]: f"--fabric {options.fabric.profile.name} mounts a volume"
            for mount in options.fabric.profile.mounts
        }
    if runtime.launcher == MPIRUN:
        taken |= {HOST_FILE_DIRECTORY: "the list of hosts is mounted", _ssh_path(runtime.spec): "the keys of SSH are mounted"}
    for volumes, what in (
        (code_volumes(code), "the code is mounted"),
        (checkpoint_volumes(options.checkpoints), "the checkpoints are mounted"),
    ):
        taken |= {mount["mountPath"]: what for _, mount in volumes}
    return taken


def _ssh_path(runtime_spec: Mapping[str, Json]) -> str:
    return ((runtime_spec.get("mlPolicy") or {}).get("mpi") or {}).get("sshAuthMountPath") or SSH_PATH
