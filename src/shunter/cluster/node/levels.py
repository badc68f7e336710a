"""Which level this machine allows: found by doing, since permissions alone do not tell."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from shunter.cluster.node import attempts
from shunter.cluster.node.launch import attempt as files
from shunter.cluster.node.launcher import Launcher, LauncherError
from shunter.cluster.node.layout import NodeDirectory
from shunter.cluster.node.runtime import Level

_PROBE_SECONDS = 10.0
_TRUE = ["/bin/sh", "-c", "exit 0"]


class Finding(NamedTuple):
    """The best level, and why not a better one (empty when it is the best there is)."""

    level: Level
    reason: str = ""


async def find_level(node: NodeDirectory, launcher: Launcher) -> Finding:
    """Runs a pod of level `namespaces` without a network on this machine; if that fails, its error is the reason for `plain`."""
    if sys.platform != "linux":
        return Finding(Level.PLAIN, f"level namespaces needs Linux, this is {sys.platform}")
    if os.geteuid() != 0:
        return Finding(Level.PLAIN, "level namespaces needs root here")
    if set(":,\\") & set(str(node.path)):
        return Finding(Level.PLAIN, f"the path {node.path} has a character that overlay mounts cannot take")
    directory = node.path / "probe"
    await launcher.request("remove", directory=str(directory))
    directory.mkdir(parents=True)
    try:
        problem = await _try(directory, launcher)
    except LauncherError as error:
        problem = error.message
    finally:
        await launcher.request("remove", directory=str(directory))
        shutil.rmtree(directory, ignore_errors=True)
    return Finding(Level.PLAIN, f"level namespaces is not possible here: {problem}") if problem else Finding(Level.NAMESPACES)


async def _try(directory: Path, launcher: Launcher) -> str:
    """Starts a container and returns what went wrong, if anything."""
    await launcher.request("pod", directory=str(directory), hostname="probe", shm_bytes=4096, memory_volumes=[])
    run = directory / "attempt"
    attempts.create(
        run,
        {
            "level": Level.NAMESPACES.value,
            "argv": _TRUE,
            "env": {},
            "cwd": "/",
            "namespaces": [str(directory / "ns" / kind) for kind in ("uts", "ipc")],
            "image_root": "/",
            "files": {},
            "shm": str(directory / "shm"),
            "mounts": [],
            "hidden": [],
            "capabilities": [],
            "cgroup_files": [],
            "oom_files": [],
        },
    )
    over = asyncio.Event()
    watch = attempts.AttemptWatch(await launcher.run_attempt(run), over.set)
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
