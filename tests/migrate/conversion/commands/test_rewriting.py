"""The same command started by torchrun, or with an option more; what need not change stays letter by letter."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.migrate.conversion.commands import understood
from shunter.migrate.conversion.commands.rewriting import with_option, with_torchrun

REWRITTEN: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "a script": ({"command": ["python", "train.py", "--x"]}, {"command": ["torchrun", "train.py", "--x"]}),
    "flags that torchrun gives anyway": ({"command": ["python3", "-u", "t.py"]}, {"command": ["torchrun", "t.py"]}),
    "a script among the arguments": ({"command": ["python", "-u"], "args": ["t.py"]}, {"command": ["torchrun"]}),
    "flags among the arguments": ({"command": ["python"], "args": ["-u", "t.py"]}, {"command": ["torchrun"], "args": ["t.py"]}),
    "a module": ({"command": ["python", "-m", "bert"]}, {"command": ["torchrun", "-m", "bert"]}),
    "other flags of Python": (
        {"command": ["python", "-O", "t.py"]},
        {"command": ["torchrun", "--no_python", "python", "-O", "t.py"]},
    ),
    "joined flags": ({"command": ["python", "-um", "bert"]}, {"command": ["torchrun", "--no_python", "python", "-um", "bert"]}),
    "an interpreter at a path": (
        {"command": ["/venv/bin/python", "-u", "t.py"]},
        {"command": ["/venv/bin/python", "-m", "torch.distributed.run", "t.py"]},
    ),
    "a script that is a program": ({"command": ["./t.py", "--x"]}, {"command": ["torchrun", "./t.py", "--x"]}),
    "a word of a shell text": (
        {"command": ["sh", "-c"], "args": ["set -e\n# python\nexec  python -u \\\n   't.py' $X  # end\n"]},
        {"args": ["set -e\n# python\nexec  torchrun \\\n   't.py' $X  # end\n"]},
    ),
    "behind wrappers": (
        {"command": ["nohup", "uv", "run", "python", "t.py"]},
        {"command": ["nohup", "uv", "run", "torchrun", "t.py"]},
    ),
    "a shell within a shell": (
        {"command": ["sh", "-c", "bash -c 'python t.py'"]},
        {"command": ["sh", "-c", "bash -c 'torchrun t.py'"]},
    ),
    "not code": ({"command": ["python", "-c", "print()"]}, None),
    "not standard input": ({"command": ["sh", "-c", "python - <<E\nE"]}, None),
    "not a program of the image": ({"command": ["train"]}, None),
    "not what stands in a variable": (
        {"command": ["$(PYTHON)", "t.py"], "env": [{"name": "PYTHON", "value": "python"}]},
        None,
    ),
    "not what torchrun starts already": ({"command": ["torchrun", "t.py"]}, None),
}


@pytest.mark.parametrize(("container", "changed"), REWRITTEN.values(), ids=REWRITTEN)
def test_torchrun_is_put_in_front_of_a_program(container: dict[str, Any], changed: dict[str, Any] | None) -> None:
    assert with_torchrun(container, understood(container).main) == changed


def test_script_of_a_config_map_is_left_alone() -> None:
    container = {"command": ["sh", "/s/run.sh"], "volumeMounts": [{"name": "s", "mountPath": "/s"}]}
    volumes = [{"name": "s", "configMap": {"name": "s"}}]
    found = understood(container, volumes, {"ConfigMap s": {"data": {"run.sh": "python t.py"}}}.get).main
    assert found.launcher == "python"
    assert with_torchrun(container, found) is None


@pytest.mark.parametrize(
    ("container", "changed"),
    [
        ({"command": ["torchrun", "t.py"]}, {"command": ["torchrun", "--a=1", "--b=2", "t.py"]}),
        ({"args": ["torchrun", "t.py"]}, {"args": ["torchrun", "--a=1", "--b=2", "t.py"]}),
        (
            {"command": ["python", "-m", "torch.distributed.run"], "args": ["t.py"]},
            {"command": ["python", "-m", "torch.distributed.run", "--a=1", "--b=2"]},
        ),
        ({"command": ["sh", "-c", "torchrun  t.py"]}, {"command": ["sh", "-c", "torchrun --a=1 --b=2  t.py"]}),
    ],
    ids=["the command", "the arguments", "a module", "a shell text"],
)
def test_options_are_put_behind_the_launcher(container: dict[str, Any], changed: dict[str, Any]) -> None:
    assert with_option(container, understood(container).main, "--a=1", "--b=2") == changed


WORDS = st.sampled_from(["--lr", "0.1", "a b", "it's", "$HOME", "--", "-m", "x=y", "#", ";", '"'])


@given(st.lists(WORDS, max_size=5), st.booleans(), st.sampled_from(["", "set -e; ", "cd /w && ", "A=1 exec "]))
def test_rewritten_command_starts_the_same_script_with_the_same_arguments(words: list[str], in_shell: bool, before: str) -> None:
    line = ["python", "-u", "train.py", *words]
    container = {"command": ["sh", "-c", before + shlex.join(line)] if in_shell else line}
    was = understood(container).main
    now = understood({**container, **(with_torchrun(container, was) or {})}).main
    assert now.launcher == "torchrun"
    assert [word.value for word in now.program] == [word.value for word in was.program] == ["train.py", *words]
