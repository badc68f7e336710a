"""The port at which the pods of a PyTorchJob meet: every container of a pod is told the same, and one that the user chose stays.

v1 told each container the port that the Master's container names. v2's torch plugin tells torchrun 29500 whatever the job says: a
program that reads MASTER_PORT can be told another one all the same, and torchrun by an option of its own, which wins.
"""

from __future__ import annotations

from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.training.pytorch import KIND, MASTER
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.pytorch.launcher import LaunchMethod, TrainingContainer
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path
from shunter.operator.trainer.rendezvous import PORT as OF_V2
from shunter.operator.training.ports import named_port, rendezvous_port

_VARIABLES = ("MASTER_PORT", "PET_MASTER_PORT")
_OWN_OPTIONS = ("master-port", "rdzv-endpoint")
"""Options of torchrun that win over what it is told by variables."""

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


class Rendezvous(NamedTuple):
    """Where the pods meet in v2."""

    port: int
    option: str = ""
    """What torchrun must be told for it."""

    @property
    def is_of_v2(self) -> bool:
        """Whether it is the port that v2 has anyway, so that nothing needs to say it."""
        return self.port == OF_V2


def meeting(draft: Draft, found: TrainingContainer, told: LaunchMethod) -> Rendezvous:
    """Under the torch plugin; says so where a port that was chosen is not kept."""
    chosen = _chosen(draft)
    if chosen is None:
        return Rendezvous(OF_V2)
    main = found.launch.main
    if told == "variables" and found.launch.launcher == "unknown":
        _report(draft, chosen, f"If {found.decisive_text} starts torchrun, the pods meet")
        return Rendezvous(chosen)
    if told == "variables" or any(main.option(option) for option in _OWN_OPTIONS):
        return Rendezvous(chosen)
    if found.can_be_told:
        return Rendezvous(chosen, f"--master_port={chosen}")
    _report(draft, chosen, "The pods meet")
    return Rendezvous(OF_V2)


def met_at(variables: list[Json], port: int) -> list[Json]:
    """What containers are told, with this port."""
    return [{**variable, "value": str(port)} if variable["name"] in _VARIABLES else variable for variable in variables]


def _chosen(draft: Draft) -> int | None:
    """The port that the user chose; None for that of the kind, unless the node's leads to it."""
    master = draft.job.replicas.get(MASTER)
    if master is None:
        return None
    port = rendezvous_port(master, KIND)
    return port if port != rendezvous_port(None, KIND) or named_port(master, KIND).get("hostPort") else None


def _report(draft: Draft, chosen: int, they_meet: str) -> None:
    host_port = named_port(draft.job.replicas[MASTER], KIND).get("hostPort")
    follows = f"; then nothing listens at hostPort {host_port}" if host_port else ""
    draft.report(NOT_KEPT, _path(draft), f"{they_meet} at {OF_V2}, no longer at {chosen}{follows}.")


def _path(draft: Draft) -> Path:
    return (*draft.role_path(MASTER), "template", "spec", "containers", draft.container_index(MASTER), "ports")
