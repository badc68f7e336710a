"""Counts that one program of a pod writes to a file and another one reads, and those in Makefiles."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.jobs_with_config_map import with_config_map
from migrate.conversion.rules.test_indirect_reads import converted, limits, python, shell
from shunter.api.meta import Json

PODS = "kubectl get pods -l training.kubeflow.org/job-name=bert -o name"
CLIENT = (
    'from kubernetes import client\npods = client.CoreV1Api().list_namespaced_pod("n", label_selector="training.kubeflow.org/a")'
)
MOUNT: Json = {"volumeMounts": [{"name": "scratch", "mountPath": "/shared"}]}
ELSEWHERE: Json = {"volumeMounts": [{"name": "scratch", "mountPath": "/in"}]}


def of_two(writer: list[str], reader: list[str], mount: Json = MOUNT, field: str = "initContainers") -> list[str]:
    """What is told of a pod in which another container writes what the training container reads."""
    other = {"name": "other", "image": "tools:1", "command": writer, **MOUNT}
    pod: Json = {"volumes": [{"name": "scratch", "emptyDir": {}}]}
    if field == "initContainers":
        return limits(converted(reader, "PyTorchJob", {**pod, field: [other]}, **mount))
    hook = {"lifecycle": {"postStart": {"exec": {"command": writer}}}}
    return limits(converted(reader, "PyTorchJob", pod, **mount, **hook))


@pytest.mark.parametrize(
    ("writer", "reader", "mount", "topic"),
    [
        (shell(f"{PODS} | wc -l > /shared/n"), shell("torchrun --nnodes=$(cat /shared/n) t.py"), MOUNT, "HOST030!"),
        (shell(f"{PODS} | wc -l > /shared/n"), shell("read N < /in/n; export WORLD_SIZE=$N"), ELSEWHERE, "HOST030!"),
        (shell(f"{PODS} > /shared/p"), shell("N=$(wc -l < /shared/p); torchrun --nnodes=$N t.py"), MOUNT, "HOST030!"),
        (shell(f"{PODS} > /shared/p"), python("main(world_size=len(open('/shared/p').readlines()))"), MOUNT, "HOST030!"),
        (shell(f"{PODS} | wc -l > /shared/n"), python("main(num_shards=int(open('/shared/n').read()))"), MOUNT, "HOST030!"),
        (
            shell(f"{PODS} | wc -l > /shared/n"),
            python("from pathlib import Path\nn = int(Path('/shared/n').read_text())\nmain(world_size=n)"),
            MOUNT,
            "HOST030!",
        ),
        (
            python(f"{CLIENT}\nwith open('/shared/n', 'w') as f:\n    f.write(str(len(pods.items)))"),
            python("with open('/shared/n') as f:\n    n = int(f.read())\nmain(world_size=n)"),
            MOUNT,
            "HOST030!",
        ),
        (
            python(f"{CLIENT}\nf = open('/shared/n', 'w')\nprint(len(pods.items), file=f)"),
            shell("torchrun --nnodes=$(</shared/n) t.py"),
            MOUNT,
            "HOST030!",
        ),
        (shell("getent hosts trainers | wc -l | tee /shared/n"), shell("torchrun --nnodes=$(cat /shared/n)"), MOUNT, "HOST029!"),
        (shell("hostname > /shared/me"), shell("R=$(sed 's/.*-//' /shared/me); python t.py --rank $R"), MOUNT, "HOST009!"),
        (shell("hostname > /shared/me"), python("r = int(open('/shared/me').read().split('-')[-1])"), MOUNT, "HOST009!"),
    ],
)
def test_what_another_container_writes_decides(writer: list[str], reader: list[str], mount: Json, topic: str) -> None:
    assert topic in of_two(writer, reader, mount)


def test_what_a_hook_writes_decides() -> None:
    hook, main = shell(f"{PODS} | wc -l > /tmp/n"), shell("torchrun --nnodes=$(cat /tmp/n) t.py")
    assert "HOST030!" in of_two(hook, main, {}, "lifecycle")


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        (shell("ls /data | wc -l > /shared/n"), shell("python t.py --num-shards $(cat /shared/n)")),
        (shell(f"{PODS} | wc -l > /shared/n"), shell("echo $(cat /shared/n); torchrun --nnodes=2 t.py")),
        (shell(f"{PODS} | wc -l > /tmp/n"), shell("torchrun --nnodes=$(cat /tmp/n) t.py")),
        (shell("hostname > /shared/me"), shell("cat /shared/me; python t.py")),
        (shell("kubectl get nodes | wc -l > /shared/n"), shell("torchrun --nnodes=$(cat /shared/n) t.py")),
    ],
)
def test_files_that_decide_nothing_or_are_not_seen_do_not(writer: list[str], reader: list[str]) -> None:
    assert not any(one.endswith("!") for one in of_two(writer, reader))


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        (f"N = $(shell {PODS} | wc -l)\nall:\n\ttorchrun --nnodes=$(N) t.py\n", True),
        (f"all:\n\tN=$$({PODS} | wc -l); torchrun --nnodes=$$N t.py\n", True),
        (f"N = $(shell {PODS} | wc -l)\nall:\n\t@echo $(N)\n\ttorchrun t.py\n", False),
        ("N = $(shell nproc)\nall:\n\ttorchrun --nnodes=$(NNODES) --nproc-per-node=$(N) t.py\n", False),
    ],
)
def test_a_count_in_a_makefile_decides(text: str, is_refused: bool) -> None:
    container = {"command": ["make", "-C", "/code"], "volumeMounts": [{"name": "code", "mountPath": "/code"}]}
    volumes = [{"name": "code", "configMap": {"name": "settings"}}]
    assert ("HOST030!" in limits(with_config_map(container, {"data": {"Makefile": text}}, volumes=volumes))) is is_refused
