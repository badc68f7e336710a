"""Ports that v2 needs in a pod, where a container listens on one of them for something else: the second to listen fails.

Containers of a pod share its network. v2's pods meet at 29500 in the first pod, and mpirun comes in through an ssh server; v1 met
elsewhere, and had no server.
"""

from __future__ import annotations

import re

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.api.training.mpi import WORKER
from shunter.api.training.pytorch import MASTER
from shunter.migrate.conversion.commands.reads import line_of
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.conversion.rules.programs.texts import all_programs, place, quoted
from shunter.migrate.conversion.rules.ssh import PORT as SSH_PORT
from shunter.migrate.excerpts import variable_excerpt
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path
from shunter.operator.trainer.rendezvous import PORT
from shunter.operator.training.ports import rendezvous_port

TAKEN = Topic(
    id="HOST023",
    title="a program uses a port that v2 needs in the pod",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "In v2 the rendezvous uses port 29500 of the first pod (v1: 23456, or another port of the kind), and in MPIJobs an ssh "
        "server listens on port 2222 of each node. The containers of a pod share its ports: if a sidecar, or a second server of "
        "the program, listens on the same port, the later one fails (address already in use), and the job does not start."
    ),
    remedy="Give the sidecar or the server another port.",
    explains=("none",),
    limits_proof=True,
)
_RENDEZVOUS_PLUGINS = frozenset({"torch", "jax", "xgboost"})
"""Plugins of v2 with a rendezvous at this port."""
_PORT_VARIABLES = frozenset({"MASTER_PORT", "COORDINATOR_PORT"})
_ABOUT_RENDEZVOUS = late_pattern(
    r"(?:master|process|coordinator|tracker|dmlc)\w*[_-]?port|rdzv|rendezvous|init[_-]method|dist[_-]url|tcp://"
    r"|\bstore\s*=\s*\w+\s*[,)]",
    re.IGNORECASE,
)
"""A line about the rendezvous itself, which uses the port in v1 as in v2."""


def apply(draft: Draft) -> None:
    """Changes nothing in the result: reports each such port that a container declares or a program names."""
    for group in draft.groups:
        for port, what in _taken(draft, group):
            _look_at_declared_ports(draft, group, port, what)
            _look_at_programs(draft, group, port, what)


def _taken(draft: Draft, group: Group) -> list[tuple[int, str]]:
    """The ports that v2 takes in the group's pods, and what for."""
    found = []
    if group.trains and draft.ml_policy.keys() & _RENDEZVOUS_PLUGINS and not _has_other_port(draft, group):
        found.append((PORT, "where the processes meet in v2"))
    if "mpi" in draft.ml_policy and group.roles == (WORKER,):
        found.append((SSH_PORT, "where the ssh server listens in v2, by which mpirun comes in"))
    return found


def _has_other_port(draft: Draft, group: Group) -> bool:
    """Whether the rendezvous port of the job is kept (HOST011 if not), or is this one in v1 already."""
    if rendezvous_port(draft.job.replicas.get(MASTER), draft.job_kind) == PORT:
        return True
    ports = [str(variable.get("value")) for variable in group.environment if variable["name"] in _PORT_VARIABLES]
    return any(value.isdecimal() and value != str(PORT) for value in ports)


def _look_at_declared_ports(draft: Draft, group: Group, port: int, what: str) -> None:
    """Ports that containers name: those of the training container as well, but for the one at which v1 met."""
    of_kind = draft.job_kind.port.name if draft.job_kind.port else ""
    template = draft.template_paths(group)[0]
    for field in ("initContainers", "containers"):
        for index, container in enumerate(group.pod["spec"].get(field) or ()):
            if field == "initContainers" and container.get("restartPolicy") != "Always":
                continue
            for number, one in enumerate(container.get("ports") or ()):
                if one.get("containerPort") == port and one.get("name") != of_kind:
                    path: Path = (*template, "spec", field, index, "ports", number)
                    draft.report(TAKEN, path, f"{container.get('name')} listens on {port}, {what}.")


def _look_at_programs(draft: Draft, group: Group, port: int, what: str) -> None:
    """Each text, and each value of a variable, once."""
    pattern = re.compile(rf"(?<![\d.]){port}(?![\d.])")
    for programs in all_programs(draft):
        if programs.group is not group:
            continue
        for text, spot in programs.texts:
            match = next((one for one in pattern.finditer(text) if _is_own(text, one.start())), None)
            if match is not None:
                path, offset = place(programs, spot, spot.offset(match.start()))
                says = f"{quoted(text, match.start(), spot)} names {port}, {what}."
                draft.report(TAKEN, path, says, offset=offset)
        for index, variable in enumerate(programs.container.get("env") or ()):
            if _is_value(variable, pattern):
                says = f"{variable['name']} is {variable_excerpt(variable['name'], variable['value'])!r}, with {port}, {what}."
                draft.report(TAKEN, (*programs.path, "env", index, "value"), says)


def _is_value(variable: Json, pattern: re.Pattern[str]) -> bool:
    name, value = str(variable.get("name")), variable.get("value")
    return isinstance(value, str) and bool(pattern.search(value)) and not _ABOUT_RENDEZVOUS.search(f"{name}={value}")


def _is_own(text: str, start: int) -> bool:
    """Whether the line speaks of another server than the rendezvous."""
    line = line_of(text, start)
    return not line.startswith("#") and not _ABOUT_RENDEZVOUS.search(line)
