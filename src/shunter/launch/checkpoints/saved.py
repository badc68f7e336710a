"""Checkpoints that jobs made from programs have saved: directories `step-N` or `checkpoint-N`, complete when they
have a `.metadata` or a `trainer_state.json`.

The former is how torch.distributed.checkpoint ends a save, and what examples/recipes go by; the latter is the last file that the
Trainer of transformers writes (5.23). examples/recipes/finetune.py uses the Trainer, and adds a `.metadata` when all ranks have
written: its `.metadata.new`, which is there before the Trainer saves, says that this checkpoint is not complete without. Other
libraries (accelerate, diffusers) also write `checkpoint-N`, with neither file: nothing tells whether such are complete.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json, Struct
from shunter.errors import InputError
from shunter.launch.checkpoints.location import checkpoint_location
from shunter.launch.checkpoints.torch_checkpoint import damage
from shunter.launch.options import Checkpoints, LaunchOptions
from shunter.operator.overview import is_finished
from shunter.operator.training_progress import Checkpoint, Progress

COMPLETE = ".metadata"
TRAINER_STATE = "trainer_state.json"
BEGUN = ".metadata.new"
"""What becomes `.metadata` when all ranks have written."""
MARKS = (COMPLETE, TRAINER_STATE)
"""The files of which one makes a checkpoint complete."""
_STEP = re.compile(r"(?:step|checkpoint)-(\d+)")
"""The second is how the Trainer of transformers calls them."""


FORMS = "Complete are directories step-N and checkpoint-N with .metadata (torch) or trainer_state.json (transformers)."


class _Key(NamedTuple):
    """Orders the checkpoints of a place."""

    step: int
    name: str
    """Of its directory."""


class SavedStep(Struct, frozen=True):
    """One checkpoint. `size` is in bytes; `saved` is when its newest file was written."""

    step: int
    size: int
    saved: datetime
    is_complete: bool
    name: str = ""
    """Of its directory, such as `step-4`."""
    damage: str = ""
    """What is wrong with a complete one, such as `__1_0.distcp is missing`; empty for what was not looked at."""
    has_trainer_state: bool = False
    """Whether the Trainer of transformers has written its last file, which it needs for a restore."""


class StoredFile(Struct, frozen=True):
    """One file below the place where a job saves. `path` is that within it, such as `step-4/.metadata`; `size` is in bytes."""

    path: str
    size: int
    saved: datetime


def steps_of(files: Iterable[StoredFile], read: Callable[[str], bytes] | None = None) -> list[SavedStep]:
    """The checkpoints that the files of a place make, the newest step first: the rule of what is one, and complete. `read` gives
    what a file holds, by its path, less of it if it may not; with it the complete ones are examined from the newest down to the
    first that is whole, which is the last that a restore may need; without it none."""
    by_step = _by_step(files)
    names = {key: _names(key, own) for key, own in by_step.items()}
    marks = _marks(names)
    found: list[SavedStep] = []
    is_whole_found = read is None
    for key, own in sorted(by_step.items(), reverse=True):
        fault = ""
        if read is not None and not is_whole_found and key in marks:
            fault = _damage(key, own, marks[key], read)
            is_whole_found = not fault
        size, saved = sum(file.size for file in own), max(file.saved for file in own)
        has_state = TRAINER_STATE in names[key]
        found.append(SavedStep(key.step, size, saved, key in marks, key.name, fault, has_trainer_state=has_state))
    return found


def newest_damage(files: Iterable[StoredFile], read: Callable[[str], bytes]) -> tuple[str, str]:
    """The newest complete checkpoint of a place, such as `step-4`, and what is wrong with it, such as `__1_0.distcp is missing`;
    both empty where nothing is known to be wrong. `read` is as of `steps_of`."""
    by_step = _by_step(files)
    marks = _marks({key: _names(key, own) for key, own in by_step.items()})
    if not marks:
        return "", ""
    newest = max(marks)
    fault = _damage(newest, by_step[newest], marks[newest], read)
    return (newest.name, fault) if fault else ("", "")


def _by_step(files: Iterable[StoredFile]) -> dict[_Key, list[StoredFile]]:
    found: dict[_Key, list[StoredFile]] = {}
    for file in files:
        name = file.path.partition("/")[0]
        if match := _STEP.fullmatch(name):
            found.setdefault(_Key(int(match[1]), name), []).append(file)
    return found


def _names(key: _Key, own: Iterable[StoredFile]) -> set[str]:
    """The paths of the files of a checkpoint, in its directory."""
    return {file.path.removeprefix(f"{key.name}/") for file in own}


def _marks(names: Mapping[_Key, Collection[str]]) -> dict[_Key, str]:
    """The complete checkpoints of a place, and the file that makes each complete, by the names of their files. A
    `trainer_state.json` makes none complete that is to get a `.metadata`: with a `.metadata.new`, and where another checkpoint
    has both, as the recipe's have."""
    is_of_recipe = any(COMPLETE in own and TRAINER_STATE in own for own in names.values())
    found = {key: COMPLETE for key, own in names.items() if COMPLETE in own}
    if not is_of_recipe:
        found |= {key: TRAINER_STATE for key, own in names.items() if TRAINER_STATE in own and BEGUN not in own}
    return found


def _damage(key: _Key, own: Iterable[StoredFile], mark: str, read: Callable[[str], bytes]) -> str:
    sizes = {file.path.removeprefix(f"{key.name}/"): file.size for file in own}
    content = read(f"{key.name}/{mark}")
    if len(content) != sizes[mark]:
        return ""  # it may not be read
    return damage(content, sizes) if mark == COMPLETE else _trainer_damage(content)


def _trainer_damage(state: bytes) -> str:
    try:
        json.loads(state)  # transformers writes NaN and Infinity, which msgspec does not accept
    except ValueError:
        return f"{TRAINER_STATE} is truncated"
    return ""


def saved_steps(directory: Path) -> list[SavedStep]:
    """The checkpoints of one job, the newest step first; none where there is no such directory. InputError as of
    `saved_files`."""
    return steps_of(saved_files(directory))


def examined_steps(directory: Path) -> list[SavedStep]:
    """As `saved_steps`, with what is wrong with those that `steps_of` examines."""
    return steps_of(saved_files(directory), reader(directory))


def reader(directory: Path) -> Callable[[str], bytes]:
    """What reads the files below a directory, by their paths in it: nothing of one that may not be read, or is gone."""

    def read(path: str) -> bytes:
        with contextlib.suppress(OSError):  # another user's, which the job may read all the same
            return (directory / path).read_bytes()
        return b""

    return read


def saved_files(directory: Path) -> list[StoredFile]:
    """The files of the checkpoints of one job; none where there is no such directory. InputError where one may not be read:
    a checkpoint that is not seen would be taken for one that was never saved."""
    try:
        if not directory.is_dir():
            return []
        return [file for entry in directory.iterdir() if _STEP.fullmatch(entry.name) for file in _files(entry)]
    except PermissionError as error:
        raise _unreadable(error) from error


def _unreadable(error: OSError) -> InputError:
    return InputError(
        f"checkpoints: {error.filename} cannot be read: {error.strerror}.",
        "Read it as the user who owns it, or let its owner change its mode: chmod -R a+rX.",
    )


def _raise(error: OSError) -> None:
    """`os.walk` passes over what it may not read."""
    if isinstance(error, PermissionError):
        raise error


def _files(directory: Path) -> list[StoredFile]:
    """The files of one checkpoint, and the directory itself, which exists before them; nothing of what was deleted meanwhile:
    programs remove old checkpoints."""
    names = [Path(place, name) for place, _, below in os.walk(directory, onerror=_raise) for name in below]
    try:
        stats = [(path.relative_to(directory.parent), path.stat()) for path in names or [directory]]
    except FileNotFoundError:
        return []
    return [
        StoredFile(path.as_posix(), stat.st_size if names else 0, datetime.fromtimestamp(stat.st_mtime, UTC))
        for path, stat in stats
    ]


def others_below(directory: Path) -> str:
    """A file or directory that is there and no checkpoint, such as `model.pt`; empty without one, and where none may be read."""
    with contextlib.suppress(OSError):
        return min((entry.name for entry in directory.iterdir() if not _STEP.fullmatch(entry.name)), default="")
    return ""


def newest_complete(directory: Path) -> tuple[int, datetime] | None:
    """The newest complete step and when it was complete; None where there is none, or the directory cannot be read. Cheaper than
    `saved_steps`, as it does not look at what was saved."""
    names = {}
    with contextlib.suppress(OSError):
        for entry in directory.iterdir():
            if match := _STEP.fullmatch(entry.name):
                found = [name for name in (*MARKS, BEGUN) if os.path.exists(entry / name)]
                names[_Key(int(match[1]), entry.name)] = found
    for key, mark in sorted(_marks(names).items(), reverse=True):
        with contextlib.suppress(OSError):  # it was deleted meanwhile
            return key.step, datetime.fromtimestamp((directory / key.name / mark).stat().st_mtime, UTC)
    return None


def with_saved(found: Progress | None, job: Json) -> Progress | None:
    """The progress of a job of the embedded cluster with the newest complete checkpoint of its directory on this machine, which
    holds before the job has reported anything, as after a resumption. Unchanged for a job that keeps none there, and for one that
    has ended: another may have gone on in its place since."""
    place = checkpoint_location(job)
    if place is None or place.directory is None or is_finished(job):
        return found
    newest = newest_complete(place.directory)
    if newest is None:
        return found
    known = found or Progress()
    reported = known.checkpoint or Checkpoint(0)
    return msgspec.structs.replace(known, checkpoint=msgspec.structs.replace(reported, step=newest[0], saved=newest[1]))


class SavedCheckpoints(Struct, frozen=True):
    """What is in one directory, which is called as the job that began it."""

    namespace: str
    job: str
    directory: str
    """A directory on this machine, or a URL."""
    steps: Sequence[SavedStep]
    """The newest first."""


def saved_checkpoints(root: Path, jobs: Sequence[Json]) -> list[SavedCheckpoints]:
    """What jobs have saved in the directories of this machine: below `root`, where the embedded cluster keeps those without a
    place of their own, of deleted jobs too; and where `jobs` keep theirs. Sorted by namespace and name."""
    places = {(place.parent.name, place.name): place for place in root.glob("*/*")}
    for job in jobs:
        if (place := checkpoint_location(job)) is not None and place.directory is not None:
            places[job["metadata"]["namespace"], place.name] = place.directory
    return [
        SavedCheckpoints(space, name, str(directory), steps)
        for (space, name), directory in sorted(places.items())
        if (steps := examined_steps(directory))
    ]


def with_checkpoints(options: LaunchOptions, namespace: str, root: Path | None) -> LaunchOptions:
    """The options with a place for checkpoints: on the embedded cluster, which keeps them below `root`, a directory there unless
    a place is given. InputError for a directory on another cluster, where `root` is None, for one that is a file, and for one
    that cannot be written to: the job would fail when it starts."""
    given = options.checkpoints
    if root is None:
        if given is not None and given.directory:
            raise InputError(
                f"--checkpoints {given.directory}: directories work only on the embedded cluster.",
                "Name a claim or a URL such as s3://bucket/prefix.",
            )
        return options
    if given is None:
        given = Checkpoints(directory=str(root / namespace))
    if given.directory and os.path.exists(given.directory) and not os.path.isdir(given.directory):
        raise InputError(f"--checkpoints {given.directory} is not a directory.", "Name a directory, or leave --checkpoints out.")
    require_writable(f"--checkpoints {given.directory}", given.directory)
    return dataclasses.replace(options, checkpoints=given)


def require_writable(what: str, directory: str) -> None:
    """InputError, which begins with `what`, for an existing directory to which this user cannot write."""
    if not directory or not os.path.isdir(directory) or os.access(directory, os.W_OK | os.X_OK):
        return
    is_read_only = os.statvfs(directory).f_flag & os.ST_RDONLY
    raise InputError(
        f"{what} cannot be written to: {os.strerror(errno.EROFS if is_read_only else errno.EACCES)}.",
        "Name a directory on a file system that is mounted writable."
        if is_read_only
        else "Name a directory that you may write to, or let its owner change its mode.",
    )


def make_directory(checkpoints: Checkpoints | None, root: Path, namespace: str) -> None:
    """Makes the directory that checkpoints go to, if there is none; InputError where that fails. The directory of a namespace
    below `root` is for pods of any user: only the owner of a cluster can see into its state directory."""
    if checkpoints is None or not checkpoints.directory or os.path.isdir(checkpoints.directory):
        return
    try:
        os.makedirs(checkpoints.directory)
        if checkpoints.directory == str(root / namespace):
            os.chmod(checkpoints.directory, 0o1777)
    except OSError as error:
        raise InputError(
            f"--checkpoints {checkpoints.directory}: {error.filename} cannot be created: {error.strerror}.",
            "Name a directory that you may write to.",
        ) from error


def names_with_checkpoints(directory: str) -> set[str]:
    """The jobs that have something in a directory for checkpoints: a new job must not go on from that by accident. Not every
    program saves `step-N`, so anything counts, and what may not be read. None where no directory is named. InputError for a
    directory that may not be read itself."""
    if not directory or not os.path.isdir(directory):
        return set()
    try:
        return {entry.name for entry in Path(directory).iterdir() if _holds_anything(entry)}
    except PermissionError as error:
        raise _unreadable(error) from error


def _holds_anything(place: Path) -> bool:
    try:
        return place.is_dir() and any(place.iterdir())
    except PermissionError:
        return True
