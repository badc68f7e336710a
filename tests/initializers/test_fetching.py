"""Several files at once: what becomes of the others when one cannot be had."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.initializers.fetching import fetch_all
from shunter.initializers.files import Advance, RemoteFile
from shunter.initializers.progress import Progress

DEADLINE = 5.0


class OneRefused:
    """One file is refused while the other comes, a byte at a time."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.gone_on = threading.Event()

    def files(self) -> list[RemoteFile]:
        return [RemoteFile("refused", 1, ""), RemoteFile("long", None, "")]

    def fetch(self, file: RemoteFile, part: Path, advance: Advance) -> None:
        if file.path == "refused":
            self.has_begun.wait(DEADLINE)
            raise InputError("It is refused.")
        part.touch()
        self.has_begun.set()
        while not self.gone_on.wait(0.01):
            advance(1)


def test_a_file_that_is_refused_ends_the_fetch_while_others_are_under_way(tmp_path: Path) -> None:
    source = OneRefused()
    giving_up = threading.Timer(DEADLINE, source.gone_on.set)
    giving_up.start()
    with pytest.raises(InputError, match="It is refused"):
        fetch_all(source, tmp_path, Progress(lambda text: None))
    giving_up.cancel()
    assert not source.gone_on.is_set()
