"""`python -m shunter.cluster.node.ssh sshd|ssh KEYS ARGUMENTS`, which the programs of `shims.py` run; KEYS has the job's keys."""

from __future__ import annotations

import sys
from pathlib import Path


def main(program: str, keys: str, *arguments: str) -> int:
    """The exit status of sshd or ssh; 1 where the library that they need is missing, which is said on stderr."""
    try:
        from shunter.cluster.node.ssh import client, server
    except ModuleNotFoundError as error:
        print(f"{program}: needs the library {error.name}. Install shunter[mpi] where the node runs.", file=sys.stderr)
        return 1
    serves_or_runs = server.main if program == "sshd" else client.main
    return serves_or_runs(Path(keys), list(arguments))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
