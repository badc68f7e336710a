"""Expected differences of MPIJobs: v2 uses ssh instead of `kubectl exec`, with keys and a host list of its plugin and the setup
of `rules/ssh`, and needs nothing of what v1 added for this.
"""

from __future__ import annotations

from shunter.api.training.mpi import WORKER
from shunter.migrate.conversion.rules.ssh import (
    CLIENT,
    CLIENT_VARIABLES,
    KEYS_PATH,
    PORT,
    SERVE,
    SET_UP,
    SETUP_PATH,
    is_set_up,
)
from shunter.migrate.pods.differences import Difference
from shunter.migrate.pods.facts import TRAINING
from shunter.migrate.pods.sides import Replica
from shunter.migrate.proof.context import Context
from shunter.operator.trainer.plugins.mpi import HOST_FILE_VOLUME, KEYS_VOLUME
from shunter.operator.training.mpi import names as mpi_names
from shunter.operator.training.mpi import pods as mpi_pods

REASON = "mpirun connects to the nodes by ssh, instead of kubectl exec as in v1"
_VOLUMES = (mpi_pods.CONFIG, mpi_pods.DELIVERY, KEYS_VOLUME, HOST_FILE_VOLUME)
"""Volumes of the operators; that of the setup has rules of its own."""
_INTEL = "I_MPI_"
"""Variables of Intel MPI, which v1 sets as well; v2 runs Open MPI only."""


def volumes(difference: Difference, context: Context) -> str:
    """The reason for a volume, or a mount of it, that either side needs to connect to the nodes; empty for any other
    difference."""
    place, after = difference.place, difference.v2
    if place[0] == "volumes":
        return REASON if place[1] in _VOLUMES or (is_set_up(place[1]) and after == "Memory") else ""
    if len(place) < 4 or place[2] != "volumeMounts" or is_set_up(place[1]):
        return ""
    mounted = {_mounted(replica, place) for replica in difference.pair[1:] if isinstance(replica, Replica)} - {""}
    is_ours = len(mounted) == 1 and all(map(is_set_up, mounted)) and place[3] == SETUP_PATH
    return REASON if is_ours or mounted <= {*_VOLUMES} else ""


def set_up(difference: Difference, context: Context) -> str:
    """The reason for the init container that prepares keys, and for the fsGroup that may read them."""
    place, replica = difference.place, difference.pair.v2
    if difference.v1 is not None or replica is None:
        return ""
    if place == ("spec", "securityContext", "fsGroup"):
        return REASON
    if place[0] != "initContainers" or len(place) < 2 or not is_set_up(place[1]):
        return ""
    match place[2:]:
        case ("program",):
            return REASON if difference.v2 == ["sh", "-c", SET_UP] else ""
        case ("image",):
            return REASON if difference.v2 == replica.training.get("image") else ""
        case ("volumeMounts", path, "name"):
            is_ours = path == SETUP_PATH and is_set_up(difference.v2 or "")
            return REASON if is_ours or (path, difference.v2) == (KEYS_PATH, KEYS_VOLUME) else ""
    return REASON


def environment(difference: Difference, context: Context) -> str:
    """The reason for a variable that says how mpirun connects to the nodes, or that v1 added for this; empty for any other
    difference."""
    place, pair = difference.place, difference.pair
    if len(place) != 4 or place[2] != "env" or pair.v1 is None:
        return ""
    name = place[3]
    if name in CLIENT_VARIABLES and difference.v2 == CLIENT:
        return REASON
    is_of_v1 = name in context.variables.get(pair.v1.role, ()) and (name in CLIENT_VARIABLES or name.startswith(_INTEL))
    return REASON if is_of_v1 and difference.v2 is None else ""


def service_account(difference: Difference, context: Context) -> str:
    """The reason for the launcher's own ServiceAccount, which may run `kubectl exec`, in v1 only."""
    if difference.place not in (("spec", "serviceAccountName"), ("spec", "serviceAccount")):
        return ""
    own = mpi_names.launcher_name(context.matched.v1.job)
    return REASON if difference.v1 in (own, difference.pair.mark) and difference.v2 is None else ""


def servers(difference: Difference, context: Context) -> str:
    """The reason for Workers that run an ssh server, with the keys where v2 mounts them, instead of sleeping until `kubectl
    exec`."""
    pair, place = difference.pair, difference.place
    if pair.v1 is None or pair.v2 is None or pair.v1.role != WORKER or place[:2] != ("containers", TRAINING):
        return ""
    if place[2] == "program" and difference.v1 == ["sleep", "365d"]:
        return REASON if difference.v2 in [["sh", "-c", SERVE.format(keys=path)] for path in _key_paths(pair.v2)] else ""
    if place[2:] == ("readinessProbe", "tcpSocket", "port"):
        return REASON if difference.v1 is None and difference.v2 == PORT else ""
    return REASON if place[2] == "readinessProbe" and difference.v1 is None else ""


def _key_paths(replica: Replica) -> list[str]:
    """Where the keys are mounted in the training container."""
    mounts = replica.training.get("volumeMounts") or []
    return [mount["mountPath"] for mount in mounts if mount["name"] == KEYS_VOLUME]


def _mounted(replica: Replica, place: tuple[str, ...]) -> str:
    """The volume that a container mounts at the path in `place`."""
    section, name, _, path, *_ = place
    container = replica.container if section == "containers" and name == TRAINING else name
    containers = replica.pod["spec"].get(section) or []
    mounts = (mount for one in containers if one["name"] == container for mount in one.get("volumeMounts") or [])
    return next((str(mount["name"]) for mount in mounts if mount["mountPath"] == path), "")


MPI_RULES = (volumes, set_up, environment, service_account, servers)
