"""Which variables nothing in a container reads, as far as its texts tell."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.migrate.conversion.commands.unread_variables import unread

NAMES = ("RANK", "WORLD_SIZE")


@pytest.mark.parametrize(
    "container",
    [
        {"command": ["sleep", "3600"]},
        {"command": ["/bin/sh", "-c", "echo started; sleep 3600"]},
        {"command": ["python3", "-u", "-c", "import torch\nimport torch.nn as nn\nprint(torch.ones(2))"]},
        {"command": ["sleep"], "args": ["1"], "env": [{"name": "NODE", "value": "$(POD)"}]},
    ],
)
def test_nothing_is_read_where_all_can_be_seen(container: Any) -> None:
    assert unread(container, NAMES) == {*NAMES}


@pytest.mark.parametrize(
    "container",
    [
        {},
        {"args": ["sleep", "3600"]},
        {"command": ["train"]},
        {"command": ["python", "train.py"]},
        {"command": ["python", "-c", "import train"]},
        {"command": ["python", "-c", "import torch.distributed as dist; dist.init_process_group()"]},
        {"command": ["python", "-c", "import os; print(dict(os.environ))"]},
        {"command": ["python", "-c", "from os import environ"]},
        {"command": ["python", "-c", "import os; os.system('env')"]},
        {"command": ["python", "-c", "print(open('/proc/self/environ').read())"]},
        {"command": ["python", "-c", "this is no Python"]},
        {"command": ["sh", "-c", "env"]},
        {"command": ["sh", "-c", "sleep 1; ./run"]},
        {"command": ["sh", "-c", "echo $(printenv)"]},
        {"command": ["sh", "-c", "cat < /proc/self/environ"]},
        {"command": ["sh", "-c", "$PROGRAM"]},
        {"command": ["sh", "-c", ". /scripts/run.sh"]},
        {"command": ["sleep", "1"], "lifecycle": {"preStop": {"exec": {"command": ["/bye"]}}}},
    ],
)
def test_what_cannot_be_seen_may_read_all(container: Any) -> None:
    assert unread(container, NAMES) == set()


def test_a_variable_that_is_named_is_read() -> None:
    assert unread({"command": ["sh", "-c", "echo rank $RANK"]}, NAMES) == {"WORLD_SIZE"}
    assert unread({"command": ["echo", "$(WORLD_SIZE)"]}, NAMES) == {"RANK"}
    assert unread({"command": ["python", "-c", "pass"]}, ("RANK", "PYTHONUNBUFFERED")) == {"RANK"}
    assert unread({"command": ["true"], "env": [{"name": "ID", "value": "$(RANK)"}]}, NAMES) == {"WORLD_SIZE"}
