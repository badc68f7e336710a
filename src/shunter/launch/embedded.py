"""What options of a program mean on the embedded cluster: one machine, on which images stand for its own Python environments, and
where only the operator acts on a job. What would have no effect is reported or refused."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from shunter.api.formats import quantity
from shunter.api.meta import Json
from shunter.api.resources import NODES
from shunter.api.trainer import template as templates
from shunter.api.trainer.runtime import NODE
from shunter.cluster.node.content.images import Images, load_images
from shunter.cluster.node.resources import shortfalls
from shunter.cluster.state_dir import StateDir
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.launch.objects import resources
from shunter.launch.options import LaunchOptions, Program
from shunter.launch.runtimes.choice import Runtime

ELSEWHERE = "Leave it out, or use a cluster that has it: --context NAME."


def images_of(state: StateDir) -> Images:
    """What image names stand for there: by the file that `shunter up --images` was given, and by `shunter images`."""
    children = msgspec.json.decode(state.launch.read_bytes())["children"]
    words: list[str] = next((child["argv"] for child in children if child["name"] == "agent"), [])
    given = Path(words[words.index("--images") + 1]) if "--images" in words else None
    return load_images(given, state.images)


async def allocatable(client: Client) -> Json:
    """What this machine has for pods: amounts by name."""
    nodes = (await client.list(NODES)).items
    return (nodes[0].get("status", {}).get("allocatable") or {}) if nodes else {}


def require_fabric_device(options: LaunchOptions, allocatable: Json) -> None:
    """InputError for a fabric whose device this machine lacks: its pods would start without the device, and the profile
    makes NCCL stop then."""
    fabric = options.fabric
    if fabric is not None and fabric.device and not int(quantity.parse(allocatable.get(fabric.device, 0))):
        raise InputError(
            f"--fabric {fabric.profile.name}: this machine has no {fabric.device}, and the embedded cluster is this machine.",
            f"{ELSEWHERE} --dry-run prints the job.",
        )


def notes(options: LaunchOptions, allocatable: Json, images: Images) -> list[str]:
    """Sentences for the user: what they asked for and this machine does not have."""
    said = []
    if options.image and not images.is_known(options.image):
        said.append(f"image {options.image} maps to the Python environment of shunter; see: shunter images add")
    asked = {"containers": [{"name": NODE, "resources": resources(options)}]}
    capacity = {name: quantity.parse(amount) for name, amount in allocatable.items()}
    said += [f"each node {shortfall}" for shortfall in shortfalls(asked, capacity)]
    most = capacity.get("pods")
    if most is not None and options.nodes > most:
        said.append(f"the job has {options.nodes} nodes, and this machine takes {int(most)} pods: they cannot all run at once")
    return said


def missing_module(program: Program, root: Path) -> str:
    """The first part of the program's module where it is neither in the directory that travels nor installed here; else empty."""
    first = program.module.partition(".")[0]
    if not first or (root / first).is_dir() or (root / f"{first}.py").is_file() or importlib.util.find_spec(first) is not None:
        return ""
    return first


def runs_in_local_python(options: LaunchOptions, runtime: Runtime, images: Images) -> bool:
    """Whether the program runs in the Python environment that runs us."""
    image = options.image or next(iter(_node_images(runtime)), "")
    return not images.is_known(image)


def _node_images(runtime: Runtime) -> Sequence[str]:
    return [
        container.get("image", "")
        for job in templates.replicated_jobs(runtime.spec.get("template") or {})
        for container in templates.containers(job)
        if container["name"] == NODE
    ]


def user_without_access(runtime: Runtime, root: Path) -> int | None:
    """The user that a runtime's pods run as, where that one may not read this directory; None where all may. A cluster that does
    not run as root switches no users."""
    facts = root.stat()
    may_all_read = facts.st_mode & 0o005 == 0o005
    if os.geteuid() != 0 or may_all_read:
        return None
    return next((user for user in sorted(_users(runtime.spec)) if user not in (0, facts.st_uid)), None)


def _users(value: Any) -> set[int]:
    """Every runAsUser in an object."""
    if isinstance(value, list):
        return {user for item in value for user in _users(item)}
    if not isinstance(value, dict):
        return set()
    own = {value["runAsUser"]} if isinstance(value.get("runAsUser"), int) else set()
    return own | {user for item in value.values() for user in _users(item)}
