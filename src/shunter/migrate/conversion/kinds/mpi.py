"""MPIJob: Workers become the nodes, which the launcher reaches by ssh instead of `kubectl exec`.

v1 brought its own way into the workers, so images need nothing but MPI. v2 brings keys and a list of hosts; the rest is up to the
image, or to `rules/ssh`, which sets up everything but OpenSSH itself.
"""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.trainer.runtime import LAUNCHER as LAUNCHERS
from shunter.api.trainer.runtime import NODE
from shunter.api.training.mpi import LAUNCHER, WORKER
from shunter.migrate.conversion.compat_environment import place_roles
from shunter.migrate.conversion.draft import Change, Draft, Group
from shunter.migrate.conversion.kinds.mpi_command import adapt
from shunter.migrate.conversion.kinds.mpi_findings import container_path, containers_of, report, training_container
from shunter.migrate.conversion.mpi_operator import GPU_VARIABLES, JOB_ROLE, MPIOperatorSpec
from shunter.migrate.conversion.rules.ssh import ROOT_PATH, SERVE, client_environment, mount_path
from shunter.operator.trainer.resources import gpu_count
from shunter.operator.training.mpi.names import is_gpu_launcher, launcher_name, slots
from shunter.operator.training.names import replica_name

KIND = "MPIJob"


def arrange(draft: Draft) -> None:
    """Groups `node`, which serves ssh, and `launcher`, whose success is the job's; the launcher alone where there are no Workers.
    P2."""
    workers = draft.job.replica_count(WORKER)
    is_launcher_node = _is_node(draft) or not workers
    _find_containers(draft)
    launcher = Group(LAUNCHERS, (LAUNCHER,), 1)
    # With a GPU launcher the plugin gives what the trainer section says of these to the nodes as well.
    launcher.runtime_says = frozenset({"env", "resources"})
    launcher.environment = _launcher_environment(draft)
    if workers:
        nodes = Group(NODE, (WORKER,), workers, trains=False)
        nodes.environment = _role_of_mpi_operator(draft, "worker")
        nodes.changes = {
            "command": Change(["sh", "-c"], "an ssh server waits for mpirun"),
            "args": Change([SERVE.format(keys=mount_path(draft))], "an ssh server waits for mpirun"),
        }
        if draft.options.gang == "none":
            # A gang scheduler waits for all pods of the job, the launcher among them.
            launcher.depends_on = [{"name": NODE, "status": "Ready"}]
        draft.groups = [nodes, launcher]
        draft.jobset["successPolicy"] = {"operator": "All", "targetReplicatedJobs": [LAUNCHERS]}
    else:
        draft.groups = [launcher]
    if draft.options.mpi_image:
        for group in draft.groups:
            group.changes["image"] = Change(draft.options.mpi_image, "--mpi-image")
    _place(draft)
    draft.ml_policy = {"mpi": _policy(draft, is_launcher_node=is_launcher_node)}
    draft.trainer["numNodes"] = workers + is_launcher_node
    _say_slots(draft)
    draft.profile, draft.reason = "P2", "no runtime that is shipped sets up ssh for any image"
    total = draft.trainer["numNodes"] * slots(draft.job)
    adapt(draft, launcher, training_container(draft, LAUNCHER), container_path(draft, LAUNCHER), total)
    report(draft)


def _policy(draft: Draft, *, is_launcher_node: bool) -> Json:
    """What differs from the defaults of mlPolicy.mpi: Open MPI, one process a node, the keys of root, a launcher that does not
    train."""
    keys = mount_path(draft)
    return {
        **({"sshAuthMountPath": keys} if keys != ROOT_PATH else {}),
        **({"runLauncherAsNode": True} if is_launcher_node else {}),
    }


def _say_slots(draft: Draft) -> None:
    """One process a node is the default, unless the node has several GPUs: then v2 would start one for each of them."""
    path = ("spec", "slotsPerWorker")
    containers = [container for role in draft.job.replicas for container in containers_of(draft, role)]
    if slots(draft.job) == 1 and all(gpu_count(container.get("resources") or {}) <= 1 for container in containers):
        draft.default(path, "one process a node is the default")
        return
    draft.trainer["numProcPerNode"] = slots(draft.job)
    draft.carry(path, "TrainJob", ("spec", "trainer", "numProcPerNode"))


def _find_containers(draft: Draft) -> None:
    """v1 runs mpirun in the launcher's first container, whatever its name, its processes in the workers' first or main one."""
    names = [container.get("name") for container in containers_of(draft, WORKER)]
    main = draft.job.spec.main_container
    draft.training_containers = {LAUNCHER: 0, WORKER: names.index(main) if main in names else 0}


def _launcher_environment(draft: Draft) -> list[Json]:
    """How to reach the nodes; a launcher that does not train sees no GPUs, as in v1."""
    hidden = [] if _is_node(draft) else GPU_VARIABLES
    return [
        *_role_of_mpi_operator(draft, "launcher"),
        *client_environment(),
        *({"name": name, "value": ""} for name in hidden),
    ]


def _is_node(draft: Draft) -> bool:
    """Whether the launcher trains, too."""
    spec = draft.job.spec
    return spec.run_launcher_as_worker if isinstance(spec, MPIOperatorSpec) else is_gpu_launcher(draft.job)


def _role_of_mpi_operator(draft: Draft, role: str) -> list[Json]:
    is_told = isinstance(draft.job.spec, MPIOperatorSpec)
    return [{"name": JOB_ROLE, "value": role}] if is_told else []


def _place(draft: Draft) -> None:
    """The launcher's name has no number. Pods of mpi-operator are reached below the job's name, as those of v2."""
    place_roles(draft)
    launcher = draft.hosts.pop(replica_name(draft.job.name, LAUNCHER, 0), None)
    if launcher:
        draft.hosts[launcher_name(draft.job)] = launcher
    if isinstance(draft.job.spec, MPIOperatorSpec):
        draft.hosts = {f"{name}.{draft.job.name}": place for name, place in draft.hosts.items()}
