"""What a container starts, by its texts alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.migrate.conversion.commands import Launch, understood

SCRIPTS = [{"name": "scripts", "configMap": {"name": "scripts"}}]
MOUNT = [{"name": "scripts", "mountPath": "/scripts"}]


def launch(*command: str, args: list[str] | None = None, files: dict[str, str] | None = None, **fields: Any) -> Launch:
    container = {"name": "pytorch", **fields}
    if command:
        container["command"] = [*command]
    if args is not None:
        container["args"] = args
    if files is not None:
        container["volumeMounts"] = MOUNT
    return understood(container, SCRIPTS, {"ConfigMap scripts": {"data": files or {}}}.get)


def in_shell(text: str, **fields: Any) -> Launch:
    return launch("bash", "-c", text, **fields)


LAUNCHERS = {
    "a script": (launch("python", "train.py"), "python", "train.py"),
    "a script with flags of Python": (launch("/usr/bin/python3.11", "-u", "-W", "ignore", "train.py"), "python", "train.py"),
    "a module": (launch("python", "-um", "bert.train", "--x"), "python", "bert.train"),
    "code": (launch("python", "-c", "print()"), "python", ""),
    "standard input": (in_shell("python - <<END\nprint()\nEND"), "python", ""),
    "a script that is a program itself": (launch("/work/train.py", "--x"), "python", "/work/train.py"),
    "command and arguments apart": (launch("python", args=["-u", "train.py"]), "python", "train.py"),
    "torchrun": (launch("torchrun", "--nnodes=2", "--rdzv-conf", "a=b", "train.py"), "torchrun", "train.py"),
    "torchrun as a module": (launch("python3", "-m", "torch.distributed.run", "-m", "bert"), "torchrun", "bert"),
    "torch.distributed.launch": (launch("python", "-m", "torch.distributed.launch", "--use_env", "t.py"), "torchrun", "t.py"),
    "accelerate": (launch("accelerate", "launch", "--num_machines", "2", "--multi_gpu", "t.py"), "accelerate", "t.py"),
    "deepspeed": (launch("deepspeed", "-H", "hosts", "t.py", "--deepspeed"), "deepspeed", "t.py"),
    "mpirun": (launch("mpirun", "-np", "4", "-mca", "btl", "tcp", "-x", "PATH", "python", "t.py"), "mpirun", "python"),
    "horovodrun": (launch("horovodrun", "-np", "4", "python", "t.py"), "horovodrun", "python"),
    "wrappers": (launch("env", "A=1", "nohup", "numactl", "-N", "0", "-m", "0", "python", "t.py"), "python", "t.py"),
    "a wrapper with a word of its own": (launch("timeout", "-k", "5", "1h", "torchrun", "t.py"), "torchrun", "t.py"),
    "numactl with a flag": (launch("numactl", "-l", "torchrun", "t.py"), "torchrun", "t.py"),
    "numactl with a long flag": (launch("numactl", "--localalloc", "-w", "0", "torchrun", "t.py"), "torchrun", "t.py"),
    "nsys that overwrites": (launch("nsys", "profile", "-f", "true", "-x", "true", "torchrun", "t.py"), "torchrun", "t.py"),
    "ncu that overwrites": (launch("ncu", "-f", "-o", "x", "torchrun", "t.py"), "torchrun", "t.py"),
    "chrt with a deadline": (launch("chrt", "-d", "-T", "9", "-P", "9", "0", "python", "t.py"), "python", "t.py"),
    "sudo with long options": (launch("sudo", "-E", "--chdir", "/x", "A=1", "python", "t.py"), "python", "t.py"),
    "nsys": (launch("nsys", "profile", "-o", "out", "--trace=cuda", "python", "t.py"), "python", "t.py"),
    "uv run": (launch("uv", "run", "--with", "torch", "t.py"), "python", "t.py"),
    "conda run": (launch("conda", "run", "-n", "env", "--no-capture-output", "torchrun", "t.py"), "torchrun", "t.py"),
    "a shell": (in_shell("exec torchrun t.py"), "torchrun", "t.py"),
    "a shell with options": (launch("/bin/bash", "-euxo", "pipefail", "-c", "torchrun t.py"), "torchrun", "t.py"),
    "a shell in a shell": (in_shell("sh -c 'python t.py'"), "python", "t.py"),
    "preparations before": (
        in_shell("pip install x && python setup.py install && python -m pip list; torchrun t.py"),
        "torchrun",
        "t.py",
    ),
    "something after": (in_shell("torchrun t.py; python eval.py"), "torchrun", "t.py"),
    "two programs": (in_shell("python prepare.py && python train.py"), "python", "train.py"),
    "a variable of the text": (in_shell("SCRIPT=train.py\nRUN='python -u'\n$RUN $SCRIPT"), "python", "train.py"),
    "a variable of the container": (
        launch("python", "$(SCRIPT)", env=[{"name": "SCRIPT", "value": "t.py"}]),
        "python",
        "t.py",
    ),
    "parameters of the shell": (launch("bash", "-c", 'exec "$@"', "--", "torchrun", "t.py"), "torchrun", "t.py"),
    "a script of the text's own": (in_shell("cat > /t.py <<'E'\nimport os\nE\npython /t.py"), "python", "/t.py"),
    "eval": (in_shell('eval "torchrun t.py"'), "torchrun", "t.py"),
    "a shell script of a ConfigMap": (launch("bash", "/scripts/run.sh", files={"run.sh": "torchrun /t.py"}), "torchrun", "/t.py"),
    "a script that is run by its name": (launch("/scripts/run.sh", files={"run.sh": "#!/bin/sh\npython t.py"}), "python", "t.py"),
    "a Python script without an ending": (
        launch("/scripts/run", files={"run": "#!/usr/bin/env python3\n"}),
        "python",
        "/scripts/run",
    ),
    "a script after a change of directory": (
        in_shell("cd /scripts; ./run.sh", files={"run.sh": "torchrun t.py"}),
        "torchrun",
        "t.py",
    ),
    "a sourced script": (in_shell(". /scripts/env.sh; $TRAIN", files={"env.sh": "TRAIN='torchrun t.py'"}), "torchrun", "t.py"),
    "a script that is not at hand": (launch("bash", "/work/run.sh"), "unknown", "/work/run.sh"),
    "the image's program": (launch(), "unknown", ""),
    "arguments of the image's program": (launch(args=["--lr", "1"]), "unknown", "--lr"),
    "a command as arguments of the image's program": (launch(args=["torchrun", "t.py"]), "torchrun", "t.py"),
    "an entry point that runs its arguments": (launch("/entrypoint.sh", args=["python", "t.py"]), "python", "t.py"),
    "a program of the user's": (launch("bert-train", "--lr", "1"), "unknown", "bert-train"),
    "nothing but preparations": (in_shell("sleep 365d"), "unknown", "bash"),
}


@pytest.mark.parametrize(("found", "launcher", "program"), LAUNCHERS.values(), ids=LAUNCHERS)
def test_launcher_and_program_are_seen(found: Launch, launcher: str, program: str) -> None:
    assert (found.launcher, found.main.name if found.main.kind != "input" else "") == (launcher, program)


@pytest.mark.parametrize(
    ("text", "launcher", "decisive"),
    [
        ("python download.py && bash train.sh", "unknown", "bash train.sh"),
        ("/opt/entry; python train.py", "unknown", "/opt/entry"),
        ("python prepare.py; python train.py", "python", "train.py"),
        ("/opt/entry; torchrun train.py", "torchrun", "train.py"),
        ("sleep 1; python train.py", "python", "train.py"),
    ],
)
def test_an_unknown_program_beside_python_decides_how_processes_start(text: str, launcher: str, decisive: str) -> None:
    found = in_shell(text)
    assert (found.launcher, found.decisive.name) == (launcher, decisive.removeprefix("bash "))


OPTIONS = {
    "with an equals sign": (["--nnodes=2:4"], "nnodes", "2:4"),
    "with a space": (["--nproc_per_node", "4"], "nproc-per-node", "4"),
    "abbreviated, as argparse allows": (["--nproc", "4"], "nproc-per-node", "4"),
    "a flag": (["--standalone", "--nnodes", "1"], "standalone", ""),
    "the last of two": (["--nnodes=2", "--nnodes=3"], "nnodes", "3"),
    "not an option of the script": (["train.py", "--nnodes=3"], "nnodes", None),
}


@pytest.mark.parametrize(("words", "name", "value"), OPTIONS.values(), ids=OPTIONS)
def test_options_of_torchrun_are_read(words: list[str], name: str, value: str | None) -> None:
    assert launch("torchrun", *words, "train.py").main.option(name) == value


@pytest.mark.parametrize("before", ["NODES=1 python prepare.py", "env NODES=1 python prepare.py"])
def test_variable_of_one_program_is_not_that_of_the_next(before: str) -> None:
    assert in_shell(f"{before} && torchrun --nnodes=$NODES t.py").main.option("nnodes") == "$NODES"


USES = {
    "by Kubernetes": (launch("python", "t.py", "--rank=$(RANK)"), [("RANK", "kubernetes", None)]),
    "not where the reference is escaped": (launch("python", "t.py", "--rank=$$(RANK)"), []),
    "by the shell": (
        in_shell("python t.py --rank $RANK --of ${WORLD_SIZE:-1}"),
        [("RANK", "shell", None), ("WORLD_SIZE", "shell", "1")],
    ),
    "not in a word that no shell reads": (launch("python", "t.py", "$RANK"), []),
    "not what the text sets itself": (in_shell("export RANK=${HOSTNAME##*-}; python t.py $RANK"), [("HOSTNAME", "shell", None)]),
    "what the text makes of it": (
        in_shell("MASTER_PORT=${MASTER_PORT:-1}; python t.py $MASTER_PORT"),
        [("MASTER_PORT", "shell", "1")],
    ),
    "also when another program is told otherwise": (
        in_shell("RANK=0 python prepare.py && torchrun --node_rank=$RANK t.py"),
        [("RANK", "shell", None)],
    ),
    "by Python code": (
        launch("python", "-c", "import os\nos.environ['RANK']\nos.getenv('WORLD_SIZE', 1)\nos.environ.get('MASTER_ADDR')"),
        [("RANK", "python", None), ("WORLD_SIZE", "python", "1"), ("MASTER_ADDR", "python", None)],
    ),
    "by a script of a ConfigMap": (
        launch("python", "/scripts/t.py", files={"t.py": "from os import environ\nenviron['RANK']"}),
        [("RANK", "python", None)],
    ),
    "by code of an older Python": (launch("python", "-c", "print os.environ['RANK']"), [("RANK", "python", None)]),
    "not by what torchrun starts": (launch("torchrun", "/scripts/t.py", files={"t.py": "import os\nos.environ['RANK']"}), []),
    "by a script that torchrun is started in": (
        launch("bash", "/scripts/run.sh", files={"run.sh": "torchrun --node_rank=$RANK t.py"}),
        [("RANK", "shell", None)],
    ),
}


@pytest.mark.parametrize(("found", "uses"), USES.values(), ids=USES)
def test_variables_that_are_taken_from_the_environment_are_seen(found: Launch, uses: list[tuple[str, str, str | None]]) -> None:
    assert [(use.name, use.by, use.default) for use in found.uses] == uses


def test_use_stands_where_its_place_says() -> None:
    text = "cd /w\npython t.py --rank=$RANK --out=$(RANK)"
    for use in in_shell(text).uses:
        assert use.spot.path == ("command", 2)
        assert text[use.spot.start : use.spot.end] in {"$RANK", "$(RANK)"}


def test_use_in_a_file_names_the_file() -> None:
    (use,) = launch("python", "/scripts/t.py", files={"t.py": 'é = 1; import os; os.environ["RANK"]'}).uses
    assert (use.spot.file, use.spot.path) == ("ConfigMap scripts", ("data", "t.py"))
    assert (use.spot.start, use.spot.end) == (18, 36)


def test_way_to_the_program_is_told() -> None:
    found = in_shell("exec /scripts/run.sh", files={"run.sh": "torchrun t.py"})
    assert found.main.through == ("bash -c", "ConfigMap scripts: run.sh")


@pytest.mark.parametrize(
    ("volume", "mount"),
    [
        ({"configMap": {"name": "scripts", "items": [{"key": "run.sh", "path": "bin/go.sh"}]}}, {"mountPath": "/w"}),
        ({"configMap": {"name": "scripts"}}, {"mountPath": "/w/bin/go.sh", "subPath": "run.sh"}),
        ({"secret": {"secretName": "scripts", "items": [{"key": "run.sh", "path": "bin/go.sh"}]}}, {"mountPath": "/w"}),
        ({"projected": {"sources": [{"secret": {"name": "scripts"}}]}}, {"mountPath": "/w/bin/go.sh", "subPath": "run.sh"}),
        (
            {
                "projected": {
                    "sources": [
                        {"secret": {}},
                        {"configMap": {"name": "scripts", "items": [{"key": "run.sh", "path": "bin/go.sh"}]}},
                    ]
                }
            },
            {"mountPath": "/w"},
        ),
    ],
    ids=["chosen keys", "a single file", "chosen keys of a Secret", "a file of a projected Secret", "a projected volume"],
)
def test_files_are_found_where_they_are_mounted(volume: dict[str, Any], mount: dict[str, Any]) -> None:
    container = {"command": ["sh", "bin/go.sh"], "workingDir": "/w", "volumeMounts": [{"name": "v", **mount}]}
    script = {"data": {"run.sh": "torchrun t.py"}}
    data = {"ConfigMap scripts": script, "Secret scripts": script}
    assert understood(container, [{"name": "v", **volume}], data.get).launcher == "torchrun"


def test_script_that_calls_itself_is_read_once_and_for_all() -> None:
    assert launch("sh", "/scripts/a.sh", files={"a.sh": "sh /scripts/a.sh"}).launcher == "unknown"


def test_script_that_calls_itself_many_times_is_read_soon() -> None:
    script = "case $1 in all) " + "sh /scripts/a.sh one; " * 6 + ";; one) torchrun t.py;; esac"
    assert launch("sh", "/scripts/a.sh", "all", files={"a.sh": script}).launcher == "torchrun"


@given(st.lists(st.text(max_size=30), max_size=5), st.lists(st.text(max_size=30), max_size=3))
def test_any_command_is_understood_somehow(command: list[str], args: list[str]) -> None:
    assert launch(*command, args=args).started


@given(st.text(max_size=80))
def test_any_script_is_understood_somehow(text: str) -> None:
    assert launch("bash", "/scripts/run.sh", files={"run.sh": text}).started
    assert launch("python", "/scripts/t.py", files={"t.py": text}).launcher == "python"
