"""The entry point: Ctrl-C ends the command quietly at any time."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

INTERRUPTED = """
import sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from {module} import {function}
{function}()
"""


@pytest.mark.integration
def test_an_interrupt_while_the_command_is_imported_ends_it_quietly() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    module, _, function = project["project"]["scripts"]["shunter"].partition(":")
    program = INTERRUPTED.format(module=module, function=function)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
