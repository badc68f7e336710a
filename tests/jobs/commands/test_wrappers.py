"""What is left of a command line behind programs that only start another one."""

from __future__ import annotations

import shlex

import pytest

from shunter.jobs.commands.arguments import Argument, SourceRange
from shunter.jobs.commands.launcher_options import program_name
from shunter.jobs.commands.wrappers import is_wrapper, unwrapped


def words(line: str) -> list[Argument]:
    return [Argument(word, SourceRange(("command", number))) for number, word in enumerate(shlex.split(line))]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        *((f"{before} python x", "python x") for before in (
            "", "nohup", "/usr/bin/env", "env -i", "env -u A --", "env -C /x", "timeout 5", "timeout -k 5 -s KILL 10m",
            "nice", "nice -n 5", "nice -5", "stdbuf -oL", "numactl --cpunodebind=0 --membind=0", "taskset -c 0-3",
            "taskset 0xff", "time -p", "exec -a n", "tini -g -s --", "dumb-init", "sudo -E -u bob", "gosu bob", "conda run -n e",
            "conda run --no-capture-output -p /e", "poetry run", "uv run --with torch", "nsys profile --trace=cuda,nvtx -o o",
            "strace -f -o out", "perf stat -e cycles", "perf record -g -F 99", "flock -n /tmp/lock",
            "dockerize -wait tcp://db:5432 -timeout 9s",
            "wait-for-it.sh db:5432 -t 30 --", "dotenv -f .env run --", "doppler run --",
            "py-spy record -o p.svg --", "setpriv --reuid 1", "chroot /", "setsid", "nohup nice -n 5 timeout 5",
        )),
        ("env -S 'python x'", "python x"),
        ("uv run -m torch.distributed.run x", "python -m torch.distributed.run x"),
        ("uv run --module train --lr 1", "python -m train --lr 1"),
        ("uv run --with torch -m train", "python -m train"),
        ("mpirun -np 2 python x", "mpirun -np 2 python x"),
        ("torchrun x", "torchrun x"),
        ("conda install python", "conda install python"),
        ("wait-for-it.sh db:5432 -t 30", "wait-for-it.sh db:5432 -t 30"),
        ("env", ""),
        ("timeout", ""),
        ("", ""),
    ],
    ids=lambda text: text or "nothing",
)  # fmt: skip
def test_wrappers_and_their_options_are_taken_off(line: str, left: str) -> None:
    assert [word.value for word in unwrapped(words(line)).words] == left.split()


def test_what_env_sets_is_told() -> None:
    found = unwrapped(words("env A=1 B=$C timeout 5 env D= python x"))
    assert found.assignments == (("A", "1"), ("B", "$C"), ("D", ""))


@pytest.mark.parametrize(
    ("word", "name", "wraps"),
    [("/usr/bin/nohup", "nohup", True), ("python3", "python3", False), ("./nohup", "nohup", True), ("/", "/", False)],
)
def test_a_program_is_known_by_its_name_without_its_directory(word: str, name: str, wraps: bool) -> None:
    assert (program_name(word), is_wrapper(word)) == (name, wraps)
