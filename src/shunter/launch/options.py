"""What is to run and how, as values. They are checked when they are made: InputError names the option and the remedy."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from shunter.api.formats import quantity
from shunter.api.meta import Json
from shunter.api.names import (
    environment_name_faults,
    image_faults,
    label_1035_faults,
    label_key_faults,
    label_value_faults,
    subdomain_faults,
)
from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.argument_types import require_types
from shunter.errors import InputError
from shunter.launch.fabric import Fabric
from shunter.launch.open_secrets import require_no_secrets
from shunter.launch.tracking import Tracking, require_given_uri

GRACE_SECONDS = 120
"""The grace period of jobs that keep checkpoints, unless one is given: the time to save one."""
MOST = 2**31 - 1
"""Of any number: the fields that hold them are int32."""
_AMOUNTS = {"--cpus": "Write 4 or 500m.", "--memory": "Write 16Gi or 500Mi."}
LEAST_MEMORY = 2**20
"""In bytes. Less is another unit than was meant: m is a thousandth, and no unit is bytes."""
LONGEST_NAME = 48
"""Of a job: the names of its pods, NAME-node-0-0-abcde, are host names, of at most 63 characters. More nodes leave it less."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Program:
    """A script, by its path below the working directory, or a module; and its own arguments."""

    path: str = ""
    module: str = ""
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_types(Program, vars(self))
        if bool(self.path) == bool(self.module):
            raise InputError(f"Program: path={self.path!r} and module={self.module!r}.", "Name one of the two.")
        require_unicode("the program", self.path or self.module)
        for argument in self.arguments:
            require_unicode("the program's argument", argument)

    @property
    def title(self) -> str:
        """As it stands on the command line: `train.py`, `-m pkg.train`."""
        return f"-m {self.module}" if self.module else self.path


@dataclasses.dataclass(frozen=True)
class ClaimVolume:
    """A PersistentVolumeClaim, mounted at a path."""

    claim: str
    path: str
    read_only: bool = False


@dataclasses.dataclass(frozen=True)
class Checkpoints:
    """Where checkpoints are kept: exactly one of a claim (and a directory in it), a directory of this machine, which only the
    embedded cluster has, or a URL such as s3://bucket/prefix. The program gets a place below it that ends in the job's name."""

    claim: str = ""
    inside: str = ""
    directory: str = ""
    url: str = ""

    @property
    def title(self) -> str:
        """`claim runs`, `claim runs below a/b`, `/home/me/checkpoints`, `s3://bucket/prefix`."""
        if self.claim:
            return f"claim {self.claim}" + (f" below {self.inside}" if self.inside else "")
        return self.directory or self.url


@dataclasses.dataclass(frozen=True, kw_only=True)
class LaunchOptions:
    """How to run a program. Empty or None means: as the runtime has it. `name` is empty for one that is chosen."""

    program: Program
    nodes: int = 1
    gpus: int = 0
    """A node."""
    procs: int | None = None
    """Processes a node; by default one a GPU, else one."""
    cpus: str = ""
    memory: str = ""
    name: str = ""
    environment: tuple[Json, ...] = ()
    """EnvVars: `{"name": ..., "value": ...}`, or with `valueFrom`."""
    image: str = ""
    volumes: tuple[ClaimVolume, ...] = ()
    checkpoints: Checkpoints | None = None
    resume: str = ""
    """The job whose checkpoints the program goes on from, and adds to, in place of its own."""
    grace_seconds: int | None = None
    queue: str = ""
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    deadline_seconds: int | None = None
    tracking: Tracking | None = None
    """The MLflow that the program logs to."""
    restarts: int | None = None
    """How often all pods are recreated after a failure, before the job fails."""
    fabric: Fabric | None = None
    """The fast network; see `fabric.find_fabric`."""

    def __post_init__(self) -> None:
        require_types(LaunchOptions, vars(self))
        for option, value, least in (
            ("--nodes", self.nodes, 1),
            ("--gpus", self.gpus, 0),
            ("--procs", self.procs, 1),
            ("--grace", self.grace_seconds, 1),
            ("--deadline", self.deadline_seconds, 1),
        ):
            _require_number(option, value, least)
        require_restarts(self.restarts)
        for option, amount in (("--cpus", self.cpus), ("--memory", self.memory)):
            _require_quantity(option, amount)
        if self.name:
            _require_name(f"--name {self.name!r}", self.name)
            if len(self.name) > LONGEST_NAME:
                raise InputError(
                    f"--name {self.name!r} has {len(self.name)} characters; pod names contain it.",
                    f"Use at most {LONGEST_NAME}.",
                )
        for key, label in self.labels.items():
            _require(f"--label {key}={label}", [*label_key_faults(key), *label_value_faults(label)], "Write it like team=vision.")
        if self.image:
            _require(f"--image {self.image!r}", image_faults(self.image), "")
        if self.queue:
            _require(f"--queue {self.queue!r}", label_value_faults(self.queue), "Name a LocalQueue.")
            if QUEUE_LABEL in self.labels:
                raise InputError(f"--queue {self.queue} and --label {QUEUE_LABEL} both name a queue.", "Leave one of them out.")
        if self.resume:
            _require_name(f"--resume {self.resume!r}", self.resume)
        names = [str(variable.get("name", "")) for variable in self.environment]
        for name in names:
            _require(f"--env {name!r}", environment_name_faults(name), "Write it like KEY=VALUE.")
            if names.count(name) > 1:
                raise InputError(f"--env: {name} is given more than once.", "Leave all but one out.")
        for variable in self.environment:
            require_unicode(f"--env {variable['name']}", variable.get("value", ""))
        require_given_uri(self.environment)
        require_no_secrets(self.environment)
        paths = [volume.path for volume in self.volumes]
        for volume in self.volumes:
            _require(f"--volume {volume.claim}", subdomain_faults(volume.claim), "Write it like CLAIM:/path or CLAIM:/path:ro.")
            if not volume.path.startswith("/") or ":" in volume.path:
                raise InputError(
                    f"--volume {volume.claim}:{volume.path}: {volume.path!r} is not an absolute path.",
                    "Write it like CLAIM:/path.",
                )
            if paths.count(volume.path) > 1:
                raise InputError(f"--volume: {volume.path} is given more than once.", "Mount each claim at a different path.")

    @property
    def processes(self) -> int:
        """Processes a node."""
        return self.procs or self.gpus or 1

    @property
    def grace(self) -> int | None:
        """Seconds that pods get to end; None leaves that to the runtime."""
        return GRACE_SECONDS if self.grace_seconds is None and self.checkpoints else self.grace_seconds

    def named(self, name: str) -> LaunchOptions:
        """The same options for a job of this name."""
        return dataclasses.replace(self, name=name)


def require_restarts(number: int | None) -> None:
    """InputError for a number that no field holds."""
    _require_number("--restarts", number, 0)


def require_unicode(what: str, text: str) -> None:
    """InputError for bytes that no object can hold, such as those of a file name that is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{what} {os.fsencode(text)!r} is not UTF-8, as the texts of a job are.", "Rename or encode it."
        ) from error


def _require_number(option: str, number: int | None, least: int) -> None:
    if number is not None and number < least:
        raise InputError(f"{option} is {number}; it must be at least {least}.")
    if number is not None and number > MOST:
        raise InputError(f"{option} is {number}; it must be at most {MOST:,}.")


def _require(what: str, faults: list[str], remedy: str) -> None:
    if faults:
        raise InputError(f"{what}: {faults[0]}.", remedy)


def _require_name(what: str, name: str) -> None:
    """InputError for what a job cannot be called; how long it may be is another matter."""
    begin = name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME].rstrip("-")
    if label_1035_faults(begin):
        raise InputError(f"{what}: lower case letters, digits and '-' only, beginning with a letter, as in train-2.")


def _require_quantity(option: str, amount: Any) -> None:
    if not amount:
        return
    remedy = _AMOUNTS[option]
    try:
        number = quantity.parse(amount)
    except ValueError as error:
        raise InputError(f"{option} {amount!r} is not a quantity.", remedy) from error
    if number <= 0:
        raise InputError(f"{option} {amount!r} is not a positive quantity.", remedy)
    if option == "--memory" and number < LEAST_MEMORY:
        raise InputError(f"{option} {amount!r} is {float(number):g} bytes, too little for any program.", remedy)
