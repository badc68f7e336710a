"""Programs that name the training container of v1 are told of, and those that name others are not."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.test_indirect_reads import converted, limits, python, shell


def told(command: list[str], kind: str = "PyTorchJob") -> list[str]:
    return limits(converted(command, kind))


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
