"""Virtual environments that `shunter images add` made, and the image names that they stand for.

IMAGES/lock             held by the process that changes something
IMAGES/ID/image.json    what it stands for and which build is in use; written when that is complete
IMAGES/ID/BUILD/        a virtual environment; one that image.json does not name is left over
"""

from __future__ import annotations

import hashlib
import logging
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

import msgspec

log = logging.getLogger(__name__)

RECORD = "image.json"


class ImageEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """One image name, or a pattern of names, and the environment that stands for it."""

    image: str
    build: int
    """Its directory's name; each build has one of its own, as an environment cannot be moved."""
    requirements: tuple[str, ...]
    """What pip was asked to install."""
    python: str
    """The version of its Python."""


def place(root: Path, image: str) -> Path:
    """Where an image's environment is kept: a readable part of the name, and its hash."""
    readable = re.sub(r"[^a-z0-9]+", "-", image.lower()).strip("-")[:40]
    return root / f"{readable}-{hashlib.sha256(image.encode()).hexdigest()[:8]}"


def venv(root: Path, environment: ImageEnvironment) -> Path:
    """The virtual environment of the build in use; `root` is the directory of all images."""
    return place(root, environment.image) / str(environment.build)


def recorded(root: Path) -> list[ImageEnvironment]:
    """Every environment that is complete, by image. One whose record cannot be read is left out, with a warning."""
    found = []
    for file in root.glob(f"*/{RECORD}"):
        try:
            found.append(msgspec.json.decode(file.read_bytes(), type=ImageEnvironment))
        except FileNotFoundError:  # removed meanwhile
            continue
        except (OSError, msgspec.DecodeError) as error:
            _say_unreadable(file, str(error))
    return sorted(found, key=lambda environment: environment.image)


@lru_cache(maxsize=64)
def _say_unreadable(file: Path, why: str) -> None:
    """Once: records are read for each container."""
    log.warning("The environment of an image is not used, as %s cannot be read (%s). Add the image again.", file, why)


def environment_for(root: Path, image: str) -> ImageEnvironment | None:
    """The environment that stands for this image: one of that very name, else the one with the longest pattern that fits."""
    fitting = [one for one in recorded(root) if one.image == image or fnmatchcase(image, one.image)]
    return max(fitting, key=lambda one: (one.image == image, len(one.image)), default=None)
