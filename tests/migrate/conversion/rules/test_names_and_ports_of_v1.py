"""Names of v1's pods and containers, and the port at which they met, are told of; what only looks like them is not."""

from __future__ import annotations

import re

import pytest

from migrate.conversion.rules.test_indirect_reads import converted, limits, python, shell
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.rules.programs import built_names, container_names, ports_of_v1
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options


def told(command: list[str], kind: str = "PyTorchJob") -> list[str]:
    return limits(converted(command, kind))


@pytest.mark.parametrize(
    "code",
    [
        "for port in range(22000, 24000, 8): probe(port)",
        "for port in range(22000, 23457, 1456): probe(port)",
        "candidates = range(23400, 23500)\nfor each in candidates:\n    socket.create_connection((host, each))",
        "PORT = 0x5ba0",
        "where = 0x5ba0\nserver.bind(('', where))",
        "port = 23000 + 456\nopen_channel(port)",
        "server.bind(('', 24000-544))",
        "port = 23000 + 456 + rank",
    ],
)
def test_python_that_goes_through_ports_with_the_one_of_v1_is_told_of(code: str) -> None:
    assert "HOST006" in told(python(f"{code}\ntrain()"))


@pytest.mark.parametrize(
    "text",
    [
        "for p in $(seq 23450 2 23460); do nc -z $MASTER_ADDR $p; done",
        "for p in {23450..23460..3}; do nc -z $MASTER_ADDR $p; done",
        "for p in {23450..23460}; do\n  (echo > /dev/tcp/$MASTER_ADDR/$p) && break\ndone",
        "nc -z $MASTER_ADDR 23450-23460",
        "grep /proc/net/tcp -e :5BA0",
        "nc -z $MASTER_ADDR $((23000 + 456))",
    ],
)
def test_a_shell_that_goes_through_ports_with_the_one_of_v1_is_told_of(text: str) -> None:
    assert "HOST006" in told(shell(f"{text}\npython train.py"))


@pytest.mark.parametrize(
    "code",
    [
        "for port in range(22000, 23501, 500): probe(port)",
        "for port in range(22000, 24000, 1000): probe(port)",
        "for step in range(23000, 24000): train(step)",
        "milestones = {23000, 24000}",
        "ports = {23000, 24000}",
        "color = 0x5ba0",
        "steps = 23000 + 456",
        "port = 23000 + 457",
        "port = base + 23000 + 456",
        "port = 23000 + 456 * 2",
        "port = 23000 + 456 + 1",
        "port = 23000 + 456 - 1",
        "port = 23000 + 456 << 1",
        "port = (23000 + 456) * 2",
        "port = 2 * (23000 + 456)",
        "port = 8 & 23000 + 456",
        "port = 23000 + 456.5",
    ],
)
def test_numbers_of_python_that_are_no_ports_are_not_told_of(code: str) -> None:
    assert told(python(f"{code}\ntrain()")) == []


@pytest.mark.parametrize(
    "text",
    [
        "python train.py --sizes {22000,23500}",
        "ls imagenet-{23000..23999}.tar",
        "for s in $(seq 23000 24000); do ls ckpt-$s; done",
        "for s in $(seq 23000 24000); do ls ckpt-$s; done; echo $MASTER_PORT",
        "for s in $(seq 23000 24000); do ls ckpt-$s; done; export REPORT=import",
        "for p in $(seq 23000 500 24000); do nc -z $MASTER_ADDR $p; done",
        "nc -z $MASTER_ADDR 23450 23460",
    ],
)
def test_numbers_of_a_shell_that_are_no_ports_are_not_told_of(text: str) -> None:
    assert told(shell(f"{text}\npython train.py")) == []


@pytest.mark.parametrize(
    "command",
    [
        python("for port in range(6000, 8000, 500): probe(port)\ntrain()"),
        python("size={6000, 7000}\ntrain()"),
        shell("ls data-{6000..6999}.tfrecord\npython train.py"),
        shell("for s in $(seq 6000 6999); do ls ckpt-$s; done\npython train.py"),
    ],
)
def test_numbers_that_are_no_ports_are_not_told_of_in_a_jax_job(command: list[str]) -> None:
    assert told(command, "JAXJob") == []


@pytest.mark.parametrize(
    "text",
    [
        "kubectl logs bert-run-1 -c pytorch",
        "/usr/local/bin/kubectl exec $POD --container pytorch -- ls",
        "podman ps --name=pytorch",
        "curl $LOKI --data-urlencode 'query={container=\"pytorch\"}'",
        "jq '.spec.containers[] | select(.name == \"pytorch\")' pod.json",
        "tail -F /var/log/containers/$JOB-worker-0_training_*.log",
        "tail -F /var/log/containers/bert-worker-0_*.log",
        "sed -n 's#.*containers/\\([a-z]*\\)/.*#\\1#p' /proc/self/mountinfo",
        "cat /proc/self/mountinfo |\n  grep -o 'containers/[a-z]*'",
        "c=$(cat /proc/self/mountinfo); echo ${c##*containers/}",
    ],
)
def test_a_shell_that_names_the_container_or_its_log_is_told_of(text: str) -> None:
    assert "HOST021" in told(shell(f"{text}\npython train.py"))


@pytest.mark.parametrize(
    "code",
    [
        "lines = open('/proc/self/mountinfo').read()\nname = re.search(r'/containers/([^/]+)/', lines)",
        "[mine] = [c for c in pod.spec.containers if c.name == 'pytorch']",
        "mine = [c for c in containers if c['name'] == 'pytorch']",
        "if container.name == 'pytorch': watch()",
        "if container['name'] == 'pytorch': watch()",
        "logs = follow(pod, container='pytorch')",
    ],
)
def test_python_that_names_the_container_is_told_of(code: str) -> None:
    assert "HOST021" in told(python(f"{code}\ntrain()"))


@pytest.mark.parametrize(
    "text",
    [
        "docker exec dev conda install -y -c pytorch faiss-gpu",
        "podman exec dev mamba install -c pytorch faiss",
        "docker exec dev micromamba install -c pytorch faiss",
        "# in the docker image it was: conda install -c pytorch",
        "# kubectl logs $POD -c pytorch",
        "echo not docker: conda install -c pytorch faiss",
        "docker container run --name pytorch img",
        "docker --context gpu run -d --name pytorch img",
        "docker compose -f x.yml run --name pytorch svc",
        "docker run -v /var/run/docker.sock:/var/run/docker.sock --name pytorch img",
        "tail -F /var/log/containers/dask-worker-*_dask_*.log",
        "tail -F /var/log/containers/*dask-worker-*_dask_*.log",
        "ls /var/log/pods/node-feature-discovery_nfd-worker-*_*/",
        "cat /proc/self/mountinfo > /tmp/m\nls /models/containers/",
        "cat /proc/self/mountinfo > /tmp/m; ls /models/containers/",
        "cat /proc/self/mountinfo > /tmp/m\nfind /var/lib/containers/ -name '*.sif'",
        "container='pytorch/pytorch:2.3'",
        "export container=pytorch-24.01.sif",
    ],
)
def test_a_shell_that_names_other_containers_is_not_told_of(text: str) -> None:
    assert told(shell(f"{text}\npython train.py")) == []


@pytest.mark.parametrize(
    "code",
    [
        "containers = [x for x in libs if x['name'] == 'pytorch']",
        "if container and args.name == 'pytorch': train()",
        "if container == 'pytorch': train()",
        "images = {'container': 'pytorch-training:2.1'}",
    ],
)
def test_python_that_names_other_containers_is_not_told_of(code: str) -> None:
    assert told(python(f"{code}\ntrain()")) == []


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
    ],
)
def test_a_shell_that_builds_a_name_of_a_pod_is_told_of(text: str) -> None:
    assert told(shell(f"{text}\npython train.py")) == ["HOST013"]


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
    assert told(python(f"{code}\ntrain()")) == ["HOST013"]


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
        "ls | grep -E 'run.*-worker$'",
    ],
)
def test_a_shell_that_builds_another_name_is_not_told_of(text: str) -> None:
    assert told(shell(f"{text}\npython train.py")) == []


def test_jobs_whose_names_no_text_has_share_a_pattern() -> None:
    job = converted(shell("echo this is a worker; python train.py")).source.value
    built_names._compiled.cache_clear()
    for name in ("bert", "llama"):
        convert(SourceObject({**job, "metadata": {"name": name}}, "job.yaml"), Options())
    assert built_names._compiled.cache_info().misses == 1


def test_python_that_builds_another_name_is_not_told_of() -> None:
    assert told(python("run = 'bert-worker'\nout = f'{a}-{b}'\ntrain()")) == []


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(ports_of_v1._pattern(23456).pattern, id="a port"),
        pytest.param(ports_of_v1._RANGE.pattern, id="a range"),
        pytest.param(ports_of_v1._SUM.pattern, id="a sum"),
        pytest.param(built_names._pattern("bert", "master|worker"), id="a built name"),
        pytest.param(container_names._container_pattern("pytorch").pattern, id="a container"),
        pytest.param(container_names._log_pattern("bert", "master|worker"), id="a log"),
        pytest.param(container_names._OF_ANY_CONTAINER.pattern, id="any container"),
    ],
)
def test_what_lies_between_two_words_has_an_end(pattern: str) -> None:
    """A line may be a whole program in a few megabytes."""
    assert re.findall(r"(?:\[\^[^]]*\]|\[\\s\\S\])[*+]", pattern) == []
