"""Programs that train differently in v2 and use none of the usual words for it, written without a look at the rules.

Each is told of, so that no proof is said to reach further than it does.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.migrate.conversion.one_job import Conversion, convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options

ROLES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch", ("Master", "Worker")),
    "TFJob": ("tfReplicaSpecs", "tensorflow", ("Chief", "Worker")),
    "MPIJob": ("mpiReplicaSpecs", "mpi", ("Launcher", "Worker")),
    "XGBoostJob": ("xgbReplicaSpecs", "xgboost", ("Master", "Worker")),
    "JAXJob": ("jaxReplicaSpecs", "jax", ("Worker",)),
}


def of_pod(name: str, field: str) -> Json:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}}


IP, POD = of_pod("MY_IP", "status.podIP"), of_pod("ME", "metadata.name")
CLAIM: Json = {"volumes": [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]}


def converted(command: list[str], kind: str = "PyTorchJob", pod: Json | None = None, **container: Any) -> Conversion:
    field, name, roles = ROLES[kind]
    specs = {}
    for number, role in enumerate(roles):
        own: Json = {"name": name, "image": "train:1", "command": command, **container}
        if kind == "MPIJob":
            own = (
                {**own, "command": ["mpirun", "-n", "2", *command]} if role == "Launcher" else {"name": name, "image": "train:1"}
            )
        template = {"spec": {"containers": [own], **(pod or {})}}
        specs[role] = {"replicas": 1 + number, "restartPolicy": "OnFailure", "template": template}
    metadata = {"name": "bert", "namespace": "training"}
    job = {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": metadata, "spec": {field: specs}}
    return convert(SourceObject(job, "job.yaml"), Options(accepted=("MPI001",)))


def limits(conversion: Conversion) -> list[str]:
    """What limits the proof; what blocks with a `!`."""
    return sorted({f"{one.topic.id}{'!' * one.is_blocking}" for one in conversion.findings if one.topic.limits_proof})


def shell(text: str, program: str = "bash") -> list[str]:
    return [program, "-c", text]


def python(text: str) -> list[str]:
    return ["python", "-c", text]


JAVA = """\
cat > Me.java <<'END'
class Me { public static void main(String[] a) throws Exception {
  System.out.print(java.net.InetAddress.getLocalHost().toString().replaceAll("/.*", "")); } }
END
SHARD=$(java Me.java) python train.py"""
R = """export RANK=$(Rscript -e 'cat(sub(".*-","",Sys.info()[["nodename"]]))')\npython train.py"""
REVERSE = """me=$(getent hosts "$MY_IP" | awk '{print $2}')\nexport RANK=${me//[!0-9]/}\npython train.py"""
ENVIRON = "export RANK=$(tr '\\0' '\\n' < /proc/self/environ | sed -n 's/^HOST.*-//p')\npython train.py"
LIBC = """\
import ctypes, train
name = ctypes.create_string_buffer(64)
ctypes.CDLL(None).gethostname(name, 64)
train.main(rank=int(name.value.decode().rsplit("-", 1)[1]))"""
BY_ADDRESS = """\
import os, socket, train
me = socket.gethostbyaddr(os.environ["MY_IP"])[0]
train.main(rank=int(me.split(".")[0].split("-")[-1]))"""
RESOLVER = """\
import tensorflow as tf
resolver = tf.distribute.cluster_resolver.KubernetesClusterResolver({"worker": ["team=nlp"]})
tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)"""
OTHER_HOST = """\
import os, torch.distributed as dist
dist.init_process_group("gloo", init_method=f"tcp://{os.environ['MASTER_ADDR'].replace('master', 'worker')}:23456")"""
COUNTED = "import functools, socket, train\ntrain.main({}(map(ord, socket.gethostname())))"
DIGEST = "import os, hashlib, train\ntrain.main(hashlib.blake2b(os.environ['TF_CONFIG'].encode()).hexdigest())"
LOOKED_UP = 'import os, train\nname = getattr(os, "uname")\ntrain.main(shard=name().nodename[-1])'
CALLED_LATER = 'import os, train\nif name := getattr(os, "uname", None):\n    train.main(shard=name().nodename[-1])'
SECOND_PART = "import os, train\ntrain.main(shard=getattr(os, 'uname')()[1][-1])"
PROCESSOR = "from mpi4py import MPI\nimport train\ntrain.main(gpu=int(MPI.Get_processor_name().rsplit('-', 1)[1]) % 2)"
SEED = "import os, random, train\nrandom.seed(os.environ['MASTER_ADDR'])\ntrain.main()"
SSH = "import os, train\ntrain.main(is_remote=bool(os.environ.get('SSH_CONNECTION')))"
BY_THREE = """\
import os, ray
ray.init("-".join([os.environ["JOB"], "worker", "0"]) + ":6379")"""
CODED = base64.b64encode(b"import os, socket\nos.environ['RANK'] = socket.gethostname()[-1]\n").decode()
CODED_PYTHON = f"import base64\nexec(base64.b64decode('{CODED}'))\nimport train"
MADE_OF_ALL = """\
from os import environ as e
me = [value for name, value in e.items() if name.lower().startswith("hostn")]
os.environ["RANK"] = me[0].split("-")[-1]"""
ONCE = """\
import os, socket, train
train.main(master=socket.gethostbyname(os.environ["MASTER_ADDR"]))"""
AGAIN = """\
import os, socket, time, train
for _ in range(60):
    try:
        master = socket.gethostbyname(os.environ["MASTER_ADDR"])
    except OSError:
        time.sleep(1)
train.main()"""
THEN_EPOCHS = f"{ONCE}\n# try again later, for now this will do\nfor epoch in range(3):\n    train.epoch(epoch)"
AFTER_TRY = f"try:\n    import apex\nexcept ImportError:\n    apex = None\n{ONCE}"
AFTER_LOOP = "for one in a b; do mkdir -p /out/$one; done; export IP=$(dig +short $MASTER_ADDR)\npython t.py"
RETRIED = """\
import os, socket, train
from tenacity import retry, stop_after_delay

@retry(
    stop=stop_after_delay(60),
)
def master(
    name,
):
    return socket.gethostbyname(os.environ["MASTER_ADDR"])

train.main(master=master("MASTER_ADDR"))"""
CALLED_AGAIN = """\
import os, socket, time, train
def master():
    return socket.gethostbyname(os.environ["MASTER_ADDR"])
while True:
    try:
        train.main(master=master())
    except OSError:
        time.sleep(1)"""
SHELL_AGAIN = """\
known() { getent hosts $MASTER_ADDR; }
until known; do
sleep 1
done
python t.py"""
PERL = """perl -e 'while (1) { if (gethostbyname($ENV{MASTER_ADDR})) { last } sleep 1 }'; python t.py"""
CASES = [
    pytest.param(lambda: converted(shell(f"echo {CODED} | base64 -d | python3; python t.py")), "HOST009!", id="script-in-base64"),
    pytest.param(lambda: converted(python(CODED_PYTHON)), "HOST009!", id="code-in-base64"),
    pytest.param(
        lambda: converted(shell("echo $SETUP | base64 --decode > /tmp/r; . /tmp/r"), env=[{"name": "SETUP", "value": CODED}]),
        "HOST009!",
        id="variable-in-base64",
    ),
    pytest.param(lambda: converted(python(MADE_OF_ALL)), "HOST009!", id="search-in-all-variables"),
    pytest.param(
        lambda: converted(shell("last() { echo ${1##*-}; }\nexport RANK=$(last $(cat /etc/hostn?me))\npython t.py")),
        "HOST009!",
        id="function",
    ),
    pytest.param(lambda: converted(["su", "user", "-c", "python t.py --rank ${HOSTNAME##*-}"]), "HOST009!", id="another-user"),
    pytest.param(lambda: converted(["env", "-S", "bash -c 'python t.py --rank ${HOSTNAME##*-}'"]), "HOST009!", id="words-in-one"),
    pytest.param(
        lambda: converted(["chroot", "/r", "sh", "-c", "python t.py --rank `hostname|tail -c2`"]), "HOST009!", id="another-root"
    ),
    pytest.param(
        lambda: converted(["fish", "-c", "set p (hostname); python t.py --rank $p[-1]"]), "HOST009!", id="another-shell"
    ),
    pytest.param(
        lambda: converted(["ipython", "-c", "import socket, t; t.main(socket.gethostname()[-1])"]), "HOST009!", id="ipython"
    ),
    pytest.param(lambda: converted(python(BY_THREE)), "HOST013", id="name-joined-of-three"),
    pytest.param(lambda: converted(python(ONCE)), "HOST020", id="address-of-the-master-asked-once"),
    pytest.param(lambda: converted(python(THEN_EPOCHS)), "HOST020", id="loops-that-come-later"),
    pytest.param(lambda: converted(python(AFTER_TRY)), "HOST020", id="a-try-of-something-else"),
    pytest.param(lambda: converted(shell(AFTER_LOOP)), "HOST020", id="a-loop-that-is-done"),
    pytest.param(
        lambda: converted(shell("export MASTER_ADDR=$(dig +short $MASTER_ADDR)\npython t.py")), "HOST020", id="dig-once"
    ),
    pytest.param(lambda: converted(shell("getent ahostsv4 $MASTER_ADDR\npython t.py")), "HOST020", id="getent-of-one-family"),
    pytest.param(
        lambda: converted(["python", "t.py"], env=[{"name": "STORE", "value": "master:23456"}]),
        "HOST006",
        id="port-in-a-variable",
    ),
    pytest.param(lambda: converted(["python", "t.py"], livenessProbe={"grpc": {"port": 23456}}), "HOST006", id="port-of-a-probe"),
    pytest.param(lambda: converted(shell(R)), "HOST009!", id="r"),
    pytest.param(lambda: converted(shell("export RANK=${RANKS[$HOSTNAME]}; python t.py")), "HOST009!", id="subscript"),
    pytest.param(lambda: converted(shell(JAVA)), "HOST010", id="java"),
    pytest.param(
        lambda: converted(shell("me=$(cat /proc/sys/kernel/host*)\nexport RANK=${me##*-}\npython t.py")), "HOST009!", id="kernel"
    ),
    pytest.param(
        lambda: converted(shell("p='\\h'; me=${p@P}\nexport RANK=${me##*-}\npython t.py")), "HOST009!", id="prompt-of-bash"
    ),
    pytest.param(lambda: converted(shell("export RANK=${HOST##*-}\npython t.py", "zsh")), "HOST009!", id="variable-of-zsh"),
    pytest.param(lambda: converted(shell('if [ -z "$(dnsdomainname)" ]; then python a.py; fi')), "HOST010", id="domain"),
    pytest.param(lambda: converted(shell(REVERSE), env=[IP]), "HOST009!", id="name-of-the-own-address"),
    pytest.param(
        lambda: converted(shell("me=$(dig +short -x $MY_IP)\nRANK=${me%%.*} python t.py"), env=[IP]), "HOST009!", id="dig"
    ),
    pytest.param(lambda: converted(python(BY_ADDRESS), env=[IP]), "HOST009!", id="name-of-the-own-address-in-python"),
    pytest.param(lambda: converted(python(SSH), "MPIJob"), "HOST014", id="variable-of-ssh"),
    pytest.param(lambda: converted(python(RESOLVER), "TFJob"), "HOST012", id="cluster-resolver-of-tensorflow"),
    pytest.param(lambda: converted(python("from dask_kubernetes.operator import KubeCluster\nimport t")), "HOST012", id="dask"),
    pytest.param(lambda: converted(python(SEED)), "HOST009!", id="address-as-a-seed"),
    pytest.param(lambda: converted(python(DIGEST), "TFJob"), "HOST009!", id="digest-of-the-cluster"),
    pytest.param(lambda: converted(python(COUNTED.format("sum"))), "HOST009!", id="sum-of-letters"),
    pytest.param(lambda: converted(python(COUNTED.format("functools.reduce"))), "HOST009!", id="letters-reduced"),
    pytest.param(lambda: converted(python("import socket, t\nt.main(shard=socket.getfqdn()[-1])")), "HOST009!", id="full-name"),
    pytest.param(lambda: converted(python(LIBC)), "HOST009!", id="function-of-c"),
    pytest.param(lambda: converted(shell(ENVIRON)), "HOST009!", id="environment-of-the-process"),
    pytest.param(lambda: converted(python(LOOKED_UP)), "HOST009!", id="uname-looked-up"),
    pytest.param(lambda: converted(python(CALLED_LATER)), "HOST009!", id="uname-looked-up-and-called-later"),
    pytest.param(lambda: converted(python(SECOND_PART)), "HOST009!", id="second-part-of-uname-looked-up"),
    pytest.param(lambda: converted(python(PROCESSOR), "MPIJob"), "HOST009!", id="processor-of-mpi"),
    pytest.param(lambda: converted(python(OTHER_HOST)), "HOST006,HOST009!", id="name-made-of-another-one"),
    pytest.param(
        lambda: converted(
            ["python", "t.py"], pod=CLAIM, env=[POD], volumeMounts=[{"name": "c", "mountPath": "/c", "subPathExpr": "$(ME)"}]
        ),
        "POD007,POD018!",
        id="directory-of-the-pod",
    ),
]


@pytest.mark.parametrize(("given", "expected"), CASES)
def test_a_program_that_reads_what_changes_by_other_means_is_told(given: Callable[[], Conversion], expected: str) -> None:
    conversion = given()
    assert limits(conversion) == expected.split(",")
    assert conversion.unproved


WORDS = base64.b64encode(b"the words hostname and worker are no program here").decode()
OWN_VARIABLES = """\
import os, train
train.main(**{name[6:]: value for name, value in os.environ.items() if name.startswith("TRAIN_")})"""
STORE = {"name": "STORE", "value": "tcp://$(MASTER_ADDR):$(MASTER_PORT)"}
SORTED = """\
import os, train
hosts = sorted([os.environ["MASTER_ADDR"], *os.environ["WORKER_ADDRS"].split(",")])
train.main(shards=dict(enumerate(hosts)))"""
PREFIX = "import os, train\ntrain.main(is_elastic=any(key.startswith('PET_') for key in os.environ))"
MACHINE = "import os, train\nmachine = getattr(os, 'uname')().machine\nif machine == 'aarch64':\n    train.without_avx()"
WHERE_THERE_IS_ONE = """\
import os, train
has_name = bool(getattr(os, "uname", None)) and getattr(os, "uname", None) is not None
if has_name and getattr(os, "uname", None):
    train.on_unix()"""
ADDRESS = """\
until getent hosts $MASTER_ADDR; do sleep 1; done
export MASTER_IP=$(getent hosts $MASTER_ADDR | awk '{print $1}')
python t.py"""


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(lambda: converted(python(SORTED), "XGBoostJob"), id="the-order-of-names-is-the-same"),
        pytest.param(lambda: converted(python(MACHINE)), id="another-part-of-uname"),
        pytest.param(lambda: converted(python(WHERE_THERE_IS_ONE)), id="whether-there-is-uname"),
        pytest.param(lambda: converted(python(PREFIX)), id="v1-sets-such-variables-too"),
        pytest.param(lambda: converted(shell(ADDRESS)), id="an-address-is-another-one-each-time"),
        pytest.param(lambda: converted(python(AGAIN)), id="the-address-of-the-master-until-it-is-known"),
        pytest.param(lambda: converted(python(RETRIED)), id="asked-again-by-a-library"),
        pytest.param(lambda: converted(python(CALLED_AGAIN)), id="a-function-called-again"),
        pytest.param(lambda: converted(shell(SHELL_AGAIN)), id="a-function-of-a-shell-called-again"),
        pytest.param(lambda: converted(shell(PERL)), id="a-loop-in-braces"),
        pytest.param(lambda: converted(shell(f"echo {WORDS} | base64 -d > /tmp/w; python t.py")), id="words-in-base64"),
        pytest.param(
            lambda: converted(["python", "t.py", "--cfg", '{"split": "train (all)", "addr": "$(STORE)"}'], env=[STORE]),
            id="settings-in-json",
        ),
        pytest.param(lambda: converted(python(OWN_VARIABLES)), id="variables-of-a-prefix"),
        pytest.param(
            lambda: converted(["torchrun", "t.py"], livenessProbe={"httpGet": {"port": 8080}}), id="a-probe-of-another-port"
        ),
        pytest.param(
            lambda: converted(["torchrun", "t.py"], readinessProbe={"tcpSocket": {"port": "pytorchjob-port"}}),
            id="a-probe-of-the-port-that-v1-named",
        ),
        pytest.param(
            lambda: converted(shell("model=bert-base-12; python t.py --layers ${model##*-} --out $model-$size-0")),
            id="names-of-models",
        ),
        pytest.param(lambda: converted(shell("echo ${HOST##*-}; python t.py")), id="a-variable-that-bash-does-not-set"),
        pytest.param(
            lambda: converted(shell("export RANK=${HOST##*-}", "zsh"), env=[{"name": "HOST", "value": "a-1"}]), id="the-users-own"
        ),
    ],
)
def test_a_program_that_reads_nothing_that_changes_is_not_told(given: Callable[[], Conversion]) -> None:
    assert limits(given()) == []


LOG_OF_ANY = "tail -F /var/log/pods/*/*/*.log"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tail -F /var/log/pods/training_bert-master-0_*/*/0.log", "HOST021"),
        ("tail -F /var/log/containers/*-worker-*_training_*.log", "HOST021"),
        ("c=$(grep -o 'containers/[a-z]*' /proc/self/mountinfo); echo $c", "HOST021"),
        ("grep -q containers/pytorch/ /proc/self/mountinfo", "HOST021"),
        ("crictl ps --name pytorch -q", "HOST021"),
        ("docker ps -q --filter label=io.kubernetes.container.name=pytorch", "HOST021"),
        ("cat /var/lib/kubelet/pods/*/containers/pytorch/*", "HOST021"),
        ("until grep -q ':5BA0 ' /proc/net/tcp; do sleep 1; done", "HOST006"),
        ("for p in $(seq 23450 23460); do nc -z $MASTER_ADDR $p; done", "HOST006"),
        ("for p in {23450..23460}; do nc -z $MASTER_ADDR $p; done", "HOST006"),
        ("for h in bert-{master,worker}-0; do nc -z $h 22; done", "HOST013"),
        ("base=bert-worker; for i in 0 1; do nc -z $base-$i 22; done", "HOST013"),
        ("curl 'prom/query?query=up{pod=~\".*-worker-0\"}'", "HOST013"),
    ],
)
def test_a_shell_that_names_a_pod_a_container_or_a_port_in_another_way_is_told_of(text: str, told: str) -> None:
    assert told in limits(converted(shell(f"{text}\npython train.py")))


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("mine = next(c for c in stats['containers'] if c['name'] == 'pytorch')", "HOST021"),
        ("free = [p for p in range(23400, 23500) if is_open(p)]", "HOST006"),
        ("socket.create_connection((host, 0x5ba0))", "HOST006"),
        ("base = 'bert-worker'\npeers = [base + '-' + str(i) for i in range(2)]", "HOST013"),
        ("peers = ['%(job)s-worker-%(i)d' % {'job': job, 'i': i} for i in range(2)]", "HOST013"),
    ],
)
def test_python_that_names_a_pod_a_container_or_a_port_in_another_way_is_told_of(code: str, told: str) -> None:
    assert told in limits(converted(python(f"{code}\ntrain()")))


@pytest.mark.parametrize(
    "text",
    [
        LOG_OF_ANY,
        "tail -F /var/log/pods/training_bert-*/*/0.log",
        "grep cgroup /proc/self/mountinfo",
        "grep -c /data /proc/mounts",
        "sed 's/.*pod//' /proc/self/cgroup",
        "conda install -y -c pytorch faiss",
        "docker run --name pytorch -d img",
        "for s in $(seq 1000 50000); do echo $s; done",
        "python train.py --color '#5BA0'",
        "python train.py --run-name bert-worker --log out/bert-master.log",
        "ls /models/containers/pytorch.tar",
    ],
)
def test_what_shows_no_name_or_port_that_changes_is_not_told_of(text: str) -> None:
    assert limits(converted(shell(f"{text}\npython train.py"))) == []


@pytest.mark.parametrize("code", ["if backend.name == 'pytorch': train()", "steps = range(0, 50000)", "port = 0x1f90"])
def test_names_and_numbers_of_other_things_are_not_told_of(code: str) -> None:
    assert limits(converted(python(f"{code}\ntrain()"))) == []


@pytest.mark.parametrize(
    "line",
    [
        "metrics.sum(socket.gethostname(), 1)",
        "log.sum(socket.gethostname())",
        "comm.reduce(socket.gethostname(), root=0)",
        "msg = 'up:' + socket.gethostname()\nmetric.sum(msg)",
    ],
)
def test_a_name_that_a_metric_or_mpi_sums_up_blocks_nothing(line: str) -> None:
    assert limits(converted(python(f"import socket, train\n{line}\ntrain.main()"))) == ["HOST010"]
