"""The findings about an MPIJob; those about mpirun's options are in `mpi_command`."""

from __future__ import annotations

from shunter.migrate.findings import Topic

NEEDS_SSH = Topic(
    id="MPI001",
    title="the image must contain OpenSSH",
    severity="error",
    change="manual",
    grade="D",
    explanation=(
        "In v2 mpirun starts its processes by ssh, so the image needs an ssh client and server; in v1 it uses kubectl exec, "
        "which works with any image that contains MPI. The generated runtime configures both (keys, port 2222, the environment "
        "of the container for processes started by ssh), for root and any other user in the image. The image needs nothing else."
    ),
    remedy=(
        "Add to the image: RUN apt-get update && apt-get install -y --no-install-recommends openssh-client openssh-server; in "
        "Red Hat images, where root is locked, also RUN usermod -p '*' root. Then suppress with --accept MPI001, or set the new "
        "image with --mpi-image."
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
    explanation="The image of the source has no ssh; the replacement is expected to have it.",
    remedy="Build it from the image of the source, so that the program and its libraries stay the same.",
)
OWN_COMMAND = Topic(
    id="MPI003",
    title="the workers' own command is replaced by an ssh server",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "In v2 the worker's main program is an ssh server, through which mpirun starts its processes, so the worker's own "
        "command does not run. In v1 kubectl exec started the processes beside that command."
    ),
    remedy=(
        "Move setup steps of the command into an init container or into the program that mpirun starts; then suppress with "
        "--accept MPI003."
    ),
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
        "v1 writes a script discover_hosts.sh that lists the running workers; elastic Horovod calls it repeatedly. In v2 the "
        "list of hosts and the number of nodes of a TrainJob are fixed."
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
    explanation="v1 supports Open MPI and Intel MPI. v2 runtimes support only Open MPI (mlPolicy.mpi.mpiImplementation).",
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
        "v1 starts processes in the workers' container that spec.mainContainer names. In v2 they start in the container with "
        "the ssh server, which is this container, renamed to node. A launcher cannot choose another container of the pod."
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
        "v2 mounts the keys of the job in the home directory of the user (/root/.ssh), and the result mounts their setup in "
        "/etc/mpi-ssh. Kubernetes rejects a pod with two mounts at one path, and with other keys there mpirun cannot log in to "
        "the workers."
    ),
    remedy="Mount it at another path, and configure the programs that use its keys (GIT_SSH_COMMAND='ssh -i /keys/id_rsa').",
)
NO_MAIN_CONTAINER = Topic(
    id="MPI007",
    title="mainContainer names no container of the workers",
    severity="error",
    change="unsupported",
    grade="N",
    explanation="In v1 every process that mpirun starts in a worker fails with `container not found`.",
    remedy="Set spec.mainContainer to a container of the Worker's template, or remove it.",
)
REFUSED = Topic(
    id="MPI008",
    title="v1 does not run this job",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "No webhook rejects invalid MPIJobs; the operator validates them when it reconciles, and never starts invalid ones."
    ),
    remedy="Correct the error first; then convert the job.",
)
ALONE = Topic(
    id="MPI009",
    title="an MPIJob without workers",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "Only the launcher runs. v1 gives it an empty host list, or one with itself if it has a GPU; in v2 the launcher is the "
        "only node and is in the list."
    ),
    remedy="No action needed. A launcher that does not use mpirun can also be a TrainJob without an mpi policy.",
    explains=("group",),
)
WAITING = Topic(
    id="MPI016",
    title="workers run an ssh server",
    severity="warning",
    change="semantic-change",
    grade="Q",
    explanation=(
        "The workers' command only waits for mpirun. In v2 an ssh server takes its place, through which mpirun starts processes."
    ),
    remedy="No action needed.",
    effort=0,
)
ACCOUNT = Topic(
    id="MPI010",
    title="v1 creates a missing ServiceAccount for the launcher, v2 does not",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "v2 creates no ServiceAccount, and a pod that names a missing one is not created. v1 creates one so that the launcher "
        "can exec into its workers, under the name in the template if that account is missing, and deletes it with the job. v2 "
        "does not need this permission."
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
        "OpenSSH looks up the user in the image. kubectl exec does not, so v1 images may lack the user that the pods run as."
    ),
    remedy="Add the user to the image's /etc/passwd (RUN useradd -u UID mpiuser), with a shell.",
)
USERS = Topic(
    id="MPI018",
    title="ssh requires one user, set in the manifest",
    severity="error",
    change="manual",
    grade="D",
    explanation=(
        "In v2 ssh logs in as the user of the launcher; in v1 kubectl exec ran as the user of the worker's container, whatever "
        "the launcher ran as. An ssh server that does not run as root accepts only its own user, and one that runs as root may "
        "start processes as a different user than before. The keys are readable for root and for the user in "
        "securityContext.runAsUser."
    ),
    remedy=(
        "Set the same securityContext.runAsUser for launcher and workers; if the image already ensures this, suppress with "
        "--accept MPI018."
    ),
    acceptable=True,
)
