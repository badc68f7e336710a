"""Addresses that settings put together of the job's name are told of; buckets, images and hosts of others are not."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.test_indirect_reads import converted, limits, python, shell
from shunter.api.meta import Json
from shunter.migrate.conversion.input_context import context_of
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.rules.programs import built_names
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options


def told(line: str) -> list[str]:
    container: Json = {"name": "pytorch", "image": "train:1", "command": ["python", "train.py"]}
    container["volumeMounts"] = [{"name": "s", "mountPath": "/s"}]
    spec = {"containers": [container], "volumes": [{"name": "s", "configMap": {"name": "s"}}]}
    roles = {role: {"replicas": 1, "template": {"spec": spec}} for role in ("Master", "Worker")}
    metadata = {"name": "bert", "namespace": "team"}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": {"pytorchReplicaSpecs": roles}}
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s", "namespace": "team"}, "data": {"a": line}}
    source = SourceObject(job, "a.yaml")
    findings = convert(source, Options(), context_of([source], [settings])).findings
    return [one.message for one in findings if one.topic.id == "HOST013"]


@pytest.mark.parametrize(
    "line",
    [
        "${JOB}-master-0:29400",
        "at: ${JOB}-master-0.team.svc:29400",
        "at: {{ .Values.job }}-worker-0:29400",
        "at: tcp://${JOB}-master-0",
        "at: grpc://%(job)s-worker-0.${NS}.svc/x",
        "# was tcp://${JOB}-master-0\nat: ${JOB}-worker-1:29400,${JOB}-worker-2:29400",
    ],
)
def test_an_address_is_told_of(line: str) -> None:
    assert told(line)


@pytest.mark.parametrize(
    "line",
    [
        "url: s3://bucket/${RUN}-worker-${RANK}/x",
        "url: s3://${RUN}-worker-${RANK}/x",
        "url: file:///${RUN}-worker-0",
        "url: https://host/${RUN}-worker-0/x",
        "image: reg/${T}-worker-1:2024",
        "image: ${T}-worker-1:2024",
        "from: reg/${T}-worker-1:2024",
        "see https://${X}-worker-1.example.org/x",
        "redis: ${CACHE}-worker-0.redis:6379",
        "log: ${RUN}-worker-0:10:20",
        "tag: ${RUN}-worker-0:2024-11",
        "# at ${JOB}-master-0:29400",
    ],
)
def test_what_is_no_host_of_the_job_is_not(line: str) -> None:
    assert not told(line)


def told_of(command: list[str], kind: str = "PyTorchJob") -> list[str]:
    return limits(converted(command, kind))


@pytest.mark.parametrize(
    "text",
    [
        "for h in $JOB-{master,worker}-0; do nc -z $h 22; done",
        "for h in ${JOB}-{master,worker}-$i; do nc -z $h 22; done",
        "for h in bert-{master-0,worker-0}; do nc -z $h 22; done",
        "base=bert-worker\nfor i in 0 1; do nc -z ${base}-$i 22; done",
        "base=bert-worker\nfor i in 1 2; do nc -z $base-$((i-1)) 22; done",
        "for base in bert-master bert-worker; do nc -z $base-0 22; done",
        "base=bert-worker; printf '%s-%d\\n' $base 0 > hosts",
        "grep -E 'bert.*-worker-[0-9]+' hosts",
        "grep -P '.*-worker-\\d' hosts",
        "until ls /logs/events.*.bert-master-0.*; do sleep 1; done",
        "[ $(ls -d /logs/*-worker-* | wc -l) = 3 ]",
    ],
)
def test_a_shell_that_builds_a_name_of_a_pod_is_told_of(text: str) -> None:
    assert told_of(shell(f"{text}\npython train.py")) == ["HOST013"]


@pytest.mark.parametrize(
    "code",
    [
        "peers = ['bert-worker' + '-' + str(i) for i in range(2)]",
        "base = 'bert-worker'\npeers = [f'{base}-{i}' for i in range(2)]",
        "base = 'bert-worker'\npeers = ['-'.join([base, str(i)]) for i in range(2)]",
        "base = 'bert-worker'\npeers = ['%s-%d' % (base, i) for i in range(2)]",
        "base = 'bert-worker'\npeers = ['{}-{}'.format(base, i) for i in range(2)]",
        "for base in ('bert-master', 'bert-worker'):\n    ping(f'{base}-0')",
    ],
)
def test_python_that_builds_a_name_of_a_pod_is_told_of(code: str) -> None:
    assert told_of(python(f"{code}\ntrain()")) == ["HOST013"]


@pytest.mark.parametrize(
    "text",
    [
        "mkdir -p logs-{master,worker}",
        "cp conf-{worker,eval}.yaml /etc/app/",
        "tar czf $OUT-{master,worker}.tgz /tmp",
        "rsync -a data/shard-{worker,valid}/ /tmp",
        "python train.py --run-name bert-worker --out ckpt/$USER-$STEP",
        "echo bert-worker starts; tar czf $NAME-$(date +%F).tgz /tmp",
        "NAME=bert-worker; tar czf $NAME-$(date +%F).tgz /tmp",
        "git branch -r | grep 'origin/.*-master$'",
        "cp /conf/*worker* /conf/*-worker.yaml /tmp",
        "ls | grep -E 'run.*-worker$'",
    ],
)
def test_a_shell_that_builds_another_name_is_not_told_of(text: str) -> None:
    assert told_of(shell(f"{text}\npython train.py")) == []


def test_jobs_whose_names_no_text_has_share_a_pattern() -> None:
    job = converted(shell("echo this is a worker; python train.py")).source.value
    built_names._compiled.cache_clear()
    for name in ("bert", "llama"):
        convert(SourceObject({**job, "metadata": {"name": name}}, "job.yaml"), Options())
    assert built_names._compiled.cache_info().misses == 1


def test_python_that_builds_another_name_is_not_told_of() -> None:
    assert told_of(python("run = 'bert-worker'\nout = f'{a}-{b}'\ntrain()")) == []


def launched(command: list[str]) -> list[str]:
    return [topic for topic in limits(converted(command)) if topic.startswith(("HOST013", "HOST033"))]


@pytest.mark.parametrize(
    "text",
    [
        "H=; for i in 0 1; do H=$H,$JOB-worker-$i:8; done; mpirun --host ${H#,} -np 16 python train.py",
        "horovodrun -np 2 -H $HOSTS python train.py",
        "horovodrun -np 2 --hosts=$JOB-worker-0:1,$JOB-worker-1:1 python train.py",
        "for i in 0 1; do echo $JOB-worker-$i >> /tmp/h; done; horovodrun --hostfile /tmp/h -np 2 python train.py",
        'mpirun -np 2 -H "$(kubectl get pods -o name | paste -sd,)" python train.py',
        "for i in 0 1; do ssh $JOB-worker-$i python train.py & done; wait",
        "pdsh -w $JOB-worker-[0-1] python train.py",
    ],
)
def test_hosts_of_a_launcher_that_are_known_only_when_it_runs_block(text: str) -> None:
    assert set(launched(shell(text))) == {"HOST033!"}


@pytest.mark.parametrize(
    "code",
    [
        "hosts = ','.join(f'{job}-worker-{i}:8' for i in range(2))\nrun(['mpirun', '-H', hosts, 'python', 'train.py'])",
        "hosts = open('/shared/hosts').read()\nrun(['horovodrun', '-np', '2', '-H', hosts, 'python', 'train.py'])",
        "horovod.run(train, np=2, hosts=','.join(f'{job}-worker-{i}:8' for i in range(2)))",
        "run(f'mpirun -np 2 -H {hosts} python train.py', shell=True)",
    ],
)
def test_hosts_that_python_gives_a_launcher_block(code: str) -> None:
    assert set(launched(python(code))) == {"HOST033!"}


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("mpirun -H localhost:$NP -np $NP python train.py", []),
        ("mpirun -host $(paste -sd, /etc/mpi/hostfile) python train.py", []),
        ("mpirun -H $(cut -d' ' -f1 $OMPI_MCA_orte_default_hostfile | paste -sd,) python train.py", []),
        ("mpirun -H ${HOSTNAME}:8 -np 8 python train.py", []),
        ("mpirun --hostfile /etc/mpi/hostfile python train.py --out $JOB-worker-$OMPI_COMM_WORLD_RANK", ["HOST013"]),
        ("git clone ssh://git@example.org/x; python train.py --name $JOB-worker-$RANK", ["HOST013"]),
    ],
)
def test_hosts_that_both_generations_know_do_not_block(text: str, topics: list[str]) -> None:
    assert launched(shell(text)) == topics
