"""How an initializer is run: as its container's command would, but in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from shunter.initializers import __main__ as command
from shunter.initializers import fetching


class Run(NamedTuple):
    """What came of it."""

    code: int
    lines: list[str]
    """Of standard output."""
    last_line: str
    """Of standard error."""
    directory: Path

    def content(self) -> dict[str, bytes]:
        """The files that were fetched, by their paths."""
        own = self.directory / fetching.STATE
        files = (path for path in sorted(self.directory.rglob("*")) if path.is_file() and own not in path.parents)
        return {path.relative_to(self.directory).as_posix(): path.read_bytes() for path in files}


Initialize = Callable[..., Run]

VARIABLES = ("STORAGE_URI", "IGNORE_PATTERNS", "ENDPOINT", "REGION", "ROLE_ARN", "ACCESS_TOKEN", "ACCESS_KEY_ID")
OF_AWS = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")


@pytest.fixture
def initialize(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Initialize:
    """Runs `python -m shunter.initializers ROLE DIRECTORY` with this environment, without waiting between attempts."""
    monkeypatch.setattr(fetching, "FIRST_WAIT", 0.0)
    # Its process sets up no log; tests of other packages may have done so in this one.
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    for name in (*VARIABLES, *OF_AWS, "SECRET_ACCESS_KEY", "SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def run(uri: str, *, role: str = "dataset", **environment: str) -> Run:
        for name, value in {"STORAGE_URI": uri, **environment}.items():
            monkeypatch.setenv(name, value)
        directory = tmp_path / role
        code = command.main([role, str(directory)])
        printed = capsys.readouterr()
        for secret in ("ACCESS_TOKEN", "SECRET_ACCESS_KEY"):
            if secret in environment:
                assert environment[secret] not in printed.out + printed.err
        return Run(code, printed.out.splitlines(), (printed.err.splitlines() or [""])[-1], directory)

    return run
