"""Finds the level that this machine allows, by trying each, as permissions alone do not tell."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from shunter.cluster.disk_space import disk_space
from shunter.cluster.node.launch import attempt as files
from shunter.cluster.node.launch import user_namespace
from shunter.cluster.node.layout import NodeDirectory
from shunter.cluster.node.pod import container_attempts
from shunter.cluster.node.runtime.launcher import Launcher, LauncherError
from shunter.cluster.node.runtime.protocol import Level
from shunter.errors import EnvironmentProblem

_PROBE_SECONDS = 10.0
_TRIAL_BYTES = 2**20
_TRUE = ["/bin/sh", "-c", "exit 0"]


class Finding(NamedTuple):
    """The level found, and why no better one is possible (empty when it is the best of all)."""

    level: Level
    reason: str = ""


class Trial(NamedTuple):
    """The level found, and the launcher that runs pods at it."""

    finding: Finding
    launcher: Launcher


async def find_level(node: NodeDirectory) -> Trial:
    """Tries a container of level `namespaces` on this machine, with the rights of this process, else as root of a user namespace;
    if neither works, the error is the reason for `plain`. On a full disk the result is that of the last agent. Raises
    EnvironmentProblem when none has found anything since the machine started."""
    if sys.platform != "linux":
        return Trial(Finding(Level.PLAIN, f"level namespaces needs Linux, this is {sys.platform}"), Launcher(node.launcher_log))
    if set(":,\\") & set(str(node.path)):
        reason = f"the path {node.path} contains a character that overlay mounts do not support"
        return Trial(Finding(Level.PLAIN, reason), Launcher(node.launcher_log))
    if disk_space(node.path).free < _TRIAL_BYTES:
        return _as_before(node)
    trial = await _tried(node)
    found = {"level": trial.finding.level.value, "reason": trial.finding.reason, "generation": trial.launcher.generation}
    if files.read_json(str(node.level_file)) != found:
        files.write_json(str(node.level_file), found)
    return trial


async def _tried(node: NodeDirectory) -> Trial:
    problems = []
    # Pods of an earlier agent may run in the user namespace: it comes first when it is there.
    holders = [node.holder_file, None] if user_namespace.holder(str(node.holder_file)) else [None, node.holder_file]
    for holder in holders:
        launcher = Launcher(node.launcher_log, holder_file=holder)
        problem = await _problem(node.path / "probe", launcher)
        if not problem:
            reason = "in a user namespace: cgroup limits need root" if holder else ""
            return Trial(Finding(Level.NAMESPACES, reason), launcher)
        await launcher.stop()
        problems.append(f"{'in a user namespace' if holder else 'directly'}: {problem}")
    reason = f"level namespaces is not possible here ({'; '.join(problems)})"
    return Trial(Finding(Level.PLAIN, reason), Launcher(node.launcher_log))


def _as_before(node: NodeDirectory) -> Trial:
    """The result of the last agent: on a full disk a trial would fail for lack of space, while pods of the better level still
    run."""
    stored = files.read_json(str(node.level_file)) or {}
    for holder in (None, node.holder_file) if user_namespace.holder(str(node.holder_file)) else (None,):
        launcher = Launcher(node.launcher_log, holder_file=holder)
        if launcher.generation == stored.get("generation"):
            return Trial(Finding(Level(stored["level"]), stored["reason"]), launcher)
    raise EnvironmentProblem(f"The disk of {node.path} is full.", "Make room on it: the node starts then.")


async def _problem(directory: Path, launcher: Launcher) -> str:
    """The error when a container is started; empty when there is none."""
    try:
        await launcher.request("remove", directories=[str(directory)])
        directory.mkdir(parents=True)
        return await _try(directory, launcher)
    except LauncherError as error:
        return error.message
    finally:
        with suppress(LauncherError):
            await launcher.request("remove", directories=[str(directory)])


async def _try(directory: Path, launcher: Launcher) -> str:
    """Starts a container and returns the error, if any."""
    await launcher.create_pod(directory=str(directory), hostname="probe", shm_bytes=4096, memory_volumes=[])
    run = directory / "attempt"
    container_attempts.create(
        run,
        {
            "level": Level.NAMESPACES.value,
            "argv": _TRUE,
            "unknown_program": "",
            "env": {},
            "cwd": "/",
            "namespaces": [str(directory / "ns" / kind) for kind in ("uts", "ipc")],
            "image_root": "/",
            "files": {},
            "shm": str(directory / "shm"),
            "mounts": [],
            "hidden": [],
            "capabilities": [],
            "user": None,
            "reachable": [],
            "no_new_privileges": False,
            "read_only_root": False,
            "cgroup_files": [],
            "oom_files": [],
            "stdin": False,
            "stdin_once": False,
            "terminal": False,
        },
    )
    over = asyncio.Event()
    watch = container_attempts.AttemptWatch(await launcher.run_attempt(run), over.set)
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            while watch.is_alive:
                await over.wait()
                over.clear()
    except TimeoutError:
        return f"a trial container did not end within {_PROBE_SECONDS:g} s"
    finally:
        watch.close()
    state = files.read_json(str(run / "state.json")) or {"error": "its supervisor was killed"}
    if state.get("exit_code") == 0:
        return ""
    return str(state.get("error") or f"a trial container ended with exit code {state['exit_code']}")
