"""Topics of how the processes of a PyTorchJob are started and find each other; `launcher` and `processes` report them."""

from __future__ import annotations

from shunter.migrate.findings import Topic

_V1_SETS = "v1 sets MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE in every pod of a PyTorchJob with a Master. "
_V2_SETS = "v2's torch runtime sets PET_* only, from which torchrun sets v1's variables for each process. "

_V1_VARIABLES = ("env.MASTER_ADDR", "env.MASTER_PORT", "env.RANK", "env.WORLD_SIZE")
_GROUP = "group"
_PROCESSES = "env.PET_NPROC_PER_NODE"
_PROGRAM = "program"

NO_GROUP = Topic(
    id="TORCH001",
    title="the processes do not form a group: each pod would train its own model",
    severity="error",
    change="semantic-change",
    grade="N",
    explanation=(
        _V1_SETS + _V2_SETS + "Without torchrun a program finds none of them. At best it fails "
        "(`environment variable RANK expected, but not set`); one that takes a missing WORLD_SIZE as 1 trains alone in every "
        "pod, all pods succeed, and the job is Complete."
    ),
    remedy=(
        "Convert with --torch-launch=auto (the runtime sets v1's variables from v2's) or --torch-launch=torchrun. "
        "If the program does not need them, suppress with --accept TORCH001."
    ),
    effort=3,
    upstream="kubeflow/trainer#2412",
    acceptable=True,
    explains=(*_V1_VARIABLES, _GROUP),
)
SEPARATE = Topic(
    id="TORCH002",
    title="each pod trains its own model, in v1 and in the result",
    severity="error",
    change="manual",
    grade="Q",
    explanation=(
        "v1 gives Workers without a Master and without elasticPolicy neither an address nor a rank, so a plain Python program "
        "trains one model in each pod; torchrun with --standalone or --nnodes=1 does so in any job. The result does the same. "
        "This is rarely intended, so it must be confirmed."
    ),
    remedy=(
        "To train one model convert with --torch-launch=env-compat or --torch-launch=torchrun. If separate training runs are "
        "intended, suppress with --accept TORCH002."
    ),
    effort=3,
    acceptable=True,
)
VARIABLES = Topic(
    id="TORCH003",
    title="the runtime sets the variables of v1",
    severity="info",
    change="lossless",
    grade="Q",
    explanation=(
        _V1_SETS + _V2_SETS + "The generated runtime sets the four from these. This works because it declares the "
        "plugin's variables before its own: the plugin fills in their values in place, and Kubernetes replaces $(PET_...) in "
        "later variables. Image and command stay unchanged."
    ),
    remedy="No action needed. In the long run start the program with torchrun, which works with any torch runtime.",
    effort=0,
)
ONE_GROUP = Topic(
    id="TORCH004",
    title="Workers that were separate in v1 become one group",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "In v2 every node of a torch runtime gets its own rank and the address of the first node. v1 gives Workers without a "
        "Master and without elasticPolicy neither: torchrun waits forever, and plain Python trains separately in each pod."
    ),
    remedy="Nothing if one training run was intended.",
    explains=(*_V1_VARIABLES, _GROUP, _PROGRAM),
)
OWN_RENDEZVOUS = Topic(
    id="TORCH005",
    title="the job sets its own rendezvous address",
    severity="info",
    other_impact="advisory",
    change="lossless",
    grade="Q",
    explanation=(
        "v1 gives Workers without a Master no address. This job sets one itself, in an option, an argument or a variable; it is "
        "left unchanged, except for host names of pods, which differ in v2."
    ),
    remedy="Check that the address exists in v2. With torchrun, remove the options: v2 sets the address.",
)
NO_VARIABLES = Topic(
    id="TORCH006",
    title="a job of one pod has no RANK and WORLD_SIZE",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=_V1_SETS + _V2_SETS + "Without them a single process that calls init_process_group fails.",
    remedy="Convert with --torch-launch=auto.",
    explains=(*_V1_VARIABLES, _GROUP),
)
NODES_DIFFER = Topic(
    id="TORCH007",
    title="the number of nodes of torchrun differs from the number of pods",
    severity="warning",
    change="manual",
    grade="Q",
    explanation=(
        "Options of torchrun override the values that v1 and v2 set. With more nodes than pods the group never forms; with "
        "fewer, some pods are left out. This is the same in v1."
    ),
    remedy="Remove --nnodes from the command: v2 sets the right number.",
)
OWN_LAUNCHER = Topic(
    id="TORCH008",
    title="a PyTorchJob that starts its processes by MPI",
    severity="warning",
    change="manual",
    grade="Q",
    explanation=(
        "mpirun and horovodrun start processes on the hosts in their host list. A PyTorchJob has no host list and no ssh "
        "between its pods, so each pod starts its own group, in v1 and in v2."
    ),
    remedy="Use a runtime with the mpi policy (see the conversion of MPIJobs) if the pods should form one group.",
    effort=5,
)
MACHINES_NOT_SET = Topic(
    id="TORCH009",
    title="accelerate or deepspeed is not configured for several machines",
    severity="warning",
    change="manual",
    grade="Q",
    explanation=(
        "`accelerate launch` and `deepspeed` have their own options and files for the number of machines, the rank of this one "
        "and the address of the first. Without them they may start a separate group on each machine. The result sets the same "
        "variables as v1."
    ),
    remedy=(
        "Set them: accelerate launch --num_machines=$PET_NNODES --machine_rank=$PET_NODE_RANK "
        "--main_process_ip=$PET_MASTER_ADDR --main_process_port=$PET_MASTER_PORT, or start the program with torchrun."
    ),
    effort=3,
)
SCALED_WORLD_SIZE = Topic(
    id="TORCH010",
    title="WORLD_SIZE counts nprocPerNode processes per pod, RANK counts pods",
    severity="warning",
    change="lossless",
    grade="Q",
    explanation=(
        "v1 multiplies WORLD_SIZE by a numeric nprocPerNode and gives each pod one RANK. This works neither with one process "
        "per pod, which waits for processes that are never started, nor with --nnodes=$WORLD_SIZE. The result sets the same "
        "numbers as v1."
    ),
    remedy=(
        "Start the program with torchrun (--torch-launch=torchrun), which computes these values itself, or remove nprocPerNode."
    ),
    upstream="kubeflow/trainer#1790",
)
PROCESSES_BY_OPTION = Topic(
    id="TORCH011",
    title="torchrun gets the number of processes by an option",
    severity="info",
    other_impact="advisory",
    change="lossless",
    grade="Q",
    explanation=(
        "The command now passes nprocPerNode to torchrun as an option, so as many processes start as in v1. v1 passes it as a "
        "word (`auto`, `cpu`, `gpu`), but a TrainJob allows only a number, and without GPUs v2 uses the requested CPUs, where "
        "torchrun in v1 used those of the machine. An option of torchrun overrides the value that v2 sets."
    ),
    remedy="Preferably use a number: remove the option and set spec.trainer.numProcPerNode.",
    upstream="kubeflow/trainer#2650",
    explains=(_PROCESSES, _PROGRAM),
)
PROCESSES_BY_REQUEST = Topic(
    id="TORCH012",
    title="v2 may start another number of processes on each node",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "Without nprocPerNode torchrun in v1 starts one process per GPU, or per CPU of the machine if there is no GPU. In v2, "
        "if a container has no GPUs, it starts one per requested CPU. The command is not in the job, so no option can be added "
        "to it."
    ),
    remedy="Set nprocPerNode in the source, or spec.trainer.numProcPerNode in the result, to the intended number.",
    explains=(_PROCESSES, _GROUP),
)
PROCESSES_BY_WORD = Topic(
    id="TORCH013",
    title="nprocPerNode is not a number and cannot be passed to torchrun",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "A TrainJob allows only a number of processes, not a word such as `cpu` or `gpu`. torchrun accepts the word as an "
        "option, but the command that starts it is not in the job."
    ),
    remedy="Set nprocPerNode in the source to the intended number, or accept v2's own count with --accept TORCH013.",
    effort=3,
    acceptable=True,
    explains=(_PROCESSES, _GROUP),
)
REWRITTEN = Topic(
    id="TORCH015",
    title="torchrun starts the program",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "--torch-launch=torchrun starts the program with torchrun; script and arguments stay the same. torchrun sets RANK, "
        "WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT itself, and restarts its processes after a failure if "
        "--max-restarts is set. It starts one process per pod, as plain Python does, unless nprocPerNode is a number."
    ),
    remedy="To use several GPUs of a node, increase spec.trainer.numProcPerNode; the program must then use LOCAL_RANK.",
    explains=(*_V1_VARIABLES, _PROCESSES, _PROGRAM, _GROUP),
)
NOT_REWRITTEN = Topic(
    id="TORCH016",
    title="torchrun cannot be put in front of the program",
    severity="warning",
    change="lossless",
    grade="Q",
    explanation=(
        "--torch-launch=torchrun rewrites the part of command or args that starts a script or module. Code in the command line, "
        "programs of the image and scripts in ConfigMaps are left unchanged, and get v1's variables instead."
    ),
    remedy="Change the command by hand, or keep it: the runtime sets v1's variables.",
)
