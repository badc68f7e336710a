"""The rendezvous port of a PyTorchJob: all containers get the same one, and a port that the user chose is kept.

v1 sets the port that the Master's container declares in every container. v2's torch plugin always sets 29500 for torchrun: a
program that reads MASTER_PORT can get another value, and torchrun another port by an option, which overrides the variable.
"""

from __future__ import annotations

from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.training.pytorch import KIND, MASTER
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.pytorch.launcher import LaunchMethod, TrainingContainer
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path
from shunter.operator.trainer.rendezvous import PORT as DEFAULT
from shunter.operator.training.ports import named_port, rendezvous_port

_VARIABLES = ("MASTER_PORT", "PET_MASTER_PORT")
_OWN_OPTIONS = ("master-port", "rdzv-endpoint")
"""Options of torchrun that override its variables."""

NOT_KEPT = Topic(
    id="HOST011",
    title="the rendezvous port chosen by the job is not kept",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "In v1 the rendezvous port is the one that the Master's container declares. In v2 torchrun gets 29500; how torchrun is "
        "started here cannot be seen or changed. The pods still find each other, but a hostPort, Service or NetworkPolicy for "
        "the v1 port no longer has an effect."
    ),
    remedy="Write torchrun --master_port=PORT where the container starts it, or change the references to the port to 29500.",
)


class RendezvousPort(NamedTuple):
    """The rendezvous port in v2."""

    port: int
    option: str = ""
    """The option by which torchrun gets it; empty if it needs none."""

    @property
    def is_default(self) -> bool:
        """Whether it is the port that v2 uses by default."""
        return self.port == DEFAULT


def port_in_v2(draft: Draft, found: TrainingContainer, method: LaunchMethod) -> RendezvousPort:
    """The rendezvous port under the torch plugin; reports a chosen port that is not kept."""
    chosen = _chosen(draft)
    if chosen is None:
        return RendezvousPort(DEFAULT)
    main = found.launch.main
    if method == "variables" and found.launch.launcher == "unknown":
        _report(draft, chosen, f"If {found.decisive_text} starts torchrun, the rendezvous port is")
        return RendezvousPort(chosen)
    if method == "variables" or any(main.option(option) for option in _OWN_OPTIONS):
        return RendezvousPort(chosen)
    if found.accepts_options:
        return RendezvousPort(chosen, f"--master_port={chosen}")
    _report(draft, chosen, "The rendezvous port is")
    return RendezvousPort(DEFAULT)


def with_port(variables: list[Json], port: int) -> list[Json]:
    """The variables with this port as rendezvous port."""
    return [{**variable, "value": str(port)} if variable["name"] in _VARIABLES else variable for variable in variables]


def _chosen(draft: Draft) -> int | None:
    """The port that the user chose; None for the default of the kind, unless it has a hostPort."""
    master = draft.job.replicas.get(MASTER)
    if master is None:
        return None
    port = rendezvous_port(master, KIND)
    return port if port != rendezvous_port(None, KIND) or named_port(master, KIND).get("hostPort") else None


def _report(draft: Draft, chosen: int, subject: str) -> None:
    host_port = named_port(draft.job.replicas[MASTER], KIND).get("hostPort")
    follows = f"; then no process listens on hostPort {host_port}" if host_port else ""
    draft.report(NOT_KEPT, _path(draft), f"{subject} {DEFAULT}, no longer {chosen}{follows}.")


def _path(draft: Draft) -> Path:
    return (*draft.role_path(MASTER), "template", "spec", "containers", draft.container_index(MASTER), "ports")
