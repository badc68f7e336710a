"""Options as they are written on a command line, read into the values of `options`. InputError names option, text and remedy."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping

from shunter.api.formats.durations import option_seconds
from shunter.api.meta import Json
from shunter.api.names import config_key_faults, subdomain_faults
from shunter.cluster.node.content.expansion import literal
from shunter.errors import InputError
from shunter.launch.checkpoints.destinations import read_place
from shunter.launch.objects import CHECKPOINT_VARIABLE
from shunter.launch.options import ClaimVolume, LaunchOptions, Program
from shunter.launch.tracking import tracking


def launch_options(
    program: Program,
    environment: Iterable[Json],
    *,
    nodes: int,
    gpus: int,
    procs: int | None,
    cpus: str,
    memory: str,
    name: str,
    image: str,
    volumes: Iterable[str],
    checkpoints: str,
    resume: str,
    grace: str,
    queue: str,
    labels: Mapping[str, str],
    deadline: str,
    mlflow: str,
    restarts: int | None,
    local_mlflow: str = "",
) -> LaunchOptions:
    """The options as values, of texts as the command and Python's `run` take them. `local_mlflow` is the address of the cluster's
    own MLflow server; variables of this process count where neither option nor variables name a server."""
    given = tuple(environment)
    if checkpoints and any(variable["name"] == CHECKPOINT_VARIABLE for variable in given):
        raise InputError(
            f"--checkpoints {checkpoints} and the variable {CHECKPOINT_VARIABLE} both name a place for checkpoints.",
            "Leave one of them out.",
        )
    return LaunchOptions(
        program=program,
        nodes=nodes,
        gpus=gpus,
        procs=procs,
        cpus=cpus,
        memory=memory,
        name=name,
        environment=given,
        image=image,
        volumes=tuple(map(volume, volumes)),
        checkpoints=read_place(checkpoints) if checkpoints else None,
        resume=resume,
        grace_seconds=option_seconds("--grace", grace),
        queue=queue,
        labels=dict(labels),
        deadline_seconds=option_seconds("--deadline", deadline),
        tracking=tracking(mlflow, given, os.environ, local=local_mlflow),
        restarts=restarts,
    )


def variables(texts: Iterable[str], mine: Mapping[str, str]) -> list[Json]:
    """EnvVars of `K=V`, and of `K`, whose value is taken from `mine`, the environment of the user who starts the job. The program
    gets each value as it is: nothing in it refers to another variable."""
    found = []
    for text in texts:
        name, given, value = text.partition("=")
        if not name:
            raise InputError(f"--env {text!r} names no variable.", "Write it like KEY=VALUE.")
        if not given:
            if name not in mine:
                raise InputError(
                    f"--env {name}: no such variable in the environment of this shell.", f"Write --env {name}=VALUE."
                )
            value = mine[name]
        found.append(variable(name, value))
    return found


def variable(name: str, value: str) -> Json:
    """An EnvVar whose value is exactly this."""
    return {"name": name, "value": literal(value)}


def secret_reference(text: str) -> tuple[str, str]:
    """Name and key of `secret/NAME:KEY`; the key is empty for `secret/NAME`, which means every key."""
    kind, _, rest = text.partition("/")
    name, given, key = rest.partition(":")
    if kind != "secret" or subdomain_faults(name) or (given and config_key_faults(key)):
        raise InputError(f"--env-from {text!r} does not name a Secret.", "Write secret/NAME or secret/NAME:KEY.")
    return name, key


def secret_variable(secret: str, key: str) -> Json:
    """An EnvVar named as the key. The value stays in the Secret."""
    return {"name": key, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def volume(text: str) -> ClaimVolume:
    """`CLAIM:/path` or `CLAIM:/path:ro`."""
    claim, _, rest = text.partition(":")
    path, _, mode = rest.partition(":")
    if not claim or not path.startswith("/") or mode not in ("", "ro") or (mode == "" and rest.endswith(":")):
        raise InputError(f"--volume {text!r} is invalid.", "Write CLAIM:/path, or CLAIM:/path:ro to only read.")
    # Two slashes at the beginning stay for normpath: POSIX leaves their meaning open.
    return ClaimVolume(claim, posixpath.normpath(f"/{path.lstrip('/')}"), read_only=mode == "ro")


def labels(texts: Iterable[str]) -> dict[str, str]:
    """`K=V` each."""
    found = {}
    for text in texts:
        key, given, value = text.partition("=")
        if not given:
            raise InputError(f"--label {text!r} has no value.", "Write it like team=vision.")
        if key in found:
            raise InputError(f"--label: {key} is given more than once.", "Leave all but one out.")
        found[key] = value
    return found
