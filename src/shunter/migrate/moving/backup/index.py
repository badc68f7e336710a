"""The index of a backup: its objects, the state of each job, and the hash of each file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from shunter.api.meta import Json, Struct
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, TRAIN_JOBS
from shunter.api.titles import object_title
from shunter.cluster.node.content.references import references
from shunter.errors import InputError
from shunter.migrate.conversion.cleaning import digest_of
from shunter.migrate.moving.annotations import SOURCE, mark
from shunter.migrate.moving.runs.trial_labels import is_trial
from shunter.migrate.own_files import BACKUP_INDEX
from shunter.migrate.paths import mappings
from shunter.operator.overview import FINISHED_STATES, JOB_RESOURCES, overview

FORMAT = 1

_OF_PODS = ("containers", "initContainers", "volumes", "imagePullSecrets")
_LIKE_CONTAINERS = (("trainer",), ("initializer", "dataset"), ("initializer", "model"))
"""Where a TrainJob has variables, as containers have."""
_JOB_KINDS = frozenset((resource.api_version, resource.kind) for resource in JOB_RESOURCES)


class Entry(Struct, frozen=True):
    """One object and its file."""

    file: str
    """Relative to the backup's directory."""
    sha256: str
    api_version: str
    kind: str
    name: str
    namespace: str = ""
    state: str = ""
    """A job's: Created, Running, Restarting, Suspended, Succeeded or Failed."""
    owner: str = ""
    """The controller or tool that manages the object and would recreate it."""
    needs: tuple[str, ...] = ()
    """Objects that its pods reference and that are not in the backup: `Secret hf-token`, `ConfigMap script`."""
    source: str | None = None
    """The title of the v1 job that a TrainJob was converted from; empty if it was not, or for a trial. None for what is no
    TrainJob, and in backups that were made without it."""
    refused: str = ""
    """The server's reason not to accept the object again; empty if it would, or if it was not verified."""

    @property
    def title(self) -> str:
        """`PyTorchJob training/bert`."""
        return object_title(self.kind, self.namespace, self.name)

    @property
    def is_finished(self) -> bool:
        """Whether it is a job that had finished when it was read."""
        return self.state in FINISHED_STATES


class Index(Struct, frozen=True):
    """The content of `index.yaml`."""

    format: int
    tool: str
    server: str
    made: str
    """The time, RFC 3339."""
    verified: bool
    """Whether dry runs have checked that the server would accept each object again (`refused`)."""
    objects: tuple[Entry, ...]

    @property
    def refused(self) -> list[Entry]:
        """The objects that the server would not accept again."""
        return [entry for entry in self.objects if entry.refused]


def is_job(obj: Json) -> bool:
    """Whether it is a job of v1 or a TrainJob."""
    return (obj.get("apiVersion"), obj.get("kind")) in _JOB_KINDS


def state_of(obj: Json) -> str:
    """A job's state; empty for what is no job."""
    return overview(obj).state if is_job(obj) else ""


def source_of(obj: Json) -> str | None:
    """The title of the v1 job whose training a TrainJob is; empty if it has none, None if the object is no TrainJob."""
    if (obj.get("apiVersion"), obj.get("kind")) != (TRAIN_JOBS.api_version, TRAIN_JOBS.kind):
        return None
    return "" if is_trial(obj) else mark(obj, SOURCE)


def needs_of(obj: Json) -> tuple[str, ...]:
    """ConfigMaps, Secrets, claims and service accounts that the pods of a job or runtime name, and the ClusterTrainingRuntime of
    a TrainJob, sorted."""
    found: set[str] = set()
    for part in _parts_of_pods(obj):
        named = references({"spec": {**part, "containers": part.get("containers") or []}})
        found |= {f"ConfigMap {name}" for name in named.config_maps}
        found |= {f"Secret {name}" for name in named.secrets}
        found |= {f"Secret {secret['name']}" for secret in part.get("imagePullSecrets") or () if secret.get("name")}
        found |= {f"PersistentVolumeClaim {name}" for name in named.claims}
        if account := part.get("serviceAccountName"):
            found.add(f"ServiceAccount {account}")
    runtime = (obj.get("spec") or {}).get("runtimeRef") or {}
    if runtime.get("name") and runtime.get("kind", CLUSTER_TRAINING_RUNTIMES.kind) == CLUSTER_TRAINING_RUNTIMES.kind:
        found.add(f"{CLUSTER_TRAINING_RUNTIMES.kind} {runtime['name']}")
    return tuple(sorted(found))


def _parts_of_pods(obj: Json) -> Iterator[Json]:
    """The specs of pods in the object, whole or in part, and what a TrainJob has beside them: its trainer and initializers."""
    for path, part in mappings(obj.get("spec") or {}):
        if any(isinstance(part.get(field), list) for field in _OF_PODS) or "serviceAccountName" in part:
            yield part
        elif path in _LIKE_CONTAINERS:
            secret = (part.get("secretRef") or {}).get("name")
            yield {"containers": [part], "imagePullSecrets": [{"name": secret}]}


def read_index(directory: Path) -> Index:
    """The index of a backup. InputError when the directory holds none, or one of a newer format."""
    path = directory / BACKUP_INDEX
    try:
        index = msgspec.yaml.decode(path.read_bytes(), type=Index)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}.", "Name a directory that `shunter migrate backup` wrote.") from error
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: not the index of a backup: {error}.") from error
    if index.format > FORMAT:
        raise InputError(f"{path}: format is {index.format}; this version reads up to {FORMAT}.", "Take a newer shunter.")
    return index


def read_entry(directory: Path, entry: Entry) -> Json:
    """The object of an entry. InputError when its file is gone, or is not what was written."""
    path = directory / entry.file
    if not path.resolve().is_relative_to(directory.resolve()):
        raise InputError(f"{directory / BACKUP_INDEX}: objects[].file is {entry.file!r}, outside of the backup.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}.") from error
    if digest_of(content) != entry.sha256:
        raise InputError(
            f"{path}: is not what was backed up: its SHA-256 is {digest_of(content)}, the index says {entry.sha256}.",
            "Restore it by hand with kubectl if it was edited on purpose.",
        )
    obj: Json = msgspec.yaml.decode(content)
    return obj
