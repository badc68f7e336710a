"""`shunter migrate`, as people call it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def migrate(*arguments: str, given: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What the command did in `folder`, with `given` as its standard input."""
    command = [sys.executable, "-m", "shunter.cli.main", "migrate", *arguments]
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"}
    return subprocess.run(command, input=given, capture_output=True, text=True, cwd=folder, env=environment, check=False)
