"""What a user is told of an MPIJob; of mpirun's options in `mpi_command`."""

from __future__ import annotations

from shunter.migrate.findings import Topic

NEEDS_SSH = Topic(
    id="MPI001",
    title="the image must contain OpenSSH",
    severity="error",
    change="manual",
    grade="D",
    explanation=(
        "In v1 mpirun starts its processes by kubectl exec, so that any image with MPI will do. In v2 it does so by ssh: the "
        "image needs a client and a server. The generated runtime configures both (keys, port 2222, the environment of the "
        "container for processes that come in), for root and any other user that the image knows; nothing else is asked of it."
    ),
    remedy=(
        "Add to the image: RUN apt-get update && apt-get install -y --no-install-recommends openssh-client openssh-server; in "
        "images of Red Hat, where root is locked, also RUN usermod -p '*' root. "
        "Then suppress with --accept MPI001, or name the new image with --mpi-image."
    ),
    effort=5,
    upstream="kubeflow/trainer#3962",
    acceptable=True,
)
OTHER_IMAGE = Topic(
    id="MPI002",
    title="launcher and workers get the image of --mpi-image",
    severity="warning",
    change="manual",
    grade="Q",
    explanation="The image of the source has no ssh, the replacement is expected to have it.",
    remedy="Build it from the image of the source, so that the program and its libraries are the same.",
)
OWN_COMMAND = Topic(
    id="MPI003",
    title="the workers' own command is replaced by an ssh server",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "Processes of mpirun come into the worker's container through a server that is its main program. In v1 they came from "
        "outside, beside whatever the container did itself; what it did no longer happens."
    ),
    remedy="Move what the command prepares into an init container or what mpirun starts; then suppress with --accept MPI003.",
    effort=3,
    acceptable=True,
    explains=("program", "group"),
)
ELASTIC = Topic(
    id="MPI004",
    title="elastic Horovod needs a host list that v2 does not provide",
    severity="error",
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
)
OTHER_MPI = Topic(
    id="MPI005",
    title="Intel MPI and MPICH have no counterpart",
    severity="error",
    change="unsupported",
    grade="N",
    explanation="v1 sets up Open MPI and Intel MPI alike. Runtimes of v2 know Open MPI only (mlPolicy.mpi.mpiImplementation).",
    remedy="Build the program with Open MPI, or move the job to the MPIJob v2beta1 of mpi-operator, which supports all three.",
    effort=7,
    upstream="kubeflow/trainer#4025",
)
MAIN_CONTAINER = Topic(
    id="MPI006",
    title="mainContainer decides which container runs the ssh server",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 starts processes in the container of the workers that spec.mainContainer names. In v2 they come in where the ssh "
        "server runs; that is this container, which is called node. A launcher cannot choose another one of the pod."
    ),
    remedy="Nothing, unless scripts exec into other containers of the workers.",
)
IN_THE_WAY = Topic(
    id="MPI017",
    title="a container mounts a directory that ssh needs",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "v2 mounts the keys of the job in the home directory of the user (/root/.ssh), and the result their set-up in "
        "/etc/mpi-ssh. Kubernetes refuses a pod with two mounts at one path, and with other keys there mpirun does not get into "
        "the workers."
    ),
    remedy="Mount it at another path, and name the keys in it to what uses them (GIT_SSH_COMMAND='ssh -i /keys/id_rsa').",
)
NO_MAIN_CONTAINER = Topic(
    id="MPI007",
    title="mainContainer names no container of the workers",
    severity="error",
    change="unsupported",
    grade="N",
    explanation="In v1 every process that mpirun starts in a worker fails with `container not found`.",
    remedy="Name a container of the Worker's template, or remove spec.mainContainer.",
)
REFUSED = Topic(
    id="MPI008",
    title="v1 does not run this job",
    severity="error",
    change="unsupported",
    grade="N",
    explanation="No webhook refuses MPIJobs; the operator judges them when it reconciles, and never starts those with a fault.",
    remedy="Put the fault right first, so that there is something to convert.",
)
ALONE = Topic(
    id="MPI009",
    title="an MPIJob without workers",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "Only the launcher runs. v1 gives it an empty list of hosts, or one with itself where it has a GPU; in v2 it is the only "
        "node, and the list names it."
    ),
    remedy="Nothing to do. A launcher that needs no mpirun may as well be a TrainJob without mpi policy.",
    explains=("group",),
)
WAITING = Topic(
    id="MPI016",
    title="workers run an ssh server",
    severity="warning",
    change="semantic-change",
    grade="Q",
    explanation="The workers' command does nothing until mpirun comes. In v2 an ssh server does that, by which mpirun comes in.",
    remedy="Nothing to do.",
    effort=0,
)
ACCOUNT = Topic(
    id="MPI010",
    title="v1 creates a missing ServiceAccount for the launcher, v2 does not",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 lets the launcher exec into its workers, by a ServiceAccount that it makes, if need be under the name that the "
        "template says, and deletes with the job. v2 needs no such right, and makes none: a pod that names a missing account is "
        "not made."
    ),
    remedy="Create the ServiceAccount, or remove serviceAccountName from the template.",
)
USER = Topic(
    id="MPI011",
    title="ssh as a user other than root",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "OpenSSH asks the image who a user is. kubectl exec did not, so images of v1 may lack the name of the user that the pods "
        "run as."
    ),
    remedy="Have the user in the image's /etc/passwd (RUN useradd -u UID mpiuser), with a shell.",
)
USERS = Topic(
    id="MPI018",
    title="ssh needs one user, whom the manifest names",
    severity="error",
    change="manual",
    grade="D",
    explanation=(
        "kubectl exec of v1 came in as the user of the worker's container, whatever the launcher ran as. ssh comes in as the "
        "user of the launcher: a server that does not run as root lets in nobody but its own user, and one of root starts "
        "processes as another user than before. Keys are readable for root and for the user of securityContext.runAsUser."
    ),
    remedy=(
        "Set the same securityContext.runAsUser for launcher and workers; where the image sees to it, suppress with "
        "--accept MPI018."
    ),
    acceptable=True,
)
