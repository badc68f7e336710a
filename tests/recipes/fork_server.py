"""`python fork_server.py MODULE...`: imports them, and then forks a process for each line that it reads, `{"script", "options",
"environment", "output"}`, whose id it answers; `{"wait": ID}` is answered with its exit code, or null while it runs.

An import of these frameworks costs seconds of CPU a rank.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import sys
from typing import Any


def run(script: str, options: list[str], environment: dict[str, str], output: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(environment)
    file = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.argv = [script, *options]
    sys.path[0] = os.path.dirname(script)
    runpy.run_path(script, run_name="__main__")


def exit_code(process: int) -> int | None:
    ended, status = os.waitpid(process, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def main() -> None:
    for module in sys.argv[1:]:
        importlib.import_module(module)
    while line := sys.stdin.readline():
        asked: dict[str, Any] = json.loads(line)
        if "wait" in asked:
            print(json.dumps(exit_code(asked["wait"])), flush=True)
        elif process := os.fork():
            print(process, flush=True)
        else:
            run(**asked)
            return


if __name__ == "__main__":
    main()
