"""What is told of how the processes of a PyTorchJob are started and learn of each other; `launcher` and `processes` tell it."""

from __future__ import annotations

from shunter.migrate.findings import Topic

_V1_TOLD = "v1 set MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE in every pod of a PyTorchJob with a Master. "
_V2_TELLS = "v2's torch runtime sets PET_* only, from which torchrun sets v1's variables for each process. "

_TOLD = ("env.MASTER_ADDR", "env.MASTER_PORT", "env.RANK", "env.WORLD_SIZE")
_GROUP = "group"
_PROCESSES = "env.PET_NPROC_PER_NODE"
_PROGRAM = "program"

UNTOLD = Topic(
    id="TORCH001",
    title="the processes do not form a group: each pod would train its own model",
    severity="error",
    change="semantic-change",
    grade="N",
    explanation=(
        _V1_TOLD + _V2_TELLS + "A program that is started without torchrun finds none of them. At best it stops "
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
    explains=(*_TOLD, _GROUP),
)
SEPARATE = Topic(
    id="TORCH002",
    title="each pod trains its own model, in v1 and in the result",
    severity="error",
    change="manual",
    grade="Q",
    explanation=(
        "v1 gives Workers without a Master and without elasticPolicy neither an address nor a rank, so a program of plain Python "
        "trains as many models as there are pods; torchrun with --standalone or --nnodes=1 does so in any job. The result does "
        "the same. That is rarely what was meant, so it must be confirmed."
    ),
    remedy=(
        "To train one model convert with --torch-launch=env-compat or --torch-launch=torchrun. If separate trainings are meant, "
        "suppress with --accept TORCH002."
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
        _V1_TOLD + _V2_TELLS + "The generated runtime sets the four from what the plugin sets, which works because it declares "
        "the plugin's variables before its own: the plugin fills them in where they stand, and Kubernetes replaces $(PET_...) in "
        "what comes after. Image and command stay as they are."
    ),
    remedy="Nothing to do. In the long run start the program with torchrun, and any torch runtime will do.",
    effort=0,
)
ONE_GROUP = Topic(
    id="TORCH004",
    title="Workers that were separate in v1 become one group",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 gives Workers without a Master and without elasticPolicy neither an address nor a rank: torchrun "
        "waits there forever, plain Python trains in each pod by itself. v2 tells every node of a torch "
        "runtime of the others."
    ),
    remedy="Nothing to do if one training was meant.",
    explains=(*_TOLD, _GROUP, _PROGRAM),
)
OWN_MEETING = Topic(
    id="TORCH005",
    title="the job sets its own rendezvous address",
    severity="info",
    other_impact="advisory",
    change="lossless",
    grade="Q",
    explanation=(
        "v1 gives Workers without a Master no address. This job has one of its own, in an option, an argument or a variable; it "
        "is left as it is, but for host names of pods, which are other ones in v2."
    ),
    remedy="Check that the address is one that exists in v2. With torchrun, remove the options: v2 sets the address.",
)
UNTOLD_ALONE = Topic(
    id="TORCH006",
    title="a job of one pod has no RANK and WORLD_SIZE",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=_V1_TOLD + _V2_TELLS + "A single process that calls init_process_group stops without them.",
    remedy="Convert with --torch-launch=auto.",
    explains=(*_TOLD, _GROUP),
)
NODES_DIFFER = Topic(
    id="TORCH007",
    title="the number of nodes of torchrun differs from the number of pods",
    severity="warning",
    change="manual",
    grade="Q",
    explanation=(
        "Options of torchrun override what v1 and v2 set. With more nodes than pods the group never comes together; with "
        "fewer, some pods are left out. It was so in v1 as well."
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
        "mpirun and horovodrun start processes on the hosts in their host list. A PyTorchJob has no such list, nor ssh "
        "between its pods, so each pod starts a group of its own, in v1 and in v2."
    ),
    remedy="Use a runtime with the mpi policy (see the conversion of MPIJobs) if the pods should be one group.",
    effort=5,
)
MACHINES_UNTOLD = Topic(
    id="TORCH009",
    title="accelerate or deepspeed does not know the other machines",
    severity="warning",
    change="manual",
    grade="Q",
    explanation=(
        "`accelerate launch` and `deepspeed` have options and files of their own for the number of machines, the rank of this "
        "one and the address of the first. Without them they may start a group on each machine alone. The result gives them the "
        "same variables as v1 did."
    ),
    remedy=(
        "Say them: accelerate launch --num_machines=$PET_NNODES --machine_rank=$PET_NODE_RANK --main_process_ip=$PET_MASTER_ADDR "
        "--main_process_port=$PET_MASTER_PORT, or start the program with torchrun."
    ),
    effort=3,
)
SCALED_WORLD_SIZE = Topic(
    id="TORCH010",
    title="WORLD_SIZE counts nprocPerNode processes a pod, RANK counts pods",
    severity="warning",
    change="lossless",
    grade="Q",
    explanation=(
        "v1 multiplies WORLD_SIZE by a numeric nprocPerNode and gives each pod one RANK. That fits neither one process a pod, "
        "which waits for processes that are never started, nor --nnodes=$WORLD_SIZE. The result sets the same numbers as v1."
    ),
    remedy="Start the program with torchrun (--torch-launch=torchrun), which counts for itself, or remove nprocPerNode.",
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
        "v1 hands nprocPerNode on to torchrun as a word (`auto`, `cpu`, `gpu`). A TrainJob takes a number only, and without GPUs "
        "v2 takes the requested CPUs, where torchrun in v1 took those of the machine. An option of torchrun overrides what v2 "
        "sets, so the command says the word now, and as many processes start as in v1."
    ),
    remedy="Better say a number: remove the option and set spec.trainer.numProcPerNode.",
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
        "Without nprocPerNode v1 lets torchrun start as many processes as there are GPUs, else CPUs of the machine. Where a "
        "container has no GPUs v2 takes the CPUs that it requests. The command is not in the job, so it can be given no option."
    ),
    remedy="Set nprocPerNode in the source, or spec.trainer.numProcPerNode in the result, to the number that is meant.",
    explains=(_PROCESSES, _GROUP),
)
PROCESSES_BY_WORD = Topic(
    id="TORCH013",
    title="nprocPerNode is a word, and no torchrun can use it",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "A TrainJob takes a number of processes, no word such as `cpu` or `gpu`. torchrun could take the word as an option, but "
        "what starts it is not in the job."
    ),
    remedy="Set nprocPerNode in the source to the number that is meant, or accept v2's own count with --accept TORCH013.",
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
        "As --torch-launch=torchrun asks. Script and arguments are the same. torchrun sets RANK, WORLD_SIZE, LOCAL_RANK, "
        "MASTER_ADDR and MASTER_PORT itself and starts its process again when it fails, if --max-restarts says so. One process a "
        "pod, as with plain Python, unless nprocPerNode says a number."
    ),
    remedy="To use several GPUs of a node raise spec.trainer.numProcPerNode; the program must then heed LOCAL_RANK.",
    explains=(*_TOLD, _PROCESSES, _PROGRAM, _GROUP),
)
NOT_REWRITTEN = Topic(
    id="TORCH016",
    title="torchrun cannot be put in front of the program",
    severity="warning",
    change="lossless",
    grade="Q",
    explanation=(
        "--torch-launch=torchrun changes the words that start a script or module, where they stand in command or args. Code in "
        "the command line, programs of the image and scripts in ConfigMaps are left as they are, and get v1's variables instead."
    ),
    remedy="Change the command by hand, or leave it: the runtime sets v1's variables.",
)
