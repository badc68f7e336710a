"""Fetches what a source has into a directory: several files at once, each checked before it gets its name.

Beside the files lies `.shunter-initializer/`: what is under way, and a record of what is complete. Killed at any moment, the next
run goes on from there; a run after a complete one fetches nothing.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from shunter.errors import EnvironmentProblem, ShunterError
from shunter.initializers.files import RemoteFile, Source, check, target_of
from shunter.initializers.progress import Progress

STATE = ".shunter-initializer"
PART = ".part"
WORKERS = 8
ATTEMPTS = 5
FIRST_WAIT = 1.0
"""Seconds until a failed file is tried again, doubled each time."""


def fetch_all(
    source: Source, directory: Path, progress: Progress, *, sleep: Callable[[float], None] = time.sleep, workers: int = WORKERS
) -> None:
    """Returns when everything is there. Raises ShunterError."""
    files = source.files()
    if not files:
        raise EnvironmentProblem("Nothing to fetch.", "Look at the address, and at IGNORE_PATTERNS.")
    state = _State(directory)
    missing = [file for file in files if not state.has(file)]
    progress.start(files, missing)
    fetcher = _Fetcher(source, state, progress, sleep)
    with ThreadPoolExecutor(workers, thread_name_prefix="fetch") as pool:
        tasks = [pool.submit(fetcher.fetch, file) for file in missing]
        done, _ = wait(tasks, return_when=FIRST_EXCEPTION)
        failed = next((task for task in done if task.exception()), None)
        if failed is not None:
            pool.shutdown(wait=False, cancel_futures=True)
            fetcher.is_over = True
            failed.result()
    state.keep_only(files)
    progress.end()


class _Fetcher:
    def __init__(self, source: Source, state: _State, progress: Progress, sleep: Callable[[float], None]) -> None:
        self._source = source
        self._state = state
        self._progress = progress
        self._sleep = sleep
        self.is_over = False
        """Set when another file has failed for good: the end, and why, must not wait for files that take hours."""

    def fetch(self, file: RemoteFile) -> None:
        """Tries again after trouble that may pass; what the user has to mend is raised at once."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._attempt(file)
                return
            except EnvironmentProblem as error:
                if attempt == ATTEMPTS or self.is_over:
                    raise
                self._progress.print_line(f"{error.message} Trying again ({attempt} of {ATTEMPTS - 1}).")
            self._sleep(FIRST_WAIT * 2 ** (attempt - 1))

    def _attempt(self, file: RemoteFile) -> None:
        part = self._state.part(file)
        counted = 0

        def advance(count: int) -> None:
            nonlocal counted
            if self.is_over and count > 0:
                raise EnvironmentProblem(f"{file.path} is given up: another file cannot be fetched.")
            counted += count
            self._progress.advance(count)

        try:
            self._source.fetch(file, part, advance)
            try:
                check(file, part)
            except ShunterError:
                part.unlink()
                raise
            self._state.complete(file, part)
        except OSError as error:
            advance(-counted)
            raise EnvironmentProblem(f"{file.path} cannot be written: {error.strerror or error}.", _disk_remedy(error)) from error
        except ShunterError:
            advance(-counted)
            raise
        self._progress.completed()


class _State:
    """The directory, and what is known about the files in it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._own = directory / STATE
        self._record = self._own / "complete.jsonl"
        try:
            self._own.mkdir(parents=True, exist_ok=True)
            self._complete = self._read()
        except OSError as error:
            raise EnvironmentProblem(
                f"{directory} cannot be written: {error.strerror or error}.",
                "Mount a volume there that the container's user may write to.",
            ) from error

    def has(self, file: RemoteFile) -> bool:
        """Whether this version of the file was checked once, and has not been touched since."""
        path = target_of(self._directory, file.path)
        known = self._complete.get(file.path)
        return known is not None and path.is_file() and known == _entry(file, path)

    def part(self, file: RemoteFile) -> Path:
        """Where the file grows; another one for another version."""
        name = hashlib.sha256(f"{file.path}\0{file.version}".encode()).hexdigest()[:32]
        return self._own / f"{name}{PART}"

    def complete(self, file: RemoteFile, part: Path) -> None:
        target = target_of(self._directory, file.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        part.replace(target)
        with self._record.open("a") as record:
            record.write(json.dumps(_entry(file, target)) + "\n")

    def keep_only(self, files: Sequence[RemoteFile]) -> None:
        """Records what is complete, and removes what was needed on the way."""
        for found in self._own.iterdir():
            if found.is_dir():
                shutil.rmtree(found)
            elif found.suffix == PART:
                found.unlink()
        entries = [_entry(file, target_of(self._directory, file.path)) for file in files]
        fresh = self._record.with_suffix(".new")
        fresh.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        fresh.replace(self._record)

    def _read(self) -> dict[str, list[Any]]:
        """A line that a kill left half written is as if it were not there."""
        found = {}
        if self._record.exists():
            for line in self._record.read_text().splitlines():
                try:
                    entry = json.loads(line)
                    found[entry[0]] = entry
                except (ValueError, IndexError, TypeError):
                    continue
        return found


def _entry(file: RemoteFile, path: Path) -> list[Any]:
    stat = path.stat()
    return [file.path, file.version, stat.st_size, stat.st_mtime_ns]


def _disk_remedy(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "Ask for a larger volume."
    return "Mount a volume that the container's user may write to."
