"""Tells what of an MPIJob v2 does otherwise, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shunter.api.meta import Json
from shunter.api.training import mpi_rules
from shunter.api.training.mpi import LAUNCHER, WORKER
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.kinds.mpi_topics import (
    ACCOUNT,
    ALONE,
    ELASTIC,
    IN_THE_WAY,
    MAIN_CONTAINER,
    NEEDS_SSH,
    NO_MAIN_CONTAINER,
    OTHER_IMAGE,
    OTHER_MPI,
    OWN_COMMAND,
    REFUSED,
    USER,
    USERS,
    WAITING,
)
from shunter.migrate.conversion.kinds.mpi_workers import only_waits
from shunter.migrate.conversion.mpi_operator import MPIOperatorSpec
from shunter.migrate.conversion.rules.ssh import ROOT_PATH, SETUP_PATH, mount_path, runs_as_other_user, serves_ssh
from shunter.migrate.excerpts import command_excerpt
from shunter.migrate.paths import Path
from shunter.operator.trainer.plugins.mpi import OPEN_MPI

_OTHER_MPI = ("I_MPI_", "HYDRA_", "MPICH_", "MV2_")
"""Beginnings of variables that Intel MPI and the family of MPICH read."""
_OTHER_IMAGES = ("intelmpi", "intel-mpi", "hpckit", "mpich", "mvapich")


def report(draft: Draft) -> None:
    """Reports everything about the job but what `mpi_command` reports."""
    specs = ("spec", draft.replica_specs)
    if isinstance(draft.job.spec, MPIOperatorSpec):
        _account_for_mpi_operator(draft, draft.job.spec)
    elif fault := mpi_rules.fault(draft.job.spec):
        draft.report(REFUSED, specs, f"{fault}.")
    _report_image(draft)
    _report_command(draft)
    _report_main_container(draft)
    _report_other_mpi(draft)
    launcher = (*draft.role_path(LAUNCHER), "template", "spec")
    if draft.is_given((*launcher, "serviceAccountName")):
        name = draft.given((*launcher, "serviceAccountName"))
        draft.report(ACCOUNT, (*launcher, "serviceAccountName"), f"The ServiceAccount {name} must exist.")
    for path, word in words(draft, LAUNCHER):
        if "host-discovery-script" in word or "discover_hosts.sh" in word:
            draft.report(ELASTIC, path, "The launcher gets its hosts from a script.")
            break
    if not draft.job.replica_count(WORKER):
        draft.report(ALONE, specs, "The job has no workers.")
    _report_mounts(draft)
    _report_users(draft)
    if runs_as_other_user(draft):
        draft.report(USER, specs, "The pods run as a user other than root, who must exist in the image.")


def _account_for_mpi_operator(draft: Draft, spec: MPIOperatorSpec) -> None:
    """Fields that only its MPIJob has."""
    as_worker = ("spec", "runLauncherAsWorker")
    if spec.run_launcher_as_worker:
        draft.carry(as_worker, "TrainingRuntime", ("spec", "mlPolicy", "mpi", "runLauncherAsNode"))
    else:
        draft.default(as_worker, "a launcher does not train by default")
    if spec.ssh_auth_mount_path != ROOT_PATH:
        draft.carry(("spec", "sshAuthMountPath"), "TrainingRuntime", ("spec", "mlPolicy", "mpi", "sshAuthMountPath"))
    else:
        draft.default(("spec", "sshAuthMountPath"), "where the keys are by default; another user than root has a home of its own")
    draft.default(("spec", "launcherCreationPolicy"), "the launcher waits until all nodes are ready")
    implementation = ("spec", "mpiImplementation")
    if spec.mpi_implementation == OPEN_MPI:
        draft.default(implementation, "Open MPI is the default")
    else:
        draft.report(OTHER_MPI, implementation, f"mpiImplementation is {spec.mpi_implementation}.", dropped=True)


def _report_image(draft: Draft) -> None:
    if draft.options.mpi_image:
        for group in draft.groups:
            (role,) = group.roles
            image = training_container(draft, role).get("image", "")
            path = (*container_path(draft, role), "image")
            draft.report(OTHER_IMAGE, path, f"{image} becomes {draft.options.mpi_image}.")
        return
    if not draft.job.replica_count(WORKER) or serves_ssh(draft):
        return
    image = training_container(draft, WORKER).get("image", "")
    text = f"Whether {image} contains ssh and sshd is unknown."
    draft.report(NEEDS_SSH, (*container_path(draft, WORKER), "image"), text)


def _report_command(draft: Draft) -> None:
    """The workers' command, unless it only waits, or is an ssh server itself."""
    container, path = training_container(draft, WORKER), (*container_path(draft, WORKER), "command")
    command = [str(word) for word in container.get("command") or []]
    if not draft.job.replica_count(WORKER):
        return
    if command and only_waits(container):
        draft.report(WAITING, path, f"{command[0]} is replaced by the ssh server.")
    elif command:
        draft.report(OWN_COMMAND, path, f"{command_excerpt(' '.join(command))} is no longer started.")
    elif draft.training_containers[WORKER]:
        draft.report(OWN_COMMAND, path, f"The entrypoint of {container.get('image')} is no longer started.")


def _report_mounts(draft: Draft) -> None:
    """Mounts of the containers that ssh is set up in, where it needs the place."""
    taken = {mount_path(draft), SETUP_PATH}
    for role in (LAUNCHER, WORKER):
        for index, mount in enumerate(training_container(draft, role).get("volumeMounts") or ()):
            if str(mount.get("mountPath")).rstrip("/") in taken:
                path = (*container_path(draft, role), "volumeMounts", index, "mountPath")
                draft.report(IN_THE_WAY, path, f"{mount['mountPath']} is where v2 mounts the keys with which mpirun logs in.")


def _report_users(draft: Draft) -> None:
    """Users that ssh does not bring together, and one that reads no keys because the manifest does not name it."""
    roles = [role for role in (LAUNCHER, WORKER) if draft.job.replica_count(role)]
    users = {role: _security(draft, role, "runAsUser") for role in roles}
    spec = draft.job.spec
    if not isinstance(spec, MPIOperatorSpec) and len({user or 0 for user in users.values()}) > 1:
        said = ", ".join(
            f"the {role} runs as {'the user of its image' if user is None else user}" for role, user in users.items()
        )
        draft.report(USERS, ("spec", draft.replica_specs), f"ssh logs in as the launcher's user: {said}.")
    for role, user in users.items():
        if user is None and _security(draft, role, "runAsNonRoot") and not _reads_by_group(draft, role):
            path = (*draft.role_path(role), "template", "spec")
            draft.report(
                USERS, path, f"The {role} runs as the user of its image, who is not root and may lack access to the keys."
            )
    if not isinstance(spec, MPIOperatorSpec) or all(_reads_by_group(draft, role) for role in roles):
        return
    if spec.ssh_auth_mount_path.startswith("/home/") and not any(users.values()):
        says = f"Keys in {spec.ssh_auth_mount_path} are for another user than root, and no runAsUser says for whom."
        draft.report(USERS, ("spec", "sshAuthMountPath"), says)


def _reads_by_group(draft: Draft, role: str) -> bool:
    """Whether any user of the role's pods may read the keys: their files are the fsGroup's, but only root enters /root."""
    return _security(draft, role, "fsGroup") is not None and not mount_path(draft).startswith("/root/")


def _security(draft: Draft, role: str, field: str) -> Any:
    """What the securityContext of the role's training container says, else that of its pods; None where neither does."""
    pod = (draft.job.replicas[role].template.get("spec") or {}).get("securityContext") or {}
    own = training_container(draft, role).get("securityContext") or {}
    return own.get(field, pod.get(field))


def _report_main_container(draft: Draft) -> None:
    path, main = ("spec", "mainContainer"), draft.job.spec.main_container
    names = [container.get("name") for container in containers_of(draft, WORKER)]
    if not main or not draft.job.replica_count(WORKER):
        draft.default(path, "the first container")
    elif main not in names:
        draft.report(NO_MAIN_CONTAINER, path, f"{main} is none of {', '.join(map(str, names))}.", dropped=True)
    elif len(names) > 1:
        draft.report(MAIN_CONTAINER, path, f"The ssh server runs in {main}.", dropped=True)
    else:
        draft.default(path, "the only container")


def _report_other_mpi(draft: Draft) -> None:
    for role in (LAUNCHER, WORKER):
        container, path = training_container(draft, role), container_path(draft, role)
        for index, variable in enumerate(container.get("env") or []):
            if str(variable.get("name", "")).startswith(_OTHER_MPI):
                draft.report(OTHER_MPI, (*path, "env", index), f"{variable['name']} is for an MPI other than Open MPI.")
                return
        if any(name in str(container.get("image", "")).lower() for name in _OTHER_IMAGES):
            draft.report(OTHER_MPI, (*path, "image"), f"{container['image']} is an image of an MPI other than Open MPI.")
            return
    for path, word in words(draft, LAUNCHER):
        if "mpiexec.hydra" in word or "mpirun_rsh" in word:
            draft.report(OTHER_MPI, path, "The launcher starts an mpirun other than that of Open MPI.")
            return


def containers_of(draft: Draft, role: str) -> list[Json]:
    """The containers of a role's pod template; empty if it has none."""
    containers: list[Json] = (draft.job.replicas[role].template.get("spec") or {}).get("containers") or []
    return containers


def words(draft: Draft, role: str) -> Iterator[tuple[Path, str]]:
    """Command and arguments of the role's container, each with its place."""
    container, path = training_container(draft, role), container_path(draft, role)
    for field in ("command", "args"):
        for index, word in enumerate(container.get(field) or []):
            yield (*path, field, index), str(word)


def training_container(draft: Draft, role: str) -> Json:
    """The one of `Draft.training_containers`; `{}` where the role has none at all."""
    containers = containers_of(draft, role)
    return containers[draft.training_containers[role]] if containers else {}


def container_path(draft: Draft, role: str) -> Path:
    """Where the role's training container stands in the source."""
    return (*draft.role_path(role), "template", "spec", "containers", draft.training_containers[role])
