"""How the processes of a PyTorchJob form a group: without it each pod trains a model of its own.

v1 sets MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE in every pod; v2's torch plugin sets PET_*, which only torchrun reads. A
program that finds none of these may train alone and succeed. `kinds/pytorch` uses this; the topics are in `launcher_topics`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

from shunter.api.formats.counts import joined
from shunter.api.formats.digits import whole_number
from shunter.api.meta import Json
from shunter.api.training.pytorch import MASTER
from shunter.jobs.commands.arguments import SourceRange
from shunter.jobs.commands.launchers import Started
from shunter.migrate.conversion.commands import ENTRYPOINT, Launch, Use, understood
from shunter.migrate.conversion.commands.rewriting import is_editable, with_torchrun
from shunter.migrate.conversion.commands.unread_variables import unread
from shunter.migrate.conversion.draft import Change, Draft, Group
from shunter.migrate.conversion.rules.pytorch import launcher_topics as topics
from shunter.migrate.excerpts import command_excerpt, excerpt
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path

V1_VARIABLES = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
LaunchMethod = Literal["plugin", "variables", "nothing"]
"""What lets the processes form a group: the torch plugin alone; also v1's variables, which refer to those of the plugin; or
nothing, as in v1, where each trains by itself."""

_RENDEZVOUS_OPTIONS = ("rdzv-endpoint", "master-addr", "main-process-ip")
_RENDEZVOUS_WORDS = ("tcp://", "master_addr", "master-addr", "dist-url", "dist_url", "init-method", "init_method", "rdzv")
_MACHINE_OPTIONS = {
    "accelerate": ("config-file", "num-machines", "machine-rank", "main-process-ip"),
    "deepspeed": ("hostfile", "num-nodes", "node-rank", "master-addr", "launcher"),
}
"""Options of these launchers for several machines."""


class TrainingContainer(NamedTuple):
    """The training container of a role, and what it starts."""

    container: Json
    path: Path
    """Its path in the source."""
    launch: Launch
    set_by_operator: frozenset[str]
    """Variables that an operator sets, whatever value they have."""

    def changed(self, fields: Json) -> TrainingContainer:
        """The container with another `command` or `args`."""
        container = {**self.container, **fields}
        return self._replace(container=container, launch=understood(container, set_by_operator=self.set_by_operator))

    @property
    def uses_of_v1_variables(self) -> list[Use]:
        """Where its texts read v1's variables."""
        return [use for use in self.launch.uses if use.name in V1_VARIABLES]

    @property
    def text(self) -> str:
        """What it starts, for messages."""
        return _text(self.launch.main)

    @property
    def decisive_text(self) -> str:
        """What decides how processes are started, for messages."""
        return _text(self.launch.decisive)

    def place(self, spot: SourceRange | None) -> tuple[Path, int | None]:
        """The path of a word in the source, and its offset; for one in a mounted file, the command of the container."""
        if spot is None or spot.file:
            field = "command" if self.container.get("command") else "args"
            return (*self.path, field) if self.container.get(field) else self.path, None
        return (*self.path, *spot.path), None if spot.is_item else spot.start

    @property
    def accepts_options(self) -> bool:
        """Whether it starts torchrun and an option can be added."""
        main = self.launch.main
        return main.launcher == "torchrun" and is_editable(main.head[-1].spot)

    @property
    def is_elsewhere(self) -> bool:
        """Whether a mounted file starts the training; it may have changed when the job runs."""
        return self.start is not None and bool(self.start.file)

    @property
    def start(self) -> SourceRange | None:
        """The first word of the command that trains."""
        return _start(self.launch.main)

    @property
    def decisive_start(self) -> SourceRange | None:
        """The first word of the command that decides how processes are started."""
        return _start(self.launch.decisive)


def training_container(draft: Draft, role: str, variables: Collection[str] = ()) -> TrainingContainer:
    """The training container of the role; `variables` are set in addition to those of v1's operator."""
    spec = draft.job.replicas[role].template.get("spec") or {}
    index = draft.container_index(role)
    container: Json = spec["containers"][index]
    path = (*draft.role_path(role), "template", "spec", "containers", index)
    set_by_operator = draft.operator_variables(role).union(variables)
    launch = understood(container, spec.get("volumes") or (), draft.texts_of, set_by_operator=set_by_operator)
    return TrainingContainer(container, path, launch, set_by_operator)


def launch_method(draft: Draft, group: Group, found: TrainingContainer) -> LaunchMethod:
    """How the processes of the group find each other, with the findings about it. With --torch-launch=torchrun the group's
    command changes."""
    if MASTER in draft.job.replicas:
        return _method_with_master(draft, group, found)
    return _method_without_master(draft, group, found)


def rewrite(draft: Draft, group: Group, found: TrainingContainer) -> bool:
    """Starts a plain Python program by torchrun, if --torch-launch asks for it and the command allows it."""
    if draft.options.torch_launch != "torchrun" or found.launch.launcher not in {"python", "unknown"}:
        return False
    programs = [start for start in found.launch.started if start.launcher == "python" and start.kind in {"script", "module"}]
    last = found.launch.started[-1]
    is_last = last.launcher == "python"
    changed = with_torchrun(found.container, found.launch.main) if len(programs) == 1 and is_last else None
    if changed is None:
        why = "it is not a script or module that the job itself names"
        if len(programs) > 1:
            why = "there are several programs"
        elif programs and not is_last:
            why = f"it is unknown what {_text(last)} starts after it"
        _report(draft, topics.NOT_REWRITTEN, found, f"torchrun cannot be put in front of {found.text}: {why}.")
        return False
    for field, value in changed.items():
        group.changes[field] = Change(value, "torchrun starts the program")
    _report(draft, topics.REWRITTEN, found, f"torchrun starts what {found.text} started, one process per pod.")
    return True


def warn_of_options(draft: Draft, nodes: int, found: TrainingContainer) -> None:
    """Reports options of the launcher that do not match this number of nodes."""
    main = found.launch.main
    if nodes == 1:
        return
    if main.launcher == "torchrun":
        nnodes = main.option("nnodes")
        if _trains_alone(main):
            option = "--standalone" if "standalone" in main.options else "--nnodes=1"
            text = f"{found.text} has {option}: each of {nodes} pods trains a model of its own, in v1 as well."
            _report(draft, topics.SEPARATE, found, text, remedy=f"Remove {option} from the command.")
        elif nnodes and (bounds := _bounds(nnodes)) and not bounds[0] <= nodes <= bounds[1]:
            _report(
                draft, topics.NODES_DIFFER, found, f"{found.text} has --nnodes={excerpt(nnodes)}, but the job has {nodes} nodes."
            )
    elif main.launcher in {"mpirun", "horovodrun"}:
        text = f"{found.text} runs in each of {nodes} pods, and a PyTorchJob has no host list."
        _report(draft, topics.OWN_LAUNCHER, found, text)
    elif main.launcher in _MACHINE_OPTIONS and not any(name in main.options for name in _MACHINE_OPTIONS[main.launcher]):
        text = f"{found.text} has no option for the number of machines, which is {nodes}."
        _report(draft, topics.MACHINES_NOT_SET, found, text)


def _method_with_master(draft: Draft, group: Group, found: TrainingContainer) -> LaunchMethod:
    launcher, mode = found.launch.launcher, draft.options.torch_launch
    if mode == "as-is" and (launcher != "torchrun" or found.uses_of_v1_variables):
        _report_missing_variables(draft, group, found)
        return "plugin"
    is_rewritten = rewrite(draft, group, found)
    warn_of_options(draft, group.count, found)
    uses = [use for use in found.uses_of_v1_variables if not (is_rewritten and use.by == "python")]
    is_torchrun = (is_rewritten and launcher == "python") or (launcher == "torchrun" and not found.is_elsewhere)
    if is_torchrun and not uses and not found.launch.also_starts_without and mode != "env-compat":
        return "plugin"
    if mode != "env-compat" and unread(found.container, V1_VARIABLES) >= {*V1_VARIABLES}:
        return "plugin"
    _report(draft, topics.VARIABLES, found, f"The runtime sets {joined(V1_VARIABLES)} for {found.text}, as v1 does.")
    return "variables"


def _method_without_master(draft: Draft, group: Group, found: TrainingContainer) -> LaunchMethod:
    """As v1 sets neither an address nor a rank without a Master."""
    launcher, mode = found.launch.launcher, draft.options.torch_launch
    if draft.job.spec.elastic_policy is not None and launcher in {"torchrun", "unknown"}:
        warn_of_options(draft, group.count, found)
        return "plugin"
    if group.count == 1:
        return "plugin"
    if _has_own_rendezvous(found):
        _report(draft, topics.OWN_RENDEZVOUS, found, f"{found.text} sets its own rendezvous address.")
        return "plugin"
    if launcher == "torchrun":
        if mode == "env-compat":
            found = training_container(draft, group.roles[0], V1_VARIABLES)
        elif _trains_alone(found.launch.main):
            warn_of_options(draft, group.count, found)
            return "nothing" if found.uses_of_v1_variables else "plugin"
        text = f"{found.text} waits forever for its group in v1; its {group.count} pods are one group in v2."
        _report(draft, topics.ONE_GROUP, found, text)
        warn_of_options(draft, group.count, found)
        return "variables" if mode == "env-compat" or (found.uses_of_v1_variables and mode != "as-is") else "plugin"
    if mode in {"env-compat", "torchrun"}:
        is_rewritten = rewrite(draft, group, found)
        text = f"{group.count} pods, which train separately in v1, train one model in v2, as --torch-launch={mode} asks."
        _report(draft, topics.ONE_GROUP, found, text)
        return "plugin" if is_rewritten else "variables"
    text = (
        f"{found.text} trains {group.count} models, one in each Worker: "
        "v1 sets neither an address nor a rank in Workers without a Master."
    )
    _report(draft, topics.SEPARATE, found, text)
    return "nothing"


def _report_missing_variables(draft: Draft, group: Group, found: TrainingContainer) -> None:
    """Reports the variables of v1 that --torch-launch=as-is does not set."""
    uses = found.uses_of_v1_variables
    names = tuple(dict.fromkeys(use.name for use in uses)) or V1_VARIABLES
    are, them = ("is", "it") if len(names) == 1 else ("are", "them")
    text = f"{joined(names)} {are} not set for {found.text}"
    use = next((use for use in uses if use.name == "WORLD_SIZE"), uses[0] if uses else None)
    if use is not None and use.default is not None:
        text += f", which takes {excerpt(use.default)} without {use.name}"
    if found.launch.launcher == "torchrun":
        _report(draft, topics.NO_GROUP, found, f"{text}, but its options refer to {them}.", use)
    elif group.count == 1:
        _report(draft, topics.NO_VARIABLES, found, f"{text}.", use)
    else:
        _report(draft, topics.NO_GROUP, found, f"{text}: {group.count} pods would train {group.count} models.", use)


def _trains_alone(main: Started) -> bool:
    """Whether an option of torchrun says that there is one node."""
    return "standalone" in main.options or main.option("nnodes") == "1"


def _has_own_rendezvous(found: TrainingContainer) -> bool:
    """Whether the job sets a rendezvous by options, an address or variables of its own, without reading v1's variables."""
    container, main = found.container, found.launch.main
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    names = {variable.get("name") for variable in container.get("env") or ()}
    if names & {"MASTER_ADDR", "PET_RDZV_ENDPOINT"}:
        return True
    is_set = any(main.option(name) for name in _RENDEZVOUS_OPTIONS) or any(
        mark in word and "env://" not in word for word in words for mark in _RENDEZVOUS_WORDS
    )
    return is_set and not found.uses_of_v1_variables


def _text(found: Started) -> str:
    if found.launcher == "unknown" and (not found.text or ENTRYPOINT in found.through):
        return "the image's own program"
    start = _start(found)
    if start is not None and start.is_secret:
        return f"the program of {start.file}, {start.path[-1]}"
    return f"`{command_excerpt(found.text)}`" + (f" ({', '.join(found.through)})" if found.through else "")


def _start(found: Started) -> SourceRange | None:
    return next((word.spot for word in (*found.head, *found.program)), None)


def _bounds(nodes: str) -> tuple[int, int] | None:
    """`2:4` as numbers; None for a value that is not known here (`$NODES`)."""
    first, _, second = nodes.partition(":")
    low, high = whole_number(first), whole_number(second or first)
    return None if low is None or high is None else (low, high)


def _report(
    draft: Draft, topic: Topic, found: TrainingContainer, message: str, use: Use | None = None, *, remedy: str = ""
) -> None:
    where = f" ({use.spot.file}, {use.spot.path[-1]})" if use and use.spot.file else ""
    path, offset = found.place(use.spot if use else found.start)
    draft.report(topic, path, message.removesuffix(".") + f"{where}.", remedy=remedy, offset=offset)
