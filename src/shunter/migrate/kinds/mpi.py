"""MPIJob (3.4): Workers become the nodes, which the launcher reaches by ssh instead of `kubectl exec`.

v1 brought its own way into the workers, so images need nothing but MPI. v2 brings keys and a list of hosts; the rest is up to the
image, or to `rules/ssh`, which sets up everything but OpenSSH itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.meta import Json
from shunter.api.trainer.runtime import NODE
from shunter.api.training import mpi_rules
from shunter.api.training.mpi import LAUNCHER, WORKER
from shunter.migrate.draft import Change, Draft, Group
from shunter.migrate.findings import Topic
from shunter.migrate.kinds.mpi_command import adapt
from shunter.migrate.mpi_operator import MPIOperatorSpec
from shunter.migrate.paths import Path
from shunter.migrate.rules.ssh import SERVE, client_environment, mount_path
from shunter.migrate.shims import place_roles
from shunter.operator.trainer.plugins.mpi import LAUNCHER as LAUNCHERS
from shunter.operator.trainer.plugins.mpi import OPEN_MPI
from shunter.operator.training.mpi.names import is_gpu_launcher, launcher_name, slots
from shunter.operator.training.names import replica_name

KIND = "MPIJob"
_WAITING = frozenset({"sleep", "tail", "cat", "pause", "sshd"})
"""Programs by which workers pass their time until mpirun comes."""
_OTHER_MPI = ("I_MPI_", "HYDRA_", "MPICH_", "MV2_")
"""Beginnings of variables that Intel MPI and the family of MPICH read."""
_OTHER_IMAGES = ("intelmpi", "intel-mpi", "hpckit", "mpich", "mvapich")

NEEDS_SSH = Topic(
    id="MPI001",
    title="the image must contain OpenSSH",
    severity="error",
    impact="blocking",
    change="manual",
    grade="D",
    explanation=(
        "In v1 mpirun starts its processes by kubectl exec, so that any image with MPI will do. In v2 it does so by ssh: the "
        "image needs a client and a server. The generated runtime configures both (keys, port 2222, the environment of the "
        "container for processes that come in), for root and any other user that the image knows; nothing else is asked of it."
    ),
    remedy=(
        "Add to the image: RUN apt-get update && apt-get install -y --no-install-recommends openssh-client openssh-server. "
        "Then accept with --accept MPI001, or name the new image with --mpi-image."
    ),
    effort=5,
    upstream="kubeflow/trainer#3962",
    traps=("NX17",),
    acceptable=True,
)
OTHER_IMAGE = Topic(
    id="MPI002",
    title="launcher and workers get the image of --mpi-image",
    severity="info",
    impact="advisory",
    change="manual",
    grade="Q",
    explanation="The image of the source has no ssh, the one that was named for it is said to have it.",
    remedy="Build it from the image of the source, so that the program and its libraries are the same.",
    effort=1,
    traps=("NX17",),
)
OWN_COMMAND = Topic(
    id="MPI003",
    title="the workers' own command is replaced by an ssh server",
    severity="error",
    impact="blocking",
    change="semantic-change",
    grade="L",
    explanation=(
        "Processes of mpirun come into the worker's container through a server that is its main program. In v1 they came from "
        "outside, beside whatever the container did itself; what it did does not happen any more."
    ),
    remedy="Move what the command prepares into an init container or what mpirun starts; then accept with --accept MPI003.",
    effort=3,
    traps=("NX20",),
    acceptable=True,
)
ELASTIC = Topic(
    id="MPI004",
    title="elastic Horovod asks for hosts that v2 does not tell",
    severity="error",
    impact="blocking",
    change="unsupported",
    grade="N",
    explanation=(
        "v1 writes a script discover_hosts.sh that says which workers run just now; elastic Horovod asks it again and again. v2 "
        "has a fixed list of hosts, and a TrainJob has a fixed number of nodes."
    ),
    remedy=(
        "Keep the job on an operator with discover_hosts.sh (the MPIJob v2beta1 of mpi-operator has it), or train with a fixed "
        "number of workers."
    ),
    effort=7,
    traps=("NX19",),
)
OTHER_MPI = Topic(
    id="MPI005",
    title="Intel MPI and MPICH have no counterpart",
    severity="error",
    impact="blocking",
    change="unsupported",
    grade="N",
    explanation="v1 sets up Open MPI and Intel MPI alike. Runtimes of v2 know Open MPI only (mlPolicy.mpi.mpiImplementation).",
    remedy="Build the program with Open MPI, or move the job to the MPIJob v2beta1 of mpi-operator, which supports all three.",
    effort=7,
    upstream="kubeflow/trainer#4025",
    traps=("NX18",),
)
MAIN_CONTAINER = Topic(
    id="MPI006",
    title="mainContainer decides which container runs the ssh server",
    severity="warning",
    impact="advisory",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 starts processes in the container of the workers that spec.mainContainer names. In v2 they come in where the ssh "
        "server runs; that is this container, which is called node. A launcher cannot choose another one of the pod."
    ),
    remedy="Nothing, unless scripts exec into other containers of the workers.",
    effort=1,
    traps=("NX20",),
)
NO_MAIN_CONTAINER = Topic(
    id="MPI007",
    title="mainContainer names no container of the workers",
    severity="error",
    impact="blocking",
    change="unsupported",
    grade="N",
    explanation="In v1 every process that mpirun starts in a worker fails with `container not found`.",
    remedy="Name a container of the Worker's template, or remove spec.mainContainer.",
    effort=1,
    traps=("NX20",),
)
REFUSED = Topic(
    id="MPI008",
    title="v1 does not run this job",
    severity="error",
    impact="blocking",
    change="unsupported",
    grade="N",
    explanation="No webhook looks at MPIJobs; the operator judges them when it reconciles, and never starts those with a fault.",
    remedy="Put the fault right first, so that there is something to convert.",
    effort=1,
)
ALONE = Topic(
    id="MPI009",
    title="an MPIJob without workers",
    severity="warning",
    impact="advisory",
    change="semantic-change",
    grade="D",
    explanation=(
        "Only the launcher runs. v1 gives it an empty list of hosts, or one with itself where it has a GPU; in v2 it is the only "
        "node, and the list names it."
    ),
    remedy="Nothing to do. A launcher that needs no mpirun may as well be a TrainJob without mpi policy.",
    effort=1,
    explains=("group",),
)
WAITING = Topic(
    id="MPI016",
    title="workers wait as an ssh server",
    severity="info",
    impact="none",
    change="semantic-change",
    grade="Q",
    explanation="The workers' command does nothing until mpirun comes. In v2 an ssh server does that, by which mpirun comes in.",
    remedy="Nothing to do.",
)
ACCOUNT = Topic(
    id="MPI010",
    title="v1 makes the launcher's ServiceAccount where it is missing, v2 does not",
    severity="warning",
    impact="advisory",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 lets the launcher exec into its workers, by a ServiceAccount that it makes, if need be under the name that the "
        "template says, and deletes with the job. v2 needs no such right, and makes none: a pod that names a missing account is "
        "not made."
    ),
    remedy="Create the ServiceAccount, or remove serviceAccountName from the template.",
    effort=1,
)
USER = Topic(
    id="MPI011",
    title="ssh as another user than root",
    severity="warning",
    impact="advisory",
    change="manual",
    grade="D",
    explanation=(
        "OpenSSH asks the image who a user is. kubectl exec did not, so images of v1 may lack the name of the user that the pods "
        "run as."
    ),
    remedy="Have the user in the image's /etc/passwd (RUN useradd -u UID mpiuser), with a shell.",
    effort=1,
)


def arrange(draft: Draft) -> None:
    workers = draft.job.replica_count(WORKER)
    is_launcher_node = _is_node(draft) or not workers
    _find_containers(draft)
    launcher = Group(LAUNCHERS, (LAUNCHER,), 1)
    # With a GPU launcher the plugin gives what the trainer section says of these to the nodes as well (9-S4).
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
        draft.report(ALONE, ("spec", draft.replica_specs), "The job has no workers.")
    if draft.options.mpi_image:
        for group in draft.groups:
            group.changes["image"] = Change(draft.options.mpi_image, "--mpi-image")
    _place(draft)
    draft.ml_policy = {
        "mpi": {
            "numProcPerNode": slots(draft.job),
            "mpiImplementation": OPEN_MPI,
            "sshAuthMountPath": mount_path(draft),
            "runLauncherAsNode": is_launcher_node,
        }
    }
    draft.trainer |= {"numNodes": workers + is_launcher_node, "numProcPerNode": slots(draft.job)}
    draft.carry(("spec", "slotsPerWorker"), "TrainJob", ("spec", "trainer", "numProcPerNode"))
    draft.profile, draft.reason = "P2", "no runtime that is shipped sets up ssh for any image"
    total = draft.trainer["numNodes"] * draft.trainer["numProcPerNode"]
    adapt(draft, launcher, _training(draft, LAUNCHER), _container_path(draft, LAUNCHER), total)
    _report(draft)


def _find_containers(draft: Draft) -> None:
    """v1 runs mpirun in the launcher's first container, whatever its name, its processes in the workers' first or main one."""
    names = [container.get("name") for container in _containers(draft, WORKER)]
    main = draft.job.spec.main_container
    draft.training_containers = {LAUNCHER: 0, WORKER: names.index(main) if main in names else 0}


def _containers(draft: Draft, role: str) -> list[Json]:
    containers: list[Json] = (draft.job.replicas[role].template.get("spec") or {}).get("containers") or []
    return containers


def _launcher_environment(draft: Draft) -> list[Json]:
    """How to reach the nodes; a launcher that does not train sees no GPUs, as in v1."""
    hidden = [] if _is_node(draft) else ["NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"]
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
    return [{"name": "K_MPI_JOB_ROLE", "value": role}] if is_told else []


def _place(draft: Draft) -> None:
    """The launcher's name has no number."""
    place_roles(draft)
    launcher = draft.hosts.pop(replica_name(draft.job.name, LAUNCHER, 0), None)
    if launcher:
        draft.hosts[launcher_name(draft.job)] = launcher


def _report(draft: Draft) -> None:
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
    for path, word in _words(draft, LAUNCHER):
        if "host-discovery-script" in word or "discover_hosts.sh" in word:
            draft.report(ELASTIC, path, "The launcher asks a script for its hosts.")
            break
    if mount_path(draft) != "/root/.ssh":
        draft.report(USER, specs, "The pods run as another user than root, whom the image must know.")


def _account_for_mpi_operator(draft: Draft, spec: MPIOperatorSpec) -> None:
    """Fields that only its MPIJob has."""
    draft.carry(("spec", "runLauncherAsWorker"), "TrainingRuntime", ("spec", "mlPolicy", "mpi", "runLauncherAsNode"))
    draft.default(("spec", "sshAuthMountPath"), "the runtime tells ssh where the keys are")
    draft.default(("spec", "launcherCreationPolicy"), "the launcher waits until all nodes are ready")
    implementation = ("spec", "mpiImplementation")
    if spec.mpi_implementation == OPEN_MPI:
        draft.carry(implementation, "TrainingRuntime", ("spec", "mlPolicy", "mpi", "mpiImplementation"))
    else:
        draft.report(OTHER_MPI, implementation, f"mpiImplementation is {spec.mpi_implementation}.", dropped=True)


def _report_image(draft: Draft) -> None:
    if draft.options.mpi_image:
        for group in draft.groups:
            (role,) = group.roles
            image = _training(draft, role).get("image", "")
            path = (*_container_path(draft, role), "image")
            draft.report(OTHER_IMAGE, path, f"{image} becomes {draft.options.mpi_image}.")
        return
    if not draft.job.replica_count(WORKER) or _serves_ssh(draft):
        return
    image = _training(draft, WORKER).get("image", "")
    text = f"Whether {image} contains ssh and sshd cannot be seen from here."
    draft.report(NEEDS_SSH, (*_container_path(draft, WORKER), "image"), text)


def _report_command(draft: Draft) -> None:
    """The workers' command, unless it only waits, or is an ssh server itself."""
    container, path = _training(draft, WORKER), (*_container_path(draft, WORKER), "command")
    words = [str(word) for word in container.get("command") or []]
    if not draft.job.replica_count(WORKER):
        return
    if _only_waits(container):
        draft.report(WAITING, path, f"{words[0]} gives way to the ssh server.")
    elif words:
        draft.report(OWN_COMMAND, path, f"{' '.join(words)[:60]} is not started any more.")
    elif draft.training_containers[WORKER]:
        draft.report(OWN_COMMAND, path, f"The entrypoint of {container.get('image')} is not started any more.")


def _only_waits(container: Json) -> bool:
    """Whether the container runs one program, in a shell or by itself, that does nothing until mpirun comes."""
    words = [str(word) for field in ("command", "args") for word in container.get(field) or []]
    if words[:1] and words[0].rpartition("/")[2] in ("sh", "bash") and "-c" in words:
        words = words[words.index("-c") + 1 :][:1]
        words = words[0].replace("exec ", "").split() if words and not set(words[0]) & set(";&|\n") else words
    return bool(words) and words[0].rpartition("/")[2] in _WAITING


def _serves_ssh(draft: Draft) -> bool:
    """Whether the workers run an ssh server already, so that the image has it."""
    return isinstance(draft.job.spec, MPIOperatorSpec) or any("sshd" in word for _, word in _words(draft, WORKER))


def _report_main_container(draft: Draft) -> None:
    path, main = ("spec", "mainContainer"), draft.job.spec.main_container
    names = [container.get("name") for container in _containers(draft, WORKER)]
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
        container, path = _training(draft, role), _container_path(draft, role)
        for index, variable in enumerate(container.get("env") or []):
            if str(variable.get("name", "")).startswith(_OTHER_MPI):
                draft.report(OTHER_MPI, (*path, "env", index), f"{variable['name']} is for another MPI than Open MPI.")
                return
        if any(name in str(container.get("image", "")).lower() for name in _OTHER_IMAGES):
            draft.report(OTHER_MPI, (*path, "image"), f"{container['image']} is an image of another MPI than Open MPI.")
            return
    for path, word in _words(draft, LAUNCHER):
        if "mpiexec.hydra" in word or "mpirun_rsh" in word:
            draft.report(OTHER_MPI, path, "The launcher starts another mpirun than that of Open MPI.")
            return


def _words(draft: Draft, role: str) -> Iterator[tuple[Path, str]]:
    """Command and arguments of the role's container, each with its place."""
    container, path = _training(draft, role), _container_path(draft, role)
    for field in ("command", "args"):
        for index, word in enumerate(container.get(field) or []):
            yield (*path, field, index), str(word)


def _training(draft: Draft, role: str) -> Json:
    containers = _containers(draft, role)
    return containers[draft.training_containers[role]] if containers else {}


def _container_path(draft: Draft, role: str) -> Path:
    return (*draft.role_path(role), "template", "spec", "containers", draft.training_containers[role])
