"""Programs that count or list their peers by a name in DNS are told of; look-ups of other names are not."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.test_indirect_reads import converted, python, shell
from shunter.api.meta import Json
from shunter.migrate.conversion.input_context import context_of
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options

ENVIRONMENT: list[Json] = [
    {"name": "JOB", "value": "bert"},
    {"name": "SVC", "value": "bert-worker"},
    {"name": "OUT", "value": "feature.prod.svc"},
    {"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
]


def told(command: list[str]) -> list[str]:
    findings = converted(command, env=ENVIRONMENT).findings
    return [one.message for one in findings if one.topic.id in ("HOST028", "HOST029")]


def decided(command: list[str]) -> bool:
    """Whether the conversion is refused for a number of ranks or shards that is counted."""
    findings = converted(command, env=ENVIRONMENT).findings
    (found,) = (one for one in findings if one.topic.id in ("HOST028", "HOST029"))
    return found.topic.id == "HOST029" and found.topic.severity == "error"


@pytest.mark.parametrize(
    "text",
    [
        'N=$(getent ahosts "$JOB-worker" | wc -l)',
        "N=$(getent ahosts ${JOB}-worker | wc -l)",
        "SVC2=${JOB}-worker; getent ahosts $SVC2 | wc -l",
        "dig +short $JOB-worker.$NS.svc | wc -l",
        'nslookup "$JOB" | grep -c Address',
        "getent ahosts bert-worker | wc -l",
        "getent hosts bert",
        "dig +short bert-worker.training.svc.cluster.local",
        "getent ahosts $SVC | sort -u | wc -l",
        "getent ahosts $PEERS | wc -l",
        "host -t A $SVC",
        "if ! getent ahosts $SVC; then exit 1; fi",
        "until getent ahosts $PEERS | wc -l | grep -q 3; do sleep 1; done",
        "timeout 5 nslookup $SVC",
        "/usr/bin/getent hosts bert-worker",
        "N=`getent ahosts $PEERS | awk 'END{print NR}'`",
        "for h in $(getent ahosts $PEERS | sort -u); do echo $h >> hosts; done",
        "dig +short $PEERS | sort -u > /job/hosts",
        "for h in $(getent ahosts $PEERS | awk '{print $1}' | sort -u); do N=$((N+1)); done",
        "for h in `dig +short $PEERS | sort -nu`; do echo $h; done",
        'P=$(getent ahosts $PEERS)\necho "$P" | wc -l',
        "H=$(dig +short $PEERS | sort -u)\nfor h in $H; do echo $h >> hosts; done",
    ],
)
def test_a_shell_that_counts_peers_is_told_of(text: str) -> None:
    assert told(shell(f"{text}\npython train.py"))


@pytest.mark.parametrize(
    "code",
    [
        'n = len(socket.getaddrinfo(os.environ["SVC"], 1))',
        'svc = os.environ["PEERS"]\nn = len(socket.getaddrinfo(svc, None))',
        'n = len({a[4][0] for a in socket.getaddrinfo(os.environ["SVC"], 80)})',
        'n = len(socket.getaddrinfo("bert-worker", None))',
        'job = os.environ["JOB"]\npeers = socket.getaddrinfo(job + "-worker", None)\nrun(len(peers))',
        "n = len(socket.gethostbyname_ex(f\"{os.environ['JOB']}-worker\")[2])",
        "os.system('getent ahosts bert-worker > peers')",
        'peers = [a[4][0] for a in socket.getaddrinfo(os.environ["PEERS"], 80)]',
        'for a in dns.resolver.resolve(os.environ["SVC"], "A"): add(a)',
        'def peers():\n    return socket.getaddrinfo(os.environ["PEERS"], 1)\nprint(len(peers()))',
        'n = "{}-{}.{}.svc".format(os.environ["JOB"], "worker", "training")\nlen(dns.resolver.resolve(n, "A"))',
    ],
)
def test_python_that_counts_peers_is_told_of(code: str) -> None:
    assert told(python(f"import os, socket, dns.resolver\n{code}\ntrain()"))


@pytest.mark.parametrize(
    "text",
    [
        "N=$(getent ahosts feature-store.prod.svc | wc -l)",
        "nslookup s3.example.org",
        "getent ahosts $OUT | wc -l",
        "getent passwd root | wc -l",
        "getent hosts $MASTER_ADDR | sort",
        "H=db.example.org; getent ahosts $H | wc -l",
        "echo host bert",
        "dig +short ${ENVNAME}.example.org | wc -l",
        "# getent ahosts bert-worker | wc -l",
        "python train.py --host bert.example.org",
        "python train.py --host bert",
        "IP=$(getent hosts $HOSTNAME | awk 'NR==1{print $1}')",
        "N=$(getent ahosts $ME | wc -l)",
        "IP=$(getent hosts $REDIS_HOST | awk '{print $1}' | sort | head -1)",
        "until nslookup $SVC_HOST | grep -c Address; do sleep 1; done",
        "until getent hosts $ETCD_HOST | awk 'NR==1{print $1}'; do sleep 1; done",
        "getent ahosts $CHIEF_ADDR | wc -l",
        'echo "nslookup $JOB failed"',
        "apt-get install -y dig nslookup bert",
        "host = bert",
        "git commit -m 'host bert-worker'; grep 'getent hosts bert-worker' log; sed -i 's/x/host bert/; host bert' f",
        "true # getent ahosts bert-worker | wc -l",
        "for h in $(getent ahosts $PEERS); do nc -z $h 1 && break; done",
        "for h in $(getent ahosts $REDIS_HOST | sort -u); do nc -z $h 1 && break; done",
        "for h in $(getent ahosts $MASTER_ADDR | sort -u); do echo $h; done",
        "for h in $(getent ahosts $PEERS | sort -u | head -1); do echo $h; done",
        "for h in $(getent ahosts $PEERS); do echo $h; done | sort -u",
        "for h in $(getent ahosts $OUT | sort -u); do echo $h; done",
        "IP=$(getent ahosts $STORE | sort -u)",
        "dig +short $STORE | sort -u > /dev/stderr",
        "dig +short $REDIS_HOST | sort -u > /tmp/redis",
        "getent hosts $STORE; ls | wc -l",
    ],
)
def test_a_shell_that_looks_up_other_names_is_not(text: str) -> None:
    assert not told(shell(f"{text}\npython train.py"))


def test_a_name_that_only_a_call_gives_is_told() -> None:
    code = "def found(name):\n    return sorted(socket.getaddrinfo(name, 1))\npeers = found('bert-worker')\nrun(len(peers))"
    assert told(python(f"import socket\n{code}"))


@pytest.mark.parametrize(
    "command",
    [
        shell("cat > run.sh <<'EOF'\nexport WORLD_SIZE=$(getent ahosts bert-worker | wc -l)\nEOF\nbash run.sh"),
        shell("cat > run.sh <<EOF\nexport WORLD_SIZE=\\$(getent ahosts bert-worker | wc -l)\nEOF\nbash run.sh"),
        python("open('a.sh', 'w').write('''#!/bin/bash\nexport WORLD_SIZE=$(getent ahosts bert-worker | wc -l)\n''')"),
        python("exec('import socket\\nworld_size = len(socket.getaddrinfo(\\'bert-worker\\', 1))')"),
    ],
)
def test_numbers_of_programs_that_a_program_holds_block(command: list[str]) -> None:
    assert decided(command)


@pytest.mark.parametrize(
    "code",
    [
        'n = len(socket.getaddrinfo("data.example.org", 443))',
        'socket.getaddrinfo(os.environ["MASTER_ADDR"], 1)',
        'h = "db.example.org"\nfor a in socket.getaddrinfo(h, 1): pass',
        'for a in socket.getaddrinfo(os.environ["OUT"], 1): pass',
        "info = socket.getaddrinfo(host, 1)",
        "def ping(name):\n    return socket.getaddrinfo(name, 1)\nping('redis')\nproject, model = 'bert', load('bert')",
        "info = [1][:: len(socket.getaddrinfo('cache', 1))]",
        "def peers(name):\n    return socket.getaddrinfo(name, 1)\nprint(len(peers('db')))",
        "def size(host):\n    return len(socket.getaddrinfo(host, 1))\nnum_shards = size('db')",
        "for found in socket.getaddrinfo(os.environ['DB_HOST'], 1): connect(found)",
        "socket.getaddrinfo(socket.gethostname(), None)[0]",
        "ip = sorted(socket.getaddrinfo(os.environ['HOSTNAME'], None))[0]",
        "found = [x for x in socket.getaddrinfo(os.environ['REDIS_HOST'], 80)]",
        "found = [x for x in socket.getaddrinfo(os.environ['CHIEF_ADDR'], 80)]",
        "host = 'bert'",
        "store, n = socket.getaddrinfo(os.environ['STORE'], 1), len(files)",
        "print('nslookup bert failed')",
    ],
)
def test_python_that_looks_up_other_names_is_not(code: str) -> None:
    assert not told(python(f"import os, socket\n{code}\ntrain()"))


def test_the_names_of_both_generations_are_told() -> None:
    (message,) = told(shell('N=$(getent ahosts "$JOB-worker" | wc -l)\npython train.py'))
    assert "bert-worker-0, bert-worker-1" in message
    assert "v2 one of the name bert with 3 addresses, and bert-node-0-0.bert for the first pod." in message


def test_pods_of_an_mpi_job_have_no_service_in_v1() -> None:
    findings = converted(shell("N=$(getent ahosts bert-worker | wc -l)"), "MPIJob").findings
    (found,) = (one for one in findings if one.topic.id == "HOST028")
    assert "v1 has no Service for the pods of an MPIJob, v2 one of the name bert" in found.message
    assert found.advice == "Take the number of processes from OMPI_COMM_WORLD_SIZE, or the hosts from the hostfile."


@pytest.mark.parametrize(
    "text",
    [
        'export WORLD_SIZE=$(getent ahosts "$JOB-worker" | wc -l)',
        'NNODES="$(dig +short bert-worker | wc -l)"',
        "torchrun --nnodes=$(getent ahosts $PEERS | sort -u | wc -l) train.py",
        "torchrun --nnodes $(getent ahosts $PEERS | wc -l) train.py",
        "N=$(getent ahosts $PEERS | wc -l); torchrun --nnodes=$N train.py",
        'N=$(getent ahosts $PEERS | wc -l)\nexport WORLD_SIZE="${N}"',
        "N=$(getent ahosts $PEERS | wc -l)\nM=$((N + 1))\npython train.py --num-shards $M",
        "WORLD_SIZE=$(( $(getent ahosts $PEERS | wc -l) + 1 ))",
        "NPROC=`timeout 5 nslookup $SVC | grep -c Address`",
        "getent hosts $SVC; NUM_WORKERS=$(getent ahosts $SVC | wc -l)",
        "torchrun --nnodes 1:$(getent ahosts $PEERS | wc -l) train.py",
        "N=$(getent ahosts $PEERS | wc -l)\ntorchrun --nnodes=1:$N train.py",
        "WORLD_SIZE=$(getent ahosts $PEERS \\\n  | wc -l)",
        "A=$(getent ahosts $PEERS | wc -l)\nB=$((A * 8))\nC=$B\nexport WORLD_SIZE=$C",
        "N=$(getent ahosts $SVC | wc -l); python train.py --batch-size $((256 / N))",
        "N=$(getent ahosts $SVC | wc -l)\nper=$((256 / N))\nexec torchrun train.py --batch_size=$per",
        'N=$(dig +short $SVC | wc -l); python train.py --lr $(echo "0.1 * $N" | bc)',
        "SIZE=$(getent ahosts $SVC | wc -l)\npython train.py --size $SIZE",
    ],
)
def test_a_shell_that_takes_a_number_of_ranks_from_dns_is_refused(text: str) -> None:
    assert decided(shell(f"{text}\npython other.py"))


@pytest.mark.parametrize(
    "code",
    [
        'world_size = len(socket.getaddrinfo(os.environ["SVC"], 1))',
        'init(rank=0, world_size=len(socket.getaddrinfo(os.environ["SVC"], 1)))',
        'os.environ["WORLD_SIZE"] = str(len(socket.getaddrinfo(os.environ["SVC"], 1)))',
        'peers = socket.getaddrinfo(os.environ["PEERS"], 1)\nn = len(peers)\ninit(world_size=n)',
        'peers = socket.getaddrinfo(os.environ["PEERS"], 1)\nnum_shards = len(set(peers))',
        'world_size = int(os.popen("getent ahosts $SVC | wc -l").read())',
        'world_size = len(\n    socket.getaddrinfo(\n        os.environ["SVC"],\n        1,\n    )\n)',
        'init(\n    rank=0,\n    world_size=len(\n        socket.getaddrinfo(os.environ["PEERS"], 1)\n    ),\n)',
        'def count():\n    return len(socket.getaddrinfo(os.environ["PEERS"], 1))\n\nworld_size = count()',
        'def peers(name):\n    return socket.gethostbyname_ex(name)[2]\n\nworld_size = len(peers("bert-worker"))',
        'world_size: int = len(socket.getaddrinfo(os.environ["PEERS"], 1))',
        'n = len(socket.getaddrinfo(os.environ["SVC"], 1))\nmain(batch_size=256 // n)',
        'n = len(socket.getaddrinfo(os.environ["SVC"], 1))\noptimizer = SGD(model.parameters(), lr=0.1 * n)',
        'n = len(socket.getaddrinfo(os.environ["SVC"], 1))\nfor g in optimizer.param_groups:\n    g["lr"] *= n',
        'n = len(socket.getaddrinfo(os.environ["SVC"], 1))\nargs = {"per_device_train_batch_size": 256 // n}',
        'n = len(socket.getaddrinfo(os.environ["SVC"], 1))\nloader = DataLoader(data, 256 // n)',
        'n = len(socket.getaddrinfo(os.environ["SVC"], 1))\ndata = data.shuffle(9).batch(256 // n)',
        'n = len(socket.getaddrinfo(os.environ["SVC"], 1))\ntrain(max_steps=100_000 // n)',
    ],
)
def test_python_that_takes_a_number_of_ranks_from_dns_is_refused(code: str) -> None:
    assert decided(python(f"import os, socket\n{code}\ntrain()"))


@pytest.mark.parametrize(
    "command",
    [
        shell(
            "until [ $(getent ahosts $PEERS | wc -l) -ge $WORLD_SIZE ]; do sleep 1; done\ntorchrun --nnodes=$WORLD_SIZE train.py"
        ),
        shell("N=$(getent ahosts $PEERS | wc -l); echo $N peers\ntorchrun --nnodes=$WORLD_SIZE train.py"),
        shell("getent ahosts bert-worker | wc -l > /tmp/peers\nexport WORLD_SIZE=4"),
        shell("export WORLD_SIZE=4; getent ahosts $PEERS | wc -l"),
        shell("getent hosts $SVC | head -1; export NNODES=$COUNT"),
        shell("for h in $(getent ahosts $PEERS | sort -u); do echo $h >> hosts; done; mpirun -np $NP --hostfile hosts train"),
        python(
            'import os, socket\npeers = socket.getaddrinfo(os.environ["PEERS"], 1)\nworld_size = int(os.environ["WORLD_SIZE"])\n'
            "assert len(peers) == world_size\ninit(world_size=world_size)"
        ),
        python('import os, socket\nprint(len(socket.getaddrinfo(os.environ["PEERS"], 1)))\ninit(world_size=4)'),
        python('import os, socket\nn = len(socket.getaddrinfo(os.environ["PEERS"], 1))\nlog(n)\nnum_shards = 4'),
        shell("NUM_PEERS=$(getent ahosts $SVC | wc -l); echo $NUM_PEERS"),
        shell("until [ $num_hosts -ge 3 ]; do num_hosts=$(getent ahosts $SVC | wc -l); done"),
        shell("kafka-topics --num-partitions $(getent ahosts $BROKERS | wc -l)"),
        shell("NUM_SHARDS=$(dig +short $REDIS_HOST | wc -l)"),
        shell("python train.py --batch-size $((64 * $(dig +short $BROKERS | wc -l)))"),
        shell("SIZE=$(getent ahosts $SVC | wc -l); echo $SIZE; torchrun train.py"),
        shell("N=$(getent ahosts $SVC | wc -l); python push.py --hosts $N --workers-seen=$N; torchrun train.py"),
        python('import os, socket\nn = len(socket.getaddrinfo(os.environ["KAFKA"], 1))\nread(batch_size=64 * n)'),
        python('import os, socket\nn = len(socket.getaddrinfo(os.environ["SVC"], 1))\nwait(timeout=60 * n, prefetch=2 * n)'),
        shell("N=$(getent ahosts $PEERS | wc -l); echo $N; N=$WORLD_SIZE; torchrun --nnodes=$N train.py"),
        shell('echo "usage: WORLD_SIZE=$(getent ahosts $PEERS | wc -l)"'),
        shell('EXPECTED=$WORLD_SIZE; FOUND=$(getent ahosts $PEERS | wc -l); echo "world_size=$EXPECTED found=$FOUND"'),
        python('import os, socket\nnum_replicas = len(socket.getaddrinfo(os.environ["DB_HOST"], 1))'),
        python('import os, socket\nprint("world_size=", len(socket.getaddrinfo(os.environ["PEERS"], 1)))'),
        python(
            'import os, socket\nn = len(socket.getaddrinfo(os.environ["PEERS"], 1))\nws = int(os.environ["WORLD_SIZE"])\n'
            'print(f"world_size={ws} peers={n}")\ninit(world_size=ws, peers=n)'
        ),
    ],
)
def test_a_count_that_is_only_waited_for_or_shown_is_a_warning(command: list[str]) -> None:
    assert not decided(command)


@pytest.mark.parametrize(
    ("selector", "is_told"),
    [
        ({"training.kubeflow.org/job-name": "bert", "training.kubeflow.org/replica-type": "worker"}, True),
        ({"training.kubeflow.org/replica-type": "worker"}, True),
        ({"training.kubeflow.org/job-name": "other"}, False),
        ({"app": "bert"}, False),
    ],
)
def test_a_service_of_the_input_is_known_by_what_it_selects(selector: Json, is_told: bool) -> None:
    container = {
        "name": "pytorch",
        "image": "train:1",
        "command": shell("N=$(getent ahosts trainers | wc -l)\ntrain --nnodes=$N"),
    }
    specs = {"Master": {"replicas": 1, "template": {"spec": {"containers": [container]}}}}
    metadata = {"name": "bert", "namespace": "training"}
    job: Json = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata}
    source = SourceObject({**job, "spec": {"pytorchReplicaSpecs": specs}}, "job.yaml")
    service: Json = {"apiVersion": "v1", "kind": "Service", "metadata": {**metadata, "name": "trainers"}}
    context = context_of([source], [{**service, "spec": {"clusterIP": "None", "selector": selector}}])
    found = [one.message for one in convert(source, Options(), context).findings if one.topic.id == "HOST029"]
    assert len(found) == is_told
    assert all(
        "a Service that selects pods by labels of v1, which no pod of v2 has, and nnodes is made of" in one for one in found
    )
    assert not any(one.topic.id == "HOST029" for one in convert(source, Options(v1_labels=True), context).findings)


@pytest.mark.parametrize(
    ("command", "is_refused"),
    [
        (shell("N=$(getent ahosts trainers | wc -l)\ntorchrun --nnodes=$N t.py"), True),
        (shell("NNODES=$(dig +short trainers.training.svc.cluster.local | wc -l); python t.py"), True),
        (shell("NNODES=$(nslookup trainers.training | grep -c Address); python t.py"), True),
        (shell("NNODES=$(host -t A trainers | wc -l); python t.py"), True),
        (python('import socket\nworld_size = len(socket.getaddrinfo("trainers", 1))'), True),
        (python('import socket\nname = "trainers"\nworld_size = len(socket.gethostbyname_ex(name)[2])'), True),
        (shell("until [ $(getent ahosts trainers | wc -l) -ge 3 ]; do sleep 1; done; python t.py"), False),
        (shell("for h in $(getent ahosts trainers | sort -u); do echo $h >> hosts; done; python t.py"), False),
        (shell("NUM_WORKERS=$(getent ahosts trainers | wc -l); python t.py"), False),
    ],
)
def test_a_service_that_is_not_in_the_input_is_told_of(command: list[str], is_refused: bool) -> None:
    (message,) = told(command)
    assert (
        "trainers: a Service of that name is not in the input; if it selects pods by labels of v1, it has none in v2" in message
    )
    assert decided(command) == is_refused


@pytest.mark.parametrize(
    "command",
    [
        shell("until getent hosts trainers; do sleep 1; done; python t.py"),
        shell("NNODES=$(getent ahosts redis-headless | wc -l); python t.py"),
        shell("NNODES=$(getent ahosts trainers.other.svc | wc -l); python t.py"),
        shell("NNODES=$(getent ahosts trainers.example.org | wc -l); python t.py"),
        shell("NNODES=$(getent ahosts kubernetes | wc -l); python t.py"),
        shell("NNODES=$(dig +short AAAA feature-store | wc -l); python t.py"),
        shell("NNODES=$(getent ahosts 10.0.0.1 | wc -l); python t.py"),
        python("import socket\ndef f(trainers):\n    return socket.getaddrinfo(trainers, 1)[0]\nprint(f(1))"),
        python('import socket\nfor a in socket.getaddrinfo("s3.eu-west-1.amazonaws.com", 443):\n    print(a)'),
        python('import socket\nip = socket.getaddrinfo("trainers", 1)[0][4][0]'),
        shell("NNODES=$(getent ahosts bert-worker-0 | wc -l); python t.py"),
    ],
)
def test_a_look_up_of_another_service_is_not(command: list[str]) -> None:
    assert not told(command)
