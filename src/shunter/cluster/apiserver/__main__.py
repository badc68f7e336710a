"""`python -m shunter.cluster.apiserver --state-dir DIR --port N`: an API server that listens before it is imported.

Clients that are started with it wait in the socket's queue, instead of being refused and waiting for their next attempt.
"""

from __future__ import annotations

import argparse
import socket
from pathlib import Path


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m shunter.cluster.apiserver", description=__doc__)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--disable-admission-plugins", help="for a server without the controllers that make service accounts")
    return parser.parse_args()


def main() -> None:
    """Returns after SIGTERM or SIGINT. SystemExit with the reason where the port cannot be had or the state directory cannot be
    used."""
    arguments = _arguments()
    where = f"API server on {arguments.host}:{arguments.port} of {arguments.state_dir}"
    try:
        listener = socket.create_server((arguments.host, arguments.port))
    except OSError as error:
        raise SystemExit(f"{where}: {error}") from None
    import sqlite3

    from shunter.cluster.apiserver.admission.service_account import NAME
    from shunter.cluster.apiserver.process import run
    from shunter.errors import EnvironmentProblem

    if arguments.disable_admission_plugins not in (None, NAME):
        raise SystemExit(f"--disable-admission-plugins {arguments.disable_admission_plugins}: only {NAME} can be disabled")
    disabled = frozenset(filter(None, [arguments.disable_admission_plugins]))
    try:
        run(arguments.state_dir, listener, disabled)
    except EnvironmentProblem as error:
        raise SystemExit(f"{error.message} {error.remedy}") from None
    except (OSError, sqlite3.Error) as error:
        raise SystemExit(f"{where}: {error}") from None


if __name__ == "__main__":
    main()
