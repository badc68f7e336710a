"""The index of a backup: what is in it, in which state each job was, and the hash of each file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shunter.api.meta import Json, Struct
from shunter.api.titles import object_title
from shunter.cluster.node.content.references import references
from shunter.errors import InputError
from shunter.migrate.conversion.cleaning import digest_of
from shunter.migrate.own_files import BACKUP_INDEX
from shunter.operator.overview import FINISHED_STATES, JOB_RESOURCES, overview, replica_specs

FORMAT = 1

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
    """Who made the object, or looks after it, and would make it again."""
    needs: tuple[str, ...] = ()
    """What its pods name in their namespace and a restore does not bring: `Secret hf-token`, `ConfigMap script`."""
    refused: str = ""
    """Why the server would not take the object back, in its words; empty when it would, or was not asked."""

    @property
    def title(self) -> str:
        """`PyTorchJob training/bert`."""
        return object_title(self.kind, self.namespace, self.name)

    @property
    def is_finished(self) -> bool:
        """Whether it is a job that had ended when it was read; False for what is no job."""
        return self.state in FINISHED_STATES


class Index(Struct, frozen=True):
    """What `index.yaml` of a backup holds."""

    format: int
    tool: str
    server: str
    made: str
    """When, RFC 3339."""
    verified: bool
    """Whether the server was asked, in a dry run, whether it would take each object back (`refused` of each)."""
    objects: tuple[Entry, ...]

    @property
    def refused(self) -> list[Entry]:
        """The objects that the server would not take back as they are."""
        return [entry for entry in self.objects if entry.refused]


def is_job(obj: Json) -> bool:
    """Whether it is a job of v1 or a TrainJob."""
    return (obj.get("apiVersion"), obj.get("kind")) in _JOB_KINDS


def state_of(obj: Json) -> str:
    """A job's state; empty for what is no job."""
    return overview(obj).state if is_job(obj) else ""


def needs_of(obj: Json) -> tuple[str, ...]:
    """ConfigMaps, Secrets, claims and service accounts that a v1 job's pods name, sorted."""
    found: set[str] = set()
    for spec in replica_specs(obj).values():
        pod = (spec.get("template") or {}).get("spec") or {}
        named = references({"spec": {"containers": [], **pod}})
        found |= {f"ConfigMap {name}" for name in named.config_maps}
        found |= {f"Secret {name}" for name in named.secrets}
        found |= {f"Secret {secret['name']}" for secret in pod.get("imagePullSecrets") or () if secret.get("name")}
        found |= {f"PersistentVolumeClaim {name}" for name in named.claims}
        if account := pod.get("serviceAccountName"):
            found.add(f"ServiceAccount {account}")
    return tuple(sorted(found))


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
