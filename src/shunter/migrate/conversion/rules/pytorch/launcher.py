"""How the processes of a PyTorchJob learn of each other: the difference between one training and many.

v1 told every pod MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE; v2's torch plugin tells PET_*, which only torchrun reads. A
program that finds nothing may well train alone and succeed. The kind's module asks; the topics are in `launcher_topics`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

from shunter.api.formats.digits import whole_number
from shunter.api.meta import Json
from shunter.api.training.pytorch import MASTER
from shunter.migrate.conversion.draft import Change, Draft, Group
from shunter.migrate.conversion.launch import ENTRYPOINT, Launch, Use, understood
from shunter.migrate.conversion.launch.arguments import Spot
from shunter.migrate.conversion.launch.launchers import Started
from shunter.migrate.conversion.launch.rewriting import is_editable, with_torchrun
from shunter.migrate.conversion.launch.unread_variables import unread
from shunter.migrate.conversion.rules.pytorch import launcher_topics as topics
from shunter.migrate.excerpts import command_excerpt, excerpt
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path

TOLD_BY_V1 = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
LaunchMethod = Literal["plugin", "variables", "nothing"]
"""What tells the processes of each other: the torch plugin alone; v1's variables besides, made of the plugin's; or nothing, as in
v1, where each was for itself."""

_MEETING_OPTIONS = ("rdzv-endpoint", "master-addr", "main-process-ip")
_MEETING_WORDS = ("tcp://", "master_addr", "master-addr", "dist-url", "dist_url", "init-method", "init_method", "rdzv")
_MACHINE_OPTIONS = {
    "accelerate": ("config-file", "num-machines", "machine-rank", "main-process-ip"),
    "deepspeed": ("hostfile", "num-nodes", "node-rank", "master-addr", "launcher"),
}
"""Options by which these launchers are told of other machines."""


class TrainingContainer(NamedTuple):
    """The training container of a role, and what it starts."""

    container: Json
    path: Path
    """Where it stands in the source."""
    launch: Launch
    told: frozenset[str]
    """Variables that an operator sets, whatever value they have."""

    def changed(self, fields: Json) -> TrainingContainer:
        """With other words in `command` and `args`."""
        container = {**self.container, **fields}
        return self._replace(container=container, launch=understood(container, told=self.told))

    @property
    def told_uses(self) -> list[Use]:
        """Where its texts take what v1 told."""
        return [use for use in self.launch.uses if use.name in TOLD_BY_V1]

    @property
    def text(self) -> str:
        """What it starts, as one says it."""
        return _text(self.launch.main)

    @property
    def decisive_text(self) -> str:
        """What says how processes are started, the same way."""
        return _text(self.launch.decisive)

    def place(self, spot: Spot | None) -> tuple[Path, int | None]:
        """A word in the source; of one in a file that is mounted, the container."""
        if spot is None or spot.file:
            field = "command" if self.container.get("command") else "args"
            return (*self.path, field) if self.container.get(field) else self.path, None
        return (*self.path, *spot.path), None if spot.is_item else spot.start

    @property
    def can_be_told(self) -> bool:
        """Whether torchrun can be given an option."""
        main = self.launch.main
        return main.launcher == "torchrun" and is_editable(main.head[-1].spot)

    @property
    def is_elsewhere(self) -> bool:
        """Whether what trains is started by a file that is mounted, which may be another one by the time that the job runs."""
        return self.start is not None and bool(self.start.file)

    @property
    def start(self) -> Spot | None:
        """The word that names what trains."""
        return _start(self.launch.main)

    @property
    def decisive_start(self) -> Spot | None:
        """The word that names what says how processes are started."""
        return _start(self.launch.decisive)


def training_container(draft: Draft, role: str, told: Collection[str] = ()) -> TrainingContainer:
    """The role's; `told` are variables beside those that v1's operator tells it."""
    spec = draft.job.replicas[role].template.get("spec") or {}
    index = draft.container_index(role)
    container: Json = spec["containers"][index]

    path = (*draft.role_path(role), "template", "spec", "containers", index)
    known = draft.operator_variables(role).union(told)
    return TrainingContainer(container, path, understood(container, spec.get("volumes") or (), draft.texts_of, told=known), known)


def launch_method(draft: Draft, group: Group, found: TrainingContainer) -> LaunchMethod:
    """What is to tell the pods of the group of each other; says what the user should know. With --torch-launch=torchrun the
    group's command changes."""
    if MASTER in draft.job.replicas:
        return _telling_beside_master(draft, group, found)
    return _telling_workers(draft, group, found)


def rewrite(draft: Draft, group: Group, found: TrainingContainer) -> bool:
    """Has torchrun start a plain Python program, if --torch-launch asks for it and it can be done."""
    if draft.options.torch_launch != "torchrun" or found.launch.launcher not in {"python", "unknown"}:
        return False
    programs = [start for start in found.launch.started if start.launcher == "python" and start.kind in {"script", "module"}]
    last = found.launch.started[-1]
    is_last = last.launcher == "python"
    changed = with_torchrun(found.container, found.launch.main) if len(programs) == 1 and is_last else None
    if changed is None:
        why = "it is no script or module that the job itself names"
        if len(programs) > 1:
            why = "there are several programs"
        elif programs and not is_last:
            why = f"it is unknown what {_text(last)} starts after it"
        _tell(draft, topics.NOT_REWRITTEN, found, f"torchrun cannot be put in front of {found.text}: {why}.")
        return False
    for field, value in changed.items():
        group.changes[field] = Change(value, "torchrun starts the program")
    _tell(draft, topics.REWRITTEN, found, f"torchrun starts what {found.text} started, one process a pod.")
    return True


def warn_of_options(draft: Draft, nodes: int, found: TrainingContainer) -> None:
    """What the launcher's own options say against a job of that many nodes."""
    main = found.launch.main
    if nodes == 1:
        return
    if main.launcher == "torchrun":
        said = main.option("nnodes")
        if _trains_alone(main):
            option = "--standalone" if "standalone" in main.options else "--nnodes=1"
            text = f"{found.text} says {option}: each of {nodes} pods trains a model of its own, in v1 as well."
            _tell(draft, topics.SEPARATE, found, text, remedy=f"Remove {option} from the command.")
        elif said and (bounds := _bounds(said)) and not bounds[0] <= nodes <= bounds[1]:
            _tell(
                draft, topics.NODES_DIFFER, found, f"{found.text} says --nnodes={excerpt(said)}, and the job has {nodes} nodes."
            )
    elif main.launcher in {"mpirun", "horovodrun"}:
        text = f"{found.text} is run in each of {nodes} pods, and v1 gives a PyTorchJob no list of hosts."
        _tell(draft, topics.OWN_LAUNCHER, found, text)
    elif main.launcher in _MACHINE_OPTIONS and not any(name in main.options for name in _MACHINE_OPTIONS[main.launcher]):
        text = f"No option of {found.text} says that there are {nodes} machines."
        _tell(draft, topics.MACHINES_UNTOLD, found, text)


def _telling_beside_master(draft: Draft, group: Group, found: TrainingContainer) -> LaunchMethod:
    launcher, mode = found.launch.launcher, draft.options.torch_launch
    if mode == "as-is" and (launcher != "torchrun" or found.told_uses):
        _warn_of_untold(draft, group, found)
        return "plugin"
    is_rewritten = rewrite(draft, group, found)
    warn_of_options(draft, group.count, found)
    uses = [use for use in found.told_uses if not (is_rewritten and use.by == "python")]
    is_torchrun = (is_rewritten and launcher == "python") or (launcher == "torchrun" and not found.is_elsewhere)
    if is_torchrun and not uses and not found.launch.also_starts_without and mode != "env-compat":
        return "plugin"
    if mode != "env-compat" and unread(found.container, TOLD_BY_V1) >= {*TOLD_BY_V1}:
        return "plugin"
    _tell(draft, topics.VARIABLES, found, f"The runtime tells {found.text} {_listed(TOLD_BY_V1)}, as v1 did.")
    return "variables"


def _telling_workers(draft: Draft, group: Group, found: TrainingContainer) -> LaunchMethod:
    """Without a Master v1 told no address and no rank."""
    launcher, mode = found.launch.launcher, draft.options.torch_launch
    if draft.job.spec.elastic_policy is not None and launcher in {"torchrun", "unknown"}:
        warn_of_options(draft, group.count, found)
        return "plugin"
    if group.count == 1:
        return "plugin"
    if _meets_by_itself(found):
        _tell(draft, topics.OWN_MEETING, found, f"{found.text} says itself where its processes meet.")
        return "plugin"
    if launcher == "torchrun":
        if mode == "env-compat":
            found = training_container(draft, group.roles[0], TOLD_BY_V1)
        elif _trains_alone(found.launch.main):
            warn_of_options(draft, group.count, found)
            return "nothing" if found.told_uses else "plugin"
        text = f"{found.text} waited for a group that never came together in v1; its {group.count} pods are one group now."
        _tell(draft, topics.ONE_GROUP, found, text)
        warn_of_options(draft, group.count, found)
        return "variables" if mode == "env-compat" or (found.told_uses and mode != "as-is") else "plugin"
    if mode in {"env-compat", "torchrun"}:
        is_rewritten = rewrite(draft, group, found)
        text = f"{group.count} pods, which v1 left to themselves, train one model now, as --torch-launch={mode} asks."
        _tell(draft, topics.ONE_GROUP, found, text)
        return "plugin" if is_rewritten else "variables"
    text = (
        f"{found.text} trains {group.count} models, one in each Worker: "
        "v1 gave Workers without a Master no information about each other."
    )
    _tell(draft, topics.SEPARATE, found, text)
    return "nothing"


def _warn_of_untold(draft: Draft, group: Group, found: TrainingContainer) -> None:
    """What --torch-launch=as-is leaves unsaid."""
    uses = found.told_uses
    names = _listed(tuple(dict.fromkeys(use.name for use in uses)) or TOLD_BY_V1)
    text = f"Nothing tells {found.text} {names}"
    use = next((use for use in uses if use.name == "WORLD_SIZE"), uses[0] if uses else None)
    if use is not None and use.default is not None:
        text += f", and without {use.name} it takes {excerpt(use.default)}"
    if found.launch.launcher == "torchrun":
        _tell(draft, topics.UNTOLD, found, f"{text}, of which its options are made.", use)
    elif group.count == 1:
        _tell(draft, topics.UNTOLD_ALONE, found, f"{text}.", use)
    else:
        _tell(draft, topics.UNTOLD, found, f"{text}: {group.count} pods would train {group.count} models.", use)


def _trains_alone(main: Started) -> bool:
    """Whether torchrun is told that there is one node."""
    return "standalone" in main.options or main.option("nnodes") == "1"


def _meets_by_itself(found: TrainingContainer) -> bool:
    """Whether the user brought the processes together without the operator: by options, an address, or variables of their own;
    not by those that v1 would have had to tell."""
    container, main = found.container, found.launch.main
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    names = {variable.get("name") for variable in container.get("env") or ()}
    if names & {"MASTER_ADDR", "PET_RDZV_ENDPOINT"}:
        return True
    is_said = any(main.option(name) for name in _MEETING_OPTIONS) or any(
        mark in word and "env://" not in word for word in words for mark in _MEETING_WORDS
    )
    return is_said and not found.told_uses


def _text(found: Started) -> str:
    if found.launcher == "unknown" and (not found.text or ENTRYPOINT in found.through):
        return "the image's own program"
    start = _start(found)
    if start is not None and start.is_secret:
        return f"the program of {start.file}, {start.path[-1]}"
    return f"`{command_excerpt(found.text)}`" + (f" ({', '.join(found.through)})" if found.through else "")


def _start(found: Started) -> Spot | None:
    return next((word.spot for word in (*found.head, *found.program)), None)


def _bounds(nodes: str) -> tuple[int, int] | None:
    """`2:4` as numbers; None for what is not known here (`$NODES`)."""
    first, _, second = nodes.partition(":")
    low, high = whole_number(first), whole_number(second or first)
    return None if low is None or high is None else (low, high)


def _tell(
    draft: Draft, topic: Topic, found: TrainingContainer, message: str, use: Use | None = None, *, remedy: str = ""
) -> None:
    where = f" ({use.spot.file}, {use.spot.path[-1]})" if use and use.spot.file else ""
    path, offset = found.place(use.spot if use else found.start)
    draft.report(topic, path, message.removesuffix(".") + f"{where}.", remedy=remedy, offset=offset)


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
