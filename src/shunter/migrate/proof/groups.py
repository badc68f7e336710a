"""The process group of each program: its size, the program's rank, and the rendezvous address.

These depend on the launcher of the training container: torchrun reads its options and PET_*, other programs read the variables of
their kind of job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from shunter.api.resources import CONFIG_MAPS
from shunter.api.trainer.runtime import HOST_FILE
from shunter.api.training.jax import KIND as JAX
from shunter.api.training.mpi import KIND as MPI
from shunter.api.training.paddle import KIND as PADDLE
from shunter.api.training.pytorch import KIND as PYTORCH
from shunter.api.training.pytorch import WORKER
from shunter.api.training.tensorflow import KIND as TENSORFLOW
from shunter.api.training.xgboost import KIND as XGBOOST
from shunter.jobs.commands.launchers import Started
from shunter.migrate.pods.differences import Matched, Pair
from shunter.migrate.pods.effective import effective_container
from shunter.migrate.pods.hosts import Hosts
from shunter.migrate.pods.sides import Replica
from shunter.migrate.proof.launches import launch_of, reads_nothing
from shunter.operator.training.mpi.objects import hostfile

EXPLAINED = "group"
"""In `Topic.explains`: the topic explains a changed group."""


class Member(NamedTuple):
    """One pod's program as a member of a group; fields are None if they are not set."""

    size: str | None = None
    rank: str | None = None
    place: str | None = None
    """The pod of the rendezvous, by its mark, without the port."""

    def __str__(self) -> str:
        if self.size is None and self.place is None:
            return "on its own"
        parts = [f"one of {self.size}" if self.rank is None else f"rank {self.rank} of {self.size}"]
        return " ".join([*parts, *([f"at {self.place.strip('<>')}"] if self.place else [])])


def members(both: Matched) -> list[tuple[Pair, Member, Member]]:
    """For each pair of pods with training containers, the members on both sides."""
    before, after = (_Side(hosts, both.v1.job.resource.kind) for hosts in both.hosts)
    return [
        (pair, before.member(pair.v1), after.member(pair.v2))
        for pair in both.pairs
        if pair.v1 and pair.v2 and pair.v1.container and pair.v2.container
    ]


def faults(both: Matched) -> Iterator[tuple[Pair, str]]:
    """The pods whose group differs from v1, with the difference."""
    for pair, before, after in members(both):
        if before != after:
            yield pair, f"{pair.title} is {before} in v1, and {after} in v2."
    if both.v1.job.resource == MPI.resource:
        yield from _host_list_faults(both)


def breaches(both: Matched) -> Iterator[tuple[Pair, str]]:
    """A job whose processes are one group in v1 but not in v2: sizes or rendezvous differ, or a rank occurs twice. Also an
    elastic job whose number of pods is out of bounds."""
    found = members(both)
    if len(found) > 1 and _is_group([before for _, before, _ in found]) and not _is_group([after for _, _, after in found]):
        pair, _, after = found[-1]
        yield pair, f"{pair.title} is {after} in v2, so its pods do not form a group."
    elastic = getattr(both.v1.job.spec, "elastic_policy", None)
    if elastic is not None:
        # PET_NNODES counts all pods, the autoscaler Workers only.
        nodes = [pair for pair in both.pairs if pair.v2 is not None]
        counts = {len(nodes), sum(pair.v1 is None or pair.role == WORKER for pair in nodes)}
        least, most = elastic.min_replicas or 0, elastic.max_replicas or len(nodes)
        if not any(least <= count <= most for count in counts):
            yield both.pairs[-1], f"v2 has {len(nodes)} pods; elasticPolicy allows {least} to {most}."


def _is_group(group: list[Member]) -> bool:
    ranks = [member.rank for member in group if member.rank is not None]
    shared = {(member.size, member.place) for member in group}
    size = group[0].size
    is_alone = size is None or size == "1" or size.startswith("1 x ")
    return len(shared) == 1 and not is_alone and len(ranks) in (0, len(group)) and len({*ranks}) == len(ranks)


class _Side:
    """The members of one side."""

    def __init__(self, hosts: Hosts, kind: str) -> None:
        self._hosts = hosts
        self._kind = kind

    def member(self, replica: Replica) -> Member:
        if reads_nothing(replica.training, _NAMES):
            return Member()
        environment = effective_container(replica.pod, replica.training).environment
        main = launch_of(replica).main
        if main.launcher == "torchrun":
            member = _torchrun(environment, launch_of(replica, environment).main)
        else:
            read = _MEMBER_BY_KIND.get(self._kind)
            member = read(environment, main) if read is not None else Member()
        place = member.place and self._hosts.marked(member.place.replace("<address of the pod>", replica.host))
        return member._replace(place=place and _without_port(place))


def _torchrun(environment: Mapping[str, str], main: Started) -> Member:
    """torch/distributed/run.py: an option of the command line takes precedence over its PET_ variable."""

    def setting(option: str) -> str | None:
        return main.option(option) or environment.get(f"PET_{option.replace('-', '_').upper()}")

    fewest, _, most = (setting("nnodes") or "1").partition(":")
    size = f"{fewest if most in {'', fewest} else f'{fewest}:{most}'} x {setting('nproc-per-node') or 1}"
    if endpoint := setting("rdzv-endpoint"):
        return Member(size, None, endpoint)
    # A single node needs no rendezvous.
    place = setting("master-addr") if (fewest, most) not in {("1", ""), ("1", "1")} else None
    return Member(size, setting("node-rank") or "0", place)


def _pytorch(environment: Mapping[str, str], main: Started) -> Member:
    return Member(*(environment.get(name) or None for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR")))


def _jax(environment: Mapping[str, str], main: Started) -> Member:
    return Member(*(environment.get(name) or None for name in ("NUM_PROCESSES", "PROCESS_ID", "COORDINATOR_ADDRESS")))


def _paddle(environment: Mapping[str, str], main: Started) -> Member:
    return Member(environment.get("PADDLE_NNODES") or None, None, environment.get("PADDLE_MASTER") or None)


def _tensorflow(environment: Mapping[str, str], main: Started) -> Member:
    text = environment.get("TF_CONFIG")
    if text is None:
        return Member()
    try:
        config = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        task: Any = msgspec.json.decode(config["task"])
        return Member(_sizes(bytes(config["cluster"])), f"{task['type']} {task['index']}")
    except (msgspec.DecodeError, RecursionError, LookupError, TypeError, AttributeError):
        return Member("an invalid TF_CONFIG")


@lru_cache(maxsize=8)
def _sizes(cluster: bytes) -> str:
    """The number of pods of each role in a TF_CONFIG."""
    roles: Any = msgspec.json.decode(cluster)
    return ", ".join(f"{len(tasks)} {role}" for role, tasks in sorted(roles.items()) if tasks)


def _mpi(environment: Mapping[str, str], main: Started) -> Member:
    """The number of processes that the launcher starts; workers have no member."""
    return Member(main.option("np") if main.launcher == "mpirun" else None)


def _without_port(place: str) -> str:
    return place.rpartition(":")[0] if place.rpartition(":")[2].isdecimal() else place


def _host_list_faults(both: Matched) -> Iterator[tuple[Pair, str]]:
    """Differences in mpirun's list of hosts with their numbers of processes."""
    before, after = (hosts.marked(text) for hosts, text in zip(both.hosts, _host_lists(both), strict=True))
    if sorted(before.splitlines()) != sorted(after.splitlines()):
        first, second = (", ".join(text.split("\n")).strip(", ") or "none" for text in (before, after))
        yield both.pairs[0], f"mpirun's hosts are {first} in v1, and {second} in v2."


def _host_lists(both: Matched) -> tuple[str, str]:
    config_maps = (obj for obj in both.v2.rendered.objects if obj["kind"] == CONFIG_MAPS.kind)
    after: str = next((obj["data"][HOST_FILE] for obj in config_maps if HOST_FILE in obj.get("data", {})), "")
    return hostfile(both.v1.job), after


_NAMES = (
    "WORLD_SIZE", "RANK", "MASTER_ADDR", "NUM_PROCESSES", "PROCESS_ID", "COORDINATOR_ADDRESS", "PADDLE_NNODES", "PADDLE_MASTER",
    "TF_CONFIG",
)  # fmt: skip
"""The variables from which programs without a launcher read their group."""
_MEMBER_BY_KIND: dict[str, Callable[[Mapping[str, str], Started], Member]] = {
    PYTORCH.resource.kind: _pytorch,
    XGBOOST.resource.kind: _pytorch,
    JAX.resource.kind: _jax,
    PADDLE.resource.kind: _paddle,
    TENSORFLOW.resource.kind: _tensorflow,
    MPI.resource.kind: _mpi,
}
