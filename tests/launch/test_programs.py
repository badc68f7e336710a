"""Which program is meant, and which directory travels with it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.launch.options import Program
from shunter.launch.programs import calls_nothing, code_of, program_of

NOBODY = 65534


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with scripts below and beside it."""
    for name in ("here/train.py", "here/sub/train.py", "there/train.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def closed_script() -> Iterator[Path]:
    """A script that we may not read, in a directory that every user can reach, as pytest's own cannot be."""
    with tempfile.TemporaryDirectory() as directory:
        script = Path(directory, "train.py")
        script.touch(mode=0)
        Path(directory).chmod(0o755)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(NOBODY)
        try:
            yield script
        finally:
            if is_root:
                os.seteuid(0)


@pytest.mark.parametrize(
    ("path", "options", "script", "root"),
    [
        ("train.py", {}, "train.py", "."),
        ("sub/train.py", {}, "sub/train.py", "."),
        ("../there/train.py", {}, "train.py", "../there"),
        ("../there/train.py", {"workdir": ".."}, "there/train.py", ".."),
        ("train.py", {"is_in_image": True}, "train.py", "."),
    ],
)
def test_the_directory_that_travels_holds_the_script(
    here: Path, path: str, options: dict[str, Any], script: str, root: str
) -> None:
    found, directory = program_of(path, arguments=["--lr", "1"], **options)
    assert (found, directory) == (Program(path=script, arguments=("--lr", "1")), (here / root).resolve())


def test_the_root_directory_is_not_sent(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    with pytest.raises(InputError, match=rf"would be /, which contains .* --workdir {here}$"):
        program_of(str(here / "train.py"))
    assert program_of(str(here / "train.py"), workdir=str(here))[1] == here


@pytest.mark.parametrize("module", ["../x", ".train", "pkg..train", "pkg/train"])
def test_what_is_no_name_of_a_module_is_refused(here: Path, module: str) -> None:
    with pytest.raises(InputError, match=rf"-m {re.escape(module)}: not the name of a module. Write it like -m pkg.train"):
        program_of("", module=module)


def test_a_module_that_is_not_in_its_package_is_refused_when_it_is_mounted(here: Path) -> None:
    code = code_of(Program(module="sub.train"), here, is_embedded=True)
    assert code.directory == str(here)  # type: ignore[union-attr]
    with pytest.raises(InputError, match=r"-m sub.trian: neither sub/trian.py nor"):
        code_of(Program(module="sub.trian"), here, is_embedded=True)


def test_what_is_no_file_is_not_taken_for_a_script(here: Path) -> None:
    (here / "pkg.py").mkdir()
    with pytest.raises(InputError, match=r"pkg.py is a directory. Name the script in it, as in pkg.py/train.py"):
        program_of("pkg.py")
    os.mkfifo("pipe.py")
    with pytest.raises(InputError, match=r"pipe.py is not a regular file"):
        program_of("pipe.py")


def test_a_script_that_its_pods_could_not_read_is_refused(closed_script: Path) -> None:
    with pytest.raises(InputError, match=r"/train.py cannot be read: Permission denied. Make it readable"):
        program_of(str(closed_script))


SNIPPETS = {
    "the snippet of a guide": ("import torch\n\ndef setup(): ...\n\nclass Model: ...\n\ndef train():\n    setup()\n", True),
    "with a docstring and settings": ('"""Trains."""\nEPOCHS: int = 3\nLR = 1e-3\n\nasync def train(): ...\n', True),
    "with a call": ("def train(): ...\n\ntrain()\n", False),
    "with a call under a condition": ('def train(): ...\n\nif __name__ == "__main__":\n    train()\n', False),
    "with the result of a call": ("def train(): ...\n\nmodel = train()\n", False),
    "with a loop": ("def train(): ...\n\nfor _ in range(3):\n    pass\n", False),
    "no function": ("import trains_when_it_is_imported\n", False),
    "nothing": ("", False),
    "no Python": ("def train(:\n", False),
}


@pytest.mark.parametrize(("source", "expected"), SNIPPETS.values(), ids=SNIPPETS)
def test_a_script_that_calls_none_of_its_functions_is_known(source: str, expected: bool) -> None:
    assert calls_nothing(source.encode()) is expected
