"""Flags that cannot be meant, as people call the commands: a message, a remedy and an exit code, before anything is done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import forked_command

pytestmark = pytest.mark.integration

WRONG = {
    "a configuration that is no text": (("operator", "--config", "binary"), 2, "The configuration binary is not YAML"),
    "a port beyond all ports": (("operator", "--webhook-port", "70000"), 2, "70000 is not in the range"),
    "fewer restarts than none": (("operator", "--default-backoff-limit", "-5"), 2, "-5 is not in the range"),
    "a mapping that is not there, of a node": (("node", "--images", "missing"), 2, "File 'missing' does not exist"),
    "a mapping that is no text": (("up", "--images", "binary"), 2, "binary: not YAML"),
    "values that are no text": (("install", "--dry-run", "-o", "yaml", "--values", "binary"), 2, "--values binary: not YAML"),
    "objects as a table": (("install", "--dry-run", "-o", "table"), 2, "'table' is not one of 'yaml', 'json'"),
    "a manifest that is no text": (("run", "binary"), 2, "binary:1: not UTF-8 text: byte 0xff"),
    "a notebook": (("run", "nb.ipynb"), 2, "nb.ipynb is neither a Python program nor a manifest.\n       Make a program of it: "),
    "a shell script": (("run", "train.sh"), 2, "train.sh is neither a Python program nor a manifest.\n       Start the Python "),
    "a package": (
        ("run", "pkg"),
        2,
        "pkg is a directory of programs, and holds no manifest.\n       Run its __main__.py",
    ),
    "a program that is not there": (("run", "train.py"), 2, "train.py: no such file"),
    "a file whose name is empty; perhaps a shell variable is not set": (("run", ""), 2, "error: nothing to run.\n"),
    "a program and another job": (
        ("run", "p.py", "--rerun", "j"),
        2,
        "--rerun j runs the program of that job, but p.py was also",
    ),
    "a page of a cluster whose name is empty": (
        ("ui", "--context", ""),
        2,
        "--context is empty; perhaps a shell variable is not set",
    ),
    "a port that is none, of a group": (
        ("ui", "--port", "99999"),
        2,
        "--port: 99999 is not in the range 0<=x<=65535.\n       For",
    ),
    "an option that is none, of a group": (("images", "--nope"), 2, "error: no option --nope.\n       See them: "),
    "no commands in pods, and one": (
        ("doctor", "j", "--no-exec", "--debug-image", "i"),
        2,
        "--no-exec runs nothing in a pod, and --debug-image requires it.\n       Leave one of them out.",
    ),
    "a record of what is watched": (
        ("doctor", "j", "--watch", "--record", "d"),
        2,
        "--record writes the evidence of one diagnosis, and --watch",
    ),
    "a directory and a cluster": (
        ("doctor", "--from", "d", "--context", "c"),
        2,
        "--from reads a directory, and --context applies to a cluster",
    ),
    "a program on no node": (("run", "-m", "train", "--nodes", "0"), 2, "--nodes is 0; it must be at least 1"),
    "a program twice": (("run", "train.py", "train.py"), 2, "train.py is a program, but train.py was also given"),
    "a program and a manifest": (("run", "train.py", "binary"), 2, "train.py is a program, but binary was also given"),
    "an option of programs beside a manifest": (
        ("run", "binary", "--gpus", "1"),
        2,
        "--gpus applies to programs, and binary is not a program",
    ),
    "an option of programs beside a shell script": (
        ("run", "train.sh", "--gpus", "1"),
        2,
        "train.sh is neither a Python program nor a manifest.\n       Start the Python program that it starts",
    ),
    "a place for checkpoints without a bucket": (
        ("run", "-m", "train", "--checkpoints", "s3://"),
        2,
        "--checkpoints 's3://' names no bucket.\n       Write s3://bucket/prefix.",
    ),
    "an option whose text is empty": (("run", "-m", "train", "--resume", ""), 2, "--resume is empty; perhaps a shell variable"),
    "a duration of logs that is none": (("logs", "j", "--since", "1x"), 2, "--since: '1x' is not a duration.\n       Write it"),
    "no time between two samples": (("doctor", "j", "--sample", "0"), 2, "--sample is 0; it must be more than 0 and at most 600"),
    "an empty option of another verb": (("size", "Llama-3.1-8B", "--on", ""), 2, "--on is empty; perhaps a shell variable"),
    "an empty name of a cluster": (("delete", "j", "--context", ""), 2, "--context is empty; perhaps a shell variable"),
    "an empty argument": (("checkpoints", ""), 2, "JOB is empty; perhaps a shell variable is not set.\n       Give it"),
    "an option that is nearly one": (("run", "train.py", "--node", "2"), 2, "no option --node.\n       Did you mean --nodes?"),
    "an option of the program itself": (
        ("run", "train.py", "--steps", "20"),
        2,
        "no option --steps.\n       Options of the program itself come after --: shunter run train.py -- --steps\n",
    ),
    "an option of the program that is nearly one of the command": (
        ("run", "train.py", "--epochs", "3"),
        2,
        "Did you mean --procs? Options of the program itself come after --: shunter run train.py -- --epochs\n",
    ),
    "a script and its interpreter": (
        ("run", "python3", "-u", "train.py", "--lr", "1 2"),
        2,
        "Name the program alone: shunter run train.py -- --lr '1 2'; --nodes and --procs set the number of processes.\n",
    ),
    "a script and its launcher": (
        ("run", "torchrun", "--nproc-per-node", "2", "--", "train.py", "a"),
        2,
        "torchrun starts a program, which shunter run does itself.\n       Name the program alone: shunter run train.py -- a;",
    ),
    "a launcher of two words": (
        ("run", "accelerate", "launch", "--num_processes", "2", "train.py"),
        2,
        "accelerate launch starts a program, which shunter run does itself.\n       Name the program alone: shunter run train.py",
    ),
    "a module and its interpreter": (
        ("run", "python", "-m", "pkg.train", "x"),
        2,
        "program alone: shunter run -m pkg.train -- x;",
    ),
    "a launcher that is a module": (
        ("run", "python", "-m", "torch.distributed.run", "--nnodes", "2", "-m", "pkg.train"),
        2,
        "python -m torch.distributed.run starts a program, which shunter run does itself.\n       Name the program alone:",
    ),
    "a launcher that starts an interpreter": (
        ("run", "mpirun", "-np", "2", "python", "-u", "train.py", "a"),
        2,
        "mpirun starts a program, which shunter run does itself.\n       Name the program alone: shunter run train.py -- a;",
    ),
    "a launcher that starts a launcher": (
        ("run", "mpirun", "python", "-m", "torch.distributed.run", "-m", "pkg.train"),
        2,
        "Name the program alone: shunter run -m pkg.train;",
    ),
    "a launcher that starts no Python program": (("run", "mpirun", "-np", "2", "./solve"), 2, "alone: shunter run train.py;"),
    "an interpreter of a script that has another name": (("run", "python", "train"), 2, "alone: shunter run train.py;"),
    "a launcher after an option": (
        ("run", "--nodes", "2", "torchrun", "train.py"),
        2,
        "torchrun starts a program, which shunter run does itself.\n       Name the program alone: shunter run --nodes 2 ",
    ),
    "a launcher with its options after an option": (
        ("run", "-n", "x", "--nodes=2", "torchrun", "--nproc-per-node", "2", "train.py", "--lr", "1"),
        2,
        "Name the program alone: shunter run -n x --nodes=2 train.py -- --lr 1;",
    ),
    "an interpreter without a module": (("run", "python", "-m"), 2, "alone: shunter run train.py;"),
    "a launcher without a module": (("run", "torchrun", "-m"), 2, "alone: shunter run train.py;"),
    "another launcher without a module": (("run", "deepspeed", "--module"), 2, "alone: shunter run train.py;"),
    "a launcher of an interpreter without a module": (
        ("run", "mpirun", "-np", "2", "python", "-m"),
        2,
        "alone: shunter run train.py;",
    ),
    "a token before a launcher": (
        ("run", "-e", "HF_TOKEN=secret123", "--nodes", "2", "torchrun", "train.py", "--api-key", "secret456", "--lr", "1"),
        2,
        "alone: shunter run -e 'HF_TOKEN=***' --nodes 2 train.py -- --api-key '***' --lr 1;",
    ),
    "a launcher alone": (("run", "deepspeed"), 2, "Name the program alone: shunter run train.py;"),
    "an option that is none, beside a manifest": (("run", "binary", "--steps", "3"), 2, "no option --steps.\n       See them: "),
    "an option that is none, of another command": (("delete", "j", "--xyz"), 2, "no option --xyz.\n       See them: "),
    "a command that is none": (("frobnicate",), 2, " has no command frobnicate.\n       See them: "),
    "a command that is none, of a group": (
        ("images", "frobnicate"),
        2,
        " images has no command frobnicate.\n       See them: ",
    ),
    "a command that is nearly one, of a group": (
        ("migrate", "conver"),
        1,
        " has no command conver.\n       Did you mean convert?\n",
    ),
    "an option that is needed": (
        ("scale", "j"),
        2,
        "error: --nodes is missing.\n       See the usage: ",
    ),
    "an argument that is needed": (
        ("delete",),
        2,
        "error: JOB is missing.\n       See the usage: ",
    ),
    "an option without its value": (
        ("run", "train.py", "--nodes"),
        2,
        "error: --nodes needs a value.\n       See the usage: ",
    ),
    "an argument too many": (
        ("checkpoints", "a", "b"),
        2,
        "error: unexpected extra argument(s) (b).\n       See the usage: ",
    ),
    "an argument that is needed, of a command of a group": (("images", "add"), 2, "error: IMAGE is missing.\n"),
    "GPUs that are no number": (
        ("run", "-m", "train", "--gpus", "lots"),
        2,
        "error: --gpus: 'lots' is not a whole number.\n       Write it like --gpus 2.\n",
    ),
    "half a node": (("scale", "j", "--nodes", "2.5"), 2, "--nodes: '2.5' is not a whole number."),
    "a time that is no number": (
        ("install", "--timeout", "soon"),
        2,
        "'soon' is not a number.\n       Write it like --timeout 180.",
    ),
    "restarts that are no number, of a command of a group": (
        ("runtime", "create", "r", "--restarts", "often"),
        2,
        "error: --restarts: 'often' is not a whole number.",
    ),
    "a program, with modules that have no name of one": (("run", "--warm", "tor-ch", "train.py"), 2, "'tor-ch' is not the name"),
    "modules that have no name of one": (("run", "--warm", "tor-ch", "job.yaml"), 2, "'tor-ch' is not the name of a module"),
    "nothing to run": (("run",), 2, "nothing to run.\n       Name a program or manifests: "),
    "a name that looks like markup": (("delete", "a[/b]"), 3, "no embedded cluster is up"),
    "results below a file": (("migrate", "demo", "--examples", ".", "--results", "binary"), 1, "--results binary: File exists"),
}


@pytest.mark.parametrize(("arguments", "code", "said"), WRONG.values(), ids=WRONG)
def test_a_flag_that_cannot_be_meant_is_said(arguments: tuple[str, ...], code: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__main__.py").touch()
    environment = {
        **os.environ,
        "NO_COLOR": "1",
        "COLUMNS": "200",
        "KUBECONFIG": "",
        "SHUNTER_STATE_DIR": str(tmp_path / "state"),
    }
    done = forked_command.shunter(*arguments, environment=environment, cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert said in done.stderr


def test_a_directory_that_was_deleted_meanwhile_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    program = f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); from shunter.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", program, "run", "train.py"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        3,
        "error: the current directory has been deleted.\n       Change to one that exists: cd\n",
    )
