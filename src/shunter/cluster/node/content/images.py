"""What `image:` means on this node: a Python environment of this machine, or a root directory.

By default every image is the environment that runs us. A mapping file says otherwise, first match wins, and after it what
`shunter images` made (`image_environments`):

    - image: "ghcr.io/acme/bert:*"      glob over the whole image name
      venv: /opt/venvs/bert             its bin/ comes first in PATH
    - image: "ubuntu:*"
      root: /srv/rootfs/ubuntu          the container's root directory
      entrypoint: [/bin/train]          optional: runs where a container has no command
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import shunter
from shunter.api.yaml import load_yaml
from shunter.cluster.node.content.image_environments import environment_for, venv
from shunter.errors import InputError

SHIMS = "/run/shunter/bin"
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
INHERITED = ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH")
"""What this process passes on to every Python environment."""


_ENTRYPOINTS = {
    "kubectl-delivery": (f"{SHIMS}/kubectl-delivery",),
    "dataset-initializer": ("python", "-m", "shunter.initializers", "dataset", "/workspace/dataset"),
    "model-initializer": ("python", "-m", "shunter.initializers", "model", "/workspace/model"),
}
"""Images whose ENTRYPOINT this node stands in for, by the last part of their names: `ghcr.io/acme/kubectl-delivery:1`."""
_SSHD = re.compile(r"(?<![\w.\-/])/usr/sbin/sshd(?![\w.\-/])")


_UNKNOWN_REMEDY = "Run `shunter images add`, map it in the file of --images, or start the cluster without --strict-images."


class ImageError(Exception):
    """An image's local target cannot be used. The message is shown in the pod's status."""


class Image(NamedTuple):
    """What an image name stands for: the root directory a container sees, and what the image puts into its environment."""

    root: str
    environment: dict[str, str]
    entrypoint: tuple[str, ...] = ()
    """What runs where the container has no command. An environment or a directory says nothing about it, the mapping may."""
    trees: tuple[str, ...] = ()
    """The directories of this machine that an environment is made of. Authors of pods do not know where they lie."""

    def provided(self, argv: Iterable[str]) -> list[str]:
        """A command line with our sshd in place of the image's. This machine's own, if it has one, is not configured for pods."""
        return list(argv) if self.root != "/" else [_SSHD.sub(f"{SHIMS}/sshd", word) for word in argv]


class ImageRule(NamedTuple):
    """One entry of the mapping file; one of venv and root is set, or neither: the environment that runs us."""

    pattern: str
    venv: str = ""
    root: str = ""
    entrypoint: tuple[str, ...] = ()


class Images:
    """Answers what an image name stands for. `path` is the mapping file, for messages; None when there is none. `made` is where
    `shunter images` keeps environments; it is looked at each time. With `strict` other images stand for nothing."""

    def __init__(
        self, rules: tuple[ImageRule, ...] = (), path: Path | None = None, made: Path | None = None, *, strict: bool = False
    ) -> None:
        self._strict = strict
        self._rules = rules
        self._path = path
        self._made = made

    def find(self, image: str) -> Image:
        """Raises ImageError when the mapping sends the image to something that is not there, or nothing stands for it."""
        rule = next((rule for rule in self._rules if fnmatchcase(image, rule.pattern)), None)
        found = self._mapped(image, rule) if rule else self._environment(image)
        known = _ENTRYPOINTS.get(_base_name(image), ())
        return found._replace(entrypoint=(rule.entrypoint if rule else ()) or known)

    def is_known(self, image: str) -> bool:
        """Whether the mapping or `shunter images` says what the image stands for. Any other is the environment that runs us."""
        is_mapped = any(fnmatchcase(image, rule.pattern) for rule in self._rules)
        return is_mapped or (self._made is not None and environment_for(self._made, image) is not None)

    def _environment(self, image: str) -> Image:
        if self._made is None or (made := environment_for(self._made, image)) is None:
            if self._strict and _base_name(image) not in _ENTRYPOINTS:
                raise ImageError(f'image "{image}" has no environment on this machine. {_UNKNOWN_REMEDY}')
            return _our_environment()
        binaries = venv(self._made, made) / "bin"
        if not (binaries / "python").exists():
            remedy = f"Run: shunter images rebuild {made.image}"
            raise ImageError(f'image "{image}": its environment {binaries.parent} has no bin/python. {remedy}')
        return _python_environment(str(binaries))

    def _mapped(self, image: str, rule: ImageRule) -> Image:
        if not rule.venv and not rule.root:
            return _our_environment()
        if rule.venv:
            binaries = os.path.join(rule.venv, "bin")
            if not os.path.exists(os.path.join(binaries, "python")):
                raise ImageError(self._complaint(image, rule.pattern, f"venv {rule.venv}, which has no bin/python"))
            return _python_environment(binaries)
        if not os.path.isdir(rule.root):
            raise ImageError(self._complaint(image, rule.pattern, f"root {rule.root}, which is not a directory"))
        return Image(os.path.realpath(rule.root), {"PATH": _SYSTEM_PATH, "HOME": "/root"})

    def _complaint(self, image: str, pattern: str, what: str) -> str:
        return f'image "{image}": {self._path} maps "{pattern}" to {what}. Create it or change the mapping.'


def load_images(path: Path | None, made: Path | None = None, *, strict: bool = False) -> Images:
    """Reads the mapping file; none or a missing one means no rules. Raises InputError naming the entry that is wrong."""
    if path is None or not path.exists():
        return Images(made=made, strict=strict)
    try:
        entries = load_yaml(path.read_bytes()) or []
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}.") from error
    except yaml.YAMLError as error:
        raise InputError(
            f"{path}: not YAML: {' '.join(str(error).split())}",
            "Write a list of `- image: PATTERN` entries, each with venv or root.",
        ) from error
    if not isinstance(entries, list):
        raise InputError(f"{path}: holds {type(entries).__name__}, not a list.", "Write `- image: PATTERN` entries.")
    return Images(tuple(_rule(entry, number, path) for number, entry in enumerate(entries)), path, made, strict=strict)


def _base_name(image: str) -> str:
    """`bert` of `ghcr.io/acme/bert:1`."""
    return image.rpartition("/")[2].partition("@")[0].partition(":")[0]


def _rule(entry: Any, number: int, path: Path) -> ImageRule:
    where = f"{path}: [{number}]"
    if not isinstance(entry, dict) or not isinstance(entry.get("image"), str):
        raise InputError(f"{where}: has no image.", 'Write `image: "PATTERN"`.')
    targets = [name for name in ("venv", "root") if entry.get(name)]
    unknown = sorted(set(entry) - {"image", "venv", "root", "entrypoint"})
    if unknown:
        raise InputError(f"{where}: unknown field {unknown[0]!r}.", "Known are image, venv, root and entrypoint.")
    entrypoint = entry.get("entrypoint") or []
    if not isinstance(entrypoint, list) or not all(isinstance(word, str) for word in entrypoint):
        raise InputError(
            f"{where}: entrypoint is {entrypoint!r}, not a list of texts.", 'Write `entrypoint: ["python", "train.py"]`.'
        )
    if len(targets) > 1 or not (targets or entrypoint):
        raise InputError(f"{where}: image {entry['image']!r} needs exactly one of venv and root, or an entrypoint.", "Set one.")
    places = {name: os.path.join(path.parent.absolute(), os.path.expanduser(str(entry[name]))) for name in targets}
    return ImageRule(entry["image"], **places, entrypoint=tuple(entrypoint))


def _our_environment() -> Image:
    """Where we were installed with `pip install -e`, this package lies in a tree of its own."""
    found = _python_environment(os.path.dirname(sys.executable))
    return found._replace(trees=(*found.trees, str(Path(shunter.__file__).parents[1])))


def _python_environment(binaries: str) -> Image:
    environment = {
        "PATH": f"{binaries}:{SHIMS}:{_SYSTEM_PATH}",
        "HOME": os.path.expanduser("~"),
        "LANG": "C.UTF-8",
    }
    environment.update({name: os.environ[name] for name in INHERITED if name in os.environ})
    base = os.path.dirname(os.path.realpath(os.path.join(binaries, "python")))
    return Image("/", environment, trees=(os.path.dirname(binaries), os.path.dirname(base)))
