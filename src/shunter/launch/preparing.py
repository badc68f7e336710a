"""From what was asked for to what can be submitted to a cluster: runtime, place for checkpoints, code. Reads the cluster;
what cannot be meant there is refused."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.cluster.namespaces import ensure_namespace, require_namespace_name
from shunter.cluster.target import Target
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.launch import embedded, option_texts
from shunter.launch.checkpoints.bucket_access import require_bucket
from shunter.launch.checkpoints.saved import make_directory, with_checkpoints
from shunter.launch.checkpoints.used_names import used_names
from shunter.launch.code.delivery import Code
from shunter.launch.fabric import find_fabric, require_profile
from shunter.launch.fabric import notes as fabric_notes
from shunter.launch.mounts import require_free_paths
from shunter.launch.named_objects import require_claims, require_queue
from shunter.launch.options import LaunchOptions
from shunter.launch.programs import PYTHON_PATH, code_of, dropped_path, idle_reason
from shunter.launch.resuming import require_resumable, with_resumed_place
from shunter.launch.runtimes.choice import Runtime, find_runtime, require_embedded, require_startable
from shunter.launch.submitting import secret_variables, silent


class PreparedJob(NamedTuple):
    """What `submit` takes, complete. `taken` are names that a new job must not get: others have checkpoints there."""

    options: LaunchOptions
    code: Code
    runtime: Runtime
    taken: set[str]


async def secret_environment(client: Client, namespace: str, texts: Iterable[str]) -> list[Json]:
    """EnvVars of `secret/NAME:KEY`, and of `secret/NAME` for every key that it has now. InputError where one is missing."""
    found = []
    for secret, key in map(option_texts.secret_reference, texts):
        found += await secret_variables(client, namespace, secret, key)
    return found


def require_understood(env_from: Iterable[str], fabric: str, instance: str, namespace: str) -> None:
    """InputError for references to Secrets, for a fabric and for a namespace, empty where none is given, that can be meant on no
    cluster; to be asked before one is started."""
    if namespace:
        require_namespace_name(namespace)
    for text in env_from:
        option_texts.secret_reference(text)
    require_profile(fabric, instance)


async def prepared(
    target: Target,
    asked: LaunchOptions,
    root: Path,
    *,
    namespace: str,
    runtime: str = "",
    fabric: str = "",
    instance: str = "",
    is_in_image: bool = False,
    is_copied: bool = False,
    is_started: bool = True,
    notify: Callable[[str], None],
) -> PreparedJob:
    """The options with what the cluster says of runtime, fabric and checkpoints, and the code of `root`. `notify` gets sentences
    about what may surprise. InputError for whatever cannot be meant on this cluster."""
    client, program = target.client, asked.program
    is_embedded = target.embedded is not None
    code = code_of(program, root, is_embedded=is_embedded, is_in_image=is_in_image, is_copied=is_copied)
    chosen = await find_runtime(client, namespace, runtime)
    if is_embedded:
        require_embedded(chosen)
        user = embedded.user_without_access(chosen, root)
        if user is not None and not (is_in_image or is_copied):
            notify(f"code: copied, because runtime {chosen.name} runs as user {user}, who may not read {root}")
            code = code_of(program, root, is_embedded=True, is_in_image=False, is_copied=True)
    options = dataclasses.replace(asked, fabric=await find_fabric(client, fabric, instance))
    require_startable(chosen, options)
    options = await with_resumed_place(client, namespace, options, notify)
    options = with_checkpoints(options, namespace, None if target.embedded is None else target.embedded.checkpoints)
    require_free_paths(options, code, chosen)
    await require_queue(client, namespace, options)
    # Before a job is deleted in its favour, and in a dry run, which writes nothing.
    await require_claims(client, namespace, options)
    await require_resumable(client, namespace, options)
    await require_bucket(client, namespace, options, may_write=is_started, notify=notify, is_here=is_embedded)
    tell = silent if options.resume else notify  # it resumes on purpose, from a place of its own
    taken = await used_names(client, namespace, options.checkpoints, options.environment, tell, name=options.name)
    if program.path and not is_in_image and (reason := idle_reason((root / program.path).read_bytes())):
        notify(f"warning: {program.path} {reason}")
    if not is_in_image and (path := dropped_path(root, os.environ, options.environment)):
        notify(
            f"warning: the program does not get {PYTHON_PATH} of this shell; if it imports from there: -e {PYTHON_PATH}={path}"
        )
    if options.fabric is not None:
        notify(f"fabric {options.fabric.title}")
    for note in fabric_notes(options.fabric, options.environment, options.gpus):
        notify(f"warning: {note}")
    missing = "" if is_in_image else embedded.missing_module(program, root)
    if target.embedded is not None:
        images, allocatable = embedded.images_of(target.embedded), await embedded.allocatable(client)
        if missing and embedded.runs_in_local_python(options, chosen, images):
            raise InputError(
                f"-m {program.module}: {missing} is neither in {root} nor installed in this Python environment.",
                "Run it in the directory of the package, name that directory with --workdir, or install it.",
            )
        if is_started:
            embedded.require_fabric_device(options, allocatable)
        for note in embedded.notes(options, allocatable, images):
            notify(f"warning: {note}")
    if missing:
        notify(f"module {missing} is neither in {root} nor installed here; the image must have it")
    return PreparedJob(options, code, chosen, taken)


async def make_embedded_place(target: Target, options: LaunchOptions, namespace: str, notify: Callable[[str], None]) -> None:
    """What a job needs on the embedded cluster before it is created: a directory for checkpoints, and its namespace. InputError
    where the directory cannot be made. Nothing on another cluster."""
    if target.embedded is None:
        return
    make_directory(options.checkpoints, target.embedded.checkpoints, namespace)
    await ensure_namespace(target.client, namespace, notify)
