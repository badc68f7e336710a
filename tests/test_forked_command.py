"""The command that tests fork is the one that a shell would start."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from forked_command import SCRIPT, shunter

pytestmark = pytest.mark.integration

JOB = "a: [1, }"


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (("--version",), None),
        (("run", "no-such-file.yaml"), None),
        (("migrate", "convert", "-f", "-"), JOB),
        (("size", "no-such-model"), None),
        (("size", "GPT-2"), None),
        (("migrate", "--help"), ""),
    ],
    ids=["version", "no file", "standard input", "wrong input", "success", "help"],
)
def test_it_answers_as_the_command_does(arguments: tuple[str, ...], stdin: str | None, tmp_path: Path) -> None:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "150"}
    forked = shunter(*arguments, environment=environment, stdin=stdin, cwd=tmp_path)
    command = [str(SCRIPT), *arguments]
    started = subprocess.run(command, env=environment, input=stdin, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


def test_its_environment_and_its_directory_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("{}")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": "config", "SHUNTER_STATE_DIR": str(tmp_path)}
    done = shunter("jobs", environment=environment, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "error: config: no current-context is set.\n       Name a context.\n")


def test_one_that_takes_too_long_is_ended_and_others_run_beside_it(tmp_path: Path) -> None:
    read = tmp_path / "waits.yaml"
    os.mkfifo(read)
    with ThreadPoolExecutor(1) as threads:
        late = threads.submit(shunter, "run", str(read), environment=os.environ, timeout=3)
        assert shunter("--version", environment=os.environ).returncode == 0
        with pytest.raises(subprocess.TimeoutExpired):
            late.result()
