"""`shunter migrate`, as people call it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import forked_command


def migrate(*arguments: str, given: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What the command did in `folder`, with `given` as its standard input."""
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"}
    return forked_command.shunter("migrate", *arguments, environment=environment, stdin=given, cwd=folder)
