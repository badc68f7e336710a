"""Building and removing the environments that stand for images (`node.content.image_environments` has their layout).

A build is complete before anything names it: a process that is killed in between leaves a directory that the next change removes.
The build before the present one is kept until then: pods may still run in it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from shunter.cluster.node.content.image_environments import RECORD, ImageEnvironment, place, recorded, venv
from shunter.cluster.state_dir import write_private
from shunter.errors import EnvironmentProblem, InputError


def add(root: Path, image: str, requirements: Sequence[str], python: str = "") -> ImageEnvironment:
    """Makes an environment with these requirements, in pip's words, and lets the image stand for it. `python` is the interpreter,
    by default the one that runs us. InputError when there is one already or pip refuses; then nothing has changed."""
    _check_name(image)
    if not requirements:
        raise InputError(f"image {image}: nothing to install.", "Name packages with --pip or --requirements FILE.")
    with _changing(root):
        if any(one.image == image for one in recorded(root)):
            raise InputError(f"image {image} already exists.", f"Rebuild it: shunter images rebuild {image}")
        return _build(root, image, tuple(map(_absolute, requirements)), python or sys.executable, build=1)


def rebuild(root: Path, image: str) -> ImageEnvironment:
    """Rebuilds the environment with the same requirements; containers that start afterwards use it."""
    with _changing(root):
        before = _recorded_environment(root, image)
        base = os.path.realpath(venv(root, before) / "bin" / "python")
        return _build(root, image, before.requirements, base, build=before.build + 1, kept=before.build)


def remove(root: Path, image: str) -> None:
    """The name first, then its files: from then on the image is the environment that runs us."""
    with _changing(root):
        directory = place(root, _recorded_environment(root, image).image)
        (directory / RECORD).unlink()
        shutil.rmtree(directory)


def size(root: Path, environment: ImageEnvironment) -> int:
    """Bytes that its files take on disk."""
    return sum(file.lstat().st_blocks * 512 for file in venv(root, environment).rglob("*"))


def _build(
    root: Path, image: str, requirements: tuple[str, ...], python: str, *, build: int, kept: int | None = None
) -> ImageEnvironment:
    directory = place(root, image)
    target = directory / str(build)
    try:
        _run(
            [python, "-m", "venv", str(target)], f"{python} cannot create a virtual environment", "Choose another with --python."
        )
        pip = [str(target / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install"]
        _run([*pip, *requirements], "pip does not install it", "See its output above.")
        version = subprocess.check_output([pip[0], "-c", "import platform; print(platform.python_version())"], text=True).strip()
        made = ImageEnvironment(image=image, build=build, requirements=requirements, python=version)
        write_private(directory / RECORD, msgspec.json.format(msgspec.json.encode(made)))
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        with contextlib.suppress(OSError):
            directory.rmdir()
        raise
    _clear(directory, {str(build), str(kept), RECORD})
    return made


def _run(command: Sequence[str], complaint: str, remedy: str) -> None:
    """With its output on standard error: standard output is for results."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
    except OSError as error:
        raise InputError(f"{complaint}: {error.strerror}.", remedy) from error
    if done.returncode:
        raise InputError(f"{complaint} (exit code {done.returncode}); nothing has changed.", remedy)


def _recorded_environment(root: Path, image: str) -> ImageEnvironment:
    found = recorded(root)
    for one in found:
        if one.image == image:
            return one
    names = ", ".join(one.image for one in found)
    remedy = f"There is {names}." if names else f"Make one: shunter images add {image} --pip PACKAGE"
    raise InputError(f"image {image} has no separate environment.", remedy)


def _absolute(requirement: str) -> str:
    """A wheel or directory by its whole path: `rebuild` may be called from elsewhere."""
    is_path = os.sep in requirement or requirement.endswith(".whl")
    return os.path.abspath(requirement) if is_path and os.path.exists(requirement) else requirement


def _check_name(image: str) -> None:
    if not image or image.startswith("-") or any(character.isspace() for character in image):
        raise InputError(f"image {image!r} is no image name.", "Write it as in the pod, such as ghcr.io/acme/train:1 or acme/*.")


@contextlib.contextmanager
def _changing(root: Path) -> Iterator[None]:
    """One change at a time; what earlier ones left over is removed first."""
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(root / "lock", "ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise EnvironmentProblem("another `shunter images` is at work.", "Wait until it has ended.") from None
            complete = {place(root, one.image).name for one in recorded(root)}
            _clear(root, {*complete, "lock"})
            yield
    except OSError as error:
        raise EnvironmentProblem(f"{error.filename or root}: {error.strerror}.", "Free space on its disk.") from error


def _clear(directory: Path, kept: set[str]) -> None:
    for entry in directory.iterdir():
        if entry.name not in kept:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
