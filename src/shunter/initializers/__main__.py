"""The command: fetches, and ends with 0; or with a last line that names what was to be fetched, what is wrong, and what to do.

Exit codes: 2 when the address, the credentials or the pod's volumes are wrong, 3 when network or store are in trouble.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path

from shunter.errors import InputError, ShunterError
from shunter.initializers.fetching import fetch_all
from shunter.initializers.files import Source
from shunter.initializers.progress import Progress
from shunter.initializers.reporting import reporter
from shunter.initializers.settings import Role, Settings, settings

DIRECTORIES: dict[Role, str] = {"dataset": "/workspace/dataset", "model": "/workspace/model"}
LAST_WORDS = Path("/dev/termination-log")
"""What Kubernetes shows as a container's last words."""


def main(arguments: list[str]) -> int:
    """The exit code: 0 when all is there, else that of the error, which is printed in one last line without credentials."""
    parser = argparse.ArgumentParser(prog="python -m shunter.initializers", description="Fetches a dataset or a model.")
    parser.add_argument("role", choices=tuple(DIRECTORIES))
    parser.add_argument("directory", nargs="?", type=Path, help="default: /workspace/dataset or /workspace/model")
    options = parser.parse_args(arguments)
    role: Role = options.role
    fetch_settings: Settings | None = None
    try:
        fetch_settings = settings(role, os.environ)
        directory = options.directory or Path(DIRECTORIES[role])
        print_line = _ProgressPrinter(fetch_settings).print_line
        print_line(f"Fetching the {role} {fetch_settings.uri} into {directory}.")
        fetch_all(_source(fetch_settings), directory, Progress(print_line, report=reporter(os.environ)))
    except ShunterError as error:
        text = f"{error.message} {error.remedy}".strip()
        _end(f"{fetch_settings.uri}: {fetch_settings.without_secrets(text)}" if fetch_settings else text)
        return error.exit_code
    return 0


def _source(fetch_settings: Settings) -> Source:
    """Only the library of the one place is loaded."""
    try:
        match fetch_settings.scheme:
            case "hf":
                from shunter.initializers.hugging_face import HuggingFace

                return HuggingFace(fetch_settings)
            case "s3":
                from shunter.initializers.s3 import S3

                return S3(fetch_settings)
            case "file":
                from shunter.initializers.local import Local

                return Local(fetch_settings)
            case _:
                from shunter.initializers.web import Web

                return Web(fetch_settings)
    except ModuleNotFoundError as error:
        raise InputError(
            f"{fetch_settings.scheme}:// needs the library {error.name}, which is not installed.",
            "Install shunter[initializers] in the image.",
        ) from error


class _ProgressPrinter:
    def __init__(self, fetch_settings: Settings) -> None:
        self._settings = fetch_settings

    def print_line(self, text: str) -> None:
        print(self._settings.without_secrets(text), flush=True)


def _end(text: str) -> None:
    line = " ".join(text.split())
    print(line, file=sys.stderr, flush=True)
    if LAST_WORDS.exists():
        with contextlib.suppress(OSError):
            LAST_WORDS.write_text(line)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
