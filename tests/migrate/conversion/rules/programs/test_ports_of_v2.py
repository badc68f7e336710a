"""Programs that listen where v2 does are told of."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.test_indirect_reads import converted, limits, python, shell

STORE = "import os\nimport torch.distributed as dist\ndist.init_process_group('gloo')\n"


@pytest.mark.parametrize(
    "command",
    [
        python(f"{STORE}dist.TCPStore(os.environ['MASTER_ADDR'], 29500, is_master=True)"),
        shell("python -m http.server 29500 & torchrun --nproc_per_node=1 t.py"),
        shell("vllm serve m --port=29500 & torchrun --nproc_per_node=1 t.py"),
    ],
)
def test_a_server_at_the_port_where_v2_meets_is_told_of(command: list[str]) -> None:
    assert "HOST023" in limits(converted(command))


@pytest.mark.parametrize(
    "command",
    [
        shell("torchrun --nproc_per_node=1 --master_port=29500 t.py"),
        shell("export MASTER_PORT=${MASTER_PORT:-29500}; python t.py"),
        shell("accelerate launch --main_process_port 29500 t.py"),
        python("import os\nos.environ.setdefault('MASTER_PORT', '29500')\nimport t"),
        python("dist.init_process_group('gloo', init_method='tcp://h:29500', rank=0, world_size=2)"),
        ["python", "t.py", "--steps", "129500"],
    ],
)
def test_the_rendezvous_itself_is_not(command: list[str]) -> None:
    assert "HOST023" not in limits(converted(command))


def test_a_job_that_meets_at_a_port_of_its_own_has_no_other_at_29500() -> None:
    ports = [{"name": "pytorchjob-port", "containerPort": 29400}, {"name": "store", "containerPort": 29500}]
    assert "HOST023" not in limits(converted(["python", "t.py"], ports=ports))
    assert "HOST023" in limits(converted(["python", "t.py"], ports=ports[1:]))
