"""How mpirun of a converted MPIJob reaches its nodes: OpenSSH, configured by the runtime so that the image need not.

v2's plugin mounts the job's keys as any volume, which OpenSSH refuses in several ways: a private key that its owner's group may
read, a directory that all may write to. And processes that come in by ssh get nothing of the container's environment, in
which `kubectl exec` of v1 started them. So an init container copies the key and writes a configuration for the client, and the
server gets as options all that it would look up in the image, of whose configuration it reads nothing (-f /dev/null). Tried with
OpenSSH 9.2, as root and as another user.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, count

from shunter.api.meta import Json
from shunter.api.training.mpi import LAUNCHER, WORKER
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.conversion.mpi_operator import MPIOperatorSpec
from shunter.operator.trainer.plugins.mpi import KEYS_VOLUME

PORT = 2222
"""Not 22: it needs no rights, and does not meet the server of a machine whose network the pods use."""
SETUP = "mpi-ssh"
"""Volume and init container, where these names are free."""
SETUP_PATH = "/etc/mpi-ssh"
KEYS_PATH = "/mpi-ssh-auth"
"""Where the init container sees the keys."""
_OF_THE_SAME_IMAGE = ("image", "imagePullPolicy", "resources", "securityContext")
"""What the init container has of the one that it prepares; with its resources the pod needs no more than before."""
AGENTS = frozenset({"plm_rsh_agent", "plm_ssh_agent", "orte_rsh_agent", "pls_rsh_agent"})
"""How Open MPI of all ages calls the program that starts its daemons."""
CLIENT_VARIABLES = ("OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent")
"""The environment variables of mpirun: Open MPI up to 4 the first, Open MPI 5 the second."""
AGENT_ENVIRONMENT = tuple(f"{library}_MCA_{agent}" for library in ("OMPI", "PRTE") for agent in sorted(AGENTS))
"""The variables that name that program to Open MPI up to 4, and from 5 on."""
ROOT_PATH, USER_PATH = "/root/.ssh", "/home/mpiuser/.ssh"

SET_UP = f"umask 077; cat {KEYS_PATH}/id_rsa > {SETUP_PATH}/id_rsa"
CLIENT = (
    f"ssh -F /dev/null -p {PORT} -i {SETUP_PATH}/id_rsa "
    "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
)
"""Without a colon: Open MPI takes one for the end of a command, behind which stands another to try."""
SERVE = f"""\
export -p > {SETUP_PATH}/environment
mkdir -p /run/sshd 2> /dev/null
exec /usr/sbin/sshd -De -f /dev/null -p {PORT} -h {SETUP_PATH}/id_rsa \\
  -o AuthorizedKeysFile={{keys}}/authorized_keys -o StrictModes=no -o PidFile=none \\
  -o 'ForceCommand=. {SETUP_PATH}/environment; eval "$SSH_ORIGINAL_COMMAND"'
"""
"""The workers' script; `keys` is `mount_path`. What comes in gets the environment of the container."""


def apply(draft: Draft) -> None:
    """Adds to each group of an MPI job a container that sets ssh up and a volume in memory; Workers are ready when ssh
    answers."""
    if "mpi" not in draft.ml_policy:
        return
    for group in draft.groups:
        spec, training = group.pod["spec"], draft.training_container(group)
        volumes, before = spec.get("volumes") or [], spec.get("initContainers") or []
        volume = _free_name(volumes)
        spec["initContainers"] = [*before, _set_up(training, _free_name([*before, *spec["containers"]]), volume)]
        spec["volumes"] = [*volumes, {"name": volume, "emptyDir": {"medium": "Memory"}}]
        training["volumeMounts"] = [*(training.get("volumeMounts") or []), {"name": volume, "mountPath": SETUP_PATH}]
        if group.roles == (WORKER,):
            training.setdefault("readinessProbe", {"tcpSocket": {"port": PORT}, "periodSeconds": 2})
            if _idle(spec["containers"][0]):
                draft.changed(group, ("spec", "containers", 0, "args"), "v1 puts 365d in their place, as there is no command")
        _let_group_read(group)


def is_set_up(name: str) -> bool:
    """Whether a volume or init container may be the one that is added here."""
    return re.fullmatch(rf"{SETUP}(-\d+)?", name) is not None


def mount_path(draft: Draft) -> str:
    """Where the keys are mounted: at mpi-operator's sshAuthMountPath, else in the home of the user, as far as one can know it."""
    spec = draft.job.spec
    if isinstance(spec, MPIOperatorSpec) and spec.ssh_auth_mount_path != ROOT_PATH:
        return spec.ssh_auth_mount_path
    return USER_PATH if runs_as_other_user(draft) else ROOT_PATH


def runs_as_other_user(draft: Draft) -> bool:
    """Whether some container of the job is said to run as another user than root."""
    return any(_user(draft.job.replicas[role].template.get("spec") or {}) for role in (LAUNCHER, WORKER))


def serves_ssh(draft: Draft) -> bool:
    """Whether the workers run an ssh server already, so that the image has it."""
    containers = (draft.job.replicas[WORKER].template.get("spec") or {}).get("containers") or []
    container = containers[draft.training_containers[WORKER]] if containers else {}
    words = [str(word) for field in ("command", "args") for word in container.get(field) or []]
    return isinstance(draft.job.spec, MPIOperatorSpec) or any("sshd" in word for word in words)


def client_environment() -> list[Json]:
    """Tells mpirun which ssh to start."""
    first, *others = CLIENT_VARIABLES
    return [{"name": first, "value": CLIENT}, *({"name": name, "value": f"$({first})"} for name in others)]


def _user(spec: Json) -> int:
    contexts = [spec.get("securityContext"), *(container.get("securityContext") for container in spec.get("containers") or [])]
    return max((context.get("runAsUser") or 0 for context in contexts if context), default=0)


def _free_name(taken: Sequence[Json]) -> str:
    """SETUP, with a number where the user's own is called so."""
    names = {one.get("name") for one in taken}
    return next(name for name in chain([SETUP], (f"{SETUP}-{number}" for number in count(2))) if name not in names)


def _set_up(training: Json, name: str, volume: str) -> Json:
    inherited: Json = {field: training[field] for field in _OF_THE_SAME_IMAGE if field in training}
    return {
        "name": name,
        **inherited,
        "command": ["sh", "-c", SET_UP],
        "volumeMounts": [{"name": KEYS_VOLUME, "mountPath": KEYS_PATH}, {"name": volume, "mountPath": SETUP_PATH}],
    }


def _idle(first: Json) -> bool:
    """v1 lets the workers' first container sleep where it has no command, also beside a main container. Returns whether
    arguments were lost by that."""
    if first.get("command"):
        return False
    had_arguments = bool(first.get("args"))
    first |= {"command": ["sleep"], "args": ["365d"]}
    return had_arguments


def _let_group_read(group: Group) -> None:
    """The keys are root's; another user reads them as one of the group that owns the volumes."""
    user = _user(group.pod["spec"])
    if user:
        context = group.pod["spec"].setdefault("securityContext", {})
        context.setdefault("fsGroup", context.get("runAsGroup") or user)
